// Mistakes with solvers, and with the general forms of lax.h.
#include "mistake.h"

MISTAKE(Solvers, MatrixOfOtherSize, ShapeError, "cg: the linear function gives f32[2]; expected f32[3]") {
  cg(ones({2, 3}), ones({3}));  // here
}

MISTAKE(Solvers, IntegerRightSide, DTypeError, "gmres: b is i32[3]; expected a floating dtype; b.astype(f32)") {
  gmres(ones({3, 3}), ones({3}, i32));  // here
}

MISTAKE(Solvers, FirstGuessOfOtherShape, ShapeError, "bicgstab: x0 is f32[2]; expected f32[3], as b") {
  bicgstab(ones({3, 3}), ones({3}), ones({2}));  // here
}

struct Both {
  Array a, b;
};

MISTAKE(Solvers, MatrixForATree, ShapeError,
        "cg: a function gives 1 arrays for 2; expected a tree like the one that it is given") {
  cg(eye(2), Both{ones({2}), ones({2})});  // here
}

MISTAKE(Solvers, RealAndComplexInOneTree, DTypeError,
        "bicgstab: b holds f32[2] and c64[2]; expected real arrays, or complex ones") {
  bicgstab([](const Both& x) { return x; }, Both{ones({2}), ones({2}, c64)});  // here
}

MISTAKE(Solvers, SolverGivesOtherVector, ShapeError, "custom_linear_solve: the solver gives f32[2]; expected f32[3]") {
  custom_linear_solve([](const Array& x) { return x; }, ones({3}),  // here
                      [](const auto&, const Array&) { return ones({2}); });
}

MISTAKE(Solvers, NegativeTolerance, OptionError, "cg: tol = -1, atol = 0; expected 0 or more") {
  cg(ones({3, 3}), ones({3}), {}, {.tol = -1});  // here
}

MISTAKE(Solvers, NoRestart, OptionError, "gmres: restart = 0; expected 1 or more") {
  gmres(ones({3, 3}), ones({3}), {}, {.restart = 0});  // here
}

MISTAKE(Solvers, GradientWithoutTransposedSystem, UserError,
        "custom_linear_solve: a reverse-mode derivative without a solver of the transposed system; expected a "
        "transpose_solve, or symmetric = true; jvp and jacfwd need neither") {
  const auto f = [](const Array& b) {
    return sum(custom_linear_solve([](const Array& x) { return 2 * x; }, b,  // here
                                   [](const auto&, const Array& y) { return y / 2; }));
  };
  grad(f)(ones({3}));
}

MISTAKE(Solvers, RootOfOtherShape, ShapeError, "custom_root: the function gives f32[]; expected f32[3]") {
  custom_root([](const Array& x) { return sum(x); }, ones({3}),  // here
              [](const auto& f, const Array& x) { return f(x); }, [](const auto&, const Array& y) { return y; });
}

MISTAKE(Solvers, FieldOfOtherShape, ShapeError, "odeint: the function gives f32[]; expected f32[3], as y0") {
  odeint([](const Array& y, const Array&) { return sum(y); }, ones({3}), array({0.0f, 1.0f}));  // here
}

MISTAKE(Solvers, OneTimeWithoutAnAxis, ShapeError, "odeint: t f32[]; expected times [n], n of 1 or more") {
  odeint([](const Array& y, const Array&) { return y; }, ones({3}), 1.0f);  // here
}

MISTAKE(Solvers, MinimumOfAVector, ShapeError,
        "minimize: the function gives f32[3]; expected a real scalar; reduce it with sum() or mean()") {
  minimize([](const Array& x) { return x * x; }, ones({3}));  // here
}

MISTAKE(Solvers, MinimumOverIntegers, DTypeError, "minimize: x0 is i32[3]; expected f32 or f64") {
  minimize([](const Array& x) { return sum(x * x); }, ones({3}, i32));  // here
}

MISTAKE(Solvers, DiagonalsOfOtherLengths, ShapeError,
        "tridiagonal_solve: dl [3], d [4], du [4] and b [4,1]; expected three of shape [..., m] and [..., m, n]") {
  linalg::tridiagonal_solve(ones({3}), ones({4}), ones({4}), ones({4, 1}));  // here
}

MISTAKE(Lax, IndexOfTooManyComponents, ShapeError,
        "gather: index [2,2] for a map of 1; expected one component for each axis of it") {
  lax::gather(ones({4, 5}), ones({2, 2}, i32), {.offset = {1}, .collapsed = {0}, .start_map = {0}}, {1, 5});  // here
}

MISTAKE(Lax, WindowBeyondTheOperand, ShapeError,
        "gather: windows [1,6] of [4,5]; expected at most 5 elements along axis 1") {
  lax::gather(ones({4, 5}), ones({2, 1}, i32), {.offset = {1}, .collapsed = {0}, .start_map = {0}}, {1, 6});  // here
}

MISTAKE(Lax, UpdatesOfOtherShape, ShapeError,
        "scatter_add: updates [3,5] at index [2,1]; expected the axes of the index but its last, and a window's") {
  lax::scatter_add(ones({4, 5}), ones({2, 1}, i32), ones({3, 5}),  // here
                   {.window = {1}, .inserted = {0}, .start_map = {0}});
}

MISTAKE(Lax, FloatingIndex, DTypeError, "gather: an index of f32; expected integers") {
  lax::gather(ones({4}), ones({2, 1}), {.offset = {}, .collapsed = {0}, .start_map = {0}}, {1});  // here
}

MISTAKE(
    Lax, GroupsOfTheBatch, ShapeError,
    "conv_general_dilated: 3 groups of the batch of f32[4,2,5] with f32[3,2,2]; expected equal parts of the batch and "
    "of the features of the result, and as many features in both") {
  lax::conv_general_dilated(ones({4, 2, 5}), ones({3, 2, 2}), {}, {}, 3);  // here
}

MISTAKE(Lax, AxesThatAreNoPermutation, ShapeError,
        "conv_general_dilated: axes [0,1,1] of the window; expected each of its 3 axes once") {
  lax::conv_general_dilated(ones({4, 2, 5}), ones({3, 2, 2}), {}, {.lhs = {}, .rhs = {0, 1, 1}});  // here
}

MISTAKE(Lax, StrideOfZeroAlongFourAxes, ShapeError,
        "conv_general_dilated: stride [0,1,1,1]; expected 4 numbers of 1 and more") {
  lax::conv_general_dilated(ones({1, 1, 2, 2, 2, 2}), ones({1, 1, 1, 1, 1, 1}), {.stride = {0, 1, 1, 1}});  // here
}

MISTAKE(Lax, StrideWithoutSpace, ShapeError, "conv_general_dilated: stride [2]; expected 0 numbers of 1 and more") {
  lax::conv_general_dilated(ones({1, 1}), ones({1, 1}), {.stride = {2}});  // here
}
