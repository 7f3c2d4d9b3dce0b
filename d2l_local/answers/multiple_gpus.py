"""Exercises of multiple-gpus, made of chapters/text/multiple-gpus.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["mxnet", "torch"]
translated = catalog(__file__)


def ex_unequal__mxnet(shares, *, d2l):
    import itertools

    def longest(cut, rates):
        return max(b / rate for b, rate in zip(cut, rates))

    cases = (8, [3, 1]), (7, [1, 1]), (10, [2, 1, 1]), (5, [4, 3]), (3, [1, 1, 10]), (1, [1, 5])
    for n, rates in cases:
        case, found = translated("{0} images, rates {1}", n, rates), list(shares(n, rates))
        assert len(found) == len(rates), translated("{0}: a number for each device", case)
        whole = all(b == int(b) and b >= 0 for b in found)
        assert whole, translated("{0}: {1} are not numbers of images", case, found)
        assert sum(found) == n, translated("{0}: {1} are {2} images", case, found, sum(found))
        cuts = [c for c in itertools.product(range(n + 1), repeat=len(rates)) if sum(c) == n]
        best = min(longest(cut, rates) for cut in cuts)
        took = longest(found, rates)
        assert took < best + 1e-9, translated("{0}: {1} takes {2:.2f} s, and {3:.2f} can be done", case, found, took, best)


def ex_pays_from__mxnet(pays_from, *, d2l):
    calls = []

    def machine(law, fees, c):
        def step(k, b):
            assert k in (1, 2), translated("`step` was asked for {0} devices", k)
            calls.append((k, b))
            return law(fees[k], c * b / k)

        return step

    def nearly(fee, computing):
        return max(fee, computing) + 0.3 * min(fee, computing)

    laws = {translated("in turns"): lambda fee, computing: fee + computing, translated("at once"): max, translated("nearly"): nearly}
    for name, law in laws.items():
        for fees, c in (({1: 2, 2: 5.7}, 0.3), ({1: 1, 2: 1.9}, 0.0013), ({1: 3, 2: 6.5}, 0.9)):
            step = machine(law, fees, c)
            right = next(b for b in range(2, 4097, 2) if step(2, b) < step(1, b))
            calls.clear()
            found = pays_from(step)
            assert len(calls) <= 24, translated("{0} calls of `step`", len(calls))
            assert found == right, translated("{0}, fees {1}, c = {2}: from {3} on, not {4}", name, fees, c, right, found)


def ex_hybrid__mxnet(hybrid_lenet, *, d2l):
    from mxnet import nd

    def plain_lenet(X, W1, b1, W2, b2, W3, b3, W4, b4):
        pool = dict(pool_type="avg", kernel=(2, 2), stride=(2, 2))
        H1 = nd.Convolution(X, W1, b1, kernel=(3, 3), num_filter=20).relu()
        H2 = nd.Convolution(nd.Pooling(H1, **pool), W2, b2, kernel=(5, 5), num_filter=50).relu()
        H3 = (nd.dot(nd.Pooling(H2, **pool).flatten(), W3) + b3).relu()
        return nd.dot(H3, W4) + b4

    def operations(function):
        timeline = d2l.Timeline.of(lambda: function(images, *params))
        return len(timeline.lanes[d2l.lane(device)])

    device = d2l.devices(1)[0]
    shapes = (20, 1, 3, 3), 20, (50, 20, 5, 5), 50, (800, 128), 128, (128, 10), 10
    params = [nd.random.normal(scale=0.1, shape=shape, ctx=device) for shape in shapes]
    images, net = nd.random.uniform(shape=(4, 1, 28, 28), ctx=device), hybrid_lenet()
    scores, right = net(images, *params).asnumpy(), plain_lenet(images, *params).asnumpy()
    assert scores.shape == right.shape, translated("other scores than LeNet's")
    assert abs(scores - right).max() < 1e-4 * abs(right).max(), translated("other scores than LeNet's")
    compiled, plain = operations(net), operations(plain_lenet)
    assert compiled < plain, translated("{0} operations, as before: it is not compiled", compiled)


def ex_rebound(answer, *, d2l):
    found = [float(each) for each in answer]
    assert len(found) == 3, translated("three devices: a list of three numbers")
    assert found != [6, 6, 6], translated("the last line gives an array another name; does it copy anything?")
    assert found != [1, 2, 3], translated("`data[0][:] +=` writes into the first array")
    assert found != [6, 0, 0], translated("adding an array does not change it")
    assert found == [6, 2, 3], translated("{0}: follow each line with paper and pencil", found)


def ex_divisor(answer, *, d2l):
    foreseen = {
        1: translated("all-reduce adds four means, and each is of the size of the right gradient"),
        1 / 4: translated("the update is too large, not too small"),
        64: translated("each device has divided by 64; by how many rows should it have been?"),
        256: translated("the sum has been divided by 64 already"),
        16: translated("twice four times? Count what is added"),
    }
    d2l.expect(answer, 4, within=0.001, foreseen=foreseen)


def ex_silent__mxnet(check_replicas, *, d2l):
    import mxnet as mx
    from mxnet import nd

    def replica(device, bare=None):
        arrays = [nd.ones(2, ctx=device) for _ in range(8)]
        for i, array in enumerate(arrays):
            if i != bare:
                array.attach_grad()
        return arrays

    def complains(*replicas):
        try:
            check_replicas(list(replicas), [mx.cpu(0), mx.cpu(1)])
        except ValueError:
            return True

    good, other = replica(mx.cpu(0)), replica(mx.cpu(1))
    assert not complains(good, other), translated("it complains of sound replicas")
    assert complains(good), translated("a missing replica passes")
    assert complains(good, other, other), translated("a replica too many passes")
    assert complains(other, good), translated("swapped replicas pass")
    for i in range(8):
        mixed = [*other[:i], good[i], *other[i + 1 :]]
        assert complains(good, mixed), translated("parameter {0} on the wrong device passes", i)
        bare = replica(mx.cpu(1), bare=i)
        assert complains(good, bare), translated("parameter {0} without a gradient passes", i)


def ex_enough__torch(answer, *, d2l):
    foreseen = {
        2240: translated("that is for each device; how many in all?"),
        1120: translated("for 1120 in all, one GPU takes 1.4 ms, and two take 2.8 ms"),
        3360: translated("there the speed-up is 1.5: when is it 2?"),
        1680: translated("that is for each device, and the speed-up there is 1.5"),
    }
    d2l.expect(answer, 4480, within=0.001, foreseen=foreseen)


def ex_threshold__torch(threshold, *, d2l):
    import random

    def speed_up(Q_1, Q_2, c, b):
        return 2 * max(Q_1, c * b) / max(Q_2, c * b)

    assert threshold(1000, 2000, 10) == 150, translated("Q_1 = 1000, Q_2 = 2000, c = 10: S(150) is 1.5")
    assert threshold(1000, 1000, 10) == 1, translated("for Q_1 = Q_2 = 1000, c = 10 two devices always pay")
    assert threshold(1000, 2000, 7) == 215, translated("Q_2 = 2000, c = 7: S(214) is below 1.5; round up")
    for _ in range(200):
        Q_1, c = random.randint(1, 300), random.randint(1, 20)
        Q_2 = Q_1 + random.randint(0, 2 * Q_1)
        right = next(b for b in range(1, 2000) if speed_up(Q_1, Q_2, c, b) >= 1.5)
        found = threshold(Q_1, Q_2, c)
        assert found == right, translated("Q_1 = {0}, Q_2 = {1}, c = {2}: from {3} on, not {4}", Q_1, Q_2, c, right, found)


def ex_best__torch(best_k, *, d2l):
    import random

    assert best_k(1, 16, 8) == 4, translated("with 4 devices both terms take 4")
    assert best_k(1, 16, 2) == 2, translated("there are no more than `most` devices")
    assert best_k(2, 1, 8) == 1, translated("issuing dominates: a second device only adds to it")
    assert best_k(1, 6, 8) == 2, translated("2 and 3 devices are equally fast: take fewer")
    assert best_k(1, 8, 8) == 3, translated("compare the whole numbers beside the root of compute / N_t_q")
    for _ in range(200):
        N_t_q, compute, most = random.randint(1, 5), random.randint(1, 99), random.randint(1, 8)
        right = min(range(1, most + 1), key=lambda k: (max(k * N_t_q, compute / k), k))
        found = best_k(N_t_q, compute, most)
        case = f"N_t_q = {N_t_q}, compute = {compute}, most = {most}"
        assert found == right, translated("{0}: {1}, not {2}", case, right, found)


def ex_silent_pytorch__torch(check_replicas, *, d2l):
    import torch

    def replica(bare=None):
        return [torch.ones(2, requires_grad=i != bare) for i in range(8)]

    def complains(*replicas, devices=3):
        try:
            check_replicas(list(replicas), [torch.device("cpu")] * devices)
        except ValueError:
            return True

    good, second, third = replica(), replica(), replica()
    assert not complains(good, second, third), translated("it complains of sound replicas")
    assert complains(good, second), translated("a missing replica passes")
    assert complains(good, second, third, devices=2), translated("a replica too many passes")
    for i in range(8):
        for other, shared in ((good, good[i]), (second, second[i].detach().requires_grad_())):
            mixed = [*third[:i], shared, *third[i + 1 :]]
            assert complains(good, second, mixed), translated("memory of tensor {0} in two replicas passes", i)
        assert complains(good, replica(bare=i), third), translated("parameter {0} without a gradient passes", i)
