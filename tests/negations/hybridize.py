"""What is planted before cells of hybridize."""

from negation import Negation

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
NEGATIONS = (
    Negation(
        "mxnet",
        "costs-guess_1",
        "device = mx.cpu()\n" + MILLION,
        "a million additions take a million times as long as one",
    ),
    Negation(
        "mxnet",
        "dis-guess_1",
        "def fancy_func(a, b, c, d):\n    return (a + b) + (c + d)",
        "Python leaves out the calls",
    ),
    Negation(
        "mxnet",
        "trace_1",
        "fancy_func, num_calls = lambda a, b, c, d: (a + b) + (c + d), lambda function: 3",
        "what was traced still calls",
    ),
    Negation(
        "mxnet",
        "rebind_1",
        "add = lambda a, b: a + b\n"
        "def fancy_func(a, b, c, d): return add(add(a, b), add(c, d))\n"
        "compiled = fancy_func",
        "the graph follows when a name changes its meaning",
    ),
    Negation(
        "mxnet",
        "hybridsequential_2",
        NETWORK + "Network.hybridize = lambda self: setattr(Network, '__call__', lambda *_: x + 1)",
        "compiling changes the result",
    ),
    Negation(
        "mxnet",
        "operations-guess_1",
        NETWORK + "lane, spans = 'cpu/0', [('op', i, i + 1) for i in range(5)]\n"
        "d2l.Timeline.of = lambda fn: d2l.Timeline({'cpu/0': spans})",
        "the graph is issued operator by operator",
    ),
    Negation(
        "mxnet",
        "switches-guess_1",
        NETWORK + ALIKE,
        "the graph takes as long as its operators",
    ),
    Negation(
        "mxnet",
        "first_1",
        NETWORK + "static, T = {}, {'both switches': 1.0}",
        "the first call takes no longer than the others",
    ),
    Negation(
        "mxnet",
        "when_1",
        NETWORK + ALIKE + "static, lane = {}, 'cpu/0'\n"
        "d2l.Timeline.of = lambda fn: d2l.Timeline({'cpu/0': [('op', 0, 1)]})",
        "small layers gain nothing either",
    ),
    Negation(
        "mxnet",
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
        "frozen-guess_1",
        "class Imperative:\n"
        "    hybridize = lambda self: None\n"
        "    def __call__(self, x): return self.hybrid_forward(nd, x)\n"
        "device, nn.HybridBlock = mx.cpu(), Imperative",
        "Python runs at every call",
    ),
    Negation(
        "mxnet",
        "loud_2",
        "compiled_result = lambda function: 'a result'",
        "what asks for values works",
    ),
    Negation(
        "mxnet",
        "silent_1",
        "square = nd.array([[0, 1], [2, 3]])\n"
        "compiled_result = lambda function: function(nd, square)",
        "indexing and iterating mean the same",
    ),
    Negation(
        "mxnet",
        "law_1",
        NETWORK + "nets, lane = {'imperative': net, 'both switches': net}, 'cpu/0'\n"
        "d2l.Timeline = recorded(Python=[('issue', 0, 1)], cpu_0=[('op', 0, 1)])",
        "issuing the graph takes as long as issuing its operators",
    ),
    Negation(
        "pytorch",
        "costs-guess_1",
        "device = torch.device('cpu')\n" + MILLION,
        "a million additions take a million times as long as one",
    ),
    Negation(
        "pytorch",
        "graph_1",
        "device, add = torch.device('cpu'), torch.mul\n"
        "fancy_func = lambda a, b, c, d: a + b + c + d - d",
        "the graph has other operators",
    ),
    Negation(
        "pytorch",
        "guard_1",
        "plain_add, graphs, numbers = None, d2l.Graphs(), [1.0]\n"
        "recorded = lambda x: torch.tensor(10.0)",
        "the graph stays as it was when a name changes its meaning",
    ),
    Negation(
        "pytorch",
        "fusion-guess_1",
        "chain = fused = lambda x: x\n"
        "X, on_gpu, backend, device = None, False, 'inductor', torch.device('cpu')\n"
        "spans = [('aten::add', i, i + 1) for i in range(15)]\n"
        "d2l.Timeline.of = lambda fn: d2l.Timeline({'cpu/0': spans})",
        "the compiled chain still runs every operator",
    ),
    Negation(
        "pytorch",
        "gain_1",
        ALIKE + "device, on_gpu, backend = 'cpu', False, 'inductor'\nchain = fused = torch.relu",
        "reading and writing 15 times takes no longer than once",
    ),
    Negation(
        "pytorch",
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
        "first-torch_1",
        ALIKE.replace("1e-4", "100.0") + "device, chain, backend = 'cpu', torch.relu, 'eager'",
        "the first call takes no longer than the others",
    ),
    Negation(
        "pytorch",
        "shapes-guess_1",
        "nets, device = [nn.Linear(512, 2)], 'cpu'\n"
        "torch._dynamo.config.automatic_dynamic_shapes = False",
        "every size is compiled by itself",
    ),
    Negation(
        "pytorch",
        "breaks_1",
        "device = 'cpu'\ntorch._dynamo.config.capture_scalar_outputs = True",
        "a value does not break the graph",
    ),
    Negation(
        "pytorch",
        "breaks-lesson_1",
        "device = 'cpu'\ntorch.cond = lambda condition, yes, no, inputs: yes(*inputs)",
        "one branch is taken whatever the data",
    ),
    Negation(
        "pytorch",
        "export-torch_1",
        "nets, device = [nn.Linear(512, 2)], 'cpu'\n"
        "from types import SimpleNamespace as Program\n"
        "torch.export.load = lambda path: Program(module=lambda: nn.Linear(512, 2))",
        "the file holds other parameters",
    ),
    Negation(
        "pytorch",
        "law-torch_1",
        "device, on_gpu, lane, chain = 'cpu', False, 'cpu/0', torch.relu\n"
        "spans = [('aten::relu', i, i + 1) for i in range(15)]\n"
        "d2l.Timeline = recorded(Python=[('issue', 0, 16)], cpu_0=spans)",
        "a CPU computes without a gap in which Python issues",
    ),
)
