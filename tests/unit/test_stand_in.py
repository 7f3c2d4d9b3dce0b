"""CPU devices in the place of GPUs: what they are, what sees them, and that it can be undone."""

from __future__ import annotations

import sys
import types

from helpers import needs

needs("mxnet")

from d2l_local import mxnet as d2l
from d2l_local.mxnet import device
from d2l_local.mxnet.classic import stand_in
from d2l_local.prepare_mxnet import engine

import pytest

mx = d2l.mx
nd, npx = mx.nd, mx.npx

pytestmark = [pytest.mark.timeout(200), pytest.mark.usefixtures("machine")]

REAL = (mx.context.gpu, mx.context.num_gpus)
GPUS = [device.GPU(i, "Tesla T4", (7, 5)) for i in range(2)]


@pytest.fixture
def machine(monkeypatch):
    """Make up the GPUs that MXNet can use (at first none) and 8 cores; put MXNet's names back."""

    def make(*gpus):
        monkeypatch.setattr(device, "usable_gpus", lambda: list(gpus))
        monkeypatch.setattr(device, "installed_gpus", lambda: gpus)

    make()
    monkeypatch.setattr(device, "num_cores", lambda: 8)
    monkeypatch.setattr(device, "_most_cpus", 0)
    yield make
    stand_in._install(None)
    assert (mx.gpu, mx.context.num_gpus) == REAL


def test_gpus_are_distinct_cpu_devices_besides_the_cpu(capsys):
    d2l.stand_in_for_gpus()
    line = "GPUs: cpu(1), cpu(2) in place of gpu(0), gpu(1) (no NVIDIA GPU here)\n"
    assert capsys.readouterr().out == line
    assert [mx.gpu(), mx.gpu(1)] == [mx.cpu(1), mx.cpu(2)]
    assert mx.cpu() not in (mx.gpu(0), mx.gpu(1))
    assert nd.ones(2, ctx=mx.gpu(1)).context == mx.cpu(2)


def test_every_name_sees_them():
    d2l.stand_in_for_gpus(3)
    for gpu in (mx.gpu, mx.context.gpu, npx.gpu, d2l.gpu, d2l.try_gpu):
        assert [gpu(i) for i in range(3)] == [mx.cpu(1), mx.cpu(2), mx.cpu(3)]
    for num_gpus in (mx.context.num_gpus, npx.num_gpus, d2l.num_gpus):
        assert num_gpus() == 3
    assert d2l.try_all_gpus() == d2l.devices(3) == [mx.cpu(1), mx.cpu(2), mx.cpu(3)]
    assert d2l.devices(5)[3:] == [mx.cpu(0), mx.cpu(4)]  # None twice


def test_names_that_a_reader_imported_before_mean_them_too(monkeypatch):
    reader = types.ModuleType("reader")
    exec("from mxnet import gpu\nfrom mxnet.context import num_gpus", vars(reader))
    monkeypatch.setitem(sys.modules, "reader", reader)
    with d2l.stand_in_for_gpus():
        assert (reader.gpu(1), reader.num_gpus()) == (mx.cpu(2), 2)
        kept = reader.gpu
    assert (reader.gpu, reader.num_gpus) == REAL
    assert kept(1) == REAL[0](1)


def test_only_what_is_asked_for(capsys):
    assert (mx.gpu, mx.context.num_gpus) == REAL  # Importing d2l_local changes nothing
    assert mx.gpu(0).device_type == "gpu"
    assert d2l.devices(2) == [mx.cpu(0), mx.cpu(1)]
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("index", [2, -1])
def test_more_than_exist(index):
    d2l.stand_in_for_gpus()
    with pytest.raises(mx.MXNetError, match=rf"there is no gpu\({index}\): cpu\(1\), cpu\(2\) are"):
        mx.gpu(index)
    # As old code looks for GPUs
    found = []
    try:
        for i in range(16):
            found.append(nd.array([0], ctx=mx.gpu(i)).context)
    except mx.base.MXNetError:
        pass
    assert found == [mx.cpu(1), mx.cpu(2)]


def test_restore_and_with_block():
    stand_in = d2l.stand_in_for_gpus()
    assert stand_in.devices == [mx.cpu(1), mx.cpu(2)]
    stand_in.restore()
    assert (mx.gpu, npx.gpu, mx.context.num_gpus, npx.num_gpus) == (*REAL[:1] * 2, *REAL[1:] * 2)
    assert d2l.devices(2) == [mx.cpu(0), mx.cpu(1)]
    stand_in.restore()  # Does no harm
    with pytest.raises(ZeroDivisionError), d2l.stand_in_for_gpus(1) as stand_in:
        assert mx.gpu() == mx.cpu(1)
        raise ZeroDivisionError
    assert mx.gpu is REAL[0]


def test_a_cell_may_run_twice():
    first = d2l.stand_in_for_gpus(1)
    second = d2l.stand_in_for_gpus(2)
    first.restore()  # Is over
    assert mx.gpu(1) == mx.cpu(2)
    second.restore()
    assert (mx.gpu, mx.context.num_gpus) == REAL


def test_after_a_block_in_a_block_the_outer_one_holds_again(machine):
    with d2l.stand_in_for_gpus(2):
        with d2l.stand_in_for_gpus(1):
            assert d2l.num_gpus() == npx.num_gpus() == 1
        assert d2l.num_gpus() == npx.num_gpus() == 2 and mx.gpu(1) == mx.cpu(2)
        machine(*GPUS)  # Where nothing has to stand in
        with d2l.stand_in_for_gpus(2):
            assert mx.gpu is REAL[0]
        assert mx.gpu(1) == mx.cpu(2)
        with pytest.raises(ValueError, match="positive integer"):
            d2l.stand_in_for_gpus(0)
        assert mx.gpu(1) == mx.cpu(2)
    assert (mx.gpu, mx.context.num_gpus) == REAL


def test_enough_gpus_of_its_own(machine, capsys):
    machine(*GPUS)
    stand_in = d2l.stand_in_for_gpus()
    assert capsys.readouterr().out.startswith("GPUs: gpu(0), gpu(1); there are enough here")
    assert stand_in.devices == []
    assert (mx.gpu, mx.context.num_gpus) == REAL
    stand_in.restore()
    assert mx.gpu is REAL[0]


def test_one_gpu_of_its_own_keeps_its_place(machine, capsys):
    machine(GPUS[0])
    real = mx.gpu(0)
    d2l.stand_in_for_gpus()
    assert "cpu(1) in place of gpu(1) (besides gpu(0) here)" in capsys.readouterr().out
    assert [mx.gpu(0), mx.gpu(1)] == d2l.devices(2) == [real, mx.cpu(1)]


def test_more_than_the_cores(monkeypatch):
    monkeypatch.setattr(device, "num_cores", lambda: 2)
    with pytest.warns(UserWarning, match="3 CPU devices on 2 cores") as caught:
        d2l.stand_in_for_gpus(3)
    assert caught[0].filename == __file__
    assert device._most_cpus == 4  # The profiler must have room for cpu(3)


def test_devices_that_would_deadlock_are_refused(monkeypatch):
    report = engine.Report(deadlock=True)
    report.add("threads", 2, "made up")
    monkeypatch.setattr(engine, "_report", report)
    with pytest.raises(RuntimeError, match="Restart the kernel"):
        d2l.stand_in_for_gpus(1)  # It and the CPU are two
    assert mx.gpu is REAL[0]
