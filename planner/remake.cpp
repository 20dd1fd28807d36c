#include "planner/remake.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "planner/cost.h"
#include "planner/dot.h"
#include "planner/fuse.h"
#include "planner/fuse_groups.h"
#include "planner/recompute.h"

namespace neap::planner {

using namespace trace;

namespace {

constexpr double kCheap = 256;   // cost of an element: some elementwise ops, a gather, but no random numbers
constexpr double kPrice = 0.3;   // of the predicted time, for all of the peak; half the peak may cost half of that
constexpr double kLeast = 0.05;  // of the peak: less is not worth another plan
constexpr int kRounds = 3;
constexpr size_t kMostNodes = 4000;  // beyond, one plan takes time enough

// What may be made again, if it is cheap.
struct Kinds {
  bool chains = false;    // of what is made again itself
  bool products = false;  // products of few terms
};

struct Cheap {
  ValueId value;
  std::vector<ValueId> sources;  // that would not be there otherwise
};

std::vector<bool> stored_values(const Planned& planned) {
  std::vector<bool> stored(planned.graph.values.size(), false);
  for (const ValueId v : planned.graph.inputs) stored[v] = true;
  for (const PlanBuffer& buffer : planned.plan.buffers) {
    if (buffer.value != no_value) stored[buffer.value] = true;
  }
  return stored;
}

// What of all that waits need not, as it is cheap to make of the rest; `refused` has to wait.
std::vector<Cheap> find_cheap(const Planned& planned, const std::vector<ValueId>& all, const std::vector<bool>& refused,
                              Kinds kinds) {
  const Graph& graph = planned.graph;
  std::vector<bool> stored = stored_values(planned), waits(graph.values.size(), false), forgotten = waits;
  for (const ValueId v : all) waits[v] = true;
  Slicer slices(graph);
  std::vector<Cheap> found;
  for (const ValueId v : all) {
    const Node& node = *graph.def(v);
    if (refused[v] || is_join(node)) continue;
    std::vector<ValueId> leaves;
    if (kinds.products && is_canonical_dot(graph, node)) {
      if (static_cast<double>(dot_form(graph, node).k) * predicted::kDotMultiply > kCheap) continue;
      for (const ValueId x : node.inputs) leaves.push_back(base(graph, x));
      if (std::ranges::any_of(leaves, [&](ValueId x) { return !stored[x]; })) continue;
    } else {
      if (!is_fusible(node.op)) continue;
      Slice slice = slices(stored, {v});
      if (!slice.complete || !slice.random_nodes.empty() || slice.cost > kCheap) continue;
      leaves = std::move(slice.leaves);
    }
    Cheap cheap{v, {}};
    bool sourced = true;
    for (const ValueId s : leaves) {
      sourced &= !forgotten[s];
      if (graph.def(s) && !waits[s]) cheap.sources.push_back(s);
    }
    if (!sourced) continue;
    (kinds.chains ? stored : forgotten)[v] = !kinds.chains;
    found.push_back(std::move(cheap));
  }
  return found;
}

// What to keep, of all that waits; nullopt where it is not worth another plan.
std::optional<std::vector<ValueId>> worth_keeping(const Planned& planned, Kinds kinds) {
  const Graph& graph = planned.graph;
  const std::vector<ValueId> all = waiting(planned);
  std::vector<bool> refused(graph.values.size(), false);
  std::vector<Cheap> found;
  for (int tries = 0; tries < kRounds; ++tries) {  // what is refused may be what others are made of
    found = find_cheap(planned, all, refused, kinds);
    std::map<ValueId, size_t> saved_by;  // for each source that would have to wait instead
    for (const Cheap& cheap : found) {
      for (const ValueId s : cheap.sources) saved_by[s] += graph.aval(cheap.value).bytes();
    }
    const auto is_dear = [&](const Cheap& cheap) {
      return std::ranges::any_of(cheap.sources, [&](ValueId s) { return 2 * graph.aval(s).bytes() > saved_by[s]; });
    };
    std::vector<ValueId> dear;
    for (const Cheap& cheap : found) {
      if (is_dear(cheap)) dear.push_back(cheap.value);
    }
    std::erase_if(found, is_dear);
    if (dear.empty()) break;
    for (const ValueId v : dear) refused[v] = true;
  }
  std::vector<ValueId> kept;
  std::vector<bool> forgotten(graph.values.size(), false);
  size_t saved = 0;
  for (const Cheap& cheap : found) {
    forgotten[cheap.value] = true;
    saved += graph.aval(cheap.value).bytes();
    kept.insert(kept.end(), cheap.sources.begin(), cheap.sources.end());
  }
  for (const ValueId v : all) {
    if (!forgotten[v]) kept.push_back(v);
  }
  if (static_cast<double>(saved) < kLeast * static_cast<double>(planned.plan.peak_bytes)) return std::nullopt;
  return kept;
}

// The best of the plans so far: each halving of the peak may cost some of the time that the usual plan takes.
class Best {
 public:
  explicit Best(Planned usual)
      : best_(std::move(usual)), peak_(best_.plan.peak_bytes), seconds_(best_.plan.predicted_seconds) {}
  bool is_better(size_t peak_bytes, double seconds) const {
    const double gained = 1 - static_cast<double>(peak_bytes) / static_cast<double>(peak_);
    return peak_bytes < best_.plan.peak_bytes && gained >= kLeast && seconds <= seconds_ * (1 + kPrice * gained);
  }
  void consider(const Planned& other) {
    if (is_better(other.plan.peak_bytes, other.plan.predicted_seconds)) best_ = other;
  }
  Planned take() { return std::move(best_); }

 private:
  Planned best_;
  size_t peak_;
  double seconds_;
};

void go_on(Planned from, Kinds kinds, const PlanOptions& options, Best& best) {
  for (int round = 0; round < kRounds; ++round) {
    const auto kept = worth_keeping(from, kinds);
    if (!kept) break;
    from = plan_simplified(recompute_from(from, *kept), options, {},
                           [&](size_t peak_bytes, double seconds) { return best.is_better(peak_bytes, seconds); });
    best.consider(from);
  }
}

}  // namespace

Planned remake_cheap(const Planned& usual, const PlanOptions& options) {
  Best best(usual);
  if (usual.graph.nodes.size() <= kMostNodes) {
    for (const bool chains : {false, true}) go_on(usual, {.chains = chains}, options, best);
  }
  return best.take();
}

Planned remake_products(const Planned& usual, const Planned& remade, const PlanOptions& options) {
  Best best(usual);
  best.consider(remade);
  if (usual.graph.nodes.size() <= kMostNodes) {
    go_on(usual, {.chains = true, .products = true}, options, best);
    go_on(remade, {.products = true}, options, best);
  }
  return best.take();
}

}  // namespace neap::planner
