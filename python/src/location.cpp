#include "location.h"

#include <array>
#include <bit>
#include <cstdint>
#include <map>
#include <set>
#include <type_traits>
#include <utility>

namespace neap::python {
namespace {

// libstdc++'s std::source_location is a pointer to such a struct, which the compiler makes; there is no other way to
// make one by hand. Elsewhere errors and plans do without lines of Python.
#if defined(__GLIBCXX__)
struct Line {
  const char* file;
  const char* function;
  unsigned line, column;
};
static_assert(sizeof(std::source_location) == sizeof(const Line*));
static_assert(std::is_trivially_copyable_v<std::source_location>);

std::source_location location_of(const Line& line) { return std::bit_cast<std::source_location>(&line); }

std::source_location make_location(const std::string& file, int line) {
  static auto& files = *new std::set<std::string>;
  static auto& lines = *new std::map<std::pair<const char*, int>, Line>;
  const char* kept = files.emplace(file).first->c_str();
  const auto [it, fresh] = lines.try_emplace({kept, line}, Line{kept, "", static_cast<unsigned>(line), 0});
  return location_of(it->second);
}
#else
std::source_location make_location(const std::string&, int) { return {}; }
#endif

std::string& package_folder() {
  static auto& folder = *new std::string;
  return folder;
}

// A function of Python from a file's name to what plans and errors call it, or None for the name; null without one.
PyObject* file_namer = nullptr;

std::string shown_name(PyCodeObject* code, const char* file) {
  if (!file_namer) return file;
  PyObject* said = PyObject_CallOneArg(file_namer, code->co_filename);
  const char* name = said && PyUnicode_Check(said) ? PyUnicode_AsUTF8(said) : nullptr;
  std::string shown = name ? name : file;
  Py_XDECREF(said);
  PyErr_Clear();  // a namer that fails names nothing
  return shown;
}

// What is known of an instruction of a code object. The cache holds the code, so that no other one takes its address.
struct Known {
  PyCodeObject* code = nullptr;
  int instruction = 0;
  bool ours = false;
  std::source_location loc;
};

void find(Known& known, PyFrameObject* frame) {
  const char* file = PyUnicode_AsUTF8(known.code->co_filename);
  if (!file) PyErr_Clear();
  const std::string& folder = package_folder();
  known.ours = file && !folder.empty() && std::string_view(file).starts_with(folder);
  known.loc = file && !known.ours ? make_location(shown_name(known.code, file), PyFrame_GetLineNumber(frame))
                                  : std::source_location{};
}

const Known& look_up(PyFrameObject* frame) {
  static auto& cache = *new std::array<Known, 1024>{};
  PyCodeObject* code = PyFrame_GetCode(frame);
  const int instruction = PyFrame_GetLasti(frame);
  const size_t hash = reinterpret_cast<uintptr_t>(code) / 16 * 31 + static_cast<size_t>(instruction) / 2;
  Known& known = cache[hash % cache.size()];
  if (known.code == code && known.instruction == instruction) {
    Py_DECREF(code);
    return known;
  }
  Py_XDECREF(reinterpret_cast<PyObject*>(std::exchange(known.code, code)));
  known.instruction = instruction;
  find(known, frame);
  return known;
}

}  // namespace

std::source_location here() {
  PyFrameObject* frame = PyEval_GetFrame();
  if (!frame) return {};
  if (const Known& known = look_up(frame); !known.ours) return known.loc;
  Py_INCREF(frame);
  while (frame) {
    PyFrameObject* back = PyFrame_GetBack(frame);
    Py_DECREF(frame);
    frame = back;
    if (!frame) break;
    if (const Known& known = look_up(frame); !known.ours) {
      const std::source_location loc = known.loc;
      Py_DECREF(frame);
      return loc;
    }
  }
  return {};
}

void set_package_folder(const std::string& folder) { package_folder() = folder; }

void set_file_namer(nanobind::object namer) {
  Py_XDECREF(std::exchange(file_namer, namer.is_none() ? nullptr : namer.release().ptr()));
}

}  // namespace neap::python
