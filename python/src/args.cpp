#include "args.h"

namespace neap::python {
namespace {

// NumPy's classes, where a program has imported it: else there is nothing of it to be recognised.
struct NumPy {
  PyObject *array = nullptr, *scalar = nullptr;
};
const NumPy& numpy() {
  static NumPy types;
  if (!types.array) {
    PyObject* modules = PyImport_GetModuleDict();
    if (PyObject* module = PyDict_GetItemString(modules, "numpy");
        module && nb::hasattr(nb::handle(module), "generic")) {
      types.scalar = nb::object(nb::handle(module).attr("generic")).release().ptr();
      types.array = nb::object(nb::handle(module).attr("ndarray")).release().ptr();
    }
  }
  return types;
}

bool is_of(nb::handle object, PyObject* type) { return type && PyObject_TypeCheck(object.ptr(), (PyTypeObject*)type); }

std::optional<Operand> scalar_from(nb::handle object, std::source_location loc) {
  PyObject* p = object.ptr();
  if (PyFloat_Check(p)) return Operand(PyFloat_AS_DOUBLE(p), loc);
  if (PyBool_Check(p)) return Operand(p == Py_True, loc);
  if (PyLong_Check(p)) {
    int overflow = 0;
    const long long value = PyLong_AsLongLongAndOverflow(p, &overflow);
    if (overflow == 0) return Operand(value, loc);
    const unsigned long long wide = overflow > 0 ? PyLong_AsUnsignedLongLong(p) : 0;
    if (overflow < 0 || PyErr_Occurred()) {
      PyErr_Clear();
      throw_user<DTypeError>("scalar", "a number of more than 64 bits", "", "", loc);
    }
    return Operand(wide, loc);
  }
  if (PyComplex_Check(p)) {
    const Py_complex z = PyComplex_AsCComplex(p);
    return Operand(std::complex<double>(z.real, z.imag), loc);
  }
  return std::nullopt;
}

const Array* as_array(nb::handle object) {
  Array* array = nullptr;
  return nb::try_cast(object, array, false) ? array : nullptr;
}

// The numbers of nested lists, row-major.
struct Flat {
  Shape shape;
  WeakKind kind = WeakKind::bool_;
  bool arrays = false, numpy = false, empty = true;
  std::vector<PyObject*> numbers;

  void add(nb::handle object, size_t depth, std::source_location loc) {
    PyObject* p = object.ptr();
    if (PyList_Check(p) || PyTuple_Check(p)) {
      const auto extent = static_cast<int64_t>(PySequence_Fast_GET_SIZE(p));
      if (shape.size() == depth && numbers.empty()) shape.push_back(extent);
      if (shape.size() <= depth || shape[depth] != extent)
        throw_user<ShapeError>("array", "nested lists of different lengths", "rows of equal length", "", loc);
      for (int64_t i = 0; i < extent; ++i) add(nb::handle(PySequence_Fast_GET_ITEM(p, i)), depth + 1, loc);
      return;
    }
    if (depth != shape.size() && !arrays && !numpy)
      throw_user<ShapeError>("array", "lists and numbers side by side", "rows of equal length", "", loc);
    empty = false;
    if (as_array(object))
      arrays = true;
    else if (PyFloat_Check(p))
      kind = std::max(kind, WeakKind::floating);
    else if (PyBool_Check(p))
      kind = std::max(kind, WeakKind::bool_);
    else if (PyLong_Check(p))
      kind = std::max(kind, WeakKind::integer);
    else if (PyComplex_Check(p))
      kind = std::max(kind, WeakKind::complex);
    else if (is_numpy(object))
      numpy = true;
    else
      type_error("array", "a list with " + name_of_type(object), "numbers and arrays");
    numbers.push_back(p);
  }
};

template <class T, class F>
Array collect(const Flat& flat, DType dtype, std::source_location loc, const F& convert) {
  std::vector<T> values;
  values.reserve(flat.numbers.size());
  for (PyObject* p : flat.numbers) values.push_back(convert(p));
  return detail::from_host(values.data(), flat.shape, dtype, loc);
}

std::complex<double> complex_of(PyObject* p) {
  const Py_complex z = PyComplex_AsCComplex(p);
  return {z.real, z.imag};
}

Array from_numbers(const Flat& flat, std::optional<DType> dtype, std::source_location loc) {
  const WeakKind kind = flat.empty ? WeakKind::floating : flat.kind;
  const DType wanted = dtype.value_or(default_dtype(kind));
  if (kind == WeakKind::complex) {
    if (!is_complex(wanted)) throw_user<DTypeError>("array", "complex numbers", "a complex dtype", "", loc);
    if (wanted == DType::c64)
      return collect<std::complex<float>>(flat, wanted, loc,
                                          [](PyObject* p) { return std::complex<float>(complex_of(p)); });
    return collect<std::complex<double>>(flat, wanted, loc, complex_of);
  }
  if (kind == WeakKind::floating || is_inexact(wanted)) {
    if (wanted == DType::f32)
      return collect<float>(flat, wanted, loc, [](PyObject* p) { return static_cast<float>(PyFloat_AsDouble(p)); });
    return collect<double>(flat, DType::f64, loc, PyFloat_AsDouble).astype(wanted, loc);
  }
  if (wanted == DType::bool_) return collect<uint8_t>(flat, wanted, loc, PyObject_IsTrue);
  const auto whole = [&](PyObject* p) { return operand_from(nb::handle(p), loc).integer(); };
  if (wanted == DType::u64) return collect<int64_t>(flat, wanted, loc, whole);
  const int bits = static_cast<int>(size_of(wanted)) * 8 - (is_signed(wanted) ? 1 : 0);
  const auto checked = [&](PyObject* p) {
    const int64_t value = whole(p);
    const bool fits =
        bits >= 63 || (value < (int64_t{1} << bits) && value >= (is_signed(wanted) ? -(int64_t{1} << bits) : 0));
    if (!fits)
      throw_user<DTypeError>("array", std::to_string(value) + " is not a number of " + std::string(name(wanted)), "",
                             "give a wider dtype: array(x, dtype=neap.int64)", loc);
    return value;
  };
  if (wanted == DType::i32)
    return collect<int32_t>(flat, wanted, loc, [&](PyObject* p) { return static_cast<int32_t>(checked(p)); });
  return collect<int64_t>(flat, DType::i64, loc, checked).astype(wanted, loc);
}

}  // namespace

bool is_numpy(nb::handle object) {
  const NumPy& types = numpy();
  return is_of(object, types.array) || is_of(object, types.scalar);
}

bool is_operand(nb::handle object) {
  PyObject* p = object.ptr();
  return as_array(object) || PyFloat_Check(p) || PyLong_Check(p) || PyComplex_Check(p) || is_numpy(object);
}

Operand operand_from(nb::handle object, std::source_location loc) {
  if (const Array* array = as_array(object)) return {*array, loc};
  if (std::optional<Operand> scalar = scalar_from(object, loc)) return *scalar;
  return {array_from(object, loc), loc};
}

Array array_from(nb::handle object, std::source_location loc) {
  if (const Array* array = as_array(object)) return *array;
  if (const std::optional<Operand> scalar = scalar_from(object, loc)) return scalar->as_array();
  if (is_numpy(object)) return array_from_numpy(object, loc);
  if (nb::hasattr(object, "__neap_array__")) return array_from(object.attr("__neap_array__")(), loc);
  type_error("argument", name_of_type(object),
             "an array or a number (lists: neap.array, other libraries: neap.from_dlpack)");
}

Array array_of(nb::handle object, std::optional<DType> dtype, std::source_location loc) {
  PyObject* p = object.ptr();
  if (PyList_Check(p) || PyTuple_Check(p)) {
    Flat flat;
    flat.add(object, 0, loc);
    if (flat.arrays) {
      std::vector<Array> rows;
      for (nb::handle row : object) rows.push_back(array_of(row, dtype, loc));
      return stack(rows, 0, loc);
    }
    if (flat.numpy) return array_of(nb::module_::import_("numpy").attr("asarray")(object), dtype, loc);
    return from_numbers(flat, dtype, loc);
  }
  if (dtype)
    if (const std::optional<Operand> scalar = scalar_from(object, loc)) return full({}, *scalar, dtype, loc);
  if (!is_operand(object)) {
    if (nb::hasattr(object, "__dlpack__"))
      return array_of(nb::module_::import_("neap").attr("from_dlpack")(object), dtype, loc);
    if (nb::hasattr(object, "__array__"))
      return array_of(nb::module_::import_("numpy").attr("asarray")(object), dtype, loc);
    if (PyObject_CheckBuffer(p) || PyRange_Check(p))
      return array_of(nb::module_::import_("numpy").attr("asarray")(object), dtype, loc);
  }
  const Array array = array_from(object, loc);
  return dtype ? array.astype(*dtype, loc) : array;
}

Array array_from_numpy(nb::handle array, std::source_location loc) {
  nb::object plain =
      is_of(array, numpy().scalar) ? nb::module_::import_("numpy").attr("asarray")(array) : nb::borrow(array);
  nb::object named = plain.attr("dtype");
  if (!nb::cast<bool>(named.attr("isnative"))) {
    named = named.attr("newbyteorder")("=");
    plain = plain.attr("astype")(named);
  }
  const DType dtype = dtype_from(named);
  const Shape shape = shape_from(plain.attr("shape"), "shape");
  if (!nb::cast<bool>(plain.attr("flags").attr("c_contiguous"))) plain = plain.attr("copy")("order"_a = "C");
  if (dtype == DType::bf16) plain = plain.attr("view")("uint16");
  Py_buffer view;
  if (PyObject_GetBuffer(plain.ptr(), &view, PyBUF_SIMPLE) != 0) nb::raise_python_error();
  const std::shared_ptr<void> release(nullptr, [&](void*) { PyBuffer_Release(&view); });
  return detail::from_host(view.buf, shape, dtype, loc);
}

std::vector<Array> arrays_from(nb::handle object, std::source_location loc) {
  std::vector<Array> arrays;
  if (const Array* array = as_array(object)) {
    for (auto row = array->begin(loc); row != array->end(loc); ++row) arrays.push_back(*row);
    return arrays;
  }
  if (!PySequence_Check(object.ptr())) type_error("argument", name_of_type(object), "a sequence of arrays");
  for (nb::handle one : object) arrays.push_back(array_from(one, loc));
  return arrays;
}

int64_t int_from(nb::handle object, const char* what) {
  if (const Array* array = as_array(object)) {
    if (is_integer(array->dtype()) && array->size() == 1) return array->item<int64_t>(here());
  } else if (PyIndex_Check(object.ptr())) {
    const Py_ssize_t value = PyNumber_AsSsize_t(object.ptr(), PyExc_OverflowError);
    if (value == -1 && PyErr_Occurred()) nb::raise_python_error();
    return value;
  }
  type_error(what, name_of_type(object), "an int");
}

Shape shape_from(nb::handle object, const char* what) {
  if (PyIndex_Check(object.ptr()) && !nb::hasattr(object, "__len__")) return {int_from(object, what)};
  if (as_array(object)) return {int_from(object, what)};
  if (!PySequence_Check(object.ptr())) type_error(what, name_of_type(object), "an int or a sequence of ints");
  Shape shape;
  for (nb::handle extent : object) shape.push_back(int_from(extent, what));
  return shape;
}

ConvolveMode convolve_mode(const char* op, const std::string& mode) {
  if (mode == "full") return ConvolveMode::full;
  if (mode == "same") return ConvolveMode::same;
  if (mode == "valid") return ConvolveMode::valid;
  throw_user<OptionError>(op, "mode \"" + mode + "\"", "\"full\", \"same\" or \"valid\"", "", here());
}

GatherMode gather_mode(const char* op, const std::string& mode) {
  if (mode == "clip") return GatherMode::clip;
  if (mode == "fill" || mode == "drop") return GatherMode::fill;
  if (mode == "promise_in_bounds") return GatherMode::promise_in_bounds;
  throw_user<OptionError>(op, "mode \"" + mode + "\"", "\"clip\", \"fill\", \"drop\" or \"promise_in_bounds\"", "",
                          here());
}

int64_t known_size(std::optional<int64_t> size, const char* op, const char* argument, const Operand& x,
                   const std::function<int64_t()>& count) {
  if (size) return *size;
  if (!x.is_scalar() && !x.array().is_concrete())
    throw_user<TracerError>(op, "a traced array: the size of the result is not known yet", argument, "", x.loc());
  return count();
}

}  // namespace neap::python
