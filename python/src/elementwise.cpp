// Elementwise functions: the op table under jax.numpy's names, and what numpy.h makes of it.
#include <set>
#include <string_view>

#include "device.h"

namespace neap::python {
namespace {

using Unary = Array (*)(const Operand&);
using Binary = Array (*)(const Operand&, const Operand&);
using Ternary = Array (*)(const Operand&, const Operand&, const Operand&);

void unary(Binder& b, const char* name, Unary f, const char* doc) {
  b.m.def(name, [f](Arg x) { return elementwise(f, x); }, "x"_a, doc);
}
void binary(Binder& b, const char* name, Binary f, const char* doc) {
  b.m.def(name, [f](Arg x, Arg y) { return elementwise(f, x, y); }, "x"_a, "y"_a, doc);
}
void ternary(Binder& b, const char* name, Ternary f, const char* doc) {
  b.m.def(
      name,
      [f](Arg x, Arg y, Arg z) {
        const Operand p = x, q = y, r = z;
        return unlocked([&] { return f(p, q, r); });
      },
      "x"_a, "y"_a, "z"_a, doc);
}

// Rows whose names mean something else in NumPy: theirs are below.
bool is_internal(std::string_view name) {
  return std::set<std::string_view>{"abs", "floor",  "ceil",     "trunc",      "divide",     "remainder",
                                    "pow", "select", "popcount", "shift_left", "shift_right"}
      .contains(name);
}

void bind_table(Binder& b) {
#define NEAP_UNARY(name, types, dx, kernel, reference, complex, doc) \
  if (!is_internal(#name)) unary(b, #name, static_cast<Unary>(neap::name), doc);
#define NEAP_BINARY(name, types, dx, dy, kernel, reference, complex, doc) \
  if (!is_internal(#name)) binary(b, #name, static_cast<Binary>(neap::name), doc);
#define NEAP_TERNARY(name, types, dx, dy, dz, kernel, reference, complex, doc) \
  if (!is_internal(#name)) ternary(b, #name, static_cast<Ternary>(neap::name), doc);
#include <neap/ops.def>
#undef NEAP_UNARY
#undef NEAP_BINARY
#undef NEAP_TERNARY
}

// Integers are whole already, and keep their dtype, as in JAX; so does the absolute value of a bool.
template <auto f>
Array unless_whole(const Operand& x) {
  return is_inexact(x.dtype()) ? f(x) : x.as_array();
}

void bind_numpy(Binder& b) {
  unary(b, "floor", unless_whole<static_cast<Unary>(neap::floor)>, "Largest integer not above x.");
  unary(b, "ceil", unless_whole<static_cast<Unary>(neap::ceil)>, "Smallest integer not below x.");
  unary(b, "trunc", unless_whole<static_cast<Unary>(neap::trunc)>, "x without its fraction.");
  unary(
      b, "abs", [](const Operand& x) { return x.dtype() == DType::bool_ ? x.as_array() : neap::abs(x); },
      "Absolute value.");
  binary(
      b, "divide", [](const Operand& x, const Operand& y) { return x / y; },
      "The true quotient: integers give float32.");
  binary(b, "remainder", mod, "The remainder, with the sign of y.");
  binary(b, "floor_divide", floor_divide, "x / y rounded down.");
  binary(b, "power", power, "x to the y; by repeated multiplication where y is a number of Python's int.");
  binary(b, "float_power", float_power, "x to the y, integers as float32.");
  binary(b, "fmod", fmod, "The remainder of truncated division, with the sign of x.");
  binary(b, "logaddexp", logaddexp, "log(exp(x) + exp(y)) without overflow.");
  binary(b, "logaddexp2", logaddexp2, "log2(2^x + 2^y) without overflow.");
  binary(b, "fmax", fmax, "The larger of the two; where one is NaN, the other.");
  binary(b, "fmin", fmin, "The smaller of the two; where one is NaN, the other.");
  binary(b, "heaviside", heaviside, "0 below 0, 1 above, y at 0.");
  binary(b, "ldexp", ldexp, "x * 2^y.");
  binary(b, "logical_and", logical_and, "Whether both are true.");
  binary(b, "logical_or", logical_or, "Whether one of the two is true.");
  binary(b, "logical_xor", logical_xor, "Whether just one of the two is true.");
  unary(b, "logical_not", logical_not, "Whether x is false.");
  unary(b, "positive", positive, "x.");
  unary(b, "fix", fix, "Rounds toward zero.");
  unary(b, "sinc", sinc, "sin(pi x) / (pi x), 1 at 0.");
  unary(b, "deg2rad", deg2rad, "Degrees to radians.");
  unary(b, "rad2deg", rad2deg, "Radians to degrees.");
  unary(b, "signbit", signbit, "Whether the sign bit is set.");
  unary(b, "isposinf", isposinf, "Whether x is positive infinity.");
  unary(b, "isneginf", isneginf, "Whether x is negative infinity.");
  unary(b, "real", real, "The real part.");
  unary(b, "imag", imag, "The imaginary part; zeros of a real array.");
  unary(b, "conj", conj, "The complex conjugate.");
  unary(b, "angle", angle, "The angle of x in (-pi, pi], radians.");
  unary(
      b, "bitwise_count", [](const Operand& x) { return popcount(x).astype(DType::u8, x.loc()); },
      "The number of one bits, as uint8.");
  binary(b, "left_shift", shift_left, "x << y.");
  binary(b, "right_shift", shift_right, "x >> y.");
  binary(b, "gcd", gcd, "The greatest common divisor of integers.");
  binary(b, "lcm", lcm, "The least common multiple of integers.");
  binary(b, "complex", complex, "x + i y.");
  b.m.def(
      "divmod", [](Arg x, Arg y) { return divmod(x, y); }, "x1"_a, "x2"_a,
      "floor_divide(x1, x2) and remainder(x1, x2).");
  b.m.def("modf", [](Arg x) { return modf(x); }, "x"_a, "The fractional and the integral part.");
  b.m.def("frexp", [](Arg x) { return frexp(x); }, "x"_a, "The fraction, in [0.5, 1), and the exponent of two.");
  b.both(
      "round", "a", [](Arg x, int64_t decimals) { return round(x, decimals); }, "decimals"_a = 0,
      "Rounds to so many decimals, halves to even.");
  b.m.def(
      "nan_to_num",
      [](Arg x, double nan, std::optional<double> posinf, std::optional<double> neginf) {
        return nan_to_num(x, nan, posinf, neginf);
      },
      "x"_a, "nan"_a = 0.0, "posinf"_a = nb::none(), "neginf"_a = nb::none(), "Replaces NaN and infinities.");
  b.m.def(
      "isclose", [](Arg x, Arg y, double rtol, double atol, bool equal) { return isclose(x, y, rtol, atol, equal); },
      "a"_a, "b"_a, "rtol"_a = 1e-5, "atol"_a = 1e-8, "equal_nan"_a = false, "Whether |a - b| <= atol + rtol * |b|.");
  b.m.def(
      "allclose", [](Arg x, Arg y, double rtol, double atol, bool equal) { return allclose(x, y, rtol, atol, equal); },
      "a"_a, "b"_a, "rtol"_a = 1e-5, "atol"_a = 1e-8, "equal_nan"_a = false, "Whether isclose() is true everywhere.");
  b.m.def(
      "array_equal", [](Arg x, Arg y) { return array_equal(x, y); }, "a1"_a, "a2"_a,
      "Whether shapes and elements are equal.");
}

void bind_special(Binder& b) {
  unary(b, "logit", logit, "log(x / (1 - x)).");
  unary(b, "expit", expit, "sigmoid(x).");
  unary(b, "entr", entr, "-x * log(x), 0 at 0.");
  unary(b, "ndtr", ndtr, "The standard normal distribution's cumulative function.");
  binary(b, "xlogy", xlogy, "x * log(y), 0 where x is 0.");
  binary(b, "xlog1py", xlog1py, "x * log(1 + y), 0 where x is 0.");
  binary(b, "rel_entr", rel_entr, "x * log(x / y), 0 where x is 0.");
  binary(b, "kl_div", kl_div, "x * log(x / y) - x + y.");
  binary(b, "betaln", betaln, "The logarithm of the beta function.");
  unary(b, "i0", i0, "The modified Bessel function of order 0.");
}

void bind_select(Binder& b) {
  b.m.def(
      "where",
      [](nb::handle c, nb::handle x, nb::handle y) {
        if (x.is_none() && y.is_none()) return nb::object(nb::module_::import_("neap._neap").attr("nonzero")(c));
        const std::source_location loc = here();
        const Operand p = operand_from(c, loc), q = operand_from(x, loc), r = operand_from(y, loc);
        return nb::cast(unlocked([&] { return where(p, q, r); }));
      },
      "condition"_a, "x"_a = nb::none(), "y"_a = nb::none(),
      "x where the condition is true, else y; of a condition alone its indices.",
      nb::sig("def where(condition: neap.typing.ArrayLike, x: neap.typing.ArrayLike | None = None, y: "
              "neap.typing.ArrayLike | None = None) -> typing.Any"));
  b.both(
      "clip", "arr",
      [](Arg a, nb::handle low, nb::handle high) {
        const std::source_location loc = here();
        Operand x = a;
        if (!low.is_none()) x = Operand(maximum(x, operand_from(low, loc)), loc);
        if (!high.is_none()) x = Operand(minimum(x, operand_from(high, loc)), loc);
        return x.as_array();
      },
      "min"_a = nb::none(), "max"_a = nb::none(), "min(max(x, low), high).");
  b.m.def(
      "clamp", [](Arg low, Arg x, Arg high) { return clamp(x, low, high); }, "min"_a, "x"_a, "max"_a,
      "jax.lax's clip.");
  b.c.def(
      "astype",
      [](const Array& x, DTypeArg dtype, bool) {
        const DType wanted = dtype.value_or(f32);
        const Operand a(x, here());
        return elementwise([&](const Operand& o) { return convert(o, wanted); }, a);
      },
      "dtype"_a, "copy"_a = false, "The array in another dtype.");
  b.m.def(
      "astype",
      [](Arg x, DTypeArg dtype, bool, nb::handle device) { return placed(convert(x, dtype.value_or(f32)), device); },
      "x"_a, "dtype"_a, "copy"_a = false, "device"_a = nb::none(), "The array in another dtype.");
  b.both(
      "view", "x", [](Arg x, DTypeArg dtype) { return bitcast(x, dtype.value_or(f32)); }, "dtype"_a,
      "The same bits as another dtype; of another width the last axis has as many more or fewer elements.");
  b.c.def_prop_ro("real", [](const Array& x) { return real(Operand(x, here())); }, "The real part.");
  b.c.def_prop_ro("imag", [](const Array& x) { return imag(Operand(x, here())); }, "The imaginary part.");
  b.c.def("conj", [](const Array& x) { return conj(Operand(x, here())); }, "The complex conjugate.");
  b.c.def("conjugate", [](const Array& x) { return conj(Operand(x, here())); }, "The complex conjugate.");
}

}  // namespace

void bind_elementwise(Binder& b) {
  bind_table(b);
  bind_numpy(b);
  bind_special(b);
  bind_select(b);
  const std::pair<const char*, const char*> aliases[] = {{"true_divide", "divide"},
                                                         {"mod", "remainder"},
                                                         {"pow", "power"},
                                                         {"absolute", "abs"},
                                                         {"arcsin", "asin"},
                                                         {"arccos", "acos"},
                                                         {"arctan", "atan"},
                                                         {"arctan2", "atan2"},
                                                         {"arcsinh", "asinh"},
                                                         {"arccosh", "acosh"},
                                                         {"arctanh", "atanh"},
                                                         {"conjugate", "conj"},
                                                         {"degrees", "rad2deg"},
                                                         {"radians", "deg2rad"},
                                                         {"invert", "bitwise_not"},
                                                         {"bitwise_invert", "bitwise_not"},
                                                         {"erfinv", "erf_inv"},
                                                         {"gammaln", "lgamma"},
                                                         {"around", "round"},
                                                         {"bitwise_left_shift", "left_shift"},
                                                         {"bitwise_right_shift", "right_shift"}};
  for (const auto& [name, of] : aliases) b.alias(name, of);
}

}  // namespace neap::python
