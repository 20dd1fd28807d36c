// expect: spec: shape
// expect: nan_spec.cpp:11
// A NaN that became an extent.
#include <neap/neap.h>

#include <cmath>
#include <limits>

int main() {
  const double samples = std::numeric_limits<double>::quiet_NaN();
  const neap::Array x = neap::spec({std::llrint(samples)}, neap::f32);
  return static_cast<int>(x.size());
}
