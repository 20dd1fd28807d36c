// Reductions and scatters as shaders, on the device, beside the kernel interpreter.
#include "tests/backends/vulkan_trials.h"

namespace neap::vk::test {
namespace {

TEST_F(VulkanGlsl, Reductions) {
  std::vector<Trial> trials;
  for (size_t first = 0; first < 4; ++first) {
    for (const auto& [kept, reduced] :
         {std::pair<int64_t, int64_t>{1, 1}, {1, 300}, {3, 17}, {40, 5}, {67, 133}, {1, 5000}, {5000, 7}}) {
      for (const int level : {0, 1}) trials.push_back(reductions(first, kept, reduced, level, true));
    }
    trials.push_back(reductions(first, 67, 133, static_cast<int>(first % 2), false));
    Trial empty = reductions(first, 5, 0, 1, true);
    std::erase_if(empty.kernel.reductions, [](const auto& r) { return r.combine >= argmax; });
    trials.push_back(empty);
  }
  run(trials);
  std::erase_if(trials, [](const Trial& t) { return t.kernel.extent[0] < 5000; });
  run(trials, [](Runner& r) { r.choices.cpu = !r.choices.cpu; });
}

// More elements than llvmpipe lets a loop have iterations, and the same with a device that is made to end loops early.
TEST_F(VulkanGlsl, SumsLongRows) {
  std::vector<Trial> trials;
  for (const int level : {0, 1}) trials.push_back(reductions(0, 3, 200001, level, true));
  run(trials, [](Runner& r) { r.choices.reduce_workgroup = 2; });
  for (Trial& t : trials) t = reductions(1, 70, 3000, t.kernel.vector_level, true);
  run(trials, [](Runner& r) { r.choices.most_iterations = 100; });
}

TEST_F(VulkanGlsl, SumsLongRowsOfFunctionsThatLoop) {
  run({remainders(8, 64000, 0), remainders(1, 300'000, 1), remainders64(1, 200'000, 1), lgammas(8, 200'000, 0)});
}

TEST_F(VulkanGlsl, SumsWithoutDoubles) {
  std::vector<Trial> trials;
  for (const auto& [kept, reduced] : {std::pair<int64_t, int64_t>{3, 300}, {67, 33}}) {
    for (size_t first = 0; first < 4; ++first) trials.push_back(reductions(first, kept, reduced, 1, true, false));
  }
  run(trials, [](Runner& r) { r.choices.float64 = false; });
}

TEST_F(VulkanGlsl, Scatters) {
  std::vector<Trial> trials;
  for (const DType t : kAll) {
    for (const Combine combine : {set, add, mul, max, min}) {
      if (t == DType::bool_ && combine != set) continue;
      trials.push_back(scatters(combine, t, 5, 33, true));
      if (combine == set) trials.push_back(scatters(combine, t, 1, 100, false, true));
      if (combine == add) trials.push_back(scatters(combine, t, 1, 3000, false));
      if (combine == max) trials.push_back(scatters(combine, t, 77, 1, false));
    }
  }
  run(trials);
  run(trials, [](Runner& r) {
    r.choices.add32 = r.choices.add64 = Choices::FloatAdd::exchange, r.choices.storage8 = r.choices.storage16 = false;
  });
  std::erase_if(trials, [](const Trial& t) {
    const DType type = t.kernel.buffers[2].type;
    return (type != i64 && type != u64) || t.kernel.scatters[0].combine != add;
  });
  run(trials, [](Runner& r) { r.choices.atomic64 = false; });
}

}  // namespace
}  // namespace neap::vk::test
