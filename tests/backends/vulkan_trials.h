// Kernels of every kind with memory to work on, for the tests of what backends/vulkan emits: by the device, beside the
// kernel interpreter.
#pragma once

#include <algorithm>
#include <functional>

#include "backends/kernel_eval.h"
#include "tests/backends/elements.h"
#include "tests/backends/every_type.h"
#include "tests/backends/vulkan_harness.h"

namespace neap::vk::test {

using backends::Combine;
using backends::Kernel;
using backends::Launch;
using namespace backends::test;
using scalar::Opcode;
using scalar::X;

// A kernel and the memory it works on.
struct Trial {
  Kernel kernel;
  std::vector<Bytes> buffers;
  double tolerance = 0;

  int add(DType type, Bytes bytes, bool written = false) {
    kernel.buffers.push_back({type, written, written ? "out" : "in"});
    buffers.push_back(std::move(bytes));
    return static_cast<int>(buffers.size()) - 1;
  }
  int input(DType type, int64_t n, uint32_t seed = 1) {
    return add(type, random_elements(type, n, seed + static_cast<uint32_t>(type)));
  }
  int output(DType type, int64_t n) {
    return add(type, Bytes(static_cast<size_t>(n) * size_of(type), std::byte{90}), true);
  }
  void store(X at, X value, int64_t n) { kernel.stores.push_back({output(value.type(), n), at.id, value.id}); }

  Launch launch() const {
    Launch launch;
    launch.kernel = kernel;
    launch.kernel.name = "test";
    for (size_t i = 0; i < buffers.size(); ++i) launch.operands.push_back(static_cast<int>(i));
    return launch;
  }

  void check(Runner& runner) const {
    SCOPED_TRACE(kernel.print());
    const Launch one = launch();
    std::vector<Bytes> want = buffers, got = buffers;
    std::vector<std::span<std::byte>> wanted(want.begin(), want.end()), spans(got.begin(), got.end());
    backends::evaluate(std::span(&one, 1), wanted);
    runner(std::span(&one, 1), spans);
    for (size_t i = 0; i < got.size(); ++i) {
      backends::test::expect_equal(kernel.buffers[i].type, got[i], want[i], "buffer " + std::to_string(i), tolerance);
    }
    if (testing::Test::HasFailure()) ADD_FAILURE() << emit(one, runner.choices).glsl;
  }
};

class VulkanGlsl : public testing::Test {
 protected:
  void SetUp() override { NEAP_NEEDS_VULKAN(); }
  void run(const std::vector<Trial>& trials, const std::function<void(Runner&)>& change = {}) {
    Runner runner(open_device());
    if (change) change(runner);
    const bool viewable = runner.choices.texels > 0 && runner.shift % runner.choices.texel_alignment == 0;
    for (const bool views : {false, true}) {
      if (views && !viewable) continue;
      SCOPED_TRACE(views ? "through texel buffers" : "by address");
      runner.views = views;
      for (const Trial& trial : trials) {
        trial.check(runner);
        if (HasFailure()) return;
      }
    }
    EXPECT_EQ(Device::validation_messages(), std::vector<std::string>{});
  }
};

// in[i], in2[i] over [1, n], and stores of what is made of them.
struct Elementwise : Trial {
  Elementwise(DType from, int64_t n) : n(n) {
    kernel.extent = {1, n};
    const int a = input(from, n, 1), b = input(from, n, 99);
    i = kernel.dag.index(1, u32);
    x = kernel.dag.load(a, from, i), y = kernel.dag.load(b, from, i);
  }
  void to(X value) { store(i, value, n); }
  int64_t n;
  X i, x, y;
};

inline Trial copies(DType t, int64_t n) {
  Elementwise e(t, n);
  e.to(e.x);
  return e;
}

inline Trial conversions(DType from) {
  Elementwise e(from, 1031);
  for (const DType to : kAll) {
    if (to != from) e.to(e.kernel.dag.convert(e.x, to));
  }
  return e;
}

inline Trial comparisons(DType t) {
  Elementwise e(t, 515);
  scalar::Dag& d = e.kernel.dag;
  for (const Opcode op : {Opcode::lt, Opcode::le, Opcode::eq, Opcode::ne}) {
    e.to(d.binary(op, e.x, e.y));
    e.to(d.binary(op, e.x, d.constant(3, t)));
  }
  e.to(d.select(d.binary(Opcode::le, e.x, e.y), e.x, e.y));
  e.to(d.binary(Opcode::ne, e.x, e.x));
  return e;
}

inline Trial arithmetic(DType t) {
  Elementwise e(t, 515);
  scalar::Dag& d = e.kernel.dag;
  for (const Opcode op : {Opcode::add, Opcode::sub, Opcode::mul}) e.to(d.binary(op, e.x, e.y));
  for (const Opcode op : {Opcode::neg, Opcode::abs}) {
    if (!is_unsigned(t)) e.to(d.unary(op, e.x));
  }
  if (is_float(t)) {
    for (const Opcode op : {Opcode::floor, Opcode::ceil, Opcode::trunc, Opcode::rint}) e.to(d.unary(op, e.x));
    return e;
  }
  const X small = d.binary(Opcode::bit_or, d.binary(Opcode::bit_and, e.y, d.integer(63, t)), d.integer(1, t));
  const X count = d.binary(Opcode::bit_and, e.y, d.integer(static_cast<int64_t>(8 * size_of(t)) - 1, t));
  for (const Opcode op : {Opcode::div, Opcode::rem}) e.to(d.binary(op, e.x, small));
  for (const Opcode op : {Opcode::shl, Opcode::shr}) e.to(d.binary(op, e.x, count));
  for (const Opcode op : {Opcode::bit_and, Opcode::bit_or, Opcode::bit_xor}) e.to(d.binary(op, e.x, e.y));
  for (const Opcode op : {Opcode::bit_not, Opcode::popcount, Opcode::clz}) e.to(d.unary(op, e.x));
  if (size_of(t) >= 4) e.to(d.binary(Opcode::mulhi, e.x, e.y));
  if (t == DType::u32) {
    for (const int turn : {1, 8, 13, 16, 24, 31}) e.to(d.rotl(e.x, turn));
  }
  return e;
}

inline Trial bits() {
  Elementwise e(bool_, 97);
  scalar::Dag& d = e.kernel.dag;
  for (const Opcode op : {Opcode::bit_and, Opcode::bit_or, Opcode::bit_xor}) e.to(d.binary(op, e.x, e.y));
  e.to(d.unary(Opcode::bit_not, e.x));
  e.to(d.select(e.x, d.constant(2.5, bf16), d.constant(-1, bf16)));
  return e;
}

inline Trial bitcasts(DType from, DType to) {
  Elementwise e(from, 75);
  e.to(e.kernel.dag.bitcast(e.x, to));
  return e;
}

// Rows by columns with values made of the indices themselves.
inline Trial indices(int level) {
  Trial trial;
  Kernel& k = trial.kernel;
  k.extent = {5, 37};
  k.vector_level = level;
  const X i = k.dag.index(0, i64), j = k.dag.index(1, u32);
  const X flat = k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, i, k.dag.integer(37, i64)), k.dag.convert(j, i64));
  for (const DType t : kAll) {
    if (t == DType::bool_) continue;
    X value = k.dag.convert(k.dag.binary(Opcode::mul, j, k.dag.integer(3, u32)), t);
    if (!half(t)) value = k.dag.binary(Opcode::add, value, k.dag.convert(i, t));
    trial.store(flat, k.dag.select(k.dag.binary(Opcode::lt, j, k.dag.integer(20, u32)), value, k.dag.constant(2, t)),
                5 * 37);
  }
  return trial;
}

// Reads and writes that jump from element to element, backwards too.
inline Trial strides(DType t, int64_t stride, int level) {
  constexpr int64_t kExtent = 67, kSpan = 11 * kExtent + 300;
  Trial trial;
  Kernel& k = trial.kernel;
  k.extent = level == 1 ? std::array<int64_t, 2>{3, kExtent} : std::array<int64_t, 2>{kExtent, 3};
  k.vector_level = level;
  const int in = trial.input(t, kSpan);
  const X i = k.dag.index(level, i32), row = k.dag.index(1 - level, i32);
  X at = k.dag.binary(Opcode::mul, i, k.dag.integer(stride, i32));
  if (stride < 0) at = k.dag.binary(Opcode::add, at, k.dag.integer(-stride * (kExtent - 1), i32));
  at = k.dag.binary(Opcode::add, at, k.dag.binary(Opcode::mul, row, k.dag.integer(100, i32)));
  const X x = k.dag.load(in, t, k.dag.binary(Opcode::add, at, k.dag.integer(2, i32)));
  const X flat = k.dag.binary(Opcode::add, i, k.dag.binary(Opcode::mul, row, k.dag.integer(kExtent, i32)));
  trial.store(flat, x, 3 * kExtent);
  return trial;
}

// out[i] = in[w i + 0] - in[w i + 1] ...: rows of w elements, which are read as words.
inline Trial rows_of(DType t, int64_t width, int64_t n, int level) {
  Trial trial;
  Kernel& k = trial.kernel;
  k.extent = level == 1 ? std::array<int64_t, 2>{1, n} : std::array<int64_t, 2>{n, 1};
  k.vector_level = level;
  const int in = trial.input(t, width * n);
  const X i = k.dag.index(level, u32), first = k.dag.binary(Opcode::mul, i, k.dag.integer(width, u32));
  for (int64_t c = width - 1; c >= 0; --c) {
    trial.store(i, k.dag.load(in, t, k.dag.binary(Opcode::add, first, k.dag.integer(c, u32))), n);
  }
  return trial;
}

inline Trial gathers(DType t, DType index) {
  Trial trial;
  Kernel& k = trial.kernel;
  k.extent = {2, 45};
  const int table = trial.input(t, 50), rows = trial.input(index, 90);
  const X flat = k.dag.binary(Opcode::add, k.dag.index(1, u32),
                              k.dag.binary(Opcode::mul, k.dag.index(0, u32), k.dag.integer(45, u32)));
  X x = k.dag.load(rows, index, flat);
  const X last = k.dag.integer(49, index), zero = k.dag.integer(0, index);
  x = k.dag.select(k.dag.binary(Opcode::lt, last, x), last, x);
  x = k.dag.select(k.dag.binary(Opcode::lt, x, zero), zero, x);
  trial.store(flat, k.dag.load(table, t, x), 90);
  return trial;
}

// Sums of kSums over the same loops in one kernel: number `first`, and every fourth from there.
inline Trial reductions(size_t first, int64_t kept, int64_t reduced, int level, bool finish, bool doubles = true) {
  Trial trial;
  Kernel& k = trial.kernel;
  k.kind = Kernel::Kind::reduce;
  k.extent = {kept, reduced};
  k.vector_level = level;
  k.finish = finish;
  trial.tolerance = 1e-6;
  const X i = k.dag.index(0, u32), j = k.dag.index(1, u32);
  const X flat = level == 1 ? k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, i, k.dag.integer(reduced, u32)), j)
                            : k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, j, k.dag.integer(kept, u32)), i);
  for (size_t n = first; n < std::size(kSums); n += 4) {
    const Sum& s = kSums[n];
    const bool arg = s.combine >= argmax;
    // The range of a pair of floats is that of a float, also on the way to a product.
    if (!doubles && s.combine == mul && s.accumulator == f64) continue;
    if ((arg && !finish) || (s.type == f64 && !doubles) || (!finish && !doubles && s.accumulator == f64)) continue;
    const int in = trial.input(s.type, std::max<int64_t>(kept * reduced, 1));
    const X x = k.dag.convert(k.dag.load(in, s.type, flat), s.accumulator);
    const DType written = finish ? s.output : s.accumulator;
    k.reductions.push_back({s.combine, x.id, s.accumulator, s.output, trial.output(written, kept)});
  }
  return trial;
}

inline Trial scatters(Combine combine, DType t, int64_t rows, int64_t columns, bool with_valid,
                      bool unique_indices = false) {
  Trial trial;
  Kernel& k = trial.kernel;
  k.kind = Kernel::Kind::scatter;
  k.extent = {rows, columns};
  const int64_t n = rows * columns, elements = unique_indices ? n : 40;
  Bytes values = random_elements(t, n, 3);
  // Sums in any order must come out the same: small multiples of 1/4.
  if (is_float(t) && combine != set) {
    dispatch(t, [&]<class T>() {
      for (int64_t i = 0; i < n; ++i) {
        const T value =
            T(static_cast<float>(combine == mul ? (i % 5 == 0 ? -2 : 1) : i * 7 % 23 - 11) / (combine == mul ? 1 : 4));
        std::memcpy(&values[static_cast<size_t>(i) * sizeof(T)], &value, sizeof(T));
      }
    });
  }
  const int updates = trial.add(t, values), index = trial.input(u8, n);
  Bytes start = random_elements(t, elements, 5);
  if (is_float(t) && combine == mul) std::ranges::fill(start, std::byte{0});
  if (is_float(t) && combine == add) std::ranges::fill(start, std::byte{0});
  const int table = trial.add(t, start, true);
  const X flat = k.dag.binary(Opcode::add, k.dag.binary(Opcode::mul, k.dag.index(0, u32), k.dag.integer(columns, u32)),
                              k.dag.index(1, u32));
  const X limit = k.dag.integer(40, i32);
  X at = k.dag.convert(k.dag.load(index, u8, flat), i32);
  const X valid = k.dag.binary(Opcode::lt, at, limit);
  if (unique_indices) {
    at = k.dag.binary(Opcode::sub, k.dag.integer(n - 1, i32), k.dag.convert(flat, i32));
  } else if (!with_valid) {
    at = k.dag.binary(Opcode::rem, at, limit);
  }
  k.scatters.push_back(
      {combine, table, elements, at.id, k.dag.load(updates, t, flat).id, with_valid ? valid.id : -1, unique_indices});
  return trial;
}

inline std::vector<Trial> all_maps() {
  std::vector<Trial> trials;
  for (const DType t : kAll) {
    trials.push_back(conversions(t));
    if (!half(t) && t != DType::bool_) trials.push_back(arithmetic(t)), trials.push_back(comparisons(t));
  }
  trials.push_back(bits());
  for (const int level : {0, 1}) trials.push_back(indices(level));
  for (const auto& [from, to] : {std::pair{f32, u32},
                                 {u32, f32},
                                 {i32, f32},
                                 {f32, i32},
                                 {f64, u64},
                                 {i64, f64},
                                 {u16, bf16},
                                 {f16, i16},
                                 {i8, u8},
                                 {u8, i8},
                                 {i32, u32},
                                 {u64, i64}}) {
    trials.push_back(bitcasts(from, to));
  }
  return trials;
}

// How many elements of a row f(x) < limit holds for: all of them, each with about as many turns as f's loops may take.
inline Trial counts(const std::function<X(scalar::Dag&, X)>& f, double x, double limit, DType t, int64_t kept,
                    int64_t reduced, int level) {
  constexpr int kInputs = 256;
  Trial trial;
  Kernel& k = trial.kernel;
  k.kind = Kernel::Kind::reduce;
  k.extent = {kept, reduced};
  k.vector_level = level;
  Bytes inputs;
  if (t == f32) inputs = bytes_of(std::vector<float>(kInputs, static_cast<float>(x)));
  if (t == f64) inputs = bytes_of(std::vector<double>(kInputs, x));
  const int in = trial.add(t, inputs);
  const X some = k.dag.binary(Opcode::bit_and, k.dag.index(1, u32), k.dag.integer(kInputs - 1, u32));
  const X y = f(k.dag, k.dag.load(in, t, some));
  const X holds = k.dag.convert(k.dag.binary(Opcode::lt, y, k.dag.constant(limit, t)), u32);
  k.reductions.push_back({add, holds.id, u32, u32, trial.output(u32, kept)});
  return trial;
}

inline Trial remainders(int64_t kept, int64_t reduced, int level) {
  return counts([](scalar::Dag& d, X x) { return d.binary(Opcode::rem, x, d.constant(3e-38, f32)); }, 1e38, 1, f32,
                kept, reduced, level);
}

inline Trial remainders64(int64_t kept, int64_t reduced, int level) {
  return counts([](scalar::Dag& d, X x) { return d.binary(Opcode::rem, x, d.constant(3e-308, f64)); }, 1e308, 1, f64,
                kept, reduced, level);
}

inline Trial lgammas(int64_t kept, int64_t reduced, int level) {
  return counts([](scalar::Dag& d, X x) { return d.call(scalar::Function::lgamma, x); }, 0.25, 2, f64, kept, reduced,
                level);
}

}  // namespace neap::vk::test
