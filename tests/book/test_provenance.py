"""Where a cell's output comes from, and when it holds, on small texts of plain Python.

How many GPUs there are is made up. Each cell prints a random number: an output that is kept is the
same bytes, and one that was executed again is not.
"""

from __future__ import annotations

import datetime

from book.builder import build, program, provenance
from book.builder.cli import main
from book.builder.dependencies import _code_hashes, code_hashes, dependencies
from book.builder.notebook import code_cells, read_notebook
from book.builder.program import code_key, decided
from book.builder.stamps import restamp
from book.builder.text import Chapter

import nbformat
import pytest
from small_chapter import bilingual, make

RANDOM = "__import__('random').random()"
GPU_CELL = f"""\
:tags: [gpus-2, nbval-ignore-output]
if has_gpus(2):
    print('GPU', x, {RANDOM})
else:
    why = 'skipped: this cell needs 2 GPUs'
    print(why)"""
# `only` touches nothing of the others; `uses` depends on `x`, and so does the cell for GPUs.
CELLS = {
    "gpus": "def has_gpus(n):\n    import os\n    return n <= int(os.environ['GPUS_HERE'])",
    "x": f"x = [1]\nprint({RANDOM})",
    "only": f"y = 2\nprint('y', y, {RANDOM})",
    "uses": f"print('x', x, {RANDOM})",
    "cuda": GPU_CELL,
}
PRINT = set(CELLS) - {"gpus"}


class Book:
    """A chapter of one section, on a machine with any number of GPUs."""

    def __init__(self, root, monkeypatch, capsys):
        self.root, self.monkeypatch, self.capsys = root, monkeypatch, capsys
        self.text = root / "chapters/text/small.md"
        blocks = [f"\n```{{code-cell}}\n{source}\n```\n" for source in CELLS.values()]
        make(root, small=bilingual("".join(blocks), "pytorch"))
        self.machine(gpus=2)

    def stamp(self):
        for section in Chapter(self.root).sections():
            restamp(section)

    def machine(self, gpus, cores=2):
        """Work on a machine with this number of made-up GPUs from now on."""
        facts = {"cores": cores, "architecture": "x86-64", "memory_gib": 24}
        if gpus:
            facts["gpus"] = [{"name": "NVIDIA H200", "count": gpus}]
        self.monkeypatch.setattr(provenance, "facts", lambda: facts)
        self.monkeypatch.setenv("GPUS_HERE", str(gpus))

    def edit(self, old, new):
        text = self.text.read_text("utf-8")
        assert text.count(old) == 1
        self.text.write_text(text.replace(old, new), "utf-8")

    def call(self, *args):
        """Return the exit code of a command, and what it said."""
        self.capsys.readouterr()
        code = main([args[0], "--root", str(self.root), *args[1:]])
        return code, self.capsys.readouterr().out

    def build(self, *args):
        """Build; return what was said and the names of the cells with another output."""
        before = self.shown() if self.path().exists() else {}
        code, out = self.call("build", *args)
        assert code == 0, out
        assert self.shown("zh") == self.shown()
        return out, {name for name, text in self.shown().items() if text != before.get(name)}

    def path(self, lang="en"):
        return self.root / f"chapters/pytorch/{lang}/small.ipynb"

    def cells(self, lang="en"):
        cells = code_cells(read_notebook(self.path(lang)))
        assert cells[0].id == "setup"
        return dict(zip(CELLS, cells[1:]))

    def shown(self, lang="en"):
        return {
            name: "".join(output.get("text", "shown") for output in cell.outputs)
            for name, cell in self.cells(lang).items()
        }

    def notes(self, lang="en"):
        """Return what a reader is told below cells, by the notes' ids."""
        cells = read_notebook(self.path(lang)).cells
        notes = {cell.id: cell.source for cell in cells if provenance.is_note(cell)}
        for cell, note in zip(cells, cells[1:]):
            assert note.id not in notes or note.id == f"{cell.id}-stale"
        return notes

    def runs(self):
        """Return how many GPUs the run of each cell had, and how many runs there are."""
        runs = {
            name: sum(gpu["count"] for gpu in cell.run["machine"].get("gpus", []))
            for name, cell in self.cells().items()
        }
        return runs, len(recorded_runs(self.path()))


def recorded_runs(path):
    return nbformat.read(path, 4).metadata["d2l_local"]["runs"]


@pytest.fixture
def small(tmp_path, monkeypatch, capsys):
    small = Book(tmp_path, monkeypatch, capsys)
    small.build()
    return small


@pytest.fixture
def no_kernel(monkeypatch):
    def execute(*_, **__):
        raise AssertionError("a kernel was started")

    return lambda: monkeypatch.setattr(build, "execute", execute)


NEW = "```{code-cell}\nz = 1\n```\n\n"
STALE = "cell intro_5: stale, needs 2 GPUs"
OLDER = f"The output above is of an older version of this cell: {{}}, {datetime.date.today()}."


def test_a_cell_of_a_cpu_renews_itself_and_keeps_what_gpus_made(small):
    small.machine(gpus=0)
    small.edit('+++ {"lang": "en", "id": "end"}', f'{NEW}+++ {{"lang": "en", "id": "end"}}')
    for old, new in (("z = 1", "z = 1"), ("z = 1", "z = 2")):
        small.edit(old, new)
        out, changed = small.build()
        assert changed == set() and "executed, 1 of 7 outputs new" in out and "stale" not in out
    gpus, runs = small.runs()
    assert set(gpus.values()) == {2} and runs == 2
    assert small.call("check", "--release")[0] == 0


def test_what_more_gpus_have_shown_is_kept_and_called_stale(small):
    small.machine(gpus=1)
    small.edit("y = 2", "y = 3")
    out, new = small.build()
    why = "cell intro_3: stale, needs 2 GPUs (what made its output has changed)"
    assert new == set() and f"warning: chapters/pytorch/en/small.ipynb: {why}\n" in out
    assert small.notes() == {"intro_3-stale": f"*{OLDER.format('2× NVIDIA H200')}*"}
    assert "旧版本" in small.notes("zh")["intro_3-stale"]
    assert small.build()[1] == set() and len(small.notes()) == 1  # It is not told twice
    code, out = small.call("check")
    assert code == 0 and f"warning: chapters/pytorch/zh/small.ipynb: {why}\n" in out
    code, out = small.call("check", "--release")
    assert code == 1 and f"\nchapters/pytorch/zh/small.ipynb: {why}\n" in out
    small.machine(gpus=2)  # Where it could be made anew, it must be
    code, out = small.call("check")
    assert code == 1 and "cell intro_3: what made its output has changed: build it" in out
    assert small.build()[1] == PRINT and small.notes() == {}


def test_a_cell_for_gpus_that_prints_nothing_has_its_output(small):
    small.edit(f"    print('GPU', x, {RANDOM})\n", "    assert x\n")
    small.build()
    assert not small.cells()["cuda"].outputs
    small.machine(gpus=0)
    assert "stale" not in small.build()[0] and small.notes() == {}
    assert small.call("check", "--release")[0] == 0


@pytest.mark.parametrize("function", ["load_data_fashion_mnist", "load_text", "trained_gpt"])
def test_other_data_are_another_program(small, monkeypatch, function):
    small.edit("print('x', x,", f"print('{function}', x,")
    small.build()
    assert small.call("check")[0] == 0
    monkeypatch.setattr(program, "data_hash", lambda name: "of others")
    for remembered in (code_key, _code_hashes):
        remembered.cache_clear()
    assert small.call("check")[1].count("cell intro_4: what made its output has changed") == 2
    small.machine(gpus=0)
    assert "cell intro_4: stale, needs 2 GPUs" in small.build()[0]
    assert [*small.notes()] == ["intro_4-stale", "intro_5-stale"]  # Which names x after it


def test_check_says_why_a_cell_must_be_executed_again(small):
    small.edit("x = [1]", "x = [7]")
    out = small.call("check", "--section", "small")[1]
    for lang in ("en", "zh"):
        where = f"chapters/pytorch/{lang}/small.ipynb: cell "
        assert f"{where}intro_2: its code has changed: build it" in out
        assert f"{where}intro_4: names x, and cell intro_2 has changed: build it" in out
    small.edit("x = [7]", "x = [1]")
    small.edit("```{code-cell}\ny = 2", "```{code-cell}\nx += [2]\n```\n\n```{code-cell}\ny = 2")
    assert "cell intro_5: names x, and cell intro_3 has changed: build it" in small.call("check")[1]


def test_check_says_through_which_cell_a_change_comes(small):
    small.edit("y = 2", "y = len(x)")
    small.edit("print('x', x,", "print('x', y,")
    small.build()
    small.edit("x = [1]", "x = [7]")
    out = small.call("check")[1]
    assert "cell intro_3: names x, and cell intro_2 has changed: build it" in out
    assert "cell intro_4: depends on cell intro_3, which names x, and cell intro_2 has" in out
    small.edit("y = len(x)", "y = eval('len(x)')")
    small.build()
    small.edit("x = [7]", "x = [8]")
    assert "cell intro_3: may read anything, and cell intro_2 has changed" in small.call("check")[1]


def test_what_asks_the_reader_is_made_anew_everywhere(small):
    small.edit("y = 2", "y = 2  # asks")
    cell = small.cells()["only"]
    cell.kind = "check"
    assert provenance.gpus_of(cell) == 0
    cell.kind = "aside"
    assert provenance.gpus_of(cell) == 2


ON_GPU = "on_gpu = __import__('os').environ['GPUS_HERE'] != '0'"


def test_what_gpus_made_holds_while_a_number_for_cpus_changes(small):
    small.edit("x = [1]", f"{ON_GPU}\nx = [1]")
    small.edit("y = 2", "y = 2 if on_gpu else 3")
    small.build()
    small.machine(gpus=0)
    small.edit("y = 2 if on_gpu else 3", "y = 2 if on_gpu else 4")
    out, new = small.build()
    assert new == set() and "stale" not in out and small.call("check", "--release")[0] == 0
    small.edit("y = 2 if on_gpu else 4", "y = 5 if on_gpu else 4")
    out, new = small.build()
    assert new == set() and "cell intro_3: stale, needs 2 GPUs" in out


def test_what_a_cpu_made_does_not(small):
    for lang in ("en", "zh"):
        small.path(lang).unlink()
    small.machine(gpus=0)
    small.edit("x = [1]", f"{ON_GPU}\nx = [1]")
    small.edit("y = 2", "y = 2 if on_gpu else 3")
    small.build()
    small.edit("y = 2 if on_gpu else 3", "y = 5 if on_gpu else 3")
    assert small.build()[1] == set()
    small.edit("y = 5 if on_gpu else 3", "y = 5 if on_gpu else 4")
    assert "only" in small.build()[1] and small.shown()["only"].startswith("y 4")


# ---- Transitions ---------------------------------------------------------------------------------


def test_a_cell_renews_all_that_this_machine_has_made(small):
    # What is shown is of one run: "uses" beside an "only" of another run might contradict it
    small.edit("x = [1]", "x = [2]")
    out, new = small.build()
    assert new == PRINT and "executed, 6 of 6 outputs new" in out
    assert "[2]" in small.shown()["cuda"] and small.runs()[1] == 1


def test_a_cell_for_gpus_is_stale_where_there_are_none(small):
    small.machine(gpus=1)
    old = small.shown()["cuda"]
    small.edit("x = [1]", "x = [2]")
    out, new = small.build()
    assert new == set() and small.shown()["cuda"] == old
    changed = f"{STALE} (what made its output has changed)"
    assert f"warning: chapters/pytorch/en/small.ipynb: {changed}\n" in out
    code, out = small.call("check")
    assert code == 0 and f"warning: chapters/pytorch/zh/small.ipynb: {changed}\n" in out
    code, out = small.call("check", "--release")
    assert code == 1 and f"\nchapters/pytorch/zh/small.ipynb: {changed}\n" in out
    # Nothing else to do here; with GPUs, all is made anew, in one run.
    assert small.build()[1] == set() and "outputs kept, nothing to write" in small.build()[0]
    small.machine(gpus=2)
    assert small.build()[1] == PRINT and "[2]" in small.shown()["cuda"]
    assert small.call("check", "--release")[0] == 0


def test_a_stale_cell_for_gpus_holds_again_when_the_change_is_taken_back(small):
    small.machine(gpus=0)
    small.edit("x = [1]", "x = [2]")
    small.build()
    small.edit("x = [2]", "x = [1]")
    assert "stale" not in small.build()[0] and small.call("check", "--release")[0] == 0


def test_a_cell_of_gpus_that_is_taken_apart_is_stale(small):
    before = small.cells()["only"].outputs
    small.machine(gpus=0)
    small.edit(CELLS["only"], CELLS["only"].replace("\n", "\n```\n\n```{code-cell}\n"))
    assert "cell intro_3: stale, needs 2 GPUs (what made its" in small.build()[0]
    cells = {cell.id: cell.outputs for cell in code_cells(read_notebook(small.path()))}
    assert cells["intro_3"] == before and cells["intro_4"][0].text.startswith("y 2")


def test_a_new_cell_for_gpus_is_skipped_and_then_stale(small):
    small.machine(gpus=0)
    small.path().unlink()
    out, _ = small.build()
    assert "skipped" in small.shown()["cuda"]
    assert f"{STALE} (was executed on 2-core x86-64, 24 GiB)" in out
    assert small.call("check")[0] == 0 and small.call("check", "--release")[0] == 1
    small.machine(gpus=4)  # Where it could be made, it must be
    code, out = small.call("check")
    assert code == 1 and "was executed on 2-core x86-64, 24 GiB, and here are as many" in out
    assert small.build()[1] == PRINT and small.call("check", "--release")[0] == 0


@pytest.mark.parametrize(
    ("old", "new"),
    [("Words.", "Other words."), ("y = 2", "y = 2  # Two | 二"), ("文字。", "别的文字。")],
)
def test_prose_and_comments_execute_nothing(small, no_kernel, old, new):
    small.edit(old, new)
    small.stamp()
    no_kernel()
    out, changed = small.build()
    assert changed == set() and "outputs kept, " in out and "nothing to write" not in out
    assert small.call("check", "--release")[0] == 0


def test_cells_that_move_or_come_between_keep_outputs(small, no_kernel):
    only = f"```{{code-cell}}\n{CELLS['only']}\n```\n\n"
    small.edit(only, "")
    small.edit('+++ {"lang": "en", "id": "end"}', f'{only}+++ {{"lang": "en", "id": "end"}}')
    no_kernel()
    before = sorted(small.shown().values())
    small.build()
    assert sorted(small.shown().values()) == before
    cells = code_cells(read_notebook(small.path()))
    assert [cell.execution_count for cell in cells] == [1, 2, 3, 4, 5, 6]


def test_force_renews_all_and_forgets_runs_that_no_cell_names(small):
    small.machine(gpus=2, cores=64)
    out, new = small.build("--force")
    assert new == {"x", "only", "uses", "cuda"} and "executed, 6 of 6 outputs new" in out
    [run] = recorded_runs(small.path())
    assert run.machine.cores == 64
    small.machine(gpus=0)  # Which cannot replace what GPUs made
    assert small.build("--force")[1] == {"x", "only", "uses"}
    assert small.runs() == ({"gpus": 0, "x": 0, "only": 0, "uses": 0, "cuda": 2}, 2)


def test_an_interrupted_or_failed_build_changes_nothing(small):
    before = small.path().read_bytes()
    small.edit("y = 2", "y = 1 / 0")
    code, out = small.call("build")
    assert code == 1 and "ZeroDivisionError" in out and small.path().read_bytes() == before
    code, out = small.call("check")
    assert code == 1 and "cell intro_3: its code has changed: build it" in out


def test_a_preview_needs_no_kernel(small, no_kernel):
    small.edit("x = [1]", "x = [2]")
    no_kernel()
    out, new = small.build("--no-execute")
    assert new == {"x", "uses", "cuda"} and small.shown()["x"] == small.shown()["uses"] == ""
    assert "without outputs until they are executed: intro_2, intro_4, intro_5\n" in out
    assert small.cells()["x"].execution_count is None and small.cells()["x"].code_hash is None
    code, out = small.call("check")
    assert code == 1 and out.count("was not executed") == 6  # In two languages


def test_a_preview_of_a_new_section(small, no_kernel):
    for lang in ("en", "zh"):
        small.path(lang).unlink()
    no_kernel()
    small.build("--no-execute")
    assert set(small.shown().values()) == {""}


# ---- Drafts --------------------------------------------------------------------------------------


def test_a_draft_is_built_in_the_languages_that_are_all_there(small):
    text = small.text.read_text("utf-8")
    start = text.index('+++ {"lang": "zh", "id": "end"')
    small.text.write_text(text[:start].rstrip() + "\n", "utf-8")
    code, out = small.call("check")
    assert code == 1 and "[en/end] has no twin in zh" in out
    small.path("zh").unlink()
    small.edit("---\nframeworks:", "---\ndraft: true\nframeworks:")
    assert "warning: small.md: a draft, not all in zh\n" in small.call("build")[1]
    assert small.path().exists() and not small.path("zh").exists()
    assert "../zh/" not in read_notebook(small.path()).cells[0].source  # No dead link
    code, out = small.call("check")
    assert code == 0 and "warning: small.md: a draft, not all in zh\n" in out
    code, out = small.call("check", "--release")
    assert code == 1 and "small.md: a draft, not all in zh" in out


def test_draft_is_true_or_false(small):
    small.edit("---\nframeworks:", "---\ndraft: maybe\nframeworks:")
    assert small.call("build")[0] == 1


# ---- What depends on what ------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        (["x = [1]", "y = 2", "print(x)"], {0}),
        (["x = [1]", "x.append(2)", "print(x)"], {0, 1}),  # A mention may change it
        (["n = 2 * 8", "print(n)", "print(n)"], {0}),  # But no number
        (["import m", "m.f()", "m.g()"], {0}),  # And no module
        (["def f(): pass", "f()", "f()"], {0}),
        (["x = [1]", "x = [2]", "print(x)"], {1}),  # What is surely set anew
        (["x = [1]", "if 0: x = [2]", "print(x)"], {0, 1}),  # Not so surely
        (["x = [1]", "with a: x = [2]", "print(x)"], {1}),
        (["x = [1]", "with a as (x, y): pass", "print(x)"], {1}),
        (["x = [1]", "x += [2]", "print(x)"], {0, 1}),
        (["x = [1]", "y = 2", "for x in 'ab': print(x)"], set()),  # A loop's own
        (["x = [1]", "y = 2", "for z in x: print(z)"], {0}),
        (["x = [1]", "y = 2", "for z in 'ab':\n    with y:\n        print(x)"], {0, 1}),
        (["x = [1]", "for x in y: pass", "print(x)"], {0, 1}),  # Which may have none
        (["x = [1]", "x = [2]; print(x)", "y = x"], {1}),
        (["x = [1]", "print(x); x = [2]", "y = x"], {0, 1}),
        (["g = [1]", "def f(): return g", "g = [2]", "f()"], {1, 2}),  # Through a function
        (["g = [1]", "def f(): g.append(2)", "f()", "print(g)"], {0, 1, 2}),  # Which changes it
        (["def f(): return g", "h = lambda: f()", "g = [1]", "h()"], {0, 1, 2}),
        (
            ["g = [1]", "class C:\n    def f(self): g.pop()", "c = C()", "c.f()", "print(g)"],
            {0, 1, 2, 3},
        ),
        (["def f():\n    global x\n    x = 1", "f()", "print(x)"], {0, 1}),
        (["g = [1]", "y = 2", "def f(): return g\nf()"], {0}),  # Within one cell
        (["g = [1]", "y = 2", "for i in range(2):\n    def f(): return g\n    f()"], {0}),
        (["import m", "g = [1]", "y = 2", "m.f(lambda: g)"], {0, 1}),
        (["import m", "g = [1]", "y = 2", "m.f([lambda: g for i in 'ab'])"], {0, 1}),
        (["def f(): pass", "g = [1]", "def h(): return g\n[h() for i in 'ab']"], {1}),
        (["import m\ndef f(): return g", "g = [1]", "m.h()"], {0}),  # What is imported knows no f
        (["g = [1]", "def f(): return g", "f = wrap(f)", "y = 2", "f()"], {0, 1, 2}),
        (["g = [1]", "def f(): return g", "h = f", "f = wrap(h)", "f()"], {0, 1, 2, 3}),
        (["g = [1]", "x = lambda: g", "x = [1]", "print(x)"], {2}),  # No function any more
        (["x = [1]", "def f(x): return x", "f(3)"], {1}),  # A parameter of the same name
        (["x = [1]", "[x for x in 'ab']", "y = 2"], set()),
        (["x = [1]", "y = 2", "%timeit x"], {0, 1}),  # A magic may read anything
        (["y = 2", "%run other.py", "print(x)"], {0, 1}),  # And set it
        (["y = 2", "from m import *", "print(x)"], {0, 1}),
        (["x = [1]", "no Python", "print(1)"], {0, 1}),
    ],
)
def test_what_a_cell_depends_on(sources, expected):
    assert dependencies(sources)[-1] == expected


def test_the_hash_is_of_the_code_and_of_what_it_depends_on():
    one = code_hashes(["x = [1]  # one", "y = 2", "print( x )"])
    other = code_hashes(["x = [1]", "y = 3", "print(x)  # two"])
    assert [a == b for a, b in zip(one, other)] == [True, False, True]
    assert code_hashes(["x = [2]", "print(x)"])[1] not in one


@pytest.mark.parametrize(
    ("source", "on_gpu", "same"),
    [
        ("n = 2**27 if on_gpu else 2**24", True, "n = 2**27"),
        ("n = 2**27 if on_gpu else 2**24", False, "n = 2**24"),
        ("for a in b:\n    if on_gpu:\n        c = a", False, "for a in b:\n    pass"),
        ("if on_gpu:\n    a = 1\nelse:\n    a = 2\nb = a", False, "a = 2\nb = a"),
        ("f(1 if on_gpu else (2 if on_gpu else 3))", False, "f(3)"),
        ("n = 1 if fast and on_gpu else 2", True, "n = 1 if fast and on_gpu else 2"),
        ("no Python if on_gpu", True, "no Python if on_gpu"),
    ],
)
def test_what_a_cell_does_where_there_are_gpus_or_none(source, on_gpu, same):
    assert code_key(decided(source, on_gpu)) == code_key(same)


def test_the_hash_is_the_same_on_all_pythons():
    source = (
        "@d\ndef f(a, *, b: int = 1) -> None:\n    'doc'\n    return f'{a!r:>{b}}' 'c' + x[1:, 2]"
    )
    assert code_key("x = 1") == (
        "Module(body=[Assign(targets=[Name(id='x', ctx=Store())], value=Constant(value=1))])"
    )
    found = code_hashes([source, "class C(B, k=-1j): pass\ntry: ...\nexcept E as e: del e"])
    assert found == ["1febe2d7e2f7", "dbeb942ffac3"]
