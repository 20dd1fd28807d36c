// Which loops stay on one thread: those whose kernels would read of each other what other threads wrote.
#include <gtest/gtest.h>
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/ops.h>

#include "backends/cpu/jit.h"
#include "backends/cpu/program.h"
#include "core/thread_pool.h"
#include "planner/search/make_plan.h"
#include "trace/tracing/tracing.h"

namespace neap::cpu {
namespace {

class OneThread : public testing::Test {
 protected:
  OneThread() { set_num_threads(2); }
  ~OneThread() override { set_num_threads(threads_); }

  // Whether some kernel of 100 steps on an array of [n, n] is worth several threads.
  static bool is_spread(int64_t n, const std::function<Array(const Array&, const Array&)>& step) {
    planner::PlanOptions options;
    options.want_alternatives = false;
    const tracing::Graph graph = tracing::trace_closed(
        std::vector<Aval>{{{n, n}, f32}},
        [&](const tracing::Arrays& in) {
          return tracing::Arrays{fori_loop(0, 100, [&](const Array& i, const Array& x) { return step(i, x); }, in[0])};
        },
        "test");
    const Lowered lowered = lower_program(planner::make_plan(graph, options), host_unit());
    for (const StepCode& loop : lowered.program->steps) {
      if (loop.kind != planner::PlanStep::Kind::scan) continue;
      for (const StepCode& inner : loop.scan.body->steps) {
        for (const LaunchCode& code : inner.launches) {
          if (code.split != Split::none && code.split != Split::partials) return true;
        }
      }
    }
    return false;
  }

 private:
  const int threads_ = num_threads();
};

TEST_F(OneThread, KeepsWhatOthersWouldHaveToFetch) {
  const auto by_rows = [](const Array&, const Array& x) { return x / sqrt(sum(x * x, 1, true)); };
  const auto by_columns = [](const Array&, const Array& x) { return x / sqrt(sum(x * x, 0, true)); };
  const auto turned = [](const Array&, const Array& x) { return x + 0.1f * transpose(x); };
  const auto with_a_column = [](const Array& i, const Array& x) {
    return minimum(x, expand_dims(take(x, i, 1), 1) + expand_dims(take(x, i, 0), 0));
  };
  EXPECT_TRUE(is_spread(300, by_rows));
  EXPECT_FALSE(is_spread(300, by_columns));
  EXPECT_FALSE(is_spread(300, with_a_column));
  EXPECT_TRUE(is_spread(3000, by_columns)) << "it leaves the caches anyway";
  EXPECT_TRUE(is_spread(3000, turned));
}

TEST_F(OneThread, IsNoneWhereThereIsNoOther) {
  set_num_threads(1);
  EXPECT_TRUE(is_spread(300, [](const Array&, const Array& x) { return x / sqrt(sum(x * x, 0, true)); }));
}

}  // namespace
}  // namespace neap::cpu
