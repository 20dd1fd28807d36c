// x[...] and x.at[...]: Python's indices as Neap's.
#include <algorithm>
#include <array>
#include <utility>

#include "args.h"

namespace neap::python {
namespace {

using Entries = std::vector<IndexList::Entry>;
constexpr size_t kMostEntries = 24;

// IndexList is made of lists that are written out; this writes them out, of every length.
template <size_t... I>
IndexList list_of(const Entries& entries, std::source_location loc, std::index_sequence<I...>) {
  return IndexList({entries[I]...}, loc);
}
template <size_t... N>
IndexList index_list(const Entries& entries, std::source_location loc, std::index_sequence<N...>) {
  using Make = IndexList (*)(const Entries&, std::source_location);
  static constexpr std::array<Make, sizeof...(N)> make{
      [](const Entries& e, std::source_location l) { return list_of(e, l, std::make_index_sequence<N>()); }...};
  return make[entries.size()](entries, loc);
}

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
    if (axis + i >= x.shape().size() || mask.shape()[i] != x.shape()[axis + i])
      throw_user<IndexError>("index",
                             "a mask of shape " + to_string(mask.shape()) + " of an array " + to_string(x.shape()),
                             "equal extents", "", loc);
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

IndexList index_from(nb::handle key, const Array& x, std::source_location loc) {
  Entries entries;
  if (PyTuple_Check(key.ptr())) {
    for (nb::handle one : key) add_entry(entries, one, x, loc);
  } else {
    add_entry(entries, key, x, loc);
  }
  if (entries.size() >= kMostEntries) throw_user<IndexError>("index", "too many indices", "fewer than 24", "", loc);
  return index_list(entries, loc, std::make_index_sequence<kMostEntries>());
}

GatherMode mode_from(const std::optional<std::string>& mode, GatherMode otherwise) {
  if (!mode) return otherwise;
  if (*mode == "clip") return GatherMode::clip;
  if (*mode == "fill" || *mode == "drop") return GatherMode::fill;
  if (*mode == "promise_in_bounds") return GatherMode::promise_in_bounds;
  throw_user<OptionError>("index", "mode \"" + *mode + "\"", "\"clip\", \"fill\", \"drop\" or \"promise_in_bounds\"",
                          "", here());
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

// Returns y, a number or an array of one element, in the dtype of x: JAX's rule for updates.
using Update = Array (IndexUpdate::*)(const Operand&) const;
using Binary = Array (*)(const Operand&, const Operand&);

void update(nb::class_<AtIndex>& c, const char* name, Update f, Binary on_mask, const char* doc) {
  c.def(
      name,
      [f, on_mask](const AtIndex& at, Arg values, const std::optional<std::string>& mode) {
        const std::source_location loc = here();
        const Operand y = values;
        if (const std::optional<Array> mask = at.traced_mask())
          return where(Operand(*mask, loc), on_mask(Operand(at.array, loc), y), Operand(at.array, loc))
              .astype(at.array.dtype());
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
  c.def(
      "subtract", [](const AtIndex& at, Arg values) { return at.update({}, here()).add(-Operand(values)); }, "values"_a,
      "x with values subtracted from x[i].");
  c.def(
      "divide", [](const AtIndex& at, Arg values) { return at.update({}, here()).mul(1 / Operand(values)); },
      "values"_a, "x with x[i] divided by values.");
  c.def("get", [](const AtIndex& at) { return at.array[index_from(at.key, at.array, here())]; }, "x[i].");
  c.def(
      "apply",
      [](const AtIndex& at, nb::callable f) {
        const std::source_location loc = here();
        const Array row = at.array[index_from(at.key, at.array, loc)];
        return at.update({}, loc).set(Operand(array_from(f(row), loc), loc));
      },
      "f"_a, "x with f(x[i]) in the place of x[i].");
  b.c.def_prop_ro("at", [](const Array& x) { return At{x}; }, "x.at[i].set(y) is x with y at x[i]; x stays as it is.");
}

}  // namespace neap::python
