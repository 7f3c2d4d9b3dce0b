"""``python -m d2l_local``: what of this machine matters to the chapter, and what to type next.

``python -m d2l_local get``: the notebooks, copied into a folder of the reader's.
"""

import sys

# First, because the rest does not even compile where this matters.
if sys.version_info < (3, 9):  # noqa: UP036
    sys.exit(
        "Not ready: d2l_local needs Python 3.9 to 3.13, and {} is Python {}.{}. Install a newer "
        "one, then type, in the folder of the README: make setup".format(
            sys.executable, *sys.version_info[:2]
        )
    )

from d2l_local import notebooks, preflight

if __name__ == "__main__":
    if sys.argv[1:2] == ["get"]:
        sys.exit(notebooks.main(sys.argv[2:]))
    sys.exit(preflight.main())
