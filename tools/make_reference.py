"""docs/reference.md, for make_op_index.py: all that the public headers declare beside the functions of docs/ops.md, what the
library reads from the environment, and the build's options; each with its sentence."""

import re

from cpp_headers import items, markdown, opening, tidy

SECTIONS = [
    ("Arrays", ["array.h"]), ("Element types", ["dtype.h"]), ("Shapes", ["shape.h"]),
    ("Transforms", ["transforms.h", "transform_detail.h"]), ("jit", ["jit.h"]), ("Ahead of time", ["aot.h"]), ("Plans", ["plan.h"]), ("Traces", ["trace.h"]),
    ("Memory", ["memory.h"]), ("Byte counts", ["bytes.h"]), ("Devices", ["device.h"]), ("Profiles", ["profile.h"]),
    ("Trees", ["tree.h", "tree_detail.h"]), ("Errors", ["error.h"]), ("Eigen", ["eigen.h"]), ("{fmt}", ["fmt.h"]),
    ("Version", ["version.h"]),
]  # fmt: skip
NOT_SHOWN = {"neap.h"}
# Iterators and tags that nobody names, shorthands within a header, and what a type's own sentence says of it.
NOT_LISTED = {"Array::Rows", "Loc", "IndexList::Entry::Entry", "IndexList::IndexList", "value_type", "difference_type",
              "fmt::formatter"}  # fmt: skip

# What the environment says. Nearly all are read once, when first needed.
ENVIRONMENT = {
    "NEAP_DEVICE": "The default device: `cpu`, `vulkan` or `vulkan:N` ([devices](devices.md)). Else the CPU.",
    "NEAP_MPI_TIMEOUT": "Seconds that a collective waits for other processes before it throws `CommunicationError`; 300 unless set.",
    "NEAP_NUM_THREADS": "Worker threads of the CPU backend, 1 to 1024. Else as many as the machine has. Results do not depend on it.",
    "NEAP_DUMP": "A folder, into which every plan (text, JSON, HTML), graph, kernel, LLVM IR and assembly is written, with an"
    " `index.html` over all ([plans as JSON](plan-json.md)).",
    "NEAP_PROFILE": "A file, into which is written when each step ran, for Perfetto or chrome://tracing ([devices](devices.md)). Of several"
    " processes that write the same file the last one's stays.",
    "NEAP_PROGRESS": "`1`: standard error tells how far long loops, plannings and compilations are.",
    "NEAP_OVERLAP": "`none`: messages of collectives are moved in turn with the steps of a program, never beside them; `all`: wherever the peak or the budget lets them, even where that takes longer. All processes have the same.",
    "NEAP_POISON": "`1`: memory in the arena is overwritten when the plan says that it is dead.",
    "NEAP_ISA": "The best instruction set to use: `baseline` (SSE2), `avx2`, `avx512` or `amx` (AVX-512, and tiles for products of bf16). Else the best that the processor has.",
    "NEAP_MEMORY": "Bytes that arrays may hold in all, such as `8GiB`: the first `memory::limit()`. Else what the machine, or the control group, has available ([devices](devices.md)).",
    "NEAP_CACHE": "`off`: compiled kernels are not kept for the next process. Else the most bytes that they may take, such as `1GiB`; without it 256 MiB ([devices](devices.md)).",
    "NEAP_CACHE_DIR": "Where compiled kernels are kept. Else `$XDG_CACHE_HOME/neap`, else `~/.cache/neap`; empty: nowhere.",
    "NEAP_VULKAN_DEVICE": "Shows only the Vulkan devices whose name contains this, in either case.",
    "NEAP_VULKAN_TIMEOUT": "Seconds after which a call on a Vulkan device that does not end is a `DeviceError`.",
    "NEAP_VULKAN_VALIDATE": "Anything but `0`: the Vulkan validation layers are on.",
    "NEAP_VULKAN_MEMORY": "`import`, `mapped` or `staged`: where a Vulkan device's arrays lie. For tests.",
    "NEAP_VULKAN_RECORD": "A file that describes a weaker Vulkan device, for which kernels are chosen. For tests.",
    "NEAP_PEERS_PYTHON": "The Python with JAX and MLX that `neap-bench --peers` runs.",
}
READ_IN = ["core", "trace", "autodiff", "planner", "backends", "jit", "mpi", "bench"]
OPTION = re.compile(r'^\s*option\((NEAP_\w+|BUILD_SHARED_LIBS) "([^"]*)" (\S+)\)', re.M)
TEXT_OPTION = re.compile(r'^\s*set\((NEAP_\w+) "([^"]*)" CACHE STRING "([^"]*)"\)', re.M)


def prose(text):
    """A comment's text as Markdown that shows just that: in a cell, too."""
    parts = text.split("`")
    for i in range(0, len(parts), 2):
        part = parts[i].replace("&", "&amp;").replace("<", "&lt;").replace("|", "&#124;").replace("*", "\\*")
        part = re.sub(r"\](?=[(\[])", r"\]", part)
        part = re.sub(r"\bdocs/([\w/-]+\.md)", lambda m: f"[{m[1]}]({m[1]})", part)
        parts[i] = re.sub(r"(?<!\w)(_\w*|NEAP_[A-Z_]+)", r"`\1`", part)
    return "`".join(parts)


def paragraphs(lines):
    return "\n".join(text if kind != "prose" else prose(text) for kind, text in markdown(lines))


def row(code, said):
    shown = f"<code>{code.replace('&', '&amp;').replace('<', '&lt;').replace('|', '&#124;')}</code>" if "|" in code else f"`{code}`"
    return f"| {shown} | {prose(said)} |"


def with_members(item):
    """A type's sentence, and its members in it."""
    said = [f"`{tidy(m.code)}`" + (f": {m.doc}" if m.doc else "") for m in item.members if m.name not in NOT_LISTED]
    return " ".join(filter(None, [item.doc, ("; " if any(m.doc for m in item.members) else ", ").join(said)]))


def shown(header, text):
    """The declarations of a header that the page lists: of what programs see of a header for templates, the options."""
    found = [i for i in items(text) if i.name not in NOT_LISTED]
    if header == "jit.h":
        found += [i for i in items(text, within=["Jitted"]) if i.name == "Jitted"]
    return [i for i in found if not (i.kind == "value" and not i.doc and "DType::" in i.code)]


def listed(header, text):
    found = shown(header, text)
    rows = [row(tidy(i.code), i.doc) for i in found if i.kind not in ("type", "macro")]
    lines = ["", "| | |", "|---|---|", *rows] if rows else []
    for item in found:
        if item.kind == "macro":
            lines += ["", f"### {item.code}", "", paragraphs(item.doc.split("\n"))]
        if item.kind != "type":
            continue
        lines += ["", f"### {item.name}", "", prose(item.doc)]
        members = [m for m in item.members if m.name not in NOT_LISTED]
        if plain := [m for m in members if not m.doc]:
            lines += ["", ", ".join(f"`{tidy(m.code)}`" for m in plain) + "."]
        if said := [m for m in members if m.doc]:
            lines += ["", "| | |", "|---|---|"]
            lines += [row(tidy(m.code), m.doc if m.kind != "type" else with_members(m)) for m in said]
    return lines


def variables(root):
    """The names of what the library and the tools read from the environment."""
    names = set()
    for folder in READ_IN:
        for path in (root / folder).rglob("*.cpp"):
            names |= set(re.findall(r'getenv\("(NEAP_\w+)"\)', path.read_text(encoding="utf-8")))
    return names


def headers(root):
    return {path.name: path.read_text(encoding="utf-8") for path in sorted((root / "include/neap").glob("*.h"))}


def complaints(root):
    """What has no sentence, a line each."""
    said = []
    for header, text in headers(root).items():
        for item in shown(header, text):
            where = f"include/neap/{header}: {item.name}"
            if not item.doc:
                said.append(f"{where}: has no sentence; write a comment above it")
            for m in item.members:
                if not m.doc and m.name not in NOT_LISTED and (m.kind == "function" or any(o.doc for o in item.members if o.kind == "value")):
                    said.append(f"{where}: {m.name}: has no sentence; write a comment above it or behind it")
    for name in sorted(variables(root) ^ set(ENVIRONMENT)):
        said.append(f"tools/make_reference.py: ENVIRONMENT: {name}: is read by nobody, or has no sentence there")
    return said


def page(root, elsewhere):
    texts = headers(root)
    sections = [(title, [h for h in names if h in texts]) for title, names in SECTIONS]
    known = {h for _, names in sections for h in names} | NOT_SHOWN | elsewhere
    sections += [(f"neap/{h}", [h]) for h in texts if h not in known]
    out = ["# Reference", "",
           "Made by `tools/make_op_index.py` from the public headers: change those. Functions on arrays:",
           "[functions](ops.md). Programs: [tools](tools.md). All is in namespace `neap` unless a name says otherwise, and",
           "`#include <neap/neap.h>` has all of it but Eigen and {fmt}. The last argument of most functions, the caller's line",
           "(`std::source_location`), is left out here."]  # fmt: skip
    for title, names in sections:
        out += ["", f"## {title}", "", f"`#include <neap/{names[0]}>`. " + paragraphs(opening(texts[names[0]]))]
        for header in names:
            out += listed(header, texts[header])
    out += ["", "## Environment", "", "What a program reads from its environment, with no change to it.", "", "| variable | |", "|---|---|"]
    out += [f"| `{name}` | {said} |" for name, said in ENVIRONMENT.items()]
    out += ["", "## Options of the build", "", "For `cmake -D`.", "", "| option | | default |", "|---|---|---|"]  # fmt: skip
    cmake = (root / "CMakeLists.txt").read_text(encoding="utf-8")
    defaults = {"${PROJECT_IS_TOP_LEVEL}": "ON where Neap is built by itself", "${other_system}": "ON but on Linux"}
    out += [f"| `{name}` | {said} | {defaults.get(default, default)} |" for name, said, default in OPTION.findall(cmake)]
    out += [f"| `{name}` | {said} | {default} |" for name, default, said in TEXT_OPTION.findall(cmake)]
    return "\n".join(out) + "\n"
