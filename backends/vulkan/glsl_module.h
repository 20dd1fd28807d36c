// A GLSL shader under construction: the functions and buffer references that its main needs, by name, each once.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>

#include "backends/vulkan/features.h"
#include "backends/vulkan/glsl.h"
#include "trace/scalar/scalar.h"

namespace neap::vk {

/// Register says how a value of a dtype is held in registers. Integers below 32 bits live in 32, sign or zero extended;
/// halves are their 16 bits in a uint; f64 is a double, or, on a device without it, the sum of two floats in a vec2
/// (hi, lo).
enum class Register : uint8_t { boolean, i32, u32, i64, u64, f32, f64, pair };

class Module {
 public:
  explicit Module(const Choices& choices, std::span<const Viewable> viewable = {})
      : choices(choices), viewable_(viewable) {}

  const Choices& choices;

  /// Makes a function or buffer reference of glsl_prelude.cpp available, or an extension (GL_...), and returns `name`
  /// itself for use in an expression.
  std::string_view use(std::string_view name);
  /// Does the same for a function of libm.h, and returns its GLSL name.
  std::string use(scalar::Function function);
  /// Does the same for other text, which comes after everything used before.
  void define(const std::string& name, const std::string& text);
  bool defined(std::string_view name) const;
  /// Notes that what is defined compares and exchanges until nobody came between.
  void note_exchange() { used_.exchanges = true; }

  /// Returns the name of a texel buffer over the operand, with texels of `words`, or an empty one where there is none
  /// that reaches all of it, or too many are in use. If `written`, it is an r32ui image, else a sampler.
  std::string view(int operand, int words, bool written = false);
  bool viewable(int operand) const { return reaches({operand, 4, false}); }

  Register held(DType type) const;
  /// Returns the GLSL type of a value in registers: "bool", "int", "uint", "int64_t", ...
  std::string_view type(DType type) const;

  /// Returns the shader: version, extensions, push constants, what was used, and `main`, in which `operands` is
  /// Push::first and `turn` Push::count.
  std::string finish(uint32_t local_size, const std::string& main) const;
  /// Sets shader.glsl to the same, and the shader's views and parts, so that it may become a stage of another
  /// (loop_shader).
  void finish(Shader& shader, const std::string& main) const;

  /// Makes available what another shader used; if `coherent`, its buffers are.
  void use(const Shader::Parts& parts, bool coherent);

 private:
  bool reaches(const View& view) const;

  Shader::Parts used_;
  std::span<const Viewable> viewable_;
  std::vector<View> views_;
};

// Expressions. Operands are names or parenthesised; so are results.

/// Returns a constant of the given bits.
std::string literal(Module& m, uint64_t bits, DType type);
/// Returns what scalar.h's convert makes of x.
std::string convert(Module& m, const std::string& x, DType from, DType to);
/// Returns what scalar.h's bitcast makes of x: the same bits.
std::string bitcast(Module& m, const std::string& x, DType from, DType to);
/// Returns an integer in range of its register back in the range of its dtype (it wraps).
std::string wrap(const std::string& x, DType type);
std::string is_nan(Module& m, const std::string& x, DType type);

/// Returns the address of element `index` of an array at `base` (an expression of type uint64_t).
std::string element_address(const std::string& base, const std::string& index, DType index_type, size_t bytes);
std::string load(Module& m, const std::string& address, DType type);
/// Returns a statement that writes `value` at `address`.
std::string store(Module& m, const std::string& address, const std::string& value, DType type);

/// Throws UserError: `kernel` needs what the device lacks.
[[noreturn]] void lacking(std::string_view kernel, std::string_view feature);

}  // namespace neap::vk
