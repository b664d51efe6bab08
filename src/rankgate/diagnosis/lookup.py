"""What a word on the command line names: a gate, or a question of the gold set."""

from __future__ import annotations

from rankgate.errors import bad_input, did_you_mean, shown
from rankgate.metrics.names import UnknownMetricError, parse_metric
from rankgate.model.details import Question, ReportDetails
from rankgate.model.report import GateResult, Report


def gates_named(report: Report, word: str) -> list[GateResult]:
    """The gates of that name, else those of that metric in any of its spellings; empty where there is none.

    Rows about a part, such as a segment or the drift since an anchor, are not among them: they go with their gate.
    """
    gates = whole_gates(report)
    by_name = [gate for gate in gates if gate.name == word]
    if by_name:
        return by_name
    try:
        metric = parse_metric(word).name
    except UnknownMetricError:
        return [gate for gate in gates if gate.metric == word]
    return [gate for gate in gates if gate.metric == metric]


def whole_gates(report: Report) -> list[GateResult]:
    """The gates as the head's criteria have them, one row each; those that only the base has."""
    own = [gate for gate in report.gates if gate.segment is None and gate.since is None]
    heads = {gate.name for gate in own if gate.judged_by is None}
    return [gate for gate in own if gate.judged_by is None or gate.name not in heads]


def question_named(details: ReportDetails, word: str) -> Question | None:
    """The question of that id."""
    return next((question for question in details.questions if question.query_id == word), None)


def unknown_gate(report: Report, word: str) -> Exception:
    """The error for a word that names no gate."""
    return bad_input(f"no gate {shown(word)}{did_you_mean(word, _gate_words(report))} (gates: {_listed(report)})")


def unknown_question(details: ReportDetails, word: str) -> Exception:
    """The error for a word that names no question."""
    ids = [question.query_id for question in details.questions]
    return bad_input(f"no question {shown(word)} in the gold set{did_you_mean(word, ids)}")


def unknown(report: Report, details: ReportDetails, word: str) -> Exception:
    """The error for a word that names neither."""
    known = [*_gate_words(report), *(question.query_id for question in details.questions)]
    what = f"neither a gate nor a question of the gold set is called {shown(word)}"
    return bad_input(f"{what}{did_you_mean(word, known)} (gates: {_listed(report)})")


def _gate_words(report: Report) -> list[str]:
    return [word for gate in whole_gates(report) for word in (gate.metric, gate.name)]


def _listed(report: Report) -> str:
    return ", ".join(dict.fromkeys(shown(gate.metric)[1:-1] for gate in whole_gates(report))) or "none"
