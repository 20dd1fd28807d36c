// Sizes in the making: int64 arithmetic that remembers that it left int64 instead of wrapping.
#pragma once

#include <neap/error.h>
#include <neap/shape.h>

#include <cstdint>
#include <string>
#include <string_view>

#include "core/check.h"

namespace neap {

// Size is an int64 that remembers whether any step of its computation overflowed.
class Size {
 public:
  constexpr Size(int64_t value) : value_(value) {}

  friend constexpr Size operator+(Size a, Size b) {
    Size r(a, b);
    r.fits_ &= !__builtin_add_overflow(a.value_, b.value_, &r.value_);
    return r;
  }
  friend constexpr Size operator-(Size a, Size b) {
    Size r(a, b);
    r.fits_ &= !__builtin_sub_overflow(a.value_, b.value_, &r.value_);
    return r;
  }
  friend constexpr Size operator*(Size a, Size b) {
    Size r(a, b);
    r.fits_ &= !__builtin_mul_overflow(a.value_, b.value_, &r.value_);
    return r;
  }

  static Size product(const Shape& shape) {
    Size result = 1;
    for (const int64_t extent : shape) result = result * extent;
    return result;
  }

  // Returns whether every number on the way here fits int64.
  constexpr bool fits() const { return fits_; }
  // Returns the number. Throws InternalError unless it fits.
  int64_t value() const {
    NEAP_CHECK(fits_);
    return value_;
  }
  // Returns the number. Throws ShapeError unless it fits: "op: what is beyond 2^63; expected a smaller shape
  // [model.cpp:41]".
  int64_t value(std::string_view op, const std::string& what, std::source_location loc) const {
    if (fits_) return value_;
    throw_user<ShapeError>(op, what + " is beyond 2^63", "a smaller shape", "", loc);
  }

 private:
  constexpr Size(Size a, Size b) : value_(0), fits_(a.fits_ && b.fits_) {}
  int64_t value_;
  bool fits_ = true;
};

}  // namespace neap
