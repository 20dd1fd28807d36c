// Array: what it is, what it says, and its elements as Python's numbers.
#include "args.h"

namespace neap::python {
namespace {

nb::tuple shape_tuple(const Array& x) {
  const Shape& shape = x.shape();
  nb::object made = nb::steal(PyTuple_New(static_cast<Py_ssize_t>(shape.size())));
  for (size_t i = 0; i < shape.size(); ++i)
    PyTuple_SET_ITEM(made.ptr(), static_cast<Py_ssize_t>(i), PyLong_FromLongLong(shape[i]));
  return nb::borrow<nb::tuple>(made);
}

std::string described(const Array& x) {
  std::string text = numpy_name(x.dtype());
  text += '[';
  for (size_t i = 0; i < x.shape().size(); ++i) text += (i ? "," : "") + std::to_string(x.shape()[i]);
  return text + ']';
}

// Returns the elements as NumPy would write them, or what kind of array it is.
std::string elements_of(const Array& x) {
  const std::string text = to_string(x);
  const size_t space = text.find_first_of(" \n");
  return space == std::string::npos ? "" : text.substr(space + 1);
}

// NumPy's layout with commas, as Python reads it: one behind everything that is followed by space.
std::string repr(const Array& x) {
  if (!x.is_concrete()) return "Array(" + described(x) + ", " + elements_of(x) + ")";
  std::string text = "Array(";
  for (const char c : elements_of(x)) {
    const bool between = (c == ' ' || c == '\n') && text.back() != ' ' && text.back() != '[' && text.back() != '\n';
    if (between && text.back() != ',') text += ',';
    text += c;
    if (c == '\n') text += "      ";
  }
  return text + ", dtype=" + numpy_name(x.dtype()) + ")";
}

nb::object item(const Array& x) {
  const std::source_location loc = here();
  const DType dtype = x.dtype();
  if (dtype == DType::bool_) return nb::bool_(x.item<bool>(loc));
  if (is_float(dtype)) return nb::float_(x.item<double>(loc));
  if (is_complex(dtype)) {
    const auto z = x.item<std::complex<double>>(loc);
    return nb::steal(PyComplex_FromDoubles(z.real(), z.imag()));
  }
  return is_unsigned(dtype) ? nb::object(nb::int_(x.item<uint64_t>(loc))) : nb::object(nb::int_(x.item<int64_t>(loc)));
}

// A number has no axes; one of [1] is taken too, as NumPy did for long.
double real_item(const Array& x) {
  if (is_complex(x.dtype()))
    throw_user<DTypeError>("float", "a complex array", "a real one", "take x.real, x.imag or abs(x) first", here());
  return x.item<double>(here());
}

nb::object index_item(const Array& x) {
  if (!is_integer(x.dtype()) || x.ndim() != 0)
    throw_user<DTypeError>("index", described(x), "an integer scalar", "", here());
  return item(x);
}

bool bool_item(const Array& x) {
  if (x.is_concrete() && x.size() != 1)
    throw_user<ShapeError>("bool", "the array is " + described(x), "one element", "any(x) and all(x) are of more",
                           here());
  return is_complex(x.dtype()) ? x.item<std::complex<double>>(here()) != 0.0 : x.item<double>(here()) != 0;
}

int64_t length(const Array& x) {
  if (x.ndim() == 0) type_error("len", "a scalar", "an array with an axis");
  return x.shape()[0];
}

// Iterates over x[0], x[1], ...
struct Rows {
  Array array;
  int64_t at = 0;
};

}  // namespace

void bind_array(Binder& b) {
  nb::class_<Rows>(b.m, "_Rows")
      .def(
          "__iter__", [](nb::handle self) { return nb::borrow(self); }, nb::sig("def __iter__(self) -> _Rows"))
      .def("__next__", [](Rows& r) {
        if (r.at >= r.array.shape()[0]) throw nb::stop_iteration();
        return r.array[IndexList(r.at++, here())];
      });
  b.c.def_prop_ro("shape", shape_tuple, "The extents.", nb::sig("def shape(self) -> tuple[int, ...]"))
      .def_prop_ro(
          "dtype", [](const Array& x) { return dtype_object(x.dtype()); }, "The element type.",
          nb::sig("def dtype(self) -> dtype"))
      .def_prop_ro(
          "ndim", [](const Array& x) { return x.ndim(); }, "The number of axes.")
      .def_prop_ro(
          "size", [](const Array& x) { return x.size(); }, "The number of elements.")
      .def_prop_ro(
          "nbytes", [](const Array& x) { return x.bytes(); }, "The bytes of all elements.")
      .def_prop_ro(
          "itemsize", [](const Array& x) { return size_of(x.dtype()); }, "The bytes of one element.")
      .def_prop_ro(
          "is_concrete", [](const Array& x) { return x.is_concrete(); },
          "Whether it holds elements: neither traced, nor a spec, nor donated away.")
      .def("item", item, "The one element, as a number of Python.",
           nb::sig("def item(self) -> bool | int | float | complex"))
      .def(
          "block_until_ready",
          [](nb::handle self) {
            nb::cast<const Array&>(self).wait(here());
            return nb::borrow(self);
          },
          "Returns the array when its elements are there.", nb::sig("def block_until_ready(self) -> Array"))
      .def("__repr__", repr)
      .def("__str__", [](const Array& x) { return x.is_concrete() ? elements_of(x) : repr(x); })
      .def(
          "__format__",
          [](const Array& x, const std::string& format) {
            if (format.empty()) return nb::object(nb::str(nb::cast(x)));
            return nb::object(item(x).attr("__format__")(format));
          },
          "format"_a, nb::sig("def __format__(self, format: str) -> str"))
      .def("__float__", real_item)
      .def(
          "__int__", [](const Array& x) { return nb::int_(is_float(x.dtype()) ? nb::float_(real_item(x)) : item(x)); },
          nb::sig("def __int__(self) -> int"))
      .def(
          "__complex__",
          [](const Array& x) {
            const auto z = x.item<std::complex<double>>(here());
            return nb::steal(PyComplex_FromDoubles(z.real(), z.imag()));
          },
          nb::sig("def __complex__(self) -> complex"))
      .def("__index__", index_item, nb::sig("def __index__(self) -> int"))
      .def("__bool__", bool_item)
      .def("__len__", length)
      .def("__iter__",
           [](const Array& x) {
             if (x.ndim() == 0) type_error("iter", "a scalar", "an array with an axis");
             return Rows{x};
           })
      .def("__copy__", [](const Array& x) { return x; })
      .def(
          "__deepcopy__", [](const Array& x, nb::handle) { return x; }, "memo"_a,
          nb::sig("def __deepcopy__(self, memo: object) -> Array"));
  b.c.attr("__hash__") = nb::none();
  b.c.attr("__array_priority__") = 100;
  b.c.attr("__array_ufunc__") = nb::none();
}

}  // namespace neap::python
