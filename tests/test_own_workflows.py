"""This repository's own .github: it does what `rankgate init --github` writes, and releases with few rights."""

import re
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import yaml
from msgspec.structs import replace
from tests.forges.test_workflows import JOB as GATE

from rankgate.forges.workflows import gate_text, report_text

ROOT = Path(__file__).parents[1]
WORKFLOWS = ROOT / ".github" / "workflows"
FILES = sorted(WORKFLOWS.glob("*.yml"))
pytestmark = pytest.mark.skipif(not FILES, reason="a source distribution has no workflows")

JOB = replace(GATE, action="./")


def own(name: str) -> Any:
    return yaml.safe_load((WORKFLOWS / name).read_text(encoding="utf-8"))


@pytest.mark.parametrize(
    ("name", "written"),
    [
        pytest.param("rankgate.yml", gate_text(JOB), id="gate"),
        pytest.param("rankgate-report.yml", report_text(JOB), id="reporting"),
    ],
)
def test_the_project_uses_its_action_as_others_are_told_to(name: str, written: str) -> None:
    ours, theirs = own(name), yaml.safe_load(written)
    for made in (ours, theirs):
        for job in made["jobs"].values():
            del job["timeout-minutes"]
            for step in job["steps"]:
                step.get("with", {}).pop("python-version", None)
                if step.get("name") == "Judge":
                    step.pop("if", None)  # only a step that can fail stands before it in theirs
    if "queue" in ours["jobs"]:  # its action lies in the checkout, theirs in a repository of its own
        assert ours["jobs"]["queue"]["permissions"].pop("contents") == "read"
        assert "actions/checkout@" in ours["jobs"]["queue"]["steps"].pop(0)["uses"]
    assert ours == theirs


def test_our_reporting_job_has_as_much_time_as_others_have() -> None:
    written = yaml.safe_load(report_text(JOB))
    assert (
        own("rankgate-report.yml")["jobs"]["report"]["timeout-minutes"] == written["jobs"]["report"]["timeout-minutes"]
    )


@pytest.mark.parametrize("file", [pytest.param(file, id=file.name) for file in FILES])
def test_nothing_has_rights_unless_its_job_says_so(file: Path) -> None:
    made = own(file.name)
    assert made["permissions"] == {}
    assert all("permissions" in job and "timeout-minutes" in job for job in made["jobs"].values())


@pytest.mark.parametrize("file", [pytest.param(file, id=file.name) for file in [*FILES, ROOT / "action.yml"]])
def test_every_action_of_others_is_pinned_by_hash_with_its_version_beside_it(file: Path) -> None:
    used = re.findall(r"^ *(?:- )?uses: (.+)$", file.read_text(encoding="utf-8"), re.MULTILINE)
    assert [use for use in used if not re.fullmatch(r"\./( #.*)?|[\w./-]+@[0-9a-f]{40} # v\d+\.\d+\.\d+", use)] == []


def test_an_action_has_the_same_pin_wherever_it_is_used() -> None:
    pins: dict[str, set[str]] = {}
    for file in [*FILES, ROOT / "action.yml"]:
        for name, pin in re.findall(r"uses: ([\w./-]+)@(.+)", file.read_text(encoding="utf-8")):
            pins.setdefault(name, set()).add(pin)
    assert {name: found for name, found in pins.items() if len(found) > 1} == {}


def test_only_the_publishing_job_of_a_release_can_prove_who_it_is() -> None:
    jobs = own("release.yml")["jobs"]
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "lock": {"contents": "read"},
        "build": {"contents": "read"},
        "try": {},
        "publish": {"id-token": "write", "attestations": "write"},
        "github": {"contents": "write"},
    }
    assert jobs["publish"]["environment"]["name"] == "pypi"
    assert [name for name, job in jobs.items() if "environment" in job] == ["publish"]


def test_only_the_publishing_job_of_the_site_writes_and_it_checks_nothing_out() -> None:
    jobs = own("pages.yml")["jobs"]
    assert {name: job["permissions"] for name, job in jobs.items()} == {
        "build": {"contents": "read"},
        "deploy": {"pages": "write", "id-token": "write"},
    }
    assert jobs["deploy"]["needs"] == "build"
    assert [step["uses"].partition("@")[0] for step in jobs["deploy"]["steps"]] == ["actions/deploy-pages"]


def test_a_release_publishes_what_was_built_once_and_tried_and_a_rehearsal_publishes_nothing() -> None:
    made = own("release.yml")
    jobs = made["jobs"]
    assert made[True] == {"push": {"tags": ["v*"]}, "workflow_dispatch": None}
    assert {name: job.get("needs") for name, job in jobs.items()} == {
        "lock": None,
        "build": "lock",
        "try": "build",
        "publish": "try",
        "github": "publish",
    }
    assert jobs["publish"]["if"] == "github.event_name == 'push'"
    builders = [
        name for name, job in jobs.items() if any("hatchling build" in step.get("run", "") for step in job["steps"])
    ]
    assert builders == ["build"]
    assert not any("checkout" in step.get("uses", "") for name in ("publish", "github") for step in jobs[name]["steps"])


@pytest.mark.full
def test_a_release_needs_locks_that_are_up_to_date_and_is_built_with_what_is_in_them(tmp_path: Path) -> None:
    jobs = own("release.yml")["jobs"]
    *_, compared = jobs["lock"]["steps"]
    assert compared["run"].splitlines()[-1] == "python scripts/lock.py --check"
    [built] = [step["run"] for step in jobs["build"]["steps"] if step.get("name") == "Build"]
    install, build = built.splitlines()
    assert install == "python -m pip install --require-hashes --only-binary :all: -r locks/base.lock"
    command = [sys.executable, *build.split()[1:], "--directory", str(tmp_path)]
    subprocess.run(command, cwd=ROOT, check=True, capture_output=True)
    assert sorted(file.suffix for file in tmp_path.iterdir()) == [".gz", ".whl"]


def test_the_update_bot_waits_with_new_releases_of_everything_that_is_pinned() -> None:
    updates = yaml.safe_load((ROOT / ".github" / "dependabot.yml").read_text(encoding="utf-8"))["updates"]
    assert {(each["package-ecosystem"], each["directory"]) for each in updates} == {
        ("github-actions", "/"),
        ("pip", "/"),
        ("npm", "/tests/npm"),
    }
    assert all(each["cooldown"]["default-days"] >= 7 for each in updates)
