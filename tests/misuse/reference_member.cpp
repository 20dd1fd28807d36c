// expect: a struct of more than 32 members, or with references or arrays of more than 128
#include <neap/neap.h>
struct Layer {
  neap::Array& weight;
  neap::Array bias;
};
void f(const Layer& layer) { neap::tree_leaves(layer); }
