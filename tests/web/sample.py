"""A small book, for what the chapter's own notebooks may not have (yet).

It has two languages and two frameworks; or a third of each, a language that lacks sections.
"""

from __future__ import annotations

import base64
import configparser
import shutil
import struct
import zlib
from pathlib import Path

from d2l_local.base.language import SKIPPED, table

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]
# What the builder reads of the project besides the notebooks.
DATA = (
    *("chapters/text/glossary.yml", "d2l_local/base/frameworks.ini"),
    *("book/web/labels.yml", "pyproject.toml"),
)
FRAMEWORKS = ("mxnet", "pytorch")
THIRD = {
    "language": "ja",
    "sections": ("two", "pipeline"),
    "framework": "tiny",
    "title": 'Tiny "2"',
}
MACHINES = {
    "mxnet": {"cores": 2, "architecture": "x86-64", "simd": "AVX-512", "memory_gib": 24},
    "pytorch": {
        "cores": 32,
        "architecture": "x86-64",
        "gpus": [{"name": "NVIDIA H200", "count": 2}],
    },
}
HARDWARE = {"mxnet": "2-core x86-64, AVX-512, 24 GiB", "pytorch": "32-core x86-64, 2× NVIDIA H200"}
WORDS = {
    "en": {
        "title": "Sample Book",
        "order": "## Sections\n\n1. [Two Devices](two.ipynb)\n2. [Servers](servers.ipynb)\n"
        "3. [A Pipeline](pipeline.ipynb)\n4. [Guessing](guess.ipynb)",
        "two": "Two Devices",
        "servers": "Servers",
        "pipeline": "A Pipeline",
        "intro": "Both frameworks overlap independent work `f[(2,)](x)`, see "
        "[Servers](servers.ipynb) and [an exercise](guess.ipynb#question).",
        "mxnet": "The engine of MXNet builds a graph.",
        "pytorch": "Streams of PyTorch run in order.",
        "measure": "## Measure It\n\nThe bound is $T \\ge \\max(T_1, T_2)$.",
        "streams": "## Streams\n\nA heading that PyTorch alone has.",
        "look": "### Look Closely\n\nNow look at the timeline of both devices.",
        "exercises": "## Exercises\n\n1. Why?\n2. And then?",
        "solution": "<details><summary>Solution {}</summary>\n\nBecause of {}.\n\n</details>",
        "aside": "## Does It Pay?\n\n<details><summary>Often</summary>\n\nMostly.\n\n</details>",
        "set-up": "Does nothing outside Colab",
        "guess": "Guessing",
        "predict": "**Predict.** Is it faster?\n\n- yes\n- no",
        "depth": "<details><summary>Why the first call is <code>slow</code></summary>\n\n"
        "Deep.\n\n</details>",
        "question": "## Exercises\n\n**1.** Make it faster.",
        "hint": "<details><summary>Hint 1</summary>\n\nTwice.\n\n</details>",
    },
    "zh": {
        "title": "样书",
        "order": "## 各节内容\n\n1. [两个设备](two.ipynb)\n2. [服务器](servers.ipynb)\n"
        "3. [流水线](pipeline.ipynb)\n4. [猜测](guess.ipynb)",
        "two": "两个设备",
        "servers": "服务器",
        "pipeline": "流水线",
        "intro": "两个框架都会让相互独立的工作重叠，见[服务器](servers.ipynb)和"
        "[练习](guess.ipynb#question)。",
        "mxnet": "MXNet的引擎构造计算图。",
        "pytorch": "PyTorch的流按次序运行，锁页内存另当别论。",
        "measure": "## 测量\n\n下界是$T \\ge \\max(T_1, T_2)$。",
        "streams": "## 流\n\n只有PyTorch才有的标题。",
        "look": "### 仔细看\n\n现在看两个设备的时间线。",
        "exercises": "## 练习\n\n1. 为什么？\n2. 然后呢？",
        "solution": "<details><summary>解答{}</summary>\n\n因为{}。\n\n</details>",
        "aside": "## 划算吗？\n\n<details><summary>常常</summary>\n\n大多如此。\n\n</details>",
        "set-up": "在Colab之外不起作用",
        "guess": "猜测",
        "predict": "**预测。**更快吗？\n\n- 是\n- 否",
        "depth": "<details><summary>为什么第一次调用慢</summary>\n\n深。\n\n</details>",
        "question": "## 练习\n\n**1.** 让它更快。",
        "hint": "<details><summary>提示1</summary>\n\n两次。\n\n</details>",
    },
    "ja": {
        "two": "二つのデバイス",
        "pipeline": "パイプライン",
        "intro": "独立した仕事は重なる。[サーバ](servers.ipynb)、[演習](guess.ipynb#question)、"
        "[見本](../en/index.ipynb)も見よ。",
        "aside": "## 割に合うか\n\n<details><summary>常に</summary>\n\nおおむね。\n\n</details>",
        "mxnet": "MXNetのエンジンは計算グラフを作る。",
        "pytorch": "PyTorchのストリームは順に進む。",
        "measure": "## 測定\n\n下界は$T \\ge \\max(T_1, T_2)$である。",
        "streams": "## ストリーム\n\nPyTorchだけの見出し。",
        "look": "### よく見る\n\n両方のデバイスのタイムラインを見よう。",
        "exercises": "## 演習\n\n1. なぜか。\n2. それから。",
        "solution": "<details><summary>解答{}</summary>\n\n理由は{}。\n\n</details>",
        "set-up": "Colab以外では何もしない",
    },
}
CONSOLE = """\
> [!NOTE]
> pip, conda, uv

```console
$ python -m d2l_local
>>> import d2l_local
```"""


def picture(width=700, height=120) -> str:
    """Return a gray PNG."""

    def part(kind, data):
        body = kind + data
        return struct.pack(">I", len(data)) + body + struct.pack(">I", zlib.crc32(body))

    rows = (b"\0" + b"\xcc" * width) * height
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = part(b"IHDR", head) + part(b"IDAT", zlib.compress(rows)) + part(b"IEND", b"")
    return base64.b64encode(b"\x89PNG\r\n\x1a\n" + parts).decode()


def timeline() -> dict:
    """Return the metadata of a timeline on two devices: 100 ms of products, some copies."""
    products = " ".join(f"0 {10_000 * i} 9000" for i in range(10))
    copies = " ".join(f"1 {10_000 * i + 4000} 2000" for i in range(10))
    chart = {"title": "both at once", "lanes": {"cpu/0": products, "cpu/1": copies}}
    return {"names": ["dot", "CopyCPU2CPU"], "copies": [1], "charts": [chart], "left_out": 3}


def pipeline() -> dict:
    """Return the metadata of two timelines with a common axis and labels, 40 and 100 ms long.

    A prediction is drawn over the first.
    """
    charts = [
        {
            "title": title,
            "lanes": {
                "cpu/0": f"0 0 {10_000 * n} 0 {10_000 * n} {10_000 * n}",
                "cpu/1": "1 9900 200",
            },
            "outlines": {"cpu/0": f"0 0 {15_000 * n}"} if n == 2 else {},
            "end": 100_000,
            "texts": [f"0 {5000 * n} F1", f"0 {15_000 * n} F2", "1 10000 short one"],
        }
        for title, n in (("short", 2), ("long", 5))
    ]
    return {"names": ["dot", "relu"], "copies": [], "charts": charts, "left_out": 0}


def code(name, source, *outputs, count=1, tags=(), kind=None, hidden=()):
    cell = new_code_cell(source, id=name, execution_count=count, outputs=list(outputs))
    if tags:
        cell.metadata["tags"] = list(tags)
    if hidden:
        cell.metadata["jupyter"] = {f"{part}_hidden": True for part in hidden}
    return purpose(cell, kind)


def purpose(cell, kind):
    """Say of a cell, as the builder does, what its block is for."""
    cell.metadata["d2l_local"] = {"id": cell.id, **({"kind": kind} if kind else {})}
    return cell


def placed(blocks):
    """Return the cells of one framework; what stands at each place of a text, None for others'.

    Each cell gets the position of its block, as the builder writes it.
    """
    cells = []
    for order, cell in enumerate(blocks):
        if cell is not None:
            cell.metadata["d2l_local"]["order"] = order
            cells.append(cell)
    return cells


def printed(text):
    return new_output("stream", name="stdout", text=text + "\n")


def prose(name, source, kind=None):
    return purpose(new_markdown_cell(source, id=name), kind)


def drawn(data):
    """Return a picture of timelines, with their data."""
    output = new_output("display_data", {"image/png": picture(), "text/plain": "<Figure>"})
    output.metadata["d2l_local"] = data
    return output


def led(source, framework, lang):
    """Return prose whose links lead to an edition that has the section, as the builder's do."""
    first = "en" if lang == THIRD["language"] else lang
    for name, having in (("servers", ("mxnet",)), ("guess", FRAMEWORKS)):
        edition = framework if framework in having else "mxnet", first
        if edition != (framework, lang):
            source = source.replace(f"({name}.", f"(../../{'/'.join(edition)}/{name}.")
    return source


def two(framework, lang, frameworks=FRAMEWORKS):
    """Return the cells of a section that all frameworks have."""

    def each(make):
        """Return blocks that frameworks have for themselves, None for those of others."""
        return [make(name) if name == framework else None for name in frameworks]

    words = WORDS[lang]
    skipped = table(lang)["lines"].get(SKIPPED, SKIPPED).format(n=2, here=0)
    gpus = skipped if framework == "mxnet" else "gathered"
    return placed(
        [
            prose("intro", led(words["intro"], framework, lang)),
            code("intro_1", "values = [1, 2, 3]\nprint(sum(values))", printed("6")),
            *each(lambda name: prose(f"engine-{name}", words.get(name, f"{name}."))),
            *each(lambda name: code(f"engine-{name}_1", f"from d2l_local import {name} as d2l")),
            prose("measure", words["measure"]),
            code("measure_1", "print(d2l.devices(2))", printed(f"devices of {framework}")),
            prose("streams", words["streams"]) if framework == "pytorch" else None,
            *each(lambda name: code("measure_2", f"run_with('{name}')")),
            prose("look", words["look"]),
            code("look_1", "timeline.plot()", drawn(timeline())),
            prose("console", CONSOLE),
            code("console_1", "gather()", printed(gpus), tags=["gpus-2"]),
            prose("exercises", words["exercises"]),
            prose("solution-1", words["solution"].format(1, "the graph")),
            *each(
                lambda name: code(
                    "solution-1_1",
                    f"# @title x\nwhy_{name}()",
                    printed("because"),
                    tags=["solution"],
                )
            ),
            *each(lambda name: prose(f"solution-2-{name}", words["solution"].format(2, name))),
            code("solution-2_1", "then()", printed("so"), tags=["solution"]),
        ]
    )


def guess(framework, lang):
    """Return the cells of a section with every kind of block."""
    words = WORDS[lang]
    measured = printed(f"measured with {framework}")
    both = ("source", "outputs")
    return placed(
        [
            code("plot_1", "def draw():\n    pass", printed("drawn"), hidden=["source"]),
            prose("predict", words["predict"], kind="predict"),
            code("predict_1", "measure()", measured, drawn(timeline()), hidden=["outputs"]),
            prose("depth", words["depth"], kind="aside"),
            code("depth_1", "look_inside()", printed("inside"), kind="aside", hidden=both),
            prose("question", words["question"], kind="exercise-question"),
            code("question_1", "def faster():\n    pass", kind="stub"),
            code("question_2", "check(faster)", printed("not yet"), kind="check"),
            prose("hint", words["hint"], kind="hint"),
            code("hint_1", f"def faster():  # {framework}", kind="solution", hidden=both),
        ]
    )


def write_book(root: Path, third: bool = False) -> None:
    """Write the notebooks and what the builder reads besides them."""
    for file in DATA:
        (root / file).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(ROOT / file, root / file)
    (root / "img").mkdir()
    frameworks = [*FRAMEWORKS, THIRD["framework"]] if third else FRAMEWORKS
    if third:
        add_framework(root / "d2l_local/base/frameworks.ini")
    for lang, words in WORDS.items():
        if lang == THIRD["language"] and not third:
            continue
        (root / f"img/box-{lang}.svg").write_text(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 30"><rect width="90" '
            'height="30" fill="gray"/></svg>'
        )
        for framework in frameworks:
            write_notebooks(root, lang, words, framework, frameworks)


def add_framework(table: Path) -> None:
    """Add a row to the frameworks, like the first but for its name and title."""
    rows = configparser.ConfigParser(interpolation=None)
    rows.read(table, "utf-8")
    rows[THIRD["framework"]] = {**rows["mxnet"], "title": THIRD["title"], "distributions": "tiny"}
    with open(table, "w", encoding="utf-8") as file:
        rows.write(file)


def write_notebooks(root: Path, lang: str, words: dict, framework: str, frameworks) -> None:
    box = f"![A box](../../../img/box-{lang}.svg)"
    sections = {
        "index": lambda: placed([prose("sections", led(words["order"], framework, lang))]),
        "two": lambda: two(framework, lang, frameworks),
    }
    if framework in FRAMEWORKS:
        sections["guess"] = lambda: guess(framework, lang)
    if framework == "mxnet":
        sections["servers"] = lambda: placed(
            [prose("box", box), code("box_1", "serve()", count=None)]
        )
        sections["pipeline"] = lambda: placed(
            [code("passes_1", "passes()", drawn(pipeline())), prose("aside", words["aside"])]
        )
    for name, cells in sections.items():
        if lang == THIRD["language"] and name not in THIRD["sections"]:
            continue
        links = f"[x](../{'zh' if lang == 'en' else 'en'}/{name}.ipynb)"
        title = words["title" if name == "index" else name]
        notebook = new_notebook(
            cells=[
                prose("title", f"# {title}\n\n{links}"),
                code("setup", f"import sys  # {words['set-up']}, {framework}"),
                *cells(),
            ]
        )
        versions = {"python": "3.11.7", "numpy": "2.4.6"}
        versions["torch" if framework == "pytorch" else framework] = "1.9.1"
        machine = MACHINES.get(framework, MACHINES["mxnet"])
        run = {"date": "2026-11-21", "machine": machine, "versions": versions}
        notebook.metadata["d2l_local"] = {"runs": [run]}
        path = root / "chapters" / framework / lang / f"{name}.ipynb"
        path.parent.mkdir(parents=True, exist_ok=True)
        nbformat.write(notebook, path)
