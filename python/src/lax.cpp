// neap.lax and neap.ops: general forms on arrays; python/neap/lax.py and ops.py make them of dimension numbers and
// trees.
#include "leaves.h"

namespace neap::python {
namespace {

// A tuple of five sequences of axes, in GatherDims' and ScatterDims' order.
template <class Dims>
Dims dims_from(nb::handle object) {
  const nb::object d = nb::borrow(object);
  const auto at = [&](int i) { return shape_from(nb::object(d[i]), "dimension_numbers"); };
  return {at(0), at(1), at(2), at(3), at(4)};
}

Array gather_of(Arg operand, Arg indices, nb::handle numbers, ShapeArg sizes, const std::string& mode) {
  const Operand x = operand, i = indices;
  const auto dims = dims_from<lax::GatherDims>(numbers);
  const Shape extents = sizes;
  const GatherMode how = gather_mode("gather", mode);
  return unlocked([&] { return lax::gather(x, i, dims, extents, how); });
}

using Scatter = Array (*)(const Operand&, const Operand&, const Operand&, const lax::ScatterDims&, GatherMode);

// Returns windows of lists of pairs and extents; None: as they are.
Windows windows_from(nb::handle strides, nb::handle padding, nb::handle input_dilation, nb::handle dilation,
                     int64_t groups) {
  Windows w;
  if (!strides.is_none()) w.stride = shape_from(strides, "window_strides");
  if (!input_dilation.is_none()) w.input_dilation = shape_from(input_dilation, "lhs_dilation");
  if (!dilation.is_none()) w.dilation = shape_from(dilation, "rhs_dilation");
  for (nb::handle one : padding) {
    const Shape pair = shape_from(one, "padding");
    if (pair.size() != 2) type_error("padding", std::to_string(pair.size()) + " numbers", "pairs (before, after)");
    w.padding.emplace_back(pair[0], pair[1]);
  }
  w.groups = groups;
  return w;
}

using Segment = Array (*)(const Operand&, const Operand&, int64_t);

// Elementary operations that jax.numpy has otherwise: integers stay integers, axes are named.
void elementary(nb::module_& m) {
  m.def(
      "div", [](Arg x, Arg y) { return elementwise(divide, x, y); }, "x"_a, "y"_a,
      "The quotient; of integers rounded towards 0, all bits where y is 0.");
  m.def(
      "rem", [](Arg x, Arg y) { return elementwise(remainder, x, y); }, "x"_a, "y"_a,
      "The remainder of division rounded towards 0, with the sign of x; of integers x where y is 0.");
  m.def(
      "broadcast_in_dim",
      [](Arg x, ShapeArg shape, ShapeArg axes) { return broadcast_in_dim(x, Shape(shape), Shape(axes)); }, "operand"_a,
      "shape"_a, "broadcast_dimensions"_a,
      "Makes axis i axis broadcast_dimensions[i] of shape, stretched where it is 1.");
  m.def("_reduce_xor", [](Arg x, AxesArg axes) { return reduce_xor(x, axes); }, "operand"_a, "axes"_a);
  m.def(
      "_pad",
      [](Arg x, Arg value, ShapeArg low, ShapeArg high, ShapeArg interior) {
        return pad(x, Shape(low), Shape(high), value, Shape(interior));
      },
      "operand"_a, "value"_a, "low"_a, "high"_a, "interior"_a);
}

}  // namespace

void bind_lax(nb::module_ m) {
  elementary(m);
  m.def("_gather", gather_of, "operand"_a, "start_indices"_a, "dimension_numbers"_a, "slice_sizes"_a, "mode"_a);
  const std::pair<const char*, Scatter> scatters[] = {{"_scatter", lax::scatter},
                                                      {"_scatter_add", lax::scatter_add},
                                                      {"_scatter_mul", lax::scatter_mul},
                                                      {"_scatter_min", lax::scatter_min},
                                                      {"_scatter_max", lax::scatter_max}};
  for (const auto& [name, f] : scatters)
    m.def(
        name,
        [f = f](Arg operand, Arg indices, Arg updates, nb::handle numbers, const std::string& mode) {
          const Operand x = operand, i = indices, y = updates;
          const auto dims = dims_from<lax::ScatterDims>(numbers);
          const GatherMode how = gather_mode("scatter", mode);
          return unlocked([&] { return f(x, i, y, dims, how); });
        },
        "operand"_a, "scatter_indices"_a, "updates"_a, "dimension_numbers"_a, "mode"_a);
  m.def(
      "_conv_general_dilated",
      [](Arg lhs, Arg rhs, nb::handle strides, nb::handle padding, nb::handle lhs_dilation, nb::handle rhs_dilation,
         nb::handle numbers, int64_t groups, int64_t batch_groups) {
        const Operand x = lhs, w = rhs;
        const Windows windows = windows_from(strides, padding, lhs_dilation, rhs_dilation, groups);
        const nb::object n = nb::borrow(numbers);
        const auto at = [&](int i) { return shape_from(nb::object(n[i]), "dimension_numbers"); };
        const lax::ConvDims dims{at(0), at(1), at(2)};
        return unlocked([&] { return lax::conv_general_dilated(x, w, windows, dims, batch_groups); });
      },
      "lhs"_a, "rhs"_a, "window_strides"_a.none(), "padding"_a, "lhs_dilation"_a.none(), "rhs_dilation"_a.none(),
      "dimension_numbers"_a, "feature_group_count"_a, "batch_group_count"_a);
  m.def(
      "_reduce",
      [](nb::callable f, nb::list leaves, nb::list init, AxesArg axes) {
        const std::source_location loc = here();
        const std::vector<Array> in = leaves_from(leaves, loc), first = leaves_from(init, loc);
        const auto join = leaf_function(f);
        const Axes along = axes;
        return list_of(unlocked([&] { return detail::reduce_of(join, in, first, along, loc); }));
      },
      "computation"_a, "operands"_a, "init_values"_a, "dimensions"_a);
  m.def(
      "_reduce_window",
      [](nb::callable f, nb::list leaves, nb::list init, ShapeArg window, nb::handle strides, nb::handle padding,
         nb::handle input_dilation, nb::handle dilation) {
        const std::source_location loc = here();
        const std::vector<Array> in = leaves_from(leaves, loc), first = leaves_from(init, loc);
        const auto join = leaf_function(f);
        const Shape extents = window;
        const Windows windows = windows_from(strides, padding, input_dilation, dilation, 1);
        return list_of(unlocked([&] { return detail::reduce_window_of(join, in, first, extents, windows, loc); }));
      },
      "computation"_a, "operands"_a, "init_values"_a, "window_dimensions"_a, "window_strides"_a.none(), "padding"_a,
      "base_dilation"_a.none(), "window_dilation"_a.none());
  m.def(
      "reduce_precision",
      [](Arg x, int exponent, int mantissa) {
        return elementwise([&](const Operand& o) { return reduce_precision(o, exponent, mantissa); }, x);
      },
      "operand"_a, "exponent_bits"_a, "mantissa_bits"_a, "Floats rounded to a format of so many bits.");
}

void bind_ops(nb::module_ m) {
  const std::pair<const char*, Segment> segments[] = {{"_segment_sum", segment_sum},
                                                      {"_segment_prod", segment_prod},
                                                      {"_segment_max", segment_max},
                                                      {"_segment_min", segment_min}};
  for (const auto& [name, f] : segments)
    m.def(
        name,
        [name = name + 1, f = f](Arg data, Arg ids, std::optional<int64_t> count) {
          const Operand x = data, i = ids;
          const int64_t n = known_size(count, name, "num_segments=...", i, [&] {
            return i.as_array().size() == 0 ? 0 : max(i).item<int64_t>(i.loc()) + 1;
          });
          return unlocked([&] { return f(x, i, n); });
        },
        "data"_a, "segment_ids"_a, "num_segments"_a.none());
}

}  // namespace neap::python
