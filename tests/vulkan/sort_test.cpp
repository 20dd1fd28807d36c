// Sorts on the first Vulkan device, in whichever memory mode NEAP_VULKAN_MEMORY says: the CPU's answer, and no more
// memory than planned.
#include "core/buffer.h"
#include "tests/vulkan/fixture.h"

namespace neap {
namespace {

using VulkanSort = OnVulkan;

TEST_F(VulkanSort, KeepsToItsPlan) {
  for (const Shape& shape : {Shape{100}, Shape{20'000}, Shape{7, 3001}}) {
    const Array x = to_device(random::normal(random::key(7), shape), neap::vulkan());
    for (const bool naive : {false, true}) {
      const JitOptions options{.device = neap::vulkan(), .pipeline = naive ? Pipeline::naive : Pipeline::planned};
      const auto both = [](const Array& a) { return std::pair{sort(a), argsort(-a, 0, {.descending = true})}; };
      const auto f = jit(both, options);
      f.compile(x);
      synchronize();
      const size_t others = memory::live_bytes(neap::vulkan()) - round_up_64(x.bytes());
      memory::reset_peak(neap::vulkan());
      const auto [values, order] = f(x);
      synchronize();
      EXPECT_EQ(memory::peak_bytes(neap::vulkan()) - others, f.last_plan().peak_bytes()) << f.last_plan();
      const eager_reference reference;
      const auto [want, want_order] = both(x);
      EXPECT_EQ(values.to_vector<float>(), want.to_vector<float>());
      EXPECT_EQ(order.to_vector<int>(), want_order.to_vector<int>());
    }
  }
}

}  // namespace
}  // namespace neap
