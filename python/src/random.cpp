// neap.random: jax.random's names, arguments and numbers.
#include "args.h"

namespace neap::python {
namespace {

namespace nr = neap::random;

using Plain = Array (*)(const Operand&, const Shape&, DType);

void plain(nb::module_& m, const char* name, Plain f, const char* doc) {
  m.def(
      name,
      [f](Arg key, nb::handle shape, DTypeArg dtype) {
        const Operand k = key;
        const Shape s = shape_from(shape, "shape");
        const DType d = dtype.value_or(f32);
        return unlocked([&] { return f(k, s, d); });
      },
      "key"_a, "shape"_a = nb::tuple(), "dtype"_a = nb::none(), doc);
}

std::optional<Shape> maybe_shape(nb::handle shape) {
  return shape.is_none() ? std::nullopt : std::optional<Shape>(shape_from(shape, "shape"));
}

using Of = Array (*)(const Operand&, const Operand&, std::optional<Shape>, DType);

void of_one(nb::module_& m, const char* name, const char* argument, Of f, DType usual, const char* doc) {
  m.def(
      name,
      [=](Arg key, Arg a, nb::handle shape, DTypeArg dtype) {
        const Operand k = key, x = a;
        const std::optional<Shape> s = maybe_shape(shape);
        const DType d = dtype.value_or(usual);
        return unlocked([&] { return f(k, x, s, d); });
      },
      "key"_a, nb::arg(argument), "shape"_a = nb::none(), "dtype"_a = nb::none(), doc);
}

Array key_of(nb::handle seed, const std::optional<std::string>& impl) {
  const std::source_location loc = here();
  if (impl && *impl != "threefry2x32" && *impl != "philox")
    throw_user<OptionError>("key", "impl \"" + *impl + "\"", "\"threefry2x32\" or \"philox\"", "", loc);
  const nr::Generator generator = impl && *impl == "philox" ? nr::Generator::philox : nr::Generator::threefry;
  const Operand number = operand_from(seed, loc);
  if (!number.is_scalar()) return nr::key(number.array(), generator, loc);
  return nr::key(static_cast<uint64_t>(number.integer()), generator, loc);
}

Array choice_of(Arg key, nb::handle a, nb::handle shape, bool replace, nb::handle p, int64_t axis) {
  const std::optional<Array> weights = p.is_none() ? std::nullopt : std::optional<Array>(array_from(p, here()));
  const Shape s = shape_from(shape, "shape");
  if (PyLong_Check(a.ptr())) return nr::choice(key, int_from(a, "choice"), s, replace, weights);
  return nr::choice(key, array_from(a, here()), s, replace, weights, axis);
}

nr::CovarianceMethod method_from(const std::string& method) {
  if (method == "cholesky") return nr::CovarianceMethod::cholesky;
  if (method == "eigh") return nr::CovarianceMethod::eigh;
  if (method == "svd") return nr::CovarianceMethod::svd;
  throw_user<OptionError>("multivariate_normal", "method \"" + method + "\"", "cholesky, eigh or svd", "", here());
}

}  // namespace

void bind_random(nb::module_ m) {
  m.def("key", key_of, "seed"_a, nb::kw_only(), "impl"_a = nb::none(),
        "The key of a seed, an array uint32[2]; of an array of seeds one for each.",
        nb::sig("def key(seed: int | neap.typing.ArrayLike, *, impl: str | None = None) -> Array"));
  m.attr("PRNGKey") = m.attr("key");
  m.def(
      "split",
      [](Arg key, nb::handle num) {
        return PyLong_Check(num.ptr()) ? nr::split(key, int_from(num, "split"))
                                       : nr::split(key, shape_from(num, "split"));
      },
      "key"_a, "num"_a = 2, "New independent keys.",
      nb::sig("def split(key: neap.typing.ArrayLike, num: int | tuple[int, ...] = 2) -> Array"));
  m.def(
      "fold_in", [](Arg key, Arg data) { return nr::fold_in(key, data); }, "key"_a, "data"_a,
      "A new key of a key and a number.");
  m.def(
      "bits",
      [](Arg key, nb::handle shape, DTypeArg dtype) {
        return nr::bits(key, shape_from(shape, "shape"), dtype.value_or(u32));
      },
      "key"_a, "shape"_a = nb::tuple(), "dtype"_a = nb::none(), "Uniform bits.");
  m.def(
      "uniform",
      [](Arg key, nb::handle shape, DTypeArg dtype, Arg low, Arg high, bool exact) {
        const Operand k = key, a = low, b = high;
        const Shape s = shape_from(shape, "shape");
        const DType d = dtype.value_or(f32);
        return unlocked([&] { return nr::uniform(k, s, d, a, b, exact); });
      },
      "key"_a, "shape"_a = nb::tuple(), "dtype"_a = nb::none(), "minval"_a = 0.0, "maxval"_a = 1.0, nb::kw_only(),
      "exact_jax"_a = false, "Draws uniformly from [minval, maxval).");
  m.def(
      "normal",
      [](Arg key, nb::handle shape, DTypeArg dtype, bool exact) {
        const Operand k = key;
        const Shape s = shape_from(shape, "shape");
        const DType d = dtype.value_or(f32);
        return unlocked([&] { return nr::normal(k, s, d, exact); });
      },
      "key"_a, "shape"_a = nb::tuple(), "dtype"_a = nb::none(), nb::kw_only(), "exact_jax"_a = false,
      "Draws from the standard normal distribution.");
  m.def(
      "randint",
      [](Arg key, ShapeArg shape, Arg low, Arg high, DTypeArg dtype) {
        return nr::randint(key, shape, low, high, dtype.value_or(i32));
      },
      "key"_a, "shape"_a, "minval"_a, "maxval"_a, "dtype"_a = nb::none(), "Draws integers from [minval, maxval).");
  m.def(
      "bernoulli", [](Arg key, Arg p, nb::handle shape) { return nr::bernoulli(key, p, maybe_shape(shape)); }, "key"_a,
      "p"_a = 0.5, "shape"_a = nb::none(), "True with probability p.");
  m.def(
      "truncated_normal",
      [](Arg key, Arg low, Arg high, nb::handle shape, DTypeArg dtype) {
        return nr::truncated_normal(key, low, high, shape_from(shape, "shape"), dtype.value_or(f32));
      },
      "key"_a, "lower"_a, "upper"_a, "shape"_a = nb::tuple(), "dtype"_a = nb::none(),
      "Normal numbers between two bounds.");
  plain(m, "exponential", nr::exponential, "Draws from the exponential distribution of mean 1.");
  plain(m, "gumbel", nr::gumbel, "Draws from the standard Gumbel distribution.");
  plain(m, "laplace", nr::laplace, "Draws from the Laplace distribution.");
  plain(m, "logistic", nr::logistic, "Draws from the logistic distribution.");
  plain(m, "cauchy", nr::cauchy, "Draws from the Cauchy distribution.");
  m.def(
      "rademacher",
      [](Arg key, nb::handle shape, DTypeArg dtype) {
        return nr::rademacher(key, shape_from(shape, "shape"), dtype.value_or(i32));
      },
      "key"_a, "shape"_a = nb::tuple(), "dtype"_a = nb::none(), "Draws -1 or 1.");
  m.def(
      "categorical",
      [](Arg key, Arg logits, int64_t axis, nb::handle shape) {
        return nr::categorical(key, logits, axis, maybe_shape(shape));
      },
      "key"_a, "logits"_a, "axis"_a = -1, "shape"_a = nb::none(), "Draws indices from softmax(logits).");
  of_one(m, "gamma", "a", nr::gamma, f32, "Draws gamma numbers of shape parameter a and scale 1.");
  of_one(m, "loggamma", "a", nr::loggamma, f32, "The logarithms of gamma numbers.");
  of_one(m, "dirichlet", "alpha", nr::dirichlet, f32, "Draws points whose coordinates add up to 1.");
  of_one(m, "t", "df", nr::student_t, f32, "Draws from Student's t distribution.");
  of_one(m, "chisquare", "df", nr::chi_squared, f32, "Draws from the chi-squared distribution.");
  m.def(
      "lognormal",
      [](Arg key, Arg sigma, nb::handle shape, DTypeArg dtype) {
        return nr::lognormal(key, sigma, maybe_shape(shape), dtype.value_or(f32));
      },
      "key"_a, "sigma"_a = 1.0, "shape"_a = nb::none(), "dtype"_a = nb::none(),
      "Draws numbers whose logarithms are normal, of standard deviation sigma.");
  of_one(m, "poisson", "lam", nr::poisson, i32, "Counts random arrivals where lam are expected.");
  m.def(
      "beta",
      [](Arg key, Arg a, Arg b, nb::handle shape, DTypeArg dtype) {
        return nr::beta(key, a, b, maybe_shape(shape), dtype.value_or(f32));
      },
      "key"_a, "a"_a, "b"_a, "shape"_a = nb::none(), "dtype"_a = nb::none(), "Draws from the beta distribution.");
  m.def(
      "binomial",
      [](Arg key, Arg n, Arg p, nb::handle shape, DTypeArg dtype) {
        return nr::binomial(key, n, p, maybe_shape(shape), dtype.value_or(f32));
      },
      "key"_a, "n"_a, "p"_a, "shape"_a = nb::none(), "dtype"_a = nb::none(), "Counts successes among n trials.");
  m.def(
      "permutation",
      [](Arg key, nb::handle x, int64_t axis) {
        return PyLong_Check(x.ptr()) ? nr::permutation(key, int_from(x, "permutation"))
                                     : nr::permutation(key, array_from(x, here()), axis);
      },
      "key"_a, "x"_a, "axis"_a = 0, "0 to x - 1 in random order, or the slices of an array.",
      nb::sig("def permutation(key: neap.typing.ArrayLike, x: int | neap.typing.ArrayLike, axis: int = 0) -> Array"));
  m.def("choice", choice_of, "key"_a, "a"_a, "shape"_a = nb::tuple(), "replace"_a = true, "p"_a = nb::none(),
        "axis"_a = 0, "Draws indices below a, or slices of an array.",
        nb::sig(
            "def choice(key: neap.typing.ArrayLike, a: int | neap.typing.ArrayLike, shape: int | tuple[int, ...] = (), "
            "replace: bool = True, p: neap.typing.ArrayLike | None = None, axis: int = 0) -> Array"));
  m.def(
      "multivariate_normal",
      [](Arg key, Arg mean, Arg cov, nb::handle shape, DTypeArg dtype, const std::string& method) {
        return nr::multivariate_normal(key, mean, cov, maybe_shape(shape), dtype, method_from(method));
      },
      "key"_a, "mean"_a, "cov"_a, "shape"_a = nb::none(), "dtype"_a = nb::none(), "method"_a = "cholesky",
      "Draws normal vectors.");
  m.def(
      "orthogonal",
      [](Arg key, int64_t n, nb::handle shape, DTypeArg dtype, std::optional<int64_t> columns) {
        return nr::orthogonal(key, n, shape_from(shape, "shape"), dtype.value_or(f32), columns);
      },
      "key"_a, "n"_a, "shape"_a = nb::tuple(), "dtype"_a = nb::none(), "m"_a = nb::none(),
      "Draws orthogonal matrices.");
}

}  // namespace neap::python
