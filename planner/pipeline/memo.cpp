#include "planner/pipeline/memo.h"

#include <algorithm>
#include <cstring>
#include <utility>
#include <variant>

namespace neap::planner {

using namespace tracing;

namespace {

constexpr size_t kMost = 4'000'000;  // numbers: some 30 MB

// All that makes two problems differ: lists come with their lengths, but the last.
std::vector<uint64_t> words_of(const OrderProblem& problem) {
  std::vector<uint64_t> words{static_cast<uint64_t>(problem.steps), problem.values.size(), problem.reuses.size()};
  const auto add = [&](const auto& list) {
    words.push_back(list.size());
    for (const auto n : list) words.push_back(static_cast<uint64_t>(n));
  };
  for (const OrderProblem::Value& value : problem.values) {
    words.push_back(value.bytes * 4 + (value.kept ? 2 : 0) + (value.given ? 1 : 0));
    add(value.writers);
    add(value.readers);
  }
  add(problem.scratch);
  for (const auto& [step, from, into] : problem.reuses) {
    for (const int n : {step, from, into}) words.push_back(static_cast<uint64_t>(n));
  }
  for (const auto& [first, second] : problem.before) {
    for (const int n : {first, second}) words.push_back(static_cast<uint64_t>(n));
  }
  return words;
}

// Whether nodes of equal graphs come from the same places of the user's source.
bool same_source(const Graph& a, const Graph& b) {
  return std::ranges::equal(a.nodes, b.nodes, [](const Node& x, const Node& y) {
    if (x.loc.line() != y.loc.line() || x.loc.column() != y.loc.column() ||
        std::strcmp(x.loc.file_name(), y.loc.file_name()) != 0) {
      return false;
    }
    return std::ranges::equal(x.attrs.items(), y.attrs.items(), [](const auto& p, const auto& q) {
      const auto *g = std::get_if<GraphPtr>(&p.second), *h = std::get_if<GraphPtr>(&q.second);
      return !g || !*g || (h && *h && same_source(**g, **h));
    });
  });
}

bool same(const PlanMemo::Body& a, const PlanMemo::Body& b) {
  return a.consts == b.consts && a.carries == b.carries && a.length == b.length && a.fuse == b.fuse &&
         a.naive == b.naive && a.part_steps == b.part_steps && a.keep_passes == b.keep_passes &&
         a.placing == b.placing && a.graph->name == b.graph->name && *a.graph == *b.graph &&
         same_source(*a.graph, *b.graph);
}

}  // namespace

const std::vector<int>* PlanMemo::order(const OrderProblem& problem) const {
  const auto found = orders_.find(words_of(problem));
  return found == orders_.end() ? nullptr : &found->second;
}

void PlanMemo::remember(const OrderProblem& problem, std::vector<int> order) {
  std::vector<uint64_t> words = words_of(problem);
  if (held_ + words.size() > kMost) return;
  held_ += words.size();
  orders_.emplace(std::move(words), std::move(order));
}

std::shared_ptr<const PlanData> PlanMemo::plan(const Body& body) const {
  const auto [first, last] = plans_.equal_range(body.graph->hash());
  const auto found = std::find_if(first, last, [&](const auto& entry) { return same(entry.second.body, body); });
  return found == last ? nullptr : found->second.plan;
}

void PlanMemo::remember(Body body, std::shared_ptr<const PlanData> plan) {
  const size_t numbers = 100 * body.graph->nodes.size();  // of steps and buffers
  if (held_ + numbers > kMost) return;
  held_ += numbers;
  const uint64_t hash = body.graph->hash();
  plans_.emplace(hash, Plan{std::move(body), std::move(plan)});
}

}  // namespace neap::planner
