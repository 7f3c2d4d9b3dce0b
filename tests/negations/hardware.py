"""What is planted before cells of hardware."""

from negation import Negation

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
NEGATIONS = (
    Negation(
        "mxnet pytorch",
        "peak-guess_1",
        TIMES + "d2l.device_times = lambda jobs: dict(zip(jobs, (2 * 2 * 2048, 1)))",
        "the sum reaches as many FLOP/s as the product",
    ),
    Negation(
        "mxnet pytorch",
        "peak-lesson_1",
        TIMES + "d2l.copy_rates = lambda _, sizes: np.ones(len(sizes))",
        "a copy of few bytes is as fast as any",
    ),
    Negation(
        "mxnet pytorch",
        "bandwidth-lesson_1",
        TIMES + "rates, P, sizes = np.full(2, 1e10), 1e11, [2**12, 2**13]",
        "the smallest copy takes no longer than its bytes",
    ),
    Negation(
        "mxnet pytorch",
        "rows-guess_1",
        TIMES + "array, predict = lambda *_: [0] * 256, lambda F, n: 1.0\n"
        "d2l.device_times = lambda jobs, *_: {b: b for b in jobs}",
        "each row takes as long as the first",
    ),
    Negation(
        "mxnet pytorch",
        "operators-guess_1",
        ELEVEN
        + "operators = {f'ResNet {kind}, 28x28': Time(run=0) for kind in ('Conv 64', 'ReLU')}\n"
        "d2l.device_times = lambda jobs, **_: dict(zip(jobs, (1152, 1)))",
        "times are as the FLOP",
    ),
    Negation(
        "mxnet pytorch",
        "table_1",
        ELEVEN + "measured = dict.fromkeys(operators, 3.0)",
        "operators take three times what two counts predict",
    ),
    Negation(
        "mxnet pytorch",
        "table_1",
        ELEVEN + "predicted = {**predicted, 6: 0.03, 7: 0.03}",
        "the FLOP alone predict, and ReLU takes thirty times as long",
    ),
    Negation(
        "mxnet pytorch",
        "operators-lesson_1",
        ELEVEN + "P, W, counts = 1.0, np.ones(2), lambda _: (10.0, 1.0)",
        "rates are above the roof",
    ),
    Negation(
        "mxnet pytorch",
        "below_1",
        ELEVEN + "ratio = dict.fromkeys(operators, 0.1)",
        "operators take less than their bound",
    ),
    Negation(
        "mxnet pytorch",
        "fused-guess_1",
        TIMES + "d2l.device_times = lambda jobs: dict.fromkeys(jobs, 1.0)",
        "three operators take as long as one",
    ),
    Negation(
        "mxnet",
        "step-guess_1",
        TIMES + "P, F, net = 1e11, 2.7e9, "
        "None\n"
        "d2l.resnet_step = lambda *_: None\n"
        "d2l.device_times = lambda *_: {'T': 1e-3}",
        "a step takes less than its FLOP need",
    ),
    Negation(
        "mxnet",
        "copies-mxnet_1",
        TIMES + "W = np.ones(2)",
        "a link carries more than memory",
    ),
    Negation(
        "mxnet pytorch",
        "latency_1",
        TIMES + "t_q, W = 1e-6, np.ones(2)\nd2l.read_time = lambda _: 1e-8",
        "memory answers as fast as a cache",
    ),
    Negation(
        "mxnet pytorch",
        "law_1",
        TIMES + "d2l.device_times = lambda jobs, *_: dict(zip(jobs, (1, 1, 2)))",
        "computing and moving take turns",
    ),
    Negation(
        "mxnet pytorch",
        "law_1",
        TIMES + "d2l.device_times = lambda jobs, *_: dict(zip(jobs, (1, 4, 1)))",
        "the whole takes less than a part of it",
    ),
    Negation(
        "pytorch",
        "step-guess_1",
        TIMES + "P, F, net = 1e11, 2.7e9, "
        "torch.nn.Linear(1, 1)\n"
        "array = lambda *_: None\n"
        "d2l.device_times = lambda *_: {'T': 1e-3}",
        "a step takes less than its FLOP need",
    ),
)
