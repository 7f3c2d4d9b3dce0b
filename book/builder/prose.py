"""A prose block as the reader sees it.

A Markdown parser reads it, so that code, math and links are told from words the way a notebook
tells them.
"""

from __future__ import annotations

import functools
import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field

from book.builder.values import ROLE, without_quotes

from markdown_it import MarkdownIt
from markdown_it.token import Token
from mdit_py_plugins.dollarmath import dollarmath_plugin

PARSER = MarkdownIt("commonmark").enable("table").use(dollarmath_plugin, double_inline=True)


@dataclass
class Prose:
    """What is in a prose block; code and math leave a mark in the texts."""

    headings: list[tuple[int, str]] = field(default_factory=list)  # (level, text)
    code: set[str] = field(default_factory=set)
    math: set[str] = field(default_factory=set)
    links: Counter[str] = field(default_factory=Counter)
    texts: list[str] = field(default_factory=list)
    quoted: Counter[str] = field(default_factory=Counter)  # Numbers of outputs, by name
    raw: list[str] = field(default_factory=list)  # MyST that GitHub would show as it stands

    @property
    def text(self) -> str:
        return "\n".join(self.texts)

    @property
    def numbers(self) -> Counter[str]:
        found = re.findall(r"\d+(?:,\d{3})*(?:\.\d+)?", self.text)
        return Counter(number.replace(",", "") for number in found)


@functools.cache  # A check reads each block for its words, its links and its terms
def read(source: str) -> Prose:
    prose, level = Prose(quoted=Counter(ROLE.findall(source))), None
    for token in PARSER.parse(without_quotes(source)):
        if token.type == "heading_open":
            level = int(token.tag[1])
        elif token.type in ("fence", "code_block"):
            prose.code.add(token.content.strip())
            if token.info.startswith("{"):
                prose.raw.append(f"```{token.info}")
        elif token.type.startswith("math_block"):
            prose.math.add(formula(token.content))
        elif token.type == "html_block":
            prose.texts.append(re.sub(r"<[^>]+>", "", token.content))
        elif token.type == "inline":
            read_inline(token.children or [], prose)
            if level:
                prose.headings.append((level, prose.texts[-1].strip()))
                level = None
    return prose


def read_inline(tokens: Iterable[Token], prose: Prose) -> None:
    text = ""
    for token in tokens:
        if token.type == "text":
            text += token.content
        elif token.type in ("softbreak", "hardbreak"):
            text += " "
        elif token.type == "code_inline":
            role = re.search(r"(\{[\w:-]+\}|:[\w-]+:)$", text)
            if role:
                prose.raw.append(f"{role[1]}`{token.content}`")
            prose.code.add(token.content)
            text += "`"
        elif token.type.startswith("math_inline"):
            prose.math.add(formula(token.content))
            text += "$"
        elif token.type == "link_open":
            prose.links[str(token.attrGet("href"))] += 1
        elif token.type == "image":
            prose.links[str(token.attrGet("src"))] += 1
    prose.raw += re.findall(r"^(?::::.*|\([\w-]+\)=)", text)
    prose.texts.append(text)


def formula(source: str) -> str:
    """Return a formula without spaces and words, which each language writes its own way."""
    return re.sub(r"\s+", "", re.sub(r"\\text\{[^}]*\}", r"\\text{}", source))
