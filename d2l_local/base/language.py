"""What d2l_local prints and draws, in the notebook's language (``D2L_LANGUAGE``, else English).

The languages are data, ``d2l_local/base/languages/<language>.json``: under ``lines`` each English
template and its translation, with the same fields; for a language that Matplotlib's own font cannot
write, families that can under ``fonts``: first one of ``d2l_local/fonts``, then those of systems.
Errors and warnings stay English, so that what one finds about them is found.
"""

from __future__ import annotations

import functools
import json
import os
import re
import unicodedata
from collections.abc import Callable
from pathlib import Path
from typing import TypedDict

FOLDER = Path(__file__).parent / "languages"
# By these lines the builder tells outputs that a reader should not see in the book.
SKIPPED = "skipped: this cell needs {n} GPUs, and this machine has {here}"
SKIPPED_1 = "skipped: this cell needs {n} GPU, and this machine has {here}"

# What no line break may divide: a Chinese character with the punctuation around it, or a word
WIDE = "\u2e80-\uffef"
PIECES = re.compile(rf"[（《“]*[{WIDE}][，。：；、？！）》”]*|[^\s{WIDE}]+\s*|\s+")


def language() -> str:
    """The language in force: one that has a table, else ``"en"``."""
    asked = os.environ.get("D2L_LANGUAGE", "en")
    return asked if asked in _known() else "en"


def translated(template: str, /, **fields: object) -> str:
    """A template in the language in force, if that has it, with its fields filled (if any)."""
    template = table(language())["lines"].get(template, template)
    return template.format(**fields) if fields else template


def catalog(module: str) -> Callable[..., str]:
    """What a module says in the language in force, by ``<module>.<language>.json`` beside it.

    Given the module's file, it returns a function ``translated("{0} is too many", n)``, which
    fills the template's places, if any values are given. What no file has stays as it is.
    """

    @functools.cache
    def lines(lang: str) -> dict[str, str]:
        file = Path(module).with_suffix(f".{lang}.json")
        found: dict[str, str] = json.loads(file.read_text("utf-8")) if file.exists() else {}
        return found

    def translated(template: str, *values: object) -> str:
        template = lines(language()).get(template, template)
        return template.format(*values) if values else template

    return translated


def say(template: str, /, **fields: object) -> None:
    """Print a line in the language in force."""
    print(translated(template, **fields))


def counted(number: int, thing: str) -> str:
    """A number of things in an English line: ``1 GPU``, ``2 GPUs``."""
    return f"{number} {thing}{'' if number == 1 else 's'}"


def beginnings(template: str) -> list[str]:
    """How a line begins in each language, up to its first field."""
    lines = [template, *(table(lang)["lines"].get(template, template) for lang in sorted(_known()))]
    return list(dict.fromkeys(line.partition("{")[0] for line in lines))


def padded(text: str, width: int) -> str:
    """Fill text with spaces up to a width in columns, of which a Chinese character takes two."""
    return text + " " * (width - columns(text))


def columns(text: str) -> int:
    """The width of a text in columns of a terminal."""
    return len(text) + sum(unicodedata.east_asian_width(character) in "WF" for character in text)


def wrapped(text: str, width: int) -> str:
    """Break text into lines of at most so many columns, between words or Chinese characters."""
    lines = [""]
    for piece in PIECES.findall(text):
        if columns((lines[-1] + piece).rstrip()) > width and lines[-1]:
            lines.append("")
        lines[-1] += piece
    return "\n".join(line.rstrip() for line in lines)


class Table(TypedDict):
    """What a language's file says."""

    lines: dict[str, str]
    fonts: list[str]


@functools.cache
def table(lang: str) -> Table:
    """What a language's file says, with nothing in it for a language that has none."""
    if lang not in _known():
        return {"lines": {}, "fonts": []}
    said = json.loads((FOLDER / f"{lang}.json").read_text("utf-8"))
    return {"lines": said["lines"], "fonts": said.get("fonts", [])}


@functools.cache
def _known() -> frozenset[str]:
    return frozenset(path.stem for path in FOLDER.glob("*.json"))
