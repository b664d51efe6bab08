"""A report as its readers see it: everything chosen, ordered, rounded and limited once, for every output alike.

Text of the inputs stands in it as `Text`, as it is: each medium has its own escaper (`markdown_text.markdown`,
`escape.plain`, and Jinja's autoescape for HTML).
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING

import msgspec

from rankgate.errors import ProblemKind
from rankgate.model.conclusion import ConclusionKind
from rankgate.model.headline import other_sentences, sentence
from rankgate.model.report import Report
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS, count_text, is_plain_name
from rankgate.renderers import phrases
from rankgate.renderers.escape import LONGEST_COMMAND, Pieces, Sentence, Text, command_line
from rankgate.renderers.phrases import Note
from rankgate.renderers.view.numbers import History, Parts, Rows, all_rows, unproven_rows
from rankgate.renderers.view.origins import Origins, accepted_anyway, origins_of

if TYPE_CHECKING:
    from rankgate.renderers.base_changes import Permission
    from rankgate.renderers.links import Link
    from rankgate.renderers.view.answers import LostAnswer
    from rankgate.renderers.view.questions import Lost
    from rankgate.renderers.view.traffic import ChangedTraffic

ALL = 10**9  # more than any report has
MAX_OPEN_PROBLEMS = 5
MAX_NOTES = 40
LONGEST_PROBLEM = 300


class Limits(msgspec.Struct, frozen=True, kw_only=True):
    """How many of each a medium lists; on its first screen `first` rows of what decided and `open` warnings."""

    first: int = 3
    open: int = 2
    numbers: int = 60
    lost: int = 10
    answers: int = 10
    parts: int = 10
    metrics: int = 4
    changes: int = 40
    problems: int = 20


COMMENT = Limits()
EVERYTHING = Limits(first=ALL, open=ALL, numbers=ALL, changes=ALL)


class Problems(msgspec.Struct, frozen=True, kw_only=True):
    """Why nothing could be judged, beyond the conclusion; `first` is on the first screen, `more` is a number."""

    first: tuple[Text, ...] = ()
    further: tuple[Text, ...] = ()
    more: int = 0


class Next(msgspec.Struct, frozen=True, kw_only=True):
    """What to do: the next command, between what is said before and after it, and where to read on.

    `if_meant` says how a loss is accepted that is meant.
    """

    before: str = ""
    command: Text | None = None
    after: str = ""
    if_meant: Sentence = ()
    links: tuple[Link, ...] = ()


class Numbers(msgspec.Struct, frozen=True, kw_only=True):
    """What was measured: `first` the rows of what decided, `all` those of all gates, and a table by tag.

    `values` stand in place of the first rows where all gates hold. `segments` says in one line which hold.
    """

    first: Rows = Rows()
    all: Rows = Rows()
    values: Sentence = ()
    segments: Sentence = ()
    parts: Parts = Parts()
    history: History | None = None


class Remarks(msgspec.Struct, frozen=True, kw_only=True):
    """`warnings` are what failed or warned and is no gate's, `reasons` what rows do not say of gates.

    `more_warnings` says how many of the warnings have no room; these stand before the reasons. `notes` on whom to
    believe stand on the first screen, `fine_print` behind it.
    """

    warnings: tuple[Note, ...] = ()
    more_warnings: str = ""
    reasons: tuple[Note, ...] = ()
    notes: tuple[Sentence, ...] = ()
    fine_print: tuple[Sentence, ...] = ()


class LostQuestions(msgspec.Struct, frozen=True):
    """How many questions got worse and better, and the worst of them."""

    moved: str = ""
    lost: tuple[Lost, ...] = ()


class LostAnswers(msgspec.Struct, frozen=True):
    """How many answers got worse, and the worst of them."""

    moved: str = ""
    lost: tuple[LostAnswer, ...] = ()


class ShownTraffic(msgspec.Struct, frozen=True):
    """What became of questions without labels, and those that get other results."""

    sentence: Sentence = ()
    changed: ChangedTraffic | None = None


class GateChanges(msgspec.Struct, frozen=True, kw_only=True):
    """What the pull request changed of the gate since the commit in `base`, the weakening first; and the waivers."""

    base: Sentence = ()
    listed: tuple[Note, ...] = ()
    more: int = 0
    permissions: tuple[Permission, ...] = ()


class View(msgspec.Struct, frozen=True, kw_only=True):
    """All that is shown of a report; each part can be empty. `left_out` names what does not fit.

    Of `findings` the first is where to look.
    """

    verdict: Verdict
    word: str
    icon: str
    conclusion: Sentence
    findings: tuple[Sentence, ...] = ()
    problems: Problems = Problems()
    next: Next = Next()
    numbers: Numbers = Numbers()
    remarks: Remarks = Remarks()
    questions: LostQuestions = LostQuestions()
    answers: LostAnswers = LostAnswers()
    traffic: ShownTraffic = ShownTraffic()
    gate_changes: GateChanges = GateChanges()
    origins: Origins = Origins()
    left_out: tuple[str, ...] = ()


def view_of(report: Report, limits: Limits = COMMENT) -> View:
    """The view of a report, within the limits of a medium."""
    judged = bool(report.gates) and report.conclusion.kind is not ConclusionKind.EMPTY
    pieces = Pieces()
    conclusion = sentence(report, partial(pieces.spell, limit=40), partial(pieces.spell, limit=600))
    return View(
        verdict=report.verdict,
        word=VERDICT_WORDS[report.verdict],
        icon=phrases.ICONS[report.verdict],
        conclusion=pieces.sentence(conclusion),
        findings=_findings(report) if judged else (),
        problems=_problems(report, limits.problems),
        next=_next(report),
        numbers=_numbers(report, limits, judged=judged),
        remarks=_remarks(report, limits.open, judged=judged),
        questions=_questions(report, limits.lost) if judged else LostQuestions(),
        answers=_answers(report, limits.answers) if judged else LostAnswers(),
        traffic=_traffic(report),
        gate_changes=_gate_changes(report, limits.changes),
        origins=origins_of(report),
    )


def _traffic(report: Report) -> ShownTraffic:
    traffic = report.measured.traffic
    if traffic is None:
        return ShownTraffic()
    from rankgate.renderers.view.traffic import changed_traffic, traffic_sentence  # noqa: PLC0415 -- paid only where there is traffic

    return ShownTraffic(traffic_sentence(traffic), changed_traffic(traffic))


def _links(report: Report) -> tuple[Link, ...]:
    if report.links is None:
        return ()
    from rankgate.renderers.links import links_of  # noqa: PLC0415 -- paid only where a job knows addresses

    return links_of(report)


def _questions(report: Report, most: int) -> LostQuestions:
    if not report.changes.misses:
        return LostQuestions(_moved(report))
    from rankgate.renderers.view.questions import questions_of  # noqa: PLC0415 -- paid only where questions moved

    return LostQuestions(_moved(report), questions_of(report, most))


def _answers(report: Report, most: int) -> LostAnswers:
    answers = report.changes.answers
    if answers is None:
        return LostAnswers()
    from rankgate.renderers.view.answers import answers_of  # noqa: PLC0415 -- paid only where answers are judged

    moved = f"{count_text(answers.worse, 'answer')} got worse" if answers.worse else ""
    return LostAnswers(moved, answers_of(report, most))


def _problems(report: Report, most: int) -> Problems:
    """The problems beyond the one that the conclusion says in full, which is a line."""
    texts = [str(problem) for problem in report.problems]
    internal = any(problem.kind is ProblemKind.INTERNAL for problem in report.problems)
    in_headline = report.conclusion.kind is ConclusionKind.NOT_JUDGED and not internal
    if in_headline and texts and len(texts[0].splitlines()) == 1:
        texts = texts[1:]
    listed = tuple(Text(each, LONGEST_PROBLEM) for each in texts[:most])
    more = max(0, len(texts) - most)
    return Problems(first=listed[:MAX_OPEN_PROBLEMS], further=listed[MAX_OPEN_PROBLEMS:], more=more)


def _findings(report: Report) -> tuple[Sentence, ...]:
    """Sentences with the tag where `{tag}` stands."""
    findings: list[Sentence] = []
    for each in report.explanation.diagnosis:
        tag = str(each.evidence.get("tag", ""))
        text_before, _, text_after = each.finding.partition("{tag}")
        pieces = (text_before, Text(tag, 40) if tag else "", f"{text_after}.")
        findings.append(tuple(filter(None, pieces)))
    return tuple(findings)


def _reasons(report: Report) -> tuple[Note, ...]:
    if all(gate.verdict is Verdict.PASS for gate in report.gates):
        return ()
    from rankgate.renderers.view.reasons import reasons_of  # noqa: PLC0415 -- paid only where a gate does not hold

    return tuple(reasons_of(report))


def _first_rows(report: Report, most: int) -> Rows:
    """What decided, or where nothing failed or warns, what lies beyond its limit within noise."""
    if report.verdict is Verdict.PASS:
        return unproven_rows(report, most)
    from rankgate.renderers.view.decided import first_rows  # noqa: PLC0415 -- paid only where something does not hold

    return first_rows(report, most)


def _if_meant(report: Report) -> Sentence:
    if report.conclusion.kind is not ConclusionKind.GATE_FAILS:
        return ()
    from rankgate.renderers.view.reasons import if_meant  # noqa: PLC0415 -- paid only where a gate fails

    return if_meant(report)


def _moved(report: Report) -> str:
    """How many questions got worse and better; of all, where the conclusion has counted those of a part.

    The metric is named where the conclusion is about another one, by which other questions got worse.
    """
    moved = report.changes.moved
    if moved is None:
        return ""
    metric = next((each.metric for each in report.changes.misses), None)
    if metric is not None and report.conclusion.metric not in (None, metric):
        of_which = metric if all(map(is_plain_name, metric.split("@"))) else "another metric"
        return f"{count_text(moved.worse, 'question')} got worse in {of_which}, {moved.better:,} better"
    of_all = " in all" if report.conclusion.segment is not None else ""
    return f"{count_text(moved.worse, 'question')} got worse{of_all}, {moved.better:,} got better"


def _warnings(report: Report) -> tuple[Note, ...]:
    """What failed or warned and is no gate's, without what the conclusion says."""
    pieces = Pieces()
    others = other_sentences(report, partial(pieces.spell, limit=60), partial(pieces.spell, limit=200))
    return tuple(Note(verdict, pieces.sentence(f"{text}.")) for verdict, text in others)


def _next(report: Report) -> Next:
    """The next command; of one that asks again about an empty list also what it shows."""
    command, empties = report.conclusion.next, report.measured.empties
    before, after = "Next:", ""
    if report.conclusion.kind is ConclusionKind.NO_BASELINE:
        before = "Accept it as the first baseline, and commit what that writes:"
        if report.base is not None:
            before = "After the merge, on the main branch, accept a first baseline and commit what that writes:"
    if command[1:2] == ["record"] and empties:
        had = f"; the baseline had {count_text(empties.before, 'result')}" if empties.before else ""
        after = f" asks it one question and prints the list{had}."
    return Next(
        before=before,
        command=Text(command_line(command), LONGEST_COMMAND) if command else None,
        after=after,
        if_meant=_if_meant(report),
        links=_links(report),
    )


def _numbers(report: Report, limits: Limits, *, judged: bool) -> Numbers:
    first = _first_rows(report, limits.first)
    parts = Parts()
    history = None
    if report.measured.segments or report.measured.trend:
        from rankgate.renderers.view.parts import history_of, parts_of  # noqa: PLC0415 -- paid only where there are any

        parts = parts_of(report, limits.parts, limits.metrics)
        history = history_of(report)
    if not judged:
        return Numbers(first=first, history=history)
    return Numbers(
        first=first,
        all=all_rows(report, limits.numbers),
        values=() if first.rows else _values(report),
        segments=_segments(report),
        parts=parts,
        history=history,
    )


def _remarks(report: Report, most: int, *, judged: bool) -> Remarks:
    """At most `most` warnings on the first screen, and notes where a pull request brings the run or its criteria."""
    warnings = _warnings(report)
    unlisted = len(warnings) - most
    notes: list[Sentence] = [(note,) for note in report.remarks.notes]
    on_first_screen = COMMENT.open if report.origin.untrusted_run or report.base else 0
    reasons = _reasons(report) if judged else ()
    return Remarks(
        warnings=warnings[:most],
        more_warnings=count_text(unlisted, "more warning") if unlisted > 0 else "",
        reasons=(*warnings[most:], *reasons),
        notes=tuple(filter(None, (accepted_anyway(report), *notes[:on_first_screen]))),
        fine_print=(*_fine_print(report), *notes[on_first_screen:MAX_NOTES]) if report.gates else (),
    )


def _values(report: Report) -> Sentence:
    """Where all gates hold, what they measured; nothing where the conclusion says all of it."""
    mains = {gate.metric for gate in report.gates if gate.is_main}
    unsaid = report.conclusion.kind in (ConclusionKind.WARNING, ConclusionKind.EMPTY_SEGMENT) or len(mains) > 1
    calm = all(gate.verdict is Verdict.PASS for gate in report.gates)
    return (phrases.values_line(report),) if calm and unsaid else ()


def _segments(report: Report) -> Sentence:
    if all(gate.segment is None for gate in report.gates):
        return ()
    from rankgate.renderers.view.decided import segments_line  # noqa: PLC0415 -- paid only where gates have segments

    pieces = Pieces()
    return pieces.sentence(segments_line(report, pieces.spell))


def _gate_changes(report: Report, most: int) -> GateChanges:
    """By what the pull request was judged, what it changed, nothing of that without a base; and the waivers."""
    if report.base is None and not report.waivers:
        return GateChanges()
    from rankgate.renderers.base_changes import both_verdicts, changes, permissions_of  # noqa: PLC0415 -- paid only where there are any

    permissions = permissions_of(report)
    if report.base is None:
        return GateChanges(permissions=permissions)
    pieces = Pieces()
    levels = {True: Verdict.WARN, False: Verdict.PASS}
    listed = [Note(levels[each.weakens], pieces.sentence(each.text)) for each in changes(report, pieces.spell)]
    return GateChanges(
        base=("Changed since ", Text(report.base.commit.shown, 120), f"; {both_verdicts(report.base)}:"),
        listed=tuple(listed[:most]),
        more=max(0, len(listed) - most),
        permissions=permissions,
    )


def _fine_print(report: Report) -> tuple[Sentence, ...]:
    """Who judged the answers, how many questions count, and what is suspicious in the lists."""
    pieces = Pieces()
    lines = [
        *_answer_lines(report, pieces),
        phrases.queries_line(report),
        *_odd_lines(report, pieces),
    ]
    return tuple(pieces.sentence(line) for line in lines if line)


def _answer_lines(report: Report, pieces: Pieces) -> list[str]:
    by_judge = any(gate.by_judge or gate.no_verdicts for gate in report.gates)
    if not (by_judge or report.provenance.judge or report.changes.answers):
        return []
    from rankgate.renderers.view.answers import answer_lines  # noqa: PLC0415 -- paid only where answers are judged

    return answer_lines(report, pieces.spell)


def _odd_lines(report: Report, pieces: Pieces) -> list[str]:
    odd = report.explanation.oddities
    if odd is None:
        return []
    from rankgate.renderers.explanation import odd_lines  # noqa: PLC0415 -- paid only where lists are suspicious

    return odd_lines(odd, pieces.spell, compared=report.provenance.baseline is not None)
