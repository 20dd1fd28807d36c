// Whether samples look normal and independent: what a form that changes the bits has to show.
#pragma once

#include <neap/array.h>

#include <string>

namespace bench {

struct NormalStatistics {
  double kolmogorov_smirnov = 0;  // largest distance between the samples' distribution and the normal one
  double bound = 0;               // that true normals pass in 99 of 100 draws: 1.63 / sqrt(n)
  int64_t distinct = 0;           // different values among the first 100,000
  double correlation = 0;         // largest absolute one of 2^18 elements before and after a boundary between chunks
};

// Of normals in a half type, drawn in `chunks` ranges of ceil(n / chunks) elements.
NormalStatistics normal_statistics(const neap::Array& samples, int64_t chunks);
std::string to_text(const NormalStatistics& s);

}  // namespace bench
