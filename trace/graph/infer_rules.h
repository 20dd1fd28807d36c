// The rules of infer(), by family (loops and cond, both of family control, have one each), and the checks that they
// share. Only sources with such rules include this.
#pragma once

#include <neap/error.h>

#include <fmt/format.h>

#include <string>
#include <vector>

#include "trace/graph/infer.h"
#include "trace/graph/op_table.h"

namespace neap::tracing {

/// Site is what a rule sees of the node.
struct Site {
  Op op;
  std::span<const Aval> in;
  const Attrs& attrs;
  std::source_location loc;

  template <class E>
  [[noreturn]] void fail(std::string got, std::string expected, std::string hint = "") const {
    throw_user<E>(name(op), std::move(got), std::move(expected), std::move(hint), loc);
  }
  /// Returns `shape`. Throws ShapeError unless every extent is 0 or more and their product fits 63 bits.
  const Shape& check_shape(const Shape& shape) const;
  /// Throws IndexError unless the axis is in [0, ndim).
  void check_axis(int64_t axis, int64_t ndim) const;
  /// Checks each axis likewise; ascending also asks that they ascend; otherwise none may be there twice.
  void check_axes(const Ints& axes, int64_t ndim, bool ascending) const;
  /// Throws ShapeError unless the list has one entry for each axis.
  void check_length(const Ints& list, int64_t ndim, Attr attr) const;
  /// Throws DTypeError unless all operands from `first` on have the dtype of the first of them.
  void check_same_dtype(size_t first = 0) const;
};

Aval infer_elementwise(const Site&);
Aval infer_leaf(const Site&);
Aval infer_convert(const Site&);
Aval infer_complex(const Site&);
Aval infer_fft(const Site&);
Aval infer_layout(const Site&);
Aval infer_reduce(const Site&);
Aval infer_argreduce(const Site&);
Aval infer_sort(const Site&);
Aval infer_cumulative(const Site&);
Aval infer_dot(const Site&);
Aval infer_convolution(const Site&);
Aval infer_factor(const Site&);
Aval infer_gather(const Site&);
Aval infer_scatter(const Site&);
Aval infer_random(const Site&);
Aval infer_host_call(const Site&);
std::vector<Aval> infer_loop(const Site&);
std::vector<Aval> infer_cond(const Site&);
std::vector<Aval> infer_call(const Site&);
std::vector<Aval> infer_collective(const Site&);

}  // namespace neap::tracing
