"""A machine without a network, on which D2L_DATA asks for all of Fashion-MNIST."""

from __future__ import annotations

import os
from pathlib import Path

from d2l_local.data import idx, mirrors, notice, sources

import made_up
import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return the folder (not yet made) for what is fetched, where small files are Fashion-MNIST."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name == "RANK":
            monkeypatch.delenv(name)
    monkeypatch.setenv("D2L_DATA", "full")
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(idx, "FILES", made_up.KNOWN)
    monkeypatch.setattr(mirrors, "MIRRORS", ("http://127.0.0.1:1/",))
    monkeypatch.setattr(notice, "_announced", None)
    sources._can_be_had.cache_clear()
    return tmp_path / "cache" / "d2l-local" / "fashion-mnist"
