"""A small GPT, which the sections from *gpt* on train, and serve.

The notebooks show these classes; ``tests/book/test_shown.py`` holds the two to each other.
"""

from __future__ import annotations

from itertools import repeat

from d2l_local.data.text import load_text
from d2l_local.data.weights import load_weights

import torch
from torch import nn
from torch.nn import functional as F

SIZES = {  # Width, layers, heads
    "tiny": (256, 4, 4),
    "124M": (768, 12, 12),
    "774M": (1280, 36, 20),
    "6.7B": (4096, 32, 32),
}


class Attention(nn.Module):
    """Each token attends to itself and to those before it, in several heads.

    Maps (rows, tokens, width) to the same shape. ``heads`` must divide ``width``.
    """

    def __init__(self, width, heads, bias=True):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias)
        self.out = nn.Linear(width, width, bias)

    def forward(self, x, cache=None):
        rows, tokens, width = x.shape
        qkv = self.qkv(x).view(rows, tokens, 3, self.heads, width // self.heads)
        qkv = qkv.permute(2, 0, 3, 1, 4)  # Three times: rows, heads, tokens, numbers of a head
        q, k, v = qkv
        mask = None
        if cache is not None:
            kept, places, mask = cache
            k, v = kept.index_copy_(3, places, qkv[1:])
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=cache is None)
        return self.out(y.transpose(1, 2).reshape(rows, tokens, width))


class GroupedAttention(Attention):
    """`Attention` in which several heads share one key and one value (grouped-query attention).

    ``kv_heads`` of them are kept; they must divide ``heads``.
    """

    def __init__(self, width, heads, kv_heads, bias=True):
        nn.Module.__init__(self)
        self.heads, self.kv_heads, self.size = heads, kv_heads, width // heads
        self.qkv = nn.Linear(width, (heads + 2 * kv_heads) * self.size, bias)
        self.out = nn.Linear(width, width, bias)

    def forward(self, x, cache=None):
        rows, tokens, width = x.shape
        group = self.heads // self.kv_heads
        qkv = self.qkv(x).view(rows, tokens, -1, self.size).transpose(1, 2)
        q, kv = qkv.split([self.heads, 2 * self.kv_heads], 1)
        k, v = kv = kv.unflatten(1, (2, self.kv_heads)).transpose(0, 1)  # As a cache has them
        if cache is None:
            mask = torch.ones(tokens, tokens, dtype=torch.bool, device=x.device).tril()
        else:
            kept, places, mask = cache
            k, v = kept.index_copy_(3, places, kv)
        # The heads of a group are further queries of one head, so that no key is copied for them
        q = q.reshape(rows, self.kv_heads, group * tokens, self.size)
        y = F.scaled_dot_product_attention(q, k, v, mask.repeat(group, 1))
        y = y.reshape(rows, self.heads, tokens, self.size)
        return self.out(y.transpose(1, 2).reshape(rows, tokens, width))


class Block(nn.Module):
    """Attention, and a perceptron four times as wide, each normalized before and added."""

    def __init__(self, width, heads, bias=True):
        super().__init__()
        self.norm1 = nn.LayerNorm(width, bias=bias)
        self.attention = Attention(width, heads, bias)
        self.norm2 = nn.LayerNorm(width, bias=bias)
        self.up = nn.Linear(width, 4 * width, bias)
        self.down = nn.Linear(4 * width, width, bias)

    def forward(self, x, cache=None):
        x = x + self.attention(self.norm1(x), cache)
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class GPT(nn.Module):
    """For each token of (rows, tokens), a score of every word of the vocabulary as the next one.

    ``context`` is the largest number of tokens in a row. With a `Cache`, ``ids`` go on after the
    tokens that it holds.
    """

    def __init__(self, vocabulary, width, layers, heads, context, bias=True):
        super().__init__()
        self.tokens = nn.Embedding(vocabulary, width)
        self.places = nn.Embedding(context, width)
        self.blocks = nn.ModuleList(Block(width, heads, bias) for _ in range(layers))
        self.norm = nn.LayerNorm(width, bias=bias)
        self.head = nn.Linear(width, vocabulary, bias=False)
        self.head.weight = self.tokens.weight  # One matrix for both
        for weight in self.parameters():
            if weight.dim() == 2:
                nn.init.normal_(weight, std=0.02)

    def hidden(self, ids, cache=None):
        places, kept = torch.arange(ids.shape[1], device=ids.device), repeat(None)
        if cache is not None:
            places, kept = cache.next(ids.shape[1])
        x = self.tokens(ids) + self.places(places)
        for block, of_block in zip(self.blocks, kept):
            x = block(x, of_block)
        return self.norm(x)

    def forward(self, ids, cache=None):
        return self.head(self.hidden(ids, cache))


class Cache:
    """Keys and values of the tokens so far, for ``rows`` rows of at most ``length`` tokens.

    All arrays have their size from the beginning, and ``used`` lies on the device, so that a CUDA
    graph can take another token with every replay.
    """

    def __init__(self, net, rows, length):
        weight, attention = net.tokens.weight, net.blocks[0].attention
        kept = getattr(attention, "kv_heads", attention.heads)
        shape = 2, rows, kept, length, weight.shape[1] // attention.heads
        self.kept = [weight.new_zeros(shape) for _ in net.blocks]
        self.used = torch.zeros((), dtype=torch.long, device=weight.device)
        self.all_places = torch.arange(length, device=weight.device)

    def next(self, tokens):
        """Return the places of the next ``tokens``, and what each block needs of the cache."""
        places = self.used + self.all_places[:tokens]
        mask = self.all_places <= places[:, None]  # A token sees those up to itself
        self.used += tokens
        return places, [(kept, places, mask) for kept in self.kept]

    def keep(self, tokens):
        """Forget all but the first ``tokens``."""
        self.used.fill_(tokens)


def gpt(
    size, vocabulary=50_304, context=1024, *, heads=None, kv_heads=None, bias=True, device=None
):
    """Return a new `GPT` of a ``size``: "tiny", "124M", "774M" or "6.7B", with random weights.

    The sizes' widths, layers and heads are those of GPT-2 (Radford et al., 2019) and of the largest
    but one of GPT-3 (Brown et al., 2020); ``heads`` asks for another number, and ``kv_heads`` for
    keys and values that heads share, so many in a layer. Raises ValueError for another size, and
    where ``kv_heads`` do not divide the heads.
    """
    if size not in SIZES:
        raise ValueError(f"there is no size {size!r}, but {', '.join(SIZES)}")
    width, layers, usual_heads = SIZES[size]
    heads = heads or usual_heads
    if kv_heads and heads % kv_heads:
        raise ValueError(f"{kv_heads} keys and values cannot be shared evenly by {heads} heads")
    with torch.device(device or "cpu"):
        net = GPT(vocabulary, width, layers, heads, context, bias)
        if kv_heads:
            for block in net.blocks:
                block.attention = GroupedAttention(width, heads, kv_heads, bias)
                nn.init.normal_(block.attention.qkv.weight, std=0.02)
                nn.init.normal_(block.attention.out.weight, std=0.02)
        return net


def trained_gpt(device=None):
    """Return the tiny `GPT`, trained on the characters of `load_text`, for rows of 256 tokens.

    The ids of characters are their places in ``sorted(set(load_text()))``.
    """
    arrays = load_weights()
    net = gpt("tiny", len(set(load_text())), len(arrays["places.weight"]), device=device)
    state = {name: torch.from_numpy(array) for name, array in arrays.items()}
    net.load_state_dict({**state, "head.weight": state["tokens.weight"]})
    return net
