// Functions that are called wrongly: by jit, by transforms, by checkpoint and trace.
#include <neap/neap.h>

#include <memory>

using neap::Array;

// expect: the function does not take these arguments: it wants another number of them, or other types
void too_few(const Array& x) {
  neap::jit([](const Array& a, const Array& b) { return a + b; })(x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void too_many(const Array& x) {
  neap::jit([](const Array& a) { return a; })(x, x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void a_string_for_an_array() {
  neap::jit([](const Array& a) { return a; })(std::string("x"));
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void a_number_for_an_array() {
  neap::jit([](const Array& a) { return a; })(1.0f);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void planned_with_too_few() {
  neap::jit([](const Array& a, const Array& b) { return a + b; }).plan(neap::spec({3}, neap::f32));
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void tradeoff_with_too_many() {
  neap::jit([](const Array& a) { return a; }).tradeoff(neap::spec({3}, neap::f32), 1);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void a_pointer_has_no_default_arguments(const Array& x) { neap::jit(neap::softmax)(x); }

// expect: the function does not take these arguments: it wants another number of them, or other types
void traced_with_two(const Array& x) {
  neap::trace([](const Array& a) { return a; }, x, x);
}

// expect: the function does not take these arguments: it wants another number of them, or other types
void checkpoint_with_one_of_two(const Array& x) {
  neap::checkpoint([](const Array& a, const Array& b) { return a * b; })(x);
}

// expect: the function returns nothing; return an Array, or a tree of Arrays
void jit_of_nothing(const Array& x) {
  neap::jit([](const Array& a) { neap::sum(a); })(x);
}

// expect: the function returns nothing; return an Array, or a tree of Arrays
void plan_of_nothing() {
  neap::jit([](const Array& a) { neap::sum(a); }).plan(neap::spec({3}, neap::f32));
}

// expect: the function returns nothing; return an Array, or a tree of Arrays
void checkpoint_of_nothing(const Array& x) {
  neap::checkpoint([](const Array& a) { neap::sum(a); })(x);
}

// expect: the function is a mutable lambda, or its operator() is not const
void mutable_lambda(const Array& x) {
  neap::jit([n = 0](const Array& a) mutable { return a * static_cast<float>(++n); })(x);
}

// expect: the function takes an argument by T& or T&&; take it by value or by const T&, and return what changed
void argument_by_reference(Array& x) {
  neap::jit([](Array& a) {
    a = a + 1;
    return a;
  })(x);
}

// expect: the function takes an argument by T& or T&&; take it by value or by const T&, and return what changed
void argument_by_rvalue_reference(const Array& x) {
  neap::jit([](Array&& a) { return a; })(x);
}

// expect: an array or a number stands where a function is expected
void a_result_for_a_function(const Array& x) { neap::jit(neap::sum(x))(x); }

// expect: an array or a number stands where a function is expected
void a_number_for_a_function(const Array& x) { neap::vmap(3)(x); }

// expect: not a tree: an argument cannot be copied; hold Arrays and containers of them by value
void argument_that_moves_only(const std::unique_ptr<Array>& x) {
  neap::jit([](const std::unique_ptr<Array>& a) { return *a; })(x);
}

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void result_is_a_pointer(const Array& x) {
  neap::jit([](const Array& a) { return a.to_vector<double>().data(); })(x);
}

// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
void result_is_a_lambda(const Array& x) {
  neap::jit([](const Array& a) { return [a] { return a; }; })(x);
}
