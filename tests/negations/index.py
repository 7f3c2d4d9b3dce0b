"""What is planted before cells of index."""

from negation import Negation

# Gives both products of the index another time than one second each.
BOTH = (
    "import types\n"
    "d2l.compare = lambda functions, *_: {{\n"
    "    name: types.SimpleNamespace(minimum=t) for name, t in zip(functions, (1, 1, {both}))\n"
    "}}\n"
    "devices = d2l.devices(2)"
)
NEGATIONS = (
    Negation(
        "mxnet pytorch",
        "law-guess_1",
        BOTH.format(both=4),
        "two parts take longer together than in turns",
    ),
    Negation(
        "mxnet pytorch",
        "law-guess_1",
        BOTH.format(both=0.5),
        "two parts take less time together than the longer one alone",
    ),
    Negation(
        "mxnet",
        "law-look_1",
        "x = y = nd.ones((2, 2))\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cpu_1=[('dot', 1, 2)])",
        "two devices take turns",
    ),
    Negation(
        "pytorch",
        "law-look_1",
        "x, y, devices = torch.ones(2, 2), torch.ones(2, 2), [0, 1]\n"
        "launches = [('aten::mm', 0, 1e-4), ('aten::mm', 1e-4, 2e-4)]\n"
        "d2l.Timeline = recorded(cpu_0=launches, gpu_0=[('mm', 0, 1)], gpu_1=[('mm', 1, 2)])",
        "two GPUs take turns",
    ),
    Negation(
        "pytorch",
        "law-look_1",
        "x, y, devices = torch.ones(2, 2), torch.ones(2, 2), ['cpu', 'cpu']\n"
        "d2l.Timeline = recorded(cpu_0=[('mm', 0, 2)], cpu_1=[('mm', 0, 2)])",
        "the one CPU computes both at once",
    ),
)
