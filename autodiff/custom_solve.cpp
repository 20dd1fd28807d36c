// custom_linear_solve and custom_root on leaves.
#include <neap/creation.h>
#include <neap/error.h>
#include <neap/solvers.h>

#include <algorithm>
#include <optional>

#include <fmt/format.h>

#include "autodiff/custom.h"
#include "autodiff/joined.h"
#include "autodiff/jvp.h"
#include "autodiff/transpose.h"
#include "trace/tracing/shared_consts.h"
#include "trace/tracing/tracing.h"

namespace neap::detail {

using autodiff::ActiveJvp;
using autodiff::joined;
using tracing::Arrays;
using tracing::Attr;
using tracing::SharedConsts;
using tracing::TracedFunction;
using Loc = std::source_location;

namespace {

// Throws unless the leaves of a vector are floating.
void check_vector(std::string_view op, std::string_view what, const Arrays& leaves, Loc loc) {
  for (const Array& leaf : leaves) {
    tracing::check_usable(leaf, op, loc);
    if (!is_inexact(leaf.dtype()))
      throw_user<DTypeError>(op, fmt::format("{} is {}", what, to_string(leaf.aval())), "a floating dtype", "", loc);
  }
}

// Returns f with each array that it gives checked: like that of `expected`.
LeafFunction checked(std::string_view op, std::string_view what, const LeafFunction& f,
                     const std::vector<Aval>& expected, Loc loc) {
  return [=, &f, &expected](const Arrays& in) {
    Arrays out = f(in);
    for (size_t i = 0; i < out.size(); ++i) {
      const Aval& aval = tracing::aval_of(out[i], loc);
      if (aval == expected[i]) continue;
      const std::string found = fmt::format("{} gives {}", what, to_string(aval));
      if (aval.shape != expected[i].shape) throw_user<ShapeError>(op, found, to_string(expected[i]), "", loc);
      throw_user<DTypeError>(op, found, to_string(expected[i]), "", loc);
    }
    return out;
  };
}

// Throws where a solver gives its function another vector than those that it takes.
void check_like(std::string_view op, const Arrays& x, const std::vector<Aval>& avals, Loc loc) {
  if (x.size() != avals.size()) vector_differs(op, x.size(), avals.size(), loc);
  for (size_t i = 0; i < x.size(); ++i)
    if (!(tracing::aval_of(x[i], loc) == avals[i]))
      throw_user<ShapeError>(op, fmt::format("the function is given {}", to_string(x[i].aval())), to_string(avals[i]),
                             "", loc);
}

// The transpose of a traced linear function, as a function. nullopt where it has none (a while_loop): then the solution
// has no reverse derivative.
std::optional<LeafFunction> transposed(const TracedFunction& linear, size_t leaves) {
  std::vector<bool> inputs(linear.graph.inputs.size(), false);
  std::fill_n(inputs.begin(), leaves, true);
  autodiff::Transposed turned;
  try {
    turned = autodiff::transpose_active(linear.graph, inputs, std::vector<bool>(leaves, true));
  } catch (const UserError&) {
    return std::nullopt;
  }
  return [turned, leaves, captured = linear.captured](const Arrays& in) {
    const Arrays products = tracing::inline_graph(turned.graph, joined(captured, in));
    Arrays all;
    for (size_t i = 0, next = 0; i < leaves; ++i)
      all.push_back(turned.active[i] ? products[next++] : zeros_like(in[i]));
    return all;
  };
}

}  // namespace

void vector_differs(std::string_view op, size_t got, size_t expected, Loc loc) {
  throw_user<ShapeError>(op, fmt::format("a function gives {} arrays for {}", got, expected),
                         "a tree like the one that it is given", "", loc);
}

Arrays linear_solve_of(std::string_view op, const LeafFunction& matvec, const LeafSolver& solve,
                       const LeafSolver& transpose_solve, bool symmetric, const Arrays& b, Loc loc) {
  check_vector(op, "the right side", b, loc);
  const std::vector<Aval> avals = tracing::avals_of(b, loc);
  const LeafFunction product = checked(op, "the linear function", matvec, avals, loc);
  const auto solved = [&](const LeafSolver& by, const LeafFunction& f) {
    return [&](const Arrays& in) {
      const LeafFunction run = [&](const Arrays& right) { return by(f, right); };
      return checked(op, "the solver", run, avals, loc)(in);
    };
  };
  if (!tracing::is_tracing()) return solved(solve, product)(b);
  SharedConsts functions(b);
  const TracedFunction traced = tracing::trace(avals, product);
  functions.add(TracedFunction(traced));
  const LeafFunction again = [&](const Arrays& x) {  // the user's function is traced once
    check_like(op, x, avals, loc);
    return tracing::inline_graph(traced.graph, joined(x, traced.captured));
  };
  functions.add(tracing::trace(avals, solved(solve, again)));
  const std::optional<LeafFunction> turned = transpose_solve ? transposed(traced, b.size()) : std::nullopt;
  if (turned) functions.add(tracing::trace(avals, solved(transpose_solve, *turned)));
  tracing::Attrs attrs{{Attr::num_consts, functions.consts()}};
  attrs.set(Attr::matvec, functions.graph(0));
  attrs.set(Attr::body, functions.graph(1));
  if (turned) attrs.set(Attr::backward, functions.graph(2));
  if (symmetric) attrs.set(Attr::backward, attrs.graph(Attr::body));
  return tracing::apply_many(tracing::Op::linear_solve, functions.operands(), std::move(attrs), loc);
}

namespace {

// A root of f, as a function of (what f captures, the root as found): the latter, with the former's derivatives. (The
// inputs of f's graph are in the other order.)
Arrays attached_root(const TracedFunction& f, const LeafSolver& tangent_solve, const Arrays& leaves, Loc loc) {
  const size_t captured = f.captured.size(), roots = leaves.size() - captured;
  const auto body = [&](const Arrays& in) {
    return Arrays(in.begin() + static_cast<std::ptrdiff_t>(captured), in.end());
  };
  const auto rule = [&](const Arrays& in) {
    const auto at = [&](size_t first, size_t count) {
      const auto begin = in.begin() + static_cast<std::ptrdiff_t>(first);
      return Arrays(begin, begin + static_cast<std::ptrdiff_t>(count));
    };
    const Arrays constants = at(0, captured), moved = at(leaves.size(), captured);
    const Arrays x = attached_root(f, tangent_solve, at(0, leaves.size()), loc);
    // The derivative of f in what it captures, times how that moves.
    std::vector<bool> active(leaves.size(), false);
    Arrays tangents;
    for (size_t i = 0; i < captured; ++i) {
      active[roots + i] = is_inexact(constants[i].dtype());
      if (active[roots + i]) tangents.push_back(moved[i]);
    }
    const ActiveJvp in_captured = autodiff::jvp_active(f.graph, active);
    const Arrays pushed = tracing::inline_graph(in_captured.graph, joined(joined(x, constants), tangents));
    Arrays right;
    for (size_t i = 0, next = roots; i < roots; ++i)
      right.push_back(in_captured.active[i] ? -pushed[next++] : zeros_like(x[i]));
    if (std::ranges::find(in_captured.active, true) == in_captured.active.end()) return right;  // it does not move
    // The derivative in x is the linear function to be solved.
    std::vector<bool> of_x(leaves.size(), false);
    std::fill_n(of_x.begin(), roots, true);
    const ActiveJvp in_x = autodiff::jvp_active(f.graph, of_x);
    const LeafFunction linear = [&](const Arrays& y) {
      const Arrays out = tracing::inline_graph(in_x.graph, joined(joined(x, constants), y));
      Arrays all;
      for (size_t i = 0, next = roots; i < roots; ++i) all.push_back(in_x.active[i] ? out[next++] : zeros_like(y[i]));
      return all;
    };
    return linear_solve_of("custom_root", linear, tangent_solve, tangent_solve, false, right, loc);
  };
  return autodiff::custom_jvp_unchecked(body, rule, leaves, loc);
}

}  // namespace

Arrays root_of(const LeafFunction& f, const LeafSolver& solve, const LeafSolver& tangent_solve, const Arrays& guess,
               Loc loc) {
  constexpr std::string_view op = "custom_root";
  check_vector(op, "the guess", guess, loc);
  const std::vector<Aval> avals = tracing::avals_of(guess, loc);
  const LeafFunction residual = checked(op, "the function", f, avals, loc);
  const LeafFunction eagerly = [&](const Arrays& in) { return solve(residual, in); };
  if (!tracing::is_tracing()) return checked(op, "the solver", eagerly, avals, loc)(guess);
  const TracedFunction traced = tracing::trace(avals, residual);
  const auto stopped = [](const Arrays& in) {
    Arrays out;
    for (const Array& x : in) out.push_back(stop_gradient(x));
    return out;
  };
  const LeafFunction fixed = [&](const Arrays& x) {
    check_like(op, x, avals, loc);
    return tracing::inline_graph(traced.graph, joined(x, stopped(traced.captured)));
  };
  const LeafFunction solver = [&](const Arrays& in) { return solve(fixed, in); };
  return attached_root(traced, tangent_solve,
                       joined(traced.captured, stopped(checked(op, "the solver", solver, avals, loc)(stopped(guess)))),
                       loc);
}

}  // namespace neap::detail
