// Arenas of several allocations, as on devices whose largest allocation is small: the same results, the planned peak.
#include "core/buffer.h"
#include "jit/compile.h"
#include "tests/vulkan/fixture.h"

namespace neap {
namespace {

using VulkanArena = OnVulkan;

TEST_F(VulkanArena, SpansAllocations) {
  const Shape shape{256, 256};
  const auto f = [](const tracing::Arrays& in) {
    const Array a = matmul(in[0], in[0]), b = matmul(a, in[0]), c = matmul(a, b);
    const Array looped = fori_loop(0, 3, [&](const Array&, const Array& x) { return tanh(matmul(x, c)) + b; }, a);
    return tracing::Arrays{matmul(looped, matmul(b, c)), c + 1};
  };
  const Array x = to_device(random::normal(random::key(3), shape) * 0.05f, neap::vulkan());
  const auto traced = [&] { return tracing::trace(std::vector<Aval>{x.aval()}, f, "arena"); };
  planner::PlanOptions options;
  options.target = jit_detail::target_of(neap::vulkan());
  options.strategy = planner::Strategy::fused;  // whole arrays, not slices
  const jit_detail::Compiled whole(traced(), options, neap::vulkan());
  const size_t bytes = x.bytes();
  options.target.largest_allocation = bytes + 64;
  const jit_detail::Compiled parts(traced(), options, neap::vulkan());
  EXPECT_TRUE(whole.plan().arena_blocks.empty());
  EXPECT_GE(parts.plan().arena_blocks.size(), 3u);
  const tracing::Arrays want = whole.run({x}, {});
  for (int i = 0; i < 3; ++i) {
    synchronize();
    const size_t others = memory::live_bytes(neap::vulkan()) - round_up_64(bytes);
    memory::reset_peak(neap::vulkan());
    const tracing::Arrays got = parts.run({x}, {});
    synchronize();
    EXPECT_EQ(memory::peak_bytes(neap::vulkan()) - others, parts.plan().peak_bytes);
    for (size_t k = 0; k < want.size(); ++k) EXPECT_EQ(got[k].to_vector<float>(), want[k].to_vector<float>());
  }
}

}  // namespace
}  // namespace neap
