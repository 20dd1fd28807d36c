#!/usr/bin/env python3
"""The two polynomials of erf_inv in trace/scalar/scalar_erf_inv.cpp. Needs numpy and scipy.

erf_inv(x) / x is fitted in v = log(1 - x^2) + 4. Both polynomials start as Remez fits with coefficients rounded to
f32; then coefficients move at random by an ulp or two, as long as that lowers the largest error of the whole f32
computation over a sample of x. The error is that of the normal quantile sqrt(2) erf_inv(x), which is what it is for.
"""
import numpy as np
from fit_math import remez_f32
from scipy.special import erfcinv, erfinv

F = np.float32
CENTRE, LOG_DEGREE, DEGREE = 4.0, 8, 14
LARGEST = 15.945  # -log(1 - x^2) of the last float before 1


def quotient(w):
    w = np.maximum(w, 1e-30)
    x = np.sqrt(-np.expm1(-w))
    return np.where(x < 0.5, erfinv(x), erfcinv(np.exp(-w) / (1 + x))) / x


def fma(a, b, c):
    return (np.asarray(a, float) * np.asarray(b, float) + np.asarray(c, float)).astype(F)


def horner(coefficients, x):
    p = np.full(x.shape, F(coefficients[-1]))
    for c in coefficients[-2::-1]:
        p = fma(p, x, F(c))
    return p


def erf_inv(x, log, poly):
    """What the kernel computes, instruction by instruction."""
    t = (F(1) - x) * (F(1) + x)
    bits = t.view(np.int32)
    exponent = (bits - np.int32(0x3F3504F3)) & np.int32(-0x800000)
    r = (bits - exponent).view(F) - F(1)
    whole = fma(exponent.astype(F), F(np.log(2) * 2**-23), F(log[0] + CENTRE))
    slope = fma(horner(log[2::2], r * r), r, horner(log[1::2], r * r))
    v = fma(slope, r, whole)
    v2 = v * v
    upper = fma(horner(poly[8:], v), (v2 * v2) * v2, horner(poly[2:8], v))
    return fma(fma(upper, v, F(poly[1])), v, F(poly[0])) * x


def errors(x, truth, log, poly):
    normal = (erf_inv(x, log, poly) * F(np.sqrt(2))).astype(float)
    return np.abs(normal - truth) / 2.0 ** (np.floor(np.log2(truth)) - 23)


def main():
    rng = np.random.default_rng(5)
    log, _ = remez_f32(np.log1p, np.ones_like, 2**-0.5 - 1, 2**0.5 - 1, LOG_DEGREE)
    function = lambda v: quotient(CENTRE - v)
    poly, _ = remez_f32(function, lambda v: 1 / function(v), CENTRE - LARGEST, CENTRE, DEGREE)
    log, poly = [log[p] for p in sorted(log)], [poly[p] for p in sorted(poly)]
    tail = np.arange(0x3F800000 - 4000, 0x3F800000)
    middle = [rng.integers(0x3E000000, 0x3F800000, 1500000), rng.integers(0x39000000, 0x3F000000, 700000)]
    x = np.concatenate([tail] + middle).astype(np.uint32).view(F)
    truth = np.sqrt(2) * np.where(x < 0.5, erfinv(x.astype(float)), erfcinv(1 - x.astype(float)))
    error = errors(x, truth, log, poly)
    best = error.max()
    for step in range(6000):
        if step % 500 == 0:
            hard = (error > best - 0.7) | (np.arange(len(x)) < len(tail))
        candidate = [list(log), list(poly)]
        for _ in range(rng.integers(1, 4)):
            side = candidate[int(rng.random() < 0.6)]
            k = rng.integers(len(side))
            for _ in range(rng.integers(1, 4)):
                side[k] = float(np.nextafter(F(side[k]), F(rng.choice([-np.inf, np.inf]))))
        if errors(x[hard], truth[hard], *candidate).max() < best - 0.01:
            everywhere = errors(x, truth, *candidate)
            if everywhere.max() < best:
                error, best, (log, poly) = everywhere, everywhere.max(), candidate
                hard = (error > best - 0.7) | (np.arange(len(x)) < len(tail))
    print(f"largest error {best:.3f} ulp\nlog  {log}\npoly {poly}")


if __name__ == "__main__":
    main()
