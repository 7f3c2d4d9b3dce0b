"""The names of every backend that know no framework: ``from d2l_local.shared import *``."""

# ruff: noqa: F401

from d2l_local.base.processes import in_new_process
from d2l_local.data.text import load_text
from d2l_local.lesson.exercise import expect, measured
from d2l_local.lesson.law import law
from d2l_local.machine.cores import own_core
from d2l_local.machine.crowding import Crowding, excuses
from d2l_local.machine.host import num_cores
from d2l_local.machine.storage import bytes_from_disk, file_on_disk
from d2l_local.measure.charts import (
    axes,
    plot_parts,
    plot_prediction,
    plot_roofline,
    plot_timelines,
    use_svg_display,
)
from d2l_local.measure.held import Held
from d2l_local.measure.latency import read_time
from d2l_local.measure.timeline import on_record
from d2l_local.simulate.schedule import pipeline_schedule, three_loops
from d2l_local.simulate.trials import ChainTrial
from d2l_local.simulate.wire import Wire
