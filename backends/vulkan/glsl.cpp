#include "backends/vulkan/glsl.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/vulkan/glsl_kernel.h"
#include "core/check.h"

namespace neap::vk {

using backends::Kernel;

Shader emit(const backends::Launch& launch, const Choices& choices, std::span<const Viewable> viewable) {
  NEAP_CHECK(launch.kernel.num_params == 0, "{}: a kernel with parameters", launch.kernel.name);
  switch (launch.kernel.kind) {
    case Kernel::Kind::map: return emit_map(launch, choices, viewable);
    case Kernel::Kind::reduce: return emit_reduce(launch, choices, viewable);
    case Kernel::Kind::scatter: return emit_scatter(launch, choices, viewable);
  }
  __builtin_unreachable();
}

namespace {

// For each of `words` words, `word` (of type uint64_t) being its number: `each`.
Shader over_words(uint64_t words, const Choices& choices, Module& m, int operands, const std::string& each,
                  const std::string& once) {
  Shader shader;
  shader.local_size = choices.workgroup;
  // Words of an invocation, a workgroup apart.
  const uint64_t all = (words + choices.workgroup - 1) / choices.workgroup;
  const uint64_t repeats = choices.one_workgroup ? std::clamp<uint64_t>(all, 1, choices.elements) : 4;
  const uint64_t in_group = repeats * choices.workgroup;
  shader.iterations = repeats;
  const uint64_t groups = std::max<uint64_t>(1, (words + in_group - 1) / in_group);
  const Grid g = grid(groups, "uint64_t");
  shader.groups = g.groups;
  std::string text = bases(m, operands) + g.text + once;
  text += fmt::format("  uint64_t word = group * {}ul + uint64_t(gl_LocalInvocationID.x);\n", in_group);
  text += fmt::format("  for (int r = 0; r < {}; ++r, word += {}ul) {{\n", repeats, choices.workgroup);
  text += fmt::format("    if (word < {}ul) {}\n  }}\n", words, each);
  m.finish(shader, text);
  return shader;
}

}  // namespace

namespace {

// Writes value(offset, type) to the `bytes` at operand `to`, as words of 4 bytes where `aligned` says that they lie at
// a word's start, and nothing behind them: the next slice of an array may lie there. A CPU writes 8 bytes anywhere.
template <class Value>
Shader write_bytes(uint64_t bytes, const Choices& choices, Module& m, int operands, int to, const std::string& aligned,
                   const Value& value) {
  const auto part = [&](const std::string& offset, DType type) {
    return store(m, fmt::format("(a{} + {})", to, offset), value(offset, type), type);
  };
  const uint64_t word = choices.cpu ? 8 : 4;
  std::string each = part(fmt::format("word * {}ul", word), choices.cpu ? DType::u64 : DType::u32);
  if (!choices.cpu) {
    std::string single;
    for (int i = 0; i < 4; ++i) single += " " + part(fmt::format("word * 4ul + {}ul", i), DType::u8);
    each = fmt::format("{{ if ({}) {{ {} }} else {{{} }} }}", aligned, each, single);
  }
  std::string rest;
  for (uint64_t at = bytes / word * word; at < bytes; ++at) {
    rest += "    " + part(fmt::format("{}ul", at), DType::u8) + "\n";
  }
  if (!rest.empty()) rest = "  if (group == 0ul && gl_LocalInvocationID.x == 0u) {\n" + rest + "  }\n";
  return over_words(bytes / word, choices, m, operands, each, rest);
}

}  // namespace

Shader fill_shader(uint64_t bytes, const Choices& choices, uint8_t value) {
  Module m(choices);
  return write_bytes(bytes, choices, m, 1, 0, "(uint(a0) & 3u) == 0u", [&](const std::string&, DType type) {
    return literal(m,
                   type == DType::u8    ? value
                   : type == DType::u32 ? 0x01010101u * value
                                        : 0x0101010101010101u * value,
                   type);
  });
}

Shader copy_shader(uint64_t bytes, const Choices& choices) {
  Module m(choices);
  return write_bytes(bytes, choices, m, 2, 1, "((uint(a0) | uint(a1)) & 3u) == 0u",
                     [&](const std::string& offset, DType type) { return load(m, "(a0 + " + offset + ")", type); });
}

Shader bind_shader(const Choices& choices) {
  Module m(choices);
  m.define("Entries",
           "layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Entries { uint64_t a[]; };\n");
  m.define("Records",
           "struct Record { uint to; uint from; int64_t add; };\n"
           "layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Records { Record r[]; };\n");
  Shader shader;
  shader.local_size = choices.one_workgroup ? choices.workgroup : std::min<uint32_t>(64, choices.workgroup);
  m.finish(shader, fmt::format(R"(  Entries entries = Entries(push.table);
  Records records = Records(entries.a[operands]);
  for (uint i = gl_LocalInvocationID.x; i < turn; i += {}u) {{
    const Record r = records.r[i];
    entries.a[r.to] = entries.a[r.from] + uint64_t(r.add);
  }}
)",
                               shader.local_size));
  return shader;
}

}  // namespace neap::vk
