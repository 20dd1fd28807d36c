"""What plans and errors call the lines of a notebook: `cell 3:2`, where their file is a temporary one that IPython names."""

from __future__ import annotations

import re
import sys

from . import _neap


def name_cells() -> None:
    """Within IPython, names lines by their cells."""
    ipython = sys.modules.get("IPython")
    shell = getattr(ipython, "get_ipython", lambda: None)()
    label = getattr(getattr(shell, "compile", None), "format_code_name", None)
    if label is None:
        return

    def cell_of(file: str) -> str | None:
        known = label(file)  # ("Cell", "In[3]"), or None for a file
        number = re.search(r"\d+", known[1]) if known else None
        return f"cell {number[0]}" if number else None

    _neap._set_file_namer(cell_of)
