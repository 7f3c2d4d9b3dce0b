"""Rules of the blocks that are twins: what stands in one language says the same in the others."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from typing import Any

from book.builder import stamps
from book.builder.check import untranslated
from book.builder.check.problem import UNREADY, Problem, at
from book.builder.model import Block, Section
from book.builder.prose import Prose, read
from book.builder.values import names_in


def all_there(section: Section) -> Iterator[Problem]:
    """Each block has its twins; right below it, but in a story, in the order of the languages."""
    previous = None
    for group in section.twins().values():
        first = next(iter(group.values()))
        for lang in section.langs if section.paired(first) else ():
            if lang not in group:
                yield at(first, f"has no twin in {lang}")
    for block in section.blocks:
        if block.lang and block.lang != section.langs[0] and not section.in_stories(block):
            beside = previous and previous.lang and previous.id == block.id
            if not beside or section.langs.index(block.lang) < section.langs.index(previous.lang):
                yield at(block, "does not stand right after its twin")
        previous = block


def stamped(section: Section) -> Iterator[Problem]:
    """Each translation was held against its original as it is."""
    for block in stamps.stale(section):
        why = "has no stamp" if block.of is None else "is stale"
        original = f"[{section.langs[0]}/{block.id}]"
        command = f"make stamp SECTIONS={section.name}"
        yield at(block, f"{why}: compare it with {original}, then `{command}`")
    for block in section.blocks:
        if block.of is not None and section.original(block) is None:
            yield at(block, "has a stamp, and nothing to hold it against: take it out")


def draft(section: Section) -> Iterator[Problem]:
    """It is no draft."""
    if section.draft:
        without = f", not all in {' and '.join(section.missing)}" if section.missing else ""
        yield Problem(section.path.name, f"a draft{without}", UNREADY)


def alike(section: Section) -> Iterator[Problem]:
    """Twins share tags, headings, numbers, code, math, links, quotes and terms."""
    original = section.langs[0]
    for group in section.twins().values():
        for lang, block in group.items():
            if lang == original or original not in group:
                continue
            for what in ("tags", "kind"):
                if getattr(block, what) != getattr(group[original], what):
                    yield at(block, f"has other {what} than its twin")
            if section.in_stories(block) and not block.kind:
                continue  # See `told_alike`
            one, other = read(group[original].source), read(block.source)
            for what in differences(one, other, (original, lang)):
                yield at(block, what)
            for what in missing_terms(one, other, original, lang, section.chapter.glossary):
                yield at(block, what)


def told_alike(section: Section) -> Iterator[Problem]:
    """Below a story's heading, languages share kept names, formulas and links."""
    first = section.langs[0]
    original = section.passages(first) if section.stories else {}
    for lang in section.langs[1:]:
        for name, passage in section.passages(lang).items() if original else ():
            if name not in original:
                yield at(passage[0], f"no heading in {first} has this id")
                continue
            told = [_shared(blocks) for blocks in (original[name], passage)]
            for what in told[0]:
                only = [sorted(told[i][what] - told[1 - i][what]) for i in (0, 1)]
                if any(only):
                    said = f"{only[0]} only in {first}, {only[1]} only in {lang}"
                    yield at(passage[0], f"{what} below this heading differ: {said}")


def _shared(blocks: list[Block]) -> dict[str, set[str]]:
    """Return what twins in a story have in common: of pictures and verdicts, each has its own."""
    prose = [read(block.source) for block in blocks]
    links = any_language(sum((each.links for each in prose), Counter()))
    return {
        "kept names": set().union(*(names_in(quote) for each in prose for quote in each.quoted)),
        "formulas": {formula for each in prose for formula in each.math if len(formula) > 3},
        "links": {link for link in links if not link.startswith("../../../img/")},
    }


def translated(section: Section) -> Iterator[Problem]:
    """What the code prints and draws is there in every language."""
    for lang in section.langs[1:]:
        found = list(untranslated.strings(section, lang))
        if lang in section.translated_into:
            for block, what in found:
                yield at(block, what, UNREADY)
        elif found:
            what = f"[{lang}] translates no strings of {len(found)}"
            yield Problem(section.path.name, what, UNREADY)


def differences(one: Prose, other: Prose, langs: tuple[str, str]) -> list[str]:
    """What twins in two languages must have in common and don't."""
    levels = [[level for level, _ in prose.headings] for prose in (one, other)]
    problems = [] if levels[0] == levels[1] else [f"heading levels {levels[0]} and {levels[1]}"]
    for what in ("numbers", "code", "math", "links", "quoted"):
        left, right = getattr(one, what), getattr(other, what)
        if what == "links":
            left, right = any_language(left), any_language(right)
        if left != right:
            only = [sorted(map(str, left - right)), sorted(map(str, right - left))]
            problems.append(
                f"{what} differ: {only[0]} only in {langs[0]}, {only[1]} only in {langs[1]}"
            )
    return problems


def any_language(links: Counter[str]) -> Counter[str]:
    """Return links in which `figure-en.svg` and `figure-zh.svg` are the same."""
    joined: Counter[str] = Counter()
    for link, count in links.items():
        joined[re.sub(r"-[a-z]{2}\.svg$", ".svg", link)] += count
    return joined


def forms(term: dict[str, Any], lang: str) -> list[str]:
    """Return the forms of a term of the glossary in a language."""
    value = term.get(lang) or []
    return [value] if isinstance(value, str) else value


def missing_terms(
    one: Prose, other: Prose, original: str, lang: str, glossary: dict[str, Any]
) -> list[str]:
    """Terms of the original that the translation renders otherwise."""
    problems = []
    for term in glossary["terms"]:
        accepted = forms(term, lang)
        if term.get("loose") or not accepted or any(form in other.text for form in accepted):
            continue
        for form in forms(term, original):
            if re.search(rf"(?i)\b{re.escape(form)}s?\b", one.text):
                problems.append(f"“{form}” is {'/'.join(accepted)}")
                break
    return problems
