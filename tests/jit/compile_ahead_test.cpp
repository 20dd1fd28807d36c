// While a better plan is sought, the kernels of the likely one are compiled.
#include "jit/compile_ahead.h"

#include <fmt/format.h>
#include <gtest/gtest.h>
#include <neap/neap.h>
#include <unistd.h>

#include <atomic>
#include <condition_variable>
#include <filesystem>
#include <mutex>
#include <stdexcept>
#include <string>
#include <thread>
#include <utility>
#include <vector>

#include "backends/backend.h"
#include "core/sanitize.h"
#include "core/thread_pool.h"
#include "jit/compile.h"
#include "planner/search/make_plan.h"
#include "tests/environment.h"

namespace neap::jit_detail {
namespace {

namespace fs = std::filesystem;

// Compiles nothing, but says of which plans it was asked to; it is at each until it is told to stop.
class Watched final : public backends::Backend {
 public:
  std::string_view name() const override { return "watched"; }
  std::vector<backends::FoundDevice> list() const override { return {}; }
  Limits limits(int /*device*/) const override { return {}; }
  std::shared_ptr<const backends::Executable> compile(planner::PlanData /*plan*/, int /*device*/,
                                                      const std::string& /*dump_name*/) const override {
    throw DeviceError("watched: it compiles nothing");
  }
  BufferPtr bring(const BufferPtr& buffer, int /*device*/) const override { return buffer; }

  void compile_ahead(const planner::PlanData& plan, const std::stop_token& stop) const override {
    std::unique_lock lock(mutex_);
    begun_.push_back(plan.name);
    changed_.notify_all();
    if (plan.name == "fails") throw std::runtime_error("as asked");
    changed_.wait(lock, stop, [] { return false; });
  }

  // Waits until so many plans were begun since the last call; gives their names.
  std::vector<std::string> wait_for(size_t plans) const {
    std::unique_lock lock(mutex_);
    changed_.wait(lock, [&] { return begun_.size() >= plans; });
    return std::exchange(begun_, {});
  }

 private:
  mutable std::mutex mutex_;
  mutable std::condition_variable_any changed_;
  mutable std::vector<std::string> begun_;
};

const Watched& watched() {
  static const Watched& backend = []() -> const Watched& {
    auto own = std::make_unique<Watched>();
    const Watched& it = *own;
    backends::register_backend(std::move(own));
    return it;
  }();
  return backend;
}

planner::PlanData named(const std::string& name) {
  planner::PlanData plan;
  plan.name = name;
  return plan;
}

class CompileAheadTest : public testing::Test {
 protected:
  void SetUp() override { set_num_threads(2); }
  void TearDown() override { set_num_threads(threads_); }
  const int threads_ = num_threads();
};

using Names = std::vector<std::string>;

// Each of these is begun after the one before.
void expect_begun(const Names& plans) {
  const Watched& backend = watched();
  CompileAhead ahead(Device{"watched", 0});
  for (const std::string& plan : plans) {
    ahead.begin(named(plan));
    EXPECT_EQ(backend.wait_for(1), Names{plan});
  }
}

TEST_F(CompileAheadTest, ALaterPlanTakesThePlaceOfOneThatIsCompiled) { expect_begun({"usual", "better"}); }

TEST_F(CompileAheadTest, AFailureIsLeftToThoseWhoCompileThePlan) { expect_begun({"fails", "better"}); }

TEST_F(CompileAheadTest, ItEndsWhateverIsLeftToDo) {
  for (int i = 0; i < 200; ++i) {
    CompileAhead ahead(Device{"watched", 0});
    for (int plan = 0; plan < i % 4; ++plan) ahead.begin(named("any"));
  }
  watched().wait_for(0);
}

TEST_F(CompileAheadTest, OneThreadCompilesNothingAhead) {
  set_num_threads(1);
  {
    CompileAhead ahead(Device{"watched", 0});
    ahead.begin(named("usual"));
  }
  EXPECT_EQ(watched().wait_for(0), Names{});
}

// A search is worth its time for large programs alone: this one holds 64 MiB and more on the way.
Array waits(const Array& x) {
  const Array y = sin(matmul(x, x)), z = cos(matmul(y, x));
  return sum(matmul(z, y) * y + tanh(matmul(y, z)) * z);
}

TEST_F(CompileAheadTest, PlanningTellsOfEachPlanThatIsTheAnswerSoFar) {
  const Aval square{{2048, 2048}};
  const tracing::Graph graph =
      tracing::trace_closed({&square, 1}, [](const tracing::Arrays& in) { return tracing::Arrays{waits(in[0])}; });
  std::vector<std::pair<size_t, double>> likely;
  planner::PlanOptions options;
  options.likely = [&](const planner::PlanData& plan) { likely.emplace_back(plan.peak_bytes, plan.predicted_seconds); };
  const planner::PlanData plan = planner::make_plan(graph, options);
  ASSERT_FALSE(likely.empty());
  EXPECT_EQ(likely.back(), std::pair(plan.peak_bytes, plan.predicted_seconds));
}

#if defined(NEAP_CPU) && !defined(NEAP_ASAN) && !defined(NEAP_TSAN) && !defined(NEAP_UBSAN)  // whose code is not kept
// What was compiled ahead is what the plan needs: nothing is written to the cache of code by compiling it.
TEST_F(CompileAheadTest, ThePlansOwnKernelsAreCompiled) {
  const fs::path folder = fs::path(testing::TempDir()) / fmt::format("neap-compile-ahead-{}", getpid());
  const Environment where("NEAP_CACHE_DIR", folder.string()), on("NEAP_CACHE", "256MiB");
  const Aval row{{1000}};
  const planner::PlanData plan = planner::make_plan(
      tracing::trace_closed({&row, 1},
                            [](const tracing::Arrays& in) {
                              return tracing::Arrays{cumsum(sin(in[0]) * 2.25f, 0) + sum(cos(in[0])) * 0.75f};
                            }),
      {});
  const auto files = [&] { return std::distance(fs::directory_iterator(folder), fs::directory_iterator()); };
  compile_ahead_for(cpu(), plan, std::stop_token());
  const auto ahead = files();
  EXPECT_GT(ahead, 0);
  compile_for(cpu(), plan, "");
  EXPECT_EQ(files(), ahead);
  fs::remove_all(folder);
}
#endif

// Each of some threads makes code of its own, and finds or waits for what another makes.
TEST(CompileAhead, ThreadsCompileAtOnce) {
  std::vector<std::thread> threads;
  std::atomic<int> wrong = 0;
  for (int t = 0; t < 4; ++t) {
    threads.emplace_back([t, &wrong] {
      for (int i = 0; i < 12; ++i) {
        const int factor = 1000 + (i % 3 == t % 3 ? 100 * t : 0) + i;  // of this thread alone, or of all
        const auto f = jit([=](const Array& x) { return cumsum(x * static_cast<float>(factor), 0) + sum(exp(x * 0)); });
        const Array got = f(ones({40}));
        wrong += got[39].item<float>() != static_cast<float>(factor) * 40 + 40 ? 1 : 0;
      }
    });
  }
  for (std::thread& thread : threads) thread.join();
  EXPECT_EQ(wrong, 0);
}

// What a thread compiles with is used for several kernels, and made anew now and then.
TEST(CompileAhead, ManyKernelsOneAfterTheOther) {
  for (int i = 0; i < 150; ++i) {
    const auto f = jit([=](const Array& x) { return where(less(x, static_cast<float>(i)), x + 1, x * x) - 3; });
    const Array got = f(arange(300, f32));
    EXPECT_EQ(got[i].item<float>(), static_cast<float>(i * i - 3)) << i;
    EXPECT_EQ(got[299].item<float>(), 299.0f * 299 - 3) << i;
  }
}

}  // namespace
}  // namespace neap::jit_detail
