// Element-wise shaders that backends/vulkan emits, on the device, against the kernel interpreter: every opcode and
// type, and the ways of writing that devices with fewer features need.
#include "tests/backends/random_program.h"
#include "tests/backends/vulkan_trials.h"

namespace neap::vk::test {
namespace {

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

// Doubles inside an expression, made of the bits of integers and written as such; every NaN as one.
Trial doubles_inside(bool near_one) {
  constexpr int64_t kCount = 3000;
  Elementwise e(u64, kCount);
  scalar::Dag& d = e.kernel.dag;
  const auto number = [&](X bits) {
    if (near_one) {  // of exponents that lie so close that sums cancel
      bits = d.binary(Opcode::bit_and, bits, d.integer(static_cast<int64_t>(0x803fffffffffffff), u64));
      bits = d.binary(Opcode::add, bits, d.integer(0x3fd0000000000000, u64));
    }
    return d.bitcast(bits, f64);
  };
  const X x = number(e.x), y = number(e.y),
          z = number(d.binary(Opcode::bit_xor, d.binary(Opcode::mul, e.x, d.integer(0x9e3779b9, u64)), e.y));
  const auto to = [&](X v) {
    const X nan = d.binary(Opcode::ne, v, v);
    e.to(d.select(nan, d.integer(1, u64), d.bitcast(v, u64)));
  };
  for (const Opcode op : {Opcode::add, Opcode::sub, Opcode::mul, Opcode::div}) to(d.binary(op, x, y));
  for (const Opcode op : {Opcode::neg, Opcode::abs, Opcode::rint, Opcode::sqrt}) to(d.unary(op, x));
  to(d.unary(Opcode::sqrt, d.unary(Opcode::abs, x)));
  to(d.unary(Opcode::rint, d.binary(Opcode::mul, y, d.constant(1234.5, f64))));
  to(d.fma(x, y, z));
  to(d.fma(x, y, d.unary(Opcode::neg, d.binary(Opcode::mul, x, y))));
  to(d.binary(Opcode::sub, x, x));
  for (const Opcode op : {Opcode::lt, Opcode::le, Opcode::eq, Opcode::ne}) {
    e.to(d.binary(op, x, y));
    e.to(d.binary(op, d.unary(Opcode::abs, x), x));
  }
  for (const DType t : {f32, f16, bf16}) {
    e.to(d.convert(x, t));
    to(d.convert(d.convert(y, t), f64));
  }
  for (const DType t : {u64, i64, i32, u8}) to(d.convert(d.convert(e.x, t), f64));
  return e;
}

TEST_F(VulkanGlsl, DoublesByIntegers) {
  Runner runner(open_device());
  runner.choices.float64 = false;
  for (const bool near_one : {false, true}) doubles_inside(near_one).check(runner);
  EXPECT_EQ(Device::validation_messages(), std::vector<std::string>{});
}

// Compared with constants; a driver narrowed such comparisons and lost the sign.
Trial widened(DType from, DType to) {
  Elementwise e(from, 515);
  scalar::Dag& d = e.kernel.dag;
  const X w = d.convert(e.x, to);
  for (const int64_t number : {int64_t{0}, int64_t{-1}, int64_t{5}, int64_t{1} << 31, -(int64_t{1} << 31)}) {
    const X c = d.integer(number, to);
    for (const Opcode op : {Opcode::lt, Opcode::le, Opcode::eq}) {
      e.to(d.binary(op, w, c));
      e.to(d.binary(op, c, w));
    }
  }
  e.to(d.binary(Opcode::shr, w, d.integer(7, to)));
  if (is_signed(to)) e.to(d.unary(Opcode::abs, w));
  return e;
}

TEST_F(VulkanGlsl, ComparesWidenedIntegers) {
  run({widened(i32, i64), widened(i16, i64), widened(u32, i64), widened(i32, u64), widened(i8, i32)});
}

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

TEST_F(VulkanGlsl, RandomProgramsEqualTheReference) {
  Runner runner(open_device());
  runner.views = runner.choices.texels > 0;
  for (unsigned seed = 2000; seed < 2150; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    backends::Program program(seed);
    const backends::PlanStep step = program.finish();
    const auto inputs = program.inputs();
    backends::check(step, inputs, [&](auto launches, auto operands) { runner(launches, operands); });
    if (HasFailure()) return;
  }
}

}  // namespace
}  // namespace neap::vk::test
