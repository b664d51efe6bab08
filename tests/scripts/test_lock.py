"""scripts/lock.py on an index of this machine, and the locks that are committed."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tomllib
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml
from packaging.requirements import Requirement
from packaging.utils import canonicalize_name
from tests.scripts.packages import Index, sdist, wheel

ROOT = Path(__file__).parents[2]
LOCKS = {file.stem: file.read_text(encoding="utf-8") for file in sorted((ROOT / "locks").iterdir())}
PYPROJECT = """\
[build-system]
requires = ["rgt-builder>=1"]

[project]
name = "tiny"
version = "1"
requires-python = ">=3.11"
dependencies = ["rgt-core>=1"]

[project.optional-dependencies]
cloud = ["rgt-cloud>=1"]
parquet = ["rgt-parquet>=1"]
"""
CLOUD_REQUIRES = ["rgt-core>=1", "rgt-windows>=1; python_version < '3.12'"]


class Repository:
    """A project with the script, and its index."""

    def __init__(self, directory: Path) -> None:
        self.directory = directory
        self.index = Index(directory / "simple")
        self.pyproject = directory / "pyproject.toml"
        self.pyproject.write_text(PYPROJECT, encoding="utf-8")
        (directory / "scripts").mkdir()
        shutil.copy(ROOT / "scripts" / "lock.py", directory / "scripts")
        for name in ("rgt_builder", "rgt_parquet", "rgt_windows"):
            self.put(wheel(name))
        self.put(wheel("rgt_core", requires=["rgt-windows>=1; sys_platform == 'win32'"]))
        self.put(wheel("rgt_cloud", requires=CLOUD_REQUIRES))

    def put(self, file: tuple[str, bytes], *, yanked: bool = False) -> str:
        """List a file under the project's normal name."""
        return self.index.put(file, yanked=yanked)

    def lock(self, *words: str) -> subprocess.CompletedProcess[str]:
        """Run the script."""
        variables = {**os.environ, "UV_DEFAULT_INDEX": self.index.url, "UV_NO_CACHE": "1"}
        command = [sys.executable, str(self.directory / "scripts" / "lock.py"), *words]
        return subprocess.run(command, env=variables, capture_output=True, text=True, check=False)

    def locked(self) -> dict[str, str]:
        """What is written, by part."""
        return {file.stem: file.read_text(encoding="utf-8") for file in (self.directory / "locks").iterdir()}


@pytest.fixture
def repository(tmp_path: Path) -> Repository:
    return Repository(tmp_path)


@pytest.fixture(scope="module")
def locked_once(tmp_path_factory: pytest.TempPathFactory) -> Repository:
    made = Repository(tmp_path_factory.mktemp("locked"))
    assert made.lock().returncode == 0
    assert made.lock("--check").returncode == 0
    return made


@pytest.fixture
def written(locked_once: Repository, repository: Repository) -> Repository:
    """Its locks are there and up to date."""
    shutil.copytree(locked_once.directory / "locks", repository.directory / "locks")
    return repository


def pins(lock: str) -> dict[str, str]:
    """Version and marker of each name."""
    return dict(re.findall(r"^([\w.-]+)==(\S+(?: ; [^\\\n]+)?) \\$", lock, re.MULTILINE))


@pytest.mark.full
def test_every_part_has_its_packages_once_with_markers_for_systems_and_pythons(written: Repository) -> None:
    marker = "1.0 ; python_full_version < '3.12' or sys_platform == 'win32'"
    assert {part: pins(lock) for part, lock in written.locked().items()} == {
        "base": {"rgt-builder": "1.0", "rgt-core": "1.0", "rgt-windows": marker},
        "cloud": {"rgt-cloud": "1.0"},
        "parquet": {"rgt-parquet": "1.0"},
    }


@pytest.mark.full
def test_a_lock_has_the_hash_of_every_file_and_no_address(repository: Repository) -> None:
    tags = ["cp311-cp311-macosx_11_0_arm64", "cp314-cp314-win_amd64", "cp312-cp312-manylinux_2_17_x86_64"]
    hashes = [repository.put(wheel("rgt_parquet", tag=tag)) for tag in tags]
    hashes += [repository.put(wheel("rgt_parquet")), repository.put(sdist("rgt_parquet", files={"setup.py": ""}))]
    assert repository.lock().returncode == 0
    text = repository.locked()["parquet"]
    assert sorted(re.findall(r"--hash=(\S+)", text)) == sorted(hashes)
    assert "//" not in text


def adds_a_dependency(repository: Repository) -> None:
    repository.put(wheel("rgt_more"))
    repository.pyproject.write_text(PYPROJECT.replace('["rgt-core>=1"]\n\n', '["rgt-core", "rgt-more"]\n\n'), "utf-8")


def adds_to_an_extra(repository: Repository) -> None:
    repository.put(wheel("rgt_more"))
    repository.pyproject.write_text(PYPROJECT.replace('"rgt-parquet>=1"', '"rgt-parquet>=1", "rgt-more"'), "utf-8")


def raises_a_lower_bound(repository: Repository) -> None:
    repository.put(wheel("rgt_builder", "2.0"))
    repository.pyproject.write_text(PYPROJECT.replace("rgt-builder>=1", "rgt-builder>=2"), "utf-8")


def has_another_file(repository: Repository) -> None:
    repository.put(wheel("rgt_cloud", tag="cp311-cp311-win_arm64", requires=CLOUD_REQUIRES))


def has_other_bytes(repository: Repository) -> None:
    repository.put(wheel("rgt_parquet", files={"more.py": ""}))


def has_withdrawn_it(repository: Repository) -> None:
    repository.put(wheel("rgt_parquet"), yanked=True)
    repository.put(wheel("rgt_parquet", "1.1"))


def was_edited(repository: Repository) -> None:
    lock = repository.directory / "locks" / "cloud.lock"
    lock.write_text(lock.read_text("utf-8").replace("sha256:", "sha256:0"), "utf-8")


def was_deleted(repository: Repository) -> None:
    (repository.directory / "locks" / "cloud.lock").unlink()


def has_a_part_too_many(repository: Repository) -> None:
    (repository.directory / "locks" / "old.lock").write_text("", "utf-8")


# Each part of a row is out of date for one reason.
OUT_OF_DATE: dict[str, dict[str, Callable[[Repository], None]]] = {
    "the project needs more, a lock is gone, another is of no extra": {
        "base": adds_a_dependency,
        "cloud": was_deleted,
        "old": has_a_part_too_many,
    },
    "an extra needs more, somebody edited a hash": {"cloud": was_edited, "parquet": adds_to_an_extra},
    "the build back end has to be newer, the index has another file or other bytes": {
        "base": raises_a_lower_bound,
        "cloud": has_another_file,
        "parquet": has_other_bytes,
    },
    "a pinned version was withdrawn": {"parquet": has_withdrawn_it},
}


@pytest.mark.parametrize("changes", OUT_OF_DATE.values(), ids=OUT_OF_DATE)
@pytest.mark.full
def test_what_is_out_of_date_is_named_and_written_again(
    written: Repository, changes: dict[str, Callable[[Repository], None]]
) -> None:
    for change in changes.values():
        change(written)
    before = written.locked()
    checked = written.lock("--check")
    assert (checked.returncode, checked.stdout, written.locked()) == (2, "", before)
    assert checked.stderr == "".join(
        f"locks/{part}.lock is out of date; run scripts/lock.py and commit what it writes\n" for part in changes
    )
    again = written.lock()
    assert (again.returncode, again.stdout) == (0, "".join(f"locks/{part}.lock\n" for part in changes))
    assert written.lock("--check").returncode == 0


@pytest.mark.full
def test_a_newer_version_alone_does_not_make_a_lock_out_of_date(written: Repository) -> None:
    written.put(wheel("rgt_parquet", "2.0"))
    assert written.lock("--check").returncode == 0
    assert written.lock().stdout == ""
    shutil.rmtree(written.directory / "locks")
    assert written.lock().returncode == 0
    assert pins(written.locked()["parquet"]) == {"rgt-parquet": "2.0"}


@pytest.mark.parametrize(
    ("requirement", "reason"),
    [
        pytest.param("rgt-absent", "rgt-absent was not found", id="what no index has"),
        pytest.param("rgt-source", "rgt-source", id="what would have to be built to be read"),
        pytest.param(
            "rgt-core @ {url}/rgt-core/rgt_core-1.0-py3-none-any.whl", "an address cannot be", id="an address"
        ),
    ],
)
@pytest.mark.parametrize("words", [(), ("--check",)], ids=["write", "check"])
@pytest.mark.full
def test_what_cannot_be_locked_is_refused_and_nothing_is_written(
    written: Repository, requirement: str, reason: str, words: tuple[str, ...]
) -> None:
    setup = f"open({str(written.directory / 'built')!r}, 'w')\n"
    written.put(sdist("rgt_source", files={"setup.py": setup}))
    needed = requirement.format(url=written.index.url)
    written.pyproject.write_text(PYPROJECT.replace('"rgt-parquet>=1"', f'"{needed}"'), "utf-8")
    before = written.locked()
    done = written.lock(*words)
    assert (done.returncode, done.stdout, written.locked()) == (2, "", before)
    assert reason in done.stderr
    assert not (written.directory / "built").exists()


PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
EXTRAS = PROJECT["project"]["optional-dependencies"]
NEEDED = {
    "base": [*PROJECT["project"]["dependencies"], *PROJECT["build-system"]["requires"]],
    **{part: EXTRAS[part] for part in LOCKS if part != "base"},
}


@pytest.mark.parametrize("part", LOCKS)
def test_the_committed_lock_pins_what_the_project_asks_for(part: str) -> None:
    """Without a network; the release compares it with the index, too."""
    there = pins("".join(LOCKS.values()))
    for requirement in map(Requirement, NEEDED[part]):
        version = there[canonicalize_name(requirement.name)]
        assert requirement.specifier.contains(version), f"{requirement}: locks/ has {version}; run scripts/lock.py"


@pytest.mark.parametrize("part", LOCKS)
def test_a_committed_lock_is_names_versions_and_hashes(part: str) -> None:
    head, *lines = LOCKS[part].splitlines()
    assert head.startswith("# Written by scripts/lock.py")
    line = r"[a-z0-9-]+==[\w.]+( ; [\w. <>='()]+)? \\|    --hash=sha256:[0-9a-f]{64}( \\)?"
    assert [each for each in lines if not re.fullmatch(line, each)] == []


def test_the_action_offers_the_extras_that_are_locked() -> None:
    offered = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))["inputs"]["extras"]["description"]
    assert sorted(re.findall(r"`(\w+)`", offered)) == sorted(LOCKS.keys() - {"base"})
