"""A framework that computes at once, with NumPy: d2l_local/fake/__init__.py of a grown tree."""

from __future__ import annotations

import time

from d2l_local import backend
from d2l_local.base.arguments import index_of_device, number_of_devices
from d2l_local.base.processes import in_new_process  # noqa: F401
from d2l_local.lesson.law import law  # noqa: F401
from d2l_local.machine.cores import own_core  # noqa: F401
from d2l_local.machine.crowding import Crowding  # noqa: F401
from d2l_local.machine.host import num_cores  # noqa: F401
from d2l_local.measure import allocations, timeline
from d2l_local.measure.allocations import plot_allocations  # noqa: F401
from d2l_local.measure.charts import (  # noqa: F401
    plot_prediction,
    plot_roofline,
    plot_timelines,
)
from d2l_local.measure.held import Held  # noqa: F401
from d2l_local.measure.latency import read_time  # noqa: F401
from d2l_local.measure.timeline import on_record  # noqa: F401
from d2l_local.simulate.hosts import Hosts, has_hosts  # noqa: F401
from d2l_local.simulate.schedule import pipeline_schedule, schedule  # noqa: F401
from d2l_local.simulate.wire import Wire  # noqa: F401

import numpy as np

plain = np.dot


def num_gpus() -> int:
    return 0


def devices(n: int = 2) -> list[str]:
    return [f"fake({i})" for i in range(number_of_devices(n))]


def try_gpu(i: int = 0) -> str:
    return devices(index_of_device(i) + 1)[-1]


def try_all_gpus() -> list[str]:
    return devices(2)


def lane(device: str) -> str:
    return device.replace("(", "/").rstrip(")")


def banner(used: list[str]) -> None:
    print(f"devices: {', '.join(used)} (fake)")


def examine() -> dict:
    ones = np.ones((200, 200))
    names = [backend.checked(device, plain(ones, ones)) for device in devices()]
    return {"version": "1", "build": "CPU", "devices": names, "usable_gpus": [], "threads": 1}


def synchronize() -> None:
    pass


class Timeline(timeline.Timeline):
    """Records the products that `dot` makes."""

    events: list = []

    def _start(self):
        self.events.clear()

    def _wait(self):
        pass

    def _stop(self):
        return list(self.events)


class Allocations(allocations.Allocations):
    """Counts nothing, because NumPy tells nobody."""

    @staticmethod
    def _record(fn):
        return fn(), []


def copier(device, num_bytes):
    x, y = np.ones((2, num_bytes // 4), np.float32)
    return lambda: np.copyto(y, x)


def dot(x, y):
    start = time.perf_counter()
    result = plain(x, y)
    Timeline.events.append(("fake/0", "dot", start, time.perf_counter()))
    return result


_shared = backend.make(synchronize, num_gpus, np.asarray, copier, Timeline)
Benchmark, Memory, measure, compare, together, operation_times, waits = _shared[:7]
has_gpus, device_times, copy_rates, load_data_fashion_mnist = _shared[7:]
