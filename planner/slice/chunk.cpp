#include "planner/slice/chunk.h"

#include <algorithm>
#include <map>
#include <unordered_set>
#include <utility>

#include "core/check.h"
#include "planner/plan/graph_edit.h"
#include "planner/plan/marks.h"
#include "planner/slice/partial_sums.h"
#include "planner/slice/slice_nodes.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr std::source_location kNowhere{};

// Writes one region: its scan and what is left over.
class RegionWriter {
 public:
  RegionWriter(const Graph& graph, const Region& region, int64_t chunks, Graph& result, std::vector<ValueId>& renamed)
      : graph_(graph), region_(region), renamed_(renamed), result_(result) {
    length_ = slice_length(region, chunks);
    count_ = region.extent / length_;
    tail_ = region.extent - count_ * length_;
    for (const ValueId v : region.inside) members_.push_back(v);
    for (const auto& [v, cut] : region.cut) {
      if (!std::ranges::binary_search(region.inputs, v)) members_.push_back(v);
    }
    members_.insert(members_.end(), region.summed.begin(), region.summed.end());
    std::ranges::sort(members_);
    for (const ValueId v : region.summed) {
      if (!graph.is(v, Op::scan)) sums_.push_back(v);
    }
  }

  const Region& region() const { return region_; }
  bool enter() { return !std::exchange(entered_, true); }

  /// Writes the region into the result graph, where its inputs are already, and renames what leaves it.
  void write() {
    Graph body;
    body.name = "slice";
    Slice inner;
    std::vector<ValueId> consts, inits, xs, stacked_inputs;
    std::vector<ValueId> cut;  // inputs of which the body takes a slice
    for (const ValueId v : region_.inputs) {
      const bool in_slices = region_.cut.contains(v), stacked = in_slices && tail_ == 0 && leading(v);
      if (stacked) xs.push_back(v);
      if (stacked && !is_met(v)) continue;
      consts.push_back(renamed_[v]);
      const ValueId all = body.add_input(graph_.aval(v));
      (in_slices ? inner.wholes : inner.names)[v] = all;
      if (in_slices && !stacked) cut.push_back(v);
    }
    for (const ValueId v : sums_) {
      inits.push_back(initial_of(v));
      inner.names[v] = body.add_input(result_.aval(inits.back()));
    }
    for (const auto& [id, cut] : region_.scans) {
      for (const ValueId total : write_initial_totals(result_, graph_.nodes[id], *cut)) {
        inits.push_back(total);
        inner.totals[id].push_back(body.add_input(result_.aval(total)));
      }
    }
    inits.push_back(result_.constant(0, DType::i64, {}));
    const ValueId offset = body.add_input({{}, DType::i64});
    for (const ValueId v : xs) {
      Shape shape = sliced(v, length_);
      inner.names[v] = body.add_input({shape, graph_.aval(v).dtype});
      shape.insert(shape.begin(), count_);
      stacked_inputs.push_back(result_.add(Op::reshape, {renamed_[v]}, {{Attr::shape, shape}}, kNowhere));
    }
    const SliceAt at{offset, length_};
    for (const ValueId v : cut) inner.names[v] = slice_of(body, inner.wholes.at(v), region_.cut.at(v), at);
    emit_slice(body, inner, at);
    for (const ValueId v : sums_) body.outputs.push_back(inner.names.at(v));
    for (const auto& [id, totals] : inner.totals) {
      body.outputs.insert(body.outputs.end(), totals.begin(), totals.end());
    }
    const ValueId step = body.constant(static_cast<double>(length_), DType::i64, {});
    body.outputs.push_back(body.add(Op::add, {offset, step}, {}, kNowhere));
    for (const ValueId v : region_.joined) body.outputs.push_back(inner.names.at(v));

    const ValueId first = region_.joined.empty() ? region_.summed[0] : region_.joined[0];
    Attrs attrs{{Attr::length, count_},
                {Attr::num_consts, std::ssize(consts)},
                {Attr::num_carry, std::ssize(inits)},
                {Attr::reverse, int64_t{0}},
                {Attr::marks, static_cast<int64_t>(Mark::chunked)},
                {Attr::body, std::make_shared<const Graph>(std::move(body))}};
    std::vector<ValueId> operands = std::move(consts);
    operands.insert(operands.end(), inits.begin(), inits.end());
    operands.insert(operands.end(), stacked_inputs.begin(), stacked_inputs.end());
    const NodeId id = result_.add_node(Op::scan, std::move(operands), std::move(attrs), graph_.def(first)->loc);
    const std::vector<ValueId> outputs = result_.nodes[id].outputs;
    join(outputs);
  }

 private:
  // Of values of the graph in one slice; totals of loops (planner/slice/split_scan.h) so far.
  struct Slice {
    std::unordered_map<ValueId, ValueId> names;
    std::unordered_map<ValueId, ValueId> wholes;  // of inputs in slices, where they are there too
    std::map<NodeId, std::vector<ValueId>> totals;
  };

  Shape sliced(ValueId v, int64_t size) const { return sliced_shape(graph_.aval(v).shape, region_.cut.at(v), size); }

  bool is_met(ValueId v) const { return std::ranges::binary_search(region_.met, v); }

  // What a member's operand `i` is in a slice: only of what is met must be asked how it is read.
  ValueId operand(Graph& g, const Slice& slice, const Node& node, ValueId member, size_t i, SliceAt at) const {
    const ValueId x = node.inputs[i];
    return is_met(x) ? met(g, slice, x, cut_read(node, member, i), at) : slice.names.at(x);
  }

  ValueId met(Graph& g, const Slice& slice, ValueId x, Cut cut, SliceAt at) const {
    if (cut == kWhole) return slice.wholes.at(x);
    return cut == region_.cut.at(x) ? slice.names.at(x) : slice_of(g, slice.wholes.at(x), cut, at);
  }

  Cut cut_read(const Node& node, ValueId member, size_t i) const {
    if (std::ranges::binary_search(region_.inside, member)) return kWhole;
    if (!std::ranges::binary_search(region_.summed, member)) {
      return operand_cut(graph_, node, region_.cut.at(member), i);
    }
    return is_summed_operand(node, i) ? region_.cut.at(node.inputs[i]) : kWhole;
  }

  // Of a partial sum: another operand is what it begins with.
  static bool is_summed_operand(const Node& node, size_t i) { return i < (sums_products(node) ? 2 : 1); }

  bool leading(ValueId v) const {
    const Shape& shape = graph_.aval(v).shape;
    const auto end = shape.begin() + region_.cut.at(v).axis;
    return std::all_of(shape.begin(), end, [](int64_t extent) { return extent == 1; });
  }

  // What the partial sum `v` begins with, in the whole graph.
  ValueId initial_of(ValueId v) {
    const Node& node = *graph_.def(v);
    if (!is_summed_operand(node, node.inputs.size() - 1)) return whole(node.inputs.back());
    const PartialSum sum = partial_sum_of(graph_, node, summed_cut(v));
    const Shape& shape = graph_.aval(v).shape;
    return result_.add(Op::constant, {}, {{Attr::value, sum.initial}, {Attr::dtype, sum.dtype}, {Attr::shape, shape}},
                       kNowhere);
  }

  // Of the operand of a partial sum.
  Cut summed_cut(ValueId v) const { return region_.cut.at(graph_.def(v)->inputs[0]); }

  // The region's nodes for a slice, which holds the inputs, sliced where they are, and of what is summed the total so
  // far.
  void emit_slice(Graph& g, Slice& slice, SliceAt at) const {
    auto& names = slice.names;
    for (const ValueId v : members_) {
      const Node& node = *graph_.def(v);
      if (node.op == Op::scan) {
        if (!names.contains(v)) emit_scan(g, slice, node, at);
        continue;
      }
      std::vector<ValueId> inputs;
      for (size_t i = 0; i < node.inputs.size(); ++i) inputs.push_back(operand(g, slice, node, v, i, at));
      const Cut* const cut = region_.cut.find(v);
      if (!cut) {
        names[v] = std::ranges::binary_search(region_.summed, v)
                       ? add_slice(g, graph_, node, summed_cut(v), std::move(inputs), names.at(v))
                       : g.add(node.op, std::move(inputs), node.attrs, node.loc);
      } else {
        names[v] = write_slice(g, graph_, node, std::move(inputs), *cut, at);
      }
    }
  }

  void emit_scan(Graph& g, Slice& slice, const Node& node, SliceAt at) const {
    const NodeId id = graph_.values[node.outputs[0]].def;
    const ScanCut& cut = *region_.scans.at(id);
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      const ValueId x = node.inputs[i];
      const Cut of = cut.inputs[i];
      if (of == kUnused) {
        inputs.push_back(no_value);
      } else if (is_met(x)) {
        inputs.push_back(met(g, slice, x, of == kWhole ? of : is_stacked_input(node, i) ? stacked_cut(of) : of, at));
      } else {
        inputs.push_back(slice.names.at(x));
      }
    }
    const auto totals = slice.totals.find(id);
    ScanSlice made = write_scan_slice(g, node, cut, inputs,
                                      totals == slice.totals.end() ? std::vector<ValueId>{} : totals->second, at);
    if (totals != slice.totals.end()) totals->second = std::move(made.totals);
    // What only follows from totals has a name, so that the loop is written once.
    for (size_t o = 0; o < node.outputs.size(); ++o) slice.names.emplace(node.outputs[o], made.outputs[o]);
  }

  // Names the scan's results, with those of the tail.
  void join(const std::vector<ValueId>& outputs) {
    Slice last;
    size_t next = 0;
    for (const ValueId v : sums_) last.names[v] = outputs[next++];
    for (const auto& [id, cut] : region_.scans) {
      for (size_t k = 0; k < cut->sums.size(); ++k) last.totals[id].push_back(outputs[next++]);
    }
    if (tail_ > 0) emit_tail(last);
    for (const ValueId v : sums_) renamed_[v] = convert_to(result_, last.names.at(v), graph_.aval(v).dtype);
    for (const auto& [id, totals] : last.totals) write_what_follows(id, totals);
    ++next;  // the offset
    for (const ValueId v : region_.joined) {
      ValueId whole = outputs[next++];
      const int64_t axis = region_.cut.at(v).axis;
      if (!leading(v)) {  // [count, ..., length, ...] to [..., count, length, ...]
        Ints permutation;
        for (int64_t i = 0; i < graph_.aval(v).ndim(); ++i) {
          if (i == axis) permutation.push_back(0);
          permutation.push_back(i + 1);
        }
        whole = result_.add(Op::transpose, {whole}, {{Attr::permutation, permutation}}, kNowhere);
      }
      whole = result_.add(Op::reshape, {whole}, {{Attr::shape, sliced(v, count_ * length_)}}, kNowhere);
      if (tail_ > 0) whole = result_.add(Op::concatenate, {whole, last.names.at(v)}, {{Attr::axis, axis}}, kNowhere);
      renamed_[v] = whole;
    }
  }

  // Results of a loop that follow from its totals.
  void write_what_follows(NodeId id, const std::vector<ValueId>& totals) {
    const Node& node = graph_.nodes[id];
    const ScanCut& cut = *region_.scans.at(id);
    const Graph& body = *node.attrs.graph(Attr::body);
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < node.inputs.size(); ++i) {
      inputs.push_back(cut.after[body.inputs[i]] ? whole(node.inputs[i]) : no_value);
    }
    const std::vector<ValueId> made = write_after(result_, node, cut, inputs, totals);
    for (size_t o = 0; o < made.size(); ++o) {
      if (std::ranges::binary_search(region_.summed, node.outputs[o])) renamed_[node.outputs[o]] = made[o];
    }
  }

  // What each slice computes again, outside of them.
  ValueId whole(ValueId v) {
    if (renamed_[v] == no_value) {
      for (const ValueId x : graph_.def(v)->inputs) whole(x);
      append_renamed(result_, graph_, *graph_.def(v), renamed_);
    }
    return renamed_[v];
  }

  void emit_tail(Slice& slice) {
    for (const ValueId v : region_.inputs) {
      slice.names[v] = slice.wholes[v] = renamed_[v];
      if (!region_.cut.contains(v)) continue;
      const Cut cut = region_.cut.at(v);
      slice.names[v] =
          append_slice(result_, renamed_[v], cut.axis, count_ * length_ * cut.block, graph_.aval(v).shape[cut.axis]);
    }
    const ValueId offset = result_.constant(static_cast<double>(count_ * length_), DType::i64, {});
    emit_slice(result_, slice, {offset, tail_});
  }

  const Graph& graph_;
  const Region& region_;
  int64_t length_ = 0, count_ = 0, tail_ = 0;
  std::vector<ValueId> members_;  // computed in the region, ascending
  std::vector<ValueId> sums_;     // totals, but by loops
  std::vector<ValueId>& renamed_;
  Graph& result_;
  bool entered_ = false;
};

class Chunker {
 public:
  Chunker(const Graph& graph, const std::vector<Region>& regions, int64_t chunks) : graph_(graph) {
    for (const Region& region : regions) {
      writers_.emplace_back(graph, region, chunks, result_, renamed_);
      for (const auto* list : {&region.summed, &region.joined}) {
        for (const ValueId v : *list) writer_of_.emplace(v, writers_.size() - 1);
      }
      for (const auto& [v, cut] : region.cut) {
        if (!std::ranges::binary_search(region.inputs, v)) in_regions_.insert(v);
      }
      for (const auto* list : {&region.summed, &region.inside}) in_regions_.insert(list->begin(), list->end());
    }
  }

  std::optional<Graph> run() {
    renamed_ = copy_inputs(result_, graph_);
    for (const Node& node : graph_.nodes) {  // what is not in regions keeps its order
      for (const ValueId v : node.outputs) {
        if (!in_regions_.contains(v) && !emit(v)) return std::nullopt;
      }
    }
    for (const ValueId v : graph_.outputs) {
      if (!emit(v)) return std::nullopt;
      result_.outputs.push_back(renamed_[v]);
    }
    return eliminate_dead_code(result_);
  }

 private:
  // Depth first: operands before nodes, all of a region's inputs before its scan.
  bool emit(ValueId target) {
    std::vector<std::pair<ValueId, bool>> pending{{target, false}};
    while (!pending.empty()) {
      const auto [v, ready] = pending.back();
      pending.pop_back();
      if (renamed_[v] != no_value) continue;
      const auto it = writer_of_.find(v);
      RegionWriter* writer = it == writer_of_.end() ? nullptr : &writers_[it->second];
      if (ready) {
        if (writer) {
          writer->write();
        } else {
          append_outside(*graph_.def(v));
        }
        continue;
      }
      if (writer && !writer->enter()) return false;  // the region needs what it makes
      pending.emplace_back(v, true);
      for (const ValueId x : writer ? writer->region().inputs : graph_.def(v)->inputs) {
        if (renamed_[x] == no_value) pending.emplace_back(x, false);
      }
    }
    return true;
  }

  // Of a loop that runs in slices, results that are the same for all of them may be needed outside too.
  void append_outside(const Node& node) {
    std::vector<ValueId> before;
    for (const ValueId v : node.outputs) before.push_back(renamed_[v]);
    append_renamed(result_, graph_, node, renamed_);
    for (size_t i = 0; i < before.size(); ++i) {
      if (writer_of_.contains(node.outputs[i])) renamed_[node.outputs[i]] = before[i];
    }
  }

  const Graph& graph_;
  std::vector<ValueId> renamed_;
  Graph result_;
  std::vector<RegionWriter> writers_;
  std::unordered_map<ValueId, size_t> writer_of_;  // of what leaves a region
  std::unordered_set<ValueId> in_regions_;         // written when something else needs them
};

}  // namespace

int64_t slice_length(const Region& region, int64_t chunks) {
  const int64_t length = (region.extent + chunks - 1) / chunks;
  return std::min(region.extent, (length + region.unit - 1) / region.unit * region.unit);
}

std::optional<Graph> chunk(const Graph& graph, const std::vector<Region>& regions, int64_t chunks) {
  if (chunks < 1 || std::ranges::any_of(regions, [](const Region& r) { return r.extent < 1; })) return std::nullopt;
  return Chunker(graph, regions, chunks).run();
}

}  // namespace neap::planner
