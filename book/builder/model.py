"""What a text is: its blocks, and what of them asks the reader back.

Prose says what it is with `"kind"`, a code cell with a tag of the same name; `docs/text-format.md`
says what each is for.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from book.builder.language import comments, pick, put_strings, translate
from book.builder.notebook import BuildError
from d2l_local.base import frameworks

import yaml
from markdown_it import MarkdownIt

if TYPE_CHECKING:
    from book.builder.text import Chapter

PROSE = ("predict", "aside", "exercise", "hint", "solution", "reference")
PARTS = ("stub", "check", "solution", "wrong")  # Of an exercise's code
CODE_KINDS = ("aside", "score", "tell", "denial", "plant", *PARTS)
CHECK = re.compile(r"^def check\(([\w, ]*)\):$", re.MULTILINE)  # How a check begins
OUT_OF_SIGHT = ("check", "solution")  # Of an exercise's code: no cell has it
FOLDED = ("aside", "hint", "solution")
# What leads to a section: a notebook beside this one, or another edition's
LINK = re.compile(r"(?<=\]\()(?:[\w.-]+/)*(?P<name>[\w-]+)\.ipynb(?=[)#])")
# Where notebooks open from GitHub, followed by what follows "github.com/" in their addresses
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
    kind: str = ""  # One of `PROSE`; of code, its tag among `CODE_KINDS`
    minutes: int = 0  # That an exercise takes
    level: int = 0  # How hard it is, from 1 to 3
    refused: str = ""  # What is said to a wrong answer, or to a false measurement
    denials: list[Block] = field(default_factory=list)  # The false measurements of code
    plants: list[Block] = field(default_factory=list)  # False lines in the place of the code's own
    file: str = ""  # The name of the text

    @property
    def where(self) -> str:
        return f"{self.file}:{self.line}"


@dataclass
class Strings:
    """Translations of strings, of the cell before them or of all cells of the text."""

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
    # Languages into which strings are translated
    translated_into: set[str] = field(default_factory=set)
    draft: bool = False
    exercises: bool = True  # Whether it closes with a summary and exercises
    stories: list[str] = field(default_factory=list)  # Frameworks whose notebook is a story
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

    def in_stories(self, block: Block) -> bool:
        """Whether all notebooks that have a block are stories."""
        return all(name in self.stories for name in self.frameworks if self._is_in(block, name))

    def paired(self, block: Block) -> bool:
        """Whether a prose block has a twin: in a story, what opens a heading or asks the reader."""
        return not self.in_stories(block) or bool(block.kind) or block.source.startswith("#")

    def passages(self, lang: str) -> dict[str, list[Block]]:
        """Return a story's prose in a language, without what asks, by the ids of its headings."""
        found: dict[str, list[Block]] = {}
        for block in self.blocks:
            if block.lang == lang and not block.kind and self.in_stories(block):
                if block.source.startswith("#") or not found:
                    found[block.id] = []
                [*found.values()][-1].append(block)
        return found

    def original(self, block: Block) -> str | None:
        """Return what a translation is held against; None if there is nothing."""
        lang = self.langs[0]
        if self.in_stories(block) and not block.kind:
            passage = self.passages(lang).get(block.id)
            return "\n\n".join(each.source for each in passage) if passage else None
        twin = self.twins().get(block.id, {}).get(lang)
        return twin.source if twin else None

    def code(self) -> list[Block]:
        return [block for block in self.blocks if not block.lang]

    def blocks_of(self, framework: str, lang: str) -> list[Block]:
        """Return the prose of one language and the code of one framework, in order."""
        return [
            b
            for b in self.blocks
            if (b.lang in (None, lang) or b.kind == "reference") and self._is_in(b, framework)
        ]

    def denials_of(self, block: Block, framework: str) -> list[Block]:
        """Return the false measurements of a cell in one framework."""
        return [denial for denial in block.denials if self._is_in(denial, framework)]

    def plants_of(self, block: Block, framework: str) -> list[Block]:
        """Return the false lines for a cell in one framework."""
        return [plant for plant in block.plants if self._is_in(plant, framework)]

    def _is_in(self, block: Block, framework: str) -> bool:
        """Whether a framework's notebooks have a block, as far as its tags say."""
        return not (set(self.chapter.frameworks) - {framework}) & set(block.tags)

    def code_of(self, framework: str) -> list[Block]:
        """Return the code of one framework; a section may have none."""
        return [b for b in self.blocks_of(framework, self.langs[0]) if not b.lang]

    def words(self) -> set[str]:
        """Return every word of the code: what the prose may name."""
        return {w for block in self.code() for w in re.findall(r"\w+", translate(block.source))}

    def comments(self, block: Block, lang: str) -> list[str]:
        index = self.chapter.index(lang)
        return [pick(parts, index) for *_, parts in comments(block.source)]

    def translations(self, lang: str) -> dict[str, str]:
        """Return the strings of the code, each as a language has it."""
        return {k: v for block in self.code() for k, v in block.strings.get(lang, {}).items()}

    def code_in(self, block: Block, lang: str) -> str:
        """Return the code of a block with the comments and strings of a language."""
        source = put_strings(block.source, block.strings.get(lang, {}))
        return translate(source, self.chapter.index(lang))

    @cached_property
    def order(self) -> dict[str, int]:
        """Return the place of each block by where it stands; twins have the same."""
        places: dict[str, int] = {}
        return {b.where: places.setdefault(b.id or b.where, len(places)) for b in self.blocks}


@dataclass
class Entry:
    """A section as the others name it: the chapter's outline has one for each, in order."""

    name: str
    number: int  # 0 for what is not numbered: the index, the references
    titles: dict[str, str]  # By language
    frameworks: list[str]

    def title(self, lang: str) -> str:
        return f"{self.number}. {self.titles[lang]}" if self.number else self.titles[lang]


class Settings:
    """What holds for all texts: the languages, frameworks, addresses and order of the chapter."""

    def __init__(self, root: Path):
        self.root = root
        file = root / "chapters/text/glossary.yml"
        try:
            self.glossary = yaml.safe_load(read_text(file, root))
        except yaml.YAMLError as error:
            what = " ".join(str(error).split())
            raise BuildError(f"{file.relative_to(root)}: {what}") from None
        self.languages = self.glossary["languages"]
        try:
            self.frameworks = frameworks.load(root / "d2l_local/base/frameworks.ini")
        except ValueError as error:
            raise BuildError(str(error)) from None
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

    def word(self, lang: str, key: str) -> str:
        """Return what the builder itself writes in a language, else what it does in the first."""
        first = next(iter(self.glossary["languages"].values()))
        return str(self.languages.get(lang, {}).get(key, first[key]))

    def index(self, lang: str) -> int:
        """Return the place of a language in the table of languages."""
        return [*self.languages, lang].index(lang)

    def hosted(self, framework: str, lang: str, name: str) -> dict[str, str]:
        """Return where a notebook opens by a click, by host; none open it from off GitHub."""
        on_github = self.repository.partition("github.com/")[2]
        path = f"{on_github}/blob/main/chapters/{framework}/{lang}/{name}.ipynb"
        return {host: address + path for host, address in HOSTS.items() if on_github}

    def notebook_path(self, framework: str, lang: str, name: str) -> Path:
        return self.root / "chapters" / framework / lang / f"{name}.ipynb"


@dataclass
class Exercise:
    """A question and the code that belongs to it, in one framework."""

    question: Block
    before: list[Block]  # The code cells of the notebook up to the question
    parts: dict[str, list[Block]]  # Code by its kind
    prose: list[Block]  # Hints, and solutions in words

    @property
    def id(self) -> str:
        return self.question.id

    @property
    def is_open(self) -> bool:
        """Whether no code is asked for: readers compare their words with the solution's."""
        return not self.code()

    def code(self) -> list[Block]:
        """Return the code that a proof executes, one kind after the other."""
        return [block for kind in PARTS for block in self.parts[kind]]


def exercises(section: Section, framework: str) -> list[Exercise]:
    """Return the exercises of a section. Each goes on to the next prose of another kind."""
    found: list[Exercise] = []
    code: list[Block] = []
    inside = False
    for block in section.blocks_of(framework, section.langs[0]):
        if block.kind == "exercise":
            found.append(Exercise(block, list(code), {kind: [] for kind in CODE_KINDS}, []))
        if block.lang:
            goes_on = inside and block.kind in ("hint", "solution")
            if goes_on:
                found[-1].prose.append(block)
            inside = block.kind == "exercise" or goes_on
        elif inside and block.kind:
            found[-1].parts[block.kind].append(block)
        if not (block.lang or block.kind == "wrong" or inside and block.kind in OUT_OF_SIGHT):
            code.append(block)
    return found


def choices(source: str) -> list[str]:
    """Return the items of the ordered list of a question as Markdown; none asks for a number."""
    items: list[str] = []
    depth = 0
    for token in MarkdownIt("commonmark").parse(source):
        if token.type == "ordered_list_open" and not items:
            depth = 1
        elif token.type == "ordered_list_close":
            depth = 0
        elif depth and token.type == "list_item_open":
            items.append("")
        elif depth and token.type == "inline":
            items[-1] = f"{items[-1]}\n\n{token.content}".strip()
    return items


def reading_order(index: Iterable[str], names: Iterable[str]) -> list[str]:
    """Return sections' names as the prose of the index links them, the others after these."""
    linked = [found["name"] for source in index for found in LINK.finditer(source)]
    there = list(names)
    return [name for name in dict.fromkeys(["index", *linked, *there]) if name in there]


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
