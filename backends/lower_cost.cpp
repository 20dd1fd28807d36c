// This estimates what a kernel costs, closely enough to choose its loop levels and the size of a parallel task.
#include <array>
#include <bit>
#include <cmath>
#include <optional>

#include "backends/lane_pattern.h"
#include "backends/lower.h"
#include "backends/rise.h"
#include "planner/kernels/cost.h"
#include "trace/scalar/scalar_eval.h"

namespace neap::backends {

using scalar::Inst;
using scalar::Opcode;

namespace {

constexpr double kRowOverhead = 8;  // vector instructions to begin and end the inner loop; no measurement is recorded

// How far the instruction's value moves with each loop index; nullopt: unknown.
using Strides = std::array<std::optional<int64_t>, 2>;

struct Facts {
  std::vector<bool> live;
  std::vector<uint8_t> levels;
  std::vector<Strides> strides;
  std::vector<bool> near;         // integers that lanes of the inner loop find in one register's worth of memory
  std::vector<double> registers;  // of memory in which lanes of a load in a map lie by a known pattern; 0: unknown
  std::vector<bool> first_only;   // integers of which the first lane is enough, as those of the others follow from it
};

std::vector<int32_t> roots_of(const Kernel& kernel) {
  std::vector<int32_t> roots;
  for (const Store& s : kernel.stores) roots.insert(roots.end(), {s.index, s.value});
  for (const Reduction& r : kernel.reductions) roots.push_back(r.value);
  for (const Scatter& s : kernel.scatters) {
    roots.insert(roots.end(), {s.index, s.value});
    if (s.valid >= 0) roots.push_back(s.valid);
  }
  return roots;
}

// Places along rows are remainders, and the rows quotients: along a row of some vectors one moves as the index, the
// other does not. Reductions run along such rows by code of their own (backends/cpu/stretches.h), columns of half a
// vector too; rows of a map share what lies side by side.
std::optional<int64_t> along_row(const Inst& inst, const Inst& by, std::optional<int64_t> moved, int level) {
  constexpr int64_t kLongest = int64_t{1} << 40;
  const auto shortest = static_cast<int64_t>(level == 0 ? planner::kLanes / 2 : planner::kLanes * 2);
  if (!moved || by.op != Opcode::constant) return std::nullopt;
  const auto constant = static_cast<int64_t>(by.imm);  // of i32 a large one where it is negative
  if (constant <= 0 || constant > kLongest) return std::nullopt;
  const int64_t row = inst.op == Opcode::bit_and ? constant + 1 : constant, most = row / shortest;
  if (*moved > most || *moved < -most) return std::nullopt;
  if (inst.op == Opcode::div) return 0;
  return std::has_single_bit(static_cast<uint64_t>(row)) ? moved : std::nullopt;
}

// What is clamped between two bounds is not, along most of a long loop (backends/cpu/stretches.h): by how much the
// smaller or larger of two numbers moves there, of which one does not.
std::optional<int64_t> unclamped(const scalar::Dag& dag, const std::vector<Strides>& of, const Inst& inst, int level) {
  const auto &x = of[inst.b][level], &y = of[inst.c][level];
  return is_bounded(dag, inst) && x && y && (*x == 0 || *y == 0) ? std::optional(*x + *y) : std::nullopt;
}

Strides strides_of(const Kernel& kernel, const std::vector<Strides>& of, int32_t id, uint8_t levels) {
  constexpr int64_t kLong = 128;  // iterations of the inner loop
  const scalar::Dag& dag = kernel.dag;
  const bool rows = kernel.kind == Kernel::Kind::reduce;
  const Inst& inst = dag[id];
  Strides out;
  for (int level = 0; level < 2; ++level) {
    if (!(levels >> level & 1)) {
      out[level] = 0;
      continue;
    }
    auto operand = [&](int32_t i) { return i < 0 ? std::optional<int64_t>(0) : of[i][level]; };
    const auto a = operand(inst.a), b = operand(inst.b);
    int64_t moved = 0;
    switch (inst.op) {
      case Opcode::index: out[level] = 1; break;
      case Opcode::convert: out[level] = is_integer(inst.type) ? a : std::nullopt; break;
      case Opcode::add:
        if (a && b && !__builtin_add_overflow(*a, *b, &moved)) out[level] = moved;
        break;
      case Opcode::sub:
        if (a && b && !__builtin_sub_overflow(*a, *b, &moved)) out[level] = moved;
        break;
      case Opcode::mul:
        if (a && dag[inst.b].op == Opcode::constant && is_integer(inst.type) &&
            !__builtin_mul_overflow(*a, static_cast<int64_t>(dag[inst.b].imm), &moved)) {
          out[level] = moved;
        }
        break;
      case Opcode::select:
        if (level == 1 && is_integer(inst.type) && kernel.extent[1] >= kLong)
          out[level] = unclamped(dag, of, inst, level);
        break;
      case Opcode::div:
      case Opcode::bit_and:
        if ((rows || level == 0) && is_integer(inst.type)) out[level] = along_row(inst, dag[inst.b], a, level);
        break;
      default: break;
    }
  }
  return out;
}

// Small remainders, and what rises so little (backends/rise.h).
bool is_near(const scalar::Dag& dag, const Inst& inst, const std::vector<bool>& near, const Facts& f) {
  constexpr int64_t kMost = 16;
  const auto moves = [&](int32_t i) { return (f.levels[i] >> 1 & 1) != 0; };
  if (!is_integer(inst.type)) return false;
  if (inst.op == Opcode::convert) return near[inst.a];
  if (inst.op == Opcode::add && moves(inst.a) != moves(inst.b)) return near[moves(inst.a) ? inst.a : inst.b];
  const int64_t d = modulus(dag, inst);
  return 0 < d && d <= kMost;
}

// Of loads in the inner loop of a map (backends/lane_pattern.h).
void find_patterns(const Kernel& kernel, Facts& f) {
  constexpr double kMostRegisters = 4;
  if (kernel.kind != Kernel::Kind::map || kernel.extent[1] < static_cast<int64_t>(planner::kLanes)) return;
  std::vector<bool> exact(f.live.size(), true), varies(f.live.size());
  for (size_t id = 0; id < varies.size(); ++id) varies[id] = (f.levels[id] >> 1 & 1) != 0;
  LanePatterns patterns(kernel.dag, 1, static_cast<int>(planner::kLanes), std::move(exact), varies);
  std::vector<bool> by_lane(f.live.size());  // those of which each lane is read
  for (const int32_t root : roots_of(kernel)) by_lane[root] = true;
  for (int32_t id = kernel.dag.size(); id-- > 0;) {
    const Inst& inst = kernel.dag[id];
    if (!f.live[id]) continue;
    bool reads_lanes = true;
    if (inst.op == Opcode::load) {
      const LanePattern* pattern = varies[id] && !f.strides[inst.a][1] ? patterns.of(inst.a) : nullptr;
      if (pattern) {
        const auto span = static_cast<double>(pattern->most() - pattern->least() + 1);
        const double registers = std::ceil(span / planner::kLanes);
        if (registers <= kMostRegisters) f.registers[id] = registers;
      }
      reads_lanes = f.registers[id] == 0;
    } else if (!by_lane[id] && varies[id] && patterns.of(id)) {
      f.first_only[id] = true;
      reads_lanes = false;
    }
    for (const int32_t operand : {inst.a, inst.b, inst.c}) {
      if (operand >= 0 && reads_lanes) by_lane[operand] = true;
    }
  }
}

Facts facts_of(const Kernel& kernel) {
  const scalar::Dag& dag = kernel.dag;
  Facts f{live_instructions(kernel),     std::vector<uint8_t>(dag.size()), std::vector<Strides>(dag.size()),
          std::vector<bool>(dag.size()), std::vector<double>(dag.size()),  std::vector<bool>(dag.size())};
  std::vector<int64_t> rises(dag.size());
  std::vector<bool> small(dag.size());
  for (int32_t id = 0; id < dag.size(); ++id) {
    const Inst& inst = dag[id];
    if (inst.op == Opcode::index) f.levels[id] = static_cast<uint8_t>(1u << inst.imm);
    for (int32_t operand : {inst.a, inst.b, inst.c}) {
      if (operand >= 0) f.levels[id] |= f.levels[operand];
    }
    f.strides[id] = strides_of(kernel, f.strides, id, f.levels[id]);
    rises[id] = is_integer(inst.type) ? rise(dag, id, 1, planner::kLanes, rises, (f.levels[id] >> 1 & 1) != 0) : -1;
    small[id] = is_near(dag, inst, small, f);
    f.near[id] = small[id] || (0 <= rises[id] && rises[id] < planner::kLanes);
  }
  find_patterns(kernel, f);
  return f;
}

// A memory access per vector, by what happens from lane to lane: in order, within 8 elements (wide loads or stores and
// shuffles, backends/cpu/analysis.h; stores that leave gaps go lane by lane), near (a load and a permutation), or lane
// by lane, where places that are computed take two instructions each more: 20 steps of a stencil on 125,000 x 8 took 28
// ms so, near 9 (Xeon, two threads). The others are estimates; neap-cost's "transpose" and "gather" measure.
double access_cost(const Strides& strides, int vector_level, bool near = false) {
  const auto& stride = strides[vector_level];
  if (!stride) return near ? 5 : 48;
  if (-1 <= *stride && *stride <= 1) return 1;
  return -8 <= *stride && *stride <= 8 ? 3 : 12;
}

// Vector instructions, roughly; the kinds were not measured one by one.
double weight(const Kernel& kernel, const Facts& f, int32_t id, int vector_level) {
  const Inst& inst = kernel.dag[id];
  const DType from = inst.a >= 0 ? kernel.dag[inst.a].type : inst.type;
  const double wide = size_of(inst.type) == 8 || size_of(from) == 8 ? 2 : 1;
  if (vector_level == 1 && f.first_only[id] && inst.op != Opcode::index) return 1;
  switch (inst.op) {
    case Opcode::constant:
    case Opcode::param:
    case Opcode::index: return 0;
    case Opcode::load:
      if (vector_level == 1 && f.registers[id] > 0) return 2 + 2 * f.registers[id];  // a load and a permutation each
      return access_cost(f.strides[inst.a], vector_level,
                         vector_level == 1 && f.near[inst.a] && size_of(inst.type) >= 4);
    case Opcode::div:
    case Opcode::rem:
      if (is_float(inst.type)) return wide * 5;
      return kernel.dag[inst.b].op == Opcode::constant ? wide * 6 : wide * 20;
    case Opcode::sqrt: return wide * 8;
    case Opcode::call: return inst.c >= 0 ? wide : 150;
    default: return wide;
  }
}

// Weights of what runs once for each outer index, and of what runs in the inner loop.
std::array<double, 2> weights(const Kernel& kernel, int vector_level) {
  const Facts f = facts_of(kernel);
  std::array<double, 2> sum{0, 1};
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    if (f.live[id] && f.levels[id] != 0) sum[f.levels[id] >> 1] += weight(kernel, f, id, vector_level);
  }
  for (const Store& s : kernel.stores) sum[1] += access_cost(f.strides[s.index], vector_level);
  for (size_t i = 0; i < kernel.reductions.size(); ++i) sum[1] += 2;
  for (const Scatter& s : kernel.scatters) {  // places side by side: loads, stores and what is between by vectors
    sum[1] += f.strides[s.index][vector_level] == 1 ? 3 : 2 * planner::kLanes;
  }
  return sum;
}

}  // namespace

std::vector<bool> live_instructions(const Kernel& kernel) { return scalar::needed(kernel.dag, roots_of(kernel)); }

double estimate(const Kernel& kernel, int vector_level) {
  const auto [outer, inner] = weights(kernel, vector_level);
  const auto rows = static_cast<double>(std::max(kernel.extent[0], kernel.whole_rows)),
             columns = static_cast<double>(kernel.extent[1]);
  if (vector_level == 1) return rows * (kRowOverhead + outer + std::ceil(columns / planner::kLanes) * inner);
  return std::ceil(rows / planner::kLanes) * (kRowOverhead + outer + columns * inner);
}

int far_loads(const Kernel& kernel) {
  const Facts f = facts_of(kernel);
  const auto is_far = [&](int32_t id) {
    const Inst& inst = kernel.dag[id];
    if (inst.op != Opcode::load || !f.live[id]) return false;
    const auto &by_row = f.strides[inst.a][0], &by_lane = f.strides[inst.a][1];
    if (!by_lane || std::abs(*by_lane) < kJump) return false;
    return !by_row || std::abs(*by_row) > kNear;
  };
  int count = 0;
  for (int32_t id = 0; id < kernel.dag.size(); ++id) count += is_far(id) ? 1 : 0;
  return count;
}

double cost_per_element(const Kernel& kernel) {
  const auto [outer, inner] = weights(kernel, kernel.vector_level);
  return inner + outer / static_cast<double>(std::max<int64_t>(kernel.extent[1], 1));
}

}  // namespace neap::backends
