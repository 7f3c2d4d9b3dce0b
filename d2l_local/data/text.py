"""A text to learn a language from, the same for all readers and in both languages of the book."""

from __future__ import annotations

from pathlib import Path

FILE = Path(__file__).with_name("english.txt")  # This book's own prose, as it was in November 2026
LENGTH = 100_000


def load_text() -> str:
    """Return 100,000 characters of English, 74 different ones, all ASCII.

    Paragraphs of this book, frozen: the last 10,000 characters are from all of its sections, and
    serve as a test. Raises ``ValueError`` if the file is not as it was published.
    """
    text = FILE.read_bytes().decode("ascii", errors="replace").replace("\r\n", "\n")
    if len(text) != LENGTH:
        raise ValueError(f"{FILE} is damaged: {len(text)} characters; install d2l_local again")
    return text
