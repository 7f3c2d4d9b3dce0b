"""Checks of exercises that stand in the package instead of the notebook."""

from __future__ import annotations

from book.builder import answers, proof, render
from book.builder.check import exercises, sections
from book.builder.cli import main
from book.builder.notebook import BuildError

import pytest
import small_chapter

TEXT = """
```{{code-cell}}
import math as m
from d2l_local.lesson import exercise as d2l
secret = 4
```

+++ {{"lang": "en", "id": "ex-area", "kind": "exercise", "minutes": 3, "level": 2}}
**1.** How large is a circle of radius 2?

+++ {{"lang": "zh", "id": "ex-area", "kind": "exercise", "minutes": 3, "level": 2}}
**1.** 半径为2的圆有多大？

```{{code-cell}}
:tags: [stub]
answer = ...
```

```{{code-cell}}
:tags: [check]
def check(answer):
{body}
```

+++ {{"strings": "zh"}}
"{message}": 忘了π

+++ {{"lang": "en", "id": "ex-area-solution", "kind": "solution"}}
The radius squared, times pi.

+++ {{"lang": "zh", "id": "ex-area-solution", "kind": "solution"}}
半径的平方乘以π。

```{{code-cell}}
:tags: [solution]
answer = m.pi * 2**2  # Or 4 pi | 即4π
```

```{{code-cell}}
:tags: [wrong]
:refused: {message}
answer = 4
```
"""
BODY = '    d2l.expect(answer, 4 * m.pi, foreseen={4: "pi is forgotten"})'


def chapter(root, body=BODY, message="pi is forgotten"):
    text = small_chapter.bilingual(TEXT.format(body=body, message=message), "pytorch")
    return small_chapter.make(root, small=text)


def test_the_notebook_calls_what_the_package_has(tmp_path):
    [section] = chapter(tmp_path).sections()
    assert exercises.problems(section) == []
    english, chinese = (render.notebook(section, "pytorch", lang) for lang in ("en", "zh"))
    en, zh = ({cell.id: cell.source for cell in made.cells} for made in (english, chinese))
    assert en["ex-area_2"] == zh["ex-area_2"] == 'd2l.check("ex-area", answer)'
    assert en["ex-area"] == "**1.** •• *3 min* How large is a circle of radius 2?"
    assert zh["ex-area"] == "**1.** •• *3分钟* 半径为2的圆有多大？"
    solution = "半径的平方乘以π。\n\n```python\nanswer = m.pi * 2**2  # 即4π\n```\n\n</details>"
    assert zh["ex-area-solution"].endswith(solution)
    assert [*en][-3:] == ["ex-area_2", "ex-area-solution", "end"]
    made = answers.modules(section, "pytorch")
    assert [path.name for path in made] == ["small_en.py", "small_zh.py"]
    english, chinese = made.values()
    for line in ("import math as m", "from d2l_local.lesson import exercise as d2l"):
        assert f"\n{line}\n" in english
    assert english.endswith(f"\n\n\ndef ex_area(answer):\n{BODY}\n")
    assert chinese == english.replace("pi is forgotten", "忘了π")


def test_a_solution_that_quotes_an_output_keeps_its_code(tmp_path):
    quoting = TEXT.replace("times pi.", "times pi, {{glue:text}}`area`.")
    text = quoting.format(body=BODY, message="pi is forgotten")
    made = small_chapter.make(tmp_path, small=small_chapter.bilingual(text, "pytorch"))
    notebook = render.notebook(made.sections()[0], "pytorch", "en")
    [cell] = [cell for cell in notebook.cells if cell.id == "ex-area-solution"]
    assert "`area`" in cell.source and "answer = m.pi * 2**2" in cell.source
    assert cell.metadata["d2l_local"]["template"] == cell.source


def test_it_is_proved_as_the_notebook_never_shows_it(tmp_path):
    [section] = chapter(tmp_path).sections()
    assert list(proof.prove(section, "pytorch", None)) == ["ex-area"]
    [section] = chapter(tmp_path, BODY.replace("4:", "5:")).sections()
    with pytest.raises(BuildError, match="the wrong in line .* must get “pi is forgotten”"):
        proof.prove(section, "pytorch", None)


def test_it_reads_nothing_of_the_notebook(tmp_path):
    body = BODY.replace("4 *", "secret *")
    [section] = chapter(tmp_path, body).sections()
    with pytest.raises(BuildError, match="the check of ex-area reads secret, which no cell above"):
        answers.modules(section, "pytorch")


def test_a_check_is_one_function(tmp_path):
    [section] = chapter(tmp_path, f"{BODY}\n\n\nRADIUS = 2").sections()
    [(_, what)] = exercises.problems(section)
    assert what == "a check is one function, and nothing stands beside it"


def test_a_check_out_of_sight_is_asked_for_by_a_name_that_tells_it_from_an_answer(tmp_path):
    text = TEXT.replace("ex-area", "area").format(body=BODY, message="pi is forgotten")
    made = small_chapter.make(tmp_path, small=small_chapter.bilingual(text, "pytorch"))
    [(_, what)] = exercises.problems(made.sections()[0])
    assert what == "is asked for by its name: call it ex-area"


def test_check_compares_the_answer_key_with_the_text(tmp_path, capsys):
    [section] = chapter(tmp_path).sections()
    [english, _] = answers.modules(section, "pytorch")
    said = f"{english.relative_to(tmp_path)}: is not as its text has it: build it"
    assert said in sections.answer_keys(section, "pytorch")
    for path, source in answers.modules(section, "pytorch").items():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(source, "utf-8")
    assert sections.answer_keys(section, "pytorch") == []
    english.write_text(english.read_text("utf-8").replace("4 *", "5 *"), "utf-8")
    assert sections.answer_keys(section, "pytorch") == [said]
    english.with_name("gone_en.py").touch()
    main(["check", "--root", str(tmp_path)])
    assert "answer_key/gone_en.py: no text makes it\n" in capsys.readouterr().out


def test_two_exercises_have_two_names(tmp_path):
    text = small_chapter.bilingual(TEXT.format(body=BODY, message="pi is forgotten"), "pytorch")
    found = small_chapter.make(tmp_path, one=text, two=text).sections()
    assert answers.taken_twice(found) == ["two: ex-area is an exercise of one, too"]
    shown = text.replace("def check(answer):", "with d2l.check(answer):")
    found = small_chapter.make(tmp_path, one=shown, two=shown).sections()
    assert answers.taken_twice(found) == []
