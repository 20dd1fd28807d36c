// Places of arrays, sets, bits: what numpy.h has of jax.numpy beside sorting and searching.
#include "args.h"

namespace neap::python {
namespace {

int64_t extent_along(const Operand& x, std::optional<int64_t> axis, const char* op) {
  const Array a = x.as_array();
  return axis ? a.shape().at(normalize_axes(Shape{*axis}, static_cast<int64_t>(a.ndim()), op, x.loc())[0]) : a.size();
}

// An int, a slice, or a sequence of ints.
Shape places_from(nb::handle object, const Operand& x, std::optional<int64_t> axis, const char* op) {
  if (PySlice_Check(object.ptr())) {
    Py_ssize_t start = 0, stop = 0, step = 0;
    if (PySlice_Unpack(object.ptr(), &start, &stop, &step) != 0) nb::raise_python_error();
    const Py_ssize_t n = PySlice_AdjustIndices(extent_along(x, axis, op), &start, &stop, step);
    Shape places;
    for (Py_ssize_t i = 0; i < n; ++i) places.push_back(start + i * step);
    return places;
  }
  Array* array = nullptr;
  if (nb::try_cast(object, array, false) && array->ndim() > 0)
    return ravel(Operand(*array)).to_vector<int64_t>(x.loc());
  return shape_from(object, op);
}

bool is_little(const char* op, const std::string& order) {
  if (order != "big" && order != "little")
    throw_user<OptionError>(op, "bitorder \"" + order + "\"", "\"big\" or \"little\"", "", here());
  return order == "little";
}

Array put_along_axis_of(Arg arr, Arg indices, Arg values, int64_t axis, bool inplace) {
  if (inplace) type_error("put_along_axis", "inplace=True, and arrays do not change", "x = put_along_axis(x, ...)");
  const Operand x = arr, i = indices, v = values;
  return unlocked([&] { return put_along_axis(x, i, v, axis); });
}

Array select_of(ArraysArg conditions, ArraysArg choices, Arg otherwise) {
  const std::source_location loc = here();
  const std::vector<Array> tests = conditions, values = choices;
  const Operand rest = otherwise;
  return unlocked([&] { return select(tests, values, rest, loc); });
}

Array ravel_multi_index_of(ArraysArg index, ShapeArg dims, const std::string& mode) {
  const std::source_location loc = here();
  const std::vector<Array> places = index;
  const Shape shape = dims;
  if (mode == "clip" || mode == "wrap")
    return ravel_multi_index(places, shape, mode == "clip" ? IndexRange::clip : IndexRange::wrap, loc);
  if (mode != "raise")
    throw_user<OptionError>("ravel_multi_index", "mode \"" + mode + "\"", "\"raise\", \"clip\" or \"wrap\"", "", loc);
  for (size_t i = 0; i < places.size() && i < shape.size(); ++i) {
    if (!places[i].is_concrete())
      throw_user<TracerError>("ravel_multi_index", "a traced array: whether it is in range is not known yet",
                              "mode=\"clip\" or mode=\"wrap\"", "", loc);
    for (const int64_t one : places[i].astype(DType::i64, loc).to_vector<int64_t>(loc))
      if (one < 0 || one >= shape[i])
        throw_user<IndexError>("ravel_multi_index", "index " + std::to_string(one) + " along axis " + std::to_string(i),
                               "0 to " + std::to_string(shape[i] - 1), "", loc);
  }
  return ravel_multi_index(places, shape, IndexRange::clip, loc);
}

int64_t count_true(const Array& mask, std::source_location loc) {
  return count_nonzero(Operand(mask, loc)).item<int64_t>(loc);
}
Operand flat(const Operand& x) { return {ravel(x), x.loc()}; }

// The distinct elements of an array whose elements are known.
Operand distinct(const Operand& x, const char* op) {
  const int64_t n = known_size({}, op, "size=...", x, [&] { return count_distinct(x); });
  return {unique(x, n), x.loc()};
}

Array union1d_of(Arg a, Arg b, std::optional<int64_t> size, std::optional<double> fill) {
  const Operand x = a, y = b;
  const Operand all(concatenate({ravel(x), ravel(y)}, 0, x.loc()), x.loc());
  const int64_t n = known_size(size, "union1d", "size=...", all, [&] { return count_distinct(all); });
  return union1d(x, y, n, fill);
}
Array intersect1d_of(Arg a, Arg b, std::optional<int64_t> size, std::optional<double> fill) {
  const Operand x = a, y = b;
  if (size) return intersect1d(x, y, *size, fill);
  known_size({}, "intersect1d", "size=...", y, [] { return 0; });
  return intersect1d(x, y, count_true(isin(distinct(x, "intersect1d"), flat(y)), x.loc()), fill);
}
Array setdiff1d_of(Arg a, Arg b, std::optional<int64_t> size, std::optional<double> fill) {
  const Operand x = a, y = b;
  if (size) return setdiff1d(x, y, *size, fill.value_or(0));
  known_size({}, "setdiff1d", "size=...", y, [] { return 0; });
  return setdiff1d(x, y, count_true(isin(distinct(x, "setdiff1d"), flat(y), true), x.loc()), fill.value_or(0));
}

void bind_sets(Binder& b) {
  b.m.def(
      "isin", [](Arg x, Arg y, bool, bool invert) { return isin(x, y, invert); }, "element"_a, "test_elements"_a,
      "assume_unique"_a = false, "invert"_a = false, "Whether each element is one of the others.");
  b.m.def("union1d", union1d_of, "ar1"_a, "ar2"_a, nb::kw_only(), "size"_a = nb::none(), "fill_value"_a = nb::none(),
          "The distinct elements of both, sorted; inside a trace `size` says how many.");
  b.m.def("intersect1d", intersect1d_of, "ar1"_a, "ar2"_a, nb::kw_only(), "size"_a = nb::none(),
          "fill_value"_a = nb::none(), "The elements that both have, sorted; inside a trace `size` says how many.");
  b.m.def("setdiff1d", setdiff1d_of, "ar1"_a, "ar2"_a, nb::kw_only(), "size"_a = nb::none(),
          "fill_value"_a = nb::none(),
          "The elements that only the first has, sorted; inside a trace `size` says how many.");
}

void bind_indices(Binder& b) {
  b.m.def(
      "argwhere",
      [](Arg a, std::optional<int64_t> size, std::optional<int64_t> fill) {
        const Operand x = a;
        const int64_t n =
            known_size(size, "argwhere", "size=...", x, [&] { return count_nonzero(x).item<int64_t>(x.loc()); });
        return argwhere(x, n, fill.value_or(0));
      },
      "a"_a, nb::kw_only(), "size"_a = nb::none(), "fill_value"_a = nb::none(),
      "The rows of indices where a is not zero; inside a trace `size` says how many.");
  b.m.def(
      "lexsort",
      [](ArraysArg keys, int64_t axis) {
        const std::source_location loc = here();
        const std::vector<Array> all = keys;
        return unlocked([&] { return lexsort(all, axis, loc); });
      },
      "keys"_a, "axis"_a = -1, "The indices that sort by the last key, where those are equal by the last but one, ...");
  b.m.def(
      "unravel_index", [](Arg i, ShapeArg shape) { return nb::tuple(nb::cast(unravel_index(i, shape))); }, "indices"_a,
      "shape"_a, "Indices of a flat array as those along each axis.");
  b.m.def("ravel_multi_index", ravel_multi_index_of, "multi_index"_a, "dims"_a, "mode"_a = "raise",
          "Indices along each axis as those of the flat array; in a trace mode is \"clip\" or \"wrap\".");
}

}  // namespace

void bind_places(Binder& b) {
  b.m.def(
      "insert",
      [](Arg a, nb::handle obj, Arg v, std::optional<int64_t> axis) {
        const Operand x = a, values = v;
        const Shape places = places_from(obj, x, axis, "insert");
        return unlocked([&] { return insert(x, places, values, axis); });
      },
      "arr"_a, "obj"_a, "values"_a, "axis"_a = nb::none(), "arr with values before these places.",
      nb::sig("def insert(arr: neap.typing.ArrayLike, obj: int | slice | collections.abc.Sequence[int], values: "
              "neap.typing.ArrayLike, axis: int | None = None) -> Array"));
  b.m.def(
      "delete",
      [](Arg a, nb::handle obj, std::optional<int64_t> axis) {
        const Operand x = a;
        const Shape places = places_from(obj, x, axis, "delete");
        return unlocked([&] { return delete_(x, places, axis); });
      },
      "arr"_a, "obj"_a, "axis"_a = nb::none(), "arr without the slices at these places.",
      nb::sig("def delete(arr: neap.typing.ArrayLike, obj: int | slice | collections.abc.Sequence[int], axis: int | "
              "None = None) -> Array"));
  b.m.def("put_along_axis", put_along_axis_of, "arr"_a, "indices"_a, "values"_a, "axis"_a, "inplace"_a = false,
          "arr with values at arr[..., index[..., j, ...], ...] along an axis.");
  b.m.def("select", select_of, "condlist"_a, "choicelist"_a, "default"_a = 0,
          "Each element from the first choice whose condition is true.");
  b.m.def(
      "packbits",
      [](Arg a, std::optional<int64_t> axis, const std::string& order) {
        return packbits(a, axis, is_little("packbits", order));
      },
      "a"_a, "axis"_a = nb::none(), "bitorder"_a = "big", "Each 8 elements as the bits of a uint8.");
  b.m.def(
      "unpackbits",
      [](Arg a, std::optional<int64_t> axis, std::optional<int64_t> count, const std::string& order) {
        return unpackbits(a, axis, count, is_little("unpackbits", order));
      },
      "a"_a, "axis"_a = nb::none(), "count"_a = nb::none(), "bitorder"_a = "big", "The bits of uint8 elements.");
  b.m.def(
      "ediff1d",
      [](Arg ary, nb::handle to_end, nb::handle to_begin) {
        const Operand x = ary;
        std::vector<Array> parts{ediff1d(x)};
        const auto as_part = [&](nb::handle one) {
          return ravel(operand_from(one, x.loc())).astype(parts[0].dtype(), x.loc());
        };
        if (!to_end.is_none()) parts.push_back(as_part(to_end));
        if (!to_begin.is_none()) parts.insert(parts.begin(), as_part(to_begin));
        return parts.size() == 1 ? parts[0] : concatenate(parts, 0, x.loc());
      },
      "ary"_a, "to_end"_a = nb::none(), "to_begin"_a = nb::none(), "The differences of neighbours in the flat array.",
      nb::sig("def ediff1d(ary: neap.typing.ArrayLike, to_end: neap.typing.ArrayLike | None = None, to_begin: "
              "neap.typing.ArrayLike | None = None) -> Array"));
  b.m.def(
      "unwrap",
      [](Arg p, std::optional<double> discont, int64_t axis, double period) {
        return unwrap(p, discont, axis, period);
      },
      "p"_a, "discont"_a = nb::none(), "axis"_a = -1, "period"_a = 6.283185307179586,
      "Adds multiples of the period so that neighbours differ by half of it at most.");
  bind_sets(b);
  bind_indices(b);
}

}  // namespace neap::python
