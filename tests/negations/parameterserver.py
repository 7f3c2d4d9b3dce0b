"""What is planted before cells of parameterserver."""

from negation import Negation

# Plans, and a model of them, in which all take as long for twice as many devices.
PLANS = (
    "def owner(k): return k\ndef spread(k): return k\ndef ring(k): return k\n"
    "def tree(k): return k\nn, W, Gbit = 1, 1, 1\nt_x = lambda plan, n, W, *_: plan\n"
    "plans = {'owner': owner, 'spread': spread}\n"
)
# Hosts on which an exchange takes what `seconds` says, and plans of which each sends all by itself.
HOSTS = (
    PLANS.replace("{", "{{").replace("}", "}}")
    + "plans = {{'owner': 'owner', 'tree': 'tree', 'ring': 'ring', 'spread': 'spread'}}\n"
    "plans = {{name: lambda k, name=name: name for name in plans}}\n"
    "t_x = lambda plan, n, W: 4.0 if plan == 'owner' else 1.0\nlink = 1.0\n"
    "class Hosts:\n"
    "    def __init__(self, *_, **__): pass\n"
    "    def __enter__(self): return self\n"
    "    def __exit__(self, *_): pass\n"
    "    def seconds(self, plan, n, repeats=3): return {seconds}\n"
    "d2l.has_hosts, d2l.Hosts = lambda: True, Hosts"
)
STORE = (
    "class Store:\n"
    "    def __getattr__(self, name): return lambda *_, **__: None\n"
    "mx.kv.create, pulled = lambda kind: Store(), nd.zeros((2, 3))\n"
    "kv = Store()"
)
JOB = (
    "class Job:\n"
    "    processes = {{'worker': 0}}\n"
    "    def __init__(self, *_, **__): pass\n"
    "    def __enter__(self): return self\n"
    "    def __exit__(self, *_): pass\n"
    "    def running(self): return []\n"
    "    def output(self, *_): return ''\n"
    "    def wait(self): raise d2l.ClusterError('worker', 1, -9, [], '')\n"
    "d2l.Cluster, options, program = Job, [], ''\n"
    "kill_and_watch = lambda job: {seen}"
)
NEGATIONS = (
    Negation("mxnet", "costs-guess_1", PLANS, "both plans take twice as long"),
    Negation(
        "mxnet",
        "ring-guess_1",
        PLANS + "n, W = 1e8, 1e10\ndef tree(k): return 'tree'\n"
        "t_x = lambda plan, n, W, latency, t_q: 8 * latency + (1 + (plan == 'tree')) * n / W",
        "the tree has as many steps and messages as the others",
    ),
    Negation("mxnet", "links_1", PLANS, "an exchange takes as long over any link"),
    Negation(
        "mxnet",
        "allreduce-check_1",
        "split, ring_allreduce = lambda data: data, lambda data: None",
        "nothing is exchanged",
    ),
    Negation(
        "mxnet",
        "allreduce-check_1",
        "split = lambda data: data\n"
        "def ring_allreduce(data):\n"
        "    for x in data[1:]: data[0] += x.as_in_context(data[0].context)\n"
        "    for x in data[1:]: data[0].copyto(x)",
        "one device adds for all",
    ),
    Negation(
        "mxnet",
        "late-guess_1",
        "k, split = 3, lambda data: [[x] for x in data]\n"
        "early_transfers = lambda chunks: (d2l.Timeline({'cpu/0': [('x', 0, 1)]}), 3)",
        "slices wait for a late device no longer than arrays",
    ),
    Negation(
        "mxnet",
        "late-guess_1",
        "k, split, early = 3, lambda data: [[x] for x in data], [3, 0]\n"
        "line = d2l.Timeline({f'cpu/{i}': [('copy', 0, 1)] for i in range(3)})\n"
        "early_transfers = lambda chunks: (line, early.pop())",
        "slices travel at once as well",
    ),
    Negation(
        "mxnet",
        "late-guess_1",
        "k, split, early = 3, lambda data: [[x] for x in data], [8, 0]\n"
        "line = d2l.Timeline({'cpu/0': [('x', 0, 1)]})\n"
        "early_transfers = lambda chunks: (line, early.pop())",
        "of the arrays all arrive that the late device does not send",
    ),
    Negation(
        "mxnet",
        "machines_1",
        "servers, Gbit, t_x = lambda k, s: s, 1, lambda plan, n, W: 1.0",
        "one server is as fast as sixteen",
    ),
    Negation(
        "mxnet pytorch",
        "hosts-guess_1",
        HOSTS.format(seconds="4.0 if n > 8 else 6.0 if plan == 'ring' else 2.0"),
        "an owner takes as long as a ring",
    ),
    Negation(
        "mxnet pytorch",
        "hosts-guess_1",
        HOSTS.format(seconds="t_x(plan, n, 1) if n > 8 else 6.0"),
        "six messages take as long in six steps as in two",
    ),
    Negation(
        "mxnet pytorch",
        "law_1",
        HOSTS.format(seconds="1.0"),
        "one source sends twice in the time of one transfer",
    ),
    Negation(
        "mxnet pytorch",
        "law_1",
        HOSTS.format(seconds="float(len(plan[0]))"),
        "two sources send in turns",
    ),
    Negation("mxnet", "kvstore_1", STORE, "what is pulled is not the sum"),
    Negation("mxnet", "kvstore-updater_1", STORE, "the store has no optimizer"),
    Negation(
        "mxnet",
        "job-answers_1",
        JOB.format(seen="0") + "\nJob.wait, nd.load = lambda self: None, lambda path: {}",
        "the job is a single process",
    ),
    Negation(
        "mxnet",
        "job-answers_2",
        "from types import SimpleNamespace as Net\n"
        "param, distributed = Net(data=lambda: nd.ones(1)), {'w': nd.ones(1) / 2}\n"
        "net = Net(_collect_params_with_prefix=lambda: {'w': param})\n"
        "train_lenet_dist.train = lambda *_: net\n"
        "d2l.load_data_fashion_mnist = lambda *_, **__: ([], [])",
        "the job trains something else than one process",
    ),
    Negation(
        "mxnet",
        "dead-guess_1",
        JOB.format(seen="(9, 9, ['worker 0'])"),
        "worker 0 goes on alone",
    ),
    Negation(
        "mxnet",
        "dead-guess_1",
        JOB.format(seen="(9, 0, ['server 0'])"),
        "worker 0 notices by itself",
    ),
    Negation(
        "mxnet",
        "law-mxnet_1",
        "nd.ones, d2l.law = lambda *_, **__: nd.zeros(1), lambda *_, **__: 1\n"
        "d2l.Timeline = recorded(cpu_0=[('Copy', 0, 1)], cpu_1=[('Copy', 1, 2)])",
        "copies from two devices take turns",
    ),
    Negation(
        "pytorch",
        "allreduce-check-pytorch_1",
        "shift = ring_allreduce = None\n"
        "d2l.torchrun = lambda *_, **__: [[1e-7, 0.0], [1e-7, 1e-7]]",
        "the replicas differ in a bit",
    ),
    Negation(
        "pytorch",
        "late-guess-pytorch_1",
        "shift = ring_allreduce = late_ring = None\n"
        "d2l.torchrun = lambda *_, **__: [[9, []], [0, [1, 2, 3, 4]], [0, [1, 2, 3, 4]]]",
        "nobody waits for the process that is late",
    ),
    Negation(
        "pytorch",
        "late-guess-pytorch_1",
        "shift = ring_allreduce = late_ring = None\n"
        "d2l.torchrun = lambda *_, **__: [[9, []], [0, [10, 11, 12, 13]], [0, [10, 11, 12, 13]]]",
        "nothing at all moves before all are there",
    ),
    Negation(
        "pytorch",
        "late-lesson-pytorch_2",
        "from types import SimpleNamespace as Time\n"
        "class Ring:\n    def __init__(self, vectors): pass\n"
        "torch.zeros, by_nccl, d2l.Ring = lambda *_, **__: 0, None, Ring\n"
        "d2l.has_gpus, d2l.try_all_gpus = lambda n: True, lambda: ['cpu', 'cpu']\n"
        "d2l.measure = lambda fn, number: Time(median=1.0 if isinstance(fn, Ring) else 0.5)\n"
        "d2l.torchrun = lambda *_, **__: [[1.0] * 3, [1.0] * 3]",
        "the GPUs of the ring send in turns",
    ),
    Negation(
        "pytorch",
        "job-answers-pytorch_1",
        "train = lambda *_: [[1.0]] * 4\n"
        "d2l.torchrun = lambda *_, **__: ([[1.0]] * 4, [[2.0]] * 4)",
        "the workers' parameters drift apart",
    ),
    Negation(
        "pytorch",
        "job-answers-pytorch_1",
        "train = lambda *_: [[1.0]] * 4\n"
        "d2l.torchrun = lambda *_, **__: ([[0.5]] * 4, [[0.5]] * 4)",
        "two workers change the parameters half as much as one",
    ),
    Negation(
        "pytorch",
        "dead-guess-pytorch_1",
        "doomed, d2l.torchrun = None, lambda *_, **__: []",
        "the job goes on without the dead worker",
    ),
    Negation(
        "pytorch",
        "dead-guess-pytorch_1",
        "doomed = None\n"
        "def torchrun(*_, **__): raise RuntimeError('doomed failed with exit code 1')\n"
        "d2l.torchrun = torchrun",
        "the job fails without a word of who died",
    ),
    Negation(
        "pytorch",
        "dead-guess-pytorch_1",
        "doomed = None\n"
        "def torchrun(*_, **__): raise TimeoutError('doomed was ended')\n"
        "d2l.torchrun = torchrun",
        "nobody notices before the time limit",
    ),
    Negation(
        "pytorch",
        "law-pytorch_1",
        "d2l.torchrun = lambda *_, **__: [{'t_c': 2.0, 't_x': 1.0, 'step': 2.0}]",
        "the exchange hides behind the computation",
    ),
)
