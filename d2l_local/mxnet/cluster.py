"""A distributed MXNet job on this machine: scheduler, servers and workers, a process each.

MXNet has no launcher; a process is told its role by environment variables (`variables`). This
module starts the processes, watches them and ends them. What it took to do so reliably:

* A worker that waits for a dead one waits for ever, and so do server and scheduler: nothing in
  the job itself ends it. So the first process that fails ends the job.
* Nobody may be left when the program that started the job goes away, even by SIGKILL, which is
  what `d2l_local.base.processes.Guarded` sees to.
* A server restores the optimizer with `pickle`, and so runs what anybody sends who can reach its
  port, as every user of this machine can. Workers sign it with a key that only the job has
  (`d2l_local.mxnet.member`). Scheduler and servers work in the job's own folder, since a stranger
  may also have a server delete and write the file of a profile. More than that cannot be kept from
  other users of this machine: MXNet asks for no password, so they can crash the job or change what
  it computes.
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
import secrets
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

from d2l_local.base import processes
from d2l_local.base.arguments import positive_integer
from d2l_local.mxnet import member

HOST = "127.0.0.1"
POLL_SECONDS = 0.05
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
        last = processes.last_lines(output)
        super().__init__(message + (f". Its last lines:\n{last}" if last else ""))

    @property
    def reason(self) -> str:
        """How the process ended, in words."""
        return processes.how_it_ended(self.code)


def free_ports(n: int) -> list[int]:
    """``n`` distinct free TCP ports of this machine's loopback interface, in ascending order."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(n)]
        for each in sockets:
            each.bind((HOST, 0))
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
    importing MXNet turns scheduler and servers into what they are, and they get no further; their
    current folder is the job's. The processes start with the ``with`` block and are gone when it
    ends, whatever happens:

        with Cluster("d2l_local.mxnet.train_lenet_dist", "--num_epochs", 2) as job:
            job.wait()

    All users of this machine can reach the job. A server restores nothing that they send, but they
    can crash it or change what it computes, because MXNet asks for no password.

    ``seconds`` is the most that the job may take. ``environment`` is added to the processes'
    environment variables (None removes one).
    """

    def __init__(
        self,
        program: str | os.PathLike,
        *args: object,
        num_workers: int = 2,
        num_servers: int = 1,
        seconds: float = processes.SECONDS,
        **environment: object,
    ):
        self.num_workers = positive_integer("num_workers", num_workers)
        self.num_servers = positive_integer("num_servers", num_servers)
        processes.check_seconds(seconds)
        self.seconds = seconds
        self.command = [os.fspath(program), *map(str, args)]
        self.environment = environment
        self.processes: dict[tuple[str, int], subprocess.Popen] = {}
        self._outputs: dict[tuple[str, int], str] = {}
        self._guarded = processes.Guarded()
        self._block = contextlib.ExitStack()  # What ends with the block
        self._state = "not started"

    def __enter__(self) -> Cluster:
        if self._state != "not started":
            raise RuntimeError("this job has been started already; make a new Cluster")
        self._state = "running"
        try:
            self._start()
        except BaseException:
            self.close()
            raise
        return self

    def __exit__(self, *exception: object) -> None:
        self.close()

    def _start(self) -> None:
        self._folder = Path(self._block.enter_context(processes.temporary_folder()))
        self._block.enter_context(self._guarded)
        root, *ports = free_ports(1 + self.num_servers + self.num_workers)
        roles = [("scheduler", 0)]
        roles += [("server", rank) for rank in range(self.num_servers)]
        roles += [("worker", rank) for rank in range(self.num_workers)]
        self._deadline = time.monotonic() + self.seconds
        key = secrets.token_hex()
        for (role, rank), port in zip(roles, [root, *ports]):
            changes = {
                **variables(role, self.num_workers, self.num_servers, root),
                "PORT": port,  # Where the process listens, and by that its rank
                "PYTHONUNBUFFERED": 1,
                "PYTHONIOENCODING": "utf-8",
                **({"GLIBC_TUNABLES": ZEROED_MEMORY} if role == "server" else {}),
                **self.environment,
                member.KEY: key,
                member.FOLDER: self._folder,
            }
            with open(self._log(role, rank), "wb") as log:
                self.processes[role, rank] = self._guarded.start(
                    [sys.executable, member.__file__, *self.command],
                    env=processes.variables(changes),
                    stdin=subprocess.DEVNULL,
                    stdout=log,
                    stderr=subprocess.STDOUT,
                )

    def _log(self, role: str, rank: int) -> Path:
        return self._folder / f"{role}-{rank}.log"

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
        both cases all processes have been ended. RuntimeError: the job does not run, because this
        is not inside its ``with`` block.
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

    def _watch(self, done: Callable[[], bool], what: str) -> None:
        if self._state != "running":
            raise RuntimeError(
                f"the job is {self._state}: it runs inside `with Cluster(...) as job:` and can be "
                "waited for only there"
            )
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
                lost = self._cannot_write(role, rank)
                self.close()
                output = self.output(role, rank) + lost
                raise ClusterError(role, rank, process.returncode, waiting, output)

    def _cannot_write(self, role: str, rank: int) -> str:
        # A process that finds no room for its output fails for that reason and cannot say so.
        try:
            with open(self._log(role, rank), "ab", buffering=0) as log:
                log.write(b"\n")
        except OSError as error:
            return (
                f"\nThe rest of its output is lost: {error.strerror}, in {self._folder}; make room "
                "there, or name another folder in TMPDIR"
            )
        return ""

    def kill(self, role: str, rank: int = 0) -> None:
        """Kill one process with SIGKILL, as a crash of its machine would."""
        processes.kill(self._process(role, rank).pid)

    def close(self) -> None:
        """End every process that still runs. Called at the end of the ``with`` block."""
        if self._state != "running":
            return
        try:
            self._guarded.close()
            for role, rank in self.processes:
                self._outputs[role, rank] = self.output(role, rank)
        finally:
            self._state = "over"
            self._block.close()
