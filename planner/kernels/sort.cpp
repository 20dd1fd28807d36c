#include "planner/kernels/sort.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>

#include "core/buffer.h"
#include "core/check.h"
#include "trace/graph/op_table.h"

namespace neap::planner {

using namespace tracing;

namespace {

constexpr int64_t kMostGpuBlocks = 65536;  // of a row

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
  if (node.attrs.has(Attr::limit)) {
    form.start = node.attrs.ints(Attr::start)[0];
    form.limit = node.attrs.ints(Attr::limit)[0];
  }
  return form;
}

void check_gpu_sort(const Graph& graph, const Node& node) {
  const SortForm form = sort_form(graph, node);
  if (form.length < kSortTooLong) return;
  throw_user<UserError>(name(node.op), fmt::format("rows of {} elements", form.length), "fewer than 2^31 on a GPU",
                        "sort such rows on the CPU", node.loc);
}

int64_t sort_tile(const SortForm& form) { return size_of(form.dtype) == 8 ? 1024 : 2048; }

int64_t sort_block(const SortForm& form) {
  const int64_t tile = sort_tile(form), least = (form.length + kMostGpuBlocks - 1) / kMostGpuBlocks;
  return std::max(tile, (least + tile - 1) / tile * tile);
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
  std::vector<Aval> scratch{{{form.rows, 1 << kSortDigitBits, blocks + 1}, DType::u32}};
  const Shape elements{form.rows, form.length};
  if (passes > 1) scratch.push_back({elements, form.dtype});
  if (passes > 2 && form.indices) scratch.push_back({elements, form.dtype});
  if (passes > 1 && form.indices) scratch.push_back({elements, DType::i32});
  return scratch;
}

}  // namespace neap::planner
