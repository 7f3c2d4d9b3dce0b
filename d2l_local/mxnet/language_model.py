"""The small GPT of PyTorch's sections, in MXNet: it scores texts, and has a block to be cut."""

from __future__ import annotations

from d2l_local.data.text import load_text
from d2l_local.data.weights import load_weights

from mxnet import init, nd
from mxnet.gluon import nn

SIZES = {  # Width, layers, heads
    "tiny": (256, 4, 4),
    "124M": (768, 12, 12),
}


class Attention(nn.Block):
    """Each token attends to itself and to those before it, in several heads.

    Maps (rows, tokens, width) to the same shape. ``heads`` must divide ``width``.
    """

    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Dense(3 * width, flatten=False, in_units=width)
        self.out = nn.Dense(width, flatten=False, in_units=width)

    def forward(self, x):
        rows, tokens, width = x.shape
        each = width // self.heads
        qkv = self.qkv(x).reshape((rows, tokens, 3, self.heads, each)).transpose((2, 0, 3, 1, 4))
        q, k, v = qkv.reshape((3, rows * self.heads, tokens, each))
        places = nd.arange(tokens, ctx=x.context)
        later = places > places.expand_dims(1)  # A token sees those up to itself
        scores = nd.batch_dot(q, k, transpose_b=True) / each**0.5
        scores = nd.broadcast_add(scores, -1e9 * later.expand_dims(0))
        attended = nd.batch_dot(nd.softmax(scores), v)
        attended = attended.reshape((rows, self.heads, tokens, each)).transpose((0, 2, 1, 3))
        return self.out(attended.reshape((rows, tokens, width)))


class Block(nn.Block):
    """Attention, and a perceptron four times as wide, each normalized before and added."""

    def __init__(self, width, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(in_channels=width), nn.LayerNorm(in_channels=width)
        self.attention = Attention(width, heads)
        self.up = nn.Dense(4 * width, flatten=False, in_units=width)
        self.gelu = nn.GELU()
        self.down = nn.Dense(width, flatten=False, in_units=4 * width)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(self.gelu(self.up(self.norm2(x))))


class GPT(nn.Block):
    """For each token of (rows, tokens), a score of every word of the vocabulary as the next one.

    ``context`` is the largest number of tokens in a row.
    """

    def __init__(self, vocabulary, width, layers, heads, context):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.Sequential()
        self.blocks.add(*[Block(width, heads) for _ in range(layers)])
        self.norm = nn.LayerNorm(in_channels=width)

    def forward(self, ids):
        words = self.tokens.weight.data(ids.context)  # One matrix for both
        places = nd.slice_axis(
            self.places.weight.data(ids.context), axis=0, begin=0, end=ids.shape[1]
        )
        x = nd.broadcast_add(self.tokens(ids), places.expand_dims(0))
        x = self.norm(self.blocks(x))
        return nd.FullyConnected(x, words, no_bias=True, num_hidden=len(words), flatten=False)


def gpt(size, vocabulary=50_304, context=1024, *, device=None):
    """Return a new `GPT` of a ``size``, "tiny" or "124M", with random weights, on a device.

    The sizes' widths, layers and heads are those of GPT-2 (Radford et al., 2019). Raises ValueError
    for another size.
    """
    if size not in SIZES:
        raise ValueError(f"there is no size {size!r}, but {', '.join(SIZES)}")
    net = GPT(vocabulary, *SIZES[size], context)
    net.initialize(init.Normal(0.02), ctx=device)
    return net


def trained_gpt(device=None):
    """Return the tiny `GPT`, trained on the characters of `load_text`, for rows of 256 tokens.

    The ids of characters are their places in ``sorted(set(load_text()))``.
    """
    arrays = load_weights()
    net = gpt("tiny", len(set(load_text())), len(arrays["places.weight"]), device=device)
    norm = {"gamma": "weight", "beta": "bias"}
    for name, parameter in net._collect_params_with_prefix().items():
        *path, last = name.split(".")
        parameter.set_data(nd.array(arrays[".".join([*path, norm.get(last, last)])]))
    return net
