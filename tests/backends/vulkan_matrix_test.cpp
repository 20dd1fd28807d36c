// backends/vulkan/matmul_matrix.cpp. llvmpipe has no cooperative matrices: that the shaders compile is tested without a
// device; what they do, on the one there is, with functions of every invocation in place of the extension's.
#include <fmt/format.h>
#include <fmt/ranges.h>
#include <gmock/gmock.h>
#include <neap/error.h>

#include "backends/vulkan/matmul.h"
#include "backends/vulkan/spirv.h"
#include "tests/backends/products.h"
#include "tests/backends/vulkan_harness.h"
#include "tests/backends/vulkan_product.h"

namespace neap::vk::test {
namespace {

using namespace backends::test;
using planner::DotForm;
using testing::HasSubstr;

constexpr std::array<uint32_t, 3> kShapes[] = {{16, 16, 16}, {16, 8, 16}, {16, 8, 8}, {8, 32, 16}};

// The extension's types and functions. A factor is where it lies in shared memory, which changes behind barriers alone;
// of a sum each invocation of a subgroup has some elements. Pitches and places are in uvec4s, of 8 halves or 4 sums.
std::string emulation(const Choices& c, DType half) {
  const auto [m, n, k] = c.matrix;
  std::string text = fmt::format(
      "const uint ROWS = 0u, COLUMNS = 1u;\nfloat half_of(uint word, uint i) {{ return {}; }}\n",
      half == DType::f16 ? "unpackHalf2x16(word)[i]" : "uintBitsToFloat(i == 0u ? word << 16 : word & 0xffff0000u)");
  for (const auto& [name, matrix, rows, columns] :
       {std::tuple{"MatrixA", "MATRIX_A", m, k}, {"MatrixB", "MATRIX_B", k, n}}) {
    text += fmt::format(R"(
struct {0} {{ uint at, pitch, order; }};
#define {1}(first, order, pitch) {0}(first, pitch, order)
float element({0} m, uint row, uint column) {{
  const uint outer = m.order == COLUMNS ? column : row, inner = m.order == COLUMNS ? row : column;
  return half_of(words[m.at + outer * m.pitch + inner / 8u][inner % 8u / 2u], inner % 2u);
}}
)",
                        name, matrix);
  }
  return text + fmt::format(R"(
struct MatrixC {{ float v[{2}]; }};
#define NONE (push.count >> 31)  // unknown to compilers, which would unroll the loops and take minutes
#define NO_SUM MatrixC(float[]({4}))
MatrixC multiply_add(MatrixA a, MatrixB b, MatrixC c) {{
  for (uint i = 0u; i < {2}u + NONE; ++i) {{
    const uint e = i * {3}u + gl_SubgroupInvocationID;
    for (uint j = 0u; j < {1}u + NONE; ++j) c.v[i] += element(a, e / {0}u, j) * element(b, j, e % {0}u);
  }}
  return c;
}}
#define STORE(m, first, pitch) \
  for (uint i = 0u; i < {2}u + NONE; ++i) {{ \
    const uint e = i * {3}u + gl_SubgroupInvocationID, row = e / {0}u, column = e % {0}u; \
    words[first + row * pitch + column / 4u][column % 4u] = floatBitsToUint(m.v[i]); \
  }}
)",
                            n, k, m * n / c.subgroup, c.subgroup,
                            fmt::join(std::vector<std::string>(m * n / c.subgroup, "0.0"), ", "));
}

Choices with(Choices c, const std::array<uint32_t, 3>& shape, const std::array<uint32_t, 2>& block) {
  c.matrix = shape;
  c.matrix_groups = {2, 2}, c.matrix_block = block;
  c.enough_groups = 1;
  return c;
}

template <class Half>
std::vector<Half> whole_numbers(int64_t n, int seed) {
  std::vector<Half> v;
  for (int64_t i = 0; i < n; ++i) v.emplace_back(static_cast<float>((i * 7 + i / 11 + seed) % 9 - 4));
  return v;
}

class VulkanMatrix : public testing::Test {
 protected:
  void SetUp() override {
    NEAP_NEEDS_VULKAN();
    device_ = open_device();
    if (device_->choices().subgroup == 0) GTEST_SKIP() << "no subgroups of a known size";
  }
  void TearDown() override { EXPECT_THAT(Device::validation_messages(), testing::IsEmpty()); }

  template <class Half>
  std::vector<Half> product(const DotForm& f, const Choices& c, const std::vector<Half>& lhs,
                            const std::vector<Half>& rhs) {
    const std::string types = emulation(c, f.dtype);
    return run_product(*device_, matmul_by_matrices(f, c, &types), f, lhs, rhs);
  }

  // Sums of whole numbers are exact in f32, so that every order of them gives these bits.
  template <class Half = float16>
  void check(DotForm f, const Choices& c, int transposed) {
    f.lhs_transposed = transposed & 1;
    f.rhs_transposed = transposed & 2;
    f.dtype = dtype_of<Half>();
    SCOPED_TRACE(fmt::format("{} of {} x {} x {}, transposed {}, by {}", f.batch, f.m, f.n, f.k, transposed, c.matrix));
    const auto lhs = whole_numbers<Half>(f.batch * f.m * f.k, 1), rhs = whole_numbers<Half>(f.batch * f.k * f.n, 2);
    const std::vector<Half> got = product(f, c, lhs, rhs);
    const std::vector<double> want = product_by_loops(f, lhs, rhs);
    for (size_t i = 0; i < got.size(); ++i) {
      ASSERT_EQ(got[i].bits, Half(static_cast<float>(want[i])).bits) << i << ": " << want[i];
    }
  }

  std::shared_ptr<Device> device_;
};

TEST_F(VulkanMatrix, MultipliesEveryForm) {
  const Choices c = with(device_->choices(), kShapes[0], {1, 1});
  for (const int transposed : {0, 1, 2, 3}) check({2, 17, 33, 65}, c, transposed);
  for (const int transposed : {0, 3}) check({1, 64, 64, 64}, c, transposed);
  Choices bf16 = c;
  bf16.matrix_bf16 = true;
  for (const int transposed : {0, 3}) check<bfloat16>({2, 17, 40, 65}, bf16, transposed);
}

TEST_F(VulkanMatrix, MultipliesBlocksOfSeveralMatrices) {
  check({1, 70, 40, 40}, with(device_->choices(), kShapes[0], {2, 1}), 0);
  check({1, 35, 70, 40}, with(device_->choices(), kShapes[0], {1, 2}), 3);
}

TEST_F(VulkanMatrix, MultipliesByOtherShapes) {
  for (const size_t shape : {1, 2, 3}) {
    check({1, 40, 70, 33}, with(device_->choices(), kShapes[shape], {1, 1}), static_cast<int>(shape));
  }
}

TEST_F(VulkanMatrix, RoundsOnceAndKeepsInfinitiesInTheirRow) {
  const DotForm f{1, 33, 35, 37, false, false, DType::f16};
  auto lhs = product_operand<float16>(33 * 37, 1);
  const auto rhs = product_operand<float16>(37 * 35, 2);
  const Choices c = with(device_->choices(), kShapes[0], {1, 1});
  const std::vector<float16> got = product(f, c, lhs, rhs);
  const std::vector<double> want = product_by_loops(f, lhs, rhs);
  for (size_t i = 0; i < got.size(); ++i) ASSERT_NEAR(float{got[i]}, want[i], std::abs(want[i]) / 2048 + 1e-5) << i;
  std::fill_n(lhs.begin() + 32 * 37, 37, float16(std::numeric_limits<float>::infinity()));
  const std::vector<float16> infinite = product(f, c, lhs, rhs);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isfinite(float{infinite[i]}), i < 32 * 35) << i;
}

// Without a device.

DeviceRecord card() {
  DeviceRecord d;
  d.type = "discrete";
  d.api_version = 1003;
  d.max_workgroup_invocations = 1024, d.max_workgroup_size = {1024, 1024, 64}, d.max_shared_memory = 49152;
  d.max_workgroup_subgroups = 32, d.subgroup_size = d.min_subgroup_size = d.max_subgroup_size = 32;
  d.buffer_device_address = d.timeline_semaphore = d.scalar_block_layout = d.int64 = true;
  d.float16 = d.storage_16bit = d.int16 = true;
  d.subgroup_size_control = d.subgroup_arithmetic = d.subgroup_shuffle = true;
  d.matrix_shapes = {{16, 8, 16}, {16, 16, 16}, {16, 8, 8}};
  return d;
}

TEST(MatrixText, CompilesForTheExtension) {
  for (const auto& shape : kShapes) {
    DeviceRecord d = card();
    d.matrix_shapes = {shape};
    const Choices c = choose(d);
    ASSERT_EQ(c.matrix, shape);
    for (const int transposed : {0, 1, 2, 3}) {
      for (const int64_t size : {60, 4096}) {
        const DotForm f{2, size, size, size, (transposed & 1) != 0, (transposed & 2) != 0, DType::f16};
        const Shader shader = matmul_shader(f, c);
        EXPECT_TRUE(shader.full_subgroups);
        EXPECT_LE(shader.local_size, 256u);
        const std::vector<uint32_t> words = compile_glsl(shader.glsl, "matrices");
        const auto names = [&](uint32_t instruction) { return std::ranges::find(words, instruction) != words.end(); };
        EXPECT_TRUE(names(2u << 16 | 17u)) << "OpCapability";
        EXPECT_TRUE(names(7u << 16 | 4456u)) << "OpTypeCooperativeMatrixKHR";
        EXPECT_TRUE(names(6u << 16 | 4459u)) << "OpCooperativeMatrixMulAddKHR";
      }
    }
  }
}

// What this compiler cannot say of a matrix: the type of its elements.
TEST(MatrixText, NamesTheTypesOfElements) {
  DeviceRecord d = card();
  d.matrix_shapes_bf16 = {{16, 16, 16}};
  const Choices c = choose(d);
  ASSERT_TRUE(c.matrix_bf16);
  for (const DType half : {DType::f16, DType::bf16}) {
    const Shader shader = matmul_shader({1, 256, 256, 256, false, false, half}, c);
    const std::vector<uint32_t> words = compile_glsl(shader.glsl, "matrices");
    std::vector<uint32_t> floats, elements;
    for (size_t at = 5; at < words.size(); at += words[at] >> 16) {
      ASSERT_GT(words[at] >> 16, 0u);
      if ((words[at] & 0xffff) == 22) {  // OpTypeFloat: id, width, and 0 for bf16
        EXPECT_TRUE(elements.empty()) << "declared before they are used";
        floats.push_back(words[at + 1]);
        if (words[at + 2] == 16) EXPECT_EQ(words[at] >> 16, half == DType::bf16 ? 4u : 3u);
      }
      if ((words[at] & 0xffff) == 4456) elements.push_back(words[at + 2]);
    }
    EXPECT_EQ(elements.size(), 3u);
    for (const uint32_t id : elements) EXPECT_THAT(floats, testing::Contains(id));
  }
}

TEST(MatrixText, IsChosenForDevicesThatListAShape) {
  const Choices c = choose(card());
  EXPECT_EQ(c.matrix, (std::array<uint32_t, 3>{16, 16, 16})) << "the largest";
  EXPECT_EQ(c.matrix_groups, (std::array<uint32_t, 2>{2, 2}));
  EXPECT_EQ(c.matrix_block, (std::array<uint32_t, 2>{4, 4}));
  const auto without = [](const auto& change) {
    DeviceRecord d = card();
    change(d);
    return choose(d).matrix[0] == 0;
  };
  EXPECT_TRUE(without([](DeviceRecord& d) { d.matrix_shapes.clear(); }));
  EXPECT_TRUE(without([](DeviceRecord& d) { d.matrix_shapes = {{12, 16, 16}}; }));
  EXPECT_TRUE(without([](DeviceRecord& d) { d.float16 = false; }));
  EXPECT_TRUE(without([](DeviceRecord& d) { d.storage_16bit = false; }));
  EXPECT_TRUE(without([](DeviceRecord& d) { d.subgroup_size_control = false; }));
  DeviceRecord small = card();
  small.max_workgroup_invocations = 128, small.max_workgroup_size = {128, 128, 64}, small.max_shared_memory = 16384;
  const Choices s = choose(small);
  EXPECT_LE(s.matrix_groups[0] * s.matrix_groups[1] * s.subgroup, 128u);
  EXPECT_EQ(to_json(record_from_json(to_json(card()))), to_json(card()));
}

}  // namespace
}  // namespace neap::vk::test
