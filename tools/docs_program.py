#!/usr/bin/env python3
"""Makes programs of a page of docs/, so that what a page says is what happens.

docs_program.py PAGE.md OUT.cpp: the page's ```cpp blocks, one after the other, are one program. A line `expression;  // == 1.5` or
`// == {1, 2}` is checked when it runs (within 1e-4, relative above 1); so are `// throws UserError` and `std::cout << x;  // prints
text`, with the text's other lines as comments in the lines below. Blocks that begin with `// at the top` stand before main.

A block whose first line names a file, `// hello.cpp` or `# CMakeLists.txt`, is that file, whole, and what the program prints is the
next ```text block.
docs_program.py --list PAGE.md           the names of the programs, one a line
docs_program.py --files PAGE.md FOLDER   writes the files
docs_program.py --run PAGE.md NAME.cpp PROGRAM   runs it (where there is a text block: compares)
docs_program.py --shell PAGE.md          the page's ```sh blocks; one that begins with `git` is for people, and left out
"""

import pathlib
import re
import subprocess
import sys

BLOCK = re.compile(r"^```(\w+)\n(.*?)^```", re.M | re.S)
FILE = re.compile(r"(?://|#) ([\w-]+\.\w+)\n")
EQUALS = re.compile(r"^(\s*)(?:(?:const )?(?:auto|Array|float|size_t) (\w+) = )?(.*?);\s*// == (.*?)$")
PRINTS = re.compile(r"^(\s*)std::cout << (.*?);\s*// prints (.*)$")
MORE = re.compile(r"^\s*//        ?(.*)$")
THROWS = re.compile(r"^(\s*)(.*);\s*// throws (\w+)")

HEAD = """#include <neap/neap.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <sstream>

namespace nr = neap::random;
using neap::Array;
using namespace neap::literals;

inline std::vector<double> numbers(const Array& x) { return x.to_vector<double>(); }
inline std::vector<double> numbers(double x) { return {x}; }
inline void expect(const char* what, const std::vector<double>& got, const std::vector<double>& want) {
  bool good = got.size() == want.size();
  for (size_t i = 0; good && i < got.size(); ++i) good = std::abs(got[i] - want[i]) <= 1e-4 * std::max(1.0, std::abs(want[i]));
  if (good) return;
  std::printf("%s gives", what);
  for (const double x : got) std::printf(" %g", x);
  std::printf("\\n"), std::exit(1);
}
inline void expect_text(const std::string& got, const std::string& want) {
  if (got == want) return;
  std::printf("printed:\\n%s\\nexpected:\\n%s\\n", got.c_str(), want.c_str()), std::exit(1);
}
"""


def quoted(text):
    return '"' + text.replace("\\", "\\\\").replace('"', '\\"') + '"'


def checked(line):
    """The line, or what checks its comment."""
    if m := THROWS.match(line):
        indent, call, error = m.groups()
        return f"{indent}try {{ {call}; std::printf({quoted(call + ' does not throw')}); return 1; }} catch (const neap::{error}&) {{}}"
    if m := EQUALS.match(line):
        indent, name, expression, value = m.groups()
        value = value.strip()
        numbers = value if value.startswith("{") else "{" + value + "}"
        numbers = "{" + numbers.replace("{", "").replace("}", "") + "}"
        if name:
            return f"{indent}auto {name} = {expression}; expect({quoted(name)}, numbers({name}), {numbers});"
        return f"{indent}expect({quoted(expression.strip())}, numbers({expression}), {numbers});"
    return line


def with_texts(lines):
    """The lines, what they say that is printed being checked."""
    result = []
    while lines:
        line, *lines = lines
        if m := PRINTS.match(line):
            indent, what, text = m.groups()
            while lines and (more := MORE.match(lines[0])):
                text += "\n" + more.group(1)
                lines = lines[1:]
            written = quoted(text).replace("\n", "\\n")
            line = f"{indent}{{ std::ostringstream out; out << {what}; expect_text(out.str(), {written}); }}"
        result.append(line)
    return result


def program(page):
    top, body = [], []
    for language, block in BLOCK.findall(page.read_text()):
        if language != "cpp" or FILE.match(block):
            continue
        lines = [checked(line) for line in with_texts(block.splitlines())]
        (top if block.startswith("// at the top") else body).append("\n".join(lines))
    return HEAD + "\n" + "\n".join(top) + "\nint main() {\n" + "\n".join(body) + "\n}\n"


def files(page):
    """(name, text, what it prints or None) of each block that is a file."""
    found = []
    for language, block in BLOCK.findall(page.read_text()):
        if m := FILE.match(block):
            found.append([m[1], block, None])
        elif language == "text" and found and found[-1][2] is None:
            found[-1][2] = block
    return found


def write(path, text):
    """Leaves a file that says the same untouched, so that nothing is compiled again."""
    if not path.is_file() or path.read_text() != text:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)


def run(page, name, binary):
    expected = next(printed for file, _, printed in files(page) if file == name)
    done = subprocess.run([binary], capture_output=True, text=True)
    sys.stdout.write(done.stdout)
    sys.stderr.write(done.stderr)
    lines = [line.rstrip() for line in done.stdout.splitlines()]
    if done.returncode == 0 and expected is not None and lines != expected.splitlines():
        print(f"{page.name} says that {name} prints:\n{expected}")
        return 1
    return done.returncode


def main(arguments):
    match arguments:
        case ["--list", page]:
            print("\n".join(name for name, _, _ in files(pathlib.Path(page)) if name.endswith(".cpp")))
        case ["--files", page, folder]:
            for name, text, _ in files(pathlib.Path(page)):
                write(pathlib.Path(folder) / name, text)
        case ["--run", page, name, binary]:
            return run(pathlib.Path(page), name, binary)
        case ["--shell", page]:
            blocks = BLOCK.findall(pathlib.Path(page).read_text())
            print("\n".join(block for language, block in blocks if language == "sh" and not block.startswith("git ")))
        case [page, out] if not page.startswith("-"):
            write(pathlib.Path(out), program(pathlib.Path(page)))
        case _:
            print(__doc__, file=sys.stderr)
            return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
