"""The training step of a transformer in several processes, replicated or sharded."""

from __future__ import annotations

import statistics
from collections.abc import Callable

from d2l_local.measure import timing
from d2l_local.torch.device import num_gpus, synchronize

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.checkpoint import checkpoint

TOKENS = 1024  # A row


def transformer_step(
    device: torch.device,
    sharded: bool,
    *,
    layers: int = 24,
    width: int = 1536,
    words: int = 32_000,
    recompute: bool = False,
) -> tuple[Callable[[int], None], int]:
    """Return ``step(rows)``, which trains a new transformer, and how many parameters it has.

    It is like GPT, for a process of a group, on a ``device`` of its own, and learns ``rows`` random
    rows of 1,024 tokens by AdamW. Matrix products are in bfloat16, weights, gradients' sums and
    averages in float32. With DistributedDataParallel every process has the whole network; if
    ``sharded``, `fully_shard` divides it, a block at a time. ``recompute``: blocks keep only their
    inputs, and are computed anew in backpropagation. The default sizes make 778 million parameters.
    """
    torch.manual_seed(0)
    transformer = _Transformer(layers, width, words, recompute).to(device)
    count = sum(parameter.numel() for parameter in transformer.parameters())
    net: nn.Module = transformer
    if sharded:
        _shard(transformer)
    else:
        net = nn.parallel.DistributedDataParallel(transformer, gradient_as_bucket_view=True)
    trainer = torch.optim.AdamW(net.parameters(), lr=1e-4, fused=device.type == "cuda")

    def step(rows: int) -> None:
        tokens = torch.randint(0, words, (rows, TOKENS), device=device)
        # Sharded, the policy says what is in 16 bits; autocast would gather 32
        with torch.autocast(device.type, torch.bfloat16, enabled=not sharded):
            scores = net(tokens).float()
            loss = F.cross_entropy(scores.flatten(0, 1), tokens.flatten())
        loss.backward()
        trainer.step()
        trainer.zero_grad()

    return step, count


def step_costs(
    step: Callable[[int], object], rows: int, repeats: int = 5
) -> tuple[float, float, int]:
    """Return what ``step(rows)`` costs: seconds, seconds of Python, and bytes at its peak.

    Medians of ``repeats`` steps, after untimed ones; Python's seconds are those until it has issued
    the step, its waits included. The bytes are those of all arrays on the process's GPU, as its
    allocator counts them: 0 without a GPU. ValueError unless ``repeats`` is positive.
    """
    step(rows)  # The first makes what the optimizer keeps
    synchronize()
    if num_gpus():
        torch.cuda.reset_peak_memory_stats()
    times = timing.measure(lambda: step(rows), repeats, synchronize=synchronize)
    python = statistics.median(times.issued)
    return times.median, python, torch.cuda.max_memory_allocated() if num_gpus() else 0


def _shard(net: _Transformer) -> None:
    from torch.distributed.fsdp import MixedPrecisionPolicy, fully_shard

    policy = MixedPrecisionPolicy(param_dtype=torch.bfloat16, reduce_dtype=torch.float32)
    for block in net.blocks:
        fully_shard(block, mp_policy=policy)
    fully_shard(net, mp_policy=policy)


class _Transformer(nn.Module):
    def __init__(self, layers: int, width: int, words: int, recompute: bool) -> None:
        super().__init__()
        self.embedding = nn.Embedding(words, width)
        self.blocks = nn.ModuleList(_Block(width) for _ in range(layers))
        self.scores = nn.Linear(width, words, bias=False)
        self.recompute = recompute

    def forward(self, tokens):
        x = self.embedding(tokens)
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if self.recompute else block(x)
        return self.scores(x)


class _Block(nn.Module):
    """Attention and a perceptron, each behind a normalization and beside a shortcut."""

    def __init__(self, width: int, head: int = 96) -> None:
        super().__init__()
        self.heads = max(1, width // head)
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.queries_keys_values = nn.Linear(width, 3 * width)
        self.projection = nn.Linear(width, width)
        self.perceptron = nn.Sequential(
            nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width)
        )

    def forward(self, x):
        qkv = self.queries_keys_values(self.norms[0](x)).unflatten(2, (3, self.heads, -1))
        queries, keys, values = qkv.permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(queries, keys, values, is_causal=True)
        x = x + self.projection(attended.transpose(1, 2).flatten(2))
        return x + self.perceptron(self.norms[1](x))
