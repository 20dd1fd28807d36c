#include "planner/rewrite/stacked_loops.h"

#include <algorithm>
#include <map>
#include <utility>

#include "planner/plan/queries.h"
#include "trace/graph/effects.h"
#include "trace/graph/loop.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int64_t kMostDivisors = 4096;  // numbers up to this are tried as divisors

// Of each carry of the body: whether one of these outputs follows from it, in this iteration or a later one.
std::vector<bool> carries_of(const LoopView& loop, const std::vector<size_t>& outputs) {
  const std::span in = loop.body.inputs, out = loop.body.outputs;
  std::vector<bool> read(loop.body.values.size(), false), needed(loop.carries, false);
  for (const size_t o : outputs) read[out[o]] = true;
  mark_read(loop.body, in.subspan(loop.consts, loop.carries), out.first(loop.carries), read, needed);
  return needed;
}

bool contains(const auto& list, const auto& value) { return std::ranges::find(list, value) != list.end(); }

// Bytes of a stack that a loop writes or reads in a step.
size_t step_bytes(const Graph& graph, ValueId stack) {
  const Aval& aval = graph.aval(stack);
  return aval.shape[0] == 0 ? 0 : aval.bytes() / static_cast<size_t>(aval.shape[0]);
}

}  // namespace

std::vector<StackedLoop> stacked_loops(const Graph& graph) {
  const std::vector<std::vector<NodeId>> readers = consumers(graph);
  std::vector<StackedLoop> found;
  for (size_t n = 0; n < graph.nodes.size(); ++n) {
    const Node& node = graph.nodes[n];
    if (node.op != Op::scan) continue;
    const LoopView loop(node);
    if (loop.length < 2 || calls_host(loop.body, true)) continue;  // what the host gave is not asked for again
    StackedLoop stacked;
    stacked.loop = static_cast<NodeId>(n);
    stacked.length = loop.length;
    // Whether all that reads a result reads a step of it in each of its own.
    const auto is_residual = [&](ValueId v) {
      if (readers[v].empty() || contains(graph.outputs, v)) return false;
      return std::ranges::all_of(readers[v], [&](NodeId id) {
        const Node& reader = graph.nodes[id];
        if (reader.op != Op::scan || LoopView(reader).length != loop.length) return false;
        const LoopLayout layout(reader.attrs);
        for (size_t i = 0; i < reader.inputs.size(); ++i) {
          if (reader.inputs[i] == v && !layout.is_stacked_input(i)) return false;
        }
        return true;
      });
    };
    for (size_t o = loop.carries; o < loop.results; ++o) {
      const ValueId v = node.outputs[o];
      if (!is_residual(v)) continue;
      stacked.residuals.push_back(o);
      stacked.stacked_bytes += step_bytes(graph, v);
      for (const NodeId id : readers[v]) {
        if (!contains(stacked.readers, id)) stacked.readers.push_back(id);
      }
    }
    if (stacked.residuals.empty()) continue;
    stacked.needed = carries_of(loop, stacked.residuals);
    for (size_t i = 0; i < loop.carries; ++i) {
      if (stacked.needed[i]) stacked.carry_bytes += graph.aval(node.inputs[loop.consts + i]).bytes();
    }
    const auto count_inputs = [&](const Node& of) {
      const LoopLayout layout(of.attrs);
      for (size_t i = layout.consts + layout.carries; i < of.inputs.size(); ++i) {
        const NodeId def = graph.values[of.inputs[i]].def;
        if (def != stacked.loop) stacked.input_bytes += step_bytes(graph, of.inputs[i]);
      }
    };
    count_inputs(node);
    for (const NodeId id : stacked.readers) count_inputs(graph.nodes[id]);
    found.push_back(std::move(stacked));
  }
  return found;
}

size_t segmented_bytes(const StackedLoop& loop, std::span<const int64_t> segments) {
  size_t bytes = 0;
  int64_t length = loop.length;
  for (const int64_t segment : segments) {
    const int64_t count = length / segment, rest = length % segment;
    bytes += static_cast<size_t>(count) * loop.carry_bytes;
    // What is left over stacks its residuals, and stacked operands are copied in two parts.
    bytes += static_cast<size_t>(rest) * loop.stacked_bytes;
    if (rest > 0) bytes += static_cast<size_t>(length) * loop.input_bytes;
    length = segment;
  }
  return bytes + static_cast<size_t>(length) * loop.stacked_bytes;
}

namespace {

// Lengths worth a trial: all where there are few, then such as are a sixteenth apart, and divisors.
std::vector<int64_t> lengths_to_try(int64_t steps) {
  std::vector<int64_t> lengths;
  for (int64_t k = 1; k < steps; k += std::max<int64_t>(1, k / 16)) lengths.push_back(k);
  for (int64_t d = 2; d * d <= steps && d <= kMostDivisors; ++d) {
    if (steps % d != 0) continue;
    lengths.push_back(d);
    lengths.push_back(steps / d);
  }
  std::ranges::sort(lengths);
  lengths.erase(std::ranges::unique(lengths).begin(), lengths.end());
  return lengths;
}

class Divider {
 public:
  explicit Divider(const StackedLoop& loop) : loop_(loop) {}

  const std::vector<int64_t>& best(int64_t steps, int levels) {
    const auto [it, unknown] = known_.try_emplace({steps, levels});
    if (!unknown || levels == 0) return it->second;
    std::vector<int64_t> best_segments = best(steps, levels - 1);
    StackedLoop part = loop_;
    part.length = steps;
    size_t least = segmented_bytes(part, best_segments);
    for (const int64_t k : lengths_to_try(steps)) {
      std::vector<int64_t> segments{k};
      const std::vector<int64_t>& inner = best(k, levels - 1);
      segments.insert(segments.end(), inner.begin(), inner.end());
      const size_t bytes = segmented_bytes(part, segments);
      if (bytes >= least) continue;
      least = bytes;
      best_segments = std::move(segments);
    }
    return known_[{steps, levels}] = std::move(best_segments);
  }

 private:
  const StackedLoop& loop_;
  std::map<std::pair<int64_t, int>, std::vector<int64_t>> known_;
};

}  // namespace

std::vector<int64_t> best_segments(const StackedLoop& loop, int levels) {
  return Divider(loop).best(loop.length, levels);
}

}  // namespace neap::planner
