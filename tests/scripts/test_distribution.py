"""What people install: the wheel, the source distribution, the image, and what says of them what they are."""

import os
import re
import shlex
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest
import yaml

from rankgate import __version__

ROOT = Path(__file__).parents[2]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
PYTHONS = [each.rpartition(" ")[2] for each in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", each)]
GITHUB = ROOT / ".github"
IN_A_CLONE = pytest.mark.skipif(not GITHUB.exists(), reason="a source distribution has no workflows")
# The Dockerfile's lines, each by its first word, and the paths that it copies into the first image.
LINES = re.sub(r"\\\n\s*", " ", re.sub(r"(?m)^#.*\n", "", (ROOT / "Dockerfile").read_text(encoding="utf-8")))
INSTRUCTIONS = [(word, rest) for word, _, rest in (line.partition(" ") for line in LINES.splitlines()) if word]
COPIED = [path for word, rest in INSTRUCTIONS if word == "COPY" and "--from" not in rest for path in rest.split()[:-1]]


def build(project: Path, target: str, into: Path) -> Path:
    words = ["build", "--target", target, "--directory", str(into)]
    subprocess.run([sys.executable, "-m", "hatchling", *words], cwd=project, check=True, capture_output=True)
    [built] = into.iterdir()
    return built


def test_the_source_distribution_builds_the_same_wheel_with_all_that_lies_in_src(tmp_path: Path) -> None:
    with tarfile.open(build(ROOT, "sdist", tmp_path / "sdist")) as archive:
        archive.extractall(tmp_path, filter="data")
    [unpacked] = tmp_path.glob("rankgate-*")
    assert {"SECURITY.md", "CITATION.cff", "Dockerfile", ".dockerignore", "action.yml", "locks", "tests"} <= {
        each.name for each in unpacked.iterdir()
    }
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


def test_citation_and_marketplace_say_what_is_released() -> None:
    """A description is shorter than 125 characters, or GitHub refuses to list the action."""
    cited, action = (
        yaml.safe_load((ROOT / name).read_text(encoding="utf-8")) for name in ("CITATION.cff", "action.yml")
    )
    assert (cited["title"], cited["version"], cited["license"]) == ("rankgate", __version__, PROJECT["license"])
    assert {cited["url"], cited["repository-code"]} <= set(PROJECT["urls"].values())
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


def test_the_image_stands_on_a_digest_has_a_user_and_is_built_of_files_that_are_sent() -> None:
    base, again = (rest.removesuffix(" AS build") for word, rest in INSTRUCTIONS if word == "FROM")
    found = re.fullmatch(r"python:(3\.\d+)\.\d+-slim-\w+@sha256:[0-9a-f]{64}", base)
    assert (base == again, found and found[1] in PYTHONS) == (True, True)
    # A number, which Kubernetes can tell from root.
    assert INSTRUCTIONS[-3:] == [("USER", "1000:1000"), ("WORKDIR", "/repo"), ("ENTRYPOINT", '["rankgate"]')]
    sent = re.findall(r"^!(.*)$", (ROOT / ".dockerignore").read_text(encoding="utf-8"), re.MULTILINE)
    assert (sorted(sent), [path for path in COPIED if not (ROOT / path).exists()]) == (sorted(COPIED), [])


@pytest.mark.full
def test_the_lines_of_the_dockerfile_install_rankgate_from_the_locks_and_no_build_tools(tmp_path: Path) -> None:
    """In other folders, and not in a container: without Debian's packages and without the user."""
    build_line, system_line = [rest for word, rest in INSTRUCTIONS if word == "RUN"]
    for name in COPIED:
        (shutil.copytree if (ROOT / name).is_dir() else shutil.copy)(ROOT / name, tmp_path / name)
    subprocess.run([sys.executable, "-m", "venv", str(tmp_path / "base")], check=True)
    path = os.pathsep.join((f"{tmp_path}/base/bin", f"{tmp_path}/rankgate/bin", os.environ["PATH"]))
    # Git takes every repository for another user's, as it does with one that is mounted.
    variables = {**os.environ, "PATH": path, "GIT_TEST_ASSUME_DIFFERENT_OWNER": "1", "GIT_CONFIG_GLOBAL": os.devnull}
    variables["GIT_CONFIG_SYSTEM"] = str(tmp_path / "gitconfig")

    def run(*words: str, folder: str = "repo") -> tuple[int, str]:
        done = subprocess.run(words, cwd=tmp_path / folder, env=variables, capture_output=True, text=True, check=False)
        return done.returncode, done.stdout + done.stderr

    line = build_line.replace("/wheels", f"{tmp_path}/wheels").replace("/opt/rankgate", f"{tmp_path}/rankgate")
    code, said = run("sh", "-c", line, folder=".")
    assert code == 0, said
    packages = {each.name.partition("-")[0] for each in (tmp_path / "rankgate").rglob("*.dist-info")}
    assert {"rankgate", "s3fs", "vl_convert_python", "duckdb"} <= packages
    assert not packages & {"hatchling", "pip", "setuptools", "uv"}

    assert run("rankgate", "demo", "repo", folder=".")[0] == 0
    check = ("rankgate", "check", "--base", "HEAD", "--run", "runs/harmless.jsonl")
    subprocess.run(["git", "init", "-q"], cwd=tmp_path / "repo", check=True)
    code, said = run(*check)
    assert (code, "git does not trust this directory" in said) == (2, True)
    [told] = [each.strip() for each in system_line.split("&&") if "git config" in each]
    assert run(*shlex.split(told))[0] == 0
    assert run("git", "add", ".", ":!*.verdicts.jsonl")[0] == 0
    assert run("git", "-c", "user.name=a", "-c", "user.email=a@b.c", "commit", "-qm", "a")[0] == 0
    assert run(*check)[0] == 0
