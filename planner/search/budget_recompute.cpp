#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <set>
#include <span>
#include <utility>

#include "planner/fuse/fuse.h"
#include "planner/rewrite/simplify.h"
#include "planner/search/budget_search.h"
#include "planner/search/recompute.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kSegments[] = {1, 2, 3, 4, 5, 6, 8, 10, 12, 16, 20, 24, 32, 48, 64};  // between values that are kept

}  // namespace

std::string BudgetSearch::Recipe::how() const {
  return kept ? fmt::format("{} values kept, others computed again from them", kept->size())
              : "values with several readers are computed by each";
}

// Plans that compute again instead of keeping, the fastest first.
void BudgetSearch::compute_again(const Planned& usual) {
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
  if (lowest) record(expand(*lowest));
}

// Only some of what waits across the peak step is kept: the values between two parts of what comes before it, or
// those that wait, one out of several; or of the part of them that is read last.
void BudgetSearch::add_checkpoints(const Planned& from, const FuseOptions& fuse_options,
                                   std::vector<Recipe>& recipes) const {
  const std::vector<ValueId> all = waiting(from);
  if (all.empty()) return;
  size_t total = 0;
  for (const ValueId v : all) total += from.graph.aval(v).bytes();
  std::set<std::vector<ValueId>> tried{all};
  const auto add = [&](std::vector<ValueId> kept) {
    if (exhausted() || !tried.insert(kept).second) return;
    Recipe recipe{0, 0, &from, fuse_options, std::move(kept), from.graph.def(all.front())};
    const Candidate plan = expand(recipe);
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

BudgetSearch::Candidate BudgetSearch::expand(const Recipe& recipe) const {
  Candidate candidate;
  if (!recipe.kept) {
    candidate.graph = graph_;
    candidate.plan = recipe.from->plan;
    return candidate;
  }
  candidate.graph = simplify(recompute_from(*recipe.from, *recipe.kept));
  candidate.plan = plan(candidate.graph, recipe.fuse_options).plan;
  candidate.what = fmt::format("what waits from {} at {} on", name(recipe.first->op), to_string(recipe.first->loc));
  candidate.how = recipe.how();
  return candidate;
}

}  // namespace neap::planner
