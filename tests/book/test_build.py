"""The builder and the checks, on small texts whose cells are plain Python."""

import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from book.builder import check, execute, prose, render, stamps
from book.builder.check import notebooks, twins
from book.builder.cli import format_code, laid_out, main
from book.builder.language import translate
from book.builder.notebook import BuildError, Cell, dump, read_notebook, write
from book.builder.page import Page
from book.builder.program import code_key
from book.builder.stamps import stamp_of

import nbformat
import pytest
from helpers import assert_end, until
from small_chapter import bilingual, errors, make
from this_chapter import CHAPTER

GOOD = """\
---
frameworks: [mxnet]
names: [nvidia_smi]
---

+++ {"lang": "en", "id": "intro"}
# Adding Two Numbers

We add `x` and `y`, two **parameters**: $x+y$, see [the text](https://d2l.ai), `sum` and 3 more.

+++ {"lang": "zh", "id": "intro"}
# 两个数相加

我们把两个**参数**（parameter）`x`和`y`相加：$x+y$，见[原文](https://d2l.ai)、`sum`以及另外3个。

```{code-cell}
:tags: [nbval-ignore-output]
print("devices: cpu(0), cpu(1) (two cores)")
x, y = 1, 2  # Two numbers | 两个数
print(x + y, "# a | b")
```

```{code-cell}
:tags: [pytorch]
import torch
```

+++ {"lang": "en", "id": "end"}
## Summary

It is fast.

## Exercises

1. What is `x`?

+++ {"lang": "zh", "id": "end"}
## 小结

很快。

## 练习

1. `x`是什么？

```{code-cell}
:tags: [solution]
# Look at it | 看看它
x
```
"""


@pytest.fixture
def chapter(tmp_path):
    return make(tmp_path, good=GOOD)


def call(chapter, *args):
    return main([args[0], "--root", str(chapter.root), *args[1:]])


def edit(chapter, old, new, name="good"):
    path = chapter.root / f"chapters/text/{name}.md"
    text = path.read_text("utf-8")
    assert old in text
    path.write_text(text.replace(old, new), "utf-8")


def cells(*sources):
    """Return a small text with these code cells; a first line may hold tags."""
    text = '---\nframeworks: [mxnet]\n---\n\n+++ {"lang": "en", "id": "intro"}\n# Title\n'
    text += "".join(f"\n```{{code-cell}}\n{source}\n```\n" for source in sources)
    return text + '\n+++ {"lang": "en", "id": "end"}\n## Summary\n\n## Exercises\n'


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return a built chapter, for tests that do not change it."""
    chapter = make(tmp_path_factory.mktemp("built"), good=GOOD)
    assert call(chapter, "build") == 0
    return chapter


def files(chapter):
    return {p: p.read_bytes() for p in (chapter.root / "chapters").rglob("*") if p.is_file()}


# ---- The layout of code --------------------------------------------------------------------------


def test_format_measures_a_comment_in_one_language(tmp_path, capsys):
    call_it = "f" + "(first, second)" * 2
    comment = "# " + "A word. " * 6 + "| " + "甲乙丙丁。" * 12
    chapter = make(tmp_path, good=cells(f"{call_it}  {comment}", "# | 甲", "x = ( 1)  # One | 一"))
    assert call(chapter, "format") == 0
    text = (tmp_path / "chapters/text/good.md").read_text("utf-8")
    assert f"\n{call_it}  {comment}\n" in text
    assert "\n# | 甲\n" in text and "\nx = 1  # One | 一\n" in text
    assert call(chapter, "format") == 0
    assert capsys.readouterr().out == "good.md formatted\n"


def test_format_lays_out_cells_alone(tmp_path):
    """Prose before a cell, its tags and another cell may say the same as it does."""
    badly = "x = ( 1)"
    text = cells(
        f":tags: [nbval-ignore-output]\n{badly}",
        badly,
        "assert x",
        f":tags: [denial]\n# No\n{badly}",
    )
    said = f"\nIn prose, `{badly}` stays.\n\n{badly}\n"
    text = text.replace("# Title\n", f"# Title\n{said}")
    chapter = make(tmp_path, good=text)
    assert call(chapter, "format") == 0
    formatted = (tmp_path / "chapters/text/good.md").read_text("utf-8")
    assert said in formatted and formatted.count("\nx = 1\n") == 3
    assert formatted.count(badly) == 2


def test_code_is_laid_out_with_the_project_s_settings():
    assert format_code(["x = ( 1)"], CHAPTER.root) == ["x = 1"]  # Which exclude notebooks elsewhere


def test_the_texts_are_laid_out():
    for section in CHAPTER.sections():
        for path, formatted in laid_out(section).items():
            assert formatted == path.read_text("utf-8"), f"{path.name}: make lint lays it out"


# ---- Texts to notebooks --------------------------------------------------------------------------


def test_good_text_passes(built, capsys):
    assert call(built, "check") == 0
    assert "agree" in capsys.readouterr().out


def test_notebook_content(built):
    made = {
        lang: read_notebook(built.notebook_path("mxnet", lang, "good")) for lang in ("en", "zh")
    }
    en, zh = made["en"].cells, made["zh"].cells
    ids = ["title", "setup", "intro", "intro_1", "end", "end_1"]  # The PyTorch cell is left out
    assert [c.id for c in en] == [c.id for c in zh] == ids
    assert en[0].source == (
        "# Adding Two Numbers\n\n[中文](../zh/good.ipynb) · [Open in Colab]("
        "https://colab.research.google.com/github/someone/somewhere/blob/main/"
        "chapters/mxnet/en/good.ipynb) · [Open in Kaggle]("
        "https://kaggle.com/kernels/welcome?src=https://github.com/someone/somewhere/blob/main/"
        "chapters/mxnet/en/good.ipynb)"
    )
    assert zh[0].source.startswith("# 两个数相加\n\n[English](../en/good.ipynb) · ")
    assert "someone/somewhere" in en[1].source and "不起作用" in zh[1].source
    assert zh[3].source.splitlines()[1] == "x, y = 1, 2  # 两个数"
    assert zh[3].outputs == en[3].outputs and zh[3].execution_count == en[3].execution_count == 2
    assert zh[3].outputs[0].text.endswith("3 # a | b\n")
    assert zh[5].source == "# @title 解答\n# 看看它\nx"
    assert zh[5].metadata["jupyter"]["source_hidden"] and zh[5].metadata["cellView"] == "form"
    assert list(en[3].run) == ["date", "machine", "others", "versions"]
    assert (en[3].run, en[3].code_hash) == (zh[3].run, zh[3].code_hash)
    saved = nbformat.read(built.notebook_path("mxnet", "en", "good"), 4)
    assert saved.metadata.d2l_local.runs == [en[3].run]
    assert saved.cells[3].metadata.d2l_local.run == 0


def test_jupyterlab_has_nothing_to_change(built):
    """What it writes for a notebook that is only looked at: facts of the kernel, and numbers."""
    from ipykernel.ipkernel import IPythonKernel
    from jupyter_client.kernelspec import KernelSpecManager

    path = built.notebook_path("mxnet", "en", "good")
    metadata = json.loads(path.read_text("utf-8"))["metadata"]
    spec = KernelSpecManager().get_kernel_spec("python3")
    assert metadata["kernelspec"]["display_name"] == spec.display_name
    assert metadata["language_info"] == IPythonKernel.language_info
    assert metadata["d2l_local"]["runs"][0]["others"]["share"] == 0
    assert '"share": 0\n' in path.read_text("utf-8")


def test_check_overlooks_what_another_jupyterlab_has_changed(chapter, capsys):
    assert call(chapter, "build") == 0
    path = chapter.notebook_path("mxnet", "en", "good")
    node = nbformat.read(path, 4)
    node.metadata.kernelspec.display_name = "Python 3"
    node.metadata.language_info.version = "3.99"
    nbformat.write(node, path)
    assert call(chapter, "check") == 0
    assert call(chapter, "build") == 0 and "3.99" not in path.read_text("utf-8")


def test_rebuilding_changes_nothing(built, capsys):
    before = files(built)
    assert call(built, "build") == 0
    assert "outputs kept, nothing to write" in capsys.readouterr().out
    assert call(built, "build", "--force") == 0
    assert files(built) == before


def test_prose_and_comments_keep_outputs_and_code_does_not(chapter, capsys):
    assert call(chapter, "build") == 0
    edit(chapter, "It is fast.", "It is quick.")
    edit(chapter, "# Two numbers |", "# A pair |")
    capsys.readouterr()
    assert call(chapter, "build") == 0
    out = capsys.readouterr().out
    assert "outputs kept, 0 s" in out
    assert "warning: good.md:37: [zh/end] is stale" in out
    assert call(chapter, "check") == 1
    assert call(chapter, "stamp") == 0 and call(chapter, "check") == 0
    edit(chapter, "x + y,", "x * y,")
    assert call(chapter, "build") == 0
    notebook = read_notebook(chapter.notebook_path("mxnet", "zh", "good"))
    assert notebook.cells[3].outputs[0].text.endswith("2 # a | b\n")


def test_inserted_cell_renames_no_other_block(chapter):
    before = [c.id for c in render.notebook(chapter.sections()[0], "mxnet", "en").cells]
    edit(chapter, "```{code-cell}\n:tags: [pytorch]", "```{code-cell}\ny\n```\n\n```{code-cell}")
    after = [c.id for c in render.notebook(chapter.sections()[0], "mxnet", "en").cells]
    assert [i for i in after if i in before] == before


@pytest.mark.parametrize(
    "source, en, zh",
    [
        ("x = 1  # one | 一", "x = 1  # one", "x = 1  # 一"),
        ("x = 'a # b | c'  # one", "x = 'a # b | c'  # one", "x = 'a # b | c'  # one"),
        ("x = 1 | 2  # or | 或", "x = 1 | 2  # or", "x = 1 | 2  # 或"),
        ("# one\n# two | 一\nx", "# one\n# two\nx", "# one\n# 一\nx"),
        ("# one | 一\n# two |\nx", "# one\n# two\nx", "# 一\nx"),
        ("!ls \"it's | grep a\nx  # one | 一", None, "!ls \"it's | grep a\nx  # 一"),
        ("%matplotlib inline\nx  # one | 一", None, "%matplotlib inline\nx  # 一"),
        ("y = 1\n\n!echo '(\nx  # one | 一", None, "y = 1\n\n!echo '(\nx  # 一"),
        ('"""\n# a | b\n"""', '"""\n# a | b\n"""', '"""\n# a | b\n"""'),
        ("f(a,  # one | 一\n  b)", "f(a,  # one\n  b)", "f(a,  # 一\n  b)"),
        ("f(a  # one | 一", "f(a  # one | 一", "f(a  # one | 一"),  # No Python
    ],
)
def test_comments(source, en, zh):
    assert en is None or translate(source, 0) == en
    assert translate(source, 1) == zh
    assert translate(source, 2) == translate(source, 0)  # No third part: the first
    assert code_key(translate(source, 1)) == code_key(source)


def test_stamp_edits_only_its_line(tmp_path):
    chapter = make(tmp_path, good=GOOD)
    path = chapter.root / "chapters/text/good.md"
    text = GOOD.replace("\n", "\r\n")
    text = text.replace('{"lang": "zh", "id": "end"}', '{"of": "0", "lang":"zh","id":"end" }')
    path.write_bytes(text.encode())
    stale = stamps.stale(chapter.sections()[0])
    assert [block.id for block in stale] == ["intro", "end"]
    assert call(chapter, "stamp") == 0
    new = path.read_bytes().decode()
    twins = chapter.sections()[0].twins()
    for old, block in zip(text.split("\r\n"), new.split("\r\n")):
        if old != block:
            assert re.sub(r'(, )?"of": "\w+"', "", old) == re.sub(r'(, )?"of": "\w+"', "", block)
    assert new.count("\r\n") == text.count("\r\n")
    assert twins["end"]["zh"].of == stamp_of(twins["end"]["en"].source)
    assert call(chapter, "stamp") == 0 and path.read_bytes().decode() == new


def test_a_line_that_ends_with_a_carriage_return_alone_is_refused(tmp_path):
    chapter = make(tmp_path, good=GOOD)
    path = chapter.root / "chapters/text/good.md"
    path.write_bytes(path.read_bytes().replace(b"\n", b"\r"))
    with pytest.raises(BuildError, match=r"good.md:1: ends with CR alone"):
        chapter.sections()


@pytest.mark.parametrize(
    "old, new, message",
    [
        ("frameworks: [mxnet]", "names: [x]", "the front matter must say `frameworks:`"),
        ("frameworks: [mxnet]", "title: x", "unknown key title in the front matter"),
        ("frameworks: [mxnet]", "frameworks: mxnet", "`frameworks: mxnet`, which must be a list"),
        ("frameworks: [mxnet]", "frameworks: 3", "`frameworks: 3`, which must be a list"),
        ("frameworks: [mxnet]", "frameworks: [[mxnet]]", "must be a list of words"),
        ("frameworks: [mxnet]", "frameworks: {mxnet: 1}", "must be a list of words"),
        ("names: [nvidia_smi]", "names: 5", "`names: 5`, which must be a list of words"),
        ("names: [nvidia_smi]", "names: [1]", "must be a list of words"),
        ("frameworks: [mxnet]\nnames: [nvidia_smi]", "- mxnet", "chapters/text/good.md: "),
        ('"lang": "zh", "id": "end"', '"lang": "../zh", "id": "end"', "not '../zh'"),
        ('"lang": "zh", "id": "end"', '"lang": "", "id": "end"', "lang is a language's code"),
        ('{"lang": "en", "id": "end"}', '{"lang": "en"}', "good.md:28: prose starts with"),
        ('{"lang": "en", "id": "end"}', '{"lang": "en", "id": "intro"}', "the id is taken"),
        ('"en", "id": "end"}', '"en", "id": "end", "tag": 1}', "unknown key tag"),
        ('"en", "id": "end"}', '"en", "id": "end"', "could not be read"),
        ('"id": "intro"}', '"id": 1}', "id, kind, lang, of are strings"),
        ("# Adding", "Adding", "[en] must begin with a title"),
        (":tags: [solution]", ":tags: solution", "is not of type 'array'"),
        (":tags: [solution]", ":tags:", "is not of type 'array'"),
        ("# Look at it | 看看它\nx\n", "", "an empty cell"),
        (":tags: [solution]", ":tags: [pytorch, solutoin]", "good.md:46: unknown tag solutoin"),
        (":tags: [solution]", ":tags: [solution, stub]", "good.md:46: a cell has one tag of sol"),
        ('"en", "id": "end"}', '"en", "id": "end", "tags": ["score"]}', "unknown tag score"),
        ("names:", "framework: [mxnet]\nnames:", "good.md: unknown key framework in the front"),
        (
            "names:",
            "draft: !!python/object/apply:os.abort []\nnames:",
            "good.md: could not determine",
        ),
        (":tags: [solution]", ":tags: !!python/tuple [a]", "good.md: could not determine"),
        ("names: [nvidia_smi]", "names: &a [*a]", "good.md: maximum recursion depth"),
    ],
)
def test_malformed_text(chapter, capsys, old, new, message):
    edit(chapter, old, new)
    for command in ("build", "check"):
        assert call(chapter, command) == 1
        assert message in capsys.readouterr().err


@pytest.mark.parametrize("command", ["build", "check", "stamp", "format"])
@pytest.mark.parametrize(
    ("file", "data", "message"),
    [
        ("chapters/text/good.md", b"", "chapters/text/good.md: the front matter must say"),
        ("chapters/text/good.md", b"# One\n\nTwo\xff", "chapters/text/good.md:3: no UTF-8"),
        ("chapters/text/glossary.yml", b"\xff", "chapters/text/glossary.yml:1: no UTF-8"),
        ("chapters/text/glossary.yml", b"a: [", "chapters/text/glossary.yml: while parsing"),
        ("pyproject.toml", b"\n\xff", "pyproject.toml:2: no UTF-8"),
    ],
)
def test_a_file_that_is_no_text_is_named(chapter, capsys, command, file, data, message):
    (chapter.root / file).write_bytes(data)
    assert call(chapter, command) == 1
    said = capsys.readouterr()
    assert said.err.startswith(message) and said.out == ""


@pytest.mark.parametrize("data", [b"<<<<<<< HEAD\n{}", b"\xff", b""])
def test_a_damaged_notebook_is_named(chapter, capsys, data):
    path = chapter.notebook_path("mxnet", "en", "good")
    path.parent.mkdir(parents=True)
    path.write_bytes(data)
    for command in ("build", "check"):
        assert call(chapter, command) == 1
        said = "".join(capsys.readouterr())
        assert f"{path}: " in said and "take it from git, or delete it and build it" in said
    assert path.read_bytes() == data


@pytest.mark.parametrize("command", ["build", "check", "stamp", "run", "format"])
@pytest.mark.parametrize("names", [["bad"], ["good", "bad"]])
def test_unknown_section(chapter, capsys, command, names):
    assert call(chapter, command, "--section", *names) == 1
    said = capsys.readouterr()
    assert said.err == "no text for bad in chapters/text\n" and said.out == ""


def test_run_says_so_where_there_is_no_notebook(chapter, capsys):
    assert call(chapter, "run", "--section", "good") == 1
    assert capsys.readouterr().err == "no notebooks of good; make them with `make notebooks`\n"


def test_a_title_is_read_as_the_block_is(tmp_path):
    """However its line of data is written, and whatever begins with a # below it."""
    text = bilingual("", "mxnet").replace('{"lang": "en", "id"', '{"lang":"en","id"', 1)
    later = (
        '+++ {"lang": "en", "id": "later"}\n# Later\n\n+++ {"lang": "zh", "id": "later"}\n# 后\n'
    )
    chapter = make(tmp_path, one=text, two=text + "\n" + later)
    assert [entry.titles for entry in chapter.outline] == [{"en": "Title", "zh": "题目"}] * 2
    assert call(chapter, "build", "--no-execute") == 0


@pytest.mark.parametrize("command", ["build", "check"])
def test_a_broken_text_beside_the_chosen_one_is_named(tmp_path, capsys, command):
    chapter = make(tmp_path, good=GOOD)
    (tmp_path / "chapters/text/bad.md").write_text("---\nframeworks: [\n---\n")
    assert call(chapter, command, "--section", "good") == 1
    said = capsys.readouterr()
    assert said.err.startswith("chapters/text/bad.md: ") and "while parsing" in said.err
    assert said.out == ""


def test_a_language_without_words_of_its_own_takes_the_first_one_s(tmp_path):
    text = bilingual("", "mxnet").replace('"zh"', '"fr"') + "\n```{code-cell}\n1\n```\n"
    chapter = make(tmp_path, small=text)
    setup = render.notebook(chapter.sections()[0], "mxnet", "fr").cells[1].source
    assert chapter.languages["en"]["setup-failed"] in setup


def test_write_is_atomic(tmp_path, monkeypatch):
    path = tmp_path / "a"
    assert write(path, "one") and not write(path, "one")
    seen = []

    def replace(old, new):
        seen.append((Path(old).read_text(), path.read_text()))
        raise KeyboardInterrupt

    monkeypatch.setattr(os, "replace", replace)
    with pytest.raises(KeyboardInterrupt):
        write(path, "two")
    assert seen == [("two", "one")]
    assert path.read_text() == "one" and list(tmp_path.iterdir()) == [path]


# ---- Checks --------------------------------------------------------------------------------------


def problems(chapter):
    return errors(chapter.sections()[0])


@pytest.mark.parametrize(
    "old, new, message",
    [
        # Twins
        ('{"lang": "zh", "id": "end"', '{"lang": "zh", "id": "end2"', "[en/end] has no twin in zh"),
        ('{"lang": "zh", "id": "end"', '{"lang": "zh", "id": "end2"', "right after its twin"),
        ("It is fast.", "It is quick.", "good.md:37: [zh/end] is stale"),
        # What they must share
        ("## 练习", "### 练习", "heading levels [2, 2] and [2, 3]"),
        ("3个", "4个", "numbers differ: ['3'] only in en, ['4'] only in zh"),
        ("`sum`以及", "`min`以及", "code differ: ['sum'] only in en, ['min'] only in zh"),
        ("$x+y$，", "$x-y$，", "math differ"),
        ("[原文](https://d2l.ai)", "[原文](https://zh.d2l.ai)", "links differ"),
        # Terms
        ("**参数**（parameter）", "**系数**（parameter）", "“parameter” is 参数"),
        ("很快。", "操作符很快。", "操作符 should be 算子"),
        # Names
        ("`x`是什么", "`xx`是什么", "`xx` is in no code cell"),
        ("`x`是什么", "`module.x()`是什么", "`module.x()` is in no code cell"),
        # Typography
        ("很快。", "在 GPU上很快。", "No space between 汉字 and Latin"),
        ("很快。", "在GPU 上很快。", "No space between 汉字 and Latin"),
        ("很快。", "很快\n很快。", "No space or line break between 汉字"),
        ("很快。", "很快,", "Full-width punctuation"),
        ("很快。", "很快(真的)。", "Full-width punctuation"),
        ("很快。", "请看。", "No 您 and no 请"),
        ("两个数\n", "两个 x\n", "[code] No space between 汉字 and Latin"),
        ("**参数**（parameter）`x`", "**参数（parameter）**值`x`", "does not become bold"),
        # The rest
        ("`sum` and", "{math}`sum` and", "MyST shows as it stands on GitHub: {math}`sum`"),
        ("It is fast.", "```{note}\nfast\n```", "MyST shows as it stands on GitHub: ```{note}"),
        ("It is fast.", "(label)=\nIt is fast.", "MyST shows as it stands on GitHub: (label)="),
        ("It is fast.", ":numref:`x`.", "MyST shows as it stands on GitHub: :numref:`x`"),
        ("## Exercises", "## Problems", "[en] has no heading ## Exercises"),
        ("## 小结", "## 总结", "[zh] has no heading ## 小结"),
        # Tags
        ("[nbval-", f"[gpus-{10**20}, nbval-", f"the tag gpus-{10**20} must be like gpus-2"),
        ("[nbval-", "[gpus-0, nbval-", "[code] the tag gpus-0 must be like gpus-2"),
        ("[nbval-", "[gpu-2, nbval-", "[code] the tag gpu-2 must be like gpus-2"),
        (
            "[nbval-",
            "[gpus-2, nbval-",
            "[code] the tag gpus-2 is for a cell that asks d2l.has_gpus(2)",
        ),
    ],
)
def test_check_text(chapter, old, new, message):
    assert problems(chapter) == []
    edit(chapter, old, new)
    assert any(message in problem for problem in problems(chapter)), problems(chapter)
    assert all(problem.startswith("good.md:") for problem in problems(chapter))


@pytest.mark.parametrize(
    "old, new",
    [
        ("`x`是什么？", "`x`是什么？申请、请求、`nvidia_smi`和`d2l.devices(2)`。"),
        ("1,", "1,  # Ready\n#\n"),
        ("[nbval-ignore-output]\n", "[gpus-2]\nassert d2l.has_gpus(2)\n"),
        ("很快。", "$x$ 很快，`x`，1.5倍：[页面](https://d2l.ai)。"),
    ],
)
def test_check_allows(chapter, old, new):
    edit(chapter, old, new)
    only_in_one_twin = re.compile(r"^good\.md:\d+: \[zh/\w+\] (numbers|code|links|math) differ: ")
    assert [problem for problem in problems(chapter) if not only_in_one_twin.match(problem)] == []


def test_what_is_in_prose():
    shown = prose.read("![Two](two-en.svg) in `x`, $y$\n\n<b>raw</b> too\n\n<p>\nboxed\n</p>")
    assert shown.links == {"two-en.svg": 1}
    assert shown.texts == [" in `, $", "raw too", "\nboxed\n"]


def test_numbers_and_math():
    one = prose.read("1,000 of 2.5 and `3` and $4$ [5](6) \n\n$$7 \\text{seconds}$$")
    other = prose.read("共1000，2.5，`3`，$4$，[5](6)\n\n$$7\\text{秒}$$\n")
    assert one.numbers == other.numbers == {"1000": 1, "2.5": 1, "5": 1}
    assert one.math == other.math


@pytest.fixture
def committed(built):
    """Return a page of the built chapter."""
    return Page(built.sections()[0], "mxnet", "en", None)


def found(page):
    return [problem.what for problem in check.notebook(page)]


def test_check_notebook(committed):
    assert found(committed) == []
    committed.committed.cells[2].source += " And more."
    assert found(committed) == ["differs from its text in intro: build it"]
    committed.committed.cells[3].source += "\nz = 1"
    assert found(committed) == ["differs from its text in intro, intro_1: build it"]
    committed.committed = None
    assert found(committed) == ["missing: build it"]


@pytest.mark.parametrize(
    ("old", "new", "executes"),
    [
        ("is fast.", "is quick.", False),
        ("# Two numbers |", "# A pair |", False),
        ("y = 1, 2", "y = 1, 3", True),
    ],
)
def test_check_names_the_command_that_mends_it(chapter, capsys, monkeypatch, old, new, executes):
    """Where no code has changed, it needs no framework: any Python of this repository will do."""
    assert call(chapter, "build") == 0
    edit(chapter, old, new)
    assert call(chapter, "stamp") == 0
    capsys.readouterr()
    with monkeypatch.context() as elsewhere:
        elsewhere.setattr(sys, "executable", str(Path.cwd() / ".venv-pytorch/bin/python"))
        assert call(chapter, "check") == 1
    told = re.findall("^to build it: (.*)$", capsys.readouterr().out, re.MULTILINE)
    arguments = ["--framework", "mxnet", "--section", "good"]
    rendered = f".venv-pytorch/bin/python -m book.builder --no-execute {' '.join(arguments)}"
    assert told == ['make notebooks FRAMEWORK=mxnet SECTIONS="good"' if executes else rendered]
    assert call(chapter, "build", *([] if executes else ["--no-execute"]), *arguments) == 0
    assert call(chapter, "check") == 0


def test_check_notices_the_order_of_cells(committed):
    committed.committed.cells[-2:] = committed.committed.cells[:-3:-1]
    assert found(committed) == ["differs from its text in the order of its cells: build it"]


def test_check_execution_count(committed):
    committed.committed.cells[3].execution_count = None
    assert found(committed) == ["cell intro_1: was not executed: build it"]


def test_check_link(committed):
    cell = committed.committed.cells[2]
    cell.source = "[a](../zh/good.ipynb#b) ![c](../../../img/none.svg)"
    assert "cell intro: the link ../../../img/none.svg leads nowhere" in found(committed)
    assert "good.ipynb" not in str(found(committed))


@pytest.mark.parametrize("command", ["build", "run"])
def test_a_section_of_another_edition_is_refused(chapter, capsys, command):
    assert call(chapter, command, "--framework", "pytorch", "--section", "good") == 1
    said = capsys.readouterr().err
    assert "good is not in the edition of pytorch, but in that of mxnet" in said
    assert "FRAMEWORK=mxnet" in said


@pytest.mark.parametrize(
    "framework, lang, leads",
    [
        ("mxnet", "en", "../../pytorch/en/alone.ipynb"),
        ("mxnet", "zh", "../../pytorch/en/alone.ipynb"),
        ("pytorch", "en", "alone.ipynb"),
        ("pytorch", "zh", "../../pytorch/en/alone.ipynb"),
    ],
)
def test_a_link_leads_to_an_edition_that_has_the_section(tmp_path, framework, lang, leads):
    """To another framework's, or another language's, and there it is."""
    body = "".join(
        f'\n+++ {{"lang": "{each}", "id": "linking"}}\n'
        "[a](alone.ipynb#b) [c](alone.ipynb) [d](both.ipynb) [e](none.ipynb)\n"
        for each in ("en", "zh")
    )
    alone = '---\nframeworks: [pytorch]\n---\n\n+++ {"lang": "en", "id": "intro"}\n# Alone\n'
    both = bilingual(body, "mxnet, pytorch")
    chapter = make(tmp_path, alone=alone, both=both)
    assert call(chapter, "build") == 0
    path = chapter.notebook_path(framework, lang, "both")
    [cell] = [cell for cell in read_notebook(path).cells if cell.id == "linking"]
    assert cell.source == f"[a]({leads}#b) [c]({leads}) [d](both.ipynb) [e](none.ipynb)"
    [section] = chapter.sections(["both"])
    page = Page(section, framework, lang, None)
    assert found(page) == ["cell linking: the link none.ipynb leads nowhere"]


@pytest.mark.parametrize(
    "output, message",
    [
        ({"output_type": "error", "ename": "E", "evalue": "v", "traceback": []}, "error E: v"),
        ({"output_type": "stream", "name": "stderr", "text": "oh"}, "writes to stderr: oh"),
        ({"output_type": "stream", "name": "stdout", "text": "x" * 600000}, "output of 585 KB"),
        (
            {"output_type": "display_data", "data": {"image/svg+xml": "<svg/>"}, "metadata": {}},
            "an SVG picture",
        ),
    ],
)
def test_check_outputs(committed, output, message):
    committed.committed.cells[3].outputs = [nbformat.from_dict(output)]
    [problem] = found(committed)
    assert message in problem and "cell intro_1" in problem


@pytest.mark.parametrize(
    "for_gpus, everywhere, name",
    [
        ("rates = {}", "print(rates)", "rates"),
        ("rates = {}", "[x for x in rates]", "rates"),
        ("import math", "math.pi", "math"),
        ("rates = {}", "%matplotlib inline\nrates = {1: 2}\nprint(rates)", None),
        ("rates = {}", "def later():\n    return rates", None),
        ("def f():\n    rates = {}", "rates = 1", None),
        ("a = b = 7", "print(7\n    % a\n)\n!ls", "a"),
    ],
)
def test_no_cell_reads_what_only_gpus_leave(for_gpus, everywhere, name):
    cells = [
        Cell("code", "before", for_gpus, metadata={"tags": ["gpus-1"]}),
        Cell("code", "after", everywhere),
    ]
    expected = [f"cell after: only a cell that needs GPUs sets {name}"] if name else []
    assert notebooks.needs_what_gpus_left(cells) == expected


def test_check_orphan(chapter, capsys):
    write(chapter.notebook_path("mxnet", "en", "old"), "{}")
    assert call(chapter, "check") == 1
    out = capsys.readouterr().out
    assert "chapters/mxnet/en/old.ipynb: no text makes it" in out
    assert "chapters/mxnet/en/good.ipynb: missing: build it" in out


# ---- This chapter --------------------------------------------------------------------------------


def test_this_chapter(capsys):
    result = main(["check", "--release"])
    assert result == 0, capsys.readouterr().out


def test_glossary_does_not_forbid_what_it_asks_for():
    glossary = CHAPTER.glossary
    for lang in glossary["languages"]:
        right = [form for term in glossary["terms"] for form in twins.forms(term, lang)]
        wrong = [w for term in glossary["terms"] for w in term.get("not", {}).get(lang, [])]
        assert [(w, form) for w in wrong for form in right if w in form] == []


# ---- Execution -----------------------------------------------------------------------------------


def test_failing_cell(tmp_path, capsys):
    chapter = make(tmp_path, bad=cells("x = 0", "y = 1 / x  # Fails"), good=cells("print(1)"))
    assert call(chapter, "build") == 1
    out = capsys.readouterr().out
    assert "chapters/mxnet/en/bad.ipynb, cell intro_2:\n    y = 1 / x  # Fails\n" in out
    assert "ZeroDivisionError: division by zero" in out and "\x1b" not in out
    assert not chapter.notebook_path("mxnet", "en", "bad").exists()
    assert chapter.notebook_path("mxnet", "en", "good").exists()


def test_expected_failure_and_stderr(tmp_path, capsys):
    write = "import sys\nprint('oh', file=sys.stderr)"
    chapter = make(
        tmp_path,
        good=cells(":tags: [raises-exception]\n1 / 0"),
        loud=cells(write),
    )
    assert call(chapter, "build") == 1
    assert "loud.ipynb, cell intro_1: writes to stderr: oh" in capsys.readouterr().out
    assert call(chapter, "check", "--section", "good") == 0
    tags = read_notebook(chapter.notebook_path("mxnet", "en", "good")).cells[2].metadata["tags"]
    assert tags == ["raises-exception", "nbval-raises-exception"]


def test_a_cell_that_may_print_an_excuse_is_not_compared(tmp_path):
    asked = "assert True or crowding.excuses('it is fast')"
    chapter = make(tmp_path, small=cells("crowding = None", asked))
    assert call(chapter, "build") == 0
    notebook = read_notebook(chapter.notebook_path("mxnet", "en", "small"))
    tags = [cell.metadata.get("tags") for cell in notebook.cells if cell.cell_type == "code"]
    assert tags[-2:] == [None, ["nbval-ignore-output"]]


def test_timeout(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(execute, "CELL_SECONDS", 1)
    chapter = make(tmp_path, slow=cells("import time", "time.sleep(60)"))
    started = time.monotonic()
    assert call(chapter, "build") == 1
    assert time.monotonic() - started < 20
    out = capsys.readouterr().out
    assert "slow.ipynb, cell intro_2:\n    time.sleep(60)\n" in out and "timed out" in out
    monkeypatch.undo()
    notebook = render.notebook(chapter.sections()[0], "mxnet", "en")
    write(chapter.notebook_path("mxnet", "en", "slow"), dump(notebook))
    monkeypatch.setattr(execute, "NOTEBOOK_SECONDS", 1)
    assert call(chapter, "run") == 1
    out = capsys.readouterr().out
    assert "cell intro_2:" in out and "1 s a notebook" in out and "failed" in out.splitlines()[-1]


PLOT = """\
%matplotlib inline
import matplotlib.pyplot as plt
from matplotlib_inline import backend_inline
plt.rcParams["font.family"] = "DejaVu Sans"
backend_inline.set_matplotlib_formats("FORMAT")
plt.title("中文");"""


@pytest.mark.parametrize(
    "form, title, message",
    [
        ("png", "中文", "UserWarning: Glyph 20013"),  # Drawn at the end of the cell
        ("svg", "abc", "an SVG picture, which JupyterLab hides"),
    ],
)
def test_picture_that_a_reader_would_not_see(tmp_path, capsys, form, title, message):
    source = PLOT.replace("FORMAT", form).replace("中文", title)
    chapter = make(tmp_path, plot=cells(source))
    assert call(chapter, "build") == 1
    out = capsys.readouterr().out
    assert "cell intro_1" in out and message in out


def test_glyphs_that_exist_pass(tmp_path):
    source = PLOT.replace("FORMAT", "png").replace("中文", "abc ∑ é")
    assert call(make(tmp_path, plot=cells(source)), "build") == 0


def test_run(tmp_path, capsys):
    chapter = make(
        tmp_path,
        a=cells("import os", "print('devices: cpu(0), cpu(1) (two)')"),
        b=cells("open('trace.json', 'w').close()"),
    )
    assert call(chapter, "build") == 0
    path = chapter.notebook_path("mxnet", "en", "a")
    path.write_text(path.read_text("utf-8").replace('import os"', 'import nosuch"'), "utf-8")
    before = files(chapter)
    capsys.readouterr()
    assert call(chapter, "run") == 1
    out = capsys.readouterr().out
    assert "[1/2] mxnet/en/a ... failed\nchapters/mxnet/en/a.ipynb, cell intro_1:" in out
    assert "    import nosuch\n" in out and "ModuleNotFoundError" in out
    assert re.search(r"^\[2/2\] mxnet/en/b \.\.\. ok, [\d.]+ s$", out, re.MULTILINE)
    table = out[out.index("notebook ") :].splitlines()
    columns = ["notebook", "language", "devices", "cells", "again", "seconds", "result"]
    assert table[0].split() == columns
    assert table[1].split()[:3] == ["mxnet/a", "en", "-"] and table[1].endswith("failed")
    assert table[2].split()[0] == "mxnet/b" and table[2].endswith("ok")
    assert files(chapter) == before and (chapter.root / "build/mxnet/en/trace.json").exists()
    path.write_text(path.read_text("utf-8").replace('import nosuch"', 'import os"'), "utf-8")
    assert call(chapter, "run", "--section", "a", "--framework", "mxnet") == 0
    assert "cpu(0), cpu(1)  3 " in capsys.readouterr().out


MEASURES = ":tags: [nbval-ignore-output]\n"
# Each holds at its second try.
LUCKY = [f"{MEASURES}{name} += 1\nassert {name} == 2" for name in "abcd"]


@pytest.mark.parametrize(
    ("lucky", "told"),
    [
        (LUCKY[:1], "again"),
        (LUCKY[:3], "again"),
        (LUCKY, "4 cells needed a second try, and 3 may: either other programs"),
        ([f"{MEASURES}a += 1\nassert a == 3"], "failed"),
        (["a += 1\nassert a == 2"], "failed"),  # It measures nothing
        ([f"{MEASURES}a += 1\n1 / (a - 1)"], "failed"),  # It asserts nothing
    ],
)
def test_run_tries_again_what_is_measured(tmp_path, capsys, lucky, told):
    """As a test does, by the same code."""
    chapter = make(tmp_path, a=cells("a = b = c = d = 0", *lucky))
    assert call(chapter, "build", "--no-execute") == 0
    capsys.readouterr()
    code = call(chapter, "run")
    out = capsys.readouterr().out
    assert code == (1 if told == "failed" or len(lucky) > 3 else 0) and told in out
    again = len(lucky) if told != "failed" else int("== 3" in lucky[0])
    assert out.count("what it asserts failed once and is tried again") == again


@pytest.mark.skipif(os.name == "nt", reason="signals")
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGHUP, signal.SIGKILL])
def test_no_process_survives(tmp_path, number):
    source = (
        "import os, subprocess, tempfile, time\n"
        "tempfile.mkdtemp()\n"
        "child = subprocess.Popen(['sleep', '100'])\n"
        "print(os.getpid(), child.pid, file=open('pids.tmp', 'w'))\n"
        "os.rename('pids.tmp', 'pids')\n"
        "time.sleep(100)"
    )
    chapter = make(tmp_path, slow=cells(source))
    # With a short name: the kernel is reached through files there, else through ports, which may
    # be taken.
    temporary = Path(tempfile.mkdtemp(prefix="t", dir="/tmp"))
    command = [sys.executable, "-m", "book.builder", "build", "--root", str(tmp_path)]
    process = subprocess.Popen(
        command, stderr=subprocess.PIPE, text=True, env={**os.environ, "TMPDIR": str(temporary)}
    )
    pids = chapter.root / "build/mxnet/en/pids"
    until(pids.exists)
    process.send_signal(number)
    process.send_signal(number)  # The second one does not keep it from ending well
    _, errors = process.communicate(timeout=30)
    assert process.returncode == (128 + number if number != signal.SIGKILL else -number), errors
    assert_end(map(int, pids.read_text().split()))
    assert not chapter.notebook_path("mxnet", "en", "slow").exists()
    assert number == signal.SIGKILL or not list(temporary.iterdir())
    shutil.rmtree(temporary)
