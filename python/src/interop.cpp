// Memory shared with NumPy, PyTorch, JAX and others, both ways and without copies: the buffer protocol and DLPack.
#include "interop.h"

#include <cstring>
#include <numeric>

#include "device.h"
#include "dlpack.h"

namespace neap::python {
namespace {

using dlpack::DataType;
using dlpack::Managed;
using dlpack::Tensor;
using dlpack::Versioned;

// --- DLPack, out

constexpr uint8_t kInt = 0, kUInt = 1, kFloat = 2, kBfloat = 4, kComplex = 5, kBool = 6;

DataType dlpack_dtype(DType dtype) {
  const auto bits = static_cast<uint8_t>(size_of(dtype) * 8);
  const uint8_t code = dtype == DType::bool_  ? kBool
                       : dtype == DType::bf16 ? kBfloat
                       : is_signed(dtype)     ? kInt
                       : is_unsigned(dtype)   ? kUInt
                       : is_complex(dtype)    ? kComplex
                                              : kFloat;
  return {code, bits, 1};
}

// What a tensor that was handed out needs until its deleter is called.
template <class M>
struct Lent {
  std::shared_ptr<const void> memory;
  Shape shape, strides;
  M managed;
};

template <class M>
M* lend(const Array& x, std::source_location loc) {
  auto* lent = new Lent<M>{detail::memory_of(x, loc), x.shape(), row_major_strides(x.shape()), {}};
  Tensor& t = lent->managed.tensor;
  t.data = const_cast<std::byte*>(x.raw(loc).data());
  t.device = {dlpack::kCpu, 0};
  t.ndim = static_cast<int32_t>(lent->shape.size());
  t.dtype = dlpack_dtype(x.dtype());
  t.shape = lent->shape.data();
  t.strides = lent->strides.data();
  t.byte_offset = 0;
  lent->managed.context = lent;
  lent->managed.deleter = [](M* m) { delete static_cast<Lent<M>*>(m->context); };
  return &lent->managed;
}

template <class M>
nb::object capsule(M* managed, const char* name) {
  PyObject* made = PyCapsule_New(managed, name, [](PyObject* capsule) {
    // Whoever took the tensor has renamed the capsule.
    for (const char* const name : {"dltensor", "dltensor_versioned"})
      if (PyCapsule_IsValid(capsule, name))
        if (auto* m = static_cast<M*>(PyCapsule_GetPointer(capsule, name)); m->deleter) m->deleter(m);
  });
  if (!made) nb::raise_python_error();
  return nb::steal(made);
}

nb::object to_dlpack(const Array& x, nb::handle stream, nb::handle max_version, nb::handle device, nb::handle copy) {
  const std::source_location loc = here();
  if (!stream.is_none()) throw nb::value_error("__dlpack__: arrays in the host's memory have no stream");
  if (!device.is_none() && nb::cast<std::pair<int, int>>(device).first != dlpack::kCpu)
    throw nb::buffer_error("__dlpack__: only the host's memory is lent");
  if (!x.is_concrete()) x.wait(loc);  // which says why not
  const bool fresh = !copy.is_none() && nb::cast<bool>(copy);
  const Array lent = fresh ? detail::from_host(x.raw(loc).data(), x.shape(), x.dtype(), loc) : x;
  const bool versioned = !max_version.is_none() && nb::cast<std::pair<int, int>>(max_version).first >= 1;
  if (!versioned) return capsule(lend<Managed>(lent, loc), "dltensor");
  Versioned* v = lend<Versioned>(lent, loc);
  v->version = {1, 0};
  v->flags = fresh ? dlpack::kCopied : dlpack::kReadOnly;
  return capsule(v, "dltensor_versioned");
}

// --- DLPack, in

std::optional<DType> dtype_of_dlpack(DataType type) {
  if (type.lanes != 1) return std::nullopt;
  for (int i = 0; i < kDTypeCount; ++i) {
    const DataType other = dlpack_dtype(static_cast<DType>(i));
    if (other.code == type.code && other.bits == type.bits) return static_cast<DType>(i);
  }
  return std::nullopt;
}

bool is_row_major(const Tensor& t) {
  if (!t.strides) return true;
  int64_t expected = 1;
  for (int i = t.ndim - 1; i >= 0; --i) {
    if (t.shape[i] == 0) return true;
    if (t.shape[i] != 1 && t.strides[i] != expected) return false;
    expected *= t.shape[i];
  }
  return true;
}

// Copies a tensor of any strides.
Array copied(const Tensor& t, const char* data, const Shape& shape, DType dtype, std::source_location loc) {
  const size_t width = size_of(dtype);
  std::vector<char> elements(static_cast<size_t>(element_count(shape)) * width);
  Shape at(shape.size(), 0);
  char* to = elements.data();
  for (size_t n = elements.size() / width; n > 0; --n, to += width) {
    int64_t from = 0;
    for (size_t i = 0; i < at.size(); ++i) from += at[i] * t.strides[i];
    std::memcpy(to, data + from * static_cast<int64_t>(width), width);
    for (size_t i = at.size(); i-- > 0;) {
      if (++at[i] < shape[i]) break;
      at[i] = 0;
    }
  }
  return detail::from_host(elements.data(), shape, dtype, loc);
}

// Takes a tensor: `release` is called once, when nobody needs its memory any more.
Array take(const Tensor& t, bool copy, std::function<void()> release, std::source_location loc) {
  const std::shared_ptr<void> let_go(nullptr, [&](void*) {
    if (release) release();
  });
  if (t.device.type != dlpack::kCpu && t.device.type != dlpack::kCudaHost)
    throw_user<UserError>("from_dlpack", "an array in the memory of another device", "one in the host's memory",
                          "copy it there first", loc);
  const std::optional<DType> dtype = dtype_of_dlpack(t.dtype);
  if (!dtype) throw_user<DTypeError>("from_dlpack", "elements of a type that Neap does not have", "", "", loc);
  const Shape shape(t.shape, t.shape + t.ndim);
  const char* data = static_cast<const char*>(t.data) + t.byte_offset;
  const size_t alignment = is_complex(*dtype) ? size_of(*dtype) / 2 : size_of(*dtype);
  if (!is_row_major(t)) return copied(t, data, shape, *dtype, loc);
  if (copy || element_count(shape) == 0 || reinterpret_cast<uintptr_t>(data) % alignment != 0)
    return detail::from_host(data, shape, *dtype, loc);
  return borrow(data, shape, *dtype, [release = std::exchange(release, nullptr)](const void*) { release(); }, loc);
}

// The deleters of other libraries may want the GIL: the capsule, renamed back, is dropped with it.
template <class M>
Array take_capsule(nb::object capsule, const char* name, const char* used, bool copy, std::source_location loc) {
  auto* managed = static_cast<M*>(PyCapsule_GetPointer(capsule.ptr(), name));
  if (!managed) nb::raise_python_error();
  if constexpr (std::is_same_v<M, Versioned>)
    if (managed->version.major != 1) throw nb::buffer_error("from_dlpack: DLPack of another major version than 1");
  PyCapsule_SetName(capsule.ptr(), used);
  PyObject* owner = PyCapsule_New(managed, nullptr, [](PyObject* self) {
    auto* m = static_cast<M*>(PyCapsule_GetPointer(self, nullptr));
    if (m->deleter) m->deleter(m);
  });
  if (!owner) nb::raise_python_error();
  return take(managed->tensor, copy, [owner] { drop(owner); }, loc);
}

nb::object ask(nb::handle x) {
  try {
    return x.attr("__dlpack__")("max_version"_a = nb::make_tuple(1, 0));
  } catch (nb::python_error& e) {
    if (!e.matches(PyExc_TypeError)) throw;
    return x.attr("__dlpack__")();  // of before version 1
  }
}

Array from_dlpack(nb::object x, nb::handle device, nb::handle copy) {
  const std::source_location loc = here();
  if (!device.is_none()) return placed(from_dlpack(x, nb::none(), copy), device);
  if (!nb::hasattr(x, "__dlpack__") && !PyCapsule_CheckExact(x.ptr()))
    type_error("from_dlpack", name_of_type(x), "an array of a library that knows DLPack");
  const nb::object given = PyCapsule_CheckExact(x.ptr()) ? x : ask(x);
  const bool fresh = !copy.is_none() && nb::cast<bool>(copy);
  if (PyCapsule_IsValid(given.ptr(), "dltensor_versioned"))
    return take_capsule<Versioned>(given, "dltensor_versioned", "used_dltensor_versioned", fresh, loc);
  return take_capsule<Managed>(given, "dltensor", "used_dltensor", fresh, loc);
}

// --- the buffer protocol

const char* buffer_format(DType dtype) {
  constexpr const char* kFormats[kDTypeCount] = {"?", "b", "h",     "i", "q", "B",  "H", "I",
                                                 "Q", "e", nullptr, "f", "d", "Zf", "Zd"};
  return kFormats[static_cast<int>(dtype)];
}

// What a view that was handed out needs until it is released.
struct Extents {
  std::shared_ptr<const void> memory;  // while it is in use the array is not donated
  std::vector<Py_ssize_t> shape, strides;
};

int get_buffer(PyObject* self, Py_buffer* view, int flags) {
  try {
    const Array& x = nb::cast<const Array&>(nb::handle(self));
    view->obj = nullptr;
    if (!x.is_concrete()) {
      PyErr_SetString(PyExc_BufferError, "the array has no elements: it is traced, a spec, or was donated");
      return -1;
    }
    const char* format = buffer_format(x.dtype());
    if ((flags & PyBUF_WRITABLE) == PyBUF_WRITABLE || !format) {
      PyErr_SetString(PyExc_BufferError, format ? "arrays do not change" : "the buffer protocol has no bfloat16");
      return -1;
    }
    auto extents = std::make_unique<Extents>();
    extents->memory = detail::memory_of(x, here());
    extents->shape.assign(x.shape().begin(), x.shape().end());
    for (const int64_t stride : row_major_strides(x.shape()))
      extents->strides.push_back(stride * static_cast<Py_ssize_t>(size_of(x.dtype())));
    view->buf = const_cast<std::byte*>(x.raw().data());
    view->obj = nb::handle(self).inc_ref().ptr();
    view->len = static_cast<Py_ssize_t>(x.bytes());
    view->itemsize = static_cast<Py_ssize_t>(size_of(x.dtype()));
    view->readonly = 1;
    view->ndim = static_cast<int>(x.ndim());
    view->format = (flags & PyBUF_FORMAT) ? const_cast<char*>(format) : nullptr;
    view->shape = (flags & PyBUF_ND) ? extents->shape.data() : nullptr;
    view->strides = (flags & PyBUF_STRIDES) == PyBUF_STRIDES ? extents->strides.data() : nullptr;
    view->suboffsets = nullptr;
    view->internal = extents.release();
    return 0;
  } catch (const std::exception& e) {
    PyErr_SetString(PyExc_BufferError, e.what());
    return -1;
  }
}

void release_buffer(PyObject*, Py_buffer* view) { delete static_cast<Extents*>(view->internal); }

// --- NumPy

// The elements as bytes, for what the buffer protocol has no name of.
struct Bytes {
  Array array;
  std::shared_ptr<const void> memory;
};
int get_bytes(PyObject* self, Py_buffer* view, int flags) {
  const Array& x = nb::cast<const Bytes&>(nb::handle(self)).array;
  return PyBuffer_FillInfo(view, self, const_cast<std::byte*>(x.raw().data()), static_cast<Py_ssize_t>(x.bytes()), 1,
                           flags);
}
PyType_Slot kByteSlots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_bytes)}, {0, nullptr}};

nb::object as_numpy(const Array& x) {
  x.wait(here());
  nb::module_ numpy = nb::module_::import_("numpy");
  if (x.dtype() != DType::bf16)
    return numpy.attr("asarray")(nb::module_::import_("builtins").attr("memoryview")(nb::cast(x)));
  nb::object flat = x.size() == 0 ? numpy.attr("empty")(0, numpy_dtype(x.dtype()))
                                  : numpy.attr("frombuffer")(nb::cast(Bytes{x, detail::memory_of(x, here())}),
                                                             numpy_dtype(x.dtype()));
  return flat.attr("reshape")(nb::cast(x).attr("shape"));
}

nb::object to_numpy(const Array& x, nb::handle dtype, nb::handle copy) {
  nb::object array = as_numpy(x);
  if (!dtype.is_none()) {
    nb::object converted = array.attr("astype")(dtype, "copy"_a = false);
    if (!copy.is_none() && !nb::cast<bool>(copy) && !converted.is(array))
      throw nb::value_error("__array__: a conversion without a copy");
    array = converted;
  }
  if (!copy.is_none() && nb::cast<bool>(copy)) return array.attr("copy")();
  return array;
}

nb::object to_list(const Array& x) {
  const Array plain = x.dtype() == DType::bf16 ? x.astype(DType::f32, here()) : x;
  return as_numpy(plain).attr("tolist")();
}

nb::object unpickle(nb::handle array, nb::handle dtype) {
  const DType wanted = dtype_from(dtype);
  const Array x = array_from_numpy(array, here());
  return nb::cast(wanted == DType::bf16 ? bitcast(x, wanted) : x);
}

nb::object pickle(const Array& x) {
  const bool half = x.dtype() == DType::bf16;
  return nb::make_tuple(
      nb::module_::import_("neap._pickle").attr("unpickle"),
      nb::make_tuple(as_numpy(half ? bitcast(x, DType::u16) : x).attr("copy")(), numpy_name(x.dtype())));
}

// What the array API standard has of an array beside NumPy's.
void bind_standard(Binder& b) {
  b.c.def_prop_ro(
      "device", [](const Array& x) { return device_of(x, here()); },
      "The device in whose memory the elements lie; a traced array has none (TracerError).",
      nb::sig("def device(self) -> Device"));
  b.c.def(
      "to_device",
      [](const Array& x, nb::handle device, nb::handle stream) {
        if (!stream.is_none()) throw nb::value_error("to_device: there are no streams");
        return placed(x, device);
      },
      "device"_a, nb::kw_only(), "stream"_a = nb::none(), "The array in the memory of a device.",
      nb::sig("def to_device(self, device: str | Device, /, *, stream: None = None) -> Array"));
  b.c.def(
      "__array_namespace__",
      [](const Array&, std::optional<std::string> version) {
        nb::object neap = nb::module_::import_("neap");
        const std::string newest = nb::cast<std::string>(neap.attr("__array_api_version__"));
        if (version && (*version < "2021.12" || *version > newest))
          throw nb::value_error(("__array_namespace__: the standard of " + *version + "; this is " + newest).c_str());
        return neap;
      },
      nb::kw_only(), "api_version"_a = nb::none(), "The module neap, a namespace of the array API standard.",
      nb::sig("def __array_namespace__(self, *, api_version: str | None = None) -> typing.Any"));
}

}  // namespace

PyType_Slot* array_slots() {
  static PyType_Slot slots[] = {{Py_bf_getbuffer, reinterpret_cast<void*>(get_buffer)},
                                {Py_bf_releasebuffer, reinterpret_cast<void*>(release_buffer)},
                                {0, nullptr}};
  return slots;
}

void bind_interop(Binder& b) {
  bind_standard(b);
  nb::class_<Bytes>(b.m, "_Bytes", nb::type_slots(kByteSlots));
  b.c.def("__dlpack__", to_dlpack, nb::kw_only(), "stream"_a = nb::none(), "max_version"_a = nb::none(),
          "dl_device"_a = nb::none(), "copy"_a = nb::none(), "Lends the memory; whoever takes it must not write to it.",
          nb::sig("def __dlpack__(self, *, stream: typing.Any = None, max_version: tuple[int, int] | None = None, "
                  "dl_device: "
                  "tuple[int, int] | None = None, copy: bool | None = None) -> typing.Any"))
      .def(
          "__dlpack_device__", [](const Array&) { return nb::make_tuple(dlpack::kCpu, 0); },
          nb::sig("def __dlpack_device__(self) -> tuple[int, int]"))
      .def("__array__", to_numpy, "dtype"_a = nb::none(), "copy"_a = nb::none(),
           "A NumPy array, without a copy if it can.",
           nb::sig("def __array__(self, dtype: typing.Any = None, copy: bool | None = None) -> typing.Any"))
      .def("tolist", to_list, "The elements as nested lists.", nb::sig("def tolist(self) -> typing.Any"))
      .def(
          "tobytes",
          [](const Array& x) {
            const auto raw = x.raw(here());
            return nb::bytes(reinterpret_cast<const char*>(raw.data()), raw.size());
          },
          "The elements as bytes, row-major.")
      .def("__reduce__", pickle, nb::sig("def __reduce__(self) -> typing.Any"));
  b.m.def("_unpickle", unpickle, "array"_a, "dtype"_a);
  b.m.def("from_dlpack", from_dlpack, "x"_a, nb::kw_only(), "device"_a = nb::none(), "copy"_a = nb::none(),
          "An array over the memory of one of another library, which must not change while this one lives.",
          nb::sig("def from_dlpack(x: typing.Any, *, device: typing.Any = None, copy: bool | None = None) -> Array"));
}

}  // namespace neap::python
