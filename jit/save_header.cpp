#include <fmt/format.h>
#include <fmt/ranges.h>
#include <neap/version.h>

#include <algorithm>

#include "core/ascii.h"
#include "core/check.h"
#include "jit/save.h"

namespace neap::jit_detail {
namespace {

using backends::Object;
using backends::Parameter;

// The type of C for an element; complex numbers are two.
std::string_view c_type(DType dtype) {
  switch (dtype) {
    case DType::bool_: return "bool";
    case DType::i8: return "int8_t";
    case DType::i16: return "int16_t";
    case DType::i32: return "int32_t";
    case DType::i64: return "int64_t";
    case DType::u8: return "uint8_t";
    case DType::u16:
    case DType::f16:
    case DType::bf16: return "uint16_t";
    case DType::u32: return "uint32_t";
    case DType::u64: return "uint64_t";
    case DType::f32:
    case DType::c64: return "float";
    case DType::f64:
    case DType::c128: return "double";
  }
  return "void";
}

int64_t c_length(const Aval& aval) { return is_complex(aval.dtype) ? 2 * aval.size() : aval.size(); }

std::string_view remark(DType dtype) {
  switch (dtype) {
    case DType::f16: return "the bits of an IEEE half each";
    case DType::bf16: return "the bits of a bfloat16 each";
    case DType::c64:
    case DType::c128: return "real and imaginary parts in turn";
    default: return "";
  }
}

struct Named {
  const Parameter& parameter;
  const std::string& name;
};

std::vector<Named> named(const Object& object, const HeaderNames& names) {
  std::vector<Named> all;
  const size_t captured = names.inputs.size();
  int arguments = 0;
  for (const Parameter& p : object.parameters) arguments += p.kind == Parameter::Kind::argument ? 1 : 0;
  for (const Parameter& p : object.parameters) {
    const auto number = static_cast<size_t>(p.number);
    if (p.kind == Parameter::Kind::result) {
      all.push_back({p, names.results.at(number)});
    } else {
      const size_t at = p.kind == Parameter::Kind::captured ? static_cast<size_t>(arguments) + number : number;
      NEAP_CHECK(at < captured);
      all.push_back({p, names.inputs[at]});
    }
  }
  return all;
}

// One line for each parameter.
std::string list(const Object& object, const HeaderNames& names) {
  std::string text;
  const std::vector<Named> all = named(object, names);
  size_t width = 5;
  for (const Named& n : all) width = std::max(width, n.name.size());
  for (const auto& [p, name] : all) {
    std::string_view way = p.kind == Parameter::Kind::result ? "out" : p.written ? "in, taken" : "in";
    std::string more(remark(p.aval.dtype));
    for (const auto& in : object.in_arguments) {
      if (p.kind != Parameter::Kind::argument || in.argument != p.number) continue;
      way = "in, out";
      more += (more.empty() ? "" : "; ") + ("becomes " + names.results.at(static_cast<size_t>(in.result)));
    }
    text += fmt::format("     {:<{}}  {:<9}  {}{}{}\n", name, width, way, to_string(p.aval), more.empty() ? "" : ": ",
                        more);
  }
  return text;
}

// The name in macros, which differ where names do.
std::string in_macros(std::string text) {
  if (std::ranges::any_of(text, ascii::is_upper)) return text;
  for (char& c : text) c = 'a' <= c && c <= 'z' ? static_cast<char>(c - 'a' + 'A') : c;
  return text;
}

std::string_view link(const Object& object) {
  return object.needs_cxx ? "-lneap-runtime -lm -lstdc++" : object.needs_runtime ? "-lneap-runtime -lm" : "-lm";
}

constexpr std::string_view kHeader =
    R"(/* {name}: a function compiled ahead of time by Neap {version}, for {triple}, processor {cpu}.

{list}
   Arrays lie row by row without gaps, aligned as their elements are, and do not overlap. What is taken has no meaning
   afterwards. The arena is memory of {caps}_ARENA_BYTES bytes, aligned to {caps}_ARENA_ALIGNMENT, which is the call's own
   until it returns; where it is 1 byte, none is used and it may be null. A call holds it, and what lies in arguments, results and
   constants: {caps}_PEAK_BYTES bytes, each array's rounded up to 64. It runs on the thread that calls it, allocates
   nothing and keeps nothing: calls with other arenas and results may run at the same time.

   Link with {link}. */
#ifndef NEAP_SAVED_{caps}_H
#define NEAP_SAVED_{caps}_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define {caps}_ARENA_BYTES ((size_t){arena})
#define {caps}_ARENA_ALIGNMENT ((size_t)64)
#define {caps}_PEAK_BYTES ((size_t){peak})

#ifdef __cplusplus
extern "C" {{
#endif

void {name}({c_parameters});

#ifdef __cplusplus
}}
#endif

#if defined(__cplusplus) && __cplusplus >= 202002L
#include <cstddef>
#include <span>

namespace saved {{

inline void {name}({spans}) {{
  ::{name}({pass});
}}

}}  // namespace saved
#endif

#endif
)";

}  // namespace

std::string saved_header(const std::string& name, const Object& object, size_t peak_bytes, const HeaderNames& names) {
  std::vector<std::string> c, spans, pass;
  for (const auto& [p, parameter] : named(object, names)) {
    const std::string type = fmt::format("{}{}", p.written ? "" : "const ", c_type(p.aval.dtype));
    c.push_back(fmt::format("{}* {}", type, parameter));
    spans.push_back(fmt::format("std::span<{}, {}> {}", type, c_length(p.aval), parameter));
    pass.push_back(parameter + ".data()");
  }
  const std::string caps = in_macros(name);
  c.emplace_back("void* arena");
  spans.push_back(fmt::format("std::span<std::byte, {}_ARENA_BYTES> arena", caps));
  pass.emplace_back("arena.data()");
  return fmt::format(
      kHeader, fmt::arg("name", name), fmt::arg("caps", caps),
      fmt::arg("version", fmt::format("{}.{}.{}", NEAP_VERSION_MAJOR, NEAP_VERSION_MINOR, NEAP_VERSION_PATCH)),
      fmt::arg("triple", object.triple), fmt::arg("cpu", object.cpu), fmt::arg("list", list(object, names)),
      fmt::arg("arena", std::max<size_t>(object.arena_bytes, 1)), fmt::arg("peak", peak_bytes),
      fmt::arg("link", link(object)), fmt::arg("c_parameters", fmt::join(c, ", ")),
      fmt::arg("spans", fmt::join(spans, ", ")), fmt::arg("pass", fmt::join(pass, ", ")));
}

}  // namespace neap::jit_detail
