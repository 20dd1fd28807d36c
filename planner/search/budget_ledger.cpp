#include "planner/search/budget_ledger.h"

#include <neap/bytes.h>

#include <fmt/format.h>

#include <algorithm>
#include <tuple>
#include <utility>

#include "planner/place/place.h"
#include "planner/plan/queries.h"

namespace neap::planner {

using tracing::Graph;

namespace {

// Nodes planned in all, until which a search goes on: plans of 1,000 nodes take 10 to 15 ms each.
constexpr double kMostNodes = 100'000, kMostNodesGranted = 600'000;
constexpr int64_t kMostPlacing = 1'000'000'000;  // what placing them may search with (planner/place/place.h)
constexpr double kPlanNodes = 50;                // what a plan costs beside its nodes
constexpr double kLongest = 1.1;                 // what no budget asks for may take, of the usual plan's time
constexpr double kTooLong = 1.15;                // what nothing is added to any more, as that takes time too

// What arguments hold before the first step, or those that are not donated and the results after the last, if that is
// more.
size_t held_outside(const PlanData& plan) {
  std::vector<bool> counted(plan.buffers.size());
  const auto add = [&](size_t& sum, int buffer) {
    if (!counted[buffer]) sum += plan.buffers[buffer].bytes;
    counted[buffer] = true;
  };
  size_t donated = 0, after = 0;
  for (size_t i = 0; i < plan.inputs.size(); ++i) {
    const bool is_donated = i < plan.donated.size() && plan.donated[i];
    if (is_donated) {
      donated += plan.buffers[plan.inputs[i]].bytes;
    } else {
      add(after, plan.inputs[i]);
    }
  }
  const size_t before = donated + after;
  for (const int output : plan.outputs) add(after, plan.root(output));
  return std::max(before, after);
}

}  // namespace

std::vector<Tradeoff> curve_of(std::vector<Tradeoff> points) {
  std::vector<Tradeoff> curve;
  std::ranges::sort(points.begin() + 1, points.end(), {},
                    [](const Tradeoff& t) { return std::tie(t.peak_bytes, t.predicted_seconds, t.how); });
  for (auto point = points.begin() + 1; point != points.end() && point->peak_bytes < points[0].peak_bytes; ++point) {
    const bool is_faster = curve.empty() || point->predicted_seconds < curve.back().predicted_seconds;
    if (is_faster) curve.push_back(std::move(*point));
  }
  curve.push_back(std::move(points[0]));
  std::ranges::reverse(curve);
  return curve;
}

BudgetLedger::BudgetLedger(const PlanData& usual, PlanOptions options, Wanted wanted)
    : options_(std::move(options)),
      wanted_(wanted),
      usual_(alternative("fused", usual)),
      least_(held_outside(usual)),
      most_(kMostNodes) {
  if (!options_.placing) options_.placing = std::make_shared<SharedPlacing>(kMostPlacing);
  lowest_.plan = usual;
  if (wants(price_of(usual))) answer_ = lowest_;
  points_.push_back({usual.peak_bytes, usual.predicted_seconds, "fused"});
}

bool BudgetLedger::done() const {
  const Price best = answer_ ? price_of(answer_->plan) : Price{usual_.peak_bytes, usual_.cost};
  if (wanted_ == Wanted::better) return !better({least_, 0}, best, Policy::lowered);
  return answer_ && best.seconds <= kAsFast * usual_.cost;
}

bool BudgetLedger::wants(Price price, const SliceMarks& slices) const {
  if (wanted_ == Wanted::fitting) {
    return fits(price.peak_bytes) && (!answer_ || price.seconds < answer_->plan.predicted_seconds);
  }
  const Price usual{usual_.peak_bytes, usual_.cost};
  if (slices.split_sums && !saves(price, usual, kSavedBySums)) return false;
  if (slices.bytes < kSliceBytes || price.seconds > kLongest * usual.seconds) return false;
  return better(price, usual) && better(price, answer_ ? price_of(answer_->plan) : usual, Policy::lowered);
}

bool BudgetLedger::too_long(double seconds) const {
  return wanted_ == Wanted::better && seconds > kTooLong * usual_.cost;
}

std::vector<Tradeoff> BudgetLedger::curve() const { return curve_of(points_); }

bool BudgetLedger::exhausted() const { return spent_ > most_ * until_; }

void BudgetLedger::grant(double nodes) { most_ = std::max(most_, std::min(nodes, kMostNodesGranted)); }

void BudgetLedger::charge(const Graph& graph) { charge(kPlanNodes + static_cast<double>(count_nodes(graph))); }

Planned BudgetLedger::plan(const Graph& graph, const FuseOptions& fuse_options) {
  charge(graph);
  return plan_simplified(graph, options_, fuse_options);
}

std::optional<Planned> BudgetLedger::try_plan(const Graph& graph, const FuseOptions& fuse_options) {
  if (wanted_ == Wanted::fitting) return plan(graph, fuse_options);
  charge(graph);
  const auto soon = [&](size_t, double seconds) { return !too_long(seconds); };
  std::optional<Planned> planned = planner::try_plan(graph, options_, soon, nullptr, fuse_options, Placing::best);
  return planned && soon(planned->plan.peak_bytes, planned->plan.predicted_seconds) ? std::move(planned) : std::nullopt;
}

bool BudgetLedger::enter(const BudgetCandidate& candidate, const std::vector<Decision>& before,
                         const std::optional<Alternative>& instead) {
  const PlanData& plan = candidate.plan;
  const bool is_wanted = wants(price_of(plan), candidate.slices);
  const bool is_lower = plan.peak_bytes < lowest_.plan.peak_bytes;
  if (candidate.chunks > 0) {
    note(
        {plan.peak_bytes, plan.predicted_seconds, "chunked: " + candidate.how}, [&] { return candidate; }, before,
        instead);
  }
  if (!is_wanted && !is_lower) return false;
  BudgetCandidate taken = decided(candidate, before, instead);
  if (is_wanted) answer_ = taken;
  if (is_wanted && options_.likely) options_.likely(plan);
  if (is_lower) lowest_ = std::move(taken);
  return is_lower;
}

void BudgetLedger::note(Tradeoff point, const std::function<BudgetCandidate()>& make,
                        const std::vector<Decision>& before, const std::optional<Alternative>& instead) {
  if (most_kept_ && point.peak_bytes <= *most_kept_ &&
      (!kept_ || point.predicted_seconds < kept_->plan.predicted_seconds))
    kept_ = decided(make(), before, instead);
  points_.push_back(std::move(point));
}

// With the decision that it is.
BudgetCandidate BudgetLedger::decided(const BudgetCandidate& candidate, const std::vector<Decision>& before,
                                      const std::optional<Alternative>& instead) const {
  BudgetCandidate result = candidate;
  if (result.how.empty()) return result;
  const std::optional<size_t> asked = wanted_ == Wanted::fitting ? options_.memory_budget : std::nullopt;
  const size_t most = most_kept_.value_or(asked.value_or(0));
  const std::string reason =
      result.plan.peak_bytes <= most ? fmt::format("fits {}", format_bytes(most)) : "lowers the peak";
  std::vector<Decision>& decisions = result.plan.decisions;
  const Decision own = decision_of(result, reason, instead);
  decisions.insert(decisions.end(), before.begin(), before.end());
  decisions.push_back(own);
  return result;
}

Decision BudgetLedger::decision_of(const BudgetCandidate& candidate, const std::string& reason,
                                   const std::optional<Alternative>& instead) const {
  Decision decision;
  decision.what = candidate.what;
  decision.chosen = candidate.strategy;
  decision.reason = fmt::format("{}: {}", candidate.how, reason);
  decision.alternatives = {usual_, alternative(candidate.strategy, candidate.plan)};
  if (instead) decision.alternatives.push_back(*instead);
  return decision;
}

}  // namespace neap::planner
