"""The bibliography: entries that read the same in every language, and the links that cite them."""

from __future__ import annotations

import re

from book.builder import render
from book.builder.notebook import BuildError
from book.builder.prose import read

import pytest
from small_chapter import BEGIN, ROOT, errors, make
from this_chapter import CHAPTER

ENTRY = (
    '\n+++ {{"lang": "{lang}", "id": "{key}", "kind": "reference"}}\n'
    "A. Nobody. [Deep learning of 2 gradients](https://a.example/b). 2016.\n"
)
GUIDE = (ROOT / "docs/text-format.md").read_text("utf-8").partition("**Reference**")[2]
PAGE = BEGIN.format(frameworks="mxnet, pytorch").replace("---\n\n", "exercises: false\n---\n\n", 1)


def bibliography(root, *entries: tuple[str, str]):
    """Return a section with entries of these languages and keys, and nothing else."""
    body = "".join(ENTRY.format(lang=lang, key=key) for lang, key in entries)
    return make(root, references=PAGE + body).sections()[0]


def test_entry_reads_the_same_in_every_language(tmp_path):
    section = bibliography(tmp_path, ("en", "nobody2016"))
    assert errors(section) == []  # No twin, no glossary: it is a title, not our prose
    notebooks = [
        render.notebook(section, f, lang) for f in section.frameworks for lang in section.langs
    ]
    assert len(notebooks) == 4
    entry = '<a id="nobody2016"></a>A. Nobody. [Deep learning of 2 gradients](https://a.example/b)'
    for notebook in notebooks:
        assert notebook.cells[-1].id == "nobody2016"
        assert notebook.cells[-1].source.startswith(entry)


def test_example_of_the_guide(tmp_path):
    example = GUIDE.split("```")[1].removeprefix("text\n")
    section = make(tmp_path, references=f"{PAGE}\n{example}").sections()[0]
    assert errors(section) == []
    link = re.search(r"`\[.*?\]\(references\.ipynb#(.*?)\)`", GUIDE)
    assert section.blocks[-1].id == link[1]


def test_notebook_without_code_sets_nothing_up(tmp_path):
    section = bibliography(tmp_path, ("en", "nobody2016"))
    notebook = render.notebook(section, "mxnet", "en")
    assert [cell.id for cell in notebook.cells] == ["title", "intro", "nobody2016"]
    assert "PyTorch" in notebook.cells[0].source and "Colab" not in notebook.cells[0].source


@pytest.mark.parametrize(
    "entries, message",
    [
        ([("zh", "nobody2016")], "[zh/nobody2016] a reference is written once, in en"),
        ([("en", "nobody")], "[en/nobody] the key of a reference is the first author's name"),
        ([("en", "b2016"), ("en", "a2017")], "[en/a2017] stands below b2016"),
        ([("en", "b2016"), ("en", "b2016b")], ""),
    ],
)
def test_wrong_entries(tmp_path, entries, message):
    found = "\n".join(errors(bibliography(tmp_path, *entries)))
    assert message in found and bool(message) == bool(found)


def test_whether_a_section_has_exercises_is_said_in_its_front_matter(tmp_path):
    with_exercises = PAGE.replace("exercises: false", "exercises: true")
    [section] = make(tmp_path, small=with_exercises).sections()
    assert "small.md: [en] has no heading ## Summary" in errors(section)
    with pytest.raises(BuildError, match="may say `exercises: true` or `exercises: false`"):
        make(tmp_path, small=PAGE.replace("exercises: false", "exercises: none"))


# ---- This chapter's ------------------------------------------------------------------------------


def cited() -> set[str]:
    """The keys that the prose of any section cites, in any language."""
    return {
        found[1]
        for section in CHAPTER.sections()
        for block in section.blocks
        if block.lang
        for link in read(block.source).links
        if (found := re.fullmatch(r"references\.ipynb#(.+)", link))
    }


def entries() -> dict[str, str]:
    [section] = CHAPTER.sections(["references"])
    return {b.id: b.source for b in section.blocks if b.kind == "reference"}


def test_every_citation_has_its_entry_and_every_entry_is_cited():
    assert cited() == set(entries())


@pytest.mark.parametrize("key", entries())
def test_entry_has_a_title_with_a_link_and_its_year(key):
    [link] = read(entries()[key]).links
    assert link.startswith("https://")
    assert re.search(r"\d{4}", key)[0] in entries()[key]
