"""The stateful GitHub emulator as a process of its own, on loopback, with tokens as GitHub hands them out."""

from __future__ import annotations

import json
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jwt
import requests
from cryptography.hazmat.primitives import serialization
from cryptography.hazmat.primitives.asymmetric import rsa

PRELOADED = Path(__file__).parent / "preload" / "loopback.cjs"
ORGANIZATION = "acme"
USERS = {"admin": "tok_admin", "alice": "tok_alice", "mallory": "tok_mallory"}
TO_START = 300.0  # seconds; it takes half of one, on a busy machine more

# What the workflows of rankgate ask for at most. A job's own token is one of the App github-actions.
PERMISSIONS = {
    "actions": "read",
    "checks": "write",
    "contents": "read",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
    "statuses": "write",
}


@dataclass(frozen=True)
class App:
    """A GitHub App that is installed for the whole organization."""

    id: int
    slug: str
    installation: int


ACTIONS = App(15368, "github-actions", 100)
TEAM = App(20000, "acme-gate", 200)  # the App of a team's own, to whose checks a ruleset can be pinned


@dataclass(frozen=True)
class Server:
    """A running emulator."""

    url: str
    key: str  # PEM; the private key of both Apps
    log: Path  # what it wrote, for the report of a failed test
    issued: dict[str, str] = field(default_factory=lambda: {token: login for login, token in USERS.items()})
    """Every token that is right, and whose it is: a user's login or an App's slug."""
    check_apps: dict[int, str] = field(default_factory=dict)
    """The slug of the App that made a check run; the emulator does not remember it."""

    def token(self, app: App, permissions: Mapping[str, str]) -> str:
        """An installation token of the App with these permissions, which is what a job's GITHUB_TOKEN is."""
        now = int(time.time())
        claims = {"iat": now - 60, "exp": now + 300, "iss": str(app.id)}
        answer = requests.post(
            f"{self.url}/app/installations/{app.installation}/access_tokens",
            headers={"Authorization": f"Bearer {jwt.encode(claims, self.key, 'RS256')}"},
            json={"permissions": dict(permissions)},
            timeout=300,
        )
        answer.raise_for_status()
        token = str(answer.json()["token"])
        self.issued[token] = app.slug
        return token


def new_key() -> str:
    """A private key that lives as long as the emulator."""
    key = rsa.generate_private_key(public_exponent=65537, key_size=2048)
    return key.private_bytes(
        serialization.Encoding.PEM, serialization.PrivateFormat.PKCS8, serialization.NoEncryption()
    ).decode()


def seed(key: str) -> dict[str, Any]:
    """The accounts that are there at the start: alice owns the organization, mallory is a stranger to it."""
    return {
        "tokens": {token: {"login": login, "scopes": ["repo", "user"]} for login, token in USERS.items()},
        "github": {
            "users": [{"login": "alice", "name": "Alice"}, {"login": "mallory", "name": "Mallory"}],
            "orgs": [{"login": ORGANIZATION, "name": "Acme", "members": [{"login": "alice", "role": "admin"}]}],
            "apps": [
                {
                    "app_id": app.id,
                    "slug": app.slug,
                    "name": app.slug,
                    "permissions": PERMISSIONS,
                    "events": ["pull_request"],
                    "installations": [
                        {
                            "installation_id": app.installation,
                            "account": ORGANIZATION,
                            "repository_selection": "all",
                        }
                    ],
                    "private_key": key,
                }
                for app in (ACTIONS, TEAM)
            ],
        },
    }


def free_port() -> int:
    """A port of loopback that nothing listened on a moment ago."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def is_ready(url: str) -> bool:
    """Whether it answers."""
    try:
        return requests.get(f"{url}/zen", timeout=300).ok
    except requests.ConnectionError:
        return False


@contextmanager
def running(node_modules: Path, directory: Path) -> Iterator[Server]:
    """An emulator that ends with the block; its seed and its log are in the directory."""
    key = new_key()
    (directory / "seed.yaml").write_text(json.dumps(seed(key)), encoding="utf-8")  # JSON is YAML, too
    log = directory / "emulator.log"
    for _ in range(3):  # somebody else may be faster at taking the port
        url = f"http://127.0.0.1:{free_port()}"
        process = start(node_modules, url, directory, log)
        try:
            if becomes_ready(url, process):
                yield Server(url, key, log)
                return
        finally:
            end(process)
    raise RuntimeError("the emulator did not start:\n" + log.read_text(encoding="utf-8"))


def start(node_modules: Path, url: str, directory: Path, log: Path) -> subprocess.Popen[bytes]:
    """The emulator's process, which is not ready yet."""
    node = shutil.which("node")
    assert node is not None
    program: list[str | Path] = [node, "-r", PRELOADED, node_modules / "emulate" / "dist" / "index.js", "start"]
    options = ["--service", "github", "--port", url.rpartition(":")[2], "--base-url", url, "--seed", "seed.yaml"]
    with log.open("ab") as written:
        return subprocess.Popen([*program, *options], cwd=directory, stdout=written, stderr=written)


def becomes_ready(url: str, process: subprocess.Popen[bytes]) -> bool:
    """Whether it answers before it ends and before time is up."""
    deadline = time.monotonic() + TO_START
    while process.poll() is None and time.monotonic() < deadline:
        if is_ready(url):
            return True
        time.sleep(0.02)
    return False


def end(process: subprocess.Popen[bytes]) -> None:
    """Ask it to end, and end it if it does not."""
    process.terminate()
    try:
        process.wait(timeout=5)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait(timeout=5)
