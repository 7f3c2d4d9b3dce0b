"""What is planted before cells of parallel-strategies."""

from negation import Negation

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
NEGATIONS = (
    Negation(
        "mxnet",
        "data_1",
        DATA.format(counts="[8192, 16384]", difference=0),
        "for twice as many rows data parallelism sends twice as much",
    ),
    Negation(
        "mxnet",
        "data_1",
        DATA.format(counts="[8192, 8192]", difference=0.5),
        "the gradients of data parallelism are half of what they should be",
    ),
    Negation(
        "mxnet",
        "model_1",
        LINKS.format(counts="[3840]", difference=0)
        + "rows, width, weights, right, X, Y = 60, 16, [0] * 4, 0, 0, 0\n"
        "d2l.gradients = lambda *_: None",
        "gradients do not cross the border",
    ),
    Negation(
        "mxnet",
        "tensor_2",
        LINKS.format(counts="[61440]", difference=0)
        + "rows, width, weights, right, X, Y = 60, 16, [0] * 4, 0, 0, 0\n"
        "d2l.gradients = lambda *_: None",
        "each layer takes all-reduces of its own",
    ),
    Negation(
        "mxnet",
        "block-guess_1",
        LINKS.format(counts="[6 * 4 * 2 * 48 * 32]", difference=0)
        + "array, d2l.gradients = lambda *_: 0, lambda *_: None",
        "each weight takes an all-reduce",
    ),
    Negation(
        "mxnet",
        "ring-how_2",
        LINKS.format(counts="[2 * 4 * 2 * 48 * 32]", difference=0.1)
        + "tokens, d, array, d2l.gradients = 48, 32, lambda *_: 0, lambda *_: None",
        "the pieces of the softmax do not make the whole",
    ),
    Negation(
        "mxnet",
        "ring-how_2",
        LINKS.format(counts="[2 * 2 * 4 * 2 * 48 * 32]", difference=0)
        + "tokens, d, array, d2l.gradients = 48, 32, lambda *_: 0, lambda *_: None",
        "the ring sends twice as much as predicted",
    ),
    Negation(
        "mxnet",
        "experts-how_2",
        LINKS.format(counts="[4 * 48 * 32 * 4]", difference=0)
        + "tokens, d, experts, experts_right, Z = 48, 32, [], 0, 0\n"
        "route, d2l.gradients = lambda piece: np.arange(24) % 2, lambda *_: None",
        "all tokens travel, also those whose expert is here",
    ),
    Negation(
        "mxnet",
        "schedule-guess_1",
        STAGES + "fastest = lambda order, m: in_turns(m)",
        "the stages of a pipeline take turns",
    ),
    Negation(
        "mxnet",
        "kept_1",
        STAGES + "recorded = {'GPipe': all_first(4), '1F1B': all_first(4)}",
        "queued as 1F1B, the tasks are executed as GPipe",
    ),
    Negation(
        "mxnet",
        "kept-lesson_1",
        STAGES + "fastest = lambda order, m: late(m, 6 * m / (m - 1))",
        "the bubble is twice as large as the formula says",
    ),
    Negation(
        "mxnet",
        "kept-lesson_1",
        STAGES + "fastest = lambda order, m: late(m, 48 / 7 if m == 8 else 3)",
        "with eight micro-batches the bubble is twice as large as the formula says",
    ),
    Negation(
        "mxnet",
        "kept-lesson_1",
        STAGES + "fastest = lambda order, m: in_turns(m)",
        "more micro-batches do not shrink the bubble",
    ),
    Negation(
        "mxnet",
        "unequal-guess_1",
        LINKS.format(counts="[]", difference=0)
        + "b, units, stages, array, links.join = 256, 16, [0, 0], lambda *_: 0, lambda _: [[0]]\n"
        "d2l.device_times = lambda jobs, **_: dict.fromkeys(jobs, 1.0)",
        "the device that works four times over is as fast as the other",
    ),
    Negation(
        "mxnet",
        "unequal-guess_1",
        LINKS.format(counts="[]", difference=0)
        + "b, units, stages, array, links.join = 256, 16, [0, 0], lambda *_: 0, lambda _: [[0]]\n"
        "turns = [1.0, 4.0, 1.0, 1.4]\n"
        "d2l.device_times = lambda jobs, **_: {job: turns.pop(0) for job in jobs}",
        "shared out by throughput, one device takes 1.4 times as long as the other",
    ),
    Negation(
        "mxnet",
        "law_1",
        STAGES + "runs = {8: in_turns(8)}",
        "nothing of the pipeline is hidden",
    ),
    Negation(
        "pytorch",
        "library-run_1",
        LIBRARIES.format(all_reduces=4, right=True),
        "tensor parallelism takes an all-reduce more",
    ),
    Negation(
        "pytorch",
        "library-run_1",
        LIBRARIES.format(all_reduces=3, right=False),
        "the pipeline computes other gradients",
    ),
)
