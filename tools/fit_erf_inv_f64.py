#!/usr/bin/env python3
"""The quotients of polynomials of erf_inv of f64 in trace/scalar/scalar_erf_inv.cpp. Needs mpmath.

erf_inv(x) / x is fitted in w = -log(1 - x^2), from 0 to 6.25 and, in the distance from there, to 36.1: least squares at
Chebyshev's points, of the relative error, whose weights are the denominators of the round before. Prints the largest
relative error of each and the coefficients from the constant term up.
"""
import mpmath as mp

POINTS, ROUNDS = 120, 8


def quotient(w):
    """erf_inv(x) / x, by Halley's method."""
    x = mp.sqrt(-mp.expm1(-w))
    rest = mp.exp(-w) / (1 + x)  # 1 - x
    y = mp.sqrt(w) if w > 1 else x * mp.sqrt(mp.pi) / 2
    step = mp.inf
    while abs(step) > mp.mpf(10) ** -45:
        newton = (mp.erfc(y) - rest) / (-2 / mp.sqrt(mp.pi) * mp.exp(-y * y))
        step = newton / (1 + y * newton)
        y -= step
    return y / x


def fit(low, high, above, below):
    half = mp.mpf(high - low) / 2
    v = [half + half * mp.cos(mp.pi * (2 * k + 1) / (2 * POINTS)) for k in range(POINTS)]  # from `low` on
    truth, t = [quotient(low + x) for x in v], [x / half for x in v]
    q = [mp.mpf(1)] * POINTS
    for _ in range(ROUNDS):
        a, b = mp.matrix(POINTS, above + 1 + below), mp.matrix(POINTS, 1)
        for i in range(POINTS):
            weight = 1 / (q[i] * truth[i])
            for j in range(above + 1):
                a[i, j] = t[i] ** j * weight
            for j in range(1, below + 1):
                a[i, above + j] = -truth[i] * t[i] ** j * weight
            b[i] = truth[i] * weight
        s = mp.qr_solve(a, b)[0]
        p_of, q_of = [s[j] for j in range(above + 1)], [mp.mpf(1)] + [s[above + j] for j in range(1, below + 1)]
        q = [mp.polyval(q_of[::-1], x) for x in t]
    error = max(abs(mp.polyval(p_of[::-1], x) / d / y - 1) for x, d, y in zip(t, q, truth))
    print(f"from {low} to {high}: {mp.nstr(error, 3)}")
    for coefficients in (p_of, q_of):
        print([float(c / half**i) for i, c in enumerate(coefficients)])


if __name__ == "__main__":
    mp.mp.dps = 50
    fit(mp.mpf(0), mp.mpf("6.25"), 9, 8)
    fit(mp.mpf("6.25"), mp.mpf("36.1"), 11, 10)
