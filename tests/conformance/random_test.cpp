// Random bits, splits and folds in every dtype and shape, and the distributions made of them.
#include <neap/ops.h>
#include <neap/random.h>

#include "tests/conformance/harness.h"

namespace neap::conformance {
namespace {

namespace nr = random;

TEST(RandomOps, Bits) {
  Sheet s(21);
  for (const DType t : {u8, u16, u32, u64}) {
    for (const Shape& batch : {Shape{}, Shape{3}, Shape{2, 2}, Shape{0}}) {
      for (const int64_t words : {2, 4}) {
        Shape key = batch;
        key.push_back(words);
        for (const Shape& shape :
             {Shape{}, Shape{0}, Shape{7}, Shape{3, 5}, Shape{2, 3, 129}, Shape{1000}, Shape{5003}})
          s.check("bits of keys " + to_string(batch), Op::random_bits, {s.input(key, u32)},
                  {{Attr::shape, shape}, {Attr::dtype, t}});
      }
    }
  }
  s.run();
}

TEST(RandomOps, BitsAtAnOffset) {
  Sheet s(22);
  const auto at = [&](const Shape& shape, const Shape& full, std::vector<int64_t> offset) {
    for (const DType t : {u8, u16, u32, u64})
      for (const Shape& key : {Shape{2}, Shape{3, 2}, Shape{4}, Shape{3, 4}})
        s.check("bits at " + to_string(offset), Op::random_bits, {s.input(key, u32), s.input(array(offset))},
                {{Attr::shape, shape}, {Attr::dtype, t}, {Attr::full_shape, full}});
  };
  at({100}, {1000}, {0});
  at({100}, {1000}, {357});
  at({3, 5}, {8, 33}, {2, 17});
  at({130}, {int64_t{1} << 40}, {(int64_t{1} << 32) - 65});  // the high word changes on the way
  at({5000}, {int64_t{1} << 20}, {12'344});                  // a multiple of a block
  at({64, 100}, {1000, 100}, {37, 0});
  at({4, 50}, {int64_t{1} << 20, int64_t{1} << 20}, {123'456, 1'000'000});
  at({2, 3, 4}, {1 << 12, 1 << 12, 1 << 12}, {4000, 5, 6});
  s.run();
}

TEST(RandomOps, SplitAndFoldIn) {
  Sheet s(23);
  for (const Shape& batch : {Shape{}, Shape{3}, Shape{2, 2}}) {
    for (const int64_t words : {2, 4}) {
      Shape key = batch;
      key.push_back(words);
      for (const Shape& shape : {Shape{}, Shape{0}, Shape{7}, Shape{3, 50}})
        s.check("split", Op::random_split, {s.input(key, u32)}, {{Attr::shape, shape}});
      s.check("fold_in", Op::random_fold_in, {s.input(key, u32), s.input(batch, u32)});
    }
  }
  s.run();
}

// Where elements lie beside each other in memory but not in the order of the generator, and where rows are no whole
// blocks: every element is what it is alone.
TEST(RandomOps, BitsOfPhiloxInEveryOrder) {
  Sheet s(25);
  Graph& g = s.graph;
  for (const DType t : {u32, u64}) {
    for (const Shape& shape : {Shape{64, 96}, Shape{70, 90}, Shape{33, 31}}) {
      const ValueId bits = g.add(Op::random_bits, {s.input({4}, u32)}, {{Attr::shape, shape}, {Attr::dtype, t}});
      s.output("transposed", g.add(Op::transpose, {bits}, {{Attr::permutation, Ints{1, 0}}}));
      s.output("every third",
               g.add(Op::slice, {bits}, {{Attr::start, Ints{1, 2}}, {Attr::limit, shape}, {Attr::stride, Ints{1, 3}}}));
      for (const int64_t axis : {0, 1}) s.output("added up", g.add(Op::reduce_sum, {bits}, {{Attr::axes, Ints{axis}}}));
    }
  }
  s.run();
}

// A key made of a key of a key, all in one kernel or not.
TEST(RandomOps, KeysFromKeys) {
  Sheet s(24);
  Graph& g = s.graph;
  const ValueId keys = g.add(Op::random_split, {s.input({2}, u32)}, {{Attr::shape, Ints{300}}});
  const ValueId folded = g.add(
      Op::random_fold_in, {keys, g.add(Op::iota, {}, {{Attr::dtype, u32}, {Attr::shape, Ints{300}}, {Attr::axis, 0}})});
  s.output("bits of 300 keys", g.add(Op::random_bits, {folded}, {{Attr::shape, Ints{17}}, {Attr::dtype, u32}}));
  s.output("one row of them",
           g.add(Op::random_bits,
                 {g.add(Op::slice, {folded},
                        {{Attr::start, Ints{7, 0}}, {Attr::limit, Ints{8, 2}}, {Attr::stride, Ints{1, 1}}})},
                 {{Attr::shape, Ints{17}}, {Attr::dtype, u64}}));
  s.run();
}

void expect_as_reference(const std::string& what, Tolerance t, const std::function<Array(const Array&)>& draw) {
  const auto f = jit(draw);
  for (const Array& key : {nr::key(5), nr::split(nr::key(6), 3), nr::key(5, nr::Generator::philox),
                           nr::split(nr::key(6, nr::Generator::philox), 3)}) {
    const Array planned = f(key), naive = jit(draw, {.pipeline = Pipeline::naive})(key), eager = draw(key);
    EXPECT_EQ(difference(naive, planned, kSameBits), "") << what;
    EXPECT_EQ(difference(eager, planned, kSameBits), "") << what << ", eager";
    const Array one = [&] {
      const Threads alone(1);
      return f(key);
    }();
    EXPECT_EQ(difference(one, planned, kSameBits), "") << what << ", one thread";
    const eager_reference reference;
    EXPECT_EQ(difference(planned, draw(key), t), "") << what;
  }
}

TEST(Distributions, EveryDType) {
  const Shape shape{3, 1111};
  for (const DType t : {f16, bf16, f32, f64}) {
    const auto exact = [&](const char* what, auto draw) {
      expect_as_reference(fmt::format("{} {}", what, name(t)), {}, draw);
    };
    // f32 normals are within 4 ulp, then multiplied; halves round what is a few f32 ulp off.
    const auto near = [&](const char* what, auto draw) {
      expect_as_reference(fmt::format("{} {}", what, name(t)), {.ulps = size_of(t) == 2 ? 1 : 16, .absolute = 1e-6},
                          draw);
    };
    exact("uniform", [&](const Array& key) { return nr::uniform(key, shape, t); });
    exact("uniform in [-3, 7)", [&](const Array& key) { return nr::uniform(key, shape, t, -3.0f, 7.0f); });
    near("normal", [&](const Array& key) { return nr::normal(key, shape, t); });
    if (t == f16 || t == f64) continue;  // made of the same, in the same way
    near("exponential", [&](const Array& key) { return nr::exponential(key, shape, t); });
    near("gumbel", [&](const Array& key) { return nr::gumbel(key, shape, t); });
    near("logistic", [&](const Array& key) { return nr::logistic(key, shape, t); });
    near("laplace", [&](const Array& key) { return nr::laplace(key, shape, t); });
    near("truncated_normal", [&](const Array& key) { return nr::truncated_normal(key, -1.5f, 2.0f, shape, t); });
  }
  for (const DType t : {i8, i16, i32, i64, u8, u16, u32, u64})
    expect_as_reference(fmt::format("randint {}", name(t)), {},
                        [&](const Array& key) { return nr::randint(key, shape, 3, 100, t); });
  for (const DType t : {i8, i32, f32})
    expect_as_reference("rademacher", {}, [&](const Array& key) { return nr::rademacher(key, shape, t); });
  expect_as_reference("bernoulli", {}, [&](const Array& key) { return nr::bernoulli(key, 0.3f, shape); });
}

TEST(Distributions, Categorical) {
  const Array logits = array({0.0f, 1.0f, -1.0f, 2.0f});
  const auto draw = [&](const Array& key) { return nr::categorical(key, logits, -1, Shape{5000}); };
  EXPECT_EQ(difference(jit(draw)(nr::key(5)), jit(draw, {.pipeline = Pipeline::naive})(nr::key(5)), kSameBits), "");
}

// Bounds that are arrays, and a consumer in the same kernel.
TEST(Distributions, InsideAnExpression) {
  const auto f = [](const Array& key, const Array& low, const Array& w) {
    const Array u = nr::uniform(key, {40, 257}, f32, low, low + 2);
    return sum(u * w, 1);
  };
  Random random(3);
  const Array low = random_array({{40, 1}, f32}, Fill::tame, random),
              w = random_array({{257}, f32}, Fill::tame, random);
  const Array planned = jit(f)(nr::key(9), low, w), naive = jit(f, {.pipeline = Pipeline::naive})(nr::key(9), low, w);
  EXPECT_EQ(difference(naive, planned, kSameBits), "");
  const eager_reference reference;
  EXPECT_EQ(difference(planned, f(nr::key(9), low, w), {.ulps = 64, .absolute = 1e-2}), "");
}

}  // namespace
}  // namespace neap::conformance
