#!/usr/bin/env python3
"""Makes docs/ops.md, the index of all functions and of the table of operations that they are made of, and docs/reference.md, the
rest of the public interface: types, options, what programs read from the environment.

From the public headers (their comments) and the rows of the tables. With --check only says whether both are up to date. What has no
sentence of its own in its header fails both ways.
"""

import pathlib
import re
import sys

import make_reference
from cpp_headers import items, opening, tidy

ROOT = pathlib.Path(__file__).resolve().parent.parent
HEADERS = {
    "creation.h": "Making arrays", "ops.h": "Operations", "numpy.h": "More of NumPy's", "special.h": "Special functions", "linalg.h": "Linear algebra",
    "creation.h": "Making arrays", "ops.h": "Operations", "numpy.h": "More of NumPy's", "reduce.h": "Segments, windows, reductions by a function", "linalg.h": "Linear algebra",
    "creation.h": "Making arrays", "ops.h": "Operations", "numpy.h": "More of NumPy's", "reduce.h": "Segments, windows, reductions by a function", "nn.h": "Attention", "linalg.h": "Linear algebra",
    "creation.h": "Making arrays", "ops.h": "Operations", "numpy.h": "More of NumPy's", "reduce.h": "Segments, windows, reductions by a function", "nn.h": "Attention", "image.h": "Images", "linalg.h": "Linear algebra",
    "creation.h": "Making arrays", "ops.h": "Operations", "numpy.h": "More of NumPy's", "reduce.h": "Segments, windows, reductions by a function", "nn.h": "Attention", "image.h": "Images", "signal.h": "Signals", "linalg.h": "Linear algebra",
    "fft.h": "Fourier transforms", "control.h": "Loops and branches", "random.h": "Random numbers",
    "safetensors.h": "Arrays by name, in files (not in neap.h)",
}  # fmt: skip
ROW = re.compile(r'^NEAP_(UNARY|BINARY|TERNARY|STRUCTURAL)\((\w+),\s*(\w+),(.*)"((?:[^"\\]|\\.)*)"\)', re.M)
OPERANDS = {"UNARY": "x", "BINARY": "x, y", "TERNARY": "x, y, z"}


def rows(path):
    for kind, name, family, rest, doc in ROW.findall(path.read_text(encoding="utf-8")):
        yield kind, name, family, rest, doc.replace('\\"', '"')


def row(item):
    if item.kind == "type":
        return make_reference.row(f"{item.code}", make_reference.with_members(item))
    return make_reference.row(tidy(item.code), item.doc)


def table(lines, title):
    return ["", f"### {title}", "", "| | |", "|---|---|", *lines]


def index():
    out, count = [], 0
    for header, title in HEADERS.items():
        path = ROOT / "include/neap" / header
        text = path.read_text(encoding="utf-8")
        found = [i for i in items(text) if i.kind in ("function", "type") and i.name != "Loc"]
        namespace = found[0].namespace
        out += ["", f"## {title}", "", f"`#include <neap/{header}>`, in namespace `{namespace}`. " + make_reference.paragraphs(opening(text))]
        if header == "ops.h":
            elementwise = [make_reference.row(f"{name}({OPERANDS[kind]})", f"{doc} ({family})")
                           for kind, name, family, _, doc in rows(ROOT / "include/neap/ops.def")]  # fmt: skip
            out += table(elementwise, "elementwise, one row of the op table each")
            count += len(elementwise)
        groups = {}
        for item in found:
            groups.setdefault(item.group, []).append(row(item))
            count += item.kind == "function"
        for group, lines in groups.items():
            out += table(lines, group) if group else ["", "| | |", "|---|---|", *lines]
    out += ["", "## What graphs are made of", "",
            "The elementwise rows above and these. A plan's report and `NEAP_DUMP` name them.", "",
            "| operation | family | attributes, [optional] | |", "|---|---|---|---|"]  # fmt: skip
    for _, name, family, rest, doc in rows(ROOT / "trace/graph/ops_structural.def"):
        required, optional = re.findall(r"\(([\w, ]*)\)", rest)
        attributes = ", ".join(filter(None, [required, *(f"[{a}]" for a in filter(None, optional.split(", ")))]))
        out.append(f"| `{name}` | {family} | {attributes} | {make_reference.prose(doc)} |")
    head = ["# Functions", "",
            f"{count} functions. Made by `tools/make_op_index.py` from the public headers and the op tables: change those.",
            "Arguments are arrays or C++ scalars (`x`, `y`, ...) unless a type is given. All functions take part in every transform.",
            "Types, options and the rest of the interface: [reference](reference.md)."]  # fmt: skip
    return "\n".join(head + out) + "\n"


def main():
    pages = {ROOT / "docs/ops.md": index(), ROOT / "docs/reference.md": make_reference.page(ROOT, set(HEADERS))}
    for complaint in (complaints := make_reference.complaints(ROOT)):
        print(complaint)
    if complaints:
        return 1
    for path, text in pages.items():
        if sys.argv[1:] != ["--check"]:
            path.write_text(text, encoding="utf-8")
        elif not path.is_file() or path.read_text(encoding="utf-8") != text:
            print(f"{path.relative_to(ROOT)} is not up to date; run tools/make_op_index.py")
            return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
