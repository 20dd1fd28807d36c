// expect: not a tree: a struct with a base class names its members by NEAP_TREE
#include <neap/neap.h>
struct Base {
  neap::Array a;
};
struct Layer : Base {
  neap::Array b;
};
void f(const Layer& layer) { neap::tree_leaves(layer); }
