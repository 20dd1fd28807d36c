"""Ordinary differential equations: jax.experimental.ode."""

from .._solvers import odeint

__all__ = ["odeint"]
