#include "planner/search/budget_search.h"

#include <neap/bytes.h>

#include <fmt/format.h>

#include <limits>
#include <utility>

#include "planner/fuse/fuse.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();

// Nodes planned in all, until which the search goes on: plans of 1,000 nodes take 10 to 15 ms each. Parts of it have
// their ends, so that none takes the time of those after.
constexpr double kMostNodes = 80'000;
constexpr int64_t kMostPlacing = 1'000'000'000;  // what placing them may search with (planner/place/place.h)
constexpr double kPlanNodes = 50;                // what a plan costs beside its nodes
constexpr double kUntilRecompute = 0.35, kUntilSlices = 0.5, kUntilCheckpointed = 0.85, kUntilNested = 1;

double nodes_of(const Graph& graph) {
  double nodes = static_cast<double>(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    if (is_loop(node.op)) nodes += nodes_of(*node.attrs.graph(Attr::body));
  }
  return nodes;
}

}  // namespace

BudgetSearch::BudgetSearch(Graph simplified, Planned first, PlanOptions options)
    : options_(std::move(options)), graph_(std::move(simplified)), planned_(std::move(first)) {
  if (!options_.placing) options_.placing = std::make_shared<SharedPlacing>(kMostPlacing);
  best_.plan = planned_.plan;
  seen_.push_back({best_.plan.peak_bytes, best_.plan.predicted_seconds, "fused"});
  fused_ = {"fused", planned_.plan.peak_bytes, planned_.plan.predicted_seconds};
}

void BudgetSearch::run() {
  const Planned usual = plan(graph_);
  fuse_options_ = {.keep_weight = kNever, .random_weight = kNever};
  planned_ = plan(graph_);
  until_ = kUntilRecompute;
  compute_again(usual);
  const Candidate start{graph_, planned_.plan, "", "", "", 0}, checkpointed = best_;
  until_ = kUntilSlices;
  slice_from(start, false);
  if (!checkpointed.how.empty()) {
    until_ = kUntilCheckpointed;
    slice_from(checkpointed, false);
  }
  until_ = kUntilNested;
  slice_from(start, true);
  if (!checkpointed.how.empty()) slice_from(checkpointed, true);
}

bool BudgetSearch::exhausted() const { return planned_nodes_ > kMostNodes * until_; }

void BudgetSearch::charge(const Graph& graph) const { planned_nodes_ += kPlanNodes + nodes_of(graph); }

Planned BudgetSearch::plan(const Graph& graph, const FuseOptions& fuse_options) const {
  charge(graph);
  return plan_simplified(graph, options_, fuse_options);
}

// Takes a plan if it is lower than all before. Those before did not fit, or there would be none after.
bool BudgetSearch::record(const Candidate& candidate) {
  if (candidate.plan.peak_bytes >= best_.plan.peak_bytes) return false;
  Candidate taken = candidate;
  if (!taken.how.empty()) {
    const std::string reason = !fits(taken.plan.peak_bytes) ? "lowers the peak"
                               : taken.chunks > 0
                                   ? fmt::format("the fewest slices that fit {}", format_bytes(*options_.memory_budget))
                                   : fmt::format("fits {}", format_bytes(*options_.memory_budget));
    std::vector<Decision> all = decisions_;
    all.push_back(decision_of(taken, reason));
    taken.plan.decisions.insert(taken.plan.decisions.end(), all.begin(), all.end());
  }
  if (taken.chunks > 0) {
    seen_.push_back({taken.plan.peak_bytes, taken.plan.predicted_seconds, "chunked: " + taken.how});
  }
  best_ = std::move(taken);
  return true;
}

Decision BudgetSearch::decision_of(const Candidate& sliced, const std::string& reason) const {
  Decision decision;
  decision.what = sliced.what;
  decision.chosen = sliced.strategy;
  decision.reason = fmt::format("{}: {}", sliced.how, reason);
  decision.alternatives = {fused_, {sliced.strategy, sliced.plan.peak_bytes, sliced.plan.predicted_seconds}};
  if (previous_) decision.alternatives.push_back(*previous_);
  return decision;
}

}  // namespace neap::planner
