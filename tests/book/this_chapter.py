"""The chapter of this checkout, whose texts all tests that only read them share."""

from __future__ import annotations

from pathlib import Path

from book.builder.text import Chapter

ROOT = Path(__file__).resolve().parents[2]
CHAPTER = Chapter(ROOT)
