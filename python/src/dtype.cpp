// neap.dtype: one object for each element type, which NumPy's dtypes become, and which becomes one of those.
#include <nanobind/nanobind.h>

#include <array>

#include "args.h"

namespace neap::python {
namespace {

constexpr std::array<const char*, kDTypeCount> kNames = {"bool",     "int8",    "int16",   "int32",     "int64",
                                                         "uint8",    "uint16",  "uint32",  "uint64",    "float16",
                                                         "bfloat16", "float32", "float64", "complex64", "complex128"};

std::array<PyObject*, kDTypeCount> objects;
PyObject* known;  // a dict: what has named a dtype so far

std::optional<DType> by_name(std::string_view name) {
  for (int i = 0; i < kDTypeCount; ++i)
    if (name == kNames[i]) return static_cast<DType>(i);
  if (name == "bool_") return DType::bool_;
  if (name == "cfloat") return DType::c64;
  return parse_dtype(name);
}

std::optional<DType> from_type(nb::handle object) {
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyBool_Type)) return DType::bool_;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyLong_Type)) return DType::i32;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyFloat_Type)) return DType::f32;
  if (object.ptr() == reinterpret_cast<PyObject*>(&PyComplex_Type)) return DType::c64;
  return by_name(nb::cast<std::string>(object.attr("__name__")));  // numpy.float32, ml_dtypes.bfloat16
}

std::optional<DType> find_dtype(nb::handle object) {
  if (nb::isinstance<nb::str>(object)) return by_name(nb::cast<std::string>(object));
  if (PyType_Check(object.ptr())) return from_type(object);
  if (nb::hasattr(object, "name") && nb::hasattr(object, "itemsize"))  // numpy.dtype("float32")
    return by_name(nb::cast<std::string>(nb::str(object.attr("name"))));
  return std::nullopt;
}

std::optional<DType> look_up(nb::handle object) {
  PyDType* made;
  if (nb::try_cast(object, made) && made) return made->value;
  if (PyObject* found = PyDict_GetItemWithError(known, object.ptr()))
    return nb::cast<PyDType&>(nb::handle(found)).value;
  PyErr_Clear();  // it has no hash
  const std::optional<DType> dtype = find_dtype(object);
  if (dtype && PyDict_SetItem(known, object.ptr(), objects[static_cast<int>(*dtype)]) != 0) PyErr_Clear();
  return dtype;
}

nb::object call_dtype(const PyDType& self, nb::handle x) { return nb::cast(array_of(x, self.value, here())); }

nb::object is_equal(const PyDType& self, nb::handle other) {
  if (other.is_none()) return nb::bool_(false);
  try {
    const std::optional<DType> dtype = look_up(other);
    return nb::bool_(dtype == self.value);
  } catch (const nb::python_error&) {
    return nb::bool_(false);
  }
}

}  // namespace

nb::object dtype_object(DType dtype) { return nb::borrow(objects[static_cast<int>(dtype)]); }

DType dtype_from(nb::handle object) {
  if (const std::optional<DType> dtype = look_up(object)) return *dtype;
  type_error("dtype", nb::cast<std::string>(nb::repr(object)) + " names no dtype",
             "neap.float32, \"float32\", numpy.float32, ...");
}

const char* numpy_name(DType dtype) { return kNames[static_cast<int>(dtype)]; }

nb::object numpy_dtype(DType dtype) {
  static auto& made = *new std::array<PyObject*, kDTypeCount>{};
  PyObject*& one = made[static_cast<int>(dtype)];
  if (!one) {
    nb::object name = nb::str(numpy_name(dtype));
    if (dtype == DType::bf16) {
      try {
        name = nb::module_::import_("ml_dtypes").attr("bfloat16");
      } catch (const nb::python_error&) {
        type_error("dtype", "NumPy has no bfloat16 of its own", "the package ml_dtypes, which has one");
      }
    }
    one = nb::module_::import_("numpy").attr("dtype")(name).release().ptr();
  }
  return nb::borrow(one);
}

void bind_dtype(nb::module_& m) {
  known = PyDict_New();
  auto c = nb::class_<PyDType>(m, "dtype", "An element type. It equals NumPy's dtypes and names of the same.");
  c.def_static(
       "__new__", [](nb::handle, nb::handle of) { return dtype_object(dtype_from(of)); },
       nb::sig("def __new__(cls, of: neap.typing.DTypeLike) -> dtype"))
      .def(
          "__init__", [](nb::handle, nb::handle) {}, nb::sig("def __init__(self, of: neap.typing.DTypeLike) -> None"))
      .def_prop_ro(
          "name", [](const PyDType& d) { return numpy_name(d.value); }, "NumPy's name, such as \"float32\".")
      .def_prop_ro(
          "itemsize", [](const PyDType& d) { return size_of(d.value); }, "Bytes of one element.")
      .def_prop_ro(
          "dtype", [](const PyDType& d) { return numpy_dtype(d.value); }, "The dtype of NumPy.",
          nb::sig("def dtype(self) -> typing.Any"))
      .def_prop_ro(
          "__numpy_dtype__", [](const PyDType& d) { return numpy_dtype(d.value); },
          nb::sig("def __numpy_dtype__(self) -> typing.Any"))
      .def_prop_ro(
          "kind",
          [](const PyDType& d) {
            return d.value == DType::bool_ ? "b"
                   : is_signed(d.value)    ? "i"
                   : is_unsigned(d.value)  ? "u"
                   : is_complex(d.value)   ? "c"
                                           : "f";
          },
          "\"b\", \"i\", \"u\", \"f\" or \"c\", as NumPy's.")
      .def("__call__", call_dtype, "x"_a, "Makes an array of this dtype.",
           nb::sig("def __call__(self, x: neap.typing.ArrayLike) -> Array"))
      .def("__eq__", is_equal, "other"_a.none(), nb::sig("def __eq__(self, other: object) -> bool"))
      .def("__hash__", [](const PyDType& d) { return static_cast<size_t>(d.value) + 0x6e656170; })
      .def("__str__", [](const PyDType& d) { return numpy_name(d.value); })
      .def("__repr__", [](const PyDType& d) { return std::string("neap.") + numpy_name(d.value); })
      .def("__reduce__", [](const PyDType& d) {
        return nb::make_tuple(nb::module_::import_("neap").attr("dtype"), nb::make_tuple(numpy_name(d.value)));
      });
  for (int i = 0; i < kDTypeCount; ++i) {
    const auto dtype = static_cast<DType>(i);
    nb::object made = nb::cast(PyDType{dtype});
    objects[i] = made.inc_ref().ptr();
    const std::string own(name(dtype));
    m.attr(dtype == DType::bool_ ? "bool_" : kNames[i]) = made;
    if (dtype != DType::bool_) m.attr(own.c_str()) = made;
  }
  m.def(
      "promote_types", [](nb::handle a, nb::handle b) { return dtype_object(promote(dtype_from(a), dtype_from(b))); },
      "a"_a, "b"_a, "The dtype in which an operation on arrays of both computes.",
      nb::sig("def promote_types(a: neap.typing.DTypeLike, b: neap.typing.DTypeLike) -> dtype"));
}

}  // namespace neap::python
