// Elements for kernels to work on, and their comparison.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <string>
#include <vector>

#include "core/dispatch.h"

namespace neap::backends::test {

using Bytes = std::vector<std::byte>;

/// `n` elements: small and large values of both signs, and for floats some NaNs, infinities and zeros.
inline Bytes random_elements(DType type, int64_t n, uint32_t seed) {
  std::mt19937 engine(seed);
  Bytes bytes(static_cast<size_t>(n) * size_of(type));
  dispatch(type, [&]<class T>() {
    for (int64_t i = 0; i < n; ++i) {
      T value;
      if constexpr (std::is_same_v<T, bool>) {
        value = engine() & 1;
      } else if constexpr (std::is_integral_v<T>) {
        value = static_cast<T>(engine() % 4 ? engine() % 100 : (uint64_t{engine()} << 32 | engine()));
      } else {
        static constexpr float kSpecial[] = {NAN, INFINITY, -INFINITY, 0.0f, -0.0f, 1e30f, -3e9f, 70000.0f};
        const auto real = std::ldexp(static_cast<float>(engine()) - 2147483648.0f, static_cast<int>(engine() % 8) - 31);
        value = static_cast<T>(engine() % 16 == 0 ? kSpecial[engine() % 8] : real);
      }
      std::memcpy(&bytes[static_cast<size_t>(i) * sizeof(T)], &value, sizeof(T));
    }
  });
  return bytes;
}

template <class T>
Bytes bytes_of(const std::vector<T>& values) {
  Bytes bytes(values.size() * sizeof(T));
  if (!values.empty()) std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

/// Equal bits, or both NaN. `ulps` more or less are let pass for floats (sums are taken in another order).
inline void expect_equal(DType type, const Bytes& got, const Bytes& want, const std::string& what,
                         double tolerance = 0) {
  ASSERT_EQ(got.size(), want.size());
  dispatch(type, [&]<class T>() {
    for (size_t i = 0; i < got.size() / sizeof(T); ++i) {
      T x, y;
      std::memcpy(&x, &got[i * sizeof(T)], sizeof(T));
      std::memcpy(&y, &want[i * sizeof(T)], sizeof(T));
      if (std::memcmp(&x, &y, sizeof(T)) == 0) continue;
      const auto p = static_cast<double>(x), q = static_cast<double>(y);
      if (is_float(type) && std::isnan(p) && std::isnan(q)) continue;
      if (is_float(type) && tolerance > 0 && std::fabs(p - q) <= tolerance * std::max(1.0, std::fabs(q))) continue;
      FAIL() << what << ": element " << i << " is " << p << ", expected " << q;
    }
  });
}

}  // namespace neap::backends::test
