// What a backend makes of a plan for programs without Neap: an object file with one function of C.
#pragma once

#include <neap/shape.h>

#include <cstdint>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "planner/plan/plan.h"

namespace neap::backends {

struct ObjectRequest {
  std::string function;              // its name
  std::vector<BufferPtr> constants;  // the captured arrays, for the file; where there are none, they are parameters
  std::string triple, cpu;           // as SaveOptions says (include/neap/aot.h)
};

/// Describes one parameter of the function, a pointer.
struct Parameter {
  enum class Kind : uint8_t { argument, captured, result };
  Kind kind = Kind::argument;
  int number = 0;  // of the argument, of the captured array, or of the result
  Aval aval;
  bool written = false;  // an argument that the plan donates: its memory is the function's
  bool copied = false;  // a result that is an argument, a captured array or another result: these bytes are not planned
};

/// Describes what the function returns in memory that is not a parameter of its own: a result that lies in a donated
/// argument.
struct InArgument {
  int result = 0, argument = 0;
};

struct Object {
  std::string code;                   // the object file
  std::vector<Parameter> parameters;  // in their order; the arena, `std::byte*`, is one more, the last
  std::vector<InArgument> in_arguments;
  size_t arena_bytes = 0;      // aligned to 64
  std::string triple, cpu;     // what it is for
  bool needs_runtime = false;  // it calls libneap-runtime.a
  bool needs_cxx = false;      // of which it calls what needs the library of C++
};

/// Returns the results of a plan whose bytes are an argument's, a captured array's or another result's: those that lie
/// in no donated argument are copied to where the caller wants them.
std::vector<int> copied_results(const planner::PlanData& plan);
/// Returns the donated argument that a result lies in; -1 where it lies elsewhere.
int argument_of(const planner::PlanData& plan, int result);

}  // namespace neap::backends
