// Dense factorizations on the first Vulkan device: the host computes them between two submissions, wherever in a
// program they stand. tests/jit/linalg_test.cpp and golden_linalg_test.cpp run on the device too.
#include "planner/plan/plan.h"
#include "tests/jit/measure.h"
#include "tests/near.h"
#include "tests/vulkan/fixture.h"

namespace neap {
namespace {

namespace nr = neap::random;
using Arrays = std::vector<Array>;
using testing::HasSubstr;

class VulkanLinalg : public OnVulkan {
 protected:
  static bool in_place() { return limits(neap::vulkan()).host_memory; }

  // What f makes of the arrays on the device, held against the plan, is near to what the reference interpreter makes.
  template <class F>
  static Plan expect_near(const F& f, const Arrays& in, JitOptions options = {}) {
    Arrays there;
    for (const Array& a : in) there.push_back(to_device(a, neap::vulkan()));
    options.device = neap::vulkan();
    const auto compiled = jit(f, options);
    compiled.compile(there);
    synchronize();
    const size_t others = memory::live_bytes(neap::vulkan()) - counted(there), on_host = memory::live_bytes();
    memory::reset_peak(neap::vulkan()), memory::reset_peak();
    const Arrays got = compiled(there);
    synchronize();
    const Plan plan = compiled.last_plan();
    EXPECT_EQ(memory::peak_bytes(neap::vulkan()) - others, plan.peak_bytes()) << plan;
    if (in_place()) {
      EXPECT_EQ(plan.host_bytes(), 0u) << plan;
    } else {
      EXPECT_EQ(memory::peak_bytes() - on_host, plan.host_bytes()) << plan;
      EXPECT_GT(plan.host_bytes(), 0u) << plan;
    }
    const eager_reference mode;
    const Arrays want = f(in);
    EXPECT_EQ(got.size(), want.size());
    for (size_t i = 0; i < got.size(); ++i) neap::expect_near(got[i], want[i], 2e-4, 2e-4);
    return plan;
  }

  static Array matrices(const Shape& shape, uint64_t seed = 1) { return nr::normal(nr::key(seed), shape); }
  static Array positive(const Shape& shape) {
    const Array x = matrices(shape, 2);
    return matmul(x, swapaxes(x, -1, -2)) / static_cast<float>(shape.back()) + eye(shape.back(), {}, f32);
  }
};

Arrays everything(const Arrays& in) {
  const Array &p = in[0], &t = in[1];
  const linalg::Qr qr = linalg::qr(t);
  const linalg::Svd svd = linalg::svd(t, false);
  const linalg::Eigh eigh = linalg::eigh(p);
  return {linalg::cholesky(p + 1.0f),
          qr.q,
          qr.r,
          svd.s,
          matmul(svd.u * expand_dims(svd.s, -2), svd.vh),
          eigh.eigenvalues,
          matmul(eigh.eigenvectors * expand_dims(eigh.eigenvalues, -2), swapaxes(eigh.eigenvectors, -1, -2)),
          linalg::solve(p, t),
          linalg::solve(p, t, true) * 2.0f,
          linalg::slogdet(p).logabsdet,
          linalg::inv(p)};
}

TEST_F(VulkanLinalg, EveryFactorization) {
  const Plan plan = expect_near(everything, {positive({2, 7, 7}), matrices({2, 7, 4})});
  EXPECT_TRUE(has(plan, "host")) << plan;
  EXPECT_THAT(plan.to_text(), HasSubstr(in_place() ? "by the host, in place" : "by the host: 392 B there"));
  EXPECT_EQ(plan.to_text().find("on the host") == std::string::npos, in_place());
  expect_near(everything, {positive({70, 70}), matrices({70, 33})});
  expect_near(everything, {positive({5, 5}), matrices({5, 5})}, {.pipeline = Pipeline::naive});
}

TEST_F(VulkanLinalg, NoRowsAtAll) {
  const auto f =
      jit([](const Array& a) { return linalg::svd(a).vh + linalg::svd(a).u.size(); }, {.device = neap::vulkan()});
  EXPECT_EQ(f(zeros({0, 3})).to_vector<float>(), eye(3, {}, f32).to_vector<float>());
}

TEST_F(VulkanLinalg, DerivativesUnderVmap) {
  const auto loss = [](const Array& a, const Array& b) {
    return sum(square(linalg::solve(a, b))) + linalg::slogdet(a).logabsdet;
  };
  expect_near(
      [&](const Arrays& in) {
        const auto [da, db] = vmap(grad<0, 1>(loss))(in[0], in[1]);
        return Arrays{da, db};
      },
      {positive({6, 5, 5}), matrices({6, 5, 2})});
}

// The host goes through loops whose bodies have factorizations: their operands are slices, carries and constants.
TEST_F(VulkanLinalg, InLoops) {
  const auto filter = [](const Arrays& in) {
    const auto step = [&](const Array& c, const Array& b) {
      const Array l = linalg::cholesky(c), x = linalg::cho_solve(l, b);
      return std::pair(in[0] + 0.1f * matmul(l, swapaxes(l, -1, -2)), x + linalg::triangular_solve(in[2], b));
    };
    const auto [last, all] = scan(step, in[0], in[1]);
    return Arrays{last, all};
  };
  const Array p = positive({4, 4}), lower = linalg::cholesky(positive({4, 4}));
  for (const int64_t steps : {1, 5, 20}) expect_near(filter, {p, matrices({steps, 4, 2}), lower});
  const auto nested = [](const Arrays& in) {
    const auto outer = [](const Array& c, const Array& b) {
      const Array inner = fori_loop(0, 3, [&](const Array&, const Array& x) { return linalg::solve(c, x) + b; }, b);
      return std::pair(0.5f * (c + linalg::inv(c)), sum(inner));
    };
    const auto [last, sums] = scan(outer, in[0], in[1]);
    return Arrays{last, sums};
  };
  expect_near(nested, {p, matrices({4, 4, 2})});
}

TEST_F(VulkanLinalg, WhereAConditionDecides) {
  // Newton's iteration for the polar factor, as long as it moves.
  const auto polar = [](const Arrays& in) {
    struct State {
      Array x, step;
    };
    const auto moves = [](const State& s) { return s.step > 1e-4f; };
    const auto newton = [](const State& s) {
      const Array next = 0.5f * (s.x + swapaxes(linalg::inv(s.x), -1, -2));
      return State{next, max(abs(next - s.x))};
    };
    const Array x = while_loop(moves, newton, State{in[0], full({}, 1.0f, f32)}).x;
    return Arrays{x};
  };
  expect_near(polar, {positive({5, 5}) + 0.3f * matrices({5, 5})});
  const auto either = [](const Arrays& in) {
    return Arrays{cond(
        in[1] > 0.0f, [](const Array& a) { return linalg::cholesky(a); }, [](const Array& a) { return 2.0f * a; },
        in[0])};
  };
  for (const float sign : {1.0f, -1.0f}) expect_near(either, {positive({3, 3}), full({}, sign, f32)});
}

TEST_F(VulkanLinalg, AGradientThroughALoop) {
  const auto loss = [](const Array& a, const Array& b) {
    const auto step = [&](const Array& x, const Array& y) { return std::pair(linalg::solve(a, x) + y, sum(x)); };
    const auto [last, sums] = scan(step, b[{0}], b);
    return sum(square(last)) + sum(sums);
  };
  expect_near(
      [&](const Arrays& in) {
        const auto [da, db] = grad<0, 1>(loss)(in[0], in[1]);
        return Arrays{da, db};
      },
      {positive({4, 4}), matrices({6, 4, 2})});
}

// What is submitted, and not waited for, writes what the host reads, and reads what the host writes.
TEST_F(VulkanLinalg, AfterWorkThatIsStillRunning) {
  const JitOptions on_device{.device = neap::vulkan()};
  const auto make =
      jit([](const Array& x) { return matmul(x, swapaxes(x, -1, -2)) + 600.0f * eye(600, {}, f32); }, on_device);
  const auto factor = jit([](const Array& a) { return linalg::cholesky(a); }, on_device);
  const auto again = jit([](const Array& l) { return matmul(l, swapaxes(l, -1, -2)); }, on_device);
  for (int i = 0; i < 3; ++i) {
    const Array a = make(matrices({600, 600}, static_cast<uint64_t>(i)));
    const Array back = again(factor(a));
    const std::vector<float> x = a.to_vector<float>(), y = back.to_vector<float>();
    double farthest = 0;
    for (size_t k = 0; k < x.size(); ++k) farthest = std::max(farthest, std::abs(double{x[k]} - y[k]));
    EXPECT_LT(farthest, 0.01);
  }
}

TEST_F(VulkanLinalg, ABudgetSlicesTheBatch) {
  const auto f = [](const Arrays& in) {
    const Array a = sin(expand_dims(in[0], -1) * expand_dims(arange(24).astype(f32), -2)) + 30.0f * eye(24, {}, f32);
    return Arrays{sum(linalg::slogdet(a).logabsdet)};
  };
  const Array x = matrices({300, 24});
  const Plan whole = jit(f, {.device = neap::vulkan()}).plan(Arrays{x});
  const Plan plan = expect_near(f, {x}, {.memory_budget = x.bytes() + (whole.peak_bytes() - x.bytes()) / 4});
  EXPECT_TRUE(has(plan, "chunked")) << plan;
}

}  // namespace
}  // namespace neap
