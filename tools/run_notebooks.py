#!/usr/bin/env python3
"""Runs the notebooks of examples/notebooks as Jupyter does, each in a kernel of its own and in an empty folder; an error in a cell
is an error here.

run_notebooks.py [--html FOLDER] [NOTEBOOK...]: with --html, they and what they print become pages there. It needs nbclient and
ipykernel, nbconvert for pages, matplotlib for pictures, and neap: `./neap python` has all of them.
run_notebooks.py --strip: takes results out of the notebooks, which have none in the repository.
"""

import json
import pathlib
import sys
import tempfile
import time

FOLDER = pathlib.Path(__file__).resolve().parent.parent / "examples/notebooks"


def strip(path):
    notebook = json.loads(path.read_text(encoding="utf-8"))
    for cell in notebook["cells"]:
        if cell["cell_type"] == "code":
            cell.update(execution_count=None, outputs=[])
        cell["metadata"] = {key: value for key, value in cell["metadata"].items() if key == "tags"}
    notebook["metadata"] = {
        "kernelspec": {"display_name": "Python 3", "language": "python", "name": "python3"},
        "language_info": {"name": "python"},
    }
    path.write_text(json.dumps(notebook, indent=1, ensure_ascii=False, sort_keys=True) + "\n", encoding="utf-8")


def run(path, pages):
    import nbclient
    import nbformat

    notebook = nbformat.read(path, as_version=4)
    nbformat.validate(notebook)
    failed = ""
    began = time.monotonic()
    with tempfile.TemporaryDirectory() as empty:
        client = nbclient.NotebookClient(notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": empty}})
        try:
            client.execute()
        except nbclient.exceptions.CellExecutionError as error:
            failed = str(error)
    print(f"{path.name}: {'failed' if failed else 'ran'}, {time.monotonic() - began:.1f} s", flush=True)
    if failed:
        print(failed, file=sys.stderr)
    if pages:
        import nbconvert

        page, _ = nbconvert.HTMLExporter(embed_images=True).from_notebook_node(notebook)
        pages.mkdir(parents=True, exist_ok=True)
        (pages / f"{path.stem}.html").write_text(page, encoding="utf-8")
    return not failed


def main(arguments):
    pages = None
    if arguments[:1] == ["--html"] and len(arguments) > 1:
        pages, arguments = pathlib.Path(arguments[1]), arguments[2:]
    stripping = arguments[:1] == ["--strip"]
    if stripping:
        arguments = arguments[1:]
    paths = [pathlib.Path(a) for a in arguments] or sorted(FOLDER.glob("*.ipynb"))
    if any(p.suffix != ".ipynb" or not p.is_file() for p in paths):
        print(__doc__, file=sys.stderr)
        return 2
    if stripping:
        for path in paths:
            strip(path)
        return 0
    done = [run(path, pages) for path in paths]
    return 0 if all(done) else 1


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
