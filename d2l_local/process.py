"""Functions run in a fresh Python process, for settings that MXNet reads only once."""

from __future__ import annotations

import contextlib
import inspect
import json
import os
import signal
import subprocess
import sys
import tempfile
import textwrap
from collections.abc import Callable
from pathlib import Path

import psutil

# Is told a process group, and ends it if it hears no more before our end of the pipe closes: a
# notebook's kernel that is restarted dies by SIGKILL, and a hanging child would hang on for ever.
_GUARD = ["sh", "-c", 'read -r group && { read -r over || kill -s KILL -- "-$group"; }']


def in_new_process(fn: Callable[[], object], seconds: float = 120, **environment: object):
    """Call ``fn()`` in a new Python process and return what it returned, by way of JSON.

    ``environment`` is added to the environment variables (None removes one). ``fn`` is a plain
    function without arguments; it travels as source text, so it must import all that it uses.
    What it prints appears here. Raises TimeoutError after ``seconds``, and RuntimeError with the
    process's last lines if it fails. No process is left behind, not even if this one is killed.
    """
    with tempfile.TemporaryDirectory(prefix="d2l-process-") as folder:
        result = Path(folder, "result.json")
        # Its folder comes first on sys.path: named after fn, it could take the place of a module.
        script = Path(folder, "d2l_in_new_process.py")
        script.write_text(_script(fn, result), encoding="utf-8")
        output = run([sys.executable, str(script)], seconds, fn.__name__, **environment)
        print(output, end="")
        return json.loads(result.read_text(encoding="utf-8"))


def _script(fn: Callable, result: Path) -> str:
    source = textwrap.dedent(inspect.getsource(fn))
    return (
        f"{source}\nimport json\n"
        f"with open({str(result)!r}, 'w', encoding='utf-8') as file:\n"
        f"    json.dump({fn.__name__}(), file)\n"
    )


def run(command: list[str], seconds: float, name: str, **environment: object) -> str:
    """Run a command and return its standard output; errors as of `in_new_process`."""
    variables = {**os.environ, **{key: str(value) for key, value in environment.items()}}
    for key in [key for key, value in environment.items() if value is None]:
        variables.pop(key)
    with subprocess.Popen(
        _GUARD, stdin=subprocess.PIPE, stderr=subprocess.DEVNULL, bufsize=0, start_new_session=True
    ) as guard:
        process = subprocess.Popen(
            command,
            env=variables,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,  # So that its own children can be ended with it
        )
        try:
            guard.stdin.write(b"%d\n" % process.pid)
            output, errors = process.communicate(timeout=seconds)
        except subprocess.TimeoutExpired:
            raise TimeoutError(f"{name} was ended: it still ran after {seconds} seconds") from None
        finally:
            _end(process)
            guard.stdin.write(b"over\n")
    if process.returncode:
        last = "\n".join(errors.strip().splitlines()[-15:])
        raise RuntimeError(f"{name} failed with exit code {process.returncode}:\n{last}")
    return output


def _end(process: subprocess.Popen) -> None:
    """End a process, its session, and what it started in sessions of their own."""
    try:
        started = psutil.Process(process.pid).children(recursive=True)
    except psutil.NoSuchProcess:
        started = []
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    for child in started:
        with contextlib.suppress(psutil.NoSuchProcess):
            child.kill()
    process.wait()
