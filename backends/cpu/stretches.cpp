#include "backends/cpu/stretches.h"

#include <algorithm>
#include <numeric>
#include <optional>
#include <set>
#include <utility>

namespace neap::cpu {

using backends::Kernel;
using scalar::Dag;
using scalar::Inst;
using scalar::Opcode;
using scalar::X;

namespace {

constexpr int kFewestVectors = 4;  // in a stretch, but where it is a row of whole vectors
constexpr size_t kMostStretches = 4;
// Bounds of places, offsets and slopes: what is computed of them stays far from where integers overflow.
constexpr int64_t kFar = int64_t{1} << 40, kSteep = int64_t{1} << 20;

// Without those, `but_patterns`, whose lanes are known where each vector of the loop begins (lane_pattern.h).
int loads_lane_by_lane(const Analysis& a, bool but_patterns = false) {
  int count = 0;
  for (int32_t id = 0; id < a.kernel.dag.size(); ++id) {
    const Inst& i = a.kernel.dag[id];
    if (i.op != Opcode::load || !a.needed(id) || !a.varying(id) || a.access(i.a) != Access::scattered) continue;
    if (!but_patterns || !a.pattern(i.a, a.lanes)) ++count;
  }
  return count;
}

bool is_index(const Inst& i, int level) { return i.op == Opcode::index && static_cast<int>(i.imm) == level; }

// The constant that an instruction divides the place in the loop by, or 0.
int64_t divisor(const Dag& dag, const Inst& i, int level) {
  if (i.op != Opcode::div && i.op != Opcode::bit_and) return 0;
  if (!is_index(dag[i.a], level) || dag[i.b].op != Opcode::constant) return 0;
  const int64_t c = signed_constant(dag[i.b]);
  if (i.op == Opcode::div) return std::max<int64_t>(c, 0);
  return 0 < c && c < kFar && (c & (c + 1)) == 0 ? c + 1 : 0;  // the remainder of a power of two
}

// The length of the rows that a loop over several axes runs through: the innermost axis; 0: it is over one; nullopt:
// not known.
std::optional<int64_t> row_length(const Kernel& k) {
  int64_t length = 0;
  std::set<int64_t> divisors;
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    if (const int64_t d = divisor(k.dag, k.dag[id], k.vector_level); d > 0) divisors.insert(d);
  }
  if (!divisors.empty()) length = *divisors.begin();
  for (const int64_t d : divisors) {
    if (d % length != 0) return std::nullopt;
  }
  return length;
}

// The kernel again, of other instructions: replace(the new dag, an old instruction) gives the new one, or nullopt where
// it stays as it is.
template <class Replace>
Kernel rewritten(const Kernel& k, const Replace& replace) {
  Kernel out = k;
  out.dag = Dag();
  std::vector<int32_t> now(k.dag.size(), -1);
  const auto of = [&](int32_t id) { return id < 0 ? X{} : X{&out.dag, now[id]}; };
  for (int32_t id = 0; id < k.dag.size(); ++id) {
    const Inst& i = k.dag[id];
    const std::optional<X> other = replace(out.dag, id);
    now[id] = (other ? *other : out.dag.again(i, of(i.a), of(i.b), of(i.c))).id;
  }
  for (auto& s : out.stores) s.index = now[s.index], s.value = now[s.value];
  for (auto& r : out.reductions) r.value = now[r.value];
  return out;
}

// Place number row * length + place in the row, and its quotients and remainders.
Kernel by_rows(const Kernel& k, int64_t length) {
  return rewritten(k, [&](Dag& dag, int32_t id) -> std::optional<X> {
    const Inst& i = k.dag[id];
    const auto row = [&] { return dag.index(2, i.type); };
    const auto place = [&] { return dag.index(k.vector_level, i.type); };
    const auto whole = [&](X x, int64_t factor) { return dag.binary(Opcode::mul, x, dag.integer(factor, i.type)); };
    if (is_index(i, k.vector_level)) return dag.binary(Opcode::add, whole(row(), length), place());
    if (divisor_of_remainder(k.dag, i) == length && is_index(k.dag[i.a], k.vector_level)) return place();
    const int64_t d = divisor(k.dag, i, k.vector_level);
    if (d == 0) return std::nullopt;
    const X rows = dag.integer(d / length, i.type);
    if (i.op == Opcode::div) return dag.binary(Opcode::div, row(), rows);
    return dag.binary(Opcode::add, whole(dag.binary(Opcode::rem, row(), rows), length), place());
  });
}

// A comparison of the place in the row with a constant: slope * place + offset with 0.
struct Line {
  int64_t slope = 0, offset = 0;
  int64_t at(int64_t place) const { return slope * place + offset; }
};

// The integer as a function of the place. It is equal to it modulo 2^64, and so small that it is equal to it, unless
// the type has no negative numbers and the function does.
std::optional<Line> along_row(const Analysis& a, int32_t id) {
  const Linear* sum = a.linear(id);
  if (!sum || !sum->exact || sum->constant < -kFar || sum->constant > kFar) return std::nullopt;
  Line line{0, sum->constant};
  for (const auto& [term, coefficient] : sum->terms) {
    if (!a.is_vector_index(term) || coefficient < -kSteep || coefficient > kSteep) return std::nullopt;
    line.slope += coefficient;
  }
  if (line.slope < -kSteep || line.slope > kSteep) return std::nullopt;
  const Interval& places = a.places();
  if (places.hi > kFar) return std::nullopt;
  if (is_unsigned(a.kernel.dag[id].type) && std::min(line.at(places.lo), line.at(places.hi)) < 0) return std::nullopt;
  return line;
}

std::optional<Line> comparison(const Analysis& a, int32_t id) {
  const Inst& i = a.kernel.dag[id];
  if (i.op != Opcode::lt && i.op != Opcode::le && i.op != Opcode::eq && i.op != Opcode::ne) return std::nullopt;
  if (!is_integer(a.kernel.dag[i.a].type)) return std::nullopt;
  const std::optional<Line> x = along_row(a, i.a), y = along_row(a, i.b);
  if (!x || !y || x->slope == y->slope) return std::nullopt;
  return Line{x->slope - y->slope, x->offset - y->offset};
}

bool holds(Opcode op, const Line& line, int64_t place) {
  const int64_t v = line.at(place);
  return op == Opcode::lt ? v < 0 : op == Opcode::le ? v <= 0 : op == Opcode::eq ? v == 0 : v != 0;
}

// Where the truth of some comparison changes between two places, with these. Between two of them none does.
std::set<int64_t> turns(const Analysis& a, int64_t begin, int64_t end) {
  std::set<int64_t> at{begin, end};
  for (int32_t id = 0; id < a.kernel.dag.size(); ++id) {
    const std::optional<Line> c = comparison(a, id);
    if (!c) continue;
    const int64_t zero = -c->offset / c->slope;  // next to the last place before the zero
    for (int64_t place = zero - 1; place <= zero + 2; ++place) {
      if (place <= begin || place >= end) continue;
      const Opcode op = a.kernel.dag[id].op;
      if (holds(op, *c, place - 1) != holds(op, *c, place)) at.insert(place);
    }
  }
  return at;
}

bool compares_places(const Analysis& a) {
  for (int32_t id = 0; id < a.kernel.dag.size(); ++id) {
    if (comparison(a, id)) return true;
  }
  return false;
}

Kernel between(const Analysis& a, int64_t place) {
  return rewritten(a.kernel, [&](Dag& dag, int32_t id) -> std::optional<X> {
    const std::optional<Line> c = comparison(a, id);
    if (!c) return std::nullopt;
    return dag.integer(holds(a.kernel.dag[id].op, *c, place), DType::bool_);
  });
}

// The parts of places [begin, end), in each of which all comparisons of places are decided: also those of what others
// select, as between two bounds. Parts that do not pay stay as they are.
template <class Pays>
void cut(std::vector<Stretch>& parts, Stretch whole, const VectorUnit& unit, const Pays& pays) {
  const Analysis open(whole.kernel, unit, &whole.within);
  if (!compares_places(open)) return parts.push_back(std::move(whole));
  const std::set<int64_t> at = turns(open, whole.begin, whole.end);
  for (auto begin = at.begin(), end = std::next(begin); end != at.end(); begin = end++) {
    if (!pays(*begin, *end)) continue;
    Stretch part{*begin, *end, between(open, *begin), whole.within};
    part.within.place = {part.begin, part.end - 1};
    cut(parts, std::move(part), unit, pays);
  }
}

// Columns of rows: each lane is one result, whatever vector it is in.
Stretches rows_of_columns(const Analysis& whole, const VectorUnit& unit) {
  const Kernel& k = whole.kernel;
  const int before = loads_lane_by_lane(whole);
  const int64_t row = row_length(k).value_or(0);
  if (before == 0 || 2 * row < std::min(whole.tail_lanes, unit.bits / 32) || row >= k.extent[0]) return {};
  Stretch s{0, row, by_rows(k, row), {{0, row - 1}, {0, (k.extent[0] - 1) / row}}};
  s.within.begins_at = std::gcd(row, backends::kRangeUnit);
  if (loads_lane_by_lane(Analysis(s.kernel, unit, &s.within)) >= before) return {};
  return {row, {std::move(s)}};
}

}  // namespace

Stretches stretches_of(const Analysis& whole, const VectorUnit& unit) {
  const Kernel& k = whole.kernel;
  const bool reduces = k.kind == Kernel::Kind::reduce;
  if (k.kind == Kernel::Kind::scatter || whole.lanes == 1) return {};
  if (k.vector_level == 0) return reduces ? rows_of_columns(whole, unit) : Stretches{};
  const std::optional<int64_t> length = row_length(k);
  if (!length) return {};
  Stretches out{*length, {}};
  if (out.row > 0 && k.any_range) return {};  // vectors in rows begin at multiples
  const bool by_index = std::ranges::any_of(k.reductions, [](const auto& r) {
    return r.combine == backends::Combine::argmax || r.combine == backends::Combine::argmin;
  });
  if (out.row > 0 && by_index) return {};  // it is the place in the loop that counts
  const int64_t row = out.row > 0 ? out.row : k.extent[1];
  const int64_t vector = reduces || out.row > 0 ? whole.tail_lanes : whole.lanes;  // the shortest there
  // Rows of a few vectors would take longer to find than to copy.
  const bool is_short = !reduces && out.row > 0 && row < kFewestVectors * vector;
  const int before = loads_lane_by_lane(whole, is_short), but_patterns = loads_lane_by_lane(whole, true);
  if (before == 0) return {};
  const auto pays = [&](int64_t begin, int64_t end) {
    return end - begin >= kFewestVectors * vector || (end - begin == row && row % vector == 0);
  };
  if (!pays(0, row)) return {};

  Within within{{0, row - 1}, {0, (k.extent[1] - 1) / row}, whole.lanes, whole.tail_lanes};
  if (reduces || out.row > 0) within.begins_at = std::gcd(out.row, int64_t{whole.tail_lanes});
  const Kernel rows = out.row > 0 ? by_rows(k, row) : k;
  std::vector<Stretch> parts;
  cut(parts, {0, row, rows, within}, unit, pays);
  if (out.row == 0 && parts.size() == 1 && parts[0].end - parts[0].begin == row) return {};
  const auto is_better = [&](const Stretch& s) {
    const Analysis part(s.kernel, unit, &s.within);
    return loads_lane_by_lane(part) < before || loads_lane_by_lane(part, true) < but_patterns;
  };
  for (Stretch& s : parts) {
    const bool is_one_row = !reduces && out.row == 0 && !k.any_range;
    if (is_one_row) s.within.begins_at = std::gcd(s.begin, backends::kRangeUnit);
    bool takes = is_better(s);
    // Patterns are known from where every vector begins at a multiple.
    if (!takes && is_one_row && s.end - s.begin > 2 * backends::kRangeUnit) {
      s.begin = s.within.place.lo = (s.begin + backends::kRangeUnit - 1) / backends::kRangeUnit * backends::kRangeUnit;
      s.within.begins_at = backends::kRangeUnit;
      takes = is_better(s);
    }
    if (takes) out.list.push_back(std::move(s));
  }
  const auto size = [](const Stretch& s) { return s.end - s.begin; };
  if (reduces || out.row > 0) {
    if (out.list.size() > 1) out.list = {*std::ranges::max_element(out.list, {}, size)};
    return out;
  }
  // What lies between goes element by element.
  int64_t covered = 0;
  for (const Stretch& s : out.list) covered += size(s);
  if (out.list.size() > kMostStretches || covered < row - row / 8) out.list.clear();
  return out;
}

}  // namespace neap::cpu
