#include "backends/rise.h"

#include <algorithm>

namespace neap::backends {

using scalar::Dag;
using scalar::Inst;
using scalar::Opcode;

namespace {

constexpr int64_t kMuch = int64_t{1} << 20;

// A constant that is not negative and not large, or -1.
int64_t small_constant(const Dag& dag, int32_t id) {
  const Inst& i = dag[id];
  return i.op == Opcode::constant && i.imm <= uint64_t{kMuch} ? static_cast<int64_t>(i.imm) : -1;
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
      const int64_t factor = small_constant(dag, i.b);
      return of[i.a] >= 0 && factor >= 0 ? known(of[i.a] * factor) : -1;
    }
    case Opcode::div: {
      const int64_t by = small_constant(dag, i.b);
      return of[i.a] >= 0 && by > 0 ? (of[i.a] + by - 1) / by : -1;
    }
    case Opcode::select: {  // the smaller of two, or the larger
      const Inst& c = dag[i.a];
      if (c.op != Opcode::lt && c.op != Opcode::le) return -1;
      const bool chooses = (c.a == i.b && c.b == i.c) || (c.a == i.c && c.b == i.b);
      return chooses && of[i.b] >= 0 && of[i.c] >= 0 ? std::max(of[i.b], of[i.c]) : -1;
    }
    default: return -1;
  }
}

int64_t modulus(const Dag& dag, const Inst& i) {
  if (i.op == Opcode::bit_and) {
    const int64_t mask = small_constant(dag, i.b);
    return mask > 0 && (mask & (mask + 1)) == 0 ? mask + 1 : 0;
  }
  if (i.op != Opcode::sub || dag[i.b].op != Opcode::mul) return 0;
  const Inst &product = dag[i.b], &quotient = dag[product.a];
  const int64_t d = small_constant(dag, product.b);
  const bool is = d > 0 && quotient.op == Opcode::div && quotient.a == i.a && small_constant(dag, quotient.b) == d;
  return is ? d : 0;
}

}  // namespace neap::backends
