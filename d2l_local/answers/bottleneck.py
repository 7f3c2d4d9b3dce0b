"""Exercises of bottleneck, made of chapters/text/bottleneck.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["mxnet", "torch"]
translated = catalog(__file__)


def ex_karp(answer, *, d2l):
    foreseen = {
        1 - 6.6 / 8: translated("that is the efficiency that is lost, not the share"),
        1 / 6.6: translated("that is the whole time with eight devices: a part of it is the divided work"),
        100 * (1 / 6.6 - 1 / 8) / (7 / 8): translated("a share, not per cent"),
        1 / 6.6 - 1 / 8: translated("the divided work, too, is only what the share leaves"),
    }
    d2l.expect(answer, (1 / 6.6 - 1 / 8) / (7 / 8), within=0.02, foreseen=foreseen)


def ex_gain(gain, *, d2l):
    import math
    import random

    parts = {translated("load"): 3.0, "t_c": 6.0, "t_x": 1.0}
    assert math.isclose(gain(parts, "t_c", 2, True), 2), translated("at once, 6 becomes 3, as long as load")
    assert math.isclose(gain(parts, "t_c", 6, True), 2), translated("at once, the next longest counts")
    nothing = gain(parts, translated("load"), 100, True)
    assert math.isclose(nothing, 1), translated("at once, only the longest part matters")
    found = gain(parts, "t_c", 2, False)
    assert not math.isclose(found, 7 / 10), translated("that is how much of the time remains: its inverse")
    assert math.isclose(found, 10 / 7), translated("in turns, 10 becomes 3 + 3 + 1")
    assert parts["t_c"] == 6, translated("the caller's parts have changed")
    for _ in range(100):
        parts = {name: random.randint(1, 20) for name in random.sample("abcdefg", 4)}
        name, f, at_once = random.choice(list(parts)), random.randint(2, 9), random.random() < 0.5
        before, after = list(parts.values()), [t / f if n == name else t for n, t in parts.items()]
        right = max(before) / max(after) if at_once else sum(before) / sum(after)
        found = gain(dict(parts), name, f, at_once)
        assert math.isclose(found, right), (
            translated("{0}, {1}, {2}, {3}: {4:.3g}, not {5:.3g}", parts, name, f, at_once, found, right)
        )


def ex_diagnose(diagnose, *, d2l):
    import random

    busy, half = [("a", 0, 10)], [("a", 0, 3), ("b", 8, 10)]
    cases = [
        ({"input": busy, "gpu/0": half}, "input"),
        ({"Python": busy, "cpu/0": half}, "Python"),
        ({"gpu/0": half, "wire": busy}, "link"),
        ({"Python": half, "cpu/0": busy}, "device"),
        ({"gpu/0": busy, "gpu/1": busy}, "device"),
        ({"cpu/0": half, "cpu/1": busy}, "straggler"),
        ({"gpu/0": half, "input": [("a", 3, 8)]}, "turns"),
        ({"gpu/0": busy, "gpu/1": half, "gpu/2": busy}, "straggler"),
        ({"gpu/0": busy, "input": busy}, "input"),
    ]
    for _ in range(100):
        kind = random.choice(("cpu", "gpu", "device"))
        devices = [f"{kind}/{i}" for i in range(random.randint(2, 4))]
        others = {"input": "input", "Python": "Python", "wire": "link"}
        lanes = {lane: half for lane in random.sample([*others, *devices], 4)}
        chosen = random.choice([*lanes, *devices])
        lanes[chosen] = busy
        both = all(lanes[lane] is busy for lane in lanes if "/" in lane)
        cases.append((lanes, others.get(chosen, "device" if both else "straggler")))
    for lanes, right in cases:
        found = diagnose(d2l.Timeline(lanes))
        filled = ", ".join(lane for lane in lanes if lanes[lane] is busy)
        assert found == right, translated("of {0} full: {1}; {2}, not {3}", ', '.join(lanes), filled, found, right)


def ex_interval(interval, *, d2l):
    import random
    from math import comb

    found = interval([3, 1, 2, 5, 4, 7, 6])
    assert tuple(found) == (1, 7), translated("of seven timings, the smallest and the largest, not {0}", found)
    found = tuple(interval(range(1, 42)))
    assert found != (15, 27), translated("the 15th and the 27th of 41 have only 94%")
    assert found != (13, 29), translated("the 13th and the 29th of 41 enclose it, too, but are further apart")
    assert found == (14, 28), translated("the 14th and the 28th of 41, not {0}", found)
    for n in [6, 20, *random.sample(range(7, 200), 20)]:
        fits = [r for r in range(1, n // 2) if 40 * sum(comb(n, i) for i in range(r)) <= 2**n]
        ranks = random.sample(range(1, n + 1), n)
        found = tuple(interval(ranks))
        assert found == (fits[-1], n + 1 - fits[-1]), (
            translated("of {0} timings, number {1} and {2}, not {3}", n, fits[-1], n + 1 - fits[-1], found)
        )


def ex_capstone(fast, slow, files, digits, *, d2l):
    import lzma
    import numpy as np

    decoded, three = [], files[:3]

    def decode(file):
        decoded.append(file)
        return lzma.decompress(file)

    found, losses = fast(three, digits, decode)
    right, expected = slow(three, digits)
    assert len(losses) == len(expected), translated("{0} losses, not {1}", len(losses), len(expected))
    assert np.allclose(found, right, atol=1e-4), translated("other weights: a step has to come before the next")
    assert np.allclose(losses, expected, atol=1e-4), translated("the weights are right, the losses are not")
    assert set(decoded) == set(three), translated("it leaves out a file")
    assert len(decoded) == 3, translated("input: three files are decoded {0} times", len(decoded))
    fast(three, digits, decode)
    assert len(decoded) == 6, translated("a second call decodes nothing: is something kept from the last call?")
    jobs = {"slow": lambda: slow(three, digits), "fast": lambda: fast(three, digits)}
    for _ in range(2):  # Other labels in each round: what was kept of a call is of no use
        digits = np.random.permutation(digits.flatten()).reshape(digits.shape)
        assert np.allclose(fast(three, digits)[0], slow(three, digits)[0], atol=1e-4), (
            translated("with other labels the weights are wrong: is something kept from the last call?")
        )
    sick, well = d2l.compare(jobs, 2).values()
    print(translated("{0:.1f} times as fast", well.speedup(sick)))
    assert well.speedup(sick) > 4, translated("less than four times as fast: which lane is full?")
