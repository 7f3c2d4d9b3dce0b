"""Fonts in which Matplotlib can write the language in force (`d2l_local.language`)."""

from __future__ import annotations

import functools
import sys
import warnings

from d2l_local import language


def prepare() -> bool:
    """Let Matplotlib use a font that has the language's characters; return whether there is one.

    Without one, a notebook is told so once; labels of d2l_local are then English (`label`), and
    Matplotlib does not warn about each character of others.
    """
    lang = language.language()
    if not language.table(lang)["fonts"]:
        return True  # Matplotlib's own font will do
    font = find(lang)
    if font is None:
        _tell_once(lang)
        return False
    import matplotlib

    families = matplotlib.rcParams["font.family"]
    if font not in families:
        # From 3.6 on, a character comes from the first of the families that has it.
        falls_back = matplotlib.__version_info__ >= (3, 6)
        matplotlib.rcParams["font.family"] = [*families, font] if falls_back else [font, *families]
    return True


def label(template: str) -> str:
    """A label for a figure: translated if Matplotlib can write it, else English."""
    return language.translated(template) if prepare() else template


@functools.cache
def find(lang: str) -> str | None:
    """The first of the language's fonts that this machine has, or None."""
    from matplotlib import font_manager

    known = font_manager.fontManager
    if not (found := _first(lang)):  # Matplotlib's list may be older than the fonts
        listed = {font.fname for font in known.ttflist}
        for path in set(font_manager.findSystemFonts()) - listed:
            try:
                known.addfont(path)
            except Exception:
                continue
        found = _first(lang)
    return found


def _first(lang: str) -> str | None:
    from matplotlib import font_manager

    names = {font.name for font in font_manager.fontManager.ttflist}
    return next((font for font in language.table(lang)["fonts"] if font in names), None)


@functools.cache
def _tell_once(lang: str) -> None:
    warnings.filterwarnings("ignore", "Glyph")
    ipython = sys.modules.get("IPython")
    if ipython and ipython.get_ipython():  # Not in each process that a notebook starts
        language.say(language.NO_FONT, package=language.table(lang)["package"])
