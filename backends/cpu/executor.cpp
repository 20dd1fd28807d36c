// A run takes memory as the plan lays it out, then runs the steps.
#include "backends/cpu/executor.h"

#include <cstring>

#include "backends/cpu/program.h"
#include "core/background.h"
#include "core/check.h"
#include "core/progress.h"

namespace neap::cpu {
namespace {

using planner::PlanData;

class CpuExecutable final : public backends::Executable {
 public:
  CpuExecutable(PlanData plan, const std::string& dump_name)
      : plan_(std::move(plan)), program_(compile_program(plan_, dump_name)), input_of_(plan_.buffers.size(), -1) {
    for (size_t i = 0; i < plan_.inputs.size(); ++i) input_of_[plan_.inputs[i]] = static_cast<int>(i);
    aliases_.resize(plan_.buffers.size());
    if (plan_.naive) {
      births_.resize(plan_.steps.size());
      deaths_.resize(plan_.steps.size());
    }
    const int last_step = static_cast<int>(plan_.steps.size()) - 1;
    std::vector<bool> is_output(plan_.buffers.size(), false);
    for (const int b : plan_.outputs) is_output[program_->root[b]] = true;
    for (int b = 0; b < static_cast<int>(plan_.buffers.size()); ++b) {
      const auto& buffer = plan_.buffers[b];
      if (program_->root[b] != b) {
        aliases_[program_->root[b]].push_back(b);
      } else if (input_of_[b] >= 0 || (buffer.offset >= 0 && !plan_.naive)) {
        continue;
      } else if (plan_.naive && buffer.first >= 0 && buffer.first <= last_step && buffer.first <= buffer.last) {
        births_[buffer.first].push_back(b);
        if (!is_output[b] && buffer.last <= last_step) deaths_[buffer.last].push_back(b);
      } else if (buffer.last >= buffer.first || is_output[b]) {
        own_.push_back(b);
      }
    }
  }

  const PlanData& plan() const override { return plan_; }

  std::vector<BufferPtr> run(std::vector<BufferPtr>& inputs,
                             std::vector<backends::StepTiming>* timings) const override {
    NEAP_CHECK(inputs.size() == plan_.inputs.size(), "{}: {} inputs for {}", plan_.name, inputs.size(),
               plan_.inputs.size());
    std::vector<std::byte*> memory(plan_.buffers.size(), nullptr);
    std::vector<BufferPtr> owned(plan_.buffers.size());
    for (size_t i = 0; i < inputs.size(); ++i) place(plan_.inputs[i], inputs[i]->data(), memory);
    for (const int b : own_) own(b, memory, owned);
    BufferPtr arena;
    if (!plan_.naive && plan_.arena_bytes > 0) {
      arena = allocate(plan_.arena_bytes, plan_.name);
      for (const auto& [b, offset] : program_->in_arena) place(b, arena->data() + offset, memory);
    }
    std::byte* const slab = arena ? arena->data() : nullptr;
    empty(slab, plan_.arena_bytes);

    Background background;  // ends before the memory goes
    for (size_t s = 0, next = 0; s < program_->steps.size(); s = next) {
      if (plan_.naive) {
        for (const int b : births_[s]) own(b, memory, owned);
      }
      const double begin = timings ? backends::steady_seconds() : 0;
      next = s + run_steps(*program_, s, memory.data(), background, slab);
      const double end = timings ? backends::steady_seconds() : 0;
      double until = begin;
      for (size_t i = s; i < next; ++i) {  // the time of those that ran together is shared out by estimate
        const double from = until;
        until = i + 1 == next ? end : from + program_->steps[s].rows->shares[i - s] * (end - begin);
        if (progress_on() && Progress::current()) Progress::current()->add();
        if (timings) timings->push_back({static_cast<int>(i), from, until});
      }
      if (plan_.naive) {
        for (const int b : deaths_[s]) owned[b].reset();
      }
    }
    return results(inputs, std::move(arena), owned);
  }

 private:
  void own(int b, std::vector<std::byte*>& memory, std::vector<BufferPtr>& owned) const {
    owned[b] = allocate(plan_.buffers[b].aval.bytes(), plan_.buffers[b].label);
    place(b, owned[b]->data(), memory);
  }

  // Says where a buffer, and with it all that share its bytes, lies.
  void place(int b, std::byte* data, std::vector<std::byte*>& memory) const {
    memory[b] = data;
    for (const int alias : aliases_[b]) memory[alias] = data + program_->shift[alias];
  }

  std::vector<BufferPtr> results(std::vector<BufferPtr>& inputs, BufferPtr arena, std::vector<BufferPtr>& owned) const {
    std::vector<Piece> pieces;
    std::vector<int> piece_of(plan_.buffers.size(), -1);
    for (const int output : plan_.outputs) {
      const int b = program_->root[output];
      if (owned[b] || input_of_[b] >= 0 || piece_of[b] >= 0) continue;
      piece_of[b] = static_cast<int>(pieces.size());
      pieces.push_back(
          {static_cast<size_t>(std::max<int64_t>(plan_.buffers[b].offset, 0)), plan_.buffers[b].aval.bytes()});
    }
    std::vector<BufferPtr> carved;
    if (!pieces.empty() && arena) {
      carved = carve(std::move(arena), pieces);
    } else {
      for (const Piece& piece : pieces) carved.push_back(allocate(piece.bytes, plan_.name));
    }
    std::vector<BufferPtr> outputs;
    outputs.reserve(plan_.outputs.size());
    for (const int output : plan_.outputs) {
      const int b = program_->root[output];
      outputs.push_back(owned[b] ? owned[b] : input_of_[b] >= 0 ? inputs[input_of_[b]] : carved[piece_of[b]]);
    }
    for (size_t i = 0; i < inputs.size() && i < plan_.donated.size(); ++i) {
      if (plan_.donated[i]) inputs[i].reset();
    }
    return outputs;
  }

  PlanData plan_;
  std::unique_ptr<Program> program_;
  std::vector<int> input_of_;                      // plan input that a buffer is, or -1
  std::vector<int> own_;                           // allocated for the whole run
  std::vector<std::vector<int>> aliases_;          // of each buffer: those that share its bytes
  std::vector<std::vector<int>> births_, deaths_;  // naive: buffers by step
};

}  // namespace
}  // namespace neap::cpu

namespace neap::backends {

std::shared_ptr<const Executable> compile_cpu(planner::PlanData plan, const std::string& dump_name) {
  return std::make_shared<cpu::CpuExecutable>(std::move(plan), dump_name);
}

void compile_cpu_ahead(const planner::PlanData& plan, const std::stop_token& stop) {
  cpu::compile_program_ahead(plan, stop);
}

}  // namespace neap::backends
