// Commands recorded once and replayed, addresses written anew for each run.
#include "backends/vulkan/executor.h"

#include <algorithm>
#include <cmath>
#include <list>
#include <mutex>
#include <optional>
#include <span>
#include <utility>
#include <vector>

#include "backends/vulkan/program.h"
#include "backends/vulkan/recording.h"
#include "backends/vulkan/residence.h"
#include "backends/vulkan/run_memory.h"
#include "core/check.h"
#include "trace/graph/effects.h"

namespace neap::vk {
namespace {

using planner::PlanData;
using planner::PlanStep;

class VulkanExecutable final : public backends::Executable {
 public:
  VulkanExecutable(PlanData plan, std::shared_ptr<Device> device, const std::string& dump_name)
      : plan_(std::move(plan)),
        device_(std::move(device)),
        store_(Store::of(device_)),
        dump_name_(dump_name),
        form_(compile_program(plan_, *device_, dump_name_, !plan_.naive)),
        roles_(plan_),
        calls_host_(
            std::ranges::any_of(plan_.steps, [](const PlanStep& step) { return tracing::calls_host(step.group); })) {}

  const PlanData& plan() const override { return plan_; }
  bool usable() const override { return Device::get(device_->index()) == device_; }

  std::vector<BufferPtr> run(std::vector<BufferPtr>& inputs,
                             std::vector<backends::StepTiming>* timings) const override {
    NEAP_CHECK(inputs.size() == plan_.inputs.size(), "{}: {} inputs for {}", plan_.name, inputs.size(),
               plan_.inputs.size());
    std::unique_lock lock(mutex_);
    RunMemory memory(plan_, roles_, *device_, store_);
    try {
      return run(inputs, timings, memory, lock);
    } catch (...) {
      memory.abandon();
      throw;
    }
  }

 private:
  // A program and the recordings that run it.
  struct Form {
    explicit Form(Program made) : program(std::move(made)) {}
    Program program;
    std::vector<std::unique_ptr<Recording>> recordings, timed;
  };

  // A run that calls functions of the program, which may run this program, or wait for a thread that does: meanwhile
  // others take recordings of their own.
  class Apart {
   public:
    Apart(const VulkanExecutable& of, const Recording& recording, std::unique_lock<std::mutex>& lock)
        : of_(of), lock_(lock), at_(of.apart_.insert(of.apart_.end(), &recording)) {
      lock_.unlock();
    }
    ~Apart() {
      lock_.lock();
      of_.apart_.erase(at_);
    }
    Apart(const Apart&) = delete;
    Apart& operator=(const Apart&) = delete;

   private:
    const VulkanExecutable& of_;
    std::unique_lock<std::mutex>& lock_;
    std::list<const Recording*>::iterator at_;
  };

  std::vector<BufferPtr> run(std::vector<BufferPtr>& inputs, std::vector<backends::StepTiming>* timings,
                             RunMemory& memory, std::unique_lock<std::mutex>& lock) const {
    memory.make_room();
    Form* form = &form_;
    Recording* recording = &free_recording(*form, timings != nullptr);
    memory.take(inputs);
    if (auto places = memory.places(form->program.viewed)) {
      recording->view(std::move(*places));
    } else {
      if (!plain_) plain_ = std::make_unique<Form>(compile_program(plan_, *device_, dump_name_, false));
      form = plain_.get();
      recording = &free_recording(*form, timings != nullptr);
    }
    std::optional<Apart> apart;
    if (calls_host_) apart.emplace(*this, *recording, lock);
    const double begin = backends::steady_seconds();
    const Ticket ticket =
        plan_.naive ? run_naive(*recording, form->program, memory) : run_planned(*recording, form->program, memory);
    if (timings) {
      device_->wait(ticket);
      add_timings(recording->times(), begin, *timings);
    }
    return memory.results(inputs, ticket);
  }

  // `times`: seconds of the device at the ends of steps. `begin`: those of the host when it began to submit.
  static void add_timings(const std::vector<double>& times, double begin, std::vector<backends::StepTiming>& timings) {
    for (size_t s = 0; s + 1 < times.size(); ++s) {
      if (!std::isfinite(times[s + 1] - times[0])) continue;  // a queue without a clock
      timings.push_back({static_cast<int>(s), begin + times[s] - times[0], begin + times[s + 1] - times[0]});
    }
  }

  // One whose last run has finished; at most two are made of a kind, beside those of runs that call the host.
  Recording& free_recording(Form& form, bool timed) const {
    auto& recordings = timed ? form.timed : form.recordings;
    constexpr size_t kRecordings = 2;
    Recording* oldest = nullptr;
    size_t there = 0;
    for (const auto& recording : recordings) {
      if (std::ranges::find(apart_, recording.get()) != apart_.end()) continue;
      if (device_->reached(recording->ticket())) return *recording;
      if (!oldest) oldest = recording.get();
      ++there;
    }
    if (there < kRecordings) {
      recordings.push_back(std::make_unique<Recording>(*device_, form.program, plan_.naive, timed));
      recordings.back()->set_records();
      return *recordings.back();
    }
    device_->wait(oldest->ticket());
    return *oldest;
  }

  Ticket run_planned(Recording& recording, const Program& program, const RunMemory& memory) const {
    for (const Program::Entry& e : program.entries) {
      if (e.buffer >= 0) recording.set(e.entry, memory.address(e.buffer) + static_cast<uint64_t>(e.shift));
    }
    return recording.submit([&](const HostStep& step, auto addresses) { compute(step, addresses, memory); });
  }

  // Each step is waited for; what has no memory during it is not in use.
  Ticket run_naive(Recording& recording, const Program& program, RunMemory& memory) const {
    memory.own_untouched_outputs();
    Ticket ticket = 0;
    for (int s = 0; s < static_cast<int>(plan_.steps.size()); ++s) {
      memory.begin(s);
      for (const Program::Entry& e : program.entries) {
        if (e.buffer < 0 || !memory.owns(e.buffer)) continue;
        recording.set(e.entry, memory.address(e.buffer) + static_cast<uint64_t>(e.shift));
      }
      ticket = recording.submit([&](const HostStep& step, auto addresses) { compute(step, addresses, memory); },
                                static_cast<size_t>(s));
      device_->wait(ticket);
      memory.end(s);
    }
    return ticket;
  }

  // What the host does for a step.
  void compute(const HostStep& step, std::span<const uint64_t> addresses, const RunMemory& memory) const {
    std::vector<Range> operands;
    for (size_t i = 0; i < addresses.size(); ++i) {
      operands.push_back(step.bytes[i] > 0 ? memory.range(addresses[i], step.bytes[i]) : Range{});
    }
    vk::run(step, operands, *device_, memory.host());
  }

  PlanData plan_;
  std::shared_ptr<Device> device_;
  Store& store_;
  std::string dump_name_;
  mutable Form form_;
  mutable std::unique_ptr<Form> plain_;  // without views; made when an array lies where none can begin
  Roles roles_;
  bool calls_host_;
  mutable std::mutex mutex_;                   // a recording serves one run at a time
  mutable std::list<const Recording*> apart_;  // of runs that let go of the mutex
};

}  // namespace

std::shared_ptr<const backends::Executable> compile_plan(PlanData plan, std::shared_ptr<Device> device,
                                                         const std::string& dump_name) {
  return std::make_shared<VulkanExecutable>(std::move(plan), std::move(device), dump_name);
}

}  // namespace neap::vk
