"""tests/bare: what is installed on a machine is hidden from a command, and nothing is left."""

from __future__ import annotations

import json
import os
import pwd
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="namespaces are Linux's")
BARE = [sys.executable, str(Path(__file__).resolve().parents[1] / "bare")]
PROGRAMS = ["cc", "gcc-12", "x86_64-linux-gnu-g++-9", "clang++", "cl", "npm", "node", "conda"]
OTHERS = ["git", "node-gyp", "clang-format"]
VARIABLES = {
    **dict.fromkeys(["D2L_DATA", "MXNET_HOME", "MXNET_GLUON_REPO", "PIP_FIND_LINKS"], "/set"),
    **dict.fromkeys(
        ["UV_INDEX", "JUPYTER_PATH", "IPYTHONDIR", "MPLCONFIGDIR", "MPLBACKEND"], "set"
    ),
    **dict.fromkeys(["XDG_CACHE_HOME", "XDG_CONFIG_HOME", "PYTHONPATH", "CXX"], "/set"),
}
KEPT = {"LANG": "C.UTF-8", "TERM": "xterm", "https_proxy": "http://localhost:9"}
CACHE = Path(pwd.getpwuid(os.getuid()).pw_dir, ".cache")

# A machine with fonts, a data set and a cache, in a mount namespace of its own.
FULL = f"""
mount -t tmpfs none /usr/share
mkdir /usr/share/fonts /usr/share/datasets
touch /usr/share/fonts/one.ttf /usr/share/datasets/images
if [ -d {CACHE} ]; then mount -t tmpfs none {CACHE}; touch {CACHE}/downloaded; fi
exec "$@"
"""
PROBE = """
import ctypes, json, os, shutil, socket, subprocess, sys, tempfile
from pathlib import Path

def runs(command):
    try: return subprocess.run(command).returncode == 0
    except OSError: return False

def loads(name):
    try: return bool(ctypes.CDLL(name))
    except OSError: return False

def talks():
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            return bool(socket.create_connection(server.getsockname(), 5))
    except OSError: return False

listed = [os.environ["HOME"], tempfile.gettempdir(), "/usr/share/fonts", "/usr/share/datasets"]
cache, *names = sys.argv[1:]
print(json.dumps({
    "programs": [name for name in names if shutil.which(name) or runs([name])],
    "variables": dict(os.environ),
    "folders": [sorted(os.listdir(f)) if os.path.isdir(f) else None for f in [*listed, cache]],
    "libgomp": loads("libgomp.so.1"),
    "interfaces": [name for _, name in socket.if_nameindex()],
    "loopback": talks(),
    "who": [os.getuid(), os.getgid(), os.getcwd()],
}))
"""


@pytest.fixture
def machine(tmp_path):
    """The variables of a machine on which much is installed; and a folder of temporary files."""
    for folder in ("bin", "home", "tmp"):
        (tmp_path / folder).mkdir()
    (tmp_path / "home" / ".bashrc").touch()
    (tmp_path / "tmp" / "left over").touch()
    for name in (*PROGRAMS, *OTHERS):
        program = tmp_path / "bin" / name
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    folders = {"HOME": str(tmp_path / "home"), "TMPDIR": str(tmp_path / "tmp"), "PATH": path}
    return {**os.environ, **VARIABLES, **KEPT, **folders}


@pytest.fixture
def full():
    """The beginning of a command that runs on a machine with fonts, a data set and a cache."""
    for user in ([], ["--user", "--map-root-user"]):
        command = ["unshare", *user, "--mount", "--net"]
        done = subprocess.run([*command, "true"], capture_output=True, text=True)
        if not done.returncode:
            return [*command[:-1], "sh", "-euc", FULL, "full"]
    pytest.skip(f"no namespaces are permitted here: {done.stderr.strip()}")


def seen(command, machine, **options):
    probe = [sys.executable, "-I", "-c", PROBE, str(CACHE), *PROGRAMS, *OTHERS]
    done = subprocess.run(
        [*command, *probe], env=machine, capture_output=True, text=True, timeout=100, **options
    )
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout), done.stderr


def bare_variables(variables):
    return not VARIABLES.keys() & variables.keys() and KEPT.items() <= variables.items()


def test_what_is_installed_is_hidden(full, machine, tmp_path):
    before, _ = seen(full, machine, cwd=tmp_path)
    after, errors = seen([*full, *BARE, "--offline"], machine, cwd=tmp_path)
    assert before["programs"] == [*PROGRAMS, *OTHERS] and after["programs"] == OTHERS
    assert VARIABLES.items() <= before["variables"].items() and bare_variables(after["variables"])
    full_cache, empty_cache = (["downloaded"], []) if CACHE.is_dir() else (None, None)
    installed = [[".bashrc"], ["left over"], ["one.ttf"], ["images"], full_cache]
    assert before["folders"] == installed and after["folders"] == [[], [], [], [], empty_cache]
    assert not after["libgomp"]
    assert after["interfaces"] == ["lo"] and after["loopback"]
    assert before["who"] == after["who"] and not errors
    assert os.listdir(machine["TMPDIR"]) == ["left over"]


def test_a_user_stays_who_he_is(machine):
    """Although only root of a namespace may hide anything in it. This user has no home."""
    user = ["unshare", "--user", "--map-user=12345", "--map-group=12345"]
    if subprocess.run([*user, "unshare", "--user", "true"], capture_output=True).returncode:
        pytest.skip("users may make no namespaces here")
    found, errors = seen([*user, *BARE, "--offline"], machine)
    assert found["who"][:2] == [12345, 12345] and not errors
    assert found["programs"] == OTHERS and found["interfaces"] == ["lo"]


def test_without_namespaces_home_and_variables_are_bare(machine, tmp_path):
    machine["PATH"] = str(tmp_path / "bin")
    found, errors = seen([*BARE, "--offline"], machine)
    assert bare_variables(found["variables"]) and found["folders"][:2] == [[], []]
    assert found["programs"] == [*PROGRAMS, *OTHERS]
    assert errors == (
        "bare: no namespaces are permitted here, so what is installed stays visible, and so does "
        "the network\n"
    )
    assert os.listdir(machine["TMPDIR"]) == ["left over"]


@pytest.mark.parametrize("path", ["/nowhere", os.environ["PATH"]], ids=["without", "namespaces"])
def test_the_command_s_own_options_and_exit_status_are_kept(machine, path):
    machine["PATH"] = path
    program = "import sys; sys.exit(sys.argv[1:] == ['--offline', '-x'] and 7)"
    command = [*BARE, sys.executable, "-c", program, "--offline", "-x"]
    assert subprocess.run(command, env=machine).returncode == 7
    assert os.listdir(machine["TMPDIR"]) == ["left over"]
