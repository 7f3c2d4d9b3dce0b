"""Execute a notebook in a kernel of its own, of which nothing is left."""

from __future__ import annotations

import contextlib
import os
import re
import signal
import sys
import tempfile
import time
from pathlib import Path

from book.build.notebook import code_cells, may_fail
from book.build.text import BuildError

CELL_SECONDS = 300
NOTEBOOK_SECONDS = 600


def execute(notebook, folder: Path, root: Path, cell_seconds=None, seconds=None) -> None:
    """Execute a notebook in place in a new kernel, which is gone at the end, whatever happens.

    Raises BuildError, naming the cell, on an error, a dead kernel or a time-out.
    """
    from jupyter_core.utils import run_sync
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    cell_seconds, seconds = cell_seconds or CELL_SECONDS, seconds or NOTEBOOK_SECONDS
    end = time.monotonic() + seconds
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        coalesce_streams=True,
        record_timing=False,
        shutdown_kernel="immediate",  # A process that ends by itself may hang in doing so
        iopub_timeout=60,  # On a busy machine outputs may trail; without them nothing is written
        raise_on_iopub_timeout=True,
        timeout_func=lambda cell: max(1, min(cell_seconds, end - time.monotonic())),
    )
    client.log.disabled = True  # Its errors come back as exceptions, and are shown once
    kernel = client.create_kernel_manager()
    # This Python, whatever kernel the user has registered under the same name.
    launch = ["-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
    kernel.kernel_spec.argv = [sys.executable, *launch]
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ, IPYTHONDIR=home)  # No history, no start-up files of the user's
        env.pop("MPLBACKEND", None)  # The kernel chooses the backend that shows figures
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), env.get("PYTHONPATH")]))
        # Matplotlib only warns about a character that it draws as a box.
        env["PYTHONWARNINGS"] = ",".join(filter(None, [env.get("PYTHONWARNINGS"), "error:Glyph"]))
        cell = group = None
        try:
            with client.setup_kernel(env=env, cwd=str(folder)):
                group = getattr(kernel.provisioner, "pgid", None)
                for number, cell in enumerate(notebook.cells):
                    client.execute_cell(cell, number)
                    if cell.cell_type == "code" and not may_fail(cell):
                        # What fails after the code, such as drawing, does not reach the reply.
                        for error in [o for o in cell.outputs if o.output_type == "error"]:
                            raise BuildError(describe(cell, "\n".join(error.traceback)))
        except CellExecutionError as error:
            raise BuildError(describe(cell, error.traceback or str(error))) from None
        except CellTimeoutError as error:
            what = " ".join(str(error).splitlines()[:2])
            limits = f"{cell_seconds} s a cell, {seconds} s a notebook"
            raise BuildError(describe(cell, f"{what} ({limits})")) from None
        except (DeadKernelError, RuntimeError) as error:
            what = f"the kernel died: {error}"
            raise BuildError(describe(cell, what) if cell else what) from None
        finally:
            if kernel.has_kernel:
                run_sync(kernel.shutdown_kernel)(now=True)
            if group:  # What the kernel started outlives a crash of it
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)


def describe(cell, what: str) -> str:
    """Return a cell and what went wrong in it, readable in a log."""
    what = re.sub(r"\x1b\[[0-9;]*m", "", what)
    source = "\n".join("    " + line for line in cell.source.splitlines())
    return f"cell {cell.id}:\n{source}\n{what}"
