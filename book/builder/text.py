"""The texts: their format, and the notebooks that they make, without outputs.

A text is a MyST notebook, `chapters/text/<section>.md`, that Jupytext reads. Its front matter says

- `frameworks: [mxnet]`: which notebooks it makes;
- `names: [...]`: which names its prose may mention although no cell contains them;
- `exercises: false`, if it closes without a summary and exercises;
- `draft: true`, to leave out languages that lack a block, which only a release forbids.

Prose comes in blocks, one a language, twins one after the other; code comes once:

    +++ {"lang": "en", "id": "two-devices"}
    +++ {"lang": "zh", "id": "two-devices", "of": "5f0c2a91"}

- The language of the first block is the original; the languages of a text are those it has blocks
  in. `of` is the hash of the original block that a translation was last held against.
- The first block of each language opens with the title, `# ...`.
- Blocks and cells may carry `tags`. A framework's name keeps them to that framework's notebooks;
  the rest goes into the notebook. `raises-exception` lets a cell fail, `stderr-ok` lets it write to
  stderr. A cell that only GPUs can prove carries `gpus-2`, say, and asks `d2l.has_gpus(2)`: tests
  skip it elsewhere, and its committed output must come from a machine that has them.
- What asks the reader back, or is folded, says so with `kind`, code with a tag:
  `book.builder.units`.
- A comment may be written once a language, in the order of the table of languages:
  `# Wait for it | 等待它完成`. A language without a part reads the first.
- Strings that a reader sees are translated by one block a language after their cell, a YAML mapping
  of what stands between the quotes. The fields of f-strings stay, in any order. A block with
  `"for": "section"`, before the first cell, speaks for all cells:

      +++ {"strings": "zh"}
      "{seconds:.2f} sec": "{seconds:.2f}秒"

  A notebook in a language that has such blocks is executed by itself, with d2l_local's lines in
  that language too; others show the original's outputs.

Languages and terms are data, `chapters/text/glossary.yml`, and so are frameworks,
`d2l_local/base/frameworks.ini`.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

from book.builder import units
from book.builder.language import comments, literals, pick, put_strings, read_strings, translate
from book.builder.notebook import BuildError, write
from d2l_local.base import frameworks

import nbformat
import yaml
from jupytext.myst import MystMetadataParsingError, myst_to_notebook
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

SETUP = """\
import os
import sys
{speak}
hosted = "google.colab" in sys.modules or "KAGGLE_KERNEL_RUN_TYPE" in os.environ
if hosted or "D2L_SOURCE" in os.environ:  # {comment}
    source = os.environ.get("D2L_SOURCE", "git+{source}")
    !{{sys.executable}} -m pip install -q --no-deps {{source}}
    # {failed}
    from d2l_local import colab

    colab.set_up("{framework}")
"""
SPEAK = """
os.environ["D2L_LANGUAGE"] = "{lang}"
"""


FRONT_MATTER = ("frameworks", "names", "exercises", "draft")
# Followed by what follows "github.com/" in a notebook's own address.
HOSTS = {
    "colab": "https://colab.research.google.com/github/",
    "kaggle": "https://kaggle.com/kernels/welcome?src=https://github.com/",
}


@dataclass
class Block:
    """A prose block, or a code cell (whose `lang` is None)."""

    source: str
    line: int  # of the `+++` or the fence, counted from 1
    lang: str | None = None
    id: str = ""
    of: str | None = None
    tags: list[str] = field(default_factory=list)
    strings: dict[str, dict[str, str]] = field(default_factory=dict)  # Of code, by language
    kind: str = ""  # One of `units.PROSE`; of code, its tag among `units.CODE`
    refused: str = ""  # What the check must say about a wrong answer


@dataclass
class Strings:
    """Translations of strings, of the cell before them or of all cells of the section."""

    line: int
    lang: str
    section: bool
    strings: dict[str, str]


@dataclass
class Section:
    """One text, and the notebooks that it makes."""

    path: Path
    blocks: list[Block]
    langs: list[str]  # The original comes first
    frameworks: list[str]
    names: list[str]
    chapter: Chapter
    spoken: set[str] = field(default_factory=set)  # Languages into which strings are translated
    draft: bool = False
    exercises: bool = True  # Whether it closes with a summary and exercises
    missing: list[str] = field(default_factory=list)  # Languages that a draft is left out in

    @property
    def name(self) -> str:
        return self.path.stem

    def twins(self) -> dict[str, dict[str, Block]]:
        """Return the prose blocks by id, then by language; references have no twins."""
        twins: dict[str, dict[str, Block]] = {}
        for block in self.blocks:
            if block.lang and block.kind != "reference":
                twins.setdefault(block.id, {})[block.lang] = block
        return twins

    def code(self) -> list[Block]:
        return [block for block in self.blocks if not block.lang]

    def blocks_of(self, framework: str, lang: str) -> list[Block]:
        """Return the prose of one language and the code of one framework, in order."""
        others = set(self.chapter.frameworks) - {framework}
        return [
            b
            for b in self.blocks
            if (b.lang in (None, lang) or b.kind == "reference") and not others & set(b.tags)
        ]

    def code_of(self, framework: str) -> list[Block]:
        """Return the code of one framework; a section may have none."""
        return [b for b in self.blocks_of(framework, self.langs[0]) if not b.lang]

    def words(self) -> set[str]:
        """Return every word of the code: what the prose may name."""
        return {w for block in self.code() for w in re.findall(r"\w+", translate(block.source))}

    def comments(self, block: Block, lang: str) -> list[str]:
        index = self.chapter.index(lang)
        return [pick(parts, index) for *_, parts in comments(block.source)]

    def code_in(self, block: Block, lang: str) -> str:
        """Return the code of a block with the comments and strings of a language."""
        source = put_strings(block.source, block.strings.get(lang, {}))
        return translate(source, self.chapter.index(lang))

    def stale(self) -> list[Block]:
        """Return the translations whose original has changed since they were stamped."""
        original = self.langs[0]
        return [
            block
            for group in self.twins().values()
            for lang, block in group.items()
            if lang != original and original in group and block.of != digest(group[original].source)
        ]

    def notebook(self, framework: str, lang: str) -> NotebookNode:
        """Return the notebook of one framework in one language, without outputs."""
        blocks = [b for b in self.blocks_of(framework, lang) if b.kind != "wrong"]
        cells = self.opening(blocks[0], framework, lang)
        last, count, question = blocks[0].id, 0, None
        for block in blocks[1:]:
            if block.lang:
                last, count = block.id, 0
            else:  # Numbered within its prose, so that a new cell renames few others
                count += 1
            name = f"{last}_{count}" if count else last
            cells.append(self.cell(block, lang, name, question))
            if block.kind == "predict":
                question = block
            elif not block.lang:
                question = None
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        return new_notebook(
            cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}}
        )

    def opening(self, block: Block, framework: str, lang: str) -> list[NotebookNode]:
        """Return the title with its links, the set-up, and what follows the title in its block."""
        title, _, rest = block.source.partition("\n")
        word = self.chapter.languages.get(lang, {}).get
        setup = SETUP.rstrip().format(
            speak=SPEAK.format(lang=lang) if lang in self.spoken else "",
            comment=word("setup", "Does nothing outside Colab and Kaggle"),
            failed=word("setup-failed", "Not found? pip says why; then run this cell again"),
            framework=framework,
            source=self.chapter.source,
        )
        cells = [new_markdown_cell(f"{title}\n\n{self.links(framework, lang)}", id="title")]
        if self.code_of(framework):
            cells.append(new_code_cell(setup, id="setup"))
        if rest.strip():
            cells.append(new_markdown_cell(rest.strip(), id=block.id))
        for cell in cells:
            self.describe(cell, block)
        return cells

    def cell(self, block: Block, lang: str, name: str, question: Block | None) -> NotebookNode:
        """Return the cell of a block; code answers the question that is open, if one is."""
        word = self.chapter.languages.get(lang, {}).get
        if block.lang:
            cell = new_markdown_cell(units.prose(block, word), id=name)
        else:
            cell = new_code_cell(self.code_in(block, lang), id=name)
        self.describe(cell, block)
        if question and not block.lang:
            units.ask(cell, question)
        tags = [tag for tag in block.tags if tag not in self.chapter.frameworks]
        if "raises-exception" in tags:  # Jupyter and nbclient know this tag, nbval its own
            tags.append("nbval-raises-exception")
        if block.kind in units.FOLDED and not block.lang:
            tags.append("hide-input")
            units.fold(cell, word(block.kind, block.kind.capitalize()))
        if tags:
            cell.metadata["tags"] = tags
        return cell

    def describe(self, cell: NotebookNode, block: Block) -> None:
        """Write into a cell where it comes from: what joins the frameworks' cells on one page.

        `order` counts the blocks of the text, of which twins are one, so that it is the same in
        all notebooks of a section.
        """
        of = [name for name in self.chapter.frameworks if name in self.frameworks]
        only = [name for name in of if name in block.tags]
        cell.metadata["d2l_local"] = {
            "id": cell.id,
            "frameworks": only or of,
            "order": self.order[block.line],
            **({"kind": block.kind} if block.kind else {}),
        }

    @cached_property
    def order(self) -> dict[int, int]:
        """Return the place of each block by its line; twins have the same."""
        places: dict[str | int, int] = {}
        return {b.line: places.setdefault(b.id or b.line, len(places)) for b in self.blocks}

    def links(self, framework: str, lang: str) -> str:
        """Return the line that links the other languages and frameworks, Colab and Kaggle."""
        chapter, file = self.chapter, f"{self.name}.ipynb"
        links = [
            f"[{chapter.languages.get(other, {}).get('name', other)}](../{other}/{file})"
            for other in self.langs
            if other != lang
        ]
        links += [
            f"[{chapter.frameworks[other].title}](../../{other}/{lang}/{file})"
            for other in self.frameworks
            if other != framework
        ]
        on_github = chapter.repository.partition("github.com/")[2]
        if on_github and self.code_of(framework):  # They open notebooks from nowhere else
            path = f"{on_github}/blob/main/chapters/{framework}/{lang}/{file}"
            word = chapter.languages.get(lang, {}).get
            for place, address in HOSTS.items():
                label = word(place, f"Open in {place.capitalize()}")
                links.append(f"[{label}]({address}{path})")
        return " · ".join(links)


class Chapter:
    """The folder that holds the texts and the notebooks."""

    def __init__(self, root: Path):
        self.root = root
        self._read: dict[Path, tuple[str, Section]] = {}  # Reading takes half a second each
        file = root / "chapters/text/glossary.yml"
        try:
            self.glossary = yaml.safe_load(read_text(file, root))
        except yaml.YAMLError as error:
            what = " ".join(str(error).split())
            raise BuildError(f"{file.relative_to(root)}: {what}") from None
        self.languages = self.glossary["languages"]
        self.frameworks = frameworks.load(root / "d2l_local/base/frameworks.ini")
        project = read_text(root / "pyproject.toml", root)
        found = re.search(r'^Repository\s*=\s*"(.+?)/?"', project, re.MULTILINE)
        if not found:
            raise BuildError(f"{root}/pyproject.toml: no Repository under [project.urls]")
        self.repository = found[1]
        version = re.search(r'^version\s*=\s*"(.+?)"', project, re.MULTILINE)
        self.tag = f"@v{version[1]}" if version else ""

    @property
    def source(self) -> str:
        """Return what the first cell installs from: the release, not what came after it."""
        return self.repository + self.tag

    def word(self, lang: str, key: str, usual: str) -> str:
        """Return what the builder itself writes in a language, by default what is usual."""
        return self.languages.get(lang, {}).get(key, usual)

    def index(self, lang: str) -> int:
        """Return the place of a language in the table of languages."""
        return [*self.languages, lang].index(lang)

    def sections(self, names: Iterable[str] | None = None) -> list[Section]:
        texts = sorted((self.root / "chapters/text").glob("*.md"))
        unknown = set(names or ()) - {text.stem for text in texts}
        if unknown:
            raise BuildError(f"no text for {', '.join(sorted(unknown))} in chapters/text")
        return [self.section(text) for text in texts if not names or text.stem in names]

    def section(self, path: Path) -> Section:
        """Read a text, unless it is the one that was read last time."""
        text = read_text(path, self.root)
        if path not in self._read or self._read[path][0] != text:
            self._read[path] = text, self.parse(path, text)
        return self._read[path][1]

    def notebook(self, framework: str, lang: str, name: str) -> Path:
        return self.root / "chapters" / framework / lang / f"{name}.ipynb"

    def parse(self, path: Path, text: str) -> Section:
        """Take a text apart, and say where it breaks the format."""
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
        named = words_of(parsed.metadata, "frameworks", where)
        if not named or set(named) - set(self.frameworks):
            raise BuildError(
                f"{where}: the front matter must say `frameworks:`, of {list(self.frameworks)}"
            )
        unknown = set(parsed.metadata) - {*FRONT_MATTER, "source_map"}
        if unknown:
            listed, known = ", ".join(sorted(map(str, unknown))), ", ".join(FRONT_MATTER)
            raise BuildError(f"{where}: unknown key {listed} in the front matter; there is {known}")
        lines = parsed.metadata.source_map
        parts = [read_block(cell, line, where) for cell, line in zip(parsed.cells, lines)]
        blocks = [part for part in parts if isinstance(part, Block)]
        refuse_taken_ids(blocks, where)
        langs = list(dict.fromkeys(block.lang for block in blocks if block.lang))
        if not langs:
            raise BuildError(f"{where}: no prose")
        for lang in langs:
            refuse_missing_title(blocks, lang, where)
        spoken = give_strings(parts, langs, where)
        names = words_of(parsed.metadata, "names", where)
        section = Section(path, blocks, langs, named, names, self, spoken=spoken)
        section.draft = yes_or_no(parsed.metadata, "draft", False, where)
        section.exercises = yes_or_no(parsed.metadata, "exercises", True, where)
        if section.draft:
            leave_out_untranslated(section)
        return section


def read_text(path: Path, root: Path) -> str:
    """Return what a file below ``root`` says. Raises BuildError unless it is lines of UTF-8."""
    try:
        with path.open(encoding="utf-8", newline="") as file:
            text = file.read().replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        line = error.object[: error.start].count(b"\n") + 1
        raise BuildError(f"{path.relative_to(root)}:{line}: no UTF-8; save it as such") from None
    before, lone, _ = text.partition("\r")
    if lone:
        line = before.count("\n") + 1
        raise BuildError(f"{path.relative_to(root)}:{line}: ends with CR alone; save it with LF")
    return text


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
    keys = {"lang", "id", "of", "tags", "kind"} if prose else {"tags", "refused"}
    unknown = set(cell.metadata) - keys
    if unknown or cell.cell_type == "raw":
        what = ", ".join(sorted(unknown)) or "raw cell"
        raise BuildError(f"{where}:{line}: unknown key {what}")
    if not all(isinstance(value, str) for key, value in cell.metadata.items() if key != "tags"):
        strings = ", ".join(sorted(keys - {"tags"}))
        raise BuildError(f"{where}:{line}: {strings} are strings")
    lang = cell.metadata.get("lang", "en")
    if not re.fullmatch(r"[a-z]{2,3}(-[A-Za-z0-9]{2,8})*", lang):  # It names a folder
        raise BuildError(f"{where}:{line}: lang is a language's code, such as zh, not {lang!r}")
    if not cell.source.strip():
        raise BuildError(f"{where}:{line}: an empty cell")
    block = Block(cell.source, line, **cell.metadata)
    if block.kind and block.kind not in units.PROSE:
        known = ", ".join(units.PROSE)
        raise BuildError(f"{where}:{line}: unknown kind {block.kind}; there is {known}")
    if not prose:
        block.kind = next((tag for tag in block.tags if tag in units.CODE), "")
    if prose and not (block.lang and re.fullmatch(r"[a-z0-9-]{1,50}", block.id)):
        raise BuildError(
            f'{where}:{line}: prose starts with a line like +++ {{"lang": "en", '
            '"id": "two-devices"}; an id has lower-case letters, digits and hyphens'
        )
    return block


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


def give_strings(parts: list[Block | Strings], langs: list[str], where: Path) -> set[str]:
    """Give each cell the strings that are translated for it; return the languages that are."""
    cells = [part for part in parts if isinstance(part, Block) and not part.lang]
    spoken: set[str] = set()
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
        spoken.add(part.lang)
        give(part, cells if part.section else last, where)
    return spoken


def give(part: Strings, cells: list[Block], where: Path) -> None:
    """Give cells those translations that they have strings for. What no cell has is an error."""
    unused = set(part.strings)
    for cell in cells:
        found = {literal.inner for literal in literals(cell.source)} & set(part.strings)
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


def refuse_taken_ids(blocks: list[Block], where: Path) -> None:
    seen = set()
    for block in blocks:
        if block.lang and ((block.lang, block.id) in seen or block.id in ("title", "setup")):
            raise BuildError(f"{where}:{block.line}: [{block.lang}/{block.id}] the id is taken")
        seen.add((block.lang, block.id))


def refuse_missing_title(blocks: list[Block], lang: str, where: Path) -> None:
    first = next(block for block in blocks if block.lang in (None, lang))
    if not (first.lang and first.source.startswith("# ")) or first.tags:
        raise BuildError(
            f"{where}:{first.line}: [{lang}] must begin with a title, `# ...`, and no tags"
        )


def leave_out_untranslated(section: Section) -> None:
    """Drop the languages in which some block of the original has no twin."""
    groups = section.twins().values()
    original = [group for group in groups if section.langs[0] in group]
    section.missing = [
        lang for lang in section.langs if any(lang not in group for group in original)
    ]
    section.blocks = [block for block in section.blocks if block.lang not in section.missing]
    section.langs = [lang for lang in section.langs if lang not in section.missing]
    section.spoken -= set(section.missing)


def digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:8]


def restamp(section: Section) -> list[Block]:
    """Renew the stamps of stale blocks; nothing but their `of` changes in the file."""
    stale = section.stale()
    if stale:
        with open(section.path, encoding="utf-8", newline="") as file:
            lines = file.read().split("\n")
        for block in stale:
            of = digest(section.twins()[block.id][section.langs[0]].source)
            line = lines[block.line - 1]
            if block.of is None:
                line = re.sub(r"\s*\}(\s*)$", rf', "of": "{of}"}}\1', line)
            else:
                line = re.sub(r'("of"\s*:\s*)"[^"]*"', rf'\g<1>"{of}"', line)
            lines[block.line - 1] = line
        write(section.path, "\n".join(lines))
    return stale
