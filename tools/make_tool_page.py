#!/usr/bin/env python3
"""Makes docs/tools.md: the programs that come with the library, and what each says with --help.

make_tool_page.py BIN (build/dev/bin) writes it. With --check before BIN it only says whether the page is up to date, of those
programs that BIN has.
"""

import pathlib
import subprocess
import sys

ROOT = pathlib.Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs/tools.md"
# (name, what it is, whether --help says more); installed with the library: neap-plan.
TOOLS = [
    ("neap-plan", "Shows, checks and compares plans that `Plan::write_json` or `NEAP_DUMP` wrote, makes plans of graphs for devices that"
     " need not be here, and places live ranges of any origin. Installed with the library; it needs no LLVM. The tables of"
     " [plans as JSON](plan-json.md) say what it reads.", ["", "place", "show", "plan", "check", "diff"]),
    ("neap-aot", "Compiles a graph that `NEAP_DUMP` wrote into an object file and a header of C, as `neap::save` does with a function"
     " ([ahead of time](ahead-of-time.md)). Installed with a library that has the CPU backend.", [""]),
    ("neap-bench", "Measures: each case in a fresh process, planned beside naive. [`bench/`](../bench/README.md) has the command behind"
     " each number of the README.", [""]),
    ("neap-stream", "Writes a generator's random words for programs that test them; how they fared:"
     " [`bench/`](../bench/README.md#random-bits-read-by-others).", [""]),
    ("neap-limits", "Times the kernels written by hand that Neap is held against. `--json` writes JSON, `--reps N` repeats.", []),
    ("neap-plan-speed", "Times tracing and planning by kind and size of program. It takes the flags of Google Benchmark.", []),
    ("neap-cost", "Prints the planner's predicted time beside the measured one, for kernels of every kind. Plans are chosen by the times"
     " of one machine, so that a program has the same plan everywhere; the tool also measures what the model's units of arithmetic and of products"
     " and its bytes take where it runs, in each cache and in memory, and compares with what follows from that. It takes no"
     " arguments.", []),
]  # fmt: skip


def heading(name, command):
    return f"{name} {command}".strip() + " --help"


def helps(bin_, name, commands):
    for command in commands:
        said = subprocess.run([bin_ / name, *command.split(), "--help"], capture_output=True, text=True, check=True).stdout
        lines = [line.rstrip() for line in said.strip().splitlines()]
        yield f"$ {heading(name, command)}", [line.replace(str(bin_ / name), name) for line in lines]


def section(name, said):
    return ["", f"## {name}", "", said]


def pages(bin_):
    """The lines of the page, a list for each program; of one that BIN lacks None."""
    for name, said, commands in TOOLS:
        lines = section(name, said)
        if commands and not (bin_ / name).is_file():
            yield name, None
            continue
        for command, text in helps(bin_, name, commands):
            lines += ["", "```text", command, "", *text, "```"]
        yield name, lines


def main(arguments):
    check = arguments[:1] == ["--check"]
    if len(arguments) != 1 + check or not (bin_ := pathlib.Path(arguments[-1]).resolve()).is_dir():
        print(__doc__, file=sys.stderr)
        return 2
    found = dict(pages(bin_))
    if not check and (lacking := [name for name, lines in found.items() if lines is None]):
        print(f"make_tool_page: {bin_} has no {', '.join(lacking)}; build all", file=sys.stderr)
        return 2
    head = ["# Tools", "", "Made by `tools/make_tool_page.py`. Programs of the build folder (`build/<preset>/bin`). Exit codes: 0 all is",
            "well, 1 it is not, 2 the command or a file makes no sense; nothing is written half."]  # fmt: skip
    if not check:
        PAGE.write_text("\n".join([*head, *(line for lines in found.values() for line in lines)]) + "\n")
        return 0
    said = PAGE.read_text()
    old = [name for name, lines in found.items() if lines and "\n".join(lines) not in said]
    for name in old:
        print(f"docs/tools.md: {name}: is not what it says with --help; run tools/make_tool_page.py build/dev/bin")
    return 1 if old else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
