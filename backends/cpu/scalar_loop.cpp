#include "backends/cpu/scalar_loop.h"

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <utility>

namespace neap::cpu {

using backends::Kernel;
using backends::Launch;
using scalar::Inst;
using scalar::Opcode;
using scalar::X;

namespace {

constexpr int32_t kMostInstructions = 2000;

class Maker {
 public:
  Maker(const ScanCode& scan, const planner::PlanData& body) : scan_(scan), body_(body) {
    all_.extent = {scan.length, 1};
    all_.vector_level = 1;
    slice_ = all_.dag.index(0, i64);
    if (scan.reverse) slice_ = all_.dag.binary(Opcode::sub, all_.dag.integer(scan.length - 1, i64), slice_);
  }

  std::optional<ScalarLoop> run(std::span<const Launch> launches) {
    if (!find_places()) return std::nullopt;
    size_t number = 0;
    for (const StepCode& step : scan_.body->steps) {
      for (const LaunchCode& code : step.launches) {
        if (!append(launches[number], code)) return std::nullopt;
        all_.name = launches[number++].kernel.name;
      }
    }
    if (!write_carries() || !write_stacks()) return std::nullopt;
    return ScalarLoop{std::move(all_), std::move(buffers_)};
  }

 private:
  int root(int buffer) const { return scan_.body->root[static_cast<size_t>(buffer)]; }
  bool is_number(int buffer) const { return body_.buffers[static_cast<size_t>(buffer)].aval.size() == 1; }

  // Where the loop's operands and results lie: numbers, but for what all iterations read.
  bool find_places() {
    for (const auto& s : scan_.sliced) {
      if (!is_number(s.body_buffer)) return false;
      if (!s.stored) operands_.insert(s.body_buffer);
    }
    std::set<int> fixed;
    for (const auto& [buffer, outer] : scan_.fixed) fixed.insert(buffer);
    for (const auto& c : scan_.carried) {
      if (fixed.contains(root(c.from))) return false;  // it is not made here
      carries_.emplace_back(c.from, c.in_place_of);
    }
    for (const int b : body_.outputs) {
      if (fixed.contains(root(b))) carries_.emplace_back(b, root(b));  // written where it lies, or the same for ever
    }
    return std::ranges::all_of(carries_,
                               [&](const auto& c) { return is_number(c.first) && root(c.second) == c.second; });
  }

  // Appends a kernel, in which what was written before is known.
  bool append(const Launch& launch, const LaunchCode& code) {
    const Kernel& k = launch.kernel;
    const bool is_one = k.kind == Kernel::Kind::map && k.extent == std::array<int64_t, 2>{1, 1} && k.num_params == 0;
    if (!is_one || launch.partials > 1 || !code.zero_fill.empty()) return false;
    std::vector<X> made(static_cast<size_t>(k.dag.size()));
    for (int32_t id = 0; id < k.dag.size(); ++id) {
      const Inst& inst = k.dag[id];
      const auto operand = [&](int32_t of) { return of < 0 ? X{} : made[static_cast<size_t>(of)]; };
      X& x = made[static_cast<size_t>(id)];
      if (inst.op == Opcode::index) {
        x = all_.dag.integer(0, inst.type);  // of the only element
      } else if (inst.op == Opcode::load) {
        const std::optional<X> read = load(code.buffers[inst.imm], inst, operand(inst.a));
        if (!read) return false;
        x = *read;
      } else {
        x = all_.dag.again(inst, operand(inst.a), operand(inst.b), operand(inst.c));
      }
    }
    for (const backends::Store& s : k.stores) {
      const int buffer = code.buffers[static_cast<size_t>(s.buffer)];
      if (!is_number(buffer) || scan_.body->shift[static_cast<size_t>(buffer)] != 0) return false;
      known_[root(buffer)] = made[static_cast<size_t>(s.value)];
    }
    return all_.dag.size() <= kMostInstructions;
  }

  std::optional<X> load(int buffer, const Inst& inst, X index) {
    const int whole = root(buffer);
    if (const auto it = known_.find(whole); it != known_.end()) {
      return it->second.type() == inst.type && is_number(buffer) ? std::optional(it->second) : std::nullopt;
    }
    const bool is_slice = operands_.contains(whole);
    if (is_slice && scan_.body->shift[static_cast<size_t>(buffer)] != 0) return std::nullopt;
    const auto [it, is_new] = read_.try_emplace(std::pair(buffer, inst.type));
    if (is_new) it->second = add_buffer(buffer, inst.type, false);
    return all_.dag.load(it->second, inst.type, is_slice ? slice_ : index);
  }

  int add_buffer(int buffer, DType type, bool written) {
    all_.buffers.push_back({type, written, {}});
    buffers_.push_back(buffer);
    return static_cast<int>(buffers_.size()) - 1;
  }

  bool write_carries() {
    std::set<int> places;
    for (const auto& [from, place] : carries_) {
      const auto value = known_.find(root(from));
      if (value == known_.end() && root(from) == place) continue;  // it stays
      if (value == known_.end() || !places.insert(place).second) return false;
      const int out = add_buffer(place, value->second.type(), true);
      all_.stores.push_back({out, all_.dag.integer(0, i64).id, value->second.id});
      bool is_read = false;
      for (const auto& [key, in] : read_) {
        if (root(key.first) != place) continue;
        if (key.second != value->second.type()) return false;
        all_.carried.emplace_back(in, out);
        is_read = true;
      }
      if (!is_read) all_.carried.emplace_back(out, out);
    }
    return true;
  }

  bool write_stacks() {
    for (const auto& s : scan_.sliced) {
      if (!s.stored) continue;
      const auto value = known_.find(root(s.body_buffer));
      if (value == known_.end() || root(s.body_buffer) != s.body_buffer) return false;
      all_.stores.push_back({add_buffer(s.body_buffer, value->second.type(), true), slice_.id, value->second.id});
    }
    return true;
  }

  const ScanCode& scan_;
  const planner::PlanData& body_;
  std::set<int> operands_;                     // body buffers that are slices of the loop's operands
  std::vector<std::pair<int, int>> carries_;   // body buffers: what the next iteration finds in which other
  std::map<int, X> known_;                     // of body buffers: what was written in this iteration
  std::map<std::pair<int, DType>, int> read_;  // of body buffers: the kernel's
  Kernel all_;
  std::vector<int> buffers_;
  X slice_;
};

}  // namespace

std::optional<ScalarLoop> scalar_loop_of(const ScanCode& scan, const planner::PlanData& body,
                                         std::span<const Launch> launches) {
  using Kind = planner::PlanStep::Kind;
  const auto is_map = [](const StepCode& step) { return step.kind == Kind::map && !step.launches.empty(); };
  if (!scan.counted || scan.length < 2 || scan.body->steps.empty()) return std::nullopt;
  if (!std::ranges::all_of(scan.body->steps, is_map)) return std::nullopt;
  return Maker(scan, body).run(launches);
}

}  // namespace neap::cpu
