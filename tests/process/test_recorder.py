"""What MXNet's profiler records on real devices, the stand-ins for GPUs among them."""

from __future__ import annotations

import re
from pathlib import Path

from d2l_local.base.processes import in_new_process
from d2l_local.measure.timeline import Span, Timeline

import pytest
from settings import NOTHING_SET

pytestmark = pytest.mark.timeout(200)


def recordings():
    """Several recordings in one process."""
    import os
    import tempfile

    from d2l_local import mxnet as d2l
    from d2l_local.mxnet import profiler

    import mxnet as mx

    result = {"would delete": [], "others may": set()}
    set_config = profiler._set_config

    def watched(filename, **settings):  # MXNet deletes the file that it is told
        if os.path.exists(filename) and not filename.startswith(tempfile.gettempdir()):
            result["would delete"].append(filename)
        else:
            if filename.startswith(tempfile.gettempdir()):
                result["others may"].add(os.stat(os.path.dirname(filename)).st_mode & 0o077)
            set_config(filename=filename, **settings)

    profiler._set_config = watched
    xs = [mx.nd.random.uniform(shape=(600, 600), ctx=device) for device in (mx.cpu(0), mx.cpu(1))]

    with d2l.Timeline() as timeline:
        for _ in range(20):
            for x in xs:
                mx.nd.dot(x, x)
    result["two devices"] = timeline.lanes

    with d2l.Timeline() as timeline:
        xs[1].copyto(mx.cpu(0))
    result["copy"] = timeline.lanes

    bad = d2l.Timeline()
    try:
        with bad:
            mx.nd.dot(xs[0], xs[0])
            mx.nd.random.normal(0, -1, shape=(3, 3))  # A negative scale: fails while running
    except mx.base.MXNetError as error:
        result["error"] = str(error)
    result["failed block"] = bad.lanes

    broken = d2l.Timeline()
    try:
        with broken:
            mx.nd.dot(xs[0], xs[0])
            raise ValueError("mine")
    except ValueError as error:
        result["own error"] = str(error)
    result["broken block"] = broken.lanes

    with d2l.Timeline() as timeline:
        pass
    result["empty"] = timeline.lanes

    mx.nd.relu(xs[0])  # Queued before the block: not the block's
    with d2l.Timeline() as outer:
        try:
            with d2l.Timeline():
                pass
        except RuntimeError as error:
            result["nested"] = str(error)
        mx.nd.dot(xs[0], xs[0])
    mx.nd.relu(xs[0]).wait_to_read()  # After it: not the block's either
    result["after"] = outer.lanes

    y = xs[0].copyto(mx.cpu(2))
    with d2l.Timeline() as timeline:
        mx.nd.dot(y, y)
    result["third device"] = timeline.lanes

    with d2l.Timeline() as timeline:
        with timeline.span("Python", "queue"):
            z = mx.nd.dot(y, y)
        z.wait_to_read()
        with timeline.span("Python", "wait"):
            mx.nd.dot(y, y).wait_to_read()
    result["what Python did"] = timeline.lanes
    times = d2l.operation_times(lambda: mx.nd.dot(xs[0], xs[0]), 5, 3)
    result["product"] = [times.t_q, times.t_c, times.t_w]

    X = mx.nd.ones((8, 6), ctx=mx.cpu(1))
    step = d2l.mlp_step(5, 2, lr=0.1, device=mx.cpu(1))
    result["losses"] = [step(X).asscalar().item() for _ in range(60)]
    predicted = d2l.mlp_predict(5, 2, device=mx.cpu(1))(X)
    result["predicted"] = [predicted.shape, str(predicted.context)]

    # Of what is ready, MXNet needs no marker to wait for it; the last of many products is not.
    with d2l.Timeline(bookkeeping=True) as timeline:
        [mx.nd.dot(xs[0], xs[0]) for _ in range(50)][-1].wait_to_read()
    result["bookkeeping"] = timeline.lanes
    result["others may"] = sorted(result["others may"])
    return result


@pytest.fixture(scope="module")
def mxnet_run(tmp_path_factory):
    """Return what `recordings` recorded, and the temporary files that it left."""
    folder = tmp_path_factory.mktemp("temporary")
    folder.chmod(0o1777)  # As /tmp
    result = in_new_process(recordings, seconds=150, **{**NOTHING_SET, "TMPDIR": folder})
    return result, [path.name for path in folder.iterdir()]


@pytest.fixture
def lanes(mxnet_run):
    """Return the lanes of each recording."""
    return mxnet_run[0]


def names(spans):
    return [name for name, *_ in spans]


def test_two_devices_compute_at_the_same_time(lanes):
    timeline = Timeline(lanes["two devices"])
    assert list(timeline.lanes) == ["cpu/0", "cpu/1"]
    assert [names(spans) for spans in timeline.lanes.values()] == [["dot"] * 20] * 2
    assert timeline.overlap("cpu/0", "cpu/1") > 0.5
    for spans in timeline.lanes.values():
        assert all(span.end > span.start >= 0 for span in spans)


def test_python_s_lane_is_on_the_clock_of_the_devices(lanes):
    timeline = Timeline(lanes["what Python did"])
    assert names(timeline.lanes["Python"]) == ["queue", "wait"]
    [first, second], [queue, wait] = timeline.lanes["cpu/2"], timeline.lanes["Python"]
    assert queue.start <= first.start < first.end <= wait.start
    assert wait.start <= second.start < second.end <= wait.end


def test_a_product_takes_longer_than_queuing_it(lanes):
    t_q, t_c, t_w = lanes["product"]
    assert 0 < t_q < t_c and t_w >= 0


def test_mlp_step_trains_on_its_device(lanes):
    assert lanes["losses"][-1] < 0.1 * lanes["losses"][0]


def test_mlp_predict_computes_on_its_device(lanes):
    assert lanes["predicted"] == [[8, 2], "cpu(1)"]


def test_a_copy_is_on_the_lane_of_its_source(lanes):
    assert list(lanes["copy"]) == ["cpu/1"]
    assert [Span(*span).is_copy for span in lanes["copy"]["cpu/1"]] == [True]


def test_mxnet_s_asynchronous_error_is_raised(lanes):
    assert "scale parameter" in lanes["error"]
    assert "dot" in names(lanes["failed block"]["cpu/0"])


def test_what_ran_before_an_exception_is_kept(lanes):
    assert lanes["own error"] == "mine"
    assert names(lanes["broken block"]["cpu/0"]) == ["dot"]


def test_mxnet_s_empty_block(lanes):
    assert lanes["empty"] == {}


def test_a_recording_holds_its_own_block_only(lanes):
    assert "recording already" in lanes["nested"]
    assert {lane: names(spans) for lane, spans in lanes["after"].items()} == {"cpu/0": ["dot"]}


def test_a_third_device(lanes):
    assert {lane: names(s) for lane, s in lanes["third device"].items()} == {"cpu/2": ["dot"]}


def test_the_engine_s_own_entries_are_there_on_request(lanes):
    found = {name for spans in lanes["bookkeeping"].values() for name in names(spans)}
    assert {"dot", "WaitForVar"} <= found <= {"dot", "WaitForVar", "DeleteVariable"}


def test_no_temporary_file_is_left(mxnet_run):
    assert mxnet_run[1] == []


def test_no_file_is_deleted_but_our_own(lanes):
    """Told to write to /dev/null, MXNet deletes that, if it is run by root."""
    assert lanes["would delete"] == []


def test_nobody_else_reaches_the_file_that_mxnet_writes(lanes):
    """MXNet deletes it and makes it anew: a link put there would lead to a file of the reader's."""
    assert lanes["others may"] == [0]


def somebody_else_takes_the_name():
    """Record, and then put a file where MXNet has written, which is gone by then."""
    import os

    from d2l_local import mxnet as d2l

    with d2l.Timeline() as timeline:
        d2l.mx.nd.ones((9, 9)) + 1
    os.mkdir(os.path.dirname(timeline._profiler.path))
    with open(timeline._profiler.path, "w") as file:
        file.write("three years of work")
    return timeline._profiler.path


def test_mxnet_writes_no_more_to_a_name_that_is_gone(tmp_path):
    """Else it would, as the process ends, through a link that was put there, or wait at a pipe."""
    path = in_new_process(somebody_else_takes_the_name, 150, **{**NOTHING_SET, "TMPDIR": tmp_path})
    assert Path(path).read_text() == "three years of work"


def no_room():
    """Record with files that may not grow: what a profiler meets on a full disk."""
    import resource

    from d2l_local import mxnet as d2l

    errors, x = [], d2l.mx.nd.ones((9, 9))
    for most in (0, 4096):
        timeline = d2l.Timeline()
        try:
            with timeline:
                resource.setrlimit(resource.RLIMIT_FSIZE, (most, resource.RLIM_INFINITY))
                for _ in range(50):
                    x = x + 1
        except OSError as error:
            errors.append([str(error), error.filename])
        finally:
            infinite = (resource.RLIM_INFINITY, resource.RLIM_INFINITY)
            resource.setrlimit(resource.RLIMIT_FSIZE, infinite)
    with d2l.Timeline() as timeline:
        x = x + 1
    return {"errors": errors, "afterwards": [s.name for s in timeline.lanes["cpu/0"]]}


def test_a_full_disk_is_named_and_the_next_timeline_works(tmp_path):
    result = in_new_process(no_room, 150, **{**NOTHING_SET, "TMPDIR": tmp_path})
    assert len(result["errors"]) == 2
    for error, path in result["errors"]:
        assert "could not write its trace; make room" in error and "TMPDIR" in error
        assert path.startswith(str(tmp_path))
    assert len(result["afterwards"]) == 1 and list(tmp_path.iterdir()) == []


def a_reader_s_profiler():
    """Record with MXNet's profiler and with ours, before, beside and in one another."""
    import os

    from d2l_local import mxnet as d2l
    from d2l_local.mxnet import profiler

    import mxnet as mx

    x, errors, folder = mx.nd.ones((60, 60)), [], os.environ["FOLDER"]

    def refused(call):
        try:
            call()
        except RuntimeError as error:
            errors.append(str(error))

    def ours():
        with d2l.Timeline():
            x + 1

    def theirs(name):
        mx.profiler.set_config(profile_all=True, filename=f"{folder}/{name}")
        mx.profiler.set_state("run")
        mx.nd.dot(x, x).wait_to_read()

    def end(**finished):
        mx.profiler.set_state("stop")
        mx.profiler.dump(**finished)

    def in_file(name):
        with open(f"{folder}/{name}") as file:
            text = file.read()
        return [op for op in ("dot", "relu", "_plus_scalar") if f'"{op}"' in text]

    theirs("first")
    refused(ours)
    mx.nd.relu(x).wait_to_read()
    mx.profiler.set_state("stop")
    refused(ours)  # They have not written it yet
    mx.profiler.dump(finished=False)
    first = in_file("first")

    with d2l.Timeline() as timeline:
        x + 1
        refused(lambda: theirs("second"))
        mx.nd.relu(x)
    refused(lambda: mx.profiler.set_state("run"))  # It would write to nowhere
    theirs("second")
    end(finished=False)

    profiler._set_state("run")  # As somebody whom we do not see
    mx.nd.dot(x, x).wait_to_read()
    profiler._set_state("stop")
    with d2l.Timeline() as unseen:
        x + 1

    theirs("third")
    end()
    refused(ours)
    return {
        "errors": errors,
        "files": [first, in_file("second"), in_file("third")],
        "lanes": [[span.name for span in t.lanes["cpu/0"]] for t in (timeline, unseen)],
    }


def test_a_reader_s_profiler_and_ours_leave_each_other_alone(tmp_path):
    result = in_new_process(a_reader_s_profiler, 150, **NOTHING_SET, FOLDER=tmp_path)
    for error, said in zip(
        result["errors"],
        (
            r"on already, .*set_state\('stop'\) and .* before a Timeline",
            r"holds what you have recorded, .* call mx.profiler.dump\(finished=False\)",
            r"a Timeline is recording already, and there is one profiler a process",
            r"call mx.profiler.set_config\(filename=",
            r"mx.profiler.dump\(\) has ended .* Restart the kernel",
        ),
    ):
        assert re.search(said, error)
    assert len(result["errors"]) == 5
    assert result["files"] == [["dot", "relu"], ["dot"], ["dot"]]
    assert result["lanes"] == [["_plus_scalar", "relu"], ["_plus_scalar"]]


def unicode_folder():
    import tempfile

    from d2l_local import mxnet as d2l

    try:
        with d2l.Timeline():
            pass
    except RuntimeError as error:
        return [ascii(tempfile.gettempdir()), str(error)]


def test_a_temporary_folder_that_the_locale_cannot_name(tmp_path):
    folder = tmp_path / "m\xfcll"
    folder.mkdir()
    ascii_only = {"LC_ALL": "C", "PYTHONCOERCECLOCALE": 0, "PYTHONUTF8": 0}
    name, error = in_new_process(
        unicode_folder, 150, **{**NOTHING_SET, "TMPDIR": folder, **ascii_only}
    )
    assert f"the folder {name} has letters" in error and "PYTHONUTF8=1" in error
    assert list(folder.iterdir()) == []


def many_devices():
    """A Timeline on one core of several, then one that MXNet's profiler would not survive."""
    import os
    import warnings

    os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    from d2l_local import mxnet as d2l

    import mxnet as mx

    warnings.simplefilter("ignore")
    with d2l.Timeline() as timeline:
        for device in d2l.devices(2):
            mx.nd.dot(*[mx.nd.ones((300, 300), ctx=device)] * 2)
    used = d2l.devices((os.cpu_count() or 1) + 3)
    total = sum(mx.nd.ones((2, 2), ctx=device).sum().asscalar() for device in used)
    result = {"lanes": timeline.lanes, "devices": len(used), "total": float(total)}
    try:
        with d2l.Timeline():
            pass
    except RuntimeError as error:
        result["error"] = str(error)
    return result


def test_more_devices_than_the_profiler_takes(tmp_path):
    result = in_new_process(many_devices, seconds=120, **{**NOTHING_SET, "TMPDIR": tmp_path})
    assert {lane: names(s) for lane, s in result["lanes"].items()} == {
        "cpu/0": ["_ones", "dot"],
        "cpu/1": ["_ones", "dot"],
    }
    assert result["total"] == 4 * result["devices"]  # They compute all the same
    assert f"gave out cpu({result['devices'] - 1})" in result["error"]
    assert "at most" in result["error"]
    assert list(tmp_path.iterdir()) == []


def at_the_same_time():
    """Work on a GPU's stand-in and on the CPU, as code for a GPU and the CPU does."""
    from d2l_local import mxnet as d2l

    import mxnet as mx

    d2l.stand_in_for_gpus()
    xs = [mx.nd.ones((600, 600), ctx=device) for device in (mx.cpu(), mx.gpu(0), mx.gpu(1))]
    mx.nd.waitall()
    with d2l.Timeline() as timeline:
        ys = [mx.nd.dot(x, x) for _ in range(10) for x in xs]
        copies = [y.copyto(mx.cpu()) for y in ys]
    return {
        "lanes": list(timeline.lanes),
        "overlap": timeline.overlap("cpu/0", "cpu/1"),
        "values": sorted({float(copy.max().asscalar()) for copy in copies}),
        "copies": [span.name for span in timeline.lanes["cpu/2"] if span.is_copy],
    }


def test_stand_ins_are_devices_of_their_own():
    result = in_new_process(at_the_same_time, seconds=150)
    assert result["lanes"] == ["cpu/0", "cpu/1", "cpu/2"]
    assert result["overlap"] > 0.2
    assert result["values"] == [600.0]
    assert len(result["copies"]) == 10
