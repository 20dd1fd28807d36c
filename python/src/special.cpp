// neap.scipy.special: what jax.scipy.special has beside the functions of the module itself.
#include "args.h"

namespace neap::python {
namespace {

using Unary = Array (*)(const Operand&);
using Binary = Array (*)(const Operand&, const Operand&);

void unary(nb::module_& m, const char* name, Unary f, const char* argument, const char* doc) {
  m.def(name, [f](Arg x) { return elementwise(f, x); }, nb::arg(argument), doc);
}
void binary(nb::module_& m, const char* name, Binary f, const char* first, const char* second, const char* doc) {
  m.def(name, [f](Arg x, Arg y) { return elementwise(f, x, y); }, nb::arg(first), nb::arg(second), doc);
}

}  // namespace

void bind_special(nb::module_ m) {
  unary(m, "gamma", gamma, "x", "The gamma function, with its sign.");
  unary(m, "gammasgn", gammasgn, "x", "The sign of the gamma function.");
  unary(m, "gammaln", gammaln, "x", "The logarithm of the gamma function's absolute value.");
  m.def(
      "factorial",
      [](Arg n, bool exact) {
        if (exact) type_error("factorial", "exact=True", "exact=False");
        return elementwise(static_cast<Unary>(factorial), n);
      },
      "n"_a, "exact"_a = false, "gamma(n + 1), 0 below 0.");
  binary(m, "poch", poch, "z", "m", "Pochhammer's symbol, gamma(z + m) / gamma(z).");
  binary(m, "beta", beta, "a", "b", "The beta function.");
  m.def(
      "multigammaln",
      [](Arg a, nb::handle d) {
        const int64_t dimension = int_from(d, "multigammaln");
        return elementwise([&](const Operand& x) { return multigammaln(x, dimension); }, a);
      },
      "a"_a, "d"_a, "The logarithm of the multivariate gamma function of dimension d.",
      nb::sig("def multigammaln(a: neap.typing.ArrayLike, d: int) -> Array"));
  binary(m, "polygamma", polygamma, "n", "x", "The n-th derivative of digamma.");
  binary(m, "zeta", zeta, "x", "q", "Hurwitz' zeta function.");
  m.def(
      "log_ndtr", [](Arg x, int64_t) { return elementwise(static_cast<Unary>(log_ndtr), x); }, "x"_a,
      "series_order"_a = 3, "log(ndtr(x)), which does not underflow, by no series of an order.");
  unary(m, "ndtri", ndtri, "p", "The quantiles of the standard normal distribution.");
  binary(m, "gammainc", gammainc, "a", "x", "The regularized lower incomplete gamma function.");
  binary(m, "gammaincc", gammaincc, "a", "x", "The regularized upper incomplete gamma function.");
  m.def(
      "betainc",
      [](Arg a, Arg b, Arg x) {
        const Operand p = a, q = b, r = x;
        return unlocked([&] { return betainc(p, q, r); });
      },
      "a"_a, "b"_a, "x"_a, "The regularized incomplete beta function.");
  unary(m, "i0", i0, "x", "The modified Bessel function of order 0.");
  unary(m, "i0e", i0e, "x", "exp(-|x|) i0(x).");
  unary(m, "i1", i1, "x", "The modified Bessel function of order 1.");
  unary(m, "i1e", i1e, "x", "exp(-|x|) i1(x).");
  unary(m, "expi", expi, "x", "The exponential integral Ei.");
  unary(m, "exp1", exp1, "x", "The exponential integral E1.");
  binary(m, "expn", expn, "n", "x", "The generalized exponential integral E_n.");
  unary(m, "spence", spence, "x", "Spence's function, the dilogarithm of 1 - x.");
}

}  // namespace neap::python
