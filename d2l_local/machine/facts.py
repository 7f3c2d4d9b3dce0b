"""The machine as data, to be written beside what it measured; as words only where it is shown."""

from __future__ import annotations

import platform
from collections import Counter
from typing import Any

from d2l_local.machine import host, nvidia


def facts() -> dict[str, Any]:
    """Return this machine's cores, architecture, SIMD, memory and GPUs, ready for JSON.

    ``{"cores": 2, "architecture": "x86-64", "simd": "AVX-512", "memory_gib": 24, "gpus": [{"name":
    "NVIDIA H200", "count": 2}]}``, less what there is not; GPUs as far as a program may see them.
    """
    flags = host.cpu_flags()
    simd = [name for flag, name in [("avx512f", "AVX-512"), ("avx2", "AVX2")] if flag in flags]
    gpus = Counter(gpu.name for gpu in nvidia.installed_gpus())
    found = {
        "cores": host.num_cores(),
        "architecture": platform.machine().replace("_", "-"),
        "simd": simd[0] if simd else None,
        "memory_gib": round(host.memory()["total_gib"] or 0),
        "gpus": [{"name": name, "count": count} for name, count in gpus.items()],
    }
    return {key: value for key, value in found.items() if value}


def num_gpus(machine: dict[str, Any]) -> int:
    """Return how many GPUs a machine has, given its facts."""
    return sum(gpu["count"] for gpu in machine.get("gpus", []))


def in_words(
    machine: dict[str, Any], cores: str = "{cores}-core {architecture}", comma: str = ", "
) -> str:
    """Return a machine's facts as a reader sees them: 2-core x86-64, AVX-512, 24 GiB.

    ``cores`` is the form of the first words and ``comma`` what stands between two parts.
    """
    parts = [cores.format(**machine)]
    parts += [machine["simd"]] if "simd" in machine else []
    parts += [f"{machine['memory_gib']} GiB"] if "memory_gib" in machine else []
    parts += [f"{gpu['count']}× {gpu['name']}" for gpu in machine.get("gpus", [])]
    return comma.join(parts)
