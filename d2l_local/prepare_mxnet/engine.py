"""Makes the process ready for MXNet, because MXNet and its BLAS read their settings only once.

`load` imports MXNet between two halves of preparation. What it sets, and why:

``MXNET_OMP_MAX_THREADS=1``: one thread a CPU device.
    With two or more threads, two CPU devices that call ``dot`` at the same time hang for ever
    inside the bundled OpenBLAS 0.3.13. ``OMP_NUM_THREADS`` is hidden from MXNet while it loads and
    given back afterwards: MXNet would otherwise prefer it, and with it whatever an OpenMP runtime
    that some other library loaded earlier had read. So any value in the environment is safe, and
    other libraries keep it. MXNet's own variable is set whatever the user gave it, because every
    other value deadlocks.

``OPENBLAS_CORETYPE``: the BLAS kernel, from the CPU's flags.
    OpenBLAS 0.3.13 takes a CPU newer than itself for a Pentium 4 (kernel *Prescott*). The variable
    is removed again after loading, so that a newer OpenBLAS elsewhere chooses for itself.

``MXNET_CPU_TEMP_COPY``: scratch buffers, 256 or 32 a core.
    All CPU devices share one ring of them. An operator that needs scratch space takes the next
    buffer and waits for the operator that used it before, also when that one ran on another
    device: with the stock 4 buffers two devices take turns. The ring must hold the requests of
    one device's step (20 for 20 products, some 200 for a ResNet-18 step), and each buffer keeps the
    memory of its largest request. Two CPU devices against one, and peak memory of the process:

    ======  ============  ============  ==============  ===================
    copies  20 ``dot``s   LeNet, 256    ResNet-18, 64   the same hybridized
    ======  ============  ============  ==============  ===================
    4       0.99, 0.3 GB  1.07, 0.5 GB  1.00, 2.2 GB    0.97, 1.5 GB
    16      1.54, 0.3 GB  1.17, 0.5 GB  1.08, 2.6 GB    1.58, 1.6 GB
    64      1.87, 0.3 GB  1.83, 0.5 GB  1.50, 3.1 GB    1.96, 1.7 GB
    256     1.93, 0.3 GB  1.97, 0.5 GB  2.11, 5.2 GB    1.92, 1.8 GB
    1024    1.96, 0.3 GB  1.92, 0.5 GB  2.01, 7.3 GB    2.10, 1.8 GB
    ======  ============  ============  ==============  ===================

    So 256: no workload gains from more, and a network whose memory matters is hybridized with
    ``static_alloc=True``. Training steps, images a device as given; ``python bench/bench.py
    scratch`` on 16 Intel Xeon cores, AVX-512, 2026-11-21. More devices share the ring, so it
    grows with the cores. The hybridized ResNet-18 on 32 such cores, images/s:

    ======  =========  ==========  ==========
    copies  8 devices  16 devices  32 devices
    ======  =========  ==========  ==========
    256     528        859         860
    1024    525        979         1409
    4096    494        968         1396
    ======  =========  ==========  ==========

    The peaks were read after some ten steps. The requests of an imperative network meet other
    buffers in each step, so its ring goes on growing: ResNet-18 with 8 images on one device had
    1.7 GB after 10 steps, 3.3 after 40, 4.4 after 90, and 5.2 after 160 (2-core x86-64, AVX-512,
    24 GiB). Most page faults of such a step come from this growth.

``MXNET_CPU_PARALLEL_RAND_COPY``: generators of random numbers, MXNet's 1.
    All CPU devices share a ring of these, too, for what ``mx.nd.random`` draws, first weights and
    the masks of ``Dropout``. So with one, two devices take turns at them (eight
    ``normal((1000, 1000))`` on each: overlap 0.0). More let them overlap, but repeat one another's
    numbers: a generator is 1,024 streams, and those of the next in the ring are the same, 16
    further on. What follows a draw is then this draw once more, shifted. Spread of the means of 16
    draws of a million (0.001 if they are independent), the numbers that two ``Dense(256)`` made one
    after the other have in common, and resident memory (2-core Intel Xeon, AVX-512, 2026-11-28):

    ==========  ========  =======  ======  ======
    generators  overlap   spread   shared  memory
    ==========  ========  =======  ======  ======
    1           0.00      0.00091  0.3 %   140 MB
    2           --        0.00097  98 %    146 MB
    16          0.95-1.0  0.00021  98 %    217 MB
    64          --        0.00027  98 %    463 MB
    ==========  ========  =======  ======  ======

    So 1, since wrong numbers are worse than late ones. (--: not measured.) Whatever the number, one
    seed gives the same numbers again, in a process and in the next. The report's line is
    *generators*; who needs the overlap, and no statistics, sets the variable.

    No setting divides what the *other* generator draws, MXNet's older one: ``mx.np.random``,
    ``nd.random.multinomial``, ``nd.shuffle``, and, because they ask for it with or without dropout,
    ``LSTM``, ``GRU`` and ``RNN``. CPU devices take turns at these (overlap 0.0, layers 0.2 to 0.5).
    Of the others tried, products, convolutions, pooling, norms, softmax, sort, take, sums, copies,
    a Cholesky factorization and updates reach 0.8 to 1.0.

glibc's ``mallopt``: not called.
    Freed memory kept in the process, and in one heap, saves a step of ResNet-18 its page faults,
    yet no processor time on one device, at up to 14 % more memory (2-core x86-64, AVX-512, 24 GiB).

Ignored, and the report says so: counts of buffers, generators and workers that are no positive
integers (``MXNET_CPU_TEMP_COPY=0``), of which MXNet dies or hangs, and engines that it does not
have or that let CPU devices hang (``MXNET_ENGINE_TYPE=ThreadedEngine``). Others are the reader's to
choose.

Refused: a ``DMLC_ROLE`` that is not a worker's, without the rest of what a job sets, or in a
notebook. MXNet would be a server as soon as it is imported, and fail, or serve until the job ends;
to ignore the role could let half a job run.

CUDA libraries: the ``nvidia-*-cu11`` packages keep them where the loader does not look, so they are
loaded from there first, for the GPU wheel (``mxnet-cu112``) alone.

What libmxnet.so needs of the system: see `libraries`, beside this one. On ARM that is an OpenBLAS
newer than MXNet's, which knows the CPU and in which two devices did not hang. One thread a device
it is nevertheless, so that each device has a core; ``OPENBLAS_NUM_THREADS=1`` while it loads is for
those builds of OpenBLAS that have threads of their own.
"""

from __future__ import annotations

import contextlib
import ctypes
import importlib
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from types import ModuleType

from d2l_local.base.language import columns, padded, translated
from d2l_local.install import builds
from d2l_local.install.loading import LoadError
from d2l_local.machine.host import cpu_flags, num_cores
from d2l_local.prepare_mxnet import libraries, numpy_view

SCRATCH_COPIES = max(256, 32 * num_cores())

# Environment variables that MXNet reads as numbers, late in part: a worker's when it is started.
COUNTS = (
    "MXNET_CPU_TEMP_COPY",
    "MXNET_GPU_TEMP_COPY",
    "MXNET_CPU_PARALLEL_RAND_COPY",
    "MXNET_GPU_PARALLEL_RAND_COPY",
    "MXNET_CPU_WORKER_NTHREADS",
    "MXNET_CPU_PRIORITY_NTHREADS",
    "MXNET_GPU_WORKER_NTHREADS",
    "MXNET_GPU_COPY_NTHREADS",
)
LARGEST_COUNT = 2**16  # Far more buffers or workers than that would take all memory
# What a launcher sets together with DMLC_ROLE.
JOB = ("DMLC_PS_ROOT_URI", "DMLC_PS_ROOT_PORT", "DMLC_NUM_WORKER", "DMLC_NUM_SERVER")
ENGINES = ("ThreadedEnginePerDevice", "NaiveEngine")

# Flags a CPU needs for a kernel of the bundled OpenBLAS 0.3.13, best kernel first. That one was
# built without AVX-512 and takes Haswell when asked for SkylakeX. Zen is Haswell tuned for AMD.
BLAS_KERNELS = {"Haswell": {"avx2", "fma"}}
AVX2_KERNELS = {"Haswell", "Zen"}


@dataclass(frozen=True)
class Setting:
    """One decision: what it concerns, its value now, and why it is so."""

    name: str
    value: str
    reason: str

    def translated_reason(self) -> str:
        """The reason in the language in force; of several, each that is in its table."""
        return translated("; ").join(map(translated, self.reason.split("; ")))


@dataclass
class Report:
    """What `load` did; ``print`` shows it as a table, `summary` in one line."""

    settings: list[Setting] = field(default_factory=list)
    losses: list[str] = field(default_factory=list)
    deadlock: bool = False

    def add(self, name: str, value: object, reason: str) -> None:
        self.settings.append(Setting(name, str(value), reason))

    def __getitem__(self, name: str) -> str:
        for setting in self.settings:
            if setting.name == name:
                return setting.value
        raise KeyError(f"{name!r} is not in the report; it has {[s.name for s in self.settings]}")

    def summary(self) -> str:
        """Return what a banner says: the version, and how many threads a CPU device has."""
        return translated(
            "MXNet {version}, threads per CPU device: {threads}",
            version=self["MXNet"],
            threads=self["threads"],
        )

    def __str__(self) -> str:
        rows = [(translated(s.name), s.value, s.translated_reason()) for s in self.settings]
        names, values = [max(map(columns, column)) for column in zip(*rows)][:2]
        lines = [f"{padded(n, names)}  {padded(v, values)}  {reason}" for n, v, reason in rows]
        return "\n".join(lines + [f"lost: {loss}" for loss in self.losses])

    __repr__ = __str__


_report: Report | None = None


def report() -> Report:
    """The `Report` of this process; imports MXNet if that has not happened yet."""
    return load()


def load() -> Report:
    """Import MXNet with the settings of this module and return what was done.

    Only the first call does anything. If MXNet is in the process already, nothing can be set any
    more: a `RuntimeWarning` says what is lost. Raises `LoadError` if MXNet misses
    a library, or if ``DMLC_ROLE`` is left of a job; another `RuntimeWarning` says if both of
    its builds are installed.
    """
    global _report
    if _report is None:
        _report = _late() if "mxnet" in sys.modules else _in_time()
    return _report


def require_parallel_cpus() -> None:
    """Raise RuntimeError if two CPU devices used together would hang in this process."""
    done = load()
    if done.deadlock:
        raise RuntimeError(
            f"MXNet was imported before d2l_local and runs {done['threads']} threads on each "
            "CPU device; with more than one thread, two CPU devices deadlock in OpenBLAS. Restart "
            "the kernel and import d2l_local first, or set OMP_NUM_THREADS=1 before Python starts."
        )


def _in_time() -> Report:
    _refuse_half_a_job()
    import numpy  # noqa: F401  before OPENBLAS_CORETYPE is set: its OpenBLAS knows newer CPUs

    kernel, why = _choose_blas_kernel()
    ignored = _remove_bad_settings()
    copies = os.environ.setdefault("MXNET_CPU_TEMP_COPY", str(SCRATCH_COPIES))
    omp = os.environ.get("OMP_NUM_THREADS")
    os.environ["MXNET_OMP_MAX_THREADS"] = "1"

    libraries.load_system_libraries()  # While OMP_NUM_THREADS is there, which libgomp reads now
    builds.load_cuda_libraries()
    numpy_view.apply()
    settings: dict[str, str | None] = {"OMP_NUM_THREADS": None, "OPENBLAS_CORETYPE": kernel}
    if libraries.ARM:
        settings["OPENBLAS_NUM_THREADS"] = "1"
    with _environment(**settings):
        libraries.load_mxnet_on_arm()
        mxnet = _import_mxnet()
    names = numpy_view.apply()  # Again: now it also names what it patched inside MXNet

    threads_why = "two CPU devices with more threads each would deadlock"
    if libraries.ARM:
        threads_why = "a core for each CPU device"
    if omp not in (None, "1"):
        threads_why += "; " + translated(
            "your OMP_NUM_THREADS={omp} is kept for other libraries", omp=omp
        )
    reasons = (
        "imported by d2l_local, in time for every setting",
        threads_why,
        why,
        "yours" if copies != str(SCRATCH_COPIES) else "stock 4 make CPU devices take turns",
    )
    done = _described(mxnet, 1, copies, names, reasons)
    if ignored:
        listed = ", ".join(f"{name}={value!r}" for name, value in ignored.items())
        why = translated("MXNet would fail or hang with your {settings}", settings=listed)
        done.add("ignored", len(ignored), why)
    return done


def _late() -> Report:
    mxnet = sys.modules["mxnet"]
    names = numpy_view.apply()
    threads = _threads_of_early_mxnet()
    ignored = _remove_bad_settings()  # MXNet may not have read them yet
    copies = os.environ.get("MXNET_CPU_TEMP_COPY", "4")
    too_late = "MXNet was imported before d2l_local"
    done = _described(mxnet, threads, copies, names, [too_late] * 4)

    best = _choose_blas_kernel()[0]
    if best in BLAS_KERNELS and done["BLAS kernel"] not in AVX2_KERNELS:
        done.losses.append(f"BLAS kernel stays {done['BLAS kernel']}; {best} would be faster")
    if int(copies) < SCRATCH_COPIES:
        done.losses.append(f"only {copies} scratch copies: CPU devices wait for each other")
    for name, value in ignored.items():
        done.losses.append(f"MXNet may fail or hang with your {name}={value!r}")
    if done.deadlock:
        done.losses.append(f"{threads} threads a device: two CPU devices would deadlock")
    if done.losses:
        warnings.warn(
            f"{too_late}: {'; '.join(done.losses)}. Restart the kernel and import d2l_local first.",
            RuntimeWarning,
            stacklevel=3,
        )
    return done


def _described(
    mxnet: ModuleType, threads: int, copies: str, names: list[str], reasons: Sequence[str]
) -> Report:
    """Return the report's rows; ``reasons`` are those of the four that `load` sets or finds."""
    values = {
        "MXNet": mxnet.__version__,
        "threads": threads,
        "BLAS kernel": blas_kernel() or "unknown",
        "scratch copies": copies,
    }
    done = Report(deadlock=threads > 1 and not libraries.ARM)
    for (name, value), reason in zip(values.items(), reasons):
        done.add(name, value, reason)
    done.add("generators", *_generators())
    done.add("engine", *_engine())
    done.add("compatibility", len(names), "; ".join(names) or "nothing was missing")
    return done


def _remove_bad_settings() -> dict[str, str]:
    """Remove environment variables of which MXNet would die or hang; return them and their values.

    An empty one means, as for MXNet's numbers, that it is not set.
    """
    bad = {name: value for name in COUNTS if not _is_count(value := os.environ.get(name, "1"))}
    engine = os.environ.get("MXNET_ENGINE_TYPE", ENGINES[0])
    if engine not in ENGINES:
        bad["MXNET_ENGINE_TYPE"] = engine
    for name in bad:
        del os.environ[name]
    return {name: value for name, value in bad.items() if value}


def _refuse_half_a_job() -> None:
    role = os.environ.get("DMLC_ROLE", "worker")
    if role == "worker":
        return
    if missing := [name for name in JOB if name not in os.environ]:
        why = f"but lacks {', '.join(missing)}"
    elif role not in ("server", "scheduler"):
        why = "but a job has no such role"
    elif "ipykernel" in sys.modules:
        why = "and in a notebook the import would never return"
    else:
        return
    raise LoadError(
        f"the environment has DMLC_ROLE={role!r}, with which MXNet would be part of a job, {why}",
        "unset DMLC_ROLE",
    )


def _is_count(value: str) -> bool:
    return value.isdecimal() and value.isascii() and 0 < int(value) <= LARGEST_COUNT


def _import_mxnet():
    if len(both := builds.installed_builds()) > 1:
        from d2l_local.install import commands

        warnings.warn(
            f"Both {' and '.join(both)} are installed, and each overwrote files of the other. "
            f"Type: {commands.switch_to(builds.fitting_build())}",
            RuntimeWarning,
            stacklevel=4,
        )
    try:
        with _without("sklearn"):
            return importlib.import_module("mxnet")
    except OSError as error:
        raise _explain(str(error)) from error


@contextlib.contextmanager
def _without(module: str) -> Iterator[None]:
    """Let ``import module`` fail in a block unless it is loaded already.

    MXNet imports scikit-learn only for the base class of ``mx.model.FeedForward``, can do without,
    and takes more than twice as long with it.
    """
    if module in sys.modules:
        yield
        return
    sys.modules[module] = None  # type: ignore[assignment]  # None: Python's mark for "not there"
    try:
        yield
    finally:
        sys.modules.pop(module, None)


def _explain(message: str) -> LoadError:
    """What to do about a shared object that libmxnet.so could not load."""
    from d2l_local.install import commands

    if "libcuda.so" in message:
        return LoadError(
            f"MXNet's GPU build, mxnet-cu112, needs an NVIDIA driver, and this machine has none "
            f"({message}); the CPU build needs none",
            commands.switch_to("mxnet"),
        )
    if builds.gpu_wheel_installed() and (missing := builds.missing_cuda_libraries()):
        return LoadError(
            f"mxnet-cu112 misses {', '.join(so for so, _ in missing)} ({message})",
            commands.pip_install(*sorted({package for _, package in missing})),
        )
    return LoadError(
        f"MXNet's library cannot be loaded: {message}",
        commands.set_up("mxnet"),
    )


def _generators() -> tuple[str, str]:
    copies = os.environ.get("MXNET_CPU_PARALLEL_RAND_COPY", "1")
    if int(copies) == 1:
        return copies, "CPU devices take turns at random numbers; more would repeat the first's"
    return copies, "yours; CPU devices overlap, and each draw repeats the one before it"


def _engine() -> tuple[str, str]:
    if engine := os.environ.get("MXNET_ENGINE_TYPE"):
        return engine, "yours; with NaiveEngine nothing is asynchronous and nothing overlaps"
    return "ThreadedEnginePerDevice", "MXNet's default: asynchronous, a worker for each CPU device"


@contextlib.contextmanager
def _environment(**variables: str | None) -> Iterator[None]:
    """Set (or, for None, remove) environment variables for the length of a block."""
    before = {name: os.environ.get(name) for name in variables}
    try:
        _set_environment(variables)
        yield
    finally:
        _set_environment(before)


def _set_environment(variables: dict[str, str | None]) -> None:
    for name, value in variables.items():
        if value is None:
            os.environ.pop(name, None)
        else:
            os.environ[name] = value


def _choose_blas_kernel() -> tuple[str | None, str]:
    """Kernel to ask OpenBLAS for (None: its own choice) and the reason."""
    if user := os.environ.get("OPENBLAS_CORETYPE"):
        return user, "yours (OPENBLAS_CORETYPE)"
    if libraries.ARM:
        return None, "on ARM the system's OpenBLAS chooses"
    flags = cpu_flags()
    for kernel, needed in BLAS_KERNELS.items():
        if needed <= flags:
            listed = ", ".join(sorted(needed)[:2])
            return kernel, translated("from the CPU's flags ({flags}, …)", flags=listed)
    return None, "OpenBLAS's own choice: the CPU has no flags that a faster kernel needs"


def blas_kernel() -> str | None:
    """Name of the kernel that MXNet's OpenBLAS uses, or None if it cannot be asked."""
    try:
        ask = ctypes.CDLL("libopenblas.so.0", mode=_NOLOAD).openblas_get_corename
    except (OSError, AttributeError):
        return None
    ask.restype = ctypes.c_char_p
    return ask().decode()


_NOLOAD = getattr(os, "RTLD_NOLOAD", 0) | getattr(os, "RTLD_LAZY", 1)


def _threads_of_early_mxnet() -> int:
    """Threads on each CPU device of an MXNet that was imported without us.

    With OMP_NUM_THREADS set MXNet takes what the OpenMP runtime read when *that* was loaded;
    without it MXNET_OMP_MAX_THREADS, or half the logical processors.
    """
    if "OMP_NUM_THREADS" in os.environ:
        return _openmp_threads()
    return int(os.environ.get("MXNET_OMP_MAX_THREADS") or max(1, (os.cpu_count() or 1) // 2))


def _openmp_threads() -> int:
    """The OpenMP runtime's initial thread count: a new thread has it, the main one may not."""
    count = []
    runtime = ctypes.CDLL("libgomp.so.1")
    thread = threading.Thread(target=lambda: count.append(runtime.omp_get_max_threads()))
    thread.start()
    thread.join()
    return count[0]
