// Shaders that reach their operands through texel buffers. vulkan_trials.h runs all others so as well.
#include "backends/vulkan/spirv.h"
#include "tests/backends/vulkan_trials.h"

namespace neap::vk::test {
namespace {

// A subgroup for each part counts in a table of its own, where several of its lanes meet in most steps.
TEST_F(VulkanGlsl, SubgroupsCountInTablesOfTheirOwn) {
  Runner runner(open_device());
  if (runner.choices.texels == 0) GTEST_SKIP() << "the device gains nothing from texel buffers";
  runner.views = true;
  runner.choices.most_iterations = 40;  // several dispatches
  constexpr int64_t kElements = 50;
  for (const auto& [rows, index, type] : {std::tuple{4000, i32, u32}, {30007, i16, i32}, {5002, i8, u32}}) {
    for (const bool constant : {false, true}) {
      for (const bool first_elsewhere : {false, true}) {
        Trial trial;
        Kernel& k = trial.kernel;
        k.kind = Kernel::Kind::scatter;
        k.extent = {1, rows};
        const int at = trial.input(index, rows), values = trial.input(type, rows);
        const int parts = 3, tables = parts - first_elsewhere;
        const int table = trial.add(type, Bytes(4 * kElements * tables), true);
        const X i = k.dag.index(1, u32), x = k.dag.convert(k.dag.load(at, index, i), i32);
        const X element = k.dag.binary(Opcode::bit_and, x, k.dag.integer(63, i32));
        const X valid = k.dag.binary(Opcode::lt, element, k.dag.integer(kElements, i32));
        const X value = constant ? k.dag.integer(1, type) : k.dag.load(values, type, i);
        k.scatters.push_back({add, table, kElements, element.id, value.id, valid.id, false});
        Launch launch = trial.launch();
        launch.partials = parts;
        if (first_elsewhere) launch.part0_operand = trial.add(type, Bytes(4 * kElements), true);
        std::vector<Bytes> want = trial.buffers, got = trial.buffers;
        std::vector<std::span<std::byte>> wanted(want.begin(), want.end()), spans(got.begin(), got.end());
        backends::evaluate(std::span(&launch, 1), wanted);
        runner(std::span(&launch, 1), spans);
        const auto sums = [&](const std::vector<Bytes>& buffers) {  // the parts may be cut elsewhere
          std::vector<uint32_t> total(kElements);
          for (size_t b = static_cast<size_t>(table); b < buffers.size(); ++b) {
            for (size_t j = 0; j < buffers[b].size() / 4; ++j) {
              uint32_t part = 0;
              std::memcpy(&part, &buffers[b][4 * j], 4);
              total[j % kElements] += part;
            }
          }
          return total;
        };
        EXPECT_EQ(sums(got), sums(want)) << rows << " rows of " << name(index);
        const std::vector<Viewable> viewable{
            {got[0].size(), false}, {got[1].size(), false}, {got[2].size(), true}, {4 * kElements, true}};
        const Shader shader = emit(launch, runner.choices, viewable);
        EXPECT_EQ(shader.glsl.find("atomicAdd"), std::string::npos);
        EXPECT_EQ(shader.groups[0], 3u);
        EXPECT_GT(shader.dispatches, 1u);
      }
    }
  }
  EXPECT_EQ(Device::validation_messages(), std::vector<std::string>{});
}

TEST(GlslText, ReadsLargeArraysThroughTexelBuffers) {
  Choices c;
  c.cpu = c.int64 = c.float64 = c.storage8 = c.storage16 = true;
  c.texels = 20000;
  const auto views = [&](const Trial& t) {
    std::vector<Viewable> viewable;
    for (size_t i = 0; i < t.buffers.size(); ++i)
      viewable.push_back({t.buffers[i].size(), t.kernel.buffers[i].written});
    const Shader shader = emit(t.launch(), c, viewable);
    EXPECT_FALSE(compile_glsl(shader.glsl, "test").empty());
    std::string text;
    for (const View& view : shader.views) text += std::to_string(view.operand) + ":" + std::to_string(view.words) + " ";
    return text;
  };
  EXPECT_EQ(views(rows_of(i32, 3, 4096, 1)), "0:4 ") << "four rows are three texels";
  EXPECT_EQ(views(rows_of(i16, 3, 4096, 1)), "0:4 ");
  EXPECT_EQ(views(rows_of(i32, 3, 4095, 1)), "0:1 ") << "single elements: the rows are no whole words";
  EXPECT_EQ(views(gathers(f32, i32)), "1:1 0:1 ") << "the index, then what it names";
  c.texels = 100;
  EXPECT_EQ(views(rows_of(i32, 3, 4096, 1)), "") << "more than a view reaches";
  c.texels = 0;
  EXPECT_EQ(views(gathers(f32, i32)), "");
  EXPECT_TRUE(emit(gathers(f32, i32).launch(), c).views.empty());
}

}  // namespace
}  // namespace neap::vk::test
