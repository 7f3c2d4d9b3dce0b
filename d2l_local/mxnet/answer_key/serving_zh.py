"""Exercises of serving, made of chapters/text/serving.md by the builder: edit that."""

from d2l_local import mxnet as d2l


def ex_cache_bytes(answer):
    right = 2 * 126 * 8 * 128 * 2 * 128_000 / 1e9
    foreseen = {
        16 * right: "这是128个头各一份键和值：实际保留几份？",
        right / 2: "一个词元有键，也有值，每个数2字节",
        right / 126: "这是一层的：每层各留一份",
        right / 128_000: "这是一个词元的",
        516_096: "这是一个词元的字节数",
    }
    d2l.expect(answer, right, foreseen=foreseen)


def ex_rows_that_fit(rows):
    import random

    for _ in range(20):
        token, context = random.randint(10_000, 600_000), random.randint(100, 9000)
        weights = random.randint(10**9, 10**11)
        memory = weights + token * context * random.randint(1, 90) + token * context // 2
        found = rows(weights, token, context, memory)
        assert isinstance(found, (tuple, list)) and len(found) == 2, "要返回两个数"
        star, fit = found
        d2l.expect(star, weights / (token * context), 1e-6, {weights / token: "一行要读它全部词元的键和值"})  # fmt: skip
        right = (memory - weights) // (token * context)
        assert fit == right or fit != memory // (token * context), "权重也占显存"
        assert fit == int(fit), "一行要么放得下，要么放不下：第二个数是整数"
        assert fit == right, f"权重之外放得下{right}行，不是{fit}行"
    star, fit = rows(10**10, 1000, 1000, 10**9)
    assert fit == 0, "权重都放不下，自然一行也放不下"


def ex_guesses(best_guesses):
    import random

    def rate(alpha, c, cost, d):
        return sum(alpha**i for i in range(d + 1)) / (d * c + cost(d))

    for case in range(30):
        alpha, c, slope = random.uniform(0.2, 0.95), random.uniform(0.02, 0.4), random.uniform(0, 0.1)  # fmt: skip
        if case % 3 == 0:
            c, slope = 0.0, 0.3

        def cost(d, slope=slope):
            return 1 + slope * d

        d = best_guesses(alpha, c, cost)
        assert d == int(d) and 0 <= d <= 20, "要一个0到20的整数"
        most = max(rate(alpha, c, cost, each) for each in range(21))
        short = 1 - rate(alpha, c, cost, int(d)) / most
        assert short < 1e-9, f"α = {alpha:.2f}、c = {c:.2f}时，猜{d}个比最好的少{short:.1%}"  # fmt: skip


def ex_blocks(wasted):
    import random

    for _ in range(20):
        block = random.choice([1, 8, 16, 100, 2048])
        lengths = [random.randint(1, 2000) for _ in range(random.randint(1, 30))]
        lengths.append(3 * block)  # Full to the last place
        places = sum(-(-length // block) * block for length in lengths)
        right, found = 1 - sum(lengths) / places, wasted(lengths, block)
        by_text = [1 - n / (-(-n // block) * block) for n in lengths]
        one_more = 1 - sum(lengths) / sum((n // block + 1) * block for n in lengths)
        if abs(found - right) > 1e-9:
            assert abs(found - sum(by_text) / len(by_text)) > 1e-9, "这是各段文本的比例的平均：长的文本位置更多"  # fmt: skip
            assert abs(found - one_more) > 1e-9, "正好放满的文本，不必再领一块"
        d2l.expect(found + 1, right + 1, 1e-9)


def ex_shared_prompt(cached_tokens):
    import os
    import random

    def draw(kinds, least, most):
        return random.choices(range(kinds), k=random.randint(least, most))

    for _ in range(30):
        start = draw(4, 0, 12)
        texts = [start + draw(3, 0, 8) for _ in range(6)]
        texts.append(draw(4, 5, 5))
        beginnings = set()
        for text in texts:
            beginnings |= {tuple(text[:end]) for end in range(1, len(text) + 1)}
        everything, different = sum(map(len, texts)), set().union(*texts)
        by_all = (len(texts) - 1) * len(os.path.commonprefix(texts))
        foreseen = {
            everything - by_all: "其中几段共用的，可能比全体共用的更多",
            len(different): "同一个词元，前面不同，键和值就不同",
            everything: "这样什么也没有共用",
        }
        found = cached_tokens([list(text) for text in texts])
        d2l.expect(found, len(beginnings), within=0, foreseen=foreseen)


def ex_experts_read(experts_read):
    import random

    for _ in range(20):
        E = random.choice([8, 16, 64, 256])
        K, b = random.randint(2, min(E - 1, 8)), random.randint(2, 100)
        foreseen = {
            min(E, b * K): "只有任何两行都不选同一个专家时才对",
            E * (1 - (1 - 1 / E) ** (b * K)): "一行选K个不同的专家：它不选某一个的概率是多少？",
            E * (1 - K / E) ** b: "这是没有选到的",
            1 - (1 - K / E) ** b: "这是一个专家被选到的概率：共有E个",
        }  # fmt: skip
        d2l.expect(experts_read(E, K, b), E * (1 - (1 - K / E) ** b), 1e-6, foreseen)


def ex_divided_step(answer):
    reading, waiting = 140e9 / 8 / 3.35e12 * 1e3, 80 * 2 * 0.01
    foreseen = {
        reading: "求和也要时间：每层要等到两次求和都完成，才能继续",
        reading + waiting / 2: "每层求和两次：注意力之后和感知机之后",
        8 * reading + waiting: "每块GPU只读权重的八分之一",
        reading + 0.02: "这是一层的求和：共有80层",
        (reading + waiting) / 1e3: "这是以秒为单位",
    }
    d2l.expect(answer, reading + waiting, foreseen=foreseen)


def ex_token_price(answer):
    busy = 3 / (6250 * 3600) * 1e6
    foreseen = {
        busy: "夜里也要付钱",
        0.4 * busy: "空闲的时间让词元更贵，而不是更便宜",
        busy / 0.4 / 1e6: "这是一个词元的",
        busy / 0.4 * 3600: "一小时有3,600秒",
        busy / 0.4 / 128: "每秒6,250个是所有用户合计的",
    }
    d2l.expect(answer, busy / 0.4, foreseen=foreseen)
