// Loops and branches that depend on data, on the first Vulkan device.
#include "tests/near.h"
#include "tests/vulkan/fixture.h"

namespace neap {
namespace {

class VulkanControl : public OnVulkan {
 protected:
  // What f makes of the arguments on the device, twice, and by the reference interpreter; and the plan's peak.
  template <class F, class... Args>
  static void expect_same(const F& f, const Args&... args) {
    const std::vector<Array> want = [&] {
      const eager_reference mode;
      return tree_leaves(f(args...));
    }();
    for (const Pipeline pipeline : {Pipeline::planned, Pipeline::naive}) {
      const auto compiled = jit(f, {.device = neap::vulkan(), .pipeline = pipeline});
      for (int call = 0; call < 2; ++call) {
        const std::vector<Array> got = tree_leaves(compiled(args...));
        ASSERT_EQ(got.size(), want.size());
        for (size_t i = 0; i < got.size(); ++i) expect_near(got[i], want[i], 1e-5, 1e-5);
      }
    }
  }
};

Array collatz(const Array& n) {
  using State = std::pair<Array, Array>;
  return while_loop([](const State& s) { return s.first != 1; },
                    [](const State& s) {
                      return State(where(s.first % 2 == 0, floor_divide(s.first, 2), s.first * 3 + 1), s.second + 1);
                    },
                    State(n, zeros_like(n)))
      .second;
}

TEST_F(VulkanControl, While) {
  for (const int n : {1, 2, 7, 27}) expect_same(collatz, array(n));
  expect_same(vmap(collatz), arange(1, 40));
  const auto halve = [](const Array& x) {
    return while_loop([](const Array& c) { return sum(c) > 1; }, [](const Array& c) { return c * 0.5f; }, x);
  };
  expect_same(halve, arange(5000).astype(f32));
  expect_same(halve, zeros({100000}));
  expect_same(jacfwd(halve), array({3.0f, 4.0f}));
}

// More steps than a dispatch takes; the device finds the end itself.
TEST_F(VulkanControl, ManySteps) {
  const auto count = [](const Array& n) {
    using State = std::pair<Array, Array>;
    return while_loop([&](const State& s) { return s.first < n; },
                      [](const State& s) { return State(s.first + 1, s.second * 0.999f + s.first.astype(f32)); },
                      State(array(0), zeros({7})))
        .second;
  };
  for (const int n : {0, 1, 4095, 4097}) expect_same(count, array(n));
}

TEST_F(VulkanControl, Cond) {
  const auto f = [](const Array& p, const Array& x) {
    return cond(
        p, [](const Array& y) { return std::pair{sin(y) + 1, sum(y)}; },
        [](const Array& y) { return std::pair{reverse(y, {0}), max(y)}; }, x);
  };
  const Array x = arange(3000).astype(f32);
  for (const bool p : {true, false}) expect_same(f, array(p), x);
  expect_same(vmap(f, {.in_axes = {0, none}}), array({true, false, true}), x);
  const auto loss = [](const Array& y) {
    return sum(cond(sum(y) > 0, [](const Array& z) { return z * z * z; }, [](const Array& z) { return sin(z); }, y));
  };
  for (const float scale : {1.0f, -1.0f}) expect_same(grad(loss), scale * linspace(0.1, 1, 50));
  const std::vector<std::function<Array(const Array&)>> branches{
      [](const Array& y) { return y + 1; }, [](const Array& y) { return y * 2; }, [](const Array& y) { return -y; }};
  for (const int i : {-1, 0, 1, 2, 5})
    expect_same([&](const Array& k, const Array& y) { return switch_(k, branches, y); }, array(i), x);
}

TEST_F(VulkanControl, InOneAnother) {
  const auto f = [](const Array& x, const Array& ys) {
    const auto step = [](const Array& c, const Array& y) {  // while in scan, cond in while, scan in while
      const Array next = while_loop(
          [](const Array& d) { return any(abs(d) > 1); },
          [&](const Array& d) {
            const Array e = fori_loop(0, 3, [&](const Array&, const Array& a) { return a * 0.9f + 0.01f * y; }, d);
            return cond(
                sum(e) > 0, [](const Array& a) { return a * 0.5f; }, [](const Array& a) { return -a * 0.8f; }, e);
          },
          c + y);
      return std::pair{next, sum(next)};
    };
    return scan(step, x, ys);
  };
  expect_same(f, linspace(-2, 3, 20), reshape(linspace(-4, 5, 100), {5, 20}));
}

TEST_F(VulkanControl, PlannedIsMeasured) {
  const auto f = jit(
      [](const Array& p, const Array& x) {
        const Array y =
            cond(p, [](const Array& z) { return sort(z) * 2; }, [](const Array& z) { return reverse(z, {0}); }, x);
        return while_loop([](const Array& c) { return max(c) > 1; }, [](const Array& c) { return c * 0.5f; }, y);
      },
      {.device = neap::vulkan()});
  const Array p = to_device(array(true), neap::vulkan()), x = to_device(arange(1 << 16).astype(f32), neap::vulkan());
  f.compile(p, x);
  synchronize();
  const size_t others = memory::live_bytes(neap::vulkan()) - 64 - x.bytes();
  memory::reset_peak(neap::vulkan());
  const Array y = f(p, x);
  synchronize();
  EXPECT_EQ(memory::peak_bytes(neap::vulkan()) - others, f.last_plan().peak_bytes()) << f.last_plan();
}

}  // namespace
}  // namespace neap
