"""Every framework's backend that can be imported here keeps the contract."""

from __future__ import annotations

from d2l_local.base import frameworks
from d2l_local.doors.preflight import backend
from d2l_local.install import installed

import contract
import pytest
import small_data

HERE = [n for n, f in frameworks.load().items() if any(map(installed.version, f.distributions))]


@pytest.mark.parametrize("name", HERE)
def test_the_face_keeps_the_contract(name, tmp_path, monkeypatch):
    monkeypatch.setenv("D2L_DATA", str(small_data.write(tmp_path, 8, 4)))
    contract.keep(backend(name))


def test_a_face_without_a_name_or_with_another_argument_breaks_it():
    d2l = backend(HERE[0])

    class Broken:
        devices = staticmethod(lambda number=2: [])
        # As it may be
        measure = staticmethod(lambda fn, repeats=5, number=1, wait=True, more=None: None)
        banner = staticmethod(lambda used, more: None)

    for name in contract.NAMES:
        if name not in vars(Broken) and name != "num_gpus":
            setattr(Broken, name, getattr(d2l, name))
    assert contract.differences(Broken) == [
        "num_gpus is missing",
        "devices(number=2) takes other arguments",
        "banner(used, more) takes other arguments",
    ]
