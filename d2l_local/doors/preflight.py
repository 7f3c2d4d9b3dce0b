"""What of this machine matters to the chapter, and what to type next: ``python -m d2l_local``.

It is for when something is amiss, so nothing is imported here that may be missing, fail or hang.
The driver, the framework and the data set are each asked in a process of their own, with a limit.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import importlib.util
import json
import os
import platform
import sys
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from types import ModuleType

from d2l_local.base import frameworks, processes
from d2l_local.install import builds, commands, installed
from d2l_local.machine import host, nvidia

SECONDS = 120  # For MXNet, whose import takes a few, or many from a slow disk
FRAMEWORKS = frameworks.load()
SYSTEMS = {"linux": "Linux", "darwin": "macOS", "win32": "Windows"}
PACKAGES = ("numpy", "d2l", *(name for f in FRAMEWORKS.values() for name in f.distributions))


def main(arguments: list[str] | None = None, seconds: float = SECONDS) -> int:
    """Print the table, or JSON if asked for, and return 0 if the chapter can run here, else 1.

    ``seconds`` is how long each part of the machine has to answer.
    """
    parser = argparse.ArgumentParser(
        prog="python -m d2l_local",
        description=(__doc__ or "").split("\n")[0],
        epilog="setup, lab and get in its place do more: see the --help of each",
    )
    parser.add_argument("--json", action="store_true", help="print JSON, for scripts")
    options = parser.parse_args(arguments)
    facts = examine(seconds)
    print(json.dumps(facts, indent=2) if options.json else table(facts))
    return 0 if facts["ready"] else 1


def examine(seconds: float = SECONDS) -> dict:
    """Everything that `table` shows, as JSON can hold it.

    A part that cannot be examined is a dictionary with an ``error``.
    """
    framework = installed.framework()
    with ThreadPoolExecutor() as pool:
        questions = ("nvidia", framework, "data")
        gpus, runs, data = pool.map(lambda part: _ask(part, seconds), questions)
    facts = {
        "python": {"version": platform.python_version(), "executable": sys.executable},
        "packages": {name: installed.version(name) for name in PACKAGES},
        "framework": {"name": framework, **runs},
        "nvidia": gpus,
        "cores": host.num_cores(),
        "memory": host.memory(),
        "data": data,
    }
    if problem := next(_problems(facts), None):
        verdict, command = problem
    else:
        verdict = f"{FRAMEWORKS[framework].title} computes on {', '.join(runs['devices'])}"
        command = commands.read(framework)
    conclusions = {"ready": problem is None, "verdict": verdict, "command": command}
    return {**facts, "notes": list(_notes(facts)), **conclusions}


# --- Questions, answered in a process of their own ------------------------------------------------


def _nvidia() -> dict:
    gpus = [
        {
            "index": gpu.index,
            "name": gpu.name,
            "compute_capability": "{}.{}".format(*gpu.capability),
            "supported": builds.supports(gpu),
        }
        for gpu in nvidia.installed_gpus()
    ]
    return {"gpus": gpus, "fitting_build": builds.fitting_build()}


def _data() -> dict:
    if not installed.version("numpy"):
        return {"error": "NumPy is not installed"}
    from d2l_local import data
    from d2l_local.data import idx, mirrors

    asked = os.environ.get("D2L_DATA")
    if not asked:
        return {"available": f"{data.of_the_package().origin}, which comes with d2l_local"}
    if asked != "full":
        return {"available": data.from_folder(asked).origin}
    here = all(map(mirrors.cached, idx.FILES))
    return {"available": data.fashion_mnist().origin if here else None}


def backend(framework: str) -> ModuleType:
    """Import ``d2l_local.<module>``, what the framework's notebooks call ``d2l``."""
    return importlib.import_module(f"d2l_local.{FRAMEWORKS[framework].module}")


QUESTIONS = {"nvidia": _nvidia, "data": _data}


def answer(question: str) -> None:
    """Print the answer to one of `QUESTIONS`, or about a framework, as the last line."""
    try:
        ask = QUESTIONS.get(question) or backend(question).examine
        found = ask()
    except Exception as error:
        # A LoadError knows what to type.
        reason = getattr(error, "reason", None) or f"{type(error).__name__}: {error}"
        # In one line, which MXNet's own errors are not.
        found = {"error": " ".join(reason.split()), "command": getattr(error, "command", None)}
    print("\n" + json.dumps(found), flush=True)


def _ask(question: str, seconds: float) -> dict:
    """Have `answer` called in a new process, which is ended after ``seconds``."""
    # _exit: the answer is out, and what has been loaded need not get a chance to hang at its end.
    code = "import os; from d2l_local.doors import preflight; "
    code += f"preflight.answer({question!r}); os._exit(0)"
    try:
        done = processes.completed([sys.executable, "-c", code], seconds, question)
    except TimeoutError:
        return {"error": f"no answer within {seconds:g} seconds"}
    with contextlib.suppress(IndexError, ValueError):  # It ended without an answer
        if done.returncode == 0:
            return json.loads(done.stdout.splitlines()[-1])
    ended = processes.how_it_ended(done.returncode)
    if ended.endswith("SIGKILL"):
        ended += ", as the system does where memory runs out"
    last = processes.last_lines(done.stderr).splitlines()[-1:] or ["it said nothing"]
    return {"error": f"its process {ended}: {last[0].strip()}"}


# --- The verdict ----------------------------------------------------------------------------------


def _problems(facts: dict) -> Iterator[tuple[str, str]]:
    """Reasons why the chapter cannot run, each with what to type; the gravest comes first."""
    framework = facts["framework"]
    # As the answer has it, because asking the driver in this process could hang.
    build = facts["nvidia"].get("fitting_build", "mxnet")
    for found, pin in installed.of_other_versions(framework["name"]):
        yield f"{found} is installed, and the chapter is for {pin}", commands.pip_install(pin)
    if error := framework.get("error"):
        row = FRAMEWORKS[framework["name"]]
        reason = f"{row.title} does not run: {error}"
        if known := _other_pythons(row):
            reason += f". {known}"
        command = framework.get("command")
        if not command and (named := _from_pythonpath("numpy", row.module)):
            reason, command = f"{reason}. {named}", commands.unset("PYTHONPATH")
        yield reason, command or commands.set_up(framework["name"])
    if len(both := builds.installed_builds()) > 1:
        reason = f"both {' and '.join(both)} are installed, and each overwrote files of the other"
        yield reason, commands.switch_to(build)
    if not facts["packages"]["d2l"]:
        yield f"{installed.D2L} is not installed", commands.pip_install(installed.D2L)
    if error := facts["data"].get("error"):
        yield f"the data set cannot be read: {error}", commands.unset("D2L_DATA")


def _notes(facts: dict) -> Iterator[str]:
    """What may go wrong later on, although the chapter can run."""
    if known := _other_pythons(FRAMEWORKS[facts["framework"]["name"]]):
        yield f"{known}; where something fails here, make a new environment with one of these"
    needed = FRAMEWORKS[facts["framework"]["name"]].memory
    total, available = facts["memory"].values()
    free = total if available is None else available
    if needed and free is not None and free < float(needed):
        yield (
            f"the largest notebook takes {needed} GiB of memory, and {free} are free; where memory "
            "runs out, the system kills a notebook's kernel, which cannot say why"
        )


def _from_pythonpath(*libraries: str) -> str:
    """Which of these libraries Python takes from a folder that PYTHONPATH names, if any."""
    folders = [Path(each) for each in os.environ.get("PYTHONPATH", "").split(os.pathsep) if each]
    for library in libraries:
        spec = importlib.util.find_spec(library)
        for folder in folders:
            if spec and spec.origin and Path(spec.origin).is_relative_to(folder.absolute()):
                return f"{library} comes from {folder}, which PYTHONPATH names"
    return ""


def _other_pythons(row: frameworks.Framework) -> str:
    """On which Pythons a framework is known to run, if this is none of them."""
    oldest, newest = (tuple(map(int, python.split("."))) for python in row.pythons)
    if oldest <= sys.version_info[:2] <= newest:
        return ""
    here = ".".join(map(str, sys.version_info[:2]))
    return f"{row.title} is known to run on Python {' to '.join(row.pythons)}, and this is {here}"


# --- The table ------------------------------------------------------------------------------------


def table(facts: dict) -> str:
    """The facts as lines to read, the verdict last."""
    rows = list(_rows(facts))
    width = max(len(name) for name, _ in rows)
    verdict = "Ready" if facts["ready"] else "Not ready"
    lines = [f"{name:<{width}}  {value}" for name, value in rows]
    lines += ["", *(f"Note: {note}" for note in facts["notes"])]
    return "\n".join([*lines, f"{verdict}: {facts['verdict']}. Type: {facts['command']}"])


def _rows(facts: dict) -> Iterator[tuple[str, str]]:
    packages, framework = facts["packages"], facts["framework"]
    yield "Python", "{version} ({executable})".format(**facts["python"])
    yield "NumPy", packages["numpy"] or "not installed"
    for name, row in FRAMEWORKS.items():
        if has := list(_builds(row, packages)):
            yield row.title, " and ".join(has)
        elif not row.runs_here:
            yield row.title, f"does not run on {SYSTEMS.get(sys.platform, platform.system())}"
        elif name == framework["name"] or name == frameworks.default():
            yield row.title, "not installed"
    yield "d2l", packages["d2l"] or "not installed"
    if "error" in facts["nvidia"]:
        yield "GPUs", f"the driver cannot be asked: {facts['nvidia']['error']}"
    else:
        for gpu in facts["nvidia"]["gpus"]:
            use = _use(gpu, framework, bool(packages["mxnet-cu112"]))
            described = "{name}, compute capability {compute_capability}".format(**gpu)
            yield f"gpu({gpu['index']})", f"{described}: {use}"
        if not facts["nvidia"]["gpus"]:
            yield "GPUs", "none"
    if framework["name"] == "mxnet":
        yield "BLAS kernel", framework.get("blas_kernel", "unknown, because MXNet does not run")
    threads = framework.get("threads")
    yield "cores", str(facts["cores"])
    yield "threads", "unknown" if threads is None else f"{threads} a CPU device"
    total, available = facts["memory"].values()
    size = "unknown" if total is None else f"{total} GiB"
    yield "memory", size + ("" if available is None else f", {available} available")
    yield "data set", _data_row(facts["data"])


def _builds(row: frameworks.Framework, packages: dict) -> Iterator[str]:
    """Versions of what is installed of a framework; where it has two builds, which one it is."""
    for name, build in zip(row.distributions, ("CPU", "GPU")):
        if packages[name]:
            which = f", {build} build ({name})" if len(row.distributions) > 1 else ""
            yield f"{packages[name]}{which}"


def _use(gpu: dict, framework: dict, gpu_build: bool) -> str:
    """Whether the framework can use a GPU, and if not, why."""
    if gpu["index"] in framework.get("usable_gpus", ()):
        return "used"
    if framework["name"] != "mxnet":
        return f"not used by this build of {FRAMEWORKS[framework['name']].title}"
    if not gpu["supported"]:
        oldest, newest = builds.OLDEST_CAPABILITY, builds.NEWEST_CAPABILITY
        return (
            "not used, because MXNet's wheel has code for {}.{} to {}.{} on x86-64; "
            "the README names newer builds".format(*oldest, *newest)
        )
    if gpu_build:
        return "not used, because MXNet does not run"
    return f"idle with the CPU build; for the other type: {commands.switch_to('cu112')}"


def _data_row(data: dict) -> str:
    if "error" in data:
        return f"cannot be read: {data['error']}"
    return data["available"] or "not here yet: Fashion-MNIST is fetched at first use (31 MB)"
