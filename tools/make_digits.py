#!/usr/bin/env python3
"""Makes tests/data/digits_images.npy and digits_labels.npy: python3 tools/make_digits.py

Takes the digits data set out of scikit-learn's wheel, which pip downloads from PyPI into a temporary folder. Images
become f32[1797, 64] in [0, 1] (the data's 0..16 divided by 16), labels i32[1797]. tests/data/README.md names source and
licence.
"""

import csv
import gzip
import io
import pathlib
import struct
import subprocess
import sys
import tempfile
import venv
import zipfile

SCIKIT_LEARN = "scikit-learn==1.5.2"
DATA = pathlib.Path(__file__).resolve().parent.parent / "tests" / "data"


def download_csv():
    """The rows of digits.csv: 64 pixels and a label, as text."""
    with tempfile.TemporaryDirectory() as scratch:
        venv.create(f"{scratch}/venv", with_pip=True)
        pip = [f"{scratch}/venv/bin/python", "-m", "pip", "download", "--quiet"]
        subprocess.run(pip + ["--no-deps", "--only-binary=:all:", "--dest", scratch, SCIKIT_LEARN], check=True)
        (wheel,) = pathlib.Path(scratch).glob("*.whl")
        with zipfile.ZipFile(wheel) as archive:
            packed = archive.read("sklearn/datasets/data/digits.csv.gz")
    return list(csv.reader(io.StringIO(gzip.decompress(packed).decode())))


def write_npy(path, descr, shape, data):
    header = f"{{'descr': '{descr}', 'fortran_order': False, 'shape': {shape}, }}"
    header += " " * (-(10 + len(header) + 1) % 64) + "\n"
    path.write_bytes(b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header.encode() + data)


def main():
    rows = download_csv()
    pixels = [float(value) / 16 for row in rows for value in row[:64]]
    labels = [int(float(row[64])) for row in rows]
    if len(rows) != 1797 or set(labels) != set(range(10)) or not 0 <= min(pixels) < max(pixels) <= 1:
        sys.exit("make_digits: this is not the digits data set")
    write_npy(DATA / "digits_images.npy", "<f4", (len(rows), 64), struct.pack(f"<{len(pixels)}f", *pixels))
    write_npy(DATA / "digits_labels.npy", "<i4", (len(rows),), struct.pack(f"<{len(labels)}i", *labels))


if __name__ == "__main__":
    main()
