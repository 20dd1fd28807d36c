#!/usr/bin/env python3
"""Minimax polynomials of trace/scalar/scalar_exp.cpp, _log, _trig, _trig_f64, _erf and _pow. Needs mpmath, numpy and scipy.

Those of f32 are the Remez exchange on a weight that makes the error of the function relative. Coefficients are rounded
to f32 one by one from the highest power down, and those below refitted to what is left. Those of f64 interpolate.
Prints name, largest error, and the coefficients from the constant term up.
"""
import mpmath
import numpy as np
from scipy.special import erf, erfc, erfcx

LN2 = np.log(2)


def remez(function, weight, low, high, powers, fixed={}, grid=8001, rounds=30):
    """{power: coefficient} least in max |weight * (sum c v^p - function)|, with `fixed` coefficients given; the error."""
    count, scale = len(powers), max(abs(low), abs(high))
    v = (low + high) / 2 - (high - low) / 2 * np.cos(np.pi * np.arange(grid) / (grid - 1))
    target = function(v).astype(np.longdouble)
    for p, c in fixed.items():
        target = target - np.longdouble(c) * v.astype(np.longdouble) ** p
    target, w = target.astype(float), weight(v)
    basis = np.stack([(v / scale) ** p for p in powers], 1)
    at = np.round((grid - 1) * np.arange(count + 1) / count).astype(int)
    best = (np.inf, None)
    for _ in range(rounds):
        signs = (-1.0) ** np.arange(count + 1) / w[at]
        solution = np.linalg.solve(np.hstack([basis[at], signs[:, None]]), target[at])
        error = w * (basis @ solution[:count] - target)
        if np.abs(error).max() < best[0]:
            best = (np.abs(error).max(), solution[:count])
        if np.abs(error).max() <= abs(solution[count]) * 1.002:
            break
        runs = np.split(np.arange(grid), np.flatnonzero(np.diff(np.sign(error))) + 1)
        peaks = np.array([run[np.abs(error[run]).argmax()] for run in runs])
        while len(peaks) > count + 1:  # drop the smallest, in pairs when it is inside, so that signs alternate
            size = np.abs(error[peaks])
            j = size.argmin()
            if 0 < j < len(peaks) - 1 and len(peaks) > count + 2:
                peaks = np.delete(peaks, [j, j - 1 if size[j - 1] < size[j + 1] else j + 1])
            else:
                peaks = peaks[1:] if size[0] < size[-1] else peaks[:-1]
        if len(peaks) < count + 1:
            break
        at = peaks
    return {p: c / scale**p for p, c in zip(powers, best[1])}, best[0]


def remez_f32(function, weight, low, high, degree):
    rest, done = list(range(degree + 1)), {}
    while rest:
        fitted, _ = remez(function, weight, low, high, rest, done)
        power = rest.pop()
        done[power] = float(np.float32(fitted[power]))
    v = np.linspace(low, high, 50001)
    return done, np.abs(weight(v) * (sum(c * v**p for p, c in done.items()) - function(v))).max()


def near(f, series, width):
    """f where it keeps its digits, its series near 0."""
    return lambda v: np.where(np.abs(v) < width, series(v), f(np.where(np.abs(v) < width, width, v)))


def odd(f, *series):
    """(f(sqrt z) / sqrt z - 1) / z for an odd f with f(x) ~ x."""
    return near(lambda z: (f(np.sqrt(z)) / np.sqrt(z) - 1) / z, lambda z: np.polyval(series[::-1], z), 1e-2)


def show(name, fit):
    print(f"{name}: 2^{np.log2(fit[1]):.2f}", [float(fit[0][p]) for p in sorted(fit[0])], flush=True)


def interpolate(name, f, low, high, degree):
    fit = np.polynomial.Chebyshev.interpolate(f, degree, [low, high]).convert(kind=np.polynomial.Polynomial)
    print(f"{name}:", [float(c) for c in fit.coef], flush=True)


def interpolate_f64(name, f, low, high, degree):
    """Coefficients for f64, of the polynomial that has f's values at Chebyshev's points, in 60 digits."""
    mpmath.mp.dps = 60
    count, middle, half = degree + 1, (low + high) / 2, (high - low) / 2
    points = [middle + half * mpmath.cos(mpmath.pi * (2 * k + 1) / (2 * count)) for k in range(count)]
    matrix = mpmath.matrix([[x**p for p in range(count)] for x in points])
    exact = mpmath.lu_solve(matrix, mpmath.matrix([f(x) for x in points]))
    rest = float(exact[0] - mpmath.mpf(float(exact[0])))  # the second part of the first one
    print(f"{name}:", [float(c) for c in exact], "first +", rest.hex(), flush=True)


def main():
    h = LN2 / 2 * 1.01
    exp2nd = near(lambda r: (np.expm1(r) - r) / r**2, lambda r: 1 / 2 + r / 6 + r**2 / 24 + r**3 / 120 + r**4 / 720, 0.02)
    slope = near(lambda r: np.expm1(r) / r, lambda r: 1 + r / 2 + r**2 / 6 + r**3 / 24 + r**4 / 120 + r**5 / 720, 0.02)
    slope2 = lambda r: slope(r * LN2) * LN2
    show("exp, 1 + r + r^2 q(r)", remez_f32(exp2nd, lambda r: r * r / np.exp(r), -h, h, 4))
    show("expm1, r + r^2 q(r)", remez_f32(exp2nd, lambda r: np.abs(r / slope(r)), -h, h, 4))
    show("exp of tanh, 1 + r q(r)", remez_f32(slope, lambda r: np.abs(r) / np.exp(r), -h, h, 4))
    for degree in (4, 5):
        show("exp2, 1 + r q(r)", remez_f32(slope2, lambda r: np.abs(r) / np.exp2(r), -0.505, 0.505, degree))

    low, high = 2**-0.5 - 1, 2**0.5 - 1
    log_slope = near(lambda r: np.log1p(r) / r, lambda r: sum((-r) ** k / (k + 1) for k in range(9)), 0.02)
    log2nd = near(lambda r: (np.log1p(r) - r) / r**2, lambda r: -sum((-r) ** k / (k + 2) for k in range(10)), 0.02)
    show("log, r + r^2 q(r)", remez_f32(log2nd, lambda r: np.abs(r / log_slope(r)), low, high, 7))
    show("log2, r q(r)", remez_f32(lambda r: log_slope(r) / LN2, lambda r: LN2 / log_slope(r), low, high, 9))
    ln10 = np.log(10)
    show("log10, r q(r)", remez_f32(lambda r: log_slope(r) / ln10, lambda r: ln10 / log_slope(r), low, high, 9))
    exact = near(lambda r: np.log1p(r) / r, lambda r: sum((-r) ** k / (k + 1) for k in range(7)), 1e-3)
    show("log2 of pow, f64", remez(lambda r: exact(r) / LN2, lambda r: LN2 / exact(r), low, high, range(13)))

    z4 = (np.pi / 4 * 1.001) ** 2
    cosine = near(lambda z: (np.cos(np.sqrt(z)) - 1) / z, lambda z: -1 / 2 + z / 24 - z**2 / 720 + z**3 / 40320, 1e-3)
    show("cos, 1 + z q(z)", remez_f32(cosine, lambda z: z / np.cos(np.sqrt(z)), 1e-5, z4, 3))
    for name, f, end, degree in (
        ("sin", odd(np.sin, -1 / 6, 1 / 120, -1 / 5040, 1 / 362880), z4, 2),
        ("tan", odd(np.tan, 1 / 3, 2 / 15, 17 / 315, 62 / 2835, 1382 / 155925), z4, 6),
        ("atan", odd(np.arctan, -1 / 3, 1 / 5, -1 / 7, 1 / 9, -1 / 11, 1 / 13), 1, 8),
        ("asin", odd(np.arcsin, 1 / 6, 3 / 40, 15 / 336, 105 / 3456, 945 / 42240), 0.2505, 4),
        ("sinh", odd(np.sinh, 1 / 6, 1 / 120, 1 / 5040), 1, 2),
        ("tanh", odd(np.tanh, -1 / 3, 2 / 15, -17 / 315, 62 / 2835, -1382 / 155925), 0.36, 3),
    ):
        show(f"{name}, x + x z q(z)", remez_f32(f, lambda z: z / (1 + z * f(z)), 1e-5, end, degree))

    small = near(lambda z: erf(np.sqrt(z)) / np.sqrt(z) - 1, lambda z: 2 / np.sqrt(np.pi) - 1 + 0 * z, 1e-8)
    show("erf, x + x q(z)", remez_f32(small, lambda z: 1 / (1 + small(z)), 0, 0.93**2, 5))
    show("erf, 1 - 2^-q(x)", remez_f32(lambda t: -np.log2(erfc(t)), lambda t: erfc(t) / erf(t) * LN2, 0.93, 3.95, 5))
    point = lambda t: 3.75 * (1 + t) / (1 - t)
    interpolate("(1 + 2 x) erfcx(x)", lambda t: (1 + 2 * point(t)) * erfcx(point(t)), -1, 6.35 / 13.85, 11)
    interpolate("2^r of erfc, 1 + r q(r)", slope2, -0.502, 0.502, 6)

    end = mpmath.log(2) / 2 * mpmath.mpf("1.01")
    second = lambda r: (mpmath.expm1(r) - r) / r**2 if abs(r) > 1e-20 else mpmath.mpf(0.5)
    interpolate_f64("exp of f64, 1 + r + r^2 q(r)", second, -end, end, 10)
    end = mpmath.mpf("1.01") * ((mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)) ** 2
    atanh = lambda z: mpmath.atanh(mpmath.sqrt(z)) / mpmath.sqrt(z)
    interpolate_f64("log of f64, 2 s + s z q(z), z = s^2", lambda z: 2 * (atanh(z) - 1) / z, mpmath.mpf(0), end, 6)

    def odd_f64(f):
        return lambda z: (f(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1) / z

    none, quarter = mpmath.mpf("1e-25"), (mpmath.pi / 4 * mpmath.mpf("1.0001")) ** 2
    interpolate_f64("sin of f64, x + x z q(z), z = x^2", odd_f64(mpmath.sin), none, quarter, 5)
    cosine = lambda z: (mpmath.cos(mpmath.sqrt(z)) - 1 + z / 2) / z**2
    interpolate_f64("cos of f64, 1 - z / 2 + z^2 q(z)", cosine, mpmath.mpf("1e-20"), quarter, 5)
    interpolate_f64("atan of f64, x + x z q(z)", odd_f64(mpmath.atan), none, mpmath.mpf(1), 19)
    interpolate_f64("asin of f64, x + x z q(z)", odd_f64(mpmath.asin), none, mpmath.mpf("0.25"), 12)
    end = mpmath.mpf("1.01") * ((mpmath.sqrt(2) - 1) / (mpmath.sqrt(2) + 1)) ** 2
    fifth = lambda z: ((atanh(z) - 1) / z - mpmath.mpf(1) / 3) / z
    interpolate_f64("log of pow of f64, 2 s (1 + z (1/3 + z q(z)))", fifth, mpmath.mpf("1e-20"), end, 7)
    near_0 = lambda z: mpmath.erf(mpmath.sqrt(z)) / mpmath.sqrt(z) - 1
    interpolate_f64("erf of f64, x + x q(z)", near_0, none, mpmath.mpf(1), 11)
    for middle, low, high, degree in (("3", "1", "6", 16), ("3.75", "0.5", "27.4", 20)):
        middle, low, high = mpmath.mpf(middle), mpmath.mpf(low), mpmath.mpf(high)
        x = lambda t: middle * (1 + t) / (1 - t)
        g = lambda t: (1 + 2 * x(t)) * mpmath.exp(x(t) ** 2) * mpmath.erfc(x(t))
        ends = (low - middle) / (low + middle), (high - middle) / (high + middle)
        interpolate_f64("(1 + 2 x) erfcx(x) of f64", g, *ends, degree)


if __name__ == "__main__":
    main()
