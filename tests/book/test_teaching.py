"""The plans for teachers name questions and exercises that there are, the same in all languages."""

import json
import re
from pathlib import Path
from typing import Any

from book.builder import size

import pytest
from this_chapter import CHAPTER, ROOT

PLANS = sorted(ROOT.glob("docs/teaching*.md"))
each_plan = pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.name)


def blocks(section: str) -> dict[str, dict[str, Any]]:
    """The heads of a section's blocks, by their names, those of its main lines among them."""
    paths = sorted(ROOT.glob(f"chapters/text/{section}.*"))
    text = "\n".join(path.read_text("utf-8") for path in paths)
    heads = map(json.loads, re.findall(r"^\+\+\+ (\{.*\})$", text, re.MULTILINE))
    return {head["id"]: head for head in heads if "id" in head}


def votes(plan: Path) -> list[tuple[str, str]]:
    return re.findall(r"^\| `([\w-]+)` `([\w-]+)` \|", plan.read_text("utf-8"), re.MULTILINE)


@each_plan
def test_each_vote_is_on_a_question_of_its_section(plan):
    assert len(votes(plan)) > 30
    for section, name in votes(plan):
        assert blocks(section)[name]["kind"] == "predict", (section, name)


@each_plan
def test_exercises_exist_and_take_as_long_as_the_plan_says(plan):
    exercises: dict[str, dict[str, Any]] = {}
    for path in sorted(ROOT.glob("chapters/text/*.md")):
        found = blocks(path.stem).items()
        exercises |= {name: head for name, head in found if head.get("kind") == "exercise"}
    text = plan.read_text("utf-8")
    assert set(re.findall(r"`(ex-[\w-]+)`", text)) <= set(exercises)
    timed = re.findall(r"`(ex-[\w-]+)` ?[（(](\d+) ?(?:min|分钟)[,，] ?(•+)", text)
    assert len(timed) > 30
    for name, minutes, dots in timed:
        head = exercises[name]
        assert (int(minutes), len(dots)) == (head["minutes"], head["level"]), name


def test_the_languages_name_the_same():
    names = [
        [set(re.findall(r"`(\w+-[\w-]+)`", part)) for part in re.split(r"^## ", text, flags=re.M)]
        for text in (plan.read_text("utf-8") for plan in PLANS)
    ]
    assert len(names) > 1 and all(other == names[0] for other in names)


@pytest.mark.parametrize(
    "framework, says, least, most",
    [
        ("mxnet", "the MXNet edition some thirteen", 12.5, 13.9),
        ("pytorch", "The PyTorch edition takes more than twenty hours", 20, 30),
    ],
)
def test_the_chapter_takes_as_long_as_its_index_says(framework, says, least, most):
    sections = [section for section in CHAPTER.sections() if framework in section.frameworks]
    takes = [size.minutes(section, framework) for section in sections]
    hours = sum(each["all"] for each in takes) / 60
    exercises = sum(each["exercises"] for each in takes) / 60
    index = (ROOT / "chapters/text/index.md").read_text("utf-8")
    assert says in index and "exercises are more than half of either" in index
    assert least < hours < most and exercises > hours / 2


@pytest.mark.parametrize("lang, begins", [("en", "> **First reading**"), ("zh", "> **初读**")])
def test_what_a_first_reading_reads_is_there(lang, begins):
    found = 0
    for section in CHAPTER.sections():
        for framework in section.frameworks:
            page = CHAPTER.notebook_path(framework, lang, section.name).read_text("utf-8")
            sources = ("".join(cell["source"]) for cell in json.loads(page)["cells"])
            lines = "\n".join(sources).splitlines()
            headings = {line.lstrip("# ") for line in lines if line.startswith("##")}
            for line in filter(lambda line: line.startswith(begins), lines):
                named = re.findall(r"(?<!\*)\*([^*]+)\*(?!\*)|“(.+?)”", line)
                assert len(named) >= 3, line
                assert {"".join(name) for name in named} <= headings, line
                found += 1
    assert found  # Sections of the older form
