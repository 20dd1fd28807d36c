// Which loops stay on one thread: those whose kernels would read of each other what other threads wrote.
#include <gtest/gtest.h>
#include <neap/control.h>
#include <neap/creation.h>
#include <neap/numpy.h>
#include <neap/ops.h>

#include <algorithm>
#include <functional>
#include <span>
#include <vector>

#include "backends/cpu/jit.h"
#include "backends/cpu/program.h"
#include "planner/search/make_plan.h"
#include "trace/tracing/tracing.h"

namespace neap::cpu {
namespace {

using tracing::Arrays;
using Step = std::function<Array(const Array&, const Array&)>;
using Steps = std::function<Arrays(const Array&, const Arrays&)>;

// The launches of a loop of 100 steps on arrays of these shapes.
std::vector<LaunchCode> launches_of(const std::vector<Shape>& shapes, const Steps& step, int num_threads = 2) {
  planner::PlanOptions options;
  options.want_alternatives = false;
  std::vector<Aval> avals;
  for (const Shape& shape : shapes) avals.push_back({shape, f32});
  const tracing::Graph graph = tracing::trace_closed(
      avals,
      [&](const Arrays& in) {
        return fori_loop(0, 100, [&](const Array& i, const Arrays& x) { return step(i, x); }, in);
      },
      "test");
  const Lowered lowered = lower_program(planner::make_plan(graph, options), host_unit(), num_threads);
  std::vector<LaunchCode> launches;
  for (const StepCode& loop : lowered.program->steps) {
    if (loop.kind != planner::PlanStep::Kind::scan) continue;
    for (const StepCode& inner : loop.scan.body->steps) {
      launches.insert(launches.end(), inner.launches.begin(), inner.launches.end());
    }
  }
  return launches;
}

// Whether some kernel of them is worth several threads.
bool is_spread(std::span<const LaunchCode> launches) {
  return std::ranges::any_of(launches, [](const LaunchCode& code) {
    const int64_t tasks = code.extent[0] * code.extent[1] / code.grain;  // or more, of tiles
    return code.split != Split::none && code.split != Split::partials && tasks > 0;
  });
}
bool is_spread(int64_t n, const Step& step, int num_threads = 2) {
  return is_spread(
      launches_of({{n, n}}, [&](const Array& i, const Arrays& x) { return Arrays{step(i, x[0])}; }, num_threads));
}

Array with_a_column(const Array& i, const Array& x) {
  return minimum(x, expand_dims(take(x, i, 1), 1) + expand_dims(take(x, i, 0), 0));
}

TEST(OneThread, KeepsWhatOthersWouldHaveToFetch) {
  const auto by_rows = [](const Array&, const Array& x) { return x / sqrt(sum(x * x, 1, true)); };
  const auto by_columns = [](const Array&, const Array& x) { return x / sqrt(sum(x * x, 0, true)); };
  const auto turned = [](const Array&, const Array& x) { return x + 0.1f * transpose(x); };
  EXPECT_TRUE(is_spread(300, by_rows));
  EXPECT_FALSE(is_spread(300, by_columns));
  EXPECT_FALSE(is_spread(300, with_a_column));
  EXPECT_TRUE(is_spread(3000, by_columns)) << "it leaves the caches anyway";
  EXPECT_TRUE(is_spread(3000, turned));
}

// One of its kernels is long enough for all threads; those that read what it makes, rolled, are not.
TEST(OneThread, KnowsThatShortKernelsReadAll) {
  const auto denoise = [](const Array&, const Arrays& x) {
    const Array div = x[0][0] - roll(x[0][0], 1, 0) + x[0][1] - roll(x[0][1], 1, 1) - x[1];
    const Array slope = stack({roll(div, -1, 0) - div, roll(div, -1, 1) - div});
    return Arrays{(x[0] + 0.2f * slope) / (1 + 0.2f * sqrt(sum(slope * slope, 0))), x[1]};
  };
  EXPECT_FALSE(is_spread(launches_of({{2, 100, 100}, {100, 100}}, denoise)));
}

TEST(OneThread, IsNoneWhereThereIsNoOther) {
  const auto by_columns = [](const Array&, const Array& x) { return x / sqrt(sum(x * x, 0, true)); };
  EXPECT_FALSE(is_spread(300, by_columns, 2));
  EXPECT_TRUE(is_spread(300, by_columns, 1));
}

// Tiles are for the cache, on however many threads.
TEST(OneThread, GoesByTiles) {
  const std::vector<LaunchCode> launches = launches_of({{200, 200}, {256, 256}}, [](const Array& i, const Arrays& x) {
    return Arrays{with_a_column(i, x[0]), transpose(x[1]) * 0.99f + 0.01f};
  });
  EXPECT_FALSE(is_spread(launches));
  EXPECT_EQ(std::ranges::count(launches, Split::tiles, &LaunchCode::split), 1);
}

}  // namespace
}  // namespace neap::cpu
