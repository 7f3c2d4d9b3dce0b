"""Execute a notebook in a kernel of its own, of which nothing is left."""

from __future__ import annotations

import contextlib
import os
import re
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

from book.builder import pictures, retry
from book.builder.notebook import BuildError, code_cells, may_fail
from d2l_local.base import processes

from nbformat import NotebookNode

if TYPE_CHECKING:
    from book.builder.benchmark_guard import BenchmarkGuard

    from nbclient import NotebookClient

CELL_SECONDS = 1200  # They end what hangs; a busy host may need as many for what does not
NOTEBOOK_SECONDS = 2400


def execute(
    notebook: NotebookNode,
    folder: Path,
    root: Path,
    again: list[str] | None = None,
    guard: BenchmarkGuard | None = None,
) -> None:
    """Execute a notebook in place in a new kernel, which is gone at the end, whatever happens.

    Where there is a list ``again``, cells that measure have a second try (`book.builder.retry`),
    and it gets their ids. A ``guard`` sees each cell. Raises BuildError, naming the
    cell, on an error, a dead kernel or a time-out.
    """
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    client = new_client(notebook, NOTEBOOK_SECONDS)
    if guard:
        guard.start()
    with processes.temporary_folder() as home, kernel(client, environment(home, root), folder):
        limits = f"{CELL_SECONDS} s a cell, {NOTEBOOK_SECONDS} s a notebook"
        for number, cell in enumerate(notebook.cells):
            try:
                execute_cell(client, cell, number, limits)
            except BuildError:
                code = code_cells(notebook)
                index = code.index(cell)
                if again is None or not retry.claim_failed(code, index, cell.outputs):
                    raise
                again.append(cell.id)
                for i in retry.to_measure_again(code, index):
                    execute_cell(client, code[i], notebook.cells.index(code[i]), limits)
                execute_cell(client, cell, number, limits)
            if guard:
                guard.after_cell(cell)
        if guard:
            guard.stop()
    if guard:
        guard.finish()


def new_client(notebook: NotebookNode, seconds: float) -> NotebookClient:
    """Return what executes the notebook's cells, in this time from now on."""
    from nbclient import NotebookClient

    end = time.monotonic() + seconds
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        coalesce_streams=True,
        record_timing=False,
        shutdown_kernel="immediate",  # A process that ends by itself may hang in doing so
        iopub_timeout=60,  # On a busy machine outputs may trail; without them nothing is written
        raise_on_iopub_timeout=True,
        timeout_func=lambda cell: max(1, min(CELL_SECONDS, end - time.monotonic())),
    )
    client.log.disabled = True  # Its errors come back as exceptions, and are shown once
    return client


def environment(home: str, root: Path) -> dict[str, str]:
    """Return the kernel's variables: this repository's code, and nothing of the user's habits.

    What it leaves among temporary files goes with ``home``, also where it is killed.
    """
    env = dict(os.environ, IPYTHONDIR=home, TMPDIR=home)  # No history, no start-up files
    env.pop("MPLBACKEND", None)  # The kernel chooses the backend that shows figures
    env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), env.get("PYTHONPATH")]))
    # Matplotlib only warns about a character that it draws as a box.
    env["PYTHONWARNINGS"] = ",".join(filter(None, [env.get("PYTHONWARNINGS"), "error:Glyph"]))
    return env


@contextlib.contextmanager
def kernel(client: NotebookClient, env: dict[str, str], folder: Path) -> Iterator[None]:
    """Have a kernel for the client in that folder; it is gone afterwards, and all it started."""
    from jupyter_core.utils import run_sync

    manager: Any = client.create_kernel_manager()  # An asynchronous one, which its type denies
    # This Python, whatever kernel the user has registered under the same name.
    launch = ["-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
    manager.kernel_spec.argv = [sys.executable, *launch]
    manager.connection_file = file = str(Path(env["IPYTHONDIR"], "connection.json"))  # Goes with it
    # Through files beside it: no port that another kernel might take first; if the names are short.
    if os.name == "posix" and len(os.fsencode(file)) < 90:
        manager.transport = "ipc"
    with processes.Guarded() as guarded, contextlib.ExitStack() as stack:
        stack.callback(lambda: manager.has_kernel and run_sync(manager.shutdown_kernel)(now=True))
        try:
            marked = {**env, guarded.mark: "1"}
            stack.enter_context(client.setup_kernel(env=marked, cwd=str(folder)))
        except RuntimeError as error:  # From the wait for its first answer
            raise BuildError(f"the kernel did not start: {error}") from None
        # With all that it starts, which may outlive it
        guarded.watch(manager.provisioner.pgid or manager.provisioner.pid)
        yield


def execute_cell(client: NotebookClient, cell: NotebookNode, number: int, limits: str) -> None:
    """Execute a cell in place; `limits` says in an error how long it might have taken."""
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    try:
        client.execute_cell(cell, number)
    except CellExecutionError as error:
        raise BuildError(describe(cell, error.traceback or str(error))) from None
    except CellTimeoutError as error:
        what = " ".join(str(error).splitlines()[:2])
        raise BuildError(describe(cell, f"{what} ({limits})")) from None
    except DeadKernelError as error:
        raise BuildError(describe(cell, f"the kernel died: {error}")) from None
    for output in cell.get("outputs", []):
        if png := output.get("data", {}).get("image/png"):
            output["data"]["image/png"] = pictures.smaller(png)
    if cell.cell_type == "code" and not may_fail(cell):
        # What fails after the code, such as drawing, does not reach the reply.
        for output in [o for o in cell.outputs if o.output_type == "error"]:
            raise BuildError(describe(cell, "\n".join(output.traceback)))


def describe(cell: NotebookNode, what: str) -> str:
    """Return a cell and what went wrong in it, readable in a log."""
    what = re.sub(r"\x1b\[[0-9;]*m", "", what)
    source = "\n".join("    " + line for line in cell.source.splitlines())
    return f"cell {cell.id}:\n{source}\n{what}"
