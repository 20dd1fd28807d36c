#include "backends/vulkan/spirv.h"

#include <fmt/format.h>
#include <neap/error.h>
#include <shaderc/shaderc.h>
#include <spirv-tools/libspirv.h>

#include <cstring>
#include <memory>
#include <new>

#include "core/file_cache.h"
#include "core/hash.h"

namespace neap::vk {

namespace {

// Raised when the way from GLSL to SPIR-V changes in this file; the tools' own version is part of the key as well.
constexpr int kFormat = 2;

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

std::vector<uint32_t> compile_glsl(const std::string& glsl, const std::string& name) {
  const std::string key = fmt::format("{} {}\n{}", kFormat, spvSoftwareVersionDetailsString(), glsl);
  const std::string file = xxh3_128_hex(key) + ".spv";
  std::vector<uint32_t> words;
  if (const auto bytes = load_cached(file); bytes && !bytes->empty() && bytes->size() % sizeof(uint32_t) == 0) {
    words.resize(bytes->size() / sizeof(uint32_t));
    std::memcpy(words.data(), bytes->data(), bytes->size());
  } else {
    words = compile(glsl, name);
#ifndef NDEBUG
    validate(words, glsl, name);
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
