"""The matrix counts what passed and failed, and says what is wrong with a run."""

import subprocess
import sys
from pathlib import Path

from d2l_local.install import uv

import matrix
import pytest

TESTS = """
import pytest

def test_right(): pass

def test_wrong(): assert 1 + 1 == 3, "arithmetic"

def test_left_out(): pytest.skip("not here")

@pytest.fixture
def broken(): raise OSError("no disk")

def test_without_fixture(broken): pass
"""


@pytest.fixture
def run(tmp_path):
    def run(source: str, *options: str) -> matrix.Outcome:
        (tmp_path / "test_some.py").write_text(source)
        path = ["-c", str(tmp_path / "none.ini"), str(tmp_path / "test_some.py")]
        (tmp_path / "none.ini").write_text("[pytest]\n")
        return matrix.run_tests(Path(sys.executable), tmp_path / "report.xml", [*path, *options])

    return run


def test_counts(run):
    outcome = run(TESTS)
    assert (outcome.passed, outcome.skipped) == (1, 1)
    wrong, broken = outcome.failures
    assert "test_wrong" in wrong and "arithmetic" in wrong
    assert "test_without_fixture" in broken and "no disk" in broken


def test_a_file_that_cannot_be_imported_fails(run):
    outcome = run("import no_such_module_at_all")
    assert outcome.passed == 0 and len(outcome.failures) == 1


def test_nothing_selected_is_no_failure_and_no_file_is_one(run):
    assert run(TESTS, "-k", "nothing_is_called_so").failures == []
    [failure] = run(TESTS, "/no/such/file.py").failures
    assert "exit code 4" in failure


def test_a_run_that_hangs_is_ended(run, monkeypatch):
    monkeypatch.setattr(matrix, "SECONDS", 3)
    [failure] = run("import time\n\ndef test_slow(): time.sleep(600)").failures
    assert "3 seconds" in failure


@pytest.mark.skipif(not uv.found(), reason="there is no uv")
def test_pythons_are_found(tmp_path, monkeypatch):
    monkeypatch.setattr(matrix, "BUILD", tmp_path)
    here = f"{sys.version_info.major}.{sys.version_info.minor}"
    found = matrix.find_python(here)
    assert subprocess.check_output([found, "-V"], text=True).startswith(f"Python {here}.")
    assert matrix.python_version(found).startswith(f"{here}.")
    assert matrix.find_python("3.99") is None
    with pytest.raises(RuntimeError, match="uv python find failed"):
        matrix.find_python("--no-such-option")
