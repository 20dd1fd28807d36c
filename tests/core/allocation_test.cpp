// Where an allocation fails, nothing is lost and nothing stays counted; what ends a life needs no memory.
#include <neap/bytes.h>
#include <neap/error.h>
#include <neap/memory.h>

#include <cstring>

#include "core/buffer.h"
#include "core/heap.h"
#include "core/json.h"
#include "tests/failing_new.h"
#include "tests/mappings.h"

namespace neap {
namespace {

using namespace literals;

class FailingAllocations : public testing::Test {
 protected:
  void SetUp() override {
    memory::set_limit(std::nullopt);
    memory::release_cached();
    ASSERT_EQ(memory::live_bytes(), 0u);
  }
};

// What a run does: an arena, results carved from it, small buffers beside them, and the same again out of the cache.
void use_buffers() {
  for (int round = 0; round < 2; ++round) {
    const BufferPtr small = allocate(1000, "a"), large = allocate(3_MiB, "b");
    const Piece wanted[] = {{0, 100}, {1_MiB, 4096}, {1_MiB + 4096, 0}, {2_MiB, 300_KiB}, {5_MiB, 1_MiB}};
    std::vector<BufferPtr> pieces = carve(allocate(7_MiB, "arena"), wanted);
    pieces.erase(pieces.begin() + 1);
    const Piece halves[] = {{0, 512}, {512, 512}};
    const std::vector<BufferPtr> parts = carve(allocate(1024, "small arena"), halves);
    EXPECT_TRUE(carve(allocate(2_MiB, "nothing"), {}).empty());
    const BufferPtr wrapped = wrap(small->data(), 10, small);
    std::memset(pieces.back()->data(), 1, pieces.back()->requested());
  }
}

TEST_F(FailingAllocations, LeaveNothingCountedOrMapped) {
  if (!kNewCanFail) GTEST_SKIP() << "a sanitizer has an operator new of its own";
  use_buffers();
  memory::release_cached();
  const size_t before = mappings();
  const size_t failed = fail_each_allocation(use_buffers, [&] {
    ASSERT_EQ(memory::live_bytes(), 0u);
    memory::release_cached();
    ASSERT_EQ(memory::cached_bytes(), 0u);
  });
  EXPECT_GT(failed, 40u);
  EXPECT_LE(mappings(), before + 2);
  use_buffers();
  EXPECT_EQ(memory::live_bytes(), 0u);
}

TEST_F(FailingAllocations, RefusedBuffersLeaveNothingEither) {
  for (size_t n = 1; n < 50; ++n) {
    detail::Heap::instance().refuse(n);
    bool refused = false;
    try {
      use_buffers();
    } catch (const OutOfMemoryError&) {
      refused = true;
    }
    ASSERT_EQ(refused, detail::Heap::instance().refused());
    detail::Heap::instance().refuse(0);
    ASSERT_EQ(memory::live_bytes(), 0u);
    if (!refused) {
      EXPECT_GT(n, 10u);
      return;
    }
  }
  FAIL() << "refused without end";
}

TEST_F(FailingAllocations, EndingABufferTakesNoMemory) {
  if (!kNewCanFail) GTEST_SKIP() << "a sanitizer has an operator new of its own";
  std::vector<BufferPtr> pieces;
  for (int i = 0; i < 3; ++i) {
    std::vector<Piece> wanted;
    for (size_t k = 0; k < 60; ++k) wanted.push_back({k * 128_KiB, 64_KiB});
    for (BufferPtr& piece : carve(allocate(8_MiB, "arena"), wanted)) pieces.push_back(std::move(piece));
  }
  failing_new = {1, true, 0, false};
  for (size_t i = 0; i < pieces.size(); ++i) pieces[i * 7 % pieces.size()].reset();
  const bool asked = failing_new.struck;
  failing_new = {};
  EXPECT_FALSE(asked);
  EXPECT_EQ(memory::live_bytes(), 0u);
  EXPECT_GT(memory::cached_bytes(), 0u);
}

TEST_F(FailingAllocations, JsonDiesWithoutMemory) {
  if (!kNewCanFail) GTEST_SKIP() << "a sanitizer has an operator new of its own";
  const auto use_json = [] {
    JsonWriter out(2);
    out.begin_object();
    for (int i = 0; i < 20; ++i) {
      out.key("a name that is no short string " + std::to_string(i)).begin_array();
      for (int k = 0; k < i; ++k) out.value(1.5 * k).value("a text that is no short string either");
      out.end_array();
    }
    const std::string text = out.end_object().take();
    EXPECT_EQ(Json::parse(text).size(), 20u);
  };
  EXPECT_GT(fail_each_allocation(use_json, [] {}), 500u);
}

}  // namespace
}  // namespace neap
