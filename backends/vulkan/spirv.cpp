#include "backends/vulkan/spirv.h"

#include <fmt/format.h>
#include <neap/error.h>
#include <shaderc/shaderc.h>
#include <spirv-tools/libspirv.h>

#include <algorithm>
#include <cstring>
#include <map>
#include <memory>
#include <new>
#include <span>

#include "core/file_cache.h"
#include "core/hash.h"

namespace neap::vk {

namespace {

// Raised when the way from GLSL to SPIR-V changes in this file; the tools' own version is part of the key as well.
constexpr int kFormat = 3;

template <auto release>
struct Release {
  template <class T>
  void operator()(T* handle) const {
    release(handle);
  }
};

// What shaderc makes, which is null where there is no memory.
template <class T>
T* made(T* handle) {
  if (!handle) throw std::bad_alloc();
  return handle;
}

std::string numbered(const std::string& source) {
  std::string text;
  int line = 1;
  for (size_t at = 0; at < source.size();) {
    const size_t end = std::min(source.find('\n', at), source.size());
    text += fmt::format("{:4}  {}\n", line++, std::string_view(source).substr(at, end - at));
    at = end + 1;
  }
  return text;
}

std::vector<uint32_t> compile(const std::string& glsl, const std::string& name) {
  // Never released: with the last compiler glslang's tables of built-in functions go, which take most of the time.
  static const shaderc_compiler_t compiler = made(shaderc_compiler_initialize());
  const std::unique_ptr<shaderc_compile_options, Release<shaderc_compile_options_release>> options(
      made(shaderc_compile_options_initialize()));
  shaderc_compile_options_set_target_env(options.get(), shaderc_target_env_vulkan, shaderc_env_version_vulkan_1_2);
  // Drivers optimise; spirv-opt (2023.1) folds a maximum in a loop wrongly where float controls are declared, and makes
  // compiling take twice as long.
  shaderc_compile_options_set_optimization_level(options.get(), shaderc_optimization_level_zero);
  const std::unique_ptr<shaderc_compilation_result, Release<shaderc_result_release>> result(shaderc_compile_into_spv(
      compiler, glsl.data(), glsl.size(), shaderc_compute_shader, name.c_str(), "main", options.get()));
  if (!result || shaderc_result_get_compilation_status(result.get()) != shaderc_compilation_status_success) {
    throw InternalError(fmt::format("vulkan: kernel {} does not compile\n{}\n{}", name,
                                    result ? shaderc_result_get_error_message(result.get()) : "no result",
                                    numbered(glsl)));
  }
  std::vector<uint32_t> words(shaderc_result_get_length(result.get()) / sizeof(uint32_t));
  std::memcpy(words.data(), shaderc_result_get_bytes(result.get()), words.size() * sizeof(uint32_t));
  return words;
}

// Calls visit(opcode, first word and operands) for each instruction.
template <class Visit>
void each_instruction(std::span<const uint32_t> words, Visit&& visit) {
  for (size_t at = 5, length = 0; at < words.size(); at += length) {  // after the header
    length = std::max<size_t>(words[at] >> 16, 1);
    visit(words[at] & 0xffff, words.subspan(at, std::min(length, words.size() - at)));
  }
}

using Context = std::unique_ptr<spv_context_t, Release<spvContextDestroy>>;

[[maybe_unused]] void validate(const std::vector<uint32_t>& words, const std::string& glsl, const std::string& name) {
  const Context context(spvContextCreate(SPV_ENV_VULKAN_1_2));
  const std::unique_ptr<spv_validator_options_t, Release<spvValidatorOptionsDestroy>> options(
      spvValidatorOptionsCreate());
  spvValidatorOptionsSetScalarBlockLayout(options.get(), true);
  spv_const_binary_t binary{words.data(), words.size()};
  spv_diagnostic diagnostic = nullptr;
  const spv_result_t result = spvValidateWithOptions(context.get(), options.get(), &binary, &diagnostic);
  const std::unique_ptr<spv_diagnostic_t, Release<spvDiagnosticDestroy>> owner(diagnostic);
  if (result == SPV_SUCCESS) return;
  throw InternalError(fmt::format("vulkan: kernel {} gives invalid SPIR-V: {}\n{}", name,
                                  diagnostic ? diagnostic->error : "no reason given", numbered(glsl)));
}

}  // namespace

bool name_matrix_elements(std::vector<uint32_t>& words) {
  enum : uint32_t { extension = 10, capability = 17, type_void = 19, type_float = 22, constant = 43, matrix = 4456 };
  enum : uint32_t { float16 = 9, bfloat16_type = 5116, bfloat16_matrix = 5118 };  // capabilities
  std::map<uint32_t, uint32_t> constants, floats;                                 // value of an id, id of a width
  std::map<MatrixElement, uint32_t> types;
  bool has_float16 = false;
  each_instruction(words, [&](uint32_t op, std::span<const uint32_t> in) {
    if (op == constant) constants[in[2]] = in[3];
    if (op == type_float) floats[in[2]] = in[1];
    if (op == matrix) types[static_cast<MatrixElement>(constants.at(in[2]))] = 0;
    has_float16 |= op == capability && in[1] == float16;
  });
  if (types.empty()) return false;
  uint32_t bound = words[3];
  for (auto& [element, id] : types) {
    const auto found = floats.find(static_cast<uint32_t>(element));
    id = found == floats.end() ? bound++ : found->second;
  }
  std::vector<uint32_t> out(words.begin(), words.begin() + 5);
  out[3] = bound;
  const auto put = [&](uint32_t op, std::initializer_list<uint32_t> operands) {
    out.push_back(static_cast<uint32_t>(operands.size() + 1) << 16 | op);
    out.insert(out.end(), operands);
  };
  if (types.contains(MatrixElement::f16) && !has_float16) put(capability, {float16});
  if (types.contains(MatrixElement::bf16)) put(capability, {bfloat16_type}), put(capability, {bfloat16_matrix});
  bool typed = false, extended = false;
  each_instruction(words, [&](uint32_t op, std::span<const uint32_t> in) {
    if (op == extension && !extended && types.contains(MatrixElement::bf16)) {
      constexpr std::string_view kName = "SPV_KHR_bfloat16";
      uint32_t text[4];
      std::memcpy(text, kName.data(), sizeof text);
      put(extension, {text[0], text[1], text[2], text[3], 0});
      extended = true;
    }
    if (op == type_void && !typed) {  // the first of all types
      for (const auto& [element, id] : types) {
        if (element == MatrixElement::bf16) {
          put(type_float, {id, 16, 0});
        } else {
          put(type_float, {id, static_cast<uint32_t>(element)});
        }
      }
      typed = true;
    }
    if (op == type_float && types.contains(static_cast<MatrixElement>(in[2]))) return;  // declared above
    out.insert(out.end(), in.begin(), in.end());
    if (op == matrix) out[out.size() - in.size() + 2] = types.at(static_cast<MatrixElement>(constants.at(in[2])));
  });
  words = std::move(out);
  return true;
}

std::vector<uint32_t> compile_glsl(const std::string& glsl, const std::string& name) {
  const std::string key = fmt::format("{} {}\n{}", kFormat, spvSoftwareVersionDetailsString(), glsl);
  const std::string file = xxh3_128_hex(key) + ".spv";
  std::vector<uint32_t> words;
  if (const auto bytes = load_cached(file); bytes && !bytes->empty() && bytes->size() % sizeof(uint32_t) == 0) {
    words.resize(bytes->size() / sizeof(uint32_t));
    std::memcpy(words.data(), bytes->data(), bytes->size());
  } else {
    words = compile(glsl, name);
    [[maybe_unused]] const bool matrices = name_matrix_elements(words);
#ifndef NDEBUG
    if (!matrices) validate(words, glsl, name);  // it knows nothing of them
#endif
    store_cached(file, {reinterpret_cast<const char*>(words.data()), words.size() * sizeof(uint32_t)});
  }
  return words;
}

std::string disassemble(const std::vector<uint32_t>& words) {
  const Context context(spvContextCreate(SPV_ENV_VULKAN_1_2));
  spv_text text = nullptr;
  const uint32_t options = SPV_BINARY_TO_TEXT_OPTION_INDENT | SPV_BINARY_TO_TEXT_OPTION_FRIENDLY_NAMES;
  spvBinaryToText(context.get(), words.data(), words.size(), options, &text, nullptr);
  const std::unique_ptr<spv_text_t, Release<spvTextDestroy>> owner(text);
  return text ? std::string(text->str, text->length) : std::string();
}

}  // namespace neap::vk
