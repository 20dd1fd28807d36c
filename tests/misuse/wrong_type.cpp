// expect: the function does not take these arguments: it wants another number of them, or other types
#include <neap/neap.h>
#include <string>
void f() {
  neap::jit([](const neap::Array& a) { return a; })(std::string("x"));
}
