"""The builder's commands.

    python -m book.builder           build what changed (--force: execute everything again;
                                     --no-execute: leave what changed without outputs)
    python -m book.builder check     fail where text, languages and notebooks disagree
                                     (--release: and a draft, something stale or disturbed)
    python -m book.builder stamp     after re-reading: mark the twins as agreeing
    python -m book.builder run       execute every notebook afresh into build/
    python -m book.builder format    lay out the texts' code with ruff

`docs/text-format.md` describes the format of the texts.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

from book.builder import check, retry
from book.builder.build import Ran, build_section, run_notebook
from book.builder.check import twins
from book.builder.check.problem import ERROR, UNREADY, Problem
from book.builder.language import first_language, with_languages
from book.builder.model import Section
from book.builder.notebook import BuildError, Notebook, write
from book.builder.readme import readmes
from book.builder.stamps import restamp
from book.builder.text import Chapter
from d2l_local.base import processes

import nbformat
from nbformat.v4 import new_code_cell, new_notebook


def command_build(chapter: Chapter, args: argparse.Namespace) -> int:
    os.environ.pop("D2L_DATA", None)  # What is committed comes from the images that all have
    failed = 0
    chapter.sections()  # A section names and links the others: what breaks one of them comes first
    for section in chapter.sections(args.section):
        for problem in (*twins.all_there(section), *twins.stamped(section), *twins.draft(section)):
            print(f"warning: {problem}")
        for framework in section.frameworks:
            if args.framework in (None, framework):
                failed += not build_one(section, framework, args)
    for path, text in readmes(chapter).items():
        write(path, text)
    return 1 if failed else 0


def build_one(section: Section, framework: str, args: argparse.Namespace) -> bool:
    """Build a section and say what came of it; return whether it succeeded."""
    started = time.monotonic()
    print(f"{framework}/{section.name} ...", end=" ", flush=True)
    try:
        built = build_section(section, framework, args.force, args.kernel)
    except BuildError as error:
        print(f"failed\n{error}")
        return False
    print(f"{built}, {time.monotonic() - started:.0f} s")
    for warning in built.warnings:
        print(f"warning: {warning}")
    return True


def command_check(chapter: Chapter, args: argparse.Namespace) -> int:
    refused = (ERROR, UNREADY) if args.release else (ERROR,)
    chapter.sections()  # As above
    found = list(check.chapter(chapter, args.section))
    for line in in_short([p for p in found if p.level not in refused], bool(args.section)):
        print(f"warning: {line}")
    problems = [problem for problem in found if problem.level in refused]
    print("\n".join(map(str, problems)) or "text, languages and notebooks agree")
    cures: dict[str, dict[str, None]] = {}  # The sections that a command takes, each once
    for command, section in filter(None, (problem.cure for problem in problems)):
        cures.setdefault(command, {})[section] = None
    for command, sections in cures.items():
        print(f"to build it: {command.format(' '.join(sections))}")
    return 1 if problems else 0


def in_short(warnings: list[Problem], chosen: bool) -> list[str]:
    """Return lines of warnings: of chosen sections all, else counts of what many sections have."""
    counts = Counter(warning.counted for warning in warnings if not chosen)
    del counts[""]
    lines = [str(warning) for warning in warnings if warning.counted not in counts]
    lines += [
        f"{what}: {count}, which `make check SECTIONS=<section>` shows"
        for what, count in counts.items()
    ]
    return lines


def command_stamp(chapter: Chapter, args: argparse.Namespace) -> int:
    for section in chapter.sections(args.section):
        for block in restamp(section):
            print(f"{block.where}: [{block.lang}/{block.id}] stamped")
    return 0


def command_format(chapter: Chapter, args: argparse.Namespace) -> int:
    for section in chapter.sections(args.section):
        for path, formatted in laid_out(section).items():
            if write(path, formatted):
                print(f"{path.name} formatted")
    return 0


def laid_out(section: Section) -> dict[Path, str]:
    """Return a section's files with code laid out by ruff, which knows how to treat cells.

    A comment counts with its first language's part: a notebook has one of them.
    """
    cells = [each for block in section.code() for each in (block, *block.denials)]
    formatted = format_code([cell.source for cell in cells], section.chapter.root)
    paths = [section.path, *section.chapter.main_lines(section.path).values()]
    lines = {path.name: path.read_text("utf-8").split("\n") for path in paths}
    for cell, new in sorted(zip(cells, formatted), key=lambda pair: -pair[0].line):
        file, old = lines[cell.file], cell.source.split("\n")
        begins = next(i for i in range(cell.line, len(file)) if file[i : i + len(old)] == old)
        file[begins : begins + len(old)] = with_languages(new, cell.source).split("\n")
    return {path: "\n".join(lines[path.name]) for path in paths}


def format_code(sources: list[str], root: Path) -> list[str]:
    """Return the code of cells as ruff lays it out."""
    notebook = new_notebook(cells=[new_code_cell(first_language(source)) for source in sources])
    with processes.temporary_folder() as folder:
        path = Path(folder, "text.ipynb")
        nbformat.write(notebook, path)
        command = [
            sys.executable,
            "-m",
            "ruff",
            "format",
            "-q",
            "--no-force-exclude",  # The project excludes notebooks, which are formatted here
            "--config",
            str(root / "pyproject.toml"),
        ]
        subprocess.run([*command, path], check=True)
        return [cell.source for cell in nbformat.read(path, 4).cells]


def command_run(chapter: Chapter, args: argparse.Namespace) -> int:
    sections = {section.name: section for section in chapter.sections(args.section)}
    paths = [
        path
        for framework in ([args.framework] if args.framework else chapter.frameworks)
        for path in sorted((chapter.root / "chapters" / framework).glob("*/*.ipynb"))
        if path.stem in sections
    ]
    if not paths:
        raise BuildError(f"no notebooks of {', '.join(sections)}; make them with `make notebooks`")
    ran: list[Ran] = []
    originals: dict[tuple[str, str], Notebook | None] = {}  # Whose run other languages tell
    for number, path in enumerate(paths, 1):
        lang, framework = path.parent.name, path.parent.parent.name
        print(f"[{number}/{len(paths)}] {framework}/{lang}/{path.stem} ...", end=" ", flush=True)
        section = sections[path.stem]
        ran.append(run_notebook(section, path, originals.get((framework, path.stem))))
        if framework in section.stories and not ran[-1].error:
            originals[framework, path.stem] = ran[-1].notebook
        if error := ran[-1].error:
            print(f"failed\n{path.relative_to(chapter.root)}, {error}")
        else:
            print(f"ok, {ran[-1].seconds:.1f} s")
        for name in ran[-1].again:
            print(f"cell {name}: {retry.TRIED_AGAIN}")
    print_runs(ran)
    if excess := retry.too_many(sum(len(one.again) for one in ran)):
        print(excess)
    return 0 if not excess and not any(one.error for one in ran) else 1


def print_runs(ran: list[Ran]) -> None:
    rows = [("notebook", "language", "devices", "cells", "again", "seconds", "result")]
    for one in ran:
        result = "failed" if one.error else "ok"
        counts = str(one.cells), str(len(one.again)), f"{one.seconds:.1f}"
        rows.append((one.name, one.lang, one.devices, *counts, result))
    print_table(rows)


def print_table(rows: Sequence[tuple[str, ...]]) -> None:
    widths = [max(map(len, column)) for column in zip(*rows)]
    for row in rows:
        print("  ".join(word.ljust(width) for word, width in zip(row, widths)).rstrip())


COMMANDS = {
    "build": command_build,
    "check": command_check,
    "stamp": command_stamp,
    "run": command_run,
    "format": command_format,
}


def command_line() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    subparsers = parser.add_subparsers(dest="command")
    parts = {name: subparsers.add_parser(name) for name in COMMANDS}
    for part in parts.values():
        part.add_argument("--section", nargs="+", action="extend", metavar="NAME")
        part.add_argument("--root", type=Path, default=Path(__file__).resolve().parents[2])
    for name in ("build", "run"):
        parts[name].add_argument("--framework")
    how = parts["build"].add_mutually_exclusive_group()
    how.add_argument("--force", action="store_true", help="execute unchanged code too")
    how.add_argument(
        "--no-execute",
        dest="kernel",
        action="store_false",
        help="leave cells whose code has changed without outputs",
    )
    parts["check"].add_argument(
        "--release", action="store_true", help="refuse drafts and stale outputs of GPUs"
    )
    return parser


def refuse_other_editions(sections: list[Section], framework: str) -> None:
    """Refuse a section that a framework lacks: with it, a command would do nothing."""
    for section in sections:
        if framework not in section.frameworks:
            raise BuildError(
                f"{section.name} is not in the edition of {framework}, but in that of "
                f"{section.frameworks[0]}: make takes FRAMEWORK={section.frameworks[0]}"
            )


def main(argv: Sequence[str] | None = None) -> int:
    argv = list(sys.argv[1:] if argv is None else argv)
    if not argv or argv[0] not in (*COMMANDS, "-h", "--help"):
        argv.insert(0, "build")
    args = command_line().parse_args(argv)
    try:
        chapter = Chapter(args.root.resolve())
        if getattr(args, "framework", None) not in (None, *chapter.frameworks):
            raise BuildError(f"no framework {args.framework}; there is {[*chapter.frameworks]}")
        if args.section and getattr(args, "framework", None):
            refuse_other_editions(chapter.sections(args.section), args.framework)
        return COMMANDS[args.command](chapter, args)
    except BuildError as error:
        print(error, file=sys.stderr)
        return 1
    except PermissionError as error:
        where = "clone the repository into a folder of yours"
        print(f"{error.filename} cannot be written: {where}", file=sys.stderr)
        return 1
