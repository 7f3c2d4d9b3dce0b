"""Exercises of questions, made of chapters/text/questions.md by the builder: edit that."""

from d2l_local import torch as d2l


def ex_enough_images(answer):
    foreseen = {
        300 * 13.29: "ResNet-18发送的梯度少、做的乘法多，需要的图像更少",
        300 * 11_678_912 / 61_090_496: "这只算了发送的个数，没算一张图像的乘法",
        300 * 714_188_480 / 1_814_073_344: "这只算了乘法，没算发送的个数",
    }
    d2l.expect(answer, 300 / 13.29, within=0.03, foreseen=foreseen)
