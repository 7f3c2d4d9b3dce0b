"""The figures: a function each, named after its file; its docstring is the title and description.

What a figure says goes through `d.t`, in English; img/labels.yml holds the other languages.
"""

import inspect
from collections.abc import Callable
from typing import NamedTuple

from book.figures.drawing import (
    BLUE,
    EDGE,
    GRAY,
    GREEN,
    KINDS,
    ORANGE,
    PAPER,
    SMALL,
    YELLOW,
    Drawing,
    toward,
)

Draws = Callable[[Drawing], None]


class Figure(NamedTuple):
    """How a figure is drawn, its size in pixels, and what it says to those who do not see it."""

    function: Draws
    width: int
    height: int
    title: str
    description: str


FIGURES: dict[str, Figure] = {}  # By the name of its file


def figure(width: int, height: int) -> Callable[[Draws], Draws]:
    """Register a function that draws a figure; its docstring is the title and the description."""

    def register(function: Draws) -> Draws:
        title, _, desc = (inspect.getdoc(function) or "").partition(".\n\n")
        name = function.__name__.replace("_", "-")
        FIGURES[name] = Figure(function, width, height, title, " ".join(desc.split()))
        return function

    return register


@figure(780, 850)
def twogpu(d):
    """One training step of a two-layer network on a CPU and two devices.

    Time flows downward. The CPU takes the next batch; each device copies half of it, computes
    fc1, fc2, the gradient of the loss, then the gradients of fc2 and of fc1. While fc1 backward
    still runs, the CPU sums the gradients of fc2; it updates the weights with the sum and both
    devices copy them. The same follows for fc1.
    """
    t = d.t
    width, height = 204, 46
    lanes = {0: 150, "cpu": 402, 1: 654}

    def row(i):
        return 96 + 66 * i

    for key, x in lanes.items():
        d.lane(x - 110, 24, 220, 766, "CPU" if key == "cpu" else t("device {}", key))
    d.rect(32, row(6) - 33, 740, 66, (EDGE, YELLOW[1]))
    d.arrow([(20, 60), (20, 770)])
    d.text(20, 40, t("time"), SMALL)

    def box(column, i, label, code, kind="compute"):
        d.box(lanes[column], row(i), width, height, label, code, kind)

    def down(column, i):
        x = lanes[column]
        d.arrow([(x, row(i) + height / 2), (x, row(i + 1) - height / 2)])

    def across(k, i, j, inward, gap, rise=0, fall=0):
        """Copy from row i to row j between the columns of device k and of the CPU."""
        side = 1 if k == 0 else -1
        outer, inner = lanes[k] + side * width / 2, lanes["cpu"] - side * width / 2
        middle = (lanes[k] + lanes["cpu"]) / 2 + side * gap
        start, end = (outer, inner) if inward else (inner, outer)
        points = [(start, row(i) + rise), (middle, row(i) + rise)]
        points += [(middle, row(j) + fall), (end, row(j) + fall)]
        d.arrow(points, ORANGE)

    for k in (0, 1):
        for i in range(1, 6):
            down(k, i)
        across(k, 0, 1, inward=False, gap=0)
        across(k, 5, 6, inward=True, gap=0, fall=-9)
        across(k, 6, 8, inward=True, gap=8, rise=9, fall=-9)
        across(k, 7, 8, inward=False, gap=-8)
        across(k, 9, 10, inward=False, gap=0)
    down("cpu", 6)
    down("cpu", 8)

    box("cpu", 0, t("next batch"), "data = next(batches)", "data")
    for k, part in enumerate(("0:50", "50:100")):
        box(k, 1, t("copy slice"), f"x_{k} = data[{part}]", "copy")
        box(k, 2, t("{} forward", "fc1"), f"h_{k} = fc1(x_{k})")
        box(k, 3, t("{} forward", "fc2"), f"o_{k} = fc2(h_{k})")
        box(k, 4, t("loss gradient"), f"do_{k} = d_loss(o_{k})")
        box(k, 5, t("{} backward", "fc2"), f"dw2_{k}, dh_{k} = d_fc2(do_{k})")
        box(k, 6, t("{} backward", "fc1"), f"dw1_{k} = d_fc1(dh_{k})")
        box(k, 8, t("{}: copy back", "fc2"), f"w2_{k} = w2", "copy")
        box(k, 10, t("{}: copy back", "fc1"), f"w1_{k} = w1", "copy")
    for i, layer in ((6, 2), (8, 1)):
        code = f"dw{layer} = dw{layer}_0 + dw{layer}_1"
        box("cpu", i, t("{}: sum of gradients", f"fc{layer}"), code)
        box("cpu", i + 1, t("{}: update", f"fc{layer}"), f"w{layer} -= lr * dw{layer}")
    note = t(
        "the gradients of fc2 are ready first:\nthe CPU sums them while\nfc1 backward still runs"
    )
    d.text(lanes["cpu"], row(4) + 6, note, SMALL)
    d.arrow([(lanes["cpu"], row(4) + 34), (lanes["cpu"], row(6) - 40)], dash="2 4")
    d.legend(
        820,
        data=t("data"),
        compute=t("computation"),
        copy=t("copy"),
        arrow=t("needs the result"),
        arrow_orange=t("needs a copy of the result"),
    )


@figure(656, 190)
def asyncgraph(d):
    """The computational graph of c = a * b + 2.

    a and b go into the multiplication, its result into the addition of 2, whose result is c.
    """
    for name, y in (("a", 46), ("b", 110)):
        d.arrow([(100, y), (176, 78 + (y - 78) / 4)])
        d.box(70, y, 60, 40, code=name, kind="data")
    for code, x in (("a * b", 236), ("+ 2", 426)):
        d.arrow([(x + 60, 78), (x + 130, 78)])
        d.box(x, 78, 120, 46, code=code)
    d.box(586, 78, 60, 40, code="c", kind="data")
    d.legend(164, data=d.t("data"), compute=d.t("operator"))


@figure(800, 300)
def frontends(d):
    """Front ends, the back end and the devices.

    Programs in Python, R, Scala or C++ hand operations to MXNet's back end. Its scheduler puts each
    operation whose inputs exist into the queue of its device, from which the device's worker takes
    one after the other and computes it on the CPU or on a GPU.
    """
    t = d.t
    d.lane(20, 24, 146, 252, t("front ends"))
    d.lane(206, 24, 440, 252, t("MXNet back end (C++)"))
    d.lane(686, 24, 96, 252, t("devices"))
    for i, name in enumerate(("Python", "R", "Scala", "C++")):
        y = 84 + 50 * i
        d.box(93, y, 116, 32, name, kind="data")
        d.arrow([(151, y), (222, 159 + (y - 159) / 5)])
    d.box(280, 159, 112, 60, t("scheduler"))
    for name, y in (("CPU", 104), ("GPU", 214)):
        d.arrow([(336, 159 + (y - 159) / 5), (380, y)])
        d.text(440, y - 32, t("queue"), SMALL)
        for i in range(4):
            d.box(392 + 32 * i, y, 28, 36, kind="wait" if i == 0 else "overhead")
        d.arrow([(504, y), (538, y)])
        d.box(584, y, 88, 44, t("worker"))
        d.arrow([(628, y), (700, y)])
        d.box(734, y, 68, 44, name)


@figure(596, 276)
def computegraph(d):
    """The computational graph of three additions.

    add(a, b) gives e and add(c, d) gives f, independently of each other; add(e, f) gives g.
    """
    names = {"a": (54, 44), "b": (54, 100), "c": (54, 152), "d": (54, 208)}
    names.update({"e": (298, 72), "f": (298, 180), "g": (542, 126)})
    for first, second, result in (("a", "b", "e"), ("c", "d", "f"), ("e", "f", "g")):
        right, y = names[result]
        x = right - 122
        for name in (first, second):
            left, high = names[name]
            d.arrow([(left + 20, high), (x - 58, y + (high - y) / 4)])
        d.arrow([(x + 58, y), (right - 20, y)])
        d.box(x, y, 116, 42, code=f"add({first}, {second})")
    for name, (x, y) in names.items():
        d.box(x, y, 40, 34, code=name, kind="data")
    d.legend(252, data=d.t("data"), compute=d.t("operator"))


@figure(800, 520)
def splitting(d):
    """Three ways to split a network over two devices.

    (a) By data: each device computes all layers for half of the batch, then the gradients are
    summed. (b) Within layers: each device computes half of the channels of every layer and needs
    the other half for the next layer. (c) By layers: device 0 computes conv1 and conv2, device 1
    fc1 and fc2.
    """
    t = d.t
    titles = [
        t("(a) by data:\ndata parallelism"),
        t("(b) within layers:\ntensor parallelism"),
        t("(c) by layers:\npipeline parallelism"),
    ]
    notes = [
        t("exchanged: gradients of the\nparameters, once a batch"),
        t("exchanged: outputs and their\ngradients after every layer"),
        t("exchanged: outputs and their\ngradients where the devices meet"),
    ]
    for i in range(3):
        d.text(140 + 260 * i, 38, titles[i], bold=True)
        d.text(140 + 260 * i, 456, notes[i], SMALL)
    by_data(d)
    within_layers(d)
    by_layers(d)
    d.legend(
        496,
        data=t("data"),
        compute=t("layer"),
        copy=t("communication"),
        arrow_orange=t("copy to a device"),
    )


LAYERS = ("conv1", "conv2", "fc1", "fc2")  # Of `splitting`


def by_layers(d):
    """Draw part (c) of `splitting`."""
    x = 702
    for k, top in enumerate((120, 276)):
        d.lane(550, top, 220, 140)
        d.text(560, top + 20, d.t("device {}", k), anchor="start", bold=True)
    d.box(x, 88, 120, 32, d.t("batch"), kind="data")
    ys = [158, 220, 314, 376]
    for i, (name, y) in enumerate(zip(LAYERS, ys)):
        above = 104 if i == 0 else ys[i - 1] + 18
        d.arrow([(x, above), (x, y - 18)], ORANGE if i in (0, 2) else GRAY)
        d.box(x, y, 120, 36, code=name)


def within_layers(d):
    """Draw part (b) of `splitting`."""
    tall_lanes(d, 280)
    d.box(400, 88, 130, 32, d.t("batch"), kind="data")
    ys = [156, 224, 292, 360]
    for k, x in enumerate((340, 460)):
        d.arrow([(400 - 24 + 48 * k, 104), (x, ys[0] - 18)], ORANGE)
        for name, y in zip(LAYERS, ys):
            if y != ys[-1]:
                d.arrow([(x, y + 18), (x, y + 50)])
                d.arrow([(x + 22 - 44 * k, y + 18), (800 - x - 22 + 44 * k, y + 50)], ORANGE)
            d.box(x, y, 90, 36, code=f"½ {name}")


def by_data(d):
    """Draw part (a) of `splitting`."""
    tall_lanes(d, 20)
    ys = [150, 200, 250, 300]
    for x in (80, 200):
        d.box(x, 88, 96, 32, d.t("half batch"), kind="data", size=SMALL)
        d.arrow([(x, 104), (x, ys[0] - 16)], ORANGE)
        for name, y in zip(LAYERS, ys):
            last = y == ys[-1]
            end = (x, y + 46 if last else y + 34)
            d.arrow([(x, y + 16), end], ORANGE if last else GRAY, both=last)
            d.box(x, y, 90, 32, code=name)
    d.box(140, 362, 210, 32, d.t("sum of gradients"), kind="copy")


def tall_lanes(d, left):
    for k in (0, 1):
        d.lane(left + 4 + 120 * k, 120, 112, 296, d.t("device {}", k), below=True)


@figure(780, 530)
def data_parallel(d):
    """Data parallelism on two devices in five steps.

    1 Split the batch; 2 each device computes the gradient of its half with its own copy of the
    parameters; 3 sum the gradients; 4 broadcast the sum; 5 each device updates its parameters.
    """
    t = d.t
    devices, middle, width, height = (290, 670), 480, 170, 48
    steps = [
        t("split\nthe batch"),
        t("forward and\nbackward"),
        t("sum the\ngradients"),
        t("broadcast\nthe sum"),
        t("update the\nparameters"),
    ]
    ys = [88 + 86 * i for i in range(5)]
    for i, (step, y) in enumerate(zip(steps, ys)):
        d.box(38, y, 28, 28, str(i + 1), kind="mark", bold=True)
        d.text(62, y, step, anchor="start")
    for k, x in enumerate(devices):
        d.lane(x - 98, 24, 196, 450, t("device {}", k))
        inner = 98 - width / 2 if k else width / 2 - 98
        edge = middle + (70 if k else -70)
        side = x - width / 2 if k else x + width / 2
        d.arrow([(edge, ys[0]), (side, ys[0])], ORANGE)
        d.arrow([(x, ys[0] + 24), (x, ys[1] - 24)])
        d.arrow([(x, ys[1] + 24), (x, ys[2]), (edge, ys[2])], ORANGE)
        d.arrow([(middle + inner, ys[2] + 24), (middle + inner, ys[3]), (side, ys[3])], ORANGE)
        d.arrow([(x, ys[3] + 24), (x, ys[4] - 24)])
        part = ("0:50", "50:100")[k]
        d.box(x, ys[0], width, height, t("half batch"), f"X_{k} = X[{part}]", "copy")
        d.box(x, ys[1], width, height, t("gradient"), f"g_{k} = grad(w_{k}, X_{k})")
        d.box(x, ys[3], width, height, t("copy"), f"s_{k} = g", "copy")
        d.box(x, ys[4], width, height, t("update"), f"w_{k} -= lr/100 * s_{k}")
    d.box(middle, ys[0], 140, height, t("batch"), "X", "data")
    d.box(middle, ys[2], 140, height, t("sum"), "g = g_0 + g_1")
    d.legend(504, data=t("data"), compute=t("computation"), copy=t("communication"))


@figure(780, 440)
def pipeline(d):
    """GPipe and 1F1B: two stages with four micro-batches.

    GPipe: stage 0 runs F0 to F3, waits, then runs B0 to B3; stage 1 runs F0 to F3 and B0 to B3
    without a gap. 1F1B: stage 0 runs F0, F1, waits, then B0, F2, B1, F3, B2, waits, B3; stage 1
    runs F0, B0, F1, B1 and so on without a gap. A backward pass takes twice as long as a forward
    pass. In either order each stage idles for 3 of 15 units of time.
    """
    t = d.t
    unit, left, high = 38, 150, 40
    all_first = ["F0", "F1", "F2", "F3", "B0", "B1", "B2", "B3"]
    one_by_one = [
        ["F0", "F1", "B0", "F2", "B1", "F3", "B2", "B3"],
        ["F0", "B0", "F1", "B1", "F2", "B2", "F3", "B3"],
    ]
    d.text(390, 24, t("p = 2 stages, m = 4 micro-batches; bubble: (p − 1)/(m + p − 1) = 1/5"))
    orders = {
        t("GPipe: all forward, then all backward"): [all_first] * 2,
        t("1F1B: one forward, one backward"): one_by_one,
    }
    for panel, (title, of_stages) in enumerate(orders.items()):
        top = 62 + 158 * panel
        ys = [top + 34, top + 92]
        d.text(left, top, title, anchor="start", bold=True)
        places = in_two_stages(of_stages)
        for stage, (y, lane) in enumerate(zip(ys, places)):
            d.text(36, y, t("stage {0}\non device {0}", stage), anchor="start", size=SMALL)
            busy = [(0, 0), *sorted(lane.values()), (15, 15)]
            for (_, end), (begin, _) in zip(busy, busy[1:]):
                if begin > end:
                    x = left + (end + begin) / 2 * unit
                    d.box(x, y, (begin - end) * unit - 3, high, kind="wait")
            for name, (begin, end) in lane.items():
                kind = "compute" if name[0] == "F" else "backward"
                x = left + (begin + end) / 2 * unit
                d.box(x, y, (end - begin) * unit - 3, high, code=name, kind=kind)
        for name in places[0]:
            sender = 0 if name[0] == "F" else 1
            start, end = places[sender][name][1], places[1 - sender][name][0]
            begin, stop = (ys[0] + high / 2, ys[1] - high / 2)[:: 1 if sender == 0 else -1]
            shift = 6 if sender == 0 else -6
            x, other = left + start * unit - 8, left + end * unit + 8
            d.arrow([(x + shift / 2, begin), (max(other, x) + shift / 2, stop)], ORANGE)
    d.arrow([(left, 366), (left + 15 * unit, 366)])
    d.text(left + 15 * unit + 8, 366, t("time"), SMALL, anchor="start")
    d.legend(
        396, compute=t("F: forward"), backward=t("B: backward"), wait=t("bubble: the device idles")
    )
    d.legend(420, arrow_orange=t("copy: outputs forward, gradients backward"))


def in_two_stages(orders):
    """Return for each of two stages the begin and the end of its tasks, by name."""
    places: list[dict[str, tuple[int, int]]] = [{}, {}]
    waiting = [list(order) for order in orders]
    while any(waiting):
        for stage, order in enumerate(waiting):
            sender = 0 if order and order[0][0] == "F" else 1
            if order and (sender == stage or order[0] in places[sender]):
                name = order.pop(0)
                ready = 0 if sender == stage else places[sender][name][1]
                begin = max([ready, *(end for _, end in places[stage].values())])
                places[stage][name] = begin, begin + (1 if name[0] == "F" else 2)
    return places


@figure(780, 384)
def ring_attention(d):
    """Ring attention on four devices.

    Each device keeps its queries, Q0 to Q3. In three hops the keys and values, KV0 to KV3, travel
    from each device to the next, so that all queries meet all keys. What a device has seen grows
    by one piece in each column.
    """
    t = d.t
    n, top, high, wide = 4, 86, 62, 176
    titles = [t("start"), *[t("hop {}", hop) for hop in range(1, n)]]
    for step, title in enumerate(titles):
        x = 128 + wide * step
        d.text(x, 36, title, bold=True)
        for device in range(n):
            y = top + high * device
            piece = (device - step) % n
            d.box(x - 28, y, 48, 34, code=f"Q{device}", kind="device_0")
            d.box(x + 30, y, 56, 34, code=f"KV{piece}", kind="copy")
            if step == 0:
                d.text(8, y, t("device\n{}", device), SMALL, anchor="start")
            if step < n - 1:
                goal = x + wide + 30
                if device < n - 1:
                    d.arrow([(x + 58, y + 6), (goal - 8, y + high - 17)], ORANGE)
                else:
                    d.arrow([(x + 58, y - 6), (goal - 8, top + 17)], ORANGE, dash="5 4")
    d.text(390, 318, t("a device merges each piece of keys and values into its softmax"), SMALL)
    d.legend(
        350,
        device_0=t("queries stay"),
        copy=t("keys and values travel"),
        arrow_orange=t("to the next device"),
        arrow_orange_dashed=t("from the last to the first"),
    )


@figure(780, 372)
def experts(d):
    """All-to-all of experts on two devices.

    Each device has four tokens and one expert. The router has written the number of an expert on
    each token. Tokens whose expert is on the other device cross, are computed there, and return.
    """
    t = d.t
    chosen = [[0, 1, 1, 0], [0, 0, 1, 0]]
    for device in range(2):
        left = 20 + 384 * device
        d.lane(left, 20, 356, 284, t("device {}", device))
        d.box(left + 178, 178, 250, 44, t("expert {}", device))
    for device, experts_of in enumerate(chosen):
        for place, expert in enumerate(experts_of):
            x = 20 + 384 * device + 67 + 74 * place
            goal = 20 + 384 * expert + 178 + 27 * (place - 1.5) + 54 * (device - 0.5)
            crosses = expert != device
            color = ORANGE if crosses else GRAY
            for y in (82, 274):
                d.box(x, y, 40, 28, str(expert), kind="copy" if crosses else "data")
            d.arrow([(x, 96), (goal, 156)], color)
            d.arrow([(goal, 200), (x, 260)], color)
    d.text(390, 324, t("tokens, each with the number of its expert"), SMALL)
    d.legend(
        350,
        data=t("its expert is here"),
        copy=t("its expert is on the other device"),
        arrow_orange=t("crosses, and returns"),
    )


@figure(780, 350)
def tensor_parallel(d):
    """A dense layer Y = X W, split over two devices.

    (a) W is split by columns: each device multiplies all of X by its half of W and has half of
    the columns of Y, which an all-gather joins. (b) W is split by rows and X by columns: each
    device has a partial sum P_k = X_k W_k of all of Y, which an all-reduce adds up.
    """
    t = d.t

    def matrix(x, y, w, h, code, kind):
        """Draw a matrix with its left edge at x, centered on y."""
        d.box(x + w / 2, y, w, h, code=code, kind=kind)

    def halves(x, y, w, h, name):
        for k in (0, 1):
            matrix(x + k * w / 2, y, w / 2, h, f"{name}_{k}", f"device_{k}")

    def frame(y, title, start, result, code):
        d.text(24, y - 64, title, anchor="start", bold=True)
        for x, sign in ((141, "·"), (317, "=")):
            d.text(x, y, sign, 18)
        d.arrow([(start, y), (610, y)], ORANGE)
        d.box(688, y, 152, 50, result, code, "copy")

    y = 96
    title = t("(a) by columns: each device computes half of the outputs")
    frame(y, title, 484, t("all-gather"), "Y = [Y_0, Y_1]")
    matrix(24, y, 100, 80, "X", "both")
    halves(158, y, 140, 80, "W")
    for k in (0, 1):
        matrix(336 + 70 * k, y, 70, 80, f"Y_{k} =\nX W_{k}", f"device_{k}")
    y = 242
    title = t("(b) by rows: each device computes a partial sum of all outputs")
    frame(y, title, 584, t("all-reduce"), "Y = P_0 + P_1")
    halves(24, y, 100, 80, "X")
    for k in (0, 1):
        matrix(158, y - 20 + 40 * k, 140, 40, f"W_{k}", f"device_{k}")
        matrix(336 + 136 * k, y, 104, 80, f"P_{k} =\nX_{k} W_{k}", f"device_{k}")
    d.text(456, y, "+", 18)
    d.legend(
        322,
        device_0=t("on device {}", 0),
        device_1=t("on device {}", 1),
        both=t("on both devices"),
        copy=t("communication"),
    )


@figure(800, 392)
def ps(d):
    """Three ways to aggregate the gradients of four devices.

    (a) The CPU sums the gradients of all devices. (b) Device 0 sums them. (c) Each device sums
    a quarter of the gradients, so that all links are busy at once.
    """
    t = d.t
    titles = [t("(a) on the CPU"), t("(b) on one device"), t("(c) spread over all devices")]
    notes = [
        t("the busiest link carries\n4 gradients in, 4 sums out"),
        t("the busiest link carries\n3 gradients in, 3 sums out"),
        t("every link carries 3 quarters of a\ngradient, then 3 quarters of a sum"),
    ]
    corners = [(-1, -1), (1, -1), (-1, 1), (1, 1)]
    for i, (title, note) in enumerate(zip(titles, notes)):
        cx, cy = 140 + 260 * i, 166
        d.text(cx, 30, title, bold=True)
        d.text(cx, 312, note, SMALL)
        if i == 0:
            for a, b in corners:
                d.arrow([(cx + a * 62, cy + b * 64), (cx + a * 32, cy + b * 24)], ORANGE, both=True)
            d.box(cx, cy, 100, 48, "CPU", "Σ g")
        else:
            for j in range(1, 4):
                for k in range(j if i == 2 else 1):
                    link(d, cx, cy, corners[k], corners[j])
        for k, (a, b) in enumerate(corners):
            code = ["g", "Σ g" if k == 0 else "g", f"Σ g[{k}]"][i]
            kind = "compute" if "Σ" in code else "data"
            d.box(cx + a * 70, cy + b * 88, 88, 48, t("device {}", k), code, kind)
    d.legend(
        364,
        data=t("gradients g"),
        compute=t("sums here"),
        arrow_orange_both=t("gradients in, sums out"),
    )


def link(d, cx, cy, start, end):
    """Join two boxes at corners of the square around (cx, cy) of `ps`."""
    (a, b), (u, v) = start, end
    if b == v:
        points = [(cx + a * 26, cy + b * 88), (cx + u * 26, cy + v * 88)]
    elif a == u:
        points = [(cx + a * 70, cy + b * 64), (cx + u * 70, cy + v * 64)]
    else:
        points = [(cx + a * 46, cy + b * 64), (cx + u * 46, cy + v * 64)]
    d.arrow(points, ORANGE, both=True)


@figure(780, 436)
def ps_multimachine(d):
    """Workers and parameter servers.

    Three workers with two devices each, and two servers. Each worker sums the gradients of its
    devices, pushes the sums to the servers and pulls new parameters. Server 0 owns the even
    keys, server 1 the odd keys.
    """
    t = d.t
    servers, workers = (250, 530), (140, 390, 640)
    for i, x in enumerate(workers):
        d.lane(x - 104, 230, 208, 160, t("worker {}", i), below=True)
        for k in (0, 1):
            d.arrow([(x - 49 + 98 * k, 318), (x - 30 + 60 * k, 284)], ORANGE, both=True)
            d.box(x - 49 + 98 * k, 336, 84, 36, t("device {}", k), kind="data", size=SMALL)
        d.box(x, 266, 150, 36, t("local sum"))
        for j, u in enumerate(servers):
            for side, dash in ((-1, None), (1, "5 4")):
                ends = [(x + 60 * (j * 2 - 1) + side * 9, 248), (u + 62 * (i - 1) + side * 9, 92)]
                d.arrow(ends[::-1] if dash else ends, ORANGE, dash)
    for j, x in enumerate(servers):
        label = t("server {}: sums and updates\nkeys {}, {}, {}, …", j, j, j + 2, j + 4)
        d.box(x, 58, 220, 68, label)
    d.legend(412, arrow_orange=t("push gradients"), arrow_orange_dashed=t("pull parameters"))


@figure(778, 452)
def ringsync(d):
    """Ring all-reduce on four devices with four chunks.

    Columns are devices, rows are chunks of the gradient. In each step every device sends one
    chunk to the next device. After three steps of reduce-scatter each device has the sum of one
    chunk; after three steps of all-gather every device has all sums.
    """
    t = d.t
    n, cell, gap, high = 4, 29, 14, 28
    state = [[{k} for _ in range(n)] for k in range(n)]  # state[k][c]: whose gradients are summed

    def grid(x, y, title, received):
        d.lane(x - 18, y - 58, 182, 184)
        d.text(x + 79, y - 42, title, SMALL, bold=True)
        for k in range(n):
            left = x + k * (cell + gap) + cell / 2
            d.text(left, y - 22, str(k), SMALL, color=GRAY[0])
            for c in range(n):
                parts = state[k][c]
                done = len(parts) == n
                text = "Σ" if done else "".join(map(str, sorted(parts)))
                kind = "done" if done else "partial" if len(parts) > 1 else "plain"
                d.box(left, y + c * 32 + 6, cell, high, text, kind=kind, size=SMALL, bold=done)
                if (k, c) in received:
                    end = left - cell / 2 + 1
                    d.arrow([(end - gap - 1, y + c * 32 + 6), (end, y + c * 32 + 6)], ORANGE)

    xs = [34 + 188 * i for i in range(4)]
    grid(xs[0], 78, t("start"), set())
    for phase, y in enumerate((78, 276)):
        for step in range(1, n):
            received = {(k, (k - step + phase) % n) for k in range(n)}
            for k, c in received:  # Nobody sends the chunk that it is receiving.
                state[k][c] = state[k][c] | state[k - 1][c]
            title = t("all-gather {}", step) if phase else t("reduce-scatter {}", step)
            grid(xs[step], y, title, received)

    x, y = xs[0] + 79, 304
    d.text(x, 234, t("the ring of devices"), SMALL, bold=True)
    d.text(x, 384, t("columns: devices\nrows: chunks"), SMALL)
    spots = [(x - 42, y - 42), (x + 42, y - 42), (x + 42, y + 42), (x - 42, y + 42)]
    for k, (u, v) in enumerate(spots):
        end = spots[(k + 1) % n]
        d.arrow([toward((u, v), end, 18), toward(end, (u, v), 18)], ORANGE)
        d.box(u, v, 34, 34, str(k), kind="plain")
    d.legend(
        426,
        plain=t("0: gradient of device 0"),
        partial=t("01: sum of 0 and 1"),
        done=t("Σ: finished sum"),
        arrow_orange=t("received in this step"),
    )


@figure(780, 580)
def bw_hierarchy(d):
    """Bandwidths inside a machine and between machines.

    In each direction: a network of 10 Gbit/s carries 1.25 GB/s, one of 400 Gbit/s 50 GB/s; PCIe 3.0
    x16 15.75 GB/s, PCIe 5.0 x16 63 GB/s; the six NVLinks of a V100 150 GB/s, the 18 of an H100 450
    GB/s.
    """
    t = d.t
    d.lane(210, 24, 546, 250, t("one machine"))
    d.arrow([(140, 158), (256, 158)], ORANGE, both=True)
    d.text(172, 136, t("network"), SMALL)
    d.box(80, 158, 120, 54, t("other\nmachines"))
    for i in range(4):
        y = 80 + 52 * i
        d.arrow([(356, 158 + (y - 158) / 5), (566, y)], ORANGE, both=True)
        d.line([(666, y), (694, y)], GREEN, width=4)
        d.box(616, y, 100, 36, t("GPU {}", i))
    d.line([(694, 78), (694, 238)], GREEN, width=4)
    d.text(724, 158, "NVLink", SMALL)
    d.box(306, 158, 100, 60, "CPU")
    d.text(412, 74, "PCIe ×16", SMALL)

    d.text(24, 306, t("W in each direction, to scale"), anchor="start", bold=True)
    bars = [
        (t("network, 10 Gbit/s"), 1.25, "copy"),
        (t("network, 400 Gbit/s"), 50, "copy"),
        ("PCIe 3.0 ×16", 15.75, "copy"),
        ("PCIe 5.0 ×16", 63, "copy"),
        (t("NVLink 2, 6 links of a V100"), 150, "backward"),
        (t("NVLink 4, 18 links of an H100"), 450, "backward"),
    ]
    for i, (name, size, kind) in enumerate(bars):
        y = 342 + 38 * i
        d.text(236, y, name, SMALL, anchor="end")
        (line, fill), _, _ = KINDS[kind]
        d.rect(248, y - 12, size, 24, (line, fill), 0)
        d.text(256 + size, y, f"{size:g} GB/s", SMALL, anchor="start")


@figure(780, 432)
def bottleneck(d):
    """Which lane is full? From the timeline of one step to the term of the law.

    If the input's lane is full, loading is the bottleneck; if Python's, t_q; if a link's, t_x; if
    one device of several, a straggler; if the device, t_c, and the next question is whether it
    works near P or near W. If no lane is full, the parts take turns, and the question is who waits
    for whom.
    """
    t = d.t
    d.box(110, 216, 172, 72, t("Record one step.\nWhich lane is full?"), kind="notice")
    rows = [
        (t("input"), "overhead", "", t("decode once, or ahead")),
        ("Python", "overhead", "t_q", t("pay it less often")),
        (t("link"), "copy", "t_x", t("few large messages; hide them")),
        (t("one device of several"), "compute", "t_c", t("share out by speed")),
        (
            t("every device"),
            "compute",
            "t_c",
            t("near P: fewer FLOP, or faster\nnear W: fewer bytes"),
        ),
        (t("none: times add"), "wait", "", t("who waits for whom?")),
    ]
    for i, (lane, kind, term, cure) in enumerate(rows):
        y = 46 + 68 * i
        d.arrow([(196, 216 + (y - 216) / 6), (258, y)])
        d.box(354, y, 192, 44, lane, kind=kind)
        if term:
            d.symbol(474, y, term)
        d.arrow([(494 if term else 450, y), (530, y)])
        d.box(645, y, 230, 44, cure, kind="plain")


@figure(780, 430)
def gpu_core(d):
    """What is in a GPU, and what is in a CPU.

    A GPU, here an H100, has 132 streaming multiprocessors. Each has places for warps of 32 threads,
    arithmetic units and tensor cores, 256 KB of registers, and 256 KB of shared memory and L1
    cache, which holds tiles. Taken places are the occupancy. Memory delivers whole pieces, which
    coalesced reads use completely. All SMs share the L2 cache of 50 MB, and behind it the memory,
    HBM, of 80 GB and 3.35 TB/s. A CPU has a few cores. Each has one or two threads, vector units,
    registers, and caches L1 and L2 of its own. All share the L3 cache and the memory, DRAM.
    """
    t = d.t
    frame = (GRAY[0], PAPER)
    d.lane(20, 20, 460, 390, "GPU")
    d.rect(36, 54, 262, 218, frame)
    d.text(167, 72, t("streaming multiprocessor (SM)"), SMALL)
    parts = [
        (t("warps of 32 threads: occupancy"), "plain"),
        (t("arithmetic units, tensor cores"), "compute"),
        (t("registers, 256 KB"), "data"),
        (t("shared memory, 256 KB: tiles"), "data"),
    ]
    for i, (name, kind) in enumerate(parts):
        d.box(167, 106 + 46 * i, 238, 36, name, kind=kind, size=SMALL)
    for x, name in (312, "SM"), (392, t("… 132 SMs")):
        d.rect(x, 54, 72, 218, frame)
        d.text(x + 36, 163, name, SMALL)
    d.arrow([(167, 272), (167, 296)], both=True)
    d.text(180, 284, t("whole pieces: coalescing"), SMALL, anchor="start")
    d.box(250, 316, 428, 40, t("L2 cache, 50 MB, of all SMs"), kind="data", size=SMALL)
    d.arrow([(250, 336), (250, 360)], both=True)
    d.box(250, 380, 428, 40, t("HBM, 80 GB, 3.35 TB/s"), kind="data", size=SMALL)

    d.lane(500, 20, 260, 390, "CPU")
    d.rect(516, 54, 152, 218, frame)
    d.text(592, 72, t("core"), SMALL)
    parts = [
        (t("one or two threads"), "plain"),
        (t("vector units"), "compute"),
        (t("registers"), "data"),
        (t("L1 and L2 caches"), "data"),
    ]
    for i, (name, kind) in enumerate(parts):
        d.box(592, 106 + 46 * i, 136, 36, name, kind=kind, size=SMALL)
    d.rect(680, 54, 64, 218, frame)
    d.text(712, 163, t("… cores"), SMALL)
    d.arrow([(592, 272), (592, 296)], both=True)
    d.box(630, 316, 228, 40, t("L3 cache, of all cores"), kind="data", size=SMALL)
    d.arrow([(630, 336), (630, 360)], both=True)
    d.box(630, 380, 228, 40, t("DRAM, in DDR modules"), kind="data", size=SMALL)


@figure(780, 300)
def programs(d):
    """What each program of a kernel takes: a row, or a tile.

    On the left, programs 0 to 3 each load one row of x, keep it in registers, and store one row of
    y. On the right, a program computes one tile of c, of T by T elements. It reads T rows of a and
    T columns of b, a piece of K at a time, and keeps the sums in registers.
    """
    t = d.t
    d.lane(20, 20, 330, 260, t("a row for each program"))
    for i in range(4):
        y = 84 + 44 * i
        d.box(85, y, 90, 30, f"x[{i}]", kind="data", size=SMALL)
        d.box(185, y, 70, 30, t("program {}", i), size=SMALL)
        d.box(285, y, 90, 30, f"y[{i}]", kind="data", size=SMALL)
        d.arrow([(130, y), (150, y)])
        d.arrow([(220, y), (240, y)])
    d.text(185, 258, t("between load and store: registers"), SMALL)

    d.lane(370, 20, 390, 260, t("a tile for each program"))
    side, T = 88, 22
    (ax, ay), (bx, by), (cx, cy) = (400, 160), (512, 56), (512, 160)
    for x, y in (ax, ay), (bx, by), (cx, cy):
        d.rect(x, y, side, side, (GRAY[0], PAPER), 0)
    d.rect(ax, ay + 2 * T, side, T, GREEN, 0)
    d.rect(bx + T, by, T, side, GREEN, 0)
    d.rect(ax + T, ay + 2 * T, T, T, ORANGE, 0)
    d.rect(bx + T, by + T, T, T, ORANGE, 0)
    d.rect(cx + T, cy + 2 * T, T, T, BLUE, 0)
    for x, y, name in (ax, ay, "a"), (bx, by, "b"), (cx, cy, "c"):
        d.text(x + side - 10, y + 12, name, SMALL, mono=True)
    for y, name, colors in (
        (90, t("T rows of a,\nT columns of b"), GREEN),
        (150, t("a piece, K long:\nshared memory"), ORANGE),
        (210, t("sums of the tile:\nregisters"), BLUE),
    ):
        d.rect(622, y - 7, 14, 14, colors, 0)
        d.text(644, y, name, SMALL, anchor="start")


@figure(780, 386)
def formats(d):
    """The bits of seven formats: sign, exponent and mantissa.

    float32 has 1 sign bit, 8 bits of exponent and 23 of mantissa; TF32 1, 8 and 10; bfloat16 1, 8
    and 7; float16 1, 5 and 10; E5M2 1, 5 and 2; E4M3 1, 4 and 3; E2M1 1, 2 and 1. Below, the bits
    0, 1001, 011 of E4M3 are read as plus 2 to the power of 9 - 7, times 1 + 3/8, which is 5.5.
    """
    t = d.t
    rows = [
        ("float32", 8, 23),
        ("TF32", 8, 10),
        ("bfloat16", 8, 7),
        ("float16", 5, 10),
        ("E5M2 (FP8)", 5, 2),
        ("E4M3 (FP8)", 4, 3),
        ("E2M1 (FP4)", 2, 1),
    ]
    size, left = 20, 124

    def bits(y, kinds, digits=""):
        for i, kind in enumerate(kinds):
            x = left + size * i + size / 2
            d.box(x, y, size - 2, 24, code=digits[i : i + 1], kind=kind)

    for i, (name, exponent, mantissa) in enumerate(rows):
        y = 36 + 32 * i
        d.text(left - 12, y, name, SMALL, anchor="end")
        bits(y, ["overhead"] + ["device_0"] * exponent + ["done"] * mantissa)
    d.legend(270, overhead=t("sign"), device_0=t("exponent"), done=t("mantissa"))
    d.line([(24, 294), (756, 294)], width=1)
    d.text(left - 12, 324, t("5.5 in E4M3"), SMALL, anchor="end")
    bits(324, ["overhead"] + ["device_0"] * 4 + ["done"] * 3, "01001011")
    for x, label in ((134, "+"), (184, "9"), (254, "3")):
        d.text(x, 352, label, SMALL)
    d.text(316, 324, "+ 2⁹⁻⁷ × (1 + 3/8) = 4 × 1.375 = 5.5", anchor="start")
    d.text(316, 352, t("the exponent is stored plus 7"), SMALL, anchor="start")


@figure(780, 470)
def gpt(d):
    """A GPT, and one of its blocks.

    On the left the network, from bottom to top: the ids of a row of tokens become vectors, to which
    vectors of their places are added; L equal blocks change them; after a normalization the matrix
    of the tokens' vectors turns them into scores of the next token. On the right a block: what
    comes in is normalized, goes through attention, and is added to what came in; the sum is
    normalized, goes through a perceptron whose hidden layer is four times as wide, and is added to
    the sum. Only attention looks at other tokens.
    """
    t = d.t
    d.lane(20, 20, 290, 430, t("network"))
    x, high = 165, 40
    steps = [
        (420, t("ids of the tokens"), "data"),
        (345, t("vector of the token\n+ vector of its place"), "compute"),
        (245, t("{} blocks", "L"), "compute"),
        (167, t("normalization"), "compute"),
        (114, t("product with the tokens' vectors"), "compute"),
        (66, t("scores of the next token"), "data"),
    ]
    heights = [high, 56, 76, 30, 30, 30]
    for (y, name, kind), h in zip(steps, heights):
        d.box(x, y, 230, h, name, kind=kind, size=SMALL)
    for (y, *_), h, (above, *_), g in zip(steps, heights, steps[1:], heights[1:]):
        d.arrow([(x, y - h / 2), (x, above + g / 2)])

    d.line([(280, 207), (350, 24)], dash="2 4", width=1.5)
    d.line([(280, 283), (350, 446)], dash="2 4", width=1.5)
    d.lane(350, 20, 410, 430, t("a block"))
    x, left = 535, 380
    parts = [
        (390, t("normalization"), "", "compute"),
        (330, t("attention: looks at the tokens before"), "", "copy"),
        (205, t("normalization"), "", "compute"),
        (150, t("perceptron"), "h → 4h → h", "compute"),
    ]
    for y, name, code, kind in parts:
        d.box(x, y, 250, 44 if code else 34, name, code, kind=kind, size=SMALL)
    for y in (270, 84):
        d.box(x, y, 30, 30, "+", kind="mark")
    ends = [(446, 407), (373, 347), (313, 285), (255, 222), (188, 172), (128, 99), (69, 44)]
    for start, end in ends:
        d.arrow([(x, start), (x, end)])
    for start, end in ((424, 270), (240, 84)):
        d.arrow([(x, start), (left, start), (left, end), (x - 15, end)])
    d.text(702, 270, t("shortcuts: added\nto what came in"), SMALL)
    d.arrow([(646, 270), (553, 270)], dash="2 4")


@figure(780, 330)
def prefill_decode(d):
    """Prefill and decode.

    Prefill: one call of the network reads the four tokens of a prompt and gives token 5. Decode:
    each of the next calls reads one token, which the call before gave, and gives the next one. The
    cache below grows by a row of keys and values for each token that has been read.
    """
    t = d.t
    network, top, high = 150, 92, 208  # Heights of the boxes
    d.lane(20, 20, 236, 290, t("prefill: one call, many tokens"))
    d.lane(276, 20, 484, 290, t("decode: one token a call"))
    calls = [(138, (1, 2, 3, 4)), (356, (5,)), (518, (6,)), (680, (7,))]
    for x, tokens in calls:
        xs = [x + 48 * (i - (len(tokens) - 1) / 2) for i in range(len(tokens))]
        for token, place in zip(tokens, xs):
            d.arrow([(place, top + 14), (place, network - 20)])
            d.box(place, top, 36, 28, str(token), kind="data")
        d.box(x, network, 204 if len(tokens) > 1 else 116, 40, t("network"))
        d.arrow([(x, network + 20), (x, high - 14)])
        d.box(x, high, 36, 28, str(tokens[-1] + 1), kind="data")
        read = tokens[-1]
        for i in range(read):
            d.box(x + 15 * (i - (read - 1) / 2), 256, 12, 26, kind="overhead")
        d.text(x, 288, t("keys and values: {}", read), SMALL)
    for (x, _), (after, _) in zip(calls, calls[1:]):
        middle = x + 81 if x > 138 else 266
        d.arrow([(x + 18, high), (middle, high), (middle, top), (after - 18, top)], ORANGE)


@figure(780, 340)
def zero(d):
    """What each of four devices keeps for a parameter, without sharding and in the stages of ZeRO.

    Four panels of four bars, a device each. A bar has the bytes of a weight, of its gradient and of
    Adam's two averages, in float32. Without sharding they are 4, 4 and 8, 16 in all. In ZeRO-1 the
    averages are divided by four, and 10 bytes remain; in ZeRO-2 also the gradients, 7 bytes; in
    ZeRO-3 also the weights, 4 bytes.
    """
    t = d.t
    floor, byte, k = 262, 10, 4  # Where bars stand, and the height of a byte
    kinds = {
        "device_0": (4, t("weights")),
        "done": (4, t("gradients")),
        "device_1": (8, t("averages")),
    }
    panels = [t("no sharding"), "ZeRO-1", "ZeRO-2", "ZeRO-3"]
    sums = ["4 + 4 + 8", "4 + 4 + 8/4", "4 + 4/4 + 8/4", "4/4 + 4/4 + 8/4"]
    for stage, (title, total) in enumerate(zip(panels, sums)):
        left = 20 + 187 * stage
        d.lane(left, 20, 179, 270, title)
        divided = list(kinds)[len(kinds) - stage :]
        heights = {kind: n / k if kind in divided else n for kind, (n, _) in kinds.items()}
        d.text(left + 90, 62, f"{total} = {sum(heights.values()):g}", SMALL)
        for device in range(k):
            x, y = left + 31 + 39 * device, floor
            for kind, n in heights.items():
                height = round(n * byte)
                d.box(x, y - height / 2, 28, height, kind=kind)
                y -= height
            d.text(x, floor + 13, str(device), SMALL)
    d.legend(314, **{kind: label for kind, (_, label) in kinds.items()})


@figure(780, 390)
def cuts(d):
    """Sixteen devices as 2 × 4 × 2: two copies, each layer in four parts, two stages.

    Four machines of four devices. The machines of a row have one copy of the network: the left one
    the first half of its blocks, the right one the second half. Inside a machine, each device has a
    quarter of every layer, and all exchange inside each block. Rows cross from stage to stage,
    both ways. Between the copies, devices with the same weights exchange gradients once a step.
    """
    t = d.t
    lefts, tops, width, height = (130, 470), (66, 216), 290, 112
    halves = (t("first half of the blocks"), t("second half of the blocks"))
    for stage, left in enumerate(lefts):
        d.text(left + width / 2, 34, t("stage {}", stage), bold=True)
        d.text(left + width / 2, 52, halves[stage], SMALL)
        for copy, top in enumerate(tops):
            d.lane(left, top, width, height, t("machine {}", 2 * stage + copy), below=copy == 1)
    for copy, top in enumerate(tops):
        d.text(70, top + height / 2 - 9, t("copy {}", copy), bold=True)
        d.text(70, top + height / 2 + 9, t("half the sequences"), SMALL)
        d.arrow([(420, top + height / 2), (470, top + height / 2)], both=True)
    ys = (tops[0] + 68, tops[1] + 44)
    for stage, left in enumerate(lefts):
        for i in range(4):
            x = left + 40 + 70 * i
            d.arrow([(x, ys[0] + 22), (x, ys[1] - 22)], dash="5 4", both=True)
            for copy, y in enumerate(ys):
                if i:
                    d.arrow([(x - 48, y), (x - 22, y)], ORANGE, both=True)
                d.box(x, y, 44, 44, str(8 * stage + 4 * copy + i))
    d.legend(
        364,
        compute=t("device: a quarter of each layer"),
        arrow_orange_both=t("exchange inside blocks"),
        arrow_both=t("rows"),
        arrow_dashed_both=t("gradients"),
    )
