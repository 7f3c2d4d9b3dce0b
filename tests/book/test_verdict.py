"""Which cells a second try measures again."""

from __future__ import annotations

from book.builder.verdict import to_measure_again

from nbformat.v4 import new_code_cell, new_output

TIMED = {"tags": ["nbval-ignore-output"]}
PRINTED = [new_output("stream", text="3\n")]


def test_what_is_printed_and_compared_is_not_made_again():
    """A second network would have other weights than those that the notebook prints."""
    cells = [
        new_code_cell("device = choose()", metadata=TIMED),
        new_code_cell("net = get_net(device)\nprint(net)", outputs=PRINTED),
        new_code_cell("seconds = measure(net)", metadata=TIMED),
        new_code_cell("half = seconds / 2"),
        new_code_cell("assert half < 1", metadata=TIMED),
        new_code_cell("print(net)\nassert net", metadata=TIMED),
    ]
    assert to_measure_again(cells, 4) == [2, 3]
    assert to_measure_again(cells, 5) == []
