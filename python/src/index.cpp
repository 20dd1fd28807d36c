// x[...] and x.at[...]: Python's indices as Neap's.
#include "args.h"

namespace neap::python {
namespace {

using Entries = std::vector<IndexList::Entry>;

Entries nonzero_entries(const Array& mask, std::source_location loc) {
  if (!mask.is_concrete())
    throw_user<TracerError>("index", "a traced array of bool: how many are true is not known yet",
                            "an array of integers", "use where(mask, x, y), or nonzero(mask, size=n)", loc);
  const std::vector<uint8_t> bits = mask.to_vector<uint8_t>(loc);
  const Shape& shape = mask.shape();
  const Shape strides = row_major_strides(shape);
  std::vector<std::vector<int64_t>> found(shape.size());
  for (size_t i = 0; i < bits.size(); ++i) {
    if (!bits[i]) continue;
    for (size_t axis = 0; axis < shape.size(); ++axis)
      found[axis].push_back(static_cast<int64_t>(i) / strides[axis] % shape[axis]);
  }
  Entries entries;
  for (const std::vector<int64_t>& axis : found) entries.emplace_back(array(axis, {}, loc));
  return entries;
}

std::optional<int64_t> bound(PyObject* object) {
  if (object == Py_None) return std::nullopt;
  return int_from(nb::handle(object), "slice");
}

void check_mask(const Array& mask, const Array& x, size_t axis, std::source_location loc) {
  for (size_t i = 0; i < mask.shape().size(); ++i)
    if (axis + i >= x.shape().size() || (mask.shape()[i] != x.shape()[axis + i] && mask.shape()[i] != 0))
      throw_user<IndexError>("index",
                             "a mask of shape " + to_string(mask.shape()) + " of an array " + to_string(x.shape()),
                             "equal extents, or 0", "", loc);
}

void add_entry(Entries& entries, nb::handle one, const Array& x, std::source_location loc) {
  PyObject* p = one.ptr();
  if (p == Py_None) {
    entries.emplace_back(newaxis);
  } else if (p == Py_Ellipsis) {
    entries.emplace_back(ellipsis);
  } else if (PySlice_Check(p)) {
    const auto* s = reinterpret_cast<PySliceObject*>(p);
    entries.emplace_back(Slice{bound(s->start), bound(s->stop), bound(s->step).value_or(1)});
  } else if (PyLong_CheckExact(p) || (PyIndex_Check(p) && !PyBool_Check(p) && !nb::hasattr(one, "__len__"))) {
    entries.emplace_back(int_from(one, "index"));
  } else {
    const Array index = array_of(one, {}, loc);
    const bool no_elements = index.size() == 0 && (PyList_Check(p) || PyTuple_Check(p));
    if (index.dtype() == DType::bool_) {
      if (entries.empty()) check_mask(index, x, 0, loc);
      const Entries mask = index.ndim() == 0 ? Entries{} : nonzero_entries(index, loc);
      if (index.ndim() == 0)
        throw_user<IndexError>("index", "a bool scalar", "integers, slices, None, ... and arrays of integers or bool",
                               "", loc);
      entries.insert(entries.end(), mask.begin(), mask.end());
    } else {
      entries.emplace_back(no_elements ? index.astype(DType::i32, loc) : index);
    }
  }
}

// x[True] and x[False] of a scalar of bool alone: x along a new axis of extent 1 or 0.
std::optional<Array> by_bool(const Array& x, nb::handle key, std::source_location loc) {
  if (PyTuple_Check(key.ptr()) && PyTuple_GET_SIZE(key.ptr()) == 1) key = PyTuple_GET_ITEM(key.ptr(), 0);
  Array* mask = nullptr;
  if (!PyBool_Check(key.ptr()) &&
      !(nb::try_cast(key, mask, false) && mask && mask->dtype() == DType::bool_ && mask->ndim() == 0))
    return std::nullopt;
  if (mask && !mask->is_concrete())
    throw_user<TracerError>("index", "a traced bool: how many are true is not known yet", "an integer or a slice",
                            "use where(mask, x, y)", loc);
  const bool taken = mask ? mask->item<bool>(loc) : key.ptr() == Py_True;
  return slice_in_dim(Operand(expand_dims(Operand(x, loc), 0), loc), 0, taken ? 1 : 0, 0);
}

IndexList index_from(nb::handle key, const Array& x, std::source_location loc) {
  Entries entries;
  if (PyTuple_Check(key.ptr())) {
    for (nb::handle one : key) add_entry(entries, one, x, loc);
  } else {
    add_entry(entries, key, x, loc);
  }
  return IndexList(entries, loc);
}

GatherMode mode_from(const std::optional<std::string>& mode, GatherMode otherwise) {
  return mode ? gather_mode("index", *mode) : otherwise;
}

// x.at, and x.at[i].
struct At {
  Array array;
};
struct AtIndex {
  Array array;
  nb::object key;

  IndexUpdate update(const std::optional<std::string>& mode, std::source_location loc) const {
    return array.at(index_from(key, array, loc), mode_from(mode, GatherMode::fill));
  }
  // Returns the mask where the index is one of the array's own shape that is not known yet.
  std::optional<Array> traced_mask() const {
    Array* mask = nullptr;
    if (!nb::try_cast(key, mask, false) || mask->dtype() != DType::bool_ || mask->is_concrete()) return std::nullopt;
    return mask->shape() == array.shape() ? std::optional<Array>(*mask) : std::nullopt;
  }
};

using Update = Array (IndexUpdate::*)(const Operand&) const;
using Binary = Array (*)(const Operand&, const Operand&);

void update(nb::class_<AtIndex>& c, const char* name, Update f, Binary on_mask, const char* doc) {
  c.def(
      name,
      [f, on_mask](const AtIndex& at, Arg values, const std::optional<std::string>& mode) {
        const std::source_location loc = here();
        const Operand y = values;
        if (const std::optional<Array> mask = at.traced_mask()) {
          const Operand x(at.array, loc);
          const DType of = f == &IndexUpdate::divide ? to_float_dtype(x.dtype()) : x.dtype();
          return where(Operand(*mask, loc), on_mask(x, y), x).astype(of, loc);
        }
        const IndexUpdate u = at.update(mode, loc);
        return unlocked([&] { return (u.*f)(y); });
      },
      "values"_a, nb::kw_only(), "mode"_a = nb::none(), doc);
}

}  // namespace

void bind_index(Binder& b) {
  b.c.def(
      "__getitem__",
      [](const Array& x, nb::handle key) {
        const std::source_location loc = here();
        if (const std::optional<Array> taken = by_bool(x, key, loc)) return *taken;
        const IndexList index = index_from(key, x, loc);
        return x.size() > 4096 ? unlocked([&] { return x[index]; }) : x[index];
      },
      "key"_a.none(), nb::sig("def __getitem__(self, key: typing.Any) -> Array"));
  b.c.def(
      "__setitem__",
      [](const Array&, nb::handle, nb::handle) {
        type_error("assignment", "x[i] = y, and arrays do not change", "x = x.at[i].set(y)");
      },
      nb::sig("def __setitem__(self, key: typing.Any, value: typing.Any) -> typing.NoReturn"));
  nb::class_<At>(b.m, "_At")
      .def(
          "__getitem__", [](const At& at, nb::handle key) { return AtIndex{at.array, nb::borrow(key)}; },
          "key"_a.none(), nb::sig("def __getitem__(self, key: typing.Any) -> _AtIndex"));
  nb::class_<AtIndex> c(b.m, "_AtIndex", "x.at[i]: its methods give arrays with updates at an index.");
  update(
      c, "set", &IndexUpdate::set, [](const Operand&, const Operand& y) { return y.as_array(); },
      "x with values in the place of x[i].");
  update(
      c, "add", &IndexUpdate::add, [](const Operand& x, const Operand& y) { return x + y; },
      "x with values added to x[i].");
  update(
      c, "multiply", &IndexUpdate::mul, [](const Operand& x, const Operand& y) { return x * y; },
      "x with x[i] multiplied by values.");
  update(
      c, "mul", &IndexUpdate::mul, [](const Operand& x, const Operand& y) { return x * y; },
      "x with x[i] multiplied by values.");
  update(
      c, "min", &IndexUpdate::min, [](const Operand& x, const Operand& y) { return minimum(x, y); },
      "x with the smaller of x[i] and values there.");
  update(
      c, "max", &IndexUpdate::max, [](const Operand& x, const Operand& y) { return maximum(x, y); },
      "x with the larger of x[i] and values there.");
  update(
      c, "subtract", &IndexUpdate::subtract, [](const Operand& x, const Operand& y) { return x - y; },
      "x with values subtracted from x[i].");
  update(
      c, "divide", &IndexUpdate::divide, [](const Operand& x, const Operand& y) { return x / y; },
      "x with x[i] divided by values; integers give float32.");
  update(c, "power", &IndexUpdate::power, power, "x with x[i] to the power of values.");
  c.def(
      "get",
      [](const AtIndex& at, const std::optional<std::string>& mode) {
        const IndexUpdate u = at.update({}, here());
        const GatherMode how = mode_from(mode, GatherMode::clip);
        return unlocked([&] { return u.get(how); });
      },
      nb::kw_only(), "mode"_a = nb::none(), "x[i], indices out of range clipped, or as `mode` says.");
  c.def(
      "apply",
      [](const AtIndex& at, nb::callable f, const std::optional<std::string>& mode) {
        return at.update(mode, here()).apply([&](const Array& x) { return array_from(f(x), here()); });
      },
      "func"_a, nb::kw_only(), "mode"_a = nb::none(), "x with func(x[i]) in the place of x[i].");
  b.c.def_prop_ro("at", [](const Array& x) { return At{x}; }, "x.at[i].set(y) is x with y at x[i]; x stays as it is.");
}

}  // namespace neap::python
