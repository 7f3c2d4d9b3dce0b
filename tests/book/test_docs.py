"""The READMEs and the lock files say what is so."""

import ast
import re
from pathlib import Path

from d2l_local.base import frameworks

import pytest

ROOT = Path(__file__).resolve().parents[2]


DOCUMENTS = sorted(ROOT.glob("*.md")) + sorted(ROOT.glob("docs/*.md"))
each_document = pytest.mark.parametrize(
    "document", DOCUMENTS, ids=lambda path: path.relative_to(ROOT).as_posix()
)


@each_document
def test_relative_links_lead_somewhere(document):
    text = document.read_text("utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert link.startswith("http") or (document.parent / link).exists(), link
    labels = re.findall(r"^\[(.+?)\]: ", text, re.MULTILINE)
    assert set(re.findall(r"\]\[(.+?)\]", text)) == set(labels)


COMMANDS = (".github/workflows/*.yml", ".devcontainer/*", "Dockerfile", "chapters/text/index.md")


@pytest.mark.parametrize(
    "file",
    [*DOCUMENTS, *(path for pattern in COMMANDS for path in ROOT.glob(pattern))],
    ids=lambda path: path.name,
)
def test_make_targets_that_are_named_exist(file):
    targets = set(re.findall(r"^([a-z\d-]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    named = re.findall(
        r"(?:^|[`\"]|\$ |: |RUN )make ([a-z][a-z\d-]*)", file.read_text("utf-8"), re.MULTILINE
    )
    gone = {"test-arm64", "test-matrix"} if file.name == "CHANGELOG.md" else set()
    assert set(named) - gone <= targets


# Made by set-up, and by whoever adds the language of the example.
TO_COME = ("d2l_local/cuda", "d2l_local/base/languages/ja.json", "build/web-screenshots/")


@each_document
def test_files_named_in_the_documents_exist(document):
    folders = r"book|build|chapters|d2l_local|docs|img|requirements|tests|\.github"
    named = re.findall(rf"`((?:{folders})/[\w./-]+)`", document.read_text("utf-8"))
    for path in named:
        assert path in TO_COME or (ROOT / path).exists(), path


@each_document
def test_names_of_modules_in_the_documents_are_what_they_say(document):
    """Such as `d2l_local.install.builds.CUDA_LIBRARIES`; also in what a traceback shows."""
    for name in set(re.findall(r"\b(?:d2l_local|book)(?:\.\w+)+", document.read_text("utf-8"))):
        parts, path = name.split("."), ROOT
        while parts and (path / parts[0]).is_dir():
            path /= parts.pop(0)
        path = path / f"{parts.pop(0)}.py" if parts and (path / f"{parts[0]}.py").exists() else path
        module = path / "__init__.py" if path.is_dir() else path
        assert not parts or parts[0] in defined(module), name


def defined(module: Path) -> set[str]:
    """The functions, classes and variables that a module, not what it imports, defines."""
    names = set()
    for node in ast.parse(module.read_text("utf-8")).body:
        names |= {getattr(node, "name", "")}
        names |= {t.id for t in getattr(node, "targets", ()) if isinstance(t, ast.Name)}
    return names


# PyTorch's pin has no hashes, because the machine decides which of its builds it gets.
LOCKS = sorted({path.name for path in (ROOT / "requirements").glob("*")} - {"torch.txt"})


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_files_pin_everything_and_name_no_address(lock):
    text = (ROOT / "requirements" / lock).read_text()
    assert not re.search(r"\w+://|--(extra-)?index-url|--find-links", text)
    pins = re.findall(r"^[a-z0-9][^ ]*(?: ;[^\\]*)? ?\\$", text, re.MULTILINE)
    assert pins and all("==" in pin for pin in pins)
    assert len(re.findall(r"^[a-z0-9]", text, re.MULTILINE)) == len(pins)  # Each with hashes


def test_the_memory_that_is_warned_of_is_what_was_measured():
    text = (ROOT / "docs/machines.md").read_text(encoding="utf-8")
    measured = re.findall(r"^\| `\S+` \|" + r" ([\d.]+|–) \|" * 4 + "$", text, re.MULTILINE)
    assert len(measured) == len({path.stem for path in ROOT.glob("chapters/*/en/*.ipynb")}) - 1
    columns = [[float(value) for value in column if value != "–"] for column in zip(*measured)]
    most_of = {"mxnet": max(*columns[0], *columns[1]), "pytorch": max(*columns[2], *columns[3])}
    for name, most in most_of.items():
        assert most <= float(frameworks.load()[name].memory) <= most + 0.1, name


def test_the_section_quotes_the_training_as_it_is():
    text = (ROOT / "chapters/text/parameterserver.md").read_text("utf-8")
    program = (ROOT / "d2l_local/mxnet/train_lenet_dist.py").read_text("utf-8")
    quotes = re.findall(r"^```python\n(kv\..*?)^```", text, re.MULTILINE | re.DOTALL)
    lines = [line.strip() for line in quotes[0].splitlines() if line.strip() != "..."]
    assert len(quotes) == 2 and quotes[0] == quotes[1] and len(lines) > 8
    found = [program.index(line) for line in lines[:3]]  # In this order, and no line twice
    assert found == sorted(found) and all(line in program for line in lines)
