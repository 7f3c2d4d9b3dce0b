"""Exercises of hybridize, made of chapters/text/hybridize.md by the builder: edit that."""

from d2l_local import torch as d2l
import torch


def ex_graph_time(answer):
    foreseen = {
        24: "现在最长的一项是设备：它仍然要执行120个算子",
        5: "这是把编译前的提交与执行相加，但两者是并行的",
        1200 / 280: "这是把提交与执行相加，但两者是并行的",
        0.25: "这是用时与原来之比，要求的是速度之比",
    }
    d2l.expect(answer, 4, within=0.001, foreseen=foreseen)


def ex_cold(answer):
    foreseen = {
        5: "这是预热之后的比值，但十次调用中的第一次没有预热",
        1000 / 2200: "首次调用也在十次之内，所以只有九次用20微秒",
        2.18: "这是用时之比，要求的是加速比",
    }
    d2l.expect(answer, 1000 / 2180, within=0.005, foreseen=foreseen)


def ex_border(answer):
    foreseen = {
        282.8: "每一行要用每个权重做2 FLOP：一次乘法，一次加法",
        1264.9: "40行中的每一行都要与每个权重相乘",
        1788.9: "40行中的每一行，都要与每个权重做一次乘法和一次加法",
        40_000: "一层有w乘以w个权重，所以要开方",
    }
    d2l.expect(answer, 200, within=0.001, foreseen=foreseen)


def ex_speed_up(speed_up):
    import random

    def close(found, expected):
        return isinstance(found, (int, float)) and abs(found - expected) < 1e-6 * expected

    wide = speed_up(5, 20, 900, 30)
    assert close(wide, 1), f"算子很大时没有好处，而得到的是{wide}"
    tiny = speed_up(5, 20, 1, 25)
    assert close(tiny, 4), f"5个很小的算子，每个20微秒，整张图25微秒，应为4，而得到的是{tiny}"
    between = speed_up(10, 20, 8, 40)
    assert close(between, 2.5), f"计算图要等设备，应为2.5，而得到的是{between}"
    lost = speed_up(1, 20, 1, 40)
    assert close(lost, 0.5), f"只有一个算子，计算图却用40微秒，应为0.5，而得到的是{lost}"
    for _ in range(50):
        N, t_q, t_c, graph_t_q = (random.randint(1, 60) for _ in range(4))
        before = max(N * t_q, N * t_c)
        after = max(graph_t_q, N * t_c)
        found = speed_up(N, t_q, t_c, graph_t_q)
        case = f"N={N}, t_q={t_q}, t_c={t_c}, graph_t_q={graph_t_q}"
        assert close(found, before / after), f"{case}：{before} / {after}，而得到的是{found}"


def ex_sharing(distinct_additions):
    def three_sums(a, b, c, d):
        return (a + b) + (c + d)

    def double_sum(a, b):
        return (a + b) + (a + b)

    def deep(x, y):
        z = y + x
        return (z + y) + (z + y) + z

    found = list(distinct_additions(three_sums, *"abcd"))
    assert found == [("a", "b"), ("c", "d"), ("(a + b)", "(c + d)")], f"三次加法：{found}"
    found = list(distinct_additions(double_sum, *"ab"))
    assert len(found) != 3, "a + b列了两次"
    assert found == [("a", "b"), ("(a + b)", "(a + b)")], f"同一个和加两次：{found}"
    found = list(distinct_additions(deep, *"xy"))
    twice = "((y + x) + y)"
    expected = [("y", "x"), ("(y + x)", "y"), (twice, twice), (f"({twice} + {twice})", "(y + x)")]
    assert found == expected, f"更深的函数：{found}"


def ex_pieces(leaky):
    cases = [-1.0, 2.0], [4.0, -6.0, 0.0], torch.randn(20).mul(8).round().tolist()
    for values in cases:
        x = torch.tensor(values)
        expected = [v if v > 0 else v / 2 for v in values]
        found = leaky(x).tolist()
        assert found == expected, f"{values}变成了{found}"
        torch.compiler.reset()
        try:
            torch.compile(leaky, backend=d2l.Graphs(), fullgraph=True)(x)
        except RuntimeError:
            raise AssertionError("结果正确，但是打断了计算图") from None
