// Random programs of layout, index and elementwise ops, against the reference interpreter: interpreted and compiled.
#include "tests/backends/random_program.h"
#ifdef NEAP_CPU
#include "backends/cpu/jit.h"
#endif

namespace neap::backends {
namespace {

TEST(LowerRandom, ProgramsEqualTheReference) {
  int maps = 0, reductions = 0, scatters = 0;
  for (unsigned seed = 0; seed < 400; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Program program(seed);
    const PlanStep step = program.finish();
    maps += step.kind == PlanStep::Kind::map;
    reductions += step.kind == PlanStep::Kind::reduce;
    scatters += step.kind == PlanStep::Kind::scatter;
    const auto inputs = program.inputs();
    try {
      check(step, inputs);
    } catch (const std::exception& e) {
      ADD_FAILURE() << e.what() << "\n" << tracing::print(step.group);
    }
    if (HasFailure()) return;
  }
  EXPECT_GT(maps, 100);
  EXPECT_GT(reductions, 50);
  EXPECT_GT(scatters, 50);
}

#ifdef NEAP_CPU

void run_compiled(std::span<const Launch> launches, std::span<const std::span<std::byte>> operands) {
  std::vector<const Kernel*> kernels;
  for (const Launch& launch : launches) kernels.push_back(&launch.kernel);
  const auto functions = cpu::compile_kernels(kernels, "");
  for (size_t i = 0; i < launches.size(); ++i) {
    const Launch& launch = launches[i];
    const auto [rows, columns] = launch.kernel.extent;
    for (int operand : launch.zero_fill) std::ranges::fill(operands[operand], std::byte{0});
    NEAP_CHECK(launch.part0_operand < 0);
    std::vector<void*> buffers;
    for (int operand : launch.operands) buffers.push_back(operands[operand].data());
    for (int part = 0; part < launch.partials; ++part) {
      // In two pieces, as a parallel run would, cut where kernel.h allows it.
      const auto cut = [&](int level, int64_t at, int64_t extent) {
        return launch.kernel.vector_level == level && at < extent ? at / 64 * 64 : at;
      };
      const int64_t begin = cut(1, columns * part / launch.partials, columns);
      const int64_t end = cut(1, columns * (part + 1) / launch.partials, columns);
      const int64_t middle = cut(0, rows / 2, rows);
      functions[i](buffers.data(), nullptr, 0, middle, begin, end, part);
      functions[i](buffers.data(), nullptr, middle, rows, begin, end, part);
    }
  }
}

TEST(LowerRandom, CompiledProgramsEqualTheReference) {
  for (unsigned seed = 1000; seed < 1060; ++seed) {
    SCOPED_TRACE(testing::Message() << "seed " << seed);
    Program program(seed);
    const PlanStep step = program.finish();
    const auto inputs = program.inputs();
    check(step, inputs, run_compiled);
    if (HasFailure()) return;
  }
}

#endif

}  // namespace
}  // namespace neap::backends
