"""Rules of what stands in one language: words, names, headings."""

from __future__ import annotations

import builtins
import keyword
import re
from collections.abc import Iterable, Iterator
from typing import Any

from book.builder.check.problem import HINT, Problem, at
from book.builder.check.twins import forms
from book.builder.model import PARTS, Block, Section
from book.builder.prose import Prose, read


def prose_of(section: Section) -> list[Block]:
    """Return the prose of all languages, but for references, which others have written."""
    return [block for block in section.blocks if block.lang and block.kind != "reference"]


def well_written(section: Section) -> Iterator[Problem]:
    """Prose, comments and strings have the glossary's terms, and a language's typography."""
    glossary = section.chapter.glossary
    said = [(block, block.lang or "", read(block.source).texts) for block in prose_of(section)]
    for block in section.code():
        for lang in section.langs:
            # Several spaces in a string align columns.
            strings = [re.sub(" {2,}", "\n", s) for s in block.strings.get(lang, {}).values()]
            said.append((block, lang, [*section.comments(block, lang), *strings]))
    for block, lang, texts in said:
        for what in wrong_forms(texts, lang, glossary):
            yield at(block, what)


def shown_as_written(section: Section) -> Iterator[Problem]:
    """GitHub and Jupyter show the Markdown as it is meant."""
    for block in prose_of(section):
        prose = read(block.source)
        for raw in prose.raw:
            yield at(block, f"MyST shows as it stands on GitHub: {raw}")
        if "**" in prose.text:
            what = "** does not become bold: keep brackets and full stops out of it"
            yield at(block, what)


def names_known(section: Section) -> Iterator[Problem]:
    """What prose calls by a name is in a cell."""
    names = section.words() | set(section.names) | set(dir(builtins)) | set(keyword.kwlist)
    names |= {"d2l", "d2l_local", *section.chapter.frameworks}
    for block in prose_of(section):
        for what in unknown_names(read(block.source), names):
            yield at(block, what)


def headings(section: Section) -> Iterator[Problem]:
    """A section with exercises has a summary and exercises, in each of its languages."""
    for lang in section.langs if section.exercises else ():
        found = {h for b in section.blocks if b.lang == lang for h in read(b.source).headings}
        for key in ("summary", "exercises"):
            word = section.chapter.languages.get(lang, {}).get(key)
            if word and (2, word) not in found:
                yield Problem(section.path.name, f"[{lang}] has no heading ## {word}")


def typed(section: Section) -> Iterator[Problem]:
    """No number is typed in prose right below an output, which may be another one's.

    A story quotes expressions, and what it types are sizes and what follows from them.
    """
    found: dict[str, Problem] = {}
    for framework in (name for name in section.frameworks if name not in section.stories):
        above = None
        for block in section.blocks_of(framework, section.langs[0]):
            numbers = read(block.source).numbers if block.lang and not block.kind else {}
            if numbers and above and not above.lang and above.kind not in PARTS:
                what = f"numbers typed below an output: {', '.join(numbers)}"
                found[block.where] = at(block, what, HINT, "numbers typed below an output")
            above = block
    yield from found.values()


def wrong_forms(texts: Iterable[str], lang: str, glossary: dict[str, Any]) -> list[str]:
    """Forms of terms, and typography, that a language does not use."""
    problems = []
    for term in glossary["terms"]:
        for form in (term.get("not") or {}).get(lang, []):
            if any(form in part for part in texts):
                problems.append(f"{form} should be {'/'.join(forms(term, lang))}")
    for rule in glossary["languages"].get(lang, {}).get("wrong", []):
        for part in texts:
            for match in re.finditer(rule["pattern"], part):
                around = part[max(0, match.start() - 8) : match.end() + 8].strip()
                problems.append(f"{rule['why']}: …{around}…")
    return problems


def unknown_names(prose: Prose, names: set[str]) -> list[str]:
    """Inline code that looks like a name and that no cell contains."""
    problems = []
    for code in sorted(prose.code):
        match = re.fullmatch(r"([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)*)(?:\(.*\))?", code)
        if match and not {code, match[1], match[1] + match[2]} & names:
            problems.append(f"`{code}` is in no code cell (or list it under `names:`)")
    return problems
