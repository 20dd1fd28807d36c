// The promise: the peak is known before a run, and kept to the byte. The three founding cases at small sizes, and what
// they rest on: loops, donation, scratch, eager calls.
#include "tests/jit/measure.h"

namespace neap {
namespace {

namespace nr = random;
using namespace literals;

constexpr size_t kKey = 64;

TEST(RandomPeak, OneKernelWithNothingBesideTheOutput) {
  for (const DType t : {bf16, f16, f32, f64}) {
    for (const Shape& shape : {Shape{1001, 777}, Shape{1}, Shape{512, 2048}}) {
      for (const bool normal : {true, false}) {
        const auto f = [&](const Array& key) {
          return normal ? nr::normal(key, shape, t) : nr::uniform(key, shape, t);
        };
        const Array key = nr::key(42);
        const Measured planned = measure(jit(f), key), naive = measure(jit(f, {.pipeline = Pipeline::naive}), key);
        EXPECT_EQ(planned.planned, kKey + counted(planned.outputs));
        EXPECT_TRUE(same_bits(planned.outputs[0], naive.outputs[0]));
        EXPECT_EQ(naive.planned, planned.naive);
        EXPECT_TRUE(has(planned.plan, "fused"));
        const auto n = static_cast<size_t>(element_count(shape));
        if (size_of(t) == 2) EXPECT_EQ(naive.planned, kKey + counted(4 * n) + counted(2 * n));  // 3 x the output
      }
    }
  }
}

TEST(RandomPeak, UniformWithArrayBoundsAndBatchesOfKeys) {
  const auto f =
      jit([](const Array& keys, const Array& low) { return nr::uniform(keys, {300, 257}, bf16, low, low + 1); });
  const Array keys = nr::split(nr::key(1), 6), low = linspace(-1, 1, 257);
  const Measured m = measure(f, keys, low);
  EXPECT_LE(m.planned, counted({keys, low}) + counted(m.outputs) + 4_KiB);
}

TEST(RandomPeak, InsideEveryTransform) {
  const Shape shape{256, 300};
  const auto draw = [&](const Array& key) { return nr::normal(key, shape, bf16); };
  const Array keys = nr::split(nr::key(2), 8);
  const Measured mapped = measure(jit(vmap(draw)), keys);
  EXPECT_EQ(mapped.planned, counted({keys}) + counted(mapped.outputs));
  for (int64_t i = 0; i < 8; ++i) EXPECT_TRUE(same_bits(mapped.outputs[0][i], jit(draw)(keys[i])));

  const Array w = full(shape, 0.5f, bf16), key = nr::key(3);
  const auto weigh = [&](const Array& weight, const Array& k) { return sum(draw(k) * weight); };
  const Measured gradient = measure(jit(grad(weigh)), w, key);
  EXPECT_LE(gradient.planned, counted({w, key}) + counted(gradient.outputs));
  EXPECT_TRUE(same_bits(gradient.outputs[0], draw(key)));
  const Measured value = measure(jit(weigh), w, key);
  EXPECT_LE(value.planned, counted({w, key}) + 64_KiB);

  const auto steps = jit([&](const Array& first) {
    return scan(
               [&](const Array& k, std::nullptr_t) {
                 const Array two = nr::split(k);
                 return std::pair{Array(two[0]), draw(two[1])};
               },
               first, nullptr, 8)
        .second;
  });
  const Measured looped = measure(steps, key);
  EXPECT_LE(looped.planned, kKey + counted(looped.outputs) + 1_KiB);
}

// --- many small draws, each reduced to a sum

Array draw_sum(const Array& key) { return sum(nr::normal(key, {100})); }

auto by_scan(int64_t steps) {
  return [steps](const Array& first) {
    return scan(
               [](const Array& k, std::nullptr_t) {
                 const Array two = nr::split(k);
                 return std::pair{Array(two[0]), draw_sum(two[1])};
               },
               first, nullptr, steps)
        .second;
  };
}
auto by_vmap(int64_t steps) {
  return [steps](const Array& first) { return vmap(draw_sum)(nr::split(first, steps)); };
}

TEST(LoopPeak, DoesNotGrowWithTheSamples) {
  const Array key = nr::key(0);
  const auto extra = [&](const auto& f) {
    const Measured m = measure(jit(f), key);
    return m.planned - counted(m.outputs);
  };
  EXPECT_LE(extra(by_scan(50)), 64_KiB);
  EXPECT_LE(extra(by_scan(5000)), 64_KiB);
  EXPECT_LE(extra(by_vmap(50)), 64_KiB);
  EXPECT_LE(extra(by_vmap(50'000)), 64_KiB);
}

TEST(LoopPeak, TheWaysAgreeWhereTheyDrawTheSameKeys) {
  const Array keys = nr::split(nr::key(4), 300);
  const Array mapped = jit(vmap(draw_sum))(keys);
  const Array looped = jit([](const Array& k) { return map(draw_sum, k); })(keys);
  EXPECT_TRUE(same_bits(mapped, looped));
  const auto one = jit(draw_sum);
  for (int64_t i = 0; i < 300; i += 37) EXPECT_EQ(one(keys[i]).item<float>(), mapped[i].item<float>());
}

TEST(LoopPeak, EagerLoopsKeepNothing) {
  Array key = nr::key(0);
  std::vector<Array> sums;
  const auto step = [&] {
    const Array two = nr::split(key);
    key = two[0];
    sums.push_back(draw_sum(two[1]));
  };
  for (int i = 0; i < 10; ++i) step();
  memory::reset_peak();
  const size_t before = memory::live_bytes();
  for (int i = 0; i < 1000; ++i) step();
  EXPECT_LE(memory::live_bytes() - before, 1000 * kKey);
  EXPECT_LE(memory::peak_bytes() - before, 1000 * kKey + 4_KiB);
}

TEST(LoopPeak, MonteCarloHoldsNoSamples) {
  const auto price = [](const Array& spot, const Array& sigma, const Array& key) {
    const Array z = nr::normal(key, {1'000'000});
    const Array s = spot * exp((0.02f - 0.5f * sigma * sigma) + sigma * z);
    return exp(array(-0.02f)) * mean(maximum(s - 105, 0.0f));
  };
  const auto greeks = jit(value_and_grad<0, 1>(price));
  const Measured m = measure(greeks, array(100.0f), array(0.2f), nr::key(7));
  EXPECT_LT(m.planned, 1_MiB);
  EXPECT_NEAR(m.outputs[0].item<float>(), 6.7048, 0.07);  // Black-Scholes, within five standard errors
  EXPECT_NEAR(m.outputs[1].item<float>(), 0.4825, 0.005);
  EXPECT_NEAR(m.outputs[2].item<float>(), 39.856, 0.6);
}

// --- the gradient of a gather

Array row_form(const Array& x, const Array& idx) { return sum(gather(x, idx) * 2.5f); }
Array tuple_form(const Array& x, const Array& idx) {
  const std::vector<Array> c = split(idx, 3, 1);
  const Array read = x[{c[0], c[1], c[2]}];
  return sum(read[{ellipsis, 0}] * 2.5f);
}

Array some_indices(int64_t n, DType t, int64_t low, int64_t high) {
  return nr::randint(nr::key(5), {n, 3}, low, high, t);
}

// The gradient of a table that a loop reads by rows: the steps add to those rows of one array.
TEST(GatherPeak, GradientsOfLoopsThatReadRowsHoldTheTableTwice) {
  const Array table = nr::normal(nr::key(1), {20000, 16}), ids = nr::randint(nr::key(2), {12, 5}, 0, 20000);
  const auto read = [](const Array& t, const Array& i) { return sum(tanh(take(t, i, 0)), {0}); };
  const auto window = [](const Array& t, const Array& i) {
    return tanh(dynamic_slice(t, stack({i[0], array(0)}), {2, 16})[1]);
  };
  const auto check = [&](const auto& f) {
    const auto loss = [&](const Array& t, const Array& all) {
      return sum(
          scan([&](const Array& c, const Array& i) { return std::pair{c * 0.5f + f(t, i), nullptr}; }, zeros({16}), all)
              .first);
    };
    const auto unrolled = [&](const Array& t, const Array& all) {
      Array c = zeros({16});
      for (int64_t k = 0; k < 12; ++k) c = c * 0.5f + f(t, all[k]);
      return sum(c);
    };
    const Measured m = measure(jit(grad(loss)), table, ids);
    EXPECT_LE(m.planned, counted({table, ids}) + counted(m.outputs) + 16_KiB) << m.plan;
    EXPECT_TRUE(allclose(m.outputs[0], grad(unrolled)(table, ids), 1e-6, 1e-6).template item<bool>());
  };
  check(read);
  check(window);
  check([&](const Array& t, const Array& i) { return read(t, i) * window(t, i); });
}

TEST(GatherPeak, NeitherIndicesNorCotangentAreCopied) {
  const int64_t n = 200'000;
  const Array x = nr::normal(nr::key(1), {24, 24, 24});
  for (const DType t : {i32, i16, i64}) {
    const Array idx = some_indices(n, t, 0, 24);
    const Measured forward = measure(jit(row_form), x, idx);
    EXPECT_LE(forward.planned, counted({x, idx}) + 64_KiB);
    const Measured gradient = measure(jit(grad(row_form)), x, idx);
    EXPECT_TRUE(has(gradient.plan, "nocopy-gather-grad")) << gradient.plan;
    EXPECT_LE(gradient.planned, counted({x, idx}) + 8 * counted({x}));  // a few partial tables
    const auto naive = jit(grad(row_form), {.pipeline = Pipeline::naive});
    EXPECT_TRUE(same_bits(naive(x, idx), gradient.outputs[0]));
    EXPECT_EQ(sum(gradient.outputs[0]).item<float>(), 2.5f * static_cast<float>(n));
  }
}

TEST(GatherPeak, TheSameForEveryFormThatUsersWrite) {
  const int64_t n = 100'000;
  const Array x = nr::normal(nr::key(1), {24, 24, 24});
  for (const DType t : {i32, i16}) {
    for (const int64_t low : {0, -24}) {
      const Array idx = some_indices(n, t, low, 24);
      const Measured rows = measure(jit(grad(row_form)), x, idx), columns = measure(jit(grad(tuple_form)), x, idx);
      EXPECT_EQ(rows.planned, columns.planned) << rows.plan << columns.plan;
      EXPECT_TRUE(same_bits(rows.outputs[0], columns.outputs[0]));
      const Measured forward = measure(jit(row_form), x, idx), by_columns = measure(jit(tuple_form), x, idx);
      EXPECT_EQ(forward.planned, by_columns.planned);
      EXPECT_TRUE(same_bits(forward.outputs[0], by_columns.outputs[0]));
      const auto closed = jit(grad([idx](const Array& a) { return row_form(a, idx); }));
      const Measured captured = measure_capturing({idx}, closed, x);
      EXPECT_EQ(captured.planned, rows.planned);
      EXPECT_TRUE(same_bits(captured.outputs[0], rows.outputs[0]));
    }
  }
}

TEST(GatherPeak, PlansTheFullSizeWithoutAllocating) {
  const size_t before = memory::live_bytes();
  memory::reset_peak();
  const auto x = spec({128, 128, 128}, f32);
  constexpr double kGiB = 0x1p30;
  for (const auto& [t, forward, gradient] : {std::tuple{i32, 96.02, 96.05}, {i16, 48.02, 48.05}}) {
    const auto idx = spec({int64_t{1} << 33, 3}, t);
    EXPECT_LE(static_cast<double>(jit(row_form).plan(x, idx).peak_bytes()) / kGiB, forward);
    EXPECT_LE(static_cast<double>(jit(tuple_form).plan(x, idx).peak_bytes()) / kGiB, forward);
    const Plan plan = jit(grad(row_form)).plan(x, idx);
    EXPECT_LE(static_cast<double>(plan.peak_bytes()) / kGiB, gradient) << plan;
    EXPECT_LE(static_cast<double>(jit(grad(tuple_form)).plan(x, idx).peak_bytes()) / kGiB, gradient);
  }
  EXPECT_EQ(memory::peak_bytes(), before);
}

TEST(GatherPeak, NonlinearKeepsNoCotangent) {
  const int64_t n = 300'000;
  const auto loss = [](const Array& x, const Array& w, const Array& idx) { return sum(sin(gather(x, idx)) * w); };
  const Array x = nr::normal(nr::key(1), {24, 24, 24}), w = nr::normal(nr::key(2), {n}),
              idx = some_indices(n, i32, 0, 24);
  const Measured m = measure(jit(grad(loss)), x, w, idx);
  EXPECT_LE(m.planned, counted({x, w, idx}) + 9 * counted({x}));
  EXPECT_TRUE(has(m.plan, "nocopy-gather-grad"));
  const Measured both = measure(jit(value_and_grad<0, 1>(loss)), x, w, idx);
  EXPECT_LE(both.planned, counted({x, w, idx}) + counted({w}) + 9 * counted({x}));
  const Array d64 = grad(loss)(x.astype(f64), w.astype(f64), idx);
  const std::vector<double> want = d64.to_vector<double>(), got = m.outputs[0].to_vector<double>();
  for (size_t i = 0; i < want.size(); ++i) ASSERT_NEAR(got[i], want[i], 1e-4 * std::max(1.0, std::abs(want[i])));
  const int before = num_threads();
  set_num_threads(1);
  EXPECT_TRUE(same_bits(jit(grad(loss))(x, w, idx), m.outputs[0]));
  set_num_threads(before);
}

// --- memory of other kinds

TEST(Peak, DonatedArgumentsAreReused) {
  const auto f = jit([](const Array& x, const Array& y) { return exp(x) * y; }, {.donate = {0}});
  const Array y = ones({1 << 18});
  const Measured m = measure(f, ones({1 << 18}), y);
  EXPECT_EQ(m.planned, 2 * y.bytes());
  EXPECT_TRUE(has(m.plan, "inplace") || has(m.plan, "fused"));
}

TEST(Peak, MatrixProductsScratchIsPlanned) {
  const auto f = jit([](const Array& a, const Array& b) { return tanh(matmul(a, b)) + matmul(b, a); });
  for (const int64_t n : {5, 64, 300}) measure(f, nr::normal(nr::key(1), {n, n}), nr::normal(nr::key(2), {n, n}));
}

TEST(Peak, ManyStepsKeepToThePlan) {
  const auto f = [](const Array& x, const Array& w) {
    Array h = x;
    for (int i = 0; i < 12; ++i) h = tanh(matmul(h, w)) + mean(h, 0);
    return std::tuple{h, argmax(h, 1), softmax(h)};
  };
  const Array x = nr::normal(nr::key(1), {200, 64}), w = nr::normal(nr::key(2), {64, 64});
  const Measured planned = measure(jit(f), x, w), naive = measure(jit(f, {.pipeline = Pipeline::naive}), x, w);
  EXPECT_LE(planned.planned, naive.planned);
  EXPECT_EQ(planned.naive, naive.planned);
  const auto loss = [&](const Array& v) { return sum(std::get<0>(f(x, v))); };
  const Measured trained = measure_capturing({x}, jit(grad(loss)), w);
  EXPECT_LE(trained.planned, trained.naive);
}

TEST(Peak, EagerOpsStayFlat) {
  Array x = ones({1 << 16});
  const auto step = [&] { x = sin(x) * 0.5f + transpose(reshape(x, {256, 256}))[0][0]; };
  step();
  synchronize();
  memory::reset_peak();
  const size_t before = memory::live_bytes();
  for (int i = 0; i < 100; ++i) step();
  synchronize();
  EXPECT_EQ(memory::live_bytes(), before);
  EXPECT_LE(memory::peak_bytes() - before, 5 * x.bytes());  // the temporaries of one expression
}

}  // namespace
}  // namespace neap
