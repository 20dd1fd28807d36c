// expect: the base class names its members by NEAP_TREE, and this class must name all of its own
#include <neap/neap.h>
struct Base {
  neap::Array a;
  NEAP_TREE(a)
};
struct Layer : Base {
  neap::Array b;
};
void f(const Layer& layer) { neap::tree_leaves(layer); }
