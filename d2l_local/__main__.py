"""``python -m d2l_local``: what of this machine matters to the chapter, and what to type next."""

import sys

# First, because the rest does not even compile where this matters.
if sys.version_info < (3, 9):  # noqa: UP036
    sys.exit(
        "Not ready: d2l_local needs Python 3.9 to 3.13, and {} is Python {}.{}. Install a newer "
        "one, then type, in the folder of the README: make setup".format(
            sys.executable, *sys.version_info[:2]
        )
    )

from d2l_local.preflight import main

if __name__ == "__main__":
    sys.exit(main())
