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
constexpr size_t kFewNodes = 1000;             // up to here many checkpoints are tried
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
    seen_.push_back({best_.plan.peak_bytes, best_.plan.predicted_seconds, "fused"});
    fused_ = {"fused", planned_.plan.peak_bytes, planned_.plan.predicted_seconds};
  }

  PlanData run() {
    if (!fits(best_.plan.peak_bytes)) search();
    best_.plan.tradeoff = seen_;
    return std::move(best_.plan);
  }

  void search() {
    fuse_options_ = {.keep_weight = kNever, .random_weight = kNever};
    const Planned usual = std::exchange(planned_, plan_simplified(graph_, options_, fuse_options_));
    find_stored();
    compute_again(usual);
    const Leaner checkpointed = best_;
    slice_regions();
    if (!fits(best_.plan.peak_bytes) && !checkpointed.how.empty()) {
      graph_ = checkpointed.graph;
      replan();
      decisions_ = {decision_of(checkpointed, "lowers the peak")};
      slice_regions();
    }
  }

  // What every budget gets, from the usual plan to the one with the lowest peak.
  const std::vector<Tradeoff>& curve() const { return seen_; }

  // One region in a fixed number of slices; false where there is none.
  bool slice_once(int64_t chunks) {
    find_stored();
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
  bool fits(size_t peak_bytes) const { return options_.memory_budget && peak_bytes <= *options_.memory_budget; }

  void replan() {
    planned_ = plan_simplified(graph_, options_, fuse_options_);
    find_stored();
  }
  void find_stored() { stored_ = fuse(planned_.graph, fuse_options_).stored; }

  // Takes a plan if it is lower than all before. Those before did not fit, or there would be none after.
  bool offer(Leaner sliced) {
    if (sliced.plan.peak_bytes >= best_.plan.peak_bytes) return false;
    if (!sliced.how.empty()) {
      const std::string reason =
          !fits(sliced.plan.peak_bytes) ? "lowers the peak"
          : sliced.chunks > 0 ? fmt::format("the fewest slices that fit {}", format_bytes(*options_.memory_budget))
                              : fmt::format("fits {}", format_bytes(*options_.memory_budget));
      std::vector<Decision> all = decisions_;
      all.push_back(decision_of(sliced, reason));
      sliced.plan.decisions.insert(sliced.plan.decisions.end(), all.begin(), all.end());
    }
    if (sliced.chunks > 0) {
      seen_.push_back({sliced.plan.peak_bytes, sliced.plan.predicted_seconds, "chunked: " + sliced.how});
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

  // How to make a plan that computes again, and what it comes to.
  struct Recipe {
    size_t peak_bytes = 0;
    double seconds = 0;
    const Planned* from = nullptr;
    FuseOptions fuse_options;
    std::optional<std::vector<ValueId>> kept;  // none: `from` itself
    const Node* first = nullptr;               // that waits; in `from`
    std::string how() const {
      return kept ? fmt::format("{} values kept, others computed again from them", kept->size())
                  : "values with several readers are computed by each";
    }
  };

  // Plans that compute again instead of keeping, the fastest first.
  void compute_again(const Planned& usual) {
    std::vector<Recipe> recipes{
        {planned_.plan.peak_bytes, planned_.plan.predicted_seconds, &planned_, fuse_options_, {}}};
    add_checkpoints(usual, {}, recipes);
    add_checkpoints(planned_, fuse_options_, recipes);
    std::ranges::sort(recipes, {}, [](const Recipe& r) { return std::tuple(r.seconds, r.peak_bytes, r.kept); });
    const Recipe* lowest = nullptr;
    for (const Recipe& recipe : recipes) {
      if (recipe.peak_bytes >= seen_.back().peak_bytes) continue;
      lowest = &recipe;
      seen_.push_back({recipe.peak_bytes, recipe.seconds, "recompute: " + recipe.how()});
      if (fits(recipe.peak_bytes)) break;
    }
    if (lowest) offer(cook(*lowest));
  }

  // Only some of what waits across the widest step is kept, or of the part of it that is read last.
  void add_checkpoints(const Planned& from, const FuseOptions& fuse_options, std::vector<Recipe>& recipes) const {
    const std::vector<ValueId> all = waiting(from);
    const bool few = from.graph.nodes.size() <= kFewNodes;
    std::set<std::vector<ValueId>> tried{all};
    for (const size_t part : {1, 2, 4}) {
      if (part > 1 && !few) break;
      const std::span values = std::span(all).first(all.size() / part);
      size_t total = 0;
      for (const ValueId v : values) total += from.graph.aval(v).bytes();
      for (size_t segments = std::min(values.size(), kMostSegments); segments > 0;
           segments -= few ? (segments + 3) / 4 : (segments + 1) / 2) {
        std::vector<ValueId> kept = checkpoints(from, values, total / segments);
        kept.insert(kept.end(), all.begin() + std::ssize(values), all.end());
        if (!tried.insert(kept).second) continue;
        Recipe recipe{0, 0, &from, fuse_options, std::move(kept), from.graph.def(all.front())};
        const Leaner plan = cook(recipe);
        recipe.peak_bytes = plan.plan.peak_bytes;
        recipe.seconds = plan.plan.predicted_seconds;
        recipes.push_back(std::move(recipe));
      }
    }
  }

  Leaner cook(const Recipe& recipe) const {
    Leaner plan;
    if (!recipe.kept) {
      plan.graph = graph_;
      plan.plan = recipe.from->plan;
      return plan;
    }
    plan.graph = simplify(recompute_from(*recipe.from, *recipe.kept));
    plan.plan = plan_simplified(plan.graph, options_, recipe.fuse_options).plan;
    plan.what = fmt::format("what waits from {} at {} on", name(recipe.first->op), to_string(recipe.first->loc));
    plan.how = recipe.how();
    return plan;
  }

  void slice_regions() {
    for (int round = 0; !fits(best_.plan.peak_bytes) && round < kRounds; ++round) {
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
      const bool inside = region && region->cut.contains(other) && !std::ranges::binary_search(region->inputs, other);
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
    for (const auto& [v, cut] : region.cut) {
      if (!planned_.graph.is(v, Op::random_bits)) continue;
      if (!planned_.graph.is(first, Op::random_bits) || v < first) first = v;
    }
    return *planned_.graph.def(first);
  }

  bool slice_one_region() {
    previous_.reset();
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
      if (offer(*sliced) && fits(best_.plan.peak_bytes)) return true;
      previous_ = now;
      if (!lowest || sliced->plan.peak_bytes < lowest->plan.peak_bytes) lowest = std::move(sliced);
    }
    if (offer(*best) && fits(best_.plan.peak_bytes)) return true;
    if (!lowest || lower(*best, *lowest)) lowest = std::move(best);
    if (lowest->plan.peak_bytes >= planned_.plan.peak_bytes) return false;
    decisions_.push_back(decision_of(*lowest, "lowers the peak"));
    graph_ = lowest->graph;
    replan();
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
