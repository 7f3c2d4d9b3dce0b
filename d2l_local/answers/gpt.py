"""Exercises of gpt, made of chapters/text/gpt.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["torch"]
translated = catalog(__file__)


def ex_gpt_size(parameters, *, d2l):
    import random

    assert parameters(8, 0, 100, 0) != 2 * 100 * 8 + 16, translated("ids and scores share one matrix")
    assert parameters(8, 0, 100, 0) != 100 * 8, (
        translated("there is a normalization behind the last block, too")
    )
    assert parameters(8, 0, 0, 10) != 16, translated("places have vectors, too")
    for _ in range(100):
        h, L = 4 * random.randint(1, 9), random.randint(1, 9)
        V, s = random.randint(1, 99), random.randint(1, 99)
        dense = (h + 1) * 3 * h + (h + 1) * h + (h + 1) * 4 * h + (4 * h + 1) * h
        right = L * (dense + 4 * h) + (V + s) * h + 2 * h
        found = parameters(h, L, V, s)
        assert found != right - L * 9 * h, translated("without the biases of the dense layers?")
        assert found != right - L * 4 * h, translated("a block has two normalizations")
        assert found == right, (
            translated("width {0}, {1} layers, vocabulary {2}, context {3}: {4}, not {5}", h, L, V, s, right, found)
        )


def ex_gpt_rate(tokens_per_second, *, d2l):
    import random

    for _ in range(100):
        mfu, P, N = (
            random.uniform(0.1, 0.9),
            1e12 * random.randint(1, 999),
            random.randint(1, 10**9),
        )
        L, h, s = random.randint(2, 40), random.randint(8, 4096), random.randint(8, 4096)
        right = mfu * P / (6 * N + 12 * L * h * s)
        d2l.expect(
            tokens_per_second(mfu, P, N, L, h, s),
            right,
            within=1e-6,
            foreseen={
                mfu * P / (6 * N): translated("attention's scores are missing"),
                mfu * P / (2 * N + 4 * L * h * s): translated("that is forward propagation alone"),
                P / (6 * N + 12 * L * h * s): translated("that would be at the peak itself"),
                mfu * P / (6 * N + 12 * h * s): translated("each of the L blocks has scores"),
            },
        )


def ex_run_cost(days, *, d2l):
    flop = 6 * 405e9 * 15.6e12
    right = flop / (16_384 * 989e12 * 0.4) / 86_400
    d2l.expect(
        days,
        right,
        within=0.02,
        foreseen={
            right * 0.4: translated("that would be at the peak itself: the MFU is 0.40"),
            right / 3: translated("that is forward propagation alone"),
            right * 86_400: translated("those are seconds"),
            right * 24: translated("those are hours"),
            right * 16_384: translated("that is what a single GPU needs"),
        },
    )


def ex_logits(vocabulary_from, *, d2l):
    import random

    found = vocabulary_from(768, 6)
    assert found not in (73728, 73729), translated("the loss has three arrays of 4 bytes per number")
    assert found not in (4096, 4097), translated("all blocks together, not a single one")
    assert vocabulary_from(3, 1) != 16, translated("at 16 they are equal; the loss should take more")
    for _ in range(100):
        h, L = random.randint(1, 999), random.randint(1, 99)
        right, found = 64 * h * L // 12 + 1, vocabulary_from(h, L)
        assert found == right, translated("width {0}, {1} layers: {2}, not {3}", h, L, right, found)


def ex_fits(most_rows, *, d2l):
    import random

    assert most_rows(100, 1000, 1, 1, 1, 1) >= 0, translated("the states alone may be too large: then 0")
    for _ in range(200):
        L, h, V, s = [random.randint(1, 9) for _ in range(4)]
        N, row = random.randint(1, 99), s * (36 * L * h + 10 * V)
        memory = 14 * N + random.randint(0, 20 * row)
        right, found = (memory - 14 * N) // row, most_rows(memory, N, L, h, V, s)
        assert not isinstance(found, float) or found == int(found), translated("rows are whole: round down")
        float32 = (memory - 12 * N) // (s * (64 * L * h + 12 * V))
        assert found == right or found != max(0, float32), translated("those are the constants of float32")
        assert found == right, translated("{0} bytes hold {1} rows, not {2}", memory, right, found)


def ex_some_blocks(peak, *, d2l):
    import random

    for _ in range(100):
        k, h = random.randint(1, 9), random.randint(1, 99)
        m = random.randint(2, 9)
        right, found = h * (64 * (m * k - m + 1) + 4 * (m - 1)), peak(m * k, k, h)
        assert found != h * (64 * (m * k - m) + 4 * m), (
            translated("the last block is recomputed while all others still hold theirs")
        )
        assert found != h * (64 * (m * k - m + 1) + 4 * m), (
            translated("the input of a block that has been recomputed is among its 64")
        )
        assert found == right, translated("{0} blocks, k = {1}, width {2}: {3} bytes, not {4}", m * k, k, h, right, found)
