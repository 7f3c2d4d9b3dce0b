"""Checks of exercises that stand in the package instead of the notebook."""

from __future__ import annotations

import json
import re
import subprocess
import sys

from book.builder import answers, language, proof, render
from book.builder.check import code, exercises, untranslated
from book.builder.cli import main
from book.builder.notebook import BuildError, write

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
EACH = """
+++ {{"lang": "en", "id": "ex-{framework}", "kind": "exercise"}}
Which?

```{{code-cell}}
:tags: [check, {framework}]
def check(answer):
    assert answer == nn.value({right}), "no"
```
"""
SHARED = EACH.replace(", {framework}", "").format(framework="both", right=0).replace("nn.value", "")
BODY = '    d2l.expect(answer, 4 * m.pi, foreseen={4: "pi is forgotten"})'


def chapter(root, body=BODY, message="pi is forgotten"):
    text = small_chapter.bilingual(TEXT.format(body=body, message=message), "pytorch")
    return small_chapter.make(root, small=text)


def test_the_notebook_calls_what_the_package_has(tmp_path):
    [section] = chapter(tmp_path).sections()
    assert list(exercises.complete(section)) == []
    english, chinese = (render.notebook(section, "pytorch", lang) for lang in ("en", "zh"))
    en, zh = ({cell.id: cell.source for cell in made.cells} for made in (english, chinese))
    assert en["ex-area_2"] == zh["ex-area_2"] == 'd2l.check("ex-area", answer)'
    assert en["ex-area"] == "**1.** •• *3 min* How large is a circle of radius 2?"
    assert zh["ex-area"] == "**1.** •• *3分钟* 半径为2的圆有多大？"
    solution = "半径的平方乘以π。\n\n```python\nanswer = m.pi * 2**2  # 即4π\n```\n\n</details>"
    assert zh["ex-area-solution"].endswith(solution)
    assert [*en][-3:] == ["ex-area_2", "ex-area-solution", "end"]
    made = answers.files(section)
    assert [path.name for path in made] == ["small.py", "small.zh.json"]
    module, chinese = made.values()
    body = BODY.replace('"pi is forgotten"', 'translated("pi is forgotten")')
    head = "def ex_area(answer, *, d2l):\n    import math as m\n\n"
    assert module.endswith(f"\n\n\n{head}{body}\n") and 'BACKENDS = ["torch"]' in module
    assert json.loads(chinese) == {"pi is forgotten": "忘了π"}


def test_frameworks_share_a_function_unless_their_checks_differ(tmp_path):
    def source(framework, right):
        imports = f"```{{code-cell}}\n:tags: [{framework}]\nfrom {framework} import nn\n```\n"
        return imports + EACH.format(framework=framework, right=right)

    text = "".join(source(*each) for each in (("mxnet", 1), ("pytorch", 2)))
    text = small_chapter.bilingual(SHARED + text, "mxnet, pytorch")
    [module] = answers.files(small_chapter.make(tmp_path, small=text).sections()[0]).values()
    names = re.findall(r"^def (\w+)", module, re.MULTILINE)
    assert names == ["ex_both", "ex_mxnet__mxnet", "ex_pytorch__torch"]
    assert module.count("from mxnet import nn") == module.count("from pytorch import nn") == 1


@pytest.mark.parametrize(
    ("english", "chinese", "asked", "template", "translation"),
    [
        ('"at {x}"', "在{x}", '"at {x}"', "at {x}", "在{x}"),  # No f-string: for `str.format`
        ('f"{x}: {n + 1}"', "{n + 1}：{x}", '"{0}: {1}", x, n + 1', "{0}: {1}", "{1}：{0}"),
        ('f"{x} or {x}"', "{x}或{x}", '"{0} or {0}", x', "{0} or {0}", "{0}或{0}"),
        ('f"{x!r:>8}{{}}"', "{{}}{x!r:>8}", '"{0!r:>8}{{}}", x', "{0!r:>8}{{}}", "{{}}{0!r:>8}"),
        ('f"{x:.{n}f} s"', "{x:.{n}f}秒", '"{0:.{1}f} s", x, n', "{0:.{1}f} s", "{0:.{1}f}秒"),
        ('f"\\"{x}\\" "', "“{x}”", '"\\"{0}\\" ", x', '"{0}" ', "“{0}”"),
        ('f"all " "{x}"', "{{x}}都", '"all {x}"', "all {x}", "{x}都"),
    ],
)
def test_messages_are_asked_for_with_their_values(english, chinese, asked, template, translation):
    [literal] = language.literals(english)
    strings = {literal.inner: chinese}
    assert language.with_messages(english, strings) == f"translated({asked})"
    assert language.messages(english, strings) == {template: translation}
    known = {"x": 1.25, "n": 3}
    _, *values = eval(f"[{asked}]", known)
    chinese = language.put_strings(english, strings)
    for said, string in ((template, english), (translation, chinese)):
        assert (said.format(*values) if values else said) == eval(string, known)


def test_what_a_catalog_translates_is_asked_for():
    catalogs = list(answers.folder_of(small_chapter.ROOT).glob("*.json"))
    assert len(catalogs) > 10
    for path in catalogs:
        module = path.with_name(path.name.partition(".")[0]).with_suffix(".py").read_text("utf-8")
        for template in json.loads(path.read_text("utf-8")):
            assert f"translated({json.dumps(template, ensure_ascii=False)}" in module


def test_no_hook_lays_out_the_answers_anew():
    """For the builder would then find them other than it wrote them."""
    path = answers.folder_of(small_chapter.ROOT) / "gpt.py"
    for command in ("check", "format"):
        ruff = [sys.executable, "-m", "ruff", command, "--diff", path]
        done = subprocess.run(ruff, cwd=small_chapter.ROOT, capture_output=True, text=True)
        assert done.returncode == 0 and "No Python files found" in done.stderr


def test_a_solution_that_quotes_an_output_keeps_its_code(tmp_path):
    quoting = TEXT.replace("times pi.", "times pi, {{glue:text}}`area`.")
    text = quoting.format(body=BODY, message="pi is forgotten")
    made = small_chapter.make(tmp_path, small=small_chapter.bilingual(text, "pytorch"))
    notebook = render.notebook(made.sections()[0], "pytorch", "en")
    [cell] = [cell for cell in notebook.cells if cell.id == "ex-area-solution"]
    assert "`area`" in cell.source and "answer = m.pi * 2**2" in cell.source


def test_it_is_proved_as_the_notebook_never_shows_it(tmp_path):
    [section] = chapter(tmp_path).sections()
    assert list(proof.prove(section, "pytorch", None)) == ["ex-area"]
    [section] = chapter(tmp_path, BODY.replace("4:", "5:")).sections()
    with pytest.raises(BuildError, match="the wrong in .* must get “pi is forgotten”"):
        proof.prove(section, "pytorch", None)


def test_it_reads_nothing_of_the_notebook(tmp_path):
    body = BODY.replace("4 *", "secret *")
    [section] = chapter(tmp_path, body).sections()
    with pytest.raises(BuildError, match="the check of ex-area reads secret, which no cell above"):
        answers.files(section)


def test_a_check_is_one_function(tmp_path):
    [section] = chapter(tmp_path, f"{BODY}\n\n\nRADIUS = 2").sections()
    [problem] = exercises.complete(section)
    said = "[code] a check is one function, `def check(answer):`, and nothing beside it"
    assert problem.what == said


def test_a_check_out_of_sight_is_asked_for_by_a_name_that_tells_it_from_an_answer(tmp_path):
    text = TEXT.replace("ex-area", "area").format(body=BODY, message="pi is forgotten")
    made = small_chapter.make(tmp_path, small=small_chapter.bilingual(text, "pytorch"))
    [problem] = exercises.complete(made.sections()[0])
    assert problem.what == "[en/area] is asked for by its name: call it ex-area"


def test_check_compares_the_answers_with_the_text(tmp_path, capsys):
    [section] = chapter(tmp_path).sections()
    made = answers.files(section)
    said = [f"{p.relative_to(tmp_path)}: is not as its text has it: build it" for p in made]
    assert [*map(str, code.answers_kept(section))] == said
    for path, source in made.items():
        write(path, source)
    write(*answers.index(tmp_path))
    assert [*code.answers_kept(section)] == []
    for path, told in zip(made, said):
        path.write_text(made[path].replace("pi", "pie"), "utf-8")
        assert [*map(str, code.answers_kept(section))] == [told]
        write(path, made[path])
    main(["check", "--root", str(tmp_path)])
    assert "answers/" not in capsys.readouterr().out
    for name in ("gone.py", "gone.zh.json"):
        path.with_name(name).touch()
    main(["check", "--root", str(tmp_path)])
    out = capsys.readouterr().out
    assert "answers/gone.py: no text makes it\n" in out
    assert "answers/gone.zh.json: no text makes it\n" in out
    assert "answers/__init__.py: names other modules than are there\n" in out


def test_two_exercises_have_two_names(tmp_path):
    text = small_chapter.bilingual(TEXT.format(body=BODY, message="pi is forgotten"), "pytorch")
    found = small_chapter.make(tmp_path, one=text, two=text).sections()
    assert answers.taken_twice(found) == ["two: ex-area is an exercise of one, too"]


def test_what_a_check_says_is_to_be_translated(tmp_path):
    body = BODY.replace('forgotten"}', 'forgotten", 8: "that is twice too much"}')
    [section] = chapter(tmp_path, body).sections()
    said = [what for _, what in untranslated.strings(section, "zh")]
    assert said == ["[zh] not translated: 'that is twice too much'"]
