"""A machine without a network, on which D2L_DATA asks for all of Fashion-MNIST."""

from __future__ import annotations

import os
from pathlib import Path

from d2l_local.data import download, idx, notice, sources

import made_up
import pytest


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Return Gluon's folder (not yet made) where small files are Fashion-MNIST, without mirrors."""
    for name in list(os.environ):
        if name.lower().endswith("_proxy") or name in ("D2L_DATA", "MXNET_GLUON_REPO", "RANK"):
            monkeypatch.delenv(name)
    monkeypatch.setenv("D2L_DATA", "full")
    for folder in ("tmp", "home"):
        (tmp_path / folder).mkdir()
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setenv("MXNET_HOME", str(tmp_path / "mxnet"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "tmp"))
    monkeypatch.setattr(idx, "FILES", made_up.KNOWN)
    monkeypatch.setattr(sources, "DEBIAN", tmp_path / "debian")
    monkeypatch.setattr(download, "MIRRORS", ())
    monkeypatch.setattr(download, "SCHEME", made_up.SCHEME)
    monkeypatch.setattr(download, "_failed", {})
    monkeypatch.setattr(notice, "_announced", None)
    monkeypatch.setattr(sources, "_in_memory", {})
    return tmp_path / "mxnet" / "datasets" / "fashion-mnist"
