"""Exercises of sharding, made of chapters/text/sharding.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["torch"]
translated = catalog(__file__)


def ex_mixed(answer, *, d2l):
    foreseen = {
        112: translated("that is without sharding"),
        14: translated("that divides everything, as ZeRO-3 does"),
        7 * (2 + 14 / 8): translated("that divides the gradients, too, as ZeRO-2 does"),
        7 * (8 + 8 / 8): translated("here the optimizer keeps 12 bytes, and the rest 4"),
        7 * 12 / 8: translated("weights and gradients are kept, too"),
    }
    d2l.expect(answer, 7 * (4 + 12 / 8), foreseen=foreseen)


def ex_fit(answer, *, d2l):
    foreseen = {
        112 / 15: translated("GPUs come whole"),
        7: translated("with 7 GPUs, each would have to keep 16 GB, and has room for 15"),
        5: translated("outputs and gathered blocks need room, too"),
        112 / 24: translated("outputs and gathered blocks need room, too"),
    }
    d2l.expect(answer, 8, within=0.0001, foreseen=foreseen)


def ex_pcie(answer, *, d2l):
    right = 4 / 6 * 783e12 / 55e9
    foreseen = {
        2 * right: translated("that is too many: of two parts, a GPU sends one"),
        right * 6 / 8: translated("weights are gathered twice, and gradients have 4 bytes"),
        right * 12 / 8: translated("weights are gathered in 2 bytes"),
        right * 3: translated("training takes six operations for each parameter and token"),
        right / 1e3: translated("look at the unit"),
    }
    d2l.expect(answer, right, foreseen=foreseen)


def ex_accumulate(answer, *, d2l):
    foreseen = {
        8: translated("the weights are gathered once, not each time"),
        9: translated("those are halves of an all-reduce: data parallelism has two of them"),
        4: translated("the weights are gathered, too"),
        1: translated("it has to reduce-scatter each time"),
        2 / 9: translated("that is how many times as much data parallelism sends"),
    }
    d2l.expect(answer, (8 + 1) / 2, foreseen=foreseen)


def ex_keeps(keeps, *, d2l):
    import math
    import random

    assert math.isclose(keeps(4, 0, 4, 4, 8), 16), translated("data parallelism keeps all 16 bytes")
    assert not math.isclose(keeps(4, 1, 4, 4, 8), 13), translated("ZeRO-1 divides both averages")
    assert not math.isclose(keeps(4, 3, 4, 4, 8), 13), (
        translated("each stage also divides what those before it do")
    )
    for _ in range(100):
        k, sizes = random.randint(2, 64), [random.randint(1, 12) for _ in range(3)]
        for stage in range(4):
            divided = sum(sizes[3 - stage :])
            right = sum(sizes) - divided + divided / k
            found = keeps(k, stage, *sizes)
            assert math.isclose(found, right), (
                translated("{0:.4g} for k = {1}, stage {2} and {3}, and it is {4:.4g}", found, k, stage, sizes, right)
            )


def ex_clip(clip, *, d2l):
    import numpy as np

    rng = np.random.default_rng()
    for case in range(20):
        sizes = rng.integers(1, 9, size=rng.integers(2, 6))
        shards = [rng.normal(scale=3 * i + 1, size=size) for i, size in enumerate(sizes)]
        whole = np.concatenate(shards)
        norm = float((whole**2).sum() ** 0.5)
        limit = norm * float(rng.uniform(0.2, 0.8) if case % 2 else rng.uniform(1.01, 1.2))
        found = clip([shard.copy() for shard in shards], limit)
        assert len(found) == len(shards), translated("return a part for each device")
        each = [shard * min(1, limit / (shard**2).sum() ** 0.5) for shard in shards]
        own = all(np.allclose(a, b) for a, b in zip(found, each))
        found, right = np.concatenate(found), whole * min(1, limit / norm)
        assert not own or np.allclose(found, right), translated("the norm is that of all parts together")
        assert case % 2 or np.allclose(found, whole), translated("this gradient is not above the limit")
        assert np.allclose(found, right), (
            translated("the norm is now {0:.4g}, and the limit {1:.4g}", (found ** 2).sum() ** 0.5, limit)
        )


def ex_stage(gather_once, trial, *, d2l):
    after, parameters = [], trial.layers * trial.xs[0].shape[1] ** 2

    def way(held, t):
        gather_once(held, t)
        after.append(held.bytes / parameters)

    once, devices = trial(way, divided="wmv"), len(trial.xs)
    half = 4 * (devices - 1) / devices
    assert once.difference < 1e-5, translated("the weights are not what one device gets")
    assert once.sent != 3 * half, translated("each layer is to be gathered once")
    assert once.sent == 2 * half, translated("it sends {0:.2f} bytes, not {1:.2f}", once.sent, 2 * half)
    assert max(after) == 12 / devices, translated("drop what was gathered when the pass is over")
