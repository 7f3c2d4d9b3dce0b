"""Which devices there are, on machines with made-up GPUs too, and what the banner says of them."""

from __future__ import annotations

import ctypes
import platform
import warnings

from helpers import needs

needs("mxnet")

from d2l_local.prepare_mxnet import engine

import numpy as np
import pytest

with warnings.catch_warnings():
    # Another test module may have imported MXNet first: of no matter here, where nothing computes.
    warnings.simplefilter("ignore", RuntimeWarning)
    engine.load()

from d2l_local.mxnet import device as d

import mxnet as mx

pytestmark = [pytest.mark.timeout(120), pytest.mark.usefixtures("machine")]

ask_driver = d.installed_gpus.__wrapped__  # The function without its cache
T4 = d.GPU(0, "Tesla T4", (7, 5))
L4 = d.GPU(1, "NVIDIA L4", (8, 9))
H200 = d.GPU(0, "NVIDIA H200", (9, 0))
K80 = d.GPU(0, "Tesla K80", (3, 7))


@pytest.fixture
def machine(monkeypatch):
    """Return a function that makes up the GPUs, whether MXNet's build is for them, and the cores.

    At first: the CPU build, no GPU and 8 cores, of x86-64: for ARM there is no build for GPUs.
    """

    def make(*gpus, gpu_build=True, cores=8):
        monkeypatch.setattr(d, "installed_gpus", lambda: gpus)
        monkeypatch.setattr(d, "gpu_build", lambda: gpu_build)
        monkeypatch.setattr(d, "num_cores", lambda: cores)

    monkeypatch.setattr(platform, "machine", lambda: "x86_64")
    report = engine.Report()
    for name in ("MXNet", "threads", "BLAS kernel", "scratch copies"):
        report.add(name, 1, "made up")
    monkeypatch.setattr(engine, "_report", report)
    monkeypatch.setattr(d, "_most_cpus", 0)
    make(gpu_build=False)
    return make


@pytest.fixture(autouse=True)
def no_warning():
    """Let a warning that a test does not expect fail it."""
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        yield


# --- CPU devices ----------------------------------------------------------------------------------


@pytest.mark.parametrize("n", [1, 2, 5, np.int64(3), np.uint8(2)])
def test_devices_are_distinct_and_ordered(n):
    used = d.devices(n)
    assert used == [mx.cpu(i) for i in range(n)]
    assert len(set(used)) == n


def test_more_devices_than_cores_are_allowed_with_a_warning(machine):
    machine(gpu_build=False, cores=2)
    assert len(d.devices(2)) == 2
    with pytest.warns(UserWarning, match="3 CPU devices on 2 cores") as caught:
        assert d.devices(3) == [mx.cpu(0), mx.cpu(1), mx.cpu(2)]
    assert caught[0].filename == __file__  # It points at the reader's line


def test_cores_are_those_that_the_process_may_use(monkeypatch):
    monkeypatch.undo()
    monkeypatch.setattr(d.os, "sched_getaffinity", lambda pid: {3, 5, 7}, raising=False)
    assert d.num_cores() == 3
    monkeypatch.delattr(d.os, "sched_getaffinity")
    monkeypatch.setattr(d.os, "cpu_count", lambda: None)
    assert d.num_cores() == 1


def test_try_gpu_gives_each_index_a_device_of_its_own():
    assert d.try_gpu() == d.try_gpu(0) == mx.cpu(0)
    assert [d.try_gpu(i) for i in range(3)] == [mx.cpu(0), mx.cpu(1), mx.cpu(2)]
    assert d.try_gpu(np.int64(1)) == mx.cpu(1)


def test_never_fewer_than_two_devices(machine):
    assert d.try_all_gpus() == [mx.cpu(0), mx.cpu(1)]
    machine(T4)
    assert d.try_all_gpus() == [mx.gpu(0), mx.cpu(0)]
    machine(T4, L4)
    assert d.try_all_gpus() == [mx.gpu(0), mx.gpu(1)]
    machine(*[d.GPU(i, "NVIDIA A100", (8, 0)) for i in range(8)])
    assert d.try_all_gpus() == [mx.gpu(i) for i in range(8)]


def test_two_cpu_devices_that_would_deadlock_are_refused(machine, monkeypatch):
    engine._report.deadlock = True
    assert d.devices(1) == [mx.cpu(0)]
    with pytest.raises(RuntimeError, match="OMP_NUM_THREADS=1"):
        d.devices(2)
    machine(T4)  # One GPU and one CPU do not
    assert d.devices(2) == [mx.gpu(0), mx.cpu(0)]
    with pytest.raises(RuntimeError, match="Restart the kernel"):
        d.devices(3)


# --- GPUs -----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("capability", "supported"),
    [
        ((3, 7), False),
        ((5, 0), True),
        ((6, 1), True),
        ((7, 0), True),
        ((7, 5), True),
        ((8, 0), True),
        ((8, 6), True),
        ((8, 9), True),
        ((9, 0), False),
        ((10, 0), False),
        ((12, 0), False),
    ],
)
def test_gpus_that_the_wheel_runs_on(capability, supported, machine):
    gpu = d.GPU(0, "Made up", capability)
    assert d.supports(gpu) is supported
    machine(gpu)
    assert d.num_gpus() == int(supported)
    assert d.try_gpu() == (mx.gpu(0) if supported else mx.cpu(0))


def test_gpus_come_first(machine):
    machine(T4, L4)
    assert d.num_gpus() == 2
    assert d.devices(1) == [mx.gpu(0)]
    assert d.devices(2) == [mx.gpu(0), mx.gpu(1)]
    assert d.devices(4) == [mx.gpu(0), mx.gpu(1), mx.cpu(0), mx.cpu(1)]


def test_one_gpu_and_the_cpu(machine, capsys):
    machine(T4, cores=1)
    used = d.devices(2)
    assert used == [mx.gpu(0), mx.cpu(0)]
    d.banner(used)
    line = capsys.readouterr().out.splitlines()[0]
    assert line.startswith("devices: gpu(0), cpu(0) (1 GPU, and CPU cores stand in")
    machine(T4, L4)
    d.banner(d.devices(3))
    assert "(2 GPUs, and CPU cores stand in" in capsys.readouterr().out


def test_a_gpu_that_is_too_new_or_too_old_is_never_used(machine, capsys):
    for gpu, capability in ((H200, "9.0"), (K80, "3.7")):
        machine(gpu)
        assert d.num_gpus() == 0
        assert d.devices(2) == d.try_all_gpus() == [mx.cpu(0), mx.cpu(1)]
        assert d.try_gpu() == mx.cpu(0)
        d.banner(d.devices(2))
        line = capsys.readouterr().out.splitlines()[0]
        assert line.startswith("devices: cpu(0), cpu(1) (CPU cores stand in for GPUs")
        assert f"no code for gpu(0) {gpu.name}, compute capability {capability}" in line


def test_only_the_usable_one_of_two_gpus_is_used(machine):
    machine(H200, L4)
    assert d.num_gpus() == 1
    assert d.devices(2) == [mx.gpu(1), mx.cpu(0)]


def test_the_cpu_build_says_that_a_gpu_is_idle(machine, capsys):
    machine(T4, gpu_build=False)
    assert d.num_gpus() == 0
    d.banner(d.devices(2))
    line = capsys.readouterr().out.splitlines()[0]
    assert "CPU build" in line
    assert "gpu(0) Tesla T4, compute capability 7.5 is idle" in line


def test_banner(machine, capsys):
    d.banner(d.devices(2))
    first, second = capsys.readouterr().out.splitlines()
    assert first == "devices: cpu(0), cpu(1) (CPU cores stand in for GPUs: no NVIDIA GPU here)"
    assert second == engine.report().summary()
    machine(T4, L4)
    d.banner(d.devices(2))
    assert capsys.readouterr().out.splitlines()[0] == "devices: gpu(0), gpu(1) (GPUs)"


class FakeDriver:
    """The functions of libcuda.so.1 that are asked, for some (name, major, minor)."""

    def __init__(self, *gpus, status=0):
        self.gpus, self.status = gpus, status

    def cuInit(self, flags):
        return self.status

    def cuDeviceGetCount(self, count):
        count._obj.value = len(self.gpus)
        return 0

    def cuDeviceGet(self, device, index):
        device._obj.value = 40 + index  # A handle need not be the index
        return 0

    def cuDeviceGetName(self, buffer, size, device):
        assert size == len(buffer)
        buffer.value = self.gpus[device.value - 40][0].encode()
        return 0

    def cuDeviceGetAttribute(self, value, attribute, device):
        value._obj.value = self.gpus[device.value - 40][{75: 1, 76: 2}[attribute]]
        return 0


@pytest.fixture
def ask(monkeypatch):
    """Return a function that asks a made-up driver, or none, for its GPUs."""

    def with_driver(driver):
        def load(name, *args, **kwargs):
            assert name == "libcuda.so.1"
            if driver is None:
                raise OSError("libcuda.so.1: cannot open shared object file")
            return driver

        with monkeypatch.context() as patch:
            patch.setattr(ctypes, "CDLL", load)
            return ask_driver()

    return with_driver


def test_the_driver_describes_its_gpus(ask):
    driver = FakeDriver(("NVIDIA A100-SXM4-40GB", 8, 0), ("NVIDIA H200", 9, 0))
    a100, h200 = ask(driver)
    assert str(a100) == "gpu(0) NVIDIA A100-SXM4-40GB, compute capability 8.0"
    assert [d.supports(gpu) for gpu in (a100, h200)] == [True, False]
    assert (h200.index, h200.name, h200.capability) == (1, "NVIDIA H200", (9, 0))


def test_no_driver_and_a_driver_without_gpus(ask):
    assert ask(None) == ()
    assert ask(FakeDriver()) == ()
    assert ask(FakeDriver(("Hidden", 8, 0), status=100)) == ()  # CUDA_ERROR_NO_DEVICE


# --- The profiler's room --------------------------------------------------------------------------


def test_more_cpu_devices_than_the_profiler_has_lanes_for(machine, monkeypatch):
    monkeypatch.setattr(d, "profiler_cores", lambda: 4)
    d.devices(6)  # Four cores, and the lanes of pinned and shared memory
    d.devices(2)
    d.require_profilable()
    d.devices(7)
    with pytest.raises(RuntimeError, match="room for 6 CPU devices.*gave out cpu.6."):
        d.require_profilable()
    d.devices(1)
    with pytest.raises(RuntimeError, match="gave out cpu.6."):  # They are there all the same
        d.require_profilable()


def test_the_profiler_of_the_gpu_build_has_gpus_after_the_cores(machine, monkeypatch):
    machine(T4)
    monkeypatch.setattr(d, "profiler_cores", lambda: 4)
    d.devices(5)
    d.require_profilable()
    d.devices(6)
    with pytest.raises(RuntimeError, match="room for 4 CPU devices.*gave out cpu.4."):
        d.require_profilable()
