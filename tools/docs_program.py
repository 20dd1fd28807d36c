#!/usr/bin/env python3
"""Makes a program of a page of docs/: docs_program.py PAGE.md OUT.cpp

The page's ```cpp blocks, one after the other, are the program. A line `expression;  // == 1.5` or `// == {1, 2}` is
checked when it runs (within 1e-4, relative above 1); so are `// throws UserError` and `std::cout << x;  // prints text`, with
the text's other lines as comments in the lines below. Blocks that begin with `// at the top` stand
before main. So what a page says is what happens.
"""

import pathlib
import re
import sys

BLOCK = re.compile(r"^```cpp\n(.*?)^```", re.M | re.S)
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
    for block in BLOCK.findall(page.read_text()):
        lines = [checked(line) for line in with_texts(block.splitlines())]
        (top if block.startswith("// at the top") else body).append("\n".join(lines))
    return HEAD + "\n" + "\n".join(top) + "\nint main() {\n" + "\n".join(body) + "\n}\n"


if __name__ == "__main__":
    page, out = map(pathlib.Path, sys.argv[1:])
    text = program(page)
    if not out.is_file() or out.read_text() != text:
        out.parent.mkdir(parents=True, exist_ok=True)
        out.write_text(text)
