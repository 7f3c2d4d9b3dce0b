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
    return [
        block
        for block in section.blocks
        if block.lang in section.langs[1:] and block.kind != "reference" and section.paired(block)
        if (original := section.original(block)) is not None and block.of != stamp_of(original)
    ]


def restamp(section: Section) -> list[Block]:
    """Renew the stamps of stale blocks; nothing but their `of` changes in the files."""
    blocks = stale(section)
    for path in sorted({section.path.with_name(block.file) for block in blocks}):
        with open(path, encoding="utf-8", newline="") as file:
            lines = file.read().split("\n")
        for block in [block for block in blocks if block.file == path.name]:
            of = stamp_of(section.original(block) or "")
            line = lines[block.line - 1]
            if block.of is None:
                line = re.sub(r"\s*\}(\s*)$", rf', "of": "{of}"}}\1', line)
            else:
                line = re.sub(r'("of"\s*:\s*)"[^"]*"', rf'\g<1>"{of}"', line)
            lines[block.line - 1] = line
        write(path, "\n".join(lines))
    return blocks
