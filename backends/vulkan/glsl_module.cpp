#include "backends/vulkan/glsl_module.h"

#include <fmt/format.h>
#include <neap/error.h>

#include <algorithm>
#include <iterator>

#include "backends/vulkan/glsl_prelude.h"
#include "backends/vulkan/libm.h"
#include "core/check.h"

namespace neap::vk {

bool Module::defined(std::string_view name) const {
  return std::ranges::any_of(used_.definitions, [&](const auto& d) { return d.first == name; });
}

std::string_view Module::use(std::string_view name) {
  if (name.starts_with("GL_")) {
    if (std::ranges::find(used_.extensions, name) == used_.extensions.end()) used_.extensions.emplace_back(name);
    return name;
  }
  if (defined(name)) return name;
  const Snippet* snippet = find_snippet(name);
  NEAP_CHECK(snippet, "no GLSL text of {}", name);
  for (std::string_view needs = snippet->needs; !needs.empty();) {
    const size_t end = std::min(needs.find(' '), needs.size());
    use(needs.substr(0, end));
    needs.remove_prefix(std::min(end + 1, needs.size()));
  }
  define(std::string(name), std::string(snippet->text));
  return name;
}

std::string Module::use(scalar::Function function) {
  use("GL_EXT_shader_explicit_arithmetic_types_float64");
  auto& functions = used_.functions;
  if (std::ranges::find(functions, function) == functions.end()) functions.push_back(function);
  std::string_view name = scalar::symbol(function);
  if (name.starts_with("neap_")) name.remove_prefix(5);
  return fmt::format("neap_{}_f64", name);
}

void Module::define(const std::string& name, const std::string& text) {
  if (!defined(name)) used_.definitions.emplace_back(name, text);
}

void Module::use(const Shader::Parts& parts, bool coherent) {
  used_.exchanges |= parts.exchanges;
  for (const std::string& extension : parts.extensions) use(extension);
  for (const scalar::Function function : parts.functions) use(function);
  for (const auto& [name, text] : parts.definitions) {
    const size_t buffer = coherent && text.starts_with("layout(buffer_reference") ? text.find(" buffer ") : text.npos;
    define(name, buffer == text.npos ? text : text.substr(0, buffer) + " coherent" + text.substr(buffer));
  }
}

bool Module::reaches(const View& view) const {
  constexpr uint64_t kMostBytes = uint64_t{1} << 31;  // llvmpipe counts bytes in an int
  if (static_cast<size_t>(view.operand) >= viewable_.size()) return false;
  const Viewable& whole = viewable_[static_cast<size_t>(view.operand)];
  const uint64_t texel = 4 * static_cast<uint64_t>(view.words), texels = (whole.bytes + texel - 1) / texel;
  return texels > 0 && texels <= choices.texels && whole.bytes < kMostBytes && whole.written == view.written;
}

std::string Module::view(int operand, int words, bool written) {
  constexpr size_t kMostViews = 8;  // of those that every device binds, 16, 4 of them written
  if (!reaches({operand, words, written})) return {};
  auto found = std::ranges::find_if(views_, [&](const View& v) { return v.operand == operand && v.words == words; });
  if (found == views_.end()) {
    if (views_.size() == kMostViews) return {};
    found = views_.insert(found, View{operand, words, written});
  }
  return fmt::format("view{}", found - views_.begin());
}

Register Module::held(DType type) const {
  switch (type) {
    case DType::bool_: return Register::boolean;
    case DType::i8:
    case DType::i16:
    case DType::i32: return Register::i32;
    case DType::i64: return Register::i64;
    case DType::u64: return Register::u64;
    case DType::f32: return Register::f32;
    case DType::f64: return choices.float64 ? Register::f64 : Register::pair;
    default: return Register::u32;
  }
}

std::string_view Module::type(DType type) const {
  constexpr std::string_view kNames[] = {"bool", "int", "uint", "int64_t", "uint64_t", "float", "double", "vec2"};
  return kNames[static_cast<size_t>(held(type))];
}

std::string Module::finish(uint32_t local_size, const std::string& main) const {
  std::string text = "#version 460\n";
  auto out = std::back_inserter(text);
  for (const char* always : {"GL_EXT_buffer_reference", "GL_EXT_buffer_reference2", "GL_EXT_scalar_block_layout",
                             "GL_EXT_shader_explicit_arithmetic_types_int64"}) {
    fmt::format_to(out, "#extension {} : require\n", always);
  }
  for (const std::string& extension : used_.extensions) fmt::format_to(out, "#extension {} : require\n", extension);
  std::string definitions;
  for (const auto& [name, definition] : used_.definitions) definitions += definition;
  const bool doubles =
      !used_.functions.empty() || definitions.find("double") != definitions.npos || main.find("double") != main.npos;
  struct Mode {
    bool wanted;
    int capability, mode, bits;
  };
  constexpr int kDenorm[] = {4464, 4459}, kSpecials[] = {4466, 4461};  // as SPIR-V numbers them
  const Mode modes[] = {{choices.denorm32, kDenorm[0], kDenorm[1], 32},
                        {choices.denorm64 && doubles, kDenorm[0], kDenorm[1], 64},
                        {choices.specials32, kSpecials[0], kSpecials[1], 32},
                        {choices.specials64 && doubles, kSpecials[0], kSpecials[1], 64}};
  std::string declared;
  for (const Mode& m : modes) {
    if (!m.wanted) continue;
    declared += fmt::format("spirv_execution_mode(capabilities = [{}], {}, {});\n", m.capability, m.mode, m.bits);
  }
  if (!declared.empty()) text += "#extension GL_EXT_spirv_intrinsics : require\n" + declared;
  fmt::format_to(out, "layout(local_size_x = {}) in;\n", local_size);
  text += "layout(push_constant, scalar) uniform Push { uint64_t table; uint first; uint count; } push;\n";
  for (size_t i = 0; i < views_.size(); ++i) {
    fmt::format_to(out, "layout(binding = {}{}) uniform {} view{};\n", i, views_[i].written ? ", r32ui" : "",
                   views_[i].written ? "coherent uimageBuffer" : "usamplerBuffer", i);
  }
  if (!used_.functions.empty()) text += libm_source(used_.functions);
  text += definitions;
  text += "\nvoid main() {\n  const uint operands = push.first, turn = push.count;\n" + main + "}\n";
  return text;
}

void Module::finish(Shader& shader, const std::string& main) const {
  shader.glsl = finish(shader.local_size, main);
  shader.views = views_;
  Shader::Parts parts = used_;
  parts.main = main;
  shader.parts = std::make_shared<const Shader::Parts>(std::move(parts));
}

void lacking(std::string_view kernel, std::string_view feature) {
  throw UserError(fmt::format("{}: the Vulkan device lacks {}; run it on another device", kernel, feature));
}

}  // namespace neap::vk
