"""A report as its readers see it: everything chosen, ordered, rounded and limited once, for every output alike.

Text of the inputs stands in it as `Text`, as it is: each medium has its own escaper (`escape.markdown`, `escape.plain`,
and Jinja's autoescape for HTML).
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
from rankgate.model.wording import VERDICT_WORDS, count_text
from rankgate.renderers import phrases
from rankgate.renderers.escape import Pieces, Sentence, Text, command_line
from rankgate.renderers.phrases import Note
from rankgate.renderers.view.origins import Origin, accepted_anyway, facts_of, origins_of
from rankgate.renderers.view.parts import History, Parts, history_of, parts_of
from rankgate.renderers.view.rows import Rows, all_rows, first_rows

if TYPE_CHECKING:
    from rankgate.renderers.links import Link
    from rankgate.renderers.view.answers import LostAnswer
    from rankgate.renderers.view.questions import Lost
    from rankgate.renderers.view.traffic import ChangedTraffic
    from rankgate.renderers.view.waivers import Permission

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


class Next(msgspec.Struct, frozen=True):
    """The next command, between what is said before and after it."""

    before: str
    command: Text
    after: str


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The first screen: `conclusion` to `history`. Behind it: `lost` to `command`; `left_out` names what does not fit.

    `traffic` is what became of questions without labels, `changed_traffic` those that get other results.
    `moved` counts the questions that got worse and better, of which `lost` are the worst; so do `answers_moved` and
    `answers`. `first` are the rows of what decided, `numbers` those of all gates. `warnings` are what failed or
    warned and is no gate's, `reasons` what rows do not say of gates, `gate_changes` what the pull request changed of
    the gate, the weakening first. `if_meant` says how a loss is accepted that is meant. `notes` on whom to believe
    stand on the first screen, `fine_print` behind it. `also` are the findings after the first, `facts` say in one
    line which runs these are, `permissions` are the waivers.
    """

    verdict: Verdict
    word: str
    icon: str
    conclusion: Sentence
    traffic: Sentence = ()
    changed_traffic: ChangedTraffic | None = None
    look_first: Sentence = ()
    also: tuple[Sentence, ...] = ()
    facts: Sentence = ()
    problems: tuple[Text, ...] = ()
    further_problems: tuple[Text, ...] = ()
    more_problems: int = 0
    first: Rows = Rows()
    warnings: tuple[Note, ...] = ()
    next: Next | None = None
    if_meant: Sentence = ()
    links: tuple[Link, ...] = ()
    values: Sentence = ()
    notes: tuple[Sentence, ...] = ()
    history: History | None = None
    moved: str = ""
    lost: tuple[Lost, ...] = ()
    answers_moved: str = ""
    answers: tuple[LostAnswer, ...] = ()
    numbers: Rows = Rows()
    segments: Sentence = ()
    reasons: tuple[Note, ...] = ()
    parts: Parts = Parts()
    base: Sentence = ()
    gate_changes: tuple[Note, ...] = ()
    more_changes: int = 0
    permissions: tuple[Permission, ...] = ()
    differs: Sentence = ()
    fine_print: tuple[Sentence, ...] = ()
    origins: tuple[Origin, ...] = ()
    command: Text | None = None
    left_out: tuple[str, ...] = ()


def view_of(report: Report, limits: Limits = COMMENT) -> View:
    """The view of a report, within the limits of a medium."""
    judged = bool(report.gates) and report.conclusion.kind is not ConclusionKind.EMPTY
    warnings, notes = _warnings(report), [*report.remarks.notes, *report.remarks.fine_print]
    reasons = _reasons(report) if judged else ()
    believed = COMMENT.open if report.origin.untrusted_run or report.base else 0
    first = first_rows(report, limits.first)
    changed = _changes(report)
    traffic, changed_traffic = _traffic(report)
    listed = _problems(report)
    findings = _findings(report) if judged else []
    answers = report.changes.answers
    worse_answers = answers.worse if judged and answers else 0
    problems = tuple(Text(each, LONGEST_PROBLEM) for each in listed[: limits.problems])
    return View(
        verdict=report.verdict,
        word=VERDICT_WORDS[report.verdict],
        icon=phrases.ICONS[report.verdict],
        conclusion=_conclusion(report),
        traffic=traffic,
        changed_traffic=changed_traffic,
        look_first=findings[0] if findings else (),
        also=tuple(findings[1:]),
        facts=facts_of(report),
        problems=problems[:MAX_OPEN_PROBLEMS],
        further_problems=problems[MAX_OPEN_PROBLEMS:],
        more_problems=max(0, len(listed) - limits.problems),
        first=first,
        warnings=warnings[: limits.open],
        next=_next(report),
        if_meant=_if_meant(report),
        links=_links(report),
        values=_values(report) if judged and not first.rows else (),
        notes=tuple(filter(None, (accepted_anyway(report), *((note,) for note in notes[:believed])))),
        history=history_of(report),
        moved=_moved(report) if judged else "",
        lost=_lost(report, limits.lost) if judged else (),
        answers_moved=f"{count_text(worse_answers, 'answer')} got worse" if worse_answers else "",
        answers=_lost_answers(report, limits.answers) if judged else (),
        numbers=all_rows(report, limits.numbers) if judged else Rows(),
        segments=_segments(report) if judged else (),
        reasons=(*warnings[limits.open :], *reasons),
        parts=parts_of(report, limits.parts, limits.metrics) if judged else Parts(),
        base=_base(report),
        gate_changes=changed[: limits.changes],
        more_changes=max(0, len(changed) - limits.changes),
        permissions=_permissions(report),
        differs=_differs(report),
        fine_print=(*_fine_print(report), *((note,) for note in notes[believed:MAX_NOTES])) if report.gates else (),
        origins=origins_of(report),
        command=Text(command_line(report.provenance.command), 2_000) if report.provenance.command else None,
    )


def _conclusion(report: Report) -> Sentence:
    pieces = Pieces()
    return pieces.sentence(sentence(report, partial(pieces.spell, limit=40), partial(pieces.spell, limit=600)))


def _traffic(report: Report) -> tuple[Sentence, ChangedTraffic | None]:
    """What became of the questions without labels, and those that get other results."""
    if report.measured.traffic is None:
        return (), None
    from rankgate.renderers.view.traffic import changed_traffic, traffic_sentence  # noqa: PLC0415 -- paid only where there is traffic

    return traffic_sentence(report), changed_traffic(report)


def _links(report: Report) -> tuple[Link, ...]:
    if report.links is None:
        return ()
    from rankgate.renderers.links import links_of  # noqa: PLC0415 -- paid only where a job knows addresses

    return links_of(report)


def _lost(report: Report, most: int) -> tuple[Lost, ...]:
    if not report.changes.misses:
        return ()
    from rankgate.renderers.view.questions import questions_of  # noqa: PLC0415 -- paid only where questions moved

    return questions_of(report, most)


def _lost_answers(report: Report, most: int) -> tuple[LostAnswer, ...]:
    if report.changes.answers is None:
        return ()
    from rankgate.renderers.view.answers import answers_of  # noqa: PLC0415 -- paid only where answers are judged

    return answers_of(report, most)


def _permissions(report: Report) -> tuple[Permission, ...]:
    if not report.waivers:
        return ()
    from rankgate.renderers.view.waivers import permissions_of  # noqa: PLC0415 -- paid only where there are waivers

    return permissions_of(report)


def _problems(report: Report) -> list[str]:
    """The problems beyond the one that the conclusion says in full."""
    texts = [str(problem) for problem in report.problems]
    internal = any(problem.kind is ProblemKind.INTERNAL for problem in report.problems)
    in_headline = report.conclusion.kind is ConclusionKind.NOT_JUDGED and not internal
    return texts[1:] if in_headline and len(texts[:1]) == len("".join(texts[:1]).splitlines()) else texts


def _findings(report: Report) -> list[Sentence]:
    """Sentences with the tag where `{tag}` stands; reports of old name it at the end."""
    findings: list[Sentence] = []
    for each in report.explanation.diagnosis:
        tag = str(each.evidence.get("tag", ""))
        before, named, after = each.finding.partition("{tag}")
        if tag and not named:
            before = f"{before}: "
        findings.append(tuple(filter(None, (before, Text(tag, 40) if tag else "", f"{after}."))))
    return findings


def _reasons(report: Report) -> tuple[Note, ...]:
    if all(gate.verdict is Verdict.PASS for gate in report.gates):
        return ()
    from rankgate.renderers.view.reasons import reasons_of  # noqa: PLC0415 -- paid only where a gate does not hold

    return tuple(reasons_of(report))


def _if_meant(report: Report) -> Sentence:
    if report.conclusion.kind is not ConclusionKind.GATE_FAILS:
        return ()
    from rankgate.renderers.view.reasons import if_meant  # noqa: PLC0415 -- paid only where a gate fails

    return if_meant(report)


def _moved(report: Report) -> str:
    """How many questions got worse and better; of all, where the conclusion has counted those of a part."""
    moved = report.changes.moved
    if moved is None:
        return ""
    of_all = " in all" if report.conclusion.segment is not None else ""
    return f"{count_text(moved.worse, 'question')} got worse{of_all}, {moved.better:,} got better"


def _warnings(report: Report) -> tuple[Note, ...]:
    """What failed or warned and is no gate's, without what the conclusion says."""
    pieces = Pieces()
    others = other_sentences(report, partial(pieces.spell, limit=60), partial(pieces.spell, limit=200))
    return tuple(Note(verdict, pieces.sentence(f"{text}.")) for verdict, text in others)


def _next(report: Report) -> Next | None:
    """The next command; of one that asks again about an empty list also what it shows."""
    command, empties = report.conclusion.next, report.measured.empties
    if not command:
        return None
    before, after = "Next:", ""
    if report.conclusion.kind is ConclusionKind.NO_BASELINE:
        before = "Accept it as the first baseline, and commit what that writes:"
        if report.base is not None:
            before = "After the merge, on the main branch, accept a first baseline and commit what that writes:"
    if "--only" in command and empties:
        had = f"; the baseline had {count_text(empties.before, 'result')}" if empties.before else ""
        after = f" asks it one question and prints the list{had}."
    return Next(before, Text(command_line(command)), after)


def _values(report: Report) -> Sentence:
    """Where all gates hold, what they measured; nothing where the conclusion says all of it."""
    mains = {gate.metric for gate in report.gates if gate.is_main}
    unsaid = report.conclusion.kind in (ConclusionKind.WARNING, ConclusionKind.EMPTY_SEGMENT) or len(mains) > 1
    calm = all(gate.verdict is Verdict.PASS for gate in report.gates)
    return (phrases.values_line(report),) if calm and unsaid else ()


def _segments(report: Report) -> Sentence:
    if all(gate.segment is None for gate in report.gates):
        return ()
    from rankgate.renderers.segment_lines import segments_line  # noqa: PLC0415 -- paid only where gates have segments

    pieces = Pieces()
    return pieces.sentence(segments_line(report, pieces.spell))


def _base(report: Report) -> Sentence:
    """By what the pull request was judged; nothing without a base."""
    if report.base is None:
        return ()
    from rankgate.renderers.base_changes import both_verdicts  # noqa: PLC0415 -- paid only where a base is named

    return ("Changed since ", Text(report.base.commit.shown, 120), f"; {both_verdicts(report.base)}:")


def _changes(report: Report) -> tuple[Note, ...]:
    if report.base is None:
        return ()
    from rankgate.renderers.base_changes import changes  # noqa: PLC0415 -- paid only where a base is named

    pieces = Pieces()
    levels = {True: Verdict.WARN, False: Verdict.PASS}
    return tuple(Note(levels[each.weakens], pieces.sentence(each.text)) for each in changes(report, pieces.spell))


def _differs(report: Report) -> Sentence:
    if not report.explanation.differences and report.explanation.gold_changes is None:
        return ()
    from rankgate.renderers.what_differs import differences_line  # noqa: PLC0415 -- paid only where something differs

    pieces = Pieces()
    return pieces.sentence(differences_line(report, pieces.spell))


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
    from rankgate.renderers.answer_rows import answer_lines  # noqa: PLC0415 -- paid only where answers are judged

    return answer_lines(report, pieces.spell)


def _odd_lines(report: Report, pieces: Pieces) -> list[str]:
    if report.explanation.oddities is None:
        return []
    from rankgate.renderers.odd_lists import odd_lines  # noqa: PLC0415 -- paid only where lists are suspicious

    return odd_lines(report, pieces.spell)
