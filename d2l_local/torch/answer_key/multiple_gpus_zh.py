"""Exercises of multiple-gpus, made of chapters/text/multiple-gpus.md by the builder: edit that."""

from d2l_local import torch as d2l
import torch


def ex_enough(answer):
    foreseen = {
        2240: "这是每个设备的张数；总共呢？",
        1120: "总共1120张时，一块GPU用1.4毫秒，两块却要2.8毫秒",
        3360: "那里的加速比是1.5：何时是2？",
        1680: "这是每个设备的张数，而且那里的加速比是1.5",
    }
    d2l.expect(answer, 4480, within=0.001, foreseen=foreseen)


def ex_rebound(answer):
    found = [float(each) for each in answer]
    assert len(found) == 3, "三个设备：要三个数的列表"
    assert found != [6, 6, 6], "最后一行只是换了一个名字；它复制了什么吗？"
    assert found != [1, 2, 3], "`data[0][:] +=`会写进第一个数组"
    assert found != [6, 0, 0], "把数组加到别处，不会改变它自己"
    assert found == [6, 2, 3], f"{found}：用纸笔逐行走一遍"


def ex_divisor(answer):
    foreseen = {
        1: "全归约加了四个平均值，每个都与正确的梯度一样大",
        1 / 4: "更新过大，而不是过小",
        64: "每个设备都已除以64；本来应当除以多少行？",
        256: "总和已经除以64了",
        16: "乘了两次四？数一数加了什么",
    }
    d2l.expect(answer, 4, within=0.001, foreseen=foreseen)


def ex_threshold(threshold):
    import random

    def speed_up(Q_1, Q_2, c, b):
        return 2 * max(Q_1, c * b) / max(Q_2, c * b)

    assert threshold(1000, 2000, 10) == 150, "Q_1 = 1000、Q_2 = 2000、c = 10：b = 150时，S是1.5"
    assert threshold(1000, 1000, 10) == 1, "Q_1 = Q_2 = 1000、c = 10时，两个设备总是划算"
    assert threshold(1000, 2000, 7) == 215, "Q_2 = 2000、c = 7：b = 214时，S还不到1.5，要向上取整"
    for _ in range(200):
        Q_1, c = random.randint(1, 300), random.randint(1, 20)
        Q_2 = Q_1 + random.randint(0, 2 * Q_1)
        right = next(b for b in range(1, 2000) if speed_up(Q_1, Q_2, c, b) >= 1.5)
        found = threshold(Q_1, Q_2, c)
        assert found == right, f"Q_1 = {Q_1}、Q_2 = {Q_2}、c = {c}：从{right}起，不是{found}"


def ex_best(best_k):
    import random

    assert best_k(1, 16, 8) == 4, "4个设备时，两项都是4"
    assert best_k(1, 16, 2) == 2, "设备不超过`most`个"
    assert best_k(2, 1, 8) == 1, "提交占了绝大部分：第二个设备只会增加它"
    assert best_k(1, 6, 8) == 2, "2个与3个一样快：取较少的"
    assert best_k(1, 8, 8) == 3, "要比较compute / N_t_q的平方根两旁的整数"
    for _ in range(200):
        N_t_q, compute, most = random.randint(1, 5), random.randint(1, 99), random.randint(1, 8)
        right = min(range(1, most + 1), key=lambda k: (max(k * N_t_q, compute / k), k))
        found = best_k(N_t_q, compute, most)
        case = f"N_t_q = {N_t_q}, compute = {compute}, most = {most}"
        assert found == right, f"{case}：应为{right}，不是{found}"


def ex_silent_pytorch(check_replicas):
    def replica(bare=None):
        return [torch.ones(2, requires_grad=i != bare) for i in range(8)]

    def complains(*replicas, devices=3):
        try:
            check_replicas(list(replicas), [torch.device("cpu")] * devices)
        except ValueError:
            return True

    good, second, third = replica(), replica(), replica()
    assert not complains(good, second, third), "没有问题的副本也报错"
    assert complains(good, second), "缺少副本却没有报错"
    assert complains(good, second, third, devices=2), "多出副本却没有报错"
    for i in range(8):
        for other, shared in ((good, good[i]), (second, second[i].detach().requires_grad_())):
            mixed = [*third[:i], shared, *third[i + 1 :]]
            assert complains(good, second, mixed), f"两份副本的张量{i}共用内存，却没有报错"
        assert complains(good, replica(bare=i), third), f"参数{i}没有梯度，却没有报错"
