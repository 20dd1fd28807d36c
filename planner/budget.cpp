#include "planner/budget.h"

#include <neap/bytes.h>
#include <neap/error.h>

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <set>
#include <span>
#include <tuple>
#include <utility>

#include "planner/chunk.h"
#include "planner/fuse.h"
#include "planner/fuse_groups.h"
#include "planner/recompute.h"
#include "planner/report.h"
#include "planner/simplify.h"
#include "trace/op_table.h"

namespace neap::planner {

using namespace trace;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr size_t kMostSegments = 64;           // between values that are kept
constexpr size_t kFewWaiting = 256;            // so many can be tried in parts too
constexpr int kRounds = 6;                     // regions in slices, one after the other
constexpr size_t kCandidates = 6;              // values tried as the hidden one in each round
constexpr int64_t kProbeChunks[] = {16, 256};  // what an axis gives at best may show only in many slices
constexpr int64_t kEveryChunks = 32;           // up to here every K is tried, above only some
constexpr int kPatience = 8;                   // so many K without gain end a round
constexpr size_t kNeighbours = 32;             // other values tried beside it
constexpr size_t kNegligible = 1024;           // a value this much smaller than the largest is no reason to slice

// A leaner plan, and where it came from.
struct Leaner {
  Graph graph;  // simplified
  PlanData plan;
  std::string strategy = "recompute";
  std::string what, how;  // for its decision
  int64_t chunks = 0;
};

struct Choice {
  std::vector<ValueId> hidden;
  int64_t axis = 0;
};

class Search {
 public:
  Search(Graph simplified, Planned first, PlanOptions options)
      : options_(std::move(options)), graph_(std::move(simplified)), planned_(std::move(first)) {
    best_.plan = planned_.plan;
    note(best_);
    find_stored();
    fused_ = {"fused", planned_.plan.peak_bytes, planned_.plan.predicted_seconds};
  }

  PlanData run() {
    if (!fits(best_.plan)) search();
    best_.plan.tradeoff = curve();
    return std::move(best_.plan);
  }

  // The points that no other beats in both peak and time, the fastest first.
  std::vector<Tradeoff> curve() const {
    std::vector<Tradeoff> sorted = seen_, best;
    std::ranges::sort(sorted, {},
                      [](const Tradeoff& t) { return std::tuple(t.predicted_seconds, t.peak_bytes, t.how); });
    for (Tradeoff& point : sorted) {
      if (best.empty() || point.peak_bytes < best.back().peak_bytes) best.push_back(std::move(point));
    }
    return best;
  }

  void search() {
    keep_checkpoints();
    fuse_options_ = {.keep_weight = kNever, .random_weight = kNever};
    replan();
    Leaner lean;
    lean.graph = graph_;
    lean.plan = planned_.plan;
    offer(std::move(lean));
    keep_checkpoints();
    const Leaner checkpointed = best_;
    slice_regions();
    if (!fits(best_.plan) && checkpointed.how != "") {
      graph_ = checkpointed.graph;
      replan();
      decisions_ = {decision_of(checkpointed, "lowers the peak")};
      slice_regions();
    }
  }

  // One region in a fixed number of slices; false where there is none.
  bool slice_once(int64_t chunks) {
    std::optional<Leaner> best;
    for (const Choice& choice : choices(true)) {
      if (auto sliced = try_slices(choice, chunks, true); sliced && (!best || lower(*sliced, *best)))
        best = std::move(sliced);
    }
    if (!best) {
      for (const Choice& choice : choices(false)) {
        if (auto sliced = try_slices(choice, chunks, false); sliced && (!best || lower(*sliced, *best)))
          best = std::move(sliced);
      }
    }
    if (!best) return false;
    best->plan.decisions.push_back(decision_of(*best, "as pinned"));
    best_ = std::move(*best);
    return true;
  }

  PlanData take() { return std::move(best_.plan); }

 private:
  static bool lower(const Leaner& a, const Leaner& b) {
    return std::pair(a.plan.peak_bytes, a.plan.predicted_seconds) <
           std::pair(b.plan.peak_bytes, b.plan.predicted_seconds);
  }
  static bool faster(const Leaner& a, const Leaner& b) {
    return std::pair(a.plan.predicted_seconds, a.plan.peak_bytes) <
           std::pair(b.plan.predicted_seconds, b.plan.peak_bytes);
  }
  bool fits(const PlanData& plan) const { return options_.memory_budget && plan.peak_bytes <= *options_.memory_budget; }

  void replan() {
    planned_ = plan_simplified(graph_, options_, fuse_options_);
    find_stored();
  }
  void find_stored() { stored_ = fuse(planned_.graph, fuse_options_).stored; }

  void note(const Leaner& plan) {
    std::string how = plan.strategy;
    if (!plan.how.empty()) how += ": " + plan.how;
    seen_.push_back({plan.plan.peak_bytes, plan.plan.predicted_seconds, seen_.empty() ? "fused" : std::move(how)});
  }

  // Takes a plan if it is lower than all before. Those before did not fit, or there would be none after.
  bool offer(Leaner sliced) {
    note(sliced);
    if (sliced.plan.peak_bytes >= best_.plan.peak_bytes) return false;
    if (!sliced.how.empty()) {
      const std::string reason =
          !fits(sliced.plan)  ? "lowers the peak"
          : sliced.chunks > 0 ? fmt::format("the fewest slices that fit {}", format_bytes(*options_.memory_budget))
                              : fmt::format("fits {}", format_bytes(*options_.memory_budget));
      std::vector<Decision> all = decisions_;
      all.push_back(decision_of(sliced, reason));
      sliced.plan.decisions.insert(sliced.plan.decisions.end(), all.begin(), all.end());
    }
    best_ = std::move(sliced);
    return true;
  }

  Decision decision_of(const Leaner& sliced, const std::string& reason) const {
    Decision decision;
    decision.what = sliced.what;
    decision.chosen = sliced.strategy;
    decision.reason = fmt::format("{}: {}", sliced.how, reason);
    decision.alternatives = {fused_, {sliced.strategy, sliced.plan.peak_bytes, sliced.plan.predicted_seconds}};
    if (previous_) decision.alternatives.push_back(*previous_);
    return decision;
  }

  // Keeps only some of what waits across the widest step, or of the part of it that is read last: the fastest such
  // plans first.
  void keep_checkpoints() {
    const std::vector<ValueId> all = waiting(planned_);
    std::vector<Leaner> plans;
    std::set<std::vector<ValueId>> tried{all};
    for (const size_t part : {1, 2, 4}) {
      if (part > 1 && all.size() > kFewWaiting) break;
      const std::span values = std::span(all).first(all.size() / part);
      size_t total = 0;
      for (const ValueId v : values) total += planned_.graph.aval(v).bytes();
      for (size_t segments = std::min(values.size(), kMostSegments); segments > 0; segments -= (segments + 3) / 4) {
        std::vector<ValueId> kept = checkpoints(planned_, values, total / segments);
        kept.insert(kept.end(), all.begin() + std::ssize(values), all.end());
        if (tried.insert(kept).second) plans.push_back(from_checkpoints(all, kept));
      }
    }
    std::ranges::sort(plans, faster);
    for (const Leaner& plan : plans) note(plan);
    for (Leaner& plan : plans) {
      if (fits(best_.plan)) return;
      offer(std::move(plan));
    }
  }

  Leaner from_checkpoints(const std::vector<ValueId>& all, const std::vector<ValueId>& kept) const {
    Leaner plan;
    plan.graph = simplify(recompute_from(planned_, kept));
    plan.plan = plan_simplified(plan.graph, options_, fuse_options_).plan;
    const Node& first = *planned_.graph.def(all.front());
    plan.what = fmt::format("{} values from {} at {} on", all.size(), name(first.op), to_string(first.loc));
    plan.how = fmt::format("{} kept, the others computed again from them", kept.size());
    return plan;
  }

  void slice_regions() {
    for (int round = 0; !fits(best_.plan) && round < kRounds; ++round) {
      if (!slice_one_region()) break;
    }
  }

  // The choice with all other large intermediates that can be in slices too.
  Choice with_neighbours(Choice choice) const {
    const auto bytes = [&](ValueId v) { return planned_.graph.aval(v).bytes(); };
    const PlanData& plan = planned_.plan;
    std::vector<ValueId> others;
    for (const PlanBuffer& buffer : plan.buffers) {
      const bool output =
          std::ranges::any_of(plan.outputs, [&](int b) { return plan.buffers[b].value == buffer.value; });
      if (buffer.value == no_value || output || buffer.value == choice.hidden[0]) continue;
      if (buffer.bytes * kNegligible > bytes(choice.hidden[0])) others.push_back(buffer.value);
    }
    std::ranges::sort(others, [&](ValueId a, ValueId b) { return std::pair(bytes(b), a) < std::pair(bytes(a), b); });
    if (others.size() > kNeighbours) others.resize(kNeighbours);
    for (const ValueId other : others) {
      choice.hidden.push_back(other);
      const std::optional<Region> region = region_of(choice, true);
      const bool inside = region && region->axis.contains(other) && !std::ranges::binary_search(region->inputs, other);
      if (!inside) choice.hidden.pop_back();
    }
    return choice;
  }

  // Which values to keep out of memory: the large ones alive at the widest step, alone or with neighbours; or outputs.
  std::vector<Choice> choices(bool hide) const {
    std::vector<ValueId> values;
    const PlanData& plan = planned_.plan;
    const int widest = widest_step(plan);
    const auto is_output = [&](ValueId v) {
      return std::ranges::any_of(plan.outputs, [&](int b) { return plan.buffers[b].value == v; });
    };
    for (const PlanBuffer& buffer : plan.buffers) {
      if (buffer.value == no_value || buffer.bytes == 0) continue;
      if (hide ? is_output(buffer.value) || widest < buffer.first || buffer.last < widest : !is_output(buffer.value))
        continue;
      values.push_back(buffer.value);
    }
    const auto bytes = [&](ValueId v) { return planned_.graph.aval(v).bytes(); };
    std::ranges::sort(values, [&](ValueId a, ValueId b) { return std::pair(bytes(b), a) < std::pair(bytes(a), b); });
    values.erase(std::ranges::unique(values).begin(), values.end());
    if (values.size() > kCandidates) values.resize(kCandidates);
    std::vector<Choice> all;
    for (const ValueId v : values) {
      const Shape& shape = planned_.graph.aval(v).shape;
      for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
        if (shape[axis] < 2) continue;
        all.push_back({{v}, axis});
        if (!hide) continue;
        Choice more = with_neighbours({{v}, axis});
        if (more.hidden.size() > 1) all.push_back(std::move(more));
      }
    }
    return all;
  }

  std::optional<Region> region_of(const Choice& choice, bool hide) const {
    return grow_region(planned_.graph, stored_, choice.hidden, choice.axis, hide);
  }

  std::optional<Leaner> try_slices(const Choice& choice, int64_t chunks, bool hide) const {
    const std::optional<Region> region = region_of(choice, hide);
    if (!region) return std::nullopt;
    const int64_t slices = std::min(chunks, region->extent);
    std::optional<Graph> sliced = chunk(planned_.graph, *region, slices);
    if (!sliced) return std::nullopt;
    Leaner result;
    result.strategy = "chunked";
    result.graph = simplify(*sliced);
    result.plan = plan_simplified(result.graph, options_, fuse_options_).plan;
    result.chunks = slices;
    const Node& subject = subject_of(*region, choice.hidden[0]);
    result.what = fmt::format("{} at {}", name(subject.op), to_string(subject.loc));
    result.how = fmt::format("{} slices of {} along axis {} of {}", slices, slice_length(*region, slices), choice.axis,
                             to_string(planned_.graph.aval(choice.hidden[0])));
    return result;
  }

  // What the region is about: its random numbers if it draws any, else the hidden value.
  const Node& subject_of(const Region& region, ValueId hidden) const {
    ValueId first = hidden;
    for (const auto& [v, axis] : region.axis) {
      if (!planned_.graph.is(v, Op::random_bits)) continue;
      if (!planned_.graph.is(first, Op::random_bits) || v < first) first = v;
    }
    return *planned_.graph.def(first);
  }

  bool slice_one_region() {
    std::optional<Leaner> best;
    std::optional<Choice> choice;
    for (const Choice& c : choices(true)) {
      for (const int64_t chunks : kProbeChunks) {
        auto sliced = try_slices(c, chunks, true);
        if (sliced && (!best || lower(*sliced, *best))) best = std::move(sliced), choice = c;
      }
    }
    if (!choice) return false;
    std::optional<Leaner> lowest;
    const Region region = *region_of(*choice, true);
    int64_t length = region.extent;
    int idle = 0;
    for (int64_t chunks = 2; idle < kPatience && chunks <= region.extent;
         chunks += chunks < kEveryChunks ? 1 : chunks / 8) {
      if (slice_length(region, chunks) == length) continue;
      length = slice_length(region, chunks);
      auto sliced = try_slices(*choice, chunks, true);
      if (!sliced) break;
      const Alternative now{fmt::format("chunked, K = {}", chunks), sliced->plan.peak_bytes,
                            sliced->plan.predicted_seconds};
      const bool gain = !lowest || sliced->plan.peak_bytes + sliced->plan.peak_bytes / 256 < lowest->plan.peak_bytes;
      idle = gain ? 0 : idle + 1;
      if (offer(*sliced) && fits(best_.plan)) return true;
      previous_ = now;
      if (!lowest || sliced->plan.peak_bytes < lowest->plan.peak_bytes) lowest = std::move(sliced);
    }
    if (!lowest || lowest->plan.peak_bytes >= planned_.plan.peak_bytes) return false;
    decisions_.push_back(decision_of(*lowest, "lowers the peak"));
    graph_ = lowest->graph;
    replan();
    previous_.reset();
    return true;
  }

  PlanOptions options_;
  Graph graph_;
  Planned planned_;           // of graph_
  std::vector<bool> stored_;  // of the values of planned_.graph
  FuseOptions fuse_options_;
  Leaner best_;
  Alternative fused_;
  std::optional<Alternative> previous_;
  std::vector<Tradeoff> seen_;
  std::vector<Decision> decisions_;  // of rounds that are done
};

}  // namespace

PlanData meet_budget(const Graph& simplified, Planned first, const PlanOptions& options) {
  return Search(simplified, std::move(first), options).run();
}

std::vector<Tradeoff> tradeoff_of(const Graph& simplified, Planned first, const PlanOptions& options) {
  Search search(simplified, std::move(first), options);
  search.search();
  return search.curve();
}

void check_budget(const PlanData& plan) {
  if (!plan.budget || plan.peak_bytes <= *plan.budget) return;
  throw BudgetError(
      fmt::format("{}: no plan fits a memory budget of {} ({} bytes); the smallest possible peak is {} ({} bytes).\n"
                  "alive at its widest moment:\n{}raise the budget to that, or make these values smaller",
                  plan.name.empty() ? "jit" : plan.name, format_bytes(*plan.budget), *plan.budget,
                  format_bytes(plan.peak_bytes), plan.peak_bytes, describe_alive(plan, "  ")),
      plan.peak_bytes);
}

PlanData plan_in_chunks(const Graph& simplified, const PlanOptions& options, int64_t chunks) {
  Search search(simplified, plan_simplified(simplified, options, {}), options);
  if (!search.slice_once(chunks)) {
    throw OptionError("strategy chunked: nothing in " + (options.name.empty() ? "the function" : options.name) +
                      " can be computed in slices; leave the strategy to the planner");
  }
  return search.take();
}

}  // namespace neap::planner
