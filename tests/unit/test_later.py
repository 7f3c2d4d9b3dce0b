"""A module that gets most of its names when one of them is asked for."""

from __future__ import annotations

import importlib
import sys

import pytest

MODULE = """
from d2l_local.base import later

own = "own"
calls = []


def load():
    calls.append(1)
    if len(calls) == {failing}:
        raise OSError("the disk is full")
    return {{"own": "theirs", "further": 3, "_hidden": 4}}


__getattr__, __dir__ = later.names(globals(), load)
"""


@pytest.fixture
def face(tmp_path, monkeypatch):
    """Write and import a package; its first ``failing`` - 1 loads succeed."""

    def make(failing=0):
        folder = tmp_path / "a_face"
        folder.mkdir()
        (folder / "__init__.py").write_text(MODULE.format(failing=failing), "utf-8")
        (folder / "room.py").write_text("", "utf-8")
        monkeypatch.syspath_prepend(tmp_path)
        return importlib.import_module("a_face")

    yield make
    for name in ("a_face", "a_face.room"):
        sys.modules.pop(name, None)


def test_what_is_missing_is_loaded_once_and_takes_nothing_s_place(face):
    module = face()
    assert module.own == "own" and module.calls == []
    assert module.further == 3 and module.own == "own" and module.calls == [1]
    assert not hasattr(module, "_hidden")
    with pytest.raises(AttributeError, match=r"^module 'a_face' has no attribute 'furhter'$"):
        _ = module.furhter
    assert module.calls == [1]


def test_nothing_is_loaded_for_a_room_or_a_name_of_python_s_own(face):
    module = face()
    from a_face import room  # noqa: F401

    assert not hasattr(module, "_hidden") and not hasattr(module, "__wrapped__")
    assert module.calls == []


def test_whoever_asks_for_all_names_gets_all(face):
    module = face()
    everything: dict = {}
    exec("from a_face import *", everything)
    assert {"own", "further", "load"} < {*everything} and "_hidden" not in everything
    assert {*dir(module)} >= {"own", "further"} and module.calls == [1]


def test_what_failed_to_load_is_tried_again(face):
    module = face(failing=1)
    with pytest.raises(OSError, match="the disk is full"):
        _ = module.further
    assert module.further == 3 and module.calls == [1, 1]
