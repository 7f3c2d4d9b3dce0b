"""Who may publish the package, and when: what no linter of workflows knows."""

from pathlib import Path

import yaml

ROOT = Path(__file__).resolve().parents[2]


def test_only_a_tested_package_is_published_and_only_once_a_maintainer_wants_it():
    release = yaml.load((ROOT / ".github/workflows/release.yml").read_text(), yaml.BaseLoader)
    jobs = release["jobs"]
    publish, package = jobs["publish"], jobs["package"]
    assert release["on"] == {"push": {"tags": ["v*"]}}
    assert jobs["check"]["steps"][-1] == {"run": "make check RELEASE=1"}
    assert {"run": "make test-wheel"} in package["steps"]
    assert publish["if"] == "vars.PUBLISH == 'true'"
    assert set(publish["needs"]) == {"check", "package"}
    # What could publish is the job that runs nothing of the repository and of its dependencies.
    assert [name for name, job in jobs.items() if "permissions" in job] == ["publish"]
    assert [step["run"].split()[0] for step in publish["steps"] if "run" in step] == ["gh", "uv"]
    assert not any("checkout" in step.get("uses", "") for step in publish["steps"])
