#include "backends/lower_index.h"

#include <algorithm>
#include <limits>
#include <numeric>

#include "core/check.h"

namespace neap::backends {

using scalar::Opcode;
using scalar::X;

namespace {

int64_t floor_div(int64_t a, int64_t b) { return a / b - (a % b != 0 && (a % b < 0) != (b < 0)); }

size_t mix(size_t seed, size_t value) { return (seed ^ value) * 0x9e3779b97f4a7c15ull + (seed >> 29); }

// a + factor * b, terms merged.
IndexExpr merge(const IndexExpr& a, const IndexExpr& b, int64_t factor) {
  IndexExpr out;
  out.constant = a.constant + factor * b.constant;
  out.terms.reserve(a.terms.size() + b.terms.size());
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].atom < b.terms[j].atom)) {
      out.terms.push_back(a.terms[i++]);
    } else if (i == a.terms.size() || b.terms[j].atom < a.terms[i].atom) {
      out.terms.push_back({b.terms[j].atom, factor * b.terms[j].coefficient});
      ++j;
    } else {
      const int64_t coefficient = a.terms[i].coefficient + factor * b.terms[j].coefficient;
      if (coefficient != 0) out.terms.push_back({a.terms[i].atom, coefficient});
      ++i, ++j;
    }
  }
  return out;
}

}  // namespace

size_t IndexExpr::hash() const {
  size_t h = static_cast<size_t>(constant);
  for (const IndexTerm& t : terms) h = mix(mix(h, t.atom), static_cast<size_t>(t.coefficient));
  return h;
}

DType index_type(Range range) {
  if (range.within(0, std::numeric_limits<uint32_t>::max())) return u32;
  if (range.within(std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max())) return i32;
  return i64;
}

IndexExpr IndexAlgebra::atom(Atom atom) {
  if (atom.range.lo == atom.range.hi) return constant(atom.range.lo);
  // The range belongs to the name: an index that is never clamped may be one of operands of several extents.
  size_t h = mix(mix(mix(atom.of.hash(), static_cast<size_t>(atom.kind)), atom.id), static_cast<size_t>(atom.divisor));
  for (auto [it, end] = known_.equal_range(h); it != end; ++it) {
    const Atom& known = atoms_[it->second];
    if (known.kind == atom.kind && known.id == atom.id && known.divisor == atom.divisor && known.of == atom.of &&
        known.range == atom.range) {
      return {0, {{it->second, 1}}};
    }
  }
  const auto id = static_cast<int32_t>(atoms_.size());
  known_.emplace(h, id);
  atoms_.push_back(std::move(atom));
  return {0, {{id, 1}}};
}

IndexExpr IndexAlgebra::loop(int level, int64_t extent) {
  return atom({.kind = Kind::loop,
               .id = level,
               .range = {0, std::max<int64_t>(extent - 1, 0)},
               .levels = static_cast<uint8_t>(1u << level)});
}

IndexExpr IndexAlgebra::opaque(X value, Range range) {
  if (dag_.is_constant(value)) return constant(dag_.constant_integer(value));
  return atom({.kind = Kind::opaque, .id = value.id, .range = range, .levels = levels(value)});
}

Range IndexAlgebra::range(const IndexExpr& a) const {
  Range r{a.constant, a.constant};
  for (const auto& [id, coefficient] : a.terms) {
    const Range& of = atoms_[id].range;
    r.lo += coefficient * (coefficient > 0 ? of.lo : of.hi);
    r.hi += coefficient * (coefficient > 0 ? of.hi : of.lo);
  }
  return r;
}

IndexExpr IndexAlgebra::scale(const IndexExpr& a, int64_t factor) const {
  if (factor == 0) return constant(0);
  IndexExpr out = a;
  out.constant *= factor;
  for (IndexTerm& t : out.terms) t.coefficient *= factor;
  return out;
}

IndexExpr IndexAlgebra::sum(const IndexExpr& a, const IndexExpr& b, int64_t factor) {
  return recombine(merge(a, b, factor));
}

// Replaces k * mod(x, m) + k * m * div(x, m) by k * x, and k * mod(x, m) + k * m * mod(div(x, m), n) by
// k * mod(x, m * n).
IndexExpr IndexAlgebra::recombine(IndexExpr a) {
  for (size_t i = 0; i < a.terms.size(); ++i) {
    const IndexTerm term = a.terms[i];
    if (atoms_[term.atom].kind != Kind::mod) continue;
    const IndexExpr of = atoms_[term.atom].of;
    const int64_t divisor = atoms_[term.atom].divisor;
    const IndexExpr quotient = div(of, divisor);
    const auto next = std::ranges::find_if(a.terms, [&](const IndexTerm& t) {
      const Atom& other = atoms_[t.atom];
      return other.kind == Kind::mod && t.coefficient == term.coefficient * divisor && other.of == quotient;
    });
    if (next != a.terms.end()) {
      const IndexTerm outer = *next;
      const IndexExpr both = mod(of, divisor * atoms_[outer.atom].divisor);
      a = merge(a, {0, {{term.atom, 1}}}, -term.coefficient);
      a = merge(merge(a, {0, {{outer.atom, 1}}}, -outer.coefficient), both, term.coefficient);
      i = static_cast<size_t>(-1);
      continue;
    }
    const IndexExpr without =
        merge(merge(a, {0, {{term.atom, 1}}}, -term.coefficient), quotient, -term.coefficient * divisor);
    const bool cancels = std::ranges::none_of(without.terms, [&](const IndexTerm& t) {
      return is_division(t.atom) && std::ranges::find(quotient.terms, t.atom, &IndexTerm::atom) != quotient.terms.end();
    });
    if (!cancels) continue;
    a = merge(without, of, term.coefficient);
    i = static_cast<size_t>(-1);
  }
  return a;
}

// a = unit * whole + rest, where rest keeps the terms that unit does not divide and starts in [0, unit).
IndexAlgebra::Split IndexAlgebra::pull_out(const IndexExpr& a, int64_t unit) const {
  Split s{unit, {}, {}};
  for (const IndexTerm& t : a.terms) {
    if (t.coefficient % unit == 0) {
      s.whole.terms.push_back({t.atom, t.coefficient / unit});
    } else {
      s.rest.terms.push_back(t);
    }
  }
  s.whole.constant = floor_div(range(s.rest).lo + a.constant, unit);
  s.rest.constant = a.constant - s.whole.constant * unit;
  return s;
}

// The largest unit dividing `divisor` for which the rest lies in [0, unit): quotient and remainder then follow from
// those of `whole` by divisor / unit.
std::optional<IndexAlgebra::Split> IndexAlgebra::split(const IndexExpr& a, int64_t divisor) const {
  std::vector<int64_t> units{divisor};
  int64_t common = divisor;
  for (const IndexTerm& t : a.terms) {
    units.push_back(std::gcd(divisor, t.coefficient));
    common = std::gcd(common, t.coefficient);
  }
  units.push_back(common);
  std::sort(units.begin(), units.end(), std::greater<>());
  units.erase(std::unique(units.begin(), units.end()), units.end());
  for (int64_t unit : units) {
    if (unit == 1) break;
    Split s = pull_out(a, unit);
    if (range(s.rest).hi < unit) return s;
  }
  return std::nullopt;
}

const IndexAlgebra::Atom* IndexAlgebra::sole_atom(const IndexExpr& a) const {
  return a.terms.size() == 1 && a.terms[0].coefficient == 1 ? &atoms_[a.terms[0].atom] : nullptr;
}

IndexExpr IndexAlgebra::div(const IndexExpr& a, int64_t divisor) {
  NEAP_CHECK(divisor > 0, "division by {}", divisor);
  if (divisor == 1) return a;
  if (auto s = split(a, divisor)) return div(s->whole, divisor / s->unit);
  Split s = pull_out(a, divisor);
  return sum(s.whole, divide_atom(s.rest, divisor), 1);
}

IndexExpr IndexAlgebra::divide_atom(const IndexExpr& a, int64_t divisor) {
  const Range r = range(a);
  if (floor_div(r.lo, divisor) == floor_div(r.hi, divisor)) return constant(floor_div(r.lo, divisor));
  if (const Atom* inner = sole_atom(a)) {
    const IndexExpr of = inner->of;
    const int64_t by = inner->divisor;
    if (inner->kind == Kind::div) return div(add(of, a.constant * by), by * divisor);
    if (inner->kind == Kind::mod && a.constant == 0 && by % divisor == 0) return mod(div(of, divisor), by / divisor);
  }
  uint8_t levels = 0;
  for (const IndexTerm& t : a.terms) levels |= atoms_[t.atom].levels;
  return atom({.kind = Kind::div,
               .of = a,
               .divisor = divisor,
               .range = {floor_div(r.lo, divisor), floor_div(r.hi, divisor)},
               .levels = levels});
}

IndexExpr IndexAlgebra::mod(const IndexExpr& a, int64_t divisor) {
  NEAP_CHECK(divisor > 0, "remainder by {}", divisor);
  if (divisor == 1) return constant(0);
  if (auto s = split(a, divisor)) return sum(s->rest, mod(s->whole, divisor / s->unit), s->unit);
  return mod_atom(pull_out(a, divisor).rest, divisor);
}

IndexExpr IndexAlgebra::mod_atom(const IndexExpr& a, int64_t divisor) {
  const Range r = range(a);
  if (floor_div(r.lo, divisor) == floor_div(r.hi, divisor)) return add(a, -divisor * floor_div(r.lo, divisor));
  if (const Atom* inner = sole_atom(a); inner && inner->kind == Kind::mod && inner->divisor % divisor == 0) {
    const IndexExpr of = inner->of;
    return mod(add(of, a.constant), divisor);
  }
  uint8_t levels = 0;
  for (const IndexTerm& t : a.terms) levels |= atoms_[t.atom].levels;
  return atom({.kind = Kind::mod, .of = a, .divisor = divisor, .range = {0, divisor - 1}, .levels = levels});
}

IndexExpr IndexAlgebra::clamp(const IndexExpr& a, int64_t lo, int64_t hi) {
  const Range r = range(a);
  if (r.within(lo, hi)) return a;
  if (r.hi <= lo) return constant(lo);
  if (r.lo >= hi) return constant(hi);
  const DType type = index_type({std::min(r.lo, lo), std::max(r.hi, hi)});
  X x = emit(a, type);
  if (r.lo < lo) {
    X low = dag_.integer(lo, type);
    x = dag_.select(dag_.binary(Opcode::lt, x, low), low, x);
  }
  if (r.hi > hi) {
    X high = dag_.integer(hi, type);
    x = dag_.select(dag_.binary(Opcode::lt, high, x), high, x);
  }
  return opaque(x, {std::max(r.lo, lo), std::min(r.hi, hi)});
}

IndexExpr IndexAlgebra::flatten(std::span<const IndexExpr> coords, std::span<const int64_t> shape) {
  IndexExpr flat;
  int64_t stride = 1;
  for (size_t d = shape.size(); d-- > 0;) {
    if (shape[d] == 1) continue;
    flat = merge(flat, coords[d], stride);
    stride *= shape[d];
  }
  return recombine(std::move(flat));
}

std::vector<IndexExpr> IndexAlgebra::unflatten(const IndexExpr& flat, std::span<const int64_t> shape) {
  std::vector<IndexExpr> coords(shape.size());
  IndexExpr rest = flat;
  size_t first = 0;
  while (first < shape.size() && shape[first] == 1) ++first;
  for (size_t d = shape.size(); d-- > first;) {
    if (shape[d] == 1) continue;
    coords[d] = d == first ? rest : mod(rest, shape[d]);
    if (d != first) rest = div(rest, shape[d]);
  }
  return coords;
}

uint8_t IndexAlgebra::levels(X x) {
  for (auto id = static_cast<int32_t>(levels_.size()); id <= x.id; ++id) {
    const scalar::Inst& inst = dag_[id];
    uint8_t mask = inst.op == Opcode::index ? static_cast<uint8_t>(1u << inst.imm) : 0;
    for (int32_t operand : {inst.a, inst.b, inst.c}) {
      if (operand >= 0) mask |= levels_[operand];
    }
    levels_.push_back(mask);
  }
  return levels_[x.id];
}

}  // namespace neap::backends
