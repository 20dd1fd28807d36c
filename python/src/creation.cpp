// Making arrays: jax.numpy's names and defaults.
#include <algorithm>

#include "device.h"

namespace neap::python {
namespace {

// Whether what array_of() makes is the object itself: arrays do not change, so that it is as good as a copy.
bool is_copied(nb::handle object, const Array& made) {
  Array* array = nullptr;
  if (nb::try_cast(object, array, false) && array) return array->dtype() != made.dtype();
  return is_numpy(object) || nb::hasattr(object, "__array__");
}

Array array_like(nb::handle object, DTypeArg dtype, nb::handle copy, nb::handle device) {
  const std::source_location loc = here();
  const Array x = array_of(object, dtype, loc);
  if (!copy.is_none() && !nb::cast<bool>(copy) && is_copied(object, x))
    throw nb::value_error("asarray: copy=False of what must be copied: another dtype, or an array of another library");
  return placed(x, device);
}

Array arange_of(nb::handle start, nb::handle stop, nb::handle step, DTypeArg dtype, nb::handle device) {
  const std::source_location loc = here();
  if (!device.is_none()) return placed(arange_of(start, stop, step, dtype, nb::none()), device);
  if (stop.is_none()) {
    if (step.is_none()) return arange(operand_from(start, loc), dtype);
    return arange(Operand(0, loc), operand_from(start, loc), operand_from(step, loc), dtype);
  }
  return arange(operand_from(start, loc), operand_from(stop, loc),
                step.is_none() ? Operand(1, loc) : operand_from(step, loc), dtype);
}

DType spaced_dtype(const Operand& a, const Operand& b, DTypeArg dtype) {
  if (dtype.object) return dtype.value_or(f32);
  return to_float_dtype(promote(a.is_scalar() ? f32 : a.dtype(), b.is_scalar() ? f32 : b.dtype()));
}

nb::object linspace_of(Arg start, Arg stop, int64_t num, bool endpoint, bool retstep, DTypeArg dtype) {
  const Operand a = start, b = stop;
  const DType wanted = spaced_dtype(a, b, dtype), computed = is_inexact(wanted) ? wanted : DType::f64;
  Array x = linspace(a, b, endpoint ? num : num + 1, computed);
  if (!endpoint) x = slice_in_dim(Operand(x, here()), 0, num, 0);
  if (!is_inexact(wanted)) x = floor(x);
  const Array result = x.astype(wanted, here());
  if (!retstep) return nb::cast(result);
  const double parts = static_cast<double>(endpoint ? num - 1 : num);
  return nb::make_tuple(result, ((b - a) / parts).astype(computed, here()));
}

Array eye_of(int64_t n, std::optional<int64_t> m, nb::int_ diagonal, DTypeArg dtype, nb::handle device) {
  const std::source_location loc = here();
  if (!device.is_none()) return placed(eye_of(n, m, diagonal, dtype, nb::none()), device);
  const DType wanted = dtype.value_or(f32);
  int beyond = 0;  // beyond 64 bits, and beyond the matrix, there are no ones
  int64_t k = PyLong_AsLongLongAndOverflow(diagonal.ptr(), &beyond);
  k = beyond > 0 ? m.value_or(n) : beyond < 0 ? -n : std::clamp(k, -n, m.value_or(n));
  if (k == 0) return eye(n, m, wanted, loc);
  const Shape shape{n, m.value_or(n)};
  return (Operand(iota(shape, 0, i32, loc), loc) + k == Operand(iota(shape, 1, i32, loc), loc)).astype(wanted, loc);
}

using Window = Array (*)(int64_t, DType, std::source_location);
using Triangle = std::pair<Array, Array> (*)(int64_t, int64_t, std::optional<int64_t>, std::source_location);

void window(Binder& b, const char* name, Window f, const char* doc) {
  b.m.def(name, [f](int64_t n) { return f(n, f32, here()); }, "M"_a, doc);
}
void triangle(Binder& b, const char* name, Triangle f, const char* doc) {
  b.m.def(
      name, [f](int64_t n, int64_t k, std::optional<int64_t> m) { return f(n, k, m, here()); }, "n"_a, "k"_a = 0,
      "m"_a = nb::none(), doc);
}

}  // namespace

void bind_creation(Binder& b) {
  b.m.def(
      "array", array_like, "object"_a, "dtype"_a = nb::none(), "copy"_a = nb::none(), "device"_a = nb::none(),
      "An array of numbers, nested lists, arrays of Neap, NumPy and other libraries. Numbers of Python have default "
      "dtypes: bool, int32, float32, complex64.",
      nb::sig("def array(object: typing.Any, dtype: neap.typing.DTypeLike | None = None, copy: bool | None = None, "
              "device: str | Device | None = None) -> Array"));
  b.m.def("asarray", array_like, "a"_a, "dtype"_a = nb::none(), "copy"_a = nb::none(), "device"_a = nb::none(),
          "Does what array() does. copy=False: ValueError where it must be copied.",
          nb::sig("def asarray(a: typing.Any, dtype: neap.typing.DTypeLike | None = None, copy: bool | None = None, "
                  "device: str | Device | None = None) -> Array"));
  b.function(
      "zeros",
      [](ShapeArg s, DTypeArg d, nb::handle device) { return placed(zeros(s, d.value_or(f32), here()), device); },
      "shape"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), "An array of zeros.");
  b.function(
      "ones",
      [](ShapeArg s, DTypeArg d, nb::handle device) { return placed(ones(s, d.value_or(f32), here()), device); },
      "shape"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), "An array of ones.");
  b.function(
      "empty",
      [](ShapeArg s, DTypeArg d, nb::handle device) { return placed(zeros(s, d.value_or(f32), here()), device); },
      "shape"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), "An array of zeros: none is left uninitialised.");
  b.function(
      "full", [](ShapeArg s, Arg v, DTypeArg d, nb::handle device) { return placed(full(s, v, d, here()), device); },
      "shape"_a, "fill_value"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
      "An array whose elements all equal fill_value.");
  b.function(
      "zeros_like",
      [](Arg a, DTypeArg d, nb::handle device) {
        const Operand x = a;
        return placed(full_like(x, 0, d.value_or(x.dtype())), device);
      },
      "a"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), "Zeros of the shape and dtype of a.");
  b.function(
      "ones_like",
      [](Arg a, DTypeArg d, nb::handle device) {
        const Operand x = a;
        return placed(full_like(x, 1, d.value_or(x.dtype())), device);
      },
      "a"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), "Ones of the shape and dtype of a.");
  b.function(
      "empty_like",
      [](Arg a, DTypeArg d, nb::handle device) {
        const Operand x = a;
        return placed(full_like(x, 0, d.value_or(x.dtype())), device);
      },
      "a"_a, "dtype"_a = nb::none(), "device"_a = nb::none(), "Zeros of the shape and dtype of a.");
  b.function(
      "full_like", [](Arg a, Arg v, DTypeArg d, nb::handle device) { return placed(full_like(a, v, d), device); },
      "a"_a, "fill_value"_a, "dtype"_a = nb::none(), "device"_a = nb::none(),
      "An array of the shape of a whose elements all equal fill_value.");
  b.function("arange", arange_of, "start"_a, "stop"_a = nb::none(), "step"_a = nb::none(), "dtype"_a = nb::none(),
             "device"_a = nb::none(), "start, start + step, ... below stop.",
             nb::sig("def arange(start: neap.typing.ArrayLike, stop: neap.typing.ArrayLike | None = None, step: "
                     "neap.typing.ArrayLike | None = None, dtype: neap.typing.DTypeLike | None = None, device: str | "
                     "Device | None = None) -> Array"));
  b.function(
      "linspace", linspace_of, "start"_a, "stop"_a, "num"_a = 50, "endpoint"_a = true, "retstep"_a = false,
      "dtype"_a = nb::none(), "num evenly spaced numbers from start to stop, which is one of them if endpoint.",
      nb::sig("def linspace(start: neap.typing.ArrayLike, stop: neap.typing.ArrayLike, num: int = 50, endpoint: bool "
              "= True, retstep: bool = False, dtype: neap.typing.DTypeLike | None = None) -> Array"));
  b.function(
      "logspace",
      [](Arg a, Arg z, int64_t n, double base, DTypeArg d) {
        const Operand x = a, y = z;
        return logspace(x, y, n, base, spaced_dtype(x, y, d));
      },
      "start"_a, "stop"_a, "num"_a = 50, "base"_a = 10.0, "dtype"_a = nb::none(), "base to the powers of linspace().");
  b.function(
      "geomspace",
      [](Arg a, Arg z, int64_t n, DTypeArg d) {
        const Operand x = a, y = z;
        return geomspace(x, y, n, spaced_dtype(x, y, d));
      },
      "start"_a, "stop"_a, "num"_a = 50, "dtype"_a = nb::none(),
      "num numbers, each the same multiple of the one before.");
  b.function("eye", eye_of, "N"_a, "M"_a = nb::none(), "k"_a = 0, "dtype"_a = nb::none(), "device"_a = nb::none(),
             "Ones on diagonal k, else zeros.");
  b.function(
      "identity", [](int64_t n, DTypeArg d) { return eye(n, {}, d.value_or(f32), here()); }, "n"_a,
      "dtype"_a = nb::none(), "The identity matrix.");
  b.function(
      "tri",
      [](int64_t n, std::optional<int64_t> m, int64_t k, DTypeArg d) { return tri(n, m, k, d.value_or(f32), here()); },
      "N"_a, "M"_a = nb::none(), "k"_a = 0, "dtype"_a = nb::none(), "Ones up to diagonal k, zeros above.");
  b.function(
      "vander", [](Arg x, std::optional<int64_t> n, bool increasing) { return vander(x, n, increasing); }, "x"_a,
      "N"_a = nb::none(), "increasing"_a = false, "Powers of x as columns.");
  window(b, "bartlett", bartlett, "A window that rises from 0 to 1 and falls again along straight lines.");
  window(b, "blackman", blackman, "Blackman's window.");
  window(b, "hamming", hamming, "Hamming's window.");
  window(b, "hanning", hanning, "Hann's window.");
  triangle(b, "tril_indices", tril_indices, "The rows and columns of a matrix's elements up to diagonal k.");
  triangle(b, "triu_indices", triu_indices, "The rows and columns of a matrix's elements from diagonal k on.");
  b.function(
      "iota", [](ShapeArg s, int64_t axis, DTypeArg d) { return iota(s, axis, d.value_or(i32), here()); }, "shape"_a,
      "dimension"_a, "dtype"_a = nb::none(), "Each element is its index along an axis.");
  b.function(
      "indices", [](ShapeArg s, DTypeArg d) { return indices(s, d.value_or(i32), here()); }, "dimensions"_a,
      "dtype"_a = nb::none(), "Each element's index: [axes, dimensions...].");
  b.m.def(
      "meshgrid",
      [](nb::args axes, const std::string& indexing) -> nb::tuple {
        std::vector<Array> arrays;
        for (nb::handle axis : axes) arrays.push_back(array_from(axis, here()));
        if (indexing != "xy" && indexing != "ij")
          throw_user<OptionError>("meshgrid", "indexing \"" + indexing + "\"", "\"xy\" or \"ij\"", "", here());
        return nb::tuple(nb::cast(meshgrid(arrays, indexing == "ij", here())));
      },
      "xi"_a, nb::kw_only(), "indexing"_a = "xy", "One array for each axis, all of the grid's shape.");
  b.function(
      "spec", [](ShapeArg s, DTypeArg d) { return spec(s, d.value_or(f32), here()); }, "shape"_a,
      "dtype"_a = nb::none(), "An array of shape and dtype only, for jit(f).plan(...).");
  b.m.def("_is_operand", is_operand, "x"_a);
  b.m.def("_as_array", [](Arg x) { return x.array(); }, "x"_a);
  b.m.def("_operand_as", [](Arg x, DTypeArg d) { return Operand(x).as(d.value_or(f32)); }, "x"_a, "dtype"_a);
}

}  // namespace neap::python
