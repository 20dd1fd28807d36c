// Loops on the first Vulkan device: those whose bodies are small run many iterations in a dispatch.
#include "backends/vulkan/program.h"
#include "planner/search/make_plan.h"
#include "tests/vulkan/fixture.h"
#include "trace/graph/graph.h"

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

  static int64_t dispatches(const std::vector<vk::Command>& commands) {
    int64_t count = 0;
    for (const vk::Command& command : commands) {
      if (command.kind == vk::Command::Kind::dispatch) ++count;
      if (command.kind == vk::Command::Kind::loop) count += command.times * dispatches(command.body);
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

planner::PlanData negated_and_summed(const std::string& size) {
  const std::string text =
      "graph (%0: f32[" + size + "]) {\n  %1: f32[" + size + "], %2: f32[10000] = scan %0 {body=graph (%0: f32[" +
      size + "]) {\n      %1: f32[" + size + "] = negative %0\n      %2: f32[] = reduce_sum %1 {axes=[0]}\n" +
      "      return %1, %2\n    }, length=10000, num_carry=1, num_consts=0, reverse=0}\n  return %1, %2\n}\n";
  planner::PlanOptions options;
  options.target.gpu = true;
  return planner::make_plan(tracing::parse(text), options);
}

TEST_F(VulkanLoop, ASmallBodyIsOneShader) {
  const auto dispatches_of = [](const std::string& size) {
    return dispatches(vk::compile_program(negated_and_summed(size), *vk::Device::get(0), "", true).commands);
  };
  EXPECT_LT(dispatches_of("100"), 10000 / 16);
  EXPECT_GE(dispatches_of("100000"), 20000);
}

// The device, were its workgroups of full subgroups smaller than others; it writes down the shaders that it is given.
class SmallGroups final : public vk::Device {
 public:
  explicit SmallGroups(uint32_t full) : own_(vk::Device::get(0)), choices_(own_->choices()) {
    choices_.reduce_workgroup = full;
  }
  mutable std::vector<vk::Shader> shaders;

  const vk::DeviceRecord& record() const override { return own_->record(); }
  const vk::Choices& choices() const override { return choices_; }
  const Limits& limits() const override { return own_->limits(); }
  int index() const override { return own_->index(); }
  const vk::Pipeline& pipeline(const vk::Shader& shader, const std::string& name) override {
    shaders.push_back(shader);
    return own_->pipeline(shader, name);
  }
  vk::MemoryPtr allocate(size_t n, bool visible, std::string_view what) override {
    return own_->allocate(n, visible, what);
  }
  vk::MemoryPtr import(std::byte* data, size_t n) override { return own_->import(data, n); }
  bool can_view(const vk::Range& range) const override { return own_->can_view(range); }
  size_t available() const override { return own_->available(); }
  size_t cached() const override { return 0; }
  void release_cached() override {}
  std::unique_ptr<vk::Commands> record(int timestamps) override { return own_->record(timestamps); }
  vk::Ticket submit(std::span<vk::Commands* const> commands, std::vector<std::shared_ptr<void>> keep) override {
    return own_->submit(commands, std::move(keep));
  }
  void wait(vk::Ticket ticket) override { own_->wait(ticket); }
  bool reached(vk::Ticket ticket) override { return own_->reached(ticket); }
  bool hangs() const override { return own_->hangs(); }
  void drain() override { own_->drain(); }
  void upload(const std::byte* from, const vk::Memory& to, size_t offset, size_t n) override {
    own_->upload(from, to, offset, n);
  }
  void download(const vk::Memory& from, size_t offset, std::byte* to, size_t n) override {
    own_->download(from, offset, to, n);
  }

 private:
  std::shared_ptr<vk::Device> own_;
  vk::Choices choices_;
};

TEST_F(VulkanLoop, FullSubgroupsAreNoMoreThanAWorkgroupTakes) {
  constexpr uint32_t kFull = 64;
  SmallGroups device(kFull);
  if (device.choices().subgroup == 0 || device.choices().workgroup <= kFull) GTEST_SKIP() << "all are as large";
  for (const char* size : {"100", "1000", "100000"}) {
    vk::compile_program(negated_and_summed(size), device, "", true);
  }
  EXPECT_THAT(device.shaders, testing::Contains(testing::Field(&vk::Shader::full_subgroups, true)));
  for (const vk::Shader& shader : device.shaders) EXPECT_LE(shader.local_size, shader.full_subgroups ? kFull : 256u);
}

}  // namespace
}  // namespace neap
