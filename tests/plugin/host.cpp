// plugin_host PLUGIN: loads the plug-in, calls it twice, and ends with it loaded.
#include <dlfcn.h>

#include <cmath>
#include <cstdio>

int main(int count, char** arguments) {
  if (count != 2) return 2;
  void* plugin = dlopen(arguments[1], RTLD_NOW | RTLD_LOCAL);
  if (!plugin) {
    std::fprintf(stderr, "%s\n", dlerror());
    return 1;
  }
  const auto slope_of_sines = reinterpret_cast<int (*)(const float*, long, float*)>(dlsym(plugin, "slope_of_sines"));
  if (!slope_of_sines) return 1;
  for (long n = 10; n <= 1000; n *= 100) {
    float x[1000], slope[1000];
    for (long i = 0; i < n; ++i) x[i] = static_cast<float>(i) / 100;
    if (slope_of_sines(x, n, slope) != 0) return 1;
    for (long i = 0; i < n; ++i) {
      if (std::abs(slope[i] - 3 * std::cos(x[i])) < 1e-5f) continue;
      std::fprintf(stderr, "slope %ld of %ld is %g\n", i, n, slope[i]);
      return 1;
    }
  }
  return 0;
}
