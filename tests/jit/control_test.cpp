// Loops and branches that depend on data, through jit: values, messages, and memory.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/jit/measure.h"
#include "tests/message.h"

namespace neap {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;

// sqrt(a) by Newton's method, and the number of steps.
std::pair<Array, Array> newton(const Array& a) {
  return while_loop(
      [&](const std::pair<Array, Array>& s) { return abs(s.first * s.first - a) > 1e-12 * a; },
      [&](const std::pair<Array, Array>& s) { return std::pair{0.5 * (s.first + a / s.first), s.second + 1}; },
      std::pair{a, array(0)});
}

TEST(While, NewtonFindsARoot) {
  const auto f = jit(newton);
  for (const double a : {2.0, 1e6, 0.25, 1.0}) {
    const auto [root, steps] = f(array(a));
    EXPECT_NEAR(root.item<double>(), std::sqrt(a), 1e-11 * std::sqrt(a));
    EXPECT_EQ(steps.item<int>() == 0, a == 1.0);
  }
  // Each example stops on its own.
  const auto [roots, steps] = jit(vmap(newton))(array({1.0, 2.0, 1e6}));
  EXPECT_THAT(roots.to_vector<double>(),
              ElementsAre(1, testing::DoubleNear(std::sqrt(2.0), 1e-12), testing::DoubleNear(1000, 1e-6)));
  EXPECT_EQ(steps.to_vector<int>()[1], f(array(2.0)).second.item<int>());
  const auto root = [](const Array& a) { return newton(a).first; };
  EXPECT_NEAR(jit(jacfwd(root))(array(4.0)).item<double>(), 0.25, 1e-9);
}

Array collatz(const Array& n) {
  using State = std::pair<Array, Array>;
  return while_loop([](const State& s) { return s.first != 1; },
                    [](const State& s) {
                      return State(where(s.first % 2 == 0, floor_divide(s.first, 2), s.first * 3 + 1), s.second + 1);
                    },
                    State(n, zeros_like(n)))
      .second;
}

TEST(While, CollatzStepsOfEachExample) {
  const auto steps = [](int64_t n) {
    int64_t k = 0;
    for (; n != 1; ++k) n = n % 2 ? 3 * n + 1 : n / 2;
    return k;
  };
  const Array n = arange(1, 100);
  const std::vector<int64_t> got = jit(vmap(collatz))(n).to_vector<int64_t>();
  for (int64_t i = 0; i < 99; ++i) EXPECT_EQ(got[static_cast<size_t>(i)], steps(i + 1)) << i + 1;
  EXPECT_EQ(collatz(array(27)).item<int>(), 111);  // at once
  const eager_reference mode;
  EXPECT_EQ(collatz(array(27)).item<int>(), 111);
}

TEST(While, TreesKeysAndBounds) {
  struct State {
    Array key, total;
    std::vector<Array> last;
  };
  const auto walk = [](const Array& key, const Array& limit) {
    return while_loop([&](const State& s) { return s.total < limit; },
                      [](const State& s) {
                        const Array keys = random::split(s.key);
                        const Array step = random::uniform(keys[{1}], {});
                        return State{keys[{0}], s.total + step, {s.last[1], step}};
                      },
                      State{key, array(0.0f), {array(0.0f), array(0.0f)}});
  };
  const State got = jit(walk)(random::key(3), array(5.0f));
  float total = 0;
  Array key = random::key(3);
  while (total < 5) {
    const Array keys = random::split(key);
    total += random::uniform(keys[{1}], {}).item<float>();
    key = keys[{0}];
  }
  EXPECT_EQ(got.total.item<float>(), total);
  EXPECT_TRUE(same_bits(got.key, key));
  const auto sum_to = jit(
      [](const Array& n) { return fori_loop(1, n, [](const Array& i, const Array& c) { return c + i; }, array(0)); });
  EXPECT_EQ(sum_to(array(101)).item<int>(), 5050);
  EXPECT_EQ(sum_to(array(-3)).item<int>(), 0);
}

TEST(Cond, TakesTheBranchOfItsPredicate) {
  const auto f = [](const Array& p, const Array& x) {
    return cond(
        p, [](const Array& y) { return std::pair{y + 1, sum(y)}; },
        [](const Array& y) { return std::pair{y * 10, max(y)}; }, x);
  };
  const Array x = array({1.0f, 2.0f});
  for (const auto& run : {jit(f, {.name = "planned"}), jit(f, {.pipeline = Pipeline::naive})}) {
    EXPECT_THAT(run(array(true), x).first.to_vector<float>(), ElementsAre(2, 3));
    EXPECT_EQ(run(array(true), x).second.item<float>(), 3);
    EXPECT_THAT(run(array(0), x).first.to_vector<float>(), ElementsAre(10, 20));
    EXPECT_EQ(run(array(0), x).second.item<float>(), 2);
    EXPECT_EQ(run(array(std::nanf("")), x).second.item<float>(), 3);  // not 0
  }
  const auto [a, b] = jit(vmap(f, {.in_axes = {0, none}}))(array({true, false}), x);
  EXPECT_THAT(a.to_vector<float>(), ElementsAre(2, 3, 10, 20));
  EXPECT_THAT(b.to_vector<float>(), ElementsAre(3, 2));
  EXPECT_EQ(f(array(true), x).second.item<float>(), 3);
  EXPECT_EQ(cond(true, [] { return array(1); }, [] { return array(2); }).item<int>(), 1);
}

TEST(Cond, OfAKnownPredicateIsItsBranch) {
  const auto f = jit([](const Array& x) {
    return cond(true, [](const Array& y) { return sin(y); }, [](const Array& y) { return cos(y); }, x);
  });
  const Array x = array({1.0f, 2.0f});
  EXPECT_TRUE(same_bits(f(x), sin(x)));
  EXPECT_EQ(f.last_plan().num_steps(), 1u) << f.last_plan();
}

TEST(Switch, ClampsItsIndex) {
  const std::vector<std::function<Array(const Array&)>> branches{
      [](const Array& x) { return x + 1; }, [](const Array& x) { return x * 2; }, [](const Array& x) { return -x; },
      [](const Array& x) { return x * x; }, [](const Array& x) { return x - 5; }};
  const auto f = jit([&](const Array& i, const Array& x) { return switch_(i, branches, x); });
  const Array x = array(3.0f);
  const std::vector<float> want{4, 6, -3, 9, -2};
  for (int i = -2; i < 8; ++i) EXPECT_EQ(f(array(i), x).item<float>(), want[std::clamp(i, 0, 4)]) << i;
  EXPECT_EQ(f(array(int64_t{1} << 40), x).item<float>(), -2);
  EXPECT_EQ(f(array(~uint64_t{0}), x).item<float>(), -2);
  EXPECT_EQ(f(array(uint8_t{200}), x).item<float>(), -2);
  EXPECT_EQ(f(array(int8_t{-1}), x).item<float>(), 4);
  EXPECT_THAT(jit(vmap([&](const Array& i) { return switch_(i, branches, x); }))(array({4, 0, 9})).to_vector<float>(),
              ElementsAre(-2, 4, -2));
}

TEST(Control, SaysWhatIsWrong) {
  const auto same = [](const Array& x) { return x; };
  const auto positive = [](const Array& x) { return sum(x) > 0; };
  const Array x = ones({3});
  EXPECT_THAT(message_of<ShapeError>([&] { while_loop([](const Array& c) { return c > 0; }, same, x); }),
              HasSubstr("while_loop: the condition returns bool[3]; expected a bool scalar; reduce it with any()"));
  EXPECT_THAT(message_of<DTypeError>([&] { while_loop([](const Array& c) { return sum(c); }, same, x); }),
              HasSubstr("the condition returns f32[]; expected a bool scalar"));
  EXPECT_THAT(
      message_of<DTypeError>([&] { while_loop(positive, [](const Array& c) { return c.astype(i32); }, x); }),
      HasSubstr("carry 0 enters as f32[3] and leaves as i32[3]; expected f32[3]; a carry keeps its dtype: convert "
                "it with astype(f32)  [control_test.cpp:"));
  EXPECT_THAT(message_of<ShapeError>([&] { while_loop(positive, [](const Array& c) { return sum(c); }, x); }),
              HasSubstr("carry 0 enters as f32[3] and leaves as f32[]"));
  EXPECT_THAT(message_of<ShapeError>([&] { cond(x, same, same, x); }),
              HasSubstr("cond: the predicate is f32[3]; expected a scalar; where() chooses for each element"));
  EXPECT_THAT(message_of<ShapeError>([&] { cond(array(true), same, [](const Array& y) { return sum(y); }, x); }),
              HasSubstr("cond: result 0 is f32[3] of true_fn and f32[] of false_fn"));
  EXPECT_THAT(message_of<DTypeError>([&] { switch_(array(1.0f), std::tuple{same, same}, x); }),
              HasSubstr("switch_: the index is f32[]; expected an integer scalar"));
  EXPECT_THAT(message_of<OptionError>([&] { switch_(0, std::vector<std::function<Array(const Array&)>>{}, x); }),
              HasSubstr("switch_: no branches"));
  EXPECT_THAT(message_of<DTypeError>(
                  [&] { switch_(0, std::tuple{same, same, [](const Array& y) { return y.astype(f64); }}, x); }),
              HasSubstr("result 0 is f32[3] of branch 0 and f64[3] of branch 2"));
  Array escaped;
  while_loop([&](const Array& c) { return sum(escaped = c) > 100; }, same, x);
  EXPECT_THAT(message_of<TracerError>([&] { escaped + 1; }), HasSubstr("is used after its trace has ended"));
}

// The carry is updated where it lies: results, and nothing beside them but scalars.
TEST(Control, PlannedIsMeasured) {
  const Array x = jit([] { return iota({1 << 18}, 0, f32); })();
  const auto halve = jit([](const Array& y) {
    return while_loop([](const Array& c) { return max(c) > 1; }, [](const Array& c) { return c * 0.5f; }, y);
  });
  const Measured loop = measure(halve, x);
  EXPECT_LE(loop.planned, 2 * x.bytes() + 8192) << loop.plan;
  EXPECT_EQ(loop.outputs[0].to_vector<float>().back(), static_cast<float>((1 << 18) - 1) / (1 << 18));
  const auto chosen = jit([](const Array& p, const Array& y) {
    return cond(
        p, [](const Array& z) { return sort(z) * reverse(z, {0}); },
        [](const Array& z) { return reverse(cumsum(z), {0}); }, y);
  });
  size_t peak[2], planned = 0;
  for (const bool p : {false, true}) planned = measure(chosen, array(p), x).planned;
  for (const bool p : {false, true}) {
    const auto alone = jit([p](const Array& y) { return p ? sort(y) * reverse(y, {0}) : reverse(cumsum(y), {0}); });
    peak[p] = measure(alone, x).planned;
  }
  EXPECT_LE(planned, std::max(peak[0], peak[1]) + x.bytes() / 16);  // one branch at a time
}

TEST(Control, GivenCarriesAreReused) {
  const auto halve = jit(
      [](const Array& y) {
        return while_loop([](const Array& c) { return max(c) > 1; }, [](const Array& c) { return c * 0.5f; }, y);
      },
      {.donate = {0}});
  const Array x = jit([] { return iota({1 << 18}, 0, f32) + 1; })();
  const size_t bytes = x.bytes();
  const Measured m = measure(halve, x);
  EXPECT_LE(m.planned, bytes + 8192) << m.plan;
  EXPECT_EQ(m.outputs[0].to_vector<float>().back(), 1);
}

TEST(Control, MeetsABudgetInside) {
  const auto f = [](const Array& key, const Array& p) {
    const auto draw = [&](float scale) {
      return [&, scale](const Array& k) { return sum(sort(random::normal(k, {64, 4096}), 1) * scale); };
    };
    return cond(p, draw(1), draw(2), key);
  };
  const Array key = random::key(1);
  const auto free = jit(f);
  const Measured whole = measure(free, key, array(true));
  const auto bounded = jit(f, {.memory_budget = whole.planned / 3});
  const Measured less = measure(bounded, key, array(true));
  EXPECT_LE(less.planned, whole.planned / 3);
  EXPECT_NEAR(less.outputs[0].item<float>(), whole.outputs[0].item<float>(), 0.1);
}

TEST(Control, PlansPrintThem) {
  const auto f = jit([](const Array& p, const Array& x) {
    const Array y = cond(p, [](const Array& z) { return sin(z); }, [](const Array& z) { return cos(z); }, x);
    return while_loop([](const Array& c) { return sum(c) > 1; }, [](const Array& c) { return c * 0.5f; }, y);
  });
  f(array(true), ones({100}));
  const std::string text = f.last_plan().to_text();
  EXPECT_THAT(text, HasSubstr("cond"));
  EXPECT_THAT(text, HasSubstr("while_loop"));
  const auto json = nlohmann::json::parse(f.last_plan().to_json());
  int branches = 0, loops = 0;
  for (const auto& step : json["steps"]) {
    branches += step["strategy"] == "branch";
    loops += step["strategy"] == "loop";
  }
  EXPECT_EQ(branches, 2);
  EXPECT_EQ(loops, 1);
}

}  // namespace
}  // namespace neap
