#include "bench/statistics.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <vector>

namespace bench {
namespace {

constexpr int64_t kDistinctOf = 100'000, kAround = int64_t{1} << 18;

double normal_cdf(double x) { return 0.5 * std::erfc(-x / std::sqrt(2.0)); }

using Histogram = std::vector<int64_t>;  // by bit pattern

Histogram histogram(const uint16_t* p, int64_t n) {
  std::array<Histogram, 4> parts;  // so that equal neighbours do not wait for each other
  for (auto& h : parts) h.assign(1 << 16, 0);
  for (int64_t i = 0; i < n; ++i) ++parts[i % 4][p[i]];
  for (size_t v = 0; v < parts[0].size(); ++v) parts[0][v] += parts[1][v] + parts[2][v] + parts[3][v];
  return parts[0];
}

// A half type holds a normal rounded to nearest, so that all up to value v means all below the midpoint to the next.
template <class Half>
double kolmogorov_smirnov(const Histogram& counts, int64_t n) {
  std::vector<std::pair<double, int64_t>> values;
  for (size_t bits = 0; bits < counts.size(); ++bits) {
    const double v = static_cast<float>(Half::from_bits(static_cast<uint16_t>(bits)));
    if (std::isfinite(v)) values.emplace_back(v, counts[bits]);
  }
  std::sort(values.begin(), values.end());
  double worst = 0;
  int64_t below = 0;
  for (size_t i = 0; i + 1 < values.size(); ++i) {
    below += values[i].second;
    const double edge = (values[i].first + values[i + 1].first) / 2;
    worst = std::max(worst, std::abs(static_cast<double>(below) / static_cast<double>(n) - normal_cdf(edge)));
  }
  return worst;
}

template <class T>
double correlation(const T* a, const T* b, int64_t n) {
  double sa = 0, sb = 0, aa = 0, bb = 0, ab = 0;
  for (int64_t i = 0; i < n; ++i) {
    const double x = a[i], y = b[i];
    sa += x, sb += y, aa += x * x, bb += y * y, ab += x * y;
  }
  const double count = static_cast<double>(n);
  return (ab - sa * sb / count) / std::sqrt((aa - sa * sa / count) * (bb - sb * sb / count));
}

template <class Half>
NormalStatistics statistics_of(const Half* p, int64_t n, int64_t chunks) {
  const auto* bits = reinterpret_cast<const uint16_t*>(p);
  NormalStatistics s;
  s.kolmogorov_smirnov = kolmogorov_smirnov<Half>(histogram(bits, n), n);
  s.bound = 1.63 / std::sqrt(static_cast<double>(n));
  const Histogram first = histogram(bits, std::min(n, kDistinctOf));
  s.distinct = std::count_if(first.begin(), first.end(), [](int64_t c) { return c > 0; });
  const int64_t length = (n + chunks - 1) / chunks;
  for (int64_t at = length; at < n; at += length) {
    const int64_t around = std::min({kAround, length, n - at});
    if (around >= 2) s.correlation = std::max(s.correlation, std::abs(correlation(p + at - around, p + at, around)));
  }
  return s;
}

}  // namespace

NormalStatistics normal_statistics(const neap::Array& samples, int64_t chunks) {
  if (samples.dtype() == neap::bf16) {
    return statistics_of(samples.data<neap::bfloat16>(), samples.size(), chunks);
  }
  return statistics_of(samples.data<neap::float16>(), samples.size(), chunks);
}

std::string to_text(const NormalStatistics& s) {
  return fmt::format(
      "Kolmogorov-Smirnov {:.2e} (true normals: below {:.2e}), {} distinct in 100,000, correlation across "
      "chunks at most {:.4f}",
      s.kolmogorov_smirnov, s.bound, s.distinct, s.correlation);
}

}  // namespace bench
