#include "backends/cpu/placement.h"

#include <algorithm>
#include <array>

#include "backends/cpu/rows.h"

namespace neap::cpu {

using backends::Kernel;
using scalar::Inst;
using scalar::Opcode;

namespace {

constexpr size_t kMostCode = 64;  // instructions of an index

// The one index at which a map stores.
std::optional<int32_t> store_index(const Analysis& a) {
  const Kernel& k = a.kernel;
  if (k.kind != Kernel::Kind::map || k.vector_level != 1 || k.num_params > 0 || k.stores.empty()) return std::nullopt;
  if (k.extent[0] <= 0 || k.extent[1] <= 0) return std::nullopt;
  const int32_t index = k.stores[0].index;
  if (std::ranges::any_of(k.stores, [&](const auto& s) { return s.index != index; })) return std::nullopt;
  return a.linear(index) && a.linear(index)->exact ? std::optional(index) : std::nullopt;
}

// Whether the index is a constant and multiples of the loops' indices.
bool is_affine(const Kernel& k, const Linear& sum) {
  return std::ranges::all_of(sum.terms, [&](const auto& term) { return k.dag[term.first].op == Opcode::index; });
}

// load - store, where that is one number.
std::optional<int64_t> distance(const Linear* load, const Linear& store) {
  if (!load || !load->exact || load->terms != store.terms) return std::nullopt;
  const int64_t d = load->constant - store.constant;
  return -kFar <= d && d <= kFar ? std::optional(d) : std::nullopt;
}

// The instructions that an index is made of, in their order, with operands as their numbers among them; nullopt where
// some are not arithmetic of loops' indices.
std::optional<std::vector<Inst>> code_of(const Analysis& a, int32_t index) {
  const Kernel& k = a.kernel;
  std::vector<bool> needed(k.dag.size(), false);
  needed[index] = true;
  for (int32_t id = index; id >= 0; --id) {
    if (!needed[id]) continue;
    const Inst& i = k.dag[id];
    switch (i.op) {
      case Opcode::constant:
      case Opcode::index: break;
      case Opcode::add:
      case Opcode::sub:
      case Opcode::mul:
      case Opcode::convert:
        if (!fits(a, id)) return std::nullopt;
        break;
      case Opcode::div:
      case Opcode::rem:
        if (!divides(a, id)) return std::nullopt;
        break;
      default: return std::nullopt;
    }
    for (const int32_t operand : {i.a, i.b}) {
      if (operand >= 0) needed[operand] = true;
    }
  }
  std::vector<Inst> code;
  std::vector<int32_t> number(k.dag.size(), -1);
  for (int32_t id = 0; id <= index; ++id) {
    if (!needed[id]) continue;
    Inst i = k.dag[id];
    if (i.op == Opcode::constant) i.imm = static_cast<uint64_t>(signed_constant(i));
    for (int32_t* operand : {&i.a, &i.b}) {
      if (*operand >= 0) *operand = number[*operand];
    }
    if (code.size() == kMostCode) return std::nullopt;
    number[id] = static_cast<int32_t>(code.size());
    code.push_back(i);
  }
  return code;
}

// What it computes in an iteration of a loop; the other loop is in its first.
int64_t value_of(const std::vector<Inst>& code, int level, int64_t iteration) {
  std::array<int64_t, kMostCode> values;
  for (size_t n = 0; n < code.size(); ++n) {
    const Inst& i = code[n];
    const int64_t x = i.a >= 0 ? values[static_cast<size_t>(i.a)] : 0;
    const int64_t y = i.b >= 0 ? values[static_cast<size_t>(i.b)] : 0;
    switch (i.op) {
      case Opcode::constant: values[n] = static_cast<int64_t>(i.imm); break;
      case Opcode::index: values[n] = static_cast<int>(i.imm) == level ? iteration : 0; break;
      case Opcode::add: values[n] = x + y; break;
      case Opcode::sub: values[n] = x - y; break;
      case Opcode::mul: values[n] = x * y; break;
      case Opcode::div: values[n] = x / y; break;
      case Opcode::rem: values[n] = x % y; break;
      default: values[n] = x;
    }
  }
  return values[code.size() - 1];
}

}  // namespace

std::optional<int64_t> Placement::pitch(const Analysis& a) {
  const auto index = store_index(a);
  if (!index) return std::nullopt;
  if (a.kernel.extent[0] <= 1) return 0;
  const Linear& at = *a.linear(*index);
  if (is_affine(a.kernel, at)) return a.along(at, 0);
  const auto code = code_of(a, *index);
  if (!code) return std::nullopt;
  Placement p;
  p.level_ = 0;
  p.code_ = *code;
  return p.position(1) - p.position(0);
}

std::optional<Placement> Placement::of(const Analysis& a, int64_t unit, int64_t whole) {
  constexpr int64_t kMostIterations = int64_t{1} << 18;  // of those that are looked at one by one
  const auto index = store_index(a);
  if (!index) return std::nullopt;
  const Kernel& k = a.kernel;
  const Linear& at = *a.linear(*index);
  Placement p;
  p.level_ = row_level(k);
  p.unit_ = unit;
  p.extent_ = k.extent[static_cast<size_t>(p.level_)];
  const int64_t inner = p.level_ == 0 ? k.extent[1] : 1;  // elements of an iteration, so far apart:
  const int64_t along = p.level_ == 0 ? a.along(at, 1) : 0;
  if (along < 0 || along > kSmall || inner > kFar / (along + 1) || unit > kFar || a.range(*index).lo < 0) {
    return std::nullopt;
  }
  const int64_t span = (inner - 1) * along;
  const bool affine = is_affine(k, at);
  if (affine) {
    p.begin_ = at.constant;
    p.pitch_ = a.along(at, p.level_);
  } else {
    const auto code = code_of(a, *index);
    if (!code || p.level_ != 0) return std::nullopt;
    p.code_ = *code;
  }

  // The least and the most that an iteration's first element lies behind the beginning of its unit.
  Interval behind{0, unit - 1};
  if (!(affine && p.pitch_ == 1 && span == 0)) {
    if (p.extent_ > kMostIterations) return std::nullopt;
    behind = {unit, -1};
    int64_t before = -1;
    for (int64_t i = 0; i < p.extent_; ++i) {
      const int64_t position = p.position(i), rest = position % unit;
      if (position < 0 || position < before || rest + span >= unit) return std::nullopt;
      before = position;
      behind = {std::min(behind.lo, rest), std::max(behind.hi, rest)};
    }
  }
  // Along its lanes a kernel may be cut where no block of random bits lies.
  const bool in_one = p.position(0) / unit == p.position(p.extent_ - 1) / unit;
  const bool even = affine && p.pitch_ == 1 && p.begin_ == 0 && unit % backends::kRangeUnit == 0;
  p.cuts_lanes_ = p.level_ == 1 && !in_one && !even;
  if (p.cuts_lanes_ && a.shares()) return std::nullopt;

  const Rows rows(a);
  p.buffers_.resize(k.buffers.size());
  for (const auto& s : k.stores) p.buffers_[s.buffer].stored = true;
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    const Inst& i = k.dag[id];
    if (i.op != Opcode::load || !a.needed(id)) continue;
    Touched& t = p.buffers_[i.imm];
    t.read = true;
    // What is read, from the first element of an iteration on.
    Interval read;
    if (const auto d = distance(a.linear(i.a), at)) {
      read = {*d, *d + span};
    } else if (const auto wrapped = whole % unit == 0 ? p.around(a, id, whole) : std::nullopt) {
      read = {wrapped->lo, wrapped->hi + span};
      p.wraps_ = true;
    } else if (const auto near = affine ? rows.within_row(i.a, p.pitch_) : std::nullopt) {
      read = {near->lo - p.begin_, near->hi - p.begin_};
    } else {
      t.known = false;
      continue;
    }
    t.below = std::max(t.below, -floor_div(behind.lo + read.lo, unit));
    t.above = std::max(t.above, floor_div(behind.hi + read.hi, unit));
  }
  return p;
}

int64_t Placement::first(int64_t u) const {
  if (code_.empty() && pitch_ > 0) {
    return std::clamp<int64_t>(-floor_div(-(u * unit_ - begin_), pitch_), 0, extent_);
  }
  int64_t lo = 0, hi = extent_;
  while (lo < hi) {
    const int64_t middle = lo + (hi - lo) / 2;
    if (position(middle) < u * unit_) {
      lo = middle + 1;
    } else {
      hi = middle;
    }
  }
  return lo;
}

// What a load reads that matters to a few iterations alone, at one end of the array: a place at the other end, whose
// distance is that on the circle.
std::optional<Interval> Placement::around(const Analysis& a, int32_t load, int64_t whole) const {
  const Kernel& k = a.kernel;
  const Linear* address = a.linear(k.dag[load].a);
  if (!code_.empty() || !address || !address->exact || !is_affine(k, *address)) return std::nullopt;
  if (level_ == 0 && a.along(*address, 1) != a.along(*a.linear(k.stores[0].index), 1)) return std::nullopt;
  // The iterations in which it is what a choice takes.
  Interval taken{extent_, -1};
  for (int32_t id = load + 1; id < k.dag.size(); ++id) {
    const Inst& i = k.dag[id];
    if (i.a != load && i.b != load && i.c != load) continue;
    const bool chosen = i.op == Opcode::select && i.a != load && i.b != i.c;
    const Inst& c = k.dag[std::max(i.a, 0)];
    if (!chosen || (c.op != Opcode::lt && c.op != Opcode::le) || !is_integer(k.dag[c.a].type)) return std::nullopt;
    const auto x = code_of(a, c.a), y = code_of(a, c.b);
    const auto of_this_loop = [&](const std::vector<Inst>& code) {
      return std::ranges::all_of(
          code, [&](const Inst& in) { return in.op != Opcode::index || static_cast<int>(in.imm) == level_; });
    };
    if (!x || !y || !of_this_loop(*x) || !of_this_loop(*y)) return std::nullopt;
    for (int64_t n = 0; n < extent_; ++n) {
      const int64_t p = value_of(*x, level_, n), q = value_of(*y, level_, n);
      if ((c.op == Opcode::lt ? p < q : p <= q) == (i.b == load))
        taken = {std::min(taken.lo, n), std::max(taken.hi, n)};
    }
  }
  const bool is_stored = std::ranges::any_of(k.stores, [&](const auto& s) { return s.value == load; });
  if (is_stored || taken.lo > taken.hi) return std::nullopt;
  const auto distance = [&](int64_t n) { return address->constant + a.along(*address, level_) * n - position(n); };
  const int64_t first = distance(taken.lo), last = distance(taken.hi);
  const int64_t turns = first > whole / 2 ? 1 : first < -whole / 2 ? -1 : 0;
  if (turns == 0) return std::nullopt;
  return Interval{std::min(first, last) - turns * whole, std::max(first, last) - turns * whole};
}

int64_t Placement::position(int64_t iteration) const {
  return code_.empty() ? begin_ + pitch_ * iteration : value_of(code_, level_, iteration);
}

}  // namespace neap::cpu
