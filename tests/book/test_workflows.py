"""The GitHub Actions workflows: valid, and about the Pythons and frameworks that there are."""

import json
import re
import subprocess
import sys
from pathlib import Path

from d2l_local.base import frameworks

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[2]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
MAKEFILE = (ROOT / "Makefile").read_text()
TEST, CHECK = (
    yaml.safe_load((ROOT / f".github/workflows/{name}.yml").read_text())
    for name in ("test", "check")
)


def follow_schema(name, files):
    pytest.importorskip("check_jsonschema")
    command = [sys.executable, "-m", "check_jsonschema", f"--builtin-schema=vendor.{name}"]
    done = subprocess.run([*command, *files], capture_output=True, text=True)
    assert done.returncode == 0, done.stdout + done.stderr


def test_workflows_follow_githubs_schema():
    follow_schema("github-workflows", WORKFLOWS)


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_actions_are_pinned_by_commit(workflow):
    """A tag can be moved to other code; dependabot renews the commit and the version beside it."""
    used = re.findall(r"uses: *(.+)", workflow.read_text())
    assert used
    for action in used:
        assert re.fullmatch(r"[\w-]+/[\w-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", action), action


def test_one_commit_stands_for_a_version_everywhere():
    used = {u for path in WORKFLOWS for u in re.findall(r"uses: *(.+)", path.read_text())}
    assert len(used) == len({action.partition("@")[0] for action in used})


def test_the_container_s_base_is_pinned_and_nobody_else_reaches_it():
    dockerfile = (ROOT / "Dockerfile").read_text()
    bases = re.findall(r"^FROM (\S+)(?: AS (\w+))?$", dockerfile, re.MULTILINE)
    stages = {stage for _, stage in bases}
    outside = [base for base, _ in bases if base not in stages]
    assert outside and all(re.search("@sha256:[0-9a-f]{64}$", base) for base in outside)
    for file in (ROOT / "Dockerfile", *ROOT.glob("README*.md")):
        ports = re.findall(r"docker run .*-p (\S+)", file.read_text("utf-8"))
        assert ports == ["127.0.0.1:8888:8888"], file  # Else any host of the network may ask


@pytest.mark.parametrize("workflow", WORKFLOWS, ids=lambda path: path.name)
def test_make_targets_of_the_workflows_exist(workflow):
    targets = set(re.findall(r"^([a-z\d-]+):", MAKEFILE, re.MULTILINE))
    assert set(re.findall(r"\bmake ([a-z\d-]+)", workflow.read_text())) <= targets


def test_every_python_and_framework_is_tested():
    """What the job `list` prints is what the others take."""
    command = TEST["jobs"]["list"]["steps"][-1]["run"].partition(" >> ")[0].split()
    listed = subprocess.run(
        [sys.executable, *command[1:]], cwd=ROOT, capture_output=True, text=True
    )
    told = {k: json.loads(v) for k, _, v in (s.partition("=") for s in listed.stdout.splitlines())}
    assert told["frameworks"] == list(frameworks.load())
    pairs = [(row["framework"], row["python"]) for row in told["tests"]]
    for framework in frameworks.load().values():
        pythons = [python for name, python in pairs if name == framework.name]
        assert (pythons[0], pythons[-1]) == framework.pythons
        assert [int(python.partition(".")[2]) for python in pythons] == [*range_of(framework)]
    matrix = TEST["jobs"]["test"]["strategy"]["matrix"]
    assert matrix == {"include": "${{ fromJSON(needs.list.outputs.tests) }}"}
    canary = TEST["jobs"]["canary"]
    newest = min((framework.pythons[1] for framework in frameworks.load().values()), key=minor)
    assert f"PYTHONS={newest}" in canary["steps"][-2]["run"]  # The newest that all run on
    for job in (canary, CHECK["jobs"]["unit"], CHECK["jobs"]["package"]):
        assert job["needs"] == "list" and job["strategy"]["matrix"]["framework"] == EACH
    for workflow in (TEST, CHECK):
        assert workflow["jobs"]["list"]["steps"][-1]["run"] == " ".join([*command, LISTED])


EACH = "${{ fromJSON(needs.list.outputs.frameworks) }}"
LISTED = '>> "$GITHUB_OUTPUT"'


def minor(python: str) -> int:
    return int(python.partition(".")[2])


def range_of(framework: frameworks.Framework) -> range:
    oldest, newest = map(minor, framework.pythons)
    return range(oldest, newest + 1)


def test_reports_are_kept_where_make_test_writes_them():
    recipe = re.search(r"^test:.*\n((?:\t.*\n)+)", MAKEFILE, re.MULTILINE)[1]
    reports = re.findall(r"--junitxml=(\S+)", recipe)
    assert len(reports) == recipe.count("pytest")
    for name in ("test", "canary"):
        job = TEST["jobs"][name]
        kept = job["steps"][-1]["with"]["path"].split()
        assert all(any(report.startswith(path) for path in kept) for report in reports)


def test_a_version_tag_is_checked_as_a_release():
    release = yaml.load((ROOT / ".github/workflows/release.yml").read_text(), yaml.BaseLoader)
    assert release["on"] == {"push": {"tags": ["v*"]}}
    assert release["jobs"]["check"]["steps"][-1] == {"run": "make check RELEASE=1"}
    asked = ["make", "--dry-run", "--no-print-directory", "check", "RELEASE=1"]
    done = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=True)
    assert done.stdout.rstrip().endswith(" -m book.builder check --release")


def test_only_a_tested_package_is_published_and_only_once_a_maintainer_wants_it():
    jobs = yaml.safe_load((ROOT / ".github/workflows/release.yml").read_text())["jobs"]
    publish, steps = jobs["publish"], jobs["publish"]["steps"]
    assert publish["if"] == "vars.PUBLISH == 'true'"
    assert set(publish["needs"]) == {"check", "package"}
    assert {"run": "make test-wheel"} in jobs["package"]["steps"]
    # What could publish is the job that runs nothing of the repository and of its dependencies.
    assert publish["permissions"]["id-token"] == "write"
    assert not any("permissions" in job for name, job in jobs.items() if name != "publish")
    assert not any("checkout" in step.get("uses", "") for step in steps)
    assert [step["run"].split()[0] for step in steps if "run" in step] == ["gh", "uv"]
    kept = jobs["package"]["steps"][-1]["with"]
    assert f"--name {kept['name']} --dir dist" in steps[-2]["run"]
    assert f"--directory {kept['path'].rstrip('/')}\n" in MAKEFILE
    # CONTRIBUTING.md says what to enable, by the same names.
    text = (ROOT / "CONTRIBUTING.md").read_text("utf-8")
    for name in ("`PUBLISH`", "`release.yml`", f"`{publish['environment']}`"):
        assert name in text, name


FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))


@pytest.mark.parametrize("config", [False, True])
def test_forms_of_issues_follow_githubs_schema(config):
    forms = [form for form in FORMS if (form.stem == "config") == config]
    follow_schema("github-issue-config" if config else "github-issue-forms", forms)
