// A convolution's attributes by role, and the arithmetic of its windows. Tested in
// tests/conformance/convolution_test.cpp.
#pragma once

#include <cstdint>
#include <span>

#include "core/size.h"
#include "trace/graph/graph.h"

namespace neap::tracing {

/// Window describes the windows along one axis of space.
struct Window {
  int64_t size = 1;
  int64_t stride = 1, dilation = 1;
  int64_t low = 0, high = 0;  // padding; below 0 it cuts
  int64_t interior = 0;       // zeros between the elements of the operand

  /// Returns how far a window reaches.
  Size reach() const { return Size(size - 1) * dilation + 1; }
  /// Returns how long the operand is with the zeros between its elements, and with all padding.
  Size dilated(int64_t extent) const { return extent == 0 ? Size(0) : Size(extent - 1) * (Size(interior) + 1) + 1; }
  Size padded(int64_t extent) const { return dilated(extent) + low + high; }
  /// Returns how many windows fit. Throws InternalError where the padded operand is longer than int64 counts.
  int64_t count(int64_t extent) const;
};

/// ConvolutionView reads a node of op convolution. Axes are listed by role: of the operand group, batch, features that
/// are added up, space; of the window group, features of the result, features that are added up, window; of the result
/// group, batch, features, space.
struct ConvolutionView {
  const Attrs& attrs;

  const Ints& lhs() const { return attrs.ints(Attr::lhs_axes); }
  const Ints& rhs() const { return attrs.ints(Attr::rhs_axes); }
  const Ints& out() const { return attrs.ints(Attr::out_axes); }
  size_t space() const { return lhs().size() - 3; }
  /// Returns the windows along an axis of space, of so many elements.
  Window window(size_t i, int64_t size) const {
    const auto at = [&](Attr attr) { return attrs.ints(attr)[i]; };
    return {size, at(Attr::stride), at(Attr::dilation), at(Attr::low), at(Attr::high), at(Attr::interior)};
  }
};

/// Returns the attributes of a convolution with these windows, one for each axis of space.
Attrs convolution_attrs(Ints lhs, Ints rhs, Ints out, std::span<const Window> windows);

}  // namespace neap::tracing
