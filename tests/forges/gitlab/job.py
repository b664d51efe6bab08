"""The variables of a job of GitLab CI, as doc/ci/variables/predefined_variables.md of GitLab lists them."""

from __future__ import annotations

from tests.forges.gitlab.instance import MergeRequest, Pipeline
from tests.forges.gitlab.server import Gitlab


def job_variables(
    gitlab: Gitlab, merge_request: MergeRequest, pipeline: Pipeline | None = None, *, job: int = 41
) -> dict[str, str]:
    """Those of a job in the merge request's pipeline, a new one where none is given."""
    project = gitlab.project
    pipeline = pipeline or gitlab.merge_request_pipeline(merge_request)
    home = f"{gitlab.url}/{project.path}"
    merged = pipeline.sha != merge_request.sha
    return {
        "CI": "true",
        "GITLAB_CI": "true",
        "CI_API_V4_URL": gitlab.api,
        "CI_SERVER_URL": gitlab.url,
        "CI_PROJECT_ID": str(project.id),
        "CI_PROJECT_URL": home,
        "CI_DEFAULT_BRANCH": "main",
        "CI_COMMIT_SHA": pipeline.sha,
        "CI_COMMIT_REF_NAME": merge_request.source_branch,
        "CI_PIPELINE_ID": str(pipeline.id),
        "CI_PIPELINE_SOURCE": "merge_request_event",
        "CI_JOB_ID": str(job),
        "CI_JOB_URL": f"{home}/-/jobs/{job}",
        "CI_JOB_TOKEN": gitlab.job_token(),
        "CI_MERGE_REQUEST_IID": str(merge_request.iid),
        "CI_MERGE_REQUEST_PROJECT_ID": str(project.id),
        "CI_MERGE_REQUEST_PROJECT_URL": home,
        "CI_MERGE_REQUEST_SOURCE_PROJECT_ID": str(merge_request.source_project_id),
        "CI_MERGE_REQUEST_SOURCE_BRANCH_NAME": merge_request.source_branch,
        "CI_MERGE_REQUEST_SOURCE_BRANCH_SHA": merge_request.sha if merged else "",
        "CI_MERGE_REQUEST_TARGET_BRANCH_NAME": merge_request.target_branch,
        "CI_MERGE_REQUEST_TARGET_BRANCH_SHA": merge_request.base_sha if merged else "",
        "CI_MERGE_REQUEST_DIFF_BASE_SHA": merge_request.base_sha,
    }
