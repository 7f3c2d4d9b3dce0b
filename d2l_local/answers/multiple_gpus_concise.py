"""Exercises of multiple-gpus-concise, made of chapters/text/multiple-gpus-concise.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["mxnet", "torch"]
translated = catalog(__file__)


def ex_buckets(buckets, *, d2l):
    import random

    found = list(buckets([1, 2, 3, 4], 100))
    assert found, translated("what is left in the end has to leave, too")
    assert found == [10], translated("below the limit, everything leaves in one bucket at the end")
    assert list(buckets([2, 2], 2)) == [2, 2], translated("an empty bucket does not leave")
    assert list(buckets([5, 1, 1], 5)) != [5, 2], translated("backpropagation begins with the last layer")
    assert list(buckets([5, 1, 1], 5)) == [7], translated("a bucket leaves when it is full, and not before")
    assert list(buckets([1, 1, 2, 9], 2)) == [9, 2, 2], translated("each full bucket leaves by itself")
    for _ in range(100):
        sizes = [random.randint(1, 9) for _ in range(random.randint(1, 12))]
        limit, right = random.randint(1, 20), [0]
        for size in sizes[::-1]:
            right[-1] += size
            if right[-1] >= limit:
                right.append(0)
        right = [content for content in right if content]
        found = list(buckets(list(sizes), limit))
        assert found == right, translated("{0} for {1} and a limit of {2}: it is {3}", found, sizes, limit, right)


def ex_combine(combine, *, d2l):
    import random

    mean, variance = combine([1, 12], [1, 4], [2, 2])
    d2l.expect(mean, 6.5)
    assert variance != 2.5, translated("the variance between the shards' means is missing")
    d2l.expect(variance, 32.75)
    mean, variance = combine([0, 3], [0, 0], [1, 2])
    assert mean != 1.5, translated("a shard of two rows counts twice as much as one of a single row")
    d2l.expect(mean, 2)
    d2l.expect(variance, 2)
    for _ in range(20):
        shards = [
            [random.randint(1, 99) for _ in range(random.randint(1, 5))]
            for _ in range(random.randint(1, 4))
        ]
        means = [sum(shard) / len(shard) for shard in shards]
        squares = [sum(x * x for x in shard) / len(shard) for shard in shards]
        variances = [square - mean**2 for square, mean in zip(squares, means)]
        everything = sum(shards, [])
        right = sum(everything) / len(everything)
        mean, variance = combine(means, variances, [len(shard) for shard in shards])
        d2l.expect(mean, right, 1e-6)
        spread = sum((x - right) ** 2 for x in everything) / len(everything)
        d2l.expect(variance + 1, spread + 1, 1e-6)


def ex_warm_up(warm_up, *, d2l):
    import math
    import random

    rates = [warm_up(step, 1.0, 4) for step in range(7)]
    assert rates[0] > 0, translated("the first update has a rate of 0")
    assert max(rates) <= 1 + 1e-9, translated("the rate goes on rising: it ends at lr")
    rises = [round(rates[i + 1] - rates[i], 6) for i in range(4)]
    assert rises == [0.2] * 4 and rates[4:] == [1.0] * 3, translated("not in equal parts up to lr: {0}", rates)
    assert warm_up(0, 0.5, 0) == 0.5, translated("without a warm-up the rate is lr at once")
    for _ in range(50):
        lr, num_steps, step = random.uniform(0.1, 3), random.randint(0, 9), random.randint(0, 12)
        right, found = lr * min(1, (step + 1) / (num_steps + 1)), warm_up(step, lr, num_steps)
        assert math.isclose(found, right), (
            translated("{0:.3g} for step {1}, lr {2:.3g} and num_steps {3}: it is {4:.3g}", found, step, lr, num_steps, right)
        )


def ex_last(answer, *, d2l):
    foreseen = {
        1: translated("256 divides the sum over fewer rows"),
        256 / 96: translated("the divisor is too large, so the step is too short"),
        160 / 256: translated("that is how much is missing"),
        96: translated("those are the rows of the last minibatch"),
    }
    d2l.expect(answer, 96 / 256, within=0.02, foreseen=foreseen)


def ex_tail(answer, *, d2l):
    foreseen = {
        300: translated("the last piece has no computation left to hide behind"),
        450: translated("that is in turns: the pieces leave while others are computed"),
        270: translated("the cable is faster than backpropagation, and has to wait for pieces"),
        215: translated("the step begins with forward propagation"),
    }
    d2l.expect(answer, 315, within=1e-3, foreseen=foreseen)


def ex_sooner(answer, *, d2l):
    foreseen = {
        4: translated("a step takes longer, too"),
        8 * 40 / 44: translated("those are images per second: count the steps needed"),
        8: translated("eight times the images per step is not eight times as soon"),
        1500 * 44 / (6000 * 40): translated("that is a share of the time: how many times as fast?"),
    }
    d2l.expect(answer, 6000 * 40 / (1500 * 44), foreseen=foreseen)


def ex_enough_images__mxnet(answer, *, d2l):
    foreseen = {
        300 * 13.29: translated("ResNet-18 sends fewer gradients for more products: it needs fewer images"),
        300 * 11_678_912 / 61_090_496: translated("that counts what is sent, and not the products of an image"),
        300 * 714_188_480 / 1_814_073_344: translated("that counts the products, and not what is sent"),
    }
    d2l.expect(answer, 300 / 13.29, within=0.03, foreseen=foreseen)
