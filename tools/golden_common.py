"""What the golden_*.py modules share: dtype names, and a folder that collects arrays and their manifest."""

import json
import pathlib
import shutil

import jax.numpy as jnp
import numpy as np

GOLDEN = pathlib.Path(__file__).resolve().parent.parent / "tests" / "golden"

DTYPES = {
    "bool": jnp.bool_, "i8": jnp.int8, "i16": jnp.int16, "i32": jnp.int32, "i64": jnp.int64,
    "u8": jnp.uint8, "u16": jnp.uint16, "u32": jnp.uint32, "u64": jnp.uint64,
    "f16": jnp.float16, "bf16": jnp.bfloat16, "f32": jnp.float32, "f64": jnp.float64,
    "c64": jnp.complex64, "c128": jnp.complex128,
}  # fmt: skip
NAMES = {np.dtype(dtype): name for name, dtype in DTYPES.items()}


def name_of(dtype):
    return NAMES[np.dtype(dtype)]


class Folder:
    """A folder below tests/golden/, emptied first; save() writes the manifest, one call a line."""

    def __init__(self, name):
        self.path = GOLDEN / name
        shutil.rmtree(self.path, ignore_errors=True)
        self.path.mkdir(parents=True)
        self.calls = []

    def array(self, name, value):
        """Writes an array and returns how the manifest refers to it."""
        value = np.asarray(value)
        np.save(self.path / f"{name}.npy", value)
        return {"file": f"{name}.npy", "shape": list(value.shape), "dtype": name_of(value.dtype)}

    def save(self):
        lines = ",\n".join(json.dumps(call) for call in self.calls)
        (self.path / "manifest.json").write_text(f"[\n{lines}\n]\n")
