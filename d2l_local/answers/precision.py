"""Exercises of precision, made of chapters/text/precision.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["torch"]
translated = catalog(__file__)


def ex_scale(answer, *, d2l):
    foreseen = {
        2: translated("twice the gradient still becomes zero"),
        3: translated("3 is no power of two"),
        8: translated("that works, and smaller ones do, too"),
        2**16: translated("that works, and smaller ones do, too"),
        0.25: translated("that makes the gradient smaller"),
    }
    d2l.expect(answer, 4, within=0, foreseen=foreseen)


def ex_step_gain(answer, *, d2l):
    foreseen = {
        0.6 * 8: translated("times add, speeds do not: add what is left of both parts"),
        0.4 + 0.6 * 8: translated("times add, speeds do not: add what is left of both parts"),
        1 / 0.4: translated("that is the bound, with products that take no time at all"),
        0.4 + 0.6 / 8: translated("that is the time that is left: how many times as fast is it?"),
        1 / (0.6 + 0.4 / 8): translated("which of the two parts gets faster?"),
    }
    d2l.expect(answer, 1 / (0.4 + 0.6 / 8), within=0.005, foreseen=foreseen)


def ex_code(answer, *, d2l):
    if isinstance(answer, int) and 0 <= answer < 256:
        answer = format(answer, "08b")  # Whoever writes 0b01001011
    assert isinstance(answer, str), translated("bits are asked for, as text: eight of 0 and 1, in quotes")
    bits = "".join(answer.split()).replace("_", "").replace("0b", "")
    assert len(bits) == 8 and set(bits) <= {"0", "1"}, translated("{0}: eight bits are asked for", answer)
    sign, exponent, mantissa = bits[0], bits[1:5], bits[5:]
    assert sign == "1", translated("the number is negative")
    assert exponent != "0110", translated("the exponent is 6: it is stored plus 7")
    assert exponent == "1101", translated("the power of two is the largest one that is not above 90")
    assert mantissa != "100", translated("96 is 6 away, and there is a nearer one")
    assert mantissa != "101", translated("the first 1 is not stored: the mantissa counts steps beyond 64")
    assert mantissa == "011", (
        translated("from 64 to 128 there are eight steps of 8: how many lead to about 90?")
    )


def ex_bfloat16(to_bfloat16, *, d2l):
    import numpy as np

    def slow(x):  # Of its two neighbors in bfloat16, the nearer one
        bits = int(np.float32(x).view(np.uint32))
        low = bits - bits % 2**16
        below, above = [float(np.uint32(b).view(np.float32)) for b in (low, low + 2**16)]
        if abs(x - below) != abs(above - x):
            return below if abs(x - below) < abs(above - x) else above
        return above if low >> 16 & 1 else below

    random = np.random.RandomState(7)
    x = (random.randn(300) * 2.0 ** random.randint(-40, 40, 300)).astype(np.float32)
    ties = np.array([257, 259, -257, -259, 1.01171875], dtype=np.float32)
    found, tied = to_bfloat16(x.copy()), to_bfloat16(ties.copy())
    assert isinstance(found, np.ndarray), translated("returns no array")
    assert found.dtype == np.float32, translated("returns {0}, not float32", found.dtype)
    assert found.shape == x.shape, translated("the shape has changed")
    assert (np.sign(found) == np.sign(x)).all(), translated("a negative number stays negative")
    assert not (found.view(np.uint32) % 2**16).any(), translated("more than 16 bits are left")
    right = np.array([slow(value) for value in x], dtype=np.float32)
    assert (found == right).all(), translated("not the nearest: cutting off rounds toward zero")
    assert (tied == [slow(value) for value in ties]).all(), (
        translated("257 and 259 lie in the middle: take the one whose last bit is 0")
    )


def ex_difference(smaller_blocks, finer_scales, *, d2l):
    import numpy as np

    def e2m1(x):
        gap = 2.0 ** (np.maximum(np.frexp(x)[1] - 1, 0) - 1)
        return np.clip(np.round(x / gap) * gap, -6, 6)

    def e4m3(x):
        gap = 2.0 ** (np.maximum(np.frexp(x)[1] - 1, -6) - 3)
        return np.clip(np.round(x / gap) * gap, -448, 448)

    x = 0.02 * np.random.RandomState(0).randn(256, 256)
    errors = {}
    for size in (16, 32):
        blocks = x.reshape(-1, size)
        top = np.abs(blocks).max(axis=1, keepdims=True)
        powers = 2.0 ** (np.frexp(top)[1] - 3)
        whole = np.abs(x).max() / (6 * 448)
        fine = e4m3(top / whole / 6) * whole
        for kind, scale in (("power", powers), ("fine", fine), ("exact", top / 6)):
            rounded = e2m1(blocks / scale) * scale
            errors[kind, size] = float(np.linalg.norm(rounded - blocks) / np.linalg.norm(x))
    foreseen = {
        errors["power", 32]: translated("that is MXFP4: nothing has changed"),
        errors["fine", 16]: translated("that is NVFP4: both things have changed"),
        errors["exact", 16]: translated("that scale is stored in float32, which neither format has"),
        errors["exact", 32]: translated("that scale is stored in float32, which neither format has"),
        100 * errors["power", 16]: translated("that is in per cent: a share is asked for"),
        100 * errors["fine", 32]: translated("that is in per cent: a share is asked for"),
    }
    d2l.expect(smaller_blocks, errors["power", 16], within=0.003, foreseen=foreseen)
    d2l.expect(finer_scales, errors["fine", 32], within=0.003, foreseen=foreseen)


def ex_dynamic(next_scale, *, d2l):
    import random

    assert tuple(next_scale(1024, 5, False)) == (1024, 6), (
        translated("a good step counts, and leaves the scale")
    )
    scale, good = next_scale(1024, 1999, True)
    assert scale == 512, translated("an overflow halves the scale, whatever came before")
    assert good == 0, translated("after an overflow the count starts again")
    scale, good = next_scale(1024, 1999, False)
    assert scale == 2048, translated("the 2000th good step doubles the scale")
    assert good == 0, translated("after doubling, the count starts again")
    assert tuple(next_scale(1024, 1998, False)) == (1024, 1999), (
        translated("1,999 good steps are not yet 2,000")
    )
    for _ in range(100):
        scale, good = 2 ** random.randint(1, 20), random.randint(0, 1998)
        right = {True: (scale / 2, 0), False: (scale, good + 1)}
        for overflow in (True, False):
            assert tuple(next_scale(scale, good, overflow)) == right[overflow], (
                translated("scale {0}, {1} good steps, overflow {2}: expected {3}", scale, good, overflow, right[overflow])
            )


def ex_stochastic(stochastic, *, d2l):
    import numpy as np

    random = np.random.RandomState()
    for p in (0.2, *random.uniform(0.1, 0.9, 20)):
        gap, whole = 2.0 ** random.randint(-6, 3), random.randint(-9, 9)
        found = stochastic(np.full((100, 200), (whole + p) * gap), gap, random)
        assert isinstance(found, np.ndarray) and found.shape == (100, 200), (
            translated("returns no array of the shape of x")
        )
        steps = found / gap
        assert (steps == np.round(steps)).all(), translated("not all are multiples of the gap")
        assert ((steps == whole) | (steps == whole + 1)).all(), (
            translated("{0:.2f} gaps lie between {1} and {2}: take one of these", whole + p, whole, whole + 1)
        )
        assert steps.min() < steps.max(), translated("all equal numbers go the same way: draw for each of them")
        up = (steps > whole).mean()
        assert abs(up - 0.5) < 0.04 or abs(up - p) < abs(up - (1 - p)), (
            translated("the nearer neighbor should be the more probable one")
        )
        assert abs(up - p) < 0.03, (
            translated("{0:.2f} of a gap above a multiple, {1:.2f} of the numbers go up", p, up)
        )
    exact = np.array([-2.0, 0.0, 3.5])
    assert (stochastic(exact, 0.5, random) == exact).all(), translated("a multiple of the gap stays as it is")
