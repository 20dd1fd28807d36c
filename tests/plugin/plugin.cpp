// A plug-in that plans, compiles and runs: C on the outside, Neap on the inside.
#include <neap/neap.h>

#include <cstdio>
#include <exception>

extern "C" __attribute__((visibility("default"))) int slope_of_sines(const float* x, long n, float* slope) {
  try {
    const auto f = neap::jit(neap::grad([](const neap::Array& a) { return neap::sum(neap::sin(a) * 3.0f); }));
    const neap::Array result = f(neap::array(std::vector<float>(x, x + n)));
    const std::vector<float> values = result.to_vector<float>();
    for (long i = 0; i < n; ++i) slope[i] = values[static_cast<size_t>(i)];
    return 0;
  } catch (const std::exception& error) {
    std::fprintf(stderr, "plugin: %s\n", error.what());
    return 1;
  }
}
