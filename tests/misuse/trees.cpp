// Arguments and results that are no trees.
#include <neap/neap.h>

#include <functional>
#include <list>
#include <set>

using neap::Array;

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void a_pointer(const float* x) { neap::tree_leaves(x); }

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void a_member_is_a_pointer(const Array& x) {
  struct Layer {
    Array weight;
    double* bias;
  };
  neap::jit([](const Layer& l) { return l.weight; })(Layer{x, nullptr});
}

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void a_member_of_a_member_is_a_pointer(const Array& x) {
  struct Inner {
    int* counts;
  };
  struct Layer {
    Array weight;
    Inner inner;
  };
  neap::grad([](const Layer& l) { return neap::sum(l.weight); })(Layer{x, {}});
}

class Private {
 public:
  Array apply(const Array& x) const { return x * weight_; }

 private:
  Array weight_;
};
// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void private_members(const Private& layer) { neap::tree_leaves(layer); }

struct Constructed {
  explicit Constructed(int n) : weight(neap::zeros({n})) {}
  Array weight;
};
// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void a_constructor(const Constructed& layer) {
  neap::jit([](const Constructed& l) { return l.weight; })(layer);
}

struct Base {
  Array a;
};
struct Derived : Base {
  Array b;
};
// expect: not a tree: a struct with a base class names its members by NEAP_TREE
void a_base_class(const Derived& layer) { neap::tree_leaves(layer); }

struct Named {
  Array a;
  NEAP_TREE(a)
};
struct Unnamed : Named {
  Array b;
};
// expect: the base class names its members by NEAP_TREE, and this class must name all of its own
void only_the_base_names_members(const Unnamed& layer) { neap::tree_leaves(layer); }

struct NamesAPointer {
  NEAP_TREE(weight, bias)
  Array weight;
  char* bias;
};
// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void names_a_pointer(const NamesAPointer& layer) { neap::tree_leaves(layer); }

// expect: a struct of more than 32 members, or with references or arrays of more than 128
void a_reference_member(Array& x) {
  struct Layer {
    Array& weight;
    Array bias;
  };
  neap::tree_leaves(Layer{x, x});
}

struct Wide {
  Array a0, a1, a2, a3, a4, a5, a6, a7, a8, a9, a10, a11, a12, a13, a14, a15, a16, a17, a18, a19, a20, a21, a22, a23,
      a24, a25, a26, a27, a28, a29, a30, a31, a32;
};
// expect: not a tree: a struct of more than 32 members, or with references or arrays of more than 128
void too_many_members(const Wide& layer) { neap::tree_leaves(layer); }

struct Constant {
  const Array weight;
};
// expect: not a tree: a const Array in it cannot be replaced by another; make it an Array
void a_const_member(const Constant& layer) {
  neap::jit([](const Constant& l) { return l.weight; })(layer);
}

// expect: not a tree: a tuple or pair of references, as std::tie gives; make it one of values, as std::tuple(x, y)
void an_argument_is_tied(Array& x, Array& y) {
  neap::vmap([](const auto& t) { return std::get<0>(t) + std::get<1>(t); })(std::tie(x, y));
}

// expect: not a tree: a tuple or pair of references, as std::tie gives; make it one of values, as std::tuple(x, y)
void a_result_is_tied(Array& x) {
  neap::jit([&x](const Array& a) { return std::pair<Array&, Array>(x, a); })(x);
}

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void a_list(const std::list<Array>& x) {
  neap::jit([](const std::list<Array>& l) { return l.front(); })(x);
}

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void a_set(const std::set<int>& x) {
  neap::jit([](const std::set<int>& s) { return neap::array(static_cast<int>(s.size())); })(x);
}

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void a_view_of_text(std::string_view x) { neap::tree_leaves(x); }

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void a_shared_pointer(const std::shared_ptr<Array>& x) {
  neap::vmap([](const std::shared_ptr<Array>& p) { return *p; })(x);
}

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void a_function(const std::function<Array()>& x) { neap::tree_leaves(x); }

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void one_alternative_is_a_pointer(const std::variant<Array, long*>& x) { neap::tree_leaves(x); }

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void a_hash_map(const std::unordered_map<std::string, Array>& x) { neap::tree_leaves(x); }

union Either {
  int whole;
  float real;
};
// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void a_union(const Either& x) { neap::tree_leaves(x); }
