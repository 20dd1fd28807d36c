// Runs one kernel compiled and by the kernel interpreter (backends/kernel_eval.h), and compares every byte it wrote.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <cstring>
#include <random>
#include <vector>

#include "backends/cpu/jit.h"
#include "backends/kernel.h"
#include "backends/kernel_eval.h"
#include "core/dispatch.h"

namespace neap::cpu::test {

using backends::Kernel;
using scalar::Opcode;
using scalar::X;
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

/// Where a range may be cut: the level of the lanes only at multiples of 64.
inline int64_t cut_of(const Kernel& kernel, int level, int64_t at) {
  return kernel.vector_level == level ? at / 64 * 64 : at;
}

struct Trial {
  std::vector<Bytes> buffers;  // of the kernel
  double tolerance = 0;

  /// Over the whole range, and again cut at odd places, which must not change a map.
  void check(const Kernel& kernel) {
    SCOPED_TRACE(kernel.print());
    std::vector<Bytes> want = buffers;
    std::vector<std::span<std::byte>> spans(want.begin(), want.end());
    backends::Launch launch;
    launch.kernel = kernel;
    for (size_t i = 0; i < buffers.size(); ++i) launch.operands.push_back(static_cast<int>(i));
    backends::evaluate(std::span(&launch, 1), spans);
    const Kernel* one[] = {&kernel};
    const auto code = compile_kernels(one, "")[0];
    for (const bool cut : {false, true}) {
      std::vector<Bytes> got = buffers;
      std::vector<void*> pointers;
      for (Bytes& bytes : got) pointers.push_back(bytes.data());
      const auto [rows, columns] = kernel.extent;
      if (!cut) {
        code(pointers.data(), nullptr, 0, rows, 0, columns, 0);
      } else if (kernel.kind == Kernel::Kind::map) {
        const int64_t r = cut_of(kernel, 0, rows / 3), c = cut_of(kernel, 1, columns * 2 / 3);
        code(pointers.data(), nullptr, 0, r, 0, columns, 0);
        code(pointers.data(), nullptr, r, rows, 0, c, 0);
        code(pointers.data(), nullptr, r, rows, c, columns, 0);
      } else if (kernel.kind == Kernel::Kind::reduce) {
        const int64_t r = cut_of(kernel, 0, rows / 3);
        code(pointers.data(), nullptr, 0, r, 0, columns, 0);
        code(pointers.data(), nullptr, r, rows, 0, columns, 0);
      } else {
        code(pointers.data(), nullptr, 0, rows, 0, columns, 0);
      }
      for (size_t i = 0; i < got.size(); ++i) {
        expect_equal(kernel.buffers[i].type, got[i], want[i], (cut ? "cut, buffer " : "buffer ") + std::to_string(i),
                     tolerance);
        if (testing::Test::HasFatalFailure()) return;
      }
    }
  }

  int add(Kernel& kernel, DType type, Bytes bytes, bool written = false) {
    kernel.buffers.push_back({type, written, written ? "out" : "in"});
    buffers.push_back(std::move(bytes));
    return static_cast<int>(buffers.size()) - 1;
  }
  int input(Kernel& kernel, DType type, int64_t n, uint32_t seed = 1) {
    return add(kernel, type, random_elements(type, n, seed + static_cast<uint32_t>(type)));
  }
  int output(Kernel& kernel, DType type, int64_t n) {
    return add(kernel, type, Bytes(static_cast<size_t>(n) * size_of(type), std::byte{0x5a}), true);
  }
};

}  // namespace neap::cpu::test
