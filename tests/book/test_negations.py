"""Cells that assert a lesson fail where the lesson is false.

A row of the table plants a false measurement. What does not notice it is a weakness of the chapter:
listed as ``weak``, and the test fails once the cell does notice, so that the word goes.
"""

from __future__ import annotations

import importlib.util

from d2l_local import frameworks

import pytest
from negation import Negation, notices

# Gives both products of the index another time than one second each.
BOTH = (
    "import types\n"
    "d2l.compare = lambda functions, *_: {{\n"
    "    name: types.SimpleNamespace(minimum=t) for name, t in zip(functions, (1, 1, {both}))\n"
    "}}\n"
    "devices = d2l.devices(2)"
)
# What several rows plant: functions that all take as long, per call, and networks that do nothing.
ALIKE = (
    "from types import SimpleNamespace as Time\n"
    "d2l.compare = lambda functions, *_, **__: dict.fromkeys(functions, Time(minimum=1e-4))\n"
)
NETWORK = (
    "class Network:\n"
    "    def __call__(self, x): return x\n"
    "    def hybridize(self, **_): pass\n"
    "get_net = lambda *_: Network()\n"
    "net, x, device = get_net(), nd.ones(1), mx.cpu()\n"
)
MILLION = (
    "from types import SimpleNamespace as Time\n"
    "times = {0: Time(minimum=1e-6), 1: Time(minimum=1.0)}\n"
    "d2l.compare = lambda *_, **__: times\n"
)
# Plans, and a model of them, in which all take as long for twice as many devices.
PLANS = (
    "def owner(k): return k\ndef spread(k): return k\ndef ring(k): return k\n"
    "def tree(k): return k\nn, W, Gbit = 1, 1, 1\nt_x = lambda plan, n, W, latency=0: plan\n"
)
ALIKE_HOSTS = (  # Every exchange takes as long
    PLANS + "def owner(k): return 4 * k\n"
    "class Hosts:\n"
    "    def __init__(self, *_, **__): pass\n"
    "    def __enter__(self): return self\n"
    "    def __exit__(self, *_): pass\n"
    "    def seconds(self, plan, n): return 4.0\n"
    "d2l.has_hosts, d2l.Hosts = lambda: True, Hosts"
)
STORE = (
    "class Store:\n"
    "    def __getattr__(self, name): return lambda *_, **__: None\n"
    "mx.kv.create, pulled = lambda kind: Store(), nd.zeros((2, 3))\n"
    "kv = Store()"
)
JOB = (
    "class Job:\n"
    "    processes = {{'worker': 0}}\n"
    "    def __init__(self, *_, **__): pass\n"
    "    def __enter__(self): return self\n"
    "    def __exit__(self, *_): pass\n"
    "    def running(self): return []\n"
    "    def output(self, *_): return ''\n"
    "    def wait(self): raise d2l.ClusterError('worker', 1, -9, [], '')\n"
    "d2l.Cluster, options, program = Job, [], ''\n"
    "kill_and_watch = lambda job: {seen}"
)

# Times of an addition, for four sizes, and how long N of them take: as the model says, with what
# follows in its place.
ASYNC = """
from types import SimpleNamespace as Times
import numpy as np
N, asynchronous = 30, True
sizes = [4**k for k in range(1, 5)]
t_c = np.geomspace(1e-6, 1e-3, 4)
times = {size: Times(t_q=2e-5, t_c=t, t_w=6e-5) for size, t in zip(sizes, t_c)}
times[sizes[1]].t_c = 2e-5
each = [N * (t.t_q + t.t_c + t.t_w) for t in times.values()]
predicted = {"wait each time": each, "wait once": [N * max(t.t_q, t.t_c) for t in times.values()]}
measured = predicted
"""
WAITING_IS_FREE = "measured = dict.fromkeys(predicted, predicted['wait once'])"
# Questions: arrays that copy and add at once, and arrays of which -= makes a new one.
AT_ONCE = (
    "from types import SimpleNamespace as Time\n"
    "(here, there), size = d2l.devices(2), 2\n"
    "d2l.compare = lambda jobs, **_: dict(zip(jobs, map(lambda t: Time(minimum=t), (1, 2, 2))))\n"
)
NEW_EACH_TIME = (
    "class Array:\n"
    "    grad, requires_grad = None, False\n"
    "    def __init__(self, value=1.0): self.value = value\n"
    "    def __sub__(self, other): return Array(self.value - other)\n"
    "    def attach_grad(self): pass\n"
    "    def asnumpy(self): return np.full(2, self.value)\n"
    "    def tolist(self): return 2 * [self.value]\n"
)

# More from One Device: half of the bytes come from nowhere; a step ends before its backward pass.
HALF_COUNTED = (
    "from types import SimpleNamespace\n"
    "train = None\n"
    "d2l.Allocations.of = lambda fn: SimpleNamespace(result=1000, peak=32000)\n"
)
THREE_TIMES = (
    "from types import SimpleNamespace as Time\n"
    "net, X, segments, recompute = None, None, [], None\n"
    "d2l.compare = lambda jobs, *_: "
    "dict(zip(jobs, map(lambda t: Time(minimum=t), (1.0, 3.0, 0.5))))"
)

# Two devices whose links carry what is said, and a comparison that finds a difference.
LINKS = (
    "class links:\n"
    "    counts, difference = {counts}, lambda *_: {difference}\n"
    "    count = lambda: links.counts.pop(0)\n"
    "    place = send = split = lambda *_, **__: [0, 0]\n"
    "k = 2\n"
)
# Recordings of a pipeline of two stages with m micro-batches; forward takes a second, backward two.
STAGES = """
p, orders = 2, lambda order, m: [order(s, m) for s in range(2)]

def gpipe(s, m):
    return [f"{kind}{j}" for kind in "FB" for j in range(m)]

def one_f_one_b(s, m):
    later = [name for j in range(m) for name in (f"B{j}", f"F{j + 2 - s}")]
    return [name for name in [f"F{j}" for j in range(2 - s)] + later if int(name[1:]) < m]

def tasks(start, m, interleaved=True):
    kinds = [f"{kind}{j}" for j in range(m) for kind in "FB"]
    kinds = kinds if interleaved else sorted(kinds, reverse=True, key=lambda name: name[0])
    ends = [start]
    for name in kinds:
        ends.append(ends[-1] + (1 if name[0] == "F" else 2))
    return list(zip(kinds, ends, ends[1:]))

def late(m, seconds):
    return d2l.Timeline({"stage 0": tasks(0, m), "stage 1": tasks(seconds, m)})

def in_turns(m):
    return late(m, 3 * m)

def all_first(m):
    return d2l.Timeline({f"stage {s}": tasks(3 * s, m, False) for s in range(2)})

"""


NEGATIONS = (
    # --- MXNet ---
    Negation(
        "mxnet",
        "index",
        "law-guess_1",
        BOTH.format(both=4),
        "two parts take longer together than in turns",
    ),
    Negation(
        "mxnet",
        "index",
        "law-guess_1",
        BOTH.format(both=0.5),
        "two parts take less time together than the longer one alone",
    ),
    Negation(
        "mxnet",
        "index",
        "law-look_1",
        "x = y = nd.ones((2, 2))\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cpu_1=[('dot', 1, 2)])",
        "two devices take turns",
    ),
    Negation(
        "mxnet",
        "async-computation",
        "loops-guess_1",
        "import types\n"
        "both, zeros, asynchronous = id, id, True\n"
        "same = types.SimpleNamespace(minimum=1e-3)\n"
        "d2l.compare = lambda *_: {'each': same, 'once': same}",
        "waiting each time takes no longer",
    ),
    Negation(
        "mxnet",
        "async-computation",
        "who_2",
        "product = None\nd2l.in_new_process = lambda *_, **__: (0.03, 0.03)",
        "with threads, too, nd.dot returns when the product is ready",
    ),
    Negation(
        "mxnet",
        "async-computation",
        "who_2",
        "product = None\nd2l.in_new_process = lambda *_, **__: (1e-5, 0.03)",
        "the call returns early without a queue, too, so that the queue is not the cause",
    ),
    Negation(
        "mxnet",
        "async-computation",
        "model-guess_1",
        ASYNC + WAITING_IS_FREE,
        "waiting each time takes no longer",
    ),
    Negation(
        "mxnet",
        "async-computation",
        "look_2",
        "back_end, d2l.plot_timelines = 'cpu/0', id\n"
        "turns = {'Python': [('a', 0, 1)], 'cpu/0': [('b', 1, 2)]}\n"
        "run = lambda wait_each: d2l.Timeline(turns)",
        "without a wait, too, front end and back end take turns",
    ),
    Negation(
        "mxnet",
        "async-computation",
        "look_2",
        "back_end, d2l.plot_timelines = 'cpu/0', id\n"
        "within = {'Python': [('a', 0, 2)], 'cpu/0': [('b', 1, 2)]}\n"
        "run = lambda wait_each: d2l.Timeline(within)",
        "the call itself computes, as with NaiveEngine",
    ),
    *(
        Negation(
            "mxnet",
            "async-computation",
            "memory-guess_1",
            "train = None\n"
            "results = iter([([[0, 4e7]], 0.5), ([[0, 4e7]], 0.5), ([[0, peak]], loss)])\n"
            "d2l.in_new_process = lambda *_, **__: next(results)".replace("peak", peak).replace(
                "loss", loss
            ),
            why,
        )
        for peak, loss, why in (
            ("4.1e7", "0.5", "without a wait memory grows no more than with one"),
            ("9e7", "0.6", "waiting changes what is computed"),
        )
    ),
    Negation(
        "mxnet",
        "async-computation",
        "memory-look_1",
        "runs = {f'LATE={late}': ([[0, 0], [1, 4e7]], 0.5) for late in (0, 1, 30)}",
        "the curves of all three runs are alike",
    ),
    Negation(
        "mxnet",
        "async-computation",
        "law_1",
        "back_end = 'cpu/0'\n"
        "turns = {'Python': [('a', 0, 1)], 'cpu/0': [('b', 1, 2)]}\n"
        "timelines = {'wait once': d2l.Timeline(turns)}",
        "the whole is the sum of the parts",
    ),
    Negation(
        "mxnet",
        "auto-parallelism",
        "two-devices-guess_1",
        "run = x1 = x2 = None\nd2l.together = lambda jobs, **_: (dict.fromkeys(jobs, 1.0), 0.5)",
        "both together are done before the longer alone: nobody has waited",
    ),
    Negation(
        "mxnet",
        "auto-parallelism",
        "two-devices-look_1",
        "lane1, lane2, x1, x2, run = 'cpu/0', 'cpu/1', 0, 0, lambda x: None\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cpu_1=[('dot', 1, 2)])",
        "two devices take turns",
    ),
    Negation(
        "mxnet",
        "auto-parallelism",
        "unequal-guess_1",
        "on_gpu, run = False, lambda *_: None\n"
        "square = lambda n, device: None\n"
        "d2l.together = lambda jobs, **_: ({'large': 3.0, 'small': 1.0}, 4.0)\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 3)], cpu_1=[('dot', 3, 4)])",
        "two unequal devices take turns",
    ),
    Negation(
        "mxnet",
        "auto-parallelism",
        "look-guess_1",
        "lane1, lane2, x1, x2 = 'cpu/0', 'cpu/1', 0, 0\n"
        "run = lambda x: [nd.ones(1)]\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cpu_1=[('dot', 0, 1)])",
        "with a look in between, too, the devices work at once",
    ),
    Negation(
        "mxnet",
        "auto-parallelism",
        "look-guess_1",
        "lane1, lane2, x1, x2 = 'cpu/0', 'cpu/1', 0, 0\n"
        "run = lambda x: [nd.ones(1)]\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cpu_1=[('dot', 1, 2)])",
        "with a look at the end, too, the devices take turns",
    ),
    Negation(
        "mxnet",
        "auto-parallelism",
        "ring_1",
        "spans = [('dot', i, i + 1) for i in range(20)]\n"
        "d2l.in_new_process = lambda *_, **__: {'cpu/0': spans, 'cpu/1': spans}",
        "the second device waits for nothing of the first's",
    ),
    Negation(
        "mxnet",
        "auto-parallelism",
        "communication-guess_1",
        "on_gpu, gram, sender = False, lambda: None, mx.cpu(1)\n"
        "ys, copies = [[nd.ones(1) for _ in range(20)] for _ in range(2)]\n"
        "d2l.Timeline = recorded(cpu_1=[('dot', 0, 1e-9)])",
        "the Python thread, too, copies after all products",
    ),
    Negation(
        "mxnet",
        "auto-parallelism",
        "communication-guess_1",
        "on_gpu, gram, sender = False, lambda: None, mx.cpu(1)\n"
        "ys, copies = [[nd.ones(1) for _ in range(20)] for _ in range(2)]\n"
        "d2l.Timeline = recorded(cpu_1=[('dot', 0, 1e9)])",
        "the worker, too, copies beside its products",
    ),
    Negation(
        "mxnet",
        "auto-parallelism",
        "mlp-right_1",
        "lr, cpu, X, Y = 1.0, mx.cpu(2), 0, 0\n"
        "weights = [nd.ones((2, 2), ctx=cpu) for _ in range(2)]\n"
        "layer_gradients = lambda *_: (nd.ones((2, 2), ctx=cpu) for _ in range(2))\n"
        "replicas, shards = [[weight - 0.5 for weight in weights]], None\n"
        "train_step = lambda *_: None",
        "two devices change the weights half as much as one",
    ),
    Negation(
        "mxnet",
        "auto-parallelism",
        "mlp-look_1",
        "lane1, lane2, train_step = 'cpu/0', 'cpu/1', lambda *_: None\n"
        "shards = replicas = weights = lr = None\n"
        "spans = [('dot', 0, 1), ('dot', 1, 2), ('CopyCPU2CPU', 2, 3)]\n"
        "d2l.Timeline = recorded(cpu_0=spans, cpu_1=spans)",
        "the gradient of fc2 leaves after the last product",
    ),
    Negation(
        "mxnet",
        "auto-parallelism",
        "law_1",
        "gram, ys, both, alone = None, [], 1.0, {'t_c 1': 1.0, 't_c 2': 1.0}\n"
        "d2l.together = lambda jobs, **_: ({'t_c': 1.0, 't_x': 0.4}, 0.4)",
        "products and copies together are done before the products alone",
    ),
    Negation(
        "mxnet",
        "precision-memory",
        "sum-guess_1",
        "array = nd.array\nnd.array = lambda values, **_: array(values)",
        "the sum is float32's",
    ),
    Negation(
        "mxnet",
        "precision-memory",
        "sum-lesson_1",
        "ones = nd.ones\nnd.ones = lambda n, **_: ones(n)",
        "no update is lost",
    ),
    Negation(
        "mxnet",
        "precision-memory",
        "scaling-guess_1",
        "nd.NDArray.astype = lambda self, _: self",
        "small gradients survive in float16",
    ),
    Negation(
        "mxnet",
        "precision-memory",
        "by-hand-mxnet_3",
        "d2l.has_bfloat16, gradient = lambda: True, lambda X, *_: X",
        "16 bits change nothing",
    ),
    Negation(
        "mxnet",
        "precision-memory",
        "amp-mxnet_2",
        "d2l.has_bfloat16, losses = lambda: True, lambda: [1.0, 0.5]\n"
        "d2l.in_new_process = lambda *_, **__: [1.0, 0.9]",
        "training in 16 bits goes another way",
    ),
    Negation(
        "mxnet",
        "precision-memory",
        "when-guess_1",
        "d2l.has_bfloat16, gain = lambda: True, lambda *_, **__: 3.0",
        "16 bits shorten what is bound by issuing",
    ),
    Negation(
        "mxnet",
        "precision-memory",
        "peak-guess_1",
        HALF_COUNTED + "networks = {'ResNet-18': (None, (), 0, 0)}",
        "half of the memory is not predicted",
    ),
    Negation(
        "mxnet",
        "precision-memory",
        "accumulate_2",
        "class Parameters(dict):\n    setattr = lambda *_: None\n"
        "class Net:\n"
        "    __call__ = lambda *_: None\n    collect_params = lambda _: Parameters()\n"
        "mlp, gradients = lambda *_: Net(), lambda net, X, m: [nd.ones(2) * m]",
        "four parts give four times the gradient",
    ),
    Negation(
        "mxnet",
        "precision-memory",
        "recompute_2",
        "net = nn.HybridSequential()\nnet.add(*[nn.Dense(1) for _ in range(25)])\n"
        "X, gradients, recompute = 0, lambda *_: [], lambda *_: nd.ones(1000).wait_to_read()",
        "recomputation saves nothing",
    ),
    Negation(
        "mxnet",
        "precision-memory",
        "recompute-guess_1",
        THREE_TIMES,
        "a step is shorter than its longest part",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "front-end-mxnet_2",
        "devices, params, small = [mx.cpu(0), mx.cpu(1)], [], 2\n"
        "get_params = train_batch = lambda *_, **__: []\n"
        "best = lambda step: (1e-3, 1e-3)",
        "queuing for two devices takes no longer than for one",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "model-fit_1",
        "bs = [16, 64, 256]\nseconds = {(k, b): 1e-6 * (k * b) ** 2 for k in (1, 2) for b in bs}",
        "the time of a step is no sum of a part per device and a part per image",
        weak="only the sign of beta counts where the model fits badly",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "solution-1_1",
        "import math\n"
        "devices, small_params, params = [mx.cpu()], [], []\n"
        "FlatParams = lambda start, device: start\n"
        "lenet = train_fused = lambda *_, **__: None\n"
        "loss = lambda *_: mx.nd.array([1.5])\n"
        "d2l.load_data_fashion_mnist = lambda *_, **__: ([2 * [mx.nd.ones(1)]], [])",
        "the network learns from small parameters as from Xavier's",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "costs-guess_1",
        "device = mx.cpu()\n" + MILLION,
        "a million additions take a million times as long as one",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "dis-guess_1",
        "def fancy_func(a, b, c, d):\n    return (a + b) + (c + d)",
        "Python leaves out the calls",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "trace_1",
        "fancy_func, num_calls = lambda a, b, c, d: (a + b) + (c + d), lambda function: 3",
        "what was traced still calls",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "rebind_1",
        "add = lambda a, b: a + b\n"
        "def fancy_func(a, b, c, d): return add(add(a, b), add(c, d))\n"
        "compiled = fancy_func",
        "the graph follows when a name changes its meaning",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "hybridsequential_2",
        NETWORK + "Network.hybridize = lambda self: setattr(Network, '__call__', lambda *_: x + 1)",
        "compiling changes the result",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "operations-guess_1",
        NETWORK + "lane, spans = 'cpu/0', [('op', i, i + 1) for i in range(5)]\n"
        "d2l.Timeline.of = lambda fn: d2l.Timeline({'cpu/0': spans})",
        "the graph is issued operator by operator",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "switches-guess_1",
        NETWORK + ALIKE,
        "the graph takes as long as its operators",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "first_1",
        NETWORK + "static, T = {}, {'both switches': 1.0}",
        "the first call takes no longer than the others",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "when_1",
        NETWORK + ALIKE + "static, lane = {}, 'cpu/0'\n"
        "d2l.Timeline.of = lambda fn: d2l.Timeline({'cpu/0': [('op', 0, 1)]})",
        "small layers gain nothing either",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "when_1",
        NETWORK + "static, lane = {}, 'cpu/0'\n"
        "from types import SimpleNamespace as Time\n"
        "T = {'imperative': Time(minimum=4.0), 'hybridized': Time(minimum=1.0)}\n"
        "d2l.compare = lambda *_, **__: T\n"
        "d2l.Timeline.of = lambda fn: d2l.Timeline({'cpu/0': [('op', 0, 1)]})",
        "large layers gain as much as small ones",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "frozen-guess_1",
        "class Imperative:\n"
        "    hybridize = lambda self: None\n"
        "    def __call__(self, x): return self.hybrid_forward(nd, x)\n"
        "device, nn.HybridBlock = mx.cpu(), Imperative",
        "Python runs at every call",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "loud_2",
        "compiled_result = lambda function: 'a result'",
        "what asks for values works",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "silent_1",
        "square = nd.array([[0, 1], [2, 3]])\n"
        "compiled_result = lambda function: function(nd, square)",
        "indexing and iterating mean the same",
    ),
    Negation(
        "mxnet",
        "hybridize",
        "law_1",
        NETWORK + "nets, lane = {'imperative': net, 'both switches': net}, 'cpu/0'\n"
        "d2l.Timeline = recorded(Python=[('issue', 0, 1)], cpu_0=[('op', 0, 1)])",
        "issuing the graph takes as long as issuing its operators",
    ),
    Negation(
        "mxnet",
        "questions",
        "moving-guess_1",
        AT_ONCE,
        "the addition hides behind the copies that it needs",
    ),
    Negation(
        "mxnet",
        "questions",
        "in-place_1",
        NEW_EACH_TIME + "nd.ones = lambda *_, **__: Array()",
        "subtracting in place makes a new array",
    ),
    Negation(
        "mxnet",
        "questions",
        "data-guess_1",
        "accuracy = lambda n, share: 0.6",
        "random labels do no harm",
    ),
    Negation(
        "mxnet",
        "questions",
        "data-guess_1",
        "accuracy = lambda n, share: n / (50 if share == 0 else 500)",
        "poor images are worth a tenth each, however poor",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "data-guess_1",
        LINKS.format(counts="[8192, 16384]", difference=0)
        + "rows, width, weights, right, X, Y = 60, 16, [0] * 4, [0, 0], [0] * 60, [0] * 60\n"
        "data_parallel = lambda X, Y, sizes: [[0]]",
        "for twice as many rows data parallelism sends twice as much",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "data-guess_1",
        LINKS.format(counts="[8192, 8192]", difference=0.5)
        + "rows, width, weights, right, X, Y = 60, 16, [0] * 4, [0, 0], [0] * 60, [0] * 60\n"
        "data_parallel = lambda X, Y, sizes: [[0]]",
        "the gradients of data parallelism are half of what they should be",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "model_1",
        LINKS.format(counts="[3840]", difference=0)
        + "rows, width, weights, right, X, Y = 60, 16, [0] * 4, 0, 0, 0\n"
        "d2l.gradients = lambda *_: None",
        "gradients do not cross the border",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "tensor_1",
        LINKS.format(counts="[61440]", difference=0)
        + "rows, width, weights, right, X, Y = 60, 16, [0] * 4, 0, 0, 0\n"
        "d2l.gradients = lambda *_: None",
        "each layer takes all-reduces of its own",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "block-guess_1",
        LINKS.format(counts="[6 * 4 * 2 * 48 * 32]", difference=0)
        + "array, d2l.gradients = lambda *_: 0, lambda *_: None",
        "each weight takes an all-reduce",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "ring-how_2",
        LINKS.format(counts="[2 * 4 * 2 * 48 * 32]", difference=0.1)
        + "tokens, d, array, d2l.gradients = 48, 32, lambda *_: 0, lambda *_: None",
        "the pieces of the softmax do not make the whole",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "ring-how_2",
        LINKS.format(counts="[2 * 2 * 4 * 2 * 48 * 32]", difference=0)
        + "tokens, d, array, d2l.gradients = 48, 32, lambda *_: 0, lambda *_: None",
        "the ring sends twice as much as predicted",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "experts-how_2",
        LINKS.format(counts="[4 * 48 * 32 * 4]", difference=0)
        + "tokens, d, experts, right, xs = 48, 32, [], 0, range(2)\n"
        "route, d2l.gradients = lambda piece: np.arange(24) % 2, lambda *_: None",
        "all tokens travel, also those whose expert is here",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "schedule-guess_1",
        STAGES + "record = lambda order, m: in_turns(m)",
        "the stages of a pipeline take turns",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "kept_1",
        STAGES + "recorded = {'GPipe': all_first(4), '1F1B': all_first(4)}",
        "queued as 1F1B, the tasks are executed as GPipe",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "kept-lesson_1",
        STAGES + "record = lambda order, m: late(m, 6)",
        "the bubble is twice as large as the formula says",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "kept-lesson_1",
        STAGES + "record = lambda order, m: in_turns(m)",
        "more micro-batches do not shrink the bubble",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "unequal-guess_1",
        LINKS.format(counts="[]", difference=0) + "import types\n"
        "b, width, stages, array, links.join = 256, 16, [0, 0], lambda *_: 0, lambda _: [[0]]\n"
        "d2l.compare = lambda jobs, **_: {\n"
        "    job: types.SimpleNamespace(samples=[1.0]) for job in jobs}",
        "the device that works four times over is as fast as the other",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "unequal-guess_1",
        LINKS.format(counts="[]", difference=0) + "import types\n"
        "b, width, stages, array, links.join = 256, 16, [0, 0], lambda *_: 0, lambda _: [[0]]\n"
        "turns = [1.0, 4.0, 1.0, 1.4]\n"
        "d2l.compare = lambda jobs, **_: {\n"
        "    job: types.SimpleNamespace(samples=[turns.pop(0)]) for job in jobs}",
        "shared out by throughput, one device takes 1.4 times as long as the other",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "law_1",
        STAGES + "run = in_turns(8)",
        "nothing of the pipeline is hidden",
    ),
    Negation("mxnet", "parameterserver", "costs-guess_1", PLANS, "both plans take twice as long"),
    Negation(
        "mxnet",
        "parameterserver",
        "ring-guess_1",
        PLANS + "n, W = 1e8, 1e10\ndef tree(k): return 'tree'\n"
        "t_x = lambda plan, n, W, latency=0: 8 * latency + (1 + (plan == 'tree')) * n / W",
        "the tree has as many steps as the ring",
    ),
    Negation(
        "mxnet", "parameterserver", "links_1", PLANS, "an exchange takes as long over any link"
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "allreduce-check_1",
        "split, ring_allreduce = lambda data: data, lambda data: None",
        "nothing is exchanged",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "allreduce-check_1",
        "split = lambda data: data\n"
        "def ring_allreduce(data):\n"
        "    for x in data[1:]: data[0] += x.as_in_context(data[0].context)\n"
        "    for x in data[1:]: data[0].copyto(x)",
        "one device adds for all",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "late-guess_1",
        "k, split = 3, lambda data: [[x] for x in data]\n"
        "early_transfers = lambda chunks: (d2l.Timeline({'cpu/0': [('x', 0, 1)]}), 3)",
        "slices wait for a late device no longer than arrays",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "late-guess_1",
        "k, split, early = 3, lambda data: [[x] for x in data], [8, 0]\n"
        "line = d2l.Timeline({'cpu/0': [('x', 0, 1)]})\n"
        "early_transfers = lambda chunks: (line, early.pop())",
        "of the arrays all arrive that the late device does not send",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "machines_1",
        "servers, Gbit, t_x = lambda k, s: s, 1, lambda plan, n, W: 1.0",
        "one server is as fast as sixteen",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "hosts-guess_1",
        ALIKE_HOSTS,
        "an owner takes as long as a ring",
    ),
    Negation("mxnet", "parameterserver", "kvstore_1", STORE, "what is pulled is not the sum"),
    Negation("mxnet", "parameterserver", "kvstore-updater_1", STORE, "the store has no optimizer"),
    Negation(
        "mxnet",
        "parameterserver",
        "job-answers_1",
        JOB.format(seen="0") + "\nJob.wait, nd.load = lambda self: None, lambda path: {}",
        "the job is a single process",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "job-answers_2",
        "from types import SimpleNamespace as Net\n"
        "param, distributed = Net(data=lambda: nd.ones(1)), {'w': nd.ones(1) / 2}\n"
        "net = Net(_collect_params_with_prefix=lambda: {'w': param})\n"
        "train_lenet_dist.train = lambda *_: net\n"
        "d2l.load_data_fashion_mnist = lambda *_, **__: ([], [])",
        "the job trains something else than one process",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "dead-guess_1",
        JOB.format(seen="(True, ['worker 0'])"),
        "worker 0 goes on alone",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "dead-guess_1",
        JOB.format(seen="(False, ['server 0'])"),
        "worker 0 notices by itself",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "law-mxnet_1",
        "d2l.together = lambda *_, **__: ({'t_x 1': 1.0, 't_x 2': 1.0}, 1.0)\n"
        "nd.ones = lambda *_, **__: nd.zeros(1)\n"
        "d2l.Timeline = recorded(cpu_0=[('Copy', 0, 1)], cpu_1=[('Copy', 0, 1)])",
        "one owner sends from two devices",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "law-mxnet_2",
        "x = y = [nd.zeros(1, ctx=mx.cpu(i)) for i in range(3)]\n"
        "d2l.together = lambda *_, **__: ({'t_x 1': 1.0, 't_x 2': 1.0}, 2.0)\n"
        "d2l.Timeline = recorded(cpu_0=[('Copy', 0, 1)], cpu_1=[('Copy', 1, 2)])",
        "two sources send in turns",
    ),
    # --- PyTorch ---
    Negation(
        "pytorch",
        "index",
        "law-guess_1",
        BOTH.format(both=4),
        "two parts take longer together than in turns",
    ),
    Negation(
        "pytorch",
        "index",
        "law-guess_1",
        BOTH.format(both=0.5),
        "two parts take less time together than the longer one alone",
    ),
    Negation(
        "pytorch",
        "index",
        "law-look_1",
        "x, y, devices = torch.ones(2, 2), torch.ones(2, 2), [0, 1]\n"
        "launches = [('aten::mm', 0, 1e-4), ('aten::mm', 1e-4, 2e-4)]\n"
        "d2l.Timeline = recorded(cpu_0=launches, gpu_0=[('mm', 0, 1)], gpu_1=[('mm', 1, 2)])",
        "two GPUs take turns",
    ),
    Negation(
        "pytorch",
        "index",
        "law-look_1",
        "x, y, devices = torch.ones(2, 2), torch.ones(2, 2), ['cpu', 'cpu']\n"
        "d2l.Timeline = recorded(cpu_0=[('mm', 0, 2)], cpu_1=[('mm', 0, 2)])",
        "the one CPU computes both at once",
    ),
    Negation(
        "pytorch",
        "async-computation",
        "loops-guess_1",
        "import types\n"
        "both, zeros, asynchronous = id, id, False\n"
        "names = {'each': 3e-3, 'once': 1e-3}\n"
        "d2l.compare = lambda *_: {n: types.SimpleNamespace(minimum=s) for n, s in names.items()}",
        "on the CPU, too, waiting each time takes longer",
    ),
    Negation(
        "pytorch",
        "async-computation",
        "who-pytorch_2",
        "product, asynchronous = None, True\nd2l.in_new_process = lambda *_, **__: (1e-5, 1e-3)",
        "launches that block return early, too",
    ),
    *(
        Negation("pytorch", "async-computation", "model-guess_1", ASYNC + planted, why)
        for planted, why in (
            (WAITING_IS_FREE, "waiting each time takes no longer"),
            ("asynchronous = False", "the CPU gains from not waiting"),
        )
    ),
    Negation(
        "pytorch",
        "async-computation",
        "look-pytorch_2",
        "back_end, d2l.plot_timelines = 'worker', id\n"
        "turns = {'Python': [('a', 0, 1)], 'worker': [('b', 1, 2)]}\n"
        "run = lambda wait_each: d2l.Timeline(turns)",
        "the worker waits for Python, and Python for the worker",
    ),
    Negation(
        "pytorch",
        "async-computation",
        "what-waits-pytorch_1",
        "import types\n"
        "device, d2l.has_gpus = 'cpu', lambda n: True\n"
        "torch.rand = torch.empty = lambda *_, **__: types.SimpleNamespace(pin_memory=int)\n"
        "d2l.waits = lambda call, job: call.args[0] != 'y.shape'",
        "a comparison waits for the numbers",
    ),
    Negation(
        "pytorch",
        "async-computation",
        "errors-pytorch_2",
        "late_error, on_gpu = None, True\n"
        "d2l.in_new_process = lambda *_, **__: ['x[x + 99]', 'd2l.synchronize()']",
        "on a GPU the guilty line raises at once",
    ),
    Negation(
        "pytorch",
        "async-computation",
        "memory-guess_1",
        "train = None\nd2l.in_new_process = lambda *_, **__: ([[0, 4e7]], 0.5)",
        "without a wait memory grows no more than with one",
    ),
    Negation(
        "pytorch",
        "async-computation",
        "law_1",
        "back_end = 'worker'\n"
        "turns = {'Python': [('a', 0, 1)], 'worker': [('b', 1, 2)]}\n"
        "timelines = {'wait once': d2l.Timeline(turns)}",
        "the whole is the sum of the parts",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "two-devices-guess_1",
        "lane1, lane2, x1, x2, run = 'gpu/0', 'gpu/1', 0, 0, lambda x: None\n"
        "d2l.together = lambda jobs, **_: (dict.fromkeys(jobs, 1.0), 2.0)\n"
        "d2l.Timeline = recorded(gpu_0=[('gemm', 0, 1)], gpu_1=[('gemm', 1, 2)])",
        "two GPUs take turns",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "unequal-pytorch_1",
        "devices, run = ['cpu'], lambda *_: None\n"
        "d2l.has_gpus = lambda n: True\n"
        "d2l.together = lambda jobs, **_: (dict.fromkeys(jobs, 1.0), 1.0)\n"
        "d2l.Timeline = recorded(gpu_0=[('gemm', 0, 1)], cpu_0=[('mm', 0, 1)])",
        "a GPU and the CPU work at once in either order",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "unequal-pytorch_1",
        "devices, run = ['cpu'], lambda *_: None\n"
        "d2l.has_gpus = lambda n: True\n"
        "d2l.together = lambda jobs, **_: (dict.fromkeys(jobs, 1.0), 2.0)\n"
        "d2l.Timeline = recorded(gpu_0=[('gemm', 0, 1)], cpu_0=[('mm', 1, 2)])",
        "a GPU and the CPU take turns in either order",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "thread-stream-guess_1",
        "first = [('mm', i, i + 1) for i in range(20)]\n"
        "second = [('mm', i + 20, i + 21) for i in range(20)]\n"
        "d2l.Timeline = recorded(thread_0=first, thread_1=second)",
        "two threads take turns",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "look-pytorch_1",
        "lane1, lane2, x1, x2 = 'gpu/0', 'gpu/1', 0, 0\n"
        "run, d2l.has_gpus = lambda x: [torch.ones(1)], lambda n: True\n"
        "d2l.Timeline = recorded(gpu_0=[('gemm', 0, 1)], gpu_1=[('gemm', 0, 1)])",
        "with a look in between, too, the GPUs work at once",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "beside-guess_1",
        "import types\n"
        "on_gpu, num_ops, left, sides, devices = False, 20, torch.ones(1, 1), [None], ['cpu']\n"
        "ys = buffers = [torch.ones(1, 1) for _ in range(20)]\n"
        "send = lambda *_: types.SimpleNamespace(query=lambda: False)",
        "copies arrive after all products",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "exhibit-pytorch_1",
        "import types\n"
        "n, ys, buffers = 2, [types.SimpleNamespace(to=lambda *_, **__: types.SimpleNamespace(\n"
        "    is_pinned=lambda: True))], []\n"
        "d2l.has_gpus = lambda n: True\n"
        "d2l.compare = lambda ways, **_: dict.fromkeys(ways, types.SimpleNamespace(minimum=1.0))",
        "pinned memory is as fast as touched memory, and that as new memory",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "mlp-right_1",
        "lr, lane1, lane2, X, Y, shards = 1.0, 'cpu/0', 'cpu/0', 0, 0, None\n"
        "weights, train_step = [torch.ones(2, 2) for _ in range(2)], lambda *_: None\n"
        "layer_gradients = lambda *_: (torch.ones(2, 2) for _ in range(2))\n"
        "replicas = [[weight - 0.5 for weight in weights]]\n"
        "lanes = {'cpu/0': [('matmul', 0, 2)], 'cpu/0 copies': [('copy_', 1, 2)]}\n"
        "d2l.Timeline = recorded(**lanes)",
        "two devices change the weights half as much as one",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "mlp-right_1",
        "lr, lane1, lane2, X, Y, shards = 1.0, 'cpu/0', 'cpu/0', 0, 0, None\n"
        "weights, train_step = [torch.ones(2, 2) for _ in range(2)], lambda *_: None\n"
        "layer_gradients = lambda *_: (torch.ones(2, 2) for _ in range(2))\n"
        "replicas = [[weight - 1 for weight in weights]]\n"
        "lanes = {'cpu/0': [('matmul', 0, 2)], 'cpu/0 copies': [('copy_', 2, 3)]}\n"
        "d2l.Timeline = recorded(**lanes)",
        "the gradient of fc2 leaves after the last product",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "law_1",
        "import types\n"
        "a, streams, beside, num_ops, both = None, [], None, 1, 1.0\n"
        "alone = {'t_c 1': 1.0, 't_c 2': 1.0}\n"
        "times = [types.SimpleNamespace(minimum=t) for t in (1.0, 0.4, 1.4, 0.4)]\n"
        "d2l.compare = lambda jobs, **_: dict(zip(jobs, times))\n"
        "d2l.together = lambda *_, **__: ({'t_c 1': 1.0, 't_c 2': 1.0}, 1.0)",
        "products and copies together are done before the products alone",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "formats_1",
        "torch.Tensor.half = torch.Tensor.bfloat16",
        "float16 has the range of bfloat16",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "sum-guess_1",
        "torch.float16 = torch.float32",
        "the sum is float32's",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "sum-lesson_1",
        "torch.float16 = torch.float32",
        "no update is lost",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "scaling-guess_1",
        "torch.Tensor.half = torch.Tensor.bfloat16",
        "small gradients survive in float16",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "by-hand_1",
        "import contextlib\ndevice = torch.device('cpu')\n"
        "torch.autocast = lambda *_: contextlib.nullcontext()",
        "autocast does not do what is done by hand",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "when-guess_1",
        "device, gain = torch.device('cpu'), lambda *_, **__: 3.0",
        "16 bits shorten what is bound by issuing",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "ladder-pytorch_2",
        "device, train_step = torch.device('cpu'), lambda net, X, bf16: 2.0 if bf16 else 1.0",
        "16 bits change the loss",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "peak-guess_1",
        HALF_COUNTED + "networks = {'ResNet-18': (None, (), 0)}",
        "half of the memory is not predicted",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "accumulate_2",
        "mlp, gradients = lambda *_: None, lambda net, X, m: [torch.ones(2) * m]",
        "four parts give four times the gradient",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "recompute_2",
        "net = nn.Sequential(*[nn.ReLU() for _ in range(49)])\n"
        "X, gradients, recompute = 0, lambda *_: [], lambda *_: torch.ones(1000).sum()",
        "recomputation saves nothing",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "framework_1",
        "net = nn.Sequential(*[nn.Linear(2, 2) for _ in range(4)])\n"
        "X, segments, exact = torch.rand(3, 2), net, [p + 1 for p in net.parameters()]",
        "the framework's gradients are others",
    ),
    Negation(
        "pytorch",
        "precision-memory",
        "recompute-guess_1",
        THREE_TIMES,
        "a step is shorter than its longest part",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "front-end-pytorch_3",
        "import types\n"
        "devices, small, on, step_time = [0, 1], 2, lambda *_: None, lambda *_, **__: 1e-3\n"
        "record = lambda step: types.SimpleNamespace(lanes={'cpu/0': [0] * 10})",
        "two devices take as many calls as one",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "bound_2",
        "on_gpu, ks, bs = False, (1, 2), (16, 64, 256)\n"
        "seconds = {(k, b): 1e-6 * (k * b) ** 2 for k in ks for b in bs}",
        "the time of a step is no sum of a part per device and a part per image",
        weak="only the sign of beta is asserted",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "solution-1_1",
        "import math\n"
        "devices, small_params, params = ['cpu'], [], []\n"
        "FlatParams = lambda start, device: start\n"
        "lenet = train_fused = lambda *_, **__: None\n"
        "loss = lambda *_: torch.tensor(2.3)\n"
        "d2l.load_data_fashion_mnist = lambda *_, **__: ([2 * [torch.ones(1)]], [])",
        "the network learns from neither start",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "costs-guess_1",
        "device = torch.device('cpu')\n" + MILLION,
        "a million additions take a million times as long as one",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "graph_1",
        "device, add = torch.device('cpu'), torch.mul\n"
        "fancy_func = lambda a, b, c, d: a + b + c + d - d",
        "the graph has other operators",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "guard_1",
        "plain_add, graphs, numbers = None, d2l.Graphs(), [1.0]\n"
        "recorded = lambda x: torch.tensor(10.0)",
        "the graph stays as it was when a name changes its meaning",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "fusion-guess_1",
        "chain = fused = lambda x: x\n"
        "X, on_gpu, backend, device = None, False, 'inductor', torch.device('cpu')\n"
        "spans = [('aten::add', i, i + 1) for i in range(15)]\n"
        "d2l.Timeline.of = lambda fn: d2l.Timeline({'cpu/0': spans})",
        "the compiled chain still runs every operator",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "gain_1",
        ALIKE + "device, on_gpu, backend = 'cpu', False, 'inductor'\nchain = fused = torch.relu",
        "reading and writing 15 times takes no longer than once",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "gain-lesson_2",
        "from types import SimpleNamespace as Time\n"
        "device, on_gpu, backend, rows = 'cpu', False, 'eager', 2\n"
        "nets = [nn.Sequential(nn.Linear(16, 16)) for _ in range(3)]\n"
        "torch.compile = lambda net, **_: net\n"
        "T = {'eager': Time(minimum=4.0), 'compiled': Time(minimum=1.0)}\n"
        "d2l.compare = lambda *_, **__: T",
        "two wide layers gain, too",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "first-torch_1",
        "from types import SimpleNamespace as Time\n"
        "chain, X, backend = torch.relu, torch.ones(1), 'eager'\n"
        "d2l.measure = lambda *_, **__: Time(minimum=100.0)",
        "the first call takes no longer than the others",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "shapes-guess_1",
        "nets, device = [nn.Linear(512, 2)], 'cpu'\n"
        "torch._dynamo.config.automatic_dynamic_shapes = False",
        "every size is compiled by itself",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "breaks_1",
        "device = 'cpu'\ntorch._dynamo.config.capture_scalar_outputs = True",
        "a value does not break the graph",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "breaks-lesson_1",
        "device = 'cpu'\ntorch.cond = lambda condition, yes, no, inputs: yes(*inputs)",
        "one branch is taken whatever the data",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "export-torch_1",
        "nets, device = [nn.Linear(512, 2)], 'cpu'\n"
        "from types import SimpleNamespace as Program\n"
        "torch.export.load = lambda path: Program(module=lambda: nn.Linear(512, 2))",
        "the file holds other parameters",
    ),
    Negation(
        "pytorch",
        "hybridize",
        "law-torch_1",
        "device, on_gpu, lane, chain = 'cpu', False, 'cpu/0', torch.relu\n"
        "spans = [('aten::relu', i, i + 1) for i in range(15)]\n"
        "d2l.Timeline = recorded(Python=[('issue', 0, 16)], cpu_0=spans)",
        "a CPU computes without a gap in which Python issues",
    ),
    Negation(
        "pytorch",
        "questions",
        "moving-guess_1",
        AT_ONCE,
        "the addition hides behind the copies that it needs",
    ),
    Negation(
        "pytorch",
        "questions",
        "in-place_1",
        NEW_EACH_TIME + "torch.ones = lambda *_, **__: Array()",
        "subtracting in place makes a new array",
    ),
    Negation(
        "pytorch",
        "questions",
        "data-guess_1",
        "accuracy = lambda n, share: 0.6",
        "random labels do no harm",
    ),
    Negation(
        "pytorch",
        "questions",
        "data-guess_1",
        "accuracy = lambda n, share: n / (50 if share == 0 else 500)",
        "poor images are worth a tenth each, however poor",
    ),
    Negation(
        "pytorch",
        "parallel-strategies",
        "library-run_1",
        "library_pipeline = library_tensor = None\n"
        "d2l.torchrun = lambda *_, **__: [[[0, True], [4, True]]] * 2",
        "tensor parallelism takes an all-reduce more",
    ),
    Negation(
        "pytorch",
        "parallel-strategies",
        "library-run_1",
        "library_pipeline = library_tensor = None\n"
        "d2l.torchrun = lambda *_, **__: [[[0, False], [3, True]], [[0, True], [3, True]]]",
        "the pipeline computes other gradients",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "allreduce-check-pytorch_1",
        "shift = ring_allreduce = None\n"
        "d2l.torchrun = lambda *_, **__: [[True, True], [True, False]]",
        "the replicas differ in a bit",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "late-guess-pytorch_1",
        "shift = ring_allreduce = late_ring = None\n"
        "d2l.torchrun = lambda *_, **__: [[9, []], [0, [1, 2, 3, 4]], [0, [1, 2, 3, 4]]]",
        "nobody waits for the process that is late",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "late-guess-pytorch_1",
        "shift = ring_allreduce = late_ring = None\n"
        "d2l.torchrun = lambda *_, **__: [[9, []], [0, [10, 11, 12, 13]], [0, [10, 11, 12, 13]]]",
        "nothing at all moves before all are there",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "late-lesson-pytorch_2",
        "from types import SimpleNamespace as Time\n"
        "class Ring:\n    def __init__(self, vectors): pass\n"
        "torch.zeros, by_nccl, d2l.Ring = lambda *_, **__: 0, None, Ring\n"
        "d2l.has_gpus, d2l.try_all_gpus = lambda n: True, lambda: ['cpu', 'cpu']\n"
        "d2l.measure = lambda fn, number: Time(median=1.0 if isinstance(fn, Ring) else 0.5)\n"
        "d2l.torchrun = lambda *_, **__: [[1.0] * 3, [1.0] * 3]",
        "the GPUs of the ring send in turns",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "hosts-guess_1",
        ALIKE_HOSTS,
        "an owner takes as long as a ring",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "job-answers-pytorch_1",
        "mlp = None\ntrain = lambda *_: [[1.0]] * 4\n"
        "d2l.torchrun = lambda *_, **__: ([[1.0]] * 4, [[2.0]] * 4)",
        "the workers' parameters drift apart",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "job-answers-pytorch_1",
        "mlp = None\ntrain = lambda *_: [[1.0]] * 4\n"
        "d2l.torchrun = lambda *_, **__: ([[0.5]] * 4, [[0.5]] * 4)",
        "two workers change the parameters half as much as one",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "dead-guess-pytorch_1",
        "doomed, d2l.torchrun = None, lambda *_, **__: []",
        "the job goes on without the dead worker",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "dead-guess-pytorch_1",
        "doomed = None\n"
        "def torchrun(*_, **__): raise TimeoutError('doomed was ended')\n"
        "d2l.torchrun = torchrun",
        "nobody notices before the time limit",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "law-pytorch_1",
        "mlp = None\nd2l.torchrun = lambda *_, **__: [({'t_c': 1.0, 't_x': 1.0}, 1.0), 0]",
        "the exchange hides behind the computation",
    ),
)


def described(negation: Negation):
    weak = pytest.mark.xfail(reason=negation.weak, strict=True, raises=AssertionError)
    marks = [weak] if negation.weak else []
    module = frameworks.load()[negation.framework].module
    if importlib.util.find_spec(module) is None:
        marks = [pytest.mark.skip(reason=f"needs {negation.framework}")]
    name = f"{negation.framework}/{negation.section}/{negation.cell}: {negation.why}"
    return pytest.param(negation, id=name, marks=marks)


@pytest.mark.parametrize("negation", map(described, NEGATIONS))
def test_a_cell_notices_that_its_lesson_is_false(negation):
    assert notices(negation), f"{negation.cell} holds although {negation.why}"
