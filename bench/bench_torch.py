"""Measures what the PyTorch edition promises: ``make bench FRAMEWORK=pytorch``.

    python bench/bench_torch.py                 all rows that this machine has the GPUs for
    python bench/bench_torch.py lenet ring      the rows of these names

Ratios compare configurations of one run; all times are medians of repeats after a warm-up. What a
row trains is written here anew, so that it measures the method and not a notebook's variables.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator
from functools import partial

from d2l_local import torch as d2l
from d2l_local.base.language import counted
from d2l_local.torch.launch import torchrun

import roofline
import torch
from rows import Row, report
from sections import notebook
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F

# The processes of `torchrun` import `cut_gpt` from here.
HERE = os.path.dirname(os.path.abspath(__file__))
os.environ["PYTHONPATH"] = os.pathsep.join(filter(None, [HERE, os.environ.get("PYTHONPATH")]))


def seconds(fn: Callable[[], object], repeats: int = 7) -> float:
    """Median time of ``fn()``, which may only queue work."""
    return d2l.measure(fn, repeats).median


# ---- Operators beside their bound ----------------------------------------------------------------


def operators_on(device: torch.device) -> dict[str, float]:
    n = 1024 if device.type == "cpu" else 8192
    x, y = torch.rand(n, n, device=device), torch.empty(n, n, device=device)
    number = torch.ones(1, device=device)
    return roofline.ratios(
        d2l,
        device,
        n,
        lambda: torch.mm(x, x, out=y),
        lambda: torch.neg(number, out=number),
        {} if device.type == "cpu" else other_convolutions(device),
    )


def other_convolutions(device: torch.device) -> dict[str, Callable[[], object]]:
    """Two convolutions for which cuDNN's usual program is far from the bound, by another one."""
    last = torch.channels_last
    x = torch.rand(1024, 20, 13, 13, device=device).to(memory_format=last)
    w = torch.rand(50, 20, 5, 5, device=device).to(memory_format=last)
    images = torch.rand(1024, 512, 4, 4, device=device)
    weights = torch.rand(512, 512, 3, 3, device=device)

    def as_product() -> torch.Tensor:
        windows = F.pad(images, (1, 1, 1, 1)).unfold(2, 3, 1).unfold(3, 3, 1)
        rows = windows.permute(0, 2, 3, 1, 4, 5).reshape(len(images) * 16, -1)
        return (rows @ weights.view(512, -1).T).view(-1, 4, 4, 512).permute(0, 3, 1, 2)

    assert torch.allclose(as_product(), torch.conv2d(images, weights, padding=1), rtol=1e-3)
    return {
        "LeNet Conv 5x5, 20-50": lambda: torch.conv2d(x, w),
        "ResNet Conv 512, 4x4": as_product,
    }


def hardware() -> list[Row]:
    """The section's eight operators, in float32, on a CPU core and on a GPU."""
    threads, tf32 = torch.get_num_threads(), torch.backends.cudnn.allow_tf32
    torch.set_num_threads(1)
    torch.backends.cudnn.allow_tf32 = False
    try:
        found = roofline.rows("a CPU core", operators_on(torch.device("cpu")))
        if d2l.num_gpus():
            found += roofline.rows(torch.cuda.get_device_name(0), operators_on(d2l.try_gpu()))
        return found
    finally:
        torch.set_num_threads(threads)
        torch.backends.cudnn.allow_tf32 = tf32


# ---- Products, and copies beside them ------------------------------------------------------------


def products() -> list[Row]:
    """50 products of 4000² on each of two GPUs."""
    xs = [torch.rand(4000, 4000, device=d) for d in d2l.devices(2)]

    def run(x):
        for _ in range(50):
            x @ x

    alone = [seconds(partial(run, x)) for x in xs]
    both = seconds(lambda: [run(x) for x in xs])
    with d2l.Timeline() as timeline:
        for x in xs:
            run(x)
    return [
        Row(
            "50 products of 4000² on two GPUs: both / the slower alone",
            f"{1e3 * max(alone):.1f} ms",
            f"{1e3 * both:.1f} ms",
            both / max(alone),
            at_most=1.02,
        ),
        Row(
            "the same: overlap of the two lanes",
            "0 in turn",
            "1 hidden",
            timeline.overlap("gpu/0", "gpu/1"),
            at_least=0.95,
        ),
    ]


def copies() -> list[Row]:
    """Products on a GPU whose results go to pinned memory on a second stream, or the old way."""
    device = d2l.try_gpu()
    x = torch.rand(4000, 4000, device=device)
    side = torch.cuda.Stream(device)
    results = [torch.empty_like(x) for _ in range(20)]
    pinned = [torch.empty(x.shape, pin_memory=True) for _ in results]
    done = [torch.cuda.Event() for _ in results]

    def compute():
        for y in results:
            torch.mm(x, x, out=y)

    def copy():
        with torch.cuda.stream(side):
            for y, host in zip(results, pinned):
                host.copy_(y, non_blocking=True)

    def together():
        for y, host, event in zip(results, pinned, done):
            torch.mm(x, x, out=y)
            event.record()
            with torch.cuda.stream(side):
                side.wait_event(event)
                host.copy_(y, non_blocking=True)

    def old_way():
        compute()
        return [y.to("cpu", non_blocking=True) for y in results]

    longer = max(seconds(compute), seconds(copy))
    ours, old = seconds(together), seconds(old_way)
    return [
        Row(
            "compute and copies on a side stream: together / the longer of the two",
            f"{old / longer:.2f} by to('cpu', non_blocking=True)",
            f"{1e3 * ours:.1f} of {1e3 * longer:.1f} ms",
            ours / longer,
            at_most=1.03,
        )
    ]


# ---- LeNet by hand: one process, a flat buffer of parameters a GPU -------------------------------

SHAPES = [(20, 1, 3, 3), (20,), (50, 20, 5, 5), (50,), (800, 128), (128,), (128, 10), (10,)]


def lenet(X, params):
    h = F.avg_pool2d(F.relu(F.conv2d(X, params[0], params[1])), 2)
    h = F.avg_pool2d(F.relu(F.conv2d(h, params[2], params[3])), 2)
    h = F.relu(h.flatten(1) @ params[4] + params[5])
    return h @ params[6] + params[7]


class Replica:
    """LeNet on one GPU whose parameters, and whose gradients, are views of one vector each."""

    def __init__(self, device, batch, graph):
        sizes = [torch.Size(shape).numel() for shape in SHAPES]
        generator = torch.Generator().manual_seed(0)
        self.flat = 0.01 * torch.randn(sum(sizes), generator=generator)
        self.flat = self.flat.to(device)
        self.grad = torch.zeros_like(self.flat)
        self.theirs = torch.zeros_like(self.flat)
        self.params = []
        for part, grad, shape in zip(self.flat.split(sizes), self.grad.split(sizes), SHAPES):
            param = part.view(shape).requires_grad_()
            param.grad = grad.view(shape)
            self.params.append(param)
        self.X = torch.rand(batch, 1, 28, 28, device=device)
        self.y = torch.randint(0, 10, (batch,), device=device)
        self.device, self.graph = device, None
        if graph:
            self.capture()

    def backward(self):
        """Sum of the minibatch's gradients into ``grad``."""
        if self.graph:
            self.graph.replay()
            return
        self.grad.zero_()
        F.cross_entropy(lenet(self.X, self.params), self.y, reduction="sum").backward()

    def capture(self):
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.device(self.device):
            stream = torch.cuda.Stream(self.device)
            stream.wait_stream(torch.cuda.current_stream())
            with torch.cuda.stream(stream):  # Warm up where graphs are captured, as PyTorch asks
                for _ in range(3):
                    self.backward()
            torch.cuda.current_stream().wait_stream(stream)
            # The default capture stream belongs to the first GPU that ever captured
            with torch.cuda.graph(graph, stream=stream):
                self.backward()
        self.graph = graph

    def update(self, lr):
        with torch.no_grad():
            self.flat.sub_(self.grad, alpha=lr)


def step_eager(replicas, lr):
    """As the classic text does it: tensor by tensor, to the first GPU and back."""
    for r in replicas:
        r.backward()
    with torch.no_grad():
        for grads in zip(*([p.grad for p in r.params] for r in replicas)):
            for grad in grads[1:]:
                grads[0].add_(grad.to(grads[0].device))
            for grad in grads[1:]:
                grad.copy_(grads[0])
        for r in replicas:
            for p in r.params:
                p.sub_(p.grad, alpha=lr)


def step_fused(replicas, lr):
    """One buffer: each of two GPUs sends its gradients and adds those it gets."""
    for r in replicas:
        r.backward()
    if len(replicas) == 2:
        a, b = replicas
        b.theirs.copy_(a.grad, non_blocking=True)
        a.theirs.copy_(b.grad, non_blocking=True)
        a.grad.add_(a.theirs)
        b.grad.add_(b.theirs)
    for r in replicas:
        r.update(lr)


def lenet_seconds(n: int, batch: int, step: Callable, graph: bool) -> float:
    replicas = [Replica(device, batch // n, graph) for device in d2l.devices(n)]
    time = seconds(lambda: [step(replicas, 0.1 / batch) for _ in range(100)]) / 100
    assert all(torch.equal(replicas[0].flat.cpu(), r.flat.cpu()) for r in replicas)
    return time


def lenet_ddp(device, batch):
    """Seconds a step of LeNet by DistributedDataParallel, the batch shared by the processes."""
    from d2l_local import torch as d2l

    net = nn.Sequential(
        nn.Conv2d(1, 20, 3), nn.ReLU(), nn.AvgPool2d(2), nn.Conv2d(20, 50, 5), nn.ReLU(),
        nn.AvgPool2d(2), nn.Flatten(), nn.Linear(800, 128), nn.ReLU(), nn.Linear(128, 10),
    ).to(device)  # fmt: skip
    shared = nn.parallel.DistributedDataParallel(
        net, device_ids=[device], gradient_as_bucket_view=True
    )
    trainer = torch.optim.SGD(shared.parameters(), lr=0.1)
    X = torch.rand(batch // dist.get_world_size(), 1, 28, 28, device=device)
    y = torch.zeros(len(X), dtype=torch.long, device=device)

    def step():
        trainer.zero_grad()
        F.cross_entropy(shared(X), y).backward()
        trainer.step()

    return d2l.measure(lambda: [step() for _ in range(100)]).median / 100


def lenets() -> Iterator[Row]:
    for batch, bound in ((4096, 1.85), (256, 1.1)):
        t = {
            (n, name): lenet_seconds(n, batch, step, graph)
            for n in (1, 2)
            for name, step, graph in (
                ("eager", step_eager, False),
                ("fused", step_fused, False),
                ("graph", step_fused, True),
            )
        }
        t |= {(n, "ddp"): max(torchrun(lenet_ddp, n, batch=batch)) for n in (1, 2)}
        print({f"{n} {name}": f"{1e6 * s:.0f} µs" for (n, name), s in t.items()}, file=sys.stderr)
        gain = {name: t[1, name] / t[2, name] for name in ("eager", "fused", "graph", "ddp")}
        yield Row(
            f"LeNet by hand, batch {batch} in all: two GPUs against one, a graph each",
            f"{gain['eager']:.2f} eager, {gain['fused']:.2f} fused, {gain['ddp']:.2f} DDP",
            f"{1e6 * t[2, 'graph']:.0f} of {1e6 * t[1, 'graph']:.0f} µs",
            gain["graph"],
            at_least=bound,
        )


# ---- ResNet-18 -----------------------------------------------------------------------------------


def resnet_seconds(device, batch, tf32, graph):
    """Seconds a step of ResNet-18 where DistributedDataParallel shares the batch out, if need be.

    `graph`: all of the step, NCCL's part included, is one CUDA graph.
    """
    from d2l_local import torch as d2l

    torch.backends.cudnn.allow_tf32 = tf32
    net = d2l.resnet18(10).to(device)
    X = torch.rand(batch // dist.get_world_size(), 1, 28, 28, device=device)
    y = torch.zeros(len(X), dtype=torch.long, device=device)
    net(X[:2])  # Its layers learn their shapes
    stream = torch.cuda.Stream(device)  # Where a graph is to be captured DDP must have begun
    with torch.cuda.stream(stream):
        if dist.get_world_size() > 1:
            net = nn.parallel.DistributedDataParallel(
                net, device_ids=[device], gradient_as_bucket_view=True, broadcast_buffers=False
            )
        trainer = torch.optim.SGD(net.parameters(), lr=0.1)

        def step():
            trainer.zero_grad(set_to_none=not graph)
            F.cross_entropy(net(X), y).backward()
            trainer.step()

        for _ in range(12):  # DDP lays out its buckets anew in the first; PyTorch asks for eleven
            step()
        stream.synchronize()
        if graph:
            captured = torch.cuda.CUDAGraph()
            with torch.cuda.graph(captured, stream=stream, capture_error_mode="thread_local"):
                step()
            step = captured.replay
        return d2l.measure(lambda: [step() for _ in range(10)]).median / 10


def resnet_by_hand(batch: int, n: int, graph: bool) -> float:
    """Seconds a step in one process: a replica a GPU, one fused all-reduce, then the updates.

    `graph`: forward propagation and backpropagation are one CUDA graph a GPU. A single Python
    process has twice as many kernels to launch as each of DDP's two.
    """
    nets, data = [], []
    for device in d2l.devices(n):
        torch.manual_seed(0)
        net = d2l.resnet18(10).to(device)
        X = torch.rand(batch // n, 1, 28, 28, device=device)
        data.append((X, torch.zeros(len(X), dtype=torch.long, device=device)))
        net(X[:2])
        nets.append(net)
    grads = []
    for net, (X, _) in zip(nets, data):
        flat = torch.zeros(sum(p.numel() for p in net.parameters()), device=X.device)
        for p, part in zip(net.parameters(), flat.split([p.numel() for p in net.parameters()])):
            p.grad = part.view_as(p)
        grads.append((flat, torch.zeros_like(flat)))
    trainers = [torch.optim.SGD(net.parameters(), lr=0.1) for net in nets]

    def gradient(net, X, y, flat):
        flat.zero_()
        F.cross_entropy(net(X), y, reduction="sum").div(batch).backward()

    works: list[Callable[[], object]] = [
        partial(gradient, net, X, y, flat) for net, (X, y), (flat, _) in zip(nets, data, grads)
    ]
    if graph:
        works = [d2l.capture(work, X.device) for work, (X, _) in zip(works, data)]

    def step():
        for work in works:
            work()
        if n == 2:
            (a, from_b), (b, from_a) = grads
            from_a.copy_(a, non_blocking=True)
            from_b.copy_(b, non_blocking=True)
            a.add_(from_b)
            b.add_(from_a)
        for trainer in trainers:
            trainer.step()

    return seconds(lambda: [step() for _ in range(10)]) / 10


def resnets() -> Iterator[Row]:
    """ResNet-18 in float32, each step a CUDA graph; and as PyTorch does it if nobody says a word.

    By default convolutions round their inputs to TF32, 10 bits, and are three times as fast. What
    does not depend on the batch takes as long as before, so that more GPUs then gain less.
    """
    batch = 1024
    counts = [n for n in (1, 2, 4, 8) if n <= d2l.num_gpus()]
    ways = {"float32": (False, True), "TF32": (True, False)}
    t = {
        (name, n): max(
            torchrun(resnet_seconds, n, batch=batch, tf32=tf32, graph=graph, seconds=200)
        )
        for name, (tf32, graph) in ways.items()
        for n in counts
    }
    share = {
        (name, n): torchrun(
            resnet_seconds, 1, batch=batch // n, tf32=tf32, graph=graph, seconds=200
        )[0]
        for name, (tf32, graph) in ways.items()
        for n in counts[1:]
    }
    print({f"{n} {name}": f"{1e3 * s:.2f} ms" for (name, n), s in t.items()}, file=sys.stderr)
    print({f"1/{n} {name}": f"{1e3 * s:.2f} ms" for (name, n), s in share.items()}, file=sys.stderr)
    for n, bound in ((2, 1.95), (4, 3.6), (8, 6.8)):
        if n not in counts:
            continue
        gain = {name: t[name, 1] / t[name, n] for name in ways}
        at_most = {name: t[name, 1] / share[name, n] for name in ways}
        yield Row(
            f"ResNet-18 by DDP, batch {batch} in all, float32: {n} GPUs against one",
            f"{gain['TF32']:.2f} in TF32, eager, where one GPU's share allows for "
            f"{at_most['TF32']:.2f}",
            f"{batch / t['float32', n]:.0f} images/s; {at_most['float32']:.2f} allowed for",
            gain["float32"],
            at_least=bound,
        )
    eager, by_hand = (resnet_by_hand(batch, 2, graph) for graph in (False, True))
    yield Row(
        "ResNet-18 on two GPUs, TF32: by hand in one process, a CUDA graph each, against DDP",
        f"{batch / t['TF32', 2]:.0f} images/s; by hand without graphs {batch / eager:.0f}",
        f"{batch / by_hand:.0f} images/s",
        t["TF32", 2] / by_hand,
        at_least=0.95,
    )


# ---- All-reduce ----------------------------------------------------------------------------------


def all_reduce_nccl(device, counts):
    from d2l_local import torch as d2l

    xs = [torch.zeros(count, device=device) for count in counts]
    return [d2l.measure(lambda x=x: dist.all_reduce(x), 7, number=20).median for x in xs]


def rings() -> Iterator[Row]:
    """The ring by hand against NCCL's: both queued by one call, at several sizes."""
    counts = [2_500_000, 10_000_000, 40_000_000, 160_000_000]  # 10 to 640 MB
    for k in [k for k in (2, 4, 8) if k <= d2l.num_gpus()]:
        devices = d2l.devices(k)
        nccl = [max(times) for times in zip(*torchrun(all_reduce_nccl, k, counts=counts))]
        for count, theirs in zip(counts, nccl):
            buffers = [torch.full((count,), float(i + 1), device=d) for i, d in enumerate(devices)]
            ring = d2l.Ring(buffers)
            ring()
            d2l.synchronize()
            assert all((b == k * (k + 1) / 2).all() for b in buffers)
            for b in buffers:
                b.zero_()
            ours = d2l.measure(ring, 7, number=20).median
            one = d2l.measure(lambda b=buffers: b[1].copy_(b[0]), 7, number=20).median
            sent = 2 * (k - 1) / k * 4 * count
            yield Row(
                f"ring all-reduce of {4 * count // 10**6} MB by hand, {k} GPUs: its speed "
                "over NCCL's",
                f"{sent / theirs / 1e9:.0f} GB/s a GPU",
                f"{sent / ours / 1e9:.0f} GB/s a GPU; one copy reaches {4 * count / one / 1e9:.0f}",
                theirs / ours,
                at_least=0.95 if k == 2 and count == 40_000_000 else None,
            )


# ---- A transformer, sharded ----------------------------------------------------------------------


def transformer_of_778m(device, rows, sharded, recompute):
    """Seconds a step of 778M parameters, and until Python has issued it; the peak in bytes."""
    from d2l_local import torch as d2l

    step, _ = d2l.transformer_step(device, sharded, recompute=recompute)
    return d2l.step_costs(step, rows, 7)


def shards() -> Iterator[Row]:
    """FSDP2 against DistributedDataParallel, 1,024 tokens a row, on two GPUs."""
    found = {}
    for rows, recompute in ((4, True), (16, False)):
        for sharded in (False, True):
            runs = torchrun(transformer_of_778m, 2, rows=rows, sharded=sharded, recompute=recompute)
            found[rows, sharded] = T, t_q, peak = [max(each) for each in zip(*runs)]
            text = f"{1e3 * T:.0f} ms, Python {1e3 * t_q:.0f}, peak {peak / 2**30:.1f} GiB"
            print(f"rows {rows}, sharded {sharded}: {text}", file=sys.stderr)
    for number, what, column, bound, unit, scale in (
        (4, "peak per GPU, 4 rows, recomputation", 2, 0.4, "GiB", 2**-30),
        (16, "time of a step, 16 rows", 0, 1.0, "ms", 1e3),
    ):
        ddp, fsdp = (found[number, sharded][column] for sharded in (False, True))
        yield Row(
            f"a transformer of 778M parameters, FSDP2 against DDP: {what}",
            f"{scale * ddp:.1f} {unit} by DDP",
            f"{scale * fsdp:.1f} {unit}",
            fsdp / ddp,
            at_most=bound,
        )


# ---- A GPT, cut over two GPUs --------------------------------------------------------------------


def costs_of_cuts(device, options, counts):
    """Seconds, bytes and a loss for each of the cuts; seconds of all-reduces of such counts."""
    from cut_gpt import cut_costs

    cuts = (None, "dp", "tp", "pp")
    costs = [cut_costs(device, cut, **options) for cut in cuts]
    return costs, all_reduce_nccl(device, counts)


def planner(size: str = "774M") -> list[Row]:
    """A GPT cut in three ways over two GPUs: the section's planner against the runs.

    Its computing rate is that of one GPU's step, and its bandwidths are those of NCCL, for what a
    block returns and for all gradients. To its memory the loss is added, which it leaves out: 12
    bytes per word for each token, but for a pipeline, whose first stage has none and holds the
    most. It does not know, either, that both devices have the matrix of the words under tp and pp.
    """
    rows, b, tokens, vocabulary = 32, 8, 1024, 50_304
    cells = (
        "intro_1", "states_1", "activations-guess_1", "activations-lesson_1", "time_1", "time_2",
    )  # fmt: skip
    names = notebook("combining-cuts", "time_2", "pytorch", cells)
    whole = d2l.gpt(size, vocabulary, tokens, bias=False, device="meta")
    width, N = whole.tokens.weight.shape[1], sum(p.numel() for p in whole.parameters())
    net = names["Net"](N, len(whole.blocks), width, tokens)
    options = {"size": size, "rows": rows, "b": b, "tokens": tokens, "vocabulary": vocabulary}
    counts = [b * tokens * width // 2, N // 2]  # Of numbers in float32 with as many bytes
    runs = torchrun(
        costs_of_cuts, 2, uses=[all_reduce_nccl], options=options, counts=counts, seconds=150
    )
    costs, summing = runs[0]
    W = [4 * count / seconds for count, seconds in zip(counts, summing)]  # Of two, each sends all
    rate = names["flop"](net, rows) / costs[0][0]
    print(
        f"one GPU: {1e3 * costs[0][0]:.1f} ms, {costs[0][1] / 1e9:.2f} GB, "
        f"{rate / 1e12:.0f} TFLOP/s; "
        f"all-reduce of {4e-6 * counts[0]:.0f} and {4e-6 * counts[1]:.0f} MB: "
        f"{W[0] / 1e9:.0f} and {W[1] / 1e9:.0f} GB/s; losses {[cost[2] for cost in costs]}",
        file=sys.stderr,
    )
    losses, found = [cost[2] for cost in costs], []
    for cut, (seconds, peak, _) in zip(("dp", "tp", "pp"), costs[1:]):
        degrees = {"dp": 1, "tp": 1, "pp": 1} | {cut: 2}
        gpu = names["GPU"](rate, W[cut == "dp"], W[cut == "dp"], 80e9, 2)
        T = names["step_time"](net, gpu, rows, **degrees, b=b, reached=1, exchanges=4)
        of_loss = 0 if cut == "pp" else 12 * vocabulary * b * tokens / degrees["tp"]
        held = names["memory"](net, **degrees, b=b) + of_loss
        name = f"a GPT of {size}, {cut} = 2: predicted / measured"
        what = f"{name} seconds of a step"
        took = f"{1e3 * seconds:.1f} ms, {costs[0][0] / seconds:.2f} times as fast as one GPU"
        found.append(Row(what, f"{1e3 * T:.1f} ms", took, T / seconds, 0.75, 1.25))
        ratio = held / peak if peak else None  # Without a GPU nothing counts
        what = f"{name} bytes of the fuller GPU"
        found.append(Row(what, f"{held / 1e9:.2f} GB", f"{peak / 1e9:.2f} GB", ratio, 0.9, 1.1))
    apart = max(losses) / min(losses) - 1
    return [*found, Row("the same: losses after a step apart by", "", "", 1 + apart, None, 1.01)]


def captured(fn, device):
    """`d2l.capture` for what exchanges: NCCL's watchdog may ask for an event meanwhile."""
    if device.type == "cpu":
        return fn
    stream = torch.cuda.Stream(device)
    with torch.cuda.stream(stream):
        for _ in range(12):
            fn()
    torch.cuda.synchronize(device)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph, stream=stream, capture_error_mode="thread_local"):
        fn()
    return graph.replay


def decoding_costs(device, size, context, options):
    """Seconds of a step of decoding, whole and cut, issued and as a graph; and of an all-reduce.

    Also the error of the cut step's scores, as a share of the largest.
    """
    from d2l_local import torch as d2l

    from cut_gpt import cut_decoder

    def best(step):
        return [d2l.measure(fn, 7, number=20).median for fn in (step, captured(step, device))]

    torch.set_grad_enabled(False)
    torch.manual_seed(0)
    torch.set_default_dtype(torch.bfloat16)
    net = d2l.gpt(size, bias=False, device=device, **options)
    torch.set_default_dtype(torch.float32)
    cache, new = d2l.Cache(net, 1, context), torch.ones(1, 1, dtype=torch.long, device=device)

    def whole():
        cache.keep(context - 1)
        return net(new, cache)

    right, alone = whole(), best(whole)
    step, kept = cut_decoder(net, 1, context)

    def part():
        kept.keep(context - 1)
        return step(new)

    error = (part() - right).abs().max() / right.abs().max()
    x = torch.zeros(1, 1, net.tokens.weight.shape[1], dtype=torch.bfloat16, device=device)
    several = [each / 100 for each in best(lambda: [dist.all_reduce(x) for _ in range(100)])]
    W = max(d2l.copy_rates(device, [2**32 if device.type == "cuda" else 2**22], 7))
    return alone, best(part), several, error.item(), W


def decoding_of_sizes(device, sizes, context, options):
    return [decoding_costs(device, size, context, options) for size in sizes]


def tp_decode() -> list[Row]:
    """A token at a time from a GPT cut over two GPUs: how much faster than on one, and predicted.

    A step reads half of the weights and of the cache, and waits for two all-reduces a block. The
    rest of one GPU's step, t_0, stays. Both as CUDA graphs.
    """
    sizes, context, options, found = ("774M", "6.7B"), 1024, {"context": 4096}, []
    of_ranks = torchrun(
        decoding_of_sizes, 2, uses=[captured, decoding_costs], sizes=sizes, context=context,
        options=options, seconds=150,
    )  # fmt: skip
    for size, runs in zip(sizes, zip(*of_ranks)):
        alone, cut, sums = (
            [max(each) for each in zip(*(run[i] for run in runs))] for i in range(3)
        )
        error, W = max(run[3] for run in runs), min(run[4] for run in runs)
        net = d2l.gpt(size, bias=False, device="meta", **options)
        width, layers = net.tokens.weight.shape[1], len(net.blocks)
        numbers = sum(p.numel() for p in net.parameters()) - net.places.weight.numel()
        read = 2 * (numbers + context * 2 * layers * width)
        T = alone[1] - read / 2 / W + 2 * layers * sums[1]
        found += [
            Row(
                f"decoding by the {size} (width {width}), 1 row of {context}: two GPUs by tp "
                "against one, CUDA graphs",
                f"{alone[1] / T:.2f} predicted; without graphs {alone[0] / cut[0]:.2f}, "
                f"{1e3 * cut[0]:.2f} of {1e3 * alone[0]:.2f} ms",
                f"{1e3 * cut[1]:.2f} of {1e3 * alone[1]:.2f} ms; an all-reduce "
                f"{1e6 * sums[1]:.1f} µs, without graphs {1e6 * sums[0]:.1f}",
                alone[1] / cut[1],
            ),
            Row(
                f"the same, {size}: predicted / measured seconds of a step on two GPUs",
                f"{1e3 * T:.2f} ms",
                f"{1e3 * cut[1]:.2f} ms",
                T / cut[1],
                0.8,
                1.25,
            ),
            Row(f"the same, {size}: error of a score", "", "", error, None, 0.05),
        ]
    pays = (sums[1] * W / 6) ** 0.5  # Half of 24 d² bytes of a block take as long as 2 all-reduces
    rate = f"an all-reduce {1e6 * sums[1]:.1f} µs, W {W / 1e12:.2f} TB/s"
    what = "the width from which tp should pay in decoding"
    return [*found, Row(what, rate, f"{pays:.0f}", pays)]


# ---- The classic training ------------------------------------------------------------------------


def classic_epochs(device, batch_size, lr, num_epochs, width):
    """`train_resnet` of the section, tested on all images: what that returns."""
    import time

    from d2l_local import torch as d2l

    torch.set_num_threads(1)
    train_iter, test_iter = d2l.load_data_fashion_mnist(batch_size)
    torch.manual_seed(0)
    net, epochs = nn.parallel.DistributedDataParallel(resnet18(width).to(device)), []  # type: ignore[name-defined]  # noqa: F821
    trainer = torch.optim.SGD(net.parameters(), lr=lr)
    for _ in range(num_epochs):
        start = time.monotonic()
        for X, y in train_iter:
            train_batch(net, X, y, trainer, device)  # type: ignore[name-defined]  # noqa: F821
        d2l.synchronize()
        seconds = time.monotonic() - start
        found = evaluate(net.module, test_iter, device)  # type: ignore[name-defined]  # noqa: F821
        epochs.append((seconds, *found))
    return epochs


def resnet_classic() -> list[Row]:
    """ResNet-18 on all of Fashion-MNIST, as an early edition trained it, by the section's cells."""
    epochs, width = 5, 64
    name = f"ResNet-18 on Fashion-MNIST, {epochs} epochs"
    if not os.environ.get("D2L_DATA"):
        return [Row(name, "D2L_DATA names no 70,000 images", "", None)]
    cells = (
        "left_1", "resnet_1", "resnet-stages_1", "step-pytorch_1", "resnet-train-pytorch_2",
    )  # fmt: skip
    names = notebook("multiple-gpus-concise", "resnet-train-pytorch_2", "pytorch", cells)
    uses = [names[each] for each in ("Residual", "resnet18", "shard", "train_batch", "evaluate")]
    runs = {
        n: torchrun(
            classic_epochs, n, uses=uses, batch_size=256 * n, lr=0.1 * n, num_epochs=epochs,
            width=width, seconds=150,
        )[0]
        for n in (1, 2)
    }  # fmt: skip
    best = {n: max(accuracy for _, _, accuracy in run) for n, run in runs.items()}
    usual = {n: sorted(seconds for seconds, _, _ in run)[len(run) // 2] for n, run in runs.items()}
    for n, run in runs.items():
        text = ", ".join(f"{seconds:.2f} s {accuracy:.3f}" for seconds, _, accuracy in run)
        print(f"{n}, batch {256 * n}, rate {0.1 * n}: {text}", file=sys.stderr)
    return [
        Row(
            f"{name}: an epoch of one GPU, batch 256, over one of two, 512",
            "13.0 and 6.7 s in an early edition: 1.94",
            f"{usual[1]:.1f} and {usual[2]:.1f} s",
            usual[1] / usual[2],
            at_least=1.3,
        ),
        Row(f"{name}: best test accuracy of one GPU", "0.92", "", best[1], at_least=0.88),
        Row(f"{name}: best test accuracy of two", "0.90", "", best[2], at_least=0.8),
    ]


# ---- One device ----------------------------------------------------------------------------------


def memory() -> list[Row]:
    """Memory predicted over measured, and what recomputation saves and costs, by the section."""
    cells = (
        "intro", "network", "block", "whole", "count", "step", "scale-model", "loss-guess_1",
        "peak_1", "chunks_1", "chunks_2", "recompute_1", "saw_1", "recompute-guess_2",
    )  # fmt: skip
    names = notebook("gpt", "recompute-guess_2", "pytorch", cells)
    keep, again = (names["memory"][way].peak for way in ("keep", "recompute"))
    paid = names["again"] / names["kept"] - 1
    rows = [
        Row(
            f"peak memory, a GPT of {layers} blocks, V = {vocabulary}, predicted / measured",
            *("", "", ratio, 0.9, 1.1),
        )
        for (vocabulary, _, layers, _), ratio in zip(names["sizes"], names["ratios"])
    ]
    what = "recomputation of each block: share of the peak saved"
    return [
        *rows,
        Row(what, "", "", 1 - again / keep, at_least=0.4),
        Row("the same: share of the time paid", "", "", paid, at_most=0.4),
    ]


def gpt_ladder() -> list[Row]:
    """The rungs of the section on one device, by its own cells: tokens/s, and the best MFU."""
    cells = ("intro", "network", "block", "whole", "count", "step", "ladder-pytorch", "ladder-peak")
    names = notebook("gpt", "ladder-peak_2", "pytorch", cells)
    rates, size, known = names["rates"], names["size"], names["known"]
    goal = known and size == "774M"
    best = max(rates, key=rates.get)
    return [
        Row(
            f"a GPT of {size} parameters in training: tokens/s from float32 to the best",
            ", ".join(f"{name} {rate:,.0f}" for name, rate in rates.items()),
            f"{best} {rates[best]:,.0f}",
            rates[best] / rates["float32"],
            at_least=8 if goal else None,
        ),
        Row(
            "the same: MFU of the best, of 989 TFLOP/s",
            "",
            "",
            max(names["mfu"].values()),
            at_least=0.5 if goal else None,
        ),
    ]


def ladder() -> list[Row]:
    """ResNet-18 in training, batch 1024: float32, TF32, bfloat16, channels last, compiled."""
    device, batch, rates = d2l.try_gpu(), 1024, {}
    X = torch.rand(batch, 1, 28, 28, device=device)
    y = torch.zeros(batch, dtype=torch.long, device=device)
    for rung, name in enumerate(("float32", "TF32", "bfloat16", "channels last", "compiled")):
        torch.backends.cudnn.allow_tf32 = rung > 0
        net = d2l.resnet18(10).to(device)
        net(X[:2])
        net = net.to(memory_format=torch.channels_last) if rung > 2 else net
        trainer = torch.optim.SGD(net.parameters(), lr=0.1, fused=True)
        forward = torch.compile(net) if rung > 3 else net

        def step(bf16=rung > 1, forward=forward, trainer=trainer):
            with torch.autocast("cuda", torch.bfloat16, enabled=bf16):
                loss = F.cross_entropy(forward(X), y)
            loss.backward()
            trainer.step()
            trainer.zero_grad()

        step()
        rates[name] = batch / d2l.measure(step, 7, 10).median
    return [
        Row(
            "ResNet-18, 28×28, batch 1024: images/s from float32 to the best",
            ", ".join(f"{name} {rate:,.0f}" for name, rate in list(rates.items())[:-1]),
            f"{rates['compiled']:,.0f}",
            rates["compiled"] / rates["float32"],
            at_least=7.5,
        )
    ]


# ---- One kernel ----------------------------------------------------------------------------------


def kernels() -> list[Row]:
    """A row kernel beside the bound by bytes, and a product in FP8, by the section's own cells."""
    cells = (
        "triton_1", "rows_1", "rows-guess_1", "rows-kernel_1", "rows-time_1", "fp8_1", "fp8-time_1",
    )  # fmt: skip
    names = notebook("kernels", "fp8-time_1", "pytorch", cells)
    bound, fused = names["bound"], names["fused_time"]
    rows = [
        Row(
            "softmax of 65,536 rows of 1,024 by one kernel: its share of the bound's speed",
            f"{bound / names['times']['five']:.2f} by five operators",
            f"{1e6 * fused:.0f} µs",
            bound / fused,
            at_least=0.9,
        )
    ]
    if times := names.get("fp8_times"):  # Not on a GPU without units for it
        rate = {name: 2 * 4096**3 / times[name] / 1e12 for name in ("bfloat16", "E4M3")}
        rows.append(
            Row(
                "product of 4096×4096 in E4M3, matrices rounded already: its speed over bfloat16's",
                f"{rate['bfloat16']:.0f} TFLOP/s in bfloat16",
                f"{rate['E4M3']:.0f} TFLOP/s",
                rate["E4M3"] / rate["bfloat16"],
                at_least=1.6,
            )
        )
    return rows


# ---- Serving a language model --------------------------------------------------------------------


def decoding() -> list[Row]:
    """A step predicted from one measured point, and tokens verified, by the section's own cells."""
    cells = (
        "intro", "suitcase_1", "why-guess_1", "eight-guess_1", "long-guess_1", "step-law_1",
        "law_1", "drafts_1",
    )  # fmt: skip
    names = notebook("serving", "drafts_1", "pytorch", cells)
    torch.set_grad_enabled(True)  # Which the section switches off
    ratios, verify = names["off"], names["verify"]
    (b, seconds), s = list(names["long"].items())[-1], 4 * names["length"]
    ceiling = names["W"] / (s * names["n_kv"])
    name = f"GPT of {names['n_w'] / 1e9:.1f} GB of weights, {len(ratios)} points"
    one, many = verify[1], verify[16]
    return [
        Row(f"{name}: smallest predicted / measured", "", "", min(ratios), at_least=0.8),
        Row(f"{name}: largest predicted / measured", "", "", max(ratios), at_most=1.25),
        Row(
            f"{name}: tokens/s with {b} rows of {s} / ceiling of the caches",
            f"{ceiling:,.0f}",
            f"{b / seconds:,.0f}",
            b / seconds / ceiling,
        ),
        Row(
            f"{name}: 16 tokens in one call / one",
            f"{1e3 * one:.2f} ms",
            f"{1e3 * many:.2f} ms",
            many / one,
            at_most=1.5,
        ),
    ]


# The GPUs that the rows need.
NEEDS = {
    hardware: 0,
    products: 2,
    copies: 1,
    lenets: 2,
    resnets: 2,
    rings: 2,
    shards: 2,
    planner: 2,
    tp_decode: 2,
    resnet_classic: 2,
    memory: 0,
    ladder: 1,
    gpt_ladder: 1,
    kernels: 1,
    decoding: 1,
}


def main(names: list[str]) -> None:
    # Else NCCL's watchdog asks for events while a graph is being captured, which ends the capture
    os.environ.setdefault("TORCH_NCCL_ASYNC_ERROR_HANDLING", "0")
    here = d2l.num_gpus()
    d2l.banner(d2l.devices(max(1, here)))
    lacking = {
        rows: f"it needs {counted(needed, 'GPU')}, and here is {here}"
        for rows, needed in NEEDS.items()
        if needed > here
    }
    report(NEEDS, names, "6 minutes on one H100, and more on two", lacking)


if __name__ == "__main__":
    main(sys.argv[1:])
