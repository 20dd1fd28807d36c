#include "planner/sort.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <limits>
#include <map>

#include "core/buffer.h"
#include "core/check.h"
#include "trace/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int64_t kRowsByDigits = 128;  // elements that are worth a pass
constexpr int64_t kBlock = 65536;
constexpr int64_t kMostBlocks = 64, kMostSlots = 16;
constexpr size_t kLittle = size_t{1} << 20;  // bytes that any sort may take

constexpr int64_t kGpuBlock = 1024, kMostGpuBlocks = 65536;

}  // namespace

SortForm sort_form(const Graph& graph, const Node& node) {
  const Aval& x = graph.aval(node.inputs[0]);
  NEAP_CHECK(op_info(node.op).family == Family::sort && node.attrs.integer(Attr::axis) == x.ndim() - 1,
             "{} is not canonical", name(node.op));
  SortForm form;
  form.length = x.shape.back();
  form.rows = form.length == 0 ? 0 : x.size() / form.length;
  form.dtype = x.dtype;
  form.indices = node.op == Op::argsort;
  form.descending = node.attrs.integer(Attr::descending) != 0;
  return form;
}

int sort_passes(const SortForm& form, int digit_bits) {
  const int bits = form.dtype == DType::bool_ ? 1 : 8 * static_cast<int>(size_of(form.dtype));
  return (bits + digit_bits - 1) / digit_bits;
}

SortLayout sort_layout(const SortForm& form) {
  SortLayout layout;
  const int passes = sort_passes(form);
  const auto n = static_cast<size_t>(form.length);
  const auto take = [&](size_t bytes) {
    const size_t at = layout.slot_bytes;
    layout.slot_bytes += round_up_64(bytes);
    return at;
  };
  const size_t element = size_of(form.dtype), index = sizeof(int32_t);
  layout.merges = form.length < kRowsByDigits * passes;
  if (layout.merges) {
    layout.elements_at[0] = layout.indices_at = take(n * (form.indices ? index : element));
  } else {
    layout.blocks = static_cast<int>(std::clamp<int64_t>(form.length / kBlock, 1, kMostBlocks));
    layout.counts_at = take(static_cast<size_t>(layout.blocks) * 256 * sizeof(int64_t));
    if (passes > 1) layout.elements_at[0] = take(n * element);
    if (passes > 2 && form.indices) layout.elements_at[1] = take(n * element);
    if (passes > 1 && form.indices) layout.indices_at = take(n * index);
  }
  if (layout.blocks > 1 || form.rows < 2) return layout;
  // As many rows in flight as the operand's bytes hold, two at least.
  const size_t affordable = std::max(kLittle, static_cast<size_t>(form.rows) * n * element) / layout.slot_bytes;
  layout.slots = static_cast<int>(std::clamp<int64_t>(static_cast<int64_t>(affordable), 2, kMostSlots));
  layout.slots = static_cast<int>(std::min<int64_t>(layout.slots, form.rows));
  return layout;
}

void check_gpu_sort(const Graph& graph, const Node& node) {
  const SortForm form = sort_form(graph, node);
  if (form.length < kSortTooLong) return;
  throw_user<UserError>(name(node.op), fmt::format("rows of {} elements", form.length), "fewer than 2^31 on a GPU",
                        "sort such rows on the CPU", node.loc);
}

int64_t sort_block(const SortForm& form) {
  const int64_t least = (form.length + kMostGpuBlocks - 1) / kMostGpuBlocks;
  return std::max(kGpuBlock, (least + kGpuBlock - 1) / kGpuBlock * kGpuBlock);
}

std::vector<Aval> sort_scratch(const SortForm& form, bool gpu) {
  if (form.rows * form.length == 0) return {};
  if (!gpu) {
    const SortLayout layout = sort_layout(form);
    return {{{layout.slots * static_cast<int64_t>(layout.slot_bytes)}, DType::u8}};
  }
  if (form.length <= kSortByCounting) return {};
  const int passes = sort_passes(form, kSortDigitBits);
  const int64_t block = sort_block(form), blocks = (form.length + block - 1) / block;
  std::vector<Aval> scratch{{{form.rows, 1 << kSortDigitBits, blocks}, DType::u32}};
  const Shape elements{form.rows, form.length};
  if (passes > 1) scratch.push_back({elements, form.dtype});
  if (passes > 2 && form.indices) scratch.push_back({elements, form.dtype});
  if (passes > 1 && form.indices) scratch.push_back({elements, DType::i32});
  return scratch;
}

ValueId lower_sort(Builder& b, const Term& term) {
  if (op_info(term.op).family != Family::sort) return no_value;
  const Aval x = b.aval(term.inputs[0]);
  const int64_t axis = term.attrs.integer(Attr::axis), last = x.ndim() - 1;
  if (x.shape[axis] == 1) {
    if (term.op == Op::sort) return term.inputs[0];
    return b.constant(AttrValue(int64_t{0}), DType::i32, x.shape, term.loc);
  }
  if (axis == last) return no_value;
  Ints forward, back;
  for (int64_t d = 0; d <= last; ++d) {
    if (d != axis) forward.push_back(d);
    back.push_back(d < axis ? d : d == axis ? last : d - 1);
  }
  forward.push_back(axis);
  const ValueId rows = b.add(Op::transpose, {term.inputs[0]}, {{Attr::permutation, forward}}, term.loc);
  Attrs attrs = term.attrs;
  attrs.set(Attr::axis, last);
  const ValueId sorted = b.add(term.op, {rows}, std::move(attrs), term.loc);
  return b.add(Op::transpose, {sorted}, {{Attr::permutation, back}}, term.loc);
}

namespace {

// The elements of x where `order`, its argsort along the last axis, says.
ValueId take_in_order(Graph& g, ValueId x, ValueId order, std::source_location loc) {
  const Aval whole = g.aval(x);
  const int64_t length = whole.shape.back(), rows = whole.size() / length;
  const auto reshape = [&](ValueId v, Shape shape) {
    return g.aval(v).shape == shape ? v : g.add(Op::reshape, {v}, {{Attr::shape, std::move(shape)}}, loc);
  };
  constexpr auto kInBounds = static_cast<int64_t>(IndexMode::promise_in_bounds);
  ValueId indices = reshape(order, {rows, length, 1}), from = x;
  Ints axes{0};
  if (rows == 1) {
    from = reshape(x, {length});
  } else {
    const DType dtype = rows > std::numeric_limits<int32_t>::max() ? DType::i64 : DType::i32;
    const Shape column{rows, length, 1};
    if (dtype != DType::i32) indices = g.add(Op::convert, {indices}, {{Attr::dtype, dtype}}, loc);
    const ValueId row =
        g.add(Op::iota, {}, {{Attr::dtype, dtype}, {Attr::shape, column}, {Attr::axis, int64_t{0}}}, loc);
    indices = g.add(Op::concatenate, {row, indices}, {{Attr::axis, int64_t{2}}}, loc);
    from = reshape(x, {rows, length});
    axes.push_back(1);
  }
  return reshape(g.add(Op::gather, {from, indices}, {{Attr::axes, axes}, {Attr::mode, kInBounds}}, loc), whole.shape);
}

}  // namespace

Graph share_sorts(Graph graph) {
  const auto key = [](const Node& node) { return std::pair(node.inputs[0], node.attrs.integer(Attr::descending)); };
  std::map<std::pair<ValueId, int64_t>, const Node*> orders;  // all along the last axis
  for (const Node& node : graph.nodes) {
    if (node.op == Op::argsort) orders.emplace(key(node), &node);
  }
  const auto order_of = [&](const Node& node) -> const Node* {
    if (node.op != Op::sort || graph.aval(node.out()).size() == 0) return nullptr;
    const auto it = orders.find(key(node));
    return it == orders.end() ? nullptr : it->second;
  };
  if (std::ranges::none_of(graph.nodes, order_of)) return graph;
  Graph result;
  std::vector<ValueId> renamed = copy_inputs(result, graph);
  for (const Node& node : graph.nodes) {
    const Node* order = order_of(node);
    const Node& first = order ? *order : node;
    const bool there = first.op == Op::argsort && renamed[first.out()] != no_value;
    if (!there) append_renamed(result, graph, first, renamed);
    if (order) renamed[node.out()] = take_in_order(result, renamed[node.inputs[0]], renamed[order->out()], node.loc);
  }
  for (const ValueId v : graph.outputs) result.outputs.push_back(renamed[v]);
  return result;
}

}  // namespace neap::planner
