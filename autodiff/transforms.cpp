// Transforms of functions on leaves: trace, transform the graph, then stage it into the trace outside or run it.
#include <neap/creation.h>
#include <neap/ops.h>
#include <neap/transforms.h>

#include <algorithm>

#include <fmt/format.h>

#include "autodiff/joined.h"
#include "autodiff/jvp.h"
#include "autodiff/reverse.h"
#include "autodiff/scan.h"
#include "trace/graph/effects.h"
#include "trace/vmap/vmap.h"

namespace neap::detail {

using namespace autodiff;
using tracing::Arrays;
using tracing::avals_of;
using tracing::TracedFunction;
using Loc = std::source_location;

namespace {

// Marks the inputs of a traced function: the floating leaves are active; captured arrays are constants.
std::vector<bool> floating_inputs(const TracedFunction& traced, size_t leaves) {
  std::vector<bool> active(traced.graph.inputs.size(), false);
  for (size_t i = 0; i < leaves; ++i) active[i] = is_inexact(traced.graph.aval(traced.graph.inputs[i]).dtype);
  return active;
}

// Returns the avals of leaves that a transform may take.
std::vector<Aval> usable(std::string_view op, const Arrays& leaves, Loc loc) {
  for (const Array& leaf : leaves) tracing::check_usable(leaf, op, loc);
  return avals_of(leaves, loc);
}

// These have the line for errors that know no other. What is staged keeps the lines of its operations.
TracedFunction traced_at(Loc loc, const std::vector<Aval>& avals, const LeafFunction& f) {
  const tracing::AtLine line(loc);
  return tracing::trace(avals, f);
}
Arrays stage_or_run_at(Loc loc, const Graph& graph, const Arrays& inputs) {
  std::optional<tracing::AtLine> line;
  if (!tracing::is_tracing()) line.emplace(loc);
  return tracing::stage_or_run(graph, inputs);
}

void check_like(std::string_view op, std::string_view what, size_t i, const Aval& got, const Aval& expected, Loc loc) {
  if (got == expected) return;
  const std::string found = fmt::format("{} {} is {}", what, i, to_string(got));
  if (got.dtype != expected.dtype && got.shape == expected.shape)
    throw_user<DTypeError>(op, found, to_string(expected), "", loc);
  throw_user<ShapeError>(op, found, to_string(expected), "", loc);
}

// Wanted says which dtypes a derivative is taken of, or in.
struct Wanted {
  bool (*takes)(DType);
  std::string_view what;
};
constexpr Wanted kReal{is_float, "a floating dtype"}, kInexact{is_inexact, "a floating dtype"},
    kComplex{is_complex, "a complex dtype, as holomorphic says"};

// Returns the leaves of an argument that is differentiated in. Throws unless there is one, and all are of the wanted
// dtypes.
std::vector<size_t> differentiated(std::string_view op, const std::vector<Aval>& avals,
                                   const std::vector<int>& argument_of, int argument, const Wanted& wanted, Loc loc) {
  std::vector<size_t> inputs;
  for (size_t i = 0; i < avals.size(); ++i) {
    if (argument_of[i] != argument) continue;
    if (!wanted.takes(avals[i].dtype))
      throw_user<DTypeError>(
          op,
          fmt::format("argument {} {} {}", argument, std::ranges::count(argument_of, argument) > 1 ? "holds" : "is",
                      to_string(avals[i])),
          std::string(wanted.what),
          is_complex(avals[i].dtype)
              ? fmt::format("{}(f, holomorphic) is for complex functions, jacrev for complex arguments", op)
              : fmt::format("convert it, or choose another argument, as in {}<1>(f)", op),
          loc);
    inputs.push_back(i);
  }
  if (inputs.empty())
    throw_user<UserError>(op, fmt::format("argument {} holds no array", argument), "",
                          "make it an array, for example array(1.0f)", loc);
  return inputs;
}

}  // namespace

Arrays grad_of(const LeafFunction& f, const Arrays& leaves, const std::vector<int>& argument_of,
               const std::vector<int>& wrt, bool with_value, bool holomorphic, Loc loc) {
  const std::string_view op = with_value ? "value_and_grad" : "grad";
  const std::vector<Aval> avals = usable(op, leaves, loc);
  std::vector<size_t> inputs;
  for (const int argument : wrt)
    for (const size_t i : differentiated(op, avals, argument_of, argument, holomorphic ? kComplex : kInexact, loc))
      inputs.push_back(i);
  const TracedFunction traced = traced_at(loc, avals, f);
  return stage_or_run_at(loc, autodiff::grad(traced.graph, inputs, with_value, holomorphic, op, loc),
                         joined(leaves, traced.captured));
}

Arrays jvp_of(const LeafFunction& f, const Arrays& leaves, const Arrays& tangents, Loc loc) {
  const std::vector<Aval> avals = usable("jvp", leaves, loc);
  if (tangents.size() != leaves.size())
    throw_user<ShapeError>("jvp", fmt::format("{} arrays of tangents", tangents.size()),
                           fmt::format("{}, as of primals", leaves.size()), "", loc);
  const TracedFunction traced = traced_at(loc, avals, f);
  const std::vector<bool> active = floating_inputs(traced, leaves.size());
  Arrays inputs = joined(leaves, traced.captured);
  for (size_t i = 0; i < leaves.size(); ++i) {
    if (!active[i]) continue;
    check_like("jvp", "tangent", i, tracing::aval_of(tangents[i], loc), avals[i], loc);
    inputs.push_back(tangents[i]);
  }
  const Arrays out = stage_or_run_at(loc, autodiff::jvp(traced.graph, active), inputs);
  const size_t n = traced.graph.outputs.size();
  Arrays result(out.begin(), out.begin() + static_cast<std::ptrdiff_t>(n));
  for (size_t i = 0, next = n; i < n; ++i)
    result.push_back(is_inexact(out[i].dtype()) ? out[next++] : zeros(out[i].shape(), out[i].dtype(), loc));
  return result;
}

struct LinearMap::Impl {
  std::string_view op, what, of;
  Graph graph;  // (residuals, floating inputs) -> floating outputs
  Arrays residuals;
  std::vector<Aval> inputs, outputs;  // of all leaves; those that are not floating are ignored, and zero
};

Arrays LinearMap::operator()(const Arrays& inputs, Loc loc) const {
  if (inputs.size() != impl_->inputs.size())
    throw_user<ShapeError>(impl_->op, fmt::format("{} arrays of {}s", inputs.size(), impl_->what),
                           fmt::format("{}, as of {}", impl_->inputs.size(), impl_->of), "", loc);
  Arrays operands = impl_->residuals;
  for (size_t i = 0; i < inputs.size(); ++i) {
    if (!is_inexact(impl_->inputs[i].dtype)) continue;
    check_like(impl_->op, impl_->what, i, tracing::aval_of(inputs[i], loc), impl_->inputs[i], loc);
    operands.push_back(inputs[i]);
  }
  const Arrays out = stage_or_run_at(loc, impl_->graph, operands);
  Arrays result;
  size_t next = 0;
  for (const Aval& aval : impl_->outputs)
    result.push_back(is_inexact(aval.dtype) ? out[next++] : zeros(aval.shape, aval.dtype, loc));
  return result;
}

namespace {

// Evaluated is a linearised function: its value now, and what its map needs.
struct Evaluated {
  TracedFunction traced;
  std::vector<bool> active;
  Linearized linearized;
  Arrays value;
  std::shared_ptr<LinearMap::Impl> map = std::make_shared<LinearMap::Impl>();
};

Evaluated evaluate(std::string_view op, const LeafFunction& f, const Arrays& leaves, Loc loc) {
  Evaluated e;
  e.map->op = op;
  e.traced = traced_at(loc, usable(op, leaves, loc), f);
  e.active = floating_inputs(e.traced, leaves.size());
  e.linearized = autodiff::linearize(e.traced.graph, e.active);
  const Arrays out = stage_or_run_at(loc, e.linearized.primal, joined(leaves, e.traced.captured));
  const auto results = static_cast<std::ptrdiff_t>(e.traced.graph.outputs.size());
  e.value.assign(out.begin(), out.begin() + results);
  e.map->residuals.assign(out.begin() + results, out.end());
  return e;
}

}  // namespace

Linear vjp_of(const LeafFunction& f, const Arrays& leaves, Loc loc) {
  Evaluated e = evaluate("vjp", f, leaves, loc);
  e.map->what = "cotangent";
  e.map->of = "results";
  e.map->graph = pullback(e.traced.graph, e.active, e.linearized);
  e.map->inputs = avals_of(e.value, loc);
  e.map->outputs = avals_of(leaves, loc);
  return {std::move(e.value), LinearMap(std::move(e.map))};
}

Linear linearize_of(const LeafFunction& f, const Arrays& leaves, Loc loc) {
  Evaluated e = evaluate("linearize", f, leaves, loc);
  e.map->what = "tangent";
  e.map->of = "primals";
  e.map->inputs = avals_of(leaves, loc);
  e.map->outputs = avals_of(e.value, loc);
  e.map->graph = tracing::trace_closed(e.linearized.tangent.avals(e.linearized.tangent.inputs), [&](const Arrays& in) {
    const Arrays out = tracing::inline_graph(e.linearized.tangent, in);
    Arrays dense;
    size_t next = 0;
    for (size_t i = 0; i < e.value.size(); ++i) {
      const Aval& aval = e.map->outputs[i];
      if (e.linearized.active[i])
        dense.push_back(out[next++]);
      else if (is_inexact(aval.dtype))
        dense.push_back(zeros(aval.shape, aval.dtype));
    }
    return dense;
  });
  return {std::move(e.value), LinearMap(std::move(e.map))};
}

Arrays vmap_of(const LeafFunction& f, const Arrays& leaves, const std::vector<int>& argument_of, size_t arguments,
               const VmapOptions& options, Loc loc) {
  if (!options.in_axes.empty() && options.in_axes.size() != arguments)
    throw_user<OptionError>("vmap",
                            fmt::format("in_axes has {} entries for {} arguments", options.in_axes.size(), arguments),
                            "one for each argument", "none leaves an argument whole", loc);
  std::vector<Aval> avals = usable("vmap", leaves, loc);
  std::vector<std::optional<int64_t>> axes;
  std::optional<int64_t> size;
  size_t sized_by = 0;
  for (size_t i = 0; i < leaves.size(); ++i) {
    axes.push_back(options.in_axes.empty() ? std::optional<int64_t>(0) : options.in_axes[argument_of[i]]);
    if (!axes[i]) continue;
    if (avals[i].shape.empty())
      throw_user<ShapeError>("vmap", fmt::format("argument {} has {}", argument_of[i], to_string(avals[i])),
                             "an axis to map over", "pass none for it in in_axes", loc);
    axes[i] = normalize_axis(*axes[i], avals[i].ndim(), "vmap", loc);
    const int64_t n = avals[i].shape[*axes[i]];
    if (size && *size != n)
      throw_user<ShapeError>("vmap",
                             fmt::format("axis {} of argument {} ({}) has {} elements, argument {} {}", *axes[i],
                                         argument_of[i], to_string(avals[i]), n, argument_of[sized_by], *size),
                             "equal extents", "", loc);
    if (!size) sized_by = i;
    size = n;
    avals[i].shape.erase(avals[i].shape.begin() + *axes[i]);
  }
  if (!size) throw_user<UserError>("vmap", "no array is mapped", "at least one", "give an axis in in_axes", loc);
  const TracedFunction traced = traced_at(loc, avals, f);
  axes.resize(traced.graph.inputs.size());  // captured arrays are whole
  std::vector<int64_t> out_axes;
  for (const tracing::ValueId v : traced.graph.outputs)
    out_axes.push_back(normalize_axis(options.out_axes, traced.graph.aval(v).ndim() + 1, "vmap", loc));
  return stage_or_run_at(loc, tracing::vmap(traced.graph, axes, *size, out_axes), joined(leaves, traced.captured));
}

Arrays jacobian_of(const LeafFunction& f, const Arrays& leaves, const std::vector<int>& argument_of, int argument,
                   bool forward, bool holomorphic, Loc loc) {
  const std::string_view op = forward ? "jacfwd" : "jacrev";
  const std::vector<Aval> avals = usable(op, leaves, loc);
  const Wanted of_arguments = holomorphic ? kComplex : forward ? kReal : kInexact;
  const Wanted of_results = holomorphic ? kComplex : forward ? kInexact : kReal;
  const std::vector<size_t> inputs = differentiated(op, avals, argument_of, argument, of_arguments, loc);
  const TracedFunction traced = traced_at(loc, avals, f);
  const Graph& g = traced.graph;
  for (const tracing::ValueId v : g.outputs)
    if (!of_results.takes(g.aval(v).dtype))
      throw_user<DTypeError>(op, fmt::format("the function returns {}", to_string(g.aval(v))),
                             std::string(of_results.what),
                             is_complex(g.aval(v).dtype) ? fmt::format("jacfwd, or {}(f, holomorphic)", op) : "", loc);
  const size_t columns = inputs.size();
  Graph jacobian = tracing::trace_closed(g.avals(g.inputs), [&](const Arrays& in) {
    Arrays result(g.outputs.size() * columns);
    // A pass for each unit vector, of one leaf or of one result: only the last input is mapped.
    const auto passes = [&](const Graph& one, const Aval& unit, const std::vector<int64_t>& out_axes) {
      std::vector<std::optional<int64_t>> axes(one.inputs.size());
      axes.back() = 0;
      Shape basis = unit.shape;
      basis.insert(basis.begin(), unit.size());
      return tracing::inline_graph(tracing::eliminate_dead_code(tracing::vmap(one, axes, unit.size(), out_axes)),
                                   joined(in, {reshape(eye(unit.size(), {}, unit.dtype), basis)}));
    };
    const auto put = [&](size_t row, size_t column, const Array& derivative) {
      Shape shape = g.aval(g.outputs[row]).shape;
      const Shape& leaf = avals[inputs[column]].shape;
      shape.insert(shape.end(), leaf.begin(), leaf.end());
      result[row * columns + column] = reshape(derivative, shape);
    };
    if (tracing::has_effects(g) && (forward ? columns : g.outputs.size()) > 1) {
      // One pass for all unit vectors, so that effects take place once.
      std::vector<Aval> units;
      for (const size_t i : inputs) units.push_back(avals[i]);
      if (!forward) units = g.avals(g.outputs);
      std::vector<int64_t> begin{0};
      for (const Aval& unit : units) begin.push_back(begin.back() + unit.size());
      const int64_t total = begin.back();
      Arrays operands = in;
      for (size_t i = 0; i < units.size(); ++i) {
        Shape basis = units[i].shape;
        basis.insert(basis.begin(), total);
        operands.push_back(reshape(slice_in_dim(eye(total, {}, units[i].dtype), begin[i], begin[i + 1], 1), basis));
      }
      std::vector<bool> active(g.inputs.size(), false);
      for (const size_t i : inputs) active[i] = true;
      const Graph one = forward ? autodiff::jvp(g, active) : autodiff::vjp(g, active);
      std::vector<std::optional<int64_t>> axes(one.inputs.size());
      std::fill(axes.end() - std::ssize(units), axes.end(), 0);
      const Arrays out = tracing::inline_graph(
          tracing::eliminate_dead_code(tracing::vmap(one, axes, total, std::vector<int64_t>(one.outputs.size(), 0))),
          operands);
      for (size_t row = 0; row < g.outputs.size(); ++row)
        for (size_t column = 0; column < columns; ++column) {
          const size_t unit = forward ? column : row, result = g.outputs.size() + (forward ? row : column);
          const Array derivative = slice_in_dim(out[result], begin[unit], begin[unit + 1], 0);
          put(row, column, forward ? moveaxis(derivative, 0, -1) : derivative);
        }
    } else if (forward) {
      std::vector<int64_t> out_axes(g.outputs.size(), 0);
      for (const tracing::ValueId v : g.outputs) out_axes.push_back(g.aval(v).ndim());
      for (size_t column = 0; column < columns; ++column) {
        std::vector<bool> active(g.inputs.size(), false);
        active[inputs[column]] = true;
        const Arrays out = passes(autodiff::jvp(g, active), avals[inputs[column]], out_axes);
        for (size_t row = 0; row < g.outputs.size(); ++row) put(row, column, out[g.outputs.size() + row]);
      }
    } else {
      std::vector<bool> active(g.inputs.size(), false);
      for (const size_t i : inputs) active[i] = true;
      for (size_t row = 0; row < g.outputs.size(); ++row) {
        Graph one = g;
        one.outputs = {g.outputs[row]};
        const Arrays out =
            passes(autodiff::vjp(one, active), g.aval(g.outputs[row]), std::vector<int64_t>(1 + columns, 0));
        for (size_t column = 0; column < columns; ++column) put(row, column, out[1 + column]);
      }
    }
    return result;
  });
  jacobian = tracing::eliminate_dead_code(jacobian);
  jacobian.num_captured = g.num_captured;
  return stage_or_run_at(loc, jacobian, joined(leaves, traced.captured));
}

}  // namespace neap::detail
