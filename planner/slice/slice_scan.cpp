// This writes loops on slices (planner/slice/slice_nodes.h).
#include <algorithm>
#include <map>
#include <utility>

#include "core/check.h"
#include "planner/plan/graph_edit.h"
#include "planner/slice/partial_sums.h"
#include "planner/slice/slice_nodes.h"
#include "trace/graph/loop.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

// What a loop is made of, while it is written: operands in the order constants, carries, stacked.
struct Loop {
  Graph body;
  std::vector<ValueId> consts, inits, stacked;

  std::vector<ValueId> close(Graph& g, const Node& like) {
    Attrs attrs = like.attrs;
    attrs.set(Attr::num_consts, std::ssize(consts));
    attrs.set(Attr::num_carry, std::ssize(inits));
    attrs.set(Attr::body, std::make_shared<const Graph>(std::move(body)));
    std::vector<ValueId> operands = std::move(consts);
    operands.insert(operands.end(), inits.begin(), inits.end());
    operands.insert(operands.end(), stacked.begin(), stacked.end());
    return g.nodes[g.add_node(Op::scan, std::move(operands), std::move(attrs), like.loc)].outputs;
  }
};

// A value of the original body in one form.
using Form = std::pair<ValueId, Cut>;

class SliceWriter {
 public:
  SliceWriter(Graph& g, const Node& node, const ScanCut& cut, SliceAt at)
      : g_(g),
        node_(node),
        from_(*node.attrs.graph(Attr::body)),
        cut_(cut),
        at_(at),
        consts_(LoopLayout(node.attrs).consts),
        carries_(LoopLayout(node.attrs).carries) {}

  ScanSlice write(const std::vector<ValueId>& inputs, const std::vector<ValueId>& totals) {
    Graph& body = loop_.body;
    body.name = from_.name;
    loop_.consts.push_back(at_.offset);
    here_ = {body.add_input({{}, DType::i64}), at_.size};
    for (size_t i = 0; i < consts_; ++i) add_input(i, inputs[i], loop_.consts);
    for (size_t i = consts_; i < consts_ + carries_; ++i) add_input(i, inputs[i], loop_.inits);
    for (size_t i = consts_ + carries_; i < inputs.size(); ++i) add_input(i, inputs[i], loop_.stacked);
    std::map<ValueId, ValueId> total;
    for (size_t k = 0; k < totals.size(); ++k) {
      Aval aval = g_.aval(totals[k]);
      aval.shape.erase(aval.shape.begin());
      total[cut_.sums[k]] = body.add_input(aval);
      loop_.stacked.push_back(totals[k]);
    }
    slice_whole_inputs();
    for (const Node& inner : from_.nodes) write_node(inner);
    for (size_t k = 0; k < totals.size(); ++k) {
      const ValueId v = cut_.sums[k];
      total[v] = add_to(v, cut_.summed[k], total[v]);
    }

    std::vector<size_t> made;
    for (size_t o = 0; o < cut_.outputs.size(); ++o) {
      if (cut_.outputs[o] == kUnused || cut_.outputs[o] == kAfter) continue;
      body.outputs.push_back(names_.at(Form(from_.outputs[o], cut_.outputs[o])));
      made.push_back(o);
    }
    // A loop inside another has no totals where nobody reads what follows from them.
    for (const auto& [v, sum] : total) body.outputs.push_back(sum);
    const std::vector<ValueId> results = loop_.close(g_, node_);
    ScanSlice slice{std::vector<ValueId>(cut_.outputs.size(), no_value), {}};
    for (size_t k = 0; k < made.size(); ++k) slice.outputs[made[k]] = results[k];
    slice.totals.assign(results.begin() + std::ssize(made), results.end());
    return slice;
  }

 private:
  void add_input(size_t i, ValueId operand, std::vector<ValueId>& operands) {
    const Cut cut = cut_.inputs[i];
    if (cut == kUnused) return;
    const ValueId v = from_.inputs[i];
    Aval aval = from_.aval(v);
    if (cut != kWhole) aval.shape = sliced_shape(aval.shape, cut, at_.size);
    names_[Form(v, cut)] = loop_.body.add_input(aval);
    operands.push_back(operand);
  }

  // Inputs that are there whole and wanted in slices too.
  void slice_whole_inputs() {
    for (const ValueId v : from_.inputs) {
      const auto whole = names_.find(Form(v, kWhole));
      if (whole == names_.end()) continue;
      for (const Cut cut : cut_.wanted[v]) {
        if (cut != kWhole) names_[Form(v, cut)] = slice_of(loop_.body, whole->second, cut, here_);
      }
    }
  }

  void write_node(const Node& inner) {
    if (inner.op == Op::scan) {
      write_inner_scan(inner);
      return;
    }
    if (op_info(inner.op).family == Family::control) {
      write_whole(inner);
      return;
    }
    for (const Cut cut : cut_.wanted[inner.out()]) {
      std::vector<ValueId> inputs;
      for (size_t i = 0; i < inner.inputs.size(); ++i) {
        const Cut of = cut == kWhole ? kWhole : operand_cut(from_, inner, cut, i);
        inputs.push_back(names_.at(Form(inner.inputs[i], of)));
      }
      const ValueId written = cut == kWhole ? loop_.body.add(inner.op, std::move(inputs), inner.attrs, inner.loc)
                                            : write_slice(loop_.body, from_, inner, std::move(inputs), cut, here_);
      names_[Form(inner.out(), cut)] = written;
    }
  }

  // Another loop: the same for all slices.
  void write_whole(const Node& inner) {
    if (std::ranges::all_of(inner.outputs, [&](ValueId v) { return cut_.wanted[v].empty(); })) return;
    std::vector<ValueId> inputs;
    for (const ValueId x : inner.inputs) inputs.push_back(names_.at(Form(x, kWhole)));
    const NodeId id = append_copy(loop_.body, from_, inner, std::move(inputs));
    for (size_t o = 0; o < inner.outputs.size(); ++o) {
      names_[Form(inner.outputs[o], kWhole)] = loop_.body.nodes[id].outputs[o];
    }
  }

  void write_inner_scan(const Node& inner) {
    const auto it = cut_.scans.find(from_.values[inner.outputs[0]].def);
    if (it == cut_.scans.end() || !it->second) return;
    const ScanCut& cut = *it->second;
    std::vector<ValueId> inputs;
    for (size_t i = 0; i < inner.inputs.size(); ++i) {
      Cut of = cut.inputs[i];
      if (of.is_slices() && is_stacked_input(inner, i)) of = stacked_cut(of);
      inputs.push_back(of == kUnused ? no_value : names_.at(Form(inner.inputs[i], of)));
    }
    const ScanSlice slice = SliceWriter(loop_.body, inner, cut, here_).write(inputs, {});
    for (size_t o = 0; o < inner.outputs.size(); ++o) {
      Cut of = cut.outputs[o];
      if (of.is_slices() && is_stacked_output(inner, o)) of = stacked_cut(of);
      if (slice.outputs[o] != no_value) names_[Form(inner.outputs[o], of)] = slice.outputs[o];
    }
  }

  ValueId add_to(ValueId v, Cut cut, ValueId total) {
    const Node& inner = *from_.def(v);
    std::vector<ValueId> inputs{names_.at(Form(inner.inputs[0], cut))};
    if (sums_products(inner)) {
      const Cut other{summed_axis(inner, 1), cut.block};
      inputs.push_back(names_.at(Form(inner.inputs[1], other)));
    }
    return add_slice(loop_.body, from_, inner, cut, std::move(inputs), total);
  }

  Graph& g_;
  const Node& node_;
  const Graph& from_;
  const ScanCut& cut_;
  SliceAt at_, here_;  // outside, in the body
  size_t consts_, carries_;
  Loop loop_;
  std::map<Form, ValueId> names_;
};

}  // namespace

ScanSlice write_scan_slice(Graph& g, const Node& node, const ScanCut& cut, const std::vector<ValueId>& inputs,
                           const std::vector<ValueId>& totals, SliceAt at) {
  return SliceWriter(g, node, cut, at).write(inputs, totals);
}

std::vector<ValueId> write_initial_totals(Graph& g, const Node& node, const ScanCut& cut) {
  const Graph& from = *node.attrs.graph(Attr::body);
  std::vector<ValueId> totals;
  for (size_t k = 0; k < cut.sums.size(); ++k) {
    const PartialSum sum = partial_sum_of(from, *from.def(cut.sums[k]), cut.summed[k]);
    Shape shape = from.aval(cut.sums[k]).shape;
    shape.insert(shape.begin(), node.attrs.integer(Attr::length));
    totals.push_back(g.add(Op::constant, {},
                           {{Attr::value, sum.initial}, {Attr::dtype, sum.dtype}, {Attr::shape, shape}}, node.loc));
  }
  return totals;
}

std::vector<ValueId> write_after(Graph& g, const Node& node, const ScanCut& cut, const std::vector<ValueId>& inputs,
                                 const std::vector<ValueId>& totals) {
  const Graph& from = *node.attrs.graph(Attr::body);
  const auto [consts, carries] = LoopLayout(node.attrs);
  Loop loop;
  loop.body.name = from.name;
  std::vector<ValueId> names(from.values.size(), no_value);
  std::vector<size_t> made;
  for (size_t i = 0; i < from.inputs.size(); ++i) {
    const ValueId v = from.inputs[i];
    if (!cut.after[v]) continue;
    names[v] = loop.body.add_input(from.aval(v));
    (i < consts ? loop.consts : i < consts + carries ? loop.inits : loop.stacked).push_back(inputs[i]);
  }
  for (size_t k = 0; k < totals.size(); ++k) {
    Aval aval = g.aval(totals[k]);
    aval.shape.erase(aval.shape.begin());
    const ValueId total = loop.body.add_input(aval);
    loop.stacked.push_back(totals[k]);
    names[cut.sums[k]] = convert_to(loop.body, total, from.aval(cut.sums[k]).dtype);
  }
  for (const Node& inner : from.nodes) {
    const bool needed = std::ranges::any_of(inner.outputs, [&](ValueId v) { return cut.after[v]; });
    if (needed && names[inner.outputs[0]] == no_value) append_renamed(loop.body, from, inner, names);
  }
  for (size_t o = 0; o < from.outputs.size(); ++o) {
    const bool carried = o < carries && cut.after[from.inputs[consts + o]];
    if (!carried && cut.outputs[o] != kAfter) continue;
    loop.body.outputs.push_back(names[from.outputs[o]]);
    made.push_back(o);
  }
  const std::vector<ValueId> results = loop.close(g, node);
  std::vector<ValueId> outputs(from.outputs.size(), no_value);
  for (size_t k = 0; k < made.size(); ++k) {
    if (cut.outputs[made[k]] == kAfter) outputs[made[k]] = results[k];
  }
  return outputs;
}

}  // namespace neap::planner
