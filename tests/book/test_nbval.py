"""That testing notebooks with nbval finds what is wrong: it passes over a lot in silence."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import xml.etree.ElementTree
from pathlib import Path

import nbformat
import pytest

ROOT = Path(__file__).resolve().parents[2]
SANITIZERS = ROOT / "tests" / "nbval.cfg"

pytestmark = pytest.mark.timeout(200)

# Code, the output to commit in place of the true one, and whether nbval must find fault with it.
CELLS = [
    ("6 * 7", None, False),
    ("6 * 7 ", "41", True),
    ("print('both / slower: 1.83')", "both / slower: 1.03\n", True),
    ("(2, 3)", "(3, 2)", True),
    ("print((2, 3), 'float32')", "(2, 3) float64\n", True),
    ("1 + 1 == 2", "False", True),
    ("print('replicas are equal')", "replicas differ\n", True),
    ("print('nothing committed')", "", True),
    ("print('took 0.1234 sec')", "took 9.8765 sec\n", False),
    ("print('took 0.1234 sec, 3 devices')", "took 9.8765 sec, 4 devices\n", True),
    (
        "print('0.5000 sec (median of 3, 0.4000 to 0.6000)')",
        "1.5000 sec (median of 5, 1.4000 to 1.6000)\n",
        False,
    ),
    (
        "print('0.5000秒（3次的中位数，0.4000到0.6000）')",
        "1.5000秒（5次的中位数，1.4000到1.6000）\n",
        False,
    ),
    ("print('<NDArray 2x3 @cpu(0)>')", "<NDArray 2x3 @gpu(1)>\n", False),
    ("print('<NDArray 2x3 @cpu(1)>')", "<NDArray 3x2 @cpu(1)>\n", True),
    (
        "print('Data: a sample; 12,000 training and 2,000 test images')",
        "Data: Fashion-MNIST from ~/.mxnet; 60,000 training and 10,000 test images\n",
        False,
    ),
    (
        "print('数据：样本；训练图像12,000张，测试图像2,000张')",
        "数据：Fashion-MNIST，来自~/.mxnet；训练图像60,000张，测试图像10,000张\n",
        False,
    ),
    ("print('Data: a sample')", "Data: none\n", True),
    ("print('[[1. 2.]\\n [3. 4.]]')", "[[1. 2.]\n [3. 5.]]\n", True),
    ("print('F: mxnet.ndarray')", "F: mxnet.symbol\n", True),
    ("print('predicted: 17, counted: 17')", "predicted: 17, counted: 4\n", True),
    ("print('overlap: 0.99')", "overlap: 0.12\n", True),
    ("print('loss 0.1234')", "loss 0.4321\n", True),
    ("print('0.123 sec')", "0.432 sec\n", True),
    ("print('cpu(0), cpu(1)')", "cpu(0), cpu(0)\n", True),
    ("print('a: 0.1234 sec')", "b: 0.1234 sec\n", True),
    ("print('<Figure size 640x480 with 1 Axes>')", "<Axes: >\n", True),
    ("print('0x1f')", "0x2f\n", True),
    ("print('ignored')", "whatever\n", False),
    # The lanes beside its picture differ from run to run.
    (
        "import random\nfrom d2l_local.measure.timeline import Timeline\n"
        "ax = Timeline({'cpu/0': [('dot', 0, random.random())]}).plot()",
        None,
        False,
    ),
]
IGNORED = {"print('ignored')"}


def nbval(*paths):
    """Return the outcome of each cell, as a list of (notebook, whether it failed)."""
    folder = paths[0].parent
    report = folder / "report.xml"
    (folder / "pytest.ini").write_text("[pytest]\n")  # Not the one of this repository
    done = subprocess.run(
        [
            *(sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "-p", "no:xdist"),
            *("-c", str(folder / "pytest.ini"), "--rootdir", str(folder)),
            *("--nbval", "--nbval-sanitize-with", str(SANITIZERS), f"--junitxml={report}"),
            *map(str, paths),
        ],
        capture_output=True,
        text=True,
        timeout=150,
    )
    assert report.exists(), done.stdout + done.stderr
    cases = xml.etree.ElementTree.parse(report).getroot().iter("testcase")
    failed = [bool(case.findall("failure") or case.findall("error")) for case in cases]
    assert done.returncode == int(any(failed)), done.stdout
    return failed, done.stdout


@pytest.fixture(scope="module")
def executed():
    """Return a notebook with the code of CELLS and its true outputs."""
    nbclient = pytest.importorskip("nbclient")
    notebook = nbformat.v4.new_notebook()
    notebook.metadata["kernelspec"] = {"name": "python3", "display_name": "", "language": "python"}
    for code, _, _ in CELLS:
        cell = nbformat.v4.new_code_cell(code)
        if code in IGNORED:
            cell.metadata["tags"] = ["nbval-ignore-output"]
        notebook.cells.append(cell)
    return nbclient.NotebookClient(notebook, timeout=100, coalesce_streams=True).execute()


def planted(notebook):
    """Return a copy in which the outputs of CELLS are committed."""
    copy = json.loads(json.dumps(notebook))
    for cell, (_, output, _) in zip(copy["cells"], CELLS):
        if output == "":
            cell["outputs"] = []
        elif output is not None:
            [shown] = cell["outputs"]
            if shown["output_type"] == "stream":
                shown["text"] = output
            else:
                shown["data"]["text/plain"] = output
    return copy


def test_nbval_finds_planted_errors(executed, tmp_path):
    (tmp_path / "true.ipynb").write_text(json.dumps(executed))
    (tmp_path / "wrong.ipynb").write_text(json.dumps(planted(executed)))
    failed, output = nbval(tmp_path / "true.ipynb", tmp_path / "wrong.ipynb")
    assert len(failed) == 2 * len(CELLS)
    assert not any(failed[: len(CELLS)]), output
    found = dict(zip([code for code, _, _ in CELLS], failed[len(CELLS) :]))
    assert found == {code: wrong for code, _, wrong in CELLS}


def in_this_house(folder, cells):
    """Test a notebook of these cells as those of chapters/ are tested; return what pytest says."""
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, folder / "notebook.ipynb")
    return in_pytest(folder, "-q", "-ra", folder / "notebook.ipynb")


def in_pytest(folder, *options):
    """Test notebooks in a folder; return what pytest says."""
    return run_pytest(folder, *options).stdout


def run_pytest(folder, *options):
    """Test notebooks in a folder."""
    command = [sys.executable, "-m", "pytest", "-p", "no:cacheprovider", "--nbval"]
    command += ["-p", "book.nbval", "--rootdir", folder, *options]
    return subprocess.run(
        [*map(str, command)],
        capture_output=True,
        text=True,
        timeout=150,
        env={**os.environ, "PYTHONPATH": str(ROOT)},
    )


def code_cell(source, output, *tags):
    outputs = [nbformat.v4.new_output("stream", name="stdout", text=output)]
    metadata = {"tags": list(tags)}
    return nbformat.v4.new_code_cell(source, metadata=metadata, execution_count=1, outputs=outputs)


def test_cells_that_need_gpus_are_skipped_with_a_reason(tmp_path):
    said = in_this_house(tmp_path, [code_cell("print(1)", "2\n", "gpus-99")])
    assert "needs 99 GPUs: its committed output comes from a machine that has as many" in said
    assert "1 skipped" in said and "passed" not in said


@pytest.mark.parametrize(
    ("source", "tags", "outcome", "again"),
    [
        ("assert tries == 2", ["nbval-ignore-output"], "2 passed", True),
        ("assert tries == 3", ["nbval-ignore-output"], "1 failed, 1 passed", True),
        ("assert tries == 2", [], "1 failed, 1 passed", False),
        ("1 / (tries - 1)", ["nbval-ignore-output"], "1 failed, 1 passed", False),
        ("print(tries)", [], "1 failed, 1 passed", False),
    ],
)
def test_what_a_measurement_asserts_may_fail_once(tmp_path, source, tags, outcome, again):
    first = code_cell("tries = 0\nprint(tries)", "0\n")
    said = in_this_house(tmp_path, [first, code_cell(f"tries += 1\n{source}", "2\n", *tags)])
    assert outcome in said
    assert ("failed once and is tried again" in said) == again  # Other warnings may be there, too


def test_a_second_try_leaves_out_what_needs_gpus(tmp_path):
    kept = "import sys\ntries = sys.__dict__.setdefault('tries', [])"  # Over a second try
    cells = [
        code_cell(kept, "", "nbval-ignore-output"),
        code_cell("print(tries)", "recorded elsewhere\n", "gpus-99"),
        code_cell("tries.append(1)\nassert len(tries) == 2", "", "nbval-ignore-output"),
    ]
    assert "2 passed, 1 skipped, 1 warning" in in_this_house(tmp_path, cells)


@pytest.mark.parametrize("processes", [[], ["--numprocesses", "2"]], ids=["one", "two"])
@pytest.mark.parametrize("lucky", [3, 4])
def test_more_than_three_second_tries_fail_a_run(tmp_path, lucky, processes):
    cells = [code_cell("a = b = c = d = 0", "")]
    for name in "abcd"[:lucky]:
        cells.append(code_cell(f"{name} += 1\nassert {name} == 2", "", "nbval-ignore-output"))
    for cell in cells:
        cell.outputs = []
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
    nbformat.write(notebook, tmp_path / "notebook.ipynb")
    done = run_pytest(tmp_path, "--dist", "loadscope", *processes, tmp_path / "notebook.ipynb")
    assert f"{lucky + 1} passed, {lucky} warnings" in done.stdout
    assert done.returncode == (1 if lucky > 3 else 0)
    assert ("4 cells needed a second try, and 3 may" in done.stdout) == (lucky > 3)


@pytest.mark.parametrize("tag", ["nbval-ignore-output", "made"])
def test_a_second_try_measures_again_what_a_cell_judges(tmp_path, tag):
    """And makes again what was made of it; what measures nothing is not repeated."""
    sources = {
        "count = made = 0": "made",
        "measure = lambda: count": "made",
        "count += 1\nx = measure()": tag,
        "made += 1\ny = x": "made",
        "assert y == made == 2": "nbval-ignore-output",
    }
    cells = [code_cell(source, "", tag) for source, tag in sources.items()]
    for cell in cells:
        cell.outputs = []
    said = in_this_house(tmp_path, cells)
    assert ("5 passed, 1 warning" if tag == "nbval-ignore-output" else "1 failed, 4 passed") in said


def test_of_a_translation_only_what_differs_is_executed(tmp_path):
    """And what that depends on: an undefined name would fail. Words count where compared."""
    words = {"en": "seven", "zh": "\u4e03"}
    for language, word in words.items():
        (folder := tmp_path / "chapters" / language).mkdir(parents=True)
        sources = {
            "setup": (f"import os; os.environ['D2L_LANGUAGE'] = {language!r}", []),
            "value": ("value = [7]  # A comment: " + word, []),
            "alone": ("other = 8", []),
            "wrong": ("assert other == 9", []),
            "measured": (f"print({word!r}, value)", ["nbval-ignore-output"]),
            "said": (f"print({word!r}, *value)", []),
            "exercise": (f"print({word!r}, other)", ["check"]),
            "silent": (f"assert {word!r} and other", []),
            "skipped": (f"print({word!r}, other)", ["gpus-99"]),
        }
        said = {"said": f"{word} 7\n", "exercise": f"{word} 8\n", "skipped": f"{word} 8\n"}
        cells = [
            nbformat.v4.new_code_cell(
                source,
                id=name,
                execution_count=1,
                metadata={"tags": tags},
                outputs=[nbformat.v4.new_output("stream", text=said[name])] if name in said else [],
            )
            for name, (source, tags) in sources.items()
        ]
        kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
        notebook = nbformat.v4.new_notebook(cells=cells, metadata={"kernelspec": kernel})
        nbformat.write(notebook, folder / "section.ipynb")
        again = nbformat.v4.new_notebook(cells=cells[:3], metadata={"kernelspec": kernel})
        nbformat.write(again, folder / "unchanged.ipynb")
    shown = in_pytest(tmp_path, "-v", tmp_path / "chapters")
    ran = re.findall(r"chapters/(\w+)/(\w+)\W+ipynb::Cell (\d) (PASSED|FAILED)", shown)
    whole = [("en", "section", str(i), "FAILED" if i == 3 else "PASSED") for i in range(8)]
    whole += [("en", "unchanged", str(i), "PASSED") for i in range(3)]
    assert ran == [*whole, *(("zh", "section", i, "PASSED") for i in "015")], shown
    assert "9 deselected" in shown
