"""What `make test-arm64` reads and runs is there, and all name the same packages for ARM."""

from __future__ import annotations

import re
from pathlib import Path

from d2l_local.prepare_mxnet import libraries

import arm64
import pytest

ROOT = Path(__file__).resolve().parents[2]
STAND_INS = libraries.INSTALL_STAND_INS.partition("install ")[2].split()


def test_the_dockerfile_installs_what_the_error_names():
    asked = arm64.instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    assert [name for name, _ in asked][0] == "FROM"
    [packages] = [argument for _, argument in asked if "apt-get install" in argument]
    assert STAND_INS and set(STAND_INS) <= set(packages.split())
    assert ("RUN", "make setup") in asked


@pytest.mark.parametrize("readme", ["README.md", "README.zh.md"])
def test_the_readme_says_it_before_the_error_does(readme):
    assert f"apt-get install {' '.join(STAND_INS)}" in (ROOT / readme).read_text(encoding="utf-8")


def test_instructions_are_in_one_line_each():
    text = "# A comment\nFROM a@b\nRUN one \\\n    && two\nUSER me\n"
    assert arm64.instructions(text) == [("FROM", "a@b"), ("RUN", "one && two"), ("USER", "me")]


def test_other_stages_do_not_count():
    text = "FROM a AS base\nRUN one\n\nFROM base AS other\nRUN two\n\nFROM base\nRUN three\n"
    assert arm64.instructions(text) == [("FROM", "a"), ("RUN", "one"), ("RUN", "three")]


def test_an_instruction_that_nobody_knows_is_no_success():
    with pytest.raises(SystemExit, match="does not know HEALTHCHECK yet"):
        arm64.Container().follow("HEALTHCHECK", "true")


def test_the_trials_name_files_that_are_there():
    named = re.findall(r"(?:tests|chapters)/\S+\.(?:py|cfg|ipynb)", " ".join(arm64.TRIALS.values()))
    assert len(named) > 5
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_what_is_made_smaller_is_in_the_notebooks():
    patterns = re.findall(r"s/(.+?)/.*?/", arm64.SMALLER)
    assert len(patterns) == 4
    texts = [(ROOT / f"chapters/mxnet/en/{n}.ipynb").read_text() for n in ("index", "hybridize")]
    for pattern in patterns:
        found = re.findall(pattern.replace("(", "[(]").replace(")", "[)]"), "".join(texts))
        assert len(found) == 1, pattern


def test_a_machine_that_cannot_emulate_is_told_what_to_install(monkeypatch):
    monkeypatch.setattr(arm64.os, "geteuid", lambda: 1000)
    assert "sudo make test-arm64" in arm64.missing()
    monkeypatch.setattr(arm64.os, "geteuid", lambda: 0)
    monkeypatch.setattr(arm64.shutil, "which", lambda program: None)
    assert "apt-get install qemu-user-static binfmt-support debootstrap" in arm64.missing()
    monkeypatch.setattr(arm64.shutil, "which", lambda program: f"/usr/bin/{program}")
    monkeypatch.setattr(arm64, "EMULATOR", Path("/nowhere/qemu-aarch64"))
    assert "update-binfmts --enable qemu-aarch64" in arm64.missing()
