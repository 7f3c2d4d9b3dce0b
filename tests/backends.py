"""The frameworks that this Python has, and their backends."""

from __future__ import annotations

from d2l_local.base import frameworks
from d2l_local.doors.preflight import backend
from d2l_local.install import installed

import pytest

HERE = [n for n, f in frameworks.load().items() if any(map(installed.version, f.distributions))]
BACKENDS = [backend(name) for name in HERE]
each_name = pytest.mark.parametrize("name", HERE)
each_backend = pytest.mark.parametrize("d2l", BACKENDS, ids=HERE)
