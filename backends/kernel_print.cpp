#include <fmt/format.h>

#include <iterator>

#include "backends/kernel.h"

namespace neap::backends {
namespace {

constexpr const char* kKinds[] = {"map", "reduce", "scatter"};

}  // namespace

std::string_view name(Combine combine) {
  switch (combine) {
    case Combine::set: return "set";
    case Combine::add: return "add";
    case Combine::mul: return "mul";
    case Combine::max: return "max";
    case Combine::min: return "min";
    case Combine::any: return "any";
    case Combine::all: return "all";
    case Combine::bit_xor: return "xor";
    case Combine::argmax: return "argmax";
    case Combine::argmin: return "argmin";
  }
  return "unknown";
}

// The name is left out: kernels that differ in nothing else share their code.
std::string Kernel::print() const {
  std::string text;
  auto out = std::back_inserter(text);
  fmt::format_to(out, "{} [{}, {}] lanes {}", kKinds[static_cast<size_t>(kind)], extent[0], extent[1], vector_level);
  if (kind == Kind::reduce) text += finish ? " finish" : " partial";
  if (whole_rows > 0) fmt::format_to(out, " of {} rows", whole_rows);
  if (any_range) text += " any range";
  for (const auto& [read, written, element] : carried) {
    fmt::format_to(out, " carried {}:{}", read, written);
    if (element > 0) fmt::format_to(out, "[{}]", element);
  }
  if (num_params > 0) fmt::format_to(out, " params {}", num_params);
  text += "\nbuffers";
  for (size_t i = 0; i < buffers.size(); ++i) {
    fmt::format_to(out, "{} {}:{} {}", i ? "," : "", i, neap::name(buffers[i].type), buffers[i].written ? "out" : "in");
  }
  text += '\n';
  text += dag.print();
  for (const Store& s : stores) fmt::format_to(out, "store {}[%{}] = %{}\n", s.buffer, s.index, s.value);
  for (const Reduction& r : reductions) {
    fmt::format_to(out, "{} {} of %{} to {} as {}", backends::name(r.combine), neap::name(r.accumulator), r.value,
                   r.buffer, neap::name(r.output));
    if (r.initial >= 0) fmt::format_to(out, " from {}", r.initial);
    text += '\n';
  }
  for (const Scatter& s : scatters) {
    fmt::format_to(out, "{} {}[%{} of {}] with %{}", backends::name(s.combine), s.buffer, s.index, s.table_elements,
                   s.value);
    if (s.valid >= 0) fmt::format_to(out, " where %{}", s.valid);
    if (s.unique_indices) text += ", distinct";
    text += '\n';
  }
  return text;
}

}  // namespace neap::backends
