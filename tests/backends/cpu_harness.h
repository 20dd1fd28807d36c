// Runs one kernel compiled and by the kernel interpreter (backends/kernel_eval.h), and compares every byte it wrote.
#pragma once

#include <gtest/gtest.h>

#include <cmath>
#include <vector>

#include "backends/cpu/jit.h"
#include "backends/kernel.h"
#include "backends/kernel_eval.h"
#include "tests/backends/elements.h"

namespace neap::cpu::test {

using backends::Kernel;
using backends::test::Bytes;
using backends::test::bytes_of;
using backends::test::expect_equal;
using backends::test::random_elements;
using scalar::Opcode;
using scalar::X;

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
