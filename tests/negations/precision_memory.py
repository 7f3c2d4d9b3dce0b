"""What is planted before cells of precision-memory."""

from negation import Negation

# Memory of which half is counted; a step that takes less than its longest part.
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
    Negation(
        "mxnet",
        "sum-guess_1",
        "array = nd.array\nnd.array = lambda values, **_: array(values)",
        "the sum is float32's",
    ),
    Negation(
        "mxnet",
        "sum-lesson_1",
        "ones = nd.ones\nnd.ones = lambda n, **_: ones(n)",
        "no update is lost",
    ),
    Negation(
        "mxnet",
        "scaling-guess_1",
        "nd.NDArray.astype = lambda self, _: self",
        "small gradients survive in float16",
    ),
    Negation(
        "mxnet",
        "by-hand-mxnet_3",
        "d2l.has_bfloat16, gradient = lambda: True, lambda X, *_: X",
        "16 bits change nothing",
    ),
    Negation(
        "mxnet",
        "amp-mxnet_1",
        "d2l.has_bfloat16, d2l.in_new_process = lambda: True, lambda *_, **__: [1.0, 0.9]",
        "training in 16 bits goes another way",
    ),
    Negation(
        "mxnet",
        "when-guess_1",
        "d2l.has_bfloat16, gain = lambda: True, lambda *_, **__: 3.0",
        "16 bits shorten what is bound by issuing",
    ),
    Negation(
        "mxnet",
        "peak-guess_1",
        HALF_COUNTED + "networks = {'ResNet-18': (None, (), 0, 0)}",
        "half of the memory is not predicted",
    ),
    Negation(
        "mxnet",
        "accumulate_2",
        "class Parameters(dict):\n    setattr = lambda *_: None\n"
        "class Net:\n    hybridize = lambda self: None\n"
        "    __call__ = lambda *_: None\n    collect_params = lambda _: Parameters()\n"
        "mlp, gradients = lambda *_: Net(), lambda net, X, m: [nd.ones(2) * m]",
        "four parts give four times the gradient",
    ),
    Negation(
        "mxnet",
        "recompute_2",
        "net = nn.HybridSequential()\nnet.add(*[nn.Dense(1) for _ in range(25)])\n"
        "X, gradients = nd.ones(38), lambda *_: []\n"
        "recompute = lambda *_: nd.ones(1000).wait_to_read()",
        "recomputation saves nothing",
    ),
    Negation(
        "mxnet pytorch",
        "recompute-guess_1",
        THREE_TIMES,
        "a step is shorter than its longest part",
    ),
    Negation(
        "pytorch",
        "formats_1",
        "torch.Tensor.half = torch.Tensor.bfloat16",
        "float16 has the range of bfloat16",
    ),
    Negation(
        "pytorch",
        "sum-guess_1",
        "torch.float16 = torch.float32",
        "the sum is float32's",
    ),
    Negation(
        "pytorch",
        "sum-lesson_1",
        "torch.float16 = torch.float32",
        "no update is lost",
    ),
    Negation(
        "pytorch",
        "scaling-guess_1",
        "torch.Tensor.half = torch.Tensor.bfloat16",
        "small gradients survive in float16",
    ),
    Negation(
        "pytorch",
        "by-hand_1",
        "import contextlib\ndevice = torch.device('cpu')\n"
        "torch.autocast = lambda *_: contextlib.nullcontext()",
        "autocast does not do what is done by hand",
    ),
    Negation(
        "pytorch",
        "when-guess_1",
        "device, gain = torch.device('cpu'), lambda *_, **__: 3.0",
        "16 bits shorten what is bound by issuing",
    ),
    Negation(
        "pytorch",
        "ladder-pytorch_2",
        "device, train_step = torch.device('cpu'), lambda net, X, bf16: 2.0 if bf16 else 1.0",
        "16 bits change the loss",
    ),
    Negation(
        "pytorch",
        "peak-guess_1",
        HALF_COUNTED + "networks = {'ResNet-18': (None, (), 0)}",
        "half of the memory is not predicted",
    ),
    Negation(
        "pytorch",
        "accumulate_2",
        "mlp, gradients = lambda *_: None, lambda net, X, m: [torch.ones(2) * m]",
        "four parts give four times the gradient",
    ),
    Negation(
        "pytorch",
        "recompute_2",
        "net = nn.Sequential(*[nn.ReLU() for _ in range(49)])\n"
        "X, gradients = torch.ones(38), lambda *_: []\n"
        "recompute = lambda *_: torch.ones(1000).sum()",
        "recomputation saves nothing",
    ),
    Negation(
        "pytorch",
        "framework_1",
        "net = nn.Sequential(*[nn.Linear(2, 2) for _ in range(4)])\n"
        "X, segments, exact = torch.rand(3, 2), net, [p + 1 for p in net.parameters()]",
        "the framework's gradients are others",
    ),
)
