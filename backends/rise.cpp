#include "backends/rise.h"

#include <algorithm>

namespace neap::backends {

using scalar::Dag;
using scalar::Inst;
using scalar::Opcode;

namespace {

constexpr int64_t kMuch = int64_t{1} << 20;

// A constant that is not negative, or -1.
int64_t constant(const Dag& dag, int32_t id) {
  const Inst& i = dag[id];
  return i.op == Opcode::constant ? std::max<int64_t>(signed_constant(i), -1) : -1;
}

}  // namespace

int64_t rise(const Dag& dag, int32_t id, int level, int lanes, const std::vector<int64_t>& of, bool varies) {
  const Inst& i = dag[id];
  if (!varies) return 0;
  const auto known = [](int64_t rise) { return rise <= kMuch ? rise : -1; };
  switch (i.op) {
    case Opcode::index: return static_cast<int>(i.imm) == level ? lanes - 1 : -1;
    case Opcode::convert: return of[i.a];
    case Opcode::add: return of[i.a] >= 0 && of[i.b] >= 0 ? known(of[i.a] + of[i.b]) : -1;
    case Opcode::sub: return of[i.b] == 0 ? of[i.a] : -1;
    case Opcode::mul: {
      const int64_t factor = constant(dag, i.b);
      return of[i.a] >= 0 && 0 <= factor && factor <= kMuch ? known(of[i.a] * factor) : -1;
    }
    case Opcode::div: {
      const int64_t by = constant(dag, i.b);
      if (of[i.a] < 0 || by <= 0) return -1;
      return of[i.a] / by + (of[i.a] % by > 0 ? 1 : 0);
    }
    case Opcode::select: {
      const bool known_both = of[i.b] >= 0 && of[i.c] >= 0;
      return known_both && is_bounded(dag, i) ? std::max(of[i.b], of[i.c]) : -1;
    }
    default: return -1;
  }
}

bool is_bounded(const Dag& dag, const Inst& i) {
  if (i.op != Opcode::select) return false;
  const Inst& c = dag[i.a];
  const bool compares = c.op == Opcode::lt || c.op == Opcode::le;
  return compares && ((c.a == i.b && c.b == i.c) || (c.a == i.c && c.b == i.b));
}

int64_t signed_constant(const Inst& i) {
  switch (i.type) {
    case DType::i8: return static_cast<int8_t>(i.imm);
    case DType::i16: return static_cast<int16_t>(i.imm);
    case DType::i32: return static_cast<int32_t>(i.imm);
    default: return static_cast<int64_t>(i.imm);
  }
}

int64_t modulus(const Dag& dag, const Inst& i) {
  if (i.op == Opcode::bit_and) {
    const int64_t mask = constant(dag, i.b);
    return 0 < mask && mask < kMuch && (mask & (mask + 1)) == 0 ? mask + 1 : 0;
  }
  if (i.op != Opcode::sub || dag[i.b].op != Opcode::mul) return 0;
  const Inst &product = dag[i.b], &quotient = dag[product.a];
  const int64_t d = constant(dag, product.b);
  const bool is = d > 0 && quotient.op == Opcode::div && quotient.a == i.a && constant(dag, quotient.b) == d;
  return is ? d : 0;
}

}  // namespace neap::backends
