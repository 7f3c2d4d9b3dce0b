"""Draw the figures of the chapter as SVG, each in every language: img/<figure>-<language>.svg.

A new figure is a function in figures.py; a new language is a dictionary in img/labels.yml.
"""

from book.figures.drawing import IMG, LABELS, Drawing
from book.figures.figures import FIGURES


def draw(name, language):
    """Return the SVG of a figure in a language and the labels that it used."""
    figure = FIGURES[name]
    drawing = Drawing(language, figure.width, figure.height, figure.title, figure.description)
    figure.function(drawing)
    return drawing.svg(), drawing.used


def main():
    """Draw every figure in every language, and name those that were redrawn."""
    for name in FIGURES:
        for language in LABELS:
            path = IMG / f"{name}-{language}.svg"
            new = draw(name, language)[0].encode()
            if not path.exists() or path.read_bytes() != new:
                path.write_bytes(new)
                print(f"drew {path.name}")


if __name__ == "__main__":
    main()
