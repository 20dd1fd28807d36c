#!/usr/bin/env python3
"""Makes docs/ops.md, the index of all functions and of the table of operations that they are made of.

From the public headers (their comments) and the rows of the tables. With --check only says whether it is up to date.
"""

import pathlib
import re
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
INDEX = ROOT / "docs" / "ops.md"
HEADERS = [
    ("creation.h", "neap"), ("ops.h", "neap"), ("numpy.h", "neap"), ("linalg.h", "neap::linalg"), ("fft.h", "neap::fft"),
    ("control.h", "neap"), ("random.h", "neap::random"),
]  # fmt: skip
ROW = re.compile(r'^NEAP_(UNARY|BINARY|TERNARY|STRUCTURAL)\((\w+),\s*(\w+),(.*)"((?:[^"\\]|\\.)*)"\)', re.M)
OPERANDS = {"UNARY": "x", "BINARY": "x, y", "TERNARY": "x, y, z"}


def rows(path):
    for kind, name, family, rest, doc in ROW.findall(path.read_text(encoding="utf-8")):
        yield kind, name, family, rest, doc.replace('\\"', '"')


def declarations(text):
    """(group, declaration, comment) of each function of a header outside namespace detail."""
    text = re.sub(r"namespace detail \{.*?\}  // namespace detail", "", text, flags=re.S)
    text = text.split("// --- implementation")[0]
    group, comment, pending, before = "", [], "", ("", "")
    for line in text.splitlines():
        if m := re.match(r"// --- (.*)", line):
            group, comment, pending = m[1], [], ""
        elif m := re.match(r"/// ?(.*)", line):
            comment.append(m[1])
        elif pending or re.match(r"[A-Za-z].*\w\(", line) and not re.match(r"(inline|class|struct|template)", line):
            pending += " " + line.strip()
            if pending.endswith("{"):  # a template's body follows
                pending = pending[:-1] + ";"
            if ";" not in pending:
                continue
            declaration, _, trailing = pending.partition(";")
            said = " ".join(comment) or re.sub(r"^\s*//\s*", "", trailing.strip())
            name = name_of(declaration)
            if not said and before[0] == name:
                said = before[1]
            before = (name, said)
            yield group, re.sub(r"\s+", " ", declaration).strip(), said
            comment, pending = [], ""
        elif not line.startswith(("  ", "template")):
            comment = []


def tidy(declaration):
    declaration = re.sub(r",?\s*(std::source_location|Loc) loc = [\w:]+\(\)", "", declaration)
    return declaration.replace("const Operand& ", "").replace("const ", "").replace("&", "").replace("std::", "")


def name_of(declaration):
    return re.search(r"([\w:]+)\(", declaration)[1]


def cell(text):
    return text.replace("|", "\\|")


def index():
    out = [
        "# Operations", "",
        "Made by `tools/make_op_index.py` from the public headers and the op tables: change those.",
        "Arguments are arrays or C++ scalars (`x`, `y`, ...) unless a type is given. All functions take part in every transform.", "",
    ]  # fmt: skip
    count = 0
    table = list(rows(ROOT / "include/neap/ops.def"))
    for header, namespace in HEADERS:
        path = ROOT / "include/neap" / header
        if not path.is_file():
            continue
        lines, last = [], None
        text = path.read_text(encoding="utf-8")
        if header == "ops.h":
            lines += ["", "### elementwise, one row of the table each", "", "| function | |", "|---|---|"]
            for kind, name, family, _, doc in table:
                lines.append(f"| `{name}({OPERANDS[kind]})` | {cell(doc)} ({family}) |")
                count += 1
        found = list(declarations(text))
        for group, declaration, comment in found:
            if group != last or last is None:
                if group:
                    lines += ["", f"### {group}"]
                lines += ["", "| function | |", "|---|---|"]
                last = group
            lines.append(f"| `{cell(tidy(declaration))}` | {cell(comment)} |")
            count += 1
        if lines:
            out += [f"## `neap/{header}`: {namespace}", *lines, ""]
    out += ["## What graphs are made of", "",
            "The elementwise rows above and these. A plan's report and `NEAP_DUMP` name them.", "",
            "| operation | family | attributes, [optional] | |", "|---|---|---|---|"]  # fmt: skip
    for _, name, family, rest, doc in rows(ROOT / "trace/graph/ops_structural.def"):
        required, optional = re.findall(r"\(([\w, ]*)\)", rest)
        attributes = ", ".join(filter(None, [required, *(f"[{a}]" for a in filter(None, optional.split(", ")))]))
        out.append(f"| `{name}` | {family} | {attributes} | {cell(doc)} |")
    out[2] = f"{count} functions. " + out[2]
    return "\n".join(out) + "\n"


if __name__ == "__main__":
    text = index()
    if sys.argv[1:] == ["--check"]:
        if not INDEX.is_file() or INDEX.read_text(encoding="utf-8") != text:
            sys.exit("docs/ops.md is not up to date; run tools/make_op_index.py")
    else:
        INDEX.write_text(text, encoding="utf-8")
