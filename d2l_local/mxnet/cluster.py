"""A distributed MXNet job on this machine: scheduler, servers and workers, a process each.

MXNet has no launcher; a process is told its role by environment variables (`variables`). This
module starts the processes, watches them and ends them. What it took to do so reliably:

* A worker that waits for a dead one waits for ever, and so do server and scheduler: nothing in
  the job itself ends it. So the first process that fails ends the job.
* Nobody may be left when the program that started the job goes away, even by SIGKILL. Each process
  therefore holds the end of a pipe from it, and ends with its process group when the pipe closes.
* The scheduler numbers workers and servers in the order of their ports if they share one host.
  The ports are chosen in advance, so "worker 1" here is the worker whose ``kv.rank`` is 1.
* Scheduler and servers never get past ``import mxnet``, three quarters of which is scikit-learn,
  for an estimator class that they do not need; it is kept from them (3.7 to 1 second a process).
* A server of MXNet 1.9.1 decides by a flag that nobody initializes whether it keeps ``float64``
  values in ``float32``. With ``ZEROED_MEMORY`` the flag is false, as it is meant to be.
"""

from __future__ import annotations

import contextlib
import os
import runpy
import signal
import socket
import subprocess
import sys
import tempfile
import threading
import time
from pathlib import Path

HOST = "127.0.0.1"
POLL_SECONDS = 0.05
LAST_LINES = 15
# Lets glibc fill memory that it hands out with zeros (it inverts the 255). The small blocks that it
# recycles for each thread would be left out.
ZEROED_MEMORY = "glibc.malloc.perturb=255:glibc.malloc.tcache_count=0"


class ClusterError(RuntimeError):
    """A process of the job failed: ``role`` and ``rank`` say which one.

    ``code`` is its exit code, or minus the signal's number; ``waiting`` lists the processes that
    still ran at that time. All of them have been ended.
    """

    def __init__(self, role: str, rank: int, code: int, waiting: list[str], output: str):
        self.role, self.rank, self.code, self.waiting = role, rank, code, waiting
        message = f"{role} {rank} {self.reason}; ended with it: {', '.join(waiting) or 'none'}"
        last = "\n".join(output.strip().splitlines()[-LAST_LINES:])
        super().__init__(message + (f". Its last lines:\n{last}" if last else ""))

    @property
    def reason(self) -> str:
        """How the process ended, in words."""
        if self.code < 0:
            return f"was killed by {signal.Signals(-self.code).name}"
        return f"failed with exit code {self.code}"


def free_ports(n: int, host: str = HOST) -> list[int]:
    """``n`` distinct free TCP ports of ``host``, in ascending order."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind((host, 0))
        return sorted(each.getsockname()[1] for each in sockets)


def variables(role: str, num_workers: int, num_servers: int, port: int) -> dict[str, str]:
    """The environment variables that make a process part of a job on this machine.

    ``role`` is "scheduler", "server" or "worker"; ``port`` is the scheduler's. On several machines
    the same variables are set, with the scheduler's address in ``DMLC_PS_ROOT_URI`` and without
    the last two, which keep the job on the loopback interface.
    """
    return {
        "DMLC_ROLE": role,
        "DMLC_PS_ROOT_URI": HOST,
        "DMLC_PS_ROOT_PORT": str(port),
        "DMLC_NUM_WORKER": str(num_workers),
        "DMLC_NUM_SERVER": str(num_servers),
        "DMLC_INTERFACE": "lo",
        "DMLC_NODE_HOST": HOST,
    }


class Cluster:
    """A job of one scheduler, ``num_servers`` servers and ``num_workers`` workers.

    Every process runs ``program``, a module's name or the path of a ``.py`` file, with ``args``;
    importing MXNet turns scheduler and servers into what they are, and they get no further. The
    processes start with the ``with`` block and are gone when it ends, whatever happens:

        with Cluster("d2l_local.mxnet.train_lenet_dist", "--num_epochs", 2) as job:
            job.wait()

    ``seconds`` is the most that the job may take. ``environment`` is added to the processes'
    environment variables (None removes one).
    """

    def __init__(
        self,
        program: str | os.PathLike,
        *args: object,
        num_workers: int = 2,
        num_servers: int = 1,
        seconds: float = 120,
        **environment: object,
    ):
        for name, value in (("num_workers", num_workers), ("num_servers", num_servers)):
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise ValueError(f"{name} must be a positive integer, not {value!r}")
        if not seconds > 0:
            raise ValueError(f"seconds must be positive, not {seconds!r}")
        self.command = [os.fspath(program), *map(str, args)]
        self.num_workers, self.num_servers, self.seconds = num_workers, num_servers, seconds
        self.environment = environment
        self.processes: dict[tuple[str, int], subprocess.Popen] = {}
        self._outputs: dict[tuple[str, int], str] = {}
        self._folder: tempfile.TemporaryDirectory | None = None

    def __enter__(self) -> Cluster:
        if self._folder is not None or self.processes:
            raise RuntimeError("this job has been started already; make a new Cluster")
        self._folder = tempfile.TemporaryDirectory(prefix="d2l-cluster-")
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception) -> None:
        self.close()

    def _start(self) -> None:
        root, *ports = free_ports(1 + self.num_servers + self.num_workers)
        roles = [("scheduler", 0)]
        roles += [("server", rank) for rank in range(self.num_servers)]
        roles += [("worker", rank) for rank in range(self.num_workers)]
        self._deadline = time.monotonic() + self.seconds
        for (role, rank), port in zip(roles, [root, *ports]):
            environment = {
                **os.environ,
                **variables(role, self.num_workers, self.num_servers, root),
                "PORT": str(port),  # Where the process listens, and by that its rank
                "PYTHONUNBUFFERED": "1",
                **({"GLIBC_TUNABLES": ZEROED_MEMORY} if role == "server" else {}),
                **{key: str(value) for key, value in self.environment.items()},
            }
            for key in [key for key, value in self.environment.items() if value is None]:
                environment.pop(key)
            with open(self._log(role, rank), "wb") as log:
                self.processes[role, rank] = subprocess.Popen(
                    [sys.executable, "-c", _BOOTSTRAP, *self.command],
                    env=environment,
                    stdin=subprocess.PIPE,  # Never written to; it closes when we are gone
                    stdout=log,
                    stderr=subprocess.STDOUT,
                    start_new_session=True,  # So that its own children can be ended with it
                )

    def _log(self, role: str, rank: int) -> Path:
        return Path(self._folder.name, f"{role}-{rank}.log")

    def output(self, role: str, rank: int = 0) -> str:
        """What a process has printed so far. KeyError: the job has no such process."""
        if (role, rank) in self._outputs:
            return self._outputs[role, rank]
        self._process(role, rank)
        return self._log(role, rank).read_text(encoding="utf-8", errors="replace")

    def _process(self, role: str, rank: int) -> subprocess.Popen:
        if (role, rank) not in self.processes:
            names = [f"{role} {rank}" for role, rank in self.processes]
            raise KeyError(f"no {role} {rank}; the job has {', '.join(names) or 'not started'}")
        return self.processes[role, rank]

    def running(self) -> list[str]:
        """The processes that have not ended, such as ``"worker 1"``."""
        return [f"{role} {rank}" for (role, rank), p in self.processes.items() if p.poll() is None]

    def wait(self) -> None:
        """Wait until every process has ended.

        Raises ClusterError as soon as one fails, and TimeoutError when the job's time is over; in
        both cases all processes have been ended.
        """
        self._watch(lambda: not self.running(), "to end")

    def wait_for(self, text: str, role: str, rank: int = 0) -> None:
        """Wait until a process has printed ``text``. Errors as `wait`.

        RuntimeError: the process has ended without printing it.
        """

        def printed():
            ended = self._process(role, rank).poll() is not None
            if text in self.output(role, rank):
                return True
            if ended:
                raise RuntimeError(f"{role} {rank} has ended and did not print {text!r}")
            return False

        self._watch(printed, f"for {role} {rank} to print {text!r}")

    def _watch(self, done, what: str) -> None:
        while True:
            self._raise_failure()
            if done():
                return
            if time.monotonic() > self._deadline:
                running = ", ".join(self.running())
                self.close()
                raise TimeoutError(
                    f"the job was ended: after {self.seconds} seconds it still waited {what}; "
                    f"running until then: {running}"
                )
            time.sleep(POLL_SECONDS)

    def _raise_failure(self) -> None:
        for (role, rank), process in self.processes.items():
            if process.poll():
                waiting = self.running()
                self.close()
                output = self.output(role, rank)
                raise ClusterError(role, rank, process.returncode, waiting, output)

    def kill(self, role: str, rank: int = 0) -> None:
        """Kill one process with SIGKILL, as a crash of its machine would."""
        _kill(self._process(role, rank))

    def close(self) -> None:
        """End every process that still runs. Called at the end of the ``with`` block."""
        for process in self.processes.values():
            _kill(process)
        for key, process in self.processes.items():
            process.wait()
            process.stdin.close()
            if key not in self._outputs:
                self._outputs[key] = self.output(*key)
        if self._folder is not None:
            self._folder.cleanup()


def _kill(process: subprocess.Popen) -> None:
    # The group outlives its leader while a child of the leader runs.
    with contextlib.suppress(ProcessLookupError, PermissionError):
        os.killpg(process.pid, signal.SIGKILL)


# --- In the processes of the job ------------------------------------------------------------------

_BOOTSTRAP = (
    f"import runpy, sys; sys.path.insert(0, {str(Path(__file__).parents[2])!r}); "
    # By its path: importing it by its name would import MXNet before the process is ready for it.
    f"runpy.run_path({__file__!r})['_run_program']()"
)


def _run_program() -> None:
    threading.Thread(target=_end_with_parent, daemon=True).start()
    if os.environ["DMLC_ROLE"] != "worker":
        sys.modules["sklearn"] = None
    sys.argv = sys.argv[1:]
    program = sys.argv[0]
    if program.endswith(".py"):
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def _end_with_parent() -> None:
    os.read(0, 1)  # Not sys.stdin, whose lock would be held when Python shuts down
    os.killpg(0, signal.SIGKILL)
