"""A small chapter: the book's languages and frameworks, and texts that a test writes."""

from __future__ import annotations

import shutil
from pathlib import Path

from book.builder import check
from book.builder.check.problem import ERROR
from book.builder.model import Section
from book.builder.stamps import restamp
from book.builder.text import Chapter

ROOT = Path(__file__).resolve().parents[2]
BEGIN = """\
---
frameworks: [{frameworks}]
---

+++ {{"lang": "en", "id": "intro"}}
# Title

Words.

+++ {{"lang": "zh", "id": "intro"}}
# 题目

文字。
"""
END = """
+++ {"lang": "en", "id": "end"}
## Summary

## Exercises

+++ {"lang": "zh", "id": "end"}
## 小结

## 练习
"""


def bilingual(body: str, frameworks: str) -> str:
    """Return a text in two languages: a title, ``body`` and a summary."""
    return BEGIN.format(frameworks=frameworks) + body + END


def errors(section: Section) -> list[str]:
    """Return what `check` refuses of a text by itself."""
    return [str(problem) for problem in check.text(section) if problem.level == ERROR]


def make(root: Path, **texts: str) -> Chapter:
    """Return a chapter in ``root`` with texts of these names, stamped."""
    folder = root / "chapters/text"
    folder.mkdir(parents=True, exist_ok=True)
    (root / "d2l_local/base").mkdir(parents=True, exist_ok=True)
    for path in ("chapters/text/glossary.yml", "d2l_local/base/frameworks.ini"):
        shutil.copyfile(ROOT / path, root / path)
    (root / "pyproject.toml").write_text(
        '[project.urls]\nRepository = "https://github.com/someone/somewhere"\n'
    )
    for name, source in texts.items():
        (folder / f"{name}.md").write_text(source, "utf-8")
    chapter = Chapter(root)
    for section in chapter.sections():
        restamp(section)
    return chapter
