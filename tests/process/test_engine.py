"""The process that d2l_local prepares for MXNet: what is set, what is kept, and that nothing hangs.

MXNet reads its settings once and a deadlock cannot be interrupted, so each configuration runs in a
process of its own with a time limit.
"""

from __future__ import annotations

import ctypes
import importlib.metadata
import os
import platform
import re
import shlex
import subprocess
import sys
from pathlib import Path

from d2l_local.base.processes import in_new_process
from d2l_local.install import builds
from d2l_local.machine.host import num_cores
from d2l_local.prepare_mxnet import engine, libraries

import numpy
import pytest
from settings import NOTHING_SET

pytestmark = pytest.mark.timeout(200)

AVX2 = not libraries.ARM and engine.BLAS_KERNELS["Haswell"] <= engine.cpu_flags()


def run(fn, seconds=60, **environment):
    """Run ``fn`` in a new process with these settings alone."""
    return in_new_process(fn, seconds, **{**NOTHING_SET, **environment})


def has(library: str) -> bool:
    """Whether the system has a library; this process may have loaded a wheel's under its name."""
    command = [sys.executable, "-c", f"import ctypes; ctypes.CDLL({library!r})"]
    return subprocess.run(command, stderr=subprocess.DEVNULL).returncode == 0


# A kernel that the reader may ask for, and the engine would not choose.
OLD_KERNEL = "armv8" if libraries.ARM else "Prescott"

OF_THE_SYSTEM = libraries.SYSTEM_LIBRARIES.get(platform.machine(), ())
MISSING = [name for name in OF_THE_SYSTEM if not has(name)]

# Where a library is missing, only d2l_local gives MXNet what it needs; so on ARM, too, unless Arm's
# own libraries are there.
alone = pytest.mark.skipif(
    bool(MISSING) or (libraries.ARM and not has("libarmpl_lp64_mp.so")),
    reason="MXNet cannot be imported without d2l_local here",
)


# --- No hang --------------------------------------------------------------------------------------


def two_devices():
    """Multiply on two CPU devices at the same time; return what loading left behind."""
    import ctypes
    import os

    from d2l_local.prepare_mxnet import engine

    if os.environ.get("LOAD_OPENMP_FIRST"):
        ctypes.CDLL("libgomp.so.1").omp_get_max_threads()
    report = engine.load()
    names = ("OMP_NUM_THREADS", "OPENBLAS_CORETYPE", "MXNET_CPU_TEMP_COPY", "MXNET_ENGINE_TYPE")
    ask_libc = ctypes.CDLL(None).getenv
    ask_libc.restype = ctypes.c_char_p
    environment = {name: os.environ.get(name) for name in names}
    libc = {name: (ask_libc(name.encode()) or b"").decode() or None for name in names}

    import mxnet as mx

    engine.require_parallel_cpus()
    ones = [mx.nd.ones((400, 400), ctx=mx.cpu(i)) for i in range(2)]
    products = [mx.nd.dot(x, x) for _ in range(20) for x in ones]
    mx.nd.waitall()
    return {
        "sums": sorted({float(product.sum().asscalar()) for product in products}),
        "environment": environment,
        "environment of C": libc,
        "report": {s.name: [s.value, s.reason] for s in report.settings},
        "table": str(report),
        "summary": report.summary(),
        "losses": report.losses,
        "kernel": engine.blas_kernel(),
    }


@pytest.mark.parametrize("omp", [None, "1", "2", "4", "8", "4,2", "abc"])
def test_nothing_hangs_whatever_omp_num_threads_is(omp):
    result = run(two_devices, OMP_NUM_THREADS=omp)
    assert result["sums"] == [400.0**3]
    assert result["report"]["threads"][0] == "1"
    for environment in (result["environment"], result["environment of C"]):
        assert environment["OMP_NUM_THREADS"] == omp
        assert environment["OPENBLAS_CORETYPE"] is None
    if omp not in (None, "1"):
        assert f"OMP_NUM_THREADS={omp} is kept" in result["report"]["threads"][1]

    # Nothing else was set, so these are our choices.
    assert result["losses"] == []
    assert result["report"]["scratch copies"][0] == str(engine.SCRATCH_COPIES)
    assert result["report"]["engine"][0] == "ThreadedEnginePerDevice"
    kernel, why = result["report"]["BLAS kernel"]
    assert kernel == result["kernel"]
    if AVX2:
        assert kernel == "Haswell"
        assert "flags" in why


@pytest.mark.skipif("libgomp.so.1" in MISSING, reason="this system has no libgomp.so.1")
def test_nothing_hangs_if_another_library_has_loaded_openmp():
    """The runtime has then read OMP_NUM_THREADS before we can hide it."""
    result = run(two_devices, OMP_NUM_THREADS=4, LOAD_OPENMP_FIRST=1)
    assert result["sums"] == [400.0**3]
    assert result["environment"]["OMP_NUM_THREADS"] == "4"


def test_settings_of_the_user_are_kept_unless_they_deadlock():
    result = run(
        two_devices,
        OPENBLAS_CORETYPE=OLD_KERNEL,
        MXNET_CPU_TEMP_COPY=8,
        MXNET_ENGINE_TYPE="NaiveEngine",
        MXNET_OMP_MAX_THREADS=8,
    )
    assert result["sums"] == [400.0**3]
    for environment in (result["environment"], result["environment of C"]):
        assert environment["OPENBLAS_CORETYPE"] == OLD_KERNEL
        assert environment["MXNET_CPU_TEMP_COPY"] == "8"
        assert environment["MXNET_ENGINE_TYPE"] == "NaiveEngine"
    report = result["report"]
    assert result["kernel"] == report["BLAS kernel"][0] == OLD_KERNEL
    assert report["scratch copies"][0] == "8"
    assert report["engine"][0] == "NaiveEngine"
    for name in ("BLAS kernel", "scratch copies", "engine"):
        assert report[name][1].startswith("yours"), report[name]
    assert "nothing overlaps" in report["engine"][1]
    assert report["threads"][0] == "1"

    # The table has a line for each, beside one another; the summary says what readers know.
    lines = result["table"].splitlines()
    assert len(lines) == len(report)
    for line, (name, (value, reason)) in zip(lines, report.items()):
        assert re.fullmatch(
            rf"{re.escape(name)}\s\s+{re.escape(value)}\s\s+{re.escape(reason)}", line
        )
    assert len({line.index(reason) for line, (_, reason) in zip(lines, report.values())}) == 1
    assert "\n" not in result["summary"]
    assert result["summary"] == "MXNet 1.9.1, threads per CPU device: 1"
    assert (report["BLAS kernel"][0], report["scratch copies"][0]) == (OLD_KERNEL, "8")


@pytest.mark.parametrize(
    "bad",
    [
        {"MXNET_CPU_TEMP_COPY": "0"},
        {"MXNET_CPU_TEMP_COPY": "many"},
        {"MXNET_CPU_PARALLEL_RAND_COPY": "0"},
        {"MXNET_CPU_PARALLEL_RAND_COPY": "-1", "MXNET_GPU_PARALLEL_RAND_COPY": "abc"},
        {"MXNET_CPU_TEMP_COPY": "99999999999", "MXNET_CPU_WORKER_NTHREADS": "-1"},
        {"MXNET_CPU_WORKER_NTHREADS": "0", "MXNET_CPU_PRIORITY_NTHREADS": "0"},
        {"MXNET_ENGINE_TYPE": "ThreadedEngine"},
        {"MXNET_ENGINE_TYPE": "Threaded; engine"},
    ],
    ids=str,
)
def test_settings_that_mxnet_would_not_survive_are_ignored_and_named(bad):
    result = run(two_devices, **bad)
    assert result["sums"] == [400.0**3]
    number, why = result["report"]["ignored"]
    assert number == str(len(bad))
    assert all(f"{name}={value!r}" in why for name, value in bad.items())
    assert result["report"]["scratch copies"][0] == str(engine.SCRATCH_COPIES)
    assert result["report"]["engine"][0] == "ThreadedEnginePerDevice"
    for environment in (result["environment"], result["environment of C"]):
        assert environment["MXNET_ENGINE_TYPE"] is None


def test_an_empty_setting_is_none():
    result = run(two_devices, MXNET_CPU_TEMP_COPY="", MXNET_ENGINE_TYPE="")
    assert result["sums"] == [400.0**3]
    copies, why = result["report"]["scratch copies"]
    assert copies == str(engine.SCRATCH_COPIES) and "yours" not in why
    assert "ignored" not in result["report"]


# --- Random numbers -------------------------------------------------------------------------------


def random_numbers():
    """Draw on two devices and on one; return what they share."""
    from d2l_local import mxnet as d2l

    import mxnet as mx
    import numpy as np

    def overlap(draw):
        with d2l.Timeline() as timeline:
            for _ in range(8):
                for i in range(2):
                    draw(i)
        return timeline.overlap("cpu/0", "cpu/1")

    def normal(i):
        return mx.nd.random.normal(shape=(1000, 1000), ctx=mx.cpu(i))

    def dropout(i):
        with mx.autograd.train_mode():
            return mx.nd.Dropout(ones[i], p=0.5)

    def seeded():
        mx.random.seed(3)
        return [[float(draw(i).mean().asscalar()) for i in (0, 1)] for draw in (normal, dropout)]

    def weight():
        layer = mx.gluon.nn.Dense(256, in_units=256)
        layer.initialize()
        return layer.weight.data().asnumpy()

    ones = [mx.nd.ones((1000, 1000), ctx=mx.cpu(i)) for i in range(2)]
    mx.random.seed(0)
    first, second = weight(), weight()
    return {
        "shared": float(np.isin(first, second).mean()),
        "spread": float(np.std([normal(0).mean().asscalar() for _ in range(16)], ddof=1)),
        "overlaps": [max(overlap(draw) for _ in range(3)) for draw in (normal, dropout)],
        "seeded": [seeded(), seeded()],
        "reason": {s.name: s.reason for s in d2l.engine_report().settings}["generators"],
    }


def test_random_numbers_do_not_repeat_unless_the_reader_asks_for_more_generators():
    """Generators beside MXNet's one would let two devices overlap, and repeat its numbers."""
    ours, more = run(random_numbers, 120), run(random_numbers, 120, MXNET_CPU_PARALLEL_RAND_COPY=16)
    # Independent means of a million: 0.001, give or take three standard errors; weights: chance
    assert 0.0005 < ours["spread"] < 0.0016 and ours["shared"] < 0.05
    assert "take turns at random numbers" in ours["reason"]
    assert more["spread"] < 0.0005 and more["shared"] > 0.9
    assert "each draw repeats the one before" in more["reason"]
    if num_cores() > 1:
        assert max(ours["overlaps"]) < 0.1 and min(more["overlaps"]) > 0.5
    for result in (ours, more):
        assert result["seeded"][0] == result["seeded"][1]
    assert run(random_numbers, 120)["seeded"] == ours["seeded"]  # In another process, too


JOB = dict.fromkeys(engine.JOB, "1")


@pytest.mark.parametrize(
    ("settings", "reason"),
    [
        ({"DMLC_ROLE": "foo"}, "DMLC_ROLE='foo', .* but lacks DMLC_PS_ROOT_URI, DMLC_PS_ROOT_PORT"),
        ({"DMLC_ROLE": "server"}, "DMLC_ROLE='server', .* lacks .*, DMLC_NUM_SERVER"),
        ({"DMLC_ROLE": ""}, "DMLC_ROLE='', "),
        ({**JOB, "DMLC_ROLE": "foo"}, "DMLC_ROLE='foo', .* but a job has no such role"),
        ({**JOB, "DMLC_ROLE": "server", "DMLC_NUM_WORKER": None}, "but lacks DMLC_NUM_WORKER. "),
    ],
)
def test_a_role_that_a_job_has_left_is_named(settings, reason):
    with pytest.raises(RuntimeError, match=f"LoadError: .*{reason}.*Type: unset DMLC_ROLE"):
        run(two_devices, **settings)


def in_a_notebook():
    import sys

    from d2l_local.prepare_mxnet import engine

    sys.modules["ipykernel"] = sys
    engine.load()


def test_a_notebook_becomes_no_server():
    with pytest.raises(RuntimeError, match="DMLC_ROLE='server', .* the import would never return"):
        run(in_a_notebook, DMLC_ROLE="server", **JOB)


def test_a_worker_s_role_alone_does_no_harm():
    assert run(two_devices, DMLC_ROLE="worker")["sums"] == [400.0**3]


# --- MXNet imported first -------------------------------------------------------------------------


def mxnet_first():
    import os
    import warnings

    from d2l_local.prepare_mxnet import numpy_view

    numpy_view.apply()
    import mxnet as mx

    # Whatever it has made OpenBLAS choose, so that a CPU that this one knows has the wrong kernel.
    os.environ.pop("OPENBLAS_CORETYPE", None)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        from d2l_local import mxnet as d2l
    result = {
        "warnings": [str(w.message) for w in caught if "before d2l_local" in str(w.message)],
        "categories": [w.category.__name__ for w in caught if "before d2l" in str(w.message)],
        "report": str(d2l.engine_report()),
    }
    [one] = d2l.devices(1)
    ones = mx.nd.ones((400, 400), ctx=one)
    result["one"] = float(mx.nd.dot(ones, ones).sum().asscalar())
    try:
        used = d2l.devices(2)
    except RuntimeError as error:
        result["error"] = str(error)
    else:
        ones = [mx.nd.ones((400, 400), ctx=device) for device in used]
        products = [mx.nd.dot(x, x) for _ in range(20) for x in ones]
        result["two"] = [float(product.sum().asscalar()) for product in products[-2:]]
    return result


@alone
@pytest.mark.skipif(libraries.ARM, reason="it is the OpenBLAS of the wheel for x86-64 that hangs")
def test_mxnet_first_with_threads_raises_instead_of_hanging():
    result = run(mxnet_first, OMP_NUM_THREADS=4, OPENBLAS_CORETYPE="Prescott")
    [warning] = result["warnings"]
    assert result["categories"] == ["RuntimeWarning"]
    assert "MXNet was imported before d2l_local" in warning
    assert "only 4 scratch copies" in warning
    assert "4 threads a device: two CPU devices would deadlock" in warning
    assert "import d2l_local first" in warning
    if AVX2:
        assert "Haswell would be faster" in warning
    assert "lost: " in result["report"]

    assert result["one"] == 400.0**3
    assert "two" not in result
    assert "4 threads" in result["error"]
    assert "Restart the kernel and import d2l_local first" in result["error"]
    assert "OMP_NUM_THREADS=1" in result["error"]


@alone
def test_mxnet_first_with_good_settings_loses_nothing():
    kernel = {"OPENBLAS_CORETYPE": "haswell"} if AVX2 else {}  # As OpenBLAS: in any case
    result = run(mxnet_first, OMP_NUM_THREADS=1, MXNET_CPU_TEMP_COPY=256, **kernel)
    assert result["warnings"] == []
    assert result["one"] == 400.0**3
    assert result["two"] == [400.0**3] * 2
    assert "imported before d2l_local" in result["report"]


@alone
def test_mxnet_first_with_settings_that_it_may_not_survive():
    result = run(mxnet_first, OMP_NUM_THREADS=1, MXNET_CPU_TEMP_COPY=0)
    [warning] = result["warnings"]
    assert "MXNet may fail or hang with your MXNET_CPU_TEMP_COPY='0'" in warning
    assert result["one"] == 400.0**3


# --- Importing ------------------------------------------------------------------------------------


def our_import():
    import sys
    import time

    start = time.process_time()
    import d2l_local.mxnet

    return {
        "seconds": time.process_time() - start,
        "file": d2l_local.mxnet.__file__,
        "modules": [name for name in sys.modules if "." not in name and sys.modules[name]],
    }


def plain_import():
    import time

    start = time.process_time()
    from d2l_local.prepare_mxnet import numpy_view

    numpy_view.apply()  # Else MXNet is not to be imported at all on a newer NumPy
    import mxnet  # noqa: I001
    import d2l.mxnet

    return {"seconds": time.process_time() - start, "file": [mxnet.__file__, d2l.mxnet.__file__]}


@alone
@pytest.mark.timeout(600)  # A dozen processes at most, on a busy machine
def test_import_takes_no_longer_than_mxnet_s_and_d2l_s():
    """Processor seconds, because other processes may be using the cores; the least of some runs."""
    ours, plain = [], []
    for _ in range(6):
        plain.append(run(plain_import, 120, OMP_NUM_THREADS=1)["seconds"])
        ours.append(run(our_import, 120, OMP_NUM_THREADS=1)["seconds"])
        if min(ours) <= 1.3 * min(plain):
            break
    assert min(ours) <= 1.3 * min(plain), (ours, plain)


def import_twice():
    import importlib
    import os
    import sys
    import warnings

    from d2l_local.prepare_mxnet import engine, numpy_view

    loads = []
    in_time, late = engine._in_time, engine._late
    engine._in_time = lambda: loads.append("in time") or in_time()
    engine._late = lambda: loads.append("late") or late()

    def state():
        settings = {k: v for k, v in os.environ.items() if k.startswith(("MXNET", "O"))}
        finders = [str(type(finder)) for finder in sys.meta_path]
        return [settings, finders, id(engine.load()), id(sys.modules["mxnet"])]

    import d2l_local.mxnet as first

    loaded = [name for name in sys.modules if sys.modules[name] is not None]
    states = [state()]
    import d2l_local.mxnet as again

    states.append(state())
    del sys.modules["d2l_local.mxnet"]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        anew = importlib.import_module("d2l_local.mxnet")
    numpy_view.apply()
    states.append(state())
    accumulator = first.Accumulator  # Each asks for d2l when it is asked for a name
    import sklearn.base  # Hidden from MXNet, not from others

    return {
        "loads": loads,
        "changes": [after != states[0] for after in states],
        "same": first is again and anew.Accumulator is accumulator,
        "helpers are the newest": sys.modules["d2l.mxnet"].d2l is anew,
        "loaded": loaded,
        "sklearn": sklearn.base.__name__,
    }


def test_importing_again_does_nothing_again_and_only_what_is_used_is_imported():
    result = run(import_twice)
    assert result["loads"] == ["in time"]
    assert not any(result["changes"])
    assert result["same"] and result["helpers are the newest"]
    unused = {"sklearn", "torch", "notebook", "jupyterlab", "d2l", "matplotlib", "pandas", "scipy"}
    assert unused.isdisjoint(name.partition(".")[0] for name in result["loaded"])


# --- The BLAS kernel ------------------------------------------------------------------------------

NEWER_INTEL = "fpu sse2 avx fma avx2 avx512f avx512dq avx512cd avx512bw avx512vl amx_tile"


@pytest.mark.parametrize(
    ("flags", "kernel"),
    [
        (NEWER_INTEL, "Haswell"),  # The bundled OpenBLAS holds no AVX-512 kernel
        ("fpu sse2 avx fma avx2", "Haswell"),
        ("fpu sse2 avx avx2", None),
        ("fpu sse2 avx fma", None),
        ("fpu sse2 avx2x fmaddsub", None),
        ("", None),
    ],
)
def test_kernel_is_chosen_from_flags(flags, kernel, tmp_path, monkeypatch):
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.setattr(libraries, "ARM", False)
    cpuinfo = tmp_path / "cpuinfo"
    core = f"processor\t: 0\nmodel name\t: Made up\nflags\t\t: {flags}\nbugs\t\t: fma avx2\n\n"
    cpuinfo.write_text(core * 2)
    read = engine.cpu_flags
    assert read(str(cpuinfo)) == set(flags.split())
    monkeypatch.setattr(engine, "cpu_flags", lambda: read(str(cpuinfo)))
    chosen, why = engine._choose_blas_kernel()
    assert chosen == kernel
    assert ("from the CPU's flags" in why) == bool(kernel)


def test_kernel_without_cpuinfo(tmp_path, monkeypatch):
    """On a system without /proc, or on a CPU that calls its flags otherwise."""
    assert engine.cpu_flags(str(tmp_path / "none")) == set()
    arm = tmp_path / "cpuinfo"
    arm.write_text("processor\t: 0\nFeatures\t: fp asimd\n")
    assert engine.cpu_flags(str(arm)) == set()
    monkeypatch.delenv("OPENBLAS_CORETYPE", raising=False)
    monkeypatch.setattr(engine, "cpu_flags", set)
    assert engine._choose_blas_kernel()[0] is None


def test_kernel_of_the_user_comes_first(monkeypatch):
    monkeypatch.setenv("OPENBLAS_CORETYPE", "Zen")
    monkeypatch.setattr(engine, "cpu_flags", lambda: set(NEWER_INTEL.split()))
    assert engine._choose_blas_kernel() == ("Zen", "yours (OPENBLAS_CORETYPE)")


# --- Report and docstring -------------------------------------------------------------------------


def test_report_names_what_it_has():
    report = engine.Report()
    report.add("threads", 1, "because")
    assert report["threads"] == "1"
    with pytest.raises(KeyError, match=r"'copies'.*\['threads'\]"):
        report["copies"]


# --- The system's libraries -----------------------------------------------------------------------


def system_libraries():
    from d2l_local.prepare_mxnet import engine

    engine.load()
    import mxnet as mx

    ones = [mx.nd.ones((400, 400), ctx=mx.cpu(i)) for i in range(2)]
    sums = [float(mx.nd.dot(x, x).sum().asscalar()) for x in ones]
    with open("/proc/self/maps") as maps:
        lines = [line.split(maxsplit=5) for line in maps]
    return sums, sorted({line[5].strip() for line in lines if line[-1].startswith("/")})


@pytest.mark.parametrize(
    "hidden", [["libgomp.so.1"], ["libquadmath.so.0"], ["libgomp.so.1", "libquadmath.so.0"]]
)
def test_a_system_without_a_library_takes_a_wheel_s(hidden, tmp_path):
    wheels = Path(importlib.metadata.distribution("numpy").locate_file(""))
    for name in hidden:
        if name not in libraries.SYSTEM_LIBRARIES[platform.machine()]:
            pytest.skip(f"MXNet does not need {name} here")
        if not list(wheels.glob(f"*.libs/{name.split('.')[0]}-*")):
            pytest.skip(f"no wheel here brings a {name}")
    # An unreadable library that the loader finds first hides the system's.
    for folder in ("hidden", "tmp"):
        (tmp_path / folder).mkdir()
    for name in hidden:
        (tmp_path / "hidden" / name).touch()
    path = os.pathsep.join(filter(None, [str(tmp_path / "hidden"), os.getenv("LD_LIBRARY_PATH")]))
    sums, loaded = run(system_libraries, LD_LIBRARY_PATH=path, TMPDIR=tmp_path / "tmp")
    assert sums == [400.0**3] * 2
    copies = [Path(library) for library in loaded if library.startswith(str(tmp_path / "tmp"))]
    assert {copy.name.removesuffix(" (deleted)") for copy in copies} == {*hidden, *MISSING}
    assert list((tmp_path / "tmp").iterdir()) == []


@pytest.mark.parametrize(
    ("name", "package", "wheel"),
    [("libgomp.so.1", "libgomp1", "scikit-learn"), ("libquadmath.so.0", "libquadmath0", "scipy")],
)
def test_neither_library_nor_wheel_is_an_error_with_the_cure(
    name, package, wheel, tmp_path, monkeypatch
):
    def not_found(name, *args, **kwargs):
        raise OSError(f"{name}: cannot open shared object file")

    monkeypatch.setattr(libraries.ctypes, "CDLL", not_found)
    monkeypatch.setattr(numpy, "__file__", str(tmp_path / "numpy" / "__init__.py"))
    with pytest.raises(ImportError) as caught:
        libraries.load_system_library(name)
    for part in (f"{name}: cannot open", f"apt-get install {package};", f"pip install {wheel},"):
        assert part in str(caught.value)


# --- CUDA's libraries -----------------------------------------------------------------------------

# What libmxnet.so of mxnet-cu112 1.9.1 asks for, beside libcuda.so.1, which comes with the driver.
NEEDED = {
    "libcudart.so.11.0",
    "libcublas.so.11",
    "libcudnn.so.8",
    "libnccl.so.2",
    "libcufft.so.10",
    "libcurand.so.10",
    "libcusolver.so.11",
    "libnvrtc.so.11.2",
    "libnvToolsExt.so.1",
}


@pytest.fixture
def gpu_wheel(tmp_path):
    """Return a folder for sys.path with an mxnet-cu112 that says FAILURE when it is imported."""
    info = tmp_path / "mxnet_cu112-1.9.1.dist-info"
    info.mkdir()
    (info / "METADATA").write_text("Metadata-Version: 2.1\nName: mxnet-cu112\nVersion: 1.9.1\n")
    (tmp_path / "mxnet").mkdir()
    (tmp_path / "mxnet" / "__init__.py").write_text(
        "import os\nraise OSError(os.environ['FAILURE'])\n"
    )
    return tmp_path


def add_library(folder, package, name, content=b"no library"):
    path = folder / "nvidia" / package / "lib" / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_bytes(content)
    return path


def load_error():
    from d2l_local.prepare_mxnet import engine

    try:
        engine.load()
    except ImportError as error:
        return str(error), type(error.__cause__).__name__


def test_all_missing_libraries_are_named_at_once(gpu_wheel):
    add_library(gpu_wheel, "nvtx", "libnvToolsExt.so.1")  # There, but unusable: not our matter
    there = set()
    for name in NEEDED:
        try:
            ctypes.CDLL(name)
            there.add(name)
        except OSError:
            pass
    for folder in map(Path, sys.path):
        there |= {path.name for path in folder.glob("nvidia/*/lib/*.so*")}
    there.add("libnvToolsExt.so.1")
    failure = "libcudart.so.11.0: cannot open shared object file"
    message, cause = run(load_error, PYTHONPATH=gpu_wheel, FAILURE=failure)
    assert cause == "OSError"
    assert failure in message
    named = set(re.findall(r"lib\w+\.so[.\d]*\d", message.partition(" (")[0]))
    assert NEEDED - there <= named
    assert named.isdisjoint(there)
    command = shlex.split(message.partition("Type: ")[2])
    packages = command[command.index("--no-deps") + 1 :]
    assert command[command.index("pip") + 1] == "install"
    assert len(packages) == len(set(packages))
    wanted = {package for name, package in builds.CUDA_LIBRARIES if name in named}
    assert set(packages) == wanted


def test_one_command_installs_all_of_them(monkeypatch):
    monkeypatch.setattr(builds, "gpu_wheel_installed", lambda: True)
    monkeypatch.setattr(builds, "_packaged", lambda name: None)
    monkeypatch.setattr(builds.nvidia, "library", lambda name: None)
    error = engine._explain("libcudart.so.11.0: cannot open shared object file")
    assert all(name in error.reason for name in NEEDED)
    parts = ("cublas", "cuda-nvrtc", "cuda-runtime", "cudnn", "cufft", "curand", "cusolver")
    assert sorted(shlex.split(error.command.partition(" --no-deps ")[2])) == sorted(
        [f"nvidia-{part}-cu11" for part in (*parts, "nccl", "nvtx") if part != "cudnn"]
        + ["nvidia-cudnn-cu11<9"]
    )


def test_a_module_that_mxnet_misses_is_not_mxnet(tmp_path):
    (tmp_path / "mxnet").mkdir()
    (tmp_path / "mxnet" / "__init__.py").write_text("import no_such_module_for_mxnet\n")
    message, cause = run(load_error, PYTHONPATH=tmp_path)
    assert message == "No module named 'no_such_module_for_mxnet'"
    assert cause == "NoneType"  # Python's own error, as it is


def load_with_warnings():
    import warnings

    from d2l_local.prepare_mxnet import engine

    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        engine.load()
    return [[str(w.message), w.filename] for w in caught if "installed" in str(w.message)]


def test_both_builds_together_are_named_with_the_cure(tmp_path):
    assert run(load_with_warnings) == []
    for name in ("mxnet", "mxnet-cu112"):  # Either may be the one that is here
        info = tmp_path / f"{name.replace('-', '_')}-1.9.1.dist-info"
        info.mkdir()
        (info / "METADATA").write_text(f"Metadata-Version: 2.1\nName: {name}\nVersion: 1.9.1\n")
    [[message, file]] = run(load_with_warnings, PYTHONPATH=tmp_path)
    assert file.endswith("d2l_in_new_process.py")  # Who called load
    assert "Both mxnet and mxnet-cu112 are installed" in message
    uninstall, install = message.partition("Type: ")[2].split(" && ")
    assert shlex.split(uninstall)[-2:] == ["mxnet", "mxnet-cu112"]
    assert "install" in shlex.split(install) and "1.9.1" in install


def test_any_other_library_is_named_as_the_loader_does(monkeypatch):
    monkeypatch.setattr(builds, "gpu_wheel_installed", lambda: False)
    assert "libfoo.so.3: cannot open" in str(engine._explain("libfoo.so.3: cannot open"))


def test_libraries_of_packages_are_loaded_in_an_order_that_works(gpu_wheel, monkeypatch):
    paths = {
        name: str(add_library(gpu_wheel, package.split("-")[1], name))
        for name, package in builds.CUDA_LIBRARIES
        if name != "libcurand.so.10"
    }
    loaded = []

    def load(name, mode=0):
        if not os.path.isabs(name):
            raise OSError(f"{name}: cannot open shared object file")
        assert mode & ctypes.RTLD_GLOBAL
        loaded.append(name)
        if "cusolver" in name:
            raise OSError("libsomething.so: cannot open shared object file")

    monkeypatch.setattr(sys, "path", [str(gpu_wheel)])
    monkeypatch.setattr(os, "environ", {})
    monkeypatch.setattr(builds.ctypes, "CDLL", load)
    assert builds.gpu_wheel_installed()
    builds.load_cuda_libraries()
    assert os.environ == {"MXNET_CUDNN_LIB_CHECKING": "0"}  # Else a warning of no use to a reader
    assert loaded == list(paths.values())
    order = [Path(path).name for path in loaded]
    assert order.index("libcudart.so.11.0") == 0
    assert order.index("libcublasLt.so.11") < order.index("libcublas.so.11")
    assert order.index("libcublas.so.11") < order.index("libcusolver.so.11")
    assert order.index("libcublas.so.11") < order.index("libcudnn.so.8")
    assert builds.missing_cuda_libraries() == [("libcurand.so.10", "nvidia-curand-cu11")]


def test_the_cpu_build_wants_no_cuda(monkeypatch):
    monkeypatch.setattr(builds, "gpu_wheel_installed", lambda: False)
    monkeypatch.setattr(builds, "_packaged", lambda name: pytest.fail("must not be asked"))
    monkeypatch.setattr(os, "environ", {})
    builds.load_cuda_libraries()
    assert os.environ == {}
