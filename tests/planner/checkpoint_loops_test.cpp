// Loops in segments, whose residuals are computed again from checkpoints: the same values, less that is held.
#include "planner/rewrite/checkpoint_loops.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <neap/neap.h>

#include <cmath>
#include <functional>
#include <random>
#include <vector>

#include "planner/rewrite/simplify.h"
#include "planner/search/budget.h"
#include "planner/search/loop_checkpoints.h"
#include "programs.h"
#include "same_values.h"
#include "trace/graph/loop.h"
#include "trace/tracing/tracing.h"

namespace neap::planner {
namespace {

using testing::Contains;
using testing::ElementsAre;
using testing::IsEmpty;
using testing::Le;
using testing::SizeIs;

using Program2 = std::function<Array(const Array&, const Array&)>;

constexpr int64_t kSize = 6;

Graph traced(const Program2& f, const Shape& x, const Shape& p) {
  const std::vector<Aval> avals{{x, f32}, {p, f32}};
  return simplify(
      tracing::trace_closed(avals, [&](const tracing::Arrays& in) { return tracing::Arrays{f(in[0], in[1])}; }));
}

Array energy(const Array& x) { return sum(x * x); }

// x = x + sin(p x) + cos(p sin(p x)), so many times.
Array steps(const Array& x, const Array& p, int64_t length) {
  return fori_loop(0, length, [&](const Array&, const Array& c) { return c + sin(p * c) + cos(p * sin(p * c)); }, x);
}

// A loop with constants, two carries, of which one has no derivative, stacked inputs and results, run either way.
Array mixed(const Array& x, const Array& p, int64_t length, bool reverse) {
  const Array xs = sin(arange(length * kSize).astype(f32)) / 7;
  const auto body = [&](const std::pair<Array, Array>& c, const Array& row) {
    const Array next = tanh(c.first * p + row) + c.first * (c.second % 3).astype(f32);
    return std::pair(std::pair(next, c.second + 1), sum(next * row));
  };
  const auto [last, ys] = scan(body, std::pair(x, array(1)), reshape(xs, {length, kSize}), std::nullopt, reverse);
  return sum(last.first) + sum(ys * ys);
}

// Small numbers, of which long loops stay finite.
void expect_same(const Graph& a, const Graph& b) { expect_same_values(a, b, uniform_up_to(0.5f)); }

// The only loop with residuals, in these segments.
Graph in_segments(const Graph& g, std::vector<int64_t> segments) {
  const std::vector<StackedLoop> loops = stacked_loops(g);
  EXPECT_THAT(loops, SizeIs(1));
  Graph result = checkpoint_loops(g, {{loops.at(0), std::move(segments)}});
  verify(result);
  return result;
}

TEST(CheckpointLoops, FindsWhatReverseModeStacks) {
  const Graph g = traced(
      [](const Array& x, const Array& p) { return grad([&](const Array& a) { return energy(steps(a, p, 40)); })(x); },
      {kSize}, {kSize});
  const std::vector<StackedLoop> loops = stacked_loops(g);
  ASSERT_THAT(loops, SizeIs(1));
  EXPECT_EQ(loops[0].length, 40);
  EXPECT_EQ(loops[0].carry_bytes, kSize * 4);
  EXPECT_THAT(loops[0].readers, SizeIs(1));
  EXPECT_GE(loops[0].stacked_bytes, kSize * 4);
}

TEST(CheckpointLoops, AreNotWhereNothingRunsBackwards) {
  EXPECT_THAT(stacked_loops(traced([](const Array& x, const Array& p) { return steps(x, p, 40); }, {kSize}, {kSize})),
              IsEmpty());
  // Stacked results that leave, or are read as a whole, are no residuals.
  const auto all = [](const Array& x, const Array& p) {
    return scan([&](const Array& c, std::nullptr_t) { return std::pair(c * p, c); }, x, nullptr, 10).second;
  };
  EXPECT_THAT(stacked_loops(traced(all, {kSize}, {kSize})), IsEmpty());
  EXPECT_THAT(
      stacked_loops(traced([&](const Array& x, const Array& p) { return sum(all(x, p), {0}); }, {kSize}, {kSize})),
      IsEmpty());
}

TEST(CheckpointLoops, KeepTheValues) {
  for (const int64_t length : {2, 3, 7, 12, 13}) {
    for (const bool reverse : {false, true}) {
      const Graph g = traced(
          [&](const Array& x, const Array& p) {
            const auto [gx, gp] =
                grad<0, 1>([&](const Array& a, const Array& b) { return mixed(a, b, length, reverse); })(x, p);
            return concatenate({gx, gp});
          },
          {kSize}, {kSize});
      for (const std::vector<int64_t>& segments :
           {std::vector<int64_t>{1}, {2}, {3}, {5}, {6, 2}, {6, 1}, {5, 2, 1}, {4, 3, 2}}) {
        SCOPED_TRACE(testing::Message() << length << (reverse ? " reversed, " : ", ")
                                        << testing::PrintToString(segments));
        const Graph result = in_segments(g, segments);
        expect_same(g, result);
        const Graph simple = simplify(result);
        verify(simple);
        expect_same(g, simple);
      }
    }
  }
}

TEST(CheckpointLoops, OfLoopsInLoops) {
  const Graph g = traced(
      [](const Array& x, const Array& p) {
        return grad([&](const Array& a) {
          return energy(fori_loop(0, 6, [&](const Array&, const Array& c) { return steps(c, p, 9) / 3; }, a));
        })(x);
      },
      {kSize}, {kSize});
  for (int levels = 1; levels <= kMostLevels; ++levels) {
    const std::optional<LoopCheckpoints> result = checkpoint_stacked_loops(g, levels, 1);
    ASSERT_TRUE(result);
    verify(result->graph);
    expect_same(g, result->graph);
  }
}

TEST(CheckpointLoops, OfSecondDerivatives) {
  const Graph g = traced(
      [](const Array& x, const Array& p) {
        const auto slope = grad([&](const Array& a) { return energy(steps(a, p, 20)); });
        return grad([&](const Array& a) { return sum(slope(a) * p); })(x);
      },
      {kSize}, {kSize});
  const std::optional<LoopCheckpoints> result = checkpoint_stacked_loops(g, 1, 1);
  ASSERT_TRUE(result);
  verify(result->graph);
  expect_same(g, result->graph);
}

// A random body of a loop, made of what has a derivative: of a carry, a step's row, a matrix and the number of the
// step.
class RandomBody {
 public:
  explicit RandomBody(uint32_t seed) : random_(seed) {}

  Array operator()(const Array& carry, const Array& row, const Array& w, const Array& number, int depth) {
    Array x = carry;
    for (int ops = 1 + pick(4); ops > 0; --ops) {
      switch (pick(depth > 0 ? 9 : 8)) {
        case 0: x = sin(x) + row; break;
        case 1: x = tanh(matmul(x, w)); break;
        case 2: x = x * 0.9f + roll(x, 1 + pick(3)) * row; break;
        case 3: x = x.at({number % static_cast<int>(kSize)}).set(sum(x) / static_cast<float>(kSize)); break;
        case 4: x = where(x > row, x, cos(x)); break;
        case 5: x = x / (1 + sum(x * x)); break;
        case 6: x = x + w[0] * exp(-x * x); break;
        case 7: x = cumsum(x * row) / static_cast<float>(kSize); break;
        default: {
          const int64_t length = 2 + pick(5);
          const std::mt19937 before = random_;  // a body may be traced more than once
          x = fori_loop(
              0, length,
              [&](const Array& i, const Array& c) {
                random_ = before;
                return (*this)(c, row, w, i, depth - 1);
              },
              x);
        }
      }
    }
    return x;
  }

  int pick(int choices) { return static_cast<int>(random_() % static_cast<uint32_t>(choices)); }

 private:
  std::mt19937 random_;
};

TEST(CheckpointLoops, OfRandomLoops) {
  int found = 0;
  for (uint32_t seed = 0; seed < 60; ++seed) {
    SCOPED_TRACE(seed);
    const auto loss = [&](const Array& x, const Array& w) {
      RandomBody make(seed);
      const int64_t length = 2 + make.pick(30);
      const bool reverse = make.pick(2) == 0, stacks = make.pick(2) == 0;
      const Array rows = reshape(sin(arange(length * kSize).astype(f32)), {length, kSize});
      const auto step = [&](const std::pair<Array, Array>& c, const Array& row) {
        RandomBody body(seed + 1000);
        const Array next = body(c.first, row, w, c.second, 2);
        return std::pair(std::pair(next, c.second + 1), stacks ? next * row : row);
      };
      const auto [last, ys] = scan(step, std::pair(x, array(0)), rows, std::nullopt, reverse);
      return sum(last.first) + sum(ys * ys);
    };
    const Graph g = traced(
        [&](const Array& x, const Array& w) {
          const auto [gx, gw] = grad<0, 1>(loss)(x, w);
          return concatenate({gx, reshape(gw, {kSize * kSize})});
        },
        {kSize}, {kSize, kSize});
    for (int levels = 1; levels <= kMostLevels; ++levels) {
      for (const double part : {0.25, 1.0}) {
        const std::optional<LoopCheckpoints> result = checkpoint_stacked_loops(g, levels, part);
        if (!result) continue;
        ++found;
        verify(result->graph);
        expect_same(g, result->graph);
      }
    }
  }
  EXPECT_GE(found, 100);
}

// What the loops inside would sum is not asked for where they only compute residuals again.
TEST(CheckpointLoops, OfNestsUnderABatchHaveSlices) {
  const auto program = [](const Array& x) {
    const auto body = [&](const Array& c, std::nullptr_t) {
      const Array next = fori_loop(0, 4, [](const Array&, const Array& d) { return sin(d); }, c);
      return std::pair(next, sum(next));
    };
    const auto [last, ys] = scan(body, x, nullptr, 12);
    return sum(last) + sum(ys * ys);
  };
  const auto f = [&](std::optional<size_t> budget) { return jit(vmap(grad(program)), {.memory_budget = budget}); };
  const Array x = random::uniform(random::key(1), {3, 256});
  size_t least = 0;
  try {
    f(1).plan(x);
  } catch (const BudgetError& error) {
    least = error.smallest_peak_bytes();
  }
  const auto fitted = f(least);
  EXPECT_EQ(fitted(x).to_vector<float>(), f({})(x).to_vector<float>());
  EXPECT_LE(fitted.last_plan().peak_bytes(), least);
}

TEST(CheckpointLoops, SegmentsHoldLittle) {
  StackedLoop loop;
  loop.length = 1000;
  loop.stacked_bytes = loop.carry_bytes = 1000;
  EXPECT_THAT(best_segments(loop, 0), IsEmpty());
  EXPECT_EQ(segmented_bytes(loop, {}), 1'000'000u);
  for (const auto& [levels, most] : {std::pair(1, 66'000), {2, 31'000}, {3, 24'000}}) {
    const std::vector<int64_t> segments = best_segments(loop, levels);
    EXPECT_THAT(segments, SizeIs(static_cast<size_t>(levels)));
    EXPECT_LE(segmented_bytes(loop, segments), static_cast<size_t>(most));
  }
  loop.stacked_bytes = 100'000;  // what a step leaves is far more than what it begins with
  EXPECT_THAT(best_segments(loop, 1), ElementsAre(4));
  loop.stacked_bytes = 1;  // and far less
  EXPECT_THAT(best_segments(loop, 1), IsEmpty());
  loop.length = 997;  // a prime, of large inputs
  loop.stacked_bytes = 1000;
  loop.input_bytes = 1000;
  EXPECT_THAT(best_segments(loop, 2), IsEmpty()) << "the inputs would be copied";
}

TEST(CheckpointLoops, ABudgetGetsThem) {
  const auto f = [](const Array& x, const Array& p) {
    return grad([&](const Array& a) { return energy(steps(a, p, 1000)); })(x);
  };
  const Graph g = traced(f, {30'000}, {30'000});
  const size_t usual = make_plan(g, {}).peak_bytes;
  PlanOptions options;
  for (const size_t most : {size_t{30} << 20, size_t{8} << 20, size_t{5} << 20}) {
    options.memory_budget = most;
    const PlanData plan = make_plan(g, options);
    EXPECT_LE(plan.peak_bytes, most) << "of " << usual;
  }
}

TEST(CheckpointLoops, KeepTheBits) {
  const auto f = [](const Array& x, const Array& p) {
    return grad([&](const Array& a) { return energy(steps(a, p, 100)); })(x);
  };
  const Array x = random::uniform(random::key(1), {1000}), p = random::uniform(random::key(2), {1000}) / 100;
  const Array naive = jit(f, {.pipeline = Pipeline::naive})(x, p);
  for (const size_t budget : {size_t{200'000}, size_t{60'000}}) {
    const auto small = jit(f, {.memory_budget = budget});
    EXPECT_EQ(small(x, p).to_vector<float>(), naive.to_vector<float>());
    EXPECT_LE(small.last_plan().peak_bytes(), budget);
  }
}

}  // namespace
}  // namespace neap::planner
