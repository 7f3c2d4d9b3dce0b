"""PyTorch's launcher `torchrun` for one host, with a store that only this host can reach.

The processes of a job find each other through a store, and the store of `torchrun` listens on all
interfaces of the host without asking for a password. This one listens on the loopback interface,
on a port that the system chooses. Run it by its path, with the arguments of `torchrun`.
"""

from __future__ import annotations

import os
import sys

# What lies beside this file must not take the place of other modules.
sys.path[:] = [path for path in sys.path if path != os.path.dirname(os.path.realpath(__file__))]

import socket  # noqa: E402

from torch.distributed import PrefixStore, TCPStore, run  # noqa: E402
from torch.distributed.elastic.rendezvous import (  # noqa: E402
    RendezvousInfo,
    RendezvousParameters,
    RendezvousStoreInfo,
    rendezvous_handler_registry,
)
from torch.distributed.elastic.rendezvous.static_tcp_rendezvous import (  # noqa: E402
    StaticTCPRendezvous,
)

HOST, BACKEND = "127.0.0.1", "loopback"


class Loopback(StaticTCPRendezvous):
    """The meeting of the one host of a job with itself."""

    def __init__(self, parameters: RendezvousParameters) -> None:
        with socket.create_server((HOST, 0)) as listener:
            port = listener.getsockname()[1]
            taken = listener.detach()
        self.store = TCPStore(
            HOST,
            port,
            is_master=True,
            wait_for_workers=False,
            master_listen_fd=taken,
            use_libuv=os.environ.get("USE_LIBUV", "1") == "1",  # As PyTorch's own launcher
        )
        super().__init__(HOST, port, 0, 1, parameters.run_id, timeout=600)

    def get_backend(self) -> str:
        """The name under which the launcher knows this."""
        return BACKEND

    def next_rendezvous(self) -> RendezvousInfo:
        """Where the processes meet."""
        store = PrefixStore(self.run_id, self.store)
        return RendezvousInfo(store, 0, 1, RendezvousStoreInfo(self.master_addr, self.master_port))


if __name__ == "__main__":
    rendezvous_handler_registry.register(BACKEND, Loopback)
    run.main([f"--rdzv-backend={BACKEND}", "--nnodes=1", *sys.argv[1:]])
