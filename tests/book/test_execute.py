"""What is said of a kernel that does not start, of one that dies, and of errors of the builder."""

from __future__ import annotations

import base64
import io
import sys

from book.builder import cli
from book.builder.execute import execute
from book.builder.notebook import BuildError
from book.builder.pictures import smaller

import pytest
from nbformat.v4 import new_code_cell, new_notebook
from PIL import Image
from this_chapter import ROOT


def run(source, folder):
    notebook = new_notebook(cells=[new_code_cell(source, id="one")])
    execute(notebook, folder, folder)


def test_a_kernel_that_dies_is_told_with_its_cell(tmp_path):
    with pytest.raises(
        BuildError, match=r"^cell one:\n    import os; os._exit\(3\)\nthe kernel died: "
    ):
        run("import os; os._exit(3)", tmp_path)


def test_a_kernel_that_does_not_start_names_no_cell(tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "executable", "/bin/false")
    with pytest.raises(BuildError, match=r"^the kernel did not start: "):
        run("1", tmp_path)


def test_an_error_of_the_builder_is_no_dead_kernel(tmp_path, monkeypatch):
    from nbclient import NotebookClient

    def execute_cell(*_):
        raise RuntimeError("a loop is running already")

    monkeypatch.setattr(NotebookClient, "execute_cell", execute_cell)
    with pytest.raises(RuntimeError, match="^a loop is running already$") as caught:
        run("1", tmp_path)
    assert not isinstance(caught.value, BuildError)


def test_a_clone_that_cannot_be_written_is_named_without_a_traceback(monkeypatch, capsys):
    """A class's, in which a student types `make run`."""

    def refuse(*_):
        raise PermissionError(13, "Permission denied", "/of/a/teacher/build/mxnet")

    monkeypatch.setattr(cli, "run_notebook", refuse)
    assert cli.main(["run", "--framework", "mxnet", "--section", "index"]) == 1
    said = capsys.readouterr().err
    assert said.startswith("/of/a/teacher/build/mxnet cannot be written: clone the repository")


def test_a_chart_has_a_palette_of_few_colors(tmp_path):
    source = "from matplotlib import pyplot as plt\nplt.plot([1, 3, 2], color='#D55E00');"
    node = new_notebook(cells=[new_code_cell(source)])
    execute(node, tmp_path, ROOT)
    [png] = [out.data["image/png"] for out in node.cells[0].outputs if "data" in out]
    image = Image.open(io.BytesIO(base64.b64decode(png)))
    colors = image.convert("RGB").getcolors()
    assert image.mode == "P" and any(color == (0xD5, 0x5E, 0x00) for _, color in colors)
    assert smaller(png) == png  # What has a palette stays
    clear, written = Image.new("RGBA", (2, 2)), io.BytesIO()
    clear.save(written, "PNG")
    transparent = base64.b64encode(written.getvalue()).decode()
    assert smaller(transparent) == transparent
