"""What must hold between a text, its languages and its notebooks.

Each function tells problems, one line each.
"""

from __future__ import annotations

import builtins
import copy
import json
import keyword
import re
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import unquote

from book.builder import answers, proof, render, stamps, values
from book.builder.certificate import why_not
from book.builder.check import exercises, untranslated
from book.builder.dependencies import names_of
from book.builder.model import PARTS, Block, Section
from book.builder.notebook import (
    code_cells,
    gpus_needed,
    may_fail,
    measures,
    program,
    read_notebook,
)
from book.builder.prose import Prose, read
from book.builder.provenance import Recorded, as_made
from book.builder.text import Chapter
from d2l_local.base.language import counted

from nbformat import NotebookNode

OUTPUT_BYTES = 512 * 1024


# ---- Texts ---------------------------------------------------------------------------------------


def at(section: Section, block: Block, what: str) -> str:
    name = f"{block.lang}/{block.id}" if block.lang else "code"
    return f"{section.path.name}:{block.line}: [{name}] {what}"


def twins(section: Section) -> list[str]:
    """Missing, misplaced and stale twins."""
    problems, previous = [], None
    for group in section.twins().values():
        first = next(iter(group.values()))
        for lang in section.langs:
            if lang not in group:
                problems.append(at(section, first, f"has no twin in {lang}"))
    for block in section.blocks:
        if block.lang and block.lang != section.langs[0]:
            beside = previous and previous.lang and previous.id == block.id
            if not beside or section.langs.index(block.lang) < section.langs.index(previous.lang):
                problems.append(at(section, block, "does not stand right after its twin"))
        previous = block
    for block in stamps.stale(section):
        original = section.langs[0]
        why = "has no stamp" if block.of is None else "is stale"
        problems.append(
            at(section, block, f"{why}: compare it with [{original}/{block.id}], then stamp it")
        )
    return problems


def draft(section: Section) -> list[str]:
    """That a section is a draft, and in which languages it is not all there."""
    without = f", not all in {' and '.join(section.missing)}" if section.missing else ""
    return [f"{section.path.name}: a draft{without}"] if section.draft else []


def not_translated(section: Section) -> list[str]:
    """What the code of a section prints and draws in the original's language alone."""
    problems = []
    for lang in section.langs[1:]:
        found = list(untranslated.strings(section, lang))
        if lang in section.spoken:
            problems += [at(section, block, what) for block, what in found]
        elif found:
            problems.append(f"{section.path.name}: [{lang}] translates no strings of {len(found)}")
    return problems


def text(section: Section) -> list[str]:
    """Everything that can be wrong with a text by itself."""
    proses = {
        name: {lang: read(block.source) for lang, block in group.items()}
        for name, group in section.twins().items()
    }
    found = [*in_prose(section, proses), *in_code(section), *exercises.problems(section)]
    problems = [at(section, block, what) for block, what in found]
    return [*twins(section), *problems, *headings(section, proses)]


def in_prose(section: Section, proses: dict[str, dict[str, Prose]]) -> Iterator[tuple[Block, str]]:
    """What is wrong with the prose, each with its block; `proses` go by id, then by language."""
    glossary, original = section.chapter.glossary, section.langs[0]
    names = section.words() | set(section.names) | set(dir(builtins)) | set(keyword.kwlist)
    names |= {"d2l", "d2l_local", *section.chapter.frameworks}
    for group in section.twins().values():
        for lang, block in group.items():
            prose = proses[block.id][lang]
            found = [*wrong_forms(prose.texts, lang, glossary), *unknown_names(prose, names)]
            found += [f"MyST shows as it stands on GitHub: {raw}" for raw in prose.raw]
            if "**" in prose.text:
                found.append("** does not become bold: keep brackets and full stops out of it")
            if lang != original and original in group:
                for what in ("tags", "kind"):
                    if getattr(block, what) != getattr(group[original], what):
                        found.append(f"has other {what} than its twin")
                one = proses[block.id][original]
                found += differences(one, prose, (original, lang))
                found += missing_terms(one, prose, original, lang, glossary)
            yield from ((block, what) for what in found)


def in_code(section: Section) -> Iterator[tuple[Block, str]]:
    """What is wrong with the code, each with its block."""
    for block in section.code():
        yield from ((block, what) for what in gpu_tags(block))
        for lang in section.langs:
            # Several spaces in a string align columns.
            strings = [re.sub(" {2,}", "\n", s) for s in block.strings.get(lang, {}).values()]
            said = [*section.comments(block, lang), *strings]
            for what in wrong_forms(said, lang, section.chapter.glossary):
                yield block, what


def not_denied(section: Section) -> list[str]:
    """Cells whose assertion no denial tries, those of a framework in one line."""
    problems = []
    for framework in section.frameworks:
        lines = [
            str(block.line)
            for block in section.code_of(framework)
            if block.kind not in PARTS
            and re.search(r"^\s*assert\b", block.source, re.MULTILINE)
            and not section.denials_of(block, framework)
        ]
        if lines:
            where = f"{framework}/{section.name}"
            problems.append(f"{where}: no denial of the assertion in line {', '.join(lines)}")
    return problems


def typed(section: Section) -> list[str]:
    """Numbers typed by hand in prose right below an output, which may be another one's."""
    found: dict[int, str] = {}
    for framework in section.frameworks:
        above = None
        for block in section.blocks_of(framework, section.langs[0]):
            numbers = read(block.source).numbers if block.lang and not block.kind else {}
            if numbers and above and not above.lang and above.kind not in PARTS:
                listed = ", ".join(numbers)
                found[block.line] = at(section, block, f"numbers typed below an output: {listed}")
            above = block
    return [*found.values()]


def gpu_tags(block: Block) -> Iterator[str]:
    """Tags for GPUs that do not say what the cell asks."""
    for tag in block.tags:
        found = re.fullmatch(r"gpus-([1-9][0-9]{0,2})", tag)
        if not found:
            if tag.startswith("gpu"):
                yield f"the tag {tag} must be like gpus-2, with 1 to 999 GPUs"
        elif not re.search(rf"\bhas_gpus\({found[1]}\)", block.source):
            yield f"the tag {tag} is for a cell that asks d2l.has_gpus({found[1]})"


def headings(section: Section, proses: dict[str, dict[str, Prose]]) -> list[str]:
    """Headings that every section with exercises must have, in each of its languages."""
    problems = []
    for lang in section.langs if section.exercises else ():
        found = {h for group in proses.values() if lang in group for h in group[lang].headings}
        for key in ("summary", "exercises"):
            word = section.chapter.languages.get(lang, {}).get(key)
            if word and (2, word) not in found:
                problems.append(f"{section.path.name}: [{lang}] has no heading ## {word}")
    return problems


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


def wrong_forms(texts: list[str], lang: str, glossary: dict[str, Any]) -> list[str]:
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


def forms(term: dict[str, Any], lang: str) -> list[str]:
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


def unknown_names(prose: Prose, names: set[str]) -> list[str]:
    """Inline code that looks like a name and that no cell contains."""
    problems = []
    for code in sorted(prose.code):
        match = re.fullmatch(r"([A-Za-z_]\w*)((?:\.[A-Za-z_]\w*)*)(?:\(.*\))?", code)
        if match and not {code, match[1], match[1] + match[2]} & names:
            problems.append(f"`{code}` is in no code cell (or list it under `names:`)")
    return problems


# ---- Notebooks -----------------------------------------------------------------------------------


def needs_what_gpus_left(cells: list[NotebookNode]) -> list[str]:
    """Cells that read what only a cell for GPUs sets: elsewhere that one is skipped."""
    problems = []
    everywhere: set[str] = set()
    with_gpus: set[str] = set()
    for cell in cells:
        names = names_of(cell.source)
        if gpus_needed(cell):
            with_gpus |= names.bound
            continue
        for name in sorted((names.read & with_gpus) - everywhere - names.bound):
            problems.append(f"cell {cell.id}: only a cell that needs GPUs sets {name}")
        everywhere |= names.bound
    return problems


def outputs(cell: NotebookNode) -> list[str]:
    """What the outputs of a code cell must not be."""
    problems = []
    for output in cell.get("outputs", []):
        shown = json.dumps(output, ensure_ascii=False)
        if output.output_type == "error" and not may_fail(cell):
            problems.append(f"cell {cell.id}: error {output.ename}: {output.evalue}")
        if output.get("name") == "stderr" and "stderr-ok" not in cell.metadata.get("tags", []):
            problems.append(f"cell {cell.id}: writes to stderr: {output.text.strip()[:500]}")
        if len(shown.encode()) > OUTPUT_BYTES:
            problems.append(f"cell {cell.id}: an output of {len(shown.encode()) >> 10} KB")
        if "image/svg+xml" in output.get("data", {}):  # Without trust, as after a clone
            problems.append(f"cell {cell.id}: an SVG picture, which JupyterLab hides: draw a PNG")
    return problems


def stale(committed: Recorded) -> list[str]:
    """Cells whose output this machine cannot make anew, though it is not of the code as it is."""
    return [
        f"cell {name}: stale, needs {counted(needed, 'GPU')} ({why})"
        for name, (needed, why) in committed.stale().items()
    ]


def uncertified(committed: Recorded) -> list[str]:
    """How many cells measured while other programs had a hand in it, by run."""
    found: dict[str, list[str]] = {}
    for cell in committed.cells:
        run = committed.run(cell) if measures(cell) else None
        if run and (why := why_not(run)):
            found.setdefault(f"of {run['date']}, uncertified: {why}", []).append(cell.id)
    return [f"{counted(len(cells), 'cell')} {why}" for why, cells in found.items()]


def quoted(committed: NotebookNode, rows: dict[str, str]) -> list[str]:
    """What is wrong with the numbers that the prose quotes from the outputs above it."""
    anew = copy.deepcopy(committed)
    problems = values.fill(anew, rows)
    for cell, now in zip(committed.cells, anew.cells):
        if cell.source != now.source:
            problems.append(f"cell {cell.id}: quotes another number than the output: build it")
    return problems


def answers_of(section: Section) -> list[str]:
    """What the package has of a section's checks, and not as the text has it."""
    return [
        f"{path.relative_to(section.chapter.root)}: is not as its text has it: build it"
        for path, expected in answers.files(section).items()
        if not path.exists() or path.read_text("utf-8") != expected
    ]


def notebook(path: Path, expected: NotebookNode, committed: NotebookNode | None) -> list[str]:
    """Compare a notebook with what its text makes, and look at its outputs."""
    if committed is None:
        return ["missing: build it"]
    problems = []
    if (bare := as_made(committed)) != expected:
        ours, theirs = ({cell.get("id"): cell for cell in n.cells} for n in (expected, bare))
        names = [i for i in {**ours, **theirs} if ours.get(i) != theirs.get(i)]
        problems.append(f"differs from its text in {', '.join(map(str, names)) or 'metadata'}")
    problems += needs_what_gpus_left(code_cells(committed))
    recorded, now = Recorded(committed), Recorded(expected)
    out_of_date = recorded.stale()
    for cell in committed.cells:
        if cell.cell_type == "code":
            why = recorded.why(cell.id, now)
            if why and not (recorded.run(cell) and cell.id in out_of_date):
                problems.append(f"cell {cell.id}: {why}")
            problems += outputs(cell)
            if recorded.run(cell):  # Else its outputs are missing, as was just said
                problems += [f"cell {cell.id}: {what}" for what in exercises.outputs(cell)]
        else:
            for link in read(cell.source).links:
                file = unquote(link.split("#")[0])
                if file and not re.match(r"\w+:", file) and not (path.parent / file).exists():
                    problems.append(f"cell {cell.id}: the link {link} leads nowhere")
    return problems


# ---- All of it -----------------------------------------------------------------------------------


@dataclass
class Findings:
    """What a check of sections has found."""

    problems: list[str] = field(default_factory=list)
    unready: list[str] = field(default_factory=list)  # What a release must not have
    uncertified: list[str] = field(default_factory=list)  # Neither this


def sections(chapter: Chapter, names: Iterable[str] | None = None) -> Findings:
    """Return what is wrong with sections, by default all."""
    findings = Findings()
    problems, unready = findings.problems, findings.unready
    for section in chapter.sections(names):
        problems += text(section)
        problems += answers_of(section)
        unready += draft(section) + not_translated(section)
        for framework in section.frameworks:
            expected = {lang: render.notebook(section, framework, lang) for lang in section.langs}
            if len({tuple(program(made, strings=False)) for made in expected.values()}) > 1:
                problems.append(f"{section.path.name}: the languages' code differs")
            original = read_notebook(
                chapter.notebook_path(framework, section.langs[0], section.name)
            )
            for lang, made in expected.items():
                path = chapter.notebook_path(framework, lang, section.name)
                where, committed = path.relative_to(chapter.root), read_notebook(path)
                found = notebook(path, made, committed)
                found += quoted(committed, section.rows(lang)) if committed else []
                found += proof.missing(section, framework, committed)
                problems += [f"{where}: {p}" for p in found]
                if committed is not None:
                    recorded = Recorded(committed)
                    findings.uncertified += [f"{where}: {p}" for p in uncertified(recorded)]
                    found = stale(recorded)
                    if lang in section.spoken and original is not None:
                        found += untranslated.outputs(committed, original)
                    unready += [f"{where}: {p}" for p in found]
    return findings


def orphans(chapter: Chapter) -> list[str]:
    """Notebooks and answers that no text makes, and exercises of the same name."""
    own, names = answers.index(chapter.root)
    made = {own}
    there = [*own.parent.glob("*.py"), *own.parent.glob("*.json")]
    problems = []
    if there and (own not in there or own.read_text("utf-8") != names):
        problems.append(f"{own.relative_to(chapter.root)}: names other modules than are there")
    for section in chapter.sections():
        made |= set(answers.files(section))
        for framework in section.frameworks:
            made |= {chapter.notebook_path(framework, lang, section.name) for lang in section.langs}
    for name in chapter.frameworks:
        there += (chapter.root / "chapters" / name).glob("*/*.ipynb")
    return [
        *problems,
        *(f"{p.relative_to(chapter.root)}: no text makes it" for p in sorted({*there} - made)),
        *answers.taken_twice(chapter.sections()),
    ]


def not_linked(chapter: Chapter) -> list[str]:
    """Sections that the index does not link: they stand last, whatever they are about."""
    index = chapter.root / "chapters/text/index.md"
    text = index.read_text("utf-8") if index.exists() else ""
    return [
        f"{entry.name}: chapters/text/index.md does not link it"
        for entry in chapter.outline
        if text and entry.name != "index" and f"({entry.name}.ipynb)" not in text
    ]
