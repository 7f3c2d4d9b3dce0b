"""The figures: drawn again they are the same files, legible and whole in every language."""

import re
from pathlib import Path
from xml.etree import ElementTree

from book.figures import draw, drawing

import matplotlib
import pytest
import yaml
from PIL import ImageFont

ROOT = Path(__file__).resolve().parents[2]

SVG = "{http://www.w3.org/2000/svg}"
FONTS = Path(matplotlib.get_data_path()) / "fonts" / "ttf"
GLOSSARY = yaml.safe_load((ROOT / "chapters/text/glossary.yml").read_text(encoding="utf-8"))
LANGUAGES, NAMES = list(drawing.LABELS), list(draw.FIGURES)

each_file = pytest.mark.parametrize(
    ("name", "language"), [(name, language) for name in NAMES for language in LANGUAGES]
)


def read(name, language):
    return (drawing.IMG / f"{name}-{language}.svg").read_bytes()


def size(element):
    """Return a rectangle as left, top, right, bottom."""
    x, y, w, h = (float(element.get(key)) for key in ("x", "y", "width", "height"))
    return x, y, x + w, y + h


def text_boxes(text):
    """Return left, top, right, bottom of each line, in DejaVu, wider than what readers have."""
    points = float(text.get("font-size", drawing.TEXT))
    mono = "Mono" if "monospace" in text.get("font-family", "") else ""
    bold = "-Bold" if text.get("font-weight") == "bold" else ""
    font = ImageFont.truetype(str(FONTS / f"DejaVuSans{mono}{bold}.ttf"), 100)
    for span in text:
        wide = sum(map(drawing.is_wide, span.text))
        rest = "".join(c for c in span.text if not drawing.is_wide(c))
        width = points * (wide + font.getlength(rest) / 100)
        shift = {"start": 0, "middle": 0.5, "end": 1}[text.get("text-anchor")]
        left, base = float(span.get("x")) - shift * width, float(span.get("y"))
        yield left, base - points * 0.85, left + width, base + points * 0.2


def overlap(a, b):
    return min(a[2], b[2]) - max(a[0], b[0]) > 0 and min(a[3], b[3]) - max(a[1], b[1]) > 0


def inside(a, b, margin):
    return (
        a[0] >= b[0] + margin
        and a[1] >= b[1] + margin
        and a[2] <= b[2] - margin
        and a[3] <= b[3] - margin
    )


@each_file
def test_redrawing_gives_the_same_file(name, language):
    assert draw.draw(name, language)[0].encode() == read(name, language), (
        "run python -m book.figures.draw"
    )


def test_there_are_no_other_files():
    expected = {f"{name}-{language}.svg" for name in NAMES for language in LANGUAGES}
    expected |= {"scaling.svg", "timeline.svg"}  # Measured, not drawn
    assert {path.name for path in drawing.IMG.glob("*.svg")} == expected


@each_file
def test_file_is_small_and_says_what_it_shows(name, language):
    content = read(name, language)
    assert len(content) < 40_000
    root = ElementTree.fromstring(content)
    title, desc = root.find(f"{SVG}title").text, root.find(f"{SVG}desc").text
    assert root.get("lang") == language and title and len(desc) > len(title)
    other = draw.FIGURES[name].title
    assert (title == other) == (language == "en")
    if language == "zh":
        assert re.search("[\u4e00-\u9fff]", title) and re.search("[\u4e00-\u9fff]", desc)


def quantities(text):
    """Return the numbers that have a unit, such as 80 GB or 3.35 TB/s."""
    return set(re.findall(r"\d+(?:\.\d+)? ?(?:[KMGT]B(?:/s)?)", text))


@each_file
def test_a_description_says_the_quantities_that_are_drawn(name, language):
    root = ElementTree.fromstring(read(name, language))
    drawn = " ".join("".join(text.itertext()) for text in root.iter(f"{SVG}text"))
    assert quantities(root.find(f"{SVG}desc").text) == quantities(drawn)


@pytest.mark.parametrize("name", NAMES)
def test_languages_have_the_same_shapes(name):
    tags = [
        [element.tag for element in ElementTree.fromstring(read(name, language)).iter()]
        for language in LANGUAGES
    ]
    shapes = [[tag for tag in each if not tag.endswith("tspan")] for each in tags]
    assert all(each == shapes[0] for each in shapes)


@each_file
def test_text_fits(name, language):
    root = ElementTree.fromstring(read(name, language))
    panel = size(root.find(f"{SVG}rect"))
    lines, boxes = [], []
    for group in root.iter(f"{SVG}g"):
        box = size(group.find(f"{SVG}rect"))
        boxes.append(box)
        for text in group.iter(f"{SVG}text"):
            for line in text_boxes(text):
                assert inside(line, box, 2), f"{''.join(text.itertext())!r} overflows its box"
    for text in root.iter(f"{SVG}text"):
        lines += [(line, "".join(text.itertext())) for line in text_boxes(text)]
    for line, words in lines:
        assert inside(line, panel, 4), f"{words!r} leaves the panel"
    for i, (line, words) in enumerate(lines):
        for other, others in lines[:i]:
            assert not overlap(line, other), f"{words!r} and {others!r} overlap"
    for text in root.findall(f"{SVG}text"):
        for line in text_boxes(text):
            assert not any(overlap(line, box) for box in boxes), f"{''.join(text.itertext())!r}"


@each_file
def test_colors_are_of_the_palette(name, language):
    content = read(name, language).decode()
    assert set(re.findall("#[0-9A-Fa-f]{3,8}", content)) <= drawing.PALETTE
    used = set(re.findall('(?:fill|stroke)="([^"]*)"', content))
    assert used <= drawing.PALETTE | {"none"}


def luminance(color):
    channels = [int(color[i : i + 2], 16) / 255 for i in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(a, b):
    low, high = sorted((luminance(a), luminance(b)))
    return (high + 0.05) / (low + 0.05)


def test_colors_have_contrast():
    """WCAG 2: 4.5 for text, 3 for what one must see to understand a figure."""
    families = [*(colors for colors, _, _ in drawing.KINDS.values()), drawing.ORANGE]
    for line, fill in families:
        assert contrast(drawing.INK, fill) >= 4.5
        if line != drawing.EDGE:
            assert contrast(line, drawing.PAPER) >= 3 and contrast(line, drawing.GRAY[1]) >= 3
    assert contrast(drawing.GRAY[0], drawing.GRAY[1]) >= 4.5


@pytest.mark.parametrize("language", LANGUAGES)
def test_labels_are_whole_and_well_written(language):
    used = set().union(*(draw.draw(name, language)[1] for name in NAMES))
    labels = drawing.LABELS[language] or {label: label for label in used}
    assert set(labels) == used
    for english, label in labels.items():
        fields = re.compile(r"{\d*}")
        assert sorted(fields.findall(label)) == sorted(fields.findall(english))
        for rule in GLOSSARY["languages"][language].get("wrong", []):
            assert not re.search(rule["pattern"], label), (label, rule["why"])
        for term in GLOSSARY["terms"]:
            for wrong in term.get("not", {}).get(language, []):
                assert wrong not in label, (label, term)


def test_a_language_costs_a_dictionary(monkeypatch):
    labels = {label: f"★{label}" for name in NAMES for label in draw.draw(name, "en")[1]}
    monkeypatch.setitem(drawing.LABELS, "ja", labels)
    for name in NAMES:
        assert "<title>★" in draw.draw(name, "ja")[0]
