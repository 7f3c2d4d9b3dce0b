"""The compiler behind `torch.compile`: whether it works here, and what it is asked to compile."""

from __future__ import annotations

import logging
import warnings
from collections.abc import Callable

from d2l_local.base.language import say

import torch


class Graphs:
    """A back end for `torch.compile` that keeps the operators of every graph, and compiles nothing.

    ``torch.compile(fn, backend=graphs)`` calls it with each new graph, which then runs as it is.
    ``operators`` lists the operators' names, a list for each graph, in the order of compilation:
    ``"add"`` for ``+``, ``"linear"`` for a layer, ``"add_"`` for a method that works in place.
    """

    operators: list[list[str]]

    def __init__(self) -> None:
        self.operators = []

    def __call__(self, graph: torch.fx.GraphModule, example_inputs: list) -> Callable:
        called = [node.target for node in graph.graph.nodes if node.op.startswith("call")]
        self.operators.append([getattr(target, "__name__", str(target)) for target in called])
        return graph.forward


def working_backend(device: torch.device) -> str:
    """The name of a back end that compiles for ``device`` here, for ``torch.compile(backend=…)``.

    It is ``"inductor"``, PyTorch's own, where the tools are there that it needs, a C++ compiler or
    Triton. Else it is ``"aot_eager"``, which makes the same graphs and runs them operator by
    operator, and a line says why. Inductor then compiles in this process, without helpers, and
    neither it nor TorchDynamo gives advice: on breaks of the graph, or less precise products.
    """
    torch._inductor.config.compile_threads = 1  # Helpers would stay, and take cores from timings
    torch._logging.set_logs(dynamo=logging.ERROR)
    warnings.filterwarnings("ignore", "TensorFloat32|dynamo_pgo")
    logging.getLogger("torch.utils._sympy").setLevel(logging.ERROR)
    try:
        torch.compile(lambda x: x + 1)(torch.ones(2, device=device))
    except RuntimeError as error:
        why = str(error).splitlines()[0]
        say("No working compiler, so nothing gets faster: {why}", why=why)
        return "aot_eager"
    finally:
        torch.compiler.reset()
    return "inductor"
