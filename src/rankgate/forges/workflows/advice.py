"""What is left to do on GitHub once the workflows are written: text for the terminal."""

from __future__ import annotations

import shlex

from rankgate.forges.workflows.job import APP_KEY, CHECK, ENVIRONMENT, HOME, JUDGE_KEY, LABEL, Job, pinned

PAGE = f"https://github.com/{HOME}/blob/main/docs/workflows.md"


def to_do_on_github(job: Job, *, forks: bool) -> str:
    """The steps in order, with the commands to copy; `forks` where the workflow for forks is written too."""
    steps = [f"{step}\n" for step in job.setup.left]
    steps += [] if pinned(job.action) else [_pin(job)]
    steps.append(_REQUIRE)
    if job.judged:
        steps.append(_JUDGE.format(f" --env {ENVIRONMENT}" if job.app else ""))
    steps += [_APP if job.app is None else _app_made(job.app), _ACCEPT] if forks else [_FORKS]
    numbered = "".join(f"  {number}. {step}" for number, step in enumerate(steps, 1))
    return f"on GitHub ({PAGE}):\n{numbered}"


def _pin(job: Job) -> str:
    repository, _, reference = job.action.partition("@")
    tag = f"refs/tags/{reference}"
    found = (
        f"git ls-remote https://github.com/{repository} {tag} {shlex.quote(tag + '^{}')}"  # an annotated one's is last
    )
    pins = f"s|{repository}@{reference}$|{repository}@${{hash:?no such tag}} # {reference}|"
    files = ".github/workflows/rankgate*.yml"
    return f"""\
Pin the action by the hash of its commit, since a tag can be moved; with bash, in the repository's root:
       hash=$({found} |
         tail -n 1 | cut -f 1) && sed -i.tag \\
         "{pins}" \\
         {files} && rm {files}.tag
"""


_REQUIRE = f"""\
In a ruleset of the default branch, require the check `{CHECK}` and not the job `retrieval gate`: of a
     fork's pull request that proves nothing, and where an App posts the check it only records.
"""

_JUDGE = f"""\
Store the judge's key; a fork's answers are asked about only after the label, within judge.budget.fork_calls (0):
       gh secret set {JUDGE_KEY}{{}}
"""

_APP = """\
Anybody who can push a workflow can post a check of that name with GITHUB_TOKEN: it is forgeable. Let a GitHub
     App of your own post it (permissions: actions and contents read, checks and pull requests write), write both files
     again with --app ID --force, and pin the required check to that App.
"""

_FORKS = """\
Do you take pull requests of forks? The same command with --github --force also writes the workflow for them;
     without --gold and --run it leaves the criteria as they are.
"""

_ACCEPT = f"""\
A fork's rankings are its own word until somebody with write access accepts them, commit by commit, by a label:
       gh label create {shlex.quote(LABEL)} --description 'the rankings of this commit are believed'
"""


def _app_made(app: int) -> str:
    environment = f"repos/{{owner}}/{{repo}}/environments/{ENVIRONMENT}"
    return f"""\
Keep the App's private key as a secret of an environment that admits the default branch alone, and not of the
     repository, where whoever can push reads it:
       gh api --method PUT '{environment}' -F 'deployment_branch_policy[protected_branches]=false' \\
         -F 'deployment_branch_policy[custom_branch_policies]=true'
       gh api --method POST '{environment}/deployment-branch-policies' \\
         -f "name=$(gh repo view --json defaultBranchRef --jq .defaultBranchRef.name)"
       gh secret set {APP_KEY} --env {ENVIRONMENT} < private-key.pem
       gh secret delete {APP_KEY} # one of the repository, as earlier versions asked for
     Pin the required check to the App: in the ruleset it is the check's source, in the API its integration_id is {app}.
"""
