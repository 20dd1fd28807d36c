#include "planner/search/loop_checkpoints.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <set>
#include <utility>
#include <vector>

#include "planner/rewrite/checkpoint_loops.h"
#include "planner/rewrite/simplify.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr double kLeastSaved = 0.5;  // of a loop's stacks

struct Choice {
  const Graph* graph;  // the whole, or a body in it
  CheckpointedLoop checkpointed;
  double gain;    // bytes
  size_t number;  // in the order in which they were found
};

size_t stacks_of(const StackedLoop& loop) { return static_cast<size_t>(loop.length) * loop.stacked_bytes; }

void find_choices(const Graph& graph, int levels, std::vector<Choice>& choices) {
  for (StackedLoop& loop : stacked_loops(graph)) {
    const auto all = static_cast<double>(stacks_of(loop));
    std::vector<int64_t> segments = best_segments(loop, levels);
    const double gain = all - static_cast<double>(segmented_bytes(loop, segments));
    if (segments.empty() || gain < kLeastSaved * all) continue;
    choices.push_back({&graph, {std::move(loop), std::move(segments)}, gain, choices.size()});
  }
  for (const Node& node : graph.nodes) {
    if (const AttrValue* body = node.attrs.find(Attr::body)) find_choices(*std::get<GraphPtr>(*body), levels, choices);
  }
}

// Those that gain most, no two of which share a loop.
std::vector<Choice> take(std::vector<Choice> choices, double part) {
  std::ranges::sort(choices, {}, [](const Choice& choice) { return std::pair(-choice.gain, choice.number); });
  std::set<std::pair<const Graph*, NodeId>> met;
  double total = 0, gained = 0;
  std::erase_if(choices, [&](const Choice& choice) {
    const StackedLoop& loop = choice.checkpointed.loop;
    std::vector<NodeId> all = loop.readers;
    all.push_back(loop.loop);
    if (std::ranges::any_of(all, [&](NodeId id) { return met.contains({choice.graph, id}); })) return true;
    for (const NodeId id : all) met.emplace(choice.graph, id);
    total += choice.gain;
    return false;
  });
  std::vector<Choice> taken;
  for (Choice& choice : choices) {
    if (gained >= part * total) break;
    gained += choice.gain;
    taken.push_back(std::move(choice));
  }
  return taken;
}

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

std::optional<LoopCheckpoints> checkpoint_stacked_loops(const Graph& simplified, int levels, double part) {
  std::vector<Choice> choices;
  find_choices(simplified, levels, choices);
  const std::vector<Choice> taken = take(std::move(choices), part);
  if (taken.empty()) return std::nullopt;
  const CheckpointedLoop& most = taken[0].checkpointed;
  LoopsOf loops;
  for (const Choice& choice : taken) loops[choice.graph].push_back(choice.checkpointed);
  return LoopCheckpoints{simplify(rewrite(simplified, loops)),
                         fmt::format("{} loop{} in segments of {} steps", taken.size(), taken.size() == 1 ? "" : "s",
                                     fmt::join(most.segments, ", of ")),
                         taken[0].graph->nodes[most.loop.loop]};
}

}  // namespace neap::planner
