"""The text and the weights of the language model, as every reader gets them."""

from __future__ import annotations

import math
from collections import Counter

from d2l_local.data import text, weights

import numpy as np
import pytest


def test_the_text_is_english_in_few_characters():
    loaded = text.load_text()
    assert len(loaded) == text.LENGTH and len(set(loaded)) == 74 and loaded.isascii()
    shares = [number / len(loaded) for number in Counter(loaded).values()]
    assert -sum(share * math.log(share) for share in shares) == pytest.approx(3.08, abs=0.01)


def test_the_text_is_the_same_where_git_changed_the_ends_of_lines(monkeypatch, tmp_path):
    (tmp_path / "text").write_bytes(text.FILE.read_bytes().replace(b"\n", b"\r\n"))
    published = text.load_text()
    monkeypatch.setattr(text, "FILE", tmp_path / "text")
    assert text.load_text() == published


def test_a_text_cut_short_is_not_learned(monkeypatch, tmp_path):
    (tmp_path / "text").write_bytes(text.FILE.read_bytes()[:1000])
    monkeypatch.setattr(text, "FILE", tmp_path / "text")
    with pytest.raises(ValueError, match="damaged: 1000 characters; install d2l_local again"):
        text.load_text()


def test_the_weights_are_those_of_the_tiny_network():
    arrays = weights.load_weights()
    assert arrays["tokens.weight"].shape == (74, 256)
    assert all(array.dtype == np.float32 and np.isfinite(array).all() for array in arrays.values())
    assert sum(array.size for array in arrays.values()) == 3_243_008 + 1_024
    assert weights.FILE.stat().st_size < 7e6


@pytest.mark.parametrize("size", [0, 1000])
def test_weights_cut_short_are_not_used(monkeypatch, tmp_path, size):
    (tmp_path / "weights").write_bytes(weights.FILE.read_bytes()[:size])
    monkeypatch.setattr(weights, "FILE", tmp_path / "weights")
    with pytest.raises(ValueError, match="damaged .*; install d2l_local again"):
        weights.load_weights()
