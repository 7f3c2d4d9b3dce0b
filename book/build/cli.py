"""The builder's commands.

    python -m book.build                  build what changed (--force: execute everything again)
    python -m book.build check            fail where text, languages and notebooks disagree
    python -m book.build stamp            after re-reading: mark the twins as agreeing
    python -m book.build run              execute every notebook afresh into build/
    python -m book.build format           lay out the texts' code with ruff

`book.build.text` describes the format of the texts.
"""

from __future__ import annotations

import argparse
import copy
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from book.build import check, proof
from book.build.execute import execute
from book.build.notebook import code_cells, dump, program, read_notebook, write
from book.build.readme import readmes
from book.build.record import devices, stamp
from book.build.text import BuildError, Chapter, Section, restamp

import nbformat
from nbformat.v4 import new_code_cell, new_notebook


def build_section(section: Section, framework: str, force=False) -> str:
    """Write the notebooks of a section, executing one of them if the code has changed."""
    chapter, original = section.chapter, section.langs[0]
    notebooks = {lang: section.notebook(framework, lang) for lang in section.langs}
    donor = committed = read_notebook(chapter.notebook(framework, original, section.name))
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
    proved = proof.prove(section, framework, None if force else committed)
    changed = False
    for lang, notebook in notebooks.items():
        for cell, old in zip(code_cells(notebook), code_cells(donor)):
            cell.execution_count, cell.outputs = old.execution_count, old.outputs
        about = {**donor.metadata.get("d2l_local", {}), "proved": proved}
        notebook.metadata["d2l_local"] = {key: value for key, value in about.items() if value}
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
    for path, text in readmes(chapter).items():
        write(path, text)
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
                found += proof.missing(section, framework, read_notebook(path))
                problems += [f"{path.relative_to(chapter.root)}: {p}" for p in found]
    for path, text in readmes(chapter).items():
        if path.read_text("utf-8") != text:
            problems.append(f"{path.name}: its table of notebooks is not this chapter's: build it")
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
    # `--check` reads well too, and no command means build.
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
        sub.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
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
