"""Functions that pickles name."""

from ._neap import _unpickle


def unpickle(array, dtype):
    """Returns the array of a NumPy array (of the bits, where NumPy has no such dtype)."""
    return _unpickle(array, dtype)
