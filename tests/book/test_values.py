"""Numbers that prose quotes from the outputs above it."""

from __future__ import annotations

import json

from book.builder import values
from book.builder.cli import main
from book.builder.notebook import Cell, Notebook, read_notebook
from d2l_local.base import language

import pytest
import small_chapter
from nbformat.v4 import new_output

CELL = """
```{{code-cell}}
share, x = {share}, 2
print(f"share: {{share:.2f}} of {{x}}")
```

+++ {{"strings": "zh"}}
"share: {{share:.2f}} of {{x}}": "{{x}}的{{share:.2f}}"

"""
PROSE = """
+++ {"lang": "en", "id": "look"}
Here the share is {glue:text}`share:.0%`, printed as {glue:text}`share`.

+++ {"lang": "zh", "id": "look"}
这里的份额是{glue:text}`share:.0%`，打印为{glue:text}`share`。
"""


class Elsewhere:
    """A page of no chapter, which has only translations."""

    def __init__(self, strings):
        self.translations = lambda: strings

    def of_section(self, name):
        return None


def build(root, body):
    small_chapter.make(root, small=small_chapter.bilingual(body, "pytorch"))
    return main(["build", "--root", str(root)])


def prose(root, lang, cell="look"):
    path = root / f"chapters/pytorch/{lang}/small.ipynb"
    return next(found.shown for found in read_notebook(path).cells if found.id == cell)


def test_prose_says_what_the_output_of_its_language_says(tmp_path, capsys):
    assert build(tmp_path, CELL.format(share=0.123) + PROSE) == 0
    assert prose(tmp_path, "en") == "Here the share is 12%, printed as 0.12."
    assert prose(tmp_path, "zh") == "这里的份额是12%，打印为0.12。"
    assert main(["check", "--root", str(tmp_path)]) == 0
    assert build(tmp_path, CELL.format(share=0.5) + PROSE) == 0
    assert prose(tmp_path, "zh") == "这里的份额是50%，打印为0.50。"


def test_a_number_that_no_output_has_leaves_a_gap_and_is_a_problem(tmp_path, capsys):
    assert build(tmp_path, CELL.format(share=0.5) + PROSE.replace("`share`", "`shares`")) == 0
    assert "warning: chapters/pytorch/en/small.ipynb: cell look" in capsys.readouterr().out
    assert prose(tmp_path, "en") == "Here the share is 50%, printed as ▢."
    assert main(["check", "--root", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "pytorch/zh/small.ipynb: cell look: no output above has `shares`\n" in out


def test_a_run_s_copy_quotes_the_numbers_of_that_run(tmp_path, capsys):
    cell = CELL.format(share="len(open('log').read()) / 100")
    (tmp_path / "build/pytorch").mkdir(parents=True)
    for lang in ("en", "zh"):
        (tmp_path / "build/pytorch" / lang).mkdir()
        (tmp_path / "build/pytorch" / lang / "log").write_text("x" * 12)
    assert build(tmp_path, cell + PROSE) == 0 and "12%" in prose(tmp_path, "zh")
    for lang in ("en", "zh"):
        (tmp_path / "build/pytorch" / lang / "log").write_text("x" * 34)
    assert main(["run", "--root", str(tmp_path)]) == 0
    for lang in ("en", "zh"):
        made = read_notebook(tmp_path / f"build/pytorch/{lang}/small.ipynb")
        [shown] = [found.shown for found in made.cells if found.id == "look"]
        assert "34%" in shown and "0.34" in shown and "12" not in shown


def test_an_opening_has_no_output_above_it_to_quote(tmp_path, capsys):
    text = small_chapter.bilingual("", "pytorch")
    for words in ("Words.", "文字。"):
        text = text.replace(words, "{glue:text}`share`")
    small_chapter.make(tmp_path, small=text)
    assert main(["build", "--root", str(tmp_path)]) == 0
    assert prose(tmp_path, "en", "intro") == values.GAP
    assert "cell intro: no output above has `share`" in capsys.readouterr().out


def test_an_edited_number_is_found(tmp_path, capsys):
    assert build(tmp_path, CELL.format(share=0.5) + PROSE) == 0
    path = tmp_path / "chapters/pytorch/zh/small.ipynb"
    path.write_text(path.read_text("utf-8").replace("是50%", "是51%"), "utf-8")
    assert main(["check", "--root", str(tmp_path)]) == 1
    told = "cell look: quotes another number than the output: build it"
    assert capsys.readouterr().out.count(told) == 1


def test_twins_quote_the_same_and_no_number_is_typed(tmp_path, capsys):
    other = PROSE.replace("为{glue:text}`share`", "为0.5")
    assert build(tmp_path, CELL.format(share=0.5) + other) == 0
    assert main(["check", "--root", str(tmp_path)]) == 1
    out = capsys.readouterr().out
    assert "quoted differ: ['share'] only in en" in out and "numbers differ: [] only in en" in out
    typed = PROSE.replace("`share`", "`share`, not 7", 1).replace("`share`。", "`share`，不是7。")
    assert build(tmp_path, CELL.format(share=0.5) + typed) == 0
    for section, count in (([], 0), (["--section", "small"], 1)):
        assert main(["check", "--root", str(tmp_path), *section]) == 0
        assert capsys.readouterr().out.count("numbers typed below an output: 7") == count


LAW = """\
The law so far (ms)          longest    measured         sum      hidden
two devices                   122.20      124.00      244.10         99%
  parts: t_c 1 122.20  t_c 2 121.90
The law so far (sec)         longest    measured         sum      hidden
two devices                   1.2220      1.2400      2.4410        -98%
The law so far (ms)          longest    measured         sum      hidden
two devices                   130.89      189.06      189.03         -0%
"""


@pytest.mark.parametrize(
    ("quoted", "shown"),
    [
        ("two devices: measured in ms", "124"),
        ("two devices: measured in s:.3f", "0.124"),
        ("two devices: measured in µs:,", "124,000"),
        ("two devices: sum in ms@2:,", "2,441"),
        ("two devices: hidden", "99%"),
        ("two devices: hidden@2:.1f", "-1.0"),
        ("two devices: hidden@3:.0%", "0%"),  # Never -0%
        ("two devices: hidden@4", values.GAP),
        ("two devices: measured", values.GAP),  # Of which unit nobody knows
        ("three devices: hidden", values.GAP),
        ("seconds", "1.5"),
        ("seconds@2", "2.5"),
        ("a / b", "0.7"),
        ("len(a)", "1,234"),
        ("len(a):d", "1234"),
        ("share", "5%"),  # Aligned in a column
        ("left", values.GAP),  # Nothing tells it from other numbers
        ("first", "3.5"),
        ("second", "4.5"),  # On a line that another print has begun
        ("measured:.1f", "25165824.5"),
        ("measured:,d", "25,165,824"),
        ("measured:.1e", "2.5 × 10⁷"),
        ("len(a):.1d", values.GAP),  # No number is written so
    ],
)
def test_names(quoted, shown):
    code = """for seconds in (1.5, 2.5):
    print(f"{name:10} {seconds:.1f} s", end="; ")
print("of all", a/b, "and", f"{len(a):,}")
print(f"a share of {share:6.0%}: {name}")
print(left, end="")
print("left over", 9)
print(f"first {first:6.1f},", end=" ")
print(f"second {second:6.1f}: name")"""
    text = LAW + "x          1.5 s; y          2.5 s; \nof all 0.7 and 1,234\n"
    text += "a share of     5%: x\n7left over 9\n"
    text += "first    3.5, second    4.5: name\n"
    cell = Cell("code", "prints", code, outputs=[new_output("stream", text=text)])
    told = {"d2l_local": {"measured": {"number": 25165824.48}}}
    cell.outputs.append(new_output("display_data", metadata=told))
    written = f"It is {{glue:text}}`{quoted}`."
    below = Cell("markdown", "below", written)
    other = Cell("code", "other", "2")
    missing = values.fill(Notebook([cell, other, below]), Elsewhere({}))
    assert below.shown == f"It is {shown}."
    assert bool(missing) == (shown == values.GAP)


@pytest.fixture
def japanese(tmp_path, monkeypatch):
    """A language that the project does not have; only its table is added."""
    caches = (language.table, language._known)
    lines = {"The law so far (ms)": "法則（ミリ秒）"}
    (tmp_path / "ja.json").write_text(json.dumps({"lines": lines}), "utf-8")
    monkeypatch.setattr(language, "FOLDER", tmp_path)
    for cache in caches:
        cache.cache_clear()
    yield
    for cache in caches:
        cache.cache_clear()


@pytest.mark.parametrize(("unit", "shown"), [("ミリ秒", "124"), ("ナノ秒", values.GAP)])
def test_the_unit_of_the_law_is_that_of_any_language_with_a_table(japanese, unit, shown):
    """And of a unit that no table has, nobody knows."""
    text = f"法則（{unit}）  最長  実測  合計  隠れ\n二台  122.20  124.00  244.10  99%\n"
    cell = Cell("code", "prints", "1", outputs=[new_output("stream", text=text)])
    below = Cell("markdown", "below", "{glue:text}`two devices: measured in ms`")
    values.fill(Notebook([cell, below]), Elsewhere({"two devices": "二台"}))
    assert below.shown == shown
