"""What people install: the wheel, the source distribution, and what says of them what they are."""

import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
GITHUB = ROOT / ".github"
IN_A_CLONE = pytest.mark.skipif(not GITHUB.exists(), reason="a source distribution has no workflows")


def build(project: Path, target: str, into: Path) -> Path:
    words = ["build", "--target", target, "--directory", str(into)]
    subprocess.run([sys.executable, "-m", "hatchling", *words], cwd=project, check=True, capture_output=True)
    [built] = into.iterdir()
    return built


@pytest.mark.full
def test_the_source_distribution_builds_the_same_wheel_with_all_that_lies_in_src(tmp_path: Path) -> None:
    with tarfile.open(build(ROOT, "sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    [unpacked] = tmp_path.glob("rankgate-*")
    assert {"SECURITY.md", "action.yml", "locks", "tests"} <= {each.name for each in unpacked.iterdir()}
    wheels = build(ROOT, "wheel", tmp_path / "a"), build(unpacked, "wheel", tmp_path / "b")
    ours, theirs = ({name: each.read(name) for name in each.namelist()} for each in map(zipfile.ZipFile, wheels))
    assert ours == theirs
    sources = [each for each in (ROOT / "src" / "rankgate").rglob("*") if each.is_file() and each.suffix != ".pyc"]
    wanted = {each.relative_to(ROOT / "src").as_posix(): each.read_bytes() for each in sources}
    assert {name: data for name, data in ours.items() if ".dist-info/" not in name} == wanted
    assert any(name.endswith(".dist-info/licenses/LICENSE") for name in ours)


@IN_A_CLONE
@pytest.mark.parametrize(("workflow", "job"), [("ci", "run"), ("release", "try")])
def test_every_python_that_is_named_is_tested_and_tried_before_a_release(workflow: str, job: str) -> None:
    assert PROJECT["requires-python"] == f">={PYTHONS[0]}"
    made = yaml.safe_load((GITHUB / "workflows" / f"{workflow}.yml").read_text(encoding="utf-8"))
    assert made["jobs"][job]["strategy"]["matrix"]["python"] == PYTHONS


def test_the_marketplace_can_list_the_action() -> None:
    """A description is shorter than 125 characters, or GitHub refuses it."""
    action = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
    assert (action["name"], bool(action["author"]), len(action["description"]) < 125) == ("rankgate", True, True)
    assert action["branding"] == {"icon": "check-circle", "color": "green"}


@IN_A_CLONE
@pytest.mark.parametrize(
    ("form", "asked"),
    [("bug", {"version", "command"}), ("wrong-verdict", {"version", "reproduction"}), ("feature", set())],
)
def test_a_form_for_issues_asks_and_has_each_id_and_label_once(form: str, asked: set[str]) -> None:
    """GitHub refuses a form for these beyond its schema, which .ci/run checks."""
    made = yaml.safe_load((GITHUB / "ISSUE_TEMPLATE" / f"{form}.yml").read_text(encoding="utf-8"))["body"]
    fields = [each for each in made if each["type"] != "markdown"]
    for names in ([each["id"] for each in fields], [each["attributes"]["label"] for each in fields]):
        assert len(names) == len(set(names)) > 0
    assert asked <= {each["id"] for each in fields if each.get("validations") == {"required": True}}
