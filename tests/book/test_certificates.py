"""What `check` compares: a run with others on such a machine, a story with itself, and twins."""

from __future__ import annotations

import json

from book.builder import benchmark_guard, check
from book.builder.benchmark_guard import best_known, rates
from book.builder.check import certificates, exercises, reruns
from book.builder.check.problem import HINT, UNREADY
from book.builder.cli import main
from book.builder.page import pages

import pytest
import small_chapter

HOST = {"cores": 2, "architecture": "x86-64", "simd": "AVX-512", "memory_gib": 24}
H200 = {**HOST, "gpus": [{"name": "NVIDIA H200", "count": 1}]}
FASTER = {"copy": [30, 30], "product": [400, 400], "python": [40, 40]}


def a_run(machine=HOST, version="3.12.4", date="2026-12-01", **jobs):
    """Return a run as notebooks record it."""
    others = {"share": 0, "copy": [30, 28], "product": [300, 320], "python": [30, 30], **jobs}
    return {"machine": machine, "date": date, "versions": {"python": version}, "others": others}


MEASURING = """
```{code-cell}
:tags: [nbval-ignore-output]
one = 1
```

```{code-cell}
:tags: [nbval-ignore-output]
two = 2
```
"""


def chapter(root, runs, *, printed=("", ""), body=MEASURING, story=True):
    """Return a chapter whose sections, by name and language, have measured in these runs.

    The first cell comes from the first run and prints the first text, the second from the last.
    """
    names = sorted({name for name, _ in runs})
    text = small_chapter.bilingual(body, "pytorch")
    made = small_chapter.make(root, **dict.fromkeys(names, text))
    assert main(["build", "--no-execute", "--root", str(root)]) == 0
    for (name, lang), its in runs.items():
        path = root / f"chapters/pytorch/{lang}/{name}.ipynb"
        node = json.loads(path.read_text("utf-8"))
        node["metadata"]["d2l_local"].update(runs=its, form="story" if story else "")
        cells = [c for c in node["cells"] if c["cell_type"] == "code" and c["id"] != "setup"]
        for cell, run, said in zip(cells, (0, len(its) - 1), printed):
            cell["metadata"]["d2l_local"]["run"] = run
            texts = said if isinstance(said, dict) else {lang: said}
            output = {"output_type": "stream", "name": "stdout", "text": texts.get(lang, "")}
            cell["outputs"] = [output]
        path.write_text(json.dumps(node), "utf-8")
    for section in made.sections():
        section.stories = [*section.frameworks] if story else []
    return made


def told(made, names=None):
    """Return what `check` says of runs, as (level, where, what)."""
    found = [p for p in check.chapter(made, names) if p.level in (HINT, UNREADY)]
    return [(p.level, p.where, p.what) for p in found if ": stale, needs" not in p.what]


# ---- How fast a machine was ----------------------------------------------------------------------


def test_a_rate_belongs_to_a_job_and_what_it_ran_on():
    host = "2-core x86-64, AVX-512, 24 GiB"
    assert rates(a_run()) == {
        ("copy", host): 29,
        ("product", host): 310,
        ("python", f"{host}, Python 3.12"): 30,
    }
    on_gpu = rates(a_run(H200, transfer=[55, 57]))
    assert ("copy", "NVIDIA H200") in on_gpu and on_gpu["transfer", "NVIDIA H200"] == 56
    assert ("python", f"{host}, 1× NVIDIA H200, Python 3.12") in on_gpu
    assert ("copy", f"{host}, 1× NVIDIA H200") in rates(a_run(H200))  # On its cores
    old = {key: value for key, value in a_run()["others"].items() if key != "python"}
    assert [job for job, _ in rates({**a_run(), "others": old})] == ["copy", "product"]
    assert rates({"machine": HOST}) == {}
    assert best_known([a_run(), a_run(product=[250, 450])])["product", host] == 350


def test_a_run_that_is_slow_all_the_while_is_told(tmp_path):
    """Of 400 GFLOP/s 310 are 78%, and 280 are 70%."""
    runs = {
        ("fast", "en"): [a_run(**FASTER)],
        ("near", "en"): [a_run(python=[31, 31])],
        ("slow", "en"): [a_run(product=[280, 280], python=[31, 31])],
    }
    made = chapter(tmp_path, runs, story=False)
    what = (
        "the run of 2026-12-01 on a slow machine: product at 280 GFLOP/s, 70% of the best known "
        "(2-core x86-64, AVX-512, 24 GiB)"
    )
    assert told(made) == [(HINT, "chapters/pytorch/en/slow.ipynb", what)]
    assert told(made, ["slow"]) == told(made)  # The best is another section's
    assert told(made, ["near"]) == []


def test_another_python_is_another_machine(tmp_path):
    runs = {
        ("new", "en"): [a_run(python=[40, 40])],
        ("old", "en"): [a_run(version="3.9.2", python=[20, 20])],
    }
    assert told(chapter(tmp_path, runs, story=False)) == []


# ---- One machine, one story ----------------------------------------------------------------------


@pytest.mark.parametrize(
    ("second", "what"),
    [
        (a_run(), None),
        (a_run(date="2026-12-02"), "told from 2 runs, the first two of 2026-12-01 and 2026-12-02"),
        (
            a_run({**HOST, "cores": 8}),
            "told from two machines: 2-core x86-64, AVX-512, 24 GiB and "
            "8-core x86-64, AVX-512, 24 GiB",
        ),
    ],
)
def test_a_story_comes_from_one_machine_and_one_run(tmp_path, second, what):
    runs = {("small", "en"): [a_run(), second]}
    made = chapter(tmp_path, runs)
    expected = [(UNREADY, "chapters/pytorch/en/small.ipynb", what)] if what else []
    assert told(made) == expected
    for section in made.sections():
        section.stories = []
    assert told(made) == []


def test_cells_that_only_tell_may_come_from_anywhere(tmp_path):
    body = MEASURING.replace("[nbval-ignore-output]\ntwo", "[score, nbval-ignore-output]\ntwo")
    runs = {("small", "en"): [a_run(), a_run({**HOST, "cores": 8})]}
    assert told(chapter(tmp_path, runs, body=body)) == []


def test_an_edition_comes_from_one_kind_of_machine(tmp_path):
    two = {**H200, "cores": 4, "gpus": [{"name": "NVIDIA H200", "count": 2}]}
    other = {**H200, "gpus": [{"name": "NVIDIA H100", "count": 1}]}
    runs = {
        ("a", "en"): [a_run(H200, transfer=[55, 55])],
        ("a", "zh"): [a_run(two, transfer=[55, 55])],
        ("b", "en"): [a_run(other, transfer=[55, 55])],
    }
    what = "told from NVIDIA H100, and chapters/pytorch/en/a.ipynb from NVIDIA H200"
    assert told(chapter(tmp_path, runs)) == [(UNREADY, "chapters/pytorch/en/b.ipynb", what)]


@pytest.mark.parametrize("job", ["python", "product", "copy"])
def test_the_machine_of_an_edition_is_equally_fast(tmp_path, job):
    """100 and 116 are further apart than 15%, 100 and 114 are not; nobody asks for the copy."""
    runs = {
        ("a", "en"): [a_run(**{job: [116, 116]})],
        ("a", "zh"): [a_run(**{job: [102, 102]})],
        ("b", "en"): [a_run(**{job: [100, 100]})],
    }
    unit = benchmark_guard.JOBS[job]
    what = f"told from a slower machine: {job} at 100 {unit}, and at 116 in chapters/pytorch/en/"
    made = chapter(tmp_path, runs)
    found = told(made)
    if job == "copy":
        assert found == []
    else:
        [(level, where, said)] = found
        assert (level, where) == (UNREADY, "chapters/pytorch/en/b.ipynb")
        assert said == f"{what}a.ipynb, further apart than 15%"
    for section in made.sections():
        section.stories = []
    assert told(made) == []


def test_a_certificate_without_the_loop_is_compared_in_what_it_has(tmp_path):
    old = a_run()
    del old["others"]["python"]
    runs = {("a", "en"): [old], ("b", "en"): [a_run()]}
    assert told(chapter(tmp_path, runs)) == []


# ---- Twins ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("one", "other", "found"),
    [
        ("a 10.0 ms", "甲10.0毫秒", []),
        ("a 10.0 ms", "甲14.9毫秒", []),
        ("a 10.0 ms", "甲15.2毫秒", [("10.0", "15.2")]),
        ("15.2 ms", "10.0毫秒", [("15.2", "10.0")]),
        ("1,500 ms", "2,400毫秒", [("1,500", "2,400")]),
        ("8 a second", "每秒15", [("8", "15")]),  # At least 14.5 / 8.5
        ("10 a second", "每秒16", []),  # Perhaps 15.5 / 10.5
        ("1 and 3", "1和9", []),  # One digit each
        ("0 of 25", "12中的25", []),
        ("9% hidden", "掩盖18%", []),  # Nine points
        ("10% hidden", "掩盖22%", [("10%", "22%")]),
        ("98% hidden", "掩盖99%", []),
        ("gain -1.20", "收益1.10", [("-1.20", "1.10")]),
        ("error 1.5e-07", "误差4.5e-07", [("1.5e-07", "4.5e-07")]),
        ("error 1e-07", "误差4e-07", []),
        ("10.0 by 2 devices", "2个设备10.0", []),  # In another order
        ("10.0 by 2 devices", "2个设备20.0", [("10.0", "20.0")]),
        ("0.12 0.34", "0.34 0.80", [("0.12", "0.80")]),
        ("10.0 ms", "甲10.0毫秒和77", []),  # Another number of numbers
        ("x2 is 10.0", "x9是10.0", []),  # Names
        ("10.0\n20.0 or 30.0", "77.0\n1", [("10.0", "77.0")]),  # Line by line
        ("10.0\n20.0", "10.0 40.0", [("20.0", "40.0")]),  # In lines of its own
    ],
)
def test_which_numbers_are_too_far_apart(one, other, found):
    assert reruns.apart(one, other) == found


@pytest.mark.parametrize("machine", [HOST, {**HOST, "cores": 8}])
def test_twins_that_measured_something_else_on_one_kind_of_machine_are_told(tmp_path, machine):
    runs = {("small", "en"): [a_run()], ("small", "zh"): [a_run(machine)]}
    said = {"en": "8.5 ms, then 9.9 ms", "zh": "先是17毫秒，然后是10.1毫秒"}, "12 ms"
    made = chapter(tmp_path, runs, printed=said, story=False)
    what = "cell intro_1: 17 here, and 8.5 in en"
    alike = machine == HOST
    expected = [(HINT, "chapters/pytorch/zh/small.ipynb", what)] if alike else []
    assert told(made) == expected


def test_many_twins_are_told_in_one_line(tmp_path, capsys):
    runs = {("small", "en"): [a_run()], ("small", "zh"): [a_run()]}
    chapter(tmp_path, runs, printed=({"en": "10.0", "zh": "20.0"}, {"en": "77", "zh": "11"}))
    line = "cells that two runs tell differently: 2, which `make check SECTIONS=<section>` shows"
    main(["check", "--release", "--root", str(tmp_path)])
    assert f"warning: {line}\n" in capsys.readouterr().out
    main(["check", "--section", "small", "--root", str(tmp_path)])
    out = capsys.readouterr().out
    assert "zh/small.ipynb: cell intro_1: 20.0 here, and 10.0 in en\n" in out
    assert "zh/small.ipynb: cell intro_2: 11 here, and 77 in en\n" in out


# ---- Right answers -------------------------------------------------------------------------------


@pytest.mark.parametrize("other", [2, 3])
def test_a_choice_that_is_mostly_right_is_told(tmp_path, other):
    ask = (
        '\n+++ {{"lang": "en", "id": "q{0}", "kind": "predict"}}\nHow long?\n\n1. Short.\n2. Long.'
        '\n3. No.\n\n+++ {{"lang": "zh", "id": "q{0}", "kind": "predict"}}\n多久？\n\n1. 短。'
        "\n2. 长。\n3. 否。\n\n```{{code-cell}}\nd2l.measured(choice={0})\n```\n"
    )
    number = '\n+++ {"lang": "en", "id": "n", "kind": "predict"}\nHow long?\n\n'
    number += '+++ {"lang": "zh", "id": "n", "kind": "predict"}\n多久？\n\n'
    number += "```{code-cell}\nd2l.measured(number=2)\n```\n"
    text = small_chapter.bilingual("".join(ask.format(i) for i in (1, 3, 2)) + number, "pytorch")
    made = small_chapter.make(tmp_path, small=text)
    assert main(["build", "--no-execute", "--root", str(tmp_path)]) == 0
    every = pages(made.sections()[0], "pytorch")
    assert list(exercises.right_choices(every)) == []  # Nothing is measured yet
    for lang in ("en", "zh"):
        path = tmp_path / f"chapters/pytorch/{lang}/small.ipynb"
        node = json.loads(path.read_text("utf-8"))
        measured = iter([{"choice": 1}, {"choice": 3}, {"choice": other}, {"number": 2.0}])
        for cell in node["cells"]:
            if cell["cell_type"] == "code" and "predict" in cell["metadata"]["d2l_local"]:
                data = {"d2l_local": {"measured": next(measured)}}
                cell["outputs"] = [
                    {
                        "output_type": "display_data",
                        "data": {"text/plain": "Measured"},
                        "metadata": data,
                    }
                ]
        path.write_text(json.dumps(node), "utf-8")
    what = "of 3 predictions with choices, choice 3 is right in 2: let another be, in the next"
    assert ((HINT, "pytorch", what) in told(made)) == (other == 3)
    assert (HINT, "pytorch", what) not in told(made, ["small"])


def test_a_storys_work_is_certified_whatever_its_tags(tmp_path):
    text = small_chapter.bilingual("\n```{code-cell}\nt = 1.0\n```\n", "pytorch")
    text = text.replace("[pytorch]\n", "[pytorch]\nform: story\n", 1)
    made = small_chapter.make(tmp_path, small=text)
    assert main(["build", "--root", str(tmp_path)]) == 0
    for page in pages(made.sections()[0], "pytorch"):
        [run] = certificates.runs_of(page)
        assert "copy" in run["others"]


def test_a_damaged_notebook_is_told_where_it_is_checked(tmp_path):
    made = chapter(tmp_path, {("a", "en"): [a_run()], ("b", "en"): [a_run()]})
    path = tmp_path / "chapters/pytorch/en/b.ipynb"
    path.write_text("{", "utf-8")
    [page] = [p for p in pages(made.sections(["b"])[0], "pytorch") if p.path == path]
    assert certificates.runs_of(page) == [] and told(made, ["a"]) == []
