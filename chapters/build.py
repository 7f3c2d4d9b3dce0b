"""Turn the texts of the chapter into notebooks, run them, check them.

    python chapters/build.py                  build what changed (--force: execute everything again)
    python chapters/build.py check            fail where text, languages and notebooks disagree
    python chapters/build.py stamp            after re-reading: mark the twins as agreeing
    python chapters/build.py run              execute every notebook afresh into build/
    python chapters/build.py format           lay out the texts' code with ruff

A text is a MyST notebook, `chapters/text/<section>.md`, that Jupytext reads. Its front matter says
which notebooks it makes (`frameworks: [mxnet]`) and which names its prose may mention although no
cell contains them (`names: [...]`). Prose comes in blocks, one a language, twins one after the
other; code comes once:

    +++ {"lang": "en", "id": "two-devices"}
    +++ {"lang": "zh", "id": "two-devices", "of": "5f0c2a91"}

- The language of the first block is the original; the languages of a text are those it has blocks
  in. `of` is the hash of the original block that a translation was last held against.
- The first block of each language opens with the title, `# ...`.
- Blocks and cells may carry `tags`. A framework's name keeps them to that framework's notebooks;
  the rest goes into the notebook. `solution` folds a cell: Jupyter reads `source_hidden` and
  `outputs_hidden`, Colab `cellView: form` and the `@title` line, and GitHub, which cannot fold
  code, shows it. `raises-exception` lets a cell fail, `stderr-ok` lets it write to stderr. A cell
  that only GPUs can prove carries `gpus-2`, say, and asks `d2l.has_gpus(2)`: tests skip it
  elsewhere, and its committed output must come from a machine that has them.
- A comment may be written once a language, in the order of the languages:
  `# Wait for it | 等待它完成`.

The names of languages and frameworks, like the terms, are data: `chapters/text/glossary.yml`.
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import copy
import datetime
import hashlib
import io
import os
import platform
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time
import tokenize
from collections import Counter
from dataclasses import dataclass, field
from importlib import metadata
from pathlib import Path

import check
import nbformat
import yaml
from jupytext.myst import MystMetadataParsingError, myst_to_notebook
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

SETUP = """\
import sys

if "google.colab" in sys.modules:  # {comment}
    !{{sys.executable}} -m pip install -q --no-deps git+{repository}
    from d2l_local import colab  # {failed}

    colab.set_up("{framework}")
"""
PACKAGES = ("d2l", "matplotlib", "mxnet", "numpy", "torch")  # Named in a notebook's stamp
CELL_SECONDS = 300
NOTEBOOK_SECONDS = 600


class BuildError(Exception):
    """What is wrong, where, and what to do about it."""


# ---- The text ------------------------------------------------------------------------------------


@dataclass
class Block:
    """A prose block, or a code cell (whose `lang` is None)."""

    source: str
    line: int  # of the `+++` or the fence, counted from 1
    lang: str | None = None
    id: str = ""
    of: str | None = None
    tags: list[str] = field(default_factory=list)


@dataclass
class Section:
    """One text, and the notebooks that it makes."""

    path: Path
    blocks: list[Block]
    langs: list[str]  # The original comes first
    frameworks: list[str]
    names: list[str]
    chapter: Chapter

    @property
    def name(self):
        return self.path.stem

    def twins(self) -> dict[str, dict[str, Block]]:
        """Return the prose blocks by id, then by language."""
        twins = {}
        for block in self.blocks:
            if block.lang:
                twins.setdefault(block.id, {})[block.lang] = block
        return twins

    def code(self) -> list[Block]:
        return [block for block in self.blocks if not block.lang]

    def words(self) -> set[str]:
        """Return every word of the code: what the prose may name."""
        return {w for block in self.code() for w in re.findall(r"\w+", translate(block.source))}

    def comments(self, block: Block, lang: str) -> list[str]:
        index = self.langs.index(lang)
        return [pick(parts, index) for *_, parts in comments(block.source)]

    def stale(self) -> list[Block]:
        """Return the translations whose original has changed since they were stamped."""
        original = self.langs[0]
        return [
            block
            for group in self.twins().values()
            for lang, block in group.items()
            if lang != original and original in group and block.of != digest(group[original].source)
        ]

    def notebook(self, framework: str, lang: str):
        """Return the notebook of one framework in one language, without outputs."""
        others = set(self.chapter.frameworks) - {framework}
        index = self.langs.index(lang)
        blocks = [b for b in self.blocks if b.lang in (None, lang) and not others & set(b.tags)]
        title, _, rest = blocks[0].source.partition("\n")
        word = self.chapter.languages.get(lang, {}).get
        setup = SETUP.rstrip().format(
            comment=word("setup", "Does nothing outside Colab"),
            failed=word("setup-failed", "Not found? pip says why; then run this cell again"),
            framework=framework,
            repository=self.chapter.repository,
        )
        cells = [
            new_markdown_cell(f"{title}\n\n{self.links(framework, lang)}", id="title"),
            new_code_cell(setup, id="setup"),
        ]
        if rest.strip():
            cells.append(new_markdown_cell(rest.strip(), id=blocks[0].id))
        last, count = blocks[0].id, 0
        for block in blocks[1:]:
            if block.lang:
                last, count = block.id, 0
                cell = new_markdown_cell(block.source, id=block.id)
            else:  # Numbered within its prose, so that a new cell renames few others
                count += 1
                cell = new_code_cell(translate(block.source, index), id=f"{last}_{count}")
            tags = [tag for tag in block.tags if tag not in self.chapter.frameworks]
            if "raises-exception" in tags:  # Jupyter and nbclient know this tag, nbval its own
                tags.append("nbval-raises-exception")
            if "solution" in tags and not block.lang:
                tags.append("hide-input")
                cell.metadata.update(
                    cellView="form", jupyter={"source_hidden": True, "outputs_hidden": True}
                )
                if not cell.source.startswith("%%"):
                    cell.source = f"# @title {word('solution', 'Solution')}\n{cell.source}"
            if tags:
                cell.metadata["tags"] = tags
            cells.append(cell)
        kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
        return new_notebook(
            cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}}
        )

    def links(self, framework: str, lang: str) -> str:
        """Return the line that links the other languages, the other frameworks and Colab."""
        chapter, file = self.chapter, f"{self.name}.ipynb"
        links = [
            f"[{chapter.languages.get(other, {}).get('name', other)}](../{other}/{file})"
            for other in self.langs
            if other != lang
        ]
        links += [
            f"[{chapter.frameworks[other]}](../../{other}/{lang}/{file})"
            for other in self.frameworks
            if other != framework
        ]
        on_github = chapter.repository.partition("github.com/")[2]
        if on_github:  # Colab opens notebooks from nowhere else
            colab = f"https://colab.research.google.com/github/{on_github}/blob/main"
            label = chapter.languages.get(lang, {}).get("colab", "Open in Colab")
            links.append(f"[{label}]({colab}/chapters/{framework}/{lang}/{file})")
        return " · ".join(links)


class Chapter:
    """The folder that holds the texts and the notebooks."""

    def __init__(self, root: Path):
        self.root = root
        file = root / "chapters/text/glossary.yml"
        self.glossary = yaml.safe_load(file.read_text("utf-8"))
        self.languages = self.glossary["languages"]
        self.frameworks = self.glossary["frameworks"]
        project = (root / "pyproject.toml").read_text("utf-8")
        found = re.search(r'^Repository\s*=\s*"(.+?)/?"', project, re.MULTILINE)
        if not found:
            raise BuildError(f"{root}/pyproject.toml: no Repository under [project.urls]")
        self.repository = found[1]

    def sections(self, names=None) -> list[Section]:
        texts = sorted((self.root / "chapters/text").glob("*.md"))
        unknown = set(names or ()) - {text.stem for text in texts}
        if unknown:
            raise BuildError(f"no text for {', '.join(sorted(unknown))} in chapters/text")
        return [self.parse(text) for text in texts if not names or text.stem in names]

    def notebook(self, framework, lang, name) -> Path:
        return self.root / "chapters" / framework / lang / f"{name}.ipynb"

    def parse(self, path: Path) -> Section:
        """Read a text, and say where it breaks the format."""
        where = path.relative_to(self.root)
        try:
            parsed = myst_to_notebook(path.read_text("utf-8"), add_source_map=True)
        except (MystMetadataParsingError, nbformat.ValidationError) as error:
            what = " ".join(str(error).split()[:40])
            raise BuildError(f"{where}: {what}") from None
        frameworks = parsed.metadata.get("frameworks") or []
        if not frameworks or set(frameworks) - set(self.frameworks):
            raise BuildError(
                f"{where}: the front matter must say `frameworks:`, of {list(self.frameworks)}"
            )
        blocks, seen = [], set()
        for cell, line in zip(parsed.cells, parsed.metadata.source_map):
            prose = cell.cell_type == "markdown"
            keys = {"lang", "id", "of", "tags"} if prose else {"tags"}
            unknown = set(cell.metadata) - keys
            if unknown or cell.cell_type == "raw":
                what = ", ".join(sorted(unknown)) or "raw cell"
                raise BuildError(f"{where}:{line}: unknown key {what}")
            strings = [value for key, value in cell.metadata.items() if key != "tags"]
            if not all(isinstance(string, str) for string in strings):
                raise BuildError(f"{where}:{line}: lang, id and of are strings")
            if not cell.source.strip():
                raise BuildError(f"{where}:{line}: an empty cell")
            block = Block(cell.source, line, **cell.metadata)
            if prose and not (block.lang and re.fullmatch(r"[a-z0-9-]{1,50}", block.id)):
                raise BuildError(
                    f'{where}:{line}: prose starts with a line like +++ {{"lang": "en", '
                    '"id": "two-devices"}; an id has lower-case letters, digits and hyphens'
                )
            if prose and ((block.lang, block.id) in seen or block.id in ("title", "setup")):
                raise BuildError(f"{where}:{line}: [{block.lang}/{block.id}] the id is taken")
            seen.add((block.lang, block.id))
            blocks.append(block)
        langs = list(dict.fromkeys(block.lang for block in blocks if block.lang))
        for lang in langs:
            first = next(block for block in blocks if block.lang in (None, lang))
            if not (first.lang and first.source.startswith("# ")) or first.tags:
                raise BuildError(
                    f"{where}:{first.line}: [{lang}] must begin with a title, `# ...`, and no tags"
                )
        if not langs:
            raise BuildError(f"{where}: no prose")
        names = parsed.metadata.get("names") or []
        return Section(path, blocks, langs, list(frameworks), list(names), self)


def digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()[:8]


def comments(source: str) -> list[tuple[int, int, str, list[str]]]:
    """Return row, column, mark and parts of each comment; one written twice has two parts."""

    def tokens(text):
        return list(tokenize.generate_tokens(io.StringIO(text).readline))

    try:
        found = tokens(source)
    except (tokenize.TokenError, SyntaxError):  # Shell lines and magics are not Python
        try:
            found = tokens(re.sub(r"(?m)^\s*[%!].*$", "", source))
        except (tokenize.TokenError, SyntaxError):
            return []
    result = []
    for token in found:
        if token.type == tokenize.COMMENT:
            mark = re.match(r"#\s*", token.string)[0]
            parts = re.split(r"\s\|(?:\s|$)", token.string[len(mark) :])
            row, column = token.start
            result.append((row - 1, column, mark, [part.strip() for part in parts]))
    return result


def pick(parts: list[str], index: int) -> str:
    """Return the part of a comment that a language reads, which may be empty."""
    return parts[index if index < len(parts) else 0]


def translate(source: str, index: int | None = None) -> str:
    """Keep of each comment the part of the language at `index`; with None, drop all comments."""
    lines = source.split("\n")
    for row, column, mark, parts in reversed(comments(source)):
        before = lines[row][:column]
        part = "" if index is None else pick(parts, index)
        if part:
            if len(parts) > 1:
                lines[row] = before + mark + part
        elif before.strip():
            lines[row] = before.rstrip()
        elif index is None or len(parts) > 1:  # One language needs fewer lines than the other
            del lines[row]
    return "\n".join(lines)


def code_key(source: str) -> str:
    """Return what decides whether two cells do the same: the syntax tree, without comments."""
    try:
        return ast.dump(ast.parse(check.as_python(source)))
    except SyntaxError:
        return source


def program(notebook) -> list[str]:
    """Return what a notebook does; the set-up cell does nothing here."""
    return [code_key(cell.source) for cell in code_cells(notebook) if cell.id != "setup"]


def code_cells(notebook):
    return [cell for cell in notebook.cells if cell.cell_type == "code"]


def restamp(section: Section) -> list[Block]:
    """Renew the stamps of stale blocks; nothing but their `of` changes in the file."""
    stale = section.stale()
    if stale:
        with open(section.path, encoding="utf-8", newline="") as file:
            lines = file.read().split("\n")
        for block in stale:
            of = digest(section.twins()[block.id][section.langs[0]].source)
            line = lines[block.line - 1]
            if block.of is None:
                line = re.sub(r"\s*\}(\s*)$", rf', "of": "{of}"}}\1', line)
            else:
                line = re.sub(r'("of"\s*:\s*)"[^"]*"', rf'\g<1>"{of}"', line)
            lines[block.line - 1] = line
        write(section.path, "\n".join(lines))
    return stale


# ---- Files ---------------------------------------------------------------------------------------


def write(path: Path, text: str) -> bool:
    """Write a file all at once, and only if it changes."""
    data = text.encode()
    if path.exists() and path.read_bytes() == data:
        return False
    path.parent.mkdir(parents=True, exist_ok=True)
    handle, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}.")
    try:
        with os.fdopen(handle, "wb") as file:
            file.write(data)
        os.chmod(name, path.stat().st_mode & 0o777 if path.exists() else 0o644)
        os.replace(name, path)
    except BaseException:
        os.unlink(name)
        raise
    return True


def read_notebook(path: Path):
    return nbformat.read(path, as_version=4) if path.exists() else None


def dump(notebook) -> str:
    nbformat.validate(notebook)
    return nbformat.writes(notebook, version=4).rstrip("\n") + "\n"


# ---- Execution -----------------------------------------------------------------------------------


def execute(notebook, folder: Path, root: Path, cell_seconds=None, seconds=None) -> None:
    """Execute a notebook in place in a new kernel, which is gone at the end, whatever happens.

    Raises BuildError, naming the cell, on an error, a dead kernel or a time-out.
    """
    from jupyter_core.utils import run_sync
    from nbclient import NotebookClient
    from nbclient.exceptions import CellExecutionError, CellTimeoutError, DeadKernelError

    cell_seconds, seconds = cell_seconds or CELL_SECONDS, seconds or NOTEBOOK_SECONDS
    end = time.monotonic() + seconds
    client = NotebookClient(
        notebook,
        kernel_name="python3",
        coalesce_streams=True,
        record_timing=False,
        shutdown_kernel="immediate",  # A process that ends by itself may hang in doing so
        iopub_timeout=60,  # On a busy machine outputs may trail; without them nothing is written
        raise_on_iopub_timeout=True,
        timeout_func=lambda cell: max(1, min(cell_seconds, end - time.monotonic())),
    )
    client.log.disabled = True  # Its errors come back as exceptions, and are shown once
    kernel = client.create_kernel_manager()
    # This Python, whatever kernel the user has registered under the same name.
    launch = ["-m", "ipykernel_launcher", "-f", "{connection_file}", "--log-level=ERROR"]
    kernel.kernel_spec.argv = [sys.executable, *launch]
    for cell in code_cells(notebook):
        cell.outputs, cell.execution_count = [], None
    with tempfile.TemporaryDirectory() as home:
        env = dict(os.environ, IPYTHONDIR=home)  # No history, no start-up files of the user's
        env.pop("MPLBACKEND", None)  # The kernel chooses the backend that shows figures
        env["PYTHONPATH"] = os.pathsep.join(filter(None, [str(root), env.get("PYTHONPATH")]))
        # Matplotlib only warns about a character that it draws as a box.
        env["PYTHONWARNINGS"] = ",".join(filter(None, [env.get("PYTHONWARNINGS"), "error:Glyph"]))
        cell = group = None
        try:
            with client.setup_kernel(env=env, cwd=str(folder)):
                group = getattr(kernel.provisioner, "pgid", None)
                for number, cell in enumerate(notebook.cells):
                    client.execute_cell(cell, number)
                    if cell.cell_type == "code" and not check.may_fail(cell):
                        # What fails after the code, such as drawing, does not reach the reply.
                        for error in [o for o in cell.outputs if o.output_type == "error"]:
                            raise BuildError(describe(cell, "\n".join(error.traceback)))
        except CellExecutionError as error:
            raise BuildError(describe(cell, error.traceback or str(error))) from None
        except CellTimeoutError as error:
            what = " ".join(str(error).splitlines()[:2])
            limits = f"{cell_seconds} s a cell, {seconds} s a notebook"
            raise BuildError(describe(cell, f"{what} ({limits})")) from None
        except (DeadKernelError, RuntimeError) as error:
            what = f"the kernel died: {error}"
            raise BuildError(describe(cell, what) if cell else what) from None
        finally:
            if kernel.has_kernel:
                run_sync(kernel.shutdown_kernel)(now=True)
            if group:  # What the kernel started outlives a crash of it
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(group, signal.SIGKILL)


def describe(cell, what: str) -> str:
    """Return a cell and what went wrong in it, readable in a log."""
    what = re.sub(r"\x1b\[[0-9;]*m", "", what)
    source = "\n".join("    " + line for line in cell.source.splitlines())
    return f"cell {cell.id}:\n{source}\n{what}"


def hardware() -> str:
    """Return the machine in a few words: 2-core x86-64, AVX-512, 24 GiB."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count()
    words = [f"{cores}-core {platform.machine().replace('_', '-')}"]
    if os.path.exists("/proc/cpuinfo"):
        flags = Path("/proc/cpuinfo").read_text()
        words += [n for f, n in [("avx512f", "AVX-512"), ("avx2", "AVX2")] if f in flags][:1]
    if hasattr(os, "sysconf"):
        words.append(f"{os.sysconf('SC_PAGE_SIZE') * os.sysconf('SC_PHYS_PAGES') / 2**30:.0f} GiB")
    if shutil.which("nvidia-smi"):
        query = ["nvidia-smi", "--query-gpu=name", "--format=csv,noheader"]
        done = subprocess.run(query, capture_output=True, text=True)
        gpus = Counter(done.stdout.strip().splitlines() if done.returncode == 0 else [])
        words += [f"{count}× {name}" for name, count in gpus.items()]
    return ", ".join(words)


def stamp() -> dict:
    """Return where and when a notebook was executed."""
    versions = {"python": platform.python_version()}
    for package in PACKAGES:
        try:
            versions[package] = metadata.version(package)
        except metadata.PackageNotFoundError:
            continue
    today = datetime.date.today().isoformat()
    return {"hardware": hardware(), "versions": versions, "date": today}


def devices(notebook) -> str:
    """Return the devices that the notebook's own banner names."""
    text = "".join(o.get("text", "") for c in code_cells(notebook) for o in c.get("outputs", []))
    found = re.search(r"^devices: (.*?)(?: \(|$)", text, re.MULTILINE)
    return found[1].strip() if found else "-"


# ---- Commands ------------------------------------------------------------------------------------


def build_section(section: Section, framework: str, force=False) -> str:
    """Write the notebooks of a section, executing one of them if the code has changed."""
    chapter, original = section.chapter, section.langs[0]
    notebooks = {lang: section.notebook(framework, lang) for lang in section.langs}
    donor = read_notebook(chapter.notebook(framework, original, section.name))
    if (
        force
        or donor is None
        or not all(cell.execution_count for cell in code_cells(donor))
        or program(donor) != program(notebooks[original])
    ):
        donor = copy.deepcopy(notebooks[original])
        # As deep as the notebooks, so that links to files hold, but free to be written to.
        folder = chapter.root / "build" / framework / original
        folder.mkdir(parents=True, exist_ok=True)
        execute(donor, folder, chapter.root)
        problems = [p for cell in code_cells(donor) for p in check.outputs(cell)]
        if problems:
            raise BuildError("\n".join(problems))
        donor.metadata["d2l_local"] = stamp()
        result = "executed"
    else:
        result = "outputs kept"
    changed = False
    for lang, notebook in notebooks.items():
        for cell, old in zip(code_cells(notebook), code_cells(donor)):
            cell.execution_count, cell.outputs = old.execution_count, old.outputs
        notebook.metadata["d2l_local"] = donor.metadata.get("d2l_local", {})
        changed |= write(chapter.notebook(framework, lang, section.name), dump(notebook))
    return result if changed else f"{result}, nothing to write"


def command_build(chapter: Chapter, args) -> int:
    failed = 0
    for section in chapter.sections(args.section):
        for problem in check.twins(section):
            print(f"warning: {problem}")
        for framework in section.frameworks:
            if args.framework in (None, framework):
                started = time.monotonic()
                print(f"{framework}/{section.name} ...", end=" ", flush=True)
                try:
                    result = build_section(section, framework, args.force)
                    print(f"{result}, {time.monotonic() - started:.0f} s")
                except BuildError as error:
                    failed += 1
                    path = chapter.notebook(framework, section.langs[0], section.name)
                    print(f"failed\n{path.relative_to(chapter.root)}, {error}")
    return 1 if failed else 0


def command_check(chapter: Chapter, args) -> int:
    problems = []
    for section in chapter.sections(args.section):
        problems += check.text(section)
        for framework in section.frameworks:
            expected = {lang: section.notebook(framework, lang) for lang in section.langs}
            if len({tuple(program(notebook)) for notebook in expected.values()}) > 1:
                problems.append(f"{section.path.name}: the languages' code differs")
            for lang, notebook in expected.items():
                path = chapter.notebook(framework, lang, section.name)
                found = check.notebook(path, notebook, read_notebook(path))
                problems += [f"{path.relative_to(chapter.root)}: {p}" for p in found]
    if not args.section:
        known = {
            chapter.notebook(framework, lang, section.name)
            for section in chapter.sections()
            for framework in section.frameworks
            for lang in section.langs
        }
        for framework in chapter.frameworks:
            for path in sorted((chapter.root / "chapters" / framework).glob("*/*.ipynb")):
                if path not in known:
                    problems.append(f"{path.relative_to(chapter.root)}: no text makes it")
    print("\n".join(problems) or "text, languages and notebooks agree")
    return 1 if problems else 0


def command_stamp(chapter: Chapter, args) -> int:
    for section in chapter.sections(args.section):
        for block in restamp(section):
            print(f"{section.path.name}:{block.line}: [{block.lang}/{block.id}] stamped")
    return 0


def command_format(chapter: Chapter, args) -> int:
    for section in chapter.sections(args.section):
        text = section.path.read_text("utf-8")
        formatted = format_code(text, [block.source for block in section.code()], chapter.root)
        if formatted != text:
            write(section.path, formatted)
            print(f"{section.path.name} formatted")
    return 0


def format_code(text: str, sources: list[str], root: Path) -> str:
    """Return the text with its code laid out by ruff, which knows how to treat notebooks' cells."""
    notebook = new_notebook(cells=[new_code_cell(source) for source in sources])
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "text.ipynb")
        nbformat.write(notebook, path)
        command = [
            sys.executable,
            "-m",
            "ruff",
            "format",
            "-q",
            "--config",
            root / "pyproject.toml",
        ]
        subprocess.run([*command, path], check=True)
        formatted = [cell.source for cell in nbformat.read(path, 4).cells]
    position = 0
    for old, new in zip(sources, formatted):
        position = text.index(old, position)
        text = text[:position] + new + text[position + len(old) :]
        position += len(new)
    return text


def command_run(chapter: Chapter, args) -> int:
    rows, failed = [("notebook", "language", "devices", "cells", "seconds", "result")], 0
    paths = [
        path
        for framework in ([args.framework] if args.framework else chapter.frameworks)
        for path in sorted((chapter.root / "chapters" / framework).glob("*/*.ipynb"))
        if not args.section or path.stem in args.section
    ]
    for number, path in enumerate(paths, 1):
        lang, framework = path.parent.name, path.parent.parent.name
        print(f"[{number}/{len(paths)}] {framework}/{lang}/{path.stem} ...", end=" ", flush=True)
        notebook, started, result = read_notebook(path), time.monotonic(), "ok"
        target = chapter.root / "build" / framework / lang / path.name
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            execute(notebook, target.parent, chapter.root, seconds=args.seconds)
        except BuildError as error:
            result, failed = "failed", failed + 1
            print(f"failed\n{path.relative_to(chapter.root)}, {error}")
        seconds = f"{time.monotonic() - started:.1f}"
        if result == "ok":
            print(f"ok, {seconds} s")
        notebook.metadata["d2l_local"] = stamp()
        write(target, dump(notebook))
        cells = str(sum(1 for c in code_cells(notebook) if c.execution_count))
        name = f"{framework}/{path.stem}"
        rows.append((name, lang, devices(notebook), cells, seconds, result))
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())
    return 1 if failed or not paths else 0


def main(argv=None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    commands = {
        "build": command_build,
        "check": command_check,
        "stamp": command_stamp,
        "run": command_run,
        "format": command_format,
    }
    # `build.py --check` reads well too, and no command means build.
    if argv and argv[0].lstrip("-") in commands:
        argv[0] = argv[0].lstrip("-")
    elif not argv or argv[0] not in ("-h", "--help"):
        argv.insert(0, "build")
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    subparsers = parser.add_subparsers(dest="command")
    for name in commands:
        sub = subparsers.add_parser(name)
        sub.add_argument("--section", "--sections", nargs="+", action="extend", metavar="NAME")
        sub.add_argument("--root", type=Path, default=Path(__file__).resolve().parent.parent)
        if name in ("build", "run"):
            sub.add_argument("--framework")
        if name == "build":
            sub.add_argument("--force", action="store_true", help="execute unchanged code too")
        if name == "run":
            sub.add_argument("--seconds", type=float, help="budget of one notebook")
    args = parser.parse_args(argv)
    try:
        chapter = Chapter(args.root.resolve())
        if getattr(args, "framework", None) not in (None, *chapter.frameworks):
            raise BuildError(f"no framework {args.framework}; there is {[*chapter.frameworks]}")
        return commands[args.command](chapter, args)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # So that `finally` ends the kernel
    try:
        sys.exit(main())
    except KeyboardInterrupt:
        sys.exit(130)
