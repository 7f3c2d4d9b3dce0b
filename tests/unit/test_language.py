"""What d2l_local prints and draws follows the notebook's language."""

from __future__ import annotations

import ast
import io
import json
import re
import string
from pathlib import Path

from d2l_local.base import language
from d2l_local.measure import fonts, timing
from d2l_local.measure.charts import plot_parts, plot_prediction
from d2l_local.measure.timeline import Timeline

import matplotlib
import pytest
from helpers import python
from matplotlib import font_manager
from matplotlib import pyplot as plt

PACKAGE = Path(language.__file__).parents[1]
TABLES = sorted(language.FOLDER.glob("*.json"))
# All but the answers, which have catalogs of their own
SOURCES = [path for path in PACKAGE.rglob("*.py") if path.parent.name != "answers"]


@pytest.fixture(autouse=True)
def clean():
    """Each test finds, and leaves, fonts and tables as they were."""
    caches = (language.table, language._known, fonts._of)
    with matplotlib.rc_context():
        for cache in caches:
            cache.cache_clear()
        yield
    plt.close("all")
    for cache in caches:
        cache.cache_clear()


def constants() -> set[str]:
    """Every string in the package's code, and the parts of those that list several reasons."""
    found = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Constant) and isinstance(node.value, str):
                found |= {node.value, *node.value.split("; ")}
    return found


def templates() -> set[str]:
    """What is given to `say`, `translated` and their like as a literal."""
    found = set()
    for path in SOURCES:
        for node in ast.walk(ast.parse(path.read_text("utf-8"))):
            if isinstance(node, ast.Call) and node.args:
                name = getattr(node.func, "id", getattr(node.func, "attr", ""))
                if name in ("say", "translated", "label", "announce"):
                    first = node.args[0]
                    chosen = [first.body, first.orelse] if isinstance(first, ast.IfExp) else [first]
                    found |= {part.value for part in chosen if isinstance(part, ast.Constant)}
    return found


def lanes() -> set[str]:
    """What the texts call the lanes of their own functions."""
    texts = (PACKAGE.parent / "chapters/text").glob("*.md")
    named = [re.findall(r'on_record\("(.+?)"', text.read_text("utf-8")) for text in texts]
    return {lane for found in named for lane in found}


def fields(template: str) -> list[tuple]:
    return sorted(part[1:] for part in string.Formatter().parse(template) if part[1] is not None)


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_table_has_every_line_with_its_fields_and_no_other(path):
    lines = json.loads(path.read_text("utf-8"))["lines"]
    assert templates() - set(lines) == set()
    assert set(lines) - constants() - lanes() == set()
    for line, translation in lines.items():
        assert fields(line) == fields(translation), line


def test_lines_come_in_the_language_of_the_environment(monkeypatch, capsys):
    result = timing.Measurement((0.1, 0.2, 0.4))
    monkeypatch.delenv("D2L_LANGUAGE", raising=False)
    assert str(result) == "0.2000 sec (median of 3, 0.1000 to 0.4000)"
    monkeypatch.setenv("D2L_LANGUAGE", "zh")
    assert str(result) == "0.2000秒（3次的中位数，0.1000到0.4000）"
    language.say("{what}: {seconds:.4f} sec", what="{curly}", seconds=1)
    assert capsys.readouterr().out == "{curly}：1.0000秒\n"


@pytest.mark.parametrize("lang", ["fr", "", "../languages/zh", "zh.json", "ZH"])
def test_an_unknown_language_is_english(monkeypatch, lang):
    monkeypatch.setenv("D2L_LANGUAGE", lang)
    assert language.language() == "en"
    assert str(timing.Measurement((1.0,))).startswith("1.0000 sec (median of 1")


def test_a_third_language_is_one_more_file(monkeypatch, tmp_path):
    (tmp_path / "ja.json").write_text('{"lines": {"compute": "計算"}}', "utf-8")
    monkeypatch.setattr(language, "FOLDER", tmp_path)
    monkeypatch.setenv("D2L_LANGUAGE", "ja")
    assert language.translated("compute") == "計算"
    assert language.translated("copy") == "copy"  # What it lacks stays English
    assert language.beginnings("compute") == ["compute", "計算"]


def test_a_module_has_a_catalog_beside_it_for_each_language(monkeypatch, tmp_path):
    lines = '{"{0}: {1:.1f}": "{1:.1f}は{0}", "{x}": "{y}"}'
    (tmp_path / "sums.ja.json").write_text(lines, "utf-8")
    translated = language.catalog(str(tmp_path / "sums.py"))
    (tmp_path / "tables").mkdir()
    (tmp_path / "tables/ja.json").write_text('{"lines": {}}', "utf-8")
    monkeypatch.setattr(language, "FOLDER", tmp_path / "tables")
    monkeypatch.delenv("D2L_LANGUAGE", raising=False)
    assert translated("{0}: {1:.1f}", "x", 2.25) == "x: 2.2"
    monkeypatch.setenv("D2L_LANGUAGE", "ja")
    assert translated("{0}: {1:.1f}", "x", 2.25) == "2.2はx"
    assert translated("{x}") == "{y}" and translated("{0}", "{x}") == "{x}"


def test_a_process_that_is_started_speaks_the_same_language():
    program = "from d2l_local.measure import timing; print(timing.Measurement((1.0,)))"
    done = python(program, D2L_LANGUAGE="zh", PYTHONIOENCODING="utf-8")
    assert done.stdout == "1.0000秒（1次的中位数，1.0000到1.0000）\n"


def test_one_thing_is_no_plural():
    assert [language.counted(n, "GPU") for n in (0, 1, 2)] == ["0 GPUs", "1 GPU", "2 GPUs"]


def test_tables_align_wide_characters():
    assert language.padded("线程", 6) == "线程  "
    assert language.padded("BLAS", 6) == "BLAS  "
    assert language.columns("BLAS内核") == 8


@pytest.mark.parametrize(
    ("text", "width", "lines"),
    [
        ("one row gets cheap", 8, ["one row", "gets", "cheap"]),
        ("unbreakable", 4, ["unbreakable"]),
        ("三倍的搬运，一次算", 10, ["三倍的搬", "运，一次算"]),
        ("对N个数做hard sigmoid", 12, ["对N个数做", "hard sigmoid"]),
        ("快了（不止）两倍", 6, ["快了", "（不", "止）两", "倍"]),
        ("", 5, [""]),
    ],
)
def test_lines_break_between_words_or_chinese_characters(text, width, lines):
    assert language.wrapped(text, width).split("\n") == lines


# ---- Fonts ---------------------------------------------------------------------------------------


@pytest.fixture
def bare(monkeypatch):
    """A machine without fonts: Matplotlib knows none but its own."""
    own = font_manager.findSystemFonts(str(Path(matplotlib.get_data_path()) / "fonts"))
    known = [font for font in font_manager.fontManager.ttflist if font.fname in own]
    assert known
    monkeypatch.setattr(font_manager.fontManager, "ttflist", known)


def drawn(monkeypatch, lang):
    monkeypatch.setenv("D2L_LANGUAGE", lang)
    fonts.prepare()  # As a backend does when it is imported
    ax = Timeline({"cpu/0": [("dot", 0.0, 1.0), ("copy", 1.0, 2.0)]}).plot()
    ax.figure.canvas.draw()
    return [ax.get_xlabel(), *(text.get_text() for text in ax.get_legend().get_texts())]


def boxes(recorded) -> list[str]:
    """What Matplotlib said of characters that it has no glyph for."""
    return [str(w.message) for w in recorded if "Glyph" in str(w.message)]


def test_a_timeline_is_labeled_in_the_language(monkeypatch, bare, recwarn):
    assert drawn(monkeypatch, "zh") == ["时间（毫秒）", "计算", "复制"]
    assert drawn(monkeypatch, "en") == ["time (ms)", "compute", "copy"]
    assert boxes(recwarn) == []


@pytest.mark.parametrize("path", TABLES, ids=lambda path: path.stem)
def test_a_language_is_written_on_a_machine_without_fonts(monkeypatch, bare, recwarn, path):
    """If not: put a font that can into `d2l_local/fonts`, and its family first under ``fonts``."""
    monkeypatch.setenv("D2L_LANGUAGE", path.stem)
    fonts.prepare()
    figure = plt.figure()
    lines = language.table(path.stem)["lines"].values()
    figure.text(0, 0, "".join(sorted({c for line in lines for c in line})))
    figure.canvas.draw()
    assert boxes(recwarn) == []


def test_what_that_font_lacks_comes_from_one_of_the_system(monkeypatch, bare):
    families = ["D2L Local Sans SC", "None", "DejaVu Serif", "DejaVu Sans Mono"]
    monkeypatch.setattr(language, "table", lambda lang: {"fonts": families})
    for _ in range(2):  # Not twice
        fonts.prepare()
        found = font_manager.fontManager._find_fonts_by_props(font_manager.FontProperties())
        names = [font_manager.get_font(path).family_name for path in found]
        assert names == ["DejaVu Sans", families[0], families[2]]


STYLES = {
    "reset": matplotlib.rcdefaults,
    "style sheet": lambda: plt.style.use("ggplot"),
    "serif": lambda: matplotlib.rcParams.update({"font.family": "serif"}),
    # What seaborn's set_theme sets
    "seaborn": lambda: matplotlib.rcParams.update(
        {"font.family": ["sans-serif"], "font.sans-serif": ["DejaVu Sans"]}
    ),
}


@pytest.mark.parametrize("set_style", STYLES.values(), ids=STYLES)
def test_no_style_takes_the_language_s_font_away(monkeypatch, bare, recwarn, set_style):
    """From what the book draws, and from what a reader or d2l draws with Matplotlib itself."""
    monkeypatch.setenv("D2L_LANGUAGE", "zh")
    fonts.prepare()
    set_style()
    ax = plt.figure().subplots()  # Its labels keep the fonts that they are made with
    plt.figure().suptitle("时间（毫秒）")
    plot_parts({"计算": {"内存": 1.0}}, "时间")
    Timeline({"cpu/0": [("dot", 0.0, 1.0)]}).plot(ax)
    set_style()
    plot_prediction([1, 2], {"计算": [1, 2]}, {"计算": [1, 2]}, "时间")
    for number in plt.get_fignums():
        plt.figure(number).canvas.draw()
        plt.figure(number).savefig(io.BytesIO(), format="svg")
    assert boxes(recwarn) == []


def test_a_language_without_a_font_keeps_its_words(monkeypatch, bare, recwarn):
    monkeypatch.setattr(
        language, "table", lambda lang: {"fonts": ["None"], "lines": {"copy": "写"}}
    )
    assert fonts.label("copy") == "写" and fonts.label("dot") == "dot"
    plt.figure().text(0, 0, fonts.label("copy")).figure.canvas.draw()
    assert len(boxes(recwarn)) == 1  # Matplotlib says it
