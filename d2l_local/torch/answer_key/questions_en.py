"""Exercises of questions, made of chapters/text/questions.md by the builder: edit that."""

from d2l_local import torch as d2l


def ex_enough_images(answer):
    foreseen = {
        300 * 13.29: "ResNet-18 sends fewer gradients for more products: it needs fewer images",
        300 * 11_678_912 / 61_090_496: "that counts what is sent, and not the products of an image",
        300 * 714_188_480 / 1_814_073_344: "that counts the products, and not what is sent",
    }
    d2l.expect(answer, 300 / 13.29, within=0.03, foreseen=foreseen)
