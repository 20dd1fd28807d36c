// neap.linalg: jax.numpy.linalg, and what is used of jax.scipy.linalg.
#include "args.h"

namespace neap::python {
namespace {

namespace la = neap::linalg;

// Evaluates f of one matrix without the GIL.
template <class F>
auto of(Arg a, F&& f) {
  const Operand x = a;
  return unlocked([&] { return f(x); });
}

std::optional<la::NormOrder> order_from(nb::handle ord) {
  if (ord.is_none()) return std::nullopt;
  if (!nb::isinstance<nb::str>(ord)) return nb::cast<double>(nb::float_(ord));
  const std::string name = nb::cast<std::string>(ord);
  if (name == "fro") return la::Norm::frobenius;
  if (name == "nuc") return la::Norm::nuclear;
  throw_user<OptionError>("norm", "ord \"" + name + "\"", "a number, \"fro\" or \"nuc\"", "", here());
}

la::QrMode qr_mode(const std::string& mode) {
  if (mode == "reduced") return la::QrMode::reduced;
  if (mode == "complete") return la::QrMode::complete;
  throw_user<OptionError>("qr", "mode \"" + mode + "\"", "\"reduced\" or \"complete\"", "", here());
}

}  // namespace

// The results are tuples here; python/neap/linalg.py names their fields.
void bind_linalg(nb::module_ m) {
  m.def(
      "cholesky",
      [](Arg a, bool upper, bool symmetrize) {
        return of(a, [&](const Operand& x) { return la::cholesky(x, upper, symmetrize); });
      },
      "a"_a, nb::kw_only(), "upper"_a = false, "symmetrize_input"_a = true,
      "The triangular L with L L^T = (a + a^T) / 2; without symmetrize_input one triangle of a is read.");
  m.def(
      "_lu",
      [](Arg a) {
        const la::Lu r = of(a, la::lu);
        return nb::make_tuple(r.lu, r.pivots, r.permutation);
      },
      "a"_a);
  m.def(
      "_qr",
      [](Arg a, const std::string& mode) {
        const la::QrMode q = qr_mode(mode);
        const la::Qr r = of(a, [&](const Operand& x) { return la::qr(x, q); });
        return nb::make_tuple(r.q, r.r);
      },
      "a"_a, "mode"_a);
  m.def(
      "_eigh",
      [](Arg a, bool lower, bool symmetrize) {
        const la::Eigh r = of(a, [&](const Operand& x) { return la::eigh(x, lower, symmetrize); });
        return nb::make_tuple(r.eigenvalues, r.eigenvectors);
      },
      "a"_a, "lower"_a, "symmetrize_input"_a);
  m.def(
      "_eigvalsh",
      [](Arg a, bool lower, bool symmetrize) {
        return of(a, [&](const Operand& x) { return la::eigvalsh(x, lower, symmetrize); });
      },
      "a"_a, "lower"_a, "symmetrize_input"_a);
  m.def(
      "_eig",
      [](Arg a) {
        const la::Eig r = of(a, la::eig);
        return nb::make_tuple(r.eigenvalues, r.eigenvectors);
      },
      "a"_a);
  m.def("eigvals", [](Arg a) { return of(a, la::eigvals); }, "a"_a, "The eigenvalues, complex and in no order.");
  m.def(
      "_schur",
      [](Arg a) {
        const la::Schur r = of(a, la::schur);
        return nb::make_tuple(r.t, r.z);
      },
      "a"_a);
  m.def(
      "_svd",
      [](Arg a, bool full) {
        const la::Svd r = of(a, [&](const Operand& x) { return la::svd(x, full); });
        return nb::make_tuple(r.u, r.s, r.vh);
      },
      "a"_a, "full_matrices"_a);
  m.def("svdvals", [](Arg a) { return of(a, la::svdvals); }, "x"_a, "The singular values, descending.");
  m.def(
      "triangular_solve",
      [](Arg a, Arg b, bool left, bool lower, bool transpose, bool unit) {
        const Operand t = a, y = b;
        return unlocked([&] { return la::triangular_solve(t, y, {left, lower, transpose, unit}); });
      },
      "a"_a, "b"_a, nb::kw_only(), "left_side"_a = false, "lower"_a = false, "transpose_a"_a = false,
      "unit_diagonal"_a = false, "Solves x a = b, or a x = b where left_side.");
  m.def(
      "solve",
      [](Arg a, Arg b, bool positive) {
        const Operand x = a, y = b;
        return unlocked([&] { return la::solve(x, y, positive); });
      },
      "a"_a, "b"_a, nb::kw_only(), "positive"_a = false, "x with a x = b; positive: a is symmetric positive definite.");
  m.def(
      "cho_solve", [](Arg c, Arg b, bool lower) { return la::cho_solve(c, b, lower); }, "c"_a, "b"_a, "lower"_a = true,
      "x with a x = b, from the factor cholesky(a).");
  m.def(
      "_lu_solve",
      [](Arg lu, Arg pivots, Arg permutation, Arg b, bool transposed) {
        return la::lu_solve({lu.array(), pivots.array(), permutation.array()}, b, transposed);
      },
      "lu"_a, "pivots"_a, "permutation"_a, "b"_a, "transposed"_a);
  m.def(
      "tridiagonal_solve",
      [](Arg dl, Arg d, Arg du, Arg b) {
        const Operand below = dl, diagonal = d, above = du, y = b;
        return unlocked([&] { return la::tridiagonal_solve(below, diagonal, above, y); });
      },
      "dl"_a, "d"_a, "du"_a, "b"_a, "x with a x = b of the a with these diagonals; dl[0] and du[-1] are not read.");
  m.def("inv", [](Arg a) { return of(a, la::inv); }, "a"_a, "The inverse.");
  m.def(
      "pinv",
      [](Arg a, std::optional<double> rtol) { return of(a, [&](const Operand& x) { return la::pinv(x, rtol); }); },
      "a"_a, "rtol"_a = nb::none(), "The pseudo-inverse.");
  m.def(
      "_lstsq",
      [](Arg a, Arg b, std::optional<double> rcond) {
        const Operand x = a, y = b;
        const la::Lstsq r = unlocked([&] { return la::lstsq(x, y, rcond); });
        return nb::make_tuple(r.x, r.residuals, r.rank, r.s);
      },
      "a"_a, "b"_a, "rcond"_a = nb::none());
  m.def("det", [](Arg a) { return of(a, la::det); }, "a"_a, "The determinant.");
  m.def(
      "_slogdet",
      [](Arg a) {
        const la::Slogdet r = of(a, la::slogdet);
        return nb::make_tuple(r.sign, r.logabsdet);
      },
      "a"_a);
  m.def(
      "matrix_rank",
      [](Arg a, std::optional<double> rtol) {
        return of(a, [&](const Operand& x) { return la::matrix_rank(x, rtol); });
      },
      "M"_a, "rtol"_a = nb::none(), "Counts the singular values that are not negligible.");
  m.def(
      "norm",
      [](Arg a, nb::handle ord, AxesArg axis, bool keepdims) {
        const Operand x = a;
        const std::optional<la::NormOrder> order = order_from(ord);
        const std::optional<Shape> axes = axis.shape();
        return unlocked([&] { return la::norm(x, order, axes, keepdims); });
      },
      "x"_a, "ord"_a = nb::none(), "axis"_a = nb::none(), "keepdims"_a = false, "Norms of vectors or matrices.",
      nb::sig("def norm(x: neap.typing.ArrayLike, ord: float | str | None = None, axis: int | "
              "collections.abc.Sequence[int] | "
              "None = None, keepdims: bool = False) -> Array"));
  m.def(
      "matrix_power", [](Arg a, int64_t n) { return of(a, [&](const Operand& x) { return la::matrix_power(x, n); }); },
      "a"_a, "n"_a, "Multiplies a matrix by itself, n times.");
  m.def("expm", [](Arg a) { return of(a, la::expm); }, "A"_a, "The exponential of a matrix.");
  m.def("sqrtm", [](Arg a) { return of(a, la::sqrtm); }, "A"_a, "The principal square root of a matrix, complex.");
  m.def(
      "block_diag",
      [](nb::args arrs) {
        const std::source_location loc = here();
        return la::block_diag(arrays_from(arrs, loc), loc);
      },
      "arrs"_a, "The matrix with these along its diagonal.");
  m.def("matrix_transpose", [](Arg a) { return la::matrix_transpose(a); }, "x"_a, "The last two axes exchanged.");
}

}  // namespace neap::python
