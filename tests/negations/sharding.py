"""What is planted before cells of sharding."""

from negation import Negation

# A trial of ways to train whose outcome is said, and the steps of a device over a link: t_x is one
# second, t_c with 64 rows as well.
OUTCOME = (
    "from types import SimpleNamespace as Outcome\n"
    "k, L, links = 4, 8, None\n"
    "copies, first = Outcome(kept=4, sent=1.5), Outcome(kept=2.5, sent=1.5)\n"
    "trial = lambda *_, **__: Outcome(kept={kept}, sent={sent}, difference={difference})\n"
    "d2l.ChainTrial = lambda *_, **__: trial\n"
)
TABLE = (
    OUTCOME.format(kept=0, sent=0, difference=0)
    + "second, third = Outcome(kept={second}, sent=1.5), Outcome(kept={third}, sent=2.25)\n"
)
OVER_A_LINK = """
from types import SimpleNamespace as Time
bs, step = (16, 64, 256), lambda b, waited: waited
sends = {"data parallel": (0.1,), "ZeRO-3": (0.1,), "in turns": (1.0,)}
takes = {
    "data parallel": lambda t: max(t, t / 3 + 2 / 3),
    "ZeRO-3": lambda t: max(t, 1),
    "in turns": lambda t: t + 1,
}
d2l.compare = lambda jobs, *_: {(n, b): Time(minimum=takes[n](b / 64)) for n, b in jobs}
T, t_c, t_x = {"ZeRO-3": [1, 1.1, 4]}, {16: 0.25, 64: 1, 256: 4}, 1
jobs = {("ZeRO-3", 64): lambda: None}
beside = dict(cpu_0=[("dot", 0, 1)], wire=[("copy of gather", 0.2, 0.8)])
"""
NEGATIONS = (
    Negation(
        "mxnet pytorch",
        "baseline_1",
        OUTCOME.format(kept=4, sent=3, difference=0),
        "an all-reduce sends all to all",
    ),
    Negation(
        "mxnet pytorch",
        "baseline_1",
        OUTCOME.format(kept=4, sent=1.5, difference=0.1),
        "data parallelism computes other weights than one device",
    ),
    Negation(
        "mxnet pytorch",
        "zero-1-guess_1",
        OUTCOME.format(kept=4, sent=1.5, difference=0),
        "ZeRO-1 keeps as much as data parallelism",
    ),
    Negation(
        "mxnet pytorch",
        "zero-1-guess_1",
        OUTCOME.format(kept=2.5, sent=1.5, difference=0.1),
        "Adam on rows of its own makes other weights",
    ),
    Negation(
        "mxnet pytorch",
        "zero-2-guess_1",
        OUTCOME.format(kept=1.8, sent=2.25, difference=0),
        "ZeRO-2 sends half as much again",
    ),
    Negation(
        "mxnet pytorch",
        "zero-3-guess_1",
        OUTCOME.format(kept=1.2, sent=1.5, difference=0),
        "ZeRO-3 sends what data parallelism sends",
    ),
    Negation(
        "mxnet pytorch",
        "zero-3-guess_1",
        OUTCOME.format(kept=1.2, sent=2.25, difference=0.1),
        "gathered weights are other weights",
    ),
    Negation(
        "mxnet pytorch",
        "table_1",
        TABLE.format(second=2.5, third=1.21875),
        "ZeRO-2 keeps all gradients",
    ),
    Negation(
        "mxnet pytorch",
        "table_1",
        TABLE.format(second=1.84375, third=1),
        "ZeRO-3 divides all, also a layer at work",
    ),
    Negation(
        "mxnet pytorch",
        "hidden-guess_1",
        OVER_A_LINK + "sends['ZeRO-3'] = (0.35,)",
        "what ZeRO-3 sends in addition is not hidden, however many rows there are",
    ),
    Negation(
        "mxnet pytorch",
        "hidden-guess_1",
        OVER_A_LINK + "sends['in turns'] = (0.1,)",
        "nothing is gained by asking ahead",
    ),
    Negation(
        "mxnet pytorch",
        "law_1",
        OVER_A_LINK + "d2l.Timeline, T['ZeRO-3'][1] = recorded(**beside), 0.3",
        "what is recorded is not what was measured",
    ),
    Negation(
        "mxnet pytorch",
        "law_1",
        OVER_A_LINK + "beside['wire'] = [('copy of gather', 1, 2)]\n"
        "d2l.Timeline = recorded(**beside)",
        "exchange and computation take turns in the recording",
    ),
    Negation(
        "pytorch",
        "library-guess_1",
        "fully_sharded = None\nd2l.torchrun = lambda *_: [[8320, True, 12, 4]] * 2",
        "each block is gathered three times",
    ),
    Negation(
        "pytorch",
        "library-guess_1",
        "fully_sharded = None\nd2l.torchrun = lambda *_: [[8320, False, 8, 4]] * 2",
        "sharded, the network has other gradients",
    ),
    Negation(
        "pytorch",
        "library-lesson_1",
        "d2l.has_gpus = lambda n: True\n"
        "d2l.torchrun = lambda *_, **__: [[[[1, 1, 2**34]] * 2, 10**9, {}]] * 2",
        "sharding saves no memory",
    ),
)
