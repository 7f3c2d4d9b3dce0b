"""Exercises of async-computation, made of chapters/text/async-computation.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["mxnet", "torch"]
translated = catalog(__file__)


def ex_lanes(answer, *, d2l):
    found = [int(k) for k in answer]
    assert len(found) == 3, translated("three numbers are asked for, one a loop")
    assert found[1] != 1, (
        translated("in B the worker has gaps, but look at Python's lane: does Python ever wait?")
    )
    assert found[0] != 4, translated("in A that is the number of waits; how many operations lie between two?")
    assert found[0] == 3, translated("in A, count Python's bars from one gap of its lane to the next")
    assert found[1] == 12, translated("in B, where does Python's lane have a gap?")
    assert found[2] == 1, translated("in C, how many of Python's bars lie between two gaps?")


def ex_one_late(train_late, *, d2l):
    import random

    for n in (3, 1, 0, 2, 4, 5, 6, 7):
        events, losses = [], [random.random() for _ in range(n)]

        def step(i):
            def read():
                events.append(("read", i))
                return losses[i]

            events.append(("issue", i))
            return read

        found = list(train_late(step, range(n)))
        reads = [i for what, i in events if what == "read"]
        assert [i for what, i in events if what == "issue"] == list(range(n)), (
            translated("each step is issued once, in order")
        )
        assert n == 0 or n - 1 in reads, translated("the last loss is never read")
        assert len(reads) == len(set(reads)), translated("a loss is read more than once")
        assert found == losses, translated("of {0} losses it returns {1}, or in another order", n, len(found))
        for i in range(n - 1):
            read = events.index(("read", i))
            assert read > events.index(("issue", i + 1)), (
                translated("step {0} is not issued yet when it waits for step {1}", i + 2, i + 1)
            )
            assert i + 2 >= n or read < events.index(("issue", i + 2)), (
                translated("three steps are unread together")
            )


def ex_loop_time(loop_time, *, d2l):
    import math
    import random

    def simulate(N, k, t_q, t_c, t_w):
        front = back = 0  # When each of them has done all it had to do
        for i in range(1, N + 1):
            front += t_q
            back = max(front, back) + t_c
            if i % k == 0:
                front = back + t_w
        return front

    assert loop_time(6, 1, 2, 3, 1) == 36, translated("with k = 1 it waits each time, and nothing overlaps")
    assert loop_time(6, 6, 2, 3, 1) < 36, translated("with k = 6 issuing and computing overlap")
    cases = [(6, 6, 2, 3, 1), (6, 6, 3, 2, 1), (6, 6, 12, 11, 1)]
    for _ in range(200):
        k = random.randint(1, 9)
        t_q, t_c, t_w = [random.randint(0, 20) for _ in range(3)]
        cases.append((k * random.randint(1, 5), k, t_q, t_c, t_w))
    for case in cases:
        found, right = loop_time(*case), simulate(*case)
        assert math.isclose(found, right, abs_tol=1e-9), (
            translated("for N, k, t_q, t_c, t_w = {0} you get {1}, not {2}", case, found, right)
        )


def ex_language(answer, *, d2l):
    answer = float(answer)
    assert answer != 8, translated("that would be so in turns: which of the times sets the pace?")
    assert abs(answer) <= 0.01, translated("compare the longest of the times before and after")


def ex_best_gain(answer, *, d2l):
    foreseen = {
        1.75: translated("that is the gain at 40 microseconds; a shorter operation gains more"),
        2: translated("two things overlap, but the waits are saved as well"),
        3: translated("that is without computing; what if computing takes as long as issuing?"),
    }
    d2l.expect(answer, 4, within=0.001, foreseen=foreseen)


def ex_held(answer, *, d2l):
    one = 256 * 224 * 224 * 3 * 4 / 1e6
    foreseen = {
        60 * one: translated("the device has used up some of them"),
        40 * one: translated("can the device begin before the first one is made?"),
        42 * one: translated("count again those that are used up by then"),
        41 * one / 4: translated("numbers in place of bytes?"),
        one: translated("that is a single minibatch"),
        41: translated("that is how many minibatches; how many MB?"),
    }
    d2l.expect(answer, 41 * one, within=0.001, foreseen=foreseen)


def ex_one_wait(total, *, d2l):
    import random

    class Loss:
        def __init__(self, value):
            self.value = value

        def __add__(self, other):
            return Loss(self.value + getattr(other, "value", other))

        __radd__ = __add__

        def read(self):
            waits.append(self)
            return self.value

    for _ in range(20):
        waits: list[Loss] = []
        values = [random.randint(1, 99) for _ in range(random.randint(2, 7))]
        found = total([Loss(value) for value in values])
        assert not isinstance(found, Loss), translated("that is still on the device: read it")
        assert found == sum(values), translated("the sum of {0} is {1}, not {2}", values, sum(values), found)
        assert len(waits) == 1, translated("it has waited {0} times", len(waits))
