"""Cells that assert a lesson fail where the lesson is false.

A row of the table plants a false measurement. What does not notice it is a weakness of the chapter:
listed as ``weak``, and the test fails once the cell does notice, so that the word goes.
"""

from __future__ import annotations

import importlib.util
from collections.abc import Iterator

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
    "def tree(k): return k\nn, W, Gbit = 1, 1, 1\nt_x = lambda plan, n, W, *_: plan\n"
    "plans = {'owner': owner, 'spread': spread}\n"
)
# Hosts on which an exchange takes what `seconds` says, and plans of which each sends all by itself.
HOSTS = (
    PLANS.replace("{", "{{").replace("}", "}}")
    + "plans = {{'owner': 'owner', 'tree': 'tree', 'ring': 'ring', 'spread': 'spread'}}\n"
    "plans = {{name: lambda k, name=name: name for name in plans}}\n"
    "t_x = lambda plan, n, W: 4.0 if plan == 'owner' else 1.0\nlink = 1.0\n"
    "class Hosts:\n"
    "    def __init__(self, *_, **__): pass\n"
    "    def __enter__(self): return self\n"
    "    def __exit__(self, *_): pass\n"
    "    def seconds(self, plan, n, repeats=3): return {seconds}\n"
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
import numpy as np
N, asynchronous = 30, True
sizes = [4**k for k in range(1, 5)]
t_q, t_c = np.full(4, 2e-5), np.array([1e-6, 2e-5, 1e-4, 1e-3])
in_turns = t_q + t_c + 6e-5
predicted = {"wait each time": N * in_turns, "wait once": N * np.maximum(t_q, t_c)}
measured = predicted
"""
WAITING_COSTS_TWICE = "measured = {**predicted, 'wait each time': 2 * predicted['wait each time']}"
WAITING_IS_FREE = "measured = dict.fromkeys(predicted, predicted['wait once'])"
# Questions: arrays that copy and add at once, and arrays of which -= makes a new one.
AT_ONCE = (
    "from types import SimpleNamespace as Time\n"
    "here, there = d2l.devices(2)\n"
    "d2l.compare = lambda jobs, **_: {job: Time(minimum=t) for job, t in zip(jobs, (1, 2, 2, 2))}\n"
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
# A cable whose recording is planted; a cable that sets the pace whether it is hidden or not; and
# recordings of it, of which the second begins while the device still computes if begin < 2.
CABLE = "d2l.Cable, d2l.resnet_step = lambda W: None, lambda *_: lambda *_: None\n"
HIDES_NOTHING = (
    "bs, W, crowding = [2, 4], 3e8, 0\nT = {'t_c': [1, 2], 'in turns': [2, 3], 'at once': [2, 3]}"
)
HIDES_FOR_ONE = (
    "bs, W, crowding = [2, 4], 3e8, 0\nT = {'t_c': [1, 2], 'in turns': [9, 3], 'at once': [2, 4]}"
)
TURNS_AND_ONCE = (
    "timelines = [\n"
    "    d2l.Timeline({{'cpu/0': [('dot', 0, 2)], 'cable': [('copy', start, start + 1)]}})\n"
    "    for start in (2, {begin})\n"
    "]\n"
)
# What jobs of several processes hand back.
FIRST_JOB = (
    "shard = train_batch = one_step = normalize = first_job = None\n"
    "def new_linear(seed):\n"
    "    torch.manual_seed(seed)\n"
    "    return nn.Linear(20, 10), torch.ones(5, 20), torch.arange(5)\n"
    "k, d2l.torchrun = 2, lambda *_, **__: [([1.0] * 20, []), ({second}, [])]"
)
OVER_CABLE = (
    TURNS_AND_ONCE + "turns, once = [timeline.lanes for timeline in timelines]\n"
    "over_cable, k, bs, W = None, 2, [16], 3e8\n"
    "d2l.torchrun = lambda *_, **__: [({{}}, 0, turns, once)]\n"
)
RUNS = "shard = train_batch = mlp = train = None\nk, d2l.torchrun = 2, lambda *_, **__: [{runs}]"

# What bounds a device: times and rates as said, of operators with eleven names.
TIMES = (
    "from types import SimpleNamespace as Time\n"
    "device, on_gpu, array = d2l.try_gpu(), False, lambda *shape: None\n"
)
ELEVEN = (
    TIMES + "operators = dict.fromkeys(range(11))\n"
    "predicted = measured = dict.fromkeys(operators, 1.0)\n"
    "ratio = {name: measured[name] / predicted[name] for name in operators}\n"
)

# Two devices whose links carry what is said, and a comparison that finds a difference.
LINKS = (
    "class links:\n"
    "    counts, difference = {counts}, lambda *_: {difference}\n"
    "    count = lambda: links.counts.pop(0)\n"
    "    place = send = split = lambda *_, **__: [0, 0]\n"
    "k = 2\n"
)
DATA = LINKS + (
    "rows, width, weights, right, X, Y = 60, 16, [0] * 4, [0, 0], [0] * 60, [0] * 60\n"
    "reduce, broadcast, d2l.gradients = lambda xs: 0, lambda x: [0, 0], lambda *_: [0] * 4\n"
)
LIBRARIES = (
    "compare = library_pipeline = library_tensor = None\n"
    "d2l.torchrun = lambda *_, **__: [{{\n"
    "    'library_pipeline': [None, {right}], 'library_tensor': [{all_reduces}, True]}}] * 2"
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

def computing(run):
    return [sum(task.end - task.start for task in lane) for lane in run.lanes.values()]

def all_first(m):
    return d2l.Timeline({f"stage {s}": tasks(3 * s, m, False) for s in range(2)})

"""


# For training on several devices: times for numbers of devices and images, and steps of two.
MODEL = (
    "bs, on_gpu, per_image, N_t_q, given = [1, 4, 16, 64, 256], False, 1e-4, 1e-3, {{}}\n"
    "from types import SimpleNamespace\n"
    "crowding = SimpleNamespace(share=0)\n"
    "def model(k, b): return max(k * N_t_q, per_image * b)\n"
    "T = {{(k, b): {time} for k in (1, 2) for b in bs}}\n"
)
GRAPHS = (
    "from types import SimpleNamespace as Time\n"
    "on = train_fused = Graphed = FlatParams = lambda *_, **__: None\n"
    "seconds = lambda key, k: Time(minimum={graphs} if key > 0 else {calls})\n"
    "d2l.compare = lambda jobs, *_, **__: {{key: seconds(key, abs(key)) for key in jobs}}\n"
    "d2l.has_gpus = lambda n: True"
)
LAW = (
    "lanes, T = {lanes}, {{(1, 64): 1.0, (2, 64): {both}}}\n"
    "from types import SimpleNamespace\n"
    "crowding = SimpleNamespace(share=0)\n"
    "bs, steps = [1, 4, 16, 64], {{(2, 64): lambda: None}}\n"
    "d2l.Timeline = recorded(Python=[('issue', 0, 1)], {spans})\n"
)
IN_TURNS = "{0}_0=[('a', 0, 2)], {0}_1=[('a', 2, 4)]"
SIDE_BY_SIDE = "{0}_0=[('a', 0, 2)], {0}_1=[('a', 0, 2)]"
SMALL = (
    "from types import SimpleNamespace as Time\n"
    "small, on = 4, lambda *_: None\n"
    "def compare(steps, *_, wait=True): return {{k: Time(minimum={time}) for k in steps}}\n"
    "d2l.compare = compare\n"
)
CURES = (
    "from types import SimpleNamespace as Time\n"
    "names = ['as it was', 'no wait', 'one buffer', 'twice the images', 'one launch', 'again']\n"
    "cures, on_gpu = dict.fromkeys(names), True\n"
    "spent = {{'as it was': 4, 'no wait': 4, 'one buffer': {one}, 'twice the images': {twice},\n"
    "          'one launch': {launch}, 'again': 4}}\n"
    "d2l.compare = lambda *_, **__: {{n: Time(minimum=float(spent[n])) for n in names}}\n"
)

FUSED_MX = (
    "X, y, params, two = [0], [0], [nd.zeros(4)], [[nd.zeros(4)]]\n"
    "devices = [mx.cpu(0), mx.cpu(1)]\n"
    "compute_gradients = allreduce = lambda *_: None\n"
    "class FlatParams(list):\n"
    "    def __init__(self, params, device):\n"
    "        self.data = params[0].copyto(device)\n"
    "        self.grad = {grad} + nd.zeros_like(self.data)\n"
    "        super().__init__([self.data])\n"
)
FUSED_TORCH = (
    "X, y, shares = torch.zeros(2), torch.zeros(2), [[0], [0]]\n"
    "exact, two = [torch.zeros(4)], [[torch.zeros(4)]]\n"
    "devices = [torch.device('cpu')] * 2\n"
    "allreduce = lambda *_: None\n"
    "class FlatParams(list):\n"
    "    made = 0\n"
    "    def __init__(self, params, device, n=0):\n"
    "        self.data, FlatParams.made = params[0].clone(), FlatParams.made + 1\n"
    "        self.grad = {grad} + torch.zeros(4)\n"
    "        super().__init__([self.data])\n"
    "    def gradient(self, X, y): pass\n"
    "Graphed = FlatParams\n"
)
REPLICAS_MX = (
    "params = [nd.zeros(10)]\n"
    "devices = [mx.cpu(0), mx.cpu(1)]\n"
    "def get_params(params, device):\n"
    "    copies = [p.copyto(device) for p in params]\n"
    "    [p.attach_grad() for p in copies]\n"
    "    return copies\n"
    "def train_batch(X, y, replicas, devices, lr):\n"
    "    for i, [p] in enumerate(replicas):\n"
    "        p.grad[:] = {grad}\n"
    "        p[:] -= {update}\n"
)
REPLICAS_TORCH = (
    "params = [torch.zeros(10)]\n"
    "devices = [torch.device('cpu')] * 2\n"
    "def get_params(params, device): return [p.clone().requires_grad_() for p in params]\n"
    "def train_batch(X, y, replicas, devices, lr):\n"
    "    for i, [p] in enumerate(replicas):\n"
    "        p.grad = {grad} + torch.zeros(10).double()\n"
    "        p.data -= {update}\n"
)
# The patients: what is full and how times come out, the same in both editions.
FULL = (
    "def full(timeline):\n"
    "    return [lane for lane in timeline.lanes if timeline.idle(lane) < 0.25]\n"
    "record = lambda job: d2l.Timeline.of(job)\n"
    "lane, lane2, wait = '{lane}/0', '{lane}/1', lambda *_: None\n"
    "patients, device = dict.fromkeys('ABCDEF', wait), d2l.try_gpu()\n"
    "turns = {{'input': [('a', 0, 1)], lane: [('b', 1, 2)]}}\n"
    "at_once = {{'input': [('a', 0, 2)], lane: [('b', 0, 2)]}}\n"
)
SECONDS = (
    "from types import SimpleNamespace as Time\n"
    "d2l.compare = lambda jobs, *_: {{{{\n"
    "    name: Time(minimum=t, samples=[t] * 41) for name, t in zip(jobs, {seconds})\n"
    "}}}}\n"
)
PATIENTS = (
    (
        "twins-guess_1",
        "load, files = lambda file: [], [0]\n"
        "d2l.mlp_step = lambda *_, **__: lambda X: None\n" + SECONDS.format(seconds=(1e-9, 2e-9)),
        "a program differs from itself by more than the spread of its timings",
    ),
    (
        "twins-guess_1",
        "load, files = lambda file: [], [0]\n"
        "d2l.mlp_step = lambda *_, **__: lambda X: None\n" + SECONDS.format(seconds=(1, 1)),
        "the first step takes no longer than others",
    ),
    (
        "full_1",
        "files = []\nd2l.Timeline = recorded({lane}_0=[('a', 0, 1), ('b', 3, 4)])",
        "the device of a healthy program is idle half of the time",
    ),
    (
        "patients_6",
        "d2l.plot_timelines, d2l.Timeline = wait, recorded(input=[('a', 0, 2)])",
        "what waits for Python, what waits for input and what takes turns look alike",
    ),
    (
        "patients_6",
        "d2l.plot_timelines, kinds = wait, [at_once, {{'Python': [('a', 0, 2)]}}, at_once]\n"
        "class Recorded(d2l.Timeline):\n"
        "    @classmethod\n"
        "    def of(cls, fn): return cls(kinds.pop(0))\n"
        "d2l.Timeline = Recorded",
        "with a look at each loss, too, devices are always busy",
    ),
    (
        "cures_1",
        "files, net, X, charts = [], wait, 0, {{'A': d2l.Timeline(turns)}}\n"
        + SECONDS.format(seconds=(1, 1)),
        "rows in one call, and files decoded once, take as long",
    ),
    (
        "abc-lesson_1",
        "cured, charts = patients, {{'A': d2l.Timeline(turns)}}\n"
        "d2l.Timeline = recorded(**{{lane.replace('/', '_'): s for lane, s in turns.items()}})",
        "without a look, too, loading and computing take turns",
    ),
    (
        "abc-lesson_1",
        "cured, charts = patients, {{'A': d2l.Timeline(at_once)}}\n"
        "d2l.Timeline = recorded(**{{lane.replace('/', '_'): s for lane, s in at_once.items()}})",
        "with a look, too, loading and computing run at once",
    ),
    (
        "def_1",
        "charts, d2l.plot_timelines = {{}}, wait\n"
        "d2l.Timeline = recorded({lane}_0=[('a', 0, 2)], {lane}_1=[('b', 0, 2)])",
        "both devices are full, though one has most of the rows",
    ),
    (
        "def-guess_1",
        "share, two = wait, {{'{lane}_0': [('a', 0, 4)], '{lane}_1': [('b', 0, 1)]}}\n"
        "d2l.Timeline = recorded(**two)\n"
        "charts = {{'D': d2l.Timeline.of(wait), 'E': d2l.Timeline.of(wait)}}\n"
        "charts['E'].lanes.pop(lane2)\n"
        "charts['F'] = charts['E']",
        "with equal shares, too, a device is idle for most of the time",
    ),
    (
        "d-lesson_1",
        "w = {ones}\n" + SECONDS.format(seconds=(20, 8e-8, 1e-3)),
        "updating comes as near to P as to W",
    ),
    (
        "e-guess_1",
        "w = g = v = {ones}\nupdates = lambda w, g, v: w + 1\n" + SECONDS.format(seconds=(3, 1)),
        "one pass changes the parameters in another way",
    ),
    (
        "e-guess_1",
        "w, g, v = {ones}, {ones}, 0 * {ones}\n" + SECONDS.format(seconds=(1, 1)) + "{updates}",
        "a third of the bytes takes as long",
    ),
    (
        "cut_1",
        "wire, sizes = d2l.Wire(1e9, 1e-3), [8] * 9\n" + SECONDS.format(seconds=(1, 1, 1)),
        "without its messages, too, the program takes as long",
    ),
    (
        "amdahl-guess_1",
        "times, sigma, f = {{'sick': 1.0, 'one message': 1.0}}, 0.1, 10",
        "one message takes as long as 24",
    ),
    (
        "amdahl-guess_1",
        "times, sigma, f = {{'sick': 1.0, 'one message': 0.1}}, 0.1, 10",
        "the whole gains as much as the part",
    ),
    (
        "law_1",
        "files = []\ncured = patients\n" + SECONDS.format(seconds=(1, 1, 1, 1)),
        "with a look at each loss, too, only the longest part counts",
    ),
)
EDITIONS = {
    "mxnet": {
        "lane": "cpu",
        "ones": "nd.ones(4)",
        "updates": "def updates(w, g, v):\n"
        "    for _ in range(3):\n"
        "        v = 0.9 * v - 0.1 * (g + 1e-4 * w)\n"
        "        w = w + v\n"
        "    return w\n",
    },
    "pytorch": {
        "lane": "device",
        "ones": "torch.ones(4)",
        "updates": "def updates(w, g, v):\n"
        "    for _ in range(3):\n"
        "        v = 0.9 * v + (g + 1e-4 * w)\n"
        "        w = w - 0.1 * v\n"
        "    return w\n",
    },
}
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
SHARDING = (  # In both frameworks
    (
        "baseline_1",
        OUTCOME.format(kept=4, sent=3, difference=0),
        "an all-reduce sends all to all",
    ),
    (
        "baseline_1",
        OUTCOME.format(kept=4, sent=1.5, difference=0.1),
        "data parallelism computes other weights than one device",
    ),
    (
        "zero-1-guess_1",
        OUTCOME.format(kept=4, sent=1.5, difference=0),
        "ZeRO-1 keeps as much as data parallelism",
    ),
    (
        "zero-1-guess_1",
        OUTCOME.format(kept=2.5, sent=1.5, difference=0.1),
        "Adam on rows of its own makes other weights",
    ),
    (
        "zero-2-guess_1",
        OUTCOME.format(kept=1.8, sent=2.25, difference=0),
        "ZeRO-2 sends half as much again",
    ),
    (
        "zero-3-guess_1",
        OUTCOME.format(kept=1.2, sent=1.5, difference=0),
        "ZeRO-3 sends what data parallelism sends",
    ),
    (
        "zero-3-guess_1",
        OUTCOME.format(kept=1.2, sent=2.25, difference=0.1),
        "gathered weights are other weights",
    ),
    ("table_1", TABLE.format(second=2.5, third=1.21875), "ZeRO-2 keeps all gradients"),
    ("table_1", TABLE.format(second=1.84375, third=1), "ZeRO-3 divides all, also a layer at work"),
    (
        "hidden-guess_1",
        OVER_A_LINK + "sends['ZeRO-3'] = (0.35,)",
        "what ZeRO-3 sends in addition is not hidden, however many rows there are",
    ),
    (
        "hidden-guess_1",
        OVER_A_LINK + "sends['in turns'] = (0.1,)",
        "nothing is gained by asking ahead",
    ),
    (
        "law_1",
        OVER_A_LINK + "d2l.Timeline, T['ZeRO-3'][1] = recorded(**beside), 2",
        "exchange and computation take turns, by the clock",
    ),
    (
        "law_1",
        OVER_A_LINK + "beside['wire'] = [('copy of gather', 1, 2)]\n"
        "d2l.Timeline = recorded(**beside)",
        "exchange and computation take turns in the recording",
    ),
)


# For training on several devices: times for numbers of devices and images, and steps of two.
HALF_COUNTED = (
    "from types import SimpleNamespace\n"
    "train = None\n"
    "d2l.Allocations.of = lambda fn: SimpleNamespace(result=1000, peak=32000)\n"
)
THREE_TIMES = (
    "net, X, segments, recompute = None, None, [], None\n"
    "d2l.device_times = lambda jobs, *_: dict(zip(jobs, (1.0, 3.0, 0.5)))"
)

NEGATIONS = (
    # --- MXNet ---
    Negation(
        "mxnet pytorch",
        "index",
        "law-guess_1",
        BOTH.format(both=4),
        "two parts take longer together than in turns",
    ),
    Negation(
        "mxnet pytorch",
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
        "model-guess_1",
        ASYNC + WAITING_COSTS_TWICE,
        "waiting each time takes twice as long as predicted",
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
        "async-computation",
        "memory-look_1",
        "runs = {f'LATE={late}': ([[0, 0], [1, 4e7]], 0.5) for late in (0, 1, 30)}",
        "the curves of all three runs are alike",
    ),
    Negation(
        "mxnet",
        "async-computation",
        "memory-look_1",
        "runs = {late: ([[0, 0], [1, late * 3e6]], late) for late in (0, 1, 30)}",
        "waiting changes what is computed",
    ),
    Negation(
        "mxnet",
        "async-computation",
        "law_1",
        "back_end = 'cpu/0'\n"
        "turns = {'Python': [('a', 0, 1)], 'cpu/0': [('b', 1, 2)]}\n"
        "timelines = dict.fromkeys(('wait each time', 'wait once'), d2l.Timeline(turns))",
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
        "gram, ys = None, []\nd2l.together = lambda jobs, **_: ({'t_c': 1.0, 't_x': 0.4}, 0.4)",
        "products and copies together are done before the products alone",
    ),
    Negation(
        "mxnet",
        "multiple-gpus-concise",
        "replicas-guess_1",
        "X_shards, k, net = [0], 2, lambda X: None\n"
        "class weight:\n"
        "    shape, list_ctx = (), lambda: [0, 1]\n"
        "    data = lambda device: nd.array([device, 2, 3])",
        "each device draws random numbers of its own",
    ),
    Negation(
        "mxnet",
        "multiple-gpus-concise",
        "check_1",
        "devices, loss = [mx.cpu(0), mx.cpu(1)], gluon.loss.SoftmaxCrossEntropyLoss()\n"
        "def train_batch(net, X, y, trainer, devices):\n"
        "    with autograd.record():\n"
        "        shards = zip(*d2l.split_batch(X, y, devices))\n"
        "        losses = [loss(net(X), y).mean() for X, y in shards]\n"
        "    autograd.backward(losses)\n"
        "    trainer.step(len(devices))",
        "two devices take a mean of means",
    ),
    Negation(
        "mxnet",
        "multiple-gpus-concise",
        "batch-norm-guess_1",
        "devices, k = [mx.cpu(0), mx.cpu(1)], 2\n"
        "def normalize(layer, devices):\n"
        "    layer.initialize(ctx=devices)\n"
        "    [layer(nd.ones((1, 1, 1, 1), ctx=device)) for device in devices]\n"
        "    return [-1.14, -0.79, 0.61, 1.31]",
        "a shard is normalized with the statistics of all shards",
    ),
    Negation(
        "mxnet",
        "multiple-gpus-concise",
        "scaling-guess_1",
        "devices, k, b = [mx.cpu(0), mx.cpu(1)], 2, 16\n"
        "d2l.resnet_step = lambda *_: lambda: None\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cpu_1=[('dot', 1, 2)])",
        "two devices take turns",
    ),
    Negation(
        "mxnet",
        "multiple-gpus-concise",
        "cable-guess_1",
        CABLE + "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cable=[('copy', 1, 2)])",
        "without waits, too, the exchange begins when all is computed",
    ),
    Negation(
        "mxnet",
        "multiple-gpus-concise",
        "cable-guess_1",
        CABLE + "d2l.Timeline = recorded(cpu_0=[('dot', 0, 2)], cable=[('copy', 1, 2)])",
        "waiting does not keep the exchange from beginning early",
    ),
    Negation(
        "mxnet",
        "multiple-gpus-concise",
        "cable-lesson_2",
        HIDES_NOTHING,
        "hiding the exchange saves no time",
    ),
    Negation(
        "mxnet",
        "multiple-gpus-concise",
        "rate-guess_1",
        "train = lambda batch_size, lr: ([0.8] * 10, None)",
        "eight devices with the same rate are as soon there as with eight times the rate",
    ),
    Negation(
        "mxnet",
        "multiple-gpus-concise",
        "rate-guess_1",
        "train = lambda batch_size, lr: ([0.8 if batch_size == 16 else 0.5] * 10, None)",
        "eight times the rate does not get there either",
    ),
    Negation(
        "mxnet pytorch",
        "multiple-gpus-concise",
        "rate-lesson_1",
        "accuracies = 4 * [[0.8] * 10]",
        "the same rate ends as high as eight times the rate",
    ),
    Negation(
        "mxnet pytorch",
        "multiple-gpus-concise",
        "rate-lesson_1",
        "accuracies = [[0.8] * 10, [0.7] * 10, [0.8] * 10, [0.8] * 10]",
        "the rule holds for 32 devices as well",
    ),
    Negation(
        "mxnet",
        "multiple-gpus-concise",
        "cable-lesson_2",
        HIDES_FOR_ONE,
        "hiding the exchange takes longer with more images",
    ),
    Negation(
        "mxnet",
        "multiple-gpus-concise",
        "save_1",
        "def mlp(devices):\n"
        "    net = nn.Dense(1, in_units=1)\n"
        "    net.initialize(ctx=devices)\n"
        "    return net\n"
        "devices, nets, accuracies, test_iter = [mx.cpu()], 3 * [mlp(mx.cpu())], 3 * [[0.8]], []\n"
        "d2l.evaluate_accuracy_gpus = lambda *_: 0.1",
        "what was loaded is another network",
    ),
    Negation(
        "mxnet pytorch",
        "multiple-gpus-concise",
        "law_1",
        "crowding, t_c, t_x, T = 0, [1.0], 1.0, {'in turns': [2.0], 'at once': [2.0]}",
        "nothing of the exchange is hidden",
    ),
    Negation(
        "mxnet pytorch",
        "multiple-gpus-concise",
        "law_1",
        "crowding, t_c, t_x, T = 0, [1.0], 1.0, {'in turns': [1.0], 'at once': [1.0]}",
        "in turns, too, the exchange is hidden",
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
        "mxnet pytorch",
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
        "mxnet pytorch",
        "questions",
        "data-guess_1",
        "accuracy = lambda n, share: 0.6",
        "random labels do no harm",
    ),
    Negation(
        "mxnet pytorch",
        "questions",
        "data-guess_1",
        "accuracy = lambda n, share: n / (50 if share == 0 else 500)",
        "poor images are worth a tenth each, however poor",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "data_1",
        DATA.format(counts="[8192, 16384]", difference=0),
        "for twice as many rows data parallelism sends twice as much",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "data_1",
        DATA.format(counts="[8192, 8192]", difference=0.5),
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
        "tensor_2",
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
        + "tokens, d, experts, experts_right, Z = 48, 32, [], 0, 0\n"
        "route, d2l.gradients = lambda piece: np.arange(24) % 2, lambda *_: None",
        "all tokens travel, also those whose expert is here",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "schedule-guess_1",
        STAGES + "fastest = lambda order, m: in_turns(m)",
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
        STAGES + "fastest = lambda order, m: late(m, 6 * m / (m - 1))",
        "the bubble is twice as large as the formula says",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "kept-lesson_1",
        STAGES + "fastest = lambda order, m: late(m, 48 / 7 if m == 8 else 3)",
        "with eight micro-batches the bubble is twice as large as the formula says",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "kept-lesson_1",
        STAGES + "fastest = lambda order, m: in_turns(m)",
        "more micro-batches do not shrink the bubble",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "unequal-guess_1",
        LINKS.format(counts="[]", difference=0) + "import types\n"
        "b, units, stages, array, links.join = 256, 16, [0, 0], lambda *_: 0, lambda _: [[0]]\n"
        "d2l.compare = lambda jobs, **_: {\n"
        "    job: types.SimpleNamespace(samples=[1.0]) for job in jobs}",
        "the device that works four times over is as fast as the other",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "unequal-guess_1",
        LINKS.format(counts="[]", difference=0) + "import types\n"
        "b, units, stages, array, links.join = 256, 16, [0, 0], lambda *_: 0, lambda _: [[0]]\n"
        "turns = [1.0, 4.0, 1.0, 1.4]\n"
        "d2l.compare = lambda jobs, **_: {\n"
        "    job: types.SimpleNamespace(samples=[turns.pop(0)]) for job in jobs}",
        "shared out by throughput, one device takes 1.4 times as long as the other",
    ),
    Negation(
        "mxnet",
        "parallel-strategies",
        "law_1",
        STAGES + "runs = {8: in_turns(8)}",
        "nothing of the pipeline is hidden",
    ),
    Negation("mxnet", "parameterserver", "costs-guess_1", PLANS, "both plans take twice as long"),
    Negation(
        "mxnet",
        "parameterserver",
        "ring-guess_1",
        PLANS + "n, W = 1e8, 1e10\ndef tree(k): return 'tree'\n"
        "t_x = lambda plan, n, W, latency, t_q: 8 * latency + (1 + (plan == 'tree')) * n / W",
        "the tree has as many steps and messages as the others",
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
        "k, split, early = 3, lambda data: [[x] for x in data], [3, 0]\n"
        "line = d2l.Timeline({f'cpu/{i}': [('copy', 0, 1)] for i in range(3)})\n"
        "early_transfers = lambda chunks: (line, early.pop())",
        "slices travel at once as well",
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
        "mxnet pytorch",
        "parameterserver",
        "hosts-guess_1",
        HOSTS.format(seconds="4.0 if n > 8 else 6.0 if plan == 'ring' else 2.0"),
        "an owner takes as long as a ring",
    ),
    Negation(
        "mxnet pytorch",
        "parameterserver",
        "hosts-guess_1",
        HOSTS.format(seconds="t_x(plan, n, 1) if n > 8 else 6.0"),
        "six messages take as long in six steps as in two",
    ),
    Negation(
        "mxnet pytorch",
        "parameterserver",
        "law_1",
        HOSTS.format(seconds="1.0"),
        "one source sends twice in the time of one transfer",
    ),
    Negation(
        "mxnet pytorch",
        "parameterserver",
        "law_1",
        HOSTS.format(seconds="float(len(plan[0]))"),
        "two sources send in turns",
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
        JOB.format(seen="(9, 9, ['worker 0'])"),
        "worker 0 goes on alone",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "dead-guess_1",
        JOB.format(seen="(9, 0, ['server 0'])"),
        "worker 0 notices by itself",
    ),
    Negation(
        "mxnet",
        "parameterserver",
        "law-mxnet_1",
        "nd.ones, d2l.law = lambda *_, **__: nd.zeros(1), lambda *_, **__: 1\n"
        "d2l.Timeline = recorded(cpu_0=[('Copy', 0, 1)], cpu_1=[('Copy', 1, 2)])",
        "copies from two devices take turns",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "right_1",
        REPLICAS_MX.format(grad="1 / len(replicas)", update=1),
        "two devices find half of the gradient that one finds",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "right_1",
        REPLICAS_MX.format(grad=1, update="i"),
        "the replicas drift apart",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "rows-guess_1",
        "y, devices = nd.arange(7), [mx.cpu(0), mx.cpu(1)]\n"
        "split_batch = lambda X, y, devices: [(X, y), (X, y)]",
        "the mean of means is the mean",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "train-guess_1",
        "train = lambda k: ([[mx.nd.ones(1)]] * k, 0.9 / k, 1.0)",
        "two devices learn less than one",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "train-guess_1",
        "train = lambda k: ([[mx.nd.ones(1)], [mx.nd.zeros(1)]][:k], 0.8, 1.0)",
        "the replicas drift apart",
    ),
    Negation(
        "mxnet pytorch",
        "multiple-gpus",
        "calls-guess_1",
        SMALL.format(time="1e-3 / k"),
        "dividing a small batch halves the time of a step",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "calls-guess_1",
        SMALL.format(time="1e-3 * (k if wait else 1)"),
        "issuing for two devices takes no longer than for one",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "calls-look_1",
        "steps, lanes, T = {2: lambda: None}, ['cpu/0', 'cpu/1'], [5.0, 9.0]\n"
        "d2l.Timeline = recorded(cpu_0=[('a', 0, 9)], cpu_1=[('a', 0, 9)])\n",
        "the devices never wait for Python",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "fused_1",
        FUSED_MX.format(grad="device.device_id"),
        "the replicas of one buffer drift apart",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "fused_1",
        FUSED_MX.format(grad=1),
        "one buffer changes the update",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "cures-guess_1",
        CURES.format(one=4, twice=4, launch=1),
        "one buffer gains nothing",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "cures-guess_1",
        CURES.format(one=2, twice=8, launch=1),
        "twice the images take twice as long",
    ),
    Negation(
        "mxnet pytorch",
        "multiple-gpus",
        "model-test_1",
        MODEL.format(time="k * max(N_t_q, per_image * b)"),
        "two devices take turns",
    ),
    Negation(
        "mxnet pytorch",
        "multiple-gpus",
        "model-test_1",
        MODEL.format(time="max(N_t_q, per_image * b)"),
        "Python issues for two devices as fast as for one",
    ),
    Negation(
        "mxnet pytorch",
        "multiple-gpus",
        "model-test_1",
        MODEL.format(time="model(k, b) * (1.6 if (k, b) == (1, 16) else 1)"),
        "a second device pays where the model says that it does not",
    ),
    Negation(
        "mxnet pytorch",
        "multiple-gpus",
        "model-test_1",
        MODEL.format(time="k * model(k, b)"),
        "two devices take twice as long as predicted",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "law_1",
        LAW.format(lanes=["cpu/0", "cpu/1"], both=1.0, spans=IN_TURNS.format("cpu")),
        "the devices take turns",
    ),
    Negation(
        "mxnet",
        "multiple-gpus",
        "law_1",
        LAW.format(lanes=["cpu/0", "cpu/1"], both=2.0, spans=SIDE_BY_SIDE.format("cpu")),
        "a step of both takes as long as one of each",
    ),
    # --- PyTorch ---
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
            (WAITING_COSTS_TWICE, "waiting each time takes twice as long as predicted"),
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
        "timelines = dict.fromkeys(('wait each time', 'wait once'), d2l.Timeline(turns))",
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
        "lr, X, Y, shards = 1.0, 0, 0, None\n"
        "weights, train_step = [torch.ones(2, 2) for _ in range(2)], lambda *_: None\n"
        "layer_gradients = lambda *_: (torch.ones(2, 2) for _ in range(2))\n"
        "replicas = [[weight - 0.5 for weight in weights]]\n"
        "d2l.Timeline = recorded(cpu_0=[])",
        "two devices change the weights half as much as one",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "mlp-right_2",
        "lane1, lane2 = 'cpu/0', 'cpu/0'\n"
        "lanes = {'cpu/0': [('matmul', 0, 2)], 'cpu/0 copies': [('copy_', 2, 3)]}\n"
        "timeline = d2l.Timeline(lanes)",
        "the gradient of fc2 leaves after the last product",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "mlp-right_2",
        "lane1, lane2 = 'gpu/0', 'gpu/0'\n"
        "spans = [('gemm', 0, 2), ('gemm', 3, 5)]\n"
        "timeline = d2l.Timeline({'gpu/0': spans, 'gpu/0 copies': [('Memcpy', 2, 3)]})",
        "the copy lies in a gap between two products",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "law_1",
        "import types\n"
        "a, streams, beside, num_ops = None, [], None, 1\n"
        "times = [types.SimpleNamespace(minimum=t) for t in (1.0, 0.4, 1.4, 0.4)]\n"
        "d2l.compare = lambda jobs, **_: dict(zip(jobs, times))\n"
        "d2l.together = lambda *_, **__: ({'t_c 1': 1.0, 't_c 2': 1.0}, 1.0)",
        "products and copies together are done before the products alone",
    ),
    Negation(
        "pytorch",
        "auto-parallelism",
        "law_1",
        "import types\n"
        "a, streams, beside, num_ops = None, [], None, 1\n"
        "times = [types.SimpleNamespace(minimum=t) for t in (1.0, 0.4, 1.4, 1.0)]\n"
        "d2l.compare = lambda jobs, **_: dict(zip(jobs, times))\n"
        "d2l.together = lambda *_, **__: ({'t_c 1': 1.0, 't_c 2': 1.0}, 0.8)",
        "two queues together are done before one of them alone",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "check-guess-pytorch_1",
        FIRST_JOB.format(second="[2.0] * 20"),
        "the replicas differ",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "check-guess-pytorch_1",
        FIRST_JOB.format(second="[1.0] * 20"),
        "the replicas are equal, but not what one device gets",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "batch-norm-guess_1",
        "normalized = [('BatchNorm1d', [-1.14, -0.79], 0.1)], [('BatchNorm1d', [0.61, 1.31], 1.2)]",
        "a shard is normalized with the statistics of all shards",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "scaling-guess-pytorch_1",
        "speeds, k, b, d2l.torchrun = None, 2, 16, lambda *_, **__: 2 * [(1.0, 4.0, 0, {})]",
        "two processes take four times as long as one",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "scaling-guess-pytorch_1",
        "speeds, k, b, d2l.torchrun = None, 2, 16, lambda *_, **__: 2 * [(1.0, 0.2, 0, {})]",
        "nobody waits for the processes",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "buckets_1",
        "d2l.has_gpus = lambda n: True\n"
        "kernels = [('gemm', i, i + 1) for i in range(9)]\n"
        "lanes = {'gpu/0': kernels, 'gpu/0 copies': [('nccl', 9, 10), ('nccl', 10, 11)]}",
        "the exchange begins when backpropagation is over",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "cable-guess_1",
        OVER_CABLE.format(begin=2),
        "with several buckets, too, the exchange begins when all is computed",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "cable-guess_1",
        OVER_CABLE.format(begin=0) + "turns = once",
        "a single bucket leaves early",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "cable-lesson_1",
        HIDES_NOTHING,
        "hiding the exchange saves no time",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "rate-guess_1",
        RUNS.format(runs="[[0.8] * 10] * 4"),
        "eight devices with the same rate are as soon there as with eight times the rate",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "rate-guess_1",
        RUNS.format(runs="[[0.8] * 10, [0.5] * 10, [0.5] * 10, [0.5] * 10]"),
        "eight times the rate does not get there either",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "cable-lesson_1",
        HIDES_FOR_ONE,
        "hiding the exchange takes longer with more images",
    ),
    Negation(
        "pytorch",
        "multiple-gpus-concise",
        "save-pytorch_1",
        "path, accuracies, mlp = '', 3 * [[0.8]], lambda: nn.Linear(1, 1)\n"
        "torch.load = lambda *_, **__: mlp().state_dict()\n"
        "test = torch.ones(9, 1), torch.zeros(9)\n"
        "d2l.load_data_fashion_mnist = lambda n: ([], [test])\n"
        "d2l.accuracy = lambda y_hat, y: 1",
        "what was loaded is another network",
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
        ALIKE.replace("1e-4", "100.0") + "device, chain, backend = 'cpu', torch.relu, 'eager'",
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
        "in-place_1",
        NEW_EACH_TIME + "torch.ones = lambda *_, **__: Array()",
        "subtracting in place makes a new array",
    ),
    Negation(
        "pytorch",
        "parallel-strategies",
        "library-run_1",
        LIBRARIES.format(all_reduces=4, right=True),
        "tensor parallelism takes an all-reduce more",
    ),
    Negation(
        "pytorch",
        "parallel-strategies",
        "library-run_1",
        LIBRARIES.format(all_reduces=3, right=False),
        "the pipeline computes other gradients",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "allreduce-check-pytorch_1",
        "shift = ring_allreduce = None\n"
        "d2l.torchrun = lambda *_, **__: [[1e-7, 0.0], [1e-7, 1e-7]]",
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
        "job-answers-pytorch_1",
        "train = lambda *_: [[1.0]] * 4\n"
        "d2l.torchrun = lambda *_, **__: ([[1.0]] * 4, [[2.0]] * 4)",
        "the workers' parameters drift apart",
    ),
    Negation(
        "pytorch",
        "parameterserver",
        "job-answers-pytorch_1",
        "train = lambda *_: [[1.0]] * 4\n"
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
        "def torchrun(*_, **__): raise RuntimeError('doomed failed with exit code 1')\n"
        "d2l.torchrun = torchrun",
        "the job fails without a word of who died",
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
        "d2l.torchrun = lambda *_, **__: [{'t_c': 2.0, 't_x': 1.0, 'step': 2.0}]",
        "the exchange hides behind the computation",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "right-pytorch_1",
        REPLICAS_TORCH.format(grad="1 / len(replicas)", update=1),
        "two devices find half of the gradient that one finds",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "right-pytorch_1",
        REPLICAS_TORCH.format(grad=1, update="i"),
        "the replicas drift apart",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "rows-guess_1",
        "y, devices = torch.arange(7), [torch.device('cpu')] * 2\n"
        "split_batch = lambda X, y, devices: [(X, y), (X, y)]",
        "the mean of means is the mean",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "train-guess_1",
        "train = lambda k: ([[torch.ones(1)]] * k, 0.9 / k, 1.0)",
        "two devices learn less than one",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "train-guess_1",
        "train = lambda k: ([[torch.ones(1)], [torch.zeros(1)]][:k], 0.8, 1.0)",
        "the replicas drift apart",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "calls-look-pytorch_1",
        "steps, lanes, T = {2: lambda: None}, ['gpu/0', 'gpu/1'], [5.0, 9.0]\n"
        "d2l.Timeline = recorded(gpu_0=[('a', 0, 9)], gpu_1=[('a', 0, 9)])\n"
        "d2l.has_gpus = lambda n: True",
        "the devices never wait for Python",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "graph-pays_1",
        GRAPHS.format(graphs="1.0 * k", calls=1.0),
        "graphs lose what a second GPU gains without them",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "graph-pays_1",
        GRAPHS.format(graphs=1.0, calls="1.0 * k"),
        "a second GPU gains nothing with graphs",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "fused-pytorch_1",
        FUSED_TORCH.format(grad="FlatParams.made"),
        "the replicas of one buffer drift apart",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "fused-pytorch_1",
        FUSED_TORCH.format(grad=1),
        "one buffer changes the update",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "cures-guess-pytorch_1",
        CURES.format(one=2, twice=4, launch=4),
        "one launch gains nothing",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "cures-guess-pytorch_1",
        CURES.format(one=2, twice=8, launch=1),
        "twice the images take twice as long",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "law_1",
        LAW.format(lanes=["core/0", "core/1"], both=1.0, spans=IN_TURNS.format("core")),
        "the devices take turns",
    ),
    Negation(
        "pytorch",
        "multiple-gpus",
        "law_1",
        LAW.format(lanes=["core/0", "core/1"], both=2.0, spans=SIDE_BY_SIDE.format("core")),
        "a step of both takes as long as one of each",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "peak-guess_1",
        TIMES + "d2l.device_times = lambda jobs: dict(zip(jobs, (2 * 2 * 2048, 1)))",
        "the sum reaches as many FLOP/s as the product",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "peak-lesson_1",
        TIMES + "d2l.copy_rates = lambda _, sizes: np.ones(len(sizes))",
        "a copy of few bytes is as fast as any",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "bandwidth-lesson_1",
        TIMES + "rates, P, sizes = np.full(2, 1e10), 1e11, [2**12, 2**13]",
        "the smallest copy takes no longer than its bytes",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "rows-guess_1",
        TIMES + "array, predict = lambda *_: [0] * 256, lambda F, n: 1.0\n"
        "d2l.device_times = lambda jobs, *_: {b: b for b in jobs}",
        "each row takes as long as the first",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "operators-guess_1",
        ELEVEN
        + "operators = {f'ResNet {kind}, 28x28': Time(run=0) for kind in ('Conv 64', 'ReLU')}\n"
        "d2l.device_times = lambda jobs, **_: dict(zip(jobs, (1152, 1)))",
        "times are as the FLOP",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "table_1",
        ELEVEN + "measured = dict.fromkeys(operators, 3.0)",
        "operators take three times what two counts predict",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "table_1",
        ELEVEN + "predicted = {**predicted, 6: 0.03, 7: 0.03}",
        "the FLOP alone predict, and ReLU takes thirty times as long",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "operators-lesson_1",
        ELEVEN + "P, W, counts = 1.0, np.ones(2), lambda _: (10.0, 1.0)",
        "rates are above the roof",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "below_1",
        ELEVEN + "ratio = dict.fromkeys(operators, 0.1)",
        "operators take less than their bound",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "fused-guess_1",
        TIMES + "d2l.device_times = lambda jobs: dict.fromkeys(jobs, 1.0)",
        "three operators take as long as one",
    ),
    Negation(
        "mxnet",
        "hardware",
        "step-guess_1",
        TIMES + "P, F, net = 1e11, 2.7e9, "
        "None\n"
        "d2l.resnet_step = lambda *_: None\n"
        "d2l.device_times = lambda *_: {'T': 1e-3}",
        "a step takes less than its FLOP need",
    ),
    Negation(
        "mxnet",
        "hardware",
        "copies-mxnet_1",
        TIMES + "W = np.ones(2)",
        "a link carries more than memory",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "latency_1",
        TIMES + "t_q, W = 1e-6, np.ones(2)\nd2l.read_time = lambda _: 1e-8",
        "memory answers as fast as a cache",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "law_1",
        TIMES + "d2l.device_times = lambda jobs, *_: dict(zip(jobs, (1, 1, 2)))",
        "computing and moving take turns",
    ),
    Negation(
        "mxnet pytorch",
        "hardware",
        "law_1",
        TIMES + "d2l.device_times = lambda jobs, *_: dict(zip(jobs, (1, 4, 1)))",
        "the whole takes less than a part of it",
    ),
    Negation(
        "pytorch",
        "hardware",
        "step-guess_1",
        TIMES + "P, F, net = 1e11, 2.7e9, "
        "torch.nn.Linear(1, 1)\n"
        "array = lambda *_: None\n"
        "d2l.device_times = lambda *_: {'T': 1e-3}",
        "a step takes less than its FLOP need",
    ),
    # --- Both ---
    *(
        Negation(framework, "bottleneck", cell, (FULL + planted).format(**names), why)
        for framework, names in EDITIONS.items()
        for cell, planted, why in PATIENTS
    ),
    *(Negation(name, "sharding", *row) for name in ("mxnet", "pytorch") for row in SHARDING),
    Negation(
        "pytorch",
        "sharding",
        "library-guess_1",
        "fully_sharded = None\nd2l.torchrun = lambda *_: [[8320, True, 12, 4]] * 2",
        "each block is gathered three times",
    ),
    Negation(
        "pytorch",
        "sharding",
        "library-guess_1",
        "fully_sharded = None\nd2l.torchrun = lambda *_: [[8320, False, 8, 4]] * 2",
        "sharded, the network has other gradients",
    ),
    Negation(
        "pytorch",
        "sharding",
        "library-lesson_1",
        "d2l.has_gpus = lambda n: True\n"
        "d2l.torchrun = lambda *_, **__: [[[[1, 1, 2**34]] * 2, 10**9, {}]] * 2",
        "sharding saves no memory",
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
        "amp-mxnet_1",
        "d2l.has_bfloat16, d2l.in_new_process = lambda: True, lambda *_, **__: [1.0, 0.9]",
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
        "class Net:\n    hybridize = lambda self: None\n"
        "    __call__ = lambda *_: None\n    collect_params = lambda _: Parameters()\n"
        "mlp, gradients = lambda *_: Net(), lambda net, X, m: [nd.ones(2) * m]",
        "four parts give four times the gradient",
    ),
    Negation(
        "mxnet",
        "precision-memory",
        "recompute_2",
        "net = nn.HybridSequential()\nnet.add(*[nn.Dense(1) for _ in range(25)])\n"
        "X, gradients = nd.ones(38), lambda *_: []\n"
        "recompute = lambda *_: nd.ones(1000).wait_to_read()",
        "recomputation saves nothing",
    ),
    Negation(
        "mxnet pytorch",
        "precision-memory",
        "recompute-guess_1",
        THREE_TIMES,
        "a step is shorter than its longest part",
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
        "X, gradients = torch.ones(38), lambda *_: []\n"
        "recompute = lambda *_: torch.ones(1000).sum()",
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
)


def each() -> Iterator[Negation]:
    """The rows, for one framework each."""
    for negation in NEGATIONS:
        for framework in negation.framework.split():
            yield negation._replace(framework=framework)


def described(negation: Negation):
    weak = pytest.mark.xfail(reason=negation.weak, strict=True, raises=AssertionError)
    marks = [weak] if negation.weak else []
    module = frameworks.load()[negation.framework].module
    if importlib.util.find_spec(module) is None:
        marks = [pytest.mark.skip(reason=f"needs {negation.framework}")]
    name = f"{negation.framework}/{negation.section}/{negation.cell}: {negation.why}"
    return pytest.param(negation, id=name, marks=marks)


@pytest.mark.parametrize("negation", [described(negation) for negation in each()])
def test_a_cell_notices_that_its_lesson_is_false(negation):
    assert notices(negation), f"{negation.cell} holds although {negation.why}"
