"""Installs this very checkout of the action in an environment of its own. Called by install_action.sh; not for people.

A hash-pinned action is its own version, with the dependencies of its locks, and a Python that its system manages stays
as it is. Of the settings of pip on the runner those count that say how packages are reached; hashes make them harmless.
Whatever could bring in other code does not count, nor does anything that lies in the checkout.
"""

import ast
import os
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import NoReturn

ACCESS = (
    *("index-url", "pypi-url", "extra-index-url", "no-index", "find-links", "trusted-host", "cert", "client-cert"),
    *("proxy", "timeout", "default-timeout", "retries"),
)
OURS = {
    "PIP_CONFIG_FILE": os.devnull,  # read already, for ACCESS
    "PIP_DISABLE_PIP_VERSION_CHECK": "1",
    "PIP_KEYRING_PROVIDER": "disabled",  # a program, looked for on the search path
    "PIP_NO_CACHE_DIR": "1",  # wheels in it have no hash of their own
    "PIP_NO_INPUT": "1",
}


def fail(reason: str) -> NoReturn:
    """End the step with the reason, as an error of the job."""
    print(f"::error title=rankgate::{reason}")
    sys.exit(2)


def outside(value: str, checkout: str) -> str:
    """What a value says apart from paths in the checkout; a list of paths keeps the others."""
    root = f"{os.path.realpath(checkout)}{os.sep}".casefold()  # as the file systems of macOS and Windows
    return os.pathsep.join(
        part
        for part in value.split(os.pathsep)
        if not (Path(part).is_absolute() and f"{os.path.realpath(part)}{os.sep}".casefold().startswith(root))
    )


def harmless(variables: Mapping[str, str], checkout: str) -> dict[str, str]:
    """The environment without what Python and pip obey, and without anything that leads into the checkout."""
    kept = {name: outside(value, checkout) for name, value in variables.items()}
    return {
        name: value
        for name, value in kept.items()
        if (value or not variables[name]) and not name.upper().startswith(("PYTHON", "PIP_"))
    }


def access(python: str, variables: Mapping[str, str], checkout: str) -> dict[str, str]:
    """How pip reaches packages on this runner: of its configuration, and over that of its variables.

    Raises:
        subprocess.CalledProcessError: pip cannot read its configuration.
    """
    around = harmless(variables, checkout)
    if (file := variables.get("PIP_CONFIG_FILE")) and Path(file).is_absolute() and outside(file, checkout):
        around["PIP_CONFIG_FILE"] = file
    listed = subprocess.run(
        [python, "-I", "-m", "pip", "config", "list"], env=around, stdout=subprocess.PIPE, text=True, check=True
    ).stdout
    found: dict[str, str] = {}
    for section in ("global.", "install."):
        for line in listed.splitlines():
            key, _, value = line.removeprefix(section).partition("=")
            if line.startswith(section):
                found[key] = ast.literal_eval(value)
    found |= {name[4:].lower().replace("_", "-"): value for name, value in variables.items() if name.startswith("PIP_")}
    kept = {key: outside(value, checkout) for key, value in found.items() if key in ACCESS}
    return {f"PIP_{key.upper().replace('-', '_')}": value for key, value in kept.items() if value}


def make(environment: Path, variables: Mapping[str, str], checkout: str) -> None:
    """Make an environment of pip alone, or end the step with what is missing."""
    shutil.rmtree(environment, ignore_errors=True)
    made = subprocess.run(
        [sys.executable, "-I", "-S", "-m", "venv", environment],
        env=harmless(variables, checkout),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )
    if made.returncode:
        print(made.stdout, file=sys.stderr)
        fail(f"{sys.executable} cannot make a virtual environment; on Debian: apt-get install python3-venv")


def install(environment: Path, action: Path, extras: list[str], variables: Mapping[str, str], checkout: str) -> None:
    """Install what is locked into the environment, then the action itself, or end the step with what is missing."""
    python = python_of(environment)
    pip = [python, "-I", "-m", "pip", "install", "--quiet", "--no-compile"]  # a quarter of it is ever imported
    locks = [word for part in ("base", *extras) for word in ("-r", f"{action}/locks/{part}.lock")]
    # A source distribution would be built with whatever its own requirements are today.
    locked = [*pip, "--require-hashes", "--only-binary", ":all:", *locks]
    itself = [*pip, "--no-index", "--no-deps", "--no-build-isolation", str(action)]
    try:
        settings = {**harmless(variables, checkout), **access(python, variables, checkout), **OURS}
        for command in (locked, itself):
            subprocess.run(command, env=settings, check=True)
    except subprocess.CalledProcessError:
        fail("rankgate could not be installed; pip says why above")


def python_of(environment: Path) -> str:
    """The environment's Python; Windows keeps it elsewhere."""
    windows = environment / "Scripts" / "python.exe"
    return str(windows if windows.exists() else environment / "bin" / "python")


def main(variables: Mapping[str, str]) -> None:
    """Install what is not there yet, and name its Python to the next steps; a job's second gate finds the first's."""
    action = Path(variables["GITHUB_ACTION_PATH"])
    known = {file.stem for file in action.glob("locks/*.lock")} - {"base"}
    extras = sorted(set(variables.get("RANKGATE_EXTRAS", "").replace(",", " ").split()))
    if unknown := [each for each in extras if each not in known]:
        fail(f"extras: {unknown[0]!r} is none of {', '.join(sorted(known))}")
    environment = Path(variables["RUNNER_TEMP"], "rankgate", "-".join(["venv", *extras]))
    finished = environment / "installed"
    if not finished.is_file() or finished.read_text(encoding="utf-8") != str(action):
        make(environment, variables, variables["GITHUB_WORKSPACE"])
        install(environment, action, extras, variables, variables["GITHUB_WORKSPACE"])
        finished.write_text(str(action), encoding="utf-8")
    with Path(variables["GITHUB_OUTPUT"]).open("a", encoding="utf-8") as output:
        output.write(f"python={python_of(environment)}\n")


if __name__ == "__main__":
    main(os.environ)
