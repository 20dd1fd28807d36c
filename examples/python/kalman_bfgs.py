"""The parameters of a signal in noise, by maximum likelihood: a Kalman filter is a scan, its likelihood has a gradient, and
BFGS climbs it. The inverse Hessian that BFGS ends with says how sure the parameters are."""

import math
from typing import NamedTuple

import neap as np
from neap.scipy.optimize import minimize


class Model(NamedTuple):
    decay: np.Array
    drive: np.Array
    noise: np.Array  # x' = tanh(decay) x + exp(drive) e; y = x + exp(noise) e'


class Belief(NamedTuple):
    mean: np.Array
    variance: np.Array


def negative_log_likelihood(model, ys):
    a, q, r = np.tanh(model.decay), np.exp(2 * model.drive), np.exp(2 * model.noise)

    def update(before, y):
        mean, variance = a * before.mean, a * a * before.variance + q
        error, spread = y - mean, variance + r
        gain = variance / spread
        loss = 0.5 * (np.log(2 * np.pi * spread) + error**2 / spread)
        return Belief(mean + gain * error, (1 - gain) * variance), loss

    return np.sum(np.scan(update, Belief(np.zeros((), np.float64), q / (1 - a * a)), ys)[1])


def simulate(key, n):  # a = 0.95, drive and noise of 0.5 and 0.8
    keys = np.random.split(key)

    def step(x, drive):
        new = 0.95 * x + drive
        return new, new

    states = np.scan(step, np.zeros((), np.float64), 0.5 * np.random.normal(keys[0], (n,), np.float64))[1]
    return states + 0.8 * np.random.normal(keys[1], (n,), np.float64)


def main():
    n = 4000
    zero = np.zeros((), np.float64)
    start = Model(zero + 1.0, zero, zero)
    fit = np.jit(lambda ys: minimize(negative_log_likelihood, start, (ys,), method="BFGS", tol=1e-3))
    found = fit(simulate(np.random.key(1), n))
    decay, drive, noise = math.tanh(found.x.decay), math.exp(found.x.drive), math.exp(found.x.noise)
    deviations = np.sqrt(np.diagonal(found.hess_inv)).tolist()
    print(f"decay {decay:.4f} (0.95), drive {drive:.4f} (0.5), noise {noise:.4f} (0.8)")
    print(f"relative deviations of drive and noise {deviations[1]:.3f}, {deviations[2]:.3f}")
    print(f"{int(found.nfev)} gradients of {n} steps, peak {np.format_bytes(fit.last_plan().peak_bytes)}")
    return abs(decay - 0.95) < 0.02 and abs(drive - 0.5) < 0.05 and abs(noise - 0.8) < 0.05


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
