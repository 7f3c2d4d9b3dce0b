"""The plans for teachers name questions and exercises that there are, the same in all languages."""

import json
import re
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLANS = sorted(ROOT.glob("docs/teaching*.md"))
each_plan = pytest.mark.parametrize("plan", PLANS, ids=lambda path: path.name)


def blocks(section: str) -> dict[str, dict[str, Any]]:
    """The heads of a text's blocks, by their names."""
    text = (ROOT / f"chapters/text/{section}.md").read_text("utf-8")
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
        exercises |= {
            name: head for name, head in blocks(path.stem).items() if head.get("kind") == "exercise"
        }
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
