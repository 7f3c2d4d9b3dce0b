"""Measures what the chapter promises, beside what a reader would use instead: ``make bench``.

    python bench/bench.py            all rows
    python bench/bench.py dot run    the rows of these names
    python bench/bench.py scratch    the table in prepare_mxnet/engine.py (not among "all rows")
    python bench/bench.py scaling    the table and the plot in docs/scaling.md (likewise)

Each configuration runs in a process of its own with a time limit, because MXNet reads its settings
only once and because the stock settings may hang: then the row says so. Ratios compare two
configurations of one run; times are medians of repeats unless the row's function says otherwise.
"""

from __future__ import annotations

import contextlib
import importlib.util
import json
import linecache
import os
import statistics
import subprocess
import sys
import time
from pathlib import Path

from d2l_local.base import processes
from d2l_local.install import installed

import roofline
from rows import Row, table

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from settings import NOTHING_SET

CAPSTONE_CELL = "ex-capstone-hint_1"  # The exercise's solution
SECONDS = 300  # For one configuration: longer means that it hangs
PRODUCT = 1500  # Rows and columns of the matrices that are multiplied


# ---- Workers: each runs in a process of its own and prints its result as JSON --------------------


def prepare(how: str) -> None:
    """Import MXNet prepared by d2l_local, or as it comes but for the names that it misses."""
    if how == "ours":
        import d2l_local.mxnet  # noqa: F401
    elif how == "stock":
        from d2l_local.prepare_mxnet import numpy_view

        numpy_view.apply()
        import mxnet  # noqa: F401


def two_devices() -> dict:
    """20 products of 1500² on each of two CPU devices."""
    from d2l_local import mxnet as d2l

    import mxnet as mx

    n, num_ops = 1500, 20
    xs = [mx.nd.random.uniform(shape=(n, n), ctx=mx.cpu(i)) for i in range(2)]

    def run(x):
        return [mx.nd.dot(x, x) for _ in range(num_ops)]

    alone = [d2l.measure(lambda x=x: run(x)).median for x in xs]
    both = d2l.measure(lambda: [run(x) for x in xs]).median
    with d2l.Timeline() as timeline:
        for x in xs:
            run(x)
    return {
        "both / slower": both / max(alone),
        "overlap": timeline.overlap("cpu/0", "cpu/1"),
    }


def one_core() -> dict:
    """Rate of ``dot`` on one CPU device."""
    import mxnet as mx

    x = mx.nd.random.uniform(shape=(PRODUCT, PRODUCT))
    return _rate_of_products(lambda: mx.nd.dot(x, x).wait_to_read())


def torch_one_core() -> dict:
    """The same in PyTorch, on one thread."""
    import torch

    torch.set_num_threads(1)
    x = torch.rand(PRODUCT, PRODUCT)
    return _rate_of_products(lambda: torch.mm(x, x))


def _rate_of_products(multiply) -> dict:
    """GFLOP in a processor second, at best: other processes take the core and its caches away."""
    multiply()
    seconds = []
    for _ in range(15):
        start = time.process_time()
        multiply()
        seconds.append(time.process_time() - start)
    return {"GFLOP/s": 2 * PRODUCT**3 / min(seconds) / 1e9}


def compute_and_copy() -> dict:
    """Products on a CPU device whose results the Python thread copies to NumPy."""
    from d2l_local import mxnet as d2l

    import mxnet as mx

    tall = mx.nd.random.uniform(shape=(2000, 64), ctx=mx.cpu(1))
    ys = [mx.nd.empty((2000, 2000), ctx=mx.cpu(1)) for _ in range(20)]

    def compute():
        for y in ys:
            mx.nd.dot(tall, tall, transpose_b=True, out=y)

    def copy():
        for y in ys:
            y.asnumpy()

    return {
        "compute": d2l.measure(compute).median,
        "copy": d2l.measure(copy).median,
        "together": d2l.measure(lambda: (compute(), copy())).median,
    }


def loaders() -> dict:
    """Images a second, minibatches of 256 of 60,000 images, with and without worker processes."""
    from d2l_local.data import ArrayDataLoader
    from d2l_local.mxnet import _to_mxnet

    import numpy as np
    from mxnet import gluon, nd

    rng = np.random.default_rng(0)
    images = rng.integers(0, 256, size=(60000, 28, 28), dtype=np.uint8)
    labels = rng.integers(0, 10, size=60000).astype(np.int32)

    def images_per_second(loader):
        start, count = time.perf_counter(), 0
        for X, _ in loader:
            count += len(X)
        nd.waitall()
        return count / (time.perf_counter() - start)

    # Gluon's Fashion-MNIST keeps the images as one NDArray; ToTensor works on one image at a time.
    dataset = gluon.data.ArrayDataset(nd.array(images[..., None], dtype="uint8"), labels)
    dataset = dataset.transform_first(gluon.data.vision.transforms.ToTensor())
    result = {
        f"Gluon, {workers} workers": images_per_second(
            gluon.data.DataLoader(dataset, 256, shuffle=True, num_workers=workers)
        )
        for workers in (0, 2, 4)
    }
    ours = ArrayDataLoader(images, labels, 256, shuffle=True, convert=_to_mxnet)
    return {**result, "ours": sorted(images_per_second(ours) for _ in range(5))[2]}


def notebook(
    section: str,
    until: str,
    framework: str = "mxnet",
    beginnings: tuple[str, ...] = ("",),
    variables: dict | None = None,
) -> dict:
    """Variables of a notebook after its code cells up to the one with the id ``until`` have run.

    Of them, those whose ids have one of these ``beginnings``; they may go on with ``variables``.
    """
    import matplotlib

    matplotlib.use("agg")
    path = Path(__file__).parents[1] / f"chapters/{framework}/en/{section}.ipynb"
    variables = {} if variables is None else variables
    with contextlib.redirect_stdout(sys.stderr):
        for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
            wanted = cell["id"].startswith(beginnings) and cell["id"] != "setup"
            if cell["cell_type"] == "code" and wanted:
                name, lines = f"<{section}: {cell['id']}>", cell["source"]
                linecache.cache[name] = (1, None, lines, name)  # For in_new_process to find
                exec(compile("".join(lines), name, "exec"), variables)
            if cell["id"] == until:
                return variables
    raise ValueError(f"{path} has no cell {until!r}")


def folded(section: str, cell: str, framework: str) -> str:
    """The code of an exercise's solution, which its notebook folds and does not run."""
    path = Path(__file__).parents[1] / f"chapters/{framework}/en/{section}.ipynb"
    cells = json.loads(path.read_text(encoding="utf-8"))["cells"]
    [source] = ["".join(each["source"]) for each in cells if each["id"] == cell]
    return source.partition("```python\n")[2].partition("\n```")[0]


def hybridized() -> dict:
    """A forward pass of the 256-128-2 network on one row, in microseconds."""
    from d2l_local import mxnet as d2l

    from mxnet import nd
    from mxnet.gluon import nn

    net = nn.HybridSequential()
    net.add(nn.Dense(256, activation="relu"), nn.Dense(128, activation="relu"), nn.Dense(2))
    net.initialize()
    x = nd.random.normal(shape=(1, 512))

    def microseconds():
        return d2l.measure(lambda: [net(x) for _ in range(500)], 9).median / 500 * 1e6

    imperative = microseconds()
    net.hybridize(static_alloc=True, static_shape=True)
    return {"imperative": imperative, "hybridized": microseconds()}


def asynchronous() -> dict:
    """The timing model of the section, by its own cells: its largest gain and largest error."""
    import numpy as np

    cells = "intro", "loops", "sizes_1"  # The loops first: `own_core` wants the engine started
    names = notebook("async-computation", "sizes_1", "mxnet", cells)
    N, t_q, t_c, t_w = names["N"], names["t_qs"], names["t_cs"], names["t_ws"]
    each, once, turn = names["eachs"], names["onces"], t_q + t_c + t_w
    predicted = N * turn, turn + (N - 1) * np.maximum(t_q, t_c)
    errors = np.divide(predicted, (each, once)) - 1
    return {"gain": float(max(each / once)), "error": float(np.max(abs(errors)))}


def operators() -> dict:
    """Measured over predicted seconds of eight operators on one core."""
    from d2l_local import mxnet as d2l

    from mxnet import nd

    n = 1024
    x, y, number = nd.random.uniform(shape=(n, n)), nd.empty((n, n)), nd.ones(1)
    return roofline.ratios(
        d2l,
        x.context,
        n,
        lambda: nd.FullyConnected(x, x, no_bias=True, num_hidden=n, out=y),
        lambda: nd.negative(number, out=number),
    )


def lenet() -> dict:
    """Images a second of LeNet, 256 a device: by hand on one and two, by Trainer; and ratios."""
    from d2l_local import mxnet as d2l

    from mxnet import gluon, nd

    names, devices = notebook("multiple-gpus", "fused_1"), d2l.devices(2)
    fused = names["train_fused"], names["FlatParams"]
    params = [gluon.Parameter(f"p{i}", shape=p.shape) for i, p in enumerate(names["params"])]
    for param, value in zip(params, names["params"]):
        param.initialize(ctx=devices)
        param.set_data(value)
    trainer = gluon.Trainer(params, "sgd", {"learning_rate": 0.01}, kvstore="device")
    replicas = [[param.data(device) for param in params] for device in devices]
    X, y = nd.random.uniform(shape=(512, 1, 28, 28)), nd.arange(512) % 10

    def by_trainer():
        names["compute_gradients"](X, y, replicas, devices)
        trainer.step(512)

    steps = {"one": names["on"](1, 256, *fused), "two": names["on"](2, 512, *fused)}
    products = {f"{n} dots": _step("dot", d2l.devices(n)) for n in (1, 2)}
    times = d2l.compare({**steps, "Trainer": by_trainer, **products}, 15, number=3)
    one, two, trained, alone, together = times.values()
    return {
        "one": 256 / one.median,
        "two": 512 / two.median,
        "Trainer": 512 / trained.median,
        "two/one": 2 * two.speedup(one),
        "by hand/Trainer": two.speedup(trained),
        "products": 2 * together.speedup(alone),
    }


def capstone(framework: str = "mxnet") -> dict:
    """Seconds of the last patient of the section on bottlenecks, sick and cured by its solution."""
    cells = ("intro", "program", "last-patient")
    names = notebook("bottleneck", "last-patient_2", framework, cells)
    exec(folded("bottleneck", CAPSTONE_CELL, framework), names)
    slow, fast, files, digits = (names[name] for name in ("slow", "fast", "files", "digits"))
    jobs = {"sick": lambda: slow(files[:3], digits), "cured": lambda: fast(files[:3], digits)}
    return {name: times.median for name, times in names["d2l"].compare(jobs, 5).items()}


def one_device() -> dict:
    """Memory predicted over measured, and what recomputation saves and costs, by the section."""
    cells = (
        "intro", "network", "block", "whole", "count", "step", "scale-model", "loss-guess_1",
        "peak_1", "chunks_1", "chunks_2", "recompute_1", "saw_1", "recompute-guess_2",
    )  # fmt: skip
    names = notebook("gpt", "recompute-guess_2", "pytorch", cells)
    predicted = {
        f"a GPT of {layers} blocks, V = {vocabulary}": ratio
        for (vocabulary, _, layers, _), ratio in zip(names["sizes"], names["ratios"])
    }
    keep, again = (names["memory"][way].peak for way in ("keep", "recompute"))
    return {
        "predicted": predicted,
        "saved": 1 - again / keep,
        "paid": names["again"] / names["kept"] - 1,
    }


def resnet() -> dict:
    """ResNet-18, hybridized: images a second on as many CPU devices as D2L_BENCH_DEVICES says."""
    from d2l_local import mxnet as d2l

    devices = d2l.devices(int(os.environ["D2L_BENCH_DEVICES"]))
    step = _step("resnet hybridized", devices)
    return {"images/s": 64 * len(devices) / d2l.measure(step, 3).median}


def resnets() -> dict:
    """The same on 1, 2, 4, … of them, in turns: images/s, and how many times as fast as one.

    Of products, too, which share nothing: what they do not gain, the machine does not give.
    """
    from d2l_local import mxnet as d2l

    kinds, counts = ("resnet hybridized", "dot"), device_counts()
    steps = {(kind, n): _step(kind, d2l.devices(n)) for kind in kinds for n in counts}
    times = d2l.compare(steps, 7)
    gains = {kind: [n * times[kind, n].speedup(times[kind, 1]) for n in counts] for kind in kinds}
    rates = [64 * n / times[kinds[0], n].median for n in counts]
    return {"images/s": rates, "gains": gains[kinds[0]], "products": gains["dot"]}


def products() -> dict:
    """GFLOP/s of products of 1500² on as many CPU devices as D2L_BENCH_DEVICES says."""
    from d2l_local import mxnet as d2l

    from mxnet import nd

    devices = d2l.devices(int(os.environ["D2L_BENCH_DEVICES"]))
    xs = [nd.random.uniform(shape=(1500, 1500), ctx=device) for device in devices]
    seconds = d2l.measure(lambda: [nd.dot(x, x) for _ in range(20) for x in xs], 3).median
    return {"GFLOP/s": 2 * 1500**3 * 20 * len(devices) / seconds / 1e9}


def lenet_by_hand() -> dict:
    """Images a second of the section's LeNet, 256 images for each of D2L_BENCH_DEVICES devices."""
    from d2l_local import mxnet as d2l

    devices = d2l.devices(int(os.environ["D2L_BENCH_DEVICES"]))
    names = notebook("multiple-gpus", "fused_1")
    n = 256 * len(devices)
    device_params = [names["FlatParams"](names["params"], device) for device in devices]
    X, y = names["nd"].random.uniform(shape=(n, 1, 28, 28)), names["nd"].arange(n) % 10
    step = names["train_fused"]
    median = d2l.measure(
        lambda: [step(X, y, device_params, devices, lr=0.01) for _ in range(6)], 5
    ).median
    return {"images/s": 6 * n / median}


def torch_resnet() -> dict:
    """The same network in PyTorch: images a second on as many threads as D2L_BENCH_DEVICES."""
    import torch
    from d2l import torch as d2l

    torch.set_num_threads(int(os.environ["D2L_BENCH_DEVICES"]))
    net, loss = d2l.resnet18(10, 1), torch.nn.CrossEntropyLoss()
    X, y = torch.rand(64, 1, 28, 28), torch.zeros(64, dtype=torch.long)
    net(X)  # Its last layer takes its shape from the first batch
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    seconds = []
    for _ in range(4):
        start = time.perf_counter()
        optimizer.zero_grad()
        loss(net(X), y).backward()
        optimizer.step()
        seconds.append(time.perf_counter() - start)
    return {"images/s": 64 / sorted(seconds[1:])[1]}


def plain_import() -> dict:
    from d2l_local.prepare_mxnet import numpy_view

    start = time.perf_counter()
    numpy_view.apply()
    import d2l.mxnet  # noqa: F401
    import mxnet  # noqa: F401

    return {"seconds": time.perf_counter() - start}


def our_import() -> dict:
    start = time.perf_counter()
    import d2l_local.mxnet  # noqa: F401

    return {"seconds": time.perf_counter() - start}


def scratch() -> dict:
    """Speed-up, lane overlap and peak memory of two CPU devices, for four workloads."""
    import resource

    from d2l_local import mxnet as d2l

    kind = os.environ["D2L_BENCH_WORK"]
    devices = d2l.devices(2)
    alone, both = (_step(kind, used) for used in (devices[:1], devices))
    speedup = 2 * d2l.measure(alone, 3).median / d2l.measure(both, 3).median
    with d2l.Timeline() as timeline:
        both()
    return {
        "speed-up": speedup,
        "overlap": timeline.overlap("cpu/0", "cpu/1"),
        "MB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
    }


def _step(kind, devices):
    """A function that does the same work on each device: 20 products, or a training step."""
    from mxnet import autograd, gluon, init, nd

    if kind == "dot":
        xs = [nd.random.uniform(shape=(1000, 1000), ctx=device) for device in devices]
        return lambda: [nd.dot(x, x) for x in xs for _ in range(20)]
    net, num_images = _network(kind)
    net.initialize(init.Xavier(), ctx=devices)
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.01})
    loss = gluon.loss.SoftmaxCrossEntropyLoss()
    Xs = [nd.random.uniform(shape=(num_images, 1, 28, 28), ctx=device) for device in devices]
    ys = [nd.zeros((num_images,), ctx=device) for device in devices]

    def step():
        with autograd.record():
            losses = [loss(net(X), y) for X, y in zip(Xs, ys)]
        for each in losses:
            each.backward()
        trainer.step(num_images * len(devices))

    return step


def _network(kind):
    """The network and the number of images for each device."""
    from d2l_local import mxnet as d2l

    from mxnet.gluon import nn

    if kind.startswith("resnet"):
        net = d2l.resnet18(10)
        if kind == "resnet hybridized":
            net.hybridize(static_alloc=True, static_shape=True)
        return net, 64
    net = nn.HybridSequential()
    net.add(
        nn.Conv2D(20, 3, activation="relu"),
        nn.AvgPool2D(2, 2),
        nn.Conv2D(50, 5, activation="relu"),
        nn.AvgPool2D(2, 2),
        nn.Dense(128, activation="relu"),
        nn.Dense(10),
    )
    return net, 256


WORKERS = [
    asynchronous,
    capstone,
    compute_and_copy,
    hybridized,
    lenet,
    lenet_by_hand,
    loaders,
    one_core,
    operators,
    our_import,
    plain_import,
    products,
    resnet,
    resnets,
    scratch,
    torch_one_core,
    torch_resnet,
    two_devices,
]


def isolated(worker, prepared: str = "ours", python: str = sys.executable, **environment) -> dict:
    """Result of a worker in a new process; raises what `d2l_local.base.processes.run` raises."""
    command = [python, __file__, "--worker", worker.__name__, prepared]
    output = processes.run(command, SECONDS, worker.__name__, **{**NOTHING_SET, **environment})
    return json.loads(output.splitlines()[-1])


def stock_or_why_not(worker) -> dict | str:
    """Result of a worker with the stock settings, or "hangs" or "fails"."""
    try:
        return isolated(worker, "stock")
    except TimeoutError:
        return "hangs"
    except RuntimeError:
        return "fails"


def shown(result: dict | str, key: str, form: str = "{:.2f}") -> str:
    return result if isinstance(result, str) else form.format(result[key])


# ---- Rows ----------------------------------------------------------------------------------------


def dot() -> list[Row]:
    stock, ours = stock_or_why_not(two_devices), isolated(two_devices)
    return [
        Row(
            "two CPU devices, both / slower",
            f"stock {shown(stock, 'both / slower')}",
            shown(ours, "both / slower"),
            ours["both / slower"],
            at_most=1.05,
        ),
        Row(
            "two CPU devices, overlap of the lanes",
            f"stock {shown(stock, 'overlap')}",
            shown(ours, "overlap"),
            ours["overlap"],
            at_least=0.9,
        ),
        *dot_on_one_core(),
    ]


def dot_on_one_core() -> list[Row]:
    """The kernel that we choose, beside OpenBLAS's own choice and PyTorch's BLAS."""
    others = {"stock": lambda: isolated(one_core, "stock", OMP_NUM_THREADS=1)}
    torch = installed.VENVS["pytorch"] / "bin/python"
    if torch.exists():
        others["torch.mm"] = lambda: isolated(torch_one_core, "bare", python=str(torch))
    rounds = [
        {name: worker()["GFLOP/s"] for name, worker in others.items()}
        | {"ours": isolated(one_core)["GFLOP/s"]}
        for _ in range(5)
    ]
    rates = {name: statistics.median(rates[name] for rates in rounds) for name in rounds[0]}
    rows = []
    for name, at_least in (("stock", 0.95), ("torch.mm", 0.9)):
        what = f"dot on one core, ours / {name}"
        if name not in others:
            why = "no PyTorch environment: make setup FRAMEWORK=pytorch"
            rows.append(Row(what, why, "", None, at_least=at_least))
            continue
        rows.append(
            Row(
                what,
                f"{name} {rates[name]:.0f} GFLOP/s",
                f"{rates['ours']:.0f} GFLOP/s",
                statistics.median(rates["ours"] / rates[name] for rates in rounds),
                at_least=at_least,
            )
        )
    return rows


def copy() -> list[Row]:
    ours = isolated(compute_and_copy)
    longer = max(ours["compute"], ours["copy"])
    return [
        Row(
            "compute and copy together / the longer",
            f"in turns {(ours['compute'] + ours['copy']) / longer:.2f}",
            f"{ours['together']:.3f} s",
            ours["together"] / longer,
            at_most=1.1,
        )
    ]


def loader() -> list[Row]:
    rates = isolated(loaders)
    best = max((key for key in rates if key != "ours"), key=rates.get)
    return [
        Row(
            "loader, images/s, ours / Gluon's DataLoader",
            f"{best} {rates[best]:,.0f}",
            f"{rates['ours']:,.0f}",
            rates["ours"] / rates[best],
            at_least=5,
        )
    ]


def imports() -> list[Row]:
    pairs = [(isolated(plain_import, "bare"), isolated(our_import, "bare")) for _ in range(3)]
    plain, ours = (min(result["seconds"] for result in results) for results in zip(*pairs))
    return [
        Row(
            "import, ours / mxnet and d2l.mxnet, which ours loads when it is asked for",
            f"{plain:.2f} s",
            f"{ours:.2f} s",
            ours / plain,
            at_most=1.0,
        )
    ]


def hybridize() -> list[Row]:
    us = isolated(hybridized)
    return [
        Row(
            "256-128-2 at batch 1, imperative / hybridized",
            f"imperative {us['imperative']:.0f} us",
            f"{us['hybridized']:.0f} us",
            us["imperative"] / us["hybridized"],
            at_least=4,
        )
    ]


def async_computation() -> list[Row]:
    found = isolated(asynchronous)
    return [
        Row("a wait each / one wait, at the best size", "", "", found["gain"], at_least=1.5),
        Row("largest error of the timing model", "", "", found["error"], at_most=0.15),
    ]


def hardware() -> list[Row]:
    return roofline.rows("a CPU core", isolated(operators))


def memory_rows(predicted: dict[str, float], saved: float, paid: float) -> list[Row]:
    """Rows of predicted over measured peaks by network, and of recomputation's shares."""
    rows = [
        Row(f"peak memory, {name}, predicted / measured", "", "", ratio, 0.9, 1.1)
        for name, ratio in predicted.items()
    ]
    return [
        *rows,
        Row("recomputation of each block: share of the peak saved", "", "", saved, at_least=0.4),
        Row("the same: share of the time paid", "", "", paid, at_most=0.4),
    ]


def multiple_gpus() -> list[Row]:
    got = isolated(lenet)
    by_hand = f"{got['two']:.0f} images/s"
    return [
        Row(
            "LeNet by hand, two devices / one",
            f"one {got['one']:.0f} images/s",
            by_hand,
            got["two/one"],
            at_least=1.8,
        ),
        *beside_products("LeNet", {2: got["two/one"]}, {2: got["products"]}, 0.9),
        Row(
            "LeNet on two devices, by hand / Trainer",
            f"Trainer {got['Trainer']:.0f} images/s",
            by_hand,
            got["by hand/Trainer"],
            at_least=0.97,
        ),
    ]


def beside_products(
    name: str, gains: dict[int, float], products: dict[int, float], at_least: float
) -> list[Row]:
    """What n devices gain, over what they gain in products: cores need not be as many as told."""
    return [
        Row(
            f"{name}: what {n} devices gain, over products'",
            f"products {products[n]:.2f} times as fast",
            f"{gain:.2f}",
            gain / products[n],
            at_least,
        )
        for n, gain in gains.items()
        if n > 1
    ]


def multiple_gpus_concise() -> list[Row]:
    """ResNet-18 on 1, 2, 4, … cores, beside PyTorch if that is installed."""
    counts = device_counts()
    got = isolated(resnets)
    ours = dict(zip(counts, got["images/s"]))
    rows = [
        Row(
            f"ResNet-18, {n} devices / one",
            f"one {ours[1]:.0f} images/s",
            f"{ours[n]:.0f} images/s",
            gain,
            at_least=1.9 if n == 2 else 0,
        )
        for n, gain in list(zip(counts, got["gains"]))[1:]
    ]
    gains, products = (dict(zip(counts, got[what])) for what in ("gains", "products"))
    rows += beside_products("ResNet-18", gains, products, 0.95)
    if importlib.util.find_spec("torch") is None:
        return rows
    for n in counts:
        theirs = isolated(torch_resnet, "bare", D2L_BENCH_DEVICES=n)["images/s"]
        rows.append(
            Row(
                f"ResNet-18, {n} devices / PyTorch on {n} threads",
                f"PyTorch {theirs:.0f} images/s",
                f"{ours[n]:.0f} images/s",
                ours[n] / theirs,
                at_least=1,
            )
        )
    return rows


def bottleneck() -> list[Row]:
    return [healed(isolated(capstone))]


def healed(seconds: dict) -> Row:
    return Row(
        "the last patient, sick / cured",
        f"sick {1e3 * seconds['sick']:.0f} ms",
        f"{1e3 * seconds['cured']:.0f} ms",
        seconds["sick"] / seconds["cured"],
        at_least=4,
    )


def run() -> list[Row]:
    """Minutes of `make run` for one section in both languages."""
    start = time.perf_counter()
    subprocess.run(
        [
            sys.executable,
            "-m",
            "book.builder",
            "run",
            "--framework",
            "mxnet",
            "--section",
            "auto-parallelism",
        ],
        check=True,
        stdout=sys.stderr,
    )
    minutes = (time.perf_counter() - start) / 60
    return [
        Row("make run, auto-parallelism, minutes", "", f"{minutes:.1f} min", minutes, at_most=3)
    ]


ROWS = [
    dot,
    copy,
    loader,
    imports,
    hybridize,
    async_computation,
    hardware,
    multiple_gpus,
    multiple_gpus_concise,
    bottleneck,
    run,
]


def device_counts() -> list[int]:
    return [n for n in (1, 2, 4, 8, 16, 32) if n <= len(os.sched_getaffinity(0))]


def scaling(path: str = "build/scaling.svg") -> str:
    """Markdown table over the number of CPU devices, one core each; draws the speed-ups."""
    work = {
        "`dot` of 1500², GFLOP/s": (products, "GFLOP/s", "ours"),
        "LeNet by hand, 256 images a device, images/s": (lenet_by_hand, "images/s", "ours"),
        "ResNet-18, 64 images a device, images/s": (resnet, "images/s", "ours"),
    }
    if importlib.util.find_spec("torch"):
        name = "PyTorch, ResNet-18, batch of 64, as many threads, images/s"
        work[name] = (torch_resnet, "images/s", "bare")
    counts, rates = device_counts(), {}
    lines = [f"| devices | {' | '.join(map(str, counts))} |", "|---" * (len(counts) + 1) + "|"]
    for name, (worker, key, prepared) in work.items():
        rates[name] = [isolated(worker, prepared, D2L_BENCH_DEVICES=n)[key] for n in counts]
        lines.append(f"| {name} | {' | '.join(f'{rate:,.0f}' for rate in rates[name])} |")
        print(lines[-1], file=sys.stderr, flush=True)
        speedups = [rate / rates[name][0] for rate in rates[name]]
        lines.append(f"| speed-up | {' | '.join(f'{speedup:.2f}' for speedup in speedups)} |")
    plot_scaling(counts, rates, path)
    return "\n".join(lines)


def plot_scaling(counts: list[int], rates: dict[str, list[float]], path: str) -> None:
    from matplotlib import pyplot as plt
    from matplotlib.ticker import ScalarFormatter

    figure, ax = plt.subplots(figsize=(6, 4), layout="constrained")
    colors = ("#0072B2", "#E69F00", "#009E73", "#CC79A7")  # Okabe and Ito's
    for (name, row), marker, color in zip(rates.items(), "os^x", colors):
        label = name.split(",")[0].replace("`", "")
        ax.loglog(counts, [rate / row[0] for rate in row], marker=marker, color=color, label=label)
    ax.loglog(counts, counts, "k--", label="ideal")
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(ScalarFormatter())
        axis.set_ticks(counts)
        axis.set_minor_locator(plt.NullLocator())
    ax.set(xlabel="CPU devices, one core each", ylabel="speed-up over one")
    ax.legend(frameon=False)
    Path(path).parent.mkdir(exist_ok=True)
    figure.savefig(path, metadata={"Date": None})


def scratch_table() -> str:
    """Speed-up and peak memory over the number of scratch copies, as reStructuredText."""
    kinds, lines = ("dot", "lenet", "resnet", "resnet hybridized"), []
    for copies in (4, 16, 64, 256, 1024):
        cells = [str(copies)]
        for kind in kinds:
            got = isolated(scratch, MXNET_CPU_TEMP_COPY=copies, D2L_BENCH_WORK=kind)
            cells.append(f"{got['speed-up']:.2f} {got['overlap']:.2f} {got['MB']:.0f} MB")
            print(copies, kind, cells[-1], file=sys.stderr, flush=True)
        lines.append("  ".join(f"{cell:<19}" for cell in cells))
    return "\n".join(["  ".join(f"{head:<19}" for head in ("copies", *kinds)), *lines])


def main(names: list[str]) -> None:
    if names in (["scratch"], ["scaling"]):
        print({"scratch": scratch_table, "scaling": scaling}[names[0]]())
        return
    known = {row.__name__: row for row in ROWS}
    unknown = [name for name in names if name not in known]
    if unknown:
        sys.exit(f"no row {', '.join(unknown)}; there are {', '.join(known)}")
    rows = []
    try:
        for name in names or known:
            print(f"{name} ...", file=sys.stderr, flush=True)
            rows += known[name]()
    finally:  # A failure does not lose what was measured before
        print(table(rows))


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        prepare(sys.argv[3])
        print(json.dumps({worker.__name__: worker for worker in WORKERS}[sys.argv[2]]()))
    else:
        main(sys.argv[1:])
