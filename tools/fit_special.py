#!/usr/bin/env python3
"""Makes the tables of trace/library/special_tables.h: coefficients of Chebyshev's series, interpolated at his points with mpmath.

    pip install mpmath && python tools/fit_special.py

A table says as much as f64 holds; f32 takes its first coefficients, as many as `kind.f32` says.
"""

import pathlib

import mpmath
from mpmath import mpf

mpmath.mp.dps = 50
EXPI_ROOT = mpmath.findroot(mpmath.ei, mpf("0.3725"))


def series(f, low, high, points=80):
    """The coefficients of f(low ... high) in Chebyshev polynomials of t in [-1, 1]."""
    angles = [mpmath.pi * (k + mpf(1) / 2) / points for k in range(points)]
    values = [f(low + (high - low) * (mpmath.cos(a) + 1) / 2) for a in angles]
    scale = mpf(2) / points
    c = [scale * sum(v * mpmath.cos(j * a) for v, a in zip(values, angles)) for j in range(points)]
    c[0] /= 2
    return c


def needed(c, bits):
    size = max(abs(v) for v in c)
    return max(j for j, v in enumerate(c) if abs(v) > size * mpf(2) ** -bits) + 1


def bessel(order, x):
    return mpmath.exp(-x) * mpmath.besseli(order, x)


def scaled_expi(r):
    return mpmath.exp(-1 / r) * mpmath.ei(1 / r) / r


def scaled_exp1(r):
    return mpmath.exp(1 / r) * mpmath.e1(1 / r) / r


def expi_rest(x):
    if abs(x - EXPI_ROOT) < mpf("1e-18"):
        return mpmath.exp(-x / 2) * (mpmath.exp(x) - 1) / x
    return mpmath.exp(-x / 2) * (mpmath.ei(x) - mpmath.log(x / EXPI_ROOT)) / (x - EXPI_ROOT)


TABLES = {
    "kBesselI0Near": ("exp(-x) I0(x) sqrt(x + 4), x in [0, 8]", lambda x: bessel(0, x) * mpmath.sqrt(x + 4), 0, 8),
    "kBesselI0Far": ("exp(-x) I0(x) sqrt(x), 1 / x in [0, 1/8]", lambda r: bessel(0, 1 / r) / mpmath.sqrt(r), 0, mpf(1) / 8),
    "kBesselI1Near": ("exp(-x) I1(x) / x (x + 4)^1.5, x in [0, 8]", lambda x: bessel(1, x) / x * mpmath.sqrt(x + 4) ** 3, 0, 8),
    "kBesselI1Far": ("exp(-x) I1(x) sqrt(x), 1 / x in [0, 1/8]", lambda r: bessel(1, 1 / r) / mpmath.sqrt(r), 0, mpf(1) / 8),
    "kReciprocalGamma": ("1 / gamma(1 + x), x in [0, 1]", lambda x: mpmath.rgamma(1 + x), 0, 1),
    "kLogGamma": ("log(gamma(1 + x)) / (x (x - 1)), x in [0, 1]", lambda x: mpmath.loggamma(1 + x) / (x * (x - 1)), 0, 1),
    "kExpi1": ("exp(-x / 2) (Ei(x) - log(x / root)) / (x - root), x in [0, 6]", expi_rest, 0, 6),
    "kExpi2": ("x exp(-x) Ei(x), 1 / x in [1/12, 1/6]", scaled_expi, mpf(1) / 12, mpf(1) / 6),
    "kExpi3": ("x exp(-x) Ei(x), 1 / x in [1/24, 1/12]", scaled_expi, mpf(1) / 24, mpf(1) / 12),
    "kExpi4": ("x exp(-x) Ei(x), 1 / x in [0, 1/24]", scaled_expi, 0, mpf(1) / 24),
    "kExp1Near": ("E1(x) + log(x), x in [0, 1]", lambda x: mpmath.e1(x) + mpmath.log(x), 0, 1),
    "kExp1Middle": ("x exp(x) E1(x), 1 / x in [1/4, 1]", scaled_exp1, mpf(1) / 4, 1),
    "kExp1Far": ("x exp(x) E1(x), 1 / x in [0, 1/4]", scaled_exp1, 0, mpf(1) / 4),
    "kSpence": ("spence(1 + x) / x, x in [-1/2, 1/2]", lambda x: mpmath.polylog(2, -x) / x, -mpf(1) / 2, mpf(1) / 2),
}  # fmt: skip


def gauss_legendre(count):
    """Nodes and weights on [-1, 1]."""
    for k in range(count, 0, -1):
        x = mpmath.cos(mpmath.pi * (k - mpf(1) / 4) / (count + mpf(1) / 2))
        for _ in range(8):  # Newton
            p = mpmath.legendre(count, x)
            slope = count * (mpmath.legendre(count - 1, x) - x * p) / (1 - x * x)
            x -= p / slope
        yield x, 2 / ((1 - x * x) * slope**2)


def main():
    out = ["// Made by tools/fit_special.py, which says how: coefficients in Chebyshev polynomials, the first `f32` of which f32 needs.",
           "#pragma once", "", "#include <span>", "", "namespace neap::tracing {", "",
           "struct Chebyshev {", "  std::span<const double> c;", "  double low, high;  // where the argument lies", "  int f32;", "};", ""]  # fmt: skip
    for name, (what, f, low, high) in TABLES.items():
        c = series(f, mpf(low), mpf(high))
        count = needed(c, 56)
        values = ", ".join(mpmath.nstr(v, 18, min_fixed=0, max_fixed=0) for v in c[:count])
        out += [f"// {what}", f"inline constexpr double {name}Terms[] = {{{values}}};",
                f"inline constexpr Chebyshev {name}{{{name}Terms, {float(low)!r}, {float(high)!r}, {needed(c, 27)}}};", ""]  # fmt: skip
        print(name, count, needed(c, 27))
    out += ["// Nodes and weights of Gauss' and Legendre's rule on [0, 1].", "struct GaussNode {", "  double at, weight;", "};"]
    for count in (12, 24):
        rule = [(mpmath.nstr((x + 1) / 2, 18), mpmath.nstr(w / 2, 18)) for x, w in gauss_legendre(count)]
        out += [f"inline constexpr GaussNode kGauss{count}[] = {{" + ", ".join(f"{{{x}, {w}}}" for x, w in rule) + "};"]
    out += ["", f"inline constexpr double kExpiRoot = {mpmath.nstr(EXPI_ROOT, 18)}, kExpiRootRest = "
            f"{mpmath.nstr(EXPI_ROOT - mpf(float(EXPI_ROOT)), 18)};", "", "}  // namespace neap::tracing", ""]  # fmt: skip
    path = pathlib.Path(__file__).resolve().parent.parent / "trace/library/special_tables.h"
    path.write_text("\n".join(out))  # clang-format lays it out


main()
