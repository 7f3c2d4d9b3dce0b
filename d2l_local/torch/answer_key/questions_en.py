"""Exercises of questions, made of chapters/text/questions.md by the builder: edit that."""

from d2l_local import torch as d2l


def ex_verdicts(verdicts):
    text = str(verdicts).upper()
    assert len(text) == 6 and set(text) <= set("RCW"), "write six letters, each R, C or W"
    assert "W" not in text, "none is wrong: under which condition does it hold?"
    assert text[2:4] == "RR", "3 and 4 need no condition: which one did you have in mind?"
    assert text[:2] == "CC", (
        "1 or 2 needs a condition: think of micro-batches, or of hidden exchange"
    )
    assert text[4:] == "CC", "5 or 6 needs a condition: which mix, and where, raises no error?"


def ex_enough_images(answer):
    foreseen = {
        300 * 13.29: "ResNet-18 sends fewer gradients for more products: it needs fewer images",
        300 * 11_678_912 / 61_090_496: "that counts what is sent, and not the products of an image",
        300 * 714_188_480 / 1_814_073_344: "that counts the products, and not what is sent",
    }
    d2l.expect(answer, 300 / 13.29, within=0.03, foreseen=foreseen)
