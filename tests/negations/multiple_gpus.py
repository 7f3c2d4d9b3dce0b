"""What is planted before cells of multiple-gpus."""

from negation import Negation

# For training on several devices: times for numbers of devices and images, and steps of two.
MODEL = (
    "bs, on_gpu, per_image, N_t_q, given = [1, 4, 16, 64, 256], False, 1e-4, 1e-3, {{}}\n"
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
    "bs, steps = [1, 4, 16, 64], {{(2, 64): lambda: None}}\n"
    "d2l.Timeline = recorded(Python=[('issue', 0, 1)], {spans})\n"
)
IN_TURNS = "{0}_0=[('a', 0, 2)], {0}_1=[('a', 2, 4)]"
SIDE_BY_SIDE = "{0}_0=[('a', 0, 2)], {0}_1=[('a', 0, 2)]"
SMALL = (
    "from types import SimpleNamespace as Time\n"
    "small, on = 4, lambda *_: None\n"
    "def times(k): return Time(minimum={time}, samples=[{time}], issued=[{issued}])\n"
    "d2l.compare = lambda steps, *_: {{k: times(k) for k in steps}}\n"
)
CURES = (
    "from d2l_local.measure.timing import Measurement\n"
    "names = ['as it was', 'no wait', 'one buffer', 'twice the images', 'one launch', 'again']\n"
    "cures, on_gpu = dict.fromkeys(names), True\n"
    "spent = {{'as it was': 4, 'no wait': 4, 'one buffer': {one}, 'twice the images': {twice},\n"
    "          'one launch': {launch}, 'again': 4}}\n"
    "d2l.compare = lambda *_, **__: {{n: Measurement((spent[n],)) for n in names}}\n"
    "d2l.device_times = lambda *_, **__: dict(spent)\n"
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
NEGATIONS = (
    Negation(
        "mxnet",
        "right_1",
        REPLICAS_MX.format(grad="1 / len(replicas)", update=1),
        "two devices find half of the gradient that one finds",
    ),
    Negation(
        "mxnet",
        "right_1",
        REPLICAS_MX.format(grad=1, update="i"),
        "the replicas drift apart",
    ),
    Negation(
        "mxnet",
        "rows-guess_1",
        "y, devices = nd.arange(7), [mx.cpu(0), mx.cpu(1)]\n"
        "split_batch = lambda X, y, devices: [(X, y), (X, y)]",
        "the mean of means is the mean",
    ),
    Negation(
        "mxnet",
        "train-guess_1",
        "train = lambda k: ([[mx.nd.ones(1)]] * k, 0.9 / k, 1.0)",
        "two devices learn less than one",
    ),
    Negation(
        "mxnet",
        "train-guess_1",
        "train = lambda k: ([[mx.nd.ones(1)], [mx.nd.zeros(1)]][:k], 0.8, 1.0)",
        "the replicas drift apart",
    ),
    Negation(
        "mxnet pytorch",
        "calls-guess_1",
        SMALL.format(time="1e-3 / k", issued="1e-4 * k"),
        "dividing a small batch halves the time of a step",
    ),
    Negation(
        "mxnet",
        "calls-guess_1",
        SMALL.format(time="1e-3 * k", issued=1e-4),
        "issuing for two devices takes no longer than for one",
    ),
    Negation(
        "mxnet",
        "calls-look_1",
        "steps, lanes, T = {2: lambda: None}, ['cpu/0', 'cpu/1'], [5.0, 9.0]\n"
        "d2l.Timeline = recorded(cpu_0=[('a', 0, 9)], cpu_1=[('a', 0, 9)])\n",
        "the devices never wait for Python",
    ),
    Negation(
        "mxnet",
        "fused_1",
        FUSED_MX.format(grad="device.device_id"),
        "the replicas of one buffer drift apart",
    ),
    Negation(
        "mxnet",
        "fused_1",
        FUSED_MX.format(grad=1),
        "one buffer changes the update",
    ),
    Negation(
        "mxnet",
        "cures-guess_1",
        CURES.format(one=4, twice=4, launch=1),
        "one buffer gains nothing",
    ),
    Negation(
        "mxnet",
        "cures-guess_1",
        CURES.format(one=2, twice=8, launch=1),
        "twice the images take twice as long",
    ),
    Negation(
        "mxnet pytorch",
        "model-test_1",
        MODEL.format(time="k * max(N_t_q, per_image * b)"),
        "two devices take turns",
    ),
    Negation(
        "mxnet pytorch",
        "model-test_1",
        MODEL.format(time="max(N_t_q, per_image * b)"),
        "Python issues for two devices as fast as for one",
    ),
    Negation(
        "mxnet pytorch",
        "model-test_1",
        MODEL.format(time="model(k, b) * (1.6 if (k, b) == (1, 16) else 1)"),
        "a second device pays where the model says that it does not",
    ),
    Negation(
        "mxnet pytorch",
        "model-test_1",
        MODEL.format(time="k * model(k, b)"),
        "two devices take twice as long as predicted",
    ),
    Negation(
        "mxnet",
        "law_1",
        LAW.format(lanes=["cpu/0", "cpu/1"], both=1.0, spans=IN_TURNS.format("cpu")),
        "the devices take turns",
    ),
    Negation(
        "mxnet",
        "law_1",
        LAW.format(lanes=["cpu/0", "cpu/1"], both=2.0, spans=SIDE_BY_SIDE.format("cpu")),
        "a step of both takes as long as one of each",
    ),
    Negation(
        "pytorch",
        "right-pytorch_1",
        REPLICAS_TORCH.format(grad="1 / len(replicas)", update=1),
        "two devices find half of the gradient that one finds",
    ),
    Negation(
        "pytorch",
        "right-pytorch_1",
        REPLICAS_TORCH.format(grad=1, update="i"),
        "the replicas drift apart",
    ),
    Negation(
        "pytorch",
        "rows-guess_1",
        "y, devices = torch.arange(7), [torch.device('cpu')] * 2\n"
        "split_batch = lambda X, y, devices: [(X, y), (X, y)]",
        "the mean of means is the mean",
    ),
    Negation(
        "pytorch",
        "train-guess_1",
        "train = lambda k: ([[torch.ones(1)]] * k, 0.9 / k, 1.0)",
        "two devices learn less than one",
    ),
    Negation(
        "pytorch",
        "train-guess_1",
        "train = lambda k: ([[torch.ones(1)], [torch.zeros(1)]][:k], 0.8, 1.0)",
        "the replicas drift apart",
    ),
    Negation(
        "pytorch",
        "calls-look-pytorch_1",
        "steps, lanes, T = {2: lambda: None}, ['gpu/0', 'gpu/1'], [5.0, 9.0]\n"
        "d2l.Timeline = recorded(gpu_0=[('a', 0, 9)], gpu_1=[('a', 0, 9)])\n"
        "d2l.has_gpus = lambda n: True",
        "the devices never wait for Python",
    ),
    Negation(
        "pytorch",
        "graph-pays_1",
        GRAPHS.format(graphs="1.0 * k", calls=1.0),
        "graphs lose what a second GPU gains without them",
    ),
    Negation(
        "pytorch",
        "graph-pays_1",
        GRAPHS.format(graphs=1.0, calls="1.0 * k"),
        "a second GPU gains nothing with graphs",
    ),
    Negation(
        "pytorch",
        "fused-pytorch_1",
        FUSED_TORCH.format(grad="FlatParams.made"),
        "the replicas of one buffer drift apart",
    ),
    Negation(
        "pytorch",
        "fused-pytorch_1",
        FUSED_TORCH.format(grad=1),
        "one buffer changes the update",
    ),
    Negation(
        "pytorch",
        "cures-guess-pytorch_1",
        CURES.format(one=2, twice=4, launch=4),
        "one launch gains nothing",
    ),
    Negation(
        "pytorch",
        "cures-guess-pytorch_1",
        CURES.format(one=2, twice=8, launch=1),
        "twice the images take twice as long",
    ),
    Negation(
        "pytorch",
        "law_1",
        LAW.format(lanes=["core/0", "core/1"], both=1.0, spans=IN_TURNS.format("core")),
        "the devices take turns",
    ),
    Negation(
        "pytorch",
        "law_1",
        LAW.format(lanes=["core/0", "core/1"], both=2.0, spans=SIDE_BY_SIDE.format("core")),
        "a step of both takes as long as one of each",
    ),
)
