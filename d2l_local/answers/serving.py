"""Exercises of serving, made of chapters/text/serving.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["torch"]
translated = catalog(__file__)


def ex_answer(answer, *, d2l):
    import torch

    net, letters = d2l.trained_gpt(), sorted(set(d2l.load_text()))
    forward, read = net.forward, []

    def counted(ids, cache=None):
        read.append(ids.shape[1])
        return forward(ids, cache)

    net.forward = counted
    for start, count in ((translated("The weights are read "), 30), ("A", 6), ("Python issues", 1), ("So", 0)):
        prompt = [letters.index(letter) for letter in start]
        right = list(prompt)
        with torch.no_grad():
            for _ in range(count):
                right.append(int(forward(torch.tensor([right]))[0, -1].argmax()))
            read.clear()
            given = list(prompt)
            found = answer(net, given, count)
        assert found is not None, translated("your function returns nothing: is `return` missing?")
        assert given == prompt, translated("your function changes the prompt that it was given")
        found, right = [int(token) for token in found], right[len(prompt) :]
        assert len(found) == count, (
            translated("{0} tokens, {1} are asked for, without the prompt", len(found), count)
        )
        assert sum(read) <= len(prompt) + count, (
            translated("{0} tokens went through the network, {1} would do: which are read again?", sum(read), len(prompt) + count)
        )
        assert len(read) <= count + 1, translated("the prompt can go through the network in one call")
        same = next((i for i in range(count) if found[i] != right[i]), count)
        assert same == count, (
            translated("token {0} is another one: does the cache hold each token once?", same + 1)
        )


def ex_suitcase(suitcase, *, d2l):
    import random

    Case = tuple[int, int, "int | None", int, "int | None"]
    cases: list[Case] = [(32, 32, None, 4096, None), (32, 32, 8, 4096, None)]
    cases.append((36, 32, 8, 2560, 128))
    for _ in range(20):
        size, group, own = (
            random.choice([64, 80, 128]),
            random.choice([2, 4, 7]),
            random.randint(1, 9),
        )
        stated = random.choice([None, 2 * size, size // 2])
        cases.append((random.randint(1, 90), group * own, own, group * own * size, stated))
    for layers, heads, kept, width, head in cases:
        config = {"num_hidden_layers": layers, "num_attention_heads": heads, "hidden_size": width}
        config |= {"num_key_value_heads": kept} if kept else {}
        config |= {"head_dim": head} if head else {}
        given = dict(config)
        found = suitcase(given)
        assert found is not None, translated("your function returns nothing: is `return` missing?")
        assert given == config, translated("your function changes the configuration that it was given")
        right = 4 * layers * (kept or heads) * (head or width // heads)
        foreseen = {
            4
            * layers
            * width: translated("all heads of a full width: how many keys are kept, and how long is each?"),
            right // 2: translated("a token leaves a key and a value, and each number has two bytes"),
            right * heads // (kept or heads): translated("several heads share one key and one value"),
            4
            * layers
            * (kept or heads)
            * (width // heads): translated("this network states its head_dim, which need not be width / heads"),
            right // layers: translated("that is one layer: each of them keeps its own"),
        }
        d2l.expect(found, right, within=0, foreseen=foreseen)


def ex_serve(serve, *, d2l):
    import random

    def reference(requests, seats, step):
        waiting, now = sorted(requests, key=lambda each: each[0]), 0.0
        left: list[int] = []
        done: list[float] = []
        while waiting or left:
            now = max(now, waiting[0][0]) if not left else now
            while waiting and waiting[0][0] <= now and len(left) < seats:
                left.append(waiting.pop(0)[1])
            now += step(len(left))
            left = [tokens - 1 for tokens in left]
            done += [now] * left.count(0)
            left = [tokens for tokens in left if tokens]
        return sorted(done)

    for case in range(40):
        seats, whole = random.choice([1, 2, 3, 5, 12]), case % 2
        asked: list[int] = []

        def step(users, asked=asked, whole=whole):
            asked.append(users)
            return 1.0 if whole else 1 + users / 10

        times = [
            random.randint(0, 40) if whole else random.uniform(0, 40)
            for _ in range(random.randint(1, 20))
        ]
        requests = [(time, random.randint(1, 12)) for time in times]
        given = list(requests)
        found = serve(given, seats, step)
        assert found is not None, translated("your function returns nothing: is `return` missing?")
        assert given == requests, translated("your function changes the list that it was given")
        found, ordered = sorted(found), sum(tokens for _, tokens in requests)
        assert len(found) == len(requests), translated("{0} users came, {1} were served", len(requests), len(found))
        assert max(asked) <= seats, translated("{0} users took part in a step, with {1} seats", max(asked), seats)
        assert min(asked) > 0, translated("a step without users: if nobody is there, wait for the next one")
        assert sum(asked) == ordered, translated("{0} tokens were written, {1} were ordered", sum(asked), ordered)
        right = reference(requests, seats, step)
        late = max(a - b for a, b in zip(found, right))
        assert late < 1e-6, translated("somebody leaves {0:.1f} s late: was a seat free while they waited?", late)
        early = max(b - a for a, b in zip(found, right))
        assert early < 1e-6, translated("somebody leaves too early: had they come, and was it their turn?")


def ex_rows_that_fit(rows, *, d2l):
    import random

    for _ in range(20):
        token, context = random.randint(10_000, 600_000), random.randint(100, 9000)
        weights = random.randint(10**9, 10**11)
        beyond = random.choice(
            [0, token * context // 2, token * context - 1]
        )  # 0: to the last byte
        memory = weights + token * context * random.randint(0, 90) + beyond
        found = rows(weights, token, context, memory)
        assert hasattr(found, "__len__") and len(found) == 2, translated("two numbers are asked for")
        star, fit = found
        d2l.expect(
            star,
            weights / (token * context),
            1e-6,
            {weights / token: translated("a row reads the keys and values of all its tokens")},
        )
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
        alpha, c, slope = (
            random.uniform(0.2, 0.95),
            random.uniform(0.02, 0.4),
            random.uniform(0, 0.1),
        )
        jump = 0.0
        if case % 3 == 0:
            c, slope = 0.0, 0.3
        elif case % 3 == 1:  # A larger kernel, which takes any number of guesses
            alpha, c, slope, jump = random.uniform(0.9, 0.97), 0.01, 0.0, random.choice([0.0, 1.5])

        def cost(d, slope=slope, jump=jump):
            return 1 + slope * d + (jump if d else 0)

        d = best_guesses(alpha, c, cost)
        assert d == int(d) and 0 <= d <= 20, translated("a whole number from 0 to 20 is asked for")
        most = max(rate(alpha, c, cost, each) for each in range(21))
        short = 1 - rate(alpha, c, cost, int(d)) / most
        assert short < 1e-9, (
            translated("for α = {0:.2f} and c = {1:.2f}, {2} guesses give {3:.1%} less than the best", alpha, c, d, short)
        )


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
            assert abs(found - sum(by_text) / len(by_text)) > 1e-9, (
                translated("that is the mean of the texts' shares: long texts have more places")
            )
            assert abs(found - one_more) > 1e-9, translated("a text that fills its blocks needs no further one")
        d2l.expect(found + 1, right + 1, 1e-9)


def ex_shared_prompt(cached_tokens, *, d2l):
    import os
    import random

    def draw(kinds, least, most):
        return random.choices([1, 11, 111, 2][:kinds], k=random.randint(least, most))

    for case in range(30):
        start = draw(4, 0, 12)
        texts = [start + draw(3, 0, 8) for _ in range(6)] if case else [[1, 11], [11, 1]]
        texts += [draw(4, 5, 5)] if case else []
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
            E
            * (
                1 - (1 - 1 / E) ** (b * K)
            ): translated("a row takes K different experts: with what chance does it leave one out?"),
            E * (1 - K / E) ** b: translated("those are left out"),
            1 - (1 - K / E) ** b: translated("that is the chance of one expert: there are E"),
        }
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
