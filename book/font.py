"""Make the font in which Matplotlib writes Chinese, a subset of Noto Sans CJK SC.

    python -m book.font NotoSansCJK-Regular.ttc    writes d2l_local/fonts/D2LLocalSansSC-Regular.otf

The source is Noto Sans CJK 2.004 as in Debian's package fonts-noto-cjk 1:20220127+repack1-1, which
`apt-get download` and `dpkg-deb -x` give without installing it. From it fontTools 4.68 makes the
same bytes each time. It has no Reserved Font Name, but Noto is a trademark, so the subset has a
name of its own.
"""

from __future__ import annotations

import argparse
import hashlib
import io
import sys
from pathlib import Path

from fontTools.subset import Options, Subsetter
from fontTools.ttLib import TTFont

SOURCE = "b76b0433203017ca80401b2ee0dd69350349871c4b19d504c34dbdd80541690a"  # SHA-256
FACE = 2  # In the collection, the one with the forms that China uses
FILE = Path(__file__).resolve().parents[1] / "d2l_local/fonts/D2LLocalSansSC-Regular.otf"
FAMILY, POSTSCRIPT = "D2L Local Sans SC", FILE.stem
KEPT = [0, 5, 13, 14]  # Of the name table: copyright, version, license and its address
OURS = {1: FAMILY, 2: "Regular", 3: f"2.004;{POSTSCRIPT}", 4: FAMILY, 6: POSTSCRIPT}
OURS[10] = "A subset of Noto Sans CJK SC 2.004"
# Matplotlib writes horizontal lines, and needs no kerning or ligatures for Chinese.
NEEDLESS = ["BASE", "GDEF", "GPOS", "GSUB", "VORG", "vhea", "vmtx"]

LATIN = [*map(chr, range(0x20, 0x7F)), *map(chr, range(0xA0, 0x100))]
ROWS = [*range(1, 10), *range(16, 56)]  # Of GB 2312: symbols, and the 3,755 commonest characters
MORE = "–—−熵阱"  # What the book needs beside these; tests name what is missing


def characters() -> set[str]:
    """The characters that the font has."""
    codes = [bytes((0xA0 + row, 0xA0 + cell)) for row in ROWS for cell in range(1, 95)]
    decoded = {code.decode("gb2312", "ignore") for code in codes}  # Some cells are empty
    return {*LATIN, *MORE, *decoded} - {""}


def make(source: Path, face: int = FACE) -> bytes:
    """Return what the book needs of a font, with our names, as the content of a file."""
    font = TTFont(source, fontNumber=face, recalcTimestamp=False)
    options = Options(hinting=False, desubroutinize=True, bidi_closure=False, name_IDs=KEPT)
    options.drop_tables += NEEDLESS
    subsetter = Subsetter(options)
    subsetter.populate(text="".join(characters()))
    subsetter.subset(font)
    rename(font)
    made = io.BytesIO()
    font.save(made)
    return made.getvalue()


def rename(font: TTFont) -> None:
    """Give a font our names, in all places that have one."""
    for number, name in OURS.items():
        font["name"].setName(name, number, 3, 1, 0x409)
    cff = font["CFF "].cff
    cff.fontNames = [POSTSCRIPT]
    top = cff.topDictIndex[0]
    top.FullName, top.FamilyName = FAMILY, FAMILY
    for part in top.FDArray:
        part.FontName = f"{POSTSCRIPT}-{part.FontName.rpartition('-')[2]}"


def main() -> None:
    """Write the font, if the source is the one that it was made of."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("source", type=Path, help="a copy of NotoSansCJK-Regular.ttc")
    source = parser.parse_args().source
    found = hashlib.sha256(source.read_bytes()).hexdigest()
    if found != SOURCE:
        sys.exit(f"{source} has the SHA-256 {found}, not {SOURCE}: take the version named above")
    FILE.write_bytes(make(source))
    print(f"{FILE}: {len(characters())} characters, {FILE.stat().st_size >> 10} KB")


if __name__ == "__main__":
    main()
