#include "planner/search/budget_slices.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

#include "planner/fuse/fuse.h"
#include "planner/plan/queries.h"
#include "planner/rewrite/simplify.h"
#include "planner/slice/chunk.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int kRounds = 16;                    // slicings, one after the other
constexpr int64_t kTrialChunks[] = {256, 16};  // what an axis gives at best may show only in many slices
constexpr int kPatience = 3;                   // so many K without gain end a round
constexpr double kNearPeak = 0.05;             // of the peak: live bytes from here on count as load
constexpr double kLeastLess = 0.05;            // of the load, by more slices where the peak stays
constexpr size_t kMostPaths = 3;               // first slicings that others inside follow
constexpr double kVisit = 0.02;                // of planning a node: looking at a value for a region
constexpr double kTrialNodes = 10'000;         // planned in a round to choose a slicing,
constexpr double kTrialPart = 0.15;            // or this part of all work if that is less,
constexpr size_t kFewestTrials = 6;            // but so many at least
constexpr double kAsLong = 1.1;                // times the time of another: no longer
constexpr double kMuchSaved = 0.5;             // of the peak, in many slices: less work is not worth losing that
constexpr size_t kSumsWeigh = 16;              // a peak as much lower by this part is not worth other bits

bool lower(const PlanData& a, const PlanData& b) {
  return std::pair(a.peak_bytes, a.predicted_seconds) < std::pair(b.peak_bytes, b.predicted_seconds);
}

}  // namespace

bool SliceSearch::run_once(const Planned& planned, int64_t chunks) {
  planned_ = planned;
  levels_ = {Level{nullptr, std::nullopt, planned_, fuse(planned_.graph, fuse_options_).stored}};
  std::optional<BudgetCandidate> best;
  for (const bool outputs : {false, true}) {
    for (Slicing& slicing : find_slicings(levels_[0], outputs)) {
      slicing.regions.resize(slicing.alike);
      std::optional<Trial> trial = try_slices(0, slicing, chunks);
      if (!trial) continue;
      BudgetCandidate sliced = complete(std::move(*trial));
      if (!best || lower(sliced.plan, best->plan)) best = std::move(sliced);
    }
    if (best) break;
  }
  if (!best) return false;
  best->plan.decisions.push_back(ledger_.decision_of(*best, "as pinned"));
  ledger_.set_answer(std::move(*best));
  return true;
}

void SliceSearch::run(const BudgetCandidate& start, bool nested, std::vector<Decision> before) {
  for (size_t path = 0; path < (nested ? kMostPaths : 1); ++path) {
    if (ledger_.done() || ledger_.exhausted()) return;
    move_to(start.graph);
    start_seconds_ = planned_.plan.predicted_seconds;
    reached_for_free_.reset();
    decisions_ = before;
    slices_ = start.slices;
    if (!start.how.empty()) decisions_.push_back(ledger_.decision_of(start, "lowers the peak", previous_));
    if (nested && !slice_outside(path)) return;
    for (int round = 0; round < kRounds && !ledger_.done() && !ledger_.exhausted(); ++round) {
      if (!slice_one()) break;
    }
  }
}

void SliceSearch::move_to(Graph graph) { planned_ = ledger_.plan(graph, fuse_options_); }

std::vector<Slicing> SliceSearch::find_slicings(const Level& level, bool outputs) {
  size_t visits = 0;
  std::vector<Slicing> found = slicings(level, outputs, visits);
  ledger_.charge(kVisit * static_cast<double>(visits));
  return found;
}

std::optional<SliceSearch::Trial> SliceSearch::try_slices(size_t level, const Slicing& slicing, int64_t chunks,
                                                          bool however_long) {
  const Level& at = levels_[level];
  std::optional<Graph> sliced = chunk(at.planned.graph, slicing.regions, chunks);
  if (!sliced && slicing.regions.size() > slicing.alike) {
    const auto others = slicing.regions.begin() + static_cast<std::ptrdiff_t>(slicing.alike);
    sliced = chunk(at.planned.graph, {slicing.regions.begin(), others}, chunks);
  }
  if (!sliced) return std::nullopt;
  Trial trial{level, &slicing, chunks, simplify(*sliced), {}};
  if (level == 0) {
    std::optional<Planned> planned =
        however_long ? ledger_.plan(trial.graph, fuse_options_) : ledger_.try_plan(trial.graph, fuse_options_);
    if (!planned) return std::nullopt;
    trial.plan = std::move(planned->plan);
  } else {
    ledger_.charge(trial.graph);
    trial.plan = plan_body(trial.graph, *at.loop, ledger_.options(), fuse_options_).plan;
  }
  return trial;
}

// The plan of the whole graph for what was tried.
BudgetCandidate SliceSearch::complete(Trial trial) {
  const Level& at = levels_[trial.level];
  const Region& region = trial.slicing->regions[0];
  BudgetCandidate result;
  result.strategy = "chunked";
  const int64_t length = slice_length(region, trial.chunks);
  result.chunks = (region.extent + length - 1) / length;
  result.slices.split_sums = slices_.split_sums || trial.slicing->splits_sums;
  result.slices.bytes = std::min(slices_.bytes, trial.slicing->gain / static_cast<double>(result.chunks));
  const Node& subject = subject_of(at, *trial.slicing);
  result.what = fmt::format("{} at {}", name(subject.op), to_string(subject.loc));
  result.how = fmt::format("{} slices of {} along axis {} of {}{}", result.chunks, slice_length(region, result.chunks),
                           trial.slicing->cut.axis, to_string(at.planned.graph.aval(trial.slicing->value)),
                           trial.level > 0 ? ", inside the slices of another" : "");
  if (trial.level == 0) {
    result.graph = std::move(trial.graph);
    result.plan = std::move(trial.plan);
  } else {
    const auto body = std::make_shared<const Graph>(std::move(trial.graph));
    result.graph = simplify(with_body(planned_.graph, at.body, body));
    result.plan = ledger_.plan(result.graph, fuse_options_).plan;
  }
  return result;
}

SliceSearch::Score SliceSearch::score(const PlanData& plan, const PlanData& before) {
  const auto near = static_cast<double>(before.peak_bytes) * kNearPeak;
  Score score{plan.peak_bytes, 0, plan.predicted_seconds};
  for (const PlanStep& step : plan.steps) score.load += std::max(0.0, static_cast<double>(step.bytes_live) - near);
  return score;
}

// The one of a level's slicings that lowers its peak most in many slices.
std::optional<SliceSearch::Trial> SliceSearch::lowest_trial(size_t level, const std::vector<Slicing>& all) {
  std::optional<Trial> lowest;
  const PlanData& before = levels_[level].planned.plan;
  const bool both = ledger_.wanted() == Wanted::fitting && planned_.graph.nodes.size() <= kFewNodes;
  const double stop = ledger_.spent() + std::min(kTrialNodes, kTrialPart * ledger_.most());
  size_t trials = 0;
  Score least;
  for (const Slicing& slicing : all) {
    for (const int64_t chunks : kTrialChunks) {
      if (!both && chunks != kTrialChunks[0]) break;
      if (ledger_.exhausted() || (++trials > kFewestTrials && ledger_.spent() > stop)) break;
      auto trial = try_slices(level, slicing, chunks, true);  // in fewer slices it may be fast
      if (!trial) continue;
      Score now = score(trial->plan, before);
      if (slicing.splits_sums) now.peak_bytes += now.peak_bytes / kSumsWeigh;
      if (lowest && least <= now) continue;
      lowest = std::move(trial);
      least = now;
    }
  }
  return lowest;
}

// The slicing, here or inside bodies, that lowers the peak most, in more and more slices.
bool SliceSearch::slice_one() {
  levels_ = levels_of(planned_, ledger_.options(), fuse_options_);
  previous_.reset();
  std::vector<std::vector<Slicing>> all;
  for (const Level& level : levels_) all.push_back(find_slicings(level, false));
  std::optional<BudgetCandidate> best;
  size_t best_level = 0;
  const Slicing* slicing = nullptr;
  for (size_t level = 0; level < levels_.size(); ++level) {
    std::optional<Trial> lowest = lowest_trial(level, all[level]);
    if (!lowest) continue;
    const Slicing* own = lowest->slicing;
    BudgetCandidate whole = complete(std::move(*lowest));
    if (best && score(best->plan) <= score(whole.plan)) continue;
    best = std::move(whole);
    best_level = level;
    slicing = own;
  }
  if (!best) return false;
  const bool to_the_end =
      ledger_.wanted() == Wanted::better && saves(price_of(best->plan), price_of(planned_.plan), kMuchSaved);
  std::optional<BudgetCandidate> lowest = slice_more(best_level, *slicing, to_the_end);
  ledger_.enter(*best, decisions_, previous_);
  if (ledger_.done()) return true;
  const bool is_better = !lowest || score(best->plan) < score(lowest->plan);
  if (is_better && !ledger_.too_long(best->plan.predicted_seconds)) lowest = std::move(best);
  return lowest && go_on_from(*std::move(lowest));
}

// In two slices, three, ... until one fits or no more help; what is lowest.
std::optional<BudgetCandidate> SliceSearch::slice_more(size_t level, const Slicing& slicing, bool to_the_end) {
  std::optional<BudgetCandidate> lowest;
  const Region& region = slicing.regions[0];
  const bool few = planned_.graph.nodes.size() <= kFewNodes;
  int64_t length = region.extent;
  Score least{std::numeric_limits<size_t>::max()};
  int idle = 0;
  const auto is_worth = [&](int64_t chunks) {
    return to_the_end && slicing.gain / static_cast<double>(chunks) >= kSliceBytes;
  };
  for (int64_t chunks = 2; idle < kPatience && chunks <= region.extent && (!ledger_.exhausted() || is_worth(chunks));
       chunks += few ? (chunks + 3) / 4 : chunks) {
    if (slice_length(region, chunks) == length) continue;
    length = slice_length(region, chunks);
    auto trial = try_slices(level, slicing, chunks);
    if (!trial) break;
    // Where something else holds the peak, less is held beside it: the next slicing is of that.
    const Score now = score(trial->plan, levels_[level].planned.plan);
    const bool gain =
        now.peak_bytes + now.peak_bytes / 256 < least.peak_bytes || now.load < (1 - kLeastLess) * least.load;
    idle = gain ? 0 : idle + 1;
    if (std::tie(now.peak_bytes, now.load) >= std::tie(least.peak_bytes, least.load)) continue;
    least = now;
    BudgetCandidate sliced = complete(std::move(*trial));
    ledger_.enter(sliced, decisions_, previous_);
    if (ledger_.done()) break;
    previous_ = alternative(fmt::format("chunked, K = {}", chunks), sliced.plan);
    if (!lowest || score(sliced.plan) < score(lowest->plan)) lowest = std::move(sliced);
  }
  return lowest;
}

bool SliceSearch::go_on_from(BudgetCandidate candidate) {
  const Score before = score(planned_.plan), after = score(candidate.plan);
  if (std::tie(after.peak_bytes, after.load) >= std::tie(before.peak_bytes, before.load)) return false;
  decisions_.push_back(ledger_.decision_of(candidate, "lowers the peak", previous_));
  slices_ = candidate.slices;
  move_to(std::move(candidate.graph));
  if (planned_.plan.predicted_seconds <= kAsLong * start_seconds_) reached_for_free_ = reached();
  return true;
}

// The slicing outside which least is alive, of those not the path-th best; others inside it may follow.
bool SliceSearch::slice_outside(size_t path) {
  levels_ = {levels_of(planned_, ledger_.options(), fuse_options_)[0]};
  previous_.reset();
  const std::vector<Slicing> all = find_slicings(levels_[0], false);
  std::vector<std::tuple<size_t, size_t, Trial>> trials;  // with their number
  for (const Slicing& slicing : all) {
    if (ledger_.exhausted()) break;
    if (auto trial = try_slices(0, slicing, slicing.regions[0].extent)) {
      const size_t outside = peak_outside_bodies(trial->plan);
      if (outside < ledger_.lowest().plan.peak_bytes) trials.emplace_back(outside, trials.size(), std::move(*trial));
    }
  }
  if (path >= trials.size()) return false;
  std::ranges::sort(trials, {}, [](const auto& p) { return std::pair(std::get<0>(p), std::get<1>(p)); });
  BudgetCandidate sliced = complete(std::move(std::get<2>(trials[path])));
  ledger_.enter(sliced, decisions_, previous_);
  decisions_.push_back(ledger_.decision_of(sliced, "leaves room to slice inside", previous_));
  slices_ = sliced.slices;
  move_to(std::move(sliced.graph));
  return true;
}

}  // namespace neap::planner
