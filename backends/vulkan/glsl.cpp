#include "backends/vulkan/glsl.h"

#include <fmt/format.h>

#include <algorithm>

#include "backends/vulkan/glsl_kernel.h"
#include "core/check.h"

namespace neap::vk {

using backends::Kernel;

Shader emit(const backends::Launch& launch, const Choices& choices) {
  NEAP_CHECK(launch.kernel.num_params == 0, "{}: a kernel with parameters", launch.kernel.name);
  switch (launch.kernel.kind) {
    case Kernel::Kind::map: return emit_map(launch, choices);
    case Kernel::Kind::reduce: return emit_reduce(launch, choices);
    case Kernel::Kind::scatter: return emit_scatter(launch, choices);
  }
  __builtin_unreachable();
}

namespace {

constexpr uint64_t kWordsEach = 4;  // words of an invocation, a workgroup apart

// For each of `words` 32-bit words, `word` (of type uint64_t) being its number: `each`.
Shader over_words(uint64_t words, const Choices& choices, Module& m, int operands, const std::string& each,
                  const std::string& once) {
  Shader shader;
  shader.local_size = choices.workgroup;
  const uint64_t in_group = kWordsEach * choices.workgroup;
  const uint64_t groups = std::max<uint64_t>(1, (words + in_group - 1) / in_group);
  const Grid g = grid(groups, "uint64_t");
  shader.groups = g.groups;
  std::string text = bases(m, operands) + g.text + once;
  text += fmt::format("  uint64_t word = group * {}ul + uint64_t(gl_LocalInvocationID.x);\n", in_group);
  text += fmt::format("  for (int r = 0; r < {}; ++r, word += {}ul) {{\n", kWordsEach, choices.workgroup);
  text += fmt::format("    if (word < {}ul) {}\n  }}\n", words, each);
  shader.glsl = m.finish(shader.local_size, text);
  return shader;
}

}  // namespace

Shader fill_shader(uint64_t bytes, const Choices& choices) {
  Module m(choices);
  return over_words((bytes + 3) / 4, choices, m, 1, store(m, "(a0 + word * 4ul)", "0u", DType::u32), "");
}

Shader copy_shader(uint64_t bytes, const Choices& choices) {
  Module m(choices);
  const std::string each = store(m, "(a1 + word * 4ul)", load(m, "(a0 + word * 4ul)", DType::u32), DType::u32);
  std::string rest;
  for (uint64_t at = bytes / 4 * 4; at < bytes; ++at) {
    rest += "    " +
            store(m, fmt::format("(a1 + {}ul)", at), load(m, fmt::format("(a0 + {}ul)", at), DType::u8), DType::u8) +
            "\n";
  }
  if (!rest.empty()) rest = "  if (group == 0ul && gl_LocalInvocationID.x == 0u) {\n" + rest + "  }\n";
  return over_words(bytes / 4, choices, m, 2, each, rest);
}

Shader bind_shader(const Choices& choices) {
  Module m(choices);
  m.define("Entries",
           "layout(buffer_reference, scalar, buffer_reference_align = 8) buffer Entries { uint64_t a[]; };\n");
  m.define("Records",
           "struct Record { uint to; uint from; int64_t add; };\n"
           "layout(buffer_reference, scalar, buffer_reference_align = 8) readonly buffer Records { Record r[]; };\n");
  Shader shader;
  shader.local_size = std::min<uint32_t>(64, choices.workgroup);
  shader.glsl = m.finish(shader.local_size, fmt::format(R"(  Entries entries = Entries(push.table);
  Records records = Records(entries.a[push.first]);
  for (uint i = gl_LocalInvocationID.x; i < push.count; i += {}u) {{
    const Record r = records.r[i];
    entries.a[r.to] = entries.a[r.from] + uint64_t(r.add);
  }}
)",
                                                        shader.local_size));
  return shader;
}

}  // namespace neap::vk
