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

/// Body holds live instructions as GLSL constants. The loop indices are `i0` and `i1`, of type `index_type()`, declared
/// by the caller; bases of the operands' arrays are `a<operand>`.
class Body {
 public:
  /// `outer` is the loop level that changes less often.
  Body(Module& m, const backends::Kernel& kernel, int outer);

  /// Returns the number of iterations of the other loop, up to `most`, that an invocation does well to compute side by
  /// side, so that elements that lie side by side in memory are read and written as words of 8 bytes, or texels of 16.
  int side_by_side(int most) const;
  /// Lets this expression stand for a load, which write() would else read from memory.
  void stage(int32_t load, std::string text) { staged_.emplace_back(load, std::move(text)); }
  /// Writes the text. `together` iterations of the other loop are computed side by side: in the text of depth 2 the
  /// constant `e` is the number of the iteration, from 0, and what is read as words is read where it is 0.
  void write(int together);

  Module& m;
  const backends::Kernel& kernel;
  const int outer;

  /// Returns the text of the instructions of a depth: those of 0 are the same everywhere, those of 1 change with the
  /// outer index alone, and 2 has the rest.
  const std::string& text(int depth) const { return text_[depth]; }
  /// Returns whether there are loads that could be read as words.
  bool has_runs() const { return !runs_.empty(); }
  /// Returns the declarations of arrays that the iterations side by side share; they stand outside of these.
  const std::string& shared() const { return shared_; }
  /// Returns the name or literal of an instruction, as registers hold its type.
  std::string value(int32_t id) const { return is_soft(id) ? "soft_pair(" + values_[id] + ")" : values_[id]; }
  DType type(int32_t id) const { return kernel.dag[id].type; }
  /// Returns the elements from one iteration of loop `level` to the next, where that is constant (wrapping aside).
  std::optional<int64_t> stride(int32_t id, int level) const { return strides_[id][level]; }
  /// Returns whether anything comes of the instruction.
  bool is_live(int32_t id) const { return is_live_[static_cast<size_t>(id)]; }
  int live() const { return live_; }
  /// Returns the turns that the loops of functions take for one element, at most.
  int64_t turns() const;

  /// Returns whether a loop index or the number of iterations needs 64 bits.
  bool wide() const { return wide_; }
  std::string index_type() const { return wide_ ? "uint64_t" : "uint"; }
  /// Returns a number of that type.
  std::string number(int64_t n) const;
  /// Returns the address of element `index` of operand `buffer`.
  std::string address(int buffer, int32_t index) const;

 private:
  // Loads of elements that, over the iterations side by side, are one run in memory.
  struct Run {
    int buffer;
    int32_t root;                // the element index, less what differs
    int64_t first, stride;       // the offsets of all loads are in [first, first + stride)
    std::vector<int32_t> loads;  // ascending
  };
  void analyse(int32_t id);
  void find_runs();
  std::string read_run(size_t run, int32_t load);
  std::string fetch_run(size_t run, int32_t load);
  std::string fetch(int buffer, int32_t load);
  int64_t multiple_of(int32_t id) const;
  std::string from_run(size_t run, int32_t load);
  std::pair<int32_t, int64_t> root_of(int32_t index) const;
  std::string expression(int32_t id);
  std::string arithmetic(const scalar::Inst& inst);
  std::string pair_arithmetic(const scalar::Inst& inst);
  std::string integer_arithmetic(const scalar::Inst& inst);
  std::string compare(const scalar::Inst& inst);

  // f64 by integers (glsl_soft.cpp).
  bool needs_soft() const;
  void use_soft();
  bool is_soft(int32_t id) const { return soft_ && type(id) == DType::f64; }
  std::string_view soft_type(DType type) const { return type == DType::f64 ? "uint64_t" : m.type(type); }
  std::string soft_convert(const std::string& x, DType from, DType to);
  std::string soft_arithmetic(const scalar::Inst& inst);

  bool wide_ = false, soft_ = false;
  int live_ = 0, together_ = 1;
  std::vector<bool> is_live_;
  std::vector<std::pair<int32_t, std::string>> staged_;
  std::vector<Run> runs_;
  std::array<std::string, 3> text_;
  std::string shared_;
  std::vector<std::string> values_;
  std::vector<uint8_t> levels_;  // bit l: depends on loop l
  std::vector<std::array<std::optional<int64_t>, 2>> strides_;
};

/// Returns the instructions of iteration `e` of those side by side; `more` follows in the same scope. `index` is that
/// of the inner loop.
std::string iteration(const Body& body, int e, const std::string& index, const std::string& more);

/// Returns how many of `units`, a workgroup apart, an invocation does well to compute; each has `together` elements.
int64_t repeats_of(int64_t units, int together, const Choices& choices);

/// Returns text that reads the addresses of `count` operands into a0, a1, ...
std::string bases(Module& m, int count);

/// Grid spreads workgroups over the axes; its text sets `group` to the linear number. What fills the last row comes on
/// top of them, so the shader looks at its bounds.
struct Grid {
  std::array<uint32_t, 3> groups;
  std::string text;
};
Grid grid(uint64_t groups, const std::string& index_type);

/// Returns the bits of what a reduction begins with.
uint64_t identity_bits(backends::Combine combine, DType type);
/// Returns an expression that combines `a` with `b` (names), as kernel_eval.cpp's combined does.
std::string combined(Module& m, backends::Combine combine, DType type, const std::string& a, const std::string& b);
/// Returns a statement that combines `value` into memory at `address` where nobody else is.
std::string update_alone(Module& m, backends::Combine combine, DType type, const std::string& address,
                         const std::string& value);
/// Returns a statement that combines `value` into memory at `address`, whatever other invocations do there.
std::string update(Module& m, backends::Combine combine, DType type, const std::string& address,
                   const std::string& value, std::string_view kernel);

Shader emit_map(const backends::Launch& launch, const Choices& choices, std::span<const Viewable> viewable);
Shader emit_reduce(const backends::Launch& launch, const Choices& choices, std::span<const Viewable> viewable);
Shader emit_scatter(const backends::Launch& launch, const Choices& choices, std::span<const Viewable> viewable);

}  // namespace neap::vk
