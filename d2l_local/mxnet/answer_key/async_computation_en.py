"""Exercises of async-computation, made of chapters/text/async-computation.md by the builder: edit that."""

from d2l_local import mxnet as d2l


def ex_language(answer):
    answer = float(answer)
    assert answer != 8, "that would be so in turns: which of the times sets the pace?"
    assert abs(answer) <= 0.01, "compare the longest of the times before and after"


def ex_best_gain(answer):
    foreseen = {
        1.75: "that is the gain at 40 microseconds; a shorter operation gains more",
        2: "two things overlap, but the waits are saved as well",
        3: "that is without computing; what if computing takes as long as issuing?",
    }
    d2l.expect(answer, 4, within=0.001, foreseen=foreseen)


def ex_lanes(answer):
    found = [int(k) for k in answer]
    assert len(found) == 3, "three numbers are asked for, one a loop"
    assert found[1] != 1, (
        "in B the worker has gaps, but look at Python's lane: does Python ever wait?"
    )
    assert found[0] != 4, "in A that is the number of waits; how many operations lie between two?"
    assert found[0] == 3, "in A, count Python's bars from one gap of its lane to the next"
    assert found[1] == 12, "in B, where does Python's lane have a gap?"
    assert found[2] == 1, "in C, how many of Python's bars lie between two gaps?"


def ex_held(answer):
    one = 256 * 224 * 224 * 3 * 4 / 1e6
    foreseen = {
        60 * one: "the device has used up some of them",
        40 * one: "can the device begin before the first one is made?",
        42 * one: "count again those that are used up by then",
        41 * one / 4: "numbers in place of bytes?",
        one: "that is a single minibatch",
        41: "that is how many minibatches; how many MB?",
    }
    d2l.expect(answer, 41 * one, within=0.001, foreseen=foreseen)


def ex_one_wait(total):
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
        assert not isinstance(found, Loss), "that is still on the device: read it"
        assert found == sum(values), f"the sum of {values} is {sum(values)}, not {found}"
        assert len(waits) == 1, f"it has waited {len(waits)} times"


def ex_loop_time(loop_time):
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

    assert loop_time(6, 1, 2, 3, 1) == 36, "with k = 1 it waits each time, and nothing overlaps"
    assert loop_time(6, 6, 2, 3, 1) < 36, "with k = 6 issuing and computing overlap"
    cases = [(6, 6, 2, 3, 1), (6, 6, 3, 2, 1), (6, 6, 12, 11, 1)]
    for _ in range(200):
        k = random.randint(1, 9)
        t_q, t_c, t_w = [random.randint(0, 20) for _ in range(3)]
        cases.append((k * random.randint(1, 5), k, t_q, t_c, t_w))
    for case in cases:
        found, right = loop_time(*case), simulate(*case)
        assert math.isclose(found, right, abs_tol=1e-9), (
            f"for N, k, t_q, t_c, t_w = {case} you get {found}, not {right}"
        )


def ex_one_late(train_late):
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
            "each step is issued once, in order"
        )
        assert n == 0 or n - 1 in reads, "the last loss is never read"
        assert len(reads) == len(set(reads)), "a loss is read more than once"
        assert found == losses, f"of {n} losses it returns {len(found)}, or in another order"
        for i in range(n - 1):
            read = events.index(("read", i))
            assert read > events.index(("issue", i + 1)), (
                f"step {i + 2} is not issued yet when it waits for step {i + 1}"
            )
            assert i + 2 >= n or read < events.index(("issue", i + 2)), (
                "three steps are unread together"
            )
