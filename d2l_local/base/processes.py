"""Processes that this one starts, watches and ends: the one place that does.

Each is started as the leader of a process group of its own, with a variable in its environment that
all it starts inherit, so that they are ended with it, in whatever group or session they are; and
none is left when this process goes away, not even if that is killed (`Guarded`). Only the standard
library is needed here, because `d2l_local.doors.preflight` runs where more is missing; psutil finds
those that have left the group, and on Windows, where there are no groups, all but the first.
"""

from __future__ import annotations

import contextlib
import json
import numbers
import os
import secrets
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import IO, Any

from d2l_local.base.definitions import check_function, source

LAST_LINES = 15  # Of what a process that failed had to say
SECONDS = 600  # What hangs is ended then; a busy host may need many for what does not
LONGEST = 1_000_000  # Seconds, 11 days; the system's own calls overflow at 24
START = 600  # Seconds until a process that says when it has begun has done so
FOLDERS = "d2l-tmp-"  # How the names of temporary folders begin

# What nobody can refuse; and what keeps a process out of our session or console, so that Ctrl-C in
# our terminal does not end it.
_APART: dict[str, Any]
if sys.platform == "win32":
    KILL, _APART = signal.SIGTERM, {"creationflags": subprocess.CREATE_NO_WINDOW}
else:
    KILL, _APART = signal.SIGKILL, {"start_new_session": True}

# Runs `guard`, isolated from the modules that lie where the notebook or PYTHONPATH is.
_GUARD = f"""
import sys
sys.path.append({str(Path(__file__).parents[2])!r})
from d2l_local.base import processes
processes.guard()
"""


class Guarded:
    """Process groups that are gone when the block ends, or when this process dies within it.

        with processes.Guarded() as guarded:
            process = guarded.start(command, stdout=subprocess.PIPE)

    What they start ends with them.
    """

    def __init__(self) -> None:
        # The environment variable by which all that was started here is known
        self.mark = f"D2L_JOB_{secrets.token_hex(8)}"
        self._groups: list[int] = []
        self._started: list[subprocess.Popen[Any]] = []
        self._guard: subprocess.Popen[Any] | None = None

    def __enter__(self) -> Guarded:
        self._guard = subprocess.Popen(
            [sys.executable, "-I", "-c", _GUARD],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            bufsize=0,
            **_APART,
        )
        self._tell(self.mark)
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def start(self, command: list[str], **options: Any) -> subprocess.Popen[Any]:
        """Start a command in a process group of its own; ``options`` are those of `Popen`."""
        if self._guard is None:  # Nobody would end the command
            raise RuntimeError(f"start {command[0]} inside of the block `with Guarded() as …:`")
        env = options.pop("env", None)  # None is the one of this process, as for Popen
        env = {**(os.environ if env is None else env), self.mark: "1"}
        process = subprocess.Popen(command, env=env, **_APART, **options)
        self._started.append(process)
        self.watch(process.pid)
        return process

    def watch(self, group: int) -> None:
        """Take charge of a process group that somebody else has started."""
        self._groups.append(group)
        self._tell(str(group))

    def end(self) -> None:
        """Kill all that was started here, and all that they started."""
        end(self.mark, self._groups)

    def close(self) -> None:
        """Kill all, and wait for those that were started here. Called as the block ends."""
        if self._guard is None:
            return
        guard = self._guard
        try:
            self.end()
            for process in self._started:
                process.wait()
                for stream in (process.stdin, process.stdout, process.stderr):
                    if stream:
                        with contextlib.suppress(OSError):  # What is written, it has never read
                            stream.close()
            guard.kill()  # It is not needed any more
        finally:  # After an interrupt, too; then it is the guard that kills
            if guard.stdin:
                guard.stdin.close()
            self._guard, self._groups, self._started = None, [], []
            guard.wait()

    def _tell(self, line: str) -> None:
        if self._guard and self._guard.stdin:
            with contextlib.suppress(BrokenPipeError):  # Somebody has killed the guard
                self._guard.stdin.write(f"{line}\n".encode())


def guard() -> None:
    """End what the standard input names, once it is closed: a mark, then groups, a line each.

    That is what a guard is for: a notebook's kernel that is restarted is killed, and a child that
    hangs would stay. While the kernel is there it ends its processes itself, and then the guard.
    """
    mark, *groups = sys.stdin.read().split()
    end(mark, map(int, groups))


def end(mark: str, groups: Iterable[int]) -> None:
    """Kill process groups, and all processes that have the variable ``mark`` in their environment.

    A process may have started another while it was looked for, so until no new one is found.
    """
    for group in groups:
        kill(group)
    known: set[int] = set()
    while found := _marked(mark) - known:
        for pid in found:
            with contextlib.suppress(OSError):
                os.kill(pid, KILL)
        known |= found


def kill(group: int) -> None:
    """Kill a process group; on Windows, which has none, the process of that number."""
    with contextlib.suppress(OSError):  # There is none any more, or it is not ours
        if sys.platform == "win32":
            os.kill(group, KILL)
        else:  # The group outlives its leader while a child of the leader runs
            os.killpg(group, KILL)


def _marked(mark: str) -> set[int]:
    try:
        import psutil
    except ImportError:  # The package is not installed whole; its groups are ended nevertheless
        return set()
    found = set()
    for process in psutil.process_iter():
        with contextlib.suppress(psutil.Error, OSError):  # It has ended, or is another user's
            if mark in process.environ():
                found.add(process.pid)
    return found


# --- Commands -------------------------------------------------------------------------------------


def completed(
    command: list[str],
    seconds: float,
    name: str,
    to: IO[str] | None = None,
    begun: Path | None = None,
    /,
    **environment: object,
) -> subprocess.CompletedProcess[str]:
    """Run a command to its end; its output is text, in which ``�`` stands for what is no UTF-8.

    A Python writes UTF-8, whatever this machine's own encoding.
    ``environment`` is added to the environment variables (None removes one). Raises TimeoutError,
    in which ``name`` says what was ended, after ``seconds``, and ValueError if ``seconds`` is not
    a positive number. Where the command says that it has ``begun`` by making that file, seconds
    count from then on, since a busy host may take many to start it. Nothing that the command has
    started is left behind. Its standard output is also written ``to`` a file, even if it took too
    long.
    """
    check_seconds(seconds)
    with Guarded() as guarded:
        process = guarded.start(
            command,
            env=variables({"PYTHONIOENCODING": "utf-8", **environment}),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
        )
        limit, what = (START, "had not begun") if begun else (seconds, "still ran")
        deadline = time.monotonic() + limit
        while True:
            try:
                left = deadline - time.monotonic()
                output, errors = process.communicate(timeout=max(0, min(1, left)))
                break
            except subprocess.TimeoutExpired:
                if begun and begun.exists():
                    begun, limit, what = None, seconds, "still ran"
                    deadline = time.monotonic() + limit
                if time.monotonic() > deadline:
                    if to:
                        guarded.end()
                        to.write(_last_words(process))
                    message = f"{name} was ended: it {what} after {limit} seconds"
                    raise TimeoutError(message) from None
                if process.poll() is not None:  # What it has left behind holds its pipes open
                    guarded.end()
    if to:
        to.write(output)
    return subprocess.CompletedProcess(command, process.returncode, output, errors)


def _last_words(process: subprocess.Popen[str]) -> str:
    """What a process had said when it was ended; nothing if somebody still holds its pipes."""
    with contextlib.suppress(subprocess.TimeoutExpired):
        return process.communicate(timeout=5)[0]
    return ""


def run(
    command: list[str],
    seconds: float,
    name: str,
    to: IO[str] | None = None,
    begun: Path | None = None,
    /,
    **environment: object,
) -> str:
    """Run a command and return its standard output.

    As `completed`, and raises RuntimeError with the last lines of its errors if it fails.
    """
    done = completed(command, seconds, name, to, begun, **environment)
    if done.returncode:
        raise RuntimeError(f"{name} {how_it_ended(done.returncode)}:\n{last_lines(done.stderr)}")
    return done.stdout


def variables(changes: Mapping[str, object]) -> dict[str, str]:
    """The environment variables of this process with changes; None removes one."""
    changed = {**os.environ, **{name: str(value) for name, value in changes.items()}}
    return {name: value for name, value in changed.items() if changes.get(name, "") is not None}


def check_seconds(seconds: float) -> None:
    """Raise ValueError unless ``seconds`` is a number that can be waited for."""
    number = isinstance(seconds, numbers.Real) and not isinstance(seconds, bool)
    if not (number and 0 < seconds <= LONGEST):
        raise ValueError(
            f"seconds must be a positive number of at most {LONGEST:,}, not {seconds!r}"
        )


def how_it_ended(code: int) -> str:
    """An exit code, or minus a signal's number, in words: ``was killed by SIGKILL``."""
    if code >= 0:
        # Windows has no signals, but codes like 0xc0000005, by which they are known
        shown = code if code < 2**16 else hex(code)
        return f"{'failed' if code else 'ended'} with exit code {shown}"
    try:
        return f"was killed by {signal.Signals(-code).name}"
    except ValueError:  # Most real-time signals have no name
        return f"was killed by signal {-code}"


def last_lines(text: str) -> str:
    """The end of what a process has said."""
    return "\n".join(text.strip().splitlines()[-LAST_LINES:])


# --- Functions ------------------------------------------------------------------------------------


def in_new_process(
    fn: Callable[[], object], seconds: float = SECONDS, **environment: object
) -> Any:
    """Call ``fn()`` in a new Python process and return what it returned, by way of JSON.

    For settings that a framework reads only once. ``environment`` is added to the environment
    variables (None removes one). ``fn`` is a plain function without arguments; it travels as source
    text, so it must import all that it uses. What it prints appears here. Raises TimeoutError
    ``seconds`` after it was called, RuntimeError with the process's last lines if it fails or ends
    before ``fn`` returns, TypeError unless ``fn`` is a function, ValueError unless ``seconds`` is a
    positive number. No process is left behind, not even if this one is killed.
    """
    check_seconds(seconds)
    check_function(fn)
    text = source(fn)
    with temporary_folder() as folder:
        result = Path(folder, "result.json")
        # Its folder comes first on sys.path: named after fn, it could take the place of a module.
        script = Path(folder, "d2l_in_new_process.py")
        # What is ours comes last, so that fn may have any name.
        last = f"_keep_result(_fn, {folder!r})"
        lines = (text, f"_fn = {fn.__name__}", source(_keep_result), last)
        script.write_text("\n\n".join(lines), encoding="utf-8")
        # Not buffered, so that what it has printed is here when it is ended
        command = [sys.executable, "-u", str(script)]
        run(command, seconds, fn.__name__, sys.stdout, Path(folder, "begun"), **environment)
        if not result.exists():
            raise RuntimeError(f"{fn.__name__} ended its process before it returned; let it return")
        return json.loads(result.read_text(encoding="utf-8"))


def _keep_result(fn: "Callable[[], object]", folder: str) -> None:  # noqa: UP037
    # Runs in the new process, as text, where no name in an annotation is known.
    import json
    import pathlib

    pathlib.Path(folder, "begun").touch()
    try:
        result = fn()
    except SystemExit as error:
        raise RuntimeError(f"{fn.__name__} called sys.exit({error.code}); let it return") from error
    pathlib.Path(folder, "result.json").write_text(json.dumps(result), encoding="utf-8")


# --- Temporary folders ----------------------------------------------------------------------------


@contextlib.contextmanager
def temporary_folder(where: str | os.PathLike[str] | None = None) -> Iterator[str]:
    """A folder for the block, in ``where`` or among temporary files.

    Raises OSError, with what to do, where no folder can be made.
    """
    try:
        folder = tempfile.TemporaryDirectory(prefix=FOLDERS, dir=where)
    except OSError as error:
        cure = "make room" if where else "make room, or name another folder in TMPDIR"
        here = os.fspath(where or tempfile.gettempdir())
        raise OSError(error.errno, f"{error.strerror}; {cure}", here) from None
    with folder as path:
        yield path
