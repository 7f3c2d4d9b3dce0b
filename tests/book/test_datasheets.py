"""The table of devices: every figure has a source, and its ridge is their quotient."""

from __future__ import annotations

import re

from book.figures.draw import FIGURES, draw

import pytest
from this_chapter import CHAPTER

LANGUAGES = CHAPTER.sections(["hardware"])[0].langs


def rows(lang: str) -> list[list[str]]:
    """The cells of each device's row, in one language."""
    [section] = CHAPTER.sections(["hardware"])
    [block] = [b for b in section.blocks if b.lang == lang and b.id == "devices"]
    lines = [line for line in block.source.splitlines() if line.startswith("| ")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[1:]]


def number(cell: str) -> float | None:
    shown = re.sub(r"\[(.*?)\]\(.*?\)", r"\1", cell)
    return None if shown in ("–", "?") else float(shown)


@pytest.mark.parametrize("lang", LANGUAGES)
def test_ridge_is_the_peak_over_the_bandwidth(lang):
    for name, _, bandwidth, _, _, half, _, _, _, ridge in rows(lang):
        W, P, found = map(number, (bandwidth, half, ridge))
        assert (found is None) == (P is None or W is None), name
        if found is not None:
            assert found == round(P / W), name


@pytest.mark.parametrize("lang", LANGUAGES)
def test_figures_stand_in_rows_that_name_their_source(lang):
    for name, *figures in rows(lang):
        if any(number(figure) is not None and "](" not in figure for figure in figures):
            assert re.match(r"\[.+\]\(https://", name), name


def test_the_figure_of_a_gpu_has_the_memory_of_its_row():
    [h100] = [row for row in rows("en") if row[0].startswith("[H100]")]
    assert "here an H100" in FIGURES["gpu-core"].description
    _, labels = draw("gpu-core", "en")
    assert f"HBM, {h100[1]} GB, {h100[2]} TB/s" in labels


def test_languages_say_the_same():
    original, *others = [[row[1:] for row in rows(lang)] for lang in LANGUAGES]
    assert all(other == original for other in others)
