"""A module that gets most of its names only when one of them is asked for.

d2l loads pandas, SciPy and Matplotlib, which takes as long as half of a framework, and most of our
programs ask for none of its names. So the faces of the frameworks load it late::

    __getattr__, __dir__ = later.names(globals(), load)
"""

from __future__ import annotations

import importlib.util
from collections.abc import Callable, Mapping
from typing import Any


def names(
    namespace: dict[str, Any], load: Callable[[], Mapping[str, Any]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return the ``__getattr__`` and ``__dir__`` of a module, a package, given its globals.

    ``load()`` returns names, once, of which the module takes the public ones that it lacks. It is
    called for such a name, for a list of the names, and so for ``from module import *``. Raises
    what it raises.
    """
    module = namespace["__name__"]
    loaded = False

    def complete() -> list[str]:
        nonlocal loaded
        if not loaded:
            loaded = True  # What is loaded may ask for a name
            try:
                found = load()
            except BaseException:
                loaded = False
                raise
            lacking = found.keys() - namespace.keys()
            namespace.update({n: found[n] for n in lacking if not n.startswith("_")})
        return sorted(name for name in namespace if not name.startswith("_"))

    def get(name: str) -> Any:
        if name == "__all__":
            return complete()
        known = loaded or name.startswith("_")
        if not known and not importlib.util.find_spec(f"{module}.{name}"):  # Which `import` finds
            complete()
            if name in namespace:
                return namespace[name]
        raise AttributeError(f"module {module!r} has no attribute {name!r}")

    return get, complete
