// The lowering's symbolic index arithmetic says where in its operand an element comes from.
//
// An IndexExpr is a sum of coefficient * atom + constant. Atoms are loop indices, floor quotients and remainders of
// expressions by constants, and integers computed by the kernel (a gather's index, a slice's start). Every atom has a
// range, so that (a * 8 + b) / 8 with 0 <= b < 8 is a, a bounds test that cannot fail costs nothing, and reshapes of
// contiguous data leave no division behind.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <unordered_map>
#include <vector>

#include "trace/scalar/scalar.h"

namespace neap::backends {

struct Range {
  int64_t lo = 0, hi = 0;  // inclusive
  bool within(int64_t low, int64_t high) const { return low <= lo && hi <= high; }
  bool operator==(const Range&) const = default;
};

struct IndexTerm {
  int32_t atom;
  int64_t coefficient;  // never 0
  bool operator==(const IndexTerm&) const = default;
};

struct IndexExpr {
  int64_t constant = 0;
  std::vector<IndexTerm> terms;  // ascending atoms, each once

  bool is_constant() const { return terms.empty(); }
  bool operator==(const IndexExpr&) const = default;
  size_t hash() const;
};

/// Holds a bool that the ranges may already decide.
struct Condition {
  std::optional<bool> known;
  scalar::X value;  // when not known

  static Condition of(bool value) { return {value, {}}; }
  bool never() const { return known && !*known; }
  bool always() const { return known && *known; }
};

/// Makes, simplifies and emits index expressions of one kernel.
class IndexAlgebra {
 public:
  explicit IndexAlgebra(scalar::Dag& dag) : dag_(dag) {}

  /// Returns the index of a loop level of `extent` iterations.
  IndexExpr loop(int level, int64_t extent);
  /// Makes an index of an integer that the kernel computes; the caller vouches for its range.
  IndexExpr opaque(scalar::X value, Range range);
  static IndexExpr constant(int64_t value) { return {value, {}}; }

  IndexExpr add(const IndexExpr& a, const IndexExpr& b) { return sum(a, b, 1); }
  IndexExpr add(IndexExpr a, int64_t b) const { return a.constant += b, a; }
  IndexExpr sub(const IndexExpr& a, const IndexExpr& b) { return sum(a, b, -1); }
  IndexExpr scale(const IndexExpr& a, int64_t factor) const;
  IndexExpr div(const IndexExpr& a, int64_t divisor);  // floor; divisor > 0
  IndexExpr mod(const IndexExpr& a, int64_t divisor);  // a - divisor * div(a, divisor)
  IndexExpr clamp(const IndexExpr& a, int64_t lo, int64_t hi);

  /// These compute the row-major flat index and its inverse. Coordinates along axes of length 1 are 0.
  IndexExpr flatten(std::span<const IndexExpr> coords, std::span<const int64_t> shape);
  std::vector<IndexExpr> unflatten(const IndexExpr& flat, std::span<const int64_t> shape);

  Range range(const IndexExpr& a) const;

  /// Emits the value in the narrowest of u32, i32 and i64 that holds its range.
  scalar::X emit(const IndexExpr& a);
  /// Emits the value modulo 2^width of an integer type.
  scalar::X emit(const IndexExpr& a, DType type);

  Condition less(const IndexExpr& a, int64_t bound);               // a < bound
  Condition in_range(const IndexExpr& a, int64_t lo, int64_t hi);  // lo <= a <= hi
  Condition equals(const IndexExpr& a, int64_t value);
  Condition both(const Condition& a, const Condition& b);
  /// Emits `then` where the condition holds, else `otherwise`; both must be made already unless the condition is known.
  scalar::X select(const Condition& condition, scalar::X then, scalar::X otherwise);

  /// Counts the quotients and remainders emitted so far.
  int divisions() const { return divisions_; }
  /// Returns bits of which bit l says that the instruction depends on the index of loop level l.
  uint8_t levels(scalar::X x);

 private:
  enum class Kind : uint8_t { loop, div, mod, opaque };
  struct Atom {
    Kind kind;
    int32_t id = 0;     // level, or instruction
    IndexExpr of = {};  // div, mod
    int64_t divisor = 0;
    Range range = {};
    uint8_t levels = 0;
  };
  struct Split {
    int64_t unit;
    IndexExpr whole, rest;
  };

  IndexExpr atom(Atom atom);
  IndexExpr sum(const IndexExpr& a, const IndexExpr& b, int64_t factor);
  IndexExpr recombine(IndexExpr a);
  std::optional<Split> split(const IndexExpr& a, int64_t divisor) const;
  Split pull_out(const IndexExpr& a, int64_t unit) const;
  IndexExpr divide_atom(const IndexExpr& a, int64_t divisor);
  IndexExpr mod_atom(const IndexExpr& a, int64_t divisor);
  bool is_division(int32_t atom) const { return atoms_[atom].kind == Kind::div || atoms_[atom].kind == Kind::mod; }
  const Atom* sole_atom(const IndexExpr& a) const;  // of 1 * atom + constant
  scalar::X emit_atom(int32_t atom, DType type);

  scalar::Dag& dag_;
  std::vector<Atom> atoms_;
  std::unordered_multimap<size_t, int32_t> known_;
  int divisions_ = 0;
  std::vector<uint8_t> levels_;  // of each instruction, filled lazily
};

/// Returns the narrowest of u32, i32 and i64 that holds the range.
DType index_type(Range range);

}  // namespace neap::backends
