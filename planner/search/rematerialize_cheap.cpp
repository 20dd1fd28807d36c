#include "planner/search/rematerialize_cheap.h"

#include <algorithm>
#include <map>
#include <optional>
#include <utility>
#include <vector>

#include "planner/fuse/groups.h"
#include "planner/kernels/cost.h"
#include "planner/kernels/dot.h"
#include "planner/plan/marks.h"
#include "planner/plan/queries.h"
#include "planner/search/rematerialize.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int kRounds = 3;
constexpr size_t kMostNodes = 4000;  // beyond, one plan takes time enough

using Kinds = Rematerializer::Kinds;

struct Cheap {
  ValueId value;
  std::vector<ValueId> sources;  // that would not be there otherwise
};

// What of all that waits need not, as it is cheap to make of the rest; `refused` has to wait.
std::vector<Cheap> find_cheap(const Planned& planned, const std::vector<ValueId>& all, const std::vector<bool>& refused,
                              Kinds kinds) {
  const Graph& graph = planned.graph;
  std::vector<bool> stored = stored_values(planned), waits(graph.values.size(), false), forgotten = waits;
  for (const ValueId v : all) waits[v] = true;
  ExpressionFinder expressions(graph);
  std::vector<Cheap> found;
  for (const ValueId v : all) {
    const Node& node = *graph.def(v);
    if (refused[v] || is_join(node)) continue;
    std::vector<ValueId> leaves;
    if (kinds.products && is_canonical_dot(graph, node)) {
      if (static_cast<double>(dot_form(graph, node).k) * predicted::kDotMultiply > kCheap) continue;
      for (const ValueId x : node.inputs) leaves.push_back(view_root(graph, x));
      if (std::ranges::any_of(leaves, [&](ValueId x) { return !stored[x]; })) continue;
    } else {
      if (!is_fusible(node.op)) continue;
      Expression expression = expressions(stored, {v});
      if (!is_cheap(expression)) continue;
      leaves = std::move(expression.leaves);
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

// What to keep, of all that waits; nullopt where what need not wait is less than `least` bytes.
std::optional<std::vector<ValueId>> worth_keeping(const Planned& planned, Kinds kinds, double least) {
  const Graph& graph = planned.graph;
  const std::vector<ValueId> all = live_across_peak(planned);
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
  if (static_cast<double>(saved) < least) return std::nullopt;
  return kept;
}

}  // namespace

Rematerializer::Rematerializer(const Planned& usual, const PlanOptions& options)
    : options_(options), best_(&usual), usual_(&usual), price_(price_of(usual.plan)) {}

bool Rematerializer::is_better(Price price) const {
  return price.peak_bytes < best_->plan.peak_bytes && better(price, price_, Policy::rematerialized);
}

const Planned* Rematerializer::try_keeping(const Planned& from, std::vector<ValueId> kept) {
  for (const Trial& trial : trials_) {
    if (trial.from == &from && trial.kept == kept) return trial.planned ? &*trial.planned : nullptr;
  }
  Graph again = rematerialize_from(from, kept);
  const auto worth = [&](size_t peak_bytes, double seconds) {  // at least to go on from
    return peak_bytes < from.plan.peak_bytes && seconds <= price_.seconds * (1 + kRematerialized.longer);
  };
  trials_.push_back({&from, std::move(kept), try_plan(std::move(again), options_, worth)});
  return trials_.back().planned ? &*trials_.back().planned : nullptr;
}

void Rematerializer::go_on(const Planned* from, Kinds kinds) {
  for (int round = 0; round < kRounds; ++round) {
    const auto peak = static_cast<double>(from->plan.peak_bytes), best = static_cast<double>(best_->plan.peak_bytes);
    auto kept = worth_keeping(*from, kinds, std::max(0.0, peak - best) + kRematerialized.least_saved * peak);
    if (!kept) break;
    const Planned* next = try_keeping(*from, *std::move(kept));
    if (!next) break;
    if (is_better(price_of(next->plan))) best_ = next;
    if (next->plan.peak_bytes >= from->plan.peak_bytes) break;
    from = next;
  }
}

const Planned& Rematerializer::rematerialize_cheap() {
  if (usual_->graph.nodes.size() <= kMostNodes) {
    for (const bool chains : {false, true}) go_on(usual_, {.chains = chains});
  }
  return *best_;
}

const Planned& Rematerializer::rematerialize_products() {
  if (usual_->graph.nodes.size() <= kMostNodes) {
    const Planned* remade = best_;
    go_on(usual_, {.chains = true, .products = true});
    if (remade != usual_) go_on(remade, {.products = true});
  }
  return *best_;
}

std::optional<Planned> Rematerializer::take() {
  for (Trial& trial : trials_) {
    if (!trial.planned || &*trial.planned != best_) continue;
    settle(trial.planned->plan, options_);
    if (trial.planned->plan.peak_bytes < usual_->plan.peak_bytes) return *std::move(trial.planned);
  }
  return std::nullopt;
}

}  // namespace neap::planner
