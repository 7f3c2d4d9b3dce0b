"""Exercises of gpt, made of chapters/text/gpt.md by the builder: edit that."""


def ex_peak(kept_bytes):
    import random

    assert kept_bytes([3, 2], 0, 0) != 4 * 2 * 6, "没有算偏置？"
    assert kept_bytes([3, 2], 0, 0) == 4 * 2 * 8, "权重和梯度：每个参数两个数"
    assert kept_bytes([3, 2], 0, 2) == 4 * 4 * 8, "漏了优化器保存的数"
    saved = kept_bytes([3, 5, 2], 10, 0) - kept_bytes([3, 5, 2], 0, 0)
    assert saved != 4 * 10 * 10, "反向传播不读最后一层的输出"
    assert saved == 4 * 10 * 8, "反向传播对每一行都要读各层的输入"
    for _ in range(100):
        widths = [random.randint(1, 9) for _ in range(random.randint(2, 6))]
        b, averages = random.randint(0, 9), random.randint(0, 3)
        numbers = 0
        for layer in range(len(widths) - 1):
            parameters = widths[layer] * widths[layer + 1] + widths[layer + 1]
            numbers += (2 + averages) * parameters + b * widths[layer]
        found = kept_bytes(widths, b, averages)
        assert found == 4 * numbers, (
            f"每一层都要算：宽度{widths}，{b}行，每个参数{averages}个平均值，应当是{4 * numbers}字节，而不是{found}"
        )
