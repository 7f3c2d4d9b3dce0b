"""Exercises of serving, made of chapters/text/serving.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["torch"]
translated = catalog(__file__)


def ex_cache_bytes(answer, *, d2l):
    right = 2 * 126 * 8 * 128 * 2 * 128_000 / 1e9
    foreseen = {
        16 * right: translated("that is a key and a value for each of the 128 heads: how many are kept?"),
        right / 2: translated("a token has a key and a value, and each number has two bytes"),
        right / 126: translated("that is one layer: each of them keeps its own"),
        right / 128_000: translated("that is one token"),
        516_096: translated("those are the bytes of one token"),
    }
    d2l.expect(answer, right, foreseen=foreseen)


def ex_rows_that_fit(rows, *, d2l):
    import random

    for _ in range(20):
        token, context = random.randint(10_000, 600_000), random.randint(100, 9000)
        weights = random.randint(10**9, 10**11)
        memory = weights + token * context * random.randint(1, 90) + token * context // 2
        found = rows(weights, token, context, memory)
        assert isinstance(found, (tuple, list)) and len(found) == 2, translated("two numbers are asked for")
        star, fit = found
        d2l.expect(star, weights / (token * context), 1e-6, {weights / token: translated("a row reads the keys and values of all its tokens")})  # fmt: skip
        right = (memory - weights) // (token * context)
        assert fit == right or fit != memory // (token * context), translated("the weights need memory, too")
        assert fit == int(fit), translated("a row fits or does not: the second number is a whole one")
        assert fit == right, translated("{0} rows fit beside the weights, not {1}", right, fit)
    star, fit = rows(10**10, 1000, 1000, 10**9)
    assert fit == 0, translated("the weights do not fit, so no row does")


def ex_guesses(best_guesses, *, d2l):
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
        assert d == int(d) and 0 <= d <= 20, translated("a whole number from 0 to 20 is asked for")
        most = max(rate(alpha, c, cost, each) for each in range(21))
        short = 1 - rate(alpha, c, cost, int(d)) / most
        assert short < 1e-9, translated("for α = {0:.2f} and c = {1:.2f}, {2} guesses give {3:.1%} less than the best", alpha, c, d, short)  # fmt: skip


def ex_blocks(wasted, *, d2l):
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
            assert abs(found - sum(by_text) / len(by_text)) > 1e-9, translated("that is the mean of the texts' shares: long texts have more places")  # fmt: skip
            assert abs(found - one_more) > 1e-9, translated("a text that fills its blocks needs no further one")
        d2l.expect(found + 1, right + 1, 1e-9)


def ex_shared_prompt(cached_tokens, *, d2l):
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
            everything - by_all: translated("some of the texts may share more than all of them do"),
            len(different): translated("the same token after other tokens has other keys and values"),
            everything: translated("that shares nothing"),
        }
        found = cached_tokens([list(text) for text in texts])
        d2l.expect(found, len(beginnings), within=0, foreseen=foreseen)


def ex_experts_read(experts_read, *, d2l):
    import random

    for _ in range(20):
        E = random.choice([8, 16, 64, 256])
        K, b = random.randint(2, min(E - 1, 8)), random.randint(2, 100)
        foreseen = {
            min(E, b * K): translated("that holds if no two rows take the same expert"),
            E * (1 - (1 - 1 / E) ** (b * K)): translated("a row takes K different experts: with what chance does it leave one out?"),
            E * (1 - K / E) ** b: translated("those are left out"),
            1 - (1 - K / E) ** b: translated("that is the chance of one expert: there are E"),
        }  # fmt: skip
        d2l.expect(experts_read(E, K, b), E * (1 - (1 - K / E) ** b), 1e-6, foreseen)


def ex_divided_step(answer, *, d2l):
    reading, waiting = 140e9 / 8 / 3.35e12 * 1e3, 80 * 2 * 0.01
    foreseen = {
        reading: translated("the sums take time, too: a layer can't go on before it has each of its two"),
        reading + waiting / 2: translated("each layer has two sums: after attention and after the perceptron"),
        8 * reading + waiting: translated("each GPU reads only its eighth of the weights"),
        reading + 0.02: translated("that is one layer's sums: there are 80 layers"),
        (reading + waiting) / 1e3: translated("that is in seconds"),
    }
    d2l.expect(answer, reading + waiting, foreseen=foreseen)


def ex_token_price(answer, *, d2l):
    busy = 3 / (6250 * 3600) * 1e6
    foreseen = {
        busy: translated("you pay for the nights, too"),
        0.4 * busy: translated("idle hours make a token dearer, not cheaper"),
        busy / 0.4 / 1e6: translated("that is one token"),
        busy / 0.4 * 3600: translated("an hour has 3,600 seconds"),
        busy / 0.4 / 128: translated("6,250 tokens per second are those of all users together"),
    }
    d2l.expect(answer, busy / 0.4, foreseen=foreseen)
