"""Jobs of several processes: what they compute, how failures surface, and that none is left."""

import contextlib
import os
import pickle
import signal
import subprocess
import sys
import tempfile
from pathlib import Path

from d2l_local.mxnet.cluster import Cluster, ClusterError

import pytest
from helpers import assert_end, runs, until

ROOT = Path(__file__).resolve().parents[2]
EVERYBODY = ["scheduler 0", "server 0", "worker 0", "worker 1"]

# Programs that need no MXNet: the supervision does not know what it supervises.
HELLO = "import os, sys; print('I am a', os.environ['DMLC_ROLE'], *sys.argv[1:])"
SLEEP = "import time; print('asleep'); time.sleep(600)"
# A process with a child of its own, which must end with it.
PARENT = "import subprocess, time; print(subprocess.Popen(['sleep', '600']).pid); time.sleep(600)"
# The server fails, the others wait.
FAIL = """
import os, time
if os.environ["DMLC_ROLE"] == "server":
    raise SystemExit("out of coffee")
time.sleep(600)
"""


@pytest.fixture
def program(tmp_path, monkeypatch):
    """Return a function that writes a program and returns its path, beside all temporary files."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))

    def write(text):
        path = tmp_path / "program.py"
        path.write_text(text)
        return path

    return write


def pids(job):
    return [process.pid for process in job.processes.values()]


def test_every_process_runs_the_program_and_its_output_is_kept(program, tmp_path):
    with Cluster(program(HELLO), "--lr", 0.5, num_workers=2, num_servers=3, seconds=60) as job:
        job.wait()
        assert job.running() == []
    assert len(job.processes) == 6
    assert job.output("worker", 1) == "I am a worker --lr 0.5\n"
    assert job.output("scheduler") == "I am a scheduler --lr 0.5\n"
    assert job.output("server", 2) == "I am a server --lr 0.5\n"
    assert list(tmp_path.glob("d2l-tmp-*")) == []
    with pytest.raises(KeyError, match="no worker 2; the job has scheduler 0, .*worker 1"):
        job.output("worker", 2)


@pytest.mark.parametrize("name", ["program.py", "program"])
def test_scheduler_and_servers_work_in_the_job_s_folder(program, tmp_path, monkeypatch, name):
    program("import os, beside; print(os.getcwd())")
    (tmp_path / "beside.py").touch()
    monkeypatch.chdir(tmp_path)
    with Cluster(name, seconds=60) as job:
        job.wait()
        folder = job.output("server").strip()
        assert job.output("scheduler").strip() == folder
        assert os.stat(folder).st_mode & 0o077 == 0
    assert Path(folder).parent == Path(job.output("worker").strip()) == tmp_path


def test_environment_is_added_and_removed(program, monkeypatch):
    monkeypatch.setenv("UNWANTED", "here")
    text = "import os; print(os.environ.get('WANTED'), os.environ.get('UNWANTED'))"
    with Cluster(program(text), seconds=60, WANTED=1, UNWANTED=None) as job:
        job.wait()
    assert job.output("worker", 0) == "1 None\n"


def test_the_block_ends_what_still_runs_and_its_children(program):
    with Cluster(program(PARENT), seconds=60) as job:
        for role, rank in job.processes:
            job.wait_for("\n", role, rank)
        children = [int(job.output(*key)) for key in job.processes]
        assert job.running() == EVERYBODY and all(map(runs, children))
    assert job.running() == []
    assert not any(map(runs, pids(job)))
    assert until(lambda: not any(map(runs, children)))


@pytest.mark.parametrize("exception", [KeyboardInterrupt, ZeroDivisionError])
def test_an_exception_in_the_block_ends_everything(program, exception):
    with pytest.raises(exception), Cluster(program(SLEEP), seconds=60) as job:
        raise exception
    assert not any(map(runs, pids(job)))


def test_an_interrupt_while_starting_ends_what_was_started(program, monkeypatch):
    started = []
    popen = subprocess.Popen

    def start(*args, **kwargs):
        if len(started) == 3:  # The guard and two of the job
            raise KeyboardInterrupt
        started.append(popen(*args, **kwargs))
        return started[-1]

    monkeypatch.setattr(subprocess, "Popen", start)
    with pytest.raises(KeyboardInterrupt), Cluster(program(SLEEP), seconds=60):
        pass
    assert len(started) == 3 and not any(runs(process.pid) for process in started)


def test_a_failure_is_reported_with_role_rank_and_last_lines(program):
    with pytest.raises(ClusterError) as caught, Cluster(program(FAIL), seconds=60) as job:
        job.wait()
    error = caught.value
    assert (error.role, error.rank, error.code) == ("server", 0, 1)
    assert error.waiting == ["scheduler 0", "worker 0", "worker 1"]
    assert "server 0 failed with exit code 1; ended with it: scheduler 0, worker 0" in str(error)
    assert str(error).endswith("out of coffee")
    assert not any(map(runs, pids(job)))


@pytest.mark.parametrize("victim", [("worker", 1), ("server", 0), ("scheduler", 0)])
def test_a_killed_process_is_noticed_within_seconds(program, victim):
    with Cluster(program(SLEEP), seconds=60) as job:
        job.wait_for("asleep", *victim)
        job.kill(*victim)
        with pytest.raises(ClusterError, match="was killed by SIGKILL") as caught:
            job.wait()
    assert (caught.value.role, caught.value.rank) == victim
    assert not any(map(runs, pids(job)))


def test_a_job_that_takes_too_long_is_ended(program):
    with Cluster(program(SLEEP), seconds=1) as job:
        with pytest.raises(TimeoutError, match="after 1 seconds it still waited to end; running"):
            job.wait()
        assert not any(map(runs, pids(job)))


def test_waiting_for_words_that_never_come(program):
    words = "worker 0 has ended and did not print 'goodbye'"
    with Cluster(program(HELLO), seconds=60) as job, pytest.raises(RuntimeError, match=words):
        job.wait_for("goodbye", "worker", 0)


def start(code: str) -> subprocess.Popen:
    """Start a program that a test kills: it cannot clean up, so its files are the test's."""
    return subprocess.Popen(
        [sys.executable, "-c", code],
        env={**os.environ, "TMPDIR": tempfile.gettempdir()},
        stdout=subprocess.PIPE,
        text=True,
    )


def test_nobody_survives_the_program_that_started_the_job(program):
    starter = (
        f"import sys, time; sys.path.insert(0, {str(ROOT)!r})\n"
        "from d2l_local.mxnet.cluster import Cluster\n"
        f"with Cluster({str(program(PARENT))!r}, seconds=600) as job:\n"
        "    for key in job.processes: job.wait_for('\\n', *key)\n"
        "    print(*[p.pid for p in job.processes.values()])\n"
        "    print(*[job.output(*key).strip() for key in job.processes], flush=True)\n"
        "    time.sleep(600)\n"
    )
    process = start(starter)
    try:
        everybody = [*map(int, (process.stdout.readline() + process.stdout.readline()).split())]
        assert len(everybody) == 8 and all(map(runs, everybody))
    finally:
        process.kill()
        process.wait()
    assert_end(everybody)


def test_waiting_outside_of_the_block(program):
    job = Cluster(program(HELLO), seconds=60)
    for wait in (job.wait, lambda: job.wait_for("I am", "worker")):
        with pytest.raises(RuntimeError, match="not started: it runs inside `with Cluster"):
            wait()
    with job:
        job.wait()
        job.wait()
    for wait in (job.wait, lambda: job.wait_for("I am", "worker")):
        with pytest.raises(RuntimeError, match="over: it runs inside `with Cluster"):
            wait()


def test_a_full_disk(program, monkeypatch):
    monkeypatch.setattr(Cluster, "_log", lambda *_: Path("/dev/full"))
    monkeypatch.setattr(Cluster, "output", lambda *_: "")
    reason = "output is lost: No space left on device, in .*; make room there"
    with Cluster(program(HELLO), seconds=60) as job, pytest.raises(ClusterError, match=reason):
        job.wait()


def test_a_job_cannot_be_started_twice(program):
    with Cluster(program(HELLO), seconds=60) as job:
        job.wait()
    with pytest.raises(RuntimeError, match="make a new Cluster"), job:
        pass


@pytest.mark.parametrize(
    "arguments",
    [
        {"num_workers": 0},
        {"num_servers": True},
        {"num_workers": 1.5},
        {"seconds": 0},
        {"seconds": None},
        {"seconds": "120"},
    ],
)
def test_bad_arguments(arguments):
    name, value = next(iter(arguments.items()))
    with pytest.raises(ValueError, match=f"{name} must be .*{value!r}"):
        Cluster("program.py", **arguments)


# --- With MXNet -----------------------------------------------------------------------------------

TRAIN = "d2l_local.mxnet.train_lenet_dist"
OPTIONS = ["--batch_size", 50, "--lr", 0.125, "--dtype", "float64"]


def listening(pid):
    """The local addresses, in hexadecimal, of the TCP sockets on which a process listens."""
    links = []
    for path in Path(f"/proc/{pid}/fd").iterdir():
        try:
            links.append(os.readlink(path))
        except FileNotFoundError:
            continue
    lines = [line.split() for line in Path("/proc/net/tcp").read_text().splitlines()[1:]]
    return [line[1] for line in lines if line[3] == "0A" and f"socket:[{line[9]}]" in links]


def test_a_job_trains_as_one_process_does(tmp_path):
    from d2l_local import mxnet as d2l
    from d2l_local.mxnet import train_lenet_dist

    import numpy as np
    from mxnet import cpu, kv, nd, random

    path = tmp_path / "lenet.params"
    options = [*OPTIONS, "--num_epochs", 2, "--train_size", 120]  # Last: 20 rows, 7 + 7 + 6
    options += ["--save", path]
    with Cluster(TRAIN, *options, num_workers=3, num_servers=2, seconds=200) as job:
        job.wait_for("Data:", "worker", 0)
        for process in job.processes.values():
            if process.poll() is None:
                assert all(address.startswith("0100007F:") for address in listening(process.pid))
        job.wait()
    for rank in range(3):  # Our numbers are MXNet's
        assert f"worker {rank} of 3, epoch 2: loss" in job.output("worker", rank)

    train_iter, _ = d2l.load_data_fashion_mnist(50, train_size=120)
    random.seed(0)
    net = train_lenet_dist.train(kv.create("local"), train_iter, 2, 0.125, [cpu()], "float64")
    saved = nd.load(str(path))
    for name, param in net._collect_params_with_prefix().items():
        np.testing.assert_allclose(saved[name].asnumpy(), param.data().asnumpy(), atol=1e-6)


class Opens:
    """What makes a file of the given name when it is restored."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (str(self.path), "w")


OPTIMIZER, PROFILER = 0, 5  # What MXNet's servers are told in a message


@contextlib.contextmanager
def attacked(head, body, *arguments):
    """A job to whose server a stranger has sent a message."""
    zmq = pytest.importorskip("zmq")
    # As an outsider can make it, ps-lite's `PBMeta` with head and body (whose length would take two
    # bytes from 128 on), a request of a simple app, of application and customer 0.
    assert len(body) < 128
    message = b"\x08%c\x12%c%b\x20\x01\x30\x01\x38\x00\x40\x63\x50\x00" % (head, len(body), body)
    options = [*OPTIONS, "--num_epochs", 100000, "--train_size", 50]
    with Cluster(TRAIN, *options, seconds=200) as job, zmq.Context() as context:
        job.wait_for("epoch 1:", "worker", 0)
        [address] = listening(job.processes["server", 0].pid)
        with context.socket(zmq.DEALER) as socket:
            socket.linger = 0
            socket.identity = b"ps13"  # As a third worker would call itself
            socket.connect(f"tcp://127.0.0.1:{int(address.partition(':')[2], 16)}")
            socket.send(message)
            with contextlib.suppress(ClusterError):  # The server may fail to reply
                yield job


def test_a_server_restores_nothing_of_a_stranger():
    with tempfile.TemporaryDirectory() as folder:  # Its name is short, as the message must be
        mark = Path(folder, "restored")
        with attacked(OPTIMIZER, pickle.dumps(Opens(mark), 0)) as job:
            job.wait_for("refused: it is not signed by a worker of this job", "server")
        assert not mark.exists()
    assert "refused: it is not signed" in job.output("server")


def test_a_server_deletes_no_file_for_a_stranger(tmp_path, monkeypatch):
    """Told to profile to another file, MXNet deletes what is there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "rank0_").mkdir()
    theses = tmp_path / "thesis", tmp_path / "rank0_thesis"
    for thesis in theses:
        thesis.write_text("three years of work")
    for name in (b"/../thesis", b"thesis"):
        with attacked(PROFILER, b"filename:%b,profile_all:10" % name) as job:
            job.wait()
        assert "there is no socket to node 13" in job.output("server")  # It had carried it out
    assert all(thesis.exists() for thesis in theses)


def test_a_worker_killed_while_training():
    with Cluster(TRAIN, *OPTIONS, "--num_epochs", 100000, "--train_size", 50, seconds=200) as job:
        job.wait_for("epoch 2:", "worker", 1)
        job.kill("worker", 1)
        with pytest.raises(ClusterError) as caught:
            job.wait()
    assert (caught.value.role, caught.value.rank) == ("worker", 1)
    assert not any(map(runs, pids(job)))


def test_a_worker_that_waits_in_vain_ends_itself():
    options = [*OPTIONS, "--num_epochs", 100000, "--train_size", 50, "--patience", 30]
    with Cluster(TRAIN, *options, seconds=200) as job:
        job.wait_for("epoch 2:", "worker", 1)
        os.kill(job.processes["worker", 1].pid, signal.SIGSTOP)
        with pytest.raises(ClusterError, match="asscalar|train_lenet_dist") as caught:
            job.wait()
    assert (caught.value.role, caught.value.rank, caught.value.code) == ("worker", 0, 1)


# Worker 1 has trained and does not leave.
STAYS = """
import os, signal
from d2l_local.mxnet import train_lenet_dist
train = train_lenet_dist.train
def stay(kv, *args, **kwargs):
    net = train(kv, *args, **kwargs)
    if kv.rank == 1:
        os.kill(os.getpid(), signal.SIGSTOP)
    return net
train_lenet_dist.train = stay
train_lenet_dist.main()
"""


def test_a_worker_that_cannot_leave_ends_itself(program):
    options = [*OPTIONS, "--num_epochs", 1, "--train_size", 50, "--patience", 30]
    with Cluster(program(STAYS), *options, seconds=200) as job:
        with pytest.raises(ClusterError, match="kvstore.* in __del__\n.* in main") as caught:
            job.wait()
        assert "worker 0 of 2, epoch 1: loss" in job.output("worker", 0)
    assert (caught.value.role, caught.value.rank, caught.value.code) == ("worker", 0, 1)


def test_shards_cover_the_minibatch():
    from d2l_local.mxnet.train_lenet_dist import shard

    rows = list(range(11))
    shards = [shard(rows, rank, 4) for rank in range(4)]
    assert sum(shards, []) == rows
    assert {len(each) for each in shards} == {2, 3}
    with pytest.raises(ValueError, match="a minibatch of 3 rows leaves nothing for some of 4"):
        shard(rows[:3], 0, 4)
