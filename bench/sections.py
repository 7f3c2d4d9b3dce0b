"""The cells of a section, executed outside of its notebook."""

from __future__ import annotations

import contextlib
import json
import linecache
import sys
from pathlib import Path
from typing import Any

CHAPTERS = Path(__file__).resolve().parents[1] / "chapters"


def notebook(
    section: str, until: str, framework: str, beginnings: tuple[str, ...] = ("",)
) -> dict[str, Any]:
    """Variables of a notebook after its code cells up to the one with the id ``until`` have run.

    Of them, those whose ids have one of these ``beginnings``. What they print goes to stderr.
    ValueError: there is no such cell.
    """
    import matplotlib

    matplotlib.use("agg")
    path = CHAPTERS / f"{framework}/en/{section}.ipynb"
    variables: dict[str, Any] = {}
    with contextlib.redirect_stdout(sys.stderr):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            wanted = cell["id"].startswith(beginnings) and cell["id"] != "setup"
            if cell["cell_type"] == "code" and wanted:
                name, lines = f"<{section}: {cell['id']}>", cell["source"]
                linecache.cache[name] = (1, None, lines, name)  # For in_new_process to find
                exec(compile("".join(lines), name, "exec"), variables)
            if cell["id"] == until:
                return variables
    raise ValueError(f"{path} has no cell {until!r}")
