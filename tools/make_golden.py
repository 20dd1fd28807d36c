#!/usr/bin/env python3
"""Makes the golden files below tests/golden/ with JAX. In a virtual environment with jax 0.10.2:

    pip install jax==0.10.2 && python tools/make_golden.py

random/    manifest.json: a list of calls of jax.random, each with function, key, parameters, shape, dtype and file
ops/       manifest.json: a list of calls of jax.numpy and its neighbours: inputs, parameters, outputs, tolerance
ops/promotion.json: the dtype of a + b for all pairs of dtypes, and of array + scalar for the three kinds of scalar

Dtypes are named as Neap names them (f32, not float32). bf16 is stored as NumPy stores ml_dtypes' bfloat16 ('<V2').
"""

import sys

sys.dont_write_bytecode = True

import golden_spmd  # first: it says how many devices there are

import golden_complex
import golden_control
import golden_lax
import golden_linalg
import golden_more
import golden_numpy
import golden_ops
import golden_promotion
import golden_random
import golden_solvers
import golden_special
import golden_stats

golden_random.write()
golden_ops.write()
golden_numpy.write()
golden_complex.write()
golden_control.write()
golden_lax.write()
golden_linalg.write()
golden_special.write()
golden_stats.write()
golden_more.write()
golden_promotion.write()
golden_solvers.write()
golden_spmd.write()
