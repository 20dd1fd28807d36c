#!/usr/bin/env python3
"""Checks that no file includes against the direction of the house.

Data goes one way, down the list FOLDERS: a file includes only from its own folder and those above it; within a folder of
ROOMS the same holds for its sub-folders, of which the rest of the house includes only those that OPEN names. Beyond that:
the public interface includes nothing but itself and the standard library (but for its ADAPTERS), examples and must-fail programs only the
public interface, LLVM is named in backends/cpu only, the two backends do not know each other, and nothing in the
house includes tests or benchmarks. Examples may share headers among themselves. Prints one line for each offence; exit
code 1 if there is any.
"""

import pathlib
import re
import sys

FOLDERS = ["include/neap", "core", "trace", "autodiff", "planner", "backends", "jit", "mpi"]
ROOMS = {
    "trace": ["graph", "scalar", "reference", "tracing", "vmap", "ops", "library"],
    "planner": ["plan", "kernels", "rewrite", "fuse", "order", "place", "slice", "pipeline", "search", "report", "tool"],
}
OPEN = {"planner": ["plan", "kernels", "report", "search/make_plan.h"]}
ADAPTERS = {"include/neap/eigen.h": "Eigen", "include/neap/fmt.h": "fmt"}  # public headers for users of other libraries
OUTSIDE = ["tests", "bench", "examples"]
SUFFIXES = {".h", ".cpp", ".def", ".inc"}
INCLUDE = re.compile(r'^\s*#\s*include\s*([<"])([^>"]+)[>"]')


def folder_of(path):
    """The folder of the house (or outside it) that a path relative to the root lies in; None for third parties."""
    for folder in FOLDERS + OUTSIDE:
        if path.startswith(folder + "/"):
            return folder
    return None


def room_of(path, folder):
    """The sub-folder of a folder of the house that a path relative to the root lies in, by its place; None: in none."""
    rest = path.removeprefix(folder + "/").split("/")
    return ROOMS[folder].index(rest[0]) if len(rest) > 1 and rest[0] in ROOMS[folder] else None


def target_of(quote, name, root, source):
    """The path relative to the root that an include names, or None where it is not one of ours."""
    if name.startswith("neap/"):
        return "include/" + name
    if folder_of(name) or name.startswith("cmake/"):
        return name
    beside = source.parent / name
    if quote == '"' and beside.is_file():
        return str(beside.resolve().relative_to(root))
    return None


def offence(source, quote, name, root):
    """Why this include is not allowed, or None."""
    path = str(source.relative_to(root))
    own = folder_of(path)
    target = target_of(quote, name, root, source)
    if re.match(r"(llvm|llvm-c)/", name) and own in FOLDERS and not path.startswith("backends/cpu/"):
        return "LLVM belongs to backends/cpu"
    if target is None:
        if quote == '"':
            return "no such file; write project includes from the root of the repository"
        if own == "include/neap" and "/" in name and name.split("/")[0] != ADAPTERS.get(path):
            return "the public interface includes only itself and the standard library"
        return None
    if not (root / target).is_file():
        return "no such file"
    there = folder_of(target)
    public_only = own == "examples" or path.startswith("tests/errors/")
    if public_only and there not in ("include/neap", own):
        return "only the public interface is for users"
    if own in OUTSIDE:
        return None
    if there not in FOLDERS or FOLDERS.index(there) > FOLDERS.index(own):
        return f"{own} is above {there or target}"
    if own == there and own in ROOMS:
        mine, theirs = room_of(path, own), room_of(target, own)
        if mine is None or theirs is None:
            return f"{own} has its files in sub-folders: {', '.join(ROOMS[own])}"
        if theirs > mine:
            return f"{ROOMS[own][mine]} is above {ROOMS[own][theirs]}"
    if own != there and there in ROOMS and not target.startswith(tuple(f"{there}/{name}" for name in OPEN.get(there, ROOMS[there]))):
        return f"of {there}, others include {', '.join(OPEN[there])}"
    for one, other in (("cpu", "vulkan"), ("vulkan", "cpu")):
        if path.startswith(f"backends/{one}/") and target.startswith(f"backends/{other}/"):
            return "the backends do not know each other"
    return None


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    files = offences = 0
    for folder in FOLDERS + OUTSIDE:
        for source in sorted((root / folder).rglob("*")):
            if source.suffix not in SUFFIXES:
                continue
            files += 1
            for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
                match = INCLUDE.match(line)
                reason = match and offence(source, match[1], match[2], root)
                if reason:
                    offences += 1
                    print(f"{source.relative_to(root)}:{number}: {line.strip()}: {reason}")
    print(f"includes: {files} files, {offences} against the rules")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
