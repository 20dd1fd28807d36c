// What the ways to sort by digits share (sort.cpp says which is taken when).
#pragma once

#include <fmt/format.h>

#include <string>

#include "backends/vulkan/glsl.h"
#include "backends/vulkan/glsl_kernel.h"
#include "backends/vulkan/glsl_module.h"

namespace neap::vk {

inline constexpr int kSortDigits = 1 << planner::kSortDigitBits;

/// How elements are read, compared and written: as the unsigned integers of their width.
class SortElement {
 public:
  SortElement(Module& m, const planner::SortForm& form) : m_(m), bytes_(size_of(form.dtype)) {
    constexpr DType kBits[] = {DType::u8, DType::u16, DType::u32, DType::u64};
    bits_ = kBits[bytes_ == 1 ? 0 : bytes_ == 2 ? 1 : bytes_ == 4 ? 2 : 3];
    type = m.type(bits_);
    m.define("key", key(form));
  }

  std::string type;

  std::string read(const std::string& base, const std::string& index) const {
    return load(m_, address(base, index), bits_);
  }
  std::string write(const std::string& base, const std::string& index, const std::string& value) const {
    return store(m_, address(base, index), value, bits_);
  }

 private:
  std::string address(const std::string& base, const std::string& index) const {
    return element_address(base, index, DType::u64, bytes_);
  }
  std::string number(uint64_t n) const { return fmt::format("0x{:x}u{}", n, bytes_ == 8 ? "l" : ""); }

  // Unsigned integers in the order of the elements, equal where these are: all NaNs, and zeros of both signs.
  std::string key(const planner::SortForm& form) const {
    const int width = form.dtype == DType::bool_ ? 1 : static_cast<int>(8 * bytes_);
    const uint64_t ones = ~uint64_t{0} >> (64 - width), sign = uint64_t{1} << (width - 1);
    std::string text = fmt::format("{0} key({0} x) {{\n", type);
    if (is_float(form.dtype)) {
      const uint64_t infinity = form.dtype == DType::f16    ? 0x7C00
                                : form.dtype == DType::bf16 ? 0x7F80
                                : form.dtype == DType::f32  ? 0x7F800000
                                                            : 0x7FF0000000000000;
      text += fmt::format("  const {} magnitude = x & {};\n", type, number(ones >> 1));
      text +=
          fmt::format("  x = magnitude == {0} ? {1} : magnitude > {2} ? {3} : (x & {1}) != {0} ? ~x & {3} : x | {1};\n",
                      number(0), number(sign), number(infinity), number(ones));
    } else if (is_signed(form.dtype)) {
      text += fmt::format("  x ^= {};\n", number(sign));
    }
    if (form.descending) text += fmt::format("  x ^= {};\n", number(ones));
    return text + "  return x;\n}\n";
  }

  Module& m_;
  size_t bytes_;
  DType bits_;
};

/// What a pass moves beside the elements: of argsort the first makes indices, the last leaves the elements behind.
struct SortMove {
  bool reads_indices = false, writes_indices = false, writes_elements = true;
};

/// Returns whether the device sorts by subgroups: workgroups of 256 invocations in subgroups of a known size.
bool sorts_by_subgroups(const Choices& choices);
/// These are the three dispatches of a pass by subgroups; rows of one block need no add_counts_of_digits(). Operands:
/// elements, counts.
Shader count_digits_by_subgroups(const planner::SortForm& form, const Choices& choices);
/// Operand: counts.
Shader add_counts_of_digits(const planner::SortForm& form, const Choices& choices);
/// Operands: elements, counts, then those that are there of: indices; elements and indices to write.
Shader move_elements_by_subgroups(const planner::SortForm& form, const Choices& choices, const SortMove& move);

}  // namespace neap::vk
