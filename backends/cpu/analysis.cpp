#include "backends/cpu/analysis.h"

#include <algorithm>
#include <limits>

namespace neap::cpu {

using scalar::Inst;
using scalar::Opcode;

namespace {

constexpr int64_t kMin = std::numeric_limits<int64_t>::min(), kMax = std::numeric_limits<int64_t>::max();
constexpr size_t kMaxTerms = 6;  // of a sum that stays symbolic; a longer one is computed, which bounds this analysis

bool integral(DType t) { return !is_float(t); }

// The exact range of a sum or product, or nullopt where it leaves int64.
template <class Op>
std::optional<Interval> corners(const Interval& a, const Interval& b, Op overflows) {
  Interval r{kMax, kMin};
  for (const int64_t x : {a.lo, a.hi}) {
    for (const int64_t y : {b.lo, b.hi}) {
      int64_t z;
      if (overflows(x, y, &z)) return std::nullopt;
      r = {std::min(r.lo, z), std::max(r.hi, z)};
    }
  }
  return r;
}

std::optional<Interval> exact_range(Opcode op, const Interval& a, const Interval& b) {
  switch (op) {
    case Opcode::add:
      return corners(a, b, [](int64_t x, int64_t y, int64_t* z) { return __builtin_add_overflow(x, y, z); });
    case Opcode::sub:
      return corners(a, b, [](int64_t x, int64_t y, int64_t* z) { return __builtin_sub_overflow(x, y, z); });
    case Opcode::mul:
      return corners(a, b, [](int64_t x, int64_t y, int64_t* z) { return __builtin_mul_overflow(x, y, z); });
    default: return std::nullopt;
  }
}

int64_t wrap_add(int64_t x, int64_t y) {
  return static_cast<int64_t>(static_cast<uint64_t>(x) + static_cast<uint64_t>(y));
}

// a + scale * b, modulo 2^64.
Linear combine(const Linear& a, const Linear& b, int64_t scale) {
  const auto wrap_mul = [](int64_t x, int64_t y) {
    return static_cast<int64_t>(static_cast<uint64_t>(x) * static_cast<uint64_t>(y));
  };
  Linear r;
  r.exact = a.exact && b.exact;
  r.constant = wrap_add(a.constant, wrap_mul(scale, b.constant));
  size_t i = 0, j = 0;
  while (i < a.terms.size() || j < b.terms.size()) {
    std::pair<int32_t, int64_t> term;
    if (j == b.terms.size() || (i < a.terms.size() && a.terms[i].first < b.terms[j].first)) {
      term = a.terms[i++];
    } else {
      term = {b.terms[j].first, wrap_mul(scale, b.terms[j].second)};
      if (i < a.terms.size() && a.terms[i].first == term.first)
        term.second = wrap_add(term.second, a.terms[i++].second);
      ++j;
    }
    if (term.second != 0) r.terms.push_back(term);
  }
  return r;
}

bool is_constant(const scalar::Dag& dag, int32_t id) { return dag[id].op == Opcode::constant; }

}  // namespace

std::optional<int64_t> divisor_of_remainder(const scalar::Dag& dag, const Inst& i) {
  const int64_t d = i.op == Opcode::sub ? backends::modulus(dag, i) : 0;
  return d > 0 ? std::optional(d) : std::nullopt;
}

Interval range_of(DType t) {
  switch (t) {
    case DType::bool_: return {0, 1};
    case DType::i8: return {-128, 127};
    case DType::i16: return {-32768, 32767};
    case DType::i32: return {std::numeric_limits<int32_t>::min(), std::numeric_limits<int32_t>::max()};
    case DType::u8: return {0, 255};
    case DType::u16: return {0, 65535};
    case DType::u32: return {0, std::numeric_limits<uint32_t>::max()};
    default: return {kMin, kMax};
  }
}

Analysis::Analysis(const backends::Kernel& k, const VectorUnit& unit, const Within* within)
    : kernel(k), facts_(k.dag.size()), within_(within ? std::optional(*within) : std::nullopt) {
  using Kind = backends::Kernel::Kind;
  // Lanes along the inner loop, unless the order of the loops matters.
  const bool any_order = (k.kind == Kind::map && k.carried.empty()) || (k.kind == Kind::scatter && k.extent[1] <= 1);
  if (k.vector_level == 0 && any_order) std::swap(outer, inner);
  vector_depth = k.vector_level == inner ? 2 : 1;
  most_registers_ = unit.bits == 512 ? 4 : 2;
  find_dependence();
  for (auto& rises : rises_) rises.assign(static_cast<size_t>(k.dag.size()), -1);
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    if (!integral(k.dag[id].type)) continue;
    facts_[id].range = find_range(id);
    facts_[id].linear = find_linear(id);
    if (!is_exact(id)) continue;
    for (const bool more : {false, true}) {
      auto& rises = rises_[more];
      rises[id] = backends::rise(k.dag, id, k.vector_level, more ? 16 : 8, rises, facts_[id].varying);
    }
  }
  find_shared();
  mark_needed();
  mark_addresses();
  choose_lanes(unit);
  if (within && within->lanes > 0) lanes = within->lanes, tail_lanes = within->tail_lanes;
  if (k.kind == Kind::scatter && vector_depth == 1) lanes = tail_lanes = 1;  // rows are scattered in order
  if (lanes > 1) group_strided_loads();
}

void Analysis::find_dependence() {
  const auto is_carried = [&](int buffer) {  // what a row reads there the row before wrote
    return std::ranges::any_of(kernel.carried, [&](const auto& c) { return c.read == buffer; });
  };
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    const Inst& i = kernel.dag[id];
    Facts& f = facts_[id];
    if (i.op == Opcode::load && is_carried(static_cast<int>(i.imm))) f.depth = 2;
    if (i.op == Opcode::index) {
      f.depth = static_cast<int>(i.imm) == inner ? 2 : 1;
      f.varying = static_cast<int>(i.imm) == kernel.vector_level;
    }
    for (const int32_t operand : {i.a, i.b, i.c}) {
      if (operand < 0) continue;
      f.depth = std::max(f.depth, facts_[operand].depth);
      f.varying |= facts_[operand].varying;
    }
  }
}

Interval Analysis::range_of_index(uint64_t level) const {
  if (within_ && level == 2) return within_->row;
  if (within_ && level == static_cast<uint64_t>(kernel.vector_level)) return within_->place;
  return {0, std::max<int64_t>(kernel.extent[level] - 1, 0)};
}

Interval Analysis::find_range(int32_t id) const {
  const Inst& i = kernel.dag[id];
  const Interval all = range_of(i.type);
  const auto of = [&](int32_t operand) { return facts_[operand].range; };
  const auto clipped = [&](const Interval& r) { return r.inside(all) ? r : all; };
  switch (i.op) {
    case Opcode::constant: {
      const int64_t v = i.type == DType::bool_ ? static_cast<int64_t>(i.imm & 1) : signed_constant(i);
      return i.type == DType::u64 && v < 0 ? all : Interval{v, v};
    }
    case Opcode::index: return range_of_index(i.imm);
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul: {
      if (const std::optional<int64_t> d = divisor_of_remainder(kernel.dag, i); d && of(i.a).lo >= 0) {
        return {0, std::min(*d - 1, of(i.a).hi)};
      }
      const auto r = exact_range(i.op, of(i.a), of(i.b));
      // u64 values above int64 are not representable as an Interval: only what is surely inside counts.
      if (!r || !r->inside(all) || (i.type == DType::u64 && (r->lo < 0 || of(i.a).lo < 0 || of(i.b).lo < 0)))
        return all;
      return *r;
    }
    case Opcode::div:
      if (is_constant(kernel.dag, i.b) && of(i.b).lo > 0 && (i.type != DType::u64 || of(i.a).lo >= 0)) {
        return {of(i.a).lo / of(i.b).lo, of(i.a).hi / of(i.b).lo};
      }
      return all;
    case Opcode::rem:
      if (is_constant(kernel.dag, i.b) && of(i.b).lo > 0) {
        const int64_t m = of(i.b).lo - 1;
        if (of(i.a).lo >= 0) return {0, std::min(m, of(i.a).hi)};
        if (i.type != DType::u64) return {-m, m};
      }
      return all;
    case Opcode::bit_and:
      if (of(i.b).lo >= 0) return {0, of(i.a).lo >= 0 ? std::min(of(i.a).hi, of(i.b).hi) : of(i.b).hi};
      return of(i.a).lo >= 0 ? Interval{0, of(i.a).hi} : all;
    case Opcode::shr:
      if (is_constant(kernel.dag, i.b) && of(i.b).lo >= 0 && of(i.b).lo < 63 &&
          (i.type != DType::u64 || of(i.a).lo >= 0)) {
        return {of(i.a).lo >> of(i.b).lo, of(i.a).hi >> of(i.b).lo};
      }
      return all;
    case Opcode::shl:
      if (is_constant(kernel.dag, i.b) && of(i.b).lo >= 0 && of(i.b).lo < 62) {
        const auto r = exact_range(Opcode::mul, of(i.a), {int64_t{1} << of(i.b).lo, int64_t{1} << of(i.b).lo});
        if (r && r->inside(all) && (i.type != DType::u64 || r->lo >= 0)) return *r;
      }
      return all;
    case Opcode::select: {
      const Inst& c = kernel.dag[i.a];
      const Interval x = of(i.b), y = of(i.c);
      if (c.op == Opcode::lt || c.op == Opcode::le) {  // a minimum, a maximum, or x < 0 ? x + n : x
        const bool comparable = kernel.dag[c.a].type == i.type && i.type != DType::u64;
        if (comparable && c.a == i.b && c.b == i.c) return {std::min(x.lo, y.lo), std::min(x.hi, y.hi)};
        if (comparable && c.a == i.c && c.b == i.b) return {std::max(x.lo, y.lo), std::max(x.hi, y.hi)};
      }
      // A bounds test: x where unsigned(x) < n, else y.
      if (c.op == Opcode::lt && is_constant(kernel.dag, c.b) && is_unsigned(kernel.dag[c.a].type) && of(c.b).lo > 0) {
        const Inst& tested = kernel.dag[c.a];
        const bool converted =
            tested.op == Opcode::convert && tested.a == i.b && size_of(tested.type) >= size_of(i.type);
        if (converted || c.a == i.b) return {std::min<int64_t>(0, y.lo), std::max(of(c.b).lo - 1, y.hi)};
      }
      return {std::min(x.lo, y.lo), std::max(x.hi, y.hi)};
    }
    case Opcode::convert: return integral(kernel.dag[i.a].type) && i.type != DType::bool_ ? clipped(of(i.a)) : all;
    case Opcode::popcount:
    case Opcode::clz: return {0, 64};
    default: return all;
  }
}

std::optional<Linear> Analysis::find_linear(int32_t id) const {
  const Inst& i = kernel.dag[id];
  const Facts& f = facts_[id];
  const bool wide = size_of(i.type) == 8;
  const auto of = [&](int32_t operand) -> const std::optional<Linear>& { return facts_[operand].linear; };
  const auto atom = [&]() -> std::optional<Linear> {
    if (f.varying && i.op != Opcode::index) return std::nullopt;
    return Linear{{{id, 1}}, 0, true};
  };
  if (i.type == DType::bool_) return atom();
  // A result that may wrap is no longer an exact sum; that of 64 bits wraps as addresses do.
  const auto finish = [&](Linear sum, bool in_range) -> std::optional<Linear> {
    sum.exact = wide || (sum.exact && in_range);
    if (sum.terms.size() > kMaxTerms || (!sum.exact && !f.varying)) return atom();
    return sum;
  };
  switch (i.op) {
    case Opcode::constant: return Linear{{}, signed_constant(i), true};
    case Opcode::add:
    case Opcode::sub: {
      if (!of(i.a) || !of(i.b)) return atom();
      const auto r = exact_range(i.op, facts_[i.a].range, facts_[i.b].range);
      return finish(combine(*of(i.a), *of(i.b), i.op == Opcode::add ? 1 : -1), r && r->inside(range_of(i.type)));
    }
    case Opcode::mul:
    case Opcode::shl: {
      const bool by_b = is_constant(kernel.dag, i.b), by_a = i.op == Opcode::mul && is_constant(kernel.dag, i.a);
      if (!by_a && !by_b) return atom();
      const int32_t x = by_b ? i.a : i.b;
      if (!of(x)) return atom();
      const int64_t c = signed_constant(kernel.dag[by_b ? i.b : i.a]);
      if (i.op == Opcode::shl && (c < 0 || c > 62)) return atom();
      const int64_t scale = i.op == Opcode::shl ? int64_t{1} << c : c;
      const auto r = exact_range(Opcode::mul, facts_[x].range, {scale, scale});
      return finish(combine(Linear{}, *of(x), scale), r && r->inside(range_of(i.type)));
    }
    case Opcode::convert: {
      const DType from = kernel.dag[i.a].type;
      if (!is_integer(from) || !of(i.a)) return atom();
      const bool widens = size_of(i.type) > size_of(from);
      if (widens && !of(i.a)->exact) return atom();
      const bool in_range =
          facts_[i.a].range.inside(range_of(i.type)) && !(from == DType::u64 && facts_[i.a].range.lo < 0);
      // A negative number sign-extends into u64; u64 addresses wrap like i64 ones.
      return finish(*of(i.a), in_range);
    }
    default: return atom();
  }
}

bool Analysis::is_vector_index(int32_t id) const {
  return kernel.dag[id].op == Opcode::index && static_cast<int>(kernel.dag[id].imm) == kernel.vector_level;
}

int64_t Analysis::along(const Linear& address, int level) const {
  int64_t total = 0;
  for (const auto& [id, coefficient] : address.terms) {
    const bool is_index = kernel.dag[id].op == Opcode::index && static_cast<int>(kernel.dag[id].imm) == level;
    if (is_index) total = wrap_add(total, coefficient);
  }
  return total;
}

int64_t Analysis::stride(const Linear& address) const { return along(address, kernel.vector_level); }

int Analysis::depth(const Linear& sum) const {
  int d = 0;
  for (const auto& [id, coefficient] : sum.terms) d = std::max(d, facts_[id].depth);
  return d;
}

Access Analysis::access(int32_t id) const {
  const Linear* address = linear(id);
  if (!address || !address->exact) return Access::scattered;
  const int64_t s = stride(*address);
  if (s == 0) return Access::uniform;
  if (s == 1) return Access::contiguous;
  if (s == -1) return Access::reversed;
  return s >= 2 && s <= 8 ? Access::strided : Access::scattered;
}

bool Analysis::crosses() const {
  using backends::kJump, backends::kNear;
  constexpr int64_t kRow = 16;  // what another index counts up to before it begins again
  // As `along`, in rows of which the index is the place: its remainder of a power of two is no sum of products.
  const auto along_rows = [&](const Linear& address, int level) {
    int64_t total = along(address, level);
    for (const auto& [id, coefficient] : address.terms) {
      const Inst& i = kernel.dag[id];
      if (i.op != Opcode::bit_and || !is_constant(kernel.dag, i.b) || signed_constant(kernel.dag[i.b]) < kRow - 1)
        continue;
      const Inst& counted = kernel.dag[i.a];
      const bool is_index = counted.op == Opcode::index && static_cast<int>(counted.imm) == level;
      if (is_index) total = wrap_add(total, coefficient);
    }
    return total;
  };
  const auto jumps = [&](int32_t index) {
    const Linear* address = linear(index);
    if (!address || !address->exact) return false;
    const int64_t lane = stride(*address), other = along_rows(*address, 1 - kernel.vector_level);
    return (lane >= kJump || lane <= -kJump) && other != 0 && -kNear <= other && other <= kNear;
  };
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    if (kernel.dag[id].op == Opcode::load && needed(id) && jumps(kernel.dag[id].a)) return true;
  }
  return std::ranges::any_of(kernel.stores, [&](const auto& s) { return jumps(s.index); });
}

// Whether a sum or a product does not wrap, a dividend is not negative, and a converted number stays what it is.
bool Analysis::is_exact(int32_t id) const {
  const Inst& i = kernel.dag[id];
  const auto range = [&](int32_t operand) { return facts_[operand].range; };
  switch (i.op) {
    case Opcode::add:
    case Opcode::sub:
    case Opcode::mul: {
      const auto r = exact_range(i.op, range(i.a), range(i.b));
      return r && r->inside(range_of(i.type)) && !(i.type == DType::u64 && r->lo < 0);
    }
    case Opcode::div: return range(i.a).lo >= 0;
    case Opcode::convert: {
      const DType from = kernel.dag[i.a].type;
      return is_integer(from) && range(i.a).inside(range_of(i.type)) &&
             !(is_unsigned(from) != is_unsigned(i.type) && range(i.a).lo < 0);
    }
    default: return true;
  }
}

int32_t Analysis::small_remainder(int32_t address) const {
  constexpr int64_t kMost = 16;
  int32_t id = address;
  for (;;) {
    const Inst& i = kernel.dag[id];
    if (const int64_t d = backends::modulus(kernel.dag, i); d > 0) {
      if (d > kMost || !is_integer(i.type) || facts_[i.a].range.lo < 0) return -1;
      const Inst& of = kernel.dag[i.a];
      int64_t repeats = d;
      int32_t counted = i.a;
      if (of.op == Opcode::div && is_constant(kernel.dag, of.b)) {
        const int64_t by = signed_constant(kernel.dag[of.b]);
        if (by <= 0 || by > (int64_t{1} << 40)) return -1;
        repeats *= by;
        counted = of.a;
      }
      return is_vector_index(counted) && places().lo == 0 && length() >= repeats ? id : -1;
    }
    const auto varies = [&](int32_t operand) { return facts_[operand].varying; };
    if (!is_exact(id)) return -1;
    if (i.op == Opcode::convert) {
      id = i.a;
    } else if (i.op == Opcode::add && varies(i.a) != varies(i.b)) {
      id = varies(i.a) ? i.a : i.b;
    } else {
      return -1;
    }
  }
}

void Analysis::mark_needed() {
  const auto mark_terms = [&](const Linear& sum) {
    for (const auto& [id, coefficient] : sum.terms) {
      if (kernel.dag[id].op != Opcode::index) facts_[id].needed = true;
    }
  };
  const auto mark_address = [&](int32_t id) {
    const Linear* address = linear(id);
    if (address && address->exact) {
      mark_terms(*address);
    } else {
      facts_[id].needed = true;
    }
  };
  for (const auto& s : kernel.stores) {
    facts_[s.value].needed = true;
    mark_address(s.index);
  }
  for (const auto& r : kernel.reductions) facts_[r.value].needed = true;
  for (const auto& s : kernel.scatters) {
    facts_[s.index].needed = facts_[s.value].needed = true;
    if (s.valid >= 0) facts_[s.valid].needed = true;
  }
  for (int32_t id = kernel.dag.size(); id-- > 0;) {
    if (!facts_[id].needed) continue;
    const Inst& i = kernel.dag[id];
    if (i.op == Opcode::load) {
      mark_address(i.a);
    } else if (facts_[id].varying && facts_[id].linear) {
      mark_terms(*facts_[id].linear);
    } else {
      for (const int32_t operand : {i.a, i.b, i.c}) {
        if (operand >= 0) facts_[operand].needed = true;
      }
    }
  }
}

void Analysis::mark_addresses() {
  const auto mark = [&](int32_t id) { facts_[id].in_address = true; };
  for (const auto& s : kernel.stores) mark(s.index);
  for (const auto& s : kernel.scatters) {
    mark(s.index);
    if (s.valid >= 0) mark(s.valid);
  }
  for (int32_t id = kernel.dag.size(); id-- > 0;) {
    const Inst& i = kernel.dag[id];
    if (!facts_[id].in_address && i.op != Opcode::load) continue;
    for (const int32_t operand : {i.a, i.b, i.c}) {
      if (operand >= 0) mark(operand);
    }
  }
}

}  // namespace neap::cpu
