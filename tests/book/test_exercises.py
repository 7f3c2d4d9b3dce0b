"""What the builder makes of a text beyond plain prose and code, on small texts of plain Python."""

from __future__ import annotations

from pathlib import Path

from book.build.notebook import read_notebook
from book.build.text import Chapter, Section, restamp

ROOT = Path(__file__).resolve().parents[2]
HEAD = """\
---
frameworks: [pytorch, mxnet]
---

+++ {"lang": "en", "id": "intro"}
# Title

Words.

+++ {"lang": "zh", "id": "intro"}
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


def write(root: Path, body: str) -> Section:
    """Return a section made of `body` between a title and a summary, stamped, in `root`."""
    folder = root / "chapters/text"
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "glossary.yml").write_bytes((ROOT / "chapters/text/glossary.yml").read_bytes())
    project = '[project.urls]\nRepository = "https://github.com/someone/somewhere"\n'
    (root / "pyproject.toml").write_text(project)
    (folder / "small.md").write_text(HEAD + body + END, "utf-8")
    restamp(Chapter(root).sections()[0])
    return Chapter(root).sections()[0]


def code(source: str, *tags: str, **options: str) -> str:
    lines = [f":tags: [{', '.join(tags)}]"] if tags else []
    lines += [f":{key}: {value}" for key, value in options.items()]
    return "\n".join(["\n```{code-cell}", *lines, source, "```\n"])


def prose(id: str, en: str, zh: str, **keys: str) -> str:
    more = "".join(f', "{key}": "{value}"' for key, value in keys.items())
    return (
        f'\n+++ {{"lang": "en", "id": "{id}"{more}}}\n{en}\n'
        f'\n+++ {{"lang": "zh", "id": "{id}"{more}}}\n{zh}\n'
    )


# ---- Where a cell comes from ---------------------------------------------------------------------


def described(section, framework, lang="en"):
    return [cell.metadata["d2l_local"] for cell in section.notebook(framework, lang).cells]


def test_cells_say_where_they_come_from(tmp_path):
    section = write(tmp_path, code("1") + code("2", "pytorch") + code("3", "mxnet") + code("4"))
    both = ["mxnet", "pytorch"]  # As the table of frameworks has them, not the front matter
    assert described(section, "mxnet") == [
        {"id": "title", "frameworks": both, "order": 0},
        {"id": "setup", "frameworks": both, "order": 0},
        {"id": "intro", "frameworks": both, "order": 0},
        {"id": "intro_1", "frameworks": both, "order": 1},
        {"id": "intro_2", "frameworks": ["mxnet"], "order": 3},
        {"id": "intro_3", "frameworks": both, "order": 4},
        {"id": "end", "frameworks": both, "order": 5},
    ]
    assert described(section, "mxnet", "zh") == described(section, "mxnet")
    assert [d["order"] for d in described(section, "pytorch")] == [0, 0, 0, 1, 2, 4, 5]
    for framework in both:
        cells = section.notebook(framework, "en").cells
        assert [cell.id for cell in cells] == [d["id"] for d in described(section, framework)]


def test_committed_cells_say_where_they_come_from():
    chapter = Chapter(ROOT)
    for section in chapter.sections():
        for framework in section.frameworks:
            path = chapter.notebook(framework, section.langs[0], section.name)
            for cell in read_notebook(path).cells:
                told = cell.metadata["d2l_local"]
                assert told["id"] == cell.id and framework in told["frameworks"], cell.id
