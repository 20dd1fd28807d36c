// expect: deleted
#include <neap/neap.h>
void f(neap::Array& x) { x.at(0) = 1.0f; }
