// Tracing: how functions on Arrays become graphs.
//
// One mechanism serves every transform. A Builder on a thread-local stack collects nodes; while one is active every
// operation is staged into the innermost one (so nothing runs while a function is traced). A transform traces the
// user's function into a graph of its own, turns graph into graph, and replays the result with inline_graph: into the
// builder outside, or, when there is none, operation by operation. Arrays from outside (concrete, or traced by an outer
// builder) that the function touches become captured inputs.
#pragma once

#include <neap/array.h>

#include <functional>
#include <span>
#include <string>
#include <vector>

#include "core/buffer.h"
#include "trace/graph/graph.h"

namespace neap::detail {

/// ArrayImpl is what an Array points to.
struct ArrayImpl {
  enum class Kind : uint8_t { concrete, traced, spec, donated };
  Aval aval;
  Kind kind = Kind::concrete;
  BufferPtr data;               // concrete
  uint64_t trace_id = 0;        // traced: the builder
  tracing::ValueId value = -1;  // traced: its value
  std::source_location source;  // traced: where it was made; donated: where the function that took it was compiled
};

Array make_concrete(Aval aval, BufferPtr data);
Array make_spec(Aval aval);

}  // namespace neap::detail

namespace neap::tracing {

using Arrays = std::vector<Array>;
using ArrayFunction = std::function<Arrays(const Arrays&)>;

/// TracedFunction is a function as a closed graph: its inputs are the parameters, then `captured`.
struct TracedFunction {
  Graph graph;
  Arrays captured;  // concrete, or traced by an outer builder
};

/// Traces f on parameters of the given avals. Exceptions of f pass through; the builder is removed.
TracedFunction trace(std::span<const Aval> parameters, const ArrayFunction& f, const std::string& name = "");

/// Does the same for graph rules: it returns the closed graph of f, and throws InternalError when f captures anything.
Graph trace_closed(std::span<const Aval> parameters, const ArrayFunction& f, const std::string& name = "");

/// Returns true while a function is being traced on this thread.
bool is_tracing();

/// Throws UserError, naming `op`, where calls are nested so deep that the stack is nearly used up: a user's function
/// that calls itself without end would otherwise overflow it. Functions that call users' functions check it first.
void check_stack(std::string_view op, std::source_location loc);

/// Applies an op of one output to operands of exactly fitting shapes and dtypes: it is staged into the innermost
/// builder, or run at once. Ops with several outputs go through apply_many.
Array apply(Op op, const Arrays& inputs, Attrs attrs, std::source_location loc);
Arrays apply_many(Op op, const Arrays& inputs, Attrs attrs, std::source_location loc);

/// While one lives, nodes and errors bear the line it was made with (the outermost wins): library functions made of
/// others set it, so that reports name the user's line and not theirs.
class AtLine {
 public:
  explicit AtLine(std::source_location loc);
  ~AtLine();
  AtLine(const AtLine&) = delete;
  AtLine& operator=(const AtLine&) = delete;

 private:
  bool outermost_;
};
/// Returns the line of the outermost AtLine, or `otherwise`.
std::source_location user_line(std::source_location otherwise);

/// While one lives, nodes are marked as the given one is: as part of a checkpoint() (the outermost wins), as a copy.
class MarkedLike {
 public:
  explicit MarkedLike(const Node& node) : MarkedLike(node.attrs) {}
  explicit MarkedLike(const Attrs& attrs);
  ~MarkedLike();
  MarkedLike(const MarkedLike&) = delete;
  MarkedLike& operator=(const MarkedLike&) = delete;

 private:
  Attrs outer_;
};
/// Returns a number for Attr::region that no node of the innermost trace has.
int64_t new_region();

/// Replays a graph on inputs (parameters, then captured): its nodes are staged or run at once.
Arrays inline_graph(const Graph& graph, const Arrays& inputs);

/// Returns a graph's results: staged under a trace, else run at once as one executable.
Arrays stage_or_run(const Graph& graph, const Arrays& inputs);

/// Applies a function made of several ops that should run as one when it is called outside a trace (random::normal,
/// softmax): it is staged op by op under a trace, else traced and run as one executable, cached under the key (a name
/// and everything but the inputs' avals that the trace depends on).
Array composite(const std::string& key, const Arrays& inputs, const std::function<Array(const Arrays&)>& f);

/// Returns f(inputs): staged under a trace, else traced and run as one executable. f may capture arrays.
Arrays as_one(const Arrays& inputs, const ArrayFunction& f);

/// Returns the buffer of a concrete array. Throws TracerError / UserError with what to do for any other.
const BufferPtr& concrete_buffer(const Array& array, std::string_view what, std::source_location loc);

/// Returns when an operation may use the array: not a spec, not donated away, not of a trace that has ended. Else it
/// throws TracerError / UserError, naming `op`.
void check_usable(const Array& array, std::string_view op, std::source_location loc);
/// Throws DTypeError when the C++ scalar is an integer that `dtype`, an integer one, does not hold.
void check_fits(const Operand& scalar, DType dtype);

/// Returns the aval of an array of any kind. Throws UserError for an empty handle.
const Aval& aval_of(const Array& array, std::source_location loc);
std::vector<Aval> avals_of(const Arrays& arrays, std::source_location loc);

}  // namespace neap::tracing
