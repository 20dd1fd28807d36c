#include "backends/cpu/scalar_loop.h"

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <utility>
#include <vector>

namespace neap::cpu {

using backends::Kernel;
using backends::KernelBuffer;
using scalar::Dag;
using scalar::Inst;
using scalar::Opcode;
using scalar::X;

namespace {

class ScalarLoop {
 public:
  ScalarLoop(const ScanCode& scan, const planner::PlanData& body, const backends::Launch& launch,
             const LaunchCode& code)
      : scan_(scan), body_(body), kernel_(launch.kernel), buffers_(code.buffers) {}

  // Whether the loop can be one kernel; then the next two are what it is, and the body buffers that it is given.
  bool find() {
    if (!is_one_element() || !find_places() || !find_writes()) return false;
    find_reads();
    return std::ranges::all_of(scan_.carried, [&](const auto& c) { return writers_.contains(c.in_place_of); });
  }

  Kernel kernel() {
    Kernel all = kernel_;
    all.dag = Dag();
    all.extent = {scan_.length, 1};
    all.vector_level = 1;
    std::vector<X> made(static_cast<size_t>(kernel_.dag.size()));
    const X row = all.dag.index(0, i64);
    const X slice = scan_.reverse ? all.dag.binary(Opcode::sub, all.dag.integer(scan_.length - 1, i64), row) : row;
    for (int32_t id = 0; id < kernel_.dag.size(); ++id) {
      const Inst& inst = kernel_.dag[id];
      const auto operand = [&](int32_t of) { return of < 0 ? X{} : made[static_cast<size_t>(of)]; };
      X& x = made[static_cast<size_t>(id)];
      if (inst.op == Opcode::index) {
        x = all.dag.integer(0, inst.type);  // of the only element
      } else if (inst.op == Opcode::load && sliced_.contains(static_cast<int>(inst.imm))) {
        x = all.dag.load(static_cast<int>(inst.imm), inst.type, slice);
      } else {
        x = all.dag.again(inst, operand(inst.a), operand(inst.b), operand(inst.c));
      }
    }
    for (backends::Store& s : all.stores) {
      s = {s.buffer, sliced_.contains(s.buffer) ? slice.id : made[static_cast<size_t>(s.index)].id,
           made[static_cast<size_t>(s.value)].id};
    }
    for (const auto& [buffer, place] : also_stacked_) {
      const backends::Store s = *std::ranges::find(all.stores, buffer, &backends::Store::buffer);
      all.stores.push_back({static_cast<int>(all.buffers.size()), slice.id, s.value});
      all.buffers.push_back(kernel_.buffers[static_cast<size_t>(buffer)]);
    }
    all.carried = carried_;
    return all;
  }

  std::vector<int> buffers() const {
    std::vector<int> all = buffers_;
    for (const auto& [place, buffer] : writers_) all[static_cast<size_t>(buffer)] = place;
    for (const auto& [buffer, stacked] : also_stacked_) all.push_back(stacked);
    return all;
  }

 private:
  int root(int buffer) const { return scan_.body->root[static_cast<size_t>(buffer)]; }

  bool is_one_element() const {
    return kernel_.kind == Kernel::Kind::map && kernel_.extent == std::array<int64_t, 2>{1, 1} &&
           kernel_.num_params == 0 && !kernel_.any_range;
  }

  // Where values are carried, and what is stacked: numbers, all of them.
  bool find_places() {
    const auto is_number = [&](int buffer) { return body_.buffers[static_cast<size_t>(buffer)].aval.size() == 1; };
    std::set<int> fixed;
    for (const auto& [buffer, outer] : scan_.fixed) fixed.insert(buffer);
    for (const auto& s : scan_.sliced) {
      if (!is_number(s.body_buffer)) return false;
      (s.stored ? stacked_ : stacks_).insert(s.body_buffer);
    }
    for (const auto& c : scan_.carried) {
      if (!is_number(c.from) || fixed.contains(root(c.from)) || root(c.in_place_of) != c.in_place_of) return false;
      if (!from_.emplace(root(c.from), c.in_place_of).second) return false;
    }
    for (const int b : body_.outputs) {
      if (!fixed.contains(root(b))) continue;  // else it is written where it lies, or stays
      if (!is_number(b)) return false;
      from_.emplace(root(b), root(b));
    }
    return true;
  }

  // Each buffer that the kernel writes is carried, stacked, or both.
  bool find_writes() {
    for (int i = 0; i < static_cast<int>(kernel_.buffers.size()); ++i) {
      if (!kernel_.buffers[static_cast<size_t>(i)].written) continue;
      const int buffer = buffers_[static_cast<size_t>(i)], whole = root(buffer);
      if (scan_.body->shift[static_cast<size_t>(buffer)] != 0) return false;
      const bool is_stacked = stacked_.contains(whole), is_carried = from_.contains(whole);
      if (is_carried && !writers_.emplace(from_.at(whole), i).second) return false;
      if (is_carried && is_stacked) also_stacked_.emplace_back(i, whole);
      if (is_stacked && !is_carried) sliced_.insert(i);
      if (!is_stacked && !is_carried) return false;
      written_.insert(whole);
    }
    // What is stacked but not written here is another number in each iteration all the same.
    return std::ranges::all_of(stacked_, [&](int b) { return written_.contains(root(b)); }) &&
           std::ranges::all_of(scan_.carried, [&](const auto& c) { return written_.contains(root(c.from)); });
  }

  void find_reads() {
    std::set<int> read;
    for (int i = 0; i < static_cast<int>(kernel_.buffers.size()); ++i) {
      if (kernel_.buffers[static_cast<size_t>(i)].written) continue;
      const int whole = root(buffers_[static_cast<size_t>(i)]);
      if (stacks_.contains(whole)) sliced_.insert(i);
      if (const auto writer = writers_.find(whole); writer != writers_.end()) {
        carried_.emplace_back(i, writer->second);
        read.insert(writer->second);
      }
    }
    for (const auto& [place, buffer] : writers_) {
      if (!read.contains(buffer)) carried_.emplace_back(buffer, buffer);
    }
  }

  const ScanCode& scan_;
  const planner::PlanData& body_;
  const Kernel& kernel_;
  const std::vector<int>& buffers_;  // body buffers of the kernel's
  std::set<int> stacks_, stacked_;   // body buffers: slices of operands, of results
  std::map<int, int> from_;          // body buffers whose contents are carried: where the next iteration reads them
  std::map<int, int> writers_;       // of each such place: the kernel's buffer
  std::set<int> written_;            // body buffers
  std::set<int> sliced_;             // buffers of the kernel
  std::vector<std::pair<int, int>> also_stacked_;  // a buffer of the kernel that is carried, and the body's
  std::vector<std::pair<int, int>> carried_;
};

}  // namespace

bool run_at_once(ScanCode& scan, const planner::PlanData& body, backends::Launch& launch, LaunchCode& code) {
  if (!scan.counted || scan.length < 2 || launch.partials > 1 || code.split != Split::none || !code.zero_fill.empty()) {
    return false;
  }
  ScalarLoop loop(scan, body, launch, code);
  if (!loop.find()) return false;
  code.buffers = loop.buffers();
  launch.kernel = loop.kernel();
  code.extent = launch.kernel.extent;
  scan.carried.clear();
  scan.at_once = true;
  return true;
}

}  // namespace neap::cpu
