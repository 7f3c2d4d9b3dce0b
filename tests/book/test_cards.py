"""What cells for a GPU choose on cards that are not at hand: size of a network, format, rungs."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from book.builder import render
from book.builder.notebook import code_cells

import pytest
from this_chapter import CHAPTER

CARDS = {  # Compute capability and free bytes
    "T4": ((7, 5), 15e9),
    "A100 40 GB": ((8, 0), 40e9),
    "RTX 3090": ((8, 6), 24e9),
    "H200": ((9, 0), 140e9),
}


def executed(section: str, cell: str, card: str, **names: Any) -> dict[str, Any]:
    """The names that a cell of the PyTorch edition leaves on a pretended card."""
    capability, free = CARDS[card]
    cuda = SimpleNamespace(
        get_device_capability=lambda device: capability, mem_get_info=lambda device: (free, free)
    )
    torch = SimpleNamespace(
        cuda=cuda,
        bfloat16="bfloat16",
        float16="float16",
        float32="float32",
        formats=[],
    )
    torch.set_default_dtype = torch.formats.append
    known = {"torch": torch, "device": SimpleNamespace(type="cuda"), "on_gpu": True, **names}
    notebook = render.notebook(CHAPTER.sections([section])[0], "pytorch", "en")
    [source] = [c.source for c in code_cells(notebook) if c.id == cell]
    exec(source, known)
    return known


@pytest.mark.parametrize(
    ("card", "size", "rungs"),
    [("T4", "tiny", 2), ("A100 40 GB", "124M", 9), ("RTX 3090", "124M", 9), ("H200", "774M", 9)],
)
def test_the_ladder_s_network_and_rungs(card, size, rungs):
    got = executed("gpt", "ladder-pytorch_1", card, characters="ab")
    assert (got["size"], len(got["rungs"])) == (size, rungs)


@pytest.mark.parametrize(
    ("card", "size", "dtype"),
    [
        ("T4", "124M", "float16"),
        ("A100 40 GB", "774M", "bfloat16"),
        ("RTX 3090", "774M", "bfloat16"),
        ("H200", "6.7B", "bfloat16"),
    ],
)
def test_the_network_that_serves(card, size, dtype):
    asked: list[str] = []
    weight = SimpleNamespace(shape=(50304, 4096), element_size=lambda: 2)
    net = SimpleNamespace(tokens=SimpleNamespace(weight=weight), blocks=[None] * 32)

    def gpt(size, context, device):
        asked.append(size)
        return net

    got = executed("serving", "intro_2", card, d2l=SimpleNamespace(gpt=gpt))
    assert asked == [size] and got["torch"].formats == [dtype, "float32"]


@pytest.mark.parametrize("card", ["T4", "A100 40 GB", "RTX 3090"])
def test_fp8_is_left_out_without_its_units(card):
    d2l = SimpleNamespace(has_gpus=lambda count: True)
    assert "fp8_times" not in executed("kernels", "fp8-time_1", card, d2l=d2l)
