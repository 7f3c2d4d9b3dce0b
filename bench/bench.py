"""Measures what the chapter promises, beside what a reader would use instead: ``make bench``.

    python bench/bench.py            all rows
    python bench/bench.py dot loader the rows of these names
    python bench/bench.py scratch    the table in prepare_mxnet/engine.py (not among "all rows")
    python bench/bench.py scaling    the table and the plot in docs/benchmarks.md (likewise)

Each configuration runs in a process of its own with a time limit, because MXNet reads its settings
only once and because the stock settings may hang: then the row says so. Ratios compare two
configurations of one run; times are medians of repeats unless the row's function says otherwise.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

from d2l_local.base import processes
from d2l_local.install import installed

from rows import Row, report
from sections import notebook

assert sys.platform == "linux", "MXNet has no build for other systems"  # Nor need types fit them

sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
from settings import NOTHING_SET

SECONDS = 300  # For one configuration
HANGS = 100  # For the stock settings: ours take a tenth of that
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


def _rate_of_products(multiply: Callable[[], object]) -> dict:
    """GFLOP in a processor second, at best: other processes take the core and its caches away."""
    multiply()
    seconds = []
    for _ in range(15):
        start = time.process_time()
        multiply()
        seconds.append(time.process_time() - start)
    return {"GFLOP/s": 2 * PRODUCT**3 / min(seconds) / 1e9}


def loaders() -> dict:
    """Images a second, minibatches of 256 of 60,000 images, with and without worker processes."""
    from d2l_local.data import ArrayDataLoader

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
    ours = ArrayDataLoader(images, labels, 256, shuffle=True, convert=nd.from_numpy)
    return {**result, "ours": sorted(images_per_second(ours) for _ in range(5))[2]}


def lenet() -> dict:
    """Images a second of LeNet, 256 a device: by hand on one and two, by Trainer; and ratios."""
    from d2l_local import mxnet as d2l

    from mxnet import gluon, nd

    cells = (
        "cores-program",
        "cores-parallel",
        "cores-allreduce",
        "cores-split",
        "cores-step",
        "cures-",
    )
    names = notebook("multiple-gpus", "cures-mxnet_1", "mxnet", cells)
    devices = d2l.devices(2)
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

    steps = {k: names["on"](devices[:n], 256 * n, *fused) for n, k in ((1, "one"), (2, "two"))}
    products = {f"{n} dots": _step("dot", d2l.devices(n)) for n in (1, 2)}
    times = d2l.compare({**steps, "Trainer": by_trainer, **products}, 5, number=3)
    one, two, trained, alone, together = times.values()
    return {
        "one": 256 / one.median,
        "two": 512 / two.median,
        "Trainer": 512 / trained.median,
        "two/one": 2 * two.speedup(one),
        "by hand/Trainer": two.speedup(trained),
        "products": 2 * together.speedup(alone),
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
    cells = (
        "cores-program",
        "cores-parallel",
        "cores-allreduce",
        "cores-split",
        "cores-step",
        "cures-",
    )
    names = notebook("multiple-gpus", "cures-mxnet_1", "mxnet", cells)
    n = 256 * len(devices)
    device_params = [names["FlatParams"](names["params"], device) for device in devices]
    X, y = names["nd"].random.uniform(shape=(n, 1, 28, 28)), names["nd"].arange(n) % 10
    step = names["train_fused"]
    median = d2l.measure(
        lambda: [step(X, y, device_params, devices, lr=0.01) for _ in range(6)], 5
    ).median
    return {"images/s": 6 * n / median}


def d2ls_own_resnet() -> dict:
    """Images in a processor second of a training step of d2l's ResNet-18, imperative, width 64."""
    import resource

    from d2l_local import mxnet as d2l

    from mxnet import autograd, gluon, init, np, npx

    npx.set_np()
    batch = int(os.environ["D2L_BENCH_BATCH"])
    X, y = np.random.uniform(size=(batch, 1, 28, 28)), np.random.randint(0, 10, size=(batch,))
    net, loss = d2l.resnet18(10), gluon.loss.SoftmaxCrossEntropyLoss()
    net.initialize(init=init.Normal(sigma=0.01))
    trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1})

    def step():
        with autograd.record():
            each = loss(net(X), y)
        each.backward()
        trainer.step(batch)
        npx.waitall()

    start, steps = time.process_time(), max(1, 128 // batch)
    for _ in range(steps):
        step()
    return {
        "images in a processor second": steps * batch / (time.process_time() - start),
        "GiB": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20,
    }


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
    d2ls_own_resnet,
    lenet,
    lenet_by_hand,
    loaders,
    one_core,
    our_import,
    plain_import,
    products,
    resnet,
    resnets,
    scratch,
    torch_resnet,
    two_devices,
]


def isolated(
    worker: Callable,
    prepared: str = "ours",
    python: str = sys.executable,
    seconds: float = SECONDS,
    **environment: object,
) -> dict:
    """Result of a worker in a new process; raises what `d2l_local.base.processes.run` raises."""
    command = [python, __file__, "--worker", worker.__name__, prepared]
    output = processes.run(command, seconds, worker.__name__, **{**NOTHING_SET, **environment})
    return json.loads(output.splitlines()[-1])


def stock_or_why_not(worker: Callable) -> dict | str:
    """Result of a worker with the stock settings, or "hangs" or "fails"."""
    try:
        return isolated(worker, "stock", seconds=HANGS)
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
        dot_on_one_core(),
    ]


def dot_on_one_core() -> Row:
    """The kernel that we choose, beside OpenBLAS's own choice."""
    rounds = [
        (
            isolated(one_core, "stock", OMP_NUM_THREADS=1)["GFLOP/s"],
            isolated(one_core)["GFLOP/s"],
        )
        for _ in range(5)
    ]
    stock, ours = (statistics.median(rates) for rates in zip(*rounds))
    return Row(
        "dot on one core, ours / stock",
        f"stock {stock:.0f} GFLOP/s",
        f"{ours:.0f} GFLOP/s",
        statistics.median(ours / stock for stock, ours in rounds),
        at_least=0.95,
    )


def loader() -> list[Row]:
    rates = isolated(loaders)
    best = max((key for key in rates if key != "ours"), key=lambda key: rates[key])
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
    return rows


def old_editions() -> list[Row]:
    """d2l's own ResNet-18, whose arrays are large: what a batch of 512 loses to page faults."""
    rate = "images in a processor second"
    small, large = (isolated(d2ls_own_resnet, D2L_BENCH_BATCH=batch) for batch in (32, 512))
    return [
        Row(
            f"d2l's own ResNet-18, {rate}, batch 512 / 32",
            f"{small[rate]:.0f} of 32",
            f"{large[rate]:.0f}, and {large['GiB']:.1f} GiB",
            large[rate] / small[rate],
            at_least=0.5,
        )
    ]


ROWS = (dot, loader, imports, multiple_gpus, multiple_gpus_concise, old_editions)


def device_counts() -> list[int]:
    return [n for n in (1, 2, 4, 8, 16, 32) if n <= len(os.sched_getaffinity(0))]


def scaling(path: str = "build/scaling.svg") -> str:
    """Markdown table over the number of CPU devices, one core each; draws the speed-ups."""
    work = {
        "`dot` of 1500², GFLOP/s": (products, "GFLOP/s", sys.executable),
        "LeNet by hand, 256 images a device, images/s": (lenet_by_hand, "images/s", sys.executable),
        "ResNet-18, 64 images a device, images/s": (resnet, "images/s", sys.executable),
    }
    if (torch_python := installed.VENVS["pytorch"] / "bin/python").exists():
        name = "PyTorch, ResNet-18, batch of 64, as many threads, images/s"
        work[name] = (torch_resnet, "images/s", str(torch_python))
    counts, rates = device_counts(), {}
    lines = [f"| devices | {' | '.join(map(str, counts))} |", "|---" * (len(counts) + 1) + "|"]
    for name, (worker, key, python) in work.items():
        prepared = "ours" if python == sys.executable else "bare"
        rates[name] = [isolated(worker, prepared, python, D2L_BENCH_DEVICES=n)[key] for n in counts]
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
    report(ROWS, names, "8 minutes on two busy cores")


if __name__ == "__main__":
    if sys.argv[1:2] == ["--worker"]:
        prepare(sys.argv[3])
        print(json.dumps({worker.__name__: worker for worker in WORKERS}[sys.argv[2]]()))
    else:
        main(sys.argv[1:])
