#include <fmt/format.h>

#include <iterator>

#include "trace/scalar/scalar.h"

namespace neap::scalar {
namespace {

const char* name(Opcode op) {
  static constexpr const char* kNames[] = {"constant", "index",  "param",    "load",   "add",     "sub",     "mul",
                                           "div",      "rem",    "mulhi",    "neg",    "abs",     "sqrt",    "floor",
                                           "ceil",     "trunc",  "rint",     "fma",    "lt",      "le",      "eq",
                                           "ne",       "select", "bit_and",  "bit_or", "bit_xor", "bit_not", "shl",
                                           "shr",      "rotl",   "popcount", "clz",    "convert", "bitcast", "call"};
  static_assert(std::size(kNames) == static_cast<size_t>(Opcode::call) + 1);
  return kNames[static_cast<size_t>(op)];
}

}  // namespace

std::string Dag::print() const {
  std::string text;
  auto out = std::back_inserter(text);
  for (int32_t id = 0; id < size(); ++id) {
    const Inst& inst = insts_[id];
    fmt::format_to(out, "%{} = {} {}", id, name(inst.op), neap::name(inst.type));
    switch (inst.op) {
      case Opcode::constant:
        fmt::format_to(out, " {:#x}", inst.imm);
        if (is_float(inst.type) || is_signed(inst.type)) {
          fmt::format_to(out, " ({:g})", constant_value({const_cast<Dag*>(this), id}));
        }
        break;
      case Opcode::index:
      case Opcode::param:
      case Opcode::load:
      case Opcode::rotl: fmt::format_to(out, " {}", inst.imm); break;
      case Opcode::fma:
        if (inst.imm) text += " once";
        break;
      case Opcode::call: fmt::format_to(out, " {}", symbol(static_cast<Function>(inst.imm))); break;
      default: break;
    }
    for (int32_t operand : {inst.a, inst.b, inst.c}) {
      if (operand >= 0) fmt::format_to(out, " %{}", operand);
    }
    text += '\n';
  }
  return text;
}

}  // namespace neap::scalar
