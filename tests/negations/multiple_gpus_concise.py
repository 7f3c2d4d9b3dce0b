"""What is planted before cells of multiple-gpus-concise."""

from negation import Negation

# A cable whose recording is planted; a cable that sets the pace whether it is hidden or not; and
# recordings of it, of which the second begins while the device still computes if begin < 2.
CABLE = "d2l.Cable, d2l.resnet_step = lambda W: None, lambda *_: lambda *_: None\n"
HIDES_NOTHING = "bs, W = [2, 4], 3e8\nT = {'t_c': [1, 2], 'in turns': [2, 3], 'at once': [2, 3]}"
HIDES_FOR_ONE = "bs, W = [2, 4], 3e8\nT = {'t_c': [1, 2], 'in turns': [9, 3], 'at once': [2, 4]}"
TURNS_AND_ONCE = (
    "timelines = [\n"
    "    d2l.Timeline({{'cpu/0': [('dot', 0, 2)], 'cable': [('copy', start, start + 1)]}})\n"
    "    for start in (2, {begin})\n"
    "]\n"
)
# What jobs of several processes hand back.
FIRST_JOB = (
    "shard = train_batch = one_step = normalize = first_job = None\n"
    "def new_linear(seed):\n"
    "    torch.manual_seed(seed)\n"
    "    return nn.Linear(20, 10), torch.ones(5, 20), torch.arange(5)\n"
    "k, d2l.torchrun = 2, lambda *_, **__: [([1.0] * 20, []), ({second}, [])]"
)
OVER_CABLE = (
    TURNS_AND_ONCE + "turns, once = [timeline.lanes for timeline in timelines]\n"
    "over_cable, k, bs, W = None, 2, [16], 3e8\n"
    "d2l.torchrun = lambda *_, **__: [({{}}, turns, once)]\n"
)
RUNS = "shard = train_batch = mlp = train = None\nk, d2l.torchrun = 2, lambda *_, **__: [{runs}]"
# What training ResNet-18 comes to on one device and on two.
TRAINED = (
    "devices, results = [mx.cpu(0), mx.cpu(1)], iter([{accuracies}])\n"
    "train_resnet = lambda *_, **__: next(results)"
)
TRAINED_IN_PROCESSES = (
    "Residual = resnet18 = shard = train_batch = evaluate = train_resnet = None\n"
    "k, results = 2, iter([{accuracies}])\n"
    "d2l.torchrun = lambda *_, **__: [[(1.0, 0.5, next(results))]]"
)
NEGATIONS = (
    Negation(
        "mxnet",
        "replicas-guess_1",
        "X_shards, k, net = [0], 2, lambda X: None\n"
        "class weight:\n"
        "    shape, list_ctx = (), lambda: [0, 1]\n"
        "    data = lambda device: nd.array([device, 2, 3])",
        "each device draws random numbers of its own",
    ),
    Negation(
        "mxnet",
        "check_1",
        "devices, loss = [mx.cpu(0), mx.cpu(1)], gluon.loss.SoftmaxCrossEntropyLoss()\n"
        "def train_batch(net, X, y, trainer, devices):\n"
        "    with autograd.record():\n"
        "        shards = zip(*d2l.split_batch(X, y, devices))\n"
        "        losses = [loss(net(X), y).mean() for X, y in shards]\n"
        "    autograd.backward(losses)\n"
        "    trainer.step(len(devices))",
        "two devices take a mean of means",
    ),
    Negation(
        "mxnet",
        "batch-norm-guess_1",
        "devices, k = [mx.cpu(0), mx.cpu(1)], 2\n"
        "def normalize(layer, devices):\n"
        "    layer.initialize(ctx=devices)\n"
        "    [layer(nd.ones((1, 1, 1, 1), ctx=device)) for device in devices]\n"
        "    return [-1.14, -0.79, 0.61, 1.31]",
        "a shard is normalized with the statistics of all shards",
    ),
    Negation(
        "mxnet",
        "scaling-guess_1",
        "devices, k, b = [mx.cpu(0), mx.cpu(1)], 2, 16\n"
        "d2l.resnet_step = lambda *_: lambda: None\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cpu_1=[('dot', 1, 2)])",
        "two devices take turns",
    ),
    Negation(
        "mxnet",
        "cable-guess_1",
        CABLE + "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cable=[('copy', 1, 2)])",
        "without waits, too, the exchange begins when all is computed",
    ),
    Negation(
        "mxnet",
        "cable-guess_1",
        CABLE + "d2l.Timeline = recorded(cpu_0=[('dot', 0, 2)], cable=[('copy', 1, 2)])",
        "waiting does not keep the exchange from beginning early",
    ),
    Negation(
        "mxnet",
        "cable-lesson_2",
        HIDES_NOTHING,
        "hiding the exchange saves no time",
    ),
    Negation(
        "mxnet",
        "rate-guess_1",
        "train = lambda batch_size, lr: ([0.8] * 10, None)",
        "eight devices with the same rate are as soon there as with eight times the rate",
    ),
    Negation(
        "mxnet",
        "rate-guess_1",
        "train = lambda batch_size, lr: ([0.8 if batch_size == 16 else 0.5] * 10, None)",
        "eight times the rate does not get there either",
    ),
    Negation(
        "mxnet pytorch",
        "rate-lesson_1",
        "accuracies = 4 * [[0.8] * 10]",
        "the same rate ends as high as eight times the rate",
    ),
    Negation(
        "mxnet pytorch",
        "rate-lesson_1",
        "accuracies = [[0.8] * 10, [0.7] * 10, [0.8] * 10, [0.8] * 10]",
        "the rule holds for 32 devices as well",
    ),
    Negation(
        "mxnet",
        "resnet-guess_1",
        TRAINED.format(accuracies="0.6, 0.62"),
        "the network hardly learns",
    ),
    Negation(
        "mxnet",
        "resnet-guess_1",
        TRAINED.format(accuracies="0.8, 0.72"),
        "two devices learn less than one",
    ),
    Negation(
        "pytorch",
        "resnet-guess_1",
        TRAINED_IN_PROCESSES.format(accuracies="0.6, 0.62"),
        "the network hardly learns",
    ),
    Negation(
        "pytorch",
        "resnet-guess_1",
        TRAINED_IN_PROCESSES.format(accuracies="0.8, 0.72"),
        "two devices learn less than one",
    ),
    Negation(
        "mxnet",
        "cable-lesson_2",
        HIDES_FOR_ONE,
        "hiding the exchange takes longer with more images",
    ),
    Negation(
        "mxnet",
        "save_1",
        "def mlp(devices):\n"
        "    net = nn.Dense(1, in_units=1)\n"
        "    net.initialize(ctx=devices)\n"
        "    return net\n"
        "devices, nets, accuracies, test_iter = [mx.cpu()], 3 * [mlp(mx.cpu())], 3 * [[0.8]], []\n"
        "d2l.evaluate_accuracy_gpus = lambda *_: 0.1",
        "what was loaded is another network",
    ),
    Negation(
        "mxnet pytorch",
        "law_1",
        "t_c, t_x, T = [1.0], 1.0, {'in turns': [2.0], 'at once': [2.0]}",
        "nothing of the exchange is hidden",
    ),
    Negation(
        "mxnet pytorch",
        "law_1",
        "t_c, t_x, T = [1.0], 1.0, {'in turns': [1.0], 'at once': [1.0]}",
        "in turns, too, the exchange is hidden",
    ),
    Negation(
        "pytorch",
        "check-guess-pytorch_1",
        FIRST_JOB.format(second="[2.0] * 20"),
        "the replicas differ",
    ),
    Negation(
        "pytorch",
        "check-guess-pytorch_1",
        FIRST_JOB.format(second="[1.0] * 20"),
        "the replicas are equal, but not what one device gets",
    ),
    Negation(
        "pytorch",
        "batch-norm-guess_1",
        "normalized = [('BatchNorm1d', [-1.14, -0.79], 0.1)], [('BatchNorm1d', [0.61, 1.31], 1.2)]",
        "a shard is normalized with the statistics of all shards",
    ),
    Negation(
        "pytorch",
        "scaling-guess-pytorch_1",
        "speeds, k, b, d2l.torchrun = None, 2, 16, lambda *_, **__: 2 * [(1.0, 4.0, {})]",
        "two processes take four times as long as one",
    ),
    Negation(
        "pytorch",
        "scaling-guess-pytorch_1",
        "speeds, k, b, d2l.torchrun = None, 2, 16, lambda *_, **__: 2 * [(1.0, 0.2, {})]",
        "nobody waits for the processes",
    ),
    Negation(
        "pytorch",
        "buckets_1",
        "d2l.has_gpus = lambda n: True\n"
        "kernels = [('gemm', i, i + 1) for i in range(9)]\n"
        "lanes = {'gpu/0': kernels, 'gpu/0 copies': [('nccl', 9, 10), ('nccl', 10, 11)]}",
        "the exchange begins when backpropagation is over",
    ),
    Negation(
        "pytorch",
        "cable-guess_1",
        OVER_CABLE.format(begin=2),
        "with several buckets, too, the exchange begins when all is computed",
    ),
    Negation(
        "pytorch",
        "cable-guess_1",
        OVER_CABLE.format(begin=0) + "turns = once",
        "a single bucket leaves early",
    ),
    Negation(
        "pytorch",
        "cable-lesson_1",
        HIDES_NOTHING,
        "hiding the exchange saves no time",
    ),
    Negation(
        "pytorch",
        "rate-guess_1",
        RUNS.format(runs="[[0.8] * 10] * 4"),
        "eight devices with the same rate are as soon there as with eight times the rate",
    ),
    Negation(
        "pytorch",
        "rate-guess_1",
        RUNS.format(runs="[[0.8] * 10, [0.5] * 10, [0.5] * 10, [0.5] * 10]"),
        "eight times the rate does not get there either",
    ),
    Negation(
        "pytorch",
        "cable-lesson_1",
        HIDES_FOR_ONE,
        "hiding the exchange takes longer with more images",
    ),
    Negation(
        "pytorch",
        "save-pytorch_1",
        "path, accuracies, mlp = '', 3 * [[0.8]], lambda: nn.Linear(1, 1)\n"
        "torch.load = lambda *_, **__: mlp().state_dict()\n"
        "test = torch.ones(9, 1), torch.zeros(9)\n"
        "d2l.load_data_fashion_mnist = lambda *_, **__: ([], [test])\n"
        "d2l.accuracy = lambda y_hat, y: 1",
        "what was loaded is another network",
    ),
)
