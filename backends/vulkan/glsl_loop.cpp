// A loop whose body is small: all its kernels in one shader that runs many iterations, with barriers where there were
// barriers between dispatches.
#include <fmt/format.h>

#include "backends/vulkan/glsl_module.h"
#include "core/check.h"

namespace neap::vk {

Shader loop_shader(std::span<const Stage> stages, const Choices& choices, std::optional<uint32_t> condition) {
  Module m(choices);
  Shader shader;
  shader.local_size = choices.workgroup;
  std::string before, body;
  if (condition) {
    m.use("Table");
    m.define(
        "Condition",
        "layout(buffer_reference, scalar, buffer_reference_align = 4) coherent readonly buffer Condition { uint a; "
        "};\n");
    before = fmt::format("  const uint64_t at = Table(push.table).a[push.first + {}u];\n", *condition);
    // Nobody writes it before all have read it.
    body =
        "    const bool goes_on = (Condition(at & ~3ul).a >> (8u * (uint(at) & 3u)) & 255u) != 0u;\n    barrier();\n"
        "    if (!goes_on) break;\n";
  }
  for (size_t i = 0; i < stages.size(); ++i) {
    const Stage& stage = stages[i];
    const Shader& own = stage.shader;
    NEAP_CHECK(own.parts && own.dispatches == 1, "a stage of several dispatches");
    // What one invocation writes others read, hence coherent.
    m.use(*own.parts, /*coherent=*/true);
    m.define(fmt::format("stage{}", i),
             fmt::format("void stage{}() {{\n  const uint operands = push.first + {}u, turn = {}u;\n{}}}\n", i,
                         stage.first, stage.turn, own.parts->main));
    if (stage.barrier) body += "    memoryBarrierBuffer();\n    barrier();\n";
    body += fmt::format(
        "    {}stage{}();\n",
        own.local_size < choices.workgroup ? fmt::format("if (gl_LocalInvocationID.x < {}u) ", own.local_size) : "", i);
    shader.full_subgroups |= own.full_subgroups;
    shader.iterations += own.iterations + stage.turn / choices.workgroup + 1;
  }
  body += "    memoryBarrierBuffer();\n    barrier();\n";
  shader.glsl = m.finish(shader.local_size, before + "  for (uint n = 0u; n < turn; ++n) {\n" + body + "  }\n");
  return shader;
}

}  // namespace neap::vk
