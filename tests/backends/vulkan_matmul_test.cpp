// backends/vulkan/matmul.cpp: every form of product against three loops, in the tilings of several devices.
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>
#include <memory>
#include <vector>

#include "backends/vulkan/device.h"
#include "backends/vulkan/glsl.h"
#include "tests/backends/products.h"
#include "tests/backends/vulkan_product.h"

namespace neap::vk {
namespace {

using namespace backends::test;
using planner::DotForm;
using test::run_product;

class VulkanMatmul : public testing::Test {
 protected:
  void SetUp() override {
    try {
      device_ = Device::get(0);
    } catch (const DeviceError& error) {
      GTEST_SKIP() << error.what();
    }
  }

  void TearDown() override {
    if (device_) EXPECT_THAT(Device::validation_messages(), testing::IsEmpty());
  }

  template <class T>
  std::vector<T> product(const DotForm& f, const Choices& choices, const std::vector<T>& lhs,
                         const std::vector<T>& rhs) {
    return run_product(*device_, matmul_shader(f, choices), f, lhs, rhs);
  }

  // Added to 1.
  template <class T>
  void check_adding(DotForm f, const Choices& choices) {
    f.dtype = dtype_of<T>();
    f.adds = true;
    const auto lhs = product_operand<T>(f.batch * f.m * f.k, 1), rhs = product_operand<T>(f.batch * f.k * f.n, 2);
    auto got = run_product(*device_, matmul_shader(f, choices), f, lhs, rhs, T(1));
    for (T& x : got) x -= 1;
    expect_product(f, got, lhs, rhs);
  }

  template <class T>
  void check(DotForm f, const Choices& choices) {
    f.dtype = dtype_of<T>();
    const auto lhs = product_operand<T>(f.batch * f.m * f.k, 1), rhs = product_operand<T>(f.batch * f.k * f.n, 2);
    SCOPED_TRACE(testing::Message() << "tile " << choices.tile_m);
    expect_product(f, product(f, choices, lhs, rhs), lhs, rhs);
  }

  // The tilings of other devices, as far as this one can run them.
  std::vector<Choices> tilings() const {
    std::vector<Choices> all;
    for (const auto& [tile, thread, k] : {std::array{128u, 8u, 16u}, {64u, 4u, 16u}, {32u, 4u, 16u}, {8u, 1u, 8u}}) {
      Choices c = device_->choices();
      c.matmul_by_subgroup = false;
      c.tile_m = c.tile_n = tile, c.thread_m = c.thread_n = thread, c.tile_k = k;
      c.enough_groups = tile == 64 ? 128 : 1;
      const uint32_t invocations = tile / thread * (tile / thread);
      const bool fits = (2 * tile + 8) * k * 4 <= device_->record().max_shared_memory;
      if (fits && invocations <= device_->record().max_workgroup_invocations) all.push_back(c);
    }
    return all;
  }

  std::shared_ptr<Device> device_;
};

TEST_F(VulkanMatmul, MultipliesEveryFormAndSize) {
  const Choices& choices = device_->choices();
  for (const int transposed : {0, 1, 2, 3}) {
    for (DotForm f : {DotForm{1, 1, 1, 1}, DotForm{3, 2, 5, 7}, DotForm{1, 3, 2, 0}, DotForm{1, 70, 60, 0},
                      DotForm{1, 1, 1, 100}, DotForm{1, 5, 300, 33}, DotForm{1, 300, 3, 65}, DotForm{2, 17, 33, 65},
                      DotForm{2, 130, 70, 100}, DotForm{1, 128, 128, 64}}) {
      f.lhs_transposed = transposed & 1;
      f.rhs_transposed = transposed & 2;
      check<float>(f, choices);
      if (choices.float64 && f.batch > 1) check<double>(f, choices);
    }
  }
}

TEST_F(VulkanMatmul, AddsToWhatIsThere) {
  std::vector<Choices> all = tilings();
  all.push_back(device_->choices());
  for (const Choices& choices : all) {
    for (DotForm f : {DotForm{1, 3, 2, 0}, DotForm{3, 2, 5, 7}, DotForm{1, 5, 300, 33}, DotForm{2, 17, 33, 65},
                      DotForm{2, 130, 70, 100}, DotForm{1, 128, 128, 64}}) {
      for (const int transposed : {0, 3}) {
        f.lhs_transposed = f.rhs_transposed = transposed != 0;
        check_adding<float>(f, choices);
        if (choices.float64 && f.batch > 1) check_adding<double>(f, choices);
      }
    }
  }
}

TEST_F(VulkanMatmul, LanesBeyondTheRowsOfABlockReadNothing) {
  Choices choices = device_->choices();
  if (!choices.matmul_by_subgroup) GTEST_SKIP() << "products are tiled here";
  choices.most_iterations = 64;  // long rows, hence blocks of few of them
  EXPECT_THAT(matmul_shader({1, 8, 33, 1 << 16}, choices).glsl, testing::HasSubstr("if (lane_row + 0u < 8u)"));
}

// Longer than any loop that llvmpipe runs to its end.
TEST_F(VulkanMatmul, AddsUpLongRows) {
  check<float>({1, 3, 10, 70001}, device_->choices());
  check<float>({1, 20, 40, 200000, true}, device_->choices());
}

TEST_F(VulkanMatmul, MultipliesInTheTilingsOfOtherDevices) {
  for (const Choices& choices : tilings()) {
    for (const int transposed : {0, 1, 2, 3}) {
      for (DotForm f : {DotForm{2, 17, 33, 65}, DotForm{1, 130, 130, 40}}) {
        f.lhs_transposed = transposed & 1;
        f.rhs_transposed = transposed & 2;
        check<float>(f, choices);
        if (choices.float64 && choices.tile_m >= 64 && f.batch > 1) check<double>(f, choices);
      }
    }
  }
  if (HasFailure() || tilings().empty()) return;
  Choices choices = tilings().back();
  choices.tile_m = 32, choices.tile_n = 8;  // unequal sides
  check<float>({1, 40, 40, 70}, choices);
}

TEST_F(VulkanMatmul, WholeNumbersAreExactAndTheSameEachTime) {
  const DotForm f{2, 100, 90, 200};
  std::vector<float> lhs(2 * 100 * 200), rhs(2 * 200 * 90);
  for (size_t i = 0; i < lhs.size(); ++i) lhs[i] = static_cast<float>(i * 7 % 33) - 16;
  for (size_t i = 0; i < rhs.size(); ++i) rhs[i] = static_cast<float>(i * 5 % 29) - 14;
  const std::vector<float> got = product(f, device_->choices(), lhs, rhs);
  const std::vector<double> want = product_by_loops(f, lhs, rhs);
  EXPECT_TRUE(std::equal(got.begin(), got.end(), want.begin(), want.end()));
  const auto sines = product_operand<float>(2 * 100 * 200, 3), cosines = product_operand<float>(2 * 200 * 90, 4);
  const auto once = product(f, device_->choices(), sines, cosines),
             again = product(f, device_->choices(), sines, cosines);
  EXPECT_EQ(std::memcmp(once.data(), again.data(), once.size() * sizeof(float)), 0);
}

// What fills a tile up beyond the operand does not meet the values inside.
TEST_F(VulkanMatmul, InfinitiesStayInTheirRow) {
  const DotForm f{1, 33, 35, 37};
  auto lhs = product_operand<float>(33 * 37, 1);
  const auto rhs = product_operand<float>(37 * 35, 2);
  std::fill_n(lhs.begin() + 32 * 37, 37, std::numeric_limits<float>::infinity());
  const std::vector<float> got = product(f, device_->choices(), lhs, rhs);
  for (size_t i = 0; i < got.size(); ++i) EXPECT_EQ(std::isfinite(got[i]), i < 32 * 35) << i;
}

TEST_F(VulkanMatmul, RefusesDoublesWithoutThem) {
  Choices choices = device_->choices();
  choices.float64 = false;
  try {
    matmul_shader({1, 8, 8, 8, false, false, DType::f64}, choices);
    FAIL() << "no error";
  } catch (const UserError& error) {
    EXPECT_NE(std::string(error.what()).find("float64"), std::string::npos) << error.what();
  }
}

}  // namespace
}  // namespace neap::vk
