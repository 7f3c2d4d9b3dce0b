"""What of a text belongs to one language: in code, the comments."""

from __future__ import annotations

import io
import re
import tokenize


def comments(source: str) -> list[tuple[int, int, str, list[str]]]:
    """Return row, column, mark and parts of each comment; one written twice has two parts."""

    def tokens(text):
        return list(tokenize.generate_tokens(io.StringIO(text).readline))

    try:
        found = tokens(source)
    except (tokenize.TokenError, SyntaxError):  # Shell lines and magics are not Python
        try:
            found = tokens(re.sub(r"(?m)^\s*[%!].*$", "", source))
        except (tokenize.TokenError, SyntaxError):
            return []
    result = []
    for token in found:
        if token.type == tokenize.COMMENT:
            mark = re.match(r"#\s*", token.string)[0]
            parts = re.split(r"\s\|(?:\s|$)", token.string[len(mark) :])
            row, column = token.start
            result.append((row - 1, column, mark, [part.strip() for part in parts]))
    return result


def pick(parts: list[str], index: int) -> str:
    """Return the part of a comment that a language reads, which may be empty."""
    return parts[index if index < len(parts) else 0]


def translate(source: str, index: int | None = None) -> str:
    """Keep of each comment the part of the language at `index`; with None, drop all comments."""
    lines = source.split("\n")
    for row, column, mark, parts in reversed(comments(source)):
        before = lines[row][:column]
        part = "" if index is None else pick(parts, index)
        if part:
            if len(parts) > 1:
                lines[row] = before + mark + part
        elif before.strip():
            lines[row] = before.rstrip()
        elif index is None or len(parts) > 1:  # One language needs fewer lines than the other
            del lines[row]
    return "\n".join(lines)
