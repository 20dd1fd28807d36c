// Loops on the first Vulkan device: those whose bodies are small run many iterations in a dispatch.
#include "backends/vulkan/program.h"
#include "tests/vulkan/fixture.h"
#include "trace/graph.h"

namespace neap {
namespace {

class VulkanLoop : public OnVulkan {
 protected:
  // What f makes of the arguments on the device, and by the reference interpreter.
  template <class F, class... Args>
  static void expect_same(const F& f, const Args&... args) {
    const Array got = jit(f, {.device = neap::vulkan()})(args...);
    const Array want = [&] {
      const eager_reference mode;
      return f(args...);
    }();
    EXPECT_EQ(got.to_vector<float>(), want.to_vector<float>());
  }

  static int64_t dispatches(const std::vector<vk::Op>& ops) {
    int64_t count = 0;
    for (const vk::Op& op : ops) {
      if (op.kind == vk::Op::Kind::dispatch) ++count;
      if (op.kind == vk::Op::Kind::loop) count += op.times * dispatches(op.body);
    }
    return count;
  }
};

// Neighbours change places with others of the workgroup, and sums depend on all of them.
Array mixed(const Array& x, int64_t steps) {
  const auto step = [](const Array& c, const Array& i) {
    const Array turned = concatenate({slice_in_dim(c, 1, c.size(), 0), slice_in_dim(c, 0, 1, 0)}, 0);
    const Array total = sum(c * 0.25f);
    return std::pair(turned * 0.5f + total * 0.03125f + i.astype(f32), total + i.astype(f32));
  };
  const auto [last, totals] = scan(step, x, arange(steps));
  return concatenate({last, totals}, 0);
}

TEST_F(VulkanLoop, ManyIterationsInADispatch) {
  for (const int64_t steps : {1, 3, 40}) {
    for (const int64_t size : {1, 5, 100, 300, 1000, 5000}) {
      SCOPED_TRACE(testing::Message() << steps << " steps of " << size);
      expect_same([&](const Array& x) { return mixed(x, steps); }, arange(size).astype(f32));
    }
  }
}

TEST_F(VulkanLoop, MoreIterationsThanADispatchHas) {
  expect_same([](const Array& x) { return mixed(x, 9001); }, arange(3).astype(f32));
}

TEST_F(VulkanLoop, UpdatesOfOneElementInsideALoop) {
  const auto f = [](const Array& idx) {
    const auto step = [](const Array& c, const Array& i) {
      return std::pair(scatter_add(c, i, full({4}, 1.0f, f32)), c);
    };
    const auto [last, all] = scan(step, zeros({8}), idx);
    return concatenate({last, reshape(all, {all.size()})}, 0);
  };
  expect_same(f, reshape(arange(50 * 4) * 7 % 3, {50, 4, 1}));
}

// Some drivers end all loops of an invocation after so many turns, those of functions among them.
TEST_F(VulkanLoop, FunctionsThatLoop) {
  const auto many = [](const auto& turn) {
    return [turn](const Array& x) {
      const auto step = [&](const Array& c, const Array& i) { return std::pair(c, turn(c, i)); };
      return scan(step, x, arange(6000)).second;
    };
  };
  expect_same(many([](const Array& c, const Array& i) { return mod(i.astype(f32) * 1e30f + 3e37f, c); }),
              arange(4).astype(f32) + 1.0f);
  expect_same(many([](const Array& c, const Array& i) {
                return c.at(arange(64) % 3).max(full({64}, 0.5f, f32) * i.astype(f32));
              }),
              zeros({8}));
}

TEST_F(VulkanLoop, LoopsInsideLoops) {
  const auto f = [](const Array& x) {
    const auto outer = [](const Array& c, const Array& i) {
      const Array inner = fori_loop(0, 5, [](const Array&, const Array& a) { return a * 0.5f + sum(a) * 0.125f; }, c);
      return std::pair(inner + i.astype(f32), sum(inner));
    };
    const auto [last, sums] = scan(outer, x, arange(20));
    return concatenate({last, sums}, 0);
  };
  expect_same(f, arange(6).astype(f32));
}

TEST_F(VulkanLoop, ASmallBodyIsOneShader) {
  const auto program_of = [](const std::string& size) {
    const std::string text =
        "graph (%0: f32[" + size + "]) {\n  %1: f32[" + size + "], %2: f32[10000] = scan %0 {body=graph (%0: f32[" +
        size + "]) {\n      %1: f32[" + size + "] = negative %0\n      %2: f32[] = reduce_sum %1 {axes=[0]}\n" +
        "      return %1, %2\n    }, length=10000, num_carry=1, num_consts=0, reverse=0}\n  return %1, %2\n}\n";
    planner::PlanOptions options;
    options.target.gpu = true;
    const planner::PlanData plan = planner::make_plan(trace::parse(text), options);
    return dispatches(vk::compile_program(plan, *vk::Device::get(0), "", true).ops);
  };
  EXPECT_LT(program_of("100"), 10000 / 16);
  EXPECT_GE(program_of("100000"), 20000);
}

}  // namespace
}  // namespace neap
