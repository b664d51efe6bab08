"""GitHub's own description of its API as a judge of requests: path, method, query and body.

It is npm's @octokit/openapi, cut at load time to the operations that rankgate's client may call.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

from openapi_core import Config, OpenAPI
from openapi_core.datatypes import RequestParameters
from openapi_core.exceptions import OpenAPIError
from werkzeug.datastructures import ImmutableMultiDict

SERVER = "https://api.github.com"
REPOSITORY = "/repos/{owner}/{repo}"
PATHS = (
    "/user",
    REPOSITORY,
    *(
        REPOSITORY + path
        for path in (
            "/activity",
            "/actions/artifacts/{artifact_id}",
            "/actions/artifacts/{artifact_id}/{archive_format}",
            "/actions/runs",
            "/actions/runs/{run_id}",
            "/actions/runs/{run_id}/artifacts",
            "/actions/workflows/{workflow_id}/runs",
            "/check-runs",
            "/check-runs/{check_run_id}",
            "/collaborators/{username}/permission",
            "/commits/{commit_sha}/pulls",
            "/commits/{ref}/check-runs",
            "/contents/{path}",
            "/git/ref/{ref}",
            "/issues/comments/{comment_id}",
            "/issues/{issue_number}/comments",
            "/issues/{issue_number}/events",
            "/issues/{issue_number}/labels",
            "/issues/{issue_number}/labels/{name}",
            "/issues/{issue_number}/timeline",
            "/pulls",
            "/pulls/{pull_number}",
            "/statuses/{sha}",
        )
    ),
)

# Longest comment that GitHub takes, in characters. The description does not say so.
COMMENT_LIMIT = 65_536


@dataclass
class Request:
    """A request as openapi-core wants to have it, on the real server's address."""

    method: str
    path: str
    parameters: RequestParameters
    content_type: str
    body: bytes | None
    host_url: str = SERVER


class Operation(NamedTuple):
    """One method of one path."""

    template: str
    queries: frozenset[str]
    fields: frozenset[str]  # the names that a body may have; empty where it has none or may have any


class Description:
    """The cut description, compiled."""

    def __init__(self, file: Path) -> None:
        described = cut(json.loads(file.read_text(encoding="utf-8")))
        unchecked = Config(spec_validator_cls=None)  # to check GitHub's description itself takes a second
        self._openapi = OpenAPI.from_dict(described, config=unchecked)
        self._operations = {
            (method.upper(), template): operation(described, template, item, item[method])
            for template, item in described["paths"].items()
            for method in ("get", "post", "put", "patch", "delete")
            if method in item
        }
        self._patterns = [(pattern_of(template), template) for template in described["paths"]]
        self.problems = cache(self._problems)  # most requests of a test are sent again and again

    def _problems(self, method: str, target: str, content_type: str | None, body: bytes) -> tuple[str, ...]:
        """What GitHub would not accept in a request, if anything. The target is path and query."""
        parts = urlsplit(target)
        found = [
            (self._operations[method, template], match)
            for pattern, template in self._patterns
            if (match := pattern.fullmatch(parts.path)) and (method, template) in self._operations
        ]
        if not found:
            return (f"not among the operations that rankgate may call: {method} {parts.path}",)
        # Where several fit, the one with the most fixed words is meant: /issues/comments/1 is a comment's.
        known, match = min(found, key=lambda each: each[0].template.count("{"))
        values = {name: quote(unquote(value), safe="") for name, value in match.groupdict().items()}
        query = parse_qsl(parts.query, keep_blank_values=True)
        unknown = [f"unknown in the query: {name}" for name, _ in query if name not in known.queries]
        request = Request(
            method.lower(),
            known.template.format(**values),
            RequestParameters(query=ImmutableMultiDict(query)),
            content_type or "",
            body or None,
        )
        return (*unknown, *self._refused(request), *too_much(known, body))

    def _refused(self, request: Request) -> Iterator[str]:
        try:
            self._openapi.validate_request(request)
        except OpenAPIError as error:
            cause = error.__cause__ or error
            reasons = [each.message for each in getattr(cause, "schema_errors", ())]
            yield from (shorten(reason) for reason in reasons or [f"{error}: {cause}"])


def too_much(known: Operation, body: bytes) -> Iterator[str]:
    """What the description lets pass: names that no body has, and comments that are too long."""
    if not body:
        return
    try:
        decoded = json.loads(body)
    except ValueError:
        return
    if isinstance(decoded, dict):
        if known.fields:
            yield from (f"unknown in the body: {name}" for name in decoded if name not in known.fields)
        if "comment" in known.template and len(str(decoded.get("body", ""))) > COMMENT_LIMIT:
            yield f"Body is too long (maximum is {COMMENT_LIMIT} characters)"


def shorten(reason: str) -> str:
    """Reasons quote the whole value, which may be long."""
    return reason if len(reason) <= 300 else f"{reason[:150]} ... {reason[-150:]}"


def cut(whole: dict[str, Any]) -> dict[str, Any]:
    """Our paths with the components that they need, as GitHub wrote them."""
    paths = {path: whole["paths"][path] for path in PATHS}
    needed: dict[str, dict[str, Any]] = {}
    waiting: list[Any] = [paths]
    while waiting:
        for reference in references(waiting.pop()):
            _, _, kind, name = reference.split("/", 3)
            if name not in needed.setdefault(kind, {}):
                needed[kind][name] = whole["components"][kind][name]
                waiting.append(needed[kind][name])
    return {
        "openapi": whole["openapi"],
        "info": whole["info"],
        "servers": [{"url": SERVER}],
        "paths": paths,
        "components": needed,
    }


def references(node: object) -> Iterator[str]:
    """All that a part of the description refers to, however deep."""
    if isinstance(node, dict):
        reference = node.get("$ref")
        if isinstance(reference, str):
            yield reference
        for each in node.values():
            yield from references(each)
    elif isinstance(node, list):
        for each in node:
            yield from references(each)


def resolved(described: Mapping[str, Any], node: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a reference leads to, or the node itself."""
    if "$ref" not in node:
        return node
    _, _, kind, name = node["$ref"].split("/", 3)
    found: Mapping[str, Any] = described["components"][kind][name]
    return found


def parameters_of(described: Mapping[str, Any], *holders: Mapping[str, Any]) -> list[Mapping[str, Any]]:
    """The parameters of a path and of an operation on it."""
    return [resolved(described, each) for holder in holders for each in holder.get("parameters", ())]


def operation(
    described: Mapping[str, Any], template: str, item: Mapping[str, Any], what: Mapping[str, Any]
) -> Operation:
    """What may stand in query and body."""
    queries = {each["name"] for each in parameters_of(described, item, what) if each["in"] == "query"}
    body = resolved(described, what.get("requestBody", {})).get("content", {}).get("application/json", {})
    return Operation(template, frozenset(queries), frozenset(fields_of(described, body.get("schema", {}))))


def fields_of(described: Mapping[str, Any], schema: Mapping[str, Any]) -> Iterator[str]:
    """The names of an object's fields, those of all its alternatives together."""
    schema = resolved(described, schema)
    yield from schema.get("properties", ())
    for kind in ("oneOf", "anyOf", "allOf"):
        for each in schema.get(kind, ()):
            yield from fields_of(described, each)


def pattern_of(template: str) -> re.Pattern[str]:
    """What paths look like. A file's path and a reference may hold slashes, unlike all other parameters."""
    words = re.split(r"\{(\w+)\}", template)
    written = [
        f"(?P<{word}>{'.+' if word in {'path', 'ref'} else '[^/]+'})" if index % 2 else re.escape(word)
        for index, word in enumerate(words)
    ]
    return re.compile("".join(written))
