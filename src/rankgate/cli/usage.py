"""What `rankgate --help` prints."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

Groups = Mapping[str, Mapping[str, tuple[str, str]]]


def usage(groups: Groups, exits: str) -> str:
    """How to call rankgate, its commands and their exit codes."""
    width = max(len(name) for group in groups.values() for name in group)
    blocks = ("".join([f"{title}:\n", *_listed(group, width)]) for title, group in groups.items())
    return (
        "usage: rankgate COMMAND [options]\n\n"
        "The merge gate for retrieval: a run, a gold set and a baseline in; pass, warn or fail out.\n\n"
        + "\n".join(blocks)
        + f"\nexit codes: {exits}\n\n"
        "  rankgate COMMAND --help explains one; rankgate --version prints the version\n\n"
        "start here:\n"
        "  rankgate demo                           see all three verdicts on an example\n"
        "  rankgate init --gold gold.yaml          write criteria for your own gold set\n"
        "  rankgate check -o report.json -o comment.md\n"
    )


def _listed(group: Mapping[str, tuple[str, str]], width: int) -> Iterator[str]:
    return (f"  {name.ljust(width)}  {text}\n" for name, (_, text) in group.items())
