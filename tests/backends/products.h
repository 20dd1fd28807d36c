// What products of backends are compared with.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "planner/kernels/dot.h"

namespace neap::backends::test {

template <class T>
std::vector<T> product_operand(int64_t n, int seed) {
  std::vector<T> v(static_cast<size_t>(n));
  for (size_t i = 0; i < v.size(); ++i) v[i] = static_cast<T>(std::sin(static_cast<double>(i) * 1.7 + seed));
  return v;
}

/// The product by plain loops in double.
template <class L, class R>
std::vector<double> product_by_loops(const planner::DotForm& f, const std::vector<L>& lhs, const std::vector<R>& rhs) {
  std::vector<double> out;
  for (int64_t b = 0; b < f.batch; ++b) {
    for (int64_t i = 0; i < f.m; ++i) {
      for (int64_t j = 0; j < f.n; ++j) {
        double sum = 0;
        for (int64_t k = 0; k < f.k; ++k) {
          const auto l = static_cast<size_t>(b * f.m * f.k + (f.lhs_transposed ? k * f.m + i : i * f.k + k));
          const auto r = static_cast<size_t>(b * f.k * f.n + (f.rhs_transposed ? j * f.k + k : k * f.n + j));
          sum += static_cast<double>(lhs[l]) * static_cast<double>(rhs[r]);
        }
        out.push_back(sum);
      }
    }
  }
  return out;
}

/// That `got` is the product.
template <class T>
void expect_product(const planner::DotForm& f, const std::vector<T>& got, const std::vector<T>& lhs,
                    const std::vector<T>& rhs) {
  const std::vector<double> want = product_by_loops(f, lhs, rhs);
  const double each = sizeof(T) == 4 ? 1e-6 : 1e-15, terms = each * static_cast<double>(f.k + 8);
  const double of_sum = f.k > planner::kLongDot ? 8 * each : 0;  // sums of so many terms may be large
  for (size_t i = 0; i < want.size(); ++i) {
    ASSERT_NEAR(static_cast<double>(got[i]), want[i], terms + of_sum * std::abs(want[i]))
        << f.batch << " x " << f.m << " x " << f.n << " x " << f.k << (f.lhs_transposed ? " lhs^T" : "")
        << (f.rhs_transposed ? " rhs^T" : "") << " at " << i;
  }
}

}  // namespace neap::backends::test
