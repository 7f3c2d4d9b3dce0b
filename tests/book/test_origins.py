"""What the older editions had, and where this one has it: item by item, a cell or a paragraph.

The number is that of the list of everything that the chapter's older editions said, measured or
asked. Where an item stands, its block must say it; a block that goes takes its item's test along.
"""

from __future__ import annotations

import re
from pathlib import Path

from book.builder import render
from book.builder.text import Chapter

import pytest

ROOT = Path(__file__).resolve().parents[2]
PLACES = [
    (
        5,
        "intermediate results are kept",
        "hybridize",
        "computegraph",
        "keeps both",
    ),
    (6, "three steps: define, compile, call", "hybridize", "steps", "define.*ompile.*all"),
    (7, "a program as a string, compiled and executed", "hybridize", "steps_1", r"compile\(text"),
    (8, "a compiler computes what it can in advance", "hybridize", "steps_1", r"\(3 \+ 4\)"),
    (11, "Theano, TensorFlow, Chainer, PyTorch", "hybridize", "styles", "Theano|Chainer"),
    (13, "the network 256, 128, 2", "hybridize", "layers_1", r"get_net\(256, 128\)"),
    (15, "only hybrid blocks are traced", "hybridize", "plain_1", r"PlainReLU\(nn\.Block\)"),
    (19, "what is exported is as fast", "hybridize", "export_1", "imported_gain"),
    (20, "a symbol passed to a network", "hybridize", "hybridsequential_1", r"net\(mx\.sym\.var"),
    (21, "hybrid_forward with a hidden value", "hybridize", "frozen_1", r"hidden = F\.relu"),
    (22, "F before hybridize is mxnet.ndarray", "hybridize", "loud", "mxnet.ndarray"),
    (27, "asnumpy fails on a symbol", "hybridize", "loud_2", r"x\.asnumpy"),
    (29, "a[:] = fails on a symbol", "hybridize", "loud_1", r"x\[:\] = x \+ 1"),
    (32, "c = a * b + 2, executed", "async-computation", "who_1", r"a \* b \+ 2"),
    (
        43,
        "wait each time or once",
        "async-computation",
        "loops-guess_1",
        "wait each time.*wait once",
    ),
    (44, "the sum of three times, and the maximum", "async-computation", "model", r"\\max"),
    (46, "predicting, too, holds memory", "async-computation", "predicting", "loop that predicts"),
    (
        47,
        "how fast minibatches are produced",
        "async-computation",
        "memory-rate_1",
        "minibatches a second",
    ),
    (55, "one operator uses all cores", "auto-parallelism", "all-cores_1", "all_cores"),
    (62, "nvidia-smi", "auto-parallelism", "nsys", "nvidia-smi"),
    (
        100,
        "products, copies, both: 0.5049, 2.4849, 2.7566",
        "auto-parallelism",
        "ex-hidden",
        "2.4849",
    ),
    (106, "storage as a resource", "auto-parallelism", "storage_1", "file_on_disk"),
    (108, "independent work on one device", "auto-parallelism", "one-device_1", r"run\(x1\)"),
    (109, "small operators", "auto-parallelism", "small-guess_1", "on_one_and_two"),
    (111, "Nsight", "auto-parallelism", "nsys-mxnet", "Nsight"),
    (
        112,
        "complex dependencies, timed",
        "auto-parallelism",
        "mlp-time_1",
        "one_device_step.*train_step",
    ),
]


@pytest.fixture(scope="module")
def cells():
    """The sources of all cells that a section has in its English notebooks, by section and id."""
    found: dict[tuple[str, str], list[str]] = {}
    for section in Chapter(ROOT).sections({place[2] for place in PLACES}):
        for framework in section.frameworks:
            for cell in render.notebook(section, framework, "en").cells:
                found.setdefault((section.name, cell.id), []).append(cell.source)
    return found


@pytest.mark.parametrize(("number", "item", "section", "place", "says"), PLACES)
def test_what_the_older_editions_had_has_its_place(cells, number, item, section, place, says):
    sources = cells.get((section, place), [])
    assert sources, f"{number}, {item}: {section} has no {place}"
    assert any(re.search(says, source, re.DOTALL) for source in sources), f"{number}, {item}"
