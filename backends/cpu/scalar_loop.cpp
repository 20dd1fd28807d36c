#include "backends/cpu/scalar_loop.h"

#include <algorithm>
#include <array>
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

constexpr int32_t kMostInstructions = 2000;
// Of loops over arrays. (Measured at 20,000 iterations of bodies of 3 to 16 elements on Zen 3.)
constexpr int64_t kMostElements = 16;      // of an array in registers
constexpr double kFewestIterations = 100;  // longer code must be worth its compilation
constexpr int32_t kWorthALaunch = 150;     // instructions on numbers in place of a call, and its vectors

// What an instruction counts for there: those that take longer than others take as long for a vector.
int32_t weight(const scalar::Dag& dag, const Inst& inst) {
  const bool wide = inst.type == f64;
  if (inst.op == Opcode::sqrt || (inst.op == Opcode::div && is_float(inst.type))) return wide ? 19 : 13;
  const bool to_integer = inst.op == Opcode::convert && !is_float(inst.type) && is_float(dag[inst.a].type);
  return to_integer ? 8 : 1;
}

class Maker : LoopKernelMaker {
 public:
  Maker(const ScanCode& scan, const planner::PlanData& body, double iterations)
      : LoopKernelMaker(scan, body), iterations_(iterations) {
    all_.extent = {scan.length, 1};
    all_.vector_level = 1;
    iterate(0);
  }

  std::optional<LoopKernel> run(std::span<const Launch> launches) {
    if (!find_places() || !are_small()) return std::nullopt;
    int32_t number = 0;
    for (const StepCode& step : scan_.body->steps) {
      for (const LaunchCode& code : step.launches) {
        const Launch& launch = launches[static_cast<size_t>(number++)];
        if (!append(launch, code)) return std::nullopt;
        all_.name = launch.kernel.name;
      }
    }
    if (has_arrays_ && (weight() > number * kWorthALaunch || iterations_ < kFewestIterations)) return std::nullopt;
    if (!write_carries() || !write_stacks()) return std::nullopt;
    return made();
  }

 private:
  // Where an element of the body lies: in which root buffer, and at which byte.
  using Place = std::pair<int, int64_t>;

  int32_t weight() const {
    int32_t sum = 0;
    for (int32_t id = 0; id < all_.dag.size(); ++id) sum += cpu::weight(all_.dag, all_.dag[id]);
    return sum;
  }

  bool is_small(int buffer) const { return aval(buffer).size() > 0 && aval(buffer).size() <= kMostElements; }
  std::optional<Place> place_of(int buffer, DType type, int64_t index) const {
    const auto size = static_cast<int64_t>(size_of(type));
    const int64_t at = static_cast<int64_t>(scan_.body->shift[static_cast<size_t>(buffer)]) + index * size;
    const bool is_inside = at >= 0 && at + size <= static_cast<int64_t>(aval(root(buffer)).bytes());
    return is_inside && at % size == 0 ? std::optional(Place(root(buffer), at)) : std::nullopt;
  }

  // Whether the loop's operands and results are numbers and small arrays, but for what all iterations read.
  bool are_small() const {
    return std::ranges::all_of(scan_.sliced, [&](const auto& s) { return is_small(s.body_buffer); }) &&
           std::ranges::all_of(carries_, [&](const auto& c) { return is_small(c.first); });
  }

  // Appends a kernel element by element; then what it writes is known.
  bool append(const Launch& launch, const LaunchCode& code) {
    const Kernel& k = launch.kernel;
    const auto [rows, columns] = k.extent;
    if (!is_plain_map(launch, code)) return false;
    if (rows > kMostElements || columns > kMostElements || rows * columns > kMostElements) return false;
    has_arrays_ |= rows * columns > 1;
    std::vector<std::pair<Place, X>> written;
    for (int64_t row = 0; row < rows; ++row) {
      for (int64_t column = 0; column < columns; ++column) {
        if (!append(k, code, {row, column}, written)) return false;
      }
    }
    for (const auto& [place, value] : written) {
      const auto [width, is_new] = width_.try_emplace(place.first, size_of(value.type()));
      if (width->second != size_of(value.type())) return false;
      known_.insert_or_assign(place, value);
    }
    return true;
  }

  // Not all that a kernel reads must be known: an operand may be read outside of it where another is chosen.
  bool append(const Kernel& k, const LaunchCode& code, std::array<int64_t, 2> at,
              std::vector<std::pair<Place, X>>& written) {
    std::vector<std::optional<X>> made(static_cast<size_t>(k.dag.size()));
    for (int32_t id = 0; id < k.dag.size(); ++id) {
      const Inst& inst = k.dag[id];
      made[static_cast<size_t>(id)] =
          inst.op == Opcode::index ? all_.dag.integer(at[inst.imm], inst.type) : instruction(inst, code, made);
    }
    for (const backends::Store& s : k.stores) {
      const std::optional<X>&index = made[static_cast<size_t>(s.index)], &value = made[static_cast<size_t>(s.value)];
      if (!index || !value || !all_.dag.is_constant(*index)) return false;
      const int buffer = code.buffers[static_cast<size_t>(s.buffer)];
      const auto place = place_of(buffer, value->type(), all_.dag.constant_integer(*index));
      if (!place || !is_small(root(buffer))) return false;
      written.emplace_back(*place, *value);
    }
    return all_.dag.size() <= kMostInstructions;
  }

  std::optional<X> instruction(const Inst& inst, const LaunchCode& code, std::span<const std::optional<X>> made) {
    std::array<std::optional<X>, 3> operands;
    const std::array ids{inst.a, inst.b, inst.c};
    for (size_t i = 0; i < ids.size(); ++i) operands[i] = ids[i] < 0 ? X{} : made[static_cast<size_t>(ids[i])];
    const auto& [a, b, c] = operands;
    if (inst.op == Opcode::select && a && all_.dag.is_constant(*a)) return all_.dag.constant_integer(*a) != 0 ? b : c;
    if (!a || !b || !c) return std::nullopt;
    if (inst.op == Opcode::load) return load(code.buffers[inst.imm], inst.type, *a);
    return all_.dag.again(inst, *a, *b, *c);
  }

  std::optional<X> load(int buffer, DType type, X index) {
    const int whole = root(buffer);
    const auto size = static_cast<int64_t>(size_of(type)),
               shift = static_cast<int64_t>(scan_.body->shift[static_cast<size_t>(buffer)]);
    if (all_.dag.is_constant(index)) {
      const auto place = place_of(buffer, type, all_.dag.constant_integer(index));
      if (!place) return std::nullopt;
      if (const auto it = known_.find(*place); it != known_.end()) {
        return it->second.type() == type ? std::optional(it->second) : std::nullopt;
      }
    } else if (carried_.contains(whole) || width_.contains(whole)) {
      return std::nullopt;
    }
    const bool is_slice = slices_.contains(whole);
    const auto width = width_.find(whole);
    if ((!is_slice && !fixed_.contains(whole)) || shift % size != 0) return std::nullopt;
    if (width != width_.end() && width->second != size_of(type)) return std::nullopt;
    index = all_.dag.convert(index, i64);
    index = all_.dag.binary(Opcode::add, index, all_.dag.integer(shift / size, i64));
    const auto [it, is_new] = read_.try_emplace(std::pair(whole, type));
    if (is_new) it->second = add_buffer(whole, type, false);
    return all_.dag.load(it->second, type, is_slice ? in_slice(whole, index) : index);
  }

  // An element that was written in this iteration.
  std::optional<X> known(int buffer, int64_t element) const {
    const DType type = aval(buffer).dtype;
    const auto place = place_of(buffer, type, element);
    const auto it = place ? known_.find(*place) : known_.end();
    return it != known_.end() && it->second.type() == type ? std::optional(it->second) : std::nullopt;
  }

  bool write_carries() {
    std::set<int> places;
    for (const auto& [from, place] : carries_) {
      const bool is_in_place = root(from) == place;
      if (is_in_place && !width_.contains(place)) continue;  // it stays
      if (!places.insert(place).second) return false;
      const DType type = aval(from).dtype;
      const int out = add_buffer(place, type, true);
      int in = out;
      for (const auto& [key, number] : read_) {
        if (key.first != place) continue;
        if (key.second != type) return false;
        in = number;
      }
      for (int64_t e = 0; e < aval(from).size(); ++e) {
        const std::optional<X> value = known(from, e);
        if (!value && is_in_place) continue;  // this one stays
        if (!value) return false;
        all_.stores.push_back({out, all_.dag.integer(e, i64).id, value->id});
        all_.carried.push_back({in, out, e});
      }
    }
    return true;
  }

  bool write_stacks() {
    for (const auto& s : scan_.sliced) {
      if (!s.stored) continue;
      if (root(s.body_buffer) != s.body_buffer) return false;
      const int out = add_buffer(s.body_buffer, aval(s.body_buffer).dtype, true);
      for (int64_t e = 0; e < aval(s.body_buffer).size(); ++e) {
        const std::optional<X> value = known(s.body_buffer, e);
        if (!value) return false;
        all_.stores.push_back({out, in_slice(s.body_buffer, all_.dag.integer(e, i64)).id, value->id});
      }
    }
    return true;
  }

  const double iterations_;
  std::map<Place, X> known_;                   // what was written in this iteration
  std::map<int, size_t> width_;                // of elements that were written, by root buffer
  std::map<std::pair<int, DType>, int> read_;  // of root buffers: the kernel's
  bool has_arrays_ = false;
};

}  // namespace

std::optional<LoopKernel> scalar_loop_of(const ScanCode& scan, const planner::PlanData& body,
                                         std::span<const Launch> launches, double iterations) {
  if (!is_loop_of_maps(scan) || scan.length < 2) return std::nullopt;
  return Maker(scan, body, iterations).run(launches);
}

}  // namespace neap::cpu
