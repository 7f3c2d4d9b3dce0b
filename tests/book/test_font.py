"""The font that d2l_local brings has what the book draws, and is what its script makes."""

from __future__ import annotations

from book import font
from book.builder.language import literals
from book.figures.drawing import LABELS
from d2l_local.base import language

import pytest
from fontTools.ttLib import TTFont
from this_chapter import CHAPTER

FONT = TTFont(font.FILE)
GLYPHS = set(map(chr, FONT.getBestCmap()))
MISSING = "add them to MORE in book/font.py, and make the font anew"


def strings() -> dict[str, str]:
    """Everything Chinese that a cell or d2l_local can draw or print, and where it stands."""
    found = {line: "zh.json" for line in language.table("zh")["lines"].values()}
    found |= {label: "labels.yml" for label in LABELS["zh"].values()}
    for section in CHAPTER.sections():
        for block in section.code():
            code = section.code_in(block, "zh")
            found |= {literal.inner: section.path.name for literal in literals(code)}
    return found


def without_glyph(glyphs: set[str]) -> dict[str, str]:
    """The strings that a font of these characters cannot write; a line break needs no glyph."""
    return {text: at for text, at in strings().items() if set(text) - glyphs - {"\n"}}


def test_everything_that_can_be_drawn_has_its_glyphs():
    assert without_glyph(GLYPHS) == {}, MISSING


@pytest.mark.parametrize("place", ["zh.json", "labels.yml", "hybridize.md"])
def test_a_character_that_is_taken_out_is_missed(place):
    text = next(text for text, at in strings().items() if at == place and not text.isascii())
    character = next(c for c in text if not c.isascii())
    assert without_glyph(GLYPHS - {character})[text] == place


def test_it_has_the_characters_that_its_script_asks_for_and_no_other():
    assert font.characters() == GLYPHS, MISSING
    assert len(font.characters()) == 4614


def test_its_script_makes_it_again_byte_for_byte():
    assert font.make(font.FILE, face=-1) == font.FILE.read_bytes()  # It has all that is kept


def test_it_has_a_name_of_its_own_and_keeps_copyright_and_license():
    names = {name.nameID: str(name) for name in FONT["name"].names}
    top = FONT["CFF "].cff.topDictIndex[0]
    called = [names[number] for number in (1, 3, 4, 6)]
    called += [*FONT["CFF "].cff.fontNames, top.FamilyName, top.FullName]
    called += [part.FontName for part in top.FDArray]
    assert not [name for name in called if "noto" in name.lower() or "source" in name.lower()]
    assert names[1] == language.table("zh")["fonts"][0]
    assert names[0] == "© 2014-2021 Adobe (http://www.adobe.com/)."
    assert "SIL Open Font License, Version 1.1" in names[13]
    assert names[14] == "http://scripts.sil.org/OFL"
    license = (font.FILE.parent / "OFL.txt").read_text(encoding="utf-8")
    assert "Copyright 2014-2021 Adobe" in license and font.FILE.name in license
    assert "SIL OPEN FONT LICENSE Version 1.1" in license
