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
  EXPECT_THAT(
      message_of<TracerError>([&] { escaped + 1; }),
      AllOf(HasSubstr("add: a traced f32[3] made at control_test.cpp:"), HasSubstr(" is used after its trace")));
  jit([&](const Array& y) { return escaped = y; })(x);
  EXPECT_THAT(
      message_of<TracerError>([&] { escaped + 1; }),
      AllOf(HasSubstr("add: a traced f32[3] made at control_test.cpp:"), HasSubstr(" is used after its trace")));
}

struct Counted {
  Array x;
  int steps;
};

// A body is traced once: what is not an array cannot change from step to step, nor differ between branches.
TEST(Control, KeepsWhatIsNoArray) {
  const Array x = array({1.0f, 2.0f});
  using List = std::vector<Array>;
  const auto grows = [](List c, const Array& y) {
    c.push_back(y);
    return std::pair{c, nullptr};
  };
  EXPECT_THAT(
      message_of<ShapeError>([&] { scan(grows, List{x}, ones({3, 2})); }),
      HasSubstr("scan: the body returns a carry of 2 arrays; expected 1, as it takes; a carry keeps its arrays"));
  const auto shrinks = [](const List& c, const Array& y) { return std::pair{List{c[0] + y}, c[1]}; };
  EXPECT_THAT(message_of<ShapeError>([&] { scan(shrinks, List{x, x}, ones({3, 2})); }),
              HasSubstr("a carry of 1 arrays; expected 2"));
  const auto becomes_array = [](float c, const Array& y) { return std::pair{y + c, nullptr}; };
  EXPECT_THAT(message_of<ShapeError>([&] { scan(becomes_array, 0.0f, x); }),
              HasSubstr("a carry of 1 arrays; expected 0"));
  EXPECT_THAT(message_of<ShapeError>([&] {
                fori_loop(0, array(3), [](const Array&, const List& c) { return List{c[0], c[0]}; }, List{x});
              }),
              HasSubstr("fori_loop: the body returns a carry of 2 arrays; expected 1"));

  EXPECT_THAT(message_of<UserError>([&] { fori_loop(0, 5, [](const Array&, float c) { return c * 2; }, 1.0f); }),
              HasSubstr("fori_loop: the body returns other numbers, strings or container sizes in its carry than it "
                        "takes; expected trees that differ in their arrays alone; make a number that changes an array, "
                        "as array(0)  [control_test.cpp:"));
  const auto counts = [](const Counted& c) { return Counted{c.x * 2, c.steps + 1}; };
  EXPECT_THAT(
      message_of<UserError>([&] { while_loop([](const Counted& c) { return sum(c.x) < 9; }, counts, Counted{x, 0}); }),
      HasSubstr("while_loop: the body returns other numbers"));
  const auto steps = [&](int n) { return [&x, n] { return Counted{x, n}; }; };
  EXPECT_THAT(message_of<UserError>([&] { cond(array(true), steps(1), steps(2)); }),
              HasSubstr("cond: the branches return different numbers, strings or container sizes"));
  EXPECT_EQ(cond(array(true), steps(2), steps(2)).steps, 2);
  using Lists = std::vector<List>;
  EXPECT_THAT(message_of<UserError>([&] {
                switch_(0, std::tuple{[&] { return Lists{{x, x}, {x}}; }, [&] { return Lists{{x}, {x, x}}; }});
              }),
              HasSubstr("switch_: the branches return different numbers, strings or container sizes"));
}

TEST(Control, BoundsOfLoops) {
  const auto count = [](const Array&, const Array& c) { return c + 1; };
  constexpr int64_t kLeast = std::numeric_limits<int64_t>::min(), kMost = std::numeric_limits<int64_t>::max();
  EXPECT_EQ(fori_loop(int64_t{1} << 40, 0, count, array(0)).item<int>(), 0);
  EXPECT_EQ(fori_loop(kMost, kLeast, count, array(0)).item<int>(), 0);
  EXPECT_EQ(fori_loop(kMost - 2, kMost, count, array(0)).item<int>(), 2);
  const auto last = [](const Array& i, const Array&) { return i; };
  EXPECT_EQ(fori_loop(kLeast, kLeast + 2, last, array(int64_t{0})).item<int64_t>(), kLeast + 1);
  EXPECT_THAT(message_of<ShapeError>([&] { fori_loop(kLeast, kMost, count, array(0)); }),
              HasSubstr("fori_loop: 18446744073709551615 steps; expected fewer than 2^63  [control_test.cpp:"));
  EXPECT_THAT(message_of<DTypeError>([&] { fori_loop(0, 2.5, count, array(0)); }),
              HasSubstr("fori_loop: bounds i32[] and f32[]; expected integers"));
  EXPECT_THAT(message_of<DTypeError>([&] { fori_loop(-1, array(uint8_t{3}), count, array(0)); }),
              HasSubstr("-1 is not a number of u8"));
  EXPECT_EQ(fori_loop(array(int8_t{125}), 127, count, array(0)).item<int>(), 2);
}

// Errors name what the user called, and count the arrays of the user's carry alone.
TEST(Control, NamesWhatIsCalled) {
  const auto halves = [](const Array&, const Array& c) { return c * 0.5f; };
  for (const Array& steps : {Array(), array(3)}) {
    const auto run = [&] {
      return steps.impl() ? fori_loop(0, steps, halves, array(1)) : fori_loop(0, 3, halves, array(1));
    };
    EXPECT_THAT(message_of<DTypeError>(run), HasSubstr("fori_loop: carry 0 enters as i32[] and leaves as f32[]"));
  }
  const auto same = [](const Array& x) { return x; };
  for (const std::optional<int64_t> batch : {std::optional<int64_t>(), std::optional<int64_t>(2)}) {
    EXPECT_THAT(message_of<ShapeError>([&] { map(same, array(1.0f), batch); }),
                HasSubstr("map: f32[]; expected an axis to map over  [control_test.cpp:"));
    EXPECT_THAT(message_of<ShapeError>([&] {
                  map([](const std::pair<Array, Array>& p) { return p.first; }, std::pair{ones({3}), ones({4})}, batch);
                }),
                HasSubstr("map: f32[4] beside f32[3]; expected equally many slices along axis 0"));
    EXPECT_THAT(message_of<UserError>([&] { map([](std::nullptr_t) { return array(1); }, nullptr, batch); }),
                HasSubstr("map: no array is mapped; expected at least one"));
  }
  const auto forgets = [](const Array& c, const Array&) { return std::pair{Array(), c}; };
  EXPECT_THAT(message_of<UserError>([&] { scan(forgets, array(1.0f), ones({2})); }),
              HasSubstr("an Array without a value is used; assign it first  [control_test.cpp:"));
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

// Memory does not grow with the steps of a loop that reads their number.
TEST(Control, StepsAreCounted) {
  constexpr int64_t kSteps = 20000;
  const auto add = [](int64_t first, int64_t steps) {
    return jit([=](const Array& x) {
      return fori_loop(first, first + steps, [](const Array& i, const Array& c) { return (c ^ i) + 1; }, x);
    });
  };
  for (const int64_t first : {int64_t{0}, int64_t{-5}, int64_t{1} << 40}) {
    const Measured m = measure(add(first, kSteps), array(int64_t{3}));
    int64_t expected = 3;
    for (int64_t i = first; i < first + kSteps; ++i) expected = (expected ^ i) + 1;
    EXPECT_EQ(m.outputs[0].item<int64_t>(), expected);
    EXPECT_LE(m.planned, 1024u) << m.plan;
  }
  EXPECT_LE(add(0, int64_t{1} << 40).plan(spec({}, i64)).peak_bytes(), 1024u);

  for (const bool backwards : {false, true}) {
    const auto both = jit([=](const Array& x) {
      const auto step = [](const Array& c, const Array& i) { return std::pair{c * 3u + i, c ^ i}; };
      return scan(step, x, iota({kSteps}, 0, u32), std::nullopt, backwards);
    });
    const Measured m = measure(both, array(7u));
    uint32_t c = 7;
    std::vector<uint32_t> ys(kSteps);
    for (uint32_t t = 0; t < kSteps; ++t) {
      const uint32_t i = backwards ? kSteps - 1 - t : t;
      ys[i] = c ^ i;
      c = c * 3u + i;
    }
    EXPECT_EQ(m.outputs[0].item<uint32_t>(), c);
    EXPECT_EQ(m.outputs[1].to_vector<uint32_t>(), ys);
    EXPECT_LE(m.planned, kSteps * sizeof(uint32_t) + 1024) << m.plan;
  }
  const auto from = jit([](const Array& x) {  // a start that was given as a floating number
    const auto step = [](const Array& c, const Array& i) { return std::pair{c + i, nullptr}; };
    return scan(step, x, iota({kSteps}, 0, i32) + full({}, 5.0, i32)).first;
  });
  EXPECT_EQ(from(array(1)).item<int32_t>(), 1 + 5 * kSteps + kSteps * (kSteps - 1) / 2);
  const auto product = [](const Array& x) {
    return fori_loop(0, kSteps, [&](const Array& i, const Array& c) { return c + x * i.astype(f64); }, array(0.0));
  };
  const auto slope = jit(vmap(grad(product)));
  EXPECT_EQ(slope(array({1.0, 2.0})).to_vector<double>(), std::vector<double>(2, kSteps * (kSteps - 1) / 2.0));
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
