"""Exercises of kernels, made of chapters/text/kernels.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["torch"]
translated = catalog(__file__)


def ex_passes(answer, *, d2l):
    foreseen = {
        7: translated("that counts its passes: how many does one kernel make?"),
        3: translated("is the mean free? It reads the squares"),
        2.5: translated("the last product reads and writes all elements, too"),
        5: translated("five operators, but some read and write, and the kernel makes two passes"),
        4: translated("the mean of each row writes next to nothing"),
        1 / 3.5: translated("how many times as long, not as short"),
    }
    d2l.expect(answer, 3.5, foreseen=foreseen)


def ex_tile(smallest_tile, *, d2l):
    import random

    found = smallest_tile(64e9, 1e9, 2)
    assert found != 64, translated("64 FLOP per byte are the ridge: which tile has so many, in 2 bytes?")
    assert found != 32, translated("a larger number of bytes needs a larger tile, not a smaller one")
    assert found == 128, translated("T / 2 FLOP per byte must reach the ridge of 64: {0} is not right", found)
    found = smallest_tile(65e9, 1e9, 2)
    assert found != 128, translated("65 FLOP per byte: a tile of 128 has only 64")
    assert found != 130, translated("130 would do, but a power of two is asked for")
    assert smallest_tile(64e9, 1e9, 4) == 256, translated("in 4 bytes a tile has T / 4 FLOP per byte")
    for _ in range(100):
        P, W, size = random.uniform(1e10, 1e15), random.uniform(1e9, 1e13), random.choice([1, 2, 4])
        T = 1
        while T / size < P / W:
            T *= 2
        found = smallest_tile(P, W, size)
        assert found == T, translated("P / W = {0:.4g}, {1} bytes: {2} is right, not {3}", P / W, size, T, found)


def ex_stages(stages, *, d2l):
    import random

    found = stages(256, 256, 64, 2, 232448)
    assert found != 4, translated("four stages need 262,144 bytes, and there are 232,448")
    assert found != 7, translated("a stage holds a piece of both matrices")
    assert found == 3, translated("a stage of 65,536 bytes: 3 fit into 232,448, not {0}", found)
    assert stages(128, 64, 32, 2, 24576) == 2, translated("2 stages of 12,288 bytes fit exactly")
    for _ in range(100):
        rows, columns, K = [random.choice([16, 32, 64, 128, 256]) for _ in range(3)]
        size, shared = random.choice([1, 2, 4]), random.randint(50_000, 250_000)
        right = shared // (K * (rows + columns) * size)
        found = stages(rows, columns, K, size, shared)
        assert found == right, (
            translated("stages({0}, {1}, {2}, {3}, {4}): {5} fit, not {6}", rows, columns, K, size, shared, right, found)
        )


def ex_online(merge, *, d2l):
    import numpy as np

    random = np.random.RandomState()

    def part(scores, values):
        m = scores.max()
        e = np.exp(scores - m)
        return m, e.sum(), e @ values

    for case in range(60):
        shift = (0, 1000, -1000)[case % 3]
        scores, values = 3 * random.randn(9) + shift, random.randn(9, 4)
        cut = random.randint(1, 9)
        first, second = part(scores[:cut], values[:cut]), part(scores[cut:], values[cut:])
        m, total, o = part(scores, values)
        kept = [np.copy(each) for each in (*first, *second)]
        with np.errstate(all="ignore"):
            found_m, found_total, found_o = merge(*first, *second)
        assert all(np.array_equal(a, b) for a, b in zip(kept, (*first, *second))), (
            translated("leave the given arrays as they are")
        )
        assert np.isfinite(found_total) and np.all(np.isfinite(found_o)), (
            translated("a number has overflowed: only differences of scores may be exponents")
        )
        assert np.isclose(found_m, m), translated("the largest score of both parts is the larger of the two")
        assert not np.isclose(found_total, first[1] + second[1], rtol=1e-9), (
            translated("each sum is relative to its own largest score: bring both to the same")
        )
        assert np.isclose(found_total, total), translated("is the exponent's sign right?")
        assert np.shape(found_o) == np.shape(o), translated("o has the shape {0}", np.shape(o))
        assert not np.allclose(found_o, o / total), translated("that is divided already: o, not o / l")
        assert np.allclose(found_o, o), translated("o is corrected like the sum")


def ex_scores(answer, *, d2l):
    n = 32768
    foreseen = {
        16 * n * n: translated("that counts numbers, of 2 bytes each"),
        2 * n * n: translated("that is one head"),
        16 * n * 2: translated("each token has a score with each token"),
        4 * 16 * n * n: translated("that is float32"),
        2 * 16 * n * n / 1e9: translated("that is in GB: bytes are asked for"),
        2 * 16 * n * n / 2**30: translated("that is in GiB: bytes are asked for"),
    }
    d2l.expect(answer, 2 * 16 * n * n, foreseen=foreseen)


def ex_pays(smallest_width, *, d2l):
    import random

    right = 5 / 4e12 / (1 / 800e12 - 1 / 1400e12)
    foreseen = {
        right / 2: translated("a product of N x N matrices takes 2 N^3 FLOP, and two matrices are rounded"),
        2 * right: translated("a product of N x N matrices takes 2 N^3 FLOP, and two matrices are rounded"),
        5 / 4e12 * 800e12: translated("FP8 saves the difference of two times: it is not free"),
        5 / 4e12 * 1400e12: translated("that compares rounding with the product in FP8"),
        5 / 4e12 * (1400e12 - 800e12): translated("times can be subtracted, rates cannot"),
    }
    d2l.expect(smallest_width(800e12, 1400e12, 4e12, 5), right, foreseen=foreseen)
    for _ in range(50):
        P16, factor = random.uniform(1e14, 1e15), random.uniform(1.3, 2.5)
        W, moved = random.uniform(1e12, 8e12), random.uniform(3, 40)
        right = moved / W / (1 / P16 - 1 / (factor * P16))
        d2l.expect(smallest_width(P16, factor * P16, W, moved), right)
