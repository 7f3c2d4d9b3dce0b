"""Exercises of sharding, made of chapters/text/sharding.md by the builder: edit that."""

from d2l_local import mxnet as d2l
import numpy as np


def ex_mixed(answer):
    foreseen = {
        112: "that is without sharding",
        14: "that divides everything, as ZeRO-3 does",
        7 * (2 + 14 / 8): "that divides the gradients, too, as ZeRO-2 does",
        7 * (8 + 8 / 8): "here the optimizer keeps 12 bytes, and the rest 4",
        7 * 12 / 8: "weights and gradients are kept, too",
    }
    d2l.expect(answer, 7 * (4 + 12 / 8), foreseen=foreseen)


def ex_fit(answer):
    foreseen = {
        112 / 15: "GPUs come whole",
        7: "with 7 GPUs, each would have to keep 16 GB, and has room for 15",
        5: "outputs and gathered blocks need room, too",
        112 / 24: "outputs and gathered blocks need room, too",
    }
    d2l.expect(answer, 8, within=0.0001, foreseen=foreseen)


def ex_pcie(answer):
    right = 4 / 6 * 783e12 / 55e9
    foreseen = {
        2 * right: "that is too many: of two parts, a GPU sends one",
        right * 6 / 8: "weights are gathered twice, and gradients have 4 bytes",
        right * 12 / 8: "weights are gathered in 2 bytes",
        right * 3: "training takes six operations for each parameter and token",
        right / 1e3: "look at the unit",
    }
    d2l.expect(answer, right, foreseen=foreseen)


def ex_accumulate(answer):
    foreseen = {
        8: "the weights are gathered once, not each time",
        9: "those are halves of an all-reduce: data parallelism has two of them",
        4: "the weights are gathered, too",
        1: "it has to reduce-scatter each time",
        2 / 9: "that is how many times as much data parallelism sends",
    }
    d2l.expect(answer, (8 + 1) / 2, foreseen=foreseen)


def ex_keeps(keeps):
    import math
    import random

    assert math.isclose(keeps(4, 0, 4, 4, 8), 16), "data parallelism keeps all 16 bytes"
    assert not math.isclose(keeps(4, 1, 4, 4, 8), 13), "ZeRO-1 divides both averages"
    assert not math.isclose(keeps(4, 3, 4, 4, 8), 13), (
        "each stage also divides what those before it do"
    )
    for _ in range(100):
        k, sizes = random.randint(2, 64), [random.randint(1, 12) for _ in range(3)]
        for stage in range(4):
            divided = sum(sizes[3 - stage :])
            right = sum(sizes) - divided + divided / k
            found = keeps(k, stage, *sizes)
            assert math.isclose(found, right), (
                f"{found:.4g} for k = {k}, stage {stage} and {sizes}, and it is {right:.4g}"
            )


def ex_clip(clip):
    rng = np.random.default_rng()
    for case in range(20):
        sizes = rng.integers(1, 9, size=rng.integers(2, 6))
        shards = [rng.normal(scale=3 * i + 1, size=size) for i, size in enumerate(sizes)]
        whole = np.concatenate(shards)
        norm = float((whole**2).sum() ** 0.5)
        limit = norm * float(rng.uniform(0.2, 0.8) if case % 2 else rng.uniform(1.01, 1.2))
        found = clip([shard.copy() for shard in shards], limit)
        assert len(found) == len(shards), "return a part for each device"
        each = [shard * min(1, limit / (shard**2).sum() ** 0.5) for shard in shards]
        own = all(np.allclose(a, b) for a, b in zip(found, each))
        found, right = np.concatenate(found), whole * min(1, limit / norm)
        assert not own or np.allclose(found, right), "the norm is that of all parts together"
        assert case % 2 or np.allclose(found, whole), "this gradient is not above the limit"
        assert np.allclose(found, right), (
            f"the norm is now {(found**2).sum() ** 0.5:.4g}, and the limit {limit:.4g}"
        )


def ex_stage(gather_once, trial):
    after, parameters = [], trial.layers * trial.xs[0].shape[1] ** 2

    def way(held, t):
        gather_once(held, t)
        after.append(held.bytes / parameters)

    once, devices = trial(way, divided="wmv"), len(trial.xs)
    half = 4 * (devices - 1) / devices
    assert once.difference < 1e-5, "the weights are not what one device gets"
    assert once.sent != 3 * half, "each layer is to be gathered once"
    assert once.sent == 2 * half, f"it sends {once.sent:.2f} bytes, not {2 * half:.2f}"
    assert max(after) == 12 / devices, "drop what was gathered when the pass is over"
