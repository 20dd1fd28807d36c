// Loops over a batch in any number of slices, also such as do not divide it, are what the reference computes.
#include <neap/neap.h>

#include "planner/plan/plan.h"
#include "tests/jit/measure.h"

namespace neap {
namespace {

namespace nr = random;

constexpr int64_t kPaths = 203, kWidth = 6;

Array paths() { return nr::normal(nr::key(1), {kPaths, kWidth}); }
Array matrix() { return nr::normal(nr::key(2), {kWidth, kWidth}) * 0.3f; }

bool runs_loops_in_slices(const Plan& plan) {
  return std::ranges::any_of(plan.data().steps, [](const planner::PlanStep& step) {
    return step.body && step.strategy == planner::Strategy::chunked &&
           std::ranges::any_of(step.body->steps, [](const planner::PlanStep& inner) { return inner.body != nullptr; });
  });
}

template <class F>
void check(const F& f) {
  const Array x = paths(), w = matrix();
  std::vector<Array> expected;
  {
    const eager_reference reference;
    expected = tree_leaves(f(x, w));
  }
  for (const int64_t chunks : {2, 3, 5, 7, 16, 33, 200}) {
    SCOPED_TRACE(chunks);
    const Measured m = measure(jit(f, {.strategy = "chunked", .chunks = chunks}), x, w);
    EXPECT_TRUE(runs_loops_in_slices(m.plan)) << m.plan;
    ASSERT_EQ(m.outputs.size(), expected.size());
    for (size_t i = 0; i < expected.size(); ++i) {
      const auto got = m.outputs[i].to_vector<double>(), want = expected[i].to_vector<double>();
      for (size_t j = 0; j < got.size(); ++j) {
        ASSERT_NEAR(got[j], want[j], 2e-3 * std::max(1.0, std::abs(want[j]))) << "output " << i << " at " << j;
      }
    }
  }
}

// Sums, products, extremes of each step; a carry that only they feed; backwards.
TEST(ScanSliceCounts, WhatFollowsFromTotals) {
  check([](const Array& x, const Array& w) {
    const auto step = [&](const std::pair<Array, Array>& c, const Array& t) {
      const Array next = tanh(matmul(c.first, w) + t);
      const Array moment = c.second * 0.9f + matmul(transpose(next), c.first) * 0.01f;
      return std::pair{std::pair{next, moment}, std::tuple{sum(moment) + max(next), min(next, 0), next * 2.0f}};
    };
    const auto [last, ys] =
        scan(step, std::pair{x * 2.0f, zeros({kWidth, kWidth})}, arange(5).astype(f32) * 0.2f, {}, true);
    return std::tuple{sum(last.first, 1), last.second, std::get<0>(ys), std::get<1>(ys), sum(std::get<2>(ys), {0, 2})};
  });
}

TEST(ScanSliceCounts, TablesThatAreSharedAndOfEachPath) {
  check([](const Array& x, const Array& w) {
    const auto one = [&](const Array& x, const Array& i) {
      const auto step = [&](const Array& s, const Array& t) {
        const Array next = tanh(s + take(w, (t + i) % kWidth, 0)).at(t % kWidth).add(0.1f);
        return std::pair{next, take(next, i % kWidth)};
      };
      const auto [last, ys] = scan(step, x, arange(7));
      return std::pair{sum(last), ys};
    };
    return vmap(one)(x, arange(kPaths));
  });
}

TEST(ScanSliceCounts, Hessians) {
  check([](const Array& x, const Array& w) {
    const auto norm = [&](const Array& x) {
      const auto loss = [&](const Array& u) {
        const auto step = [&](const Array& s, const Array& t) {
          return std::pair{tanh(matmul(s, w) + u * t), nullptr};
        };
        return sum(square(scan(step, x, arange(4).astype(f32)).first));
      };
      return sum(square(hessian(loss)(ones({kWidth}))));
    };
    return vmap(norm)(x);
  });
}

TEST(ScanSliceCounts, GradientsWithCheckpoints) {
  check([](const Array& x, const Array& w) {
    const auto loss = [](const Array& w, const Array& x) {
      const auto layer = checkpoint([](const Array& w, const Array& s) { return tanh(matmul(tanh(matmul(s, w)), w)); });
      const auto step = [&](const Array& s, const Array&) { return std::pair{layer(w, s), nullptr}; };
      return mean(square(scan(step, x, arange(6)).first));
    };
    return grad(loss)(w, x);
  });
}

// The batch is the major part of one long axis.
TEST(ScanSliceCounts, AxesThatAreMerged) {
  check([](const Array& x, const Array& w) {
    const auto step = [&](const Array& s, const Array& t) {
      const Array next = reshape(matmul(reshape(s, {kPaths, kWidth}), w), {kPaths * kWidth}) * t;
      return std::pair{tanh(next), sum(reshape(next, {kPaths, kWidth}), 1)};
    };
    const auto [last, ys] = scan(step, reshape(x * 1.5f, {kPaths * kWidth}), arange(4).astype(f32));
    return std::pair{sum(square(ys), 0), max(last)};
  });
}

TEST(ScanSliceCounts, DropoutInEachStep) {
  check([](const Array& x, const Array& w) {
    const auto loss = [](const Array& w, const Array& x) {
      const auto step = [&](const Array& s, const Array& t) {
        const Array kept = nr::bernoulli(nr::fold_in(nr::key(9), t), 0.7f, Shape{kPaths, kWidth});
        return std::pair{where(kept, tanh(matmul(s, w)), 0.5f * s), nullptr};
      };
      return sum(square(scan(step, x, arange(6)).first));
    };
    return value_and_grad<0, 1>(loss)(w, x);
  });
}

TEST(ScanSliceCounts, NoIterations) {
  check([](const Array& x, const Array& w) {
    const auto step = [&](const Array& s, const Array& t) { return std::pair{tanh(matmul(s, w) + t), s * 2.0f}; };
    const auto [last, ys] = scan(step, x * 1.1f, zeros({0}));
    return std::tuple{sum(square(last), 1), sum(ys, 0)};
  });
}

}  // namespace
}  // namespace neap
