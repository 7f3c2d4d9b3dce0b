"""Exercises of combining-cuts, made of chapters/text/combining-cuts.md by the builder: edit that."""

from d2l_local import torch as d2l


def ex_combine_batch(answer):
    foreseen = {
        8: "这是64个序列时的选择：再问一次规划器",
        16: "这样的组要跨越机器",
        1: "这样激活放不下",
    }
    d2l.expect(answer, 4, within=0.001, foreseen=foreseen)


def ex_combine_zero(seconds):
    t_x, t_c = 6 * 175e9 / 25e9, 8 * 175e9 * 2048 / (0.51 * 312e12)
    foreseen = {
        t_c: "这是计算；交换更久",
        t_x + t_c: "这是和，也就是最长的用时",
        t_x / 3: "权重要收集两次，梯度也要发送",
    }
    d2l.expect(seconds, t_x, within=0.02, foreseen=foreseen)


def ex_combine_hide(answer):
    backward = 2 / 3 * 0.924
    foreseen = {
        24.83 - 1.72: "这是全部掩盖：反向传播有那么长吗？",
        24.83 - 0.924: "最后一个微批次做前向传播时，还没有一个梯度算齐",
        24.83 - 0.924 / 2: "反向传播比前向传播长",
        24.83 - 0.924 / 3: "梯度出自反向传播，它才是较长的一段",
        24.83: "这是什么都没有掩盖",
        backward: "这是掩盖掉的时间，不是一步的用时",
    }
    d2l.expect(answer, 24.83 - backward, within=0.003, foreseen=foreseen)
