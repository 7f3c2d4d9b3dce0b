"""Exercises of parameterserver, made of chapters/text/parameterserver.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["mxnet", "torch"]
translated = catalog(__file__)


def ex_ring_time(answer, *, d2l):
    right = 2 * 7 / 8 * 1e9 / 450e9 * 1e3
    foreseen = {
        right / 2: translated("half of it: an all-reduce has two halves"),
        8 * right: translated("chunks, not whole gradients, go around"),
        right * 8 / 7: translated("each half of the ring has k - 1 steps, not k"),
        right / 1e3: translated("those are seconds"),
    }
    d2l.expect(answer, right, foreseen=foreseen)


def ex_short(answer, *, d2l):
    foreseen = {
        128 / 12: translated("each half of the ring has k - 1 steps, not k"),
        21: translated("the tree goes down as well as up"),
        5.25: translated("the ring has two halves, too"),
        12 / 126: translated("that is how many times as long the tree takes"),
        630: translated("those are the microseconds of the ring"),
    }
    d2l.expect(answer, 126 / 12, 0.01, foreseen)


def ex_bus(answer, *, d2l):
    foreseen = {
        175: translated("that is one of the two halves of an all-reduce"),
        400: translated("a GPU sends its share of the bytes in k - 1 steps, not in k"),
        200: translated("a GPU sends more than the gradient once: how much?"),
        2800: translated("that is what all eight send together"),
    }
    d2l.expect(answer, 350, 0.005, foreseen)


def ex_young(answer, *, d2l):
    right = (2 * 30 * 3 * 3600) ** 0.5 / 60
    foreseen = {
        60 * right: translated("those are seconds"),
        right / 2**0.5: translated("a failure costs half of an interval, not all of it"),
        right * 2**0.5: translated("a failure costs half of an interval: where does the 2 stand?"),
        90: translated("that is half of the time between failures: half of it would be lost"),
        30 / 60: translated("that is the time of a checkpoint: half of all time would go into saving"),
    }
    d2l.expect(answer, right, 0.03, foreseen)


def ex_halving(halving, *, d2l):
    for k in (2, 4, 16):
        plan, heard, steps = halving(k), [{i} for i in range(k)], 2 * (k.bit_length() - 1)
        assert len(plan) == steps, translated("{0} steps for {1} devices, not {2}", len(plan), k, steps)
        for number, step in enumerate(plan):
            before = [set(found) for found in heard]
            right = 2.0 ** -(1 + min(number, steps - 1 - number))
            for source, target, share in step:
                heard[target] |= before[source]
                assert share < 1, translated("a device sends half of it at most")
                assert abs(share - right) < 1e-9, translated("step {0} of {1}: the share is {2}, not {3:.3g}", number + 1, steps, right, share)  # fmt: skip
            busy = max(sum(target == i for _, target, _ in step) for i in range(k))
            assert busy == 1, translated("step {0}: a device receives {1} messages, not one", number + 1, busy)
            assert len(step) == k, translated("step {0}: {1} transfers, not one of each device", number + 1, len(step))  # fmt: skip
        assert all(len(found) == k for found in heard), translated("a gradient does not reach everybody")
        pairs = [{(source, target) for source, target, _ in step} for step in plan]
        assert pairs == pairs[::-1], translated("sums have to return by the same way")


def ex_levels(two_levels, *, d2l):
    import random

    for case in range(10):
        n, W_in, W_out = random.uniform(1e8, 1e10), random.uniform(1e11, 1e12), 5e10
        machines, gpus = random.randint(2, 9) if case else 1, random.randint(2, 16)
        inside = 2 * (gpus - 1) / gpus * n / W_in
        outside = 2 * (machines - 1) / machines * n / W_out
        found = two_levels(n, machines, gpus, W_in, W_out)
        whole = abs(found - inside - outside) < 1e-9
        assert not whole or not outside, translated("a GPU sends only its own chunk outside")
        d2l.expect(found, inside + outside / gpus, 1e-6)


def ex_late(largest_lr, *, d2l):
    import math

    assert abs(largest_lr(0) - 2) < 0.015, translated("without delay it is 2")
    for delay in (1, 2, 5, 8):
        right, found = 2 * math.sin(math.pi / (4 * delay + 2)), largest_lr(delay)
        assert found < right + 0.015, translated("{0} steps late, {1:.2f} diverges", delay, found)
        assert found > right - 0.015, translated("{0} steps late, more than {1:.2f} converges, too", delay, found)


def ex_servers(server_of, *, d2l):
    import collections
    import random

    keys = [f"block{j}.weight" for j in range(4000)]
    alive = random.sample(range(100), 8)
    before = [server_of(key, alive) for key in keys]
    for _ in range(3):  # Three servers are lost, one after the other
        lost, alive = alive[3], alive[:3] + alive[4:]
        after = [server_of(key, random.sample(alive, len(alive))) for key in keys]
        assert set(after) <= set(alive), translated("a key goes to a server that is gone")
        counts, then = collections.Counter(before), collections.Counter(after)
        mean = len(keys) / (len(alive) + 1)
        assert min(counts[each] for each in [*alive, lost]) > 0.75 * mean, translated("some servers get too few keys")  # fmt: skip
        moved = sum(a != b for a, b in zip(before, after))
        assert moved == counts[lost], translated("{0} keys move, and only {1} were on the lost server", moved, counts[lost])  # fmt: skip
        most = max(then[each] - counts[each] for each in alive)
        assert most < 0.5 * counts[lost], translated("one server gets all the lost keys")
        before = after

    def names(code):
        return {*code.co_names}.union(*(names(c) for c in code.co_consts if hasattr(c, "co_names")))

    assert "hash" not in names(server_of.__code__), translated("another process has another hash of the same text")  # fmt: skip
