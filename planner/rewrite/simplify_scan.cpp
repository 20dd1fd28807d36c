#include <algorithm>
#include <optional>
#include <utility>

#include "planner/plan/graph_edit.h"
#include "planner/plan/queries.h"
#include "planner/rewrite/builder.h"
#include "planner/rewrite/hoist.h"
#include "planner/rewrite/select_branches.h"
#include "planner/rewrite/simplify.h"
#include "trace/graph/loop.h"

namespace neap::planner {

using namespace tracing;

namespace {

// A loop in parts that can be removed one by one.
struct Scan {
  Graph body;  // inputs and outputs are ignored: the lists below say what they are
  std::vector<ValueId> consts, carry_in, carry_out, xs, ys;  // in the body
  std::vector<ValueId> const_operands, inits, xs_operands;   // outside
  std::vector<size_t> carry_index, y_index;                  // output of the original node
  std::vector<ValueId> counters, starts;                     // more carries, which count; in the body, outside
  bool has_condition = false;                                // the first carry, which stays
};

// Bytes. Numbers of iterations that take more are counted, not stored, at the price of a kernel more in each iteration.
// No measurement is recorded.
constexpr size_t kStoredNumbers = size_t{64} << 10;

template <class T>
void erase_at(std::vector<T>& list, size_t i) {
  list.erase(list.begin() + static_cast<std::ptrdiff_t>(i));
}

// Which values of the body are read by its live outputs and the nodes behind them. Outputs are the ys and the carries
// that are used outside, or that such values read in the next iteration.
std::vector<bool> read_values(const Scan& scan, const std::vector<bool>& used) {
  std::vector<bool> read(scan.body.values.size(), false), live(scan.carry_out.size(), false);
  for (const ValueId v : scan.ys) read[v] = true;
  for (size_t j = 0; j < live.size(); ++j) live[j] = used[scan.carry_index[j]] || (j == 0 && scan.has_condition);
  mark_read(scan.body, scan.carry_in, scan.carry_out, read, live);
  return read;
}

void remove_carry(Scan& scan, size_t j) {
  erase_at(scan.carry_in, j);
  erase_at(scan.carry_out, j);
  erase_at(scan.inits, j);
  erase_at(scan.carry_index, j);
}

// Carries that never change become constants; those that feed only carries that nobody reads go. Returns what is read
// of what is left; `result` holds what becomes of the node's outputs.
std::vector<bool> shrink(Scan& scan, const std::vector<bool>& used, std::vector<ValueId>& result) {
  const size_t kept = scan.has_condition ? 1 : 0;
  for (size_t j = scan.carry_in.size(); j-- > kept;) {
    if (scan.carry_out[j] != scan.carry_in[j]) continue;
    result[scan.carry_index[j]] = scan.inits[j];
    scan.consts.push_back(scan.carry_in[j]);
    scan.const_operands.push_back(scan.inits[j]);
    remove_carry(scan, j);
  }
  const std::vector<bool> read = read_values(scan, used);
  for (size_t j = scan.carry_in.size(); j-- > kept;) {
    if (!used[scan.carry_index[j]] && !read[scan.carry_in[j]]) remove_carry(scan, j);
  }
  return read;
}

bool is_never(const Builder& b, ValueId condition) {
  const Node* node = b.match(condition, Op::constant);
  return node && node->attrs.real(Attr::value) == 0;
}

// The first of the numbers k, k + 1, ..., where the value is these and they do not wrap around.
std::optional<int64_t> first_number(const Builder& b, ValueId v) {
  const Aval& aval = b.aval(v);
  if (aval.ndim() != 1 || !is_integer(aval.dtype)) return std::nullopt;
  int64_t first = 0;
  if (const Node* sum = b.match(v, Op::add)) {
    const size_t k = b.match(sum->inputs[0], Op::constant) ? 0 : 1;
    const Node* start = b.match(sum->inputs[k], Op::constant);
    const auto* value = start ? std::get_if<int64_t>(start->attrs.find(Attr::value)) : nullptr;
    if (!value) return std::nullopt;
    first = *value;
    v = sum->inputs[1 - k];
  }
  int64_t last = 0;
  const bool fits = !__builtin_add_overflow(first, aval.shape[0] - 1, &last) &&
                    (aval.dtype == DType::i64 || holds(aval.dtype, std::max(-(first + 1), last)));
  return fits && b.match(v, Op::iota) ? std::optional(first) : std::nullopt;
}

// Stacked operands that are numbers of steps become carries: what a loop holds is not to grow with its steps.
void count_steps(Builder& b, const Node& node, Scan& scan) {
  const bool reverse = node.attrs.integer_or(Attr::reverse, 0) != 0;
  for (size_t i = scan.xs.size(); i-- > 0;) {
    const Aval numbers = b.aval(scan.xs_operands[i]);
    if (numbers.bytes() <= kStoredNumbers) continue;
    const std::optional<int64_t> first = first_number(b, scan.xs_operands[i]);
    if (!first) continue;
    scan.counters.push_back(scan.xs[i]);
    scan.starts.push_back(b.constant(reverse ? *first + numbers.shape[0] - 1 : *first, numbers.dtype, {}, node.loc));
    erase_at(scan.xs, i);
    erase_at(scan.xs_operands, i);
  }
}

}  // namespace

std::vector<ValueId> simplify_loop(Builder& b, const Graph& from, const Node& node, std::vector<ValueId> inputs,
                                   const std::vector<bool>& used) {
  const Graph& original = *node.attrs.graph(Attr::body);
  if (b.level() == Builder::Level::light) {
    const NodeId id = append_copy(b.graph, from, node, std::move(inputs));
    b.graph.nodes[id].attrs.set(Attr::body, std::make_shared<const Graph>(simplify(original, b.level())));
    return b.graph.nodes[id].outputs;
  }
  const LoopLayout layout(node.attrs);
  const size_t num_carry = layout.carries;

  if (node.op == Op::while_loop && is_never(b, inputs[layout.consts])) {
    return {inputs.begin() + static_cast<std::ptrdiff_t>(layout.consts), inputs.end()};
  }
  LoopParts parts{node, simplify(select_branches(original)), std::move(inputs), layout.consts, num_carry};
  hoist_few(b, parts);
  const size_t num_consts = parts.consts;
  inputs = std::move(parts.operands);
  Scan scan{.body = std::move(parts.body), .has_condition = node.op == Op::while_loop};
  for (size_t i = 0; i < inputs.size(); ++i) {
    const ValueId v = scan.body.inputs[i];
    (i < num_consts ? scan.consts : i < num_consts + num_carry ? scan.carry_in : scan.xs).push_back(v);
    (i < num_consts               ? scan.const_operands
     : i < num_consts + num_carry ? scan.inits
                                  : scan.xs_operands)
        .push_back(inputs[i]);
  }
  for (size_t i = 0; i < scan.body.outputs.size(); ++i) {
    if (i < num_carry) {
      scan.carry_out.push_back(scan.body.outputs[i]);
      scan.carry_index.push_back(i);
    } else if (used[i]) {
      scan.ys.push_back(scan.body.outputs[i]);
      scan.y_index.push_back(i);
    }
  }
  std::vector<ValueId> result(node.outputs.size(), no_value);
  const std::vector<bool> read = shrink(scan, used, result);
  for (auto [values, operands] : {std::pair{&scan.consts, &scan.const_operands}, {&scan.xs, &scan.xs_operands}}) {
    for (size_t i = values->size(); i-- > 0;) {
      if (read[(*values)[i]]) continue;
      erase_at(*values, i);
      erase_at(*operands, i);
    }
  }
  if (scan.carry_out.empty() && scan.ys.empty()) return result;
  count_steps(b, node, scan);

  Graph body;
  body.name = scan.body.name;
  std::vector<ValueId> renamed(scan.body.values.size(), no_value);
  for (const auto* list : {&scan.consts, &scan.carry_in, &scan.counters, &scan.xs}) {
    for (const ValueId v : *list) renamed[v] = body.add_input(scan.body.aval(v));
  }
  for (const Node& inner : scan.body.nodes) {
    if (std::ranges::none_of(inner.outputs, [&](ValueId v) { return read[v]; })) continue;
    append_renamed(body, scan.body, inner, renamed);
  }
  for (const ValueId v : scan.carry_out) body.outputs.push_back(renamed[v]);
  const bool reverse = node.attrs.integer_or(Attr::reverse, 0) != 0;
  for (const ValueId v : scan.counters) {
    const ValueId one = body.constant(1, scan.body.aval(v).dtype);
    body.outputs.push_back(body.add(reverse ? Op::subtract : Op::add, {renamed[v], one}, {}, node.loc));
  }
  for (const ValueId v : scan.ys) body.outputs.push_back(renamed[v]);

  Node smaller{node.op, {}, node.attrs, {}, node.loc};
  for (const auto* list : {&scan.const_operands, &scan.inits, &scan.starts, &scan.xs_operands}) {
    smaller.inputs.insert(smaller.inputs.end(), list->begin(), list->end());
  }
  smaller.attrs.erase(Attr::region);  // for autodiff
  smaller.attrs.erase(Attr::saveable);
  smaller.attrs.set(Attr::num_consts, static_cast<int64_t>(scan.consts.size()));
  smaller.attrs.set(Attr::num_carry, std::ssize(scan.carry_in) + std::ssize(scan.counters));
  smaller.attrs.set(Attr::body, std::make_shared<const Graph>(std::move(body)));
  for (const auto* list : {&scan.carry_index, &scan.y_index}) {
    for (const size_t i : *list) smaller.outputs.push_back(node.outputs[i]);  // avals are read from `from`
  }
  const NodeId id = scan.counters.empty() ? append_copy(b.graph, from, smaller, smaller.inputs)
                                          : b.graph.add_node(smaller.op, smaller.inputs, smaller.attrs, smaller.loc);
  std::vector<ValueId> outputs = b.graph.nodes[id].outputs;
  const auto counted = outputs.begin() + std::ssize(scan.carry_in);
  outputs.erase(counted, counted + std::ssize(scan.counters));
  size_t next = 0;
  for (const auto* list : {&scan.carry_index, &scan.y_index}) {
    for (const size_t i : *list) result[i] = outputs[next++];
  }
  return result;
}

}  // namespace neap::planner
