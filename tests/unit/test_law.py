"""The row of the law: what it says of parts in turns and of parts at once."""

from __future__ import annotations

import matplotlib

matplotlib.use("agg")

from d2l_local.base.language import columns
from d2l_local.lesson.law import law, picture

import pytest
from helpers import python
from matplotlib import pyplot as plt


@pytest.mark.parametrize(
    ("measured", "hidden"), [(5.0, 0.0), (3.0, 1.0), (4.0, 0.5), (6.0, -0.5), (2.0, 1.5)]
)
def test_share_that_is_hidden(measured, hidden):
    assert law("here", measured, first=2.0, second=3.0) == pytest.approx(hidden)


def test_all_but_the_longest_of_three_parts_can_hide():
    assert law("here", 4.0, a=1.0, b=2.0, c=4.0) == pytest.approx(1)
    assert law("here", 7.0, a=1.0, b=2.0, c=4.0) == pytest.approx(0)


def test_row_says_the_bounds_and_the_parts(capsys):
    law("async-computation", 3.0, **{"N t_q": 2.0, "N t_c": 3.0})
    heads, row, bar, parts = capsys.readouterr().out.splitlines()
    assert heads.split()[-4:] == ["longest", "measured", "sum", "hidden"]
    assert row.split() == ["async-computation", "3.0000", "3.0000", "5.0000", "100%"]
    assert parts.split() == ["parts:", "N", "t_q", "2.0000", "N", "t_c", "3.0000"]
    assert len(heads) == len(row) and bar.startswith("  longest ├●─")


def test_the_bar_shows_where_between_its_ends_the_whole_lies(capsys):
    places = []
    for measured in (2.0, 2.5, 3.0, 4.0):
        law("here", measured, first=2.0, second=2.0)
        _, _, bar, *others = capsys.readouterr().out.splitlines()
        assert bar.endswith("┤ sum") and len(others) == 1
        places.append(bar.index("●"))
    assert places[0] + 39 == places[-1]
    assert [place - places[0] for place in places[1:3]] == [10, 20]


def test_beyond_the_ends_the_row_says_by_how_much(capsys):
    assert law("in turns", 2.5, first=1.0, second=1.0) == pytest.approx(-0.5)
    _, row, bar, more, _ = capsys.readouterr().out.splitlines()
    assert row.split()[-1] == "0%" and bar.endswith("┤ sum ●")
    assert more.split() == ["beyond", "the", "sum", "by", "0.5000"]
    assert law("at once", 0.75, first=1.0, second=1.0) == pytest.approx(1.25)
    _, row, bar, less, _ = capsys.readouterr().out.splitlines()
    assert row.split()[-1] == "100%" and bar.startswith("  ● longest ├─")
    assert less.split() == ["below", "the", "longest", "by", "0.2500"]


def test_short_parts_are_told_in_milliseconds(capsys):
    law("multiple devices", 0.0031, **{"N t_c": 0.003, "t_x": 0.00003})
    heads, row, _, more, parts = capsys.readouterr().out.splitlines()
    assert heads.startswith("The law so far (ms)")
    assert row.split() == ["multiple", "devices", "3.00", "3.10", "3.03", "0%"]
    assert more.split()[-1] == "0.07"
    assert parts.split() == ["parts:", "N", "t_c", "3.00", "t_x", "0.03"]


def test_very_short_parts_are_told_in_microseconds(capsys):
    law("one call", 45.2e-6, issuing=20e-6, computing=30e-6)
    heads, row, *_ = capsys.readouterr().out.splitlines()
    assert heads.startswith("The law so far (µs)")
    assert row.split() == ["one", "call", "30.0", "45.2", "50.0", "24%"]


def test_in_chinese_the_columns_stand_below_their_heads(capsys, monkeypatch):
    monkeypatch.setenv("D2L_LANGUAGE", "zh")
    law("here", 3.0, first=2.0, second=2.0)
    heads, row, bar, _ = capsys.readouterr().out.splitlines()
    assert "最长" in heads and "之和" in bar and columns(heads) == columns(row)


@pytest.mark.parametrize("parts", [{}, {"alone": 1.0}, {"alone": 1.0, "nothing": 0.0}])
def test_one_part_says_nothing(parts):
    with pytest.raises(ValueError, match="two parts or more that take time") as caught:
        law("here", 1.0, **parts)
    assert str(parts) in str(caught.value)


def drawn(title="here: 50% hidden", measured=2.5, **parts):
    ax = picture(title, "time (ms)", measured, parts, 2)
    ax.figure.canvas.draw()
    plt.close(ax.figure)
    return ax


def test_the_picture_has_the_parts_in_turns_and_what_they_took():
    ax = drawn(short=1.0, long=2.0)
    bars = [(bar.get_x(), bar.get_width()) for bar in ax.patches]
    assert bars == [(0, 2), (2, 1)], "the longest first, where what is measured may end"
    bounds, dot = ax.get_lines()
    assert list(bounds.get_xdata()) == [2, 3] and list(dot.get_xdata()) == [2.5]
    shown = [tick.get_text() for tick in ax.get_xticklabels()]
    assert shown == ["longest 2.00", "sum 3.00"] and ax.get_xlabel() == "time (ms)"
    assert {"long", "short", "measured 2.50"} <= {text.get_text() for text in ax.texts}
    assert ax.get_title(loc="left") == "here: 50% hidden"
    assert ax.figure.get_size_inches().tolist() == [7, 1.6]


@pytest.mark.parametrize("measured", [0.5, 9.0])
def test_beyond_the_ends_the_picture_shows_the_dot(measured):
    ax = drawn(measured=measured, a=1.0, b=1.0)
    low, high = ax.get_xlim()
    assert low <= measured < high


def test_a_part_too_short_for_its_name_is_named_beside(recwarn):
    ax = drawn(computing=9.0, **{"copying of all gradients": 0.1})
    inside, *_, beside = ax.texts
    assert inside.get_text() == "computing" and inside.get_position()[0] == 4.5
    assert beside.get_text() == "copying of all gradients" and beside.xy[0] == pytest.approx(9.1)
    assert [str(warning.message) for warning in recwarn] == []


NOTEBOOK = """
import matplotlib
from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output

matplotlib.use("agg")
shell = InteractiveShell.instance()
{kernel}
with capture_output() as captured:
    shell.run_cell("from matplotlib import pyplot as plt; mine = plt.figure()")
    shell.run_cell("from d2l_local.lesson.law import law")
    shell.run_cell("hidden = law('here', 1.5, a=1.0, b=1.0)")
    shell.run_cell("assert plt.get_fignums() == [1] and plt.gcf() is mine; print('mine')")
print(captured.stdout)
[shown] = captured.outputs or [None]
if shown:
    from base64 import b64decode
    from struct import unpack
    print(shown.data["text/plain"], unpack(">II", b64decode(shown.data["image/png"])[16:24]))
"""


def test_a_notebook_shows_the_picture_in_place_of_the_bar():
    lines = python(NOTEBOOK.format(kernel="shell.kernel = None")).stdout.splitlines()
    assert lines[0].startswith("The law so far (sec)") and lines[1].split()[-1] == "50%"
    assert lines[2].startswith("  parts: ") and "mine" in lines[3:5]
    text, _, size = lines[-1].partition(" (")
    width, height = map(int, size.rstrip(")").split(", "))
    assert text == "here: 50% hidden" and width >= 600 and height <= 200


def test_a_terminal_shows_the_bar():
    shown = python(NOTEBOOK.format(kernel="")).stdout
    assert "longest ├" in shown and "hidden (" not in shown
