#include "backends/lane_pattern.h"

#include <algorithm>
#include <numeric>

#include "backends/rise.h"

namespace neap::backends {

using scalar::Inst;
using scalar::Opcode;

namespace {

constexpr int64_t kFar = int64_t{1} << 20;  // elements from a lane to the first: further apart they share nothing

std::optional<LanePattern> near(LanePattern pattern) {
  if (pattern.least() < -kFar || pattern.most() > kFar) return std::nullopt;
  return pattern;
}

}  // namespace

int64_t LanePattern::least() const { return *std::ranges::min_element(offsets); }
int64_t LanePattern::most() const { return *std::ranges::max_element(offsets); }

LanePatterns::LanePatterns(const scalar::Dag& dag, int level, int lanes, std::vector<bool> exact,
                           std::vector<bool> varies)
    : dag_(dag), level_(level), lanes_(lanes), exact_(std::move(exact)), varies_(std::move(varies)) {}

const LanePattern* LanePatterns::of(int32_t id) {
  auto found = known_.find(id);
  if (found == known_.end()) found = known_.emplace(id, find(id)).first;
  return found->second ? &*found->second : nullptr;
}

std::optional<LanePattern> LanePatterns::find(int32_t id) {
  if (!is_integer(dag_[id].type)) return std::nullopt;
  std::optional<LanePattern> result = varying(id);
  if (!result && !varies_[id]) result = LanePattern{std::vector<int64_t>(static_cast<size_t>(lanes_)), 1};
  return result;
}

std::optional<LanePattern> LanePatterns::varying(int32_t id) {
  const Inst& i = dag_[id];
  LanePattern result{std::vector<int64_t>(static_cast<size_t>(lanes_)), 1};
  const auto constant = [&](int32_t operand) -> std::optional<int64_t> {
    if (dag_[operand].op != Opcode::constant) return std::nullopt;
    const int64_t c = signed_constant(dag_[operand]);
    return 0 < c && c <= kFar ? std::optional(c) : std::nullopt;
  };
  if (const int64_t by = modulus(dag_, i); by > 0) {
    const bool divides = i.op == Opcode::sub;  // x - x / by * by
    const LanePattern* x = divides && !exact_[dag_[i.b].a] ? nullptr : of(i.a);
    return x ? remainder(*x, by) : std::nullopt;
  }
  if (!exact_[id]) return std::nullopt;
  switch (i.op) {
    case Opcode::constant: {
      result.multiple = signed_constant(i);
      return result.multiple >= 0 ? std::optional(result) : std::nullopt;
    }
    case Opcode::index:
      if (static_cast<int>(i.imm) != level_) return std::nullopt;
      std::iota(result.offsets.begin(), result.offsets.end(), int64_t{0});
      result.multiple = lanes_;
      return result;
    case Opcode::convert: {
      const LanePattern* x = is_integer(dag_[i.a].type) ? of(i.a) : nullptr;
      return x ? std::optional(*x) : std::nullopt;
    }
    case Opcode::add:
    case Opcode::sub: {
      const LanePattern *x = of(i.a), *y = of(i.b);
      if (!x || !y) return std::nullopt;
      const int64_t sign = i.op == Opcode::add ? 1 : -1;
      for (size_t lane = 0; lane < result.offsets.size(); ++lane) {
        result.offsets[lane] = x->offsets[lane] + sign * y->offsets[lane];
      }
      result.multiple = std::gcd(x->multiple, y->multiple);
      return near(std::move(result));
    }
    case Opcode::mul: {
      const LanePattern* x = of(i.a);
      const std::optional<int64_t> c = constant(i.b);
      if (!x || !c) return std::nullopt;
      for (size_t lane = 0; lane < result.offsets.size(); ++lane) result.offsets[lane] = x->offsets[lane] * *c;
      result.multiple = (x->multiple <= kFar ? x->multiple : std::gcd(x->multiple, kFar)) * *c;
      return near(std::move(result));
    }
    case Opcode::div: {
      const LanePattern* x = of(i.a);
      const std::optional<int64_t> c = constant(i.b);
      return x && c ? divided(*x, *c) : std::nullopt;
    }
    default: return std::nullopt;
  }
}

std::optional<LanePattern> LanePatterns::divided(const LanePattern& x, int64_t by) const {
  LanePattern result = x;
  if (x.least() < 0) return std::nullopt;
  if (x.multiple % by == 0) {  // the first is a whole multiple
    for (int64_t& offset : result.offsets) offset /= by;
    result.multiple = x.multiple / by;
    return result;
  }
  // All lanes are between two multiples of a divisor of `by`.
  const int64_t step = std::gcd(x.multiple, by);
  if (x.most() >= step) return std::nullopt;
  return LanePattern{std::vector<int64_t>(result.offsets.size()), 1};
}

std::optional<LanePattern> LanePatterns::remainder(const LanePattern& x, int64_t by) const {
  LanePattern result = x;
  if (x.least() < 0) return std::nullopt;
  if (x.multiple % by == 0) {
    for (int64_t& offset : result.offsets) offset %= by;
    result.multiple = 0;
    return result;
  }
  result.multiple = std::gcd(x.multiple, by);
  if (x.most() >= result.multiple) return std::nullopt;  // some may begin again, where is not known
  return result;
}

}  // namespace neap::backends
