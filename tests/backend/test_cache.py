"""The GPT: the same numbers in both frameworks, and in PyTorch with a cache and without."""

from __future__ import annotations

import importlib

from d2l_local.doors.preflight import backend

import numpy as np
import pytest
from backends import HERE, each_name

WITHOUT = pytest.mark.skipif("pytorch" not in HERE, reason="PyTorch is not installed")
WITH_CACHE = pytest.mark.parametrize("name", [pytest.param("pytorch", marks=WITHOUT)])
WORDS, WIDTH, CONTEXT = 74, 256, 16
IDS = [[3, 1, 4, 1, 5, 9, 2, 6], [5, 3, 5, 8, 9, 7, 9, 3]]
# The first scores after the last token of the first row, as PyTorch 2.13 gave them
SCORES = [-0.82945, -0.46450, -0.43051, 1.10345, -0.32899, 0.94525]


def weights() -> dict[str, np.ndarray]:
    """Arrays of the tiny network, by PyTorch's names."""
    random = np.random.RandomState(0)
    linear = {"attention.qkv": (3, 1), "attention.out": (1, 1), "up": (4, 1), "down": (1, 4)}
    shapes = {"tokens.weight": (WORDS, WIDTH), "places.weight": (CONTEXT, WIDTH)}
    for block in range(4):
        for layer, (rows, columns) in linear.items():
            shapes[f"blocks.{block}.{layer}.weight"] = rows * WIDTH, columns * WIDTH
            shapes[f"blocks.{block}.{layer}.bias"] = (rows * WIDTH,)
    norms = [f"blocks.{block}.norm{i}" for block in range(4) for i in (1, 2)] + ["norm"]
    shapes |= {f"{norm}.{part}": (WIDTH,) for norm in norms for part in ("weight", "bias")}
    arrays = {name: 0.05 * random.randn(*shape) for name, shape in shapes.items()}
    for norm in norms:
        arrays[f"{norm}.weight"] += 1
    return {name: array.astype("float32") for name, array in arrays.items()}


class Model:
    """The tiny network of a framework with `weights`; takes lists and returns NumPy's arrays."""

    def __init__(self, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
        d2l = backend(name)
        module = importlib.import_module(f"{d2l.__name__}.language_model")
        monkeypatch.setattr(module, "load_weights", weights)
        self.net, self.new_cache = d2l.trained_gpt(), getattr(module, "Cache", None)
        if name == "pytorch":
            self.array = importlib.import_module("torch").tensor
            self.numpy = lambda found: found.detach().numpy()
        else:
            self.array = importlib.import_module("mxnet").nd.array
            self.numpy = lambda found: found.asnumpy()

    def cache(self, rows: int, length: int):
        return self.new_cache(self.net, rows, length)

    def __call__(self, ids, cache=None) -> np.ndarray:
        ids = self.array(ids)
        return self.numpy(self.net(ids) if cache is None else self.net(ids, cache))


@pytest.fixture
def model(name, monkeypatch):
    made = Model(name, monkeypatch)
    if name != "pytorch":
        yield made
        return
    with importlib.import_module("torch").no_grad():
        yield made


@each_name
def test_frameworks_agree(name, model):
    found = model(IDS)
    assert found.shape == (2, 8, WORDS)
    np.testing.assert_allclose(found[0, -1, : len(SCORES)], SCORES, atol=2e-4)


@WITH_CACHE
@pytest.mark.parametrize("parts", [[8], [5, 3], [1] * 8, [4, 1, 1, 2]], ids=str)
def test_cached_is_recomputed(name, model, parts):
    cache, found, first = model.cache(2, 10), [], 0
    for tokens in parts:
        found.append(model([row[first : first + tokens] for row in IDS], cache))
        first += tokens
    np.testing.assert_allclose(np.concatenate(found, axis=1), model(IDS), atol=1e-4)


@WITH_CACHE
def test_what_is_not_kept_is_forgotten(name, model):
    cache = model.cache(2, 8)
    model([[*row[:3], 60, 61, 62] for row in IDS], cache)  # Three wrong guesses
    cache.keep(3)
    found = model([row[3:] for row in IDS], cache)
    np.testing.assert_allclose(found, model(IDS)[:, 3:], atol=1e-4)


@each_name
def test_rows_do_not_see_each_other(name, model):
    np.testing.assert_allclose(model(IDS)[1:], model(IDS[1:]), atol=1e-4)


@WITH_CACHE
def test_rows_of_a_cache_do_not_see_each_other(name, model):
    both = model(IDS, model.cache(2, 8))
    np.testing.assert_allclose(both[1:], model(IDS[1:]), atol=1e-4)


TOO_MANY = "out of range|must match|Invalid end|broadcast"


@each_name
def test_more_tokens_than_the_context_fail(name, model):
    with pytest.raises(Exception, match=TOO_MANY):
        model([[1] * (CONTEXT + 1)])


@WITH_CACHE
def test_more_tokens_than_the_cache_has_room_for_fail(name, model):
    with pytest.raises(Exception, match=TOO_MANY):
        model([[1] * (CONTEXT // 2 + 1)], model.cache(1, CONTEXT // 2))


@WITHOUT
@pytest.mark.parametrize("kv_heads", [1, 2])
def test_heads_that_share_keys_are_heads_with_the_same_keys(kv_heads):
    d2l, torch = backend("pytorch"), importlib.import_module("torch")
    module = importlib.import_module(f"{d2l.__name__}.language_model")
    torch.manual_seed(0)
    shared = d2l.gpt("tiny", WORDS, CONTEXT, kv_heads=kv_heads)
    plain = d2l.gpt("tiny", WORDS, CONTEXT)
    weights, heads, size = shared.state_dict(), 4, WIDTH // 4
    for name in [name for name in weights if ".qkv." in name]:
        parts = weights[name].unflatten(0, (-1, size))
        q, k, v = parts.split([heads, kv_heads, kv_heads])
        k, v = (part.repeat_interleave(heads // kv_heads, 0) for part in (k, v))
        weights[name] = torch.cat([q, k, v]).flatten(0, 1)
    plain.load_state_dict(weights)
    ids = torch.tensor(IDS)
    with torch.no_grad():
        right, cache = plain(ids), module.Cache(shared, 2, 8)
        torch.testing.assert_close(shared(ids), right, atol=1e-4, rtol=1e-4)
        cached = torch.cat([shared(part, cache) for part in ids.split([5, 1, 2], 1)], 1)
    torch.testing.assert_close(cached, right, atol=1e-4, rtol=1e-4)
    assert cache.kept[0].shape == (2, 2, kv_heads, 8, size)


@WITHOUT
def test_keys_that_heads_cannot_share_evenly_are_refused():
    with pytest.raises(ValueError, match="3 keys and values cannot be shared evenly by 4 heads"):
        backend("pytorch").gpt("tiny", WORDS, CONTEXT, kv_heads=3)
