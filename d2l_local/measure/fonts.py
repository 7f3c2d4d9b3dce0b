"""Fonts in which Matplotlib can write the language in force (`d2l_local.base.language`)."""

from __future__ import annotations

import functools
from pathlib import Path

from d2l_local.base import language

FOLDER = Path(__file__).parents[1] / "fonts"


def prepare() -> None:
    """Let Matplotlib write the language in force, also where the system has no font for it.

    A language that neither d2l_local nor the system has a font for shows as boxes, of which
    Matplotlib warns.
    """
    if not (wanted := _families(language.language())):
        return  # Matplotlib's own font will do
    import matplotlib

    families = matplotlib.rcParams["font.family"]
    if new := [family for family in wanted if family not in families]:
        # From 3.6 on, a character comes from the first of the families that has it.
        falls_back = matplotlib.__version_info__ >= (3, 6)
        matplotlib.rcParams["font.family"] = [*families, *new] if falls_back else [*new, *families]


def label(template: str) -> str:
    """A label for a figure, in the language in force, which Matplotlib can then write."""
    prepare()
    return language.translated(template)


@functools.cache
def _families(lang: str) -> list[str]:
    """The language's font, and one for what that lacks, after Matplotlib has met d2l_local's."""
    if not (wanted := language.table(lang)["fonts"]):
        return []
    from matplotlib import font_manager

    for path in FOLDER.glob("*.[ot]tf"):
        font_manager.fontManager.addfont(str(path))
    known = {font.name for font in font_manager.fontManager.ttflist}
    return [family for family in wanted if family in known][:2]
