// A third backend: one class that runs each step of a plan by the reference interpreter, in memory of its own, and one
// call that registers it. Programs then run on its device as on any other, with the reference's results, in exactly the
// bytes that were planned.
#include "backends/backend.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <neap/neap.h>

#include <algorithm>
#include <atomic>
#include <cstring>
#include <numeric>

#include "tests/conformance/harness.h"
#include "tests/conformance/random_program.h"

namespace neap::conformance {
namespace {

using planner::PlanBuffer;
using planner::PlanData;
using planner::PlanStep;

std::atomic<size_t> live = 0, peak = 0, brought = 0;

// Bytes of the toy's own memory, counted.
class Block {
 public:
  explicit Block(size_t bytes) : bytes_(std::max<size_t>(bytes, 1)), counted_(round_up_64(bytes)) {
    peak = std::max<size_t>(peak, live += counted_);
  }
  ~Block() { live -= counted_; }
  Block(Block&& other) noexcept : bytes_(std::move(other.bytes_)), counted_(std::exchange(other.counted_, 0)) {}
  Block& operator=(Block&&) = delete;
  std::byte* data() { return bytes_.data(); }

 private:
  std::vector<std::byte> bytes_;
  size_t counted_;
};

// Memory as the plan lays it out; buffers that have none yet are null.
class Memory {
 public:
  explicit Memory(const PlanData& plan) : plan_(plan), at_(plan.buffers.size(), nullptr), owned_(plan.buffers.size()) {
    if (!plan.naive) arena_.emplace(plan.arena_bytes);
    for (size_t b = 0; b < at_.size(); ++b) {
      if (plan.buffers[b].alias_of >= 0) continue;
      if (!plan.naive && plan.buffers[b].offset >= 0) at_[b] = arena_->data() + plan.buffers[b].offset;
    }
    for (const int b : plan.inputs) own(b);
    for (const int b : plan.outputs) is_output_.push_back(plan.root(b));
    if (plan.naive) return;
    for (size_t b = 0; b < at_.size(); ++b) {
      if (plan.buffers[b].alias_of < 0 && !at_[b]) own(static_cast<int>(b));
    }
  }

  void before(int step) {
    for (int b = 0; plan_.naive && b < static_cast<int>(at_.size()); ++b) {
      const PlanBuffer& buffer = plan_.buffers[b];
      if (buffer.alias_of < 0 && buffer.first == step && buffer.last >= step && !at_[b]) own(b);
    }
  }
  void after(int step) {
    for (int b = 0; plan_.naive && b < static_cast<int>(at_.size()); ++b) {
      const bool given = plan_.buffers[b].storage == planner::Storage::argument ||
                         plan_.buffers[b].storage == planner::Storage::captured;
      if (plan_.buffers[b].last == step && !given && !std::ranges::count(is_output_, b)) owned_[b].reset();
    }
  }

  std::byte* at(int b) {
    const int root = plan_.root(b);
    if (!at_[root]) own(root);
    return at_[root] + plan_.shift(b);
  }

 private:
  void own(int b) {
    owned_[b].emplace(plan_.buffers[b].aval.bytes());
    at_[b] = owned_[b]->data();
  }

  const PlanData& plan_;
  std::vector<std::byte*> at_;
  std::vector<std::optional<Block>> owned_;
  std::optional<Block> arena_;
  std::vector<int> is_output_;
};

class ToyExecutable final : public backends::Executable {
 public:
  explicit ToyExecutable(PlanData plan) : plan_(std::move(plan)) {}
  const PlanData& plan() const override { return plan_; }

  std::vector<BufferPtr> run(std::vector<BufferPtr>& inputs, std::vector<backends::StepTiming>*) const override {
    Memory memory(plan_);
    for (size_t i = 0; i < inputs.size(); ++i)
      std::memcpy(memory.at(plan_.inputs[i]), inputs[i]->data(), plan_.buffers[plan_.inputs[i]].aval.bytes());
    for (size_t s = 0; s < plan_.steps.size(); ++s) {
      memory.before(static_cast<int>(s));
      run_step(plan_.steps[s], memory);
      memory.after(static_cast<int>(s));
    }
    std::vector<BufferPtr> outputs;
    for (size_t i = 0; i < plan_.outputs.size(); ++i) {
      outputs.push_back(allocate(plan_.output_avals[i].bytes(), "result"));
      std::memcpy(outputs.back()->data(), memory.at(plan_.outputs[i]), plan_.output_avals[i].bytes());
    }
    for (size_t i = 0; i < inputs.size() && i < plan_.donated.size(); ++i) {
      if (plan_.donated[i]) inputs[i].reset();
    }
    return outputs;
  }

 private:
  static void run_step(const PlanStep& step, Memory& memory) {
    std::vector<HostArray> operands;
    for (size_t i = 0; i < step.reads.size(); ++i) {
      const Aval& aval = step.group.aval(step.group.inputs[i]);
      operands.push_back({aval, allocate(aval.bytes(), "operand")});
      std::memcpy(operands.back().data->data(), memory.at(step.reads[i]), aval.bytes());
    }
    const auto results = tracing::evaluate_reference(step.group, operands);
    for (size_t i = 0; i < results.size(); ++i)
      std::memcpy(memory.at(step.writes[i]), results[i].data->data(), results[i].aval.bytes());
  }

  PlanData plan_;
};

class ToyBackend final : public backends::Backend {
 public:
  std::string_view name() const override { return "toy"; }
  std::vector<backends::FoundDevice> list() const override { return {{"a toy", "", size_t{1} << 30}}; }
  Limits limits(int device) const override {
    if (device != 0) throw DeviceError("toy: there is only one");
    return {.name = "toy", .host_memory = false};
  }
  std::shared_ptr<const backends::Executable> compile(PlanData plan, int, const std::string&) const override {
    return std::make_shared<ToyExecutable>(std::move(plan));
  }
  BufferPtr bring(const BufferPtr& buffer, int) const override { return ++brought, buffer; }
  size_t capacity(int) const override { return size_t{1} << 30; }
  std::optional<backends::OwnMemory> memory(int) const override { return backends::OwnMemory{live, peak}; }
  void reset_peak(int) const override { peak = live.load(); }
};

class Toy : public testing::Test {
 protected:
  static void SetUpTestSuite() {
    if (!backends::find_backend("toy")) backends::register_backend(std::make_unique<ToyBackend>());
  }
  static constexpr Device kToy{"toy"};
};

TEST_F(Toy, IsADeviceLikeAnyOther) {
  const auto all = devices();
  EXPECT_TRUE(std::ranges::any_of(all, [](const DeviceInfo& d) { return d.device == kToy && d.name == "a toy"; }));
  EXPECT_EQ(to_string(kToy), "toy:0");
  EXPECT_EQ(limits(kToy).memory, size_t{1} << 30);
  EXPECT_THROW(limits({"toy", 1}), DeviceError);
  EXPECT_THROW(limits({"none"}), DeviceError);
  const size_t before = brought;
  to_device(ones({3}), kToy);
  EXPECT_EQ(brought, before + 1);
  EXPECT_THROW(backends::register_backend(std::make_unique<ToyBackend>()), InternalError);
}

TEST_F(Toy, RunsRandomPrograms) {
  for (uint64_t seed = 0; seed < 60 && !HasFailure(); ++seed) {
    ProgramMaker program(seed);
    program.make();
    for (const Pipeline pipeline : {Pipeline::planned, Pipeline::naive}) {
      const auto f = jitted(program.graph, {.device = kToy, .pipeline = pipeline});
      f.compile(program.inputs);
      memory::reset_peak(kToy);
      const Arrays got = f(program.inputs), want = reference(program.graph, program.inputs);
      EXPECT_EQ(memory::peak_bytes(kToy), f.last_plan().peak_bytes()) << "seed " << seed;
      EXPECT_EQ(memory::live_bytes(kToy), 0u);
      for (size_t i = 0; i < want.size(); ++i)
        EXPECT_EQ(difference(got[i], want[i], {.ulps = 4, .absolute = 1e-6}), "")
            << "seed " << seed << ", output " << i;
    }
  }
}

TEST_F(Toy, RunsEagerOperationsGradientsAndLoops) {
  set_default_device(kToy);
  const auto rolled = [](const Array& x) {
    return sum(scan([](const Array& c, const Array& v) { return std::pair(sin(c) + v, c * v); }, x[0], x).second);
  };
  const Array x = reshape(arange(12.f), {4, 3}) * 0.1f;
  const Array on_toy = jit(grad(rolled))(x);
  set_default_device(std::nullopt);
  EXPECT_EQ(difference(on_toy, jit(grad(rolled))(x), {.ulps = 4, .absolute = 1e-6}), "");
}

}  // namespace
}  // namespace neap::conformance
