"""What Neap does not do as JAX, on purpose: (group, part of the name, why)."""

EXCEPTIONS = [
    (
        "rng_bit_generator",
        "",
        "XLA's own generator and the layout of its state: jax.random's default generator is what Neap has",
    ),
    (
        "top_k",
        "inf_nan",
        "NaN of either sign is the largest (docs/neap-for-jax-users.md, Order); JAX has the order of the bits",
    ),
]


def reason(group, name):
    """Returns why this harness need not agree, or None."""
    return next((why for of, part, why in EXCEPTIONS if group == of and part in name), None)
