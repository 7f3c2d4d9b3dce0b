"""Exercises of questions, made of chapters/text/questions.md by the builder: edit that."""

from d2l_local import mxnet as d2l


def ex_verdicts(verdicts):
    text = str(verdicts).upper()
    assert len(text) == 6 and set(text) <= set("RCW"), "要写六个字母，每个是R、C或W"
    assert "W" not in text, "没有一个是错的：它在什么条件下成立？"
    assert text[2:4] == "RR", "3和4不需要条件：你想到的是哪个条件？"
    assert text[:2] == "CC", (
        "1或2需要条件：想想微批量，或者被掩盖的交换"
    )
    assert text[4:] == "CC", "5或6需要条件：哪种混用不报错？在哪里不报错？"


def ex_enough_images(answer):
    foreseen = {
        300 * 13.29: "ResNet-18发送的梯度少、做的乘法多，需要的图像更少",
        300 * 11_678_912 / 61_090_496: "这只算了发送的个数，没算一张图像的乘法",
        300 * 714_188_480 / 1_814_073_344: "这只算了乘法，没算发送的个数",
    }
    d2l.expect(answer, 300 / 13.29, within=0.03, foreseen=foreseen)
