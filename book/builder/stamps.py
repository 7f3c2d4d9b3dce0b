"""Stamps: which original a translation was last held against."""

from __future__ import annotations

import hashlib
import re

from book.builder.model import Block, Section
from book.builder.notebook import write


def stamp_of(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:8]


def stale(section: Section) -> list[Block]:
    """Return the translations whose original has changed since they were stamped."""
    original = section.langs[0]
    return [
        block
        for group in section.twins().values()
        for lang, block in group.items()
        if lang != original and original in group and block.of != stamp_of(group[original].source)
    ]


def restamp(section: Section) -> list[Block]:
    """Renew the stamps of stale blocks; nothing but their `of` changes in the file."""
    blocks = stale(section)
    if blocks:
        with open(section.path, encoding="utf-8", newline="") as file:
            lines = file.read().split("\n")
        for block in blocks:
            of = stamp_of(section.twins()[block.id][section.langs[0]].source)
            line = lines[block.line - 1]
            if block.of is None:
                line = re.sub(r"\s*\}(\s*)$", rf', "of": "{of}"}}\1', line)
            else:
                line = re.sub(r'("of"\s*:\s*)"[^"]*"', rf'\g<1>"{of}"', line)
            lines[block.line - 1] = line
        write(section.path, "\n".join(lines))
    return blocks
