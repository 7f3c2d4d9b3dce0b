"""Cells that assert a lesson fail where the lesson is false: at each of their texts' denials."""

from __future__ import annotations

import importlib.util

from book.builder.check import code
from book.builder.notebook import BuildError
from book.builder.render import notebook
from d2l_local.base import frameworks

import denials
import pytest
import small_chapter
from this_chapter import CHAPTER, ROOT

FILES = (ROOT / "chapters/text").glob("*.md")
TEXTS = sorted(path.stem for path in FILES if "." not in path.stem)  # Not a main line alone


def needs(framework: str):
    missing = importlib.util.find_spec(frameworks.load()[framework].module) is None
    marks = [pytest.mark.skip(reason=f"needs {framework}")] if missing else []
    return pytest.param(framework, id=framework, marks=marks)


each_framework = pytest.mark.parametrize("framework", [*map(needs, CHAPTER.frameworks)])


@each_framework
@pytest.mark.parametrize("name", TEXTS)
def test_what_a_cell_asserts_fails_where_its_lesson_is_false(framework, name):
    [section] = CHAPTER.sections([name])
    if framework in section.frameworks:
        found = list(denials.problems(section, framework))
        assert not found, "\n".join(found)


CELL = """
```{code-cell}
from d2l_local import %s as d2l
```

```{code-cell}
shares = [0.5, 0.5]
assert sum(shares) == total, f"{sum(shares)} in all"
```

"""
DENIALS = """
```{code-cell}
:tags: [denial]
:refused: 1.0 in all
# Noticed, and told
total = 2
```

```{code-cell}
:tags: [denial]
# Noticed, without the message
total = 2
```

```{code-cell}
:tags: [denial]
:refused: 2 in all
# Noticed, with another message
total = 2
```

```{code-cell}
:tags: [denial]
# No denial: the lesson holds
total = 1
```

```{code-cell}
:tags: [denial]
# Broken: a name is missing
another = 1
```
"""


@each_framework
def test_a_denial_that_denies_nothing_is_found(framework, tmp_path):
    cell = CELL % frameworks.load()[framework].module
    text = small_chapter.bilingual(cell + DENIALS, framework)
    [section] = small_chapter.make(tmp_path, small=text).sections()
    found = list(denials.problems(section, framework))
    told = ["give `:refused:`", "must be told “2 in all”", "not noticed by", "NameError"]
    assert len(found) == len(told)
    assert all(part in problem for part, problem in zip(told, found)), found


def test_a_denial_stands_below_its_cell_and_says_what_it_denies(tmp_path):
    prose = (
        '\n+++ {"lang": "en", "id": "words"}\nWords.\n\n+++ {"lang": "zh", "id": "words"}\n词。\n'
    )
    silent = DENIALS.replace("# Noticed, and told\n", "")
    for wrong in (CELL + prose + DENIALS, CELL + silent):
        with pytest.raises(BuildError, match="a false measurement stands right after the cell"):
            small_chapter.make(tmp_path, small=small_chapter.bilingual(wrong, "mxnet"))


def test_check_names_an_assertion_without_a_denial(tmp_path):
    other = CELL + DENIALS.replace("[denial]", "[pytorch, denial]")
    text = small_chapter.bilingual(other, "mxnet, pytorch")
    [section] = small_chapter.make(tmp_path, small=text).sections()
    where = section.code()[-1].where
    assert [str(problem) for problem in code.denied(section)] == [
        f"mxnet/small: no denial of the assertion in {where}"
    ]
    assert notebook(section, "pytorch", "en").cells[-2].source == section.code()[-1].source


def test_check_names_what_a_denial_does_not_give(tmp_path):
    text = small_chapter.bilingual(CELL % "torch" + DENIALS, "pytorch")
    [section] = small_chapter.make(tmp_path, small=text).sections()
    [problem] = code.denials_give_all(section)
    assert section.code()[-1].denials[-1].line == int(problem.where.removeprefix("small.md:"))
    assert problem.what == "[code] nothing gives total: the denial must, since the cell reads it"
