"""A framework that computes at once, with NumPy: d2l_local/fake/__init__.py of a grown tree."""

from __future__ import annotations

import time

from d2l_local import backend
from d2l_local.base.arguments import index_of_device, number_of_devices
from d2l_local.measure import timeline
from d2l_local.shared import *  # noqa: F403

import numpy as np

plain = np.dot


class Timeline(timeline.Timeline):
    """Records the products that `dot` makes."""

    events: list = []

    def _start(self):
        self.events.clear()

    def _wait(self):
        pass

    def _stop(self):
        return list(self.events)


def dot(x, y):
    start = time.perf_counter()
    result = plain(x, y)
    Timeline.events.append(("fake/0", "dot", start, time.perf_counter()))
    return result


class Fake(backend.Backend):
    Timeline = Timeline

    def num_gpus(self) -> int:
        return 0

    def devices(self, n: int = 2) -> list[str]:
        return [f"fake({i})" for i in range(number_of_devices(n))]

    def try_gpu(self, i: int = 0) -> str:
        return self.devices(index_of_device(i) + 1)[-1]

    def try_all_gpus(self) -> list[str]:
        return self.devices(2)

    def lane(self, device: str) -> str:
        return device.replace("(", "/").rstrip(")")

    def banner(self, used: list[str]) -> None:
        print(f"devices: {', '.join(used)} (fake)")

    def examine(self) -> dict:
        ones = np.ones((200, 200))
        names = [backend.checked(device, plain(ones, ones)) for device in self.devices()]
        return {"version": "1", "build": "CPU", "devices": names, "usable_gpus": [], "threads": 1}

    def synchronize(self) -> None:
        pass

    def _convert(self, array):
        return array

    def _copier(self, device, num_bytes):
        x, y = np.ones((2, num_bytes // 4), np.float32)
        return lambda: np.copyto(y, x)


globals().update(backend.names(Fake()))
