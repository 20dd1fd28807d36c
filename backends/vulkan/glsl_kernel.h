// The text of a kernel's instructions, sorted by the loop that they belong in, and what the kinds of kernel share.
#pragma once

#include <array>
#include <optional>
#include <string>
#include <vector>

#include "backends/kernel.h"
#include "backends/vulkan/glsl.h"
#include "backends/vulkan/glsl_module.h"

namespace neap::vk {

/// Live instructions as GLSL constants. The loop indices are `i0` and `i1`, of type `index_type()`, declared by the
/// caller; bases of the operands' arrays are `a<operand>`.
class Body {
 public:
  /// `outer`: the loop level that changes less often.
  Body(Module& m, const backends::Kernel& kernel, int outer);

  Module& m;
  const backends::Kernel& kernel;
  const int outer;

  /// 0: the same everywhere; 1: changes with the outer index alone; 2: the rest.
  const std::string& text(int depth) const { return text_[depth]; }
  /// The name or literal of an instruction.
  const std::string& value(int32_t id) const { return values_[id]; }
  DType type(int32_t id) const { return kernel.dag[id].type; }
  /// Elements from one iteration of loop `level` to the next, where that is constant (wrapping aside).
  std::optional<int64_t> stride(int32_t id, int level) const { return strides_[id][level]; }
  int live() const { return live_; }

  /// Whether a loop index or the number of iterations needs 64 bits.
  bool wide() const { return wide_; }
  std::string index_type() const { return wide_ ? "uint64_t" : "uint"; }
  /// A number of that type.
  std::string number(int64_t n) const;
  /// The address of an element of operand `buffer`; `type` says how large.
  std::string address(int buffer, int32_t index) const;

 private:
  void analyse(int32_t id);
  std::string expression(int32_t id);
  std::string arithmetic(const scalar::Inst& inst);
  std::string pair_arithmetic(const scalar::Inst& inst);
  std::string integer_arithmetic(const scalar::Inst& inst);
  std::string compare(const scalar::Inst& inst);

  bool wide_ = false;
  int live_ = 0;
  std::array<std::string, 3> text_;
  std::vector<std::string> values_;
  std::vector<uint8_t> levels_;  // bit l: depends on loop l
  std::vector<std::array<std::optional<int64_t>, 2>> strides_;
};

/// Reads the addresses of `count` operands into a0, a1, ...
std::string bases(Module& m, int count);

/// Spreads `groups` workgroups over the axes; the text sets `group` (type `index_type`) to the linear number.
/// There are up to `groups` + what fills the last row, so the shader must look at its bounds.
struct Grid {
  std::array<uint32_t, 3> groups;
  std::string text;
};
Grid grid(uint64_t groups, const std::string& index_type);

/// The text of a combination of `a` with `b` (names), as kernel_eval.cpp's combined: an expression.
std::string combined(Module& m, backends::Combine combine, DType type, const std::string& a, const std::string& b);
/// A statement that combines `value` into memory at `address`, whatever other invocations do there.
std::string update(Module& m, backends::Combine combine, DType type, const std::string& address,
                   const std::string& value, std::string_view kernel);

Shader emit_map(const backends::Launch& launch, const Choices& choices);
Shader emit_reduce(const backends::Launch& launch, const Choices& choices);
Shader emit_scatter(const backends::Launch& launch, const Choices& choices);

}  // namespace neap::vk
