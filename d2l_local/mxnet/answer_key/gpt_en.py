"""Exercises of gpt, made of chapters/text/gpt.md by the builder: edit that."""

from d2l_local import mxnet as d2l


def ex_gpt_size(parameters):
    import random

    assert parameters(8, 0, 100, 0) != 2 * 100 * 8 + 16, "ids and scores share one matrix"
    assert parameters(8, 0, 100, 0) != 100 * 8, (
        "there is a normalization behind the last block, too"
    )
    assert parameters(8, 0, 0, 10) != 16, "places have vectors, too"
    for _ in range(100):
        h, L = 4 * random.randint(1, 9), random.randint(1, 9)
        V, s = random.randint(1, 99), random.randint(1, 99)
        dense = (h + 1) * 3 * h + (h + 1) * h + (h + 1) * 4 * h + (4 * h + 1) * h
        right = L * (dense + 4 * h) + (V + s) * h + 2 * h
        found = parameters(h, L, V, s)
        assert found != right - L * 9 * h, "without the biases of the dense layers?"
        assert found != right - L * 4 * h, "a block has two normalizations"
        assert found == right, (
            f"width {h}, {L} layers, vocabulary {V}, context {s}: {right}, not {found}"
        )


def ex_gpt_rate(tokens_per_second):
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
                mfu * P / (6 * N): "attention's scores are missing",
                mfu * P / (2 * N + 4 * L * h * s): "that is forward propagation alone",
                P / (6 * N + 12 * L * h * s): "that would be at the peak itself",
                mfu * P / (6 * N + 12 * h * s): "each of the L blocks has scores",
            },
        )


def ex_run_cost(days):
    flop = 6 * 405e9 * 15.6e12
    right = flop / (16_384 * 989e12 * 0.4) / 86_400
    d2l.expect(
        days,
        right,
        within=0.02,
        foreseen={
            right * 0.4: "that would be at the peak itself: the MFU is 0.40",
            right / 3: "that is forward propagation alone",
            right * 86_400: "those are seconds",
            right * 24: "those are hours",
            right * 16_384: "that is what a single GPU needs",
        },
    )


def ex_logits(vocabulary_from):
    import random

    found = vocabulary_from(768, 6)
    assert found not in (73728, 73729), "the loss has three arrays of 4 bytes per number"
    assert found not in (4096, 4097), "all blocks together, not a single one"
    assert vocabulary_from(3, 1) != 16, "at 16 they are equal; the loss should take more"
    for _ in range(100):
        h, L = random.randint(1, 999), random.randint(1, 99)
        right, found = 64 * h * L // 12 + 1, vocabulary_from(h, L)
        assert found == right, f"width {h}, {L} layers: {right}, not {found}"


def ex_fits(most_rows):
    import random

    assert most_rows(100, 1000, 1, 1, 1, 1) >= 0, "the states alone may be too large: then 0"
    for _ in range(200):
        L, h, V, s = [random.randint(1, 9) for _ in range(4)]
        N, row = random.randint(1, 99), s * (36 * L * h + 10 * V)
        memory = 14 * N + random.randint(0, 20 * row)
        right, found = (memory - 14 * N) // row, most_rows(memory, N, L, h, V, s)
        assert not isinstance(found, float) or found == int(found), "rows are whole: round down"
        float32 = (memory - 12 * N) // (s * (64 * L * h + 12 * V))
        assert found == right or found != max(0, float32), "those are the constants of float32"
        assert found == right, f"{memory} bytes hold {right} rows, not {found}"


def ex_some_blocks(peak):
    import random

    for _ in range(100):
        k, h = random.randint(1, 9), random.randint(1, 99)
        m = random.randint(2, 9)
        right, found = h * (64 * (m * k - m + 1) + 4 * (m - 1)), peak(m * k, k, h)
        assert found != h * (64 * (m * k - m) + 4 * m), (
            "the last block is recomputed while all others still hold theirs"
        )
        assert found != h * (64 * (m * k - m + 1) + 4 * m), (
            "the input of a block that has been recomputed is among its 64"
        )
        assert found == right, f"{m * k} blocks, k = {k}, width {h}: {right} bytes, not {found}"
