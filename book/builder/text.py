"""Reading the texts, and saying where one breaks the format, `docs/text-format.md`.

A notebook in a language into which strings are translated is executed by itself, with d2l_local's
lines in that language too; others show the original's outputs. Languages and terms are data,
`chapters/text/glossary.yml`, and so are frameworks, `d2l_local/base/frameworks.ini`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from functools import cached_property
from pathlib import Path

from book.builder import model
from book.builder.language import literals, put_strings, read_strings, strings_within
from book.builder.model import Block, Entry, Section, Settings, Strings, read_text, reading_order
from book.builder.notebook import IGNORED, STORY, BuildError

import nbformat
import yaml
from jupytext.myst import MystMetadataParsingError, myst_to_notebook
from nbformat import NotebookNode

NUMBERS = ("minutes", "level")  # That only an exercise has
FRONT_MATTER = ("frameworks", "names", "exercises", "draft", "form")
TAGS = (IGNORED, "raises-exception", "slow", *model.CODE_KINDS)  # Of code, and `gpus-N`


class Chapter(Settings):
    """The folder that holds the texts and the notebooks."""

    def __init__(self, root: Path):
        super().__init__(root)
        # Reading takes half a second each
        self._read: dict[Path, tuple[dict[Path, str], Section]] = {}

    def sections(self, names: Iterable[str] | None = None) -> list[Section]:
        folder = self.root / "chapters/text"
        texts = [path for path in sorted(folder.glob("*.md")) if "." not in path.stem]
        unknown = set(names or ()) - {text.stem for text in texts}
        if unknown:
            raise BuildError(f"no text for {', '.join(sorted(unknown))} in chapters/text")
        return [self.section(text) for text in texts if not names or text.stem in names]

    @cached_property
    def outline(self) -> list[Entry]:
        """Return the sections in reading order: as the index links them, the others after these.

        Without an index there is no order, and nothing to number.
        """
        sections = {section.name: section for section in self.sections()}
        index = sections.get("index")
        prose = [block.source for block in index.blocks if block.lang] if index else []
        found: list[Entry] = []
        for name in reading_order(prose, sections):
            section, number = sections[name], 0
            if index and section.exercises:
                number = 1 + sum(entry.number > 0 for entry in found)
            found.append(Entry(name, number, titles_of(section), section.frameworks))
        return found

    def edition(self, name: str, framework: str, lang: str) -> tuple[str, str]:
        """Return the framework and language whose notebook a link to a section leads to.

        That is the linking edition itself, or the first that has the section: another framework's
        before another language's. Of a section that there is not, it is the linking one.
        """
        for entry in self.outline:
            if entry.name == name:
                frameworks = sorted(entry.frameworks, key=lambda other: other != framework)
                langs = sorted(entry.titles, key=lambda other: other != lang)
                return frameworks[0], langs[0]
        return framework, lang

    def section(self, path: Path) -> Section:
        """Read a text, unless it is the one that was read last time."""
        files = [path, *self.main_lines(path).values()]
        texts = {file: read_text(file, self.root) for file in files}
        if path not in self._read or self._read[path][0] != texts:
            self._read[path] = texts, self.parse(path, texts)
        return self._read[path][1]

    def main_lines(self, path: Path) -> dict[str, Path]:
        """Return the texts that only one framework's notebooks begin with, by framework."""
        found = {name: path.with_name(f"{path.stem}.{name}.md") for name in self.frameworks}
        return {name: file for name, file in found.items() if file.exists()}

    def parse(self, path: Path, texts: dict[Path, str]) -> Section:
        """Take a text apart, and say where it breaks the format."""
        where = path.relative_to(self.root)
        front_matter, blocks, strings = self.read_file(path, texts[path])
        langs, told = {part.lang for part in strings}, {"": front_matter}
        for framework, file in reversed(self.main_lines(path).items()):
            told[framework], own, more = self.read_file(file, texts[file])
            for block in own:
                if others := {*self.frameworks} & {*block.tags} - {framework}:
                    what = f"{min(others)}, in the main line of {framework}"
                    raise BuildError(f"{block.where}: the tag {what}")
                for each in (block, *block.denials, *block.plants):
                    each.tags = [*dict.fromkeys([*each.tags, framework])]
            blocks, langs = [*own, *blocks], langs | {part.lang for part in more}
        named = words_of(front_matter, "frameworks", where)
        if not named or set(named) - set(self.frameworks):
            raise BuildError(
                f"{where}: the front matter must say `frameworks:`, of {list(self.frameworks)}"
            )
        refuse_taken_ids(blocks)
        section = Section(path, blocks, langs_of(blocks), named, [], self, langs)
        if not section.langs:
            raise BuildError(f"{where}: no prose")
        for lang in section.langs:
            for framework in named:
                refuse_missing_title(section.blocks_of(framework, lang), lang, where)
        section.names = words_of(front_matter, "names", where)
        section.draft = yes_or_no(front_matter, "draft", False, where)
        section.exercises = yes_or_no(front_matter, "exercises", True, where)
        if {each.get("form", STORY) for each in told.values()} != {STORY}:
            raise BuildError(f"{where}: the front matter may say `form: {STORY}`")
        stories = [name for name, each in told.items() if each.get("form")]
        section.stories = [name for name in named if {"", name} & {*stories}]
        if section.draft:
            leave_out_untranslated(section)
        return section

    def read_file(self, path: Path, text: str) -> tuple[NotebookNode, list[Block], list[Strings]]:
        """Return the front matter of a file, its blocks, and what translates their strings."""
        where = path.relative_to(self.root)
        try:
            parsed = myst_to_notebook(text, add_source_map=True)
        except (
            MystMetadataParsingError,
            nbformat.ValidationError,
            yaml.YAMLError,  # Of a tag such as !!python/object, which is not obeyed
            RecursionError,  # Of what contains itself
        ) as error:
            what = " ".join(str(error).split()[:40])
            raise BuildError(f"{where}: {what}") from None
        unknown = set(parsed.metadata) - {*FRONT_MATTER, "source_map"}
        if unknown:
            listed, known = ", ".join(sorted(map(str, unknown))), ", ".join(FRONT_MATTER)
            raise BuildError(f"{where}: unknown key {listed} in the front matter; there is {known}")
        lines = parsed.metadata.source_map
        parts = [read_block(cell, line, where) for cell, line in zip(parsed.cells, lines)]
        for part in parts:
            if isinstance(part, Block):
                part.file = path.name
                refuse_tags(part, list(self.frameworks), where)
        parts = give_denials(parts, where)
        blocks = [part for part in parts if isinstance(part, Block)]
        strings = [part for part in parts if isinstance(part, Strings)]
        give_strings(parts, langs_of(blocks), where, parsed.metadata.get("form") == STORY)
        return parsed.metadata, blocks, strings


def langs_of(blocks: Iterable[Block]) -> list[str]:
    """Return the languages of prose; the original comes first."""
    return list(dict.fromkeys(block.lang for block in blocks if block.lang))


def titles_of(section: Section) -> dict[str, str]:
    """Return the title of a section in each language: what its first block begins with."""
    first = {block.lang: block for block in reversed(section.blocks) if block.lang}
    titles = {lang: first[lang].source.partition("\n")[0] for lang in section.langs}
    return {lang: title.removeprefix("# ").strip() for lang, title in titles.items()}


def words_of(front_matter: NotebookNode, key: str, where: Path) -> list[str]:
    """Return what the front matter lists under a key; nothing if it is not there."""
    found = front_matter.get(key) or []
    if not (isinstance(found, list) and all(isinstance(word, str) for word in found)):
        raise BuildError(
            f"{where}: the front matter has `{key}: {found}`, which must be a list of words, "
            f"`{key}: [one, another]`"
        )
    return list(found)


def yes_or_no(front_matter: NotebookNode, key: str, usual: bool, where: Path) -> bool:
    """Return what the front matter says under a key, or what is usual."""
    found = front_matter.get(key, usual)
    if not isinstance(found, bool):
        raise BuildError(f"{where}: the front matter may say `{key}: true` or `{key}: false`")
    return found


def read_block(cell: NotebookNode, line: int, where: Path) -> Block | Strings:
    """Return the block of a cell as Jupytext reads it."""
    if "strings" in cell.metadata:
        return read_strings_block(cell, line, where)
    prose = cell.cell_type == "markdown"
    keys = {"lang", "id", "of", "tags", "kind", *NUMBERS} if prose else {"tags", "refused"}
    unknown = set(cell.metadata) - keys
    if unknown or cell.cell_type == "raw":
        what = ", ".join(sorted(unknown)) or "raw cell"
        raise BuildError(f"{where}:{line}: unknown key {what}")
    others = {key: value for key, value in cell.metadata.items() if key not in ("tags", *NUMBERS)}
    if not all(isinstance(value, str) for value in others.values()):
        strings = ", ".join(sorted(keys - {"tags", *NUMBERS}))
        raise BuildError(f"{where}:{line}: {strings} are strings")
    refuse_numbers(cell, line, where)
    lang = cell.metadata.get("lang", "en")
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", lang):  # It names a folder
        raise BuildError(f"{where}:{line}: lang is a language's code, such as zh, not {lang!r}")
    if not cell.source.strip():
        raise BuildError(f"{where}:{line}: an empty cell")
    block = Block(cell.source, line, **cell.metadata)
    if block.kind and block.kind not in model.PROSE:
        known = ", ".join(model.PROSE)
        raise BuildError(f"{where}:{line}: unknown kind {block.kind}; there is {known}")
    if not prose:
        block.kind = next((tag for tag in block.tags if tag in model.CODE_KINDS), "")
    if prose and not (block.lang and re.fullmatch(r"[a-z0-9-]{1,50}", block.id)):
        raise BuildError(
            f'{where}:{line}: prose starts with a line like +++ {{"lang": "en", '
            '"id": "two-devices"}; an id has lower-case letters, digits and hyphens'
        )
    return block


def refuse_tags(block: Block, frameworks: list[str], where: Path) -> None:
    """Refuse a tag that says nothing, such as a misspelled one, and two that exclude each other."""
    known = frameworks if block.lang else [*frameworks, *TAGS, "gpus-N"]
    for tag in block.tags:
        if tag not in known and (block.lang or not tag.startswith("gpu")):  # `check` looks at those
            listed = ", ".join(known)
            raise BuildError(f"{where}:{block.line}: unknown tag {tag}; there is {listed}")
    kinds = [tag for tag in block.tags if tag in model.CODE_KINDS]
    if len(kinds) > 1:
        raise BuildError(f"{where}:{block.line}: a cell has one tag of {', '.join(kinds)}")


def refuse_numbers(cell: NotebookNode, line: int, where: Path) -> None:
    """Refuse minutes and levels that are none, or are no exercise's."""
    minutes, level = cell.metadata.get("minutes", 1), cell.metadata.get("level", 1)
    known = type(minutes) is type(level) is int and minutes > 0 and level in (1, 2, 3)
    exercise = cell.metadata.get("kind") == "exercise"
    if not known or not (exercise or {"minutes", "level"}.isdisjoint(cell.metadata)):
        raise BuildError(
            f'{where}:{line}: an exercise, and nothing else, may say "minutes": 5 and how hard it '
            'is, "level": 1, 2 or 3'
        )


def read_strings_block(cell: NotebookNode, line: int, where: Path) -> Strings:
    """Return a block that translates the strings of a cell, or of a section."""
    lang, of = cell.metadata["strings"], cell.metadata.get("for")
    if set(cell.metadata) - {"strings", "for"} or of not in (None, "section"):
        raise BuildError(
            f'{where}:{line}: strings stand under +++ {{"strings": "zh"}}, or, for all cells, '
            '+++ {"strings": "zh", "for": "section"}'
        )
    try:
        return Strings(line, str(lang), of == "section", read_strings(cell.source))
    except ValueError as error:
        raise BuildError(f"{where}:{line}: strings: {error}") from None


def give_denials(parts: list[Block | Strings], where: Path) -> list[Block | Strings]:
    """Give each cell the false measurements and lines below it, and return what is left."""
    left: list[Block | Strings] = []
    cell = None
    for part in parts:
        if isinstance(part, Strings) or part.kind not in ("denial", "plant"):
            left.append(part)
            if isinstance(part, Block):
                cell = None if part.lang else part
        elif cell is None or not part.source.startswith("# "):
            raise BuildError(
                f"{where}:{part.line}: a false measurement stands right after the cell that it "
                "denies, and begins with a comment, which says what it denies; so does a plant"
            )
        else:
            (cell.denials if part.kind == "denial" else cell.plants).append(part)
    return left


def give_strings(parts: list[Block | Strings], langs: list[str], where: Path, story: bool) -> None:
    """Give each cell the strings that are translated for it; a story's work is in none."""
    cells = [part for part in parts if isinstance(part, Block) and not part.lang]
    telling = [cell for cell in cells if not story or cell.kind]
    last: list[Block] = []  # The cell right before, if it is one
    for part in parts:
        if isinstance(part, Block):
            last = [] if part.lang else [part]
            continue
        if part.lang not in langs[1:]:
            raise BuildError(f"{where}:{part.line}: strings: no translation is in {part.lang}")
        late = bool(cells) and part.line > cells[0].line
        if part.section == bool(last) or (part.section and late):
            raise BuildError(
                f"{where}:{part.line}: strings stand right after their cell, or for all cells "
                'before the first one, with "for": "section"'
            )
        if story and last and not last[0].kind:
            raise BuildError(
                f"{where}:{part.line}: strings: the cell above works, and is the same in all "
                "languages: have another one tell what it found"
            )
        give(part, telling if part.section else last, where)


def give(part: Strings, cells: list[Block], where: Path) -> None:
    """Give cells those translations that they have strings for. What no cell has is an error."""
    unused = set(part.strings)
    for cell in cells:
        found = {literal.inner for literal in literals(cell.source)} & set(part.strings)
        if within := strings_within(cell.source) & set(part.strings):
            raise BuildError(
                f"{where}:{part.line}: strings: {min(within)!r} stands within an f-string, "
                "where no string is translated: give its value a name before"
            )
        given = cell.strings.setdefault(part.lang, {})
        given.update({english: part.strings[english] for english in found})
        try:
            put_strings(cell.source, given)
        except ValueError as error:
            raise BuildError(f"{where}:{part.line}: strings: {error}") from None
        unused -= found
    if unused:
        raise BuildError(
            f"{where}:{part.line}: strings: no string in the code is {sorted(unused)[0]!r}; write "
            "what stands between its quotes (YAML's single quotes keep backslashes)"
        )


def refuse_taken_ids(blocks: list[Block]) -> None:
    seen = set()
    for block in blocks:
        if block.lang and (
            (block.lang, block.id) in seen or block.id in ("title", "setup", "next")
        ):
            raise BuildError(f"{block.where}: [{block.lang}/{block.id}] the id is taken")
        seen.add((block.lang, block.id))


def refuse_missing_title(blocks: list[Block], lang: str, where: Path) -> None:
    first = next(block for block in blocks if block.lang in (None, lang))
    own = first.file != where.name  # Of one framework's main line, all is that framework's
    if not (first.lang and first.source.startswith("# ")) or (first.tags and not own):
        raise BuildError(f"{first.where}: [{lang}] must begin with a title, `# ...`, and no tags")


def leave_out_untranslated(section: Section) -> None:
    """Drop the languages in which some block of the original has no twin."""
    groups = section.twins().values()
    first = section.langs[0]
    original = [group for group in groups if first in group and section.paired(group[first])]
    section.missing = [
        lang for lang in section.langs if any(lang not in group for group in original)
    ]
    section.blocks = [block for block in section.blocks if block.lang not in section.missing]
    section.langs = [lang for lang in section.langs if lang not in section.missing]
    section.translated_into -= set(section.missing)
