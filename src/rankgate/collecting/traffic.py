"""Traffic questions: whose lists differ between two runs, which are drawn, and what labels say of the change.

People label on a sheet, without knowing whose the documents are. Filled sheets are merged into the file of labels.
"""

from __future__ import annotations

import hashlib
import json
import re
import unicodedata
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from rankgate.collecting.pool import results_of
from rankgate.collecting.sheets import as_json_lines, as_sheet
from rankgate.collecting.sheets import rows_of as rows_in
from rankgate.errors import Problem, shown
from rankgate.metrics.base import Metric
from rankgate.metrics.matching import Matching
from rankgate.model.traffic_lists import TrafficLabel, TrafficLists, TrafficPair, TrafficQuestion, TrafficSheet
from rankgate.model.values import Ranking
from rankgate.readers.base import ProblemLog, digest_matches, finite_number
from rankgate.readers.source import open_source
from rankgate.statistics.calibration import kappa
from rankgate.statistics.traffic import Draw, draw_questions

# Families that see which documents are among the first k, and not in what order.
_OF_SETS = frozenset({"hit", "recall", "recall_all", "capped_recall", "weighted_recall", "precision", "f"})

LEAST = 30  # drawn questions that have to be labelled before anything can fail
_DIGITS = 16

Known = Mapping[str, bool]  # by document whether it is relevant, as one person says
Bounds = tuple[float, float]

_COLUMNS = ("query_id", "question", "document", "text", "relevant", "labeller", "row")
_NEEDED = ("query_id", "document", "relevant")
_WANTED = f"a sheet of `gold pool --traffic` is JSONL, or CSV whose header names {', '.join(_NEEDED)} once each"
_HEAD = re.compile(r"sheet of (\d+) for run ([0-9a-f]{16}), baseline ([0-9a-f]{16})")
_YES = frozenset({"yes", "y", "true", "x", "relevant", "one", "ja", "oui", "si", "sí", "да", "はい"})
_NO = frozenset({"no", "n", "false", "not relevant", "irrelevant", "zero", "nein", "non", "нет", "いいえ"})


def limited(questions: Sequence[TrafficQuestion], most: int | None) -> list[TrafficQuestion]:
    """So many of the questions, the first by the hash of their ids, in the order of the file; all without a limit."""
    if most is None or most >= len(questions):
        return list(questions)
    by_hash = sorted(
        questions, key=lambda each: hashlib.sha256(each.query_id.encode("utf-8", "surrogatepass")).digest()
    )
    taken = {each.query_id for each in by_hash[:most]}
    return [each for each in questions if each.query_id in taken]


def sees_order(metric: Metric) -> bool:
    """Whether another order of the same documents can change the metric."""
    inner = getattr(metric, "metric", metric)
    return inner.ranking and inner.key not in _OF_SETS


def compared_lists(
    questions: Sequence[TrafficQuestion],
    now: Iterable[Ranking],
    baseline: Iterable[Ranking],
    *,
    k: int,
    by_order: bool,
    how: Matching,
) -> TrafficLists:
    """What both runs return among the first k for each question that the accepted run has, by its text.

    The accepted run decides which questions count, so that a run cannot hide what it changed: where it has no line for
    one of them, or a line for another text, the list counts as empty. With `by_order` another order is a change, too.
    """
    new = _documents(questions, now, how)
    old = _documents(questions, baseline, how)
    pairs: list[TrafficPair] = []
    for question in questions:
        if question.query_id not in old:
            continue
        was = old[question.query_id][:k]
        documents = new.get(question.query_id, ())[:k]
        same = was == documents if by_order else set(was) == set(documents)
        absent = question.query_id not in new
        pairs.append(
            TrafficPair(question=question, before=was, now=documents, changed=absent or not same, absent=absent)
        )
    return TrafficLists(k=k, named=len(questions), pairs=tuple(pairs))


def _documents(
    questions: Sequence[TrafficQuestion], rankings: Iterable[Ranking], how: Matching
) -> dict[str, tuple[str, ...]]:
    """By question the documents of its list, each once, of the lines that answer its text."""
    texts = {each.query_id: each.question for each in questions}
    documents: dict[str, tuple[str, ...]] = {}
    for ranking in rankings:
        text = texts.get(ranking.query_id)
        if text is None or not ranking.traffic:
            continue
        if ranking.question_digest is None or digest_matches(ranking.question_digest, text):
            results = (document for document, _ in results_of(ranking, how))
            documents[ranking.query_id] = tuple(dict.fromkeys(results))
    return documents


def sheet_of(lists: TrafficLists, n: int) -> TrafficSheet:
    """What names a sheet of n questions for this pair of runs."""
    return TrafficSheet(
        run=_digest((pair.question.query_id, pair.now) for pair in lists.pairs),
        baseline=_digest((pair.question.query_id, pair.before) for pair in lists.pairs),
        n=n,
    )


def drawn_for(lists: TrafficLists, n: int) -> Draw:
    """The draw of n changed questions for this pair of runs.

    Its key has both runs: with that of the accepted run alone the next run of a pull request would get the questions
    again whose losses were repaired because they were drawn, and would look better than it is.
    """
    sheet = sheet_of(lists, n)
    counts = {pair.question.query_id: pair.question.count for pair in lists.changed}
    return draw_questions(counts, lists.total, f"{sheet.baseline}\0{sheet.run}", n)


def drawn_by(lists: TrafficLists, sheets: Iterable[TrafficSheet]) -> int:
    """How many questions were drawn for this pair, by the sheets that came back; those of other pairs draw nothing."""
    pair = sheet_of(lists, 1)
    return max((each.n for each in sheets if (each.run, each.baseline) == (pair.run, pair.baseline)), default=0)


def known_labels(labels: Iterable[TrafficLabel]) -> dict[str, list[Known]]:
    """By question what each person says of its documents; of what somebody leaves open, what the others say."""
    by_person: dict[str, dict[str, dict[str, bool]]] = {}
    for label in labels:
        of_question = by_person.setdefault(label.query_id, {})
        of_question.setdefault(label.labeller or "", {})[label.document] = label.relevant
    known: dict[str, list[Known]] = {}
    for question, persons in by_person.items():
        ordered = [persons[name] for name in sorted(persons)]
        anybody: dict[str, bool] = {}
        for person in reversed(ordered):
            anybody |= person
        known[question] = [{**anybody, **person} for person in ordered]
    return known


def bounds_of(pair: TrafficPair, known: Sequence[Known], *, k: int, hit: bool) -> Bounds:
    """The least and the greatest change of precision@k, or of hit@k, that the labels of a question leave.

    They are equal where all labels are there that matter. Where several people labelled it, their mean.
    """
    before = pair.before[:k]
    now = pair.now[:k]
    each = [_hit_bounds(before, now, one) if hit else _precision_bounds(before, now, one, k) for one in known or [{}]]
    return sum(low for low, _ in each) / len(each), sum(high for _, high in each) / len(each)


def _precision_bounds(baseline: Sequence[str], now: Sequence[str], known: Known, k: int) -> Bounds:
    """(documents gained that are relevant, less those lost) / k; what both have cancels out."""
    gained = [document for document in now if document not in baseline]
    lost = [document for document in baseline if document not in now]
    least = _sure(gained, known) - _possible(lost, known)
    greatest = _possible(gained, known) - _sure(lost, known)
    return least / k, greatest / k


def _hit_bounds(baseline: Sequence[str], now: Sequence[str], known: Known) -> Bounds:
    """Whether any is relevant now, less whether any was; 0 where one that both have is."""
    shared = [document for document in now if document in baseline]
    if _sure(shared, known):
        return 0.0, 0.0
    gained = [document for document in now if document not in baseline]
    lost = [document for document in baseline if document not in now]
    least = min(_sure(gained, known), 1) - min(_possible(lost, known), 1)
    greatest = min(_possible(gained, known), 1) - min(_sure(lost, known), 1)
    if _possible(shared, known):
        return float(min(least, 0)), float(max(greatest, 0))
    return float(least), float(greatest)


def _sure(documents: Collection[str], known: Known) -> int:
    return sum(known.get(document, False) for document in documents)


def _possible(documents: Collection[str], known: Known) -> int:
    return sum(known.get(document, True) for document in documents)


def _digest(lists: Iterable[tuple[str, Sequence[str]]]) -> str:
    text = json.dumps(sorted(lists), ensure_ascii=True)
    return hashlib.sha256(text.encode("ascii")).hexdigest()[:_DIGITS]


class SheetRow(msgspec.Struct, frozen=True, kw_only=True):
    """A document to label for a question."""

    query_id: str
    question: str
    document: str
    text: str | None

    @property
    def key(self) -> str:
        """By which a row is known again whose ids a spreadsheet has changed."""
        return _key(self.query_id, self.document)


class FilledSheet(msgspec.Struct, frozen=True, kw_only=True):
    """What came back: the labels by line, how many rows nobody has filled, and the sheet as its head names it."""

    name: str
    labels: Mapping[int, TrafficLabel]
    blank: int
    sheet: TrafficSheet | None


def rows_of(
    pairs: Iterable[TrafficPair],
    known: Mapping[str, Sequence[Known]],
    texts: Mapping[str, str],
    *,
    shared: bool,
) -> tuple[SheetRow, ...]:
    """The documents of these questions that nobody has labelled, of each question in the order of a hash.

    Those that both lists have are among them where they are `shared`. A question shows texts where all of its documents
    have one: otherwise their lack would tell whose they are.
    """
    rows: list[SheetRow] = []
    for pair in pairs:
        question = pair.question
        labelled = {document for person in known.get(question.query_id, ()) for document in person}
        documents = {*pair.before, *pair.now} if shared else pair.needed
        ordered = sorted(documents - labelled, key=lambda document: _key(question.query_id, document))
        stated = [texts.get(document) for document in ordered]
        for document, text in zip(ordered, stated, strict=True):
            shows = text if all(stated) else None
            rows.append(SheetRow(query_id=question.query_id, question=question.question, document=document, text=shows))
    return tuple(rows)


def as_csv(rows: Iterable[SheetRow], sheet: TrafficSheet) -> str:
    """CSV for spreadsheets; the head stands in the name of a column, where no sorting moves it."""
    names = [f"relevant (1 or 0; {head_of(sheet)})" if name == "relevant" else name for name in _COLUMNS]
    return as_sheet(names, ([row.query_id, row.question, row.document, row.text, "", "", row.key] for row in rows))


def as_jsonl(rows: Iterable[SheetRow], sheet: TrafficSheet) -> str:
    """One JSON object a line, after one that is the head."""
    lines: list[dict[str, Any]] = [{"head": head_of(sheet)}]
    lines += [{**msgspec.structs.asdict(row), "relevant": None, "labeller": None, "row": row.key} for row in rows]
    return as_json_lines(lines)


# By the suffix of the file to write.
SHEET_FORMS: dict[str, Callable[[Iterable[SheetRow], TrafficSheet], str]] = {".jsonl": as_jsonl, ".csv": as_csv}


def read_sheet(path: str, log: ProblemLog, pairs: Iterable[TrafficPair] = ()) -> FilledSheet:
    """The labels of a sheet, JSONL or CSV as its content says; a row without `labeller` has the file's name for one.

    A row without a word in `relevant` is only counted. An id that a spreadsheet has changed is taken from these pairs,
    where they have the row, and else a problem.
    """
    rows: dict[str, tuple[str, str]] = {}
    for pair in pairs:
        query_id = pair.question.query_id
        rows |= {_key(query_id, document): (query_id, document) for document in (*pair.before, *pair.now)}
    labels: dict[int, TrafficLabel] = {}
    blank = 0
    with open_source(path) as source:
        head = _HEAD.search(source.head.decode("utf-8", "replace").partition("\n")[0])
        sheet = TrafficSheet(n=int(head[1]), run=head[2], baseline=head[3]) if head else None
        name = Path(path).stem
        for line, row in rows_in(source, log, _NEEDED, _WANTED):
            if row.keys() == {"head"}:
                continue
            try:
                label = _label(row, rows, name)
            except ValueError as error:
                log.add(Problem(str(error), source.name, line))
                continue
            blank += label is None
            labels |= {line: label} if label else {}
        return FilledSheet(name=source.name, labels=labels, blank=blank, sheet=sheet)


def head_of(sheet: TrafficSheet) -> str:
    """The head, by which a sheet is known again."""
    return f"sheet of {sheet.n} for run {sheet.run}, baseline {sheet.baseline}"


def _key(query_id: str, document: str) -> str:
    digest = hashlib.sha256(f"{query_id}\0{document}".encode("utf-8", "surrogatepass")).hexdigest()
    return f"r{digest[:12]}"  # no spreadsheet takes it for a number


def _label(row: Mapping[str, Any], rows: Mapping[str, tuple[str, str]], name: str) -> TrafficLabel | None:
    missing = [key for key in _NEEDED if key not in row]
    if missing:
        raise ValueError(f"no {missing[0]}; a row of a sheet has {', '.join(_NEEDED)}")
    answer = _answer(row["relevant"])
    if answer is None:
        return None
    query_id = str(row["query_id"])
    document = str(row["document"])
    key = str(row.get("row") or "")
    if key and key != _key(query_id, document):
        if key not in rows:
            ids = f"{shown(query_id)} and {shown(document)}"
            raise ValueError(f"{ids} are not the ids that were written here; let the spreadsheet import ids as text")
        query_id, document = rows[key]
    labeller = str(row.get("labeller") or "").strip() or name
    return TrafficLabel(query_id=query_id, document=document, relevant=answer, labeller=labeller)


def _answer(written: object) -> bool | None:
    """What a cell says: a number above 0, or a word; None where it says nothing."""
    text = "" if written is None else unicodedata.normalize("NFKC", str(written)).strip().casefold()
    number = finite_number(text.replace(",", "."))
    if not text or number is not None:
        return None if not text else bool(number and number > 0)
    if text not in _YES | _NO:
        raise ValueError(f"relevant: expected 1 or 0, yes or no, or nothing, found {shown(written)}")
    return text in _YES


class MergedLabels(msgspec.Struct, frozen=True, kw_only=True):
    """What sheets add to known labels.

    `differ` are the documents, each with its question, on which people differ, among `shared` labels that two of them
    gave of one document; `agreement` is Cohen's kappa of these, None where there are none, or no word but one.
    """

    labels: tuple[TrafficLabel, ...]
    sheets: tuple[TrafficSheet, ...]
    known: int
    problems: tuple[Problem, ...]
    differ: tuple[tuple[str, str], ...]
    shared: int
    agreement: float | None


def merge_sheets(
    known: Iterable[TrafficLabel], drawn: Sequence[TrafficSheet], filled: Iterable[FilledSheet]
) -> MergedLabels:
    """The new labels in the order of the sheets; it is a problem where one person says both of a document."""
    by_person = {(label.query_id, label.document, label.labeller): label for label in known}
    new: list[TrafficLabel] = []
    sheets: list[TrafficSheet] = []
    problems: list[Problem] = []
    repeated = 0
    for sheet in filled:
        if sheet.sheet is not None and sheet.sheet not in (*drawn, *sheets):
            sheets.append(sheet.sheet)
        for line, label in sheet.labels.items():
            first = by_person.get((label.query_id, label.document, label.labeller))
            if first is None:
                by_person[label.query_id, label.document, label.labeller] = label
                new.append(label)
            elif first.relevant is label.relevant:
                repeated += 1
            else:
                what = f"{shown(label.document)} of {shown(label.query_id)}"
                message = f"{what} has the other label by {shown(label.labeller)} already; change one of them"
                problems.append(Problem(message, sheet.name, line, "relevant"))
    pairs = _pairs(by_person.values())
    return MergedLabels(
        labels=tuple(new),
        sheets=tuple(sheets),
        known=repeated,
        problems=tuple(problems),
        differ=tuple(dict.fromkeys(pair.document for pair in pairs if pair.first is not pair.second)),
        shared=len(pairs),
        agreement=kappa([(pair.first, pair.second) for pair in pairs]),
    )


def labels_text(merged: MergedLabels) -> str:
    """The lines to add: a line a sheet, then a line a label."""
    lines: list[dict[str, Any]] = [{"sheet": msgspec.structs.asdict(sheet)} for sheet in merged.sheets]
    lines += [msgspec.structs.asdict(label) for label in merged.labels]
    return as_json_lines(lines)


class _LabelPair(NamedTuple):
    """A document with its question's id, and whether two people, in the order of names, say that it is relevant."""

    document: tuple[str, str]
    first: bool
    second: bool


def _pairs(labels: Iterable[TrafficLabel]) -> list[_LabelPair]:
    """The labels of each two people of a document that several labelled."""
    by_document: dict[tuple[str, str], dict[str, bool]] = {}
    for label in labels:
        by_document.setdefault((label.query_id, label.document), {})[label.labeller or ""] = label.relevant
    return [
        _LabelPair(document, persons[one], persons[other])
        for document, persons in by_document.items()
        for one, other in combinations(sorted(persons), 2)
    ]
