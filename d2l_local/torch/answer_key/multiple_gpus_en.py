"""Exercises of multiple-gpus, made of chapters/text/multiple-gpus.md by the builder: edit that."""

from d2l_local import torch as d2l
import torch


def ex_enough(answer):
    foreseen = {
        2240: "that is for each device; how many in all?",
        1120: "for 1120 in all, one GPU takes 1.4 ms, and two take 2.8 ms",
        3360: "there the speed-up is 1.5: when is it 2?",
        1680: "that is for each device, and the speed-up there is 1.5",
    }
    d2l.expect(answer, 4480, within=0.001, foreseen=foreseen)


def ex_rebound(answer):
    found = [float(each) for each in answer]
    assert len(found) == 3, "three devices: a list of three numbers"
    assert found != [6, 6, 6], "the last line gives an array another name; does it copy anything?"
    assert found != [1, 2, 3], "`data[0][:] +=` writes into the first array"
    assert found != [6, 0, 0], "adding an array does not change it"
    assert found == [6, 2, 3], f"{found}: follow each line with paper and pencil"


def ex_divisor(answer):
    foreseen = {
        1: "all-reduce adds four means, and each is of the size of the right gradient",
        1 / 4: "the update is too large, not too small",
        64: "each device has divided by 64; by how many rows should it have been?",
        256: "the sum has been divided by 64 already",
        16: "twice four times? Count what is added",
    }
    d2l.expect(answer, 4, within=0.001, foreseen=foreseen)


def ex_threshold(threshold):
    import random

    def speed_up(Q_1, Q_2, c, b):
        return 2 * max(Q_1, c * b) / max(Q_2, c * b)

    assert threshold(1000, 2000, 10) == 150, "Q_1 = 1000, Q_2 = 2000, c = 10: S(150) is 1.5"
    assert threshold(1000, 1000, 10) == 1, "for Q_1 = Q_2 = 1000, c = 10 two devices always pay"
    assert threshold(1000, 2000, 7) == 215, "Q_2 = 2000, c = 7: S(214) is below 1.5; round up"
    for _ in range(200):
        Q_1, c = random.randint(1, 300), random.randint(1, 20)
        Q_2 = Q_1 + random.randint(0, 2 * Q_1)
        right = next(b for b in range(1, 2000) if speed_up(Q_1, Q_2, c, b) >= 1.5)
        found = threshold(Q_1, Q_2, c)
        assert found == right, f"Q_1 = {Q_1}, Q_2 = {Q_2}, c = {c}: from {right} on, not {found}"


def ex_best(best_k):
    import random

    assert best_k(1, 16, 8) == 4, "with 4 devices both terms take 4"
    assert best_k(1, 16, 2) == 2, "there are no more than `most` devices"
    assert best_k(2, 1, 8) == 1, "issuing dominates: a second device only adds to it"
    assert best_k(1, 6, 8) == 2, "2 and 3 devices are equally fast: take fewer"
    assert best_k(1, 8, 8) == 3, "compare the whole numbers beside the root of compute / N_t_q"
    for _ in range(200):
        N_t_q, compute, most = random.randint(1, 5), random.randint(1, 99), random.randint(1, 8)
        right = min(range(1, most + 1), key=lambda k: (max(k * N_t_q, compute / k), k))
        found = best_k(N_t_q, compute, most)
        case = f"N_t_q = {N_t_q}, compute = {compute}, most = {most}"
        assert found == right, f"{case}: {right}, not {found}"


def ex_silent_pytorch(check_replicas):
    def replica(bare=None):
        return [torch.ones(2, requires_grad=i != bare) for i in range(8)]

    def complains(*replicas, devices=3):
        try:
            check_replicas(list(replicas), [torch.device("cpu")] * devices)
        except ValueError:
            return True

    good, second, third = replica(), replica(), replica()
    assert not complains(good, second, third), "it complains of sound replicas"
    assert complains(good, second), "a missing replica passes"
    assert complains(good, second, third, devices=2), "a replica too many passes"
    for i in range(8):
        for other, shared in ((good, good[i]), (second, second[i].detach().requires_grad_())):
            mixed = [*third[:i], shared, *third[i + 1 :]]
            assert complains(good, second, mixed), f"memory of tensor {i} in two replicas passes"
        assert complains(good, replica(bare=i), third), f"parameter {i} without a gradient passes"
