// The shaders that backends/vulkan emits, on the device, against the kernel interpreter: every opcode and type, every
// kind of kernel, and the ways of writing that devices with fewer features need. That all of it compiles is tested
// without a device.
#include <algorithm>

#include "backends/kernel_eval.h"
#include "backends/vulkan/spirv.h"
#include "tests/backends/elements.h"
#include "tests/backends/every_type.h"
#include "tests/backends/random_program.h"
#include "tests/backends/vulkan_harness.h"

namespace neap::vk::test {
namespace {

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

Trial copies(DType t, int64_t n) {
  Elementwise e(t, n);
  e.to(e.x);
  return e;
}

Trial conversions(DType from) {
  Elementwise e(from, 1031);
  for (const DType to : kAll) {
    if (to != from) e.to(e.kernel.dag.convert(e.x, to));
  }
  return e;
}

Trial comparisons(DType t) {
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

Trial arithmetic(DType t) {
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

Trial bits() {
  Elementwise e(bool_, 97);
  scalar::Dag& d = e.kernel.dag;
  for (const Opcode op : {Opcode::bit_and, Opcode::bit_or, Opcode::bit_xor}) e.to(d.binary(op, e.x, e.y));
  e.to(d.unary(Opcode::bit_not, e.x));
  e.to(d.select(e.x, d.constant(2.5, bf16), d.constant(-1, bf16)));
  return e;
}

Trial bitcasts(DType from, DType to) {
  Elementwise e(from, 75);
  e.to(e.kernel.dag.bitcast(e.x, to));
  return e;
}

// Rows by columns with values made of the indices themselves.
Trial indices(int level) {
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
Trial strides(DType t, int64_t stride, int level) {
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

Trial gathers(DType t, DType index) {
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
Trial reductions(size_t first, int64_t kept, int64_t reduced, int level, bool finish, bool doubles = true) {
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

Trial scatters(Combine combine, DType t, int64_t rows, int64_t columns, bool with_valid, bool distinct = false) {
  Trial trial;
  Kernel& k = trial.kernel;
  k.kind = Kernel::Kind::scatter;
  k.extent = {rows, columns};
  const int64_t n = rows * columns, elements = distinct ? n : 40;
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
  if (distinct) {
    at = k.dag.binary(Opcode::sub, k.dag.integer(n - 1, i32), k.dag.convert(flat, i32));
  } else if (!with_valid) {
    at = k.dag.binary(Opcode::rem, at, limit);
  }
  k.scatters.push_back(
      {combine, table, elements, at.id, k.dag.load(updates, t, flat).id, with_valid ? valid.id : -1, distinct});
  return trial;
}

std::vector<Trial> all_maps() {
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

// x * y + z where the rounding of the product decides: z is its negative in every other element.
Trial fused(DType t) {
  constexpr int64_t kCount = 5000;
  Trial trial;
  std::mt19937 engine(7);
  Bytes memory[3];
  dispatch(t, [&]<class T>() {
    if constexpr (std::is_floating_point_v<T>) {
      std::vector<T> v[3];
      std::uniform_real_distribution<T> real(T(-2), T(2));
      for (int64_t i = 0; i < kCount; ++i) {
        const T a = real(engine), b = real(engine);
        v[0].push_back(a), v[1].push_back(b), v[2].push_back(i % 2 ? -a * b : real(engine));
      }
      for (int i = 0; i < 3; ++i) memory[i] = backends::test::bytes_of(v[i]);
    }
  });
  trial.kernel.extent = {1, kCount};
  X operands[3];
  const X i = trial.kernel.dag.index(1, u32);
  for (int k = 0; k < 3; ++k) operands[k] = trial.kernel.dag.load(trial.add(t, memory[k]), t, i);
  trial.store(i, trial.kernel.dag.fma(operands[0], operands[1], operands[2]), kCount);
  return trial;
}

class VulkanGlsl : public testing::Test {
 protected:
  void SetUp() override { NEAP_NEEDS_VULKAN(); }
  void run(const std::vector<Trial>& trials, const std::function<void(Runner&)>& change = {}) {
    Runner runner(open_device());
    if (change) change(runner);
    for (const Trial& trial : trials) {
      trial.check(runner);
      if (HasFailure()) return;
    }
    EXPECT_EQ(Device::validation_messages(), std::vector<std::string>{});
  }
};

TEST_F(VulkanGlsl, EveryOpcodeAndConversion) { run(all_maps()); }

TEST_F(VulkanGlsl, FmaRoundsOnce) {
  run({fused(f32), fused(f64)});
  run({fused(f32)}, [](Runner& r) { r.choices.float64 = false; });
}

TEST_F(VulkanGlsl, CopiesEveryTypeAndSize) {
  std::vector<Trial> trials;
  for (const DType t : kAll) {
    for (const int64_t n : {1, 2, 3, 7, 64, 257, 5000}) trials.push_back(copies(t, n));
  }
  run(trials);
  // Off the words: single elements.
  std::erase_if(trials, [](const Trial& t) { return size_of(t.kernel.buffers[0].type) != 2; });
  run(trials, [](Runner& r) { r.shift = 2; });
}

TEST_F(VulkanGlsl, Strides) {
  std::vector<Trial> trials;
  for (const DType t : {DType::bool_, DType::i16, DType::f32, DType::f64}) {
    for (const int64_t stride : {-3, -1, 0, 1, 2, 7}) {
      for (const int level : {0, 1}) trials.push_back(strides(t, stride, level));
    }
  }
  run(trials);
}

// out[i] = in[w i + 0] - in[w i + 1] ...: rows of w elements, which are read as words.
Trial rows_of(DType t, int64_t width, int64_t n, int level) {
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

TEST_F(VulkanGlsl, RowsOfAFewElements) {
  std::vector<Trial> trials;
  for (const DType t : {bool_, i8, u16, bf16, i32, f32, i64}) {
    for (const int64_t width : {2, 3, 4}) {
      for (const int64_t n : {4096, 333}) trials.push_back(rows_of(t, width, n, static_cast<int>(n % 2)));
    }
  }
  run(trials);
  const auto gpu = [](Runner& r) { r.choices.cpu = false; };
  run(trials, gpu);
  std::erase_if(trials, [](const Trial& t) { return size_of(t.kernel.buffers[0].type) > 4; });
  run(trials, [&](Runner& r) { gpu(r), r.shift = 4; });
}

TEST_F(VulkanGlsl, GathersByEveryIndexType) {
  std::vector<Trial> trials;
  for (const DType index : {DType::i8, DType::u8, DType::i16, DType::i32, DType::u32, DType::i64})
    trials.push_back(gathers(f32, index));
  for (const DType t : kAll) trials.push_back(gathers(t, i32));
  run(trials);
}

TEST_F(VulkanGlsl, NarrowElementsInWords) {
  std::vector<Trial> trials;
  for (const DType t : {bool_, i8, u8, i16, u16, f16, bf16}) {
    trials.push_back(conversions(t));
    trials.push_back(copies(t, 257));
    trials.push_back(strides(t, 3, 1));
    trials.push_back(gathers(t, i16));
    trials.push_back(scatters(set, t, 1, 50, true));
    trials.push_back(scatters(set, t, 1, 50, false, true));
  }
  run(trials, [](Runner& r) { r.choices.storage8 = r.choices.storage16 = false; });
  run(trials, [](Runner& r) { r.choices.storage8 = r.choices.storage16 = false, r.shift = 2; });
}

TEST_F(VulkanGlsl, Reductions) {
  std::vector<Trial> trials;
  for (size_t first = 0; first < 4; ++first) {
    for (const auto& [kept, reduced] :
         {std::pair<int64_t, int64_t>{1, 1}, {1, 300}, {3, 17}, {40, 5}, {67, 133}, {1, 5000}, {5000, 7}}) {
      for (const int level : {0, 1}) trials.push_back(reductions(first, kept, reduced, level, true));
    }
    trials.push_back(reductions(first, 67, 133, static_cast<int>(first % 2), false));
    Trial empty = reductions(first, 5, 0, 1, true);
    std::erase_if(empty.kernel.reductions, [](const auto& r) { return r.combine >= argmax; });
    trials.push_back(empty);
  }
  run(trials);
  std::erase_if(trials, [](const Trial& t) { return t.kernel.extent[0] < 5000; });
  run(trials, [](Runner& r) { r.choices.cpu = !r.choices.cpu; });
}

// More elements than llvmpipe lets a loop have iterations, and the same with a device that is made to end loops early.
TEST_F(VulkanGlsl, SumsLongRows) {
  std::vector<Trial> trials;
  for (const int level : {0, 1}) trials.push_back(reductions(0, 3, 200001, level, true));
  run(trials, [](Runner& r) { r.choices.reduce_workgroup = 2; });
  for (Trial& t : trials) t = reductions(1, 70, 3000, t.kernel.vector_level, true);
  run(trials, [](Runner& r) { r.choices.most_iterations = 100; });
}

// How many elements of a row f(x) < limit holds for: all of them, each with about as many turns as f's loops may take.
Trial counts(const std::function<X(scalar::Dag&, X)>& f, double x, double limit, DType t, int64_t kept, int64_t reduced,
             int level) {
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

Trial remainders(int64_t kept, int64_t reduced, int level) {
  return counts([](scalar::Dag& d, X x) { return d.binary(Opcode::rem, x, d.constant(3e-38, f32)); }, 1e38, 1, f32,
                kept, reduced, level);
}
Trial remainders64(int64_t kept, int64_t reduced, int level) {
  return counts([](scalar::Dag& d, X x) { return d.binary(Opcode::rem, x, d.constant(3e-308, f64)); }, 1e308, 1, f64,
                kept, reduced, level);
}
Trial lgammas(int64_t kept, int64_t reduced, int level) {
  return counts([](scalar::Dag& d, X x) { return d.call(scalar::Function::lgamma, x); }, 0.25, 2, f64, kept, reduced,
                level);
}

TEST_F(VulkanGlsl, SumsLongRowsOfFunctionsThatLoop) {
  run({remainders(8, 64000, 0), remainders(1, 300'000, 1), remainders64(1, 200'000, 1), lgammas(8, 200'000, 0)});
}

TEST_F(VulkanGlsl, SumsWithoutDoubles) {
  std::vector<Trial> trials;
  for (const auto& [kept, reduced] : {std::pair<int64_t, int64_t>{3, 300}, {67, 33}}) {
    for (size_t first = 0; first < 4; ++first) trials.push_back(reductions(first, kept, reduced, 1, true, false));
  }
  run(trials, [](Runner& r) { r.choices.float64 = false; });
}

TEST_F(VulkanGlsl, Scatters) {
  std::vector<Trial> trials;
  for (const DType t : kAll) {
    for (const Combine combine : {set, add, mul, max, min}) {
      if (t == DType::bool_ && combine != set) continue;
      trials.push_back(scatters(combine, t, 5, 33, true));
      if (combine == set) trials.push_back(scatters(combine, t, 1, 100, false, true));
      if (combine == add) trials.push_back(scatters(combine, t, 1, 3000, false));
      if (combine == max) trials.push_back(scatters(combine, t, 77, 1, false));
    }
  }
  run(trials);
  run(trials, [](Runner& r) {
    r.choices.add32 = r.choices.add64 = Choices::FloatAdd::exchange, r.choices.storage8 = r.choices.storage16 = false;
  });
  std::erase_if(trials, [](const Trial& t) {
    const DType type = t.kernel.buffers[2].type;
    return (type != i64 && type != u64) || t.kernel.scatters[0].combine != add;
  });
  run(trials, [](Runner& r) { r.choices.atomic64 = false; });
}

TEST_F(VulkanGlsl, RandomProgramsEqualTheReference) {
  Runner runner(open_device());
  for (unsigned seed = 2000; seed < 2150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    backends::Program program(seed);
    const backends::PlanStep step = program.finish();
    const auto inputs = program.inputs();
    backends::check(step, inputs, [&](auto launches, auto operands) { runner(launches, operands); });
    if (HasFailure()) return;
  }
}

TEST_F(VulkanGlsl, CopiesAndFillsAnyNumberOfBytes) {
  const auto device = open_device();
  for (const int shift : {0, 1, 2}) {
    Choices choices = device->choices();
    if (shift > 0) choices.storage8 = choices.storage16 = choices.cpu = false;
    for (const size_t bytes : {1, 2, 3, 4, 5, 63, 64, 1021, 100003}) {
      const MemoryPtr memory = device->allocate(2 * 100032 + 64, true, "test");
      std::byte* from = memory->mapped();
      std::byte* to = from + 100032 + shift;
      const auto table = reinterpret_cast<uint64_t*>(from + 2 * 100032);
      std::memset(from, 0x55, 2 * 100032);
      for (size_t i = 0; i < bytes; ++i) from[i] = static_cast<std::byte>(i * 7 + 1);
      table[0] = memory->address(), table[1] = memory->address() + 100032 + static_cast<uint64_t>(shift);
      const auto run = [&](const Shader& shader, uint32_t first) {
        const auto commands = device->record(0);
        commands->dispatch(device->pipeline(shader, "test"), {memory->address() + 2 * 100032, first, 0}, shader.groups);
        commands->end();
        Commands* one[] = {commands.get()};
        device->wait(device->submit(one, {memory}));
      };
      run(copy_shader(bytes, choices), 0);
      EXPECT_EQ(std::memcmp(from, to, bytes), 0) << bytes;
      EXPECT_EQ(to[bytes], std::byte{0x55}) << bytes;
      run(fill_shader(bytes, choices), 1);
      for (size_t i = 0; i < bytes; ++i) ASSERT_EQ(to[i], std::byte{0}) << bytes;
      EXPECT_EQ(to[bytes], std::byte{0x55}) << bytes;
    }
  }
}

TEST_F(VulkanGlsl, BindsEntriesFromRecords) {
  const auto device = open_device();
  const MemoryPtr memory = device->allocate(4096, true, "test");
  auto* table = reinterpret_cast<uint64_t*>(memory->mapped());
  auto* records = reinterpret_cast<BindRecord*>(memory->mapped() + 1024);
  for (uint64_t i = 0; i < 100; ++i) table[i] = 1000 * i;
  table[0] = memory->address() + 1024;
  for (uint32_t i = 0; i < 80; ++i) records[i] = {100 + i % 28, 1 + i % 28, -5 * int64_t{i % 28}};
  const Shader shader = bind_shader(device->choices());
  const auto commands = device->record(0);
  commands->dispatch(device->pipeline(shader, "test"), {memory->address(), 0, 80}, shader.groups);
  commands->end();
  Commands* one[] = {commands.get()};
  device->wait(device->submit(one, {memory}));
  for (uint64_t i = 0; i < 28; ++i) EXPECT_EQ(table[100 + i], 1000 * (1 + i) - 5 * i);
}

// Without a device.

Choices poor() {
  Choices c;
  c.storage8 = c.storage16 = c.float64 = false;
  c.add32 = c.add64 = Choices::FloatAdd::exchange;
  c.int64 = true;
  c.denorm32 = c.specials32 = true;
  return c;
}

bool has_doubles(const Trial& t) {
  return std::ranges::any_of(t.kernel.buffers, [](const auto& b) { return b.type == f64; });
}

TEST(GlslText, CompilesForADeviceWithFewFeatures) {
  for (const Trial& t : all_maps()) {
    if (has_doubles(t)) continue;
    EXPECT_FALSE(compile_glsl(emit(t.launch(), poor()).glsl, "test").empty());
  }
  for (const int level : {0, 1}) {
    EXPECT_FALSE(compile_glsl(emit(reductions(0, 3, 300, level, true, false).launch(), poor()).glsl, "test").empty());
  }
  for (const DType t : kAll) {
    if (size_of(t) == 8 || t == bool_) continue;
    for (const Combine combine : {set, add, mul, max, min}) {
      EXPECT_FALSE(compile_glsl(emit(scatters(combine, t, 5, 33, true).launch(), poor()).glsl, "test").empty());
    }
  }
}

TEST(GlslText, CountsBeyond32Bits) {
  constexpr int64_t kMany = int64_t{1} << 33;
  for (Choices c : {poor(), Choices{.storage8 = true, .storage16 = true, .int64 = true, .float64 = true}}) {
    Trial map;
    map.kernel.extent = {1, kMany};
    const X i = map.kernel.dag.index(1, i64);
    map.input(bf16, 1);
    map.store(i, map.kernel.dag.load(0, bf16, i), 1);
    EXPECT_FALSE(compile_glsl(emit(map.launch(), c).glsl, "map").empty());
    map.kernel.extent = {kMany / 64, 64};
    EXPECT_FALSE(compile_glsl(emit(map.launch(), c).glsl, "rows").empty());

    for (const auto& [kept, reduced] : {std::pair<int64_t, int64_t>{1, kMany}, {kMany / 8, 8}, {64, kMany / 64}}) {
      Trial sum;
      sum.kernel.kind = Kernel::Kind::reduce;
      sum.kernel.extent = {kept, reduced};
      const X j = sum.kernel.dag.index(1, i64);
      sum.input(f32, 1);
      const X x = sum.kernel.dag.load(0, f32, j);
      sum.kernel.reductions = {{max, x.id, f32, f32, sum.output(f32, 1)}};
      Launch launch = sum.launch();
      EXPECT_FALSE(compile_glsl(emit(launch, c).glsl, "max").empty());
      launch.parts = 64;
      launch.kernel.finish = false;
      EXPECT_FALSE(compile_glsl(emit(launch, c).glsl, "parts of max").empty());
    }

    Trial updates = scatters(add, f32, 1, 64, true);
    updates.kernel.extent = {1, kMany};
    Launch launch = updates.launch();
    EXPECT_FALSE(compile_glsl(emit(launch, c).glsl, "updates").empty());
    launch.parts = 5;
    launch.part0_operand = 0;
    EXPECT_FALSE(compile_glsl(emit(launch, c).glsl, "parts of updates").empty());
  }
}

TEST(GlslText, LoopsOfFunctionsAreCounted) {
  Choices c{.cpu = true, .int64 = true, .float64 = true, .most_iterations = 65535};
  for (const auto& make : {remainders, remainders64, lgammas}) {
    for (const int level : {0, 1}) {
      for (const auto& [kept, reduced] : {std::pair<int64_t, int64_t>{1, 300'000}, {20, 300'000}, {5000, 7000}}) {
        const Shader shader = emit(make(kept, reduced, level).launch(), c);
        EXPECT_LT(shader.iterations, c.most_iterations) << kept << " x " << reduced;
        EXPECT_GT(shader.iterations * shader.combining, static_cast<uint64_t>(reduced));
      }
    }
  }
  try {
    emit(lgammas(1, int64_t{1} << 40, 1).launch(), c);
    FAIL();
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("loops of more than 65535"), std::string::npos) << error.what();
  }
}

TEST(GlslText, NamesTheFeatureThatIsMissing) {
  const auto message = [](const Trial& t) {
    try {
      emit(t.launch(), poor());
    } catch (const UserError& e) {
      return std::string(e.what());
    }
    return std::string();
  };
  EXPECT_NE(message(arithmetic(f64)).find("shaderFloat64"), std::string::npos);
  EXPECT_NE(message(scatters(max, i64, 1, 9, false)).find("shaderBufferInt64Atomics"), std::string::npos);
  EXPECT_EQ(message(scatters(add, i64, 1, 9, false)), "");
}

TEST(GlslText, StoresWholeWordsOfNarrowElements) {
  Choices c;
  c.storage16 = true;
  const Trial t = copies(bf16, 1 << 20);
  const Shader shader = emit(t.launch(), c);
  EXPECT_NE(shader.glsl.find("R64("), std::string::npos);
  EXPECT_EQ(shader.groups[0] * shader.groups[1] * shader.groups[2], (1u << 18) / c.workgroup);
  // A row of odd length that lies behind another has no words of its own.
  Trial rows = indices(1);
  EXPECT_EQ(emit(rows.launch(), c).glsl.find("w0["), std::string::npos);
}

}  // namespace
}  // namespace neap::vk::test
