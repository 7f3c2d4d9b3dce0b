"""What a container may use of the machine: its cores and its memory, not the machine's."""

from __future__ import annotations

import os

from d2l_local.machine import crowding, host
from d2l_local.machine.crowding import Crowding

import pytest

GIB = 2**30
STAT = f"anon {GIB}\ninactive_file {GIB}\ntotal_inactive_file {GIB}\n"


@pytest.fixture
def machine(monkeypatch, tmp_path):
    """Return a function that makes control groups: the file of names, then the others' content."""
    monkeypatch.setattr(host, "PROC", tmp_path / "proc")
    monkeypatch.setattr(host, "GROUPS", tmp_path / "groups")
    monkeypatch.setattr(host, "_physical_memory", lambda: (24 * GIB, 20 * GIB))
    if hasattr(os, "sched_getaffinity"):
        monkeypatch.setattr(host.os, "sched_getaffinity", lambda pid: {0, 1, 2, 3})

    def make(names, **contents):
        (tmp_path / "proc/self").mkdir(parents=True)
        (tmp_path / "proc/self/cgroup").write_text(names)
        for name, content in contents.items():
            file = tmp_path / "groups" / name
            file.parent.mkdir(parents=True, exist_ok=True)
            file.write_text(str(content))

    return make


@pytest.mark.parametrize(
    ("names", "folder"),
    [
        ("0::/\n", ""),  # In a container
        ("0::/user.slice/mine\n", "user.slice/"),  # The limit is that of a group around it
        ("4:memory:/docker/1a2b\n", "memory/"),  # Version 1: the name is the host's
        ("9:name=systemd:/\n4:memory:/mine\n0::/\n", "memory/mine/"),
    ],
)
def test_a_container_s_limit_is_the_memory(names, folder, machine):
    limit, used = ("memory.limit_in_bytes", "memory.usage_in_bytes")
    if "memory" not in names:
        limit, used = "memory.max", "memory.current"
    files = {limit: 3 * GIB, used: 2 * GIB, "memory.stat": STAT}
    machine(names, **{f"{folder}{name}": content for name, content in files.items()})
    assert host.memory() == {"total_gib": 3.0, "available_gib": 2.0}


@pytest.mark.parametrize("files", [{}, {"memory.max": "max"}, {"memory.limit_in_bytes": 2**63}])
def test_without_a_limit_the_memory_is_the_machine_s(files, machine):
    machine("0::/\n", **files, **{"memory.usage_in_bytes": GIB, "memory.stat": STAT})
    assert host.memory() == {"total_gib": 24.0, "available_gib": 20.0}


@pytest.mark.parametrize(
    ("names", "files", "cores"),
    [
        ("0::/\n", {"cpu.max": "100000 100000"}, 1),
        ("0::/a/b\n", {"a/cpu.max": "150000 100000", "a/b/cpu.max": "max 100000"}, 1),
        ("0::/\n", {"cpu.max": "20000 100000"}, 1),
        ("0::/\n", {"cpu.max": "250000 100000"}, 2),
        ("0::/\n", {"cpu.max": "max 100000"}, 4),
        ("1:cpu,cpuacct:/x\n", {"cpu/cpu.cfs_quota_us": 100000, "cpu/cpu.cfs_period_us": 50000}, 2),
        ("1:cpu:/\n", {"cpu/cpu.cfs_quota_us": -1, "cpu/cpu.cfs_period_us": 100000}, 4),
        ("", {}, 4),
    ],
)
def test_a_container_s_quota_is_its_cores(names, files, cores, machine):
    machine(names, **files)
    assert host.num_cores() == cores


def test_with_the_quota_of_a_core_claims_about_two_are_not_judged(machine, monkeypatch, capsys):
    machine("0::/\n", **{"cpu.max": "100000 100000"})
    monkeypatch.setattr(crowding, "cores_of_process", lambda: {0, 1})
    assert Crowding().excuses("two are faster than one")
    assert capsys.readouterr().out == "Not judged on a single core: two are faster than one.\n"
