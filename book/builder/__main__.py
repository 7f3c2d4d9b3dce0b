"""``python -m book.builder``: the builder's commands."""

import signal
import sys

from book.builder.cli import main

ENDING = {signal.SIGTERM, getattr(signal, "SIGHUP", signal.SIGTERM)}
received: list[int] = []


def leave(number: int, frame: object) -> None:
    """End by an exception, so that `finally` ends the kernel and removes its folder, once."""
    for each in ENDING:
        signal.signal(each, signal.SIG_IGN)
    received.append(number)
    sys.exit(128 + number)


for each in ENDING:
    if signal.getsignal(each) != signal.SIG_IGN:  # As nohup sets it
        signal.signal(each, leave)
try:
    sys.exit(main())
except KeyboardInterrupt:
    sys.exit(130)
except Exception:
    if received:  # asyncio makes an error of its own of what ends it
        sys.exit(128 + received[0])
    raise
