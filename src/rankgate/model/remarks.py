"""Remarks beside the gates, in sentences: on what a pull request changed of the gate, on the accepted run, on traffic.

No text from the inputs stands in them.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from itertools import accumulate

from rankgate.model.base_ref import ACCEPT_CHANGE, BaseSide, Grown, LabelState, QueryChanges, SetLabel, TrafficChanges
from rankgate.model.conclusion import Traffic
from rankgate.model.lineage import AnchorMark, AnchorProblem, Lineage
from rankgate.model.values import Verdict, blocks
from rankgate.model.wording import count_text, value_text

_BY_LABEL = f"if it is meant, a person who may write can accept that with the label `{ACCEPT_CHANGE}`"
_WITHOUT_BASE = "if it is meant, a person who may merge can check once without `--base`, and merge by that"
_BASELINES = {
    "added": "The base has no baseline yet: the pull request's own counts once it is merged.",
    "replaced": "The pull request replaces the baseline: the base's decides, its own counts once it is merged.",
}
_NOTHING: dict[LabelState, str] = {
    "outsider": "it was set by a bot, or by somebody who may not write to this repository",
    "own": "it was set by the author of the pull request, and the base's criteria have no `accept_own: true`",
    "unreported": "it was set less than a minute after the first report on this head, or before; set it again",
    "changed": "what is judged now is not what was reported before it was set; set it again once this is reported",
    "unknown": "GitHub did not say who set it, or whether that is somebody who may write to this repository",
}
_ROOM = 16  # words for changes in a first sentence of 30, beside those before and that there are more
NOT_THERE = "the questions of `inputs.traffic` are not here, so that none was compared"

# Fields of `TrafficChanges` with their words: what may hide a loss, and what cannot.
_WEAKENS = (
    ("removed", "removes", "question"),
    ("edited", "edits", "question"),
    ("recounted", "changes the count of", "question"),
    ("labels_removed", "removes", "label"),
    ("labels_changed", "changes", "label"),
)
_ADDS = (("added", "adds", "question"), ("labels_added", "adds", "label"))


def label_notes(labels: Iterable[SetLabel], fitting: str) -> list[str]:
    """Why a label does nothing; only the `fitting` one of both can do anything on this pull request."""
    notes: list[str] = []
    for label in labels:
        why = f"on this pull request that is `{fitting}`"
        if label.name == fitting:
            if label.state == "counts":
                continue
            why = _NOTHING[label.state]
        notes.append(f"The label `{label.name}` changes nothing: {why}.")
    return notes


def judged_by(base: BaseSide) -> str:
    """By what the conclusion is, where the pull request's own files give a milder one; else empty."""
    judged = base.decides == "base" and base.base_verdict is not None
    if not judged or blocks(base.head_verdict) == blocks(base.base_verdict or base.head_verdict):
        return ""
    criteria = bool(base.gates) or any(not key.key.startswith("inputs.") for key in base.keys)
    queries = base.queries
    if queries is None or not (queries.done or queries.added):
        return f"by the {'criteria' if criteria else 'files'} of the base"
    done = " and ".join(f"{verb} {count:,}" for verb, count in queries.done.items())
    questions = f"by {'the criteria and ' if criteria else ''}the questions of the base"
    return questions + (f", of which this pull request {done}" if done else "")


def failures_of(base: BaseSide) -> list[str]:
    """What the pull request does to the gate and fails, whatever the run is; nothing where a label accepts it."""
    if base.accepted_by is not None:
        return []
    failures: list[str] = []
    if base.baseline_changed == "deleted":
        failures.append(f"the pull request deletes the baseline; {_remedy(base)}")
    if base.acceptances_changed == "log":
        what = "the pull request changes or removes acceptances that the base has, whose log only grows"
        failures.append(f"{what}; {_remedy(base)}")
    if base.baseline_short:
        what = "the baseline that the pull request brings has fewer than half of the base's questions"
        failures.append(f"{what}; {_remedy(base)}")
    if base.baseline_verdict is not None and blocks(base.baseline_verdict):
        what = "does not hold" if base.baseline_verdict is Verdict.FAIL else "cannot be judged"
        failures.append(f"the baseline that the pull request brings {what} by the base's files; {_remedy(base)}")
    return failures


def warnings_of(base: BaseSide) -> list[str]:
    """What it changes that a reviewer has to see."""
    if base.introduced:
        return []
    warnings: list[str] = []
    if changes := [*_criteria(base), *_gold(base.queries), *_of_traffic(base.traffic, _WEAKENS)]:
        warnings.append(f"the pull request {_listed(changes)}")
    if base.traffic and base.traffic.unread:
        what = "the traffic that the pull request names is no file of its commit"
        warnings.append(f"{what}; it counts once it is merged")
    if base.traffic and base.traffic.diluted:
        what = f"the pull request adds {count_text(base.traffic.added, 'question')} to the traffic"
        warnings.append(f"{what}, so half as many more may be lost")
    if base.run_brought:
        warnings.append("the pull request changes the file of the run; let the job record it")
    if base.values_brought:
        what = "the pull request changes values that judge it (`inputs.scores`, per_query)"
        warnings.append(f"{what}; let the job write them")
    if base.baseline_lower:
        what = f"the baseline that the pull request brings is lower in {count_text(base.baseline_lower, 'gate')}"
        warnings.append(f"{what}: once it is merged, as much may be lost again")
    if base.acceptances_changed == "anchor":
        which = f"the run accepted on {base.anchor}, " if base.anchor else ""
        warnings.append(f"the pull request moves the anchor: small losses add up from {which}and would no longer")
    if base.accepted_by is not None:
        warnings.append(f"by the label `{ACCEPT_CHANGE}` the pull request's own files alone judge it")
    return warnings


BASELINE_SUPPLIED = "The baseline is no file of the base: the job supplied it."


def notes_of(base: BaseSide) -> list[str]:
    """What is worth a line and changes nothing."""
    notes = [_BASELINES[base.baseline_changed]] if base.baseline_changed in _BASELINES else []
    if base.introduced:
        notes.append("The base has no ship criteria yet: the pull request's own decide alone.")
    if (labels := base.own_labels) is not None:
        values = f"{value_text(labels.before, labels.unit)} → {value_text(labels.now, labels.unit)}"
        notes.append(f"By each one's own labels {labels.metric} is {values}.")
    if base.gold_supplied:
        notes.append("The gold set is no file of the base: the job supplied it.")
    # By a label no drop counts from the run that is accepted in the pull request itself.
    milder = base.baseline_changed == "replaced" or not blocks(base.head_verdict)
    if milder and blocks(base.base_verdict or base.head_verdict) and base.accepted_by is None:
        through = ", ".join(_let_through(base))
        lets = f"; it would let through: {through}" if through else ""
        remedy = _remedy(base)
        notes.append(f"{remedy[0].upper()}{remedy[1:]}{lets}.")
    if base.accepted_by is not None and base.base_verdict is not None:
        lets = "lets through what blocks" if blocks(base.base_verdict) else "was not needed: nothing blocks"
        notes.append(f"The label `{ACCEPT_CHANGE}` {lets} by the base's files.")
    return notes


def _remedy(base: BaseSide) -> str:
    """Who can let a change pass that the base's files fail, where the check runs."""
    return _BY_LABEL if base.on_github else _WITHOUT_BASE


def _let_through(base: BaseSide) -> list[str]:
    """How much of each kind the base's files would no longer decide about, limits first."""
    keys = [key for gate in base.gates for key in gate.keys if key.weakens]
    limits = sum(key.is_limit for key in keys)
    others = len(keys) - limits + sum(key.weakens for key in base.keys)
    questions = sum(base.queries.done.values()) if base.queries else 0
    counts = [
        (limits, count_text(limits, "limit")),
        (_removed_gates(base), count_text(_removed_gates(base), "removed gate")),
        (_new_waivers(base), count_text(_new_waivers(base), "waiver")),
        (others, count_text(others, "other key of the criteria", "other keys of the criteria")),
        (questions, count_text(questions, "changed question")),
    ]
    through = [text for count, text in counts if count]
    if base.baseline_changed in ("deleted", "replaced"):
        through.append("the baseline")
    return through


def _removed_gates(base: BaseSide) -> int:
    return sum(gate.change == "removed" for gate in base.gates)


def _new_waivers(base: BaseSide) -> int:
    return sum(waiver.change != "removed" for waiver in base.waivers)


def _criteria(base: BaseSide) -> list[str]:
    texts: list[str] = []
    if removed := _removed_gates(base):
        texts.append(f"removes {count_text(removed, 'gate')}")
    if changed := sum(gate.change == "changed" and gate.weakens for gate in base.gates):
        texts.append(f"changes {count_text(changed, 'gate')}")
    texts += [f"changes `{key.key}`" for key in base.keys if key.weakens]
    if waivers := _new_waivers(base):
        texts.append(f"adds or edits {count_text(waivers, 'waiver')}")
    return texts


def _gold(queries: QueryChanges | None) -> list[str]:
    if queries is None:
        return []
    texts: list[str] = []
    for verb, count in queries.done.items():
        toward = ""
        if verb == "relabels" and queries.toward is not None:
            toward = f" ({queries.toward:,} toward this run)"
        texts.append(f"{verb} {count_text(count, 'question')}{toward}")
    if queries.repeated:
        texts.append(f"repeats {count_text(queries.repeated, 'question')} of the gold set")
    if queries.diluted:
        texts.append(grown_text(queries.diluted, "a segment" if queries.diluted.segment else "the gold set"))
    return texts


def grown_text(grown: Grown, what: str) -> str:
    """What it means that some questions became more."""
    return f"brings {what} from {grown.before:,} to {grown.after:,} questions, so half as many more may be lost"


def traffic_texts(changes: TrafficChanges) -> list[tuple[str, bool]]:
    """What the pull request does to the traffic, and whether it warns: `removes 3 traffic questions`."""
    weakens, adds = _of_traffic(changes, _WEAKENS), _of_traffic(changes, _ADDS)
    return [*((text, True) for text in weakens), *((text, False) for text in adds)]


def _of_traffic(changes: TrafficChanges | None, words: Iterable[tuple[str, str, str]]) -> list[str]:
    texts: list[str] = []
    for field, verb, noun in words:
        count = getattr(changes, field) if changes else 0
        if count:
            texts.append(f"{verb} {count_text(count, noun)} of the traffic")
    return texts


def _listed(parts: list[str]) -> str:
    """As many as the conclusion's first sentence has room for; the others are counted."""
    lengths = accumulate(len(part.split()) for part in parts)
    fitting = sum(length <= _ROOM for length in lengths)
    shown = parts[: max(fitting, 1)]
    if others := len(parts) - len(shown):
        shown = [*shown, f"makes {count_text(others, 'more change')}"]
    return f"{', '.join(shown[:-1])} and {shown[-1]}" if len(shown) > 1 else shown[0]


def lineage_note(lineage: Lineage) -> str | None:
    """`Compared with the run accepted for 1a2b3c4, 3 commits and 12 days behind.`; None where no commit is known."""
    if lineage.commit is None:
        return None
    days = count_text(max(lineage.days_behind, 0), "day")
    behind = f"which is no known ancestor, {days} ago"
    if lineage.commits_behind is not None:
        behind = f"{count_text(lineage.commits_behind, 'commit')} and {days} behind"
    return f"Compared with the run accepted {lineage.shown}, {behind}."


def age_problems(lineage: Lineage, days: int | None, commits: int | None) -> list[str]:
    """Which limits of `max_age`, in days and in commits, the baseline exceeds: a sentence each without its full stop.

    Empty where it exceeds none, is dated later than the check, or its commits are not known.
    """
    texts: list[str] = []
    if days is not None and lineage.days_behind > days:
        texts.append(f"was accepted {count_text(lineage.days_behind, 'day')} ago, and max_age allows {days}")
    if commits is not None and lineage.commits_behind is not None and lineage.commits_behind > commits:
        texts.append(f"is {count_text(lineage.commits_behind, 'commit')} behind, and max_age allows {commits}")
    return [f"the baseline {text}; accept a newer run" for text in texts]


def package_problems(lineage: Lineage, packages: Mapping[str, str]) -> list[str]:
    """That a package gives values by another version than the one by which the run was accepted."""
    changed = {name: version for name, version in packages.items() if lineage.packages.get(name, version) != version}
    return [
        f"values by {name} {version}; the accepted run was scored by {lineage.packages[name]}"
        for name, version in changed.items()
    ]


def clock_problems(lineage: Lineage, today: str) -> list[str]:
    """That the accepted run is dated after the day of the check, so that one of two clocks is wrong."""
    if lineage.days_behind >= 0:
        return []
    return [
        f"the baseline is dated {lineage.date}, after the day of this check ({today}); one of the two dates is wrong"
    ]


def anchor_problem(anchor: AnchorMark | None, problem: AnchorProblem) -> str:
    """Why small losses are not added up, without its full stop, and what to do."""
    move = "accept the next run with --new-anchor --reason TEXT"
    if problem == "log" or anchor is None:
        return (
            "the log of acceptances cannot be read, so that small losses do not add up; see `rankgate baseline verify`"
        )
    whys = {
        "gone": "is no longer in the log of acceptances",
        "run": "is not there any more, or cannot be read",
        "foreign": "has other document ids than the gold set",
    }
    which = f"the run accepted on {anchor.date} ({anchor.id}), from which small losses add up,"
    return f"{which} {whys[problem]}; restore it, or {move}"


def passed_over_text(anchor: AnchorMark, passed_over: str) -> str:
    """From where small losses add up, since of the questions of an older run too few are asked."""
    few = f"Fewer than half of the questions of the run accepted on {passed_over} are still asked"
    return f"{few}: small losses add up from the run accepted on {anchor.date}."


def absent_traffic(traffic: Traffic) -> str:
    """That the run has not all lines that the accepted run has."""
    of = f"{traffic.absent:,} of {count_text(traffic.asked, 'traffic question')}"
    return f"the run has no line for {of} of the accepted run, which count as empty; record them again"
