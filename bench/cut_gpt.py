"""A GPT that the processes of a group have cut, in each of three ways: to train it, or to decode.

Every way computes what one process computes, up to rounding.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from d2l_local.torch.language_model import GPT, Attention, Cache, gpt
from d2l_local.torch.transformer import step_costs

import torch
from torch import distributed as dist
from torch import nn
from torch.nn import functional as F

PIECE = 2**26  # Parameters that are updated at a time, so that little else is in float32


def cut_step(net: GPT, cut: str | None, b: int) -> Callable[[torch.Tensor], torch.Tensor]:
    """Return ``step(ids)``, which trains a `GPT` together with the other processes of the group.

    ``net`` has no biases, the same weights in every process, and is cut in place. ``ids`` has the
    shape (rows, tokens + 1) and is the same everywhere, too. The rows are computed in micro-batches
    of ``b``. Returned is their mean loss before the update, a tensor without dimensions.

    ``cut`` is "dp": a process has a part of the rows, and by ZeRO-1 a part of what the optimizer
    keeps. "tp": a part of all products and heads, and between them a part of the rows. "pp": the
    first or the second half of the blocks, by the schedule 1F1B; the second half has the head, so
    that both have the matrix of the words. None: each process trains by itself.

    By AdamW. If the weights are in bfloat16, a parameter takes 16 bytes: 2 for the weight, 2 for
    its gradient, and 12 for the optimizer, which has a weight in float32 and two averages.

    Raises ValueError for another cut, for biases, and for what cannot be divided: among "pp" more
    processes than two, heads and the rows of a micro-batch by "tp", rows by "dp" and ``b``.
    """
    if cut not in (None, "dp", "tp", "pp"):
        raise ValueError(f"there is no cut {cut!r}, but 'dp', 'tp', 'pp', and None")
    _check_no_biases(net)
    k, rank = dist.get_world_size(), dist.get_rank()
    of_all, run = set[torch.Tensor](net.parameters()), _run_rows
    if cut == "tp":
        _check_divides(k, b, "rows of a micro-batch")
        cut_blocks(net, _Gather.apply, _Scatter.apply)  # Its new weights are not ``of_all``
    elif cut == "pp":
        if k != 2:
            raise ValueError(f"a pipeline has 2 stages here, and there are {k} processes")
        _keep_stage(net, rank)
        of_all, run = {net.tokens.weight}, _run_stage
    state = _State(net, of_all, copies=k if cut == "dp" else 1)

    def step(ids: torch.Tensor) -> torch.Tensor:
        _check_divides(b * k if cut == "dp" else b, len(ids), "rows")
        rows = ids.chunk(k)[rank] if cut == "dp" else ids
        parts = rows.split(b)
        if cut == "tp":
            parts = tuple(part.chunk(k)[rank] for part in parts)
        state.grads.zero_()
        loss = run(net, parts, len(ids))
        if cut is not None:
            dist.all_reduce(loss)
            if cut != "dp":
                dist.all_reduce(state.grads[: state.of_all])
        state.update()
        return loss

    return step


def cut_costs(
    device: torch.device,
    cut: str | None,
    size: str = "774M",
    *,
    rows: int = 32,
    b: int = 8,
    tokens: int = 1024,
    vocabulary: int = 50_304,
) -> tuple[float, int, float]:
    """Return what a step of `cut_step` costs: seconds, and bytes at the peak; and a loss.

    It trains a `gpt` of a ``size`` in bfloat16 on ``rows`` random rows of ``tokens``. Seconds and
    bytes are those of `step_costs`, of the process that takes most. The loss is that after a step,
    of the same rows, by which cuts can be compared: each begins with the same weights. ValueError
    as `cut_step` and `gpt`.
    """
    gc.collect()  # So that what came before leaves its memory
    torch.manual_seed(0)
    net = gpt(size, vocabulary, tokens, bias=False, device=device).to(torch.bfloat16)
    step = cut_step(net, cut, b)
    ids = torch.randint(vocabulary, (rows, tokens + 1), device=device)
    step(ids)
    loss = step(ids).item()
    seconds, _, peak = step_costs(lambda _: step(ids), rows)
    most = torch.tensor([seconds, peak], dtype=torch.float64, device=device)
    dist.all_reduce(most, dist.ReduceOp.MAX)
    return most[0].item(), int(most[1]), loss


def cut_blocks(
    net: GPT,
    enter: Callable[[torch.Tensor], torch.Tensor],
    leave: Callable[[torch.Tensor], torch.Tensor],
) -> None:
    """Leave each process its part of the products and heads of ``net``, in new weights.

    Queries, keys, values and the perceptron's first product are cut by columns, the two products
    behind them by rows. ``enter`` makes the input of the former from what is there between the
    products, (rows, tokens, width), and ``leave`` makes that again from the partial sums of the
    latter. Raises ValueError for biases, and if the heads cannot be divided.
    """
    _check_no_biases(net)
    k, rank = dist.get_world_size(), dist.get_rank()
    blocks: Iterable[Any] = net.blocks

    def part(weight: torch.Tensor, axis: int) -> nn.Parameter:
        return nn.Parameter(weight.detach().chunk(k, axis)[rank].clone())

    for block in blocks:
        attention, up, down = block.attention, block.up, block.down
        _check_divides(k, attention.heads, "heads")
        three = attention.qkv.weight.unflatten(0, (3, -1))  # A part of each
        attention.qkv.weight = part(three, 1)
        attention.qkv.weight.data = attention.qkv.weight.data.flatten(0, 1)
        attention.out.weight = part(attention.out.weight, 1)
        block.attention = _PartOfAttention(attention, enter, leave)
        up.weight, down.weight = part(up.weight, 0), part(down.weight, 1)
        up.register_forward_pre_hook(lambda _, args: (enter(*args),))
        down.register_forward_hook(lambda *args: leave(args[-1]))


def cut_decoder(
    net: Any, rows: int, length: int
) -> tuple[Callable[[torch.Tensor], torch.Tensor], Cache]:
    """Return ``step(ids)``, a call of a `GPT` that the group's processes have cut, and its `Cache`.

    ``step`` takes the ids that follow, (rows, tokens), the same in every process, and returns
    scores of the whole vocabulary, (rows, tokens, words), as ``net(ids, cache)`` does with a cache
    for ``rows`` of ``length``, of which each process has the part of its heads. ``net`` is cut in
    place as by "tp", also its scores: a call takes two all-reduces a block, and one all-gather.
    Raises ValueError as `cut_blocks`, and if the words cannot be divided.
    """
    k, rank, words = dist.get_world_size(), dist.get_rank(), net.tokens.weight.detach()
    _check_divides(k, len(words), "words")
    cache = Cache(net, rows, length)
    cut_blocks(net, lambda x: x, _summed)
    heads = net.blocks[0].attention.heads
    cache.kept = [kept[:, :, :heads].clone() for kept in cache.kept]
    net.head.weight = nn.Parameter(words.chunk(k)[rank].clone())

    @torch.no_grad()
    def step(ids: torch.Tensor) -> torch.Tensor:
        scores = net(ids, cache)
        return _joined(scores[None]).permute(1, 2, 0, 3).flatten(2)

    return step, cache


# ---- Exchanges -----------------------------------------------------------------------------------


def _joined(x: torch.Tensor) -> torch.Tensor:
    """All processes' ``x``, one behind the other."""
    whole = x.new_empty(len(x) * dist.get_world_size(), *x.shape[1:])
    dist.all_gather_into_tensor(whole, x.contiguous())
    return whole


def _part_of_sum(x: torch.Tensor) -> torch.Tensor:
    """The sum of all processes' ``x``, of which each gets its part."""
    part = x.new_empty(len(x) // dist.get_world_size(), *x.shape[1:])
    dist.reduce_scatter_tensor(part, x.contiguous())
    return part


def _summed(x: torch.Tensor) -> torch.Tensor:
    dist.all_reduce(x)
    return x


class _Gather(torch.autograd.Function):
    """The first half of an all-reduce in two: all rows from each process's own."""

    @staticmethod
    def forward(ctx, x):
        return _joined(x)

    @staticmethod
    def backward(ctx, grad):
        return _part_of_sum(grad)


class _Scatter(torch.autograd.Function):
    """The other half: a process's own rows of the sum."""

    @staticmethod
    def forward(ctx, x):
        return _part_of_sum(x)

    @staticmethod
    def backward(ctx, grad):
        return _joined(grad)


def _swap(sent: torch.Tensor | None, like: torch.Tensor | None) -> torch.Tensor | None:
    """Send one array to the other stage and get one ``like`` another; None: that one is not.

    Both at once, since each stage sends and waits for the other: in turns they would wait forever.
    """
    other = 1 - dist.get_rank()
    received = None if like is None else torch.empty_like(like)
    both = [(dist.isend, sent), (dist.irecv, received)]
    exchanges = [dist.P2POp(which, x.contiguous(), other) for which, x in both if x is not None]
    for work in dist.batch_isend_irecv(exchanges):
        work.wait()
    return received


# ---- Parts of a network --------------------------------------------------------------------------


class _PartOfAttention(nn.Module):
    """`Attention` in some of its heads, of a whole input, to a part of the sum over all heads."""

    def __init__(self, attention: Attention, enter: Callable, leave: Callable):
        super().__init__()
        self.heads = attention.heads // dist.get_world_size()
        self.qkv, self.out = attention.qkv, attention.out
        self.enter, self.leave = enter, leave

    def forward(self, x, cache=None):
        qkv = self.qkv(self.enter(x)).unflatten(2, (3, self.heads, -1)).permute(2, 0, 3, 1, 4)
        q, k, v = qkv
        mask = None
        if cache is not None:
            kept, places, mask = cache
            k, v = kept.index_copy_(3, places, qkv[1:])
        y = F.scaled_dot_product_attention(q, k, v, mask, is_causal=cache is None)
        return self.leave(self.out(y.transpose(1, 2).flatten(2)))


def _keep_stage(net: Any, rank: int) -> None:
    """Drop what belongs to the other of two stages."""
    half = len(net.blocks) // 2
    if rank == 0:
        del net.blocks[half:]
        net.norm = nn.Identity()
    else:
        del net.blocks[:half]
        net.places = None


# ---- The passes, and the update ------------------------------------------------------------------


def _loss(hidden: torch.Tensor, net: GPT, ids: torch.Tensor) -> torch.Tensor:
    scores = F.linear(hidden, net.tokens.weight).flatten(0, 1).float()
    return F.cross_entropy(scores, ids[:, 1:].flatten())


def _run_rows(net: GPT, parts: Sequence[torch.Tensor], rows: int) -> torch.Tensor:
    """Add up the gradients of micro-batches, of so many ``rows`` in all; return their losses."""
    total = torch.zeros((), device=parts[0].device)
    for ids in parts:
        loss = _loss(net.hidden(ids[:, :-1]), net, ids) * (len(ids) / rows)
        loss.backward()
        total += loss.detach()
    return total


def _run_stage(net: GPT, parts: Sequence[torch.Tensor], rows: int) -> torch.Tensor:
    """`_run_rows` for one of two stages: one forward, one backward, each with an exchange."""
    shape = *parts[0][:, 1:].shape, net.tokens.weight.shape[1]
    like, total = net.tokens.weight.new_empty(shape), torch.zeros((), device=parts[0].device)
    last = len(parts) - 1
    if dist.get_rank() == 0:
        kept = [net.hidden(parts[0][:, :-1])]
        _swap(kept[0].detach(), None)
        for j in range(len(parts)):
            if j < last:  # Two are kept until the first gradient is here
                kept.append(net.hidden(parts[j + 1][:, :-1]))
            grad = _swap(kept[-1].detach() if j < last else None, like)
            kept.pop(0).backward(grad)
        return total
    x: Any = _swap(None, like)
    for j, ids in enumerate(parts):
        hidden = x = x.requires_grad_()
        for block in net.blocks:
            hidden = block(hidden)
        loss = _loss(net.norm(hidden), net, ids) * (len(ids) / rows)
        loss.backward()
        total += loss.detach()
        x = _swap(x.grad, like if j < last else None)
    return total


class _State:
    """Weights and gradients of a network as one vector each, and AdamW, which updates them.

    The weights ``of_all`` come first, as many numbers as ``of_all`` says then. Of ``copies``
    processes with the same weights, each updates a part: before, it gets the sum of its gradients,
    and after, all weights.
    """

    def __init__(self, net: nn.Module, of_all: set[torch.Tensor], copies: int):
        weights = sorted(net.parameters(), key=lambda weight: weight not in of_all)
        self.of_all = sum(weight.numel() for weight in weights if weight in of_all)
        self.weights = torch.cat([weight.detach().flatten() for weight in weights])
        self.grads = torch.zeros_like(self.weights)
        sizes = [weight.numel() for weight in weights]
        for weight, *parts in zip(weights, self.weights.split(sizes), self.grads.split(sizes)):
            weight.data, weight.grad = (part.view_as(weight) for part in parts)
        _check_divides(copies, len(self.weights), "parameters")
        self.copies, mine = copies, dist.get_rank() if copies > 1 else 0
        self.own, self.own_grads = (x.chunk(copies)[mine] for x in (self.weights, self.grads))
        fused = self.weights.device.type == "cuda"
        self.pieces = []
        for own, grad in zip(self.own.split(PIECE), self.own_grads.split(PIECE)):
            exact = own.float()
            trainer = torch.optim.AdamW([exact], lr=1e-4, fused=fused)
            self.pieces.append((own, grad, exact, trainer))

    def update(self) -> None:
        if self.copies > 1:
            dist.reduce_scatter_tensor(self.own_grads, self.grads)
        for own, grad, exact, trainer in self.pieces:
            exact.grad = grad.float()
            trainer.step()
            exact.grad = None
            own.copy_(exact)
        if self.copies > 1:
            dist.all_gather_into_tensor(self.weights, self.own)


def _check_no_biases(net: Any) -> None:
    if any(block.up.bias is not None for block in net.blocks):
        raise ValueError("cut a network without biases: their sums would have them k times")


def _check_divides(part: int, whole: int, what: str) -> None:
    if whole % part:
        raise ValueError(f"{whole} {what} cannot be divided by {part}")
