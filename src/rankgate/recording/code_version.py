"""Which code answers: the commit of the repository around the current directory, as far as git can tell."""

from __future__ import annotations

from pathlib import Path

from rankgate.git import GitError, repository_around, run_git

DIGITS = 12  # of the commit: enough for any repository, and still readable
CHANGED = "+changes"
_PATIENCE = 20.0  # seconds; a recording must not wait for a slow disk to know its own name


def code_version(output: str) -> str | None:
    """The commit that is checked out, followed by `+changes` where files that git knows are not as it has them.

    None outside of a repository, before its first commit and without git: a recording never fails for this.

    Args:
        output: the run to be written, which is no change of the code where git knows it.
    """
    try:
        repository = repository_around(".")
        commit = repository.commit("HEAD")
        found = run_git(repository.root, "diff", "--no-ext-diff", "--name-only", "-z", commit, patience=_PATIENCE)
    except GitError:
        return None
    changed = {name for name in found.stdout.decode("utf-8", "surrogateescape").split("\0") if name}
    made = {name for name in changed if Path(repository.root, name) == Path(output).resolve()}
    return commit[:DIGITS] + (CHANGED if changed - made or found.returncode else "")
