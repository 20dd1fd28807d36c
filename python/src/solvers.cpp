// Solvers on leaves; python/neap/_solvers.py makes functions on trees of them.
#include "leaves.h"

namespace neap::python {
namespace {

// A function of C++ that a solver of Python may call while it runs, and not later: what it stands on is gone then.
struct Lent {
  std::string op;
  const detail::LeafFunction* function = nullptr;
};

nb::list call_lent(const std::shared_ptr<Lent>& lent, nb::list leaves) {
  const std::source_location loc = here();
  if (!lent->function)
    throw_user<UserError>(lent->op, "a function that was given to a solver is called after the solver has returned",
                          "a call within it", "", loc);
  const std::vector<Array> in = leaves_from(leaves, loc);
  return list_of(unlocked([&] { return (*lent->function)(in); }));
}

// Returns a solver that calls f(function, leaves) with the GIL; of None an empty one.
detail::LeafSolver leaf_solver(const std::string& op, nb::handle f) {
  if (f.is_none()) return {};
  return [op, held = hold(f)](const detail::LeafFunction& function, const std::vector<Array>& b) {
    const nb::gil_scoped_acquire acquire;
    const auto lent = std::make_shared<Lent>(op, &function);
    struct Return {
      Lent& lent;
      ~Return() { lent.function = nullptr; }
    } const at_end{*lent};
    const nb::object call = nb::cpp_function([lent](nb::list leaves) { return call_lent(lent, leaves); });
    return leaves_from(nb::handle(held.get())(call, list_of(b)), here());
  };
}

nb::list linear_solve_of(const std::string& op, nb::callable matvec, nb::callable solve, nb::handle transposed,
                         bool symmetric, nb::list b) {
  const std::source_location loc = here();
  const std::vector<Array> right = leaves_from(b, loc);
  const auto function = leaf_function(matvec);
  const auto solver = leaf_solver(op, solve), transpose_solver = leaf_solver(op, transposed);
  return list_of(
      unlocked([&] { return detail::linear_solve_of(op, function, solver, transpose_solver, symmetric, right, loc); }));
}

nb::list root_of(nb::callable f, nb::callable solve, nb::callable tangent_solve, nb::list guess) {
  const std::source_location loc = here();
  const std::vector<Array> first = leaves_from(guess, loc);
  const auto function = leaf_function(f);
  const auto solver = leaf_solver("custom_root", solve), tangent = leaf_solver("custom_root", tangent_solve);
  return list_of(unlocked([&] { return detail::root_of(function, solver, tangent, first, loc); }));
}

nb::list krylov_of(const std::string& method, nb::callable matvec, nb::handle precondition, nb::list b, nb::list x0,
                   double tol, double atol, std::optional<int64_t> maxiter, int64_t restart) {
  const std::source_location loc = here();
  const std::vector<Array> right = leaves_from(b, loc), first = leaves_from(x0, loc);
  const auto function = leaf_function(matvec);
  const auto inverse = precondition.is_none() ? detail::LeafFunction() : leaf_function(precondition);
  const auto which = method == "cg"         ? detail::Krylov::cg
                     : method == "bicgstab" ? detail::Krylov::bicgstab
                                            : detail::Krylov::gmres;
  const KrylovOptions options{tol, atol, maxiter, restart};
  return list_of(unlocked([&] { return detail::krylov_of(which, function, inverse, right, first, options, loc); }));
}

nb::list minimize_of(nb::callable f, nb::list x0, bool lbfgs, double gtol, std::optional<int64_t> maxiter,
                     int64_t line_search_maxiter, int64_t history) {
  const std::source_location loc = here();
  const std::vector<Array> first = leaves_from(x0, loc);
  const auto function = leaf_function(f);
  const MinimizeOptions options{lbfgs ? MinimizeMethod::lbfgs : MinimizeMethod::bfgs, gtol, maxiter,
                                line_search_maxiter, history};
  return list_of(unlocked([&] { return detail::minimize_of(function, first, options, loc); }));
}

nb::list odeint_of(nb::callable f, nb::list y0, Arg t, double rtol, double atol, std::optional<int64_t> mxstep,
                   std::optional<double> hmax) {
  const std::source_location loc = here();
  const std::vector<Array> first = leaves_from(y0, loc);
  const Operand times = t;
  const auto function = leaf_function(f);
  const OdeOptions options{rtol, atol, mxstep, hmax};
  return list_of(unlocked([&] { return detail::odeint_of(function, first, times, options, loc); }));
}

}  // namespace

void bind_solvers(nb::module_& m) {
  m.def("_linear_solve", linear_solve_of, "op"_a, "matvec"_a, "solve"_a, "transpose_solve"_a.none(), "symmetric"_a,
        "b"_a);
  m.def("_root", root_of, "f"_a, "solve"_a, "tangent_solve"_a, "initial_guess"_a);
  m.def("_krylov", krylov_of, "method"_a, "matvec"_a, "precondition"_a.none(), "b"_a, "x0"_a, "tol"_a, "atol"_a,
        "maxiter"_a.none(), "restart"_a);
  m.def("_minimize", minimize_of, "f"_a, "x0"_a, "lbfgs"_a, "gtol"_a, "maxiter"_a.none(), "line_search_maxiter"_a,
        "history"_a);
  m.def("_odeint", odeint_of, "f"_a, "y0"_a, "t"_a, "rtol"_a, "atol"_a, "mxstep"_a.none(), "hmax"_a.none());
}

}  // namespace neap::python
