"""Exercises of combining-cuts, made of chapters/text/combining-cuts.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["torch"]
translated = catalog(__file__)


def ex_combine_batch(answer, *, d2l):
    foreseen = {
        8: translated("that is the choice for 64 sequences: ask the planner again"),
        16: translated("that group would leave the machine"),
        1: translated("then the activations do not fit"),
    }
    d2l.expect(answer, 4, within=0.001, foreseen=foreseen)


def ex_combine_zero(seconds, *, d2l):
    t_x, t_c = 6 * 175e9 / 25e9, 8 * 175e9 * 2048 / (0.51 * 312e12)
    foreseen = {
        t_c: translated("that is the computation; the exchange takes longer"),
        t_x + t_c: translated("that is the sum, the most it takes"),
        t_x / 3: translated("the weights are gathered twice, and the gradients are sent, too"),
    }
    d2l.expect(seconds, t_x, within=0.02, foreseen=foreseen)


def ex_combine_hide(answer, *, d2l):
    backward = 2 / 3 * 0.938
    foreseen = {
        25.18 - 1.72: translated("that hides all: is there enough backward pass to hide it behind?"),
        25.18 - 0.938: translated("in the forward pass of the last micro-batch no gradient is complete"),
        25.18 - 0.938 / 2: translated("the backward pass takes longer than the forward pass"),
        25.18 - 0.938 / 3: translated("gradients come in the backward pass, which is the longer one"),
        25.18: translated("that hides nothing"),
        backward: translated("that is what is hidden, not what the step takes"),
    }
    d2l.expect(answer, 25.18 - backward, within=0.003, foreseen=foreseen)
