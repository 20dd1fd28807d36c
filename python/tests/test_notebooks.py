"""The notebooks of examples/notebooks: their cells run in order in a process of their own, and hold no results.
tools/run_notebooks.py runs them as Jupyter does."""

import importlib.util
import json
import pathlib
import subprocess
import sys

import neap as np
import pytest

NOTEBOOKS = sorted((pathlib.Path(__file__).parents[2] / "examples/notebooks").glob("*.ipynb"))


def cells(path):
    return [cell for cell in json.loads(path.read_text(encoding="utf-8"))["cells"] if cell["cell_type"] == "code"]


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_notebook(path, tmp_path):
    drawn = importlib.util.find_spec("matplotlib") is not None
    code = [cell["source"] for cell in cells(path) if drawn or "picture" not in cell["metadata"].get("tags", ())]
    program = tmp_path / "cells.py"
    program.write_text("\n\n".join("".join(lines) for lines in code), encoding="utf-8")
    command = [sys.executable, *(["-c", "import matplotlib; matplotlib.use('agg'); exec(open('cells.py', encoding='utf-8').read())"]
                                 if drawn else ["cells.py"])]  # fmt: skip
    run = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stdout + run.stderr


@pytest.mark.parametrize("path", NOTEBOOKS, ids=[path.stem for path in NOTEBOOKS])
def test_has_no_results(path):
    for cell in cells(path):
        assert cell["outputs"] == [] and cell["execution_count"] is None, "tools/run_notebooks.py --strip takes them out"


def test_lines_are_named_by_their_cells():
    source = "import neap as np\nnp.ones(2) + np.ones(3)"
    np._neap._set_file_namer(lambda file: "cell 7" if file == "a cell" else None)
    try:
        with pytest.raises(np.ShapeError, match=r"\[cell 7:2\]"):
            exec(compile(source, "a cell", "exec"), {})
        with pytest.raises(np.ShapeError, match=r"\[test_notebooks.py:"):
            np.ones(2) + np.ones(3)
        np._neap._set_file_namer(lambda file: 1 / 0)
        with pytest.raises(np.ShapeError, match=r"\[another:2\]"):
            exec(compile(source, "another", "exec"), {})
    finally:
        np._neap._set_file_namer(None)
