"""``python -m d2l_local``: what of this machine matters to the chapter, and what to type next.

- ``python -m d2l_local setup``: in a clone, everything that the chapter needs;
- ``python -m d2l_local lab``: JupyterLab on the notebooks;
- ``python -m d2l_local get``: the book, copied into a folder of the reader's;
- ``python -m d2l_local uv``: uv of the clone, for the Makefile and for commands that errors name.
"""

import sys

# First, because the rest does not even compile where this matters.
if sys.version_info < (3, 9):  # noqa: UP036
    sys.exit(
        "Not ready: d2l_local needs Python 3.9 or newer, and {} is Python {}.{}. Install a newer "
        "one, then type with it, in the folder of the README: python3 -m d2l_local setup".format(
            sys.executable, *sys.version_info[:2]
        )
    )


def main(arguments):
    """Do what the first argument names. Only that is loaded: every command of make asks set-up."""
    command, others = "".join(arguments[:1]), arguments[1:]
    if command == "setup":
        from d2l_local.install import setup

        return setup.main(others)
    if command == "uv":
        from d2l_local.install import setup

        return setup.run_uv(others)
    if command == "lab":
        from d2l_local.doors import lab

        return lab.main(others)
    if command == "get":
        from d2l_local.doors import get

        return get.main(others)
    from d2l_local.doors import preflight

    return preflight.main(arguments)


if __name__ == "__main__":
    for stream in (sys.stdout, sys.stderr):
        if hasattr(stream, "reconfigure"):
            # Paths may have letters that it cannot write; and nobody waits for a full buffer.
            stream.reconfigure(errors="backslashreplace", line_buffering=True)
    sys.exit(main(sys.argv[1:]))
