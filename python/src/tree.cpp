// Trees taken apart and put together: what python/neap/_tree.py says, for the containers that calls are mostly made of.
// Structures are nested tuples, (class, data, children) of a node, which Python compares and hashes.
#include "args.h"

namespace neap::python {
namespace {

// Of _tree.py: the structures of a leaf and of None; children(x, class) -> (children, data) or None, make(class, data,
// values) and keys(dict) for everything else.
struct Tree {
  PyObject *leaf, *none, *children, *make, *keys, *array;
};
Tree tree;

struct Deeper {
  Deeper() {
    if (Py_EnterRecursiveCall(" in a tree")) nb::raise_python_error();
  }
  ~Deeper() { Py_LeaveRecursiveCall(); }
  Deeper(const Deeper&) = delete;
  Deeper& operator=(const Deeper&) = delete;
};

nb::object node(PyTypeObject* type, nb::handle data, nb::handle children) {
  PyObject* made = PyTuple_Pack(3, reinterpret_cast<PyObject*>(type), data.ptr(), children.ptr());
  if (!made) nb::raise_python_error();
  return nb::steal(made);
}

void append(PyObject* leaves, PyObject* x) {
  if (PyList_Append(leaves, x) != 0) nb::raise_python_error();
}

// A dict with keys of str: they are sorted as they are; others by Python, which says what is wrong with them.
nb::object sorted_keys(PyObject* dict) {
  nb::object keys = nb::steal(PyDict_Keys(dict));
  if (!keys.is_valid()) nb::raise_python_error();
  if (PyList_Sort(keys.ptr()) == 0) return nb::steal(PyList_AsTuple(keys.ptr()));
  PyErr_Clear();
  const nb::object other = nb::handle(tree.keys)(nb::handle(dict));
  return nb::steal(PySequence_Tuple(other.ptr()));
}

nb::object flatten(PyObject* x, PyObject* leaves, PyObject* is_leaf) {
  PyTypeObject* type = Py_TYPE(x);
  const bool is_array = reinterpret_cast<PyObject*>(type) == tree.array;
  if (is_array || (is_leaf != Py_None && nb::cast<bool>(nb::bool_(nb::handle(is_leaf)(nb::handle(x)))))) {
    append(leaves, x);
    return nb::borrow(tree.leaf);
  }
  if (x == Py_None) return nb::borrow(tree.none);
  const Deeper deeper;
  const auto flatten_all = [&](Py_ssize_t n, const auto& child) {
    nb::object children = nb::steal(PyTuple_New(n));
    if (!children.is_valid()) nb::raise_python_error();
    for (Py_ssize_t i = 0; i < n; ++i)
      PyTuple_SET_ITEM(children.ptr(), i, flatten(child(i), leaves, is_leaf).release().ptr());
    return children;
  };
  if (type == &PyTuple_Type)
    return node(type, nb::none(),
                flatten_all(PyTuple_GET_SIZE(x), [x](Py_ssize_t i) { return PyTuple_GET_ITEM(x, i); }));
  if (type == &PyList_Type)
    return node(type, nb::none(), flatten_all(PyList_GET_SIZE(x), [x](Py_ssize_t i) { return PyList_GET_ITEM(x, i); }));
  if (type == &PyDict_Type) {
    const nb::object keys = sorted_keys(x);
    return node(type, keys, flatten_all(PyTuple_GET_SIZE(keys.ptr()), [&](Py_ssize_t i) {
                  return PyDict_GetItemWithError(x, PyTuple_GET_ITEM(keys.ptr(), i));
                }));
  }
  if (type != &PyFloat_Type && type != &PyLong_Type && type != &PyBool_Type) {
    const nb::object parts = nb::handle(tree.children)(nb::handle(x), nb::handle(reinterpret_cast<PyObject*>(type)));
    if (!parts.is_none()) {
      PyObject* pair = nb::cast<nb::tuple>(parts).ptr();  // (children, data)
      const nb::object children = nb::steal(PySequence_Tuple(PyTuple_GET_ITEM(pair, 0)));
      if (!children.is_valid()) nb::raise_python_error();
      return node(type, PyTuple_GET_ITEM(pair, 1), flatten_all(PyTuple_GET_SIZE(children.ptr()), [&](Py_ssize_t i) {
                    return PyTuple_GET_ITEM(children.ptr(), i);
                  }));
    }
  }
  append(leaves, x);
  return nb::borrow(tree.leaf);
}

nb::object unflatten(PyObject* spec, PyObject* leaves, Py_ssize_t& next) {
  if (spec == tree.leaf) return nb::borrow(PyList_GET_ITEM(leaves, next++));
  if (spec == tree.none) return nb::none();
  const Deeper deeper;
  PyObject *type = PyTuple_GET_ITEM(spec, 0), *data = PyTuple_GET_ITEM(spec, 1), *children = PyTuple_GET_ITEM(spec, 2);
  const Py_ssize_t n = PyTuple_GET_SIZE(children);
  const bool is_tuple = type == reinterpret_cast<PyObject*>(&PyTuple_Type);
  nb::object made = nb::steal(is_tuple ? PyTuple_New(n) : PyList_New(n));
  if (!made.is_valid()) nb::raise_python_error();
  for (Py_ssize_t i = 0; i < n; ++i) {
    PyObject* child = unflatten(PyTuple_GET_ITEM(children, i), leaves, next).release().ptr();
    is_tuple ? PyTuple_SET_ITEM(made.ptr(), i, child) : PyList_SET_ITEM(made.ptr(), i, child);
  }
  if (is_tuple || type == reinterpret_cast<PyObject*>(&PyList_Type)) return made;
  if (type != reinterpret_cast<PyObject*>(&PyDict_Type))
    return nb::handle(tree.make)(nb::handle(type), nb::handle(data), made);
  nb::object dict = nb::steal(PyDict_New());
  for (Py_ssize_t i = 0; i < n; ++i)
    if (PyDict_SetItem(dict.ptr(), PyTuple_GET_ITEM(data, i), PyList_GET_ITEM(made.ptr(), i)) != 0)
      nb::raise_python_error();
  return dict;
}

}  // namespace

void bind_tree(nb::module_& m) {
  m.def("_set_tree",
        [](nb::handle leaf, nb::handle none, nb::handle children, nb::handle make, nb::handle keys, nb::handle array) {
          tree = {leaf.inc_ref().ptr(), none.inc_ref().ptr(), children.inc_ref().ptr(),
                  make.inc_ref().ptr(), keys.inc_ref().ptr(), array.inc_ref().ptr()};
        });
  m.def(
      "_flatten",
      [](nb::handle x, nb::handle leaves, nb::handle is_leaf) {
        if (!PyList_Check(leaves.ptr())) throw nb::type_error("_flatten: leaves are a list");
        return flatten(x.ptr(), leaves.ptr(), is_leaf.ptr());
      },
      "tree"_a.none(), "leaves"_a, "is_leaf"_a.none());
  m.def("_unflatten", [](nb::handle spec, nb::list leaves) {
    Py_ssize_t next = 0;
    return unflatten(spec.ptr(), leaves.ptr(), next);
  });
}

}  // namespace neap::python
