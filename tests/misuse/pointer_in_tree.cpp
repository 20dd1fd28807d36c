// expect: not a tree: expected an Array, a number, a string, an enum, a struct of public members
#include <neap/neap.h>
struct Layer {
  neap::Array weight;
  float* bias;
};
void f(const Layer& layer) {
  neap::jit([](const Layer& l) { return l.weight; })(layer);
}
