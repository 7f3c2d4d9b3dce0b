"""A small book with two frameworks, for what the chapter's own notebooks may not have (yet)."""

from __future__ import annotations

import base64
import shutil
import struct
import zlib
from pathlib import Path

import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook, new_output

ROOT = Path(__file__).resolve().parents[2]
FRAMEWORKS = ("mxnet", "pytorch")
HARDWARE = {"mxnet": "2-core x86-64, AVX-512, 24 GiB", "pytorch": "32-core x86-64, 2× NVIDIA H200"}
WORDS = {
    "en": {
        "title": "Sample Book",
        "order": "## Sections\n\n1. [Two Devices](two.ipynb)\n2. [Servers](servers.ipynb)\n"
        "3. [A Pipeline](pipeline.ipynb)",
        "two": "Two Devices",
        "servers": "Servers",
        "pipeline": "A Pipeline",
        "intro": "Both frameworks overlap independent work, see [Servers](servers.ipynb).",
        "mxnet": "The engine of MXNet builds a graph.",
        "pytorch": "Streams of PyTorch run in order.",
        "measure": "## Measure It\n\nThe bound is $T \\ge \\max(T_1, T_2)$.",
        "streams": "## Streams\n\nA heading that PyTorch alone has.",
        "look": "### Look Closely\n\nNow look at the timeline of both devices.",
        "exercises": "## Exercises\n\n1. Why?\n2. And then?",
        "solution": "<details><summary>Solution {}</summary>\n\nBecause of {}.\n\n</details>",
        "aside": "## Does It Pay?\n\n<details><summary>Often</summary>\n\nMostly.\n\n</details>",
        "set-up": "Does nothing outside Colab",
    },
    "zh": {
        "title": "样书",
        "order": "## 各节内容\n\n1. [两个设备](two.ipynb)\n2. [服务器](servers.ipynb)\n"
        "3. [流水线](pipeline.ipynb)",
        "two": "两个设备",
        "servers": "服务器",
        "pipeline": "流水线",
        "intro": "两个框架都会让相互独立的工作重叠，见[服务器](servers.ipynb)。",
        "mxnet": "MXNet的引擎构造计算图。",
        "pytorch": "PyTorch的流按次序运行，锁页内存另当别论。",
        "measure": "## 测量\n\n下界是$T \\ge \\max(T_1, T_2)$。",
        "streams": "## 流\n\n只有PyTorch才有的标题。",
        "look": "### 仔细看\n\n现在看两个设备的时间线。",
        "exercises": "## 练习\n\n1. 为什么？\n2. 然后呢？",
        "solution": "<details><summary>解答{}</summary>\n\n因为{}。\n\n</details>",
        "aside": "## 划算吗？\n\n<details><summary>常常</summary>\n\n大多如此。\n\n</details>",
        "set-up": "在Colab之外不起作用",
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
    """Return the metadata of two timelines with a common axis and labels, 40 and 100 ms long."""
    charts = [
        {
            "title": title,
            "lanes": {
                "cpu/0": f"0 0 {10_000 * n} 0 {10_000 * n} {10_000 * n}",
                "cpu/1": "1 9900 200",
            },
            "end": 100_000,
            "texts": [f"0 {5000 * n} F1", f"0 {15_000 * n} F2", "1 10000 short one"],
        }
        for title, n in (("short", 2), ("long", 5))
    ]
    return {"names": ["dot", "relu"], "copies": [], "charts": charts, "left_out": 0}


def code(name, source, *outputs, count=1, tags=()):
    cell = new_code_cell(source, id=name, execution_count=count, outputs=list(outputs))
    if tags:
        cell.metadata["tags"] = list(tags)
    return cell


def printed(text):
    return new_output("stream", name="stdout", text=text + "\n")


def prose(name, source):
    return new_markdown_cell(source, id=name)


def drawn(data):
    """Return a picture of timelines, with their data."""
    output = new_output("display_data", {"image/png": picture(), "text/plain": "<Figure>"})
    output.metadata["d2l_local"] = data
    return output


def two(framework, words):
    """Return the cells of a section that both frameworks have."""
    alone = [prose("streams", words["streams"])] if framework == "pytorch" else []
    gpus = "skipped: this cell needs 2 GPUs" if framework == "mxnet" else "gathered"
    return [
        prose("intro", words["intro"]),
        code("intro_1", "values = [1, 2, 3]\nprint(sum(values))", printed("6")),
        prose(f"engine-{framework}", words[framework]),
        code(f"engine-{framework}_1", f"from d2l_local import {framework} as d2l"),
        prose("measure", words["measure"]),
        code("measure_1", "print(d2l.devices(2))", printed(f"devices of {framework}")),
        *alone,
        code(f"measure_{framework}", f"run_with('{framework}')"),
        prose("look", words["look"]),
        code("look_1", "timeline.plot()", drawn(timeline())),
        prose("console", CONSOLE),
        code("console_1", "gather()", printed(gpus), tags=["gpus-2"]),
        prose("exercises", words["exercises"]),
        prose("solution-1", words["solution"].format(1, "the graph")),
        code(
            "solution-1_1", f"# @title x\nwhy_{framework}()", printed("because"), tags=["solution"]
        ),
        prose(f"solution-2-{framework}", words["solution"].format(2, framework)),
        code("solution-2_1", "then()", printed("so"), tags=["solution"]),
    ]


def write_book(root: Path) -> None:
    """Write the notebooks and what the builder reads besides them."""
    (root / "chapters/text").mkdir(parents=True)
    shutil.copy(ROOT / "chapters/text/glossary.yml", root / "chapters/text")
    (root / "d2l_local").mkdir()
    shutil.copy(ROOT / "d2l_local/frameworks.ini", root / "d2l_local")
    shutil.copy(ROOT / "pyproject.toml", root)
    (root / "img").mkdir()
    for lang in WORDS:
        (root / f"img/box-{lang}.svg").write_text(
            '<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 90 30"><rect width="90" '
            'height="30" fill="gray"/></svg>'
        )
    for lang, words in WORDS.items():
        box = f"![A box](../../../img/box-{lang}.svg)"
        for framework in FRAMEWORKS:
            sections = {
                "index": [prose("sections", words["order"])],
                "two": two(framework, words),
                "servers": [prose("box", box), code("box_1", "serve()", count=None)],
                "pipeline": [
                    code("passes_1", "passes()", drawn(pipeline())),
                    prose("aside", words["aside"]),
                ],
            }
            for name, cells in sections.items():
                if framework == "pytorch" and name in ("servers", "pipeline"):
                    continue
                links = f"[x](../{'zh' if lang == 'en' else 'en'}/{name}.ipynb)"
                title = words["title" if name == "index" else name]
                notebook = new_notebook(
                    cells=[
                        prose("title", f"# {title}\n\n{links}"),
                        code("setup", f"import sys  # {words['set-up']}, {framework}"),
                        *cells,
                    ]
                )
                versions = {"python": "3.11.7", "numpy": "2.4.6"}
                versions["torch" if framework == "pytorch" else "mxnet"] = "1.9.1"
                notebook.metadata["d2l_local"] = {
                    "date": "2026-11-21",
                    "hardware": HARDWARE[framework],
                    "versions": versions,
                }
                path = root / "chapters" / framework / lang / f"{name}.ipynb"
                path.parent.mkdir(parents=True, exist_ok=True)
                nbformat.write(notebook, path)
