"""How well a plate conducts heat, from its temperatures after a while. Each step is implicit, a system of 4,096 equations
that conjugate gradients solve; the gradient solves one more for each step, and keeps none of the iterations."""

import neap as np
from neap.scipy.optimize import minimize
from neap.scipy.sparse.linalg import cg


def laplacian(u):  # of a plate whose rim is kept at 0
    padded = np.pad(u, 1)
    return padded[:-2, 1:-1] + padded[2:, 1:-1] + padded[1:-1, :-2] + padded[1:-1, 2:] - 4 * u


def ten_steps(conductivity, start):
    def step(_, u):
        return cg(lambda x: x - conductivity * laplacian(x), u, u, tol=1e-6)[0]

    return np.fori_loop(0, 10, step, start)


def main():
    place = np.linspace(-1, 1, 64)
    start = np.exp(-20 * (place**2 + place[:, None] ** 2))  # a hot spot
    noise = 1e-3 * np.random.normal(np.random.key(0), (64, 64))
    measured = ten_steps(0.7, start) + noise

    def misfit(log_conductivity):
        return np.mean((ten_steps(np.exp(log_conductivity), start) - measured) ** 2) / 1e-6

    fit = np.jit(lambda guess: minimize(misfit, guess, method="BFGS", tol=1e-2))
    found = fit(np.array(-2.0))
    conductivity = float(np.exp(found.x))
    print(f"conductivity {conductivity:.4f}, of 0.7; misfit {float(found.fun):.4f} (noise: 1) after {int(found.nfev)} gradients")
    print(f"peak {np.format_bytes(fit.last_plan().peak_bytes)}, of which a temperature is {np.format_bytes(start.nbytes)}")
    return abs(conductivity - 0.7) < 0.01 and float(found.fun) < 1.1


if __name__ == "__main__":
    raise SystemExit(0 if main() else 1)
