"""Fonts in which Matplotlib can write the language in force (`d2l_local.base.language`)."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from d2l_local.base import language

FOLDER = Path(__file__).parents[1] / "fonts"


def prepare() -> None:
    """Let Matplotlib write the language in force, whatever its style and the system's fonts are.

    Not by a setting, which a style or ``rcdefaults`` would take back: from here on Matplotlib looks
    for a character that the fonts of a text lack in those of the language, too. A language that
    neither d2l_local nor the system has a font for shows as boxes, of which Matplotlib warns.
    """
    if not language.table(language.language())["fonts"]:
        return  # Matplotlib's own font will do
    from matplotlib.font_manager import FontManager

    find = FontManager._find_fonts_by_props
    if hasattr(find, "__wrapped__"):
        return

    @functools.wraps(find)
    def find_with_language(self: Any, *args: Any, **keywords: Any) -> list[Any]:
        return list(dict.fromkeys([*find(self, *args, **keywords), *_of(language.language())]))

    FontManager._find_fonts_by_props = find_with_language  # type: ignore[method-assign]


def has_bold() -> bool:
    """Whether what is bold looks so: a language's own font has a single weight."""
    return not language.table(language.language())["fonts"]


def label(template: str) -> str:
    """A label for a figure, in the language in force, which Matplotlib can then write."""
    prepare()
    return language.translated(template)


@functools.cache
def _of(lang: str) -> list[str]:
    """The files of the language's font, and of one for what that lacks."""
    if not (wanted := language.table(lang)["fonts"]):
        return []
    from matplotlib import font_manager

    for path in FOLDER.glob("*.[ot]tf"):
        font_manager.fontManager.addfont(str(path))
    known = {font.name for font in font_manager.fontManager.ttflist}
    families = [family for family in wanted if family in known][:2]
    return [font_manager.findfont(font_manager.FontProperties(family)) for family in families]
