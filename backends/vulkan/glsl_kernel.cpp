#include "backends/vulkan/glsl_kernel.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/lower.h"
#include "core/check.h"

namespace neap::vk {

using backends::Kernel;
using scalar::Inst;
using scalar::Opcode;

Body::Body(Module& m, const Kernel& kernel, int outer)
    : m(m),
      kernel(kernel),
      outer(outer),
      values_(static_cast<size_t>(kernel.dag.size())),
      levels_(values_.size()),
      strides_(values_.size()) {
  constexpr int64_t kNarrow = (int64_t{1} << 32) - (int64_t{1} << 24);  // leaves room for the last workgroup
  const auto [rows, columns] = kernel.extent;
  wide_ = rows > 0 && columns > kNarrow / rows;
  const std::vector<bool> live = backends::live_instructions(kernel);
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    analyse(id);
    if (!live[id]) continue;
    ++live_;
    const Inst& inst = kernel.dag[id];
    if (inst.op == Opcode::constant) {
      values_[id] = literal(m, inst.imm, inst.type);
      continue;
    }
    values_[id] = fmt::format("t{}", id);
    const uint8_t levels = levels_[id];
    const int depth = levels == 0 ? 0 : levels == 1u << outer ? 1 : 2;
    const bool real = is_float(inst.type) && size_of(inst.type) > 2;
    text_[depth] +=
        fmt::format("    {} {} {} = {};\n", real ? "precise" : "const", m.type(inst.type), values_[id], expression(id));
  }
}

std::string Body::number(int64_t n) const { return fmt::format("{}{}", n, wide_ ? "ul" : "u"); }

void Body::analyse(int32_t id) {
  const Inst& inst = kernel.dag[id];
  auto& strides = strides_[id];
  if (inst.op == Opcode::index && kernel.extent[inst.imm] != 1) levels_[id] = static_cast<uint8_t>(1u << inst.imm);
  for (const int32_t operand : {inst.a, inst.b, inst.c}) {
    if (operand >= 0) levels_[id] |= levels_[operand];
  }
  for (int level = 0; level < 2; ++level) {
    if (!(levels_[id] >> level & 1)) {
      strides[level] = 0;
      continue;
    }
    const auto of = [&](int32_t i) { return i < 0 ? std::optional<int64_t>(0) : strides_[i][level]; };
    const auto a = of(inst.a), b = of(inst.b);
    switch (inst.op) {
      case Opcode::index: strides[level] = 1; break;
      case Opcode::convert:
        if (is_integer(inst.type) && size_of(inst.type) >= 4 && is_integer(type(inst.a))) strides[level] = a;
        break;
      case Opcode::add:
        if (a && b) strides[level] = *a + *b;
        break;
      case Opcode::sub:
        if (a && b) strides[level] = *a - *b;
        break;
      case Opcode::mul:
        if (a && kernel.dag[inst.b].op == Opcode::constant && is_integer(inst.type)) {
          strides[level] = *a * static_cast<int64_t>(kernel.dag[inst.b].imm);
        }
        break;
      default: break;
    }
  }
}

std::string Body::address(int buffer, int32_t index) const {
  return element_address(fmt::format("a{}", buffer), values_[index], type(index), size_of(kernel.buffers[buffer].type));
}

std::string Body::expression(int32_t id) {
  const Inst& inst = kernel.dag[id];
  switch (inst.op) {
    case Opcode::index: {
      const std::string from = inst.imm == 0 ? "i0" : "i1";
      if (kernel.extent[inst.imm] == 1) return literal(m, 0, inst.type);
      const DType held = wide_ ? DType::u64 : DType::u32;
      return convert(m, from, held, inst.type);
    }
    case Opcode::load: {
      const int buffer = static_cast<int>(inst.imm);
      NEAP_CHECK(size_of(kernel.buffers[buffer].type) == size_of(inst.type), "{}: load of {}", kernel.name,
                 name(inst.type));
      return load(m, address(buffer, inst.a), inst.type);
    }
    case Opcode::call: {
      if (!m.choices.float64) lacking(kernel.name, "float64 arithmetic (shaderFloat64)");
      const auto function = static_cast<scalar::Function>(inst.imm);
      const std::string more = inst.b < 0 ? "" : ", " + values_[inst.b];
      return fmt::format("{}({}{})", m.use(function), values_[inst.a], more);
    }
    default: return arithmetic(inst);
  }
}

std::string bases(Module& m, int count) {
  m.use("Table");
  std::string text = "  Table table = Table(push.table);\n";
  for (int i = 0; i < count; ++i) {
    text += fmt::format("  const uint64_t a{} = table.a[push.first + {}u];\n", i, i);
  }
  return text;
}

Grid grid(uint64_t groups, const std::string& index_type) {
  constexpr uint64_t kMost = 65535;
  NEAP_CHECK(groups > 0 && groups <= kMost * kMost * kMost, "{} workgroups", groups);
  const uint64_t x = std::min(groups, kMost), rows = (groups + x - 1) / x;
  const uint64_t y = std::min(rows, kMost), z = (rows + y - 1) / y;
  Grid g{{static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)}, {}};
  std::string number = fmt::format("{}(gl_WorkGroupID.x)", index_type);
  if (y > 1) number += fmt::format(" + {}(gl_WorkGroupID.y) * {}", index_type, x);
  if (z > 1) number += fmt::format(" + {}(gl_WorkGroupID.z) * {}", index_type, x * y);
  g.text = fmt::format("  const {} group = {};\n", index_type, number);
  return g;
}

}  // namespace neap::vk
