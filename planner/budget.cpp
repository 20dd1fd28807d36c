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

#include "planner/recompute.h"
#include "planner/report.h"
#include "planner/simplify.h"
#include "planner/slices.h"
#include "trace/op_table.h"

namespace neap::planner {

using namespace trace;

namespace {

constexpr double kNever = std::numeric_limits<double>::infinity();
constexpr size_t kSegments[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64};  // between values that are kept
constexpr int kRounds = 16;                                                            // slicings, one after the other
constexpr int64_t kProbeChunks[] = {256, 16};  // what an axis gives at best may show only in many slices
constexpr int kPatience = 3;                   // so many K without gain end a round
constexpr double kNearPeak = 0.75;             // of the peak: live bytes from here on count as load
constexpr size_t kMostPaths = 3;               // first slicings that others inside follow

// Nodes planned in all, until which the search goes on: plans of 1,000 nodes take 10 to 15 ms each. Parts of it have
// their ends, so that none takes the time of those after.
constexpr double kMostNodes = 80'000;
constexpr double kPlanNodes = 50;  // what a plan costs beside its nodes
constexpr double kVisit = 0.02;    // what a value looked at for a region costs
constexpr double kUntilRecompute = 0.35, kUntilSlices = 0.5, kUntilCheckpointed = 0.85, kUntilNested = 1;
constexpr double kProbeNodes = 10'000;  // planned in a round to choose a slicing,
constexpr size_t kFewestProbes = 6;     // but so many at least
constexpr size_t kFewNodes = 300;       // up to here many checkpoints and slices are tried
constexpr size_t kSumsWeigh = 16;       // a peak as much lower by this part is not worth other bits

// A leaner plan, and where it came from.
struct Leaner {
  Graph graph;  // simplified
  PlanData plan;
  std::string strategy = "recompute";
  std::string what, how;  // for its decision
  int64_t chunks = 0;
};

// A slicing tried: of the whole graph, or of a loop's body, whose plan alone is made then.
struct Probe {
  size_t level = 0;
  const Slicing* slicing = nullptr;
  int64_t chunks = 0;
  Graph graph;
  PlanData plan;
};

double nodes_of(const Graph& graph) {
  double nodes = static_cast<double>(graph.nodes.size());
  for (const Node& node : graph.nodes) {
    if (is_loop(node.op)) nodes += nodes_of(*node.attrs.graph(Attr::body));
  }
  return nodes;
}

// How good a plan is, the less the better: its peak, then how much is alive near that of the plan before.
struct Score {
  size_t peak_bytes = 0;
  double load = 0, seconds = 0;
  auto operator<=>(const Score&) const = default;
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
    if (!done()) search();
    best_.plan.tradeoff = seen_;
    return std::move(best_.plan);
  }

  void search() {
    const Planned usual = plan(graph_);
    fuse_options_ = {.keep_weight = kNever, .random_weight = kNever};
    planned_ = plan(graph_);
    until_ = kUntilRecompute;
    compute_again(usual);
    const Leaner start{graph_, planned_.plan, "", "", "", 0}, checkpointed = best_;
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

  // What every budget gets, from the usual plan to the one with the lowest peak.
  const std::vector<Tradeoff>& curve() const { return seen_; }

  // One region in a fixed number of slices; false where there is none.
  bool slice_once(int64_t chunks) {
    levels_ = {Level{nullptr, 0, 0, planned_, fuse(planned_.graph, fuse_options_).stored}};
    std::optional<Leaner> best;
    for (const bool outputs : {false, true}) {
      for (Slicing& slicing : find_slicings(levels_[0], outputs)) {
        slicing.regions.resize(slicing.alike);
        std::optional<Probe> probe = try_slices(0, slicing, chunks);
        if (!probe) continue;
        Leaner sliced = complete(std::move(*probe));
        if (!best || lower(sliced, *best)) best = std::move(sliced);
      }
      if (best) break;
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
  bool done() const { return fits(best_.plan.peak_bytes); }
  bool tired() const { return planned_nodes_ > kMostNodes * until_; }

  Planned plan(const Graph& graph) const { return plan(graph, fuse_options_); }
  Planned plan(const Graph& graph, const FuseOptions& fuse_options) const {
    planned_nodes_ += kPlanNodes + nodes_of(graph);
    return plan_simplified(graph, options_, fuse_options);
  }

  // Takes a plan if it is lower than all before. Those before did not fit, or there would be none after.
  bool offer(const Leaner& leaner) {
    if (leaner.plan.peak_bytes >= best_.plan.peak_bytes) return false;
    Leaner taken = leaner;
    if (!taken.how.empty()) {
      const std::string reason =
          !fits(taken.plan.peak_bytes) ? "lowers the peak"
          : taken.chunks > 0 ? fmt::format("the fewest slices that fit {}", format_bytes(*options_.memory_budget))
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
        {planned_.plan.peak_bytes, planned_.plan.predicted_seconds, &planned_, fuse_options_, {}, nullptr}};
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

  // Only some of what waits across the widest step is kept: the values between two parts of what comes before it, or
  // those that wait, one out of several; or of the part of them that is read last.
  void add_checkpoints(const Planned& from, const FuseOptions& fuse_options, std::vector<Recipe>& recipes) const {
    const std::vector<ValueId> all = waiting(from);
    if (all.empty()) return;
    size_t total = 0;
    for (const ValueId v : all) total += from.graph.aval(v).bytes();
    std::set<std::vector<ValueId>> tried{all};
    const auto add = [&](std::vector<ValueId> kept) {
      if (tired() || !tried.insert(kept).second) return;
      Recipe recipe{0, 0, &from, fuse_options, std::move(kept), from.graph.def(all.front())};
      const Leaner plan = cook(recipe);
      recipe.peak_bytes = plan.plan.peak_bytes;
      recipe.seconds = plan.plan.predicted_seconds;
      recipes.push_back(std::move(recipe));
    };
    const Cuts cuts(from);
    for (const size_t segments : kSegments) add(cuts.checkpoints(total / segments));
    if (from.graph.nodes.size() > kFewNodes) return;
    for (const size_t part : {1, 2, 4}) {
      const std::span values = std::span(all).first(all.size() / part);
      for (const size_t segments : kSegments) {
        if (segments > values.size()) break;
        size_t bytes = 0;
        for (const ValueId v : values) bytes += from.graph.aval(v).bytes();
        std::vector<ValueId> kept = checkpoints(from, values, bytes / segments);
        kept.insert(kept.end(), all.begin() + std::ssize(values), all.end());
        add(std::move(kept));
      }
    }
  }

  Leaner cook(const Recipe& recipe) const {
    Leaner leaner;
    if (!recipe.kept) {
      leaner.graph = graph_;
      leaner.plan = recipe.from->plan;
      return leaner;
    }
    leaner.graph = simplify(recompute_from(*recipe.from, *recipe.kept));
    leaner.plan = plan(leaner.graph, recipe.fuse_options).plan;
    leaner.what = fmt::format("what waits from {} at {} on", name(recipe.first->op), to_string(recipe.first->loc));
    leaner.how = recipe.how();
    return leaner;
  }

  // Slices one thing after the other. `nested`: the first ones are those after which most could be gained by slicing
  // inside.
  void slice_from(const Leaner& start, bool nested) {
    for (size_t path = 0; path < (nested ? kMostPaths : 1); ++path) {
      if (done() || tired()) return;
      graph_ = start.graph;
      planned_ = plan(graph_);
      decisions_.clear();
      if (!start.how.empty()) decisions_.push_back(decision_of(start, "lowers the peak"));
      if (nested && !slice_outside(path)) return;
      for (int round = 0; round < kRounds && !done() && !tired(); ++round) {
        if (!slice_one()) break;
      }
    }
  }

  std::vector<Slicing> find_slicings(const Level& level, bool outputs) const {
    size_t visits = 0;
    std::vector<Slicing> found = slicings(level, outputs, visits);
    planned_nodes_ += kVisit * static_cast<double>(visits);
    return found;
  }

  std::optional<Probe> try_slices(size_t level, const Slicing& slicing, int64_t chunks) const {
    const Level& at = levels_[level];
    std::optional<Graph> sliced = chunk(at.planned.graph, slicing.regions, chunks);
    if (!sliced && slicing.regions.size() > slicing.alike) {
      const auto others = slicing.regions.begin() + static_cast<std::ptrdiff_t>(slicing.alike);
      sliced = chunk(at.planned.graph, {slicing.regions.begin(), others}, chunks);
    }
    if (!sliced) return std::nullopt;
    Probe probe{level, &slicing, chunks, simplify(*sliced), {}};
    if (level == 0) {
      probe.plan = plan(probe.graph).plan;
    } else {
      planned_nodes_ += kPlanNodes + nodes_of(probe.graph);
      probe.plan = plan_body(probe.graph, at.num_consts, at.num_carry, options_, fuse_options_).plan;
    }
    return probe;
  }

  // The plan of the whole graph for what was tried.
  Leaner complete(Probe probe) const {
    const Level& at = levels_[probe.level];
    const Region& region = probe.slicing->regions[0];
    Leaner result;
    result.strategy = "chunked";
    const int64_t length = slice_length(region, probe.chunks);
    result.chunks = (region.extent + length - 1) / length;
    const Node& subject = subject_of(at, *probe.slicing);
    result.what = fmt::format("{} at {}", name(subject.op), to_string(subject.loc));
    result.how =
        fmt::format("{} slices of {} along axis {} of {}{}", result.chunks, slice_length(region, result.chunks),
                    probe.slicing->cut.axis, to_string(at.planned.graph.aval(probe.slicing->value)),
                    probe.level > 0 ? ", inside the slices of another" : "");
    if (probe.level == 0) {
      result.graph = std::move(probe.graph);
      result.plan = std::move(probe.plan);
    } else {
      const auto body = std::make_shared<const Graph>(std::move(probe.graph));
      result.graph = simplify(with_body(planned_.graph, at.body, body));
      result.plan = plan(result.graph).plan;
    }
    return result;
  }

  Score score(const PlanData& plan, const PlanData& before) const {
    const auto near = static_cast<double>(before.peak_bytes) * kNearPeak;
    Score score{plan.peak_bytes, 0, plan.predicted_seconds};
    for (const PlanStep& step : plan.steps) score.load += std::max(0.0, static_cast<double>(step.bytes_live) - near);
    return score;
  }

  // The slicing, here or inside bodies, that lowers the peak most, in more and more slices.
  bool slice_one() {
    levels_ = levels_of(planned_, options_, fuse_options_);
    previous_.reset();
    const bool few = planned_.graph.nodes.size() <= kFewNodes;
    std::vector<std::vector<Slicing>> all;
    for (const Level& level : levels_) all.push_back(find_slicings(level, false));
    std::optional<Leaner> best;
    std::optional<Probe> from;
    for (size_t level = 0; level < levels_.size(); ++level) {
      std::optional<Probe> lowest;
      const PlanData& before = levels_[level].planned.plan;
      const double stop = planned_nodes_ + kProbeNodes;
      size_t probes = 0;
      Score least;
      for (const Slicing& slicing : all[level]) {
        for (const int64_t chunks : kProbeChunks) {
          if (!few && chunks != kProbeChunks[0]) break;
          if (tired() || (++probes > kFewestProbes && planned_nodes_ > stop)) break;
          auto probe = try_slices(level, slicing, chunks);
          if (!probe) continue;
          Score now = score(probe->plan, before);
          if (slicing.splits_sums) now.peak_bytes += now.peak_bytes / kSumsWeigh;
          if (lowest && least <= now) continue;
          lowest = std::move(probe);
          least = now;
        }
      }
      if (!lowest) continue;
      Probe copy{lowest->level, lowest->slicing, lowest->chunks, {}, {}};
      Leaner whole = complete(std::move(*lowest));
      if (best && score(best->plan, planned_.plan) <= score(whole.plan, planned_.plan)) continue;
      best = std::move(whole);
      from = std::move(copy);
    }
    if (!best) return false;
    std::optional<Leaner> lowest;
    const Region& region = from->slicing->regions[0];
    int64_t length = region.extent;
    size_t least = std::numeric_limits<size_t>::max();
    int idle = 0;
    for (int64_t chunks = 2; idle < kPatience && chunks <= region.extent && !tired();
         chunks += few ? (chunks + 3) / 4 : chunks) {
      if (slice_length(region, chunks) == length) continue;
      length = slice_length(region, chunks);
      auto probe = try_slices(from->level, *from->slicing, chunks);
      if (!probe) break;
      const bool gain = probe->plan.peak_bytes + probe->plan.peak_bytes / 256 < least;
      idle = gain ? 0 : idle + 1;
      if (probe->plan.peak_bytes >= least) continue;
      least = probe->plan.peak_bytes;
      Leaner sliced = complete(std::move(*probe));
      if (offer(sliced) && done()) return true;
      previous_ =
          Alternative{fmt::format("chunked, K = {}", chunks), sliced.plan.peak_bytes, sliced.plan.predicted_seconds};
      if (!lowest || score(sliced.plan, planned_.plan) < score(lowest->plan, planned_.plan)) lowest = std::move(sliced);
    }
    if (offer(*best) && done()) return true;
    if (!lowest || score(best->plan, planned_.plan) < score(lowest->plan, planned_.plan)) lowest = std::move(best);
    return go_on_from(std::move(*lowest));
  }

  bool go_on_from(Leaner leaner) {
    const Score before = score(planned_.plan, planned_.plan), after = score(leaner.plan, planned_.plan);
    if (std::tie(after.peak_bytes, after.load) >= std::tie(before.peak_bytes, before.load)) return false;
    decisions_.push_back(decision_of(leaner, "lowers the peak"));
    graph_ = std::move(leaner.graph);
    planned_ = plan(graph_);
    return true;
  }

  // The slicing outside which least is alive, of those not the path-th best; others inside it may follow.
  bool slice_outside(size_t path) {
    levels_ = {levels_of(planned_, options_, fuse_options_)[0]};
    previous_.reset();
    const std::vector<Slicing> all = find_slicings(levels_[0], false);
    std::vector<std::tuple<size_t, size_t, Probe>> probes;  // with their number
    for (const Slicing& slicing : all) {
      if (tired()) break;
      if (auto probe = try_slices(0, slicing, slicing.regions[0].extent)) {
        const size_t outside = peak_outside_bodies(probe->plan);
        if (outside < best_.plan.peak_bytes) probes.emplace_back(outside, probes.size(), std::move(*probe));
      }
    }
    if (path >= probes.size()) return false;
    std::ranges::sort(probes, {}, [](const auto& p) { return std::pair(std::get<0>(p), std::get<1>(p)); });
    Leaner sliced = complete(std::move(std::get<2>(probes[path])));
    offer(sliced);
    decisions_.push_back(decision_of(sliced, "leaves room to slice inside"));
    graph_ = std::move(sliced.graph);
    planned_ = plan(graph_);
    return true;
  }

  PlanOptions options_;
  Graph graph_;
  Planned planned_;            // of graph_
  std::vector<Level> levels_;  // of planned_
  FuseOptions fuse_options_;
  Leaner best_;
  Alternative fused_;
  std::optional<Alternative> previous_;
  std::vector<Tradeoff> seen_;
  std::vector<Decision> decisions_;  // of rounds that are done
  mutable double planned_nodes_ = 0;
  double until_ = 1;  // of kMostNodes
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
