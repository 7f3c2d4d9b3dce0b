"""A transformer block for both kinds of array, which d2l 1.0.3 has for ``mx.np`` arrays alone."""

from __future__ import annotations

from mxnet.gluon import nn


class TransformerBlock(nn.HybridBlock):
    """Self-attention and an MLP four times as wide, each after layer normalization and added.

    Maps (length, batch, width) to the same shape. ``heads`` must divide ``width``. There is no mask
    and no dropout; the MLP's activation is GELU.
    """

    def __init__(self, width: int, heads: int, **kwargs: object) -> None:
        super().__init__(**kwargs)
        if width % heads:
            raise ValueError(f"{heads} heads cannot share a width of {width}")
        self._heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(), nn.LayerNorm()
        self.qkv = nn.Dense(3 * width, flatten=False)
        self.out = nn.Dense(width, flatten=False)
        self.up = nn.Dense(4 * width, flatten=False)
        self.gelu = nn.GELU()
        self.down = nn.Dense(width, flatten=False)

    def hybrid_forward(self, F, X):
        qkv = self.qkv(self.norm1(X))
        scores = F.contrib.interleaved_matmul_selfatt_qk(qkv, heads=self._heads)
        weights = F.softmax(scores)
        values = F.contrib.interleaved_matmul_selfatt_valatt(qkv, weights, heads=self._heads)
        X = X + self.out(values)
        return X + self.down(self.gelu(self.up(self.norm2(X))))
