#include "backends/cpu/placement.h"

#include <algorithm>
#include <array>
#include <numeric>

namespace neap::cpu {

using backends::Kernel;
using scalar::Inst;
using scalar::Opcode;

namespace {

constexpr int64_t kFar = int64_t{1} << 40;  // what is computed of numbers up to it stays far from overflow
constexpr size_t kMostCode = 64;            // instructions of an index
constexpr int64_t kSmall = int64_t{1} << 20;

bool small(const Interval& r) { return -kFar <= r.lo && r.hi <= kFar; }

// Whether a sum, difference or product, or a number of another type, is what it is without bounds.
bool fits(const Analysis& a, int32_t id) {
  const Inst& i = a.kernel.dag[id];
  const Interval x = a.range(i.a), all = range_of(i.type);
  const bool natural = i.type == DType::u64;  // whose largest numbers no interval has
  if (!is_integer(a.kernel.dag[i.a].type) || !small(x) || (natural && x.lo < 0)) return false;
  if (i.op == Opcode::convert) return x.inside(all);
  const Interval y = a.range(i.b);
  if (!small(y) || (natural && y.lo < 0)) return false;
  if (i.op == Opcode::add) return Interval{x.lo + y.lo, x.hi + y.hi}.inside(all);
  if (i.op == Opcode::sub) return Interval{x.lo - y.hi, x.hi - y.lo}.inside(all) && (!natural || x.lo >= y.hi);
  const auto corner = [](int64_t p, int64_t q) { return static_cast<__int128>(p) * q; };
  const auto [lo, hi] = std::minmax({corner(x.lo, y.lo), corner(x.lo, y.hi), corner(x.hi, y.lo), corner(x.hi, y.hi)});
  return lo >= all.lo && hi <= all.hi;
}

// Whether it is divided by a number, and not negative.
bool divides(const Analysis& a, int32_t id) {
  const Inst& i = a.kernel.dag[id];
  return a.kernel.dag[i.b].op == Opcode::constant && signed_constant(a.kernel.dag[i.b]) > 0 && a.range(i.a).lo >= 0 &&
         small(a.range(i.a));
}

// An integer v that follows the row r: `unit` * v - `slope` * r lies in `rest`.
struct Near {
  int64_t unit = 1, slope = 0;
  Interval rest;
};

class Rows {
 public:
  explicit Rows(const Analysis& a) : a_(a), k_(a.kernel), row_(k_.extent[0] > 1 ? 0 : 1) {
    last_row_ = std::max<int64_t>(k_.extent[row_] - 1, 0);
    near_.resize(k_.dag.size());
    for (int32_t id = 0; id < k_.dag.size(); ++id) {
      if (is_integer(k_.dag[id].type) && small(a_.range(id))) near_[id] = find(id);
    }
  }

  // What is left of an index, over all rows, of which each is `pitch` behind the one before.
  std::optional<Interval> within_row(int32_t index, int64_t pitch) const {
    const auto at = as(near_[index], 1, pitch);
    if (!at || !small(at->rest)) return std::nullopt;
    return at->rest;
  }

 private:
  // The same number, by another unit (a multiple) and slope.
  std::optional<Near> as(const std::optional<Near>& v, int64_t unit, int64_t slope) const {
    if (!v || unit % v->unit != 0) return std::nullopt;
    const int64_t factor = unit / v->unit;
    if (factor > kSmall || v->rest.lo < -kFar || v->rest.hi > kFar || std::abs(v->slope) > kSmall) return std::nullopt;
    Near r{unit, slope, {v->rest.lo * factor, v->rest.hi * factor}};
    // What the slopes differ by, over all rows.
    const int64_t more = v->slope * factor - slope;
    if (std::abs(more) > kSmall || last_row_ > kSmall) return more == 0 ? std::optional(r) : std::nullopt;
    r.rest.lo += std::min<int64_t>(0, more * last_row_);
    r.rest.hi += std::max<int64_t>(0, more * last_row_);
    return r;
  }

  // Both by one unit, each with its slope.
  std::optional<std::pair<Near, Near>> alike(int32_t a, int32_t b) const {
    if (!near_[a] || !near_[b] || near_[a]->unit > kSmall || near_[b]->unit > kSmall) return std::nullopt;
    const int64_t unit = std::lcm(near_[a]->unit, near_[b]->unit);
    if (unit > kSmall) return std::nullopt;
    const auto slope = [&](const Near& v) { return v.slope * (unit / v.unit); };
    const auto x = as(near_[a], unit, slope(*near_[a])), y = as(near_[b], unit, slope(*near_[b]));
    if (!x || !y) return std::nullopt;
    return std::pair{*x, *y};
  }

  // The number as one that does not follow rows.
  std::optional<Near> flat(int32_t id) const {
    const Interval r = a_.range(id);
    return small(r) ? std::optional(Near{1, 0, r}) : std::nullopt;
  }

  std::optional<Near> find(int32_t id) const {
    const Inst& i = k_.dag[id];
    switch (i.op) {
      case Opcode::index: return static_cast<int>(i.imm) == row_ ? std::optional(Near{1, 1, {0, 0}}) : flat(id);
      case Opcode::add:
      case Opcode::sub: {
        const auto both = alike(i.a, i.b);
        if (!both || !fits(a_, id)) return flat(id);
        const auto& [x, y] = *both;
        if (i.op == Opcode::add) return Near{x.unit, x.slope + y.slope, {x.rest.lo + y.rest.lo, x.rest.hi + y.rest.hi}};
        return Near{x.unit, x.slope - y.slope, {x.rest.lo - y.rest.hi, x.rest.hi - y.rest.lo}};
      }
      case Opcode::mul: {
        const bool by_b = k_.dag[i.b].op == Opcode::constant;
        if (!by_b && k_.dag[i.a].op != Opcode::constant) return flat(id);
        const int64_t factor = signed_constant(k_.dag[by_b ? i.b : i.a]);
        const auto& x = near_[by_b ? i.a : i.b];
        if (!x || !fits(a_, id) || factor < 0 || factor > kSmall || !small(x->rest) || std::abs(x->slope) > kSmall) {
          return flat(id);
        }
        const int64_t common = std::gcd(factor, x->unit), by = factor / common;
        return Near{x->unit / common, x->slope * by, {x->rest.lo * by, x->rest.hi * by}};
      }
      case Opcode::div: {
        if (!divides(a_, id)) return flat(id);
        const int64_t d = signed_constant(k_.dag[i.b]);
        const auto& x = near_[i.a];
        if (!x || d > kSmall || x->unit > kSmall) return flat(id);
        return Near{x->unit * d, x->slope, {x->rest.lo - x->unit * (d - 1), x->rest.hi}};
      }
      case Opcode::convert: return fits(a_, id) ? near_[i.a] : flat(id);
      case Opcode::select: return choice(id);
      default: return flat(id);
    }
  }

  // One of two numbers, which may be their minimum or maximum.
  std::optional<Near> choice(int32_t id) const {
    const Inst& i = k_.dag[id];
    const Inst& c = k_.dag[i.a];
    auto both = alike(i.b, i.c);
    if (!both) return flat(id);
    auto& [x, y] = *both;
    const int64_t slope = std::abs(x.slope) >= std::abs(y.slope) ? x.slope : y.slope;
    const auto p = as(x, x.unit, slope), q = as(y, y.unit, slope);
    if (!p || !q) return flat(id);
    const bool ordered = (c.op == Opcode::lt || c.op == Opcode::le) && k_.dag[c.a].type == i.type;
    if (ordered && c.a == i.b && c.b == i.c) {
      return Near{p->unit, slope, {std::min(p->rest.lo, q->rest.lo), std::min(p->rest.hi, q->rest.hi)}};
    }
    if (ordered && c.a == i.c && c.b == i.b) {
      return Near{p->unit, slope, {std::max(p->rest.lo, q->rest.lo), std::max(p->rest.hi, q->rest.hi)}};
    }
    return Near{p->unit, slope, {std::min(p->rest.lo, q->rest.lo), std::max(p->rest.hi, q->rest.hi)}};
  }

  const Analysis& a_;
  const Kernel& k_;
  const int row_;  // the level that counts rows
  int64_t last_row_ = 0;
  std::vector<std::optional<Near>> near_;
};

int level_of(const Kernel& k) { return k.extent[0] > 1 ? 0 : 1; }

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

int64_t floor_div(int64_t n, int64_t d) { return n >= 0 ? n / d : -((d - 1 - n) / d); }

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
  p.level_ = level_of(k);
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
