"""What is planted before cells of questions."""

from negation import Negation

# Questions: arrays that copy and add at once, and arrays of which -= makes a new one.
AT_ONCE = (
    "from types import SimpleNamespace as Time\n"
    "here, there = d2l.devices(2)\n"
    "d2l.compare = lambda jobs, **_: {job: Time(minimum=t) for job, t in zip(jobs, (1, 2, 2, 2))}\n"
)
NEW_EACH_TIME = (
    "class Array:\n"
    "    grad, requires_grad = None, False\n"
    "    def __init__(self, value=1.0): self.value = value\n"
    "    def __sub__(self, other): return Array(self.value - other)\n"
    "    def attach_grad(self): pass\n"
    "    def asnumpy(self): return np.full(2, self.value)\n"
    "    def tolist(self): return 2 * [self.value]\n"
)
NEGATIONS = (
    Negation(
        "mxnet pytorch",
        "moving-guess_1",
        AT_ONCE,
        "the addition hides behind the copies that it needs",
    ),
    Negation(
        "mxnet",
        "in-place_1",
        NEW_EACH_TIME + "nd.ones = lambda *_, **__: Array()",
        "subtracting in place makes a new array",
    ),
    Negation(
        "mxnet pytorch",
        "data-guess_1",
        "accuracy = lambda n, share: 0.6",
        "random labels do no harm",
    ),
    Negation(
        "mxnet pytorch",
        "data-guess_1",
        "accuracy = lambda n, share: n / (50 if share == 0 else 500)",
        "poor images are worth a tenth each, however poor",
    ),
    Negation(
        "pytorch",
        "in-place_1",
        NEW_EACH_TIME + "torch.ones = lambda *_, **__: Array()",
        "subtracting in place makes a new array",
    ),
)
