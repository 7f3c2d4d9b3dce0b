"""Do what the Dockerfile says on ARM, which is emulated here, and try MXNet's edition there.

``make test-arm64`` makes ``build/arm64/root``, a Debian for ARM, carries out the Dockerfile's
instructions in it, and runs `TRIALS`: the preflight, tests of the package, and two notebooks.
Choose with ``make test-arm64 OPTIONS=notebooks``. What each prints is in ``build/arm64/*.log``,
too. It must be root, on Linux, with `PROGRAMS`, and takes an hour or more: an emulated processor
needs ten to a hundred times as long. So nothing is said about speed, and claims of the notebooks
about it are not judged.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import time
from pathlib import Path

from d2l_local.base import processes

ROOT = Path(__file__).resolve().parents[1]
BUILD = ROOT / "build" / "arm64"
SYSTEM = BUILD / "root"
DONE = BUILD / "done"  # The instructions that have made it
DEBIAN = "bookworm"  # The Dockerfile's, which is not to be had without a registry of containers

PROGRAMS = {
    "qemu-aarch64-static": "qemu-user-static",
    "update-binfmts": "binfmt-support",
    "debootstrap": "debootstrap",
    "unshare": "util-linux",
}
EMULATOR = Path("/proc/sys/fs/binfmt_misc/qemu-aarch64")

SETTINGS = {
    "PATH": "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin",
    "LANG": "C.UTF-8",
    "QEMU_CPU": "neoverse-n1",  # Like Apple's processors it has no SVE
}
# What a closed network may need of the reader's settings.
HANDED_ON = ("PIP_INDEX_URL", "PIP_CERT", "HTTP_PROXY", "HTTPS_PROXY", "NO_PROXY")
CERTIFICATES = "/etc/certificates-of-the-host.crt"

PYTEST = (
    "PYTHONPATH=tests .venv/bin/python -m pytest --verbose --numprocesses 2 "
    "-p no:cacheprovider -p book.nbval -p emulated"
)
# Links under which MXNet finds its libraries without d2l_local, as where Arm's own are installed.
LINKS = (
    "mkdir -p /tmp/links && "
    "ln -sf /usr/lib/aarch64-linux-gnu/libopenblas.so.0 /tmp/links/libarmpl_lp64_mp.so && "
    "ln -sf /usr/lib/aarch64-linux-gnu/liblapacke.so.3 /tmp/links/libamath.so && "
    "ln -sf /usr/lib/aarch64-linux-gnu/liblapacke.so.3 /tmp/links/libastring.so && "
    "ln -sf $PWD/.venv/lib/python3*/site-packages/scikit_learn.libs/libgomp* "
    "/tmp/links/libgomp.so.1"
)
# Rows and repetitions of the notebooks that would take the emulator a quarter of an hour.
SMALLER = (
    "sed -i 's/else 1000/else 200/' index.ipynb && "
    "sed -i 's/ 40, number=50)/ 4, number=5)/; s/(jobs, 12,/(jobs, 2,/' hybridize.ipynb && "
    "sed -i 's/, 10 if width/, 1 if width/' hybridize.ipynb"
)
TRIALS = {
    "preflight": ".venv/bin/python -m d2l_local",
    "package": f"{PYTEST} --dist worksteal tests/process/test_engine.py "
    "tests/unit/test_libraries.py tests/unit/test_devices.py tests/unit/test_timeline.py "
    "tests/process/test_recorder.py",
    "compat": f"{LINKS} && LD_LIBRARY_PATH=/tmp/links {PYTEST} --dist worksteal "
    "tests/unit/test_numpy_view.py tests/unit/test_numpy_view_functions.py",
    "notebooks": f"(cd chapters/mxnet/en && {SMALLER}) && {PYTEST} --dist loadscope "
    "--nbval --nbval-sanitize-with tests/nbval.cfg --nbval-cell-timeout 3000 "
    "chapters/mxnet/en/index.ipynb chapters/mxnet/en/hybridize.ipynb",
}


class Container:
    """The system for ARM: who does the next thing there, and where."""

    user, folder = "root", "/"

    def run(self, command: str, log: str) -> bool:
        """Run a shell's command line there and return whether it ended well; it prints to a log."""
        uid, gid, home = self.account()
        own = {name: os.environ[name] for name in HANDED_ON if name in os.environ}
        if "PIP_CERT" in own:
            own["PIP_CERT"] = CERTIFICATES
        # Mounts and processes of its own, of which nothing is left when the command has ended.
        script = (
            'mount --rbind /dev "$0/dev" && mount -t proc proc "$0/proc" && '
            'exec chroot --userspec "$1" "$0" sh -c "cd $2 && $3"'
        )
        line = ["unshare", "--mount", "--pid", "--fork", "sh", "-c", script]
        line += [str(SYSTEM), f"{uid}:{gid}", self.folder, command]
        print(f"arm64, as {self.user}: {command}", flush=True)
        start = time.monotonic()
        environment = {**SETTINGS, **own, "HOME": home}
        with open(BUILD / f"{log}.log", "wb") as file, processes.Guarded() as guarded:
            process = guarded.start(
                line, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
            )
            for text in process.stdout:
                sys.stdout.buffer.write(text)
                sys.stdout.flush()
                file.write(text)
            well = process.wait() == 0
        verdict = "ok" if well else f"failed, exit code {process.returncode}"
        print(f"arm64: {verdict}, {time.monotonic() - start:.0f} s", flush=True)
        return well

    def account(self) -> tuple[int, int, str]:
        """The numbers of the user and the user's group there, and the home folder."""
        users = (SYSTEM / "etc" / "passwd").read_text(encoding="utf-8")
        row = next(row.split(":") for row in users.splitlines() if row.startswith(f"{self.user}:"))
        return int(row[2]), int(row[3]), row[5]

    def follow(self, instruction: str, argument: str) -> None:
        """Carry out one of the Dockerfile's instructions.

        Raises SystemExit where a command fails, and for an instruction that it does not know.
        """
        if instruction == "RUN":
            done = DONE.read_text(encoding="utf-8").splitlines()
            if argument in done:
                return
            if not self.run(argument, "dockerfile"):
                raise SystemExit("arm64: this instruction of the Dockerfile fails on ARM")
            if not argument.startswith("make "):  # Which knows by itself what is to be done
                DONE.write_text("\n".join([*done, argument]), encoding="utf-8")
        elif instruction == "USER":
            self.user = argument
        elif instruction == "WORKDIR":
            self.folder = argument
            folder = SYSTEM / argument.lstrip("/")
            folder.mkdir(parents=True, exist_ok=True)
            os.chown(folder, *self.account()[:2])
        elif instruction == "COPY":
            self.copy_the_checkout()
        elif instruction not in ("FROM", "ARG", "EXPOSE", "CMD"):
            raise SystemExit(f"arm64: {Path(__file__).name} does not know {instruction} yet")

    def copy_the_checkout(self) -> None:
        """Copy what git knows; the environment that was made there stays."""
        command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, cwd=ROOT, check=True, capture_output=True, text=True)
        with tarfile.open(SYSTEM / "tmp" / "checkout.tar", "w") as tar:
            for name in filter(None, listed.stdout.split("\0")):
                if (ROOT / name).is_file():
                    tar.add(ROOT / name, name)
        self.run("tar --extract --file /tmp/checkout.tar", "copy")


def instructions(dockerfile: str) -> list[tuple[str, str]]:
    """The instructions with their arguments, each in one line, that the last stage consists of."""
    text = re.sub(r"^#.*\n", "", dockerfile, flags=re.MULTILINE)
    lines = re.sub(r"\s*\\\n\s*", " ", text).splitlines()
    stages: dict[str, list[tuple[str, str]]] = {}
    stage: list[tuple[str, str]] = []
    for name, _, argument in (line.partition(" ") for line in lines if line):
        if name == "FROM":
            source, _, called = argument.partition(" AS ")
            stage = list(stages.get(source, [("FROM", source)]))
            stages[called] = stage
        else:
            stage.append((name, argument))
    return stage


def make_root() -> None:
    """Make the smallest Debian for ARM, which the instructions then add to."""
    shutil.rmtree(SYSTEM, ignore_errors=True)
    command = ["debootstrap", "--arch=arm64", "--variant=minbase", DEBIAN, str(SYSTEM)]
    subprocess.run(command, check=True)
    shutil.copy("/etc/resolv.conf", SYSTEM / "etc")
    if certificates := os.environ.get("PIP_CERT"):
        shutil.copy(certificates, SYSTEM / CERTIFICATES.lstrip("/"))
    DONE.write_text("", encoding="utf-8")


def missing() -> str | None:
    """What keeps this machine from emulating ARM, with the cure; None if nothing does."""
    if os.geteuid():
        return "it makes a system of its own, so it must be root: sudo make test-arm64"
    if packages := [package for program, package in PROGRAMS.items() if not shutil.which(program)]:
        return f"programs are missing: apt-get install {' '.join(packages)}"
    if not EMULATOR.exists():
        return (
            f"Linux does not know the emulator ({EMULATOR} is missing): mount -t binfmt_misc none "
            f"{EMULATOR.parent} && update-binfmts --enable qemu-aarch64"
        )
    return None


def main(chosen: list[str]) -> int:
    """Bring the system up to date, and return 0 if the trials there go well."""
    if unknown := set(chosen) - set(TRIALS):
        raise SystemExit(f"arm64: there is no trial {unknown}; there is: {', '.join(TRIALS)}")
    if problem := missing():
        raise SystemExit(f"arm64: {problem}")
    asked = instructions((ROOT / "Dockerfile").read_text(encoding="utf-8"))
    arguments = [argument for _, argument in asked]
    if not DONE.exists() or not set(DONE.read_text(encoding="utf-8").splitlines()) <= set(
        arguments
    ):
        make_root()
    container = Container()
    for instruction, argument in asked:
        container.follow(instruction, argument)
    failed = [name for name in chosen or TRIALS if not container.run(TRIALS[name], name)]
    print(f"arm64: {'failed: ' + ', '.join(failed) if failed else 'all went well'}")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
