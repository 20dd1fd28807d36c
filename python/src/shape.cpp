// Functions that move elements: shapes, axes, joins, cuts, pads.
#include <algorithm>
#include <functional>

#include "args.h"

namespace neap::python {
namespace {

// reshape(2, 3) and reshape((2, 3)).
Shape shape_of(const nb::args& args, const char* what) {
  return args.size() == 1 ? shape_from(args[0], what) : shape_from(args, what);
}

Array squeeze_of(const Operand& x, AxesArg axis) {
  const std::optional<Shape> axes = axis.shape();
  if (!axes) return squeeze(x);
  Shape sorted = normalize_axes(*axes, static_cast<int64_t>(x.shape().size()), "squeeze", x.loc());
  std::ranges::sort(sorted, std::greater<>());
  Array y = x.as_array();
  for (const int64_t one : sorted) y = squeeze(Operand(y, x.loc()), one);
  return y;
}

Array expand_of(const Operand& x, AxesArg axis) {
  const Shape axes = axis.shape().value_or(Shape{});
  const auto rank = static_cast<int64_t>(x.shape().size() + axes.size());
  Shape sorted = normalize_axes(axes, rank, "expand_dims", x.loc());
  std::ranges::sort(sorted);
  Array y = x.as_array();
  for (const int64_t one : sorted) y = expand_dims(Operand(y, x.loc()), one);
  return y;
}

Array moveaxis_of(const Operand& x, AxesArg source, AxesArg destination) {
  const auto rank = static_cast<int64_t>(x.shape().size());
  const Shape from = normalize_axes(source.shape().value_or(Shape{}), rank, "moveaxis", x.loc());
  const Shape to = normalize_axes(destination.shape().value_or(Shape{}), rank, "moveaxis", x.loc());
  if (from.size() != to.size())
    throw_user<ShapeError>("moveaxis",
                           std::to_string(from.size()) + " axes and " + std::to_string(to.size()) + " places",
                           "as many", "", x.loc());
  Shape permutation(rank, -1), rest;
  for (size_t i = 0; i < to.size(); ++i) permutation[to[i]] = from[i];
  for (int64_t axis = 0; axis < rank; ++axis)
    if (std::ranges::find(from, axis) == from.end()) rest.push_back(axis);
  size_t next = 0;
  for (int64_t& axis : permutation)
    if (axis < 0) axis = rest[next++];
  return transpose(x, permutation);
}

std::vector<Array> split_of(const Operand& x, nb::handle sections, int64_t axis, bool equal) {
  if (PyIndex_Check(sections.ptr()) && !nb::hasattr(sections, "__len__")) {
    const int64_t parts = int_from(sections, "split");
    return equal ? split(x, parts, axis) : array_split(x, parts, axis);
  }
  return split_at(x, shape_from(sections, "split"), axis);
}

using Widths = std::vector<std::pair<int64_t, int64_t>>;

// 1, (1, 2), ((1, 2),) or one pair for each axis.
Widths widths_from(nb::handle object, size_t rank, std::source_location loc) {
  if (PyIndex_Check(object.ptr()) && !nb::hasattr(object, "__len__")) {
    const int64_t n = int_from(object, "pad");
    return Widths(rank, {n, n});
  }
  Widths widths;
  std::vector<int64_t> plain;
  for (nb::handle one : object) {
    if (PyIndex_Check(one.ptr()) && !nb::hasattr(one, "__len__")) {
      plain.push_back(int_from(one, "pad"));
    } else {
      const Shape pair = shape_from(one, "pad");
      widths.emplace_back(pair.at(0), pair.size() > 1 ? pair[1] : pair[0]);
    }
  }
  if (plain.size() == 1) return Widths(rank, {plain[0], plain[0]});
  if (plain.size() == 2) return Widths(rank, {plain[0], plain[1]});
  if (widths.size() == 1) return Widths(rank, widths[0]);
  if (widths.size() != rank)
    throw_user<ShapeError>("pad", std::to_string(widths.size()) + " widths",
                           std::to_string(rank) + ", one for each axis", "", loc);
  return widths;
}

Array pad_of(Arg array, nb::handle width, const std::string& mode, Arg constant) {
  const Operand x = array;
  const Widths widths = widths_from(width, x.shape().size(), x.loc());
  if (mode == "constant") {
    Shape low, high;
    for (const auto& [before, after] : widths) low.push_back(before), high.push_back(after);
    return pad(x, low, high, Operand(constant));
  }
  const std::pair<const char*, PadMode> modes[] = {{"edge", PadMode::edge},
                                                   {"reflect", PadMode::reflect},
                                                   {"symmetric", PadMode::symmetric},
                                                   {"wrap", PadMode::wrap}};
  for (const auto& [name, value] : modes)
    if (mode == name) return pad(x, widths, value);
  throw_user<OptionError>("pad", "mode \"" + mode + "\"", "constant, edge, reflect, symmetric or wrap", "", x.loc());
}

Array repeat_of(Arg a, nb::handle repeats, std::optional<int64_t> axis, std::optional<int64_t> total) {
  const std::source_location loc = here();
  const Operand x = a;
  if (PyIndex_Check(repeats.ptr()) && !nb::hasattr(repeats, "__len__"))
    return repeat(x, int_from(repeats, "repeat"), axis);
  const Array counts = array_of(repeats, {}, loc);
  if (counts.size() == 1 && counts.is_concrete()) return repeat(x, counts.item<int64_t>(loc), axis);
  int64_t all = 0;
  if (total)
    all = *total;
  else
    for (const int64_t n : counts.to_vector<int64_t>(loc)) all += n;
  return axis ? repeat(x, counts, all, *axis) : repeat(Operand(ravel(x), loc), counts, all, 0);
}

Array roll_of(Arg a, nb::handle shift, AxesArg axis) {
  const Operand x = a;
  const Shape shifts = shape_from(shift, "roll");
  const std::optional<Shape> axes = axis.shape();
  if (!axes) return roll(x, shifts.at(0));
  Array y = x.as_array();
  for (size_t i = 0; i < axes->size(); ++i)
    y = roll(Operand(y, x.loc()), shifts[shifts.size() > 1 ? i : 0], (*axes)[i]);
  return y;
}

void bind_axes(Binder& b) {
  b.c.def(
      "reshape", [](const Array& x, nb::args shape) { return reshape(Operand(x, here()), shape_of(shape, "reshape")); },
      "shape"_a, "The same elements, row-major, in another shape; one extent may be -1.",
      nb::sig("def reshape(self, *shape: int | collections.abc.Sequence[int]) -> Array"));
  b.m.def(
      "reshape", [](Arg a, ShapeArg shape, nb::handle) { return reshape(a, shape); }, "a"_a, "shape"_a,
      "copy"_a = nb::none(), "The same elements, row-major, in another shape; one extent may be -1.");
  b.both("ravel", "a", [](Arg a) { return ravel(a); }, "The elements, row-major, along one axis.");
  b.c.def(
      "flatten", [](const Array& x) { return ravel(Operand(x, here())); }, "The elements, row-major, along one axis.");
  b.m.def(
      "transpose", [](Arg a, AxesArg axes) { return transpose(a, axes.shape()); }, "a"_a, "axes"_a = nb::none(),
      "Permutes the axes; reverses them unless axes are given.");
  b.c.def(
      "transpose",
      [](const Array& x, nb::args axes) {
        const bool none = axes.size() == 0 || (axes.size() == 1 && axes[0].is_none());
        return transpose(Operand(x, here()), none ? std::nullopt : std::optional<Shape>(shape_of(axes, "transpose")));
      },
      "axes"_a, "Permutes the axes; reverses them unless axes are given.",
      nb::sig("def transpose(self, *axes: int | collections.abc.Sequence[int] | None) -> Array"));
  b.c.def_prop_ro(
      "T", [](const Array& x) { return transpose(Operand(x, here())); }, "The array with its axes reversed.");
  b.c.def_prop_ro(
      "mT", [](const Array& x) { return swapaxes(Operand(x, here()), -1, -2); }, "The last two axes exchanged.");
  b.both(
      "swapaxes", "a", [](Arg a, int64_t p, int64_t q) { return swapaxes(a, p, q); }, "axis1"_a, "axis2"_a,
      "Exchanges two axes.");
  b.m.def("matrix_transpose", [](Arg a) { return swapaxes(a, -1, -2); }, "x"_a, "The last two axes exchanged.");
  b.m.def(
      "moveaxis", [](Arg a, AxesArg from, AxesArg to) { return moveaxis_of(a, from, to); }, "a"_a, "source"_a,
      "destination"_a, "Moves axes to other places.");
  b.m.def(
      "permute_dims", [](Arg a, ShapeArg axes) { return transpose(a, Shape(axes)); }, "a"_a, "axes"_a,
      "Permutes the axes.");
  b.m.def(
      "expand_dims", [](Arg a, AxesArg axis) { return expand_of(a, axis); }, "a"_a, "axis"_a,
      "Inserts axes of extent 1.");
  b.both(
      "squeeze", "a", [](Arg a, AxesArg axis) { return squeeze_of(a, axis); }, "axis"_a = nb::none(),
      "Drops axes of extent 1.");
  b.m.def(
      "broadcast_to", [](Arg a, ShapeArg s) { return broadcast_to(a, s); }, "array"_a, "shape"_a,
      "Stretches to a shape.");
  b.m.def(
      "broadcast_arrays",
      [](nb::args a) { return nb::tuple(nb::cast(broadcast_arrays(arrays_from(a, here()), here()))); }, "args"_a,
      "The arrays in the shape that all of them broadcast to.");
  b.m.def("atleast_1d", [](Arg a) { return atleast_1d(a); }, "x"_a, "x; a scalar as [1].");
  b.m.def("atleast_2d", [](Arg a) { return atleast_2d(a); }, "x"_a, "x, with two axes or more.");
  b.m.def("atleast_3d", [](Arg a) { return atleast_3d(a); }, "x"_a, "x, with three axes or more.");
}

void bind_joins(Binder& b) {
  b.m.def(
      "concatenate",
      [](ArraysArg a, std::optional<int64_t> axis, DTypeArg dtype) {
        std::vector<Array> arrays = a;
        if (!axis)
          for (Array& x : arrays) x = ravel(Operand(x, here()));
        const Array y = concatenate(arrays, axis.value_or(0), here());
        return dtype.object ? y.astype(dtype.value_or(f32), here()) : y;
      },
      "arrays"_a, "axis"_a = 0, "dtype"_a = nb::none(), "Joins arrays along an axis; None: flat.");
  b.alias("concat", "concatenate");
  b.m.def(
      "stack", [](ArraysArg a, int64_t axis) { return stack(a, axis, here()); }, "arrays"_a, "axis"_a = 0,
      "Joins along a new axis.");
  b.m.def(
      "hstack", [](ArraysArg a) { return hstack(a, here()); }, "tup"_a, "Joins along axis 1, vectors along axis 0.");
  b.m.def("vstack", [](ArraysArg a) { return vstack(a, here()); }, "tup"_a, "Joins along axis 0, vectors as rows.");
  b.m.def("dstack", [](ArraysArg a) { return dstack(a, here()); }, "tup"_a, "Joins along axis 2.");
  b.m.def(
      "column_stack", [](ArraysArg a) { return column_stack(a, here()); }, "tup"_a,
      "Joins along axis 1, vectors as columns.");
  b.m.def(
      "append", [](Arg a, Arg v, std::optional<int64_t> axis) { return append(a, v, axis); }, "arr"_a, "values"_a,
      "axis"_a = nb::none(), "Joins values to an array.");
  b.m.def(
      "split", [](Arg a, nb::handle s, int64_t axis) { return split_of(a, s, axis, true); }, "ary"_a,
      "indices_or_sections"_a, "axis"_a = 0, "Cuts into equal parts, or at positions.");
  b.m.def(
      "array_split", [](Arg a, nb::handle s, int64_t axis) { return split_of(a, s, axis, false); }, "ary"_a,
      "indices_or_sections"_a, "axis"_a = 0, "Cuts into nearly equal parts, or at positions.");
  b.m.def(
      "unstack",
      [](Arg a, int64_t axis) {
        std::vector<Array> rows = arrays_from(nb::cast(moveaxis(a, axis, 0)), here());
        return nb::tuple(nb::cast(rows));
      },
      "x"_a, nb::kw_only(), "axis"_a = 0, "The slices along an axis.");
  b.m.def(
      "tile", [](Arg a, ShapeArg reps) { return tile(a, reps); }, "A"_a, "reps"_a, "Repeats an array along its axes.");
  b.both("repeat", "a", repeat_of, "repeats"_a, "axis"_a = nb::none(), nb::kw_only(),
         "total_repeat_length"_a = nb::none(), "Repeats each slice along an axis.");
  b.m.def("pad", pad_of, "array"_a, "pad_width"_a, "mode"_a = "constant", "constant_values"_a = 0, "Pads each axis.");
}

void bind_moves(Binder& b) {
  b.m.def(
      "flip",
      [](Arg a, AxesArg axis) {
        const std::optional<Shape> axes = axis.shape();
        return axes ? reverse(a, *axes) : flip(a);
      },
      "m"_a, "axis"_a = nb::none(), "Turns round the order along axes, all unless given.");
  b.m.def("fliplr", [](Arg a) { return fliplr(a); }, "m"_a, "Turns round the order of the columns.");
  b.m.def("flipud", [](Arg a) { return flipud(a); }, "m"_a, "Turns round the order of the rows.");
  b.m.def("roll", roll_of, "a"_a, "shift"_a, "axis"_a = nb::none(), "Moves elements on, round the end.");
  b.m.def(
      "rot90", [](Arg a, int64_t k, std::pair<int64_t, int64_t> axes) { return rot90(a, k, axes); }, "m"_a, "k"_a = 1,
      "axes"_a = std::pair<int64_t, int64_t>(0, 1), "Turns a plane by 90 degrees, k times.");
  b.m.def("tril", [](Arg a, int64_t k) { return tril(a, k); }, "m"_a, "k"_a = 0, "Zeros above diagonal k.");
  b.m.def("triu", [](Arg a, int64_t k) { return triu(a, k); }, "m"_a, "k"_a = 0, "Zeros below diagonal k.");
  b.both(
      "diagonal", "a", [](Arg a, int64_t o, int64_t p, int64_t q) { return diagonal(a, o, p, q); }, "offset"_a = 0,
      "axis1"_a = 0, "axis2"_a = 1, "A diagonal of two axes.");
  b.both(
      "trace", "a", [](Arg a, int64_t o, int64_t p, int64_t q) { return sum(diagonal(a, o, p, q), -1); },
      "offset"_a = 0, "axis1"_a = 0, "axis2"_a = 1, "The sum of a diagonal.");
  b.m.def(
      "diag", [](Arg a, int64_t k) { return diag(a, k); }, "v"_a, "k"_a = 0,
      "A matrix with a diagonal, or a matrix's diagonal.");
  b.m.def(
      "diff", [](Arg a, int64_t n, int64_t axis) { return diff(a, n, axis); }, "a"_a, "n"_a = 1, "axis"_a = -1,
      "Subtracts each element from the next.");
  b.m.def(
      "gradient", [](Arg a, double spacing, int64_t axis) { return gradient(a, spacing, axis); }, "f"_a,
      "spacing"_a = 1.0, "axis"_a = -1, "Central differences.");
  b.m.def(
      "dynamic_slice",
      [](Arg a, nb::handle start, ShapeArg sizes) {
        return dynamic_slice(a, Operand(array_of(start, {}, here()), here()), sizes);
      },
      "operand"_a, "start_indices"_a, "slice_sizes"_a, "A window, moved so that it fits.");
  b.m.def(
      "dynamic_update_slice",
      [](Arg a, Arg update, nb::handle start) {
        return dynamic_update_slice(a, update, Operand(array_of(start, {}, here()), here()));
      },
      "operand"_a, "update"_a, "start_indices"_a, "The array with a window replaced.");
  b.m.def(
      "_slice",
      [](Arg a, ShapeArg start, ShapeArg limit, std::optional<Shape> strides) {
        return strided_slice(a, start, limit, strides);
      },
      "operand"_a, "start_indices"_a, "limit_indices"_a, "strides"_a = nb::none(),
      "start + i * stride below limit, along every axis.");
}

}  // namespace

void bind_shape(Binder& b) {
  bind_axes(b);
  bind_joins(b);
  bind_moves(b);
}

}  // namespace neap::python
