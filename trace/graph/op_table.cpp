#include "trace/graph/op_table.h"

#include <algorithm>
#include <array>
#include <concepts>

#include "core/check.h"

namespace neap::tracing {
namespace {

// The attributes of each structural row: <op>_required and <op>_optional.
namespace attributes {
using enum Attr;
template <std::same_as<Attr>... As>
constexpr std::array<Attr, sizeof...(As)> list(As... attrs) {
  return {attrs...};
}
#define NEAP_STRUCTURAL(name, family, arity, complex, required, optional, doc) \
  constexpr auto name##_required = list required;                              \
  constexpr auto name##_optional = list optional;
#include "trace/graph/ops_structural.def"
#undef NEAP_STRUCTURAL
}  // namespace attributes

constexpr bool yes = true, no = false;
constexpr bool is_given(std::string_view column) { return column != "none"; }

constexpr std::array<OpInfo, kOpCount> kTable = {{
#define NEAP_UNARY(name, types, dx, kernel, reference, complex, doc) \
  {Op::name, #name, 1, Family::elementwise, TypeRule::types, is_given(#complex), {}, {}, doc},
#define NEAP_BINARY(name, types, dx, dy, kernel, reference, complex, doc) \
  {Op::name, #name, 2, Family::elementwise, TypeRule::types, is_given(#complex), {}, {}, doc},
#define NEAP_TERNARY(name, types, dx, dy, dz, kernel, reference, complex, doc) \
  {Op::name, #name, 3, Family::elementwise, TypeRule::types, is_given(#complex), {}, {}, doc},
#include <neap/ops.def>
#undef NEAP_UNARY
#undef NEAP_BINARY
#undef NEAP_TERNARY
#define NEAP_STRUCTURAL(name, family, arity, complex, required, optional, doc) \
  {Op::name,                                                                   \
   #name,                                                                      \
   arity,                                                                      \
   Family::family,                                                             \
   TypeRule::structural,                                                       \
   complex,                                                                    \
   attributes::name##_required,                                                \
   attributes::name##_optional,                                                \
   doc},
#include "trace/graph/ops_structural.def"
#undef NEAP_STRUCTURAL
}};

constexpr int kElementwiseCount = static_cast<int>(
    std::ranges::count_if(kTable, [](const OpInfo& row) { return row.family == Family::elementwise; }));

constexpr std::array<Op, kElementwiseCount> kElementwise = [] {
  std::array<Op, kElementwiseCount> ops{};
  for (int i = 0, n = 0; i < kOpCount; ++i) {
    if (kTable[i].family == Family::elementwise) ops[n++] = kTable[i].op;
  }
  return ops;
}();

}  // namespace

const OpInfo& op_info(Op op) {
  NEAP_CHECK(op < Op::count_, "op {}", static_cast<int>(op));
  return kTable[static_cast<int>(op)];
}

std::optional<Op> find_op(std::string_view name) {
  const auto row = std::ranges::find(kTable, name, &OpInfo::name);
  if (row == kTable.end()) return std::nullopt;
  return row->op;
}

std::span<const OpInfo> op_table() { return kTable; }
std::span<const Op> elementwise_ops() { return kElementwise; }

std::string_view name(Family family) {
  constexpr std::string_view kNames[] = {"elementwise", "leaf",        "convert",   "complex", "fft",
                                         "layout",      "reduce",      "argreduce", "sort",    "cumulative",
                                         "dot",         "convolution", "factor",    "gather",  "scatter",
                                         "random",      "control",     "call",      "host"};
  return kNames[static_cast<int>(family)];
}

std::string_view name(TypeRule rule) {
  constexpr std::string_view kNames[] = {"numeric", "floating", "integral", "predicate",
                                         "compare", "select",   "any",      "structural"};
  return kNames[static_cast<int>(rule)];
}

bool accepts(TypeRule rule, DType t) {
  switch (rule) {
    case TypeRule::numeric: return t != DType::bool_ && !is_complex(t);
    case TypeRule::floating:
    case TypeRule::predicate: return is_float(t);
    case TypeRule::integral: return !is_inexact(t);
    case TypeRule::compare:
    case TypeRule::select:
    case TypeRule::any: return !is_complex(t);
    case TypeRule::structural: return false;
  }
  return false;
}

DType result_dtype(TypeRule rule, DType t) {
  return rule == TypeRule::predicate || rule == TypeRule::compare ? DType::bool_ : t;
}

bool allows_attr(Op op, Attr attr) {
  switch (attr) {
    case Attr::copy:
    case Attr::marks:
    case Attr::region:
    case Attr::saveable: return true;
    default: break;
  }
  const OpInfo& row = op_info(op);
  return std::ranges::count(row.required, attr) + std::ranges::count(row.optional, attr) > 0;
}

}  // namespace neap::tracing
