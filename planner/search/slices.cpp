#include "planner/search/slices.h"

#include <algorithm>
#include <iterator>
#include <set>
#include <tuple>
#include <utility>

#include "planner/fuse/fuse.h"
#include "planner/plan/queries.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kCandidates = 6;                 // values tried as the large one
constexpr size_t kNeighbours = 96;                // other values tried beside it
constexpr size_t kAlike = 256;                    // regions sliced at once
constexpr size_t kMostVisits = 200'000;           // of one graph: neighbours and alike regions are left out then
constexpr size_t kVisitsOfOne = kMostVisits / 8;  // for the neighbours of one value
constexpr size_t kNegligible = 1024;              // a value this much smaller than the largest is no reason to slice
constexpr size_t kMoreCuts = 3;                   // of the first axis, in parts
constexpr size_t kMostStages = 4;                 // what parts share is computed in each
constexpr size_t kDeepest = 4;                    // loops in loops
constexpr double kWide = 0.5;                     // of the peak: steps where like values are worth slicing too

class Finder {
 public:
  explicit Finder(const Level& level)
      : level_(level), graph_(level.planned.graph), plan_(level.planned.plan), finder_(graph_, level.stored) {
    is_output_.assign(graph_.values.size(), false);
    for (const int b : plan_.outputs) {
      if (plan_.buffers[b].value != no_value) is_output_[plan_.buffers[b].value] = true;
    }
    for (const PlanBuffer& buffer : plan_.buffers) {
      if (buffer.value != no_value && buffer.bytes > 0) buffers_.push_back(&buffer);
    }
    next_wide_.assign(plan_.steps.size() + 1, static_cast<int>(plan_.steps.size()));
    const auto wide = static_cast<size_t>(kWide * static_cast<double>(plan_.peak_bytes));
    for (size_t s = plan_.steps.size(); s-- > 0;) {
      next_wide_[s] = plan_.steps[s].bytes_live >= wide ? static_cast<int>(s) : next_wide_[s + 1];
    }
    for (const Value& value : graph_.values) {
      const Shape& shape = value.aval.shape;
      const auto axis = std::ranges::find_if(shape, [](int64_t extent) { return extent != 1; });
      if (axis != shape.end() && *axis > 1) leading_.insert(*axis);
    }
    std::ranges::sort(buffers_, [](const PlanBuffer* a, const PlanBuffer* b) {
      return std::pair(b->bytes, a->value) < std::pair(a->bytes, b->value);
    });
  }

  std::vector<Slicing> run(bool outputs) {
    const int peak_at = peak_step(plan_);
    std::set<ValueId> values;
    for (const PlanBuffer* buffer : buffers_) {
      const ValueId v = buffer->value;
      const bool there = buffer->first <= peak_at && peak_at <= buffer->last;
      if (outputs != is_output_[v] || !(outputs || there)) continue;
      if (values.size() == kCandidates || !values.insert(v).second) continue;
      for (const Cut cut : cuts_of(v)) {
        add(finder_.find({v}, cut, !outputs), v, cut);
        if (!outputs) add(with_neighbours(v, cut), v, cut);
      }
    }
    if (!outputs && peak_at >= 0 && plan_.steps[peak_at].body) add_loop_outputs(plan_.steps[peak_at]);
    std::ranges::sort(found_, {}, [](const Slicing& s) { return std::tuple(-s.gain, s.value, s.cut.axis, s.number); });
    return std::move(found_);
  }

  size_t visits() const { return finder_.visits(); }

 private:
  // The ways to slice a value: along its axes, along those of the shapes under which it is read, and along its first in
  // as many parts as there are of other values.
  std::vector<Cut> cuts_of(ValueId v) const {
    std::vector<Cut> cuts;
    const Shape& shape = graph_.aval(v).shape;
    for (int64_t axis = 0; axis < std::ssize(shape); ++axis) {
      if (shape[axis] > 1) cuts.push_back({axis});
    }
    for (const Node& node : graph_.nodes) {
      if (node.op != Op::reshape || node.inputs[0] != v) continue;
      const Shape& view = graph_.aval(node.out()).shape;
      for (int64_t axis = 0; axis < std::ssize(view); ++axis) {
        if (view[axis] < 2) continue;
        const Cut cut = operand_cut(graph_, node, {axis}, 0);
        if (cut != kImpossible && std::ranges::find(cuts, cut) == cuts.end()) cuts.push_back(cut);
      }
    }
    const auto first = std::ranges::find_if(shape, [](int64_t extent) { return extent != 1; });
    size_t more = 0;
    for (auto it = leading_.rbegin(); first != shape.end() && it != leading_.rend() && more < kMoreCuts; ++it) {
      if (*it >= *first || *first % *it != 0) continue;
      const Cut cut{first - shape.begin(), *first / *it};
      if (std::ranges::find(cuts, cut) != cuts.end()) continue;
      cuts.push_back(cut);
      ++more;
    }
    return cuts;
  }

  // A loop whose results are outputs: what its body needs is a slice's.
  void add_loop_outputs(const PlanStep& step) {
    size_t values = 0;
    for (const int b : step.writes) {
      const ValueId v = plan_.buffers[b].value;
      if (v == no_value || !is_output_[v] || !graph_.is(v, Op::scan) || ++values > kCandidates) continue;
      for (const Cut cut : cuts_of(v)) add(finder_.find({v}, cut, false), v, cut);
    }
  }

  void add(std::optional<Region> region, ValueId v, Cut cut) {
    if (!region || !known_.insert(key(*region)).second) return;
    Slicing slicing{stages_of(graph_, *std::move(region)), v, cut};
    if (slicing.regions.size() > kMostStages) return;
    slicing.alike = slicing.regions.size();
    slicing.number = found_.size();
    add_alike(slicing);
    weigh(slicing);
    found_.push_back(std::move(slicing));
  }

  void weigh(Slicing& slicing) const {
    const int peak_at = peak_step(plan_);
    std::set<ValueId> leaving;
    for (const Region& region : slicing.regions) {
      leaving.insert(region.joined.begin(), region.joined.end());
      for (const ValueId v : region.summed) {
        const Node& node = *graph_.def(v);
        const bool sums = node.op == Op::reduce_sum || node.op == Op::reduce_prod || sums_products(node);
        slicing.splits_sums |= sums && is_float(graph_.aval(v).dtype);
      }
    }
    for (const PlanBuffer* buffer : buffers_) {
      const ValueId v = buffer->value;
      if (buffer->first > peak_at || peak_at > buffer->last || leaving.contains(v)) continue;
      const bool hidden = std::ranges::any_of(slicing.regions, [&](const Region& r) { return inside(r, v); });
      if (hidden) slicing.gain += static_cast<double>(buffer->bytes);
    }
    slicing.gain += body_bytes(slicing);
  }

  // What the body of the loop at the peak step needs, if it runs in slices.
  double body_bytes(const Slicing& slicing) const {
    const int peak_at = peak_step(plan_);
    if (peak_at < 0 || !plan_.steps[peak_at].body) return 0;
    for (const int b : plan_.steps[peak_at].writes) {
      const ValueId v = plan_.buffers[b].value;
      if (v == no_value || !graph_.def(v)) continue;
      const NodeId id = graph_.values[v].def;
      if (std::ranges::any_of(slicing.regions, [&](const Region& r) { return r.scans.contains(id); })) {
        return static_cast<double>(plan_.steps[peak_at].body->arena_bytes);
      }
    }
    return 0;
  }

  // What tells regions apart: the values computed in slices, how, and what leaves: as it is or, which the others do not
  // say, summed.
  using Key = std::vector<int64_t>;
  static Key key(const Region& region) {
    std::vector<std::tuple<ValueId, int64_t, int64_t>> cuts;
    for (const auto& [v, cut] : region.cut) cuts.emplace_back(v, cut.axis, cut.block);
    std::ranges::sort(cuts);
    Key key;
    for (const auto& [v, axis, block] : cuts) key.insert(key.end(), {v, axis, block});
    key.push_back(-1);
    key.insert(key.end(), region.inputs.begin(), region.inputs.end());
    key.push_back(-1);
    key.insert(key.end(), region.joined.begin(), region.joined.end());
    key.push_back(-1);
    key.insert(key.end(), region.summed.begin(), region.summed.end());
    return key;
  }

  // What values that are alike share.
  using Kind = std::tuple<Op, DType, Shape>;
  using Kinds = std::set<Kind>;
  Kind kind_of(ValueId v) const { return {graph_.def(v)->op, graph_.aval(v).dtype, graph_.aval(v).shape}; }

  bool exhausted() const { return finder_.visits() > kMostVisits; }

  bool inside(const Region& region, ValueId v) const {
    return region.cut.contains(v) && !std::ranges::binary_search(region.inputs, v);
  }

  // With all other large intermediates that can be in slices too; what is apart from the region at first may touch it
  // later.
  std::optional<Region> with_neighbours(ValueId v, Cut cut, const Kinds* kinds = nullptr) const {
    std::vector<ValueId> hidden{v}, others;
    const size_t stop = std::min(kMostVisits, finder_.visits() + kVisitsOfOne);
    for (const PlanBuffer* buffer : buffers_) {
      const ValueId other = buffer->value;
      if (kinds && !kinds->contains(kind_of(other))) continue;
      if (other == v || is_output_[other] || buffer->bytes * kNegligible <= graph_.aval(v).bytes()) continue;
      if (others.size() < kNeighbours) others.push_back(other);
    }
    std::optional<Region> found = finder_.find(hidden, cut);
    bool has_grown = false;
    for (bool grown = true; std::exchange(grown, false);) {
      std::vector<ValueId> apart;
      for (const ValueId other : others) {
        if (found && !found->cut.contains(other)) {  // hiding it changes nothing
          apart.push_back(other);
          continue;
        }
        if (finder_.visits() > stop) break;
        hidden.push_back(other);
        std::optional<Region> region = finder_.find(hidden, cut);
        if (region && inside(*region, other)) {
          found = std::move(region);
          grown = has_grown = true;
          continue;
        }
        hidden.pop_back();
        if (region) apart.push_back(other);
      }
      others = std::move(apart);
    }
    return has_grown ? std::move(found) : std::nullopt;
  }

  // Regions around values like the first one's, at other wide steps: layers of a network.
  void add_alike(Slicing& slicing) const {
    const Kind kind = kind_of(slicing.value);
    std::set<ValueId> leaving;
    const auto take = [&](const Region& region) {
      for (const auto* list : {&region.summed, &region.joined}) leaving.insert(list->begin(), list->end());
    };
    const auto apart = [&](const Region& region) {
      for (const auto* list : {&region.summed, &region.joined}) {
        for (const ValueId v : *list) {
          if (leaving.contains(v)) return false;
        }
      }
      return true;
    };
    for (const Region& region : slicing.regions) take(region);
    const Kinds others = kinds_hidden(slicing);
    for (const PlanBuffer* buffer : buffers_) {
      const ValueId v = buffer->value;
      if (slicing.regions.size() >= kAlike || exhausted() || v == slicing.value || is_output_[v]) continue;
      if (kind_of(v) != kind || !is_wide(*buffer)) continue;
      if (std::ranges::any_of(slicing.regions, [&](const Region& r) { return inside(r, v); })) continue;
      const std::optional<Region> region =
          others.empty() ? finder_.find({v}, slicing.cut) : with_neighbours(v, slicing.cut, &others);
      if (!region || !apart(*region)) continue;
      std::vector<Region> stages = stages_of(graph_, *region);
      if (stages.size() > kMostStages) continue;
      take(*region);
      std::ranges::move(stages, std::back_inserter(slicing.regions));
    }
  }

  // The other stored values inside the first regions.
  Kinds kinds_hidden(const Slicing& slicing) const {
    Kinds kinds;
    for (const Region& region : slicing.regions) {
      for (const auto& [v, cut] : region.cut) {
        if (v != slicing.value && level_.stored[v] && inside(region, v)) kinds.insert(kind_of(v));
      }
    }
    return kinds;
  }

  bool is_wide(const PlanBuffer& buffer) const {
    return buffer.first < std::ssize(next_wide_) && next_wide_[buffer.first] <= buffer.last;
  }

  const Level& level_;
  const Graph& graph_;
  const PlanData& plan_;
  RegionFinder finder_;
  std::vector<bool> is_output_;
  std::vector<const PlanBuffer*> buffers_;  // of values, the largest first
  std::set<int64_t> leading_;               // extents of first axes
  std::vector<int> next_wide_;              // from each step on, the next with much alive
  std::set<Key> known_;
  std::vector<Slicing> found_;
};

}  // namespace

std::vector<Level> levels_of(const Planned& planned, const PlanOptions& options, const FuseOptions& fuse_options) {
  std::vector<Level> levels;
  levels.push_back({nullptr, std::nullopt, planned, fuse(planned.graph, fuse_options).stored});
  while (levels.size() <= kDeepest) {
    const PlanData& plan = levels.back().planned.plan;
    const int peak_at = peak_step(plan);
    if (peak_at < 0 || !plan.steps[peak_at].body) break;
    const Attrs& attrs = plan.steps[peak_at].group.nodes[0].attrs;
    Level level{attrs.graph(Attr::body), CountedLoop(attrs), {}, {}};
    level.planned = plan_body(*level.body, *level.loop, options, fuse_options);
    level.stored = fuse(level.planned.graph, fuse_options).stored;
    levels.push_back(std::move(level));
  }
  return levels;
}

Graph with_body(const Graph& graph, const GraphPtr& from, const GraphPtr& to) {
  Graph result = graph;
  for (Node& node : result.nodes) {
    if (!is_loop(node.op)) continue;
    const GraphPtr body = node.attrs.graph(Attr::body);
    node.attrs.set(Attr::body, body == from ? to : std::make_shared<const Graph>(with_body(*body, from, to)));
  }
  return result;
}

std::vector<Slicing> slicings(const Level& level, bool outputs, size_t& visits) {
  Finder finder(level);
  std::vector<Slicing> found = finder.run(outputs);
  visits += finder.visits();
  return found;
}

const Node& subject_of(const Level& level, const Slicing& slicing) {
  const Graph& graph = level.planned.graph;
  ValueId first = slicing.value;
  for (const auto& [v, cut] : slicing.regions[0].cut) {
    if (!graph.is(v, Op::random_bits)) continue;
    if (!graph.is(first, Op::random_bits) || v < first) first = v;
  }
  return *graph.def(first);
}

size_t peak_outside_bodies(const PlanData& plan) {
  size_t most = 0;
  for (const PlanStep& step : plan.steps) {
    most = std::max(most, step.bytes_live - (step.body ? step.body->arena_bytes : 0));
  }
  return most;
}

}  // namespace neap::planner
