"""The page docs/python.md: its programs run in order, and what stands behind `# ==` is so."""

import ast
import pathlib
import re

import neap
import numpy
import pytest

PAGE = pathlib.Path(__file__).parents[2] / "docs/python.md"


def is_same(value, expected):
    if isinstance(value, neap.Array):
        return numpy.array_equal(numpy.asarray(value), numpy.asarray(expected))
    return value == expected


@pytest.mark.skipif(not PAGE.is_file(), reason="tests without a checkout")
def test_the_page():
    text = PAGE.read_text(encoding="utf-8")
    names: dict = {}
    checked = 0
    for match in re.finditer(r"^```python\n(.*?)^```$", text, re.MULTILINE | re.DOTALL):
        code = "\n" * text[: match.start(1)].count("\n") + match[1]
        lines = code.splitlines()
        for node in ast.parse(code).body:
            comment = re.search(r"#\s*==\s*(.*)$", lines[node.end_lineno - 1])
            if isinstance(node, ast.Expr) and comment:
                value = eval(compile(ast.Expression(node.value), str(PAGE), "eval"), names)
                assert is_same(value, eval(comment[1], names)), f"line {node.lineno}: {value!r}"
                checked += 1
            else:
                exec(compile(ast.Module([node], []), str(PAGE), "exec"), names)
    assert checked > 10
