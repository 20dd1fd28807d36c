// Whole programs on the first Vulkan device, by the public interface, in whichever memory mode NEAP_VULKAN_MEMORY says.
#include "tests/vulkan/fixture.h"

#include <unistd.h>

#include <atomic>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <thread>

#include "backends/vulkan/device_impl.h"
#include "core/buffer.h"

namespace neap {
namespace {

using namespace neap::literals;
using testing::ElementsAre;
using testing::HasSubstr;

class Vulkan : public OnVulkan {
 protected:
  static JitOptions on_device() { return {.device = neap::vulkan()}; }

  /// What a call of the compiled f holds at its worst moment on the device, the arguments included.
  template <class F, class... Args>
  static size_t measured_peak(const F& f, const Args&... args) {
    const std::tuple there{to_device(args, neap::vulkan())...};
    f.compile(args...);
    synchronize();
    const size_t arguments = (round_up_64(args.bytes()) + ... + 0);
    const size_t others = memory::live_bytes(neap::vulkan()) - arguments;
    memory::reset_peak(neap::vulkan());
    const auto result = std::apply(f, there);
    synchronize();
    return memory::peak_bytes(neap::vulkan()) - others;
  }
  static bool own_memory() { return vk::Device::get(0)->choices().memory != vk::Choices::Memory::import; }
};

/// f of the arguments by the CPU backend; in a build without it, by the reference interpreter.
template <class F, class... Args>
auto elsewhere(const F& f, const Args&... args) {
#ifdef NEAP_CPU
  return jit(f, {.device = cpu()})(args...);
#else
  const eager_reference mode;
  return f(args...);
#endif
}

Array running_sum(const Array& x) {
  return scan([](const Array& c, const Array& y) { return std::pair(c + y, c + y); }, zeros({}), x).second;
}

Array gather_loss(const Array& x, const Array& idx) { return sum(gather(x, idx) * 2.5f); }

TEST_F(Vulkan, AnElementwiseChainIsTheCpus) {
  const auto f = [](const Array& x) { return exp(sin(x) * 2.0f) + x / 3.0f; };
  const Array x = linspace(-3, 3, 1001);
  const std::vector<float> got = jit(f, on_device())(x).to_vector<float>();
  const std::vector<float> want = elsewhere(f, x).to_vector<float>();
  for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(got[i], want[i], 4e-7f * std::abs(want[i]) + 1e-7f) << i;
}

TEST_F(Vulkan, RandomBitsAreTheCpus) {
  const auto f = [](const Array& key) { return random::bits(key, {257, 129}); };
  const Array key = random::key(42);
  EXPECT_EQ(jit(f, on_device())(key).to_vector<uint32_t>(), elsewhere(f, key).to_vector<uint32_t>());
}

TEST_F(Vulkan, PlannedIsMeasured) {
  const Array key = random::key(1);
  const auto normal = jit([](const Array& k) { return random::normal(k, {1023, 511}, bf16); }, on_device());
  EXPECT_EQ(measured_peak(normal, key), normal.plan(key).peak_bytes());

  const Array x = reshape(arange(0, 4096).astype(f32), {16, 16, 16});
  const Array idx = (random::bits(key, {100000, 3}) % 16).astype(i32);
  const auto gradient = jit(grad(gather_loss), on_device());
  EXPECT_EQ(measured_peak(gradient, x, idx), gradient.plan(x, idx).peak_bytes());

  const Array a = random::normal(key, {65, 33}), b = random::normal(key, {33, 47});
  const auto product = jit([](const Array& p, const Array& q) { return sum(tanh(matmul(p, q)) * 2.0f); }, on_device());
  EXPECT_EQ(measured_peak(product, a, b), product.plan(a, b).peak_bytes());

  JitOptions naive = on_device();
  naive.pipeline = Pipeline::naive;
  const auto slow = jit([](const Array& k) { return random::normal(k, {1023, 511}, bf16); }, naive);
  EXPECT_EQ(measured_peak(slow, key), slow.plan(key).peak_bytes());
  EXPECT_EQ(slow(key).astype(f32).to_vector<float>(), normal(key).astype(f32).to_vector<float>());
}

// What is freed serves the next call, and is never more than what calls held.
TEST_F(Vulkan, FreedMemoryIsKeptForTheNextCall) {
  if (!own_memory()) GTEST_SKIP() << "arrays lie in the host's memory";
  const Device device = neap::vulkan();
  const auto twice = jit([](const Array& x) { return x + x; }, on_device());
  const Array x = to_device(zeros({1 << 20}), device);
  memory::release_cached(device);
  EXPECT_EQ(memory::cached_bytes(device), 0u);
  const size_t others = memory::live_bytes(device);
  memory::reset_peak(device);
  for (int i = 0; i < 3; ++i) {
    twice(x).wait();
    synchronize();
    EXPECT_EQ(memory::live_bytes(device), others);
    EXPECT_EQ(memory::cached_bytes(device), size_t{4} << 20);
  }
  const auto other = jit([](const Array& y) { return y[{Slice(0, 1 << 19)}] * 3.0f; }, on_device());
  for (int i = 0; i < 3; ++i) {
    other(x).wait();
    synchronize();
    EXPECT_LE(memory::live_bytes(device) + memory::cached_bytes(device), memory::peak_bytes(device));
  }
  memory::release_cached(device);
  EXPECT_EQ(memory::cached_bytes(device), 0u);
}

TEST_F(Vulkan, GatherGradientCounts) {
  const Array x = zeros({8, 8, 8});
  const Array idx = (random::bits(random::key(3), {70000, 3}) % 8).astype(i32);
  const std::vector<float> got = jit(grad(gather_loss), on_device())(x, idx).to_vector<float>();
  EXPECT_EQ(got, elsewhere(grad(gather_loss), x, idx).to_vector<float>());
}

// Gathers, and counts in several tables, of arrays large enough for texel buffers where the device gains from them.
bool gathers_are_the_cpus() {
  const auto gathered = [](const Array& x, const Array& idx) { return gather(x, idx) * 2.0f; };
  const JitOptions on_device{.device = neap::vulkan()};
  const auto forward = jit(gathered, on_device);
  const auto gradient = jit(grad(gather_loss), on_device);
  // Of results that lie in the arena, not all where it begins.
  const auto of_products = [](const Array& a, const Array& idx) {
    return gather(matmul(a, a), idx) - gather(matmul(a, a + 1.0f), idx);
  };
  const Array a = (random::bits(random::key(5), {256, 256}) % 8).astype(f32);
  const Array rows = (random::bits(random::key(6), {100000, 2}) % 256).astype(i16);
  bool same =
      jit(of_products, on_device)(a, rows).to_vector<float>() == elsewhere(of_products, a, rows).to_vector<float>();
  for (const DType index : {i32, i16, i8}) {
    for (const uint32_t seed : {1u, 2u}) {  // other arrays elsewhere in memory, with the same commands
      const Array x = random::uniform(random::key(seed), {64, 64, 64});
      const Array idx = (random::bits(random::key(seed + 7), {300000, 3}) % 64).astype(index);
      for (int repeat = 0; repeat < 2; ++repeat) {
        same &= forward(x, idx).to_vector<float>() == elsewhere(gathered, x, idx).to_vector<float>();
        same &= gradient(x, idx).to_vector<float>() == elsewhere(grad(gather_loss), x, idx).to_vector<float>();
      }
    }
  }
  return same;
}

TEST_F(Vulkan, LargeGathersAreTheCpus) { EXPECT_TRUE(gathers_are_the_cpus()); }

// The same with texel buffers that reach few elements, and that begin nowhere where arrays lie.
TEST_F(Vulkan, LargeGathersWithoutTexelBuffersAreTheCpus) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const std::string path = testing::TempDir() + "neap-record-" + std::to_string(getpid()) + ".json";
  for (const bool aligned : {false, true}) {
    const auto run = [&] {
      vk::DeviceRecord record = vk::Device::list().at(0);
      (aligned ? record.max_texel_elements : record.texel_alignment) = aligned ? 1000 : 1u << 30;
      std::ofstream(path) << vk::to_json(record);
      setenv("NEAP_VULKAN_RECORD", path.c_str(), 1);
      const bool same = gathers_are_the_cpus();
      std::remove(path.c_str());
      std::fprintf(stderr, same ? "the same" : "not the same");
      std::_Exit(same ? 0 : 1);
    };
    EXPECT_EXIT(run(), testing::ExitedWithCode(0), "the same");
  }
}

TEST_F(Vulkan, LoopsRunTheirBodies) {
  const auto f = [](const Array& x0, const Array& xs) {
    return scan(
        [](const Array& carry, const Array& x) {
          const auto inner = scan([](const Array& c, const Array& y) { return std::pair(c + y, c * y); }, carry,
                                  broadcast_to(x, {3}), 3);
          return std::pair(inner.first * 0.5f, inner.second);
        },
        x0, xs, xs.shape(0));
  };
  const Array x0 = full({}, 1.0f, f32), xs = linspace(0, 1, 37);
  const auto got = jit(f, on_device())(x0, xs);
  const auto want = elsewhere(f, x0, xs);
  EXPECT_EQ(got.first.to_vector<float>(), want.first.to_vector<float>());
  EXPECT_EQ(got.second.to_vector<float>(), want.second.to_vector<float>());
}

TEST_F(Vulkan, ManyCallsWithoutWaitingGiveTheirOwnResults) {
  const auto f = jit([](const Array& x) { return running_sum(x); }, on_device());
  std::vector<Array> results;
  for (int i = 0; i < 20; ++i) results.push_back(f(full({1000}, static_cast<float>(i), f32)));
  for (int i = 0; i < 20; ++i) EXPECT_EQ(results[i].to_vector<float>()[7], static_cast<float>(i) * 8);
}

TEST_F(Vulkan, ThreadsShareADevice) {
  const auto f = jit([](const Array& x) { return sum(x * x); }, on_device());
  std::vector<std::thread> threads;
  std::vector<float> got(8);
  for (int t = 0; t < 8; ++t) {
    threads.emplace_back([&, t] {
      for (int i = 0; i < 10; ++i) got[t] = f(full({5000}, static_cast<float>(t), f32)).item<float>();
    });
  }
  for (std::thread& t : threads) t.join();
  for (int t = 0; t < 8; ++t) EXPECT_EQ(got[t], 5000.0f * static_cast<float>(t * t));
}

TEST_F(Vulkan, DonatedMemoryIsReused) {
  JitOptions options = on_device();
  options.donate = {0};
  const auto f = jit([](const Array& x) { return x * 2.0f + 1.0f; }, options);
  Array x = to_device(full({4096}, 3.0f, f32), neap::vulkan());
  for (int i = 0; i < 3; ++i) x = f(std::move(x));
  EXPECT_EQ(x.to_vector<float>()[4095], 31.0f);
  EXPECT_EQ(f.last_plan().peak_bytes(), 4096 * 4u);
}

TEST_F(Vulkan, ABudgetHolds) {
  JitOptions options = on_device();
  options.memory_budget = 4_MiB;
  const auto f =
      jit([](const Array& k, const Array& w) { return matmul(random::normal(k, {100000, 16}), w); }, options);
  const Array key = random::key(5), w = random::normal(key, {16, 4});
  const size_t peak = measured_peak(f, key, w);
  EXPECT_EQ(peak, f.plan(key, w).peak_bytes());
  EXPECT_LE(peak, 4_MiB);
}

TEST_F(Vulkan, EmptyAndScalarArrays) {
  const auto f = jit([](const Array& x) { return std::pair(x + 1.0f, sum(x)); }, on_device());
  const auto empty = f(zeros({0, 3}));
  EXPECT_EQ(empty.first.size(), 0);
  EXPECT_EQ(empty.second.item<float>(), 0.0f);
  EXPECT_EQ(f(full({}, 2.0f, f32)).second.item<float>(), 2.0f);
}

#ifdef NEAP_CPU
TEST_F(Vulkan, ResultsMoveBetweenDevices) {
  const auto there = jit([](const Array& x) { return x + 1.0f; }, on_device());
  const auto here = jit([](const Array& x) { return x * 2.0f; }, {.device = cpu()});
  EXPECT_THAT(there(here(there(full({3}, 1.0f, f32)))).to_vector<float>(), ElementsAre(5.0f, 5.0f, 5.0f));
}
#endif

TEST_F(Vulkan, StepsAreTimedOnTheDevice) {
  const auto f = jit([](const Array& x) { return sum(exp(x)); }, on_device());
  const Array x = zeros({100000});
  f(x);
  const Profile profile;
  f(x);
  ASSERT_FALSE(profile.slices().empty());
  for (const auto& slice : profile.slices()) EXPECT_GE(slice.end, slice.begin);
}

TEST_F(Vulkan, ALostDeviceIsOpenedAnewByTheNextCall) {
  const auto f = jit([](const Array& x) { return x + 1.0f; }, on_device());
  const Array x = full({3}, 1.0f, f32);
  EXPECT_THAT(f(x).to_vector<float>(), ElementsAre(2.0f, 2.0f, 2.0f));
  synchronize();
  auto& device = static_cast<vk::DeviceImpl&>(*vk::Device::get(0));
  EXPECT_THROW(device.check(VK_ERROR_DEVICE_LOST, "a test"), DeviceError);
  EXPECT_NO_THROW(synchronize());  // nothing was running
  EXPECT_THAT(f(x).to_vector<float>(), ElementsAre(2.0f, 2.0f, 2.0f));
}

TEST_F(Vulkan, DeterministicSumsAreTakenInAFixedOrder) {
  JitOptions options = on_device();
  options.deterministic = true;
  const auto loss = [](const Array& x, const Array& idx, const Array& w) { return sum(sin(gather(x, idx)) * w); };
  const Array key = random::key(11);
  for (const int64_t rows : {1000, 200000}) {  // straight into the output; in tables of parts
    const Array x = random::normal(key, {6, 5, 4}), w = random::normal(key, {rows});
    const Array idx = (random::bits(key, {rows, 3}) % 4).astype(i32);
    const auto f = jit(grad(loss), options);
    const std::vector<float> first = f(x, idx, w).to_vector<float>();
    for (int i = 0; i < 3; ++i) EXPECT_EQ(f(x, idx, w).to_vector<float>(), first);
    const std::vector<float> want = elsewhere(grad(loss), x, idx, w).to_vector<float>();
    for (size_t i = 0; i < want.size(); ++i) EXPECT_NEAR(first[i], want[i], 1e-5f * (1 + std::abs(want[i])));
    EXPECT_EQ(measured_peak(f, x, idx, w), f.plan(x, idx, w).peak_bytes());
  }
}

TEST_F(Vulkan, MemoryOfTheDeviceBoundsThePlan) {
  if (!own_memory()) GTEST_SKIP() << "the device uses the host's memory";
  const auto f = jit(
      [](const Array& x) {
        std::vector<Array> many;  // each fits in an allocation; together they are more than any device has
        for (int i = 0; i < 2000; ++i) many.push_back(broadcast_to(x, {int64_t{1} << 28}) * static_cast<float>(i));
        return many;
      },
      on_device());
  EXPECT_THROW(f.compile(full({1}, 1.0f, f32)), BudgetError);
  EXPECT_GT(f.plan(full({1}, 1.0f, f32)).peak_bytes(), size_t{1} << 40);
}

TEST_F(Vulkan, WhatWasReadCanBeDonatedAndReadAgain) {
  JitOptions takes = on_device();
  takes.donate = {0};
  const auto f = jit([](const Array& x) { return x * 3.0f; }, takes);
  const Array once = f(to_device(full({1000}, 1.0f, f32), neap::vulkan()));
  EXPECT_EQ(once.to_vector<float>()[5], 3);
  const Array twice = f(once);
  EXPECT_EQ(twice.to_vector<float>()[5], 9);
  EXPECT_EQ(f(twice).to_vector<float>()[5], 27);
}

TEST_F(Vulkan, WaitingBesideCallsOfOtherThreadsFreesNothingInUse) {
  const auto f = jit([](const Array& x) { return sum(running_sum(x)); }, on_device());
  std::atomic<bool> over = false;
  std::thread waits([&] {
    while (!over) synchronize();
  });
  std::vector<std::thread> calls;
  std::vector<float> got(3);
  for (int t = 0; t < 3; ++t) {
    calls.emplace_back([&, t] {
      Array last;
      for (int i = 0; i < 20; ++i) last = f(full({300}, static_cast<float>(t), f32));
      got[t] = last.item<float>();
    });
  }
  for (std::thread& c : calls) c.join();
  over = true;
  waits.join();
  EXPECT_THAT(got, ElementsAre(0, 45150, 90300));
}

TEST_F(Vulkan, CallsWithoutWaitingHoldNoMoreThanTheirPlans) {
  const Array one = full({}, 1.0f, f32);
  const auto make = jit([](const Array& x) { return broadcast_to(x, {1 << 16}); }, on_device());
  const auto slow = jit([](const Array& x) { return x + running_sum(linspace(0, 1, 2000))[1999] * x[0]; }, on_device());
  const auto run = [&] {
    for (int i = 0; i < 3; ++i) {
      const Array x = make(one);
      slow(x);
      slow(x);
    }
    synchronize();
  };
  run();
  const size_t before = memory::live_bytes(neap::vulkan());
  memory::reset_peak(neap::vulkan());
  run();
  EXPECT_LE(memory::peak_bytes(neap::vulkan()) - before, slow.plan(spec({1 << 16}, f32)).peak_bytes());
  EXPECT_EQ(memory::live_bytes(neap::vulkan()), before);
}

TEST_F(Vulkan, SlicesOfNarrowArraysKeepTheirNeighbours) {
  const auto f = [](const Array& xs, const Array& idx) {
    return scan(
        [](const Array& c, const std::vector<Array>& x) {
          return std::pair(c + x[0], std::vector<Array>{zeros({3}, u8).at(x[1]).add(c), c});
        },
        zeros({3}, u8), std::vector<Array>{xs, idx}, {}, /*reverse=*/true);
  };
  const Array xs = random::bits(random::key(5), {7, 3}).astype(u8), idx = random::bits(random::key(6), {7, 3}) % 3u;
  const auto got = jit(f, on_device())(xs, idx), want = elsewhere(f, xs, idx);
  EXPECT_EQ(got.first.to_vector<int>(), want.first.to_vector<int>());
  for (int i = 0; i < 2; ++i) EXPECT_EQ(got.second[i].to_vector<int>(), want.second[i].to_vector<int>());
}

// In a process of its own, since a device is opened once.
TEST_F(Vulkan, DoublesAreRefusedWhereTheDeviceHasNone) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto doubles_on_a_phone = [] {
    setenv("NEAP_VULKAN_RECORD", NEAP_TESTS_DIR "/data/devices/arm-mali-g57.json", 1);
    try {
      jit([](const Array& x) { return x + x; }, on_device())(full({3}, 1.0, f64));
    } catch (const UserError& error) {
      std::fputs(error.what(), stderr);
      std::_Exit(0);
    }
    std::_Exit(1);
  };
  EXPECT_EXIT(doubles_on_a_phone(), testing::ExitedWithCode(0), "lacks float64 arithmetic");
}

TEST_F(Vulkan, FunctionsOfFloatsNeedNoDoublesOfTheDevice) {
  GTEST_FLAG_SET(death_test_style, "threadsafe");
  const auto on_a_phone = [] {
    setenv("NEAP_VULKAN_RECORD", NEAP_TESTS_DIR "/data/devices/arm-mali-g57.json", 1);
    const auto f = [](const Array& x) { return concatenate({sin(x * 1e9f), cbrt(x)}, 0); };
    const Array x = linspace(-9, 9, 1000);
    const std::vector<float> got = jit(f, on_device())(x).to_vector<float>(), want = elsewhere(f, x).to_vector<float>();
    float worst = 0;
    for (size_t i = 0; i < want.size(); ++i) {
      worst = std::max(worst, std::abs(got[i] - want[i]) / std::max(std::abs(want[i]), 1e-30f));
    }
    std::fprintf(stderr, "off by %g\n", static_cast<double>(worst));
    std::_Exit(worst <= 2.5e-7f ? 0 : 1);
  };
  EXPECT_EXIT(on_a_phone(), testing::ExitedWithCode(0), "off by");
}

TEST(VulkanDevice, AnUnknownOneIsNamed) {
  try {
    jit([](const Array& x) { return x; }, {.device = neap::vulkan(99)})(zeros({1}));
    FAIL() << "expected DeviceError";
  } catch (const DeviceError& e) {
    EXPECT_THAT(e.what(), HasSubstr("99"));
  }
}

}  // namespace
}  // namespace neap
