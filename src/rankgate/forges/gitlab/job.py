"""Where a job of GitLab CI stands: its project, merge request, commits and pipeline, from its variables."""

from __future__ import annotations

import re
from collections.abc import Mapping

import msgspec

from rankgate.errors import bad_input


class Job(msgspec.Struct, frozen=True, kw_only=True):
    """All that publishing needs to know of the job that it runs in.

    `sha` is the pipeline's commit, to which a status belongs; `head` is the commit of the merge request's branch, which
    is another where GitLab merged the result for the pipeline. `base` is the commit to read a template at. With
    `in_fork` the pipeline runs in another project than that of the merge request. `page_url` leads to `report.html`.
    """

    api_url: str
    project: int
    project_url: str
    merge_request: int | None
    sha: str
    head: str
    base: str | None
    pipeline: int
    job: int
    job_url: str
    page_url: str | None
    in_fork: bool


_NUMBER = r"[1-9][0-9]{0,17}"
_SHA = r"[0-9a-f]{40}(?:[0-9a-f]{24})?"
_SHA_FORM = "the 40 or 64 hex digits of a commit"
_URL = r"https?://[^\s?#@]+"  # the client takes no http but to this machine
_ZEROS = re.compile("0+")  # what GitLab writes for a commit that there is not


def job_of(environment: Mapping[str, str], merge_request: int | None = None) -> Job:
    """The job that the variables of GitLab CI describe; a pipeline of a branch has no merge request of its own.

    Raises:
        RankgateError: a variable is missing or is not what GitLab sets.
    """
    sha = _required(environment, "CI_COMMIT_SHA", _SHA, _SHA_FORM)
    job_url = _required(environment, "CI_JOB_URL", _URL, "an address")
    project, number = _number(environment, "CI_PROJECT_ID"), _optional(environment, "CI_MERGE_REQUEST_IID", _NUMBER)
    place = _optional(environment, "CI_MERGE_REQUEST_PROJECT_ID", _NUMBER)
    own = merge_request or (int(number) if number else None)
    base = _commit(environment, "CI_MERGE_REQUEST_TARGET_BRANCH_SHA")
    page = environment.get("RANKGATE_PAGE", "")
    return Job(
        api_url=_required(environment, "CI_API_V4_URL", _URL, "an address such as https://gitlab.com/api/v4"),
        project=project,
        project_url=_required(environment, "CI_PROJECT_URL", _URL, "an address"),
        merge_request=own,
        sha=sha,
        head=_commit(environment, "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA") or sha,
        base=base or _commit(environment, "CI_MERGE_REQUEST_DIFF_BASE_SHA"),
        pipeline=_number(environment, "CI_PIPELINE_ID"),
        job=_number(environment, "CI_JOB_ID"),
        job_url=job_url,
        page_url=page if re.fullmatch(rf"{re.escape(job_url)}/artifacts/file/[\w./-]+", page, re.ASCII) else None,
        in_fork=place is not None and int(place) != project,
    )


def _commit(environment: Mapping[str, str], name: str) -> str | None:
    value = _optional(environment, name, _SHA, _SHA_FORM)
    return None if value is None or _ZEROS.fullmatch(value) else value


def _number(environment: Mapping[str, str], name: str) -> int:
    return int(_required(environment, name, _NUMBER, "a number"))


def _required(environment: Mapping[str, str], name: str, pattern: str, what: str) -> str:
    value = _optional(environment, name, pattern, what)
    if value is None:
        raise bad_input("is not set; is this running in GitLab CI?", key=name)
    return value


def _optional(environment: Mapping[str, str], name: str, pattern: str, what: str = "a number") -> str | None:
    """The variable, None where it is unset or empty. Its value is not repeated: nobody knows what it holds."""
    value = environment.get(name, "")
    if value and not re.fullmatch(pattern, value, re.ASCII):
        raise bad_input(f"expected {what}; is this running in GitLab CI?", key=name)
    return value or None
