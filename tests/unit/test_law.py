"""The row of the law: what it says of parts in turns and of parts at once."""

from __future__ import annotations

from d2l_local.base.language import columns
from d2l_local.lesson.law import law

import pytest


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
    heads, row, parts = capsys.readouterr().out.splitlines()
    assert heads.split()[-4:] == ["longest", "measured", "sum", "hidden"]
    assert row.split() == ["async-computation", "3.0000", "3.0000", "5.0000", "100%"]
    assert parts.split() == ["parts:", "N", "t_q", "2.0000", "N", "t_c", "3.0000"]
    assert len(heads) == len(row)


def test_nothing_hidden_has_no_sign(capsys):
    hidden = law("in turns", 2.001, first=1.0, second=1.0)
    assert hidden < 0 and capsys.readouterr().out.splitlines()[1].split()[-1] == "0%"


def test_short_parts_are_told_in_milliseconds(capsys):
    law("multiple devices", 0.0031, **{"N t_c": 0.003, "t_x": 0.00003})
    heads, row, parts = capsys.readouterr().out.splitlines()
    assert heads.startswith("The law so far (ms)")
    assert row.split() == ["multiple", "devices", "3.00", "3.10", "3.03", "-233%"]
    assert parts.split() == ["parts:", "N", "t_c", "3.00", "t_x", "0.03"]


def test_in_chinese_the_columns_stand_below_their_heads(capsys, monkeypatch):
    monkeypatch.setenv("D2L_LANGUAGE", "zh")
    law("here", 3.0, first=2.0, second=2.0)
    heads, row, _ = capsys.readouterr().out.splitlines()
    assert "最长" in heads and columns(heads) == columns(row)


@pytest.mark.parametrize("parts", [{}, {"alone": 1.0}, {"alone": 1.0, "nothing": 0.0}])
def test_one_part_says_nothing(parts):
    with pytest.raises(ValueError, match="two parts or more that take time") as caught:
        law("here", 1.0, **parts)
    assert str(parts) in str(caught.value)
