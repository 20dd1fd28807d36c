// Buffers: what counts as live, the peak and the limit to the byte, the cache of freed blocks, carving, wrapped memory,
// poison, threads.
#include "core/buffer.h"

#include <neap/bytes.h>
#include <neap/error.h>
#include <neap/memory.h>

#include <sys/resource.h>
#include <unistd.h>

#ifdef __linux__
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#endif

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <random>
#include <thread>

#include "core/os/os.h"
#include "tests/mappings.h"

namespace neap {
namespace {

using namespace literals;

#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__) || __has_feature(address_sanitizer) || \
    __has_feature(thread_sanitizer)
constexpr bool kSanitized = true;  // shadow memory is resident too
#else
constexpr bool kSanitized = false;
#endif

// Every test starts with no block alive, nothing cached and no limit.
class BufferTest : public testing::Test {
 protected:
  void SetUp() override {
    memory::set_limit(std::nullopt);
    memory::release_cached();
    memory::reset_peak();
    ASSERT_EQ(memory::live_bytes(), 0u);
    ASSERT_EQ(memory::cached_bytes(), 0u);
  }
  void TearDown() override {
    memory::set_limit(std::nullopt);
    EXPECT_EQ(memory::live_bytes(), 0u);
  }
};

void touch(const BufferPtr& buffer) { std::memset(buffer->data(), 1, buffer->requested()); }

TEST_F(BufferTest, AccountsRequestsRoundedUpTo64WhileTheHandleLives) {
  for (const size_t bytes : {size_t{1}, size_t{64}, size_t{65}, 64_KiB + 1, 1_MiB - 1, 1_MiB, 1_MiB + 1, 5_MiB + 3}) {
    BufferPtr a = allocate(bytes, "a");
    EXPECT_EQ(a->requested(), bytes);
    EXPECT_EQ(a->bytes(), (bytes + 63) / 64 * 64);
    EXPECT_EQ(memory::live_bytes(), a->bytes());
    BufferPtr same = a;
    a.reset();
    EXPECT_EQ(memory::live_bytes(), same->bytes());
    touch(same);
    same.reset();
    EXPECT_EQ(memory::live_bytes(), 0u) << bytes;
  }
}

TEST_F(BufferTest, EmptyBuffersAreValidAndCountNothing) {
  const BufferPtr a = allocate(0, "a");
  EXPECT_NE(a->data(), nullptr);
  EXPECT_EQ(a->bytes(), 0u);
  EXPECT_EQ(memory::live_bytes(), 0u);
}

TEST_F(BufferTest, Alignment) {
  auto aligned = [](const BufferPtr& b, size_t to) { return reinterpret_cast<uintptr_t>(b->data()) % to == 0; };
  for (int i = 0; i < 20; ++i) {
    EXPECT_TRUE(aligned(allocate(1 + i * 77, "a"), 64));
    EXPECT_TRUE(aligned(allocate(64_KiB + i, "a"), 4096));
    EXPECT_TRUE(aligned(allocate(1_MiB + i * 4096, "a"), 2_MiB));
  }
}

TEST_F(BufferTest, PeakIsTheHighWaterMark) {
  BufferPtr a = allocate(1000, "a");
  { const BufferPtr b = allocate(3_MiB, "b"); }
  EXPECT_EQ(memory::peak_bytes(), 1024 + 3_MiB);
  memory::reset_peak();
  EXPECT_EQ(memory::peak_bytes(), 1024u);
  a.reset();
  EXPECT_EQ(memory::peak_bytes(), 1024u);
  memory::reset_peak();
  EXPECT_EQ(memory::peak_bytes(), 0u);
}

TEST_F(BufferTest, LimitIsExact) {
  memory::set_limit(4_MiB);
  EXPECT_EQ(memory::limit(), 4_MiB);
  const BufferPtr a = allocate(3_MiB, "a");
  {
    const BufferPtr b = allocate(1_MiB, "b");
    EXPECT_THROW(allocate(1, "c"), OutOfMemoryError);
  }
  try {
    allocate(1_MiB + 1, "the arena of dloss");
    FAIL() << "no exception";
  } catch (const OutOfMemoryError& e) {
    const std::string text = e.what();
    for (const char* part : {"the arena of dloss", "1048640 bytes", "3.00 MiB live", "limit is 4.00 MiB"}) {
      EXPECT_NE(text.find(part), std::string::npos) << text;
    }
  }
  EXPECT_EQ(memory::peak_bytes(), 4_MiB) << "a refused request is not live";
  EXPECT_EQ(memory::live_bytes(), 3_MiB);
}

TEST_F(BufferTest, ImpossibleRequestsThrowBeforeAnythingIsTouched) {
  const size_t before = memory::resident_bytes();
  EXPECT_THROW(allocate(size_t{1} << 50, "a petabyte"), OutOfMemoryError);
  EXPECT_THROW(allocate(SIZE_MAX, "everything"), OutOfMemoryError);
  EXPECT_THROW(allocate(size_t{1} << 41, "two terabytes"), OutOfMemoryError) << "the machine has less";
  EXPECT_EQ(memory::live_bytes(), 0u);
  EXPECT_LT(memory::resident_bytes(), before + 16_MiB);
}

TEST_F(BufferTest, UntouchedPromisesCountAsTaken) {
  // Each request alone fits into any machine that this test runs on; all of them do not.
  std::vector<BufferPtr> held;
  EXPECT_THROW(
      {
        for (int i = 0; i < 1 << 14; ++i) held.push_back(allocate(1_GiB, "a gigabyte"));
      },
      OutOfMemoryError);
  EXPECT_FALSE(held.empty());
}

TEST_F(BufferTest, SecondRunReusesItsPages) {
  BufferPtr a = allocate(64_MiB, "a");
  BufferPtr b = allocate(20_MiB + 64, "b");
  touch(a);
  touch(b);
  const std::byte* pages[] = {a->data(), b->data()};
  a.reset();
  b.reset();
  EXPECT_GE(memory::cached_bytes(), 84_MiB);
  const size_t before = memory::resident_bytes();
  a = allocate(64_MiB, "a");
  b = allocate(20_MiB + 64, "b");
  EXPECT_EQ(a->data(), pages[0]);
  EXPECT_EQ(b->data(), pages[1]);
  EXPECT_EQ(memory::cached_bytes(), 0u);
  touch(a);
  touch(b);
  if (!kSanitized) {
    EXPECT_LT(memory::resident_bytes(), before + 2_MiB);
  }
}

TEST_F(BufferTest, ReusesABlockThatIsAtMostAnEighthTooLarge) {
  BufferPtr a = allocate(36_MiB, "a");
  const std::byte* pages = a->data();
  a.reset();
  EXPECT_NE(allocate(31_MiB, "too small")->data(), pages);
  a = allocate(32_MiB, "a");
  EXPECT_EQ(a->data(), pages);
  EXPECT_EQ(a->bytes(), 32_MiB);
  EXPECT_EQ(memory::live_bytes(), 32_MiB);
}

// The claim that planned equals measured rests on this: live and cached pages stay below the most that was ever live.
// In a process of its own, for no earlier test to have set the mark.
TEST_F(BufferTest, CachedMemoryStaysBelowTheHighWaterMark) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto run = [] {
    std::mt19937 random(7);
    std::vector<BufferPtr> held;
    size_t mark = 0;
    bool held_to_it = true;
    bool cached_some = false;
    const size_t base = memory::resident_bytes();
    for (int step = 0; step < 400; ++step) {
      if (memory::live_bytes() < 150_MiB && random() % 2) {
        BufferPtr slab = allocate(1_MiB + random() % 40_MiB, "a");
        touch(slab);
        const size_t third = slab->bytes() / 192 * 64;
        mark = std::max(mark, memory::live_bytes());
        const auto pieces = random() % 2 ? carve(std::move(slab), std::vector<Piece>{{third, third}, {0, 64}})
                                         : std::vector{std::move(slab)};
        held.insert(held.end(), pieces.begin(), pieces.end());
      } else if (!held.empty()) {
        held.erase(held.begin() + static_cast<long>(random() % held.size()));
      }
      const size_t rounding = 64 * 4096;  // each block to pages
      mark = std::max(mark, memory::live_bytes());
      held_to_it &= memory::live_bytes() + memory::cached_bytes() <= mark + rounding;
      cached_some |= memory::cached_bytes() > 20_MiB;
      if (!kSanitized) {
        held_to_it &= memory::resident_bytes() <= base + memory::live_bytes() + memory::cached_bytes() + 8_MiB;
      }
    }
    held.clear();
    memory::release_cached();
    held_to_it &= memory::cached_bytes() == 0 && (kSanitized || memory::resident_bytes() <= base + 8_MiB);
    _exit(held_to_it && cached_some && mark > 100_MiB ? 0 : 1);
  };
  EXPECT_EXIT(run(), testing::ExitedWithCode(0), "");
}

TEST_F(BufferTest, ALimitBoundsTheCacheToo) {
  BufferPtr a = allocate(40_MiB, "a");
  BufferPtr b = allocate(40_MiB, "b");
  touch(a);
  b.reset();
  memory::set_limit(50_MiB);
  EXPECT_LE(memory::cached_bytes(), 10_MiB);
  a.reset();
  EXPECT_LE(memory::cached_bytes(), 50_MiB);
}

TEST_F(BufferTest, CarveLeavesOnlyThePiecesCountedAndResident) {
  BufferPtr slab = allocate(100_MiB, "arena");
  touch(slab);
  std::memset(slab->data() + 40_MiB, 42, 100'000);
  const size_t before = memory::resident_bytes();

  const Piece wanted[] = {{40_MiB, 100'000}, {64, 10_MiB}, {90_MiB, 0}, {40_MiB + 100'032, 70'016}};
  std::vector<BufferPtr> pieces = carve(std::move(slab), wanted);
  ASSERT_EQ(pieces.size(), 4u);
  EXPECT_EQ(pieces[0]->requested(), 100'000u);
  EXPECT_EQ(pieces[3]->data(), pieces[0]->data() + 100'032);  // they share a page
  EXPECT_EQ(pieces[2]->bytes(), 0u);
  EXPECT_EQ(memory::live_bytes(), 100'032 + 10_MiB + 70'016);
  EXPECT_EQ(memory::peak_bytes(), 100_MiB);
  EXPECT_LE(memory::cached_bytes(), 90_MiB);
  memory::release_cached();
  if (!kSanitized) {
    EXPECT_LT(memory::resident_bytes(), before - 88_MiB);
  }
  for (size_t i = 0; i < 100'000; ++i) ASSERT_EQ(pieces[0]->data()[i], std::byte{42});
  ASSERT_EQ(pieces[1]->data()[10_MiB - 1], std::byte{1});

  pieces[0].reset();  // shares its page with a piece that lives
  EXPECT_EQ(memory::live_bytes(), 10_MiB + 70'016);
  EXPECT_EQ(pieces[3]->data()[0], std::byte{1});
  pieces[1].reset();
  EXPECT_EQ(memory::live_bytes(), 70'016u);
  memory::release_cached();
  EXPECT_EQ(pieces[3]->data()[0], std::byte{1});
  if (!kSanitized) {
    EXPECT_LT(memory::resident_bytes(), before - 98_MiB);
  }
}

// Fresh pages so far, of this process.
int64_t faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

// The pages of pieces move away, the rest serves the next run, and the pieces of an earlier run fill the holes: no run
// takes fresh pages but the first two.
TEST_F(BufferTest, ACarvedSlabServesAgain) {
  for (const size_t unit : {16_KiB, 1_MiB}) {       // the arena: 800 KiB, of small pages, and 50 MiB
    for (const size_t result : {5, 30}) {           // units
      for (const bool one_lives : {false, true}) {  // until the next run has ended
        std::vector<BufferPtr> last;
        for (int run = 0; run < 6; ++run) {
          const int64_t before = faults();
          BufferPtr slab = allocate(50 * unit, "arena");
          touch(slab);
          std::memset(slab->data() + 12 * unit, run + 1, result * unit);
          const Piece wanted[] = {{12 * unit, result * unit}, {45 * unit + 64, 64}};
          auto pieces = carve(std::move(slab), wanted);
          if (run > 1 && !kSanitized) {
            EXPECT_LT(faults() - before, 10) << unit << " " << result << " " << one_lives << " " << run;
          }
          EXPECT_EQ(memory::live_bytes(), (last.empty() ? 1 : 2) * (result * unit + 64));
          EXPECT_EQ(pieces[0]->data()[result * unit - 1], static_cast<std::byte>(run + 1));
          EXPECT_EQ(pieces[1]->data()[63], std::byte{1});
          if (!last.empty()) EXPECT_EQ(last[0]->data()[0], static_cast<std::byte>(run));
          if (one_lives) last = std::move(pieces);
        }
        last.clear();
        memory::release_cached();
        EXPECT_EQ(memory::cached_bytes(), 0u);
      }
    }
  }
}

// A small result, such as a loss, does not keep the arena from serving again, nor does it take a mapping.
TEST_F(BufferTest, SmallPiecesAreCopied) {
  std::vector<BufferPtr> losses;
  const std::byte* base = nullptr;
  const size_t before = mappings();
  for (int run = 0; run < 1000; ++run) {
    BufferPtr slab = allocate(1_MiB, "arena");
    if (run > 0) EXPECT_EQ(slab->data(), base);
    base = slab->data();
    std::memset(slab->data() + 300_KiB, run % 100, 64);
    const Piece wanted[] = {{300_KiB, 60}};
    losses.push_back(std::move(carve(std::move(slab), wanted)[0]));
  }
  EXPECT_LT(mappings(), before + 10);
  EXPECT_EQ(memory::live_bytes(), 64'000u);
  EXPECT_EQ(memory::peak_bytes(), 999 * 64 + 1_MiB);
  for (int run = 0; run < 1000; ++run) EXPECT_EQ(losses[static_cast<size_t>(run)]->data()[59], std::byte(run % 100));
}

// The system allows a process 65,530 mappings, of which what moved takes its share.
TEST_F(BufferTest, MovedPiecesLeaveMappingsToOthers) {
  if (kSanitized) GTEST_SKIP() << "shadow memory has mappings too";
  std::vector<BufferPtr> kept;
  const size_t before = mappings();
  for (int run = 0; run < 6000; ++run) {
    const Piece wanted[] = {{128_KiB, 68_KiB}};
    kept.push_back(std::move(carve(allocate(512_KiB, "arena"), wanted)[0]));
  }
  EXPECT_LT(mappings(), before + 6100);
  kept.clear();
  memory::release_cached();
  EXPECT_LT(mappings(), before + 100);
}

// Plans of one size share an arena, and their results, which die in any order, come from anywhere in it: it stays one
// mapping.
TEST_F(BufferTest, AnArenaOfManyPlansStaysOneMapping) {
  std::mt19937 random(1);
  std::vector<std::pair<BufferPtr, int>> results(4);
  size_t before = 0;
  for (int run = 0; run < 3000; ++run) {
    if (run == 1000) before = mappings();
    BufferPtr slab = allocate(4_MiB, "arena");
    const size_t plan = random() % 8, begin = 200_KiB * plan + 64 * plan, bytes = 150_KiB;
    std::memset(slab->data() + begin, run % 200, bytes);
    auto pieces = carve(std::move(slab), std::vector<Piece>{{begin, bytes}});
    for (const auto& [result, value] : results) {
      if (!result) continue;
      ASSERT_EQ(result->data()[0], std::byte(value));
      ASSERT_EQ(result->data()[bytes - 1], std::byte(value));
    }
    results[random() % results.size()] = {std::move(pieces[0]), run % 200};
    ASSERT_LE(memory::live_bytes(), 4 * 150_KiB);
  }
  EXPECT_LT(mappings(), before + 20);  // beside the results that live or are cached
}

// Dead results that nothing takes do not keep those of other plans from moving.
TEST_F(BufferTest, DeadPiecesMakeRoomForOthers) {
  std::vector<BufferPtr> held;
  for (size_t i = 0; i < 5000; ++i) {
    held.push_back(std::move(carve(allocate(512_KiB, "arena"), std::vector<Piece>{{128_KiB, 68_KiB}})[0]));
  }
  held.clear();
  const std::byte* base = nullptr;
  for (int run = 0; run < 3; ++run) {
    BufferPtr slab = allocate(5_MiB, "arena");
    if (run > 0) EXPECT_EQ(slab->data(), base) << "it is whole again";
    base = slab->data();
    const auto pieces = carve(std::move(slab), std::vector<Piece>{{1_MiB, 1_MiB}});
    EXPECT_NE(pieces[0]->data(), base + 1_MiB);
  }
}

// Pages that a free slab has lost are asked of the machine again.
TEST_F(BufferTest, ASlabWithHolesAsksTheMachine) {
  const std::optional<size_t> available = os::available_memory();
  if (!available) GTEST_SKIP() << "the system does not tell";
  const size_t bytes = (*available / 5 * 3) & ~(2_MiB - 1);
  std::vector<Piece> wanted;
  for (size_t i = 0; i < 70; ++i) wanted.push_back({i * 1_MiB, 70_KiB});
  carve(allocate(bytes, "arena"), wanted);  // so many stay, and what lies between goes back
  EXPECT_LT(memory::cached_bytes(), 10_MiB);
  const BufferPtr other = allocate(bytes, "other");
  EXPECT_THROW(allocate(bytes, "arena"), OutOfMemoryError);
}

#ifdef __linux__
// Makes the system refuse to move pages, for good.
void refuse_moves() {
  sock_filter program[] = {BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(seccomp_data, nr)),
                           BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_mremap, 0, 1),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ERRNO | ENOMEM),
                           BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
  const sock_fprog filter{std::size(program), program};
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 || prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) != 0)
    _exit(77);
}

// Where the system refuses at once, pieces stay; where it does so later, a slab with holes is left alone.
TEST_F(BufferTest, ASystemThatMovesNothing) {
  testing::FLAGS_gtest_death_test_style = "threadsafe";
  auto run = [](int moves) {
    bool right = true;
    const size_t resident = memory::resident_bytes();
    const Piece wanted[] = {{1_MiB, 1_MiB}, {6_MiB, 300_KiB}};
    const auto once = [&](int value) {
      BufferPtr slab = allocate(9_MiB, "arena");
      std::memset(slab->data(), value, 9_MiB);
      auto pieces = carve(std::move(slab), wanted);
      right &= memory::live_bytes() == 1_MiB + 300_KiB;
      for (const BufferPtr& piece : pieces) {
        right &= piece->data()[0] == std::byte(value) && piece->data()[piece->bytes() - 1] == std::byte(value);
      }
    };
    for (int i = 0; i < moves; ++i) once(i);
    refuse_moves();
    for (int i = 0; i < 5; ++i) once(i);
    memory::release_cached();
    right &= memory::live_bytes() == 0 && memory::cached_bytes() == 0;
    right &= kSanitized || memory::resident_bytes() < resident + 1_MiB;
    _exit(right ? 0 : 1);
  };
  const auto passed_or_skipped = [](int status) { return WIFEXITED(status) && (WEXITSTATUS(status) % 77) == 0; };
  EXPECT_EXIT(run(0), passed_or_skipped, "");
  EXPECT_EXIT(run(1), passed_or_skipped, "");
}
#endif

// Where little would be kept, pieces stay where they are.
TEST_F(BufferTest, ALittleRestGoesBack) {
  BufferPtr slab = allocate(5_MiB, "arena");
  const std::byte* const base = slab->data();
  touch(slab);
  const Piece wanted[] = {{0, 3_MiB}, {3_MiB + 32_KiB, 2_MiB - 32_KiB}};
  auto pieces = carve(std::move(slab), wanted);
  EXPECT_EQ(pieces[0]->data(), base);
  EXPECT_EQ(pieces[1]->data(), base + 3_MiB + 32_KiB);
  EXPECT_EQ(memory::cached_bytes(), 0u);
  pieces.clear();
  EXPECT_EQ(memory::cached_bytes(), 5_MiB - 32_KiB);
}

// More pieces than there should be mappings.
TEST_F(BufferTest, ManyPiecesStay) {
  BufferPtr slab = allocate(40_MiB, "arena");
  std::vector<Piece> wanted;
  for (size_t i = 0; i < 100; ++i) wanted.push_back({i * 400_KiB, 70_KiB});
  const size_t before = mappings();
  const auto pieces = carve(std::move(slab), wanted);
  EXPECT_LT(mappings(), before + 10);
  EXPECT_EQ(memory::live_bytes(), 100 * 70_KiB);
}

TEST_F(BufferTest, CarveOfSmallSlabsAndOfNothing) {
  BufferPtr slab = allocate(1000, "arena");
  std::memset(slab->data(), 7, 1000);
  const Piece wanted[] = {{128, 10}, {512, 100}};
  auto pieces = carve(std::move(slab), wanted);
  EXPECT_EQ(memory::live_bytes(), 64u + 128u);
  pieces.pop_back();
  EXPECT_EQ(memory::live_bytes(), 64u);
  EXPECT_EQ(pieces[0]->data()[9], std::byte{7});

  EXPECT_TRUE(carve(allocate(5_MiB, "arena"), {}).empty());
  EXPECT_EQ(memory::live_bytes(), 64u);
}

TEST_F(BufferTest, CarveRefusesNonsense) {
  auto carve_two = [](Piece a, Piece b) { carve(allocate(4_MiB, "arena"), std::vector<Piece>{a, b}); };
  EXPECT_THROW(carve_two({0, 128}, {64, 64}), InternalError) << "overlap";
  EXPECT_THROW(carve_two({0, 64}, {100, 64}), InternalError) << "alignment";
  EXPECT_THROW(carve_two({0, 64}, {4_MiB - 64, 65}), InternalError) << "end";
  auto pieces = carve(allocate(4_MiB, "arena"), std::vector<Piece>{{0, 64}});
  EXPECT_THROW(carve(std::move(pieces[0]), std::vector<Piece>{{0, 64}}), InternalError) << "a piece";
  pieces.clear();
  const BufferPtr shared = allocate(4_MiB, "arena");
  EXPECT_THROW(carve(shared, std::vector<Piece>{{0, 64}}), InternalError) << "another handle";
  EXPECT_EQ(memory::live_bytes(), 4_MiB);
}

TEST_F(BufferTest, WrappedMemoryIsKeptAliveAndNotCounted) {
  auto owner = std::make_shared<std::vector<float>>(100, 2.0f);
  const std::weak_ptr<std::vector<float>> watch = owner;
  BufferPtr buffer = wrap(owner->data(), 400, owner);
  owner.reset();
  EXPECT_EQ(memory::live_bytes(), 0u);
  EXPECT_EQ(buffer->as<float>()[99], 2.0f);
  EXPECT_FALSE(watch.expired());
  buffer.reset();
  EXPECT_TRUE(watch.expired());
  EXPECT_EQ(memory::live_bytes(), 0u);
}

TEST_F(BufferTest, Poison) {
  const BufferPtr a = allocate(256, "a");
  touch(a);
  poison(*a, 64, 64);
  EXPECT_EQ(a->data()[63], std::byte{1});
  EXPECT_EQ(a->data()[64], std::byte{0xCD});
  EXPECT_EQ(a->data()[127], std::byte{0xCD});
  EXPECT_EQ(a->data()[128], std::byte{1});
  EXPECT_THROW(poison(*a, 200, 64), InternalError);
}

// Blocks carry their owner's mark from end to end; a block handed out twice would lose it.
TEST_F(BufferTest, ManyThreads) {
  auto work = [](int id) {
    std::mt19937 random(static_cast<unsigned>(id));
    std::vector<BufferPtr> held;
    auto check = [&](const BufferPtr& b) {
      const auto mark = static_cast<std::byte>(id);
      EXPECT_EQ(b->data()[0], mark);
      EXPECT_EQ(b->data()[b->requested() - 1], mark);
    };
    for (int step = 0; step < 500; ++step) {
      if (held.size() < 8 && random() % 3) {
        BufferPtr b = allocate(1 + random() % (random() % 2 ? 4_MiB : 4_KiB), "a");
        std::memset(b->data(), id, b->requested());
        if (b->bytes() > 64_KiB && random() % 2) {
          const size_t bytes = b->requested();
          for (auto& piece : carve(std::move(b), std::vector<Piece>{{0, 4160}, {8192, bytes - 8192}})) {
            held.push_back(std::move(piece));
          }
        } else {
          held.push_back(std::move(b));
        }
      } else if (!held.empty()) {
        std::swap(held[random() % held.size()], held.back());
        check(held.back());
        held.pop_back();
      }
    }
    for (const BufferPtr& b : held) check(b);
  };
  std::vector<std::thread> threads;
  for (int id = 1; id <= 4; ++id) threads.emplace_back(work, id);
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(memory::live_bytes(), 0u);
}

TEST_F(BufferTest, ResidentPeakFollowsTheProcess) {
  if (!memory::reset_peak_resident()) GTEST_SKIP() << "the kernel refuses";
  const size_t before = memory::peak_resident_bytes();
  touch(allocate(64_MiB, "a"));
  EXPECT_GE(memory::peak_resident_bytes(), before + 60_MiB);
  memory::release_cached();
  EXPECT_TRUE(memory::reset_peak_resident());
  EXPECT_LT(memory::peak_resident_bytes(), before + 16_MiB);
}

}  // namespace
}  // namespace neap
