#include "backends/vulkan/glsl_kernel.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

#include "backends/lower.h"
#include "backends/vulkan/glsl_prelude.h"
#include "backends/vulkan/libm.h"
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
  is_live_ = backends::live_instructions(kernel);
  live_ = static_cast<int>(std::ranges::count(is_live_, true));
  soft_ = needs_soft();
  for (int32_t id = 0; id < kernel.dag.size(); ++id) analyse(id);
  find_runs();
}

void Body::write(int together) {
  together_ = together;
  if (together == 1) runs_.clear();
  if (soft_) use_soft();
  for (size_t r = 0; r < runs_.size(); ++r) {
    const auto bytes = static_cast<int64_t>(size_of(kernel.buffers[runs_[r].buffer].type)) * runs_[r].stride * together;
    shared_ += fmt::format("    uint w{}[{}];\n", r, bytes / 4);
  }
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    if (!is_live_[id]) continue;
    const Inst& inst = kernel.dag[id];
    if (inst.op == Opcode::constant) {
      values_[id] = is_soft(id) ? fmt::format("{}ul", inst.imm) : literal(m, inst.imm, inst.type);
      continue;
    }
    values_[id] = fmt::format("t{}", id);
    const uint8_t levels = levels_[id];
    const int depth = levels == 0 ? 0 : levels == 1u << outer ? 1 : 2;
    const bool soft = is_soft(id), real = is_float(inst.type) && size_of(inst.type) > 2 && !soft;
    std::string text;
    for (size_t r = 0; r < runs_.size(); ++r) {
      if (std::ranges::find(runs_[r].loads, id) == runs_[r].loads.end()) continue;
      if (id == runs_[r].loads[0]) text_[depth] += read_run(r, id);
      text = from_run(r, id);
    }
    if (text.empty()) text = expression(id);
    text_[depth] += fmt::format("    {} {} {} = {};\n", real ? "precise" : "const",
                                soft ? soft_type(inst.type) : m.type(inst.type), values_[id], text);
  }
}

int64_t Body::turns() const {
  int64_t sum = 0;
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    const Inst& inst = kernel.dag[id];
    if (!is_live_[id]) continue;
    if (inst.op == Opcode::call) sum += loop_turns(static_cast<scalar::Function>(inst.imm));
    if (is_soft(id)) sum += inst.op == Opcode::div ? 7 : inst.op == Opcode::sqrt ? 56 : 0;
    if (inst.op != Opcode::rem || !is_float(inst.type)) continue;
    sum += inst.type == DType::f64 ? loop_turns(scalar::Function::fmod) : kFmod32Turns;
  }
  return sum;
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

std::pair<int32_t, int64_t> Body::root_of(int32_t index) const {
  const Inst& inst = kernel.dag[index];
  if (inst.op == Opcode::add && kernel.dag[inst.b].op == Opcode::constant) {
    const uint64_t bits = kernel.dag[inst.b].imm;
    const auto offset = size_of(inst.type) == 8 ? static_cast<int64_t>(bits) : static_cast<int32_t>(bits);
    return {inst.a, offset};
  }
  return {index, 0};
}

void Body::find_runs() {
  constexpr int64_t kWidest = 4;  // elements of a row
  for (int32_t id = 0; id < kernel.dag.size(); ++id) {
    const Inst& inst = kernel.dag[id];
    if (!is_live_[id] || inst.op != Opcode::load || size_of(inst.type) == 8) continue;
    const auto [root, offset] = root_of(inst.a);
    const auto stride = strides_[root][1 - outer];
    if (!stride || *stride < 1 || *stride > kWidest) continue;
    const int buffer = static_cast<int>(inst.imm);
    auto run = std::ranges::find_if(runs_, [&](const Run& r) { return r.buffer == buffer && r.root == root; });
    if (run == runs_.end()) run = runs_.insert(run, Run{buffer, root, offset, *stride, {}});
    run->first = std::min(run->first, offset);
    run->loads.push_back(id);
  }
  std::erase_if(runs_, [&](const Run& run) {
    int64_t last = run.first;
    for (const int32_t id : run.loads) last = std::max(last, root_of(kernel.dag[id].a).second);
    return last - run.first + 1 != run.stride;  // else words would reach beyond the array, or hold more than is used
  });
}

int Body::side_by_side(int most) const {
  constexpr int kLongBody = 480;  // instructions, those of all iterations together
  size_t narrowest = 8;
  for (const Run& run : runs_) narrowest = std::min(narrowest, size_of(kernel.buffers[run.buffer].type));
  for (const auto& s : kernel.stores) {
    const auto at = stride(s.index, 1 - outer);
    if (at && *at == 1) narrowest = std::min(narrowest, size_of(kernel.buffers[s.buffer].type));
  }
  // A texel has 16 bytes.
  const bool fetched = std::ranges::any_of(runs_, [&](const Run& run) { return m.viewable(run.buffer); });
  auto count = static_cast<int>((fetched ? 16 : 8) / narrowest);
  while (count > most || (count > 1 && count * live_ > kLongBody)) count /= 2;
  // Whole words of 4 bytes, for every run.
  const bool whole = std::ranges::all_of(runs_, [&](const Run& run) {
    return static_cast<int64_t>(size_of(kernel.buffers[run.buffer].type)) * run.stride * count % 4 == 0;
  });
  return whole ? count : 1;
}

// A power of two that divides the instruction's value in the first of the iterations side by side.
int64_t Body::multiple_of(int32_t id) const {
  constexpr int64_t kMost = 64;
  const Inst& inst = kernel.dag[id];
  switch (inst.op) {
    case Opcode::constant:
      return inst.imm == 0 ? kMost : std::min<int64_t>(kMost, int64_t{1} << std::countr_zero(inst.imm));
    case Opcode::index:
      if (kernel.extent[inst.imm] == 1) return kMost;
      return static_cast<int>(inst.imm) == 1 - outer ? together_ : 1;
    case Opcode::convert: return is_integer(type(inst.a)) ? multiple_of(inst.a) : 1;
    case Opcode::add:
    case Opcode::sub: return std::min(multiple_of(inst.a), multiple_of(inst.b));
    case Opcode::mul: return std::min(kMost, multiple_of(inst.a) * multiple_of(inst.b));
    default: return 1;
  }
}

// As read_run, of the widest texels that the run begins at; empty where it is in no texel buffer.
std::string Body::fetch_run(size_t number, int32_t load) {
  const Run& run = runs_[number];
  const auto size = static_cast<int64_t>(size_of(kernel.buffers[run.buffer].type)),
             bytes = size * run.stride * together_;
  const auto [root, offset] = root_of(kernel.dag[load].a);
  const int64_t begin = multiple_of(root) * size | run.first * size | bytes;
  for (int words = 4; words >= 1; words /= 2) {
    if (begin % (4 * words) != 0) continue;
    const std::string view = m.view(run.buffer, words);
    if (view.empty()) continue;
    std::string text = fmt::format("    if (e == 0) {{\n    const int p = int((uint({}) - {}u) / {}u);\n",
                                   values_[kernel.dag[load].a], offset - run.first, 4 * words / size);
    for (int64_t at = 0; at < bytes / (4 * words); ++at) {
      text += fmt::format("    {{ const uvec4 d = texelFetch({}, p + {});", view, at);
      for (int i = 0; i < words; ++i) text += fmt::format(" w{}[{}] = d.{};", number, at * words + i, "xyzw"[i]);
      text += " }\n";
    }
    return text + "    }\n";
  }
  return {};
}

// A load from a texel buffer; empty where there is none.
std::string Body::fetch(int buffer, int32_t load) {
  const Inst& inst = kernel.dag[load];
  const auto size = static_cast<int>(size_of(inst.type));
  const std::string view = m.view(buffer, size == 8 ? 2 : 1);
  if (view.empty()) return {};
  const std::string& index = values_[inst.a];
  if (size == 8) {
    const std::string words = fmt::format("texelFetch({}, int({})).xy", view, index);
    if (m.held(inst.type) == Register::pair) return fmt::format("uintBitsToFloat({})", words);
    if (inst.type == DType::f64) return fmt::format("packDouble2x32({})", words);
    return fmt::format("{}(packUint2x32({}))", m.type(inst.type), words);
  }
  if (size == 4) return bitcast(m, fmt::format("texelFetch({}, int({})).x", view, index), DType::u32, inst.type);
  const int in_word = 4 / size, bits = 8 * size;
  const std::string word = fmt::format("texelFetch({}, int(uint({}) / {}u)).x", view, index, in_word);
  const std::string part = fmt::format("bitfieldExtract({}({}), int(uint({}) % {}u * {}u), {})",
                                       is_signed(inst.type) ? "int" : "uint", word, index, in_word, bits, bits);
  return inst.type == DType::bool_ ? fmt::format("({} != 0u)", part) : part;
}

std::string Body::read_run(size_t number, int32_t load) {
  if (std::string text = fetch_run(number, load); !text.empty()) return text;
  const Run& run = runs_[number];
  const DType type = kernel.buffers[run.buffer].type;
  const auto size = static_cast<int64_t>(size_of(type)), bytes = size * run.stride * together_;
  const int64_t ahead = root_of(kernel.dag[load].a).second - run.first;
  std::string text = fmt::format("    if (e == 0) {{\n    const uint64_t p = {} - {}ul;\n",
                                 address(run.buffer, kernel.dag[load].a), ahead * size);
  const int64_t word = bytes % 8 == 0 ? 8 : 4;
  std::string words, singles;
  for (int64_t at = 0; at < bytes; at += word) {
    const std::string from = fmt::format("(p + {}ul)", at);
    if (word == 8) {
      words += fmt::format("    {{ const uvec2 d = unpackUint2x32({}); w{}[{}] = d.x; w{}[{}] = d.y; }}\n",
                           vk::load(m, from, DType::u64), number, at / 4, number, at / 4 + 1);
    } else {
      words += fmt::format("    w{}[{}] = {};\n", number, at / 4, vk::load(m, from, DType::u32));
    }
  }
  // Words at a word's start; a CPU reads them anywhere.
  if (m.choices.cpu || size == word) return text + words + "    }\n";
  const DType plain = size == 4 ? DType::u32 : size == 2 ? DType::u16 : DType::u8;
  for (int64_t at = 0; at < bytes; at += 4) {
    std::string value;
    for (int64_t i = 0; i < 4; i += size) {
      const std::string part = vk::load(m, fmt::format("(p + {}ul)", at + i), plain);
      value += i == 0 ? part : fmt::format(" | ({} << {})", part, 8 * i);
    }
    singles += fmt::format("    w{}[{}] = {};\n", number, at / 4, value);
  }
  return text + fmt::format("    if ((uint(p) & {}u) == 0u) {{\n{}    }} else {{\n{}    }}\n    }}\n", word - 1, words,
                            singles);
}

std::string Body::from_run(size_t number, int32_t load) {
  const Run& run = runs_[number];
  const Inst& inst = kernel.dag[load];
  const auto bits = static_cast<int>(8 * size_of(inst.type));
  const int64_t ahead = root_of(inst.a).second - run.first;
  const std::string element = fmt::format("(e * {} + {})", run.stride, ahead);
  if (bits == 32) return bitcast(m, fmt::format("w{}[{}]", number, element), DType::u32, inst.type);
  const int in_word = 32 / bits;
  const std::string word = fmt::format("w{}[{} / {}]", number, element, in_word);
  const std::string shift = fmt::format("{} % {} * {}", element, in_word, bits);
  if (is_signed(inst.type)) return fmt::format("bitfieldExtract(int({}), {}, {})", word, shift, bits);
  const std::string part = fmt::format("bitfieldExtract({}, {}, {})", word, shift, bits);
  return inst.type == DType::bool_ ? fmt::format("({} != 0u)", part) : part;
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
      const auto staged = std::ranges::find(staged_, id, &std::pair<int32_t, std::string>::first);
      if (staged != staged_.end()) return staged->second;
      const int buffer = static_cast<int>(inst.imm);
      NEAP_CHECK(size_of(kernel.buffers[buffer].type) == size_of(inst.type), "{}: load of {}", kernel.name,
                 name(inst.type));
      std::string text = levels_[id] != 0 ? fetch(buffer, id) : std::string();
      if (text.empty()) text = load(m, address(buffer, inst.a), inst.type);
      return is_soft(id) ? fmt::format("soft_of_pair({})", text) : text;
    }
    case Opcode::call: {
      if (!m.choices.float64) lacking(kernel.name, "float64 arithmetic (shaderFloat64)");
      const auto function = static_cast<scalar::Function>(inst.imm);
      const std::string more = inst.b < 0 ? "" : ", " + values_[inst.b];
      const std::string text = fmt::format("{}({}{})", m.use(function), values_[inst.a], more);
      return inst.c < 0 ? text : fmt::format("({} ? {} : 0.0lf)", values_[inst.c], text);
    }
    default: return arithmetic(inst);
  }
}

std::string iteration(const Body& body, int e, const std::string& index, const std::string& more) {
  return fmt::format("    {{\n    const int e = {};\n    const {} i{} = {};\n{}{}    }}\n", e, body.index_type(),
                     1 - body.outer, index, body.text(2), more);
}

int64_t repeats_of(int64_t units, int together, const Choices& choices) {
  const auto most = std::max<int64_t>(1, choices.elements / together);
  const auto in_group = static_cast<int64_t>(choices.workgroup);
  return std::min(most, choices.one_workgroup ? (units + in_group - 1) / in_group : units / (8 * in_group) + 1);
}

std::string bases(Module& m, int count) {
  m.use("Table");
  std::string text = "  Table table = Table(push.table);\n";
  for (int i = 0; i < count; ++i) {
    text += fmt::format("  const uint64_t a{} = table.a[operands + {}u];\n", i, i);
  }
  return text;
}

Grid grid(uint64_t groups, const std::string& index_type) {
  constexpr uint64_t kMost = 65535;
  NEAP_CHECK(groups > 0 && groups <= kMost * kMost * kMost, "{} workgroups", groups);
  const uint64_t x = std::min(groups, kMost), rows = (groups + x - 1) / x;
  const uint64_t y = std::min(rows, kMost), z = (rows + y - 1) / y;
  Grid g{{static_cast<uint32_t>(x), static_cast<uint32_t>(y), static_cast<uint32_t>(z)}, {}};
  std::string number = fmt::format("{}({})", index_type, groups == 1 ? "0u" : "gl_WorkGroupID.x");
  if (y > 1) number += fmt::format(" + {}(gl_WorkGroupID.y) * {}", index_type, x);
  if (z > 1) number += fmt::format(" + {}(gl_WorkGroupID.z) * {}", index_type, x * y);
  g.text = fmt::format("  const {} group = {};\n", index_type, number);
  return g;
}

}  // namespace neap::vk
