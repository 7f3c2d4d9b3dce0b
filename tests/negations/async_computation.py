"""What is planted before cells of async-computation."""

from negation import Negation

# Times of an addition, for four sizes, and how long N of them take: as the model says, with what
# follows in its place.
ASYNC = """
import numpy as np
N, asynchronous = 30, True
sizes = [4**k for k in range(1, 5)]
t_q, t_c = np.full(4, 2e-5), np.array([1e-6, 2e-5, 1e-4, 1e-3])
in_turns = t_q + t_c + 6e-5
predicted = {"wait each time": N * in_turns, "wait once": N * np.maximum(t_q, t_c)}
measured = predicted
d2l.plot_prediction = lambda *_: None
"""
GAIN = "\ngain, model = (np.divide(*times.values()) for times in (measured, predicted))"
WAITING_COSTS_TWICE = "measured = {**predicted, 'wait each time': 2 * predicted['wait each time']}"
WAITING_IS_FREE = "measured = dict.fromkeys(predicted, predicted['wait once'])"
NEGATIONS = (
    Negation(
        "mxnet",
        "loops-guess_1",
        "import types\n"
        "both, zeros, asynchronous = id, id, True\n"
        "same = types.SimpleNamespace(minimum=1e-3)\n"
        "d2l.compare = lambda *_: {'each': same, 'once': same}",
        "waiting each time takes no longer",
    ),
    Negation(
        "mxnet",
        "who_2",
        "product = None\nd2l.in_new_process = lambda *_, **__: (0.03, 0.03)",
        "with threads, too, nd.dot returns when the product is ready",
    ),
    Negation(
        "mxnet",
        "who_2",
        "product = None\nd2l.in_new_process = lambda *_, **__: (1e-5, 0.03)",
        "the call returns early without a queue, too, so that the queue is not the cause",
    ),
    Negation(
        "mxnet",
        "model-guess_1",
        ASYNC + WAITING_IS_FREE + GAIN,
        "waiting each time takes no longer",
    ),
    Negation(
        "mxnet",
        "model-guess_1",
        ASYNC + WAITING_COSTS_TWICE + GAIN,
        "waiting each time takes twice as long as predicted",
    ),
    Negation(
        "mxnet",
        "look_2",
        "back_end, d2l.plot_timelines = 'cpu/0', id\n"
        "turns = {'Python': [('a', 0, 1)], 'cpu/0': [('b', 1, 2)]}\n"
        "run = lambda wait_each: d2l.Timeline(turns)",
        "without a wait, too, front end and back end take turns",
    ),
    Negation(
        "mxnet",
        "look_2",
        "back_end, d2l.plot_timelines = 'cpu/0', id\n"
        "within = {'Python': [('a', 0, 2)], 'cpu/0': [('b', 1, 2)]}\n"
        "run = lambda wait_each: d2l.Timeline(within)",
        "the call itself computes, as with NaiveEngine",
    ),
    *(
        Negation(
            "mxnet",
            "memory-guess_1",
            "train = None\n"
            f"results = iter([([[0, 2e7]], 0.5), ([[0, {late}]], 0.5), ([[0, {never}]], 0.5)])\n"
            "d2l.in_new_process = lambda *_, **__: next(results)",
            why,
        )
        for late, never, why in (
            (2.2e7, 2.4e7, "without a wait memory grows no more than with one"),
            (4e7, 9e7, "waiting one step late holds half as much as never"),
        )
    ),
    Negation(
        "mxnet",
        "memory-look_1",
        "runs = {f'LATE={late}': ([[0, 0], [1, 4e7]], 0.5) for late in (0, 1, 30)}",
        "the curves of all three runs are alike",
    ),
    Negation(
        "mxnet",
        "memory-look_1",
        "runs = {late: ([[0, 0], [1, late * 3e6]], late) for late in (0, 1, 30)}",
        "waiting changes what is computed",
    ),
    *(
        Negation(
            "mxnet pytorch",
            "law_1",
            "back_end = 'device'\n"
            f"recorded = d2l.Timeline({{'Python': [('a', 0, {end})], 'device': [('b', 1, 2)]}})\n"
            "timelines = dict.fromkeys(('wait each time', 'wait once'), recorded)",
            why,
        )
        for end, why in (
            (1, "with one wait, too, the whole is the sum of the parts"),
            (2, "with a wait in each round, too, the whole is the longer part"),
        )
    ),
    Negation(
        "pytorch",
        "loops-guess_1",
        "import types\n"
        "both, zeros, asynchronous = id, id, False\n"
        "names = {'each': 3e-3, 'once': 1e-3}\n"
        "d2l.compare = lambda *_: {n: types.SimpleNamespace(minimum=s) for n, s in names.items()}",
        "on the CPU, too, waiting each time takes longer",
    ),
    Negation(
        "pytorch",
        "who-pytorch_2",
        "product, asynchronous = None, True\nd2l.in_new_process = lambda *_, **__: (1e-5, 1e-3)",
        "launches that block return early, too",
    ),
    *(
        Negation("pytorch", "model-guess_1", ASYNC + planted + GAIN, why)
        for planted, why in (
            (WAITING_IS_FREE, "waiting each time takes no longer"),
            (WAITING_COSTS_TWICE, "waiting each time takes twice as long as predicted"),
            ("asynchronous = False", "the CPU gains from not waiting"),
        )
    ),
    Negation(
        "pytorch",
        "look-pytorch_3",
        "back_end, d2l.plot_timelines = 'worker', id\n"
        "turns = {'Python': [('a', 0, 1)], 'worker': [('b', 1, 2)]}\n"
        "run = lambda wait_each: d2l.Timeline(turns)",
        "the worker waits for Python, and Python for the worker",
    ),
    Negation(
        "pytorch",
        "what-waits-pytorch_1",
        "import types\n"
        "device, d2l.has_gpus = 'cpu', lambda n: True\n"
        "torch.rand = torch.empty = lambda *_, **__: types.SimpleNamespace(pin_memory=int)\n"
        "d2l.waits = lambda call, job: call.args[0] != 'y.shape'",
        "a comparison waits for the numbers",
    ),
    Negation(
        "pytorch",
        "errors-pytorch_2",
        "late_error, on_gpu = None, True\n"
        "d2l.in_new_process = lambda *_, **__: ['x[x + 99]', 'd2l.synchronize()']",
        "on a GPU the guilty line raises at once",
    ),
    Negation(
        "pytorch",
        "memory-guess_1",
        "train = None\nd2l.in_new_process = lambda *_, **__: ([[0, 4e7]], 0.5)",
        "without a wait memory grows no more than with one",
    ),
)
