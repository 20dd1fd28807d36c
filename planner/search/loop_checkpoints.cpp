#include "planner/search/loop_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "planner/rewrite/simplify.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr double kLeastSaved = 0.5;  // of a loop's stacks

using LoopsOf = std::map<const Graph*, std::vector<CheckpointedLoop>>;

Graph rewrite(const Graph& graph, const LoopsOf& loops) {
  Graph result = graph;
  for (Node& node : result.nodes) {
    if (!is_loop(node.op)) continue;
    node.attrs.set(Attr::body, std::make_shared<const Graph>(rewrite(*node.attrs.graph(Attr::body), loops)));
  }
  const auto own = loops.find(&graph);
  return own == loops.end() ? result : checkpoint_loops(result, own->second);
}

}  // namespace

LoopsToSegment::LoopsToSegment(const Graph& simplified, int levels) : graph_(simplified) {
  find(simplified, levels);
  std::ranges::sort(choices_, {}, [](const Choice& choice) { return std::pair(-choice.gain, choice.number); });
  std::set<std::pair<const Graph*, NodeId>> met;
  std::erase_if(choices_, [&](const Choice& choice) {
    const StackedLoop& loop = choice.checkpointed.loop;
    std::vector<NodeId> all = loop.readers;
    all.push_back(loop.loop);
    if (std::ranges::any_of(all, [&](NodeId id) { return met.contains({choice.graph, id}); })) return true;
    for (const NodeId id : all) met.emplace(choice.graph, id);
    return false;
  });
}

void LoopsToSegment::find(const Graph& graph, int levels) {
  for (StackedLoop& loop : stacked_loops(graph)) {
    const double all = static_cast<double>(loop.length) * static_cast<double>(loop.stacked_bytes);
    std::vector<int64_t> segments = best_segments(loop, levels);
    const double gain = all - static_cast<double>(segmented_bytes(loop, segments));
    if (segments.empty() || gain < kLeastSaved * all) continue;
    choices_.push_back({&graph, {std::move(loop), std::move(segments)}, gain, choices_.size()});
  }
  for (const Node& node : graph.nodes) {
    if (is_loop(node.op)) find(*node.attrs.graph(Attr::body), levels);
  }
}

size_t LoopsToSegment::count(double part) const {
  double total = 0, gained = 0;
  for (const Choice& choice : choices_) total += choice.gain;
  size_t count = 0;
  while (count < choices_.size() && gained < part * total) gained += choices_[count++].gain;
  return count;
}

LoopCheckpoints LoopsToSegment::checkpoint(size_t count) const {
  LoopsOf loops;
  for (size_t i = 0; i < count; ++i) loops[choices_[i].graph].push_back(choices_[i].checkpointed);
  const CheckpointedLoop& most = choices_[0].checkpointed;
  return {
      simplify(rewrite(graph_, loops)),
      fmt::format("{} loop{} in segments of {} steps", count, count == 1 ? "" : "s", fmt::join(most.segments, ", of ")),
      choices_[0].graph->nodes[most.loop.loop]};
}

std::optional<LoopCheckpoints> checkpoint_stacked_loops(const Graph& simplified, int levels, double part) {
  const LoopsToSegment loops(simplified, levels);
  if (loops.empty()) return std::nullopt;
  return loops.checkpoint(loops.count(part));
}

}  // namespace neap::planner
