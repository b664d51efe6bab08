"""A report as its readers see it: everything chosen, ordered, rounded and limited once, for every output alike.

Text of the inputs stands in it as `Text`, as it is: each medium has its own escaper (`escape.markdown`, `escape.plain`,
and Jinja's autoescape for HTML).
"""

from __future__ import annotations

from functools import partial

import msgspec

from rankgate.errors import ProblemKind
from rankgate.model.conclusion import ConclusionKind
from rankgate.model.headline import other_sentences, sentence
from rankgate.model.report import Report
from rankgate.model.values import Verdict
from rankgate.model.wording import VERDICT_WORDS, count_text
from rankgate.renderers import phrases
from rankgate.renderers.answer_rows import answer_lines
from rankgate.renderers.base_changes import changes
from rankgate.renderers.escape import Pieces, Sentence, Text, command_line
from rankgate.renderers.links import Link, links_of
from rankgate.renderers.view.origins import Origin, accepted_anyway, origins_of
from rankgate.renderers.view.parts import History, Parts, history_of, parts_of
from rankgate.renderers.view.questions import Lost, LostAnswer, answers_of, questions_of
from rankgate.renderers.view.rows import MAX_NUMBERS, MAX_ROWS, Note, Rows, all_rows, first_rows, reasons_of
from rankgate.renderers.what_differs import differences_line

MAX_OPEN_PROBLEMS, MAX_PROBLEMS = 5, 20
MAX_OPEN = 2  # warnings and notes on the first screen
MAX_CHANGES, MAX_NOTES = 40, 40
LONGEST_PROBLEM = 300


class Next(msgspec.Struct, frozen=True):
    """The next command, between what is said before and after it."""

    before: str
    command: Text
    after: str


class View(msgspec.Struct, frozen=True, kw_only=True):
    """The first screen: `conclusion` to `history`. Behind it: `lost` to `command`; `left_out` names what does not fit.

    `moved` counts the questions that got worse and better, of which `lost` are the worst; so do `answers_moved` and
    `answers`. `first` are the rows of what decided, `numbers` those of all gates. `warnings` are what failed or warned
    and is no gate's, `reasons` what rows do not say of gates, `gate_changes` what the pull request changed of the gate,
    the weakening first. `notes` on whom to believe stand on the first screen, `fine_print` behind it.
    """

    verdict: Verdict
    word: str
    icon: str
    conclusion: Sentence
    look_first: Sentence = ()
    problems: tuple[Text, ...] = ()
    further_problems: tuple[Text, ...] = ()
    more_problems: int = 0
    first: Rows = Rows()
    warnings: tuple[Note, ...] = ()
    next: Next | None = None
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
    differs: Sentence = ()
    fine_print: tuple[Sentence, ...] = ()
    origins: tuple[Origin, ...] = ()
    command: Text | None = None
    left_out: tuple[str, ...] = ()


def view_of(report: Report, *, rows: int = MAX_ROWS, everything: bool = False) -> View:
    """The view, with so many rows of what decided; `everything` lists all rows, warnings and changes of the report."""
    judged = bool(report.gates) and report.conclusion.kind is not ConclusionKind.EMPTY
    warnings, notes = _warnings(report), [*report.notes, *report.fine_print]
    reasons = tuple(reasons_of(report)) if judged else ()
    most = len(warnings) if everything else MAX_OPEN
    believed = MAX_OPEN if report.untrusted_run or report.base else 0
    changed, limit = _changes(report), None if everything else MAX_CHANGES
    listed = _problems(report)
    problems = tuple(Text(each, LONGEST_PROBLEM) for each in listed[:MAX_PROBLEMS])
    return View(
        verdict=report.verdict,
        word=VERDICT_WORDS[report.verdict],
        icon=phrases.ICONS[report.verdict],
        conclusion=_conclusion(report),
        look_first=_look_first(report) if judged else (),
        problems=problems[:MAX_OPEN_PROBLEMS],
        further_problems=problems[MAX_OPEN_PROBLEMS:],
        more_problems=max(0, len(listed) - MAX_PROBLEMS),
        first=first_rows(report, len(report.gates) if everything else rows),
        warnings=warnings[:most],
        next=_next(report),
        links=links_of(report),
        values=_values(report) if judged else (),
        notes=tuple(filter(None, (accepted_anyway(report), *((note,) for note in notes[:believed])))),
        history=history_of(report),
        moved=phrases.moved_head(report) if judged else "",
        lost=questions_of(report) if judged else (),
        answers_moved=_answers_moved(report) if judged else "",
        answers=answers_of(report) if judged else (),
        numbers=all_rows(report, len(report.gates) if everything else MAX_NUMBERS) if judged else Rows(),
        segments=_segments(report) if judged else (),
        reasons=(*warnings[most:], *reasons),
        parts=parts_of(report) if judged else Parts(),
        base=_base(report),
        gate_changes=changed[:limit],
        more_changes=len(changed) - len(changed[:limit]),
        differs=_differs(report) if report.gates else (),
        fine_print=(*_fine_print(report), *((note,) for note in notes[believed:MAX_NOTES])) if report.gates else (),
        origins=origins_of(report),
        command=Text(command_line(report.provenance.command), 2_000) if report.provenance.command else None,
    )


def _conclusion(report: Report) -> Sentence:
    pieces = Pieces()
    return pieces.sentence(sentence(report, partial(pieces.spell, limit=40), partial(pieces.spell, limit=600)))


def _problems(report: Report) -> list[str]:
    """The problems beyond the one that the conclusion says in full."""
    texts = [str(problem) for problem in report.problems]
    internal = any(problem.kind is ProblemKind.INTERNAL for problem in report.problems)
    said = report.conclusion.kind is ConclusionKind.NOT_JUDGED and not internal
    return texts[1:] if said and len(texts[:1]) == len("".join(texts[:1]).splitlines()) else texts


def _look_first(report: Report) -> Sentence:
    if not report.diagnosis:
        return ()
    before, tag, after = phrases.finding_parts(report.diagnosis[0])
    return tuple(filter(None, (before, Text(tag, 40) if tag else "", f"{after}.")))


def _warnings(report: Report) -> tuple[Note, ...]:
    """What failed or warned and is no gate's, without what the conclusion says."""
    pieces = Pieces()
    others = other_sentences(report, partial(pieces.spell, limit=60), partial(pieces.spell, limit=200))
    return tuple(Note(verdict, pieces.sentence(f"{text}.")) for verdict, text in others)


def _next(report: Report) -> Next | None:
    command = report.conclusion.next
    if not command:
        return None
    return Next(phrases.next_head(report), Text(command_line(command)), phrases.next_tail(report))


def _values(report: Report) -> Sentence:
    """Where all gates hold, what they measured; nothing where the conclusion says all of it."""
    mains = {gate.metric for gate in report.gates if gate.is_main}
    unsaid = report.conclusion.kind in (ConclusionKind.WARNING, ConclusionKind.EMPTY_SEGMENT) or len(mains) > 1
    calm = all(gate.verdict is Verdict.PASS for gate in report.gates)
    return (phrases.values_line(report),) if calm and unsaid else ()


def _answers_moved(report: Report) -> str:
    worse = report.answers.worse if report.answers else 0
    return f"{count_text(worse, 'answer')} got worse" if worse else ""


def _segments(report: Report) -> Sentence:
    pieces = Pieces()
    return pieces.sentence(phrases.segments_line(report, pieces.spell))


def _base(report: Report) -> Sentence:
    """By what the pull request was judged; nothing without a base."""
    if report.base is None:
        return ()
    return ("Changed since ", Text(report.base.commit.shown, 120), f"; {phrases.both_verdicts(report.base)}:")


def _changes(report: Report) -> tuple[Note, ...]:
    pieces = Pieces()
    levels = {True: Verdict.WARN, False: Verdict.PASS}
    return tuple(Note(levels[each.weakens], pieces.sentence(each.text)) for each in changes(report, pieces.spell))


def _differs(report: Report) -> Sentence:
    pieces = Pieces(200)
    return pieces.sentence(differences_line(report, pieces.spell))


def _fine_print(report: Report) -> tuple[Sentence, ...]:
    """Who judged the answers, how many questions count, and what is suspicious in the lists."""
    pieces = Pieces()
    lines = [
        *answer_lines(report, pieces.spell),
        phrases.queries_line(report),
        *phrases.odd_lines(report, pieces.spell),
    ]
    return tuple(pieces.sentence(line) for line in lines if line)
