#!/usr/bin/env python3
"""Checks that no source asks the process's locale, which a program may set at any time.

In a Turkish locale toupper('i') is no 'I', in a German one strtod reads 1,5 and printf writes it; streams do likewise in
std::locale::global's. What reads or writes data, options or messages uses core/ascii.h, core/file.h, std::from_chars and
fmt::format (without 'L') instead. Tests may use them to check that, and streams to read their files. Prints one line for each
offence; exit code 1 if there is any.
"""

import pathlib
import re
import sys

FOLDERS = ["include", "core", "trace", "autodiff", "planner", "backends", "jit", "mpi", "bench", "examples"]
SUFFIXES = {".h", ".cpp", ".def"}
# Examples print, and read texts, as their readers do: in the C locale of a program that sets none.
FREER = {"examples": {"streams", "printf"}}

RULES = [
    ("characters", r"\b(to|is)w?(lower|upper|digit|alpha|alnum|space|xdigit|print|punct|graph|cntrl|blank)\s*\("),
    ("numbers", r"\b(strto(d|f|ld|l|ll|ul|ull|imax|umax)|ato(i|f|l|ll)|sto(i|l|ll|ul|ull|f|d|ld)|s?scanf|fscanf)\s*\("),
    ("texts", r"\b(strcoll|strxfrm|strn?casecmp|strftime|wcscoll|wcstod|mbstowcs|wcstombs|put_time|get_money)\s*\("),
    ("locales", r"\b(setlocale|imbue|std::locale|std::regex|wsregex)\b|<(cctype|ctype\.h|clocale|locale|regex|iomanip)>"),
    ("printf", r"\bv?(f|s|sn|d|as)?printf\s*\("),
    ("streams", r"\bstd::(w?[io]?f?stream|w?[io]?stringstream|ws?ofstream|ifstream|ofstream)\b(?!\s*&)|<(fstream|sstream)>"),
    ("fmt", r"\{[^{}\"]*:[^{}\"]*L\}"),
]
OWN = re.compile(r"\bascii::\w+\s*\(|constexpr \w+ (is|to)_\w+\(")  # core/ascii.h, its users and itself


def code_of(line):
    """The line without a comment that ends it, and without calls of core/ascii.h."""
    return OWN.sub("", re.sub(r"(^|\s)//.*", "", line))


def main():
    root = pathlib.Path(__file__).resolve().parent.parent
    files = offences = 0
    for folder in FOLDERS:
        for source in sorted((root / folder).rglob("*")):
            if source.suffix not in SUFFIXES:
                continue
            files += 1
            for number, line in enumerate(source.read_text(encoding="utf-8").splitlines(), 1):
                code = code_of(line)
                for name, pattern in RULES:
                    if name not in FREER.get(folder, ()) and re.search(pattern, code):
                        offences += 1
                        print(f"{source.relative_to(root)}:{number}: {line.strip()}: asks the locale ({name})")
    print(f"locale: {files} files, {offences} against the rules")
    return 1 if offences else 0


if __name__ == "__main__":
    sys.exit(main())
