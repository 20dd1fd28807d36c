// A loop whose body is small: all its kernels in one shader that runs many iterations, with barriers where there were
// barriers between dispatches.
#include <fmt/format.h>

#include "backends/vulkan/glsl_module.h"
#include "core/check.h"

namespace neap::vk {

Shader loop_shader(std::span<const Stage> stages, const Choices& choices) {
  Module m(choices);
  Shader shader;
  shader.local_size = choices.workgroup;
  std::string body;
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
  shader.glsl = m.finish(shader.local_size, "  for (uint n = 0u; n < turn; ++n) {\n" + body + "  }\n");
  return shader;
}

}  // namespace neap::vk
