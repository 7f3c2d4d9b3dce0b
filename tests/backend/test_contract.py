"""Every framework's backend that can be imported here keeps the contract."""

from __future__ import annotations

import re
import subprocess
import sys

from d2l_local.base import frameworks
from d2l_local.doors.preflight import backend

import contract
import pytest
import small_data
from backends import HERE, each_name


@each_name
def test_the_face_keeps_the_contract(name, tmp_path, monkeypatch):
    monkeypatch.setenv("D2L_DATA", str(small_data.write(tmp_path, 8, 4)))
    contract.keep(backend(name))


SAID = {
    "en": [
        "Not right: 5: that adds issuing and computing before, but they happen at the same time",
        "Not right: with large operators nothing is gained, and you get 0.25",
    ],
    "zh": [
        "不对：5: 这是把编译前的提交与计算相加，但两者是并行的",
        "不对：算子很大时没有好处，而得到的是0.25",
    ],
}


@pytest.mark.parametrize("lang", SAID)
@each_name
def test_exercises_are_judged_in_the_language_of_the_notebook(name, lang, monkeypatch, capsys):
    monkeypatch.setenv("D2L_LANGUAGE", lang)
    d2l = backend(name)
    d2l.check("ex-graph-time", 5)
    d2l.check("ex-speed-up", lambda *_: 0.25)
    assert capsys.readouterr().out.splitlines() == SAID[lang]


@each_name
def test_an_exercise_that_there_is_not_is_told_from_those_of_the_framework(name):
    with pytest.raises(ValueError, match="there is no exercise ex-nothing; there is ex-") as told:
        backend(name).check("ex-nothing", 1)
    known = re.findall(r"ex-[\w-]+", str(told.value))
    assert ("ex-totals" in known, "ex-at-once" in known) == (name == "mxnet", name == "pytorch")
    assert "ex-product" in known and "ex-graph-time" in known
    with pytest.raises(ValueError, match="there is no exercise ex-"):
        backend(name).check("ex-at-once" if name == "mxnet" else "ex-totals", 1)


@pytest.mark.parametrize("switches", ["-W error", "-OO"])
@each_name
def test_the_face_is_imported_under_the_interpreter_switches_of_a_ci(name, switches):
    """MXNet asks for distutils, which warns, and makes its operators' texts of docstrings."""
    module = f"d2l_local.{frameworks.load()[name].module}"
    program = f"from {module} import Timeline, devices\nwith Timeline(): print(len(devices(2)))"
    done = subprocess.run(
        [sys.executable, *switches.split(), "-c", program], capture_output=True, text=True
    )
    assert (done.returncode, done.stdout) == (0, "2\n"), done.stderr


def test_a_face_without_a_name_or_with_another_argument_breaks_it():
    d2l = backend(HERE[0])

    class Broken:
        devices = staticmethod(lambda number=2: [])
        # As it may be
        measure = staticmethod(lambda fn, repeats=5, number=1, wait=True, more=None: None)
        banner = staticmethod(lambda used, more: None)
        num_cores = staticmethod(lambda: 1)

    for name in contract.NAMES:
        if name not in vars(Broken) and name != "num_gpus":
            setattr(Broken, name, getattr(d2l, name))
    assert contract.differences(Broken) == [
        "num_gpus is missing",
        "num_cores is another one than that of d2l_local.shared",
        "devices(number=2) takes other arguments",
        "banner(used, more) takes other arguments",
    ]
