#include "backends/cpu/column_loop.h"

#include <algorithm>
#include <map>
#include <set>
#include <utility>

#include "backends/cpu/loop_kernel.h"

namespace neap::cpu {

using backends::Kernel;
using backends::Launch;
using scalar::Inst;
using scalar::Opcode;
using scalar::X;

namespace {

constexpr int32_t kMostInstructions = 600;  // in the loop, so that registers hold about what is carried
constexpr int64_t kFewestIterations = 4;
// Columns of larger arrays are far apart, and loops over arrays that leave the caches go by blocks (time_blocks.h).
constexpr int64_t kFewestColumns = 17, kMostColumns = 8192;
constexpr int64_t kFewColumns = 64;             // that lie together however many slices there are
constexpr size_t kMostBytes = size_t{4} << 20;  // of slices that many columns read or write

class Maker : LoopKernelMaker {
 public:
  Maker(const ScanCode& scan, const planner::PlanData& body) : LoopKernelMaker(scan, body) {}

  std::optional<LoopKernel> run(std::span<const Launch> launches) {
    if (!find_columns(launches) || !find_places() || !have_columns()) return std::nullopt;
    all_.extent = {columns_, scan_.length};
    all_.vector_level = 0;
    all_.cost_per_element = 0;
    column_ = all_.dag.index(0, u32);
    iterate(1);
    size_t number = 0;
    for (const StepCode& step : scan_.body->steps) {
      for (const LaunchCode& code : step.launches) {
        const Launch& launch = launches[number++];
        if (!append(launch, code)) return std::nullopt;
        all_.name = launch.kernel.name;
        all_.cost_per_element += launch.kernel.cost_per_element;
      }
    }
    if (all_.dag.size() > kMostInstructions || !write_carries() || !write_stacks()) return std::nullopt;
    return made();
  }

 private:
  // A whole buffer: no part of another, and not under another name of other size.
  bool is_whole(int buffer) const {
    return scan_.body->shift[static_cast<size_t>(buffer)] == 0 && aval(buffer).bytes() == aval(root(buffer)).bytes();
  }
  bool has_columns(int buffer) const { return aval(buffer).size() == columns_; }

  bool find_columns(std::span<const Launch> launches) {
    for (size_t i = 0, number = 0; i < scan_.body->steps.size(); ++i) {
      for (size_t j = 0; j < scan_.body->steps[i].launches.size(); ++j, ++number) {
        const auto [rows, columns] = launches[number].kernel.extent;
        columns_ = std::max(columns_, rows * columns);
      }
    }
    if (columns_ < kFewestColumns || columns_ > kMostColumns || scan_.length < kFewestIterations) return false;
    size_t bytes = 0;
    for (const auto& s : scan_.sliced) bytes += s.bytes * static_cast<size_t>(scan_.length);
    return columns_ <= kFewColumns || bytes <= kMostBytes;
  }

  // Whether what is stacked has all columns, and what is carried is whole.
  bool have_columns() {
    const auto fits = [&](const auto& s) { return !s.stored || has_columns(s.body_buffer); };
    writes_slices_ = std::ranges::any_of(scan_.sliced, [](const auto& s) { return s.stored; });
    return std::ranges::all_of(scan_.sliced, fits) &&
           std::ranges::all_of(carries_, [&](const auto& c) { return is_whole(c.first); });
  }

  // Appends a kernel that computes each element of arrays by itself, or one number for all of them.
  bool append(const Launch& launch, const LaunchCode& code) {
    const Kernel& k = launch.kernel;
    const auto [rows, columns] = k.extent;
    if (!is_plain_map(launch, code)) return false;
    const bool one = rows * columns == 1;
    if (!one && (rows * columns != columns_ || std::min(rows, columns) != 1)) return false;
    std::vector<X> made;
    for (int32_t id = 0; id < k.dag.size(); ++id) {
      const Inst& inst = k.dag[id];
      std::optional<X> x;
      if (inst.op == Opcode::index) {
        const bool along = k.extent[inst.imm] > 1;
        x = along ? all_.dag.convert(column_, inst.type) : all_.dag.integer(0, inst.type);
      } else if (inst.op == Opcode::load) {
        x = load(code.buffers[inst.imm], inst.type, made[static_cast<size_t>(inst.a)]);
      } else {
        const auto operand = [&](int32_t i) { return i < 0 ? X{} : made[static_cast<size_t>(i)]; };
        x = all_.dag.again(inst, operand(inst.a), operand(inst.b), operand(inst.c));
      }
      if (!x) return false;
      made.push_back(*x);
    }
    for (const backends::Store& s : k.stores) {
      const int buffer = code.buffers[static_cast<size_t>(s.buffer)];
      const X index = made[static_cast<size_t>(s.index)], value = made[static_cast<size_t>(s.value)];
      const bool whole = is_whole(buffer) && aval(buffer).dtype == value.type() && !slices_.contains(root(buffer));
      if (!whole || aval(buffer).size() != (one ? 1 : columns_) || !(one || is_column(index))) return false;
      known_.insert_or_assign(root(buffer), value);
    }
    return true;
  }

  bool is_column(X x) const {
    const Inst& i = all_.dag[x.id];
    return x.id == column_.id || (i.op == Opcode::convert && i.a == column_.id && is_integer(i.type));
  }

  std::optional<X> load(int buffer, DType type, X index) {
    const int whole = root(buffer);
    if (!is_whole(buffer) || aval(buffer).dtype != type || aval(whole).dtype != type) return std::nullopt;
    // A slice of one element is shared: no result of so many columns lies where such slices do.
    const bool own = has_columns(whole) ? is_column(index) : aval(whole).size() == 1;
    if (const auto it = known_.find(whole); it != known_.end()) {
      return own && it->second.type() == type ? std::optional(it->second) : std::nullopt;
    }
    if (carried_.contains(whole) && !(own && has_columns(whole))) return std::nullopt;
    const bool is_slice = slices_.contains(whole);
    if (!is_slice && !fixed_.contains(whole)) return std::nullopt;
    // What is stacked may take a slice's place where nobody needs it any more: no column before this one may have.
    if (is_slice && !own && writes_slices_) return std::nullopt;
    const auto [it, is_new] = read_.try_emplace(whole);
    if (is_new) it->second = add_buffer(whole, type, false);
    return all_.dag.load(it->second, type, is_slice ? in_slice(whole, all_.dag.convert(index, i64)) : index);
  }

  bool write_carries() {
    std::set<int> places;
    for (const auto& [from, place] : carries_) {
      const auto it = known_.find(root(from));
      if (it == known_.end() && root(from) == place) continue;  // it stays
      if (it == known_.end() || !has_columns(from) || it->second.type() != aval(place).dtype) return false;
      if (!places.insert(place).second) return false;
      const int out = add_buffer(place, aval(place).dtype, true);
      const auto in = read_.find(place);
      all_.stores.push_back({out, column_.id, it->second.id});
      all_.carried.push_back({in == read_.end() ? out : in->second, out, 0});
    }
    return !all_.carried.empty();
  }

  bool write_stacks() {
    for (const auto& s : scan_.sliced) {
      if (!s.stored) continue;
      const auto it = known_.find(s.body_buffer);
      if (root(s.body_buffer) != s.body_buffer || it == known_.end()) return false;
      if (it->second.type() != aval(s.body_buffer).dtype) return false;
      const int out = add_buffer(s.body_buffer, it->second.type(), true);
      all_.stores.push_back({out, in_slice(s.body_buffer, all_.dag.convert(column_, i64)).id, it->second.id});
    }
    return true;
  }

  int64_t columns_ = 0;
  std::map<int, X> known_;   // root buffers that were written in this iteration
  std::map<int, int> read_;  // of root buffers: the kernel's
  bool writes_slices_ = false;
  X column_;
};

}  // namespace

std::optional<LoopKernel> column_loop_of(const ScanCode& scan, const planner::PlanData& body,
                                         std::span<const Launch> launches) {
  return is_loop_of_maps(scan) ? Maker(scan, body).run(launches) : std::nullopt;
}

}  // namespace neap::cpu
