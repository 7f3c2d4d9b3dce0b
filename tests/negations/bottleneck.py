"""What is planted before cells of bottleneck."""

from negation import Negation

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
    "from d2l_local.measure.timing import Measurement\n"
    "d2l.compare = lambda jobs, *_: {{{{\n"
    "    name: Measurement((t,) * 41) for name, t in zip(jobs, {seconds})\n"
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
NEGATIONS = (
    *(
        Negation(framework, cell, (FULL + planted).format(**names), why)
        for framework, names in EDITIONS.items()
        for cell, planted, why in PATIENTS
    ),
)
