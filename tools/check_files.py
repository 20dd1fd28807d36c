#!/usr/bin/env python3
"""Checks that every file of the project that a comment or a page names exists.

A name is a path from the root, with its folder: "planner/plan/plan.h", "tests/jit/jit_test.cpp", "docs/gpu.md"; `*` in it stands
for anything. The changelog may name what was. Prints one line for each offence; exit code 1 if there is any.
"""

import pathlib
import re
import subprocess
import sys

FOLDERS = "include|core|trace|autodiff|planner|backends|jit|tests|bench|examples|docs|tools|cmake|python"
NAME = re.compile(rf"(?<![\w/.<-])(?:\.\./)*((?:{FOLDERS})/[\w/*.-]*[\w*]\.(?:h|cpp|def|inc|md|py|json|cmake))\b")
SOURCES = {".h", ".cpp", ".def", ".inc"}
COMMENT = re.compile(r"(?:^|\s)(?://|#(?!\s*(?:include|define|if|endif|pragma|undef|else|elif)))(.*)")
PAGES = {".md"}
SCRIPTS = {".py", ".cmake", ".txt", ""}


def texts(path):
    """(number of the line, text in which names count) of a file."""
    for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1):
        if path.suffix in PAGES:
            yield number, line
        elif match := COMMENT.search(line):
            yield number, match[1]


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    listed = subprocess.run(["git", "ls-files"], cwd=root, capture_output=True, text=True, check=True).stdout.splitlines()
    names = offences = 0
    for name in listed:
        path = root / name
        if name == "CHANGELOG.md" or path.suffix not in SOURCES | PAGES | SCRIPTS or not path.is_file():
            continue
        try:
            lines = list(texts(path))
        except UnicodeDecodeError:
            continue
        for number, text in lines:
            for match in NAME.finditer(text):
                names += 1
                found = any(root.glob(match[1])) if "*" in match[1] else (root / match[1]).is_file()
                if not found:
                    offences += 1
                    print(f"{name}:{number}: {match[1]}: no such file")
    print(f"files: {names} names, {offences} of no file")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
