"""Draw the figures of the chapter as SVG, each in every language.

    python -m book.figures.draw            draws img/<figure>-<language>.svg
    python -m book.figures.draw --check    names the files that differ from these, and fails

A new figure is a function in figures.py; a new language is a dictionary in img/labels.yml.
"""

import argparse
import sys

from book.figures.drawing import HERE, LABELS, Drawing
from book.figures.figures import FIGURES


def draw(name, language):
    """Return the SVG of a figure in a language and the labels that it used."""
    function, width, height, title, desc = FIGURES[name]
    drawing = Drawing(language, width, height, title, desc)
    function(drawing)
    return drawing.svg(), drawing.used


def main():
    """Draw every figure, or check that the files are what would be drawn."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--check", action="store_true", help="change nothing; fail if stale")
    check = parser.parse_args().check
    stale = []
    for name in FIGURES:
        for language in LABELS:
            path = HERE / f"{name}-{language}.svg"
            new = draw(name, language)[0].encode()
            if not path.exists() or path.read_bytes() != new:
                stale.append(path.name)
                if not check:
                    path.write_bytes(new)
    for name in stale:
        print(f"{name} differs; run python -m book.figures.draw" if check else f"drew {name}")
    return 1 if check and stale else 0


if __name__ == "__main__":
    sys.exit(main())
