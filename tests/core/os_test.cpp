// What is asked of the operating system holds on every system; what it need not tell is asked only where it tells.
#include "core/os/os.h"

#include <gtest/gtest.h>

#include <cstring>

#ifndef __has_feature
#define __has_feature(x) 0
#endif

namespace neap {
namespace {

TEST(Os, MapsMemoryThatBeginsWhereItIsAsked) {
  for (const size_t alignment : {os::page_bytes(), size_t{64} << 10, size_t{2} << 20}) {
    const size_t bytes = 3 * alignment;
    std::byte* const data = os::map(bytes, alignment);
    ASSERT_TRUE(data);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % alignment, 0u);
    std::memset(data, 7, bytes);
    os::drop(data + 1, bytes - 1);  // the first page and what is no whole one stay
    EXPECT_EQ(data[0], std::byte{7});
    std::memset(data, 8, bytes);
    EXPECT_EQ(data[bytes - 1], std::byte{8});
    os::unmap(data, bytes);
  }
}

TEST(Os, RefusesMoreThanThereIs) { EXPECT_FALSE(os::map(size_t{1} << 60, os::page_bytes())); }

TEST(Os, KnowsSomeCaches) {
  const os::Caches caches = os::caches();
  EXPECT_GE(caches.of_core, size_t{16} << 10);
  EXPECT_GE(caches.shared, caches.of_core / 2);
}

TEST(Os, DroppedPagesGoBack) {
  if (os::resident_bytes() == 0) GTEST_SKIP() << "the system does not tell";
#if defined(__SANITIZE_THREAD__) || __has_feature(thread_sanitizer)
  GTEST_SKIP() << "what the sanitizer keeps of the pages stays";
#endif
  constexpr size_t kBytes = size_t{64} << 20;
  std::byte* const data = os::map(kBytes, os::page_bytes());
  const size_t before = os::resident_bytes();
  std::memset(data, 1, kBytes);
  EXPECT_GT(os::resident_bytes(), before + kBytes / 2);
  os::drop(data, kBytes);
  EXPECT_LT(os::resident_bytes(), before + kBytes / 2);
  os::unmap(data, kBytes);
}

TEST(Os, AllocatesAligned) {
  for (const size_t alignment : {size_t{64}, size_t{4096}}) {
    void* const data = os::allocate(100, alignment);
    ASSERT_TRUE(data);
    EXPECT_EQ(reinterpret_cast<uintptr_t>(data) % alignment, 0u);
    std::memset(data, 1, 100);
    os::release(data);
  }
}

TEST(Os, TellsWhereTheStackIs) {
  const os::Stack stack = os::stack();
  if (stack.size == 0) GTEST_SKIP() << "the system does not tell";
  const auto here = reinterpret_cast<uintptr_t>(__builtin_frame_address(0));
  EXPECT_GE(here, stack.low);
  EXPECT_LT(here - stack.low, stack.size);
}

}  // namespace
}  // namespace neap
