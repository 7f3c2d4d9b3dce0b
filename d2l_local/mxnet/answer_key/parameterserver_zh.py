"""Exercises of parameterserver, made of chapters/text/parameterserver.md by the builder: edit that."""

from d2l_local import mxnet as d2l


def ex_ring_time(answer):
    right = 2 * 7 / 8 * 1e9 / 450e9 * 1e3
    foreseen = {
        right / 2: "只有一半：全归约分前后两半",
        8 * right: "绕环传的是数据块，不是整份梯度",
        right * 8 / 7: "环的每一半有k - 1步，不是k步",
        right / 1e3: "这是秒数",
    }
    d2l.expect(answer, right, foreseen=foreseen)


def ex_short(answer):
    foreseen = {
        128 / 12: "环的每一半有k - 1步，不是k步",
        21: "树上的总和还要原路返回",
        5.25: "环也有前后两半",
        12 / 126: "这是树的用时与环之比",
        630: "这是环的用时，单位微秒",
    }
    d2l.expect(answer, 126 / 12, 0.01, foreseen)


def ex_bus(answer):
    foreseen = {
        175: "这只是全归约两半中的一半",
        400: "一块GPU每一半分k - 1步发送，不是k步",
        200: "一块GPU发送的不止一份梯度：是多少？",
        2800: "这是八块合计的",
    }
    d2l.expect(answer, 350, 0.005, foreseen)


def ex_young(answer):
    right = (2 * 30 * 3 * 3600) ** 0.5 / 60
    foreseen = {
        60 * right: "这是秒数",
        right / 2**0.5: "一次失败损失间隔的一半，不是全部",
        right * 2**0.5: "一次失败损失间隔的一半：2应当在哪里？",
        90: "这是两次失败之间的一半，丢的太多",
        30 / 60: "这是保存一次的用时：一半时间都在保存",
    }
    d2l.expect(answer, right, 0.03, foreseen)


def ex_halving(halving):
    for k in (2, 4, 16):
        plan, heard, steps = halving(k), [{i} for i in range(k)], 2 * (k.bit_length() - 1)
        assert len(plan) == steps, f"{k}个设备用了{len(plan)}步，应为{steps}步"
        for number, step in enumerate(plan):
            before = [set(found) for found in heard]
            right = 2.0 ** -(1 + min(number, steps - 1 - number))
            for source, target, share in step:
                heard[target] |= before[source]
                assert share < 1, "一个设备至多发送一半"
                assert abs(share - right) < 1e-9, f"共{steps}步的第{number + 1}步：份额是{right}，不是{share:.3g}"  # fmt: skip
            busy = max(sum(target == i for _, target, _ in step) for i in range(k))
            assert busy == 1, f"第{number + 1}步：有设备收到{busy}条消息，应为一条"
            assert len(step) == k, f"第{number + 1}步有{len(step)}次传输，应当每个设备一次"  # fmt: skip
        assert all(len(found) == k for found in heard), "有梯度没有传到所有设备"
        pairs = [{(source, target) for source, target, _ in step} for step in plan]
        assert pairs == pairs[::-1], "总和要沿原路返回"


def ex_levels(two_levels):
    import random

    for case in range(10):
        n, W_in, W_out = random.uniform(1e8, 1e10), random.uniform(1e11, 1e12), 5e10
        machines, gpus = random.randint(2, 9) if case else 1, random.randint(2, 16)
        inside = 2 * (gpus - 1) / gpus * n / W_in
        outside = 2 * (machines - 1) / machines * n / W_out
        found = two_levels(n, machines, gpus, W_in, W_out)
        whole = abs(found - inside - outside) < 1e-9
        assert not whole or not outside, "每块GPU只把自己的那个数据块发到外面"
        d2l.expect(found, inside + outside / gpus, 1e-6)


def ex_late(largest_lr):
    import math

    assert abs(largest_lr(0) - 2) < 0.015, "没有延迟时是2"
    for delay in (1, 2, 5, 8):
        right, found = 2 * math.sin(math.pi / (4 * delay + 2)), largest_lr(delay)
        assert found < right + 0.015, f"晚{delay}步时，{found:.2f}会发散"
        assert found > right - 0.015, f"晚{delay}步时，比{found:.2f}更大也收敛"


def ex_servers(server_of):
    import collections
    import random

    keys = [f"block{j}.weight" for j in range(4000)]
    alive = random.sample(range(100), 8)
    before = [server_of(key, alive) for key in keys]
    for _ in range(3):  # Three servers are lost, one after the other
        lost, alive = alive[3], alive[:3] + alive[4:]
        after = [server_of(key, random.sample(alive, len(alive))) for key in keys]
        assert set(after) <= set(alive), "有键放到了失效的服务器上"
        counts, then = collections.Counter(before), collections.Counter(after)
        mean = len(keys) / (len(alive) + 1)
        assert min(counts[each] for each in [*alive, lost]) > 0.75 * mean, "有的服务器分到的键太少"  # fmt: skip
        moved = sum(a != b for a, b in zip(before, after))
        assert moved == counts[lost], f"有{moved}个键换了地方，而失效的服务器上只有{counts[lost]}个"  # fmt: skip
        most = max(then[each] - counts[each] for each in alive)
        assert most < 0.5 * counts[lost], "失效服务器的键全给了同一个服务器"
        before = after

    def names(code):
        return {*code.co_names}.union(*(names(c) for c in code.co_consts if hasattr(c, "co_names")))

    assert "hash" not in names(server_of.__code__), "换一个进程，同样的文本，hash就不同"  # fmt: skip
