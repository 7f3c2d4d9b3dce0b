"""A notebook is the same whether its data were at hand or had to be fetched."""

from __future__ import annotations

from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def test_notebook_shows_what_is_fetched_and_keeps_nothing_of_it(tmp_path, monkeypatch):
    nbformat = pytest.importorskip("nbformat")
    nbclient = pytest.importorskip("nbclient")
    from book.builder.execute import execute

    sent = []

    def record(self, message, *args):
        sent.append(message["content"].get("text", ""))
        return process_message(self, message, *args)

    process_message = nbclient.NotebookClient.process_message
    monkeypatch.setattr(nbclient.NotebookClient, "process_message", record)
    load = """
from d2l_local.data import notice
{}
notice.announce("Data: Fashion-MNIST")
"""
    fetch = """
with notice.passing("Fetching a file"):
    import time; time.sleep(0.5)
"""
    outputs = []
    for step in (fetch, ""):
        notebook = nbformat.v4.new_notebook(cells=[nbformat.v4.new_code_cell(load.format(step))])
        execute(notebook, tmp_path, ROOT)
        outputs.append(notebook.cells[0].outputs)
    assert "\rFetching a file" in "".join(sent)
    text = "Data: Fashion-MNIST\n"
    assert outputs[0] == outputs[1] == [{"output_type": "stream", "name": "stdout", "text": text}]
