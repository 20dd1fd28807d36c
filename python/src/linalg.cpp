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
      "cholesky", [](Arg a, bool upper) { return of(a, [&](const Operand& x) { return la::cholesky(x, upper); }); },
      "a"_a, nb::kw_only(), "upper"_a = false, "The triangular L with L L^T = a.");
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
      [](Arg a) {
        const la::Eigh r = of(a, la::eigh);
        return nb::make_tuple(r.eigenvalues, r.eigenvectors);
      },
      "a"_a);
  m.def("eigvalsh", [](Arg a) { return of(a, la::eigvalsh); }, "a"_a, "The eigenvalues of (a + a^T) / 2, ascending.");
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
  m.def("matrix_transpose", [](Arg a) { return la::matrix_transpose(a); }, "x"_a, "The last two axes exchanged.");
}

}  // namespace neap::python
