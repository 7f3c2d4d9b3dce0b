"""Exercises of async-computation, made of chapters/text/async-computation.md by the builder: edit that."""

from d2l_local import mxnet as d2l


def ex_language(answer):
    answer = float(answer)
    assert answer != 8, "串行时才是这样：节奏由哪一项用时决定？"
    assert abs(answer) <= 0.01, "比较前后两种情形中最长的用时"


def ex_best_gain(answer):
    foreseen = {
        1.75: "那是40微秒时的加速比，更短的操作加速比更大",
        2: "重叠的是两项，但等待也省下了",
        3: "那是不计算时的加速比；如果计算与提交用时相等呢？",
    }
    d2l.expect(answer, 4, within=0.001, foreseen=foreseen)


def ex_lanes(answer):
    found = [int(k) for k in answer]
    assert len(found) == 3, "要填三个数，每个循环一个"
    assert found[1] != 1, (
        "B中工作线程有空隙，但要看Python的泳道：Python等待过吗？"
    )
    assert found[0] != 4, "那是A中等待的次数；两次等待之间有几个操作？"
    assert found[0] == 3, "在A中，数一数Python的泳道上，从一个空隙到下一个空隙有几个色块"
    assert found[1] == 12, "在B中，Python的泳道上哪里有空隙？"
    assert found[2] == 1, "在C中，Python的泳道上，两个空隙之间有几个色块？"


def ex_held(answer):
    one = 256 * 224 * 224 * 3 * 4 / 1e6
    foreseen = {
        60 * one: "其中一些已经被设备用掉了",
        40 * one: "第一个还没生成，设备就能开始吗？",
        42 * one: "再数一数，到那时用掉了几个",
        41 * one / 4: "是不是把数的个数当成了字节数？",
        one: "那是一个小批量",
        41: "那是小批量的个数；是多少MB？",
    }
    d2l.expect(answer, 41 * one, within=0.001, foreseen=foreseen)


def ex_one_wait(total):
    import random

    class Loss:
        def __init__(self, value):
            self.value = value

        def __add__(self, other):
            return Loss(self.value + getattr(other, "value", other))

        __radd__ = __add__

        def read(self):
            waits.append(self)
            return self.value

    for _ in range(20):
        waits: list[Loss] = []
        values = [random.randint(1, 99) for _ in range(random.randint(2, 7))]
        found = total([Loss(value) for value in values])
        assert not isinstance(found, Loss), "它还在设备上，要把它读出来"
        assert found == sum(values), f"{values}之和是{sum(values)}，不是{found}"
        assert len(waits) == 1, f"它等待了{len(waits)}次"


def ex_loop_time(loop_time):
    import math
    import random

    def simulate(N, k, t_q, t_c, t_w):
        front = back = 0  # When each of them has done all it had to do
        for i in range(1, N + 1):
            front += t_q
            back = max(front, back) + t_c
            if i % k == 0:
                front = back + t_w
        return front

    assert loop_time(6, 1, 2, 3, 1) == 36, "k = 1时每次都等待，没有重叠"
    assert loop_time(6, 6, 2, 3, 1) < 36, "k = 6时，提交和计算会重叠"
    cases = [(6, 6, 2, 3, 1), (6, 6, 3, 2, 1), (6, 6, 12, 11, 1)]
    for _ in range(200):
        k = random.randint(1, 9)
        t_q, t_c, t_w = [random.randint(0, 20) for _ in range(3)]
        cases.append((k * random.randint(1, 5), k, t_q, t_c, t_w))
    for case in cases:
        found, right = loop_time(*case), simulate(*case)
        assert math.isclose(found, right, abs_tol=1e-9), (
            f"N, k, t_q, t_c, t_w = {case}时，你得到{found}，应当是{right}"
        )


def ex_one_late(train_late):
    import random

    for n in (3, 1, 0, 2, 4, 5, 6, 7):
        events, losses = [], [random.random() for _ in range(n)]

        def step(i):
            def read():
                events.append(("read", i))
                return losses[i]

            events.append(("issue", i))
            return read

        found = list(train_late(step, range(n)))
        reads = [i for what, i in events if what == "read"]
        assert [i for what, i in events if what == "issue"] == list(range(n)), (
            "每一步提交一次，按次序"
        )
        assert n == 0 or n - 1 in reads, "最后一个损失一直没有读"
        assert len(reads) == len(set(reads)), "有的损失读了不止一次"
        assert found == losses, f"共有{n}个损失，返回了{len(found)}个，或者次序不对"
        for i in range(n - 1):
            read = events.index(("read", i))
            assert read > events.index(("issue", i + 1)), (
                f"等待第{i + 1}步时，第{i + 2}步还没有提交"
            )
            assert i + 2 >= n or read < events.index(("issue", i + 2)), (
                "有三步同时未读"
            )
