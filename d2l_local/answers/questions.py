"""Exercises of questions, made of chapters/text/questions.md by the builder: edit that."""

from d2l_local.base.language import catalog

BACKENDS = ["mxnet", "torch"]
translated = catalog(__file__)


def ex_verdicts(verdicts, *, d2l):
    text = str(verdicts).upper()
    assert len(text) == 6 and set(text) <= set("RCW"), translated("write six letters, each R, C or W")
    assert "W" not in text, translated("none is wrong: under which condition does it hold?")
    assert text[2:4] == "RR", translated("3 and 4 need no condition: which one did you have in mind?")
    assert text[:2] == "CC", (
        translated("1 or 2 needs a condition: think of micro-batches, or of hidden exchange")
    )
    assert text[4:] == "CC", translated("5 or 6 needs a condition: which mix, and where, raises no error?")


def ex_enough_images(answer, *, d2l):
    foreseen = {
        300 * 13.29: translated("ResNet-18 sends fewer gradients for more products: it needs fewer images"),
        300 * 11_678_912 / 61_090_496: translated("that counts what is sent, and not the products of an image"),
        300 * 714_188_480 / 1_814_073_344: translated("that counts the products, and not what is sent"),
    }
    d2l.expect(answer, 300 / 13.29, within=0.03, foreseen=foreseen)
