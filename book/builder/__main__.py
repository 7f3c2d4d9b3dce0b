"""``python -m book.builder``: the builder's commands."""

import signal
import sys

from book.builder.cli import main

for number in (signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)):
    signal.signal(number, lambda number, _: sys.exit(128 + number))  # So `finally` ends the kernel
try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit(130)
