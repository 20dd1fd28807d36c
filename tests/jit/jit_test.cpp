// jit() and eager calls as a user meets them: signatures, trees, captured arrays, donation, errors, threads, planned
// memory that is measured memory.
#include <neap/neap.h>

#include <map>
#include <thread>

namespace neap {
namespace {

using namespace literals;
using testing::ElementsAre;

std::vector<float> values(const Array& a) { return a.to_vector<float>(); }

TEST(Jit, ComputesWhatTheFunctionDoes) {
  const auto f = [](const Array& x, const Array& y) { return exp(x) * y + 1; };
  const Array x = array({0.f, 1.f, 2.f}), y = array({1.f, 2.f, 3.f});
  EXPECT_EQ(values(jit(f)(x, y)), values(f(x, y)));
}

TEST(Jit, TracesOncePerSignature) {
  int traces = 0;
  const auto f = jit([&](const Array& x, int times) {
    ++traces;
    return x * times;
  });
  EXPECT_THAT(values(f(array({1.f, 2.f}), 2)), ElementsAre(2, 4));
  EXPECT_THAT(values(f(array({3.f, 4.f}), 2)), ElementsAre(6, 8));
  EXPECT_EQ(traces, 1);
  EXPECT_THAT(values(f(array({1.f, 2.f}), 3)), ElementsAre(3, 6));  // another static value
  EXPECT_THAT(values(f(array({1.f}), 3)), ElementsAre(3));          // another shape
  EXPECT_EQ(f(array({1}), 3).dtype(), i32);                         // another dtype
  EXPECT_EQ(traces, 4);
}

struct Params {
  Array w, b;
};

TEST(Jit, TakesAndGivesTrees) {
  const auto f = jit([](const Params& p, const std::map<std::string, std::vector<Array>>& m) {
    return std::pair{Params{p.w + m.at("a")[0], p.b * m.at("a")[1]}, std::tuple{p.w, 3}};
  });
  const auto [p, t] = f(Params{array({1.f}), array({2.f})},
                        std::map<std::string, std::vector<Array>>{{"a", {array({10.f}), array({20.f})}}});
  EXPECT_THAT(values(p.w), ElementsAre(11));
  EXPECT_THAT(values(p.b), ElementsAre(40));
  EXPECT_THAT(values(std::get<0>(t)), ElementsAre(1));
  EXPECT_EQ(std::get<1>(t), 3);
}

TEST(Jit, CapturesConcreteArraysWithoutCopyingThem) {
  const Array table = jit([] { return iota({1 << 20}, 0, f32); })();
  const auto f = jit([&](const Array& x) { return sum(table * x); });
  memory::reset_peak();
  const size_t before = memory::live_bytes();
  f(array(2.0f));
  EXPECT_LT(memory::peak_bytes() - before, 64_KiB);
  EXPECT_GE(f.last_plan().peak_bytes(), table.bytes());
}

TEST(Jit, PlannedIsMeasured) {
  const auto f = jit([](const Array& x) { return matmul(x, x) + exp(x); });
  const Array x = ones({256, 256});
  f.compile(x);
  synchronize();
  memory::reset_peak();
  const size_t others = memory::live_bytes() - x.bytes();
  const Array y = f(x);
  EXPECT_EQ(memory::peak_bytes() - others, f.last_plan().peak_bytes());
}

TEST(Jit, NaiveGivesTheSameValuesWithMoreMemory) {
  const auto f = [](const Array& key) { return random::normal(key, {1000, 1000}, bf16); };
  const auto planned = jit(f), naive = jit(f, {.pipeline = Pipeline::naive});
  const Array key = random::key(3);
  const Array a = planned(key), b = naive(key);
  EXPECT_TRUE(std::ranges::equal(a.raw(), b.raw()));
  EXPECT_LT(planned.last_plan().peak_bytes(), 2'000'000 + 256);
  EXPECT_GE(naive.last_plan().peak_bytes(), 3 * 2'000'000);
}

TEST(Jit, DonatedMemoryIsReusedAndTheArgumentIsGone) {
  const auto f = jit([](const Array& x) { return x + 1; }, {.donate = {0}});
  Array x = ones({1 << 20});
  f.compile(x);
  memory::reset_peak();
  const size_t before = memory::live_bytes();
  const Array y = f(x);
  EXPECT_EQ(memory::peak_bytes(), before);
  EXPECT_EQ(y.data<float>()[12345], 2.0f);
  EXPECT_THROW(sum(x), UserError);
  EXPECT_THROW(x.item<float>(), UserError);
}

TEST(Jit, PlansAtAnySizeWithoutAllocating) {
  const auto f = jit([](const Array& x) { return x * 2; });
  memory::reset_peak();
  const size_t before = memory::live_bytes();
  const Plan plan = f.plan(spec({int64_t{1} << 40}, f32));
  EXPECT_EQ(memory::peak_bytes(), before);
  EXPECT_EQ(plan.peak_bytes(), size_t{2} << 42);
}

TEST(Jit, ComposesWithOtherTransforms) {
  const auto f = [](const Array& x) { return sum(sin(x) * x); };
  const Array x = array({0.5f, 1.5f, 2.5f});
  const std::vector<float> expected = values(grad(f)(x));
  EXPECT_EQ(values(jit(grad(f))(x)), values(jit(grad(jit(f)))(x)));
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(values(grad(jit(f))(x))[i], expected[i], 1e-6);
}

TEST(Jit, ThrowsAndStaysUsable) {
  const auto f = jit([](const Array& x) {
    if (x.ndim() == 2) throw std::runtime_error("mine");
    return x + 1;
  });
  EXPECT_THROW(f(ones({2, 2})), std::runtime_error);
  EXPECT_FALSE(detail::tracing_now({}));
  EXPECT_THAT(values(f(ones({2}))), ElementsAre(2, 2));
  EXPECT_THROW(f(Array()), UserError);
  EXPECT_THROW(f(spec({2}, f32)), UserError);
  EXPECT_THROW(f.last_plan().write_json(NEAP_TESTS_DIR "/pch.h/plan.json"), std::exception);  // a file is no folder
}

TEST(Jit, CallsFromSeveralThreads) {
  const auto f = jit([](const Array& x) { return sum(x * x); });
  std::vector<std::thread> threads;
  std::array<float, 4> results{};
  for (int t = 0; t < 4; ++t)
    threads.emplace_back([&, t] {
      for (int i = 0; i < 50; ++i) results[t] = f(full({100 + t}, 2.0f)).item<float>();
    });
  for (std::thread& t : threads) t.join();
  for (int t = 0; t < 4; ++t) EXPECT_EQ(results[t], 4.0f * static_cast<float>(100 + t));
}

TEST(Jit, ReturnsArgumentsAsTheyAre) {
  const auto f = jit([](const Array& x, const Array& y) { return std::tuple{y, x + 1, y}; });
  const Array x = array({1.f}), y = array({5.f, 6.f});
  const auto [a, b, c] = f(x, y);
  EXPECT_THAT(values(a), ElementsAre(5, 6));
  EXPECT_THAT(values(b), ElementsAre(2));
  EXPECT_THAT(values(c), ElementsAre(5, 6));
}

TEST(Eager, ReferenceModeAgrees) {
  const Array x = array({0.1f, 0.7f, -3.0f});
  const std::vector<float> compiled = values(tanh(x) * 3 + x / 2);
  const eager_reference reference;
  const std::vector<float> expected = values(tanh(x) * 3 + x / 2);
  for (size_t i = 0; i < 3; ++i) EXPECT_NEAR(compiled[i], expected[i], 1e-6);
}

TEST(Eager, ScalarsAreWeak) {
  EXPECT_EQ((ones({2}, bf16) / 8.0f).dtype(), bf16);
  EXPECT_EQ((ones({2}, i32) * 2).dtype(), i32);
  EXPECT_EQ((ones({2}, i32) * 2.5f).dtype(), f32);
  EXPECT_EQ((ones({2}, i32) / 2).dtype(), f32);
  EXPECT_THAT(values(array({1, 2, 3}) % 2), ElementsAre(1, 0, 1));
  EXPECT_THAT(values(array({-1, -2, -3}) % 2), ElementsAre(1, 0, 1));
}

TEST(Eager, IndexesAsNumPyDoes) {
  const Array x = reshape(arange(24), {2, 3, 4});
  EXPECT_THAT(values(x[{1, 2}]), ElementsAre(20, 21, 22, 23));
  EXPECT_THAT(values(x[{-1, -1, -1}]), ElementsAre(23));
  EXPECT_THAT(values(x[{ellipsis, 0}]), ElementsAre(0, 4, 8, 12, 16, 20));
  EXPECT_THAT(values(x[{0, slice(none, none, -1), 0}]), ElementsAre(8, 4, 0));
  EXPECT_EQ((x[{slice(), newaxis, 1}]).shape(), (Shape{2, 1, 4}));
  const Array i = array({0, 1}), j = array({2, -1});
  EXPECT_THAT(values(x[{i, j, 0}]), ElementsAre(8, 20));
  EXPECT_EQ((x[{slice(), i, j}]).shape(), (Shape{2, 2}));
  EXPECT_THAT(values(x.at({0, 0}).add(100)[{0, 0}]), ElementsAre(100, 101, 102, 103));
  EXPECT_THAT(values(zeros({3}).at(array({0, 0, 7})).add(1)), ElementsAre(2, 0, 0));  // 7 is dropped
  EXPECT_THROW((x[{0, 0, 0, 0}]), IndexError);
  EXPECT_THROW(x[2], IndexError);
}

// Both iterators are of one list, which a plan keeps.
TEST(Jit, StrategiesAreOneList) {
  const Plan plan = jit([](const Array& x) { return sum(exp(x) * 2); }).plan(spec({100}, f32));
  EXPECT_NE(std::find(plan.strategies().begin(), plan.strategies().end(), "fused"), plan.strategies().end());
  const Strategies kept = jit([](const Array& x) { return sum(exp(x) * 2); }).plan(spec({100}, f32)).strategies();
  EXPECT_EQ(kept, plan.strategies());
}

}  // namespace
}  // namespace neap
