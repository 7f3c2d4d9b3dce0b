"""What each process of a `d2l_local.mxnet.cluster.Cluster` runs, and it runs the job's program.

It is run by its path and does not import MXNet, so that the job's program can still prepare the
process for it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import pickle
import runpy
import sys
from pathlib import Path
from types import SimpleNamespace

# Environment variables: the job's secret, and its folder, which only this user can enter.
KEY, FOLDER = "D2L_LOCAL_JOB_KEY", "D2L_LOCAL_JOB_FOLDER"
# Where MXNet packs the optimizer in a worker, and where it restores it in a server.
PACKS, RESTORES = "mxnet.kvstore.kvstore", "mxnet.kvstore.kvstore_server"


def main() -> None:
    """Run the program, a module or a file, whose name and arguments are on the command line."""
    here = Path(__file__).resolve().parent
    # Where the program may be; what lies here must not take the place of other modules.
    sys.path[:] = [str(here.parents[1]), "", *(path for path in sys.path if path != str(here))]
    sign_what_is_restored(os.environ.pop(KEY))
    folder = os.environ.pop(FOLDER)
    del sys.argv[0]
    program = sys.argv[0]
    is_file = program.endswith(".py")
    if os.environ["DMLC_ROLE"] != "worker":
        sys.modules["sklearn"] = None  # type: ignore[assignment]
        program = os.path.abspath(program) if is_file else program
        leave_for(folder)
    if is_file:
        runpy.run_path(program, run_name="__main__")
    else:
        runpy.run_module(program, run_name="__main__", alter_sys=True)


def sign_what_is_restored(key: str) -> None:
    """Let servers restore with `pickle` only what a worker of this job has signed.

    A server of MXNet restores what anybody sends who can reach its port, and to restore a pickle is
    to run the code in it. So workers put a signature in front, which takes the job's ``key``. Call
    it before MXNet is imported.
    """
    from d2l_local.prepare_mxnet import numpy_view  # Which `main` has put on sys.path

    def signature(packed: bytes) -> bytes:
        return hmac.new(key.encode(), packed, hashlib.sha256).hexdigest().encode()

    def dumps(optimizer: object, protocol: int) -> bytes:
        packed = pickle.dumps(optimizer, protocol)
        return signature(packed) + packed

    def loads(signed: bytes) -> object:
        sent, packed = signed[:64], signed[64:]
        if not hmac.compare_digest(sent, signature(packed)):
            raise pickle.UnpicklingError("refused: it is not signed by a worker of this job")
        return pickle.loads(packed)

    numpy_view.GIVEN[PACKS, "pickle"] = SimpleNamespace(dumps=dumps)
    numpy_view.GIVEN[RESTORES, "pickle"] = SimpleNamespace(loads=loads)
    numpy_view.apply()


def leave_for(folder: str) -> None:
    """Make the job's folder the current one; what was found in the current one still is.

    Whoever reaches the port of a server can have it delete and write the file of a profile, whose
    name begins with ``rank``, from the current folder on. In the job's folder there is none.
    """
    here = os.getcwd()
    sys.path[:] = [path or here for path in sys.path]
    os.chdir(folder)


if __name__ == "__main__":
    main()
