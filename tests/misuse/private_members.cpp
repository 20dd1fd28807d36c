// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
#include <neap/neap.h>
class Layer {
 public:
  neap::Array apply(const neap::Array& x) const { return x * weight_; }

 private:
  neap::Array weight_;
};
void f(const Layer& layer) { neap::tree_leaves(layer); }
