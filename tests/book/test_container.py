"""The container: what VS Code and Codespaces open, and whom its JupyterLab lets in."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import urllib.error
import urllib.request
from pathlib import Path

from d2l_local.base import frameworks
from d2l_local.install import setup
from d2l_local.prepare_mxnet import libraries

import pytest
from helpers import until

ROOT = Path(__file__).resolve().parents[2]
FOLDER = ROOT / ".devcontainer"
DOCKERFILE = (ROOT / "Dockerfile").read_text("utf-8")
COMMAND = json.loads(re.search("^CMD (.+)", DOCKERFILE, re.MULTILINE)[1])


def devcontainer() -> dict:
    return json.loads((FOLDER / "devcontainer.json").read_text("utf-8"))


def test_vs_code_takes_the_python_that_make_setup_makes():
    read = devcontainer()
    assert read["updateContentCommand"] == "make setup"  # Before the editor shows the notebooks
    settings = read["customizations"]["vscode"]["settings"]
    folder, _, python = settings["python.defaultInterpreterPath"].partition("/")
    assert folder == "${containerWorkspaceFolder}"
    assert ROOT / python == setup.environment(frameworks.default()).python
    assert "ms-toolsai.jupyter" in read["customizations"]["vscode"]["extensions"]


def test_the_base_is_pinned_and_the_port_is_this_machine_s():
    bases = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", DOCKERFILE, re.MULTILINE)
    outside = [base for base, _ in bases if base not in {stage for _, stage in bases}]
    assert outside and all(re.search("@sha256:[0-9a-f]{64}$", base) for base in outside)
    for file in (ROOT / "Dockerfile", *ROOT.glob("README*.md")):
        ports = re.findall(r"docker run .*-p (\S+)", file.read_text("utf-8"))
        assert ports == ["127.0.0.1:8888:8888"], file  # Else any host of the network may ask


def test_on_arm_the_container_and_the_readme_install_what_the_error_names():
    needed = libraries.INSTALL_STAND_INS.partition("install ")[2]
    assert f"        {needed} " in DOCKERFILE
    for readme in ROOT.glob("README*.md"):
        assert libraries.INSTALL_STAND_INS in readme.read_text("utf-8"), readme


def test_nothing_but_the_token_lets_anybody_into_jupyterlab(tmp_path):
    """Jupyter itself makes the token, unless an option or a file switches that off."""
    pytest.importorskip("jupyterlab")
    assert "--ip=0.0.0.0" in COMMAND  # Else the container's port leads nowhere
    options = [option for option in COMMAND[1:] if option != "--ip=0.0.0.0"]
    nobody_s = {"HOME": str(tmp_path), "JUPYTER_CONFIG_DIR": str(tmp_path)}
    nobody_s |= {"JUPYTER_RUNTIME_DIR": str(tmp_path)}
    process = subprocess.Popen(
        [sys.executable, *options, "--ip=127.0.0.1", "--port=0"],
        cwd=ROOT,
        env={**{k: v for k, v in os.environ.items() if "JUPYTER" not in k}, **nobody_s},
        stderr=subprocess.PIPE,
        text=True,
    )
    try:
        said = []
        for line in process.stderr:
            said.append(line)
            if found := re.search(r"(http://127\.0\.0\.1:\d+/)lab/tree/\S+\?token=(\w+)", line):
                break
        else:
            pytest.fail("".join(said))
        address, token = found.groups()
        assert len(token) >= 32
        assert until(lambda: status(address, ""))  # It says its address before it listens
        assert [status(address, asked) for asked in ("", "?token=", "?token=1")] == [403] * 3
        assert status(address, f"?token={token}") == 200
    finally:
        process.kill()
        process.wait()
        process.stderr.close()


def status(address: str, token: str) -> int | None:
    """What JupyterLab answers to who asks for the folder's contents; None if nobody answers."""
    try:
        with urllib.request.urlopen(f"{address}api/contents{token}", timeout=60) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        error.close()
        return error.code
    except urllib.error.URLError:
        return None
