// What functions take: arrays and what becomes one, shapes, axes, dtypes. Conversions happen in the body of a function,
// where they can say what is wrong, with the line of Python.
#pragma once

#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <neap/neap.h>

#include <functional>
#include <optional>
#include <utility>

#include "errors.h"
#include "location.h"

namespace nb = nanobind;
using namespace nb::literals;

namespace neap::python {

/// PyDType is neap.dtype: one object for each dtype lives as long as the module.
struct PyDType {
  DType value;
};
nb::object dtype_object(DType dtype);
/// Returns the dtype that an object names: a dtype of neap or NumPy, "float32", "f32", float, numpy.float32.
DType dtype_from(nb::handle object);
/// Returns the NumPy dtype (ml_dtypes' for bf16).
nb::object numpy_dtype(DType dtype);
/// Returns "float32": NumPy's name.
const char* numpy_name(DType dtype);

/// Returns whether an object can stand beside an array in an operation.
bool is_operand(nb::handle object);
/// Returns it as an operand: arrays of Neap and NumPy keep their dtype, numbers of Python are weak. Throws TypeError.
Operand operand_from(nb::handle object, std::source_location loc);
/// Returns it as an array; numbers of Python have default dtypes.
Array array_from(nb::handle object, std::source_location loc);
/// Does the same for nested lists, too; dtype: that of the result.
Array array_of(nb::handle object, std::optional<DType> dtype, std::source_location loc);
/// Copies a NumPy array.
Array array_from_numpy(nb::handle array, std::source_location loc);
/// Returns whether it is a NumPy array, or a NumPy scalar. (NumPy is not imported for that.)
bool is_numpy(nb::handle object);
/// Returns the arrays of a list, a tuple, or the rows of an array.
std::vector<Array> arrays_from(nb::handle object, std::source_location loc);
/// Returns an int; anything else, or an array, is a TypeError.
int64_t int_from(nb::handle object, const char* what);
/// Returns the extents of an int, or a sequence of them.
Shape shape_from(nb::handle object, const char* what);

/// Arg is an argument that is an array, or becomes one.
struct Arg {
  nb::handle object;
  operator Operand() const { return operand_from(object, here()); }  // NOLINT: it stands for one
  Array array() const { return array_from(object, here()); }
};
/// ArraysArg is a sequence of such arguments.
struct ArraysArg {
  nb::handle object;
  operator std::vector<Array>() const { return arrays_from(object, here()); }  // NOLINT
};
/// DTypeArg is an argument that names a dtype, or None.
struct DTypeArg {
  std::optional<nb::handle> object;
  operator std::optional<DType>() const {  // NOLINT
    return object ? std::optional<DType>(dtype_from(*object)) : std::nullopt;
  }
  DType value_or(DType other) const { return object ? dtype_from(*object) : other; }
};
/// ShapeArg is an int or a sequence of ints.
struct ShapeArg {
  nb::handle object;
  operator Shape() const { return shape_from(object, "shape"); }  // NOLINT
};
/// AxesArg is None, an axis, or a tuple of them.
struct AxesArg {
  std::optional<nb::handle> object;
  operator Axes() const { return object ? Axes(shape_from(*object, "axis")) : Axes(); }  // NOLINT
  std::optional<Shape> shape() const {
    return object ? std::optional<Shape>(shape_from(*object, "axis")) : std::nullopt;
  }
};

/// Returns the mode that "full", "same" or "valid" names.
ConvolveMode convolve_mode(const char* op, const std::string& mode);
/// Returns the mode that "clip", "fill", "drop" or "promise_in_bounds" names.
GatherMode gather_mode(const char* op, const std::string& mode);
/// Returns the size that the program gives, else what count() reads of the elements of x; of a tracer a TracerError,
/// which names the argument.
int64_t known_size(std::optional<int64_t> size, const char* op, const char* argument, const Operand& x,
                   const std::function<int64_t()>& count);
/// Counts the distinct elements of an array that has elements.
int64_t count_distinct(const Operand& x);

/// Evaluates f without the GIL: other threads of Python run meanwhile.
template <class F>
auto unlocked(F&& f) {
  const nb::gil_scoped_release release;
  return f();
}

/// Evaluates a function of such arguments, without the GIL where they are so large that it takes a while.
inline bool is_large(const Operand& x) { return !x.is_scalar() && x.array().size() > 4096; }
template <class F>
Array elementwise(F&& f, const Operand& x) {
  return is_large(x) ? unlocked([&] { return f(x); }) : f(x);
}
template <class F>
Array elementwise(F&& f, const Operand& x, const Operand& y) {
  return is_large(x) || is_large(y) ? unlocked([&] { return f(x, y); }) : f(x, y);
}

/// Binder is where functions go: into the module, and methods into Array.
struct Binder {
  nb::module_ m;
  nb::class_<Array> c;

  template <class F, class... Extra>
  void function(const char* name, F f, const Extra&... extra) {
    m.def(name, f, extra...);
  }
  /// Makes a function whose first argument is called `self`, and a method of it.
  template <class F, class... Extra>
  void both(const char* name, const char* self, F f, const Extra&... extra) {
    m.def(name, f, nb::arg(self), extra...);
    c.def(name, f, extra...);
  }
  /// Gives a function of the module another name.
  void alias(const char* name, const char* of) { m.attr(name) = m.attr(of); }
};

void bind_array(Binder& b);
void bind_operators(Binder& b);
void bind_index(Binder& b);
void bind_interop(Binder& b);
void bind_dtype(nb::module_& m);
void bind_elementwise(Binder& b);
void bind_shape(Binder& b);
void bind_reduce(Binder& b);
void bind_search(Binder& b);
void bind_products(Binder& b);
void bind_creation(Binder& b);
void bind_places(Binder& b);
void bind_nn(nb::module_ m);
void bind_special(nb::module_ m);
void bind_image(nb::module_ m);
void bind_signal(nb::module_ m);
void bind_lax(nb::module_ m);
void bind_ops(nb::module_ m);
void bind_random(nb::module_ m);
void bind_linalg(nb::module_ m);
void bind_fft(nb::module_ m);
void bind_tree(nb::module_& m);
void bind_jit(nb::module_& m);
void bind_plan(nb::module_& m);
void bind_transforms(nb::module_& m);
void bind_control(nb::module_& m);
void bind_solvers(nb::module_& m);
void bind_callback(nb::module_& m);
void bind_debug(nb::module_& m);
void bind_device(nb::module_& m);

}  // namespace neap::python

namespace nanobind::detail {

#define NEAP_HANDLE_CASTER(Type, name)                                 \
  template <>                                                          \
  struct type_caster<Type> {                                           \
    NB_TYPE_CASTER(Type, const_name(name))                             \
    bool from_python(handle source, uint8_t, cleanup_list*) noexcept { \
      value.object = source;                                           \
      return true;                                                     \
    }                                                                  \
  };
#define NEAP_OPTIONAL_CASTER(Type, name)                                              \
  template <>                                                                         \
  struct type_caster<Type> {                                                          \
    NB_TYPE_CASTER(Type, const_name(name))                                            \
    bool from_python(handle source, uint8_t, cleanup_list*) noexcept {                \
      value.object = source.is_none() ? std::nullopt : std::optional<handle>(source); \
      return true;                                                                    \
    }                                                                                 \
  };
NEAP_HANDLE_CASTER(neap::python::Arg, "neap.typing.ArrayLike")
NEAP_HANDLE_CASTER(neap::python::ArraysArg, "collections.abc.Sequence[neap.typing.ArrayLike] | Array")
NEAP_HANDLE_CASTER(neap::python::ShapeArg, "int | collections.abc.Sequence[int]")
NEAP_OPTIONAL_CASTER(neap::python::DTypeArg, "neap.typing.DTypeLike")
NEAP_OPTIONAL_CASTER(neap::python::AxesArg, "int | collections.abc.Sequence[int]")
#undef NEAP_HANDLE_CASTER
#undef NEAP_OPTIONAL_CASTER

}  // namespace nanobind::detail
