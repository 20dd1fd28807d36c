#include "errors.h"

#include <nanobind/stl/string.h>
#include <neap/callback.h>
#include <neap/debug.h>
#include <neap/error.h>

#include <mutex>
#include <new>
#include <vector>

#include "location.h"

namespace neap::python {
namespace {

struct Classes {
  PyObject *user, *shape, *dtype, *index, *tracer, *option, *budget, *floating, *check, *runtime, *memory, *device,
      *internal;
};
Classes classes;

PyObject* make_class(nb::module_& m, const char* name, std::initializer_list<PyObject*> bases, const char* doc) {
  nb::list list;
  for (PyObject* base : bases) list.append(nb::handle(base));
  const std::string full = std::string("neap.") + name;
  PyObject* made = PyErr_NewExceptionWithDoc(full.c_str(), doc, nb::tuple(list).ptr(), nullptr);
  if (!made) nb::raise_python_error();
  m.attr(name) = nb::handle(made);
  return made;
}

void raise_budget(const BudgetError& e) {
  nb::object made = nb::handle(classes.budget)(e.what());
  made.attr("smallest_peak_bytes") = e.smallest_peak_bytes();
  PyErr_SetObject(classes.budget, made.ptr());
}

void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (const BudgetError& e) {
    raise_budget(e);
  } catch (const ShapeError& e) {
    PyErr_SetString(classes.shape, e.what());
  } catch (const DTypeError& e) {
    PyErr_SetString(classes.dtype, e.what());
  } catch (const IndexError& e) {
    PyErr_SetString(classes.index, e.what());
  } catch (const TracerError& e) {
    PyErr_SetString(classes.tracer, e.what());
  } catch (const OptionError& e) {
    PyErr_SetString(classes.option, e.what());
  } catch (const FloatingPointError& e) {
    PyErr_SetString(classes.floating, e.what());
  } catch (const CheckError& e) {
    PyErr_SetString(classes.check, e.what());
  } catch (const UserError& e) {
    PyErr_SetString(classes.user, e.what());
  } catch (const OutOfMemoryError& e) {
    PyErr_SetString(classes.memory, e.what());
  } catch (const DeviceError& e) {
    PyErr_SetString(classes.device, e.what());
  } catch (const RuntimeError& e) {
    PyErr_SetString(classes.runtime, e.what());
  } catch (const InternalError& e) {
    PyErr_SetString(classes.internal, e.what());
  } catch (const std::bad_alloc&) {
    PyErr_SetString(classes.memory, "out of memory");
  }
}

// Objects that were let go of without the GIL.
struct Dropped {
  std::mutex mutex;
  std::vector<PyObject*> objects;
  bool pending = false;
};
Dropped& dropped() {
  static auto& d = *new Dropped;
  return d;
}

int drop_all(void*) {
  std::vector<PyObject*> objects;
  {
    const std::scoped_lock lock(dropped().mutex);
    objects.swap(dropped().objects);
    dropped().pending = false;
  }
  for (PyObject* object : objects) Py_DECREF(object);
  return 0;
}

}  // namespace

void bind_errors(nb::module_& m) {
  classes.user = make_class(m, "UserError", {PyExc_Exception}, "The program asks for something that has no meaning.");
  classes.shape =
      make_class(m, "ShapeError", {classes.user, PyExc_ValueError}, "Shapes do not fit the operation, or each other.");
  classes.dtype =
      make_class(m, "DTypeError", {classes.user, PyExc_TypeError}, "An operation does not take this element type.");
  classes.index = make_class(m, "IndexError", {classes.user, PyExc_IndexError},
                             "An axis, position or number of indices is outside what the operand has.");
  classes.tracer = make_class(m, "TracerError", {classes.user, PyExc_TypeError},
                              "A traced value was used where a concrete one is needed, or outside its trace.");
  classes.option = make_class(m, "OptionError", {classes.user, PyExc_ValueError},
                              "An option has no meaning, or a strategy cannot be had.");
  classes.budget = make_class(m, "BudgetError", {classes.user},
                              "No plan fits the memory budget; smallest_peak_bytes is the smallest that one does.");
  nb::handle(classes.budget).attr("smallest_peak_bytes") = 0;
  classes.floating = make_class(m, "FloatingPointError", {classes.user, PyExc_FloatingPointError},
                                "A result holds a NaN or an infinity where debug_nans or debug_infs asks for none.");
  classes.check = make_class(m, "CheckError", {classes.user}, "What check() looks at is false.");
  classes.runtime = make_class(m, "RuntimeError", {PyExc_RuntimeError}, "The machine cannot do it now.");
  classes.memory = make_class(m, "OutOfMemoryError", {classes.runtime, PyExc_MemoryError},
                              "Memory, or the limit set on it, does not suffice.");
  classes.device = make_class(m, "DeviceError", {classes.runtime}, "A device is absent, lost, or failed a command.");
  classes.internal = make_class(m, "InternalError", {PyExc_RuntimeError}, "A defect of Neap, never the user's.");
  m.def("_message", [](const std::string& op, const std::string& got, const std::string& expected) {
    return user_message(op, got, expected, "", here());
  });
  nb::register_exception_translator(translate, nullptr);
}

std::string name_of_type(nb::handle object) {
  const std::string name = nb::cast<std::string>(object.type().attr("__name__"));
  const bool vowel = std::string_view("aeiouAEIOU").find(name[0]) != std::string_view::npos;
  return (vowel ? "an " : "a ") + name;
}

void type_error(const char* op, const std::string& got, const std::string& expected) {
  throw nb::type_error(user_message(op, got, expected, "", here()).c_str());
}

void drop(PyObject* object) noexcept {
  if (!Py_IsInitialized()) return;  // the interpreter has ended, and its objects with it
  if (PyGILState_Check()) {
    Py_DECREF(object);
    return;
  }
  const std::scoped_lock lock(dropped().mutex);
  dropped().objects.push_back(object);
  if (!dropped().pending) dropped().pending = Py_AddPendingCall(drop_all, nullptr) == 0;
}

Held hold(nb::handle object) { return Held(object.inc_ref().ptr(), drop); }

}  // namespace neap::python
