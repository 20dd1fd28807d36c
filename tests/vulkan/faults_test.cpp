// Every allocation of a run on the first Vulkan device is refused once, in whichever memory mode there is.
#include "tests/conformance/faults.h"
#include "tests/vulkan/fixture.h"

namespace neap {
namespace {

class VulkanFaults : public OnVulkan {
 protected:
  void SetUp() override {
    OnVulkan::SetUp();
    if (!IsSkipped()) set_default_device(neap::vulkan());
  }
  void TearDown() override {
    set_default_device({});
    OnVulkan::TearDown();
  }
};

TEST_F(VulkanFaults, EachAllocationRefused) {
  for (const conformance::FaultyProgram& program : conformance::faulty_programs()) {
    EXPECT_GE(conformance::refuse_each_allocation(program), 1u) << program.name;
    if (HasFailure()) break;
  }
}

}  // namespace
}  // namespace neap
