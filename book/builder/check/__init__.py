"""What must hold of texts and notebooks, without executing anything.

A rule is a function that yields the problems of a text, or of a notebook; its docstring says what
must hold. To add one, write it and list it here.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from book.builder import answers
from book.builder.benchmark_guard import best_known
from book.builder.check import (
    certificates,
    code,
    exercises,
    notebooks,
    prose,
    reruns,
    story,
    twins,
)
from book.builder.check.problem import UNREADY, Problem
from book.builder.model import Section
from book.builder.page import Page, pages
from book.builder.readme import readmes
from book.builder.text import Chapter

TEXT = (
    twins.all_there,
    twins.stamped,
    twins.draft,
    twins.alike,
    twins.told_alike,
    story.work_is_silent,
    story.answers_draw_nothing,
    story.nothing_reads_what_is_told,
    story.headings_begin_blocks,
    story.lab_stands_alone,
    story.plants_fit,
    twins.translated,
    prose.well_written,
    prose.shown_as_written,
    prose.names_known,
    prose.headings,
    prose.typed,
    code.gpu_tags,
    code.denied,
    code.denials_give_all,
    exercises.complete,
)
NOTEBOOK = (
    notebooks.made_of_its_text,
    notebooks.executed,
    notebooks.same_in_all_languages,
    notebooks.sound_outputs,
    notebooks.links,
    notebooks.quotes,
    notebooks.told_of_one_run,
    notebooks.work_shows_nothing,
    notebooks.telling_changes_nothing,
    notebooks.proved,
    notebooks.runs_without_gpus,
    notebooks.up_to_date,
    notebooks.measured_alone,
    certificates.of_one_run,
    reruns.agree,
    notebooks.translated,
)


def text(section: Section) -> list[Problem]:
    """Return what is wrong with a text by itself."""
    return [problem for rule in TEXT for problem in rule(section)]


def notebook(page: Page) -> list[Problem]:
    """Return what is wrong with a notebook."""
    return [problem for rule in NOTEBOOK for problem in rule(page)]


def chapter(checked: Chapter, names: Iterable[str] | None = None) -> Iterator[Problem]:
    """Yield what is wrong with sections, by default all, and then with what holds them together."""
    every = [  # Nothing is read until it is asked for
        page
        for section in checked.sections()
        for framework in section.frameworks
        for page in pages(section, framework)
    ]
    best = best_known(run for page in every for run in certificates.runs_of(page))
    for section in checked.sections(names):
        yield from text(section)
        yield from code.answers_kept(section)
        for page in every:
            if page.section.name == section.name:
                yield from notebook(page)
                yield from certificates.as_fast_as_known(page, best)
    if not names:
        yield from orphans(checked)
        yield from not_linked(checked)
        yield from exercises.right_choices(every)
        yield from certificates.of_one_machine(every)
    yield from tables(checked)


def tables(checked: Chapter) -> Iterator[Problem]:
    """The READMEs' tables of notebooks are this chapter's."""
    for path, expected in readmes(checked).items():
        if path.read_text("utf-8") != expected:
            yield Problem(path.name, "its table of notebooks is not this chapter's: build it")


def orphans(checked: Chapter) -> Iterator[Problem]:
    """Notebooks and answers that no text makes, and exercises of the same name."""
    own, names = answers.index(checked.root)
    made = {own}
    there = {*own.parent.glob("*.py"), *own.parent.glob("*.json")}
    if there and (own not in there or own.read_text("utf-8") != names):
        where = own.relative_to(checked.root).as_posix()
        yield Problem(where, "names other modules than are there")
    for section in checked.sections():
        made |= set(answers.files(section))
        for framework in section.frameworks:
            made |= {page.path for page in pages(section, framework)}
    for name in checked.frameworks:
        there |= {*(checked.root / "chapters" / name).glob("*/*.ipynb")}
    for path in sorted(there - made):
        yield Problem(path.relative_to(checked.root).as_posix(), "no text makes it")
    for what in answers.taken_twice(checked.sections()):
        yield Problem("chapters/text", what)


def not_linked(checked: Chapter) -> Iterator[Problem]:
    """Sections that the index does not link: they stand last, whatever they are about."""
    index = checked.root / "chapters/text/index.md"
    linked = index.read_text("utf-8") if index.exists() else ""
    for entry in checked.outline:
        if linked and entry.name != "index" and f"({entry.name}.ipynb)" not in linked:
            yield Problem(entry.name, "chapters/text/index.md does not link it", UNREADY)
