"""GitHub on loopback: one repository with its forks, stateful, behind GitHub's own description of its API.

Comments, check runs, labels and their events, pull requests, refs, workflow runs and artifacts are values that a test
sets and reads here; whoever is tested talks HTTP. A request that GitHub would refuse fails the test.
"""

from __future__ import annotations

import hashlib
import itertools
import json
import re
import subprocess
import time
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, NamedTuple, get_args
from urllib.parse import parse_qsl, unquote, urlencode, urlsplit

from tests.forges.description import Description
from tests.forges.faults import Answer, Exchange, FaultyServer, answer_of, refusal
from tests.forges.loopback_server import Handler, LoopbackServer, serving

CHECK = "rankgate/verdict"
GREEN = ("success", "neutral", "skipped")  # what a required check takes for success
Rule = Literal["newest", "all"]
RULES: tuple[Rule, ...] = get_args(Rule)
TEAM = "acme-gate"  # the App of a team's own, to whose checks a ruleset can be pinned
NUMBERS = itertools.count(1)
# What the workflows of rankgate ask for at most. A job's own token is one of the App github-actions.
PERMISSIONS = {
    "actions": "read",
    "checks": "write",
    "contents": "read",
    "issues": "write",
    "metadata": "read",
    "pull_requests": "write",
}
NOT_FOUND = refusal(404, "Not Found")
FORBIDDEN = refusal(403, "Resource not accessible by integration")


@dataclass(frozen=True)
class PullRequest:
    """A pull request as it was when asked for."""

    number: int
    head_sha: str
    base_sha: str
    head_repository: int  # its id: that of the fork, where it comes from one
    base_ref: str = "main"


@dataclass(frozen=True)
class Comment:
    """One comment of a pull request."""

    id: int
    login: str
    body: str
    created_at: str
    updated_at: str


@dataclass(frozen=True)
class Account:
    """Whose a token is: a person, who may do everything here, or an App with its permissions."""

    login: str
    permissions: Mapping[str, str] | None = None

    def may(self, *names: str) -> bool:
        """Whether one of these may be written."""
        return self.permissions is None or any(self.permissions.get(name) == "write" for name in names)

    @property
    def user(self) -> dict[str, str]:
        """As GitHub shows an author."""
        return {"login": self.login, "type": "Bot" if self.login.endswith("[bot]") else "User"}


class Request(NamedTuple):
    """What a route answers: the numbers and names of the path, the query, the body, and who asks."""

    names: tuple[str, ...]
    query: Mapping[str, str]
    body: Mapping[str, Any]
    account: Account


class GitHub(FaultyServer):
    """One repository of the organization acme, owned by alice, and what can be done with it. mallory is a stranger."""

    def __init__(self, description: Description) -> None:
        super().__init__()
        self.name = f"rag-{next(NUMBERS)}"
        self.repository = f"acme/{self.name}"
        self.fork = f"mallory/{self.name}"
        self.ids = {self.repository: 1_000, self.fork: 2_000}
        self.refs: dict[tuple[str, str], str] = {}
        self.files: dict[tuple[str, str], set[str]] = defaultdict(set)
        self.permissions = {"alice": "admin"}  # of people, as `write`; who is in none is no collaborator
        self.timelines: dict[int, Any] = {}
        self.runs: list[dict[str, Any]] = []
        self.unlisted_runs: list[dict[str, Any]] = []  # which are there, but in no list yet
        self.artifacts: dict[int, list[dict[str, Any]]] = defaultdict(list)
        self._accounts = {"tok_alice": Account("alice"), "tok_mallory": Account("mallory")}
        self._pulls: dict[int, dict[str, Any]] = {}
        self._labels: dict[int, list[str]] = defaultdict(list)
        self._comments: dict[int, dict[str, Any]] = {}
        self._checks: dict[int, dict[str, Any]] = {}
        self._required: dict[str, str] = {}
        self._stored: dict[str, Answer] = {}
        self._played: dict[tuple[str, str], Answer] = {}
        self._violations: list[str] = []
        self._numbers = itertools.count(1)
        self._description = description
        self._server = LoopbackServer(self._answer)
        self._store = LoopbackServer(self._file)
        self.fetched: list[tuple[str, frozenset[str]]] = []  # from the store: paths, and the names of headers
        self.token = self.token_with(PERMISSIONS)
        self.push("main", "README.md")

    @property
    def url(self) -> str:
        """The API's address, without a slash at the end."""
        return self._server.url

    @property
    def id(self) -> int:
        """The repository's."""
        return self.ids[self.repository]

    @contextmanager
    def running(self) -> Iterator[GitHub]:
        """At work until the block ends; what GitHub would have refused by then, and nobody took, is an error."""
        with serving(self._server), serving(self._store):
            yield self
        assert not self._violations, "\n".join(self._violations)

    def take_violations(self) -> list[str]:
        """What GitHub would have refused so far. A test that means to ask for that takes it."""
        with self._lock:
            taken, self._violations = self._violations, []
        return taken

    def token_with(self, permissions: Mapping[str, str], app: str = "github-actions") -> str:
        """A token of an App with these permissions alone, as {"contents": "read"}."""
        token = f"ghs_{next(self._numbers):036d}"
        self._accounts[token] = Account(f"{app}[bot]", dict(permissions))
        return token

    def app_token(self) -> str:
        """The token of the team's own App, whose login is acme-gate[bot]."""
        return self.token_with(PERMISSIONS, TEAM)

    def user_token(self, login: str) -> str:
        """The token of alice or mallory."""
        return f"tok_{login}"

    def play(self, method: str, path: str, status: int = 200, *, json: object = None) -> None:
        """Another answer than that of the state, every time: a path below /repos/OWNER/NAME, whatever the query is."""
        self._played[method, path] = answer_of(status, json_body=json)

    def do(self, method: str, path: str, body: Any = None, *, by: str = "alice") -> Any:
        """What a person, or whoever has a token, does without HTTP: the decoded answer, which has to be no refusal."""
        answer = self.ask(method, path, body, by=by)
        assert answer.status < 400, f"{method} {path}: {answer.status} {answer.body.decode()}"
        return json.loads(answer.body) if answer.body else None

    def ask(self, method: str, path: str, body: Any = None, *, by: str = "alice") -> Answer:
        """The same, whatever comes of it."""
        account = self._accounts.get(by) or Account(by)
        parts = urlsplit(path)
        return self._routed(method, parts.path, dict(parse_qsl(parts.query)), body or {}, account)

    # Refs and pull requests

    def head_of(self, branch: str) -> str:
        """The sha of a branch's newest commit."""
        return self.refs[self.repository, branch]

    def branch(self, name: str, *, of: str = "main", sha: str | None = None) -> str:
        """A new branch at the head of another one, or at a commit; returns its sha."""
        self.refs[self.repository, name] = sha or self.head_of(of)
        self.files[self.repository, name] = {*self.files[self.repository, of]}
        return self.head_of(name)

    def push(self, branch: str, path: str = "notes.txt", text: str = "", *, to: str | None = None) -> str:
        """One commit on top of a branch, which writes one file; pull requests from it move on. Returns its sha."""
        place = (to or self.repository, branch)
        facts = f"{self.name} {place} {path} {text} {next(self._numbers)}"
        self.refs[place] = hashlib.sha1(facts.encode(), usedforsecurity=False).hexdigest()
        self.files[place].add(path)
        return self.refs[place]

    def push_clone(self, clone: Path, revision: str = "HEAD", *, branch: str = "main") -> str:
        """What `git push --force` does: the head of a local repository, with the same sha, and its files."""
        git = ["git", "-C", str(clone)]
        sha = subprocess.run([*git, "rev-parse", revision], check=True, capture_output=True, text=True).stdout.strip()
        listed = [*git, "ls-tree", "-r", "-z", "--name-only", revision]
        names = subprocess.run(listed, check=True, capture_output=True, text=True).stdout
        self.refs[self.repository, branch] = sha
        self.files[self.repository, branch] = {*names.split("\0")} - {""}
        return sha

    def open_pull(self, head: str, *, base: str = "main", by: str = "alice") -> PullRequest:
        """A pull request from a branch that is there, of this repository or as "mallory:branch" of a fork."""
        owner, _, branch = head.rpartition(":")
        number = next(self._numbers)
        place = (self.fork if owner else self.repository, branch)
        self._pulls[number] = {"from": place, "base": base, "by": by, "state": "open", "sha": self.refs[place]}
        return self.pull(number)

    def new_pull(self, head: str = "change") -> PullRequest:
        """A branch with one commit of its own, and a pull request from it."""
        self.branch(head)
        self.push(head, f"{head}.txt", "a change")
        return self.open_pull(head)

    def fork_pull(self, head: str = "change") -> PullRequest:
        """A pull request of mallory from a fork."""
        self.push(head, "fork.txt", "from a fork", to=self.fork)
        return self.open_pull(f"mallory:{head}", by="mallory")

    def push_fork(self, head: str = "change") -> str:
        """Another commit on the fork's branch; its pull request moves on. Returns its sha."""
        return self.push(head, "fork.txt", "more from a fork", to=self.fork)

    def pull(self, number: int) -> PullRequest:
        """A pull request as it is now."""
        there = self._shown(number)
        head, base = there["head"], there["base"]
        return PullRequest(number, head["sha"], base["sha"], head["repo"]["id"], base["ref"])

    def retarget(self, number: int, base: str) -> PullRequest:
        """Point a pull request at another base."""
        self._pulls[number]["base"] = base
        return self.pull(number)

    def close(self, number: int) -> None:
        """Close a pull request unmerged; its branch moves it no more."""
        self._pulls[number] |= {"sha": self.pull(number).head_sha, "state": "closed"}

    def reopen(self, number: int) -> None:
        """Open it again."""
        self._pulls[number]["state"] = "open"

    def by(self, number: int, login: str, kind: str = "User") -> None:
        """Let another account have opened a pull request."""
        self._pulls[number] |= {"by": login, "kind": kind}

    # Comments, labels, checks

    def comments(self, number: int) -> list[Comment]:
        """All comments of a pull request, oldest first."""
        return [
            Comment(each["id"], each["user"]["login"], each["body"], each["created_at"], each["updated_at"])
            for each in self._of(number)
        ]

    def comment(self, number: int, body: str, *, by: str = "mallory") -> int:
        """A comment by a person, or with a token; returns its id."""
        return int(self.do("POST", f"/issues/{number}/comments", {"body": body}, by=by)["id"])

    def label(self, number: int, name: str) -> None:
        """Put a label on a pull request."""
        if name not in self._labels[number]:
            self._labels[number].append(name)

    def unlabel(self, number: int, name: str) -> None:
        """Take a label off."""
        self._labels[number].remove(name)

    def labels(self, number: int) -> list[str]:
        """The labels of a pull request."""
        return list(self._labels[number])

    def check_runs(self, sha: str) -> list[dict[str, Any]]:
        """All check runs of a commit as the API lists them, oldest first."""
        return [each for _, each in sorted(self._checks.items()) if each["head_sha"] == sha]

    def posted(self, sha: str, by: str, **fields: Any) -> dict[str, Any]:
        """A check run of our name that somebody has completed with success, unless the fields say otherwise."""
        usual = {"name": CHECK, "head_sha": sha, "status": "completed", "conclusion": "success"}
        made: dict[str, Any] = self.do("POST", "/check-runs", usual | fields, by=by)
        return made

    def protect(self, check: str = CHECK, *, branch: str = "main") -> None:
        """Require a check of this name before anything is merged into the branch."""
        self._required[branch] = check

    def unprotect(self, *, branch: str = "main") -> None:
        """Require nothing any more."""
        self._required.pop(branch)

    def allows(self, number: int, rule: Rule, check: str = CHECK, *, app: str | None = None) -> bool:
        """Whether a required check lets a pull request in, by one of the two rules that GitHub is said to follow.

        The newest check run of the name decides, or all of them have to be green; `app` is the slug of the App that the
        rule is pinned to, None where any may post it.
        """
        runs = [
            run
            for run in self.check_runs(self.pull(number).head_sha)
            if run["name"] == check and app in (None, run["app"]["slug"])
        ]
        green = [run["status"] == "completed" and run["conclusion"] in GREEN for run in runs]
        return bool(green) and (green[-1] if rule == "newest" else all(green))

    def merge(self, number: int, rule: Rule | None = None) -> int:
        """Try to merge: 200, or 422 where a required check stops it (GitHub itself says 405).

        Without a rule both have to agree: what is tested has to be right under either.
        """
        by_rule = {each: self.allows(number, each) for each in ((rule,) if rule else RULES)}
        assert len(set(by_rule.values())) == 1, f"pull request {number}: may it be merged? {by_rule}"
        return 200 if all(by_rule.values()) or self._pulls[number]["base"] not in self._required else 422

    # Workflow runs and artifacts

    def keep(self, data: bytes, run: int = 7, *, name: str = "rankgate", **listed: Any) -> None:
        """What a workflow run leaves as its one artifact, which lies elsewhere, at a signed address."""
        number = next(self._numbers)
        self._stored[f"/{number}.zip?sig=SIGNATURE"] = Answer(200, {"Content-Type": "application/zip"}, data)
        about = {"id": number, "name": name, "size_in_bytes": len(data), "expired": False}
        self.artifacts[run] = [about | listed]

    def _file(self, request: Handler, body: bytes) -> Answer:
        self.fetched.append((request.path, frozenset(name.lower() for name in request.headers)))
        return self._stored.get(request.path, Answer(404, {}))

    # The API

    def _answer(self, request: Handler, body: bytes) -> Answer | None:
        """The response to a request over HTTP, or None for a reset."""
        method, path = request.command, request.path
        headers = {name.title(): request.headers[name] for name in request.headers}
        account = self._accounts.get(headers.get("Authorization", "").removeprefix("Bearer "))
        problems = [*self._description.problems(method, path, headers.get("Content-Type"), body)]
        if "User-Agent" not in headers:
            problems.append("no User-Agent")
        with self._lock:
            self._violations += [f"{method} {path}: {problem}" for problem in problems]
        names = frozenset(name.lower() for name in headers)
        exchange = Exchange(method, path, time.monotonic(), names, account is not None, body)

        def answer() -> Answer:
            if problems:
                return refusal(422, "; ".join(problems))
            if account is None:
                return refusal(401, "Bad credentials")
            parts = urlsplit(path)
            below = parts.path.removeprefix(f"/repos/{self.repository}")
            query = dict(parse_qsl(parts.query, keep_blank_values=True))
            return self._routed(method, below, query, json.loads(body or b"{}"), account)

        return self.through_faults(exchange, answer)

    def _routed(
        self, method: str, path: str, query: Mapping[str, str], body: Mapping[str, Any], account: Account
    ) -> Answer:
        if (method, path) in self._played:
            return self._played[method, path]
        for each, pattern, route in ROUTES:
            if each == method and (match := pattern.fullmatch(path)):
                with self._lock:
                    names = tuple(unquote(name) for name in match.groups())
                    answered = route(self, Request(names, query, body, account))
                break
        else:
            return NOT_FOUND
        if isinstance(answered, Answer):
            return answered
        if isinstance(answered, Listed):
            return self._paged(path, query, answered)
        return answer_of(201 if method == "POST" else 200, json_body=answered)

    def _paged(self, path: str, query: Mapping[str, str], listed: Listed) -> Answer:
        size, page = int(query.get("per_page", 30)), int(query.get("page", 1))
        items = listed.items[(page - 1) * size : page * size]
        body = {"total_count": len(listed.items), listed.under: items} if listed.under else items
        following = urlencode({**query, "page": page + 1})
        link = f'<{self.url}/repos/{self.repository}{path}?{following}>; rel="next"'
        return answer_of(200, json_body=body, headers={"Link": link} if page * size < len(listed.items) else None)

    def _of(self, number: int) -> list[dict[str, Any]]:
        return [each for _, each in sorted(self._comments.items()) if each["issue"] == number]

    def _shown(self, number: int) -> dict[str, Any]:
        """A pull request as the API shows it."""
        pull = self._pulls[number]
        place = pull["from"]
        kind = {"type": pull["kind"]} if "kind" in pull else {}
        return {
            "number": number,
            "state": pull["state"],
            "head": {
                "sha": self.refs[place] if pull["state"] == "open" else pull["sha"],
                "ref": place[1],
                "repo": {"id": self.ids[place[0]]},
            },
            "base": {"sha": self.head_of(pull["base"]), "ref": pull["base"], "repo": {"id": self.id}},
            "user": Account(pull["by"]).user | kind,
        }

    def user(self, request: Request) -> Any:
        return FORBIDDEN if request.account.permissions is not None else request.account.user

    def list_pulls(self, request: Request) -> Any:
        shown = [self._shown(number) for number in sorted(self._pulls, reverse=True)]
        return Listed([each for each in shown if each["state"] == request.query.get("state", "open")])

    def get_pull(self, request: Request) -> Any:
        number = int(request.names[0])
        return self._shown(number) if number in self._pulls else NOT_FOUND

    def list_comments(self, request: Request) -> Any:
        return Listed(self._of(int(request.names[0])))

    def post_comment(self, request: Request) -> Any:
        if not request.account.may("issues", "pull_requests"):
            return FORBIDDEN
        number, now = next(self._numbers), utc()
        about = {"id": number, "issue": int(request.names[0]), "user": request.account.user, "created_at": now}
        self._comments[number] = {**about, "body": request.body["body"], "updated_at": now}
        return self._comments[number]

    def patch_comment(self, request: Request) -> Any:
        if not request.account.may("issues", "pull_requests"):
            return FORBIDDEN
        comment = self._comments.get(int(request.names[0]))
        if comment is None:
            return NOT_FOUND
        comment |= {"body": request.body["body"], "updated_at": utc()}
        return comment

    def delete_comment(self, request: Request) -> Any:
        if not request.account.may("issues", "pull_requests"):
            return FORBIDDEN
        return Answer(204, {}) if self._comments.pop(int(request.names[0]), None) else NOT_FOUND

    def list_labels(self, request: Request) -> Any:
        return Listed([{"name": name, "color": "ededed"} for name in self._labels[int(request.names[0])]])

    def timeline(self, request: Request) -> Any:
        return Listed(self.timelines.get(int(request.names[0]), []))

    def permission(self, request: Request) -> Any:
        may = self.permissions.get(request.names[0])
        return NOT_FOUND if may is None else {"permission": may, "role_name": may}

    def contents(self, request: Request) -> Any:
        branch = request.query["ref"].removeprefix("refs/heads/")
        return {"type": "file"} if request.names[0] in self.files[self.repository, branch] else NOT_FOUND

    def list_checks(self, request: Request) -> Any:
        runs = self.check_runs(request.names[0])[::-1]
        return Listed([each for each in runs if request.query.get("check_name") in (None, each["name"])], "check_runs")

    def post_check(self, request: Request) -> Any:
        if request.account.permissions is None or not request.account.may("checks"):
            return FORBIDDEN
        number = next(self._numbers)
        self._checks[number] = {
            "id": number,
            "app": {"slug": request.account.login.removesuffix("[bot]")},
            "status": "queued",
            **dict.fromkeys(("conclusion", "external_id", "details_url", "completed_at")),
            "output": {"title": None, "summary": None, "annotations": []},
        }
        return self._written(number, request.body)

    def patch_check(self, request: Request) -> Any:
        number = int(request.names[0])
        slug = request.account.login.removesuffix("[bot]")
        if not request.account.may("checks") or self._checks[number]["app"]["slug"] != slug:
            return FORBIDDEN
        return self._written(number, request.body)

    def _written(self, number: int, fields: Mapping[str, Any]) -> dict[str, Any]:
        """A check run with other fields; annotations add up."""
        check = self._checks[number]
        output = {**check["output"], **fields.get("output", {})}
        added = fields.get("output", {}).get("annotations", [])
        output["annotations"] = [*check["output"]["annotations"], *added]
        check |= {**fields, "output": output}
        if "conclusion" in fields:
            check["status"] = "completed"
            check["completed_at"] = fields.get("completed_at") or check["completed_at"] or utc()
        return check

    def started(self, run: int, attempt: int) -> None:
        """A run is there, if not in a list yet, with so many attempts at least."""
        known = [each for each in self.unlisted_runs if each["id"] == run]
        if not known:
            known = [{"id": run, "run_attempt": attempt}]
            self.unlisted_runs += known
        known[0]["run_attempt"] = max(known[0]["run_attempt"], attempt)

    def list_runs(self, request: Request) -> Any:
        return Listed(self.runs, "workflow_runs")

    def get_run(self, request: Request) -> Any:
        there = [*self.runs, *self.unlisted_runs]
        return next((each for each in there if each["id"] == int(request.names[0])), NOT_FOUND)

    def list_artifacts(self, request: Request) -> Any:
        return Listed(self.artifacts[int(request.names[0])], "artifacts")

    def get_artifact(self, request: Request) -> Any:
        return Answer(302, {"Location": f"{self._store.url}/{request.names[0]}.zip?sig=SIGNATURE"})


class Listed(NamedTuple):
    """The items of a list, which is shown in pages; under a key where a page is an object."""

    items: list[Any]
    under: str | None = None


Route = Callable[[GitHub, Request], Any]
ROUTES: list[tuple[str, re.Pattern[str], Route]] = [
    (method, re.compile(pattern), route)
    for method, pattern, route in (
        ("GET", r"/user", GitHub.user),
        ("GET", r"/pulls", GitHub.list_pulls),
        ("GET", r"/pulls/(\d+)", GitHub.get_pull),
        ("GET", r"/issues/(\d+)/comments", GitHub.list_comments),
        ("POST", r"/issues/(\d+)/comments", GitHub.post_comment),
        ("PATCH", r"/issues/comments/(\d+)", GitHub.patch_comment),
        ("DELETE", r"/issues/comments/(\d+)", GitHub.delete_comment),
        ("GET", r"/issues/(\d+)/labels", GitHub.list_labels),
        ("GET", r"/issues/(\d+)/timeline", GitHub.timeline),
        ("GET", r"/collaborators/([^/]+)/permission", GitHub.permission),
        ("GET", r"/contents/(.+)", GitHub.contents),
        ("GET", r"/commits/([^/]+)/check-runs", GitHub.list_checks),
        ("POST", r"/check-runs", GitHub.post_check),
        ("PATCH", r"/check-runs/(\d+)", GitHub.patch_check),
        ("GET", r"/actions/runs", GitHub.list_runs),
        ("GET", r"/actions/runs/(\d+)", GitHub.get_run),
        ("GET", r"/actions/runs/(\d+)/artifacts", GitHub.list_artifacts),
        ("GET", r"/actions/artifacts/(\d+)/zip", GitHub.get_artifact),
    )
]


def utc() -> str:
    """Now, as GitHub writes times."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
