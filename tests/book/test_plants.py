"""A false line in an experiment is noticed by a check below: at each of the texts' plants."""

from __future__ import annotations

import importlib.util

from book.builder.check import story
from d2l_local.base import frameworks

import plants
import pytest
import small_chapter
from this_chapter import CHAPTER, ROOT

FOUND = [
    pytest.param(
        *(section, name, changed, source),
        id=f"{name}-{plant.where}",
        marks=pytest.mark.slow if "slow" in plant.tags else (),
    )
    for section in CHAPTER.sections()
    for name in section.frameworks
    if importlib.util.find_spec(frameworks.load()[name].module)
    for plant, changed, source in plants.plants_of(section, name)
]


@pytest.mark.timeout(600)
@pytest.mark.parametrize("section, framework, changed, source", FOUND)
def test_a_check_notices_what_is_planted(section, framework, changed, source, tmp_path):
    found = plants.problem(section, framework, changed, source, tmp_path, ROOT)
    assert not found, found


TEXT = """
```{code-cell}
from d2l_local import %s as d2l

count = 3  # As many as there are
if count:
    doubled = 2 * count
```

```{code-cell}
:tags: [plant]
# Nothing is doubled
- doubled = 2 * count
+ doubled = count
```

```{code-cell}
:tags: [plant]
# There are more, which nobody minds
- count = 3
+ count = 4
```

```{code-cell}
:tags: [plant]
# This one is broken
- count = 3
+ count = unknown
```

```{code-cell}
:tags: [score]
assert doubled == 2 * count
```
"""


@pytest.mark.parametrize("framework", ["mxnet", "pytorch"])
def test_a_plant_that_nobody_notices_is_found(framework, tmp_path):
    module = frameworks.load()[framework].module
    if not importlib.util.find_spec(module):
        pytest.skip(f"needs {framework}")
    text = small_chapter.bilingual(TEXT % module, framework)
    [section] = small_chapter.make(tmp_path, small=text).sections()
    found = [
        plants.problem(section, framework, changed, source, tmp_path, ROOT)
        for _, changed, source in plants.plants_of(section, framework)
    ]
    assert found[0] is None
    assert str(found[1]).startswith("not noticed by intro_2")
    assert "NameError" in str(found[2])
    text = text.replace("assert doubled == 2 * count", "assert doubled == 7")
    [section] = small_chapter.make(tmp_path, small=text).sections()
    _, changed, source = next(plants.plants_of(section, framework))
    found = plants.problem(section, framework, changed, source, tmp_path, ROOT)
    assert str(found).startswith("refused without the plant, too")


@pytest.mark.parametrize(
    "lines, why",
    [
        ("- unknown = 1\n+ unknown = 2", "no cell above has the line 'unknown = 1'"),
        ("+ count = 2", "a plant is a comment, one line"),
        ("- count = 3\ncount = 4", "a plant is a comment, one line"),
    ],
)
def test_a_plant_fits_its_cell(lines, why, tmp_path):
    wrong = f"\n```{{code-cell}}\n:tags: [plant]\n# Wrong\n{lines}\n```\n"
    text = small_chapter.bilingual(TEXT % "torch" + wrong, "pytorch")
    [section] = small_chapter.make(tmp_path, small=text).sections()
    [problem] = story.plants_fit(section)
    assert why in problem.what
