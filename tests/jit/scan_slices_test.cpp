// Batches of loops under budgets: a loop over a batch runs slice by slice of the batch, all iterations at once, and its
// gradient with it. Planned is measured, and bits are those of the plan without a budget.
#include <neap/neap.h>

#include "planner/plan/plan.h"
#include "tests/jit/measure.h"

namespace neap {
namespace {

namespace nr = random;

// Whether some loop over slices has loops inside.
bool runs_loops_in_slices(const Plan& plan) {
  return std::ranges::any_of(plan.data().steps, [](const planner::PlanStep& step) {
    return step.body && step.strategy == planner::Strategy::chunked &&
           std::ranges::any_of(step.body->steps, [](const planner::PlanStep& inner) { return inner.body != nullptr; });
  });
}

// Whether float sums over the batch are split, so that their last bits may change.
enum class Sums : uint8_t { whole, split };

// The least peak is at most this part of the usual one and met exactly, by loops in slices; the numbers are the
// reference's, the bits the usual plan's unless a sum is split.
template <class F, class... A>
void check(const F& f, double part, Sums sums, const A&... arguments) {
  const Measured free = measure(jit(f), arguments...);
  size_t least = 0;
  try {
    jit(f, {.memory_budget = 1}).plan(arguments...);
  } catch (const BudgetError& e) {
    least = e.smallest_peak_bytes();
  }
  EXPECT_LE(static_cast<double>(least), part * static_cast<double>(free.planned))
      << jit(f, {.memory_budget = least}).plan(arguments...);
  std::vector<Array> expected;
  {
    const eager_reference reference;
    expected = tree_leaves(f(arguments...));
  }
  for (const size_t budget : {least, (least + free.planned) / 2}) {
    SCOPED_TRACE(budget);
    const Measured m = measure(jit(f, {.memory_budget = budget}), arguments...);
    EXPECT_LE(m.planned, budget);
    EXPECT_TRUE(budget != least || runs_loops_in_slices(m.plan)) << m.plan;
    ASSERT_EQ(m.outputs.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      EXPECT_TRUE(sums == Sums::split || same_bits(m.outputs[i], free.outputs[i])) << "output " << i << '\n' << m.plan;
      const auto got = m.outputs[i].to_vector<double>(), want = expected[i].to_vector<double>();
      for (size_t j = 0; j < got.size(); ++j) {
        ASSERT_NEAR(got[j], want[j], 1e-3 * std::max(1.0, std::abs(want[j]))) << "output " << i;
      }
    }
  }
}

constexpr int64_t kPaths = 1000, kSteps = 12, kWidth = 16;

Array paths(uint64_t seed) { return nr::normal(nr::key(seed), {kPaths, kWidth}); }
Array matrix(uint64_t seed) { return nr::normal(nr::key(seed), {kWidth, kWidth}) * 0.25f; }

// A state that a shared matrix moves.
Array moved(const Array& w, const Array& x) {
  return fori_loop(0, kSteps, [&](const Array&, const Array& s) { return tanh(matmul(s, w) + 0.1f * s); }, x);
}

TEST(ScanSlices, Rollouts) {
  const auto f = [](const Array& w, const Array& x) {
    return vmap([](const Array& w, const Array& x) { return sum(square(moved(w, x))); }, {.in_axes = {none, 0}})(w, x);
  };
  check(f, 0.6, Sums::whole, matrix(1), paths(2));
}

TEST(ScanSlices, StatesThatAreOutputs) {
  const auto f = [](const Array& w, const Array& x) {
    const auto last = [](const Array& w, const Array& x) {
      return fori_loop(
          0, kSteps, [&](const Array&, const Array& s) { return tanh(sum(sort(outer(s, s)), 0) + matmul(s, w)); }, x);
    };
    return vmap(last, {.in_axes = {none, 0}})(w, x * 0.1f);
  };
  check(f, 0.3, Sums::whole, matrix(1), paths(2));
}

// The gradient for each path, and of the mean in what all paths share: states are kept for a slice of paths at a time.
TEST(ScanSlices, GradientsOfPaths) {
  const auto loss = [](const Array& w, const Array& x) { return sum(square(moved(w, x))); };
  const auto f = [loss](const Array& w, const Array& x) {
    return vmap([loss](const Array& w, const Array& x) { return sum(square(grad<1>(loss)(w, x))); },
                {.in_axes = {none, 0}})(w, x);
  };
  check(f, 0.3, Sums::whole, matrix(1), paths(2));
}

TEST(ScanSlices, GradientOfTheMeanInWhatIsShared) {
  const auto loss = [](const Array& w, const Array& x) {
    return mean(
        vmap([](const Array& w, const Array& x) { return sum(square(moved(w, x))); }, {.in_axes = {none, 0}})(w, x));
  };
  check(value_and_grad(loss), 0.4, Sums::split, matrix(1), paths(2));
}

// Geometric Brownian motion, an Asian option: each path has its key; or all draw from one, at each step another.
Array payoff(const Array& sigma, const Array& noise_of_path) {
  const auto step = [&](const std::pair<Array, Array>& c, const Array& z) {
    const Array s = c.first * exp(sigma * z - 0.5f * sigma * sigma);
    return std::pair{std::pair{s, c.second + s}, nullptr};
  };
  const auto [last, unused] = scan(step, std::pair{ones({}), zeros({})}, noise_of_path);
  return maximum(last.second / static_cast<float>(kSteps) - 1.0f, 0.0f);
}

TEST(ScanSlices, PathsOfTheirOwnKeys) {
  const auto price = [](const Array& sigma, const Array& keys) {
    return mean(vmap([](const Array& sigma, const Array& key) { return payoff(sigma, nr::normal(key, {kSteps})); },
                     {.in_axes = {none, 0}})(sigma, keys));
  };
  check(value_and_grad(price), 0.5, Sums::whole, full({}, 0.2f), nr::split(nr::key(3), 4000));
}

// Keys that are split off one are as many as paths, and never stored.
TEST(ScanSlices, KeysSplitFromOne) {
  const auto price = [](const Array& sigma, const Array& key) {
    const auto keys = nr::split(key, 4000);
    return mean(vmap([](const Array& sigma, const Array& key) { return payoff(sigma, nr::normal(key, {kSteps})); },
                     {.in_axes = {none, 0}})(sigma, keys));
  };
  check(value_and_grad(price), 0.1, Sums::whole, full({}, 0.2f), nr::key(3));
  const auto pairs = [](const Array& key) {
    const auto draw = [](const Array& keys) { return sum(nr::normal(keys[1], {40}) * nr::uniform(keys[0], {40})); };
    return vmap(vmap(draw))(nr::split(key, {30, 20, 2}));
  };
  const Array exact = jit(pairs)(nr::key(5));
  for (const int64_t chunks : {2, 7}) {
    const auto sliced = jit(pairs, {.strategy = "chunked", .chunks = chunks});
    EXPECT_TRUE(same_bits(sliced(nr::key(5)), exact)) << chunks;
    EXPECT_TRUE(has(sliced.last_plan(), "chunked"));
  }
}

TEST(ScanSlices, NoiseOfAllPathsFromOneKey) {
  constexpr int64_t kMany = 5000;
  const auto price = [](const Array& sigma, const Array& key) {
    const auto step = [&](const std::tuple<Array, Array, Array>& c, const Array& t) {
      const auto& [s, total, k] = c;
      const Array keys = nr::split(k, 2);
      const Array z = nr::normal(keys[1], {kMany});
      const Array next = s * exp(sigma * sqrt(t + 1.0f) * z - 0.5f * sigma * sigma * (t + 1.0f));
      return std::pair{std::tuple{next, total + next, keys[0]}, nullptr};
    };
    const auto [last, unused] =
        scan(step, std::tuple{ones({kMany}), zeros({kMany}), key}, arange(kSteps).astype(f32) * 0.01f);
    return mean(maximum(std::get<1>(last) / static_cast<float>(kSteps) - 1.0f, 0.0f));
  };
  check(price, 0.5, Sums::whole, full({}, 0.2f), nr::key(5));
  check(value_and_grad(price), 0.3, Sums::whole, full({}, 0.2f), nr::key(5));
}

TEST(ScanSlices, StackedResultsOfLoopsInBothDirections) {
  const auto f = [](const Array& w, const Array& x) {
    const auto one = [](const Array& w, const Array& x) {
      const auto forward = [&](const Array& s, const Array& t) {
        const Array next = tanh(matmul(s, w) + t);
        return std::pair{next, next};
      };
      const auto [last, states] = scan(forward, x, arange(kSteps).astype(f32) * 0.1f);
      const auto backward = [&](const Array& s, const Array& y) {
        const Array next = 0.5f * s + y * y;
        return std::pair{next, sum(next)};
      };
      const auto [first, sums] = scan(backward, last, states, {}, true);
      return std::pair{sum(first), sums};
    };
    return vmap(one, {.in_axes = {none, 0}})(w, x);
  };
  check(f, 0.4, Sums::whole, matrix(1), paths(2));
}

TEST(ScanSlices, LoopsInLoops) {
  const auto f = [](const Array& w, const Array& x) {
    const auto one = [](const Array& w, const Array& x) {
      const auto outer_step = [&](const Array& s, const Array& t) {
        const auto inner_step = [&](const Array& u, const Array& r) {
          const Array next = tanh(matmul(u, w) + r * t);
          return std::pair{next, sum(next)};
        };
        const auto [u, sums] = scan(inner_step, s, arange(3).astype(f32));
        return std::pair{u, sums};
      };
      const auto [last, sums] = scan(outer_step, x, arange(kSteps).astype(f32) * 0.1f);
      return sum(last) + sum(sums);
    };
    return vmap([one](const Array& w, const Array& x) { return sum(square(grad<1>(one)(w, x))); },
                {.in_axes = {none, 0}})(w, x);
  };
  check(f, 0.4, Sums::whole, matrix(1), paths(2));
}

// A loop inside that is the same for all paths, as often as its data say.
TEST(ScanSlices, LoopsForAllPathsInside) {
  const auto f = [](const Array& w, const Array& x) {
    const auto step = [&](const std::pair<Array, Array>& c, const Array& t) {
      const Array scale = while_loop([](const Array& u) { return u < 1.0f; },
                                     [](const Array& u) { return u * 1.5f + 0.01f; }, c.second * t);
      return std::pair{std::pair{tanh(matmul(c.first, w) * scale), scale * 0.1f}, c.first};
    };
    const auto [last, states] = scan(step, std::pair{x, full({}, 0.2f)}, arange(kSteps).astype(f32) * 0.1f);
    return sum(square(states), {0, 2}) + sum(last.first, 1);
  };
  check(f, 0.5, Sums::whole, matrix(1), paths(2));
}

// The loss of each step is the mean of all paths; what follows from the means is a loop of its own.
TEST(ScanSlices, MeansOfEachStep) {
  const auto f = [](const Array& w, const Array& x) {
    const auto step = [&](const std::pair<Array, Array>& c, const Array& t) {
      const Array next = tanh(matmul(c.first, w) + t);
      const Array average = mean(next, 0);
      const Array smooth = 0.9f * c.second + tanh(average);
      return std::pair{std::pair{next, smooth}, std::pair{max(next), sum(smooth)}};
    };
    const auto [last, stacked] = scan(step, std::pair{x, zeros({kWidth})}, arange(kSteps).astype(f32) * 0.1f);
    return std::tuple{sum(square(last.first)), last.second, stacked.first, stacked.second};
  };
  check([f](const Array& w, const Array& x) { return f(w, matmul(x, w)); }, 0.8, Sums::whole, matrix(1), paths(2));
}

// Each path goes on from the mean of all: no slices of paths.
TEST(ScanSlices, PathsThatMeetHaveNone) {
  const auto f = [](const Array& w, const Array& x) {
    return sum(fori_loop(0, kSteps, [&](const Array&, const Array& s) { return tanh(matmul(s - mean(s, 0), w)); }, x));
  };
  size_t least = 0;
  try {
    jit(f, {.memory_budget = 1}).plan(matrix(1), paths(2));
  } catch (const BudgetError& e) {
    least = e.smallest_peak_bytes();
  }
  EXPECT_FALSE(runs_loops_in_slices(jit(f, {.memory_budget = least}).plan(matrix(1), paths(2))));
  EXPECT_GE(least, 2 * paths(2).bytes());
}

}  // namespace
}  // namespace neap
