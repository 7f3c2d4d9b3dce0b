"""Which cells of the frameworks' notebooks become one, what is folded, and that none is lost."""

from __future__ import annotations

import json
import re

from book.builder.notebook import BuildError
from book.web.build import timelines
from book.web.merge import merged_page

import pytest
import sample
import yaml
from nbformat.v4 import new_notebook, new_output

LABELS = {"aside": "Aside", "solution": "Solution", "code": "Code", "output": "Measured"}


def page(cells: dict, head: str = ""):
    """Return the page of one notebook a framework."""
    title = sample.prose("title", "# Title\n\nlinks")
    notebooks = {name: new_notebook(cells=[title, *some]) for name, some in cells.items()}
    return merged_page(notebooks, head, LABELS)


def of_text(*blocks):
    """Return the page of a text: blocks, each with the initials of its frameworks."""
    names = {name[0]: name for who, *_ in blocks for name in (WHO[letter] for letter in who)}
    return page(
        {
            name: sample.placed([make(name) if letter in who else None for who, make in blocks])
            for letter, name in names.items()
        }
    )


WHO = {"m": "mxnet", "p": "pytorch", "t": "tiny"}


def marked(made) -> list[tuple]:
    """Return (mark, cell) of each cell but the head."""
    state, result = {}, []
    for cell in made.cells[2:]:
        if cell.source.startswith("+++ "):
            state = json.loads(cell.source[4:])
        else:
            result.append((state, cell))
    return result


def shown(made) -> list[tuple]:
    """Return (frameworks, fold's title, source, number of outputs) of each cell but the head."""
    result = []
    for state, cell in marked(made):
        fold = state.get("fold", {}).get("title")
        who = "".join(f[0] for f in state.get("frameworks", [])) or "all"
        visible = "" if "remove-input" in cell.metadata.get("tags", []) else cell.source
        result.append((who, fold, visible, len(cell.get("outputs", []))))
    return result


def p(name, text=None, **about):
    return lambda framework: sample.prose(name, text or name, **about)


def c(source, *texts, **about):
    """Return what makes a code cell; `{}` in the texts of its outputs is the framework."""

    def make(framework):
        printed = [sample.printed(text.format(framework)) for text in texts]
        return sample.code(source.split()[-1], source, *printed, **about)

    return make


# --- Frameworks -----------------------------------------------------------------------------------


def test_what_differs_stands_in_the_text_s_order():
    made = of_text(
        ("mp", p("a")), ("m", p("m")), ("m", c("m1")), ("p", p("p")), ("p", c("p1")),
        ("p", c("p2")), ("mp", p("z")),
    )  # fmt: skip
    assert [cell[:3] for cell in shown(made)] == [
        ("all", None, "a"),
        ("m", None, "m"),
        ("m", None, "m1"),
        ("p", None, "p"),
        ("p", None, "p1"),
        ("p", None, "p2"),
        ("all", None, "z"),
    ]


def test_other_places_in_the_text_are_other_cells():
    """Text alone would make one cell of what two blocks say."""
    made = of_text(("m", c("x")), ("mp", p("a")), ("p", c("x")))
    assert [cell[:3] for cell in shown(made)] == [
        ("m", None, "x"), ("all", None, "a"), ("p", None, "x")
    ]  # fmt: skip


def test_one_block_may_read_otherwise_in_each_framework():
    cells = {
        f: sample.placed([sample.code("x", f"use({f!r})"), sample.prose("z", "z")])
        for f in sample.FRAMEWORKS
    }
    assert [cell[:3] for cell in shown(page(cells))] == [
        ("m", None, "use('mxnet')"), ("p", None, "use('pytorch')"), ("all", None, "z")
    ]  # fmt: skip


def test_cells_of_one_block_keep_their_order():
    cells = {}
    for framework in sample.FRAMEWORKS:
        made = [sample.prose("q", "q"), sample.code("s", framework), sample.code("t", "same")]
        for cell in made:
            cell.metadata["d2l_local"]["order"] = 7
        cells[framework] = made
    assert [cell[:3] for cell in shown(page(cells))] == [
        ("all", None, "q"), ("m", None, "mxnet"), ("p", None, "pytorch"), ("all", None, "same")
    ]  # fmt: skip


def test_common_code_with_different_outputs_has_each_framework_s():
    made = of_text(("mp", c("x", "{}")))
    assert shown(made) == [("all", None, "x", 0), ("m", None, "", 1), ("p", None, "", 1)]
    outputs = [cell.outputs[0].text for cell in made.cells if cell.get("outputs")]
    assert outputs == ["mxnet\n", "pytorch\n"]


def test_one_framework_needs_no_marks():
    made = of_text(("m", c("x", "1")), ("m", c("y", "2")))
    assert shown(made) == [("all", None, "x", 1), ("all", None, "y", 1)]
    assert not any("frameworks" in cell.source for cell in made.cells)


def test_a_third_framework_needs_no_code():
    made = of_text(("mpt", p("x")), ("mt", c("a")), ("p", c("b", "{}")), ("mpt", c("z", "{}")))
    assert shown(made) == [
        ("all", None, "x", 0),
        ("mt", None, "a", 0),
        ("p", None, "b", 1),
        ("all", None, "z", 0),
        ("m", None, "", 1),
        ("p", None, "", 1),
        ("t", None, "", 1),
    ]


def test_a_notebook_from_before_says_what_to_do():
    with pytest.raises(BuildError, match=r"mxnet: the cell a .* `make notebooks`"):
        page({"mxnet": [sample.prose("a", "a")]})


# --- Folds ----------------------------------------------------------------------------------------

SOLUTION = "<details><summary>Solution 1</summary>\n\nBecause.\n\n</details>"


def test_a_solution_takes_its_code_into_its_fold():
    made = of_text(
        ("m", p("s", SOLUTION)),
        ("m", c("# @title Solution\nx", "1", tags=["solution"])),
        ("m", c("outside")),
    )
    assert shown(made) == [
        ("all", "Solution 1", "Because.", 0),
        ("all", "Solution 1", "x", 1),
        ("all", None, "outside", 0),
    ]


def test_a_common_solution_has_each_framework_s_code():
    code = [(f[0], c(f"run_{f}", tags=["solution"])) for f in sample.FRAMEWORKS]
    assert [cell[:3] for cell in shown(of_text(("mp", p("s", SOLUTION)), *code))] == [
        ("all", "Solution 1", "Because."),
        ("m", "Solution 1", "run_mxnet"),
        ("p", "Solution 1", "run_pytorch"),
    ]


def test_different_solutions_have_a_fold_each():
    made = of_text(
        *((f[0], p("s", SOLUTION.replace("Because", f))) for f in sample.FRAMEWORKS),
        ("mp", c("same", tags=["solution"])),
        ("mp", p("z")),
    )
    assert [cell[:3] for cell in shown(made)] == [
        ("m", "Solution 1", "mxnet."),
        ("m", "Solution 1", "same"),
        ("p", "Solution 1", "pytorch."),
        ("p", "Solution 1", "same"),
        ("all", None, "z"),
    ]
    folds = [state["fold"] for state, _ in marked(made) if "fold" in state]
    assert {tuple(fold["frameworks"]) for fold in folds} == {("mxnet",), ("pytorch",)}
    assert len({fold["id"] for fold in folds}) == 2


@pytest.mark.parametrize("kind", ["aside", "hint", "solution"])
def test_code_is_folded_by_its_kind(kind):
    made = of_text(("m", p("a")), ("m", c("x", "1", kind=kind)), ("m", c("y", kind=kind)))
    title = LABELS.get(kind, "Code")
    assert shown(made)[1:] == [("all", title, "x", 1), ("all", title, "y", 0)]
    assert {state["fold"]["kind"] for state, _ in marked(made)[1:]} == {kind}


def test_code_joins_the_fold_of_its_own_kind_only():
    hint = SOLUTION.replace("Solution", "Hint")
    made = of_text(("m", p("h", hint, kind="hint")), ("m", c("x", kind="solution")))
    assert [cell[1] for cell in shown(made)] == ["Hint 1", "Solution"]


def test_code_that_jupyter_hides_is_folded():
    made = of_text(("m", p("a")), ("m", c("x", "1", hidden=["source", "outputs"])), ("m", p("z")))
    assert [cell[1] for cell in shown(made)] == [None, "Code", None]


@pytest.mark.parametrize(
    ("hidden", "parts"), [("outputs", {"output": "Measured"}), ("source", {"input": "Code"})]
)
def test_parts_that_jupyter_hides_are_folded(hidden, parts):
    made = of_text(("mp", c("x", "{}", hidden=[hidden])), ("mp", c("y")))
    assert [state.get("parts") for state, _ in marked(made)] == [parts, parts, parts, None]
    assert [cell[:2] for cell in shown(made)] == [(w, None) for w in ("all", "m", "p", "all")]


def test_what_keeps_score_folds_its_code_and_its_answer_apart():
    def cell(kind):
        source = "# @title Score\nassert x"
        return lambda _: sample.code("c", source, kind=kind, hidden=["source", "outputs"])

    [(whole, _)] = marked(of_text(("m", cell(None))))
    assert whole["fold"]["title"] == "Code" and "parts" not in whole
    [(mark, made)] = marked(of_text(("m", cell("score"))))
    assert mark["parts"] == {"input": "Code", "output": "Measured"} and made.source == "assert x"


def test_a_page_has_no_line_for_a_guess_and_no_links_of_the_notebook_s_own():
    made = of_text(
        ("m", lambda _: sample.code("g", "guess = ...", kind="guess")),
        ("m", lambda _: sample.prose("next", "[2. Two](two.ipynb) →")),
        ("m", lambda _: sample.prose("words", "Words.")),
    )
    assert [cell.source for _, cell in marked(made)] == ["Words."]


def quoting(fold, **numbers):
    """Return the page of a block that quotes two numbers, and in which mark it stands."""
    cells = {}
    for letter, shown in numbers.items():
        cell = sample.prose("p", fold.format("It is {} of {}.".format(*shown)))
        written = fold.format("It is {glue:text}`x` of {glue:text}`y:.0f`.")
        cell.metadata["d2l_local"].update(template=written, values=list(shown))
        cells[WHO[letter]] = sample.placed([cell])
    [(mark, made)] = marked(page(cells))
    return made.source, mark


@pytest.mark.parametrize("fold", ["{}", "<details><summary>More</summary>\n\n{}\n\n</details>"])
def test_prose_that_quotes_outputs_stands_once_with_each_framework_s_numbers(fold):
    source, mark = quoting(fold, m="15", p="25")
    spans = [
        f'<span class="framework framework-{name}">{number}</span>'
        for name, number in (("mxnet", 1), ("pytorch", 2))
    ]
    assert source == f"It is {''.join(spans)} of 5." and "frameworks" not in mark
    assert quoting(fold, m="15", p="15")[0] == quoting(fold, m="15")[0] == "It is 1 of 5."


def test_two_folds_in_one_cell_stay_as_they_are():
    both = SOLUTION + "\n\n" + SOLUTION
    assert shown(of_text(("m", p("s", both)))) == [("all", None, both, 0)]


def test_the_page_says_what_a_block_is_for():
    made = of_text(("mp", p("q", kind="predict")), ("mp", c("x", kind="stub")), ("mp", p("z")))
    assert [state.get("kind") for state, _ in marked(made)] == ["predict", "stub", None]


# --- Everything -----------------------------------------------------------------------------------


@pytest.mark.parametrize("lang", ["en", "zh"])
@pytest.mark.parametrize("section", [sample.two, sample.guess])
def test_nothing_is_lost(lang, section):
    labels = yaml.safe_load((sample.ROOT / "book/web/labels.yml").read_text("utf-8"))
    assert LABELS.keys() <= labels[lang]["folds"].keys()
    books = {f: section(f, lang) for f in sample.FRAMEWORKS}
    made = page(books)
    text = "\n".join(cell.source for cell in made.cells)
    outputs = json.dumps([cell.get("outputs") for cell in made.cells])
    for cell in [cell for cells in books.values() for cell in cells]:
        source = re.sub(r"</?(details|summary)>|# @title x", "\n", cell.source)
        for line in source.splitlines():
            assert line in text
        for output in cell.get("outputs", []):
            assert json.dumps(output.get("text", ""))[1:-1] in outputs


def test_only_timelines_are_handed_to_the_script_of_timelines():
    verdict = {"d2l_local": {"verdict": "right"}}
    said = new_output("display_data", data={"text/plain": "Right."}, metadata=verdict)
    cell = sample.code("check_1", "1", said, sample.drawn(sample.timeline()))
    timelines(new_notebook(cells=[cell]))
    scripts = [o.data.get("text/html", "") for o in cell.outputs if "data" in o]
    assert sum('class="timeline"' in script for script in scripts) == 1
