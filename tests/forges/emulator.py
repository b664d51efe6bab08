"""A fresh repository on the emulator, and what people do there: push, open pull requests, comment, protect, merge."""

from __future__ import annotations

import base64
import itertools
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, get_args

import requests
from tests.forges import git_objects
from tests.forges.server import ACTIONS, ORGANIZATION, PERMISSIONS, TEAM, USERS, Server

NUMBERS = itertools.count(1)
CHECK = "rankgate/verdict"
GREEN = ("success", "neutral", "skipped")  # what a required check takes for success
Rule = Literal["newest", "all"]
RULES: tuple[Rule, ...] = get_args(Rule)


class RefusedError(Exception):
    """The emulator refused what a test wanted to prepare."""


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
class Emulator:
    """One repository of the organization acme, owned by alice, and what can be done with it. mallory is a stranger."""

    server: Server
    session: requests.Session
    name: str
    token: str  # a job's GITHUB_TOKEN with all that rankgate's workflows ask for; its login is github-actions[bot]

    @property
    def url(self) -> str:
        """The API's address, without a slash at the end."""
        return self.server.url

    @property
    def repository(self) -> str:
        """As in GITHUB_REPOSITORY."""
        return f"{ORGANIZATION}/{self.name}"

    def token_with(self, permissions: Mapping[str, str]) -> str:
        """A GITHUB_TOKEN with these permissions alone, as {"contents": "read"}."""
        return self.server.token(ACTIONS, permissions)

    def app_token(self) -> str:
        """The token of the team's own App, whose login is acme-gate[bot]."""
        return self.server.token(TEAM, PERMISSIONS)

    def user_token(self, login: str) -> str:
        """The token of alice, mallory or admin."""
        return USERS[login]

    def ask(self, method: str, path: str, body: Any = None, *, by: str = "alice") -> requests.Response:
        """One request to the API as a user, or with a token, whatever comes of it. The path begins with a slash."""
        headers = {"Authorization": f"Bearer {USERS.get(by, by)}", "Accept": "application/vnd.github+json"}
        answer = self.session.request(method, self.url + path, json=body, headers=headers, timeout=300)
        if method == "POST" and path.endswith("/check-runs") and answer.ok:
            self.server.check_apps[answer.json()["id"]] = self.server.issued[USERS.get(by, by)]
        return answer

    def do(self, method: str, path: str, body: Any = None, *, by: str = "alice") -> Any:
        """The decoded answer of a request that has to succeed, below /repos/OWNER/NAME.

        Raises:
            RefusedError: it did not.
        """
        answer = self.ask(method, f"/repos/{self.repository}{path}", body, by=by)
        if not answer.ok:
            raise RefusedError(f"{method} {path}: {answer.status_code} {answer.text}")
        return answer.json() if answer.content else None

    def head_of(self, branch: str) -> str:
        """The sha of a branch's newest commit."""
        return str(self.do("GET", f"/git/ref/heads/{branch}")["object"]["sha"])

    def branch(self, name: str, *, of: str = "main") -> str:
        """A new branch at the head of another one; returns its sha."""
        sha = self.head_of(of)
        self.do("POST", "/git/refs", {"ref": f"refs/heads/{name}", "sha": sha})
        return sha

    def push(self, branch: str, path: str = "notes.txt", text: str = "") -> str:
        """One commit on top of a branch, which writes one file; pull requests from it move on. Returns its sha."""
        return self._push(self.repository, branch, path, text, by="alice")

    def push_clone(self, clone: Path, revision: str = "HEAD", *, branch: str = "main") -> str:
        """What `git push --force` does: the commits of a local repository, with the same shas. Returns the head's."""
        objects = git_objects.Objects(self.ask, self.repository)
        sha = objects.push(clone, revision)
        if self.ask("GET", f"/repos/{self.repository}/git/ref/heads/{branch}").ok:
            self.do("PATCH", f"/git/refs/heads/{branch}", {"sha": sha, "force": True})
        else:
            self.do("POST", "/git/refs", {"ref": f"refs/heads/{branch}", "sha": sha})
        return sha

    def open_pull(self, head: str, *, base: str = "main", by: str = "alice") -> PullRequest:
        """A pull request from a branch that is there, of this repository or as "mallory:branch" of a fork."""
        number = self.do("POST", "/pulls", {"title": head, "head": head, "base": base}, by=by)["number"]
        return self.pull(number)

    def new_pull(self, head: str = "change") -> PullRequest:
        """A branch with one commit of its own, and a pull request from it."""
        self.branch(head)
        self.push(head, f"{head}.txt", "a change")
        return self.open_pull(head)

    def fork_pull(self, head: str = "change", path: str = "fork.txt", text: str = "from a fork") -> PullRequest:
        """A pull request of mallory from a fork. As on GitHub its commits can be read in this repository, too."""
        fork = self.ask("POST", f"/repos/{self.repository}/forks", {}, by="mallory").json()["full_name"]
        ours, theirs = (
            git_objects.Objects(self.ask, name, by) for name, by in ((self.repository, "alice"), (fork, "mallory"))
        )
        theirs.copy(self.head_of("main"), ours)
        reference = {"ref": f"refs/heads/{head}", "sha": self.head_of("main")}
        self.ask("POST", f"/repos/{fork}/git/refs", reference, by="mallory").raise_for_status()
        ours.copy(self._push(fork, head, path, text, by="mallory"), theirs)
        return self.open_pull(f"mallory:{head}", by="mallory")

    def push_fork(self, head: str = "change", path: str = "fork.txt", text: str = "more from a fork") -> str:
        """Another commit on the fork's branch; its pull request moves on. Returns its sha."""
        fork = f"mallory/{self.name}"
        sha = self._push(fork, head, path, text, by="mallory")
        theirs = git_objects.Objects(self.ask, fork, "mallory")
        git_objects.Objects(self.ask, self.repository).copy(sha, theirs)
        return sha

    def pull(self, number: int) -> PullRequest:
        """A pull request as it is now."""
        found = self.do("GET", f"/pulls/{number}")
        head, base = found["head"], found["base"]
        return PullRequest(number, head["sha"], base["sha"], head["repo"]["id"], base["ref"])

    def comments(self, number: int) -> list[Comment]:
        """All comments of a pull request or an issue, oldest first."""
        path = f"/issues/{number}/comments?per_page=100&page="
        pages = (self.do("GET", f"{path}{page}") for page in itertools.count(1))
        return [
            Comment(each["id"], each["user"]["login"], each["body"], each["created_at"], each["updated_at"])
            for page in itertools.takewhile(bool, pages)
            for each in page
        ]

    def comment(self, number: int, body: str, *, by: str = "mallory") -> int:
        """A comment by a user, or with a token; returns its id."""
        return int(self.do("POST", f"/issues/{number}/comments", {"body": body}, by=by)["id"])

    def label(self, number: int, name: str, *, by: str = "alice") -> None:
        """Put a label on a pull request."""
        self.do("POST", f"/issues/{number}/labels", {"labels": [name]}, by=by)

    def labels(self, number: int) -> list[str]:
        """The labels of a pull request."""
        return [each["name"] for each in self.do("GET", f"/issues/{number}/labels")]

    def check_runs(self, sha: str) -> list[dict[str, Any]]:
        """All check runs of a commit as the API tells them, oldest first. The emulator does not know whose they are."""
        runs: list[dict[str, Any]] = self.do("GET", f"/commits/{sha}/check-runs?filter=all&per_page=100")["check_runs"]
        return sorted(runs, key=lambda run: int(run["id"]))

    def annotations(self, check_run: int) -> list[dict[str, Any]]:
        """The annotations of a check run that its last request brought; on GitHub they add up."""
        path = f"/check-runs/{check_run}/annotations?per_page=100"
        annotations: list[dict[str, Any]] = self.do("GET", path)["check_annotations"]
        return annotations

    def protect(self, check: str, *, branch: str = "main") -> None:
        """Require a check of this name before anything is merged into the branch."""
        required = {"strict": False, "contexts": [check]}
        rest = {"enforce_admins": True, "required_pull_request_reviews": None, "restrictions": None}
        self.do("PUT", f"/branches/{branch}/protection", {"required_status_checks": required, **rest})

    def unprotect(self, *, branch: str = "main") -> None:
        """Require nothing any more."""
        self.do("DELETE", f"/branches/{branch}/protection")

    def allows(self, number: int, rule: Rule, check: str = CHECK, *, app: str | None = None) -> bool:
        """Whether a required check lets a pull request in, by one of the two rules that GitHub is said to follow.

        The emulator's own rule is "some success ever", which shows no blocking once something was green.

        Args:
            number: of the pull request.
            rule: whether the newest check run of the name decides, or all of them have to be green.
            check: the name of the required check.
            app: the slug of the App that the rule is pinned to; None where any may post it.
        """
        runs = [
            run
            for run in self.check_runs(self.pull(number).head_sha)
            if run["name"] == check and app in (None, self.server.check_apps[run["id"]])
        ]
        green = [run["status"] == "completed" and run["conclusion"] in GREEN for run in runs]
        return bool(green) and (green[-1] if rule == "newest" else all(green))

    def retarget(self, number: int, base: str) -> PullRequest:
        """Point a pull request at another base."""
        self.do("PATCH", f"/pulls/{number}", {"base": base})
        return self.pull(number)

    def merge(self, number: int, rule: Rule | None = None) -> int:
        """Try to merge, as alice: 200, or 422 where a required check stops it (GitHub itself says 405).

        Without a rule both have to agree: what is tested has to be right under either.
        """
        by_rule = {each: self.allows(number, each) for each in ((rule,) if rule else RULES)}
        assert len(set(by_rule.values())) == 1, f"pull request {number}: may it be merged? {by_rule}"
        base = self.pull(number).base_ref
        required = self.ask("GET", f"/repos/{self.repository}/branches/{base}/protection").ok
        if required and not all(by_rule.values()):
            return 422
        return self.ask("PUT", f"/repos/{self.repository}/pulls/{number}/merge", {}).status_code

    def close(self, number: int) -> None:
        """Close a pull request unmerged."""
        self.do("PATCH", f"/pulls/{number}", {"state": "closed"})

    def _push(self, repository: str, branch: str, path: str, text: str, *, by: str) -> str:
        where = f"/repos/{repository}/contents/{path}"
        before = self.ask("GET", f"{where}?ref={branch}", by=by)
        change = {"message": f"Write {path}", "content": base64.b64encode(text.encode()).decode(), "branch": branch}
        if before.ok:
            change["sha"] = before.json()["sha"]
        answer = self.ask("PUT", where, change, by=by)
        if not answer.ok:
            raise RefusedError(f"push to {repository}: {answer.status_code} {answer.text}")
        return str(answer.json()["commit"]["sha"])


@contextmanager
def fresh_repository(server: Server) -> Iterator[Emulator]:
    """A new repository with one commit on main, whose connections end with the block."""
    with requests.Session() as session:
        session.trust_env = False
        repository = Emulator(server, session, f"rag-{next(NUMBERS)}", server.token(ACTIONS, PERMISSIONS))
        made = repository.ask("POST", f"/orgs/{ORGANIZATION}/repos", {"name": repository.name, "auto_init": True})
        made.raise_for_status()
        yield repository
