"""Exercises of gpt, made of chapters/text/gpt.md by the builder: edit that."""


def ex_peak(kept_bytes):
    import random

    assert kept_bytes([3, 2], 0, 0) != 4 * 2 * 6, "without biases?"
    assert kept_bytes([3, 2], 0, 0) == 4 * 2 * 8, "weights and gradients: two numbers per parameter"
    assert kept_bytes([3, 2], 0, 2) == 4 * 4 * 8, "the optimizer's numbers are missing"
    saved = kept_bytes([3, 5, 2], 10, 0) - kept_bytes([3, 5, 2], 0, 0)
    assert saved != 4 * 10 * 10, "backpropagation reads no output of the last layer"
    assert saved == 4 * 10 * 8, "per row, backpropagation reads the input of each layer"
    for _ in range(100):
        widths = [random.randint(1, 9) for _ in range(random.randint(2, 6))]
        b, averages = random.randint(0, 9), random.randint(0, 3)
        numbers = 0
        for layer in range(len(widths) - 1):
            parameters = widths[layer] * widths[layer + 1] + widths[layer + 1]
            numbers += (2 + averages) * parameters + b * widths[layer]
        found = kept_bytes(widths, b, averages)
        assert found == 4 * numbers, (
            f"every layer counts: {widths}, {b} rows, {averages} averages make {4 * numbers} bytes, not {found}"
        )
