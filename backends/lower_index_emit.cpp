// This makes kernel instructions of index expressions.
#include <algorithm>
#include <bit>
#include <limits>
#include <tuple>

#include "backends/lower_index.h"
#include "core/check.h"

namespace neap::backends {

using scalar::Opcode;
using scalar::X;

X IndexAlgebra::emit(const IndexExpr& a) { return emit(a, index_type(range(a))); }

// Sums wrap, so any type that holds the result will do. What the inner loop does not change is added first, and what is
// taken away comes late, so that no partial sum leaves the range of the type if the ranges can show it.
X IndexAlgebra::emit(const IndexExpr& a, DType type) {
  std::vector<IndexTerm> terms = a.terms;
  auto rank = [&](const IndexTerm& t) { return std::tuple(atoms_[t.atom].levels, t.coefficient < 0, t.atom); };
  std::sort(terms.begin(), terms.end(), [&](const auto& x, const auto& y) { return rank(x) < rank(y); });
  std::optional<X> out;
  auto add = [&](X x) { out = out ? dag_.binary(Opcode::add, *out, x) : x; };
  bool positive_constant = a.constant > 0;
  for (const auto& [id, coefficient] : terms) {
    if (positive_constant && atoms_[id].levels != 0) {
      add(dag_.integer(a.constant, type));
      positive_constant = false;
    }
    X x = emit_atom(id, type);
    if (out && coefficient < 0) {
      if (coefficient != -1) x = dag_.binary(Opcode::mul, x, dag_.integer(-coefficient, type));
      out = dag_.binary(Opcode::sub, *out, x);
    } else {
      add(coefficient == 1 ? x : dag_.binary(Opcode::mul, x, dag_.integer(coefficient, type)));
    }
  }
  if (positive_constant || !out) {
    add(dag_.integer(a.constant, type));
  } else if (a.constant < 0) {
    out = dag_.binary(Opcode::sub, *out, dag_.integer(-a.constant, type));
  }
  return *out;
}

X IndexAlgebra::emit_atom(int32_t id, DType type) {
  const Atom atom = atoms_[id];
  auto as_type = [&](X x) { return x.type() == type ? x : dag_.convert(x, type); };
  switch (atom.kind) {
    case Kind::loop: {
      if (size_of(type) == 8) return as_type(dag_.index(atom.id, i64));
      const bool fits_i32 = atom.range.within(0, std::numeric_limits<int32_t>::max());
      return as_type(dag_.index(atom.id, type == i32 && fits_i32 ? i32 : index_type(atom.range)));
    }
    case Kind::opaque: return as_type(X{&dag_, atom.id});
    case Kind::div:
    case Kind::mod: break;
  }
  ++divisions_;
  // The machine's division truncates: keep the numerator non-negative.
  IndexExpr of = atom.of;
  Range r = range(of);
  int64_t shift = 0;
  if (r.lo < 0) {
    shift = (-r.lo + atom.divisor - 1) / atom.divisor;
    of.constant += shift * atom.divisor;
    r = range(of);
  }
  X numerator = emit(of, index_type(r));
  const DType wide = numerator.type();
  if (atom.kind == Kind::mod && std::has_single_bit(static_cast<uint64_t>(atom.divisor))) {
    return as_type(dag_.binary(Opcode::bit_and, numerator, dag_.integer(atom.divisor - 1, wide)));
  }
  X divisor = dag_.integer(atom.divisor, wide);
  X quotient = dag_.binary(Opcode::div, numerator, divisor);
  if (atom.kind == Kind::mod) {
    return as_type(dag_.binary(Opcode::sub, numerator, dag_.binary(Opcode::mul, quotient, divisor)));
  }
  if (shift == 0) return as_type(quotient);
  return dag_.binary(Opcode::sub, as_type(quotient), dag_.integer(shift, type));
}

Condition IndexAlgebra::less(const IndexExpr& a, int64_t bound) {
  const Range r = range(a);
  if (r.hi < bound) return Condition::of(true);
  if (r.lo >= bound) return Condition::of(false);
  const DType type = index_type(r);
  return {std::nullopt, dag_.binary(Opcode::lt, emit(a, type), dag_.integer(bound, type))};
}

Condition IndexAlgebra::in_range(const IndexExpr& a, int64_t lo, int64_t hi) {
  const Range r = range(a);
  if (r.within(lo, hi)) return Condition::of(true);
  if (r.hi < lo || r.lo > hi || lo > hi) return Condition::of(false);
  const DType type = index_type(r);
  X x = emit(a, type);
  Condition low = Condition::of(true), high = Condition::of(true);
  if (r.lo < lo) low = {std::nullopt, dag_.binary(Opcode::le, dag_.integer(lo, type), x)};
  if (r.hi > hi) high = {std::nullopt, dag_.binary(Opcode::le, x, dag_.integer(hi, type))};
  return both(low, high);
}

Condition IndexAlgebra::equals(const IndexExpr& a, int64_t value) {
  const Range r = range(a);
  if (value < r.lo || r.hi < value) return Condition::of(false);
  if (r.lo == r.hi) return Condition::of(true);
  const DType type = index_type(r);
  return {std::nullopt, dag_.binary(Opcode::eq, emit(a, type), dag_.integer(value, type))};
}

Condition IndexAlgebra::both(const Condition& a, const Condition& b) {
  if (a.never() || b.never()) return Condition::of(false);
  if (a.always()) return b;
  if (b.always()) return a;
  return {std::nullopt, dag_.binary(Opcode::bit_and, a.value, b.value)};
}

X IndexAlgebra::select(const Condition& condition, X then, X otherwise) {
  if (condition.known) return *condition.known ? then : otherwise;
  return dag_.select(condition.value, then, otherwise);
}

}  // namespace neap::backends
