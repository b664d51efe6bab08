"""A token for the push: a real git server behind TLS that asks for one, and a look at who else gets to see it."""

from __future__ import annotations

import base64
import os
import shutil
import ssl
import subprocess
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path

import pytest
import trustme
from tests.baselines.git_writer import SPEC, add

from rankgate.baselines.branch import branch_memory
from rankgate.baselines.clones import without_secrets
from rankgate.errors import RankgateError

TOKEN = "a-token-of-the-test"  # noqa: S105 -- of nobody
OTHER = "the-token-of-the-checkout"


def header(token: str) -> str:
    return "basic " + base64.b64encode(f"x-access-token:{token}".encode()).decode()


class GitServer(ThreadingHTTPServer):
    """What a forge is to git: `git http-backend`, writing allowed to one token only."""

    daemon_threads = True

    def __init__(self, root: Path, certificate: ssl.SSLContext) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.socket = certificate.wrap_socket(self.socket, server_side=True)
        self.root = root
        self.heard: list[list[str]] = []
        self.instead: str | None = None
        self.private = False

    @property
    def url(self) -> str:
        return f"https://127.0.0.1:{self.server_address[1]}"

    def handle_error(self, request: object, client_address: object) -> None:
        """A client that hangs up is no news."""


class _Handler(BaseHTTPRequestHandler):
    server: GitServer

    def do_GET(self) -> None:
        self._answer(b"")

    def do_POST(self) -> None:
        if self.headers.get("transfer-encoding") == "chunked":
            body = b""
            while size := int(self.rfile.readline(), 16):
                body += self.rfile.read(size)
                self.rfile.readline()
            self.rfile.readline()
        else:
            body = self.rfile.read(int(self.headers.get("content-length", 0)))
        self._answer(body)

    def _answer(self, body: bytes) -> None:
        said = self.headers.get_all("authorization") or []
        self.server.heard.append(said)
        if self.server.instead:
            self.send_response(301)
            self.send_header("Location", self.server.instead + self.path)
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        path, _, query = self.path.partition("?")
        if ("receive-pack" in self.path or self.server.private) and said != [header(TOKEN)]:
            self.send_response(403 if said else 401)
            self.send_header("WWW-Authenticate", 'Basic realm="git"')
            self.send_header("Content-Length", "0")
            self.end_headers()
            return
        environment = {
            "PATH": os.environ["PATH"],
            "GIT_PROJECT_ROOT": str(self.server.root),
            "GIT_HTTP_EXPORT_ALL": "1",
            "REQUEST_METHOD": self.command,
            "PATH_INFO": path,
            "QUERY_STRING": query,
            "REMOTE_USER": "ada",
            "CONTENT_TYPE": self.headers.get("content-type", ""),
            "CONTENT_LENGTH": str(len(body)),
            "HTTP_CONTENT_ENCODING": self.headers.get("content-encoding", ""),
            "GIT_PROTOCOL": self.headers.get("git-protocol", ""),
        }
        found = subprocess.run(["git", "http-backend"], input=body, env=environment, capture_output=True, check=True)
        head, _, content = found.stdout.partition(b"\r\n\r\n")
        lines = [line.split(": ", 1) for line in head.decode().split("\r\n")]
        self.send_response(next((int(value[:3]) for name, value in lines if name == "Status"), 200))
        for name, value in lines:
            if name != "Status":
                self.send_header(name, value)
        self.send_header("Content-Length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, format: str, *arguments: object) -> None:  # noqa: A002
        """Standard error is the tests'."""


def run_server(made: GitServer) -> threading.Thread:
    thread = threading.Thread(target=made.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    return thread


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> ssl.SSLContext:
    """One that git trusts in this test."""
    authority = trustme.CA()
    made = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    authority.issue_cert("127.0.0.1").configure_cert(made)
    authority.cert_pem.write_to_path(str(tmp_path / "authority.pem"))
    monkeypatch.setenv("GIT_SSL_CAINFO", str(tmp_path / "authority.pem"))
    return made


@pytest.fixture
def server(certificate: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[GitServer]:
    """A server with one empty repository, a clone of it as current directory, and a job around that."""
    quiet = {"GIT_CONFIG_GLOBAL": os.devnull, "GIT_CONFIG_NOSYSTEM": "1", "no_proxy": "127.0.0.1"}
    for name, value in quiet.items():
        monkeypatch.setenv(name, value)
    for name in ("GIT_ASKPASS", "SSH_ASKPASS"):
        monkeypatch.delenv(name, raising=False)
    subprocess.run(["git", "init", "--quiet", "--bare", str(tmp_path / "acme" / "rag.git")], check=True)
    subprocess.run(["git", "init", "--quiet", str(tmp_path / "clone")], check=True)
    monkeypatch.chdir(tmp_path / "clone")
    with GitServer(tmp_path, certificate) as made:
        thread = run_server(made)
        subprocess.run(["git", "remote", "add", "origin", f"{made.url}/acme/rag.git"], check=True)
        monkeypatch.setenv("GITHUB_SERVER_URL", made.url)
        yield made
        made.shutdown()
        thread.join()


@pytest.mark.full
@pytest.mark.parametrize(
    "job",
    [
        pytest.param({"RANKGATE_TOKEN": TOKEN}, id="ours, anywhere"),
        pytest.param({"GITHUB_TOKEN": TOKEN, "GITHUB_ACTIONS": "true"}, id="the job's"),
        pytest.param({"GH_TOKEN": TOKEN, "GITHUB_ACTIONS": "true"}, id="the job's by its other name"),
        pytest.param({"RANKGATE_TOKEN": TOKEN, "GITHUB_TOKEN": OTHER, "GITHUB_ACTIONS": "true"}, id="ours before it"),
    ],
)
def test_a_token_of_the_environment_is_sent_once_in_one_header(
    server: GitServer, job: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in job.items():
        monkeypatch.setenv(name, value)
    assert add("history", "a", 1)
    assert [record.branch for record in branch_memory(SPEC).read("history")] == ["a-1"]
    assert server.heard
    assert {tuple(said) for said in server.heard} == {(header(TOKEN),)}


def persist(server: GitServer, token: str) -> None:
    """As actions/checkout leaves its token in the clone."""
    value = f"AUTHORIZATION: {header(token)}"
    subprocess.run(["git", "config", f"http.{server.url}/.extraheader", value], check=True)


@pytest.mark.full
def test_what_actions_checkout_left_is_better_than_the_jobs_token(
    server: GitServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_TOKEN", OTHER)
    monkeypatch.setenv("GITHUB_ACTIONS", "true")
    persist(server, TOKEN)
    assert add("history", "a", 1)
    assert {tuple(said) for said in server.heard} == {(header(TOKEN),)}


@pytest.mark.full
def test_a_token_given_to_rankgate_takes_its_place(server: GitServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """Two such headers would be refused."""
    monkeypatch.setenv("RANKGATE_TOKEN", TOKEN)
    persist(server, OTHER)
    assert add("history", "a", 1)
    assert {tuple(said) for said in server.heard} == {(header(TOKEN),)}


@pytest.mark.full
def test_settings_that_a_caller_hands_over_stay(server: GitServer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RANKGATE_TOKEN", TOKEN)
    monkeypatch.setenv("GIT_CONFIG_COUNT", "1")
    monkeypatch.setenv("GIT_CONFIG_KEY_0", "user.name")
    monkeypatch.setenv("GIT_CONFIG_VALUE_0", "Ada")
    subprocess.run(["git", "config", "user.email", "ada@b.example"], check=True)
    assert add("history", "a", 1)
    shown = subprocess.run(
        ["git", f"--git-dir={server.root}/acme/rag.git", "log", "--format=%an", "rankgate-baselines"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert shown.stdout == "Ada\n"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        pytest.param("GITHUB_SERVER_URL", "https://github.com", id="another server"),
        pytest.param("GITHUB_SERVER_URL", "https://127.0.0.1", id="another port"),
        pytest.param("GITHUB_SERVER_URL", "http://127.0.0.1", id="not over TLS"),
        pytest.param("GITHUB_SERVER_URL", "", id="nothing"),
    ],
)
def test_nobody_but_github_gets_the_token(
    server: GitServer, name: str, value: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKGATE_TOKEN", TOKEN)
    monkeypatch.setenv(name, value)
    with pytest.raises(RankgateError):
        add("history", "a", 1)
    assert server.heard
    assert {tuple(said) for said in server.heard} == {()}


def test_a_redirection_takes_no_token_to_another_server(
    server: GitServer, certificate: ssl.SSLContext, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("RANKGATE_TOKEN", TOKEN)
    with GitServer(tmp_path, certificate) as stranger:
        thread = run_server(stranger)
        server.instead = stranger.url
        with pytest.raises(RankgateError, match="cannot be fetched from origin"):
            add("history", "a", 1)
        stranger.shutdown()
        thread.join()
    assert {tuple(said) for said in server.heard} == {(header(TOKEN),)}
    assert stranger.heard == []


@pytest.mark.parametrize("name", ["GITHUB_TOKEN", "GH_TOKEN"])
def test_outside_of_actions_githubs_token_is_not_taken(
    server: GitServer, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    """Whoever has it in the shell has credentials of git as well, and may mean those."""
    monkeypatch.setenv(name, TOKEN)
    with pytest.raises(RankgateError):
        add("history", "a", 1)
    assert {tuple(said) for said in server.heard} == {()}


@pytest.mark.parametrize("name", ["RANKGATE_TOKEN", "GITHUB_TOKEN", "GH_TOKEN"])
def test_no_token_of_the_environment_is_repeated(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, TOKEN)
    assert without_secrets(f"fatal: {TOKEN} is not accepted", {}) == "fatal: *** is not accepted"


@pytest.mark.parametrize("token", [None, OTHER], ids=["none", "one that may not write"])
@pytest.mark.parametrize("trace", [{}, {"GIT_TRACE": "1", "GIT_TRACE_CURL": "1", "GIT_TRACE_REDACT": "0"}])
def test_permission_denied(
    server: GitServer, token: str | None, trace: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """Nobody is asked, the error says what is missing, and no trace that a job has switched on gives the token away."""
    for name, value in trace.items():
        monkeypatch.setenv(name, value)
    if token:
        monkeypatch.setenv("RANKGATE_TOKEN", token)
    with pytest.raises(RankgateError) as caught:
        add("history", "a", 1)
    text = str(caught.value)
    assert text.startswith(f"{SPEC}: the push to origin was refused: ")
    assert text.endswith(
        "; in Actions the job needs `permissions: contents: write`, elsewhere RANKGATE_TOKEN or git's own credentials"
    )
    assert "\n" not in text
    assert OTHER not in text
    assert header(OTHER).split()[1] not in text
    assert branch_memory(SPEC).read("history") == []


@pytest.mark.full
@pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="needs /proc")
def test_the_token_stands_in_no_command_line(
    server: GitServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A git of the test's writes down the command lines of every process there is, as any user could, then is git."""
    (tmp_path / "bin").mkdir()
    script = f'#!/bin/sh\ncat /proc/[0-9]*/cmdline >> "{tmp_path}/seen" 2>/dev/null\nexec {shutil.which("git")} "$@"\n'
    (tmp_path / "bin" / "git").write_text(script)
    (tmp_path / "bin" / "git").chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("RANKGATE_TOKEN", TOKEN)
    assert add("history", "a", 1)
    seen = (tmp_path / "seen").read_bytes()
    assert b"\0push\0" in seen
    assert b"\0fetch\0" in seen
    assert TOKEN.encode() not in seen
    assert header(TOKEN).split()[1].encode() not in seen
    config = (Path(".git") / "config").read_text()
    assert "AUTHORIZATION" not in config
