// Arrays that are as near to each other as rounding allows.
#pragma once

#include <gtest/gtest.h>
#include <neap/array.h>

#include <cmath>
#include <vector>

namespace neap {

/// The same shape and dtype; elements no farther apart than `absolute` + `relative` times the one that is wanted. NaN
/// is near NaN, an infinity near itself.
inline void expect_near(const Array& got, const Array& want, double relative, double absolute) {
  ASSERT_EQ(got.aval(), want.aval());
  const std::vector<double> a = got.to_vector<double>(), b = want.to_vector<double>();
  for (size_t i = 0; i < a.size(); ++i) {
    if (a[i] == b[i] || (std::isnan(a[i]) && std::isnan(b[i]))) continue;
    EXPECT_TRUE(std::isfinite(b[i]) && std::abs(a[i] - b[i]) <= absolute + relative * std::abs(b[i]))
        << "element " << i << ": " << a[i] << ", expected " << b[i];
  }
}

}  // namespace neap
