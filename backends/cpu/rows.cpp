#include "backends/cpu/rows.h"

#include <algorithm>
#include <numeric>

namespace neap::cpu {

using backends::Kernel;
using scalar::Inst;
using scalar::Opcode;

namespace {

bool small(const Interval& r) { return -kFar <= r.lo && r.hi <= kFar; }

}  // namespace

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

Rows::Rows(const Analysis& analysis) : a_(analysis) {
  last_row_ = std::max<int64_t>(a_.kernel.extent[row_level(a_.kernel)] - 1, 0);
  near_.resize(a_.kernel.dag.size());
  for (int32_t id = 0; id < a_.kernel.dag.size(); ++id) {
    if (is_integer(a_.kernel.dag[id].type) && small(a_.range(id))) near_[id] = find(id);
  }
}

// What is left of an index, over all rows, of which each is `pitch` behind the one before.
std::optional<Interval> Rows::within_row(int32_t index, int64_t pitch) const {
  const auto at = as(near_[index], 1, pitch);
  if (!at || !small(at->rest)) return std::nullopt;
  return at->rest;
}

// The same number, by another unit (a multiple) and slope.
std::optional<Rows::Near> Rows::as(const std::optional<Near>& v, int64_t unit, int64_t slope) const {
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
std::optional<std::pair<Rows::Near, Rows::Near>> Rows::alike(int32_t a, int32_t b) const {
  if (!near_[a] || !near_[b] || near_[a]->unit > kSmall || near_[b]->unit > kSmall) return std::nullopt;
  const int64_t unit = std::lcm(near_[a]->unit, near_[b]->unit);
  if (unit > kSmall) return std::nullopt;
  const auto slope = [&](const Near& v) { return v.slope * (unit / v.unit); };
  const auto x = as(near_[a], unit, slope(*near_[a])), y = as(near_[b], unit, slope(*near_[b]));
  if (!x || !y) return std::nullopt;
  return std::pair{*x, *y};
}

// The number as one that does not follow rows.
std::optional<Rows::Near> Rows::flat(int32_t id) const {
  const Interval r = a_.range(id);
  return small(r) ? std::optional(Near{1, 0, r}) : std::nullopt;
}

std::optional<Rows::Near> Rows::find(int32_t id) const {
  const Inst& i = a_.kernel.dag[id];
  switch (i.op) {
    case Opcode::index:
      return static_cast<int>(i.imm) == row_level(a_.kernel) ? std::optional(Near{1, 1, {0, 0}}) : flat(id);
    case Opcode::add:
    case Opcode::sub: {
      const auto both = alike(i.a, i.b);
      if (!both || !fits(a_, id)) return flat(id);
      const auto& [x, y] = *both;
      if (i.op == Opcode::add) return Near{x.unit, x.slope + y.slope, {x.rest.lo + y.rest.lo, x.rest.hi + y.rest.hi}};
      return Near{x.unit, x.slope - y.slope, {x.rest.lo - y.rest.hi, x.rest.hi - y.rest.lo}};
    }
    case Opcode::mul: {
      const bool by_b = a_.kernel.dag[i.b].op == Opcode::constant;
      if (!by_b && a_.kernel.dag[i.a].op != Opcode::constant) return flat(id);
      const int64_t factor = signed_constant(a_.kernel.dag[by_b ? i.b : i.a]);
      const auto& x = near_[by_b ? i.a : i.b];
      if (!x || !fits(a_, id) || factor < 0 || factor > kSmall || !small(x->rest) || std::abs(x->slope) > kSmall) {
        return flat(id);
      }
      const int64_t common = std::gcd(factor, x->unit), by = factor / common;
      return Near{x->unit / common, x->slope * by, {x->rest.lo * by, x->rest.hi * by}};
    }
    case Opcode::div: {
      if (!divides(a_, id)) return flat(id);
      const int64_t d = signed_constant(a_.kernel.dag[i.b]);
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
std::optional<Rows::Near> Rows::choice(int32_t id) const {
  const Inst& i = a_.kernel.dag[id];
  const Inst& c = a_.kernel.dag[i.a];
  auto both = alike(i.b, i.c);
  if (!both) return flat(id);
  auto& [x, y] = *both;
  const int64_t slope = std::abs(x.slope) >= std::abs(y.slope) ? x.slope : y.slope;
  const auto p = as(x, x.unit, slope), q = as(y, y.unit, slope);
  if (!p || !q) return flat(id);
  const bool ordered = (c.op == Opcode::lt || c.op == Opcode::le) && a_.kernel.dag[c.a].type == i.type;
  if (ordered && c.a == i.b && c.b == i.c) {
    return Near{p->unit, slope, {std::min(p->rest.lo, q->rest.lo), std::min(p->rest.hi, q->rest.hi)}};
  }
  if (ordered && c.a == i.c && c.b == i.b) {
    return Near{p->unit, slope, {std::max(p->rest.lo, q->rest.lo), std::max(p->rest.hi, q->rest.hi)}};
  }
  return Near{p->unit, slope, {std::min(p->rest.lo, q->rest.lo), std::max(p->rest.hi, q->rest.hi)}};
}

}  // namespace neap::cpu
