"""What the builder makes of a text beyond plain prose and code, on small texts of plain Python."""

from __future__ import annotations

import re
from pathlib import Path

from book.builder import model, proof, render
from book.builder.check import exercises
from book.builder.cli import main
from book.builder.model import Section
from book.builder.notebook import BuildError, data_of, read_notebook

import nbformat
import pytest
from small_chapter import ROOT, bilingual, errors, make


def write(root: Path, body: str) -> Section:
    """Return a section made of `body` between a title and a summary, in `root`."""
    return make(root, small=bilingual(body, "pytorch, mxnet")).sections()[0]


def code(source: str, *tags: str, **options: str) -> str:
    lines = [f":tags: [{', '.join(tags)}]"] if tags else []
    lines += [f":{key}: {value}" for key, value in options.items()]
    return "\n".join(["\n```{code-cell}", *lines, source, "```\n"])


def prose(id: str, en: str, zh: str, **keys: str) -> str:
    more = "".join(f', "{key}": "{value}"' for key, value in keys.items())
    return (
        f'\n+++ {{"lang": "en", "id": "{id}"{more}}}\n{en}\n'
        f'\n+++ {{"lang": "zh", "id": "{id}"{more}}}\n{zh}\n'
    )


# ---- Where a cell comes from ---------------------------------------------------------------------


def described(section, framework, lang="en"):
    cells = render.notebook(section, framework, lang).cells
    return [(cell.id, cell.frameworks, cell.order) for cell in cells]


def test_cells_say_where_they_come_from(tmp_path):
    section = write(tmp_path, code("1") + code("2", "pytorch") + code("3", "mxnet") + code("4"))
    both = ["mxnet", "pytorch"]  # As the table of frameworks has them, not the front matter
    assert described(section, "mxnet") == [
        ("title", both, 0),
        ("setup", both, 0),
        ("intro", both, 0),
        ("intro_1", both, 1),
        ("intro_2", ["mxnet"], 3),
        ("intro_3", both, 4),
        ("end", both, 5),
    ]
    assert described(section, "mxnet", "zh") == described(section, "mxnet")
    assert [order for *_, order in described(section, "pytorch")] == [0, 0, 0, 1, 2, 4, 5]


# ---- Asides, and what is asked before a measurement ----------------------------------------------


def sources(section, framework="mxnet", lang="en"):
    return {cell.id: cell.source for cell in render.notebook(section, framework, lang).cells}


def cell_of(section, id, framework="mxnet", lang="en"):
    return next(cell for cell in render.notebook(section, framework, lang).cells if cell.id == id)


def found(section):
    return "\n".join(errors(section))


ASIDE = prose("why", "Why `x < 1`\n\nBecause.", "为什么`x < 1`\n\n因为如此。", kind="aside")


@pytest.mark.parametrize(
    ("source", "title"),
    [
        ("assert x == 0", "Check"),
        ("plot(x)\nassert x == 0", "Figure"),
        ('ax = d2l.axes("a", "b", "c")', "Figure"),
        ("print(x)", "Details"),
    ],
)
def test_folded_code_is_called_check_only_if_it_asserts(tmp_path, source, title):
    section = write(tmp_path, code("x = 0") + code(source, "score"))
    assert f"# @title {title}\n{source}" in sources(section).values()


def test_aside_is_folded(tmp_path):
    section = write(tmp_path, code("x = 0") + ASIDE + code("x", "aside"))
    assert sources(section)["why"] == (
        "<details><summary>Aside · Why <code>x &lt; 1</code></summary>\n\nBecause.\n\n</details>"
    )
    assert sources(section, lang="zh")["why"].startswith("<details><summary>旁注 · 为什么")
    cell = cell_of(section, "why_1", lang="zh")
    assert cell.source == "# @title 旁注\nx" and cell.metadata["cellView"] == "form"
    assert cell.metadata["jupyter"] == {"source_hidden": True, "outputs_hidden": True}
    assert cell.metadata["collapsed"]
    assert cell.kind == "aside"
    assert found(section) == ""


def test_a_magic_stays_the_first_line_of_a_cell_that_is_folded(tmp_path):
    section = write(tmp_path, code("x = 0") + ASIDE + code("%%time\nx", "aside"))
    cell = cell_of(section, "why_1")
    assert cell.source == "%%time\nx" and cell.metadata["cellView"] == "form"


def test_aside_needs_a_plain_title(tmp_path):
    section = write(tmp_path, prose("why", "**Why**\n\nSo.", "**为什么**\n\n如此。", kind="aside"))
    assert "[en/why] an aside begins with its title, a line of plain text" in found(section)


QUESTION = prose(
    "guess",
    "**Predict**: how many?\n\n1. Two.\n2. Three\n   or more.",
    "**预测**：几个？\n\n1. 两个。\n2. 三个或更多。",
    kind="predict",
)


def test_prediction_folds_the_output_of_the_next_cell_only(tmp_path):
    section = write(tmp_path, QUESTION + code("d2l.measured(choice=2)") + code("1"))
    cell = cell_of(section, "guess_1")
    assert cell.metadata["jupyter"] == {"outputs_hidden": True} and cell.metadata["collapsed"]
    assert cell.predict == {"id": "guess", "choices": ["Two.", "Three\nor more."]}
    chinese = cell_of(section, "guess_1", lang="zh").predict
    assert chinese["choices"] == ["两个。", "三个或更多。"]
    assert "jupyter" not in cell_of(section, "guess_2").metadata
    assert sources(section)["guess"].startswith("**Predict**: how many?\n\n1. Two.")
    assert found(section) == ""


def test_question_for_a_number_has_no_choices(tmp_path):
    ask = prose("guess", "How long?", "多久？", kind="predict")
    section = write(tmp_path, ask + code("d2l.measured(number=2.0)"))
    assert cell_of(section, "guess_1").predict["choices"] == []
    assert found(section) == ""


def test_question_without_an_answer(tmp_path):
    missing = "[en/guess] no cell follows that answers it"
    assert missing in found(write(tmp_path, QUESTION + code("print(2)")))
    assert missing in found(write(tmp_path, QUESTION))
    only = code("d2l.measured(choice=2)", "pytorch") + code("2", "mxnet")
    assert missing in found(write(tmp_path, QUESTION + only))


def test_question_with_other_choices_than_its_twin(tmp_path):
    answer = code("d2l.measured(choice=2)")
    assert "1 choices, and its original 2" in found(
        write(tmp_path, QUESTION.replace("1. 两个。\n", "") + answer)
    )


def test_measurement_is_one_of_the_choices(tmp_path):
    section = write(tmp_path, QUESTION + code("d2l.measured(choice=2)"))
    cell = cell_of(section, "guess_1")
    for measured, problem in [
        ({"choice": 2}, ""),
        ({"choice": 3}, "none of the 2 choices"),
        ({"choice": 0}, "none of the 2 choices"),
        ({"number": 2.0}, "none of the 2 choices"),
    ]:
        data = {"d2l_local": {"measured": measured}}
        cell.outputs = [nbformat.v4.new_output("display_data", metadata=data)]
        assert problem in "".join(exercises.outputs(cell))
        assert bool(problem) == bool(exercises.outputs(cell))
    cell.predict["choices"] = []
    cell.outputs[0].metadata["d2l_local"]["measured"] = {"number": float("nan")}
    assert "asks for a number" in "".join(exercises.outputs(cell))
    cell.outputs = []
    assert exercises.outputs(cell) == ["0 measured answers, not one"]


def test_unknown_kind(tmp_path):
    with pytest.raises(BuildError, match=r"small\.md:\d+: unknown kind guess; there is predict"):
        write(tmp_path, prose("why", "Why", "为什么", kind="guess"))


# ---- Exercises -----------------------------------------------------------------------------------

# The package has no such exercise: in place of a backend, the stub itself is judged.
IMPORT = code(
    "from types import SimpleNamespace\n\nfrom d2l_local.lesson.exercise import judge\n\n"
    "d2l = SimpleNamespace(check=lambda name, add: judge(add, 1, 3))\n"
    "raise_ = 1  # Named by nothing below"
)
EXERCISE = (
    prose("ex-sum", "Add `a` and `b`.", "把`a`和`b`相加。", kind="exercise")
    + code("def add(a, b):\n    raise NotImplementedError", "stub")
    + code('def check(add):\n    assert add(1, 3) == 4, f"{add(1, 3)}, not 4"', "check")
    + prose("ex-sum-hint", "Use a sign.", "用符号。", kind="hint")
    + prose("ex-sum-solution", "A plus does it.", "用加号。", kind="solution")
    + code("def add(a, b):\n    return a + b * one", "solution")
    + code("def add(a, b):\n    return a * b", "wrong", refused="3, not 4")
    + code("def add(a, b):\n    return None + b", "wrong", refused="TypeError")
)
BODY = IMPORT + code("one = 1") + code("1 / 1") + EXERCISE


def build(section, *args):
    return main(["build", "--root", str(section.chapter.root), "--framework", "mxnet", *args])


def committed(section, lang="en"):
    return read_notebook(section.chapter.notebook_path("mxnet", lang, section.name))


def checked(section, capsys):
    capsys.readouterr()
    main(["check", "--root", str(section.chapter.root)])
    out = capsys.readouterr().out
    return "\n".join(line for line in out.splitlines() if "pytorch" not in line)


def test_exercise_in_a_notebook(tmp_path):
    section = write(tmp_path, BODY)
    cells = render.notebook(section, "mxnet", "en").cells
    kinds = {cell.id: cell.kind for cell in cells if cell.kind}
    assert kinds == {
        "ex-sum": "exercise",
        "ex-sum_1": "stub",
        "ex-sum_2": "check",
        "ex-sum-hint": "hint",
        "ex-sum-solution": "solution",
    }
    for lang, words in (("en", ("Hint", "Solution")), ("zh", ("提示", "解答"))):
        shown = sources(section, lang=lang)
        assert shown["ex-sum_2"] == 'd2l.check("ex-sum", add)'
        assert shown["ex-sum-hint"].startswith(f"<details><summary>{words[0]}</summary>\n\n")
        assert shown["ex-sum-solution"].startswith(f"<details><summary>{words[1]}</summary>\n\n")
        assert "return a + b * one" in shown["ex-sum-solution"]
        assert "a * b" not in "".join(shown.values())  # Nobody sees a wrong answer
    assert found(section) == ""


def test_exercise_is_proved_once_and_again_when_it_changes(tmp_path, capsys, monkeypatch):
    section = write(tmp_path, BODY)
    assert build(section) == 0, capsys.readouterr().out
    for lang in section.langs:
        assert list(committed(section, lang).proved) == ["ex-sum"]
        verdicts = [
            data_of(output).get("verdict")
            for cell in committed(section, lang).cells
            for output in cell.outputs
        ]
        assert "not yet" in verdicts and "right" not in verdicts
    assert "not proved" not in checked(section, capsys)

    def unwanted(*_):
        raise AssertionError("proved again")

    monkeypatch.setattr(proof, "execute", unwanted)
    assert build(section) == 0  # Nothing changed
    section = write(tmp_path, BODY.replace("1 / 1", "2 / 1").replace("Use a sign", "Use signs"))
    assert "not proved" not in checked(section, capsys)  # Nothing that the exercise depends on
    for old, new in (
        ("one = 1", "one = 1 * 1"),
        ("return a + b", "return b + a"),
        (":refused: TypeError", ":refused: unsupported"),
        ("raise NotImplementedError", "raise NotImplementedError()"),
    ):
        section = write(tmp_path, BODY.replace(old, new))
        out = checked(section, capsys)
        assert "exercise ex-sum: not proved as it is now: build it" in out, new
    with pytest.raises(AssertionError, match="proved again"):
        build(section)
    with pytest.raises(AssertionError, match="proved again"):
        proof.prove(write(tmp_path, BODY), "mxnet", None)  # As `--force` does


@pytest.mark.parametrize(
    "old, new, message",
    [
        (
            "return a + b",
            "return a - b",
            "the solution in small.md:62 must get “right”, and the check",
        ),
        ("return a * b", "return b + a", "the wrong in small.md:68 must get “3, not 4”"),
        (
            "TypeError",
            "TopError",
            "must get “TopError”, and the check says: Not right, this",
        ),
        ("raise NotImplementedError", "return 4", "the stub in small.md"),
        ("one = 1", "none = 1", "name 'one' is not defined"),
    ],
)
def test_what_is_not_as_the_author_says_is_not_built(tmp_path, capsys, old, new, message):
    section = write(tmp_path, BODY.replace(old, new))
    assert build(section) == 1
    assert message in capsys.readouterr().out
    assert committed(section) is None


def test_proof_executes_what_the_exercise_names_and_no_more(tmp_path):
    body = (
        code('raise RuntimeError("needs GPUs")', "raises-exception")
        + IMPORT
        + code("def inner():\n    return 1")
        + code("def outer():\n    return inner()")
        + code("one = outer()")
        + EXERCISE
    )
    section = write(tmp_path, body)
    assert list(proof.prove(section, "mxnet", None)) == ["ex-sum"]


def test_an_open_question_is_answered_in_words_and_not_proved(tmp_path):
    question = prose("think", "Change `one`. Why?", "改变`one`。为什么？", kind="exercise")
    words = prose("think-solution", "It is one.", "因为是一。", kind="solution")
    section = write(tmp_path, BODY + question + words)
    assert "think" not in found(section)
    assert list(proof.prove(section, "mxnet", None)) == ["ex-sum"]
    lost = write(tmp_path / "lost", BODY + question)
    assert "[en/think] has neither code nor a solution in words" in found(lost)


@pytest.mark.parametrize(
    "old, new, message",
    [
        (":tags: [stub]\n", "", "[en/ex-sum] has 0 cells tagged stub in pytorch, not one"),
        (":tags: [stub]", ":tags: [check]", "has 2 cells tagged check in pytorch, not one"),
        (":tags: [stub]", ":tags: [stub, mxnet]", "has 0 cells tagged stub in pytorch"),
        (":tags: [solution]\n", "", "has 0 cells tagged solution in pytorch, not at least one"),
        (":refused: TypeError\n", "", "a wrong answer, and nothing else, says `:refused:`"),
        (":tags: [solution]", ":tags: [solution]\n:refused: x", "and nothing else, says"),
        (', f"{add(1, 3)}, not 4"', "", "an assertion of a check says what is wrong"),
        ("def check(add):", "if True:", "a check is one function, `def check(answer):`, and"),
        (', "kind": "exercise"', "", "[code] a stub outside of an exercise"),
        (', "kind": "hint"', "", "[code] a wrong outside of an exercise"),
    ],
)
def test_exercise_has_its_parts(tmp_path, old, new, message):
    assert old in BODY
    assert message in found(write(tmp_path, BODY.replace(old, new)))


def test_twins_are_of_one_kind(tmp_path):
    one, _, other = EXERCISE.rpartition(', "kind": "solution"')
    section = write(tmp_path, one + other)
    assert "[zh/ex-sum-solution] has other kind than its twin" in found(section)


@pytest.mark.parametrize(
    "before, needed",
    [
        (["one = 1", "one = 2", "two = one"], [1]),  # The last that sets it
        (["one = 1", "if sum:\n    one = 2"], [0, 1]),  # Or both, if it may not
        (["b = 1", "def f():\n    return b", "one = f()"], [0, 1, 2]),  # What functions read
        (["one = 1", "one = one + 1"], [0, 1]),
        (["one = 1", "one += 1"], [0, 1]),
        (["one = 1", "answer = 2", "def f(one):\n    return one"], [0]),  # Its own, and locals
        (["import os.path as one", "from os import one as two"], [0]),
        (["%timeit 1", "one = 1", "!ls"], [1]),
        (["a = 2", "[one for one in range(3)]", "one = [a for b in range(3)]"], [0, 2]),
    ],
)
def test_cells_that_an_exercise_needs(tmp_path, before, needed):
    exercise = (
        prose("ex-sum", "Add.", "相加。", kind="exercise")
        + code("answer = ...", "stub")
        + code("def check(answer):\n    assert answer == 1, 'bad'", "check")
        + code("answer = one", "solution")
        + code("answer = 2", "wrong", refused="bad")
    )
    section = write(tmp_path, "".join(map(code, before)) + exercise)
    found = proof._needed(model.exercises(section, "mxnet")[0])
    assert [block.source for block in found] == [before[place] for place in needed]


FORMAT = (ROOT / "docs/text-format.md").read_text("utf-8")


def guide() -> str:
    """Return the examples of the page on the format that ask the reader, each with a twin."""
    found = re.findall(r"^(`{3,4})(\w*)\n(.*?)^\1$", FORMAT, re.DOTALL | re.MULTILINE)
    body = "".join(f"\n{example}" for _, kind, example in found if not kind)
    block = re.compile(
        r'^(\+\+\+ \{"lang": )"en"(.*?\n)(.*?)(?=\n\n(?:\+\+\+|```)|\Z)', re.M | re.S
    )
    body = block.sub(lambda m: f'{m[0]}\n\n{m[1]}"zh"{m[2]}{m[3]}', body)
    return code("from d2l_local.lesson import exercise as d2l") + body


def test_the_guide_s_example_of_prose_and_code_is_built(tmp_path):
    example = FORMAT.partition("````text\n")[2].partition("````")[0]
    stamped = re.sub(r', "of": "\w+"', "", example)  # It shows what a stamp looks like
    section = write(tmp_path, f"\n{stamped}")
    assert errors(section) == []
    english, chinese = sources(section), sources(section, lang="zh")
    assert english["two-devices_1"] == 'n = 20  # For each device\nprint(f"{n} products")'
    assert chinese["two-devices"] == "我们在每个设备上排入`n`次乘法。"
    assert chinese["two-devices_1"] == 'n = 20  # 每个设备\nprint(f"{n}次乘法")'
    assert "two-devices_1" not in sources(section, "pytorch")


def test_examples_of_the_guide_are_built_and_proved(tmp_path, capsys):
    section = write(tmp_path, guide())
    kinds = {block.kind for block in section.blocks_of("mxnet", "en") if block.kind}
    denials = {denial.kind for block in section.code() for denial in block.denials}
    assert kinds | denials == {*model.PROSE, *model.CODE_KINDS} - {"reference", "tell", "plant"}
    assert list(proof.prove(section, "mxnet", None)) == ["ex-bytes"]
    assert list(exercises.complete(section)) == []
    assert "guess = ..." in cell_of(section, "two-guess_0").source
    title = cell_of(section, "two-guess_2").source.splitlines()[0]
    assert title == "# @title Unfold to see what was measured"
