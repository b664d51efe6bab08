"""Two reports of one run, and the stricter of them gate by gate. Pure; sentences hold no text from the inputs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping

from msgspec.structs import replace

from rankgate.gates.apply_waivers import waivable
from rankgate.gates.conclude import with_conclusion
from rankgate.model.base_ref import BaseSide
from rankgate.model.reasons import problems_of, sentences
from rankgate.model.report import GateResult, Report
from rankgate.model.values import SEVERITY_ORDER, TOLERANCE, Verdict, worst
from rankgate.model.waiver_use import ACCEPT_GOLD, ACCEPT_RUN
from rankgate.model.wording import count_text

_BASELINE_CHANGED = {
    "added": "The base has no baseline yet: the pull request's own copy counts once it is merged.",
    "deleted": "The pull request deletes the baseline: the base's decides until that is merged.",
    "replaced": "The pull request replaces the baseline: the base's decides, its own counts once it is merged.",
}
_BY_LABEL = "somebody who may write to the repository can accept that with the label"
_MEANT = f"If the gold set is meant to change, {_BY_LABEL} `{ACCEPT_GOLD}`."
_GOLD_REFUSED = {
    "ids": "nothing can be judged by the gold set of the base",
    "must_pass": "a question that must pass by the base's gold set is gone, or need not pass any more",
    "absent": "the gold set that the base names is not there, and the pull request's own stands in",
}
_MOVED = "the run that the base names is absent, and the pull request names another; write both paths first"
_ELSEWHERE = "the base has ship criteria, but not where this check reads them"
_COPIED = "the pull request changes the file of the run, whose rankings are now those of the baseline"
_SCORES = "the pull request changes values that judge it (`inputs.scores`, --per-query); let the job write them"


def stricter(
    head: Report,
    by_base: Report | None,
    base: BaseSide,
    *,
    whole: Report | None = None,
    renamed: Mapping[str, str] = {},
) -> Report:
    """The head's report with every gate of the base that is stricter, and with what the pull request changed.

    `by_base` is judged by the base's files, where that is something else, and `whole` with the queries that the pull
    request removed, too. `renamed` has new names of gates by their old ones.
    """
    added = list(_stricter_gates(head, by_base, whole, renamed)) if by_base else []
    order = {gate.name: place for place, gate in reversed(list(enumerate(head.gates)))}
    place = {id(gate): order.get(renamed.get(gate.name, gate.name), len(head.gates)) for gate in (*head.gates, *added)}
    gates = sorted([*head.gates, *added], key=lambda gate: place[id(gate)])
    changed_gold = _gold_sentences(base)
    gold_failures = changed_gold if base.gold_changes == "fail" else []
    by_gold = changed_gold and not _criteria_sentences(base) and any(gate.verdict is Verdict.FAIL for gate in added)
    meant = (by_gold or gold_failures) and not base.gold
    of_base = by_base.failures if by_base else ()
    failures = list(dict.fromkeys([*head.failures, *of_base, *gold_failures, *_to_accept(base)]))
    count = len(base.problems)
    warnings = [
        *_criteria_sentences(base),
        *([] if gold_failures else changed_gold),
        *([f"{count_text(count, 'problem')} with what the base has, so that less of it was judged"] if count else []),
        *([_ELSEWHERE] if base.elsewhere else []),
        *([_acceptances_sentence(base)] if base.acceptances_changed else []),
        *([_COPIED] if base.run_copied == "commit" else []),
        *([_SCORES] if base.scores_brought else []),
        *dict.fromkeys([*head.warnings, *(by_base.warnings if by_base else ())]),
    ]
    lost = list(head.lost_parts)
    lost += [part for part in (by_base.lost_parts if by_base else ()) if part not in lost]
    adding = list(head.given_up)
    adding += [
        each for each in (by_base.given_up if by_base else ()) if each.metric not in {own.metric for own in adding}
    ]
    verdicts = [*(Verdict.FAIL for _ in failures), *(Verdict.WARN for _ in (*warnings, *lost, *adding))]
    verdict = worst([head.verdict, *(gate.verdict for gate in added), *verdicts])
    problems = [*head.problems, *problems_of(added, by_base.provenance.criteria if by_base else None, base)]
    judged = replace(
        head,
        verdict=verdict,
        problems=problems,
        failures=failures,
        warnings=warnings,
        notes=[*_notes(base, by_base), *([_MEANT] if meant else []), *head.notes],
        diagnosis=head.diagnosis or (by_base.diagnosis if by_base and added else []),
        gates=gates,
        lost_parts=lost,
        given_up=adding,
        base=base,
        fork_runs="untrusted" if any(key.key == "fork_runs" for key in base.keys) else head.fork_runs,
    )
    return with_conclusion(judged)


def reason_if_worse(whole: Report, *others: Report) -> str | None:
    """The first reason of the worst gate that is worse than in the others; None where there is none."""
    known = _by_place(gate for report in others for gate in report.gates)
    worse = [
        gate
        for gate in whole.gates
        if gate.verdict in (Verdict.WARN, Verdict.FAIL)
        and not any(_stands_for(same, gate) for same in known[gate.place])
    ]
    first = max(worse, key=lambda gate: (SEVERITY_ORDER.index(gate.verdict), gate.segment is None), default=None)
    return None if first is None else sentences(first, None)[0]


def _stricter_gates(
    head: Report, by_base: Report, whole: Report | None, renamed: Mapping[str, str]
) -> Iterator[GateResult]:
    """The base's results that no result of the head for the same gate and segment stands for."""
    own = _by_place(head.gates)
    judged = {gate.place for gate in whole.gates if gate.verdict is not Verdict.NOT_JUDGED} if whole else set()
    for gate in by_base.gates:
        alike = own[renamed.get(gate.name, gate.name), gate.segment]
        if any(_stands_for(same, gate) for same in alike):
            continue
        if gate.verdict is Verdict.NOT_JUDGED and gate.place in judged:
            continue  # only the removed queries have it, and those are named
        line = alike[0].line if alike else None  # its own line is one of another file
        yield replace(gate, judged_by="base", line=line)


def _by_place(gates: Iterable[GateResult]) -> Mapping[tuple[str, str | None], list[GateResult]]:
    """Results by gate and segment, of which there are several where two rules look at the same tags."""
    by_place: dict[tuple[str, str | None], list[GateResult]] = defaultdict(list)
    for gate in gates:
        by_place[gate.place].append(gate)
    return by_place


def _stands_for(same: GateResult, gate: GateResult) -> bool:
    """Whether a result is at least as strict as another, also once a waiver or a label has been there.

    A waiver covers a violation up to a ceiling, and neither it nor a label covers single questions: a violation that
    can be waived stands for no larger one, and for nothing that cannot be waived.
    """
    if _weight(same) < _weight(gate):
        return False
    if gate.verdict is Verdict.PASS or not waivable(same):
        return True
    return waivable(gate) and (gate.violation or 0.0) <= (same.violation or 0.0) + TOLERANCE


def _weight(gate: GateResult) -> tuple[int, bool]:
    """How much a result stops; a warning for what is only within noise stops nobody, not even where warnings do."""
    return SEVERITY_ORDER.index(gate.verdict), not gate.within_noise


def _criteria_sentences(base: BaseSide) -> list[str]:
    removed = sum(gate.change == "removed" for gate in base.gates)
    weakened = sum(gate.change == "weakened" for gate in base.gates)
    done = [f"removes {count_text(removed, 'gate')}"] if removed else []
    done += [f"weakens {count_text(weakened, 'gate')}"] if weakened else []
    done += [f"changes `{key.key}`" for key in base.keys if key.weakens]
    return [f"the pull request {_listed(done)}"] if done else []


def _gold_sentences(base: BaseSide) -> list[str]:
    counts = base.queries.done if base.queries else {}
    done = [f"{what} {count_text(count, 'query', 'queries')}" for what, count in counts.items()]
    return [f"the pull request {_listed(done)} of the gold set"] if done else []


def _acceptances_sentence(base: BaseSide) -> str:
    which = f"the run accepted on {base.anchor}, " if base.anchor else ""
    what = {
        "log": "changes or removes acceptances that the base has, whose log only grows",
        "anchor": f"moves the anchor: small losses add up from {which}and would no longer",
    }
    return f"the pull request {what[base.acceptances_changed or 'log']}"


def _to_accept(base: BaseSide) -> list[str]:
    """What fails until a maintainer accepts it."""
    refused = _GOLD_REFUSED.get(base.gold or "")
    found = [f"{refused}; {_BY_LABEL} `{ACCEPT_GOLD}`"] if refused else []
    return found + ([f"{_MOVED}; {_BY_LABEL} `{ACCEPT_RUN}`"] if base.run_moved == "refused" else [])


def _notes(base: BaseSide, by_base: Report | None) -> list[str]:
    whole = base.queries and base.queries.verdict_with_removed and not base.queries.removed_unanswered
    lacking = by_base.queries.missing if whole and by_base and by_base.queries else 0
    missing = count_text(lacking, "question is", "questions are")
    what = {"added": "adds", "deleted": "deletes", "edited": "edits"}.get(base.waivers_changed or "", "")
    counts = "they count once" if base.waivers_changed == "added" else "the base's count until"
    notes = {
        "The base has no ship criteria yet: the pull request's own decide alone.": base.introduced,
        _BASELINE_CHANGED.get(base.baseline_changed or "", ""): base.baseline_changed,
        "The pull request's copy of the baseline is not the run that was judged: accept that run again.": (
            base.baseline_is_this_run is False
        ),
        "The gold set is no file of the base: the job supplied it.": base.gold == "supplied",
        f"Of the base's gold set {missing} absent from the run, which counts as the worst result.": lacking,
        "A maintainer's label has accepted the gold set of this commit.": base.gold == "accepted",
        "A maintainer's label has accepted that the run of this commit lies elsewhere.": base.run_moved == "accepted",
        "The run's rankings are those of the baseline.": base.run_copied == "job",
        f"The pull request {what} waivers: {counts} it is merged.": base.waivers_changed,
    }
    return [note for note, holds in notes.items() if holds]


def _listed(parts: list[str]) -> str:
    return f"{', '.join(parts[:-1])} and {parts[-1]}" if len(parts) > 1 else parts[0]
