"""One more framework and one more language are data: this is how CONTRIBUTING adds them.

A copy of the tree gets a row of the table of frameworks, a module that keeps the contract, and a
section in English and Japanese, a language that no other section has.
"""

from __future__ import annotations

import fcntl
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from urllib.parse import unquote

from book.builder.notebook import read_notebook

import pytest

ROOT = Path(__file__).parents[2]
GROWN = Path(__file__).parent / "grown"
WEB_PYTHON = ROOT / ".venv-web/bin/python"
SITE_READY = WEB_PYTHON.exists() and (ROOT / "book/web/node_modules").is_dir()

pytestmark = pytest.mark.timeout(300)


@pytest.fixture(scope="module")
def grown(tmp_path_factory):
    """Return the tree with a third framework and a third language, and what was built of them."""
    folder = tmp_path_factory.getbasetemp()
    if "PYTEST_XDIST_WORKER" in os.environ:
        folder = folder.parent  # One tree for all processes: it takes some time to make
    with open(folder / "grown.lock", "w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        if not (folder / "grown").exists():
            grow(folder / "growing")
            (folder / "growing").rename(folder / "grown")
    return folder / "grown"


def grow(root):
    ignored = shutil.ignore_patterns(".*", "node_modules", "__pycache__")
    for folder in ("book", "chapters", "d2l_local", "docs", "img", "requirements"):
        shutil.copytree(ROOT / folder, root / folder, ignore=ignored)
    for file in (*ROOT.glob("*.md"), ROOT / "Makefile", ROOT / "pyproject.toml", ROOT / "LICENSE"):
        shutil.copy(file, root)
    with open(root / "d2l_local/base/frameworks.ini", "a", encoding="utf-8") as table:
        table.write((GROWN / "frameworks.ini").read_text(encoding="utf-8"))
    (root / "d2l_local/fake").mkdir()
    shutil.copy(GROWN / "fake.py", root / "d2l_local/fake/__init__.py")
    shutil.copy(GROWN / "tiny.md", root / "chapters/text/tiny.md")
    (root / "requirements/fake.txt").touch()  # Which `make lock` compiles
    project = (root / "pyproject.toml").read_text(encoding="utf-8")
    project = project.replace('"mxnet | torch"', '"mxnet | torch | fake"')
    (root / "pyproject.toml").write_text(project, encoding="utf-8")
    table = '{"lines": {"Done": "完了"}}'
    (root / "d2l_local/base/languages/ja.json").write_text(table, encoding="utf-8")
    run(root, "-m", "book.builder", "stamp", "--section", "tiny")
    run(root, "-m", "book.builder", "build", "--section", "tiny")


def run(root, *arguments, python=sys.executable):
    """Run Python in the tree and return what it prints; fail with that where it fails."""
    done = subprocess.run(
        [python, *arguments],
        cwd=root,
        env={**os.environ, "PYTHONPATH": str(root)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_it_is_built_in_its_languages_and_checked(grown):
    made = {str(p.relative_to(grown / "chapters")) for p in grown.glob("chapters/fake/*/*.ipynb")}
    assert made == {"fake/en/tiny.ipynb", "fake/ja/tiny.ipynb"}
    japanese = (grown / "chapters/fake/ja/tiny.ipynb").read_text(encoding="utf-8")
    assert "小さな節" in japanese and "100.0" in japanese
    assert "1ばかりの100列では\\n" in japanese and "columns of ones give" not in japanese
    assert "完了: 0." in japanese  # What d2l_local's table lacks stays English
    english = (grown / "chapters/fake/en/tiny.ipynb").read_text(encoding="utf-8")
    assert "100 columns of ones give\\n" in english and "D2L_LANGUAGE" not in english
    readme = (grown / "README.md").read_text("utf-8")
    assert re.search(r"\| \[\d+\. A Tiny Section\]\(chapters/fake/en/tiny.ipynb\)", readme)
    # With a section that knows nothing of the new framework and language
    run(grown, "-m", "book.builder", "check", "--section", "tiny", "index")


def test_its_notebooks_run_and_pass_as_tests(grown):
    table = run(grown, "-m", "book.builder", "run", "--framework", "fake")
    assert len(re.findall(r"^fake/tiny +(?:en|ja) +fake\(0\), fake\(1\).* ok$", table, re.M)) == 2
    options = ["-q", "-p", "no:cacheprovider", "-p", "book.nbval", "--nbval"]
    said = run(grown, "-m", "pytest", *options, "chapters/fake")
    assert re.search(r"^\d+ passed", said, re.M) and "failed" not in said


def test_an_exercise_is_judged_out_of_sight(grown):
    for lang, said in (("en", "Not right: 100: those are the rows"), ("ja", "それは行の数です")):
        cells = read_notebook(grown / f"chapters/fake/{lang}/tiny.ipynb").cells
        [check] = [cell for cell in cells if "d2l.check" in cell.source]
        assert check.source == 'd2l.check("ex-entries", answer)'
        assert [o["data"]["text/plain"][:7] for o in check.outputs] == ["Not yet"]
        [solution] = [cell for cell in cells if "x.size" in cell.source]
        assert solution.cell_type == "markdown" and solution.source.startswith("<details>")
        assert not any("10_000" in cell.source for cell in cells)
        asked = (
            f"import os; os.environ['D2L_LANGUAGE'] = {lang!r}\n"
            "from d2l_local import fake as d2l\n"
            "d2l.check('ex-entries', 10_000); d2l.check('ex-entries', 100)\n"
        )
        told = run(grown, "-c", asked).splitlines()
        assert told[0] == "Right." and said in told[1]


def test_a_run_records_its_version(grown):
    asked = "from book.builder import provenance; print(*provenance.packages())"
    assert "fakeflow" in run(grown, "-c", asked).split()


def test_it_keeps_the_contract(grown):
    path = [str(ROOT / "tests")]
    run(
        grown,
        "-c",
        f"import sys; sys.path[:0] = {path!r}\n"
        "import os, pathlib, tempfile, contract, small_data\n"
        "os.environ['D2L_DATA'] = tempfile.mkdtemp()\n"
        "small_data.write(pathlib.Path(os.environ['D2L_DATA']), 8, 4)\n"
        "from d2l_local.doors.preflight import backend\n"
        "contract.keep(backend('fake'))\n",
    )


def test_it_stands_on_the_floor_of_frameworks(grown):
    asked = "from importlinter import cli; raise SystemExit(cli.lint_imports(no_cache=True))"
    assert "0 broken" in run(grown, "-c", asked)


def test_the_workflows_test_it_on_each_of_its_pythons(grown):
    told = run(grown, "-m", "d2l_local.base.frameworks", "matrix")
    assert '"pytorch", "fake"]\n' in told and told.count('{"framework": "fake"') == 5


def test_make_and_the_preflight_check_know_it(grown):
    assert run(grown, "-m", "d2l_local.base.frameworks").split()[-1] == "fake"
    done = subprocess.run(
        ["make", "--dry-run", "test", "FRAMEWORK=fake"],
        cwd=grown,
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert ".venv-fake/bin/python -m pytest --quiet" in done.stdout, done.stderr
    assert "setup --framework fake" in done.stdout and "chapters/fake" in done.stdout
    assert "Fakeflow" in run(
        grown, "-c", "from d2l_local.doors import preflight as p; print(p.table(p.examine()))"
    )


@pytest.mark.skipif(not SITE_READY, reason="the web book's tools are not set up: make setup-web")
def test_the_web_book_shows_it_without_a_dead_link(grown, tmp_path):
    (grown / "book/web/node_modules").symlink_to(ROOT / "book/web/node_modules")
    out = tmp_path / "html"
    run(grown, "-m", "book.web", "--out", str(out), python=str(WEB_PYTHON))
    assert "小さな節" in (out / "ja/tiny.html").read_text(encoding="utf-8")
    assert "Fakeflow" in (out / "en/tiny.html").read_text(encoding="utf-8")
    dead = []
    for page in out.rglob("*.html"):
        for link in re.findall(r'(?:href|src)="([^"#?]+)', page.read_text(encoding="utf-8")):
            if not re.match(r"\w+:|//", link) and not (page.parent / unquote(link)).exists():
                dead.append(f"{page.relative_to(out)}: {link}")
    assert dead == []
