#include "planner/search/free_slices.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <tuple>
#include <utility>
#include <vector>

#include "planner/fuse/fuse.h"
#include "planner/plan/queries.h"
#include "planner/rewrite/simplify.h"
#include "planner/search/better.h"
#include "planner/search/slices.h"
#include "planner/slice/chunk.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kWorthwhile = size_t{16} << 20;         // smaller plans are not looked at,
constexpr size_t kMostNodes = 600;                       // nor those that take long to plan
constexpr int kMostTrials = 8;                           // plans made
constexpr int64_t kFewest = 4, kStep = 8, kMost = 4096;  // slices tried

Decision decision_of(const Level& level, const Slicing& slicing, int64_t chunks, const PlanData& usual,
                     const PlanData& sliced) {
  const Region& region = slicing.regions[0];
  const Node& subject = subject_of(level, slicing);
  const int64_t length = slice_length(region, chunks);
  Decision decision;
  decision.what = fmt::format("{} at {}", name(subject.op), to_string(subject.loc));
  decision.chosen = "chunked";
  decision.reason = fmt::format("{} slices along axis {} of {}: lowers the peak in about the same time",
                                (region.extent + length - 1) / length, slicing.cut.axis,
                                to_string(level.planned.graph.aval(slicing.value)));
  decision.alternatives = {alternative("fused", usual), alternative("chunked", sliced)};
  return decision;
}

// The best slices of what `from` computes, that are better than `usual`.
std::optional<PlanData> slice(const Planned& from, const PlanData& usual, const PlanOptions& options,
                              const FuseOptions& fuse_options) {
  const double least_gain = kSliced.least_saved * static_cast<double>(usual.peak_bytes);
  const Level level{nullptr, std::nullopt, from, fuse(from.graph, fuse_options).stored};
  Price least = price_of(usual);
  std::optional<PlanData> best;
  int trials = 0;
  size_t visits = 0;
  std::vector<Slicing> all = slicings(level, false, visits);
  std::ranges::sort(all, {}, [](const Slicing& s) { return std::tuple(s.splits_sums, -s.gain, s.number); });
  for (const Slicing& slicing : all) {
    if (slicing.gain < least_gain) continue;
    const double least_saved = slicing.splits_sums ? kSavedBySums : kSliced.least_saved;
    for (int64_t chunks = kFewest; chunks <= kMost && trials < kMostTrials; chunks *= kStep) {
      if (chunks > slicing.regions[0].extent || slicing.gain < kSliceBytes * static_cast<double>(chunks)) break;
      const std::optional<Graph> sliced = chunk(from.graph, slicing.regions, chunks);
      if (!sliced) break;
      ++trials;
      const auto is_better = [&](size_t peak_bytes, double seconds) {
        const Price price{peak_bytes, seconds};
        return better(price, price_of(usual), Policy::sliced) && saves(price, least, least_saved);
      };
      std::optional<Planned> planned = try_plan(simplify(*sliced), options, is_better, nullptr, fuse_options);
      if (!planned || !is_better(planned->plan.peak_bytes, planned->plan.predicted_seconds)) continue;
      PlanData& next = planned->plan;
      least = price_of(next);
      next.decisions.push_back(decision_of(level, slicing, chunks, usual, next));
      best = std::move(next);
    }
  }
  if (best) settle(*best, options);
  return best && best->peak_bytes < usual.peak_bytes ? best : std::nullopt;
}

}  // namespace

std::optional<PlanData> slice_for_free(const Planned& plain, const Planned& usual, const PlanOptions& options) {
  if (options.target.gpu || usual.plan.peak_bytes < kWorthwhile || usual.graph.nodes.size() > kMostNodes) {
    return std::nullopt;
  }
  if (auto sliced = slice(usual, usual.plan, options, {})) return sliced;
  if (usual.graph != plain.graph) {
    if (auto sliced = slice(plain, usual.plan, options, {})) return sliced;
  }
  // What has several readers may be computed by each of them in the same slice.
  const Planned again = plan_simplified(simplify(plain.graph), options, kComputeShared, Placing::near);
  return slice(again, usual.plan, options, kComputeShared);
}

}  // namespace neap::planner
