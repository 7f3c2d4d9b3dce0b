"""The READMEs and the lock files say what is so."""

import re
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]


def title(notebook: Path) -> str:
    first = nbformat.read(notebook, 4).cells[0].source
    return first.splitlines()[0].removeprefix("# ")


READMES = sorted(path.name for path in ROOT.glob("README*.md"))


@pytest.mark.parametrize("readme", READMES)
def test_readme_lists_every_notebook_under_its_title(readme):
    text = (ROOT / readme).read_text(encoding="utf-8")
    listed = set(re.findall(r"\[([^]]+)\]\((chapters/[^)]+\.ipynb)\)", text))
    notebooks = (ROOT / "chapters").glob("*/*/*.ipynb")
    assert listed == {(title(path), path.relative_to(ROOT).as_posix()) for path in notebooks}


@pytest.mark.parametrize("readme", [*READMES, "CONTRIBUTING.md"])
def test_relative_links_lead_somewhere(readme):
    text = (ROOT / readme).read_text(encoding="utf-8")
    for link in re.findall(r"\]\(([^)#]+)\)", text):
        assert link.startswith("http") or (ROOT / link).exists(), link


def test_make_targets_named_in_the_documents_exist():
    targets = set(re.findall(r"^([a-z]+):", (ROOT / "Makefile").read_text(), re.MULTILINE))
    for document in (*READMES, "CONTRIBUTING.md", "chapters/text/index.md"):
        text = (ROOT / document).read_text(encoding="utf-8")
        named = set(re.findall(r"(?:^|`)make ([a-z]+)", text, re.MULTILINE))
        assert named <= targets, (document, named - targets)


# PyTorch's pin has no hashes, because the machine decides which of its builds it gets.
LOCKS = sorted({path.name for path in (ROOT / "requirements").glob("*")} - {"torch.txt"})


@pytest.mark.parametrize("lock", LOCKS)
def test_lock_files_pin_everything_and_name_no_address(lock):
    text = (ROOT / "requirements" / lock).read_text()
    assert not re.search(r"\w+://|--(extra-)?index-url|--find-links", text)
    pins = re.findall(r"^[a-z0-9][^ ]*(?: ;[^\\]*)? ?\\$", text, re.MULTILINE)
    assert pins and all("==" in pin for pin in pins)
    assert len(re.findall(r"^[a-z0-9]", text, re.MULTILINE)) == len(pins)  # Each with hashes
