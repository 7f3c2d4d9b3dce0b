"""What is planted before cells of auto-parallelism."""

from negation import Negation

# How long two devices' products and copies take, and both together.
TOGETHER = (
    "import types\n"
    "a, streams, beside, num_ops = None, [], None, 1\n"
    "times = [types.SimpleNamespace(minimum=t) for t in (1.0, 0.4, 1.4, {second})]\n"
    "d2l.compare = lambda jobs, **_: dict(zip(jobs, times))\n"
    "d2l.together = lambda *_, **__: ({{'t_c 1': 1.0, 't_c 2': 1.0}}, {both})"
)
NEGATIONS = (
    Negation(
        "mxnet",
        "two-devices-guess_1",
        "run = x1 = x2 = None\nd2l.together = lambda jobs, **_: (dict.fromkeys(jobs, 1.0), 0.5)",
        "both together are done before the longer alone: nobody has waited",
    ),
    Negation(
        "mxnet",
        "two-devices-look_1",
        "lane1, lane2, x1, x2, run = 'cpu/0', 'cpu/1', 0, 0, lambda x: None\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cpu_1=[('dot', 1, 2)])",
        "two devices take turns",
    ),
    Negation(
        "mxnet",
        "unequal-guess_1",
        "on_gpu, run = False, lambda *_: None\n"
        "square = lambda n, device: None\n"
        "d2l.together = lambda jobs, **_: ({'large': 3.0, 'small': 1.0}, 4.0)\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 3)], cpu_1=[('dot', 3, 4)])",
        "two unequal devices take turns",
    ),
    Negation(
        "mxnet",
        "look-guess_1",
        "lane1, lane2, x1, x2 = 'cpu/0', 'cpu/1', 0, 0\n"
        "run = lambda x: [nd.ones(1)]\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cpu_1=[('dot', 0, 1)])",
        "with a look in between, too, the devices work at once",
    ),
    Negation(
        "mxnet",
        "look-guess_1",
        "lane1, lane2, x1, x2 = 'cpu/0', 'cpu/1', 0, 0\n"
        "run = lambda x: [nd.ones(1)]\n"
        "d2l.Timeline = recorded(cpu_0=[('dot', 0, 1)], cpu_1=[('dot', 1, 2)])",
        "with a look at the end, too, the devices take turns",
    ),
    Negation(
        "mxnet",
        "ring_1",
        "spans = [('dot', i, i + 1) for i in range(20)]\n"
        "d2l.in_new_process = lambda *_, **__: {'cpu/0': spans, 'cpu/1': spans}",
        "the second device waits for nothing of the first's",
    ),
    Negation(
        "mxnet",
        "communication-guess_1",
        "on_gpu, gram, sender = False, lambda: None, mx.cpu(1)\n"
        "ys, copies = [[nd.ones(1) for _ in range(20)] for _ in range(2)]\n"
        "d2l.Timeline = recorded(cpu_1=[('dot', 0, 1e-9)])",
        "the Python thread, too, copies after all products",
    ),
    Negation(
        "mxnet",
        "communication-guess_1",
        "on_gpu, gram, sender = False, lambda: None, mx.cpu(1)\n"
        "ys, copies = [[nd.ones(1) for _ in range(20)] for _ in range(2)]\n"
        "d2l.Timeline = recorded(cpu_1=[('dot', 0, 1e9)])",
        "the worker, too, copies beside its products",
    ),
    Negation(
        "mxnet",
        "mlp-right_1",
        "lr, cpu, X, Y = 1.0, mx.cpu(2), 0, 0\n"
        "weights = [nd.ones((2, 2), ctx=cpu) for _ in range(2)]\n"
        "layer_gradients = lambda *_: (nd.ones((2, 2), ctx=cpu) for _ in range(2))\n"
        "replicas, shards = [[weight - 0.5 for weight in weights]], None\n"
        "train_step = lambda *_: None",
        "two devices change the weights half as much as one",
    ),
    Negation(
        "mxnet",
        "mlp-look_1",
        "lane1, lane2, train_step = 'cpu/0', 'cpu/1', lambda *_: None\n"
        "shards = replicas = weights = lr = None\n"
        "spans = [('dot', 0, 1), ('dot', 1, 2), ('CopyCPU2CPU', 2, 3)]\n"
        "d2l.Timeline = recorded(cpu_0=spans, cpu_1=spans)",
        "the gradient of fc2 leaves after the last product",
    ),
    Negation(
        "mxnet",
        "law_1",
        "gram, ys = None, []\nd2l.together = lambda jobs, **_: ({'t_c': 1.0, 't_x': 0.4}, 0.4)",
        "products and copies together are done before the products alone",
    ),
    Negation(
        "pytorch",
        "two-devices-guess_1",
        "lane1, lane2, x1, x2, run = 'gpu/0', 'gpu/1', 0, 0, lambda x: None\n"
        "d2l.together = lambda jobs, **_: (dict.fromkeys(jobs, 1.0), 2.0)\n"
        "d2l.Timeline = recorded(gpu_0=[('gemm', 0, 1)], gpu_1=[('gemm', 1, 2)])",
        "two GPUs take turns",
    ),
    Negation(
        "pytorch",
        "unequal-pytorch_1",
        "devices, run = ['cpu'], lambda *_: None\n"
        "d2l.has_gpus = lambda n: True\n"
        "d2l.together = lambda jobs, **_: (dict.fromkeys(jobs, 1.0), 1.0)\n"
        "d2l.Timeline = recorded(gpu_0=[('gemm', 0, 1)], cpu_0=[('mm', 0, 1)])",
        "a GPU and the CPU work at once in either order",
    ),
    Negation(
        "pytorch",
        "unequal-pytorch_1",
        "devices, run = ['cpu'], lambda *_: None\n"
        "d2l.has_gpus = lambda n: True\n"
        "d2l.together = lambda jobs, **_: (dict.fromkeys(jobs, 1.0), 2.0)\n"
        "d2l.Timeline = recorded(gpu_0=[('gemm', 0, 1)], cpu_0=[('mm', 1, 2)])",
        "a GPU and the CPU take turns in either order",
    ),
    Negation(
        "pytorch",
        "thread-stream-guess_1",
        "first = [('mm', i, i + 1) for i in range(20)]\n"
        "second = [('mm', i + 20, i + 21) for i in range(20)]\n"
        "d2l.Timeline = recorded(thread_0=first, thread_1=second)",
        "two threads take turns",
    ),
    Negation(
        "pytorch",
        "look-pytorch_1",
        "lane1, lane2, x1, x2 = 'gpu/0', 'gpu/1', 0, 0\n"
        "run, d2l.has_gpus = lambda x: [torch.ones(1)], lambda n: True\n"
        "d2l.Timeline = recorded(gpu_0=[('gemm', 0, 1)], gpu_1=[('gemm', 0, 1)])",
        "with a look in between, too, the GPUs work at once",
    ),
    Negation(
        "pytorch",
        "beside-guess_1",
        "import types\n"
        "on_gpu, num_ops, left, sides, devices = False, 20, torch.ones(1, 1), [None], ['cpu']\n"
        "ys = buffers = [torch.ones(1, 1) for _ in range(20)]\n"
        "send = lambda *_: types.SimpleNamespace(query=lambda: False)",
        "copies arrive after all products",
    ),
    Negation(
        "pytorch",
        "exhibit-pytorch_1",
        "import types\n"
        "n, ys, buffers = 2, [types.SimpleNamespace(to=lambda *_, **__: types.SimpleNamespace(\n"
        "    is_pinned=lambda: True))], []\n"
        "d2l.has_gpus = lambda n: True\n"
        "d2l.compare = lambda ways, **_: dict.fromkeys(ways, types.SimpleNamespace(minimum=1.0))",
        "pinned memory is as fast as touched memory, and that as new memory",
    ),
    Negation(
        "pytorch",
        "mlp-right_1",
        "lr, X, Y, shards = 1.0, 0, 0, None\n"
        "weights, train_step = [torch.ones(2, 2) for _ in range(2)], lambda *_: None\n"
        "layer_gradients = lambda *_: (torch.ones(2, 2) for _ in range(2))\n"
        "replicas = [[weight - 0.5 for weight in weights]]\n"
        "d2l.Timeline = recorded(cpu_0=[])",
        "two devices change the weights half as much as one",
    ),
    Negation(
        "pytorch",
        "mlp-right_2",
        "lane1, lane2 = 'cpu/0', 'cpu/0'\n"
        "lanes = {'cpu/0': [('matmul', 0, 2)], 'cpu/0 copies': [('copy_', 2, 3)]}\n"
        "timeline = d2l.Timeline(lanes)",
        "the gradient of fc2 leaves after the last product",
    ),
    Negation(
        "pytorch",
        "mlp-right_2",
        "lane1, lane2 = 'gpu/0', 'gpu/0'\n"
        "spans = [('gemm', 0, 2), ('gemm', 3, 5)]\n"
        "timeline = d2l.Timeline({'gpu/0': spans, 'gpu/0 copies': [('Memcpy', 2, 3)]})",
        "the copy lies in a gap between two products",
    ),
    Negation(
        "pytorch",
        "law_1",
        TOGETHER.format(second=0.4, both=1.0),
        "products and copies together are done before the products alone",
    ),
    Negation(
        "pytorch",
        "law_1",
        TOGETHER.format(second=1.0, both=0.8),
        "two queues together are done before one of them alone",
    ),
)
