"""A story: what works keeps its values, what tells is executed from these, on any machine."""

from __future__ import annotations

import json
import shutil

from book.builder import check, values
from book.builder.build import build_section, run_notebook
from book.builder.check.problem import ERROR
from book.builder.kept import read, written
from book.builder.notebook import BuildError, _answer, read_notebook
from book.builder.page import pages
from book.builder.render import notebook
from book.builder.text import Chapter

import numpy as np
import pytest
import small_chapter
from nbformat.v4 import new_code_cell, new_output
from this_chapter import ROOT

HEAD = """\
---
frameworks: [mxnet]
form: story
---

+++ {"lang": "en", "id": "intro"}
# Title

A scene.

+++ {"lang": "zh", "id": "intro"}
# 题目

开场。

```{code-cell}
import math

P, W = 2e11, 2.5e10


def bound(F, n):
    return max(F / P, n / W)
```

+++ {"lang": "en", "id": "rows"}
## Rows

+++ {"lang": "zh", "id": "rows"}
## 行
"""
BODY = """
```{code-cell}
:tags: [nbval-ignore-output]
times = {"one": 2.0, "two": 5.0}
```

```{code-cell}
:tags: [tell, nbval-ignore-output]
ratio = times["two"] / times["one"]
limit = bound(1e12, 1)
print(f"{ratio:.2f} times as long, by the bound {limit:.0f} s")
told = sum(times.values())
```

+++ {"strings": "zh"}
"{ratio:.2f} times as long, by the bound {limit:.0f} s": "{ratio:.2f}倍，下限{limit:.0f}秒"

+++ {"lang": "en", "id": "lesson"}
It is {glue:text}`times["two"] / times["one"]:.1f`, {glue:text}`more than twice if ratio > 2`.
In all {glue:text}`told:.0f`.

+++ {"lang": "zh", "id": "again"}
共{glue:text}`told:.0f`，是{glue:text}`times["two"] / times["one"]:.1f`倍，
{glue:text}`不止两倍 if ratio > 2`。
"""
END = """
+++ {"lang": "en", "id": "summary"}
## Summary

+++ {"lang": "zh", "id": "summary"}
## 小结

+++ {"lang": "en", "id": "exercises"}
## Exercises

+++ {"lang": "zh", "id": "exercises"}
## 练习

+++ {"lang": "en", "id": "lab"}
## Further Experiments

+++ {"lang": "zh", "id": "lab"}
## 更多实验
"""


def section_of(root, body, end=END):
    """Return the one section of a small chapter, which is told from two cores."""
    [section] = small_chapter.make(root, hardware=HEAD + body + end).sections()
    return section


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """A story that was built, in a folder with what executes it."""
    root = tmp_path_factory.mktemp("story")
    section = section_of(root, BODY)
    for name in ("book", "d2l_local"):
        ignored = shutil.ignore_patterns("__pycache__", "fonts", "*.xz", "answers")
        shutil.copytree(ROOT / name, root / name, ignore=ignored, dirs_exist_ok=True)
    assert not build_section(section, "mxnet").warnings
    return root


@pytest.fixture
def story(built, tmp_path):
    """A copy of it, whose recording may be changed."""
    shutil.copytree(built, tmp_path / "copy")
    return tmp_path / "copy"


def committed(root, lang="en"):
    found = read_notebook(root / f"chapters/mxnet/{lang}/hardware.ipynb")
    assert found
    return found


def shown(root, lang="en"):
    """Return the prose and the text that a notebook shows."""
    cells = committed(root, lang).cells
    prose = "\n".join(cell.shown or cell.source for cell in cells if cell.cell_type == "markdown")
    return prose, "".join(out.text for cell in cells for out in cell.outputs if "text" in out)


def as_of_a_gpu(root, **kept):
    """Have the committed notebooks say that a GPU measured, and what it has kept."""
    for path in root.glob("chapters/mxnet/*/hardware.ipynb"):
        node = json.loads(path.read_text("utf-8"))
        about = node["metadata"]["d2l_local"]
        about["runs"][0]["machine"]["gpus"] = [{"name": "NVIDIA H200", "count": 1}]
        for cell in node["cells"]:
            if "times" in cell["metadata"]["d2l_local"].get("kept", {}):
                cell["metadata"]["d2l_local"]["kept"].update(kept)
        path.write_text(json.dumps(node), "utf-8")


def built_anew(root, *changes):
    """Change the text and build it; return what the build says."""
    path = root / "chapters/text/hardware.md"
    text = path.read_text("utf-8")
    for old, new in changes:
        assert old in text
        text = text.replace(old, new)
    path.write_text(text, "utf-8")
    [section] = Chapter(root).sections()
    return build_section(section, "mxnet")


# ---- What is kept --------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "value",
    [True, 3, 0.1 + 0.2, "word", None, [1, (2,), ()], {(1, 1024): 2.5, "a": {4: [None]}}, -np.inf],
)
def test_plain_values_are_read_as_they_were_written(value):
    assert read({"name": str(written(value))}) == {"name": value}


def test_arrays_and_numbers_of_numpy_are_kept_unrounded():
    kept = read({"a": str(written(np.arange(3) / 3)), "b": str(written(np.float32(0.1)))})
    assert np.array_equal(kept["a"], np.arange(3) / 3) and kept["b"] == float(np.float32(0.1))
    kept = read({"c": str(written(np.ones(3, "float32"))), "d": str(written(np.str_("a")))})
    assert kept["c"].nbytes == 12 and kept["d"] == "a"


@pytest.mark.parametrize("text", ["__import__('os').getcwd()", "().__class__", "[x for x in ()]"])
def test_nothing_that_a_notebook_says_is_executed(text):
    with pytest.raises(ValueError, match="name is no plain value"):
        read({"name": text})


@pytest.mark.parametrize("value", [object(), print, [open], {"a": {1}}, list(range(20_001))])
def test_what_is_not_plain_or_too_long_is_not_kept(value):
    assert written(value) is None


# ---- Telling -------------------------------------------------------------------------------------


def test_both_languages_tell_the_same_run_in_their_own_words(built):
    prose, printed = shown(built)
    assert "It is 2.5, more than twice.\nIn all 7." in prose
    assert printed == "2.50 times as long, by the bound 5 s\n"
    prose, printed = shown(built, "zh")
    assert "共7，是2.5倍，\n不止两倍。" in prose
    assert printed == "2.50倍，下限5秒\n"
    assert [cell.run for cell in committed(built).work] == [
        cell.run for cell in committed(built, "zh").work
    ]


def test_the_line_below_the_title_names_the_machine(built):
    [line] = [cell.source for cell in committed(built).cells if cell.kind == "machine"]
    assert "Outputs from " in line and "$P$ = 200 GFLOP/s, $W$ = 25 GB/s" in line
    found = [str(problem) for problem in check.chapter(Chapter(built))]
    assert [what for what in found if "disturbed" not in what] == []


@pytest.mark.parametrize(
    "old, new, seen",
    [
        ("times as long, by", "times as LONG, by", "3.50 times as LONG"),
        ("told = sum", "print('a title')\ntold = sum", "a title"),
        ("倍，下限", "倍！下限", "3.50倍！"),
        ("told = sum(times.values())", "told = max(times.values())", "In all 7."),
        ("It is {glue", "That is {glue", "That is 3.5,"),
    ],
    ids=["a label", "a picture", "a Chinese word", "a sum", "a sentence"],
)
def test_nothing_that_tells_makes_what_a_gpu_measured_stale(story, old, new, seen):
    as_of_a_gpu(story, times="{'one': 2.0, 'two': 7.0}")
    result = built_anew(story, (old, new))
    assert not [warning for warning in result.warnings if "stale" in warning], result.warnings
    said = [part for lang in ("en", "zh") for part in shown(story, lang)]
    assert any(seen in part for part in said), said  # Of the values that the GPU has kept
    gpus = committed(story).work[-1].run["machine"]["gpus"]
    assert gpus == [{"name": "NVIDIA H200", "count": 1}]


def test_other_work_is_stale_where_no_gpu_can_do_it_again(story):
    as_of_a_gpu(story)
    result = built_anew(story, ('"two": 5.0', '"two": 6.0'))
    assert any("stale, needs 1 GPU" in warning for warning in result.warnings)
    assert committed(story).kept["times"] == "{'one': 2.0, 'two': 5.0}"


def test_work_that_a_gpu_has_done_is_kept_under_force_and_where_telling_fails(story):
    as_of_a_gpu(story, times="{'one': 2.0, 'two': 7.0}")
    [section] = Chapter(story).sections()
    build_section(section, "mxnet", force=True)
    assert "3.50 times" in shown(story)[1]
    as_of_a_gpu(story, P="3e11", times="{'one': 2.0, 'two': 9.0}")
    with pytest.raises(BuildError, match="there"):
        built_anew(story, ("told = sum", "told = there"), ('"two": 5.0', '"two": 5'))
    assert committed(story).kept["times"] == "{'one': 2.0, 'two': 9.0}"


def test_new_work_is_saved_before_it_is_told(story):
    changes = ('"two": 5.0', '"two": 8.0'), ("told = sum", "told = there")
    with pytest.raises(BuildError, match="there"):
        built_anew(story, *changes)
    for lang in ("en", "zh"):
        assert committed(story, lang).kept["times"] == "{'one': 2.0, 'two': 8.0}"
    assert built_anew(story, ("told = there", "told = sum")).executed == 2  # What tells, twice
    assert "4.00 times" in shown(story)[1]


def test_a_helper_may_be_defined_below_its_caller(story):
    later = ('"two": 5.0}', '"two": 5.0}\n\n\ndef twice(x):\n    return 2 * x')
    built_anew(story, later, ("return max(F / P, n / W)", "return twice(max(F / P, n / W)) / 2"))
    assert "by the bound 5 s" in shown(story)[1]


def test_a_default_is_of_its_cell_s_own_values(story):
    default = ("def bound(F, n):", "def bound(F, n, peak=P):")
    built_anew(story, default, ("max(F / P, n / W)", "max(F / peak, n / W)"))
    assert "by the bound 5 s" in shown(story)[1]


def test_a_name_that_is_deleted_or_no_longer_plain_is_not_kept(story):
    gone = "\n```\n\n```{code-cell}\ndel P\nW = print\n"
    with pytest.raises(BuildError, match="NoneType"):
        built_anew(story, ('"two": 5.0}', f'"two": 5.0}}{gone}'))
    assert committed(story).kept["P"] == committed(story).kept["W"] == "None"


def test_languages_that_tell_two_runs_and_another_machine_are_refused(story):
    path = story / "chapters/mxnet/zh/hardware.ipynb"
    text = path.read_text("utf-8")
    path.write_text(text.replace("'two': 5.0", "'two': 5.1").replace("200 GFLOP/s", "210 GFLOP/s"))
    problems = "\n".join(map(str, check.chapter(Chapter(story))))
    assert "has kept other values than the original's" in problems
    assert "its machine's line is ['" in problems


def test_a_sentence_that_is_no_longer_so_is_refused(story):
    as_of_a_gpu(story, times="{'one': 2.0, 'two': 3.0}")
    result = built_anew(story)
    condition = "more than twice if ratio > 2"
    assert any(f"`{condition}` is not so" in warning for warning in result.warnings)
    problems = [str(problem) for problem in check.chapter(Chapter(story))]
    assert any(f"`{condition}` is not so" in problem for problem in problems)


def test_an_answer_that_has_failed_is_folded_all_the_same():
    error = new_output("error", ename="NameError", evalue="x", traceback=["NameError: x"])
    about = {"predict": {}, "kind": "score"}
    cell = new_code_cell("x", id="guess_1", metadata={"d2l_local": about}, outputs=[error])
    shown, fold = _answer(cell, "Answer")
    assert shown.outputs == [] and fold.metadata["d2l_local"]["outputs"] == [error]


def test_a_story_that_asks_is_answered_in_a_fold_of_prose(tmp_path, built):
    ask = """
+++ {"lang": "en", "id": "guess", "kind": "predict"}
**Predict**: how many times?

+++ {"lang": "zh", "id": "guess", "kind": "predict"}
**预测**：几倍？

```{code-cell}
:tags: [score]
from IPython.display import display

about = {"measured": {"number": 2.5, "unit": "", "within": 0.25}}
display({"text/plain": "Measured: 2.5"}, raw=True, metadata={"d2l_local": about})
if False:
    d2l.measured(number=2.5)
```
"""
    shutil.copytree(built, tmp_path / "asks")
    section = section_of(tmp_path / "asks", BODY + ask)
    build_section(section, "mxnet")
    path = tmp_path / "asks/chapters/mxnet/zh/hardware.ipynb"
    node = json.loads(path.read_text("utf-8"))
    [cell] = [cell for cell in node["cells"] if cell["id"] == "guess_1"]
    [fold] = [cell for cell in node["cells"] if cell["id"] == "guess_1-answer"]
    assert cell["outputs"] == []
    assert "".join(fold["source"]).startswith("<details><summary>展开可看这里测得的结果</summary>")
    assert "Measured: 2.5" in "".join(fold["source"])
    [read_again] = [c for c in committed(tmp_path / "asks", "zh").code if c.id == "guess_1"]
    assert read_again.outputs == fold["metadata"]["d2l_local"]["outputs"]
    assert "nothing to write" in str(build_section(section, "mxnet"))


FORMAT = (ROOT / "docs/text-format.md").read_text("utf-8")


def test_the_documented_story_is_one(tmp_path, built):
    body = FORMAT.partition("## A story")[2].partition("````text")[2].partition("````")[0]
    shutil.copytree(built, tmp_path / "documented")
    section = section_of(tmp_path / "documented", body)
    assert small_chapter.errors(section) == []
    assert not build_section(section, "mxnet").warnings
    prose, printed = shown(tmp_path / "documented")
    assert "It takes 8 times as long, more than five times." in prose
    assert printed == "the product takes 20.0 s\n"


# ---- Quotes --------------------------------------------------------------------------------------


class Elsewhere:
    def translations(self):
        return {}

    def of_section(self, name):
        return {"one": "0.005"} if name == "other-section" else None


@pytest.mark.parametrize(
    "quote, said",
    [
        ("4 * P / W:.0f", "51"),
        ("rows[-1]", "64"),
        ("fifty-one if round(4 * P / W) == 51", "fifty-one"),
        ("fifty-one if round(4 * P / W) == 52", values.GAP),
        ("1e3 * other_section.one:.1f", "5.0"),
        ("round(P) if W else 0", "13"),
        ("unknown + 1", None),
        ("ten if 10", values.GAP),  # What is true without comparing anything says nothing
        ("3", "3"),
        ("more than twice", None),  # Words without a condition
        ("'more than twice'", None),
        ("all", None),
        ("[64]:.0f", None),
        ("W", None),  # A float says how many digits
    ],
)
def test_prose_quotes_expressions_of_what_is_kept(quote, said):
    kept = values.Kept(Elsewhere())
    kept.add({"P": "12.71", "W": "1.0", "rows": "[1, 64]"})
    assert kept.told(quote) == said


# ---- Rules ---------------------------------------------------------------------------------------


def problems_of(root, body, end=END):
    return small_chapter.errors(section_of(root, body, end))


def test_a_good_story_breaks_no_rule(tmp_path):
    assert problems_of(tmp_path, BODY) == []


@pytest.mark.parametrize("call", ["print", "plot_parts"])
def test_work_that_shows_something_is_refused(tmp_path, call):
    loud = BODY.replace("times = {", f"{call}(3)\ntimes = {{")
    assert f"`{call}` in a cell that works" in problems_of(tmp_path, loud)[0]


def test_work_does_not_read_what_is_told(tmp_path):
    work = "\n```{code-cell}\nmore = told + 1\n```\n"
    [problem] = problems_of(tmp_path, BODY + work)
    assert "reads told, which only a cell sets that tells" in problem


def test_nor_does_a_function_that_work_defines(tmp_path):
    work = "\n```{code-cell}\ndef more():\n    return told + 1\n```\n"
    [problem] = problems_of(tmp_path, BODY + work)
    assert "reads told, which only a cell sets that tells" in problem
    own = work.replace("def more", "told = 1\n\n\ndef more")
    assert problems_of(tmp_path / "b", BODY + own) == []


def test_what_tells_changes_nothing_that_work_has_kept(story):
    assert not built_anew(story, ("told = sum", "times['three'] = 0.0\ntold = sum")).warnings
    [one, other] = [str(p) for p in check.chapter(Chapter(story)) if "changes" in p.what]
    assert "tells, and changes times, which a cell that works has kept" in one


def test_a_cell_for_gpus_may_say_that_there_are_none(story):
    text = '"two": 5.0}\n```\n\n```{code-cell}\n:tags: [gpus-999, nbval-ignore-output]\nlink = 0\n'
    text += "if d2l.has_gpus(999):\n    link = 1"
    d2l = "import math\n\nfrom d2l_local import mxnet as d2l"
    result = built_anew(story, ("import math", d2l), ('"two": 5.0}', text))
    assert any("stale, needs 999 GPUs" in warning for warning in result.warnings)
    assert "skipped: this cell needs 999 GPUs" in shown(story)[1]
    assert ERROR not in {p.level for p in check.chapter(Chapter(story))}


def test_work_has_no_strings_of_a_language(tmp_path):
    strings = '\n+++ {"strings": "zh"}\n"one": 一\n'
    with pytest.raises(BuildError, match="the cell above works, and is the same in all"):
        section_of(tmp_path, BODY.replace("5.0}\n```\n", "5.0}\n```\n" + strings, 1))


def test_twins_of_a_story_are_its_headings(tmp_path):
    [problem] = problems_of(
        tmp_path, BODY.replace("是{glue", "{glue").replace("told:.0f`，", "P:.0f`")
    )
    assert "kept names below this heading differ" in problem and "'told'" in problem
    without = END.replace('+++ {"lang": "zh", "id": "lab"}\n## 更多实验\n', "")
    assert "has no twin in zh" in problems_of(tmp_path / "b", BODY, without)[0]


def test_a_stamp_that_nothing_is_held_against_is_refused(tmp_path):
    stamped = BODY.replace('"id": "again"}', '"id": "again", "of": "5f0c2a91"}')
    [problem] = problems_of(tmp_path, stamped)
    assert "zh/again" in problem and "nothing to hold it against" in problem


def test_an_experiment_of_the_lab_stands_alone(tmp_path):
    lab = "\n```{code-cell}\nagain = times['one'] + P\n```\n"
    [problem] = problems_of(tmp_path, BODY, END + lab)
    assert "reads times, which its experiment does not set" in problem
    own = "\n```{code-cell}\ntimes = {}\nagain = len(times) + P\n```\n"
    assert problems_of(tmp_path / "b", BODY, END + own) == []


def test_each_framework_may_have_a_main_line_of_its_own(tmp_path):
    head, _, rest = (HEAD + BODY + END).partition('+++ {"lang": "en", "id": "exercises"}')
    shared = "---\nframeworks: [mxnet, pytorch]\nform: story\n---\n\n"
    shared += '+++ {"lang": "en", "id": "exercises"}' + rest
    main = head.replace("frameworks: [mxnet]\n", "")
    other = main.replace('"id": "', '"id": "other-').replace("A scene.", "Another scene.")
    texts = {"hardware": shared, "hardware.mxnet": main, "hardware.pytorch": other}
    [section] = small_chapter.make(tmp_path, **texts).sections()
    assert small_chapter.errors(section) == []
    sources = {
        name: "".join(cell.source for cell in notebook(section, name, "en").cells)
        for name in ("mxnet", "pytorch")
    }
    assert "A scene." in sources["mxnet"] and "Another scene." in sources["pytorch"]
    assert all("## Further Experiments" in source for source in sources.values())
    assert section.blocks[0].where == "hardware.mxnet.md:5"
    assert len(pages(section, "mxnet")) == 2


def test_one_framework_may_be_told_and_the_other_be_of_the_older_form(tmp_path):
    head, _, rest = (HEAD + BODY + END).partition('+++ {"lang": "en", "id": "exercises"}')
    main = head.replace("frameworks: [mxnet]\n", "")
    shared = "---\nframeworks: [mxnet, pytorch]\n---\n\n"
    shared += '+++ {"lang": "en", "id": "exercises"}' + rest
    older = main.replace("---\nform: story\n---\n\n", "").replace('"id": "', '"id": "older-')
    texts = {"hardware": shared, "hardware.mxnet": main, "hardware.pytorch": older}
    [section] = small_chapter.make(tmp_path, **texts).sections()
    assert section.stories == ["mxnet"]
    assert [notebook(section, name, "en").form for name in ("mxnet", "pytorch")] == ["story", ""]
    by_name = {block.id: block for block in section.blocks if block.lang == "en"}
    assert section.paired(by_name["older-lesson"]) and not section.paired(by_name["lesson"])
    assert [block.id for block in section.passages("en")["rows"]] == ["rows", "lesson"]
    assert not any("older" in block.id for block in section.passages("en")["summary"])
    texts["hardware.pytorch"] = "---\nform: tale\n---\n\n" + older
    with pytest.raises(BuildError, match="the front matter may say `form: story`"):
        small_chapter.make(tmp_path / "b", **texts).sections()


def test_a_run_tells_the_first_language_s_work_in_the_second(story):
    [section] = Chapter(story).sections()
    english, chinese = [story / f"chapters/mxnet/{lang}/hardware.ipynb" for lang in ("en", "zh")]
    first = run_notebook(section, english)
    second = run_notebook(section, chinese, first.notebook)
    assert first.error is None and second.error is None and 0 < second.cells < first.cells
    assert second.notebook.kept == first.notebook.kept
    texts = [
        "".join(out.get("text", "") for cell in ran.notebook.code for out in cell.outputs)
        for ran in (first, second)
    ]
    assert "2.50 times as long" in texts[0] and "2.50倍" in texts[1]
