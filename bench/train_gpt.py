"""Train the network that the package holds, and write its weights.

    python bench/train_gpt.py [STEPS]

It learns the first 90,000 characters of `d2l.load_text`, until the last 10,000 are predicted no
better, for 1,500 steps at most, and keeps the weights that predict these best, as float16. What is
printed: the mean loss per character, in nats, on the last 10,000.
"""

from __future__ import annotations

import math
import sys
from collections import Counter

from d2l_local import torch as d2l
from d2l_local.data import weights

import numpy as np
import torch
from torch.nn import functional as F

CONTEXT, ROWS, EVERY = 256, 8, 50
PATIENCE = 4  # Evaluations without a better loss


def pair_loss(train: list[int], test: list[int], words: int) -> float:
    """Return the mean loss on ``test`` of a table of letter pairs counted in ``train``.

    Every pair counts as seen a tenth more, so that none is impossible.
    """
    pairs, firsts = Counter(zip(train, train[1:])), Counter(train[:-1])
    chances = ((pairs[a, b] + 0.1) / (firsts[a] + 0.1 * words) for a, b in zip(test, test[1:]))
    return -sum(map(math.log, chances)) / (len(test) - 1)


@torch.no_grad()
def test_loss(net: torch.nn.Module, test: torch.Tensor) -> float:
    """Return the mean loss on rows of `CONTEXT` tokens of ``test``."""
    rows = test[: len(test) // (CONTEXT + 1) * (CONTEXT + 1)].view(-1, CONTEXT + 1)
    return F.cross_entropy(net(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten()).item()


def main(steps: int) -> None:
    torch.manual_seed(0)
    device, text = d2l.try_gpu(), d2l.load_text()
    number = {character: i for i, character in enumerate(sorted(set(text)))}
    ids = torch.tensor([number[character] for character in text])
    print(
        f"letter pairs {pair_loss(ids[:90_000].tolist(), ids[90_000:].tolist(), len(number)):.3f}"
    )
    train, test = ids[:90_000].to(device), ids[90_000:].to(device)
    net = d2l.gpt("tiny", len(number), CONTEXT, device=device)
    trainer = torch.optim.AdamW(net.parameters(), lr=1e-3, betas=(0.9, 0.95), weight_decay=0.3)
    best, since, kept = math.inf, 0, {}
    for step in range(steps):
        for group in trainer.param_groups:
            group["lr"] = 1e-3 * min(1, (step + 1) / 20)
        first = torch.randint(len(train) - CONTEXT, (ROWS, 1), device=device)
        rows = train[first + torch.arange(CONTEXT + 1, device=device)]
        loss = F.cross_entropy(net(rows[:, :-1]).flatten(0, 1), rows[:, 1:].flatten())
        trainer.zero_grad()
        loss.backward()
        trainer.step()
        if (step + 1) % EVERY == 0:
            now, since = test_loss(net, test), since + 1
            print(f"step {step + 1}: train {loss.item():.3f}, test {now:.3f}", flush=True)
            if now < best:
                best, since = now, 0
                kept = {
                    name: array.half().cpu().numpy() for name, array in net.state_dict().items()
                }
            elif since == PATIENCE:
                break
    kept.pop("head.weight")  # It is the one of `tokens`
    np.savez(weights.FILE, **kept)
    print(f"kept {best:.3f}: {weights.FILE}, {weights.FILE.stat().st_size / 1e6:.1f} MB")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1500)
