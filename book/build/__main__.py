"""``python -m book.build``: the builder's commands."""

import signal
import sys

from book.build.cli import main

signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that `finally` ends the kernel
try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit(130)
