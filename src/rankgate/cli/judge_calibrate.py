"""`rankgate judge calibrate`: what people's labels say of the judge, printed and written for gates to read."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from shlex import quote

import msgspec
from msgspec.structs import asdict, replace

from rankgate.cli.judge_labels import Judged, judged_of, named_files, next_line, segments_by_query
from rankgate.cli.options import today
from rankgate.cli.output import as_json, say
from rankgate.criteria import Criteria
from rankgate.criteria.model import criteria_in
from rankgate.errors import RankgateError, bad_input, redacted, shown
from rankgate.files.writing import write_atomic
from rankgate.gates.judged import trust_of
from rankgate.judge import label_files
from rankgate.judge.calibration import (
    Checked,
    Disagreement,
    VerdictsByPerson,
    agreement,
    disagreements,
    labelled_verdicts,
    metric_calibration,
    segment_calibrations,
    support_of,
)
from rankgate.judge.label_files import Label, LabelKey, Labels
from rankgate.judge.plan import judged
from rankgate.judge.runs import verdicts_beside
from rankgate.judge.sample import AnswerKey, Design, Item, answers_key, item_of, metrics_of
from rankgate.metrics.answers import JudgedMetric, criterion_of
from rankgate.metrics.scoring import clusters_of
from rankgate.model.answers import GateJudge, JudgeMark
from rankgate.model.judge_words import labels_text
from rankgate.model.values import Unit
from rankgate.model.verdicts import NO_VERDICT, AnswerVerdicts, Calibration, MetricCalibration
from rankgate.model.wording import count_text, interval_text, value_text
from rankgate.readers.yaml_text import with_entry
from rankgate.renderers.blocks import Block, Pairs, Table
from rankgate.renderers.escape import one_line
from rankgate.renderers.phrases import LONGEST, NOTHING

_LISTED = 5  # disagreements
_LEGEND = Pairs(
    [
        ("labelled", "answers that count, and of these those with the verdict that fewer have"),
        ("sees", "the part of a true difference between two runs that the judge sees"),
        ("sensitivity", "of the claims that people find supported, those that the judge finds so"),
        ("specificity", "of the claims that people do not find supported, those that the judge does not"),
        ("kappa", "agreement beyond chance: 1 is full, 0 is none"),
    ]
)


def calibrate(arguments: argparse.Namespace) -> int:
    """Compute, write and print."""
    path = arguments.sample
    items = label_files.read_sample(path)
    design = label_files.read_design(label_files.design_beside(path), items)
    labels = _labels(arguments.labels or [f"{path.removesuffix('.jsonl')}.labels.jsonl"], items)
    run = judged_of(arguments, beside=verdicts_beside(path))
    no_answer = {name for name, each in run.gold.samples.items() if each.no_answer}
    words = labelled_verdicts(items, labels, no_answer, run.rubrics)
    if not words:
        raise bad_input("nobody has labelled all of an answer yet; go on with `rankgate judge label`", file=path)
    drawn = design.drawn(words)
    counted = [unit.key for unit in drawn if unit.key]
    skipped = design.skipped(words)
    late = count_text(len(words) - len(counted), "labelled answer")
    if skipped and not counted:
        text = f"labels count in the order of the sample: label {shown(skipped.query_id)}, for {late} after it to count"
        raise bad_input(text, file=path)
    items_by_key = {each.key: each for each in items}
    verdicts = _verdicts(run, design, items_by_key)
    checked = _checked(run, drawn, items_by_key, words, verdicts, path)
    calibration = _calibration(run, design, drawn, words, verdicts, checked)
    output, named = _write(arguments, run.criteria, calibration)
    differing = disagreements(checked.values(), run.rubrics)
    judges = {name: trust_of(calibration, JudgeMark(run.judge.id, ""), name).judge() for name in calibration.metrics}
    if arguments.format == "json":
        facts = {
            "answers": len(items),
            "labelled": len(words),
            "counted": len(counted),
            "labels_needed": {name: each.labels and each.labels.needed(each.j) for name, each in judges.items()},
            "output": redacted(output),
            "calibration": msgspec.to_builtins(calibration),
            "disagreements": [{**asdict(each), "item": each.item.key} for each in differing],
        }
        say(as_json(facts))
        return 0
    who = f"{len(words):,} of {count_text(len(items), 'answer')} labelled by {', '.join(calibration.people)}"
    who += "" if calibration.agreement is None else f", who agree with kappa {calibration.agreement:.2f}"
    lines: list[Block] = [f"judge {run.judge.short} ({run.judge.model}) on {redacted(run.run.run)}: {who}"]
    if skipped:
        lines.append(
            f"Labels count in the order of the sample: {shown(skipped.query_id)} is not labelled, so that {late} after "
            "it do not count; `rankgate judge label` goes on there"
        )
    lines += [*_metric_lines(calibration, judges), f"written: {redacted(output)}"]
    if arguments.write and not named:
        lines.append(f"{run.criteria.name}: names it now")
    elif not named:
        entry = _entry(run.criteria, output)
        lines.append(f"Gates count on it once the criteria name it (`--write` does): judge: {{{entry}}}")
    if left := len(items) - len(words):
        lines.append(f"{count_text(left, 'answer')} of the sample left to label: `rankgate judge label` goes on")
    if named or arguments.write:
        gates = [gate for gate in run.criteria.gates if gate.blocks]
        counting = [gate.name for gate in gates if (by := judges.get(gate.metric.name)) and by.counts]
        lines.append(f"gates that may block now: {', '.join(counting) or 'none'}")
        elsewhere = ["--verdicts", arguments.verdicts] if arguments.verdicts else []
        lines.append(next_line("check", *named_files(arguments), *elsewhere))
    say([*lines, *_disagreement_lines(differing)])
    return 0


def _write(arguments: argparse.Namespace, criteria: Criteria, calibration: Calibration) -> tuple[str, bool]:
    """Write the file and name it in the criteria, if that is wanted; where it is, and whether they named one before."""
    named = criteria.judge and criteria.judge.calibration
    beside = str(Path(arguments.sample).with_name("calibration.json"))
    output = arguments.output or (named.file if named else beside)
    _refuse_others(output)
    written = msgspec.to_builtins(calibration)
    text = json.dumps(written, ensure_ascii=False, indent=1, sort_keys=True, allow_nan=False)
    write_atomic(output, f"{text}\n".encode())
    if arguments.write and named is None:
        _name_in_criteria(criteria, output)
    return output, named is not None


def _entry(criteria: Criteria, output: str) -> str:
    path = os.path.relpath(output, Path(criteria.name).parent).replace(os.sep, "/")
    return f"calibration: {{file: {json.dumps(path, ensure_ascii=False)}}}"


def _name_in_criteria(criteria: Criteria, output: str) -> None:
    """Add the file to the criteria's judge block as text: every other byte stays, else nothing is written."""
    path = Path(criteria.name)
    entry = _entry(criteria, output)
    after = with_entry(path.read_bytes().decode(), "judge", entry) if path.is_file() else None
    with suppress(RankgateError):
        if after and _without_calibration(criteria_in(after, criteria.name)) == _without_calibration(criteria):
            write_atomic(criteria.name, after.encode())
            return
    raise bad_input(f"could not be written by itself; add this line to `judge:` yourself: {entry}", file=criteria.name)


def _without_calibration(criteria: Criteria) -> Criteria:
    """All that criteria say but for that, and for where it stands."""
    judge = criteria.judge and criteria.judge.model_copy(update={"calibration": None})
    gates = tuple(gate.model_copy(update={"line": None}) for gate in criteria.gates)
    retriever = criteria.retriever and criteria.retriever.model_copy(update={"line": None})
    return criteria.model_copy(update={"judge": judge, "gates": gates, "retriever": retriever, "name": ""})


def _refuse_others(output: str) -> None:
    """No file is written over that is something else, such as the labels of another sample."""
    file = Path(output)
    if not file.is_file() or not file.stat().st_size:
        return
    written = None
    with suppress(OSError, ValueError):
        written = json.loads(file.read_bytes())
    if not (isinstance(written, dict) and {"judge", "metrics", "people"} <= written.keys()):
        raise bad_input("exists, and is no calibration; name another file, or remove this one", file=output)


def _labels(paths: Sequence[str], items: Sequence[Item]) -> Labels:
    """The labels of all files on these items; of one person on one claim the last of a file counts."""
    labels: dict[LabelKey, Label] = {}
    spelt: dict[str, str] = {}
    keys = {item.key for item in items}
    for path in paths:
        if not Path(path).exists():
            raise bad_input("is not there; `rankgate judge label` writes it", file=path)
        if path.casefold().endswith(".csv"):  # a sheet's labels are by whom the file is named after
            read = {label.label_key: label for label in label_files.read_sheet(path, items, Path(path).stem)}
        else:
            read = label_files.read_labels(path, items)
        of_sample = [label for label in read.values() if label.key in keys]
        if read and not of_sample:
            raise bad_input("has labels of other samples alone", file=path, key="key")
        for label in of_sample:
            if (name := spelt.setdefault(label_files.name_key(label.by), label.by)) != label.by:
                text = f"has labels by {label.by!r}, and others are by {name!r}; write one person's name in one way"
                raise bad_input(text, file=path, key="by")
            if labels.setdefault(label.label_key, label).verdict != label.verdict:
                text = f"{label.by!r} labelled claim {label.n} of {shown(label.query_id)} differently in another file"
                raise bad_input(f"{text}; keep one of these labels", file=path, key="verdict")
    return labels


def _verdicts(run: Judged, design: Design, items_by_key: Mapping[str, Item]) -> dict[str, tuple[AnswerVerdicts, ...]]:
    """The judge's verdicts by query, one set a repeat; an error where it was not asked, or another run was labelled."""
    answers = {each.query_id: each for each in run.run.answers}
    for unit in design.units:
        answer = answers.get(unit.query_id)
        item = items_by_key.get(unit.key)
        if unit.key == "":  # nothing was there to label, and an answer now is no item
            continue
        if answer is None or (item and item_of(answer) != replace(item, claims=(), rubrics=())):
            text = f"has another answer to {shown(unit.query_id)} than was labelled; name the run that was: "
            raise bad_input(text + shown(design.run), file=run.run.run, key="answer")
    repeats = range(run.criteria.judge.repeats if run.criteria.judge else 1)
    verdicts = {
        query: tuple(judged(answer, run.judge, run.verdict_kinds, run.known, repeat) for repeat in repeats)
        for query, answer in answers.items()
    }
    of_units = [verdicts[unit.query_id] for unit in design.units if unit.query_id in verdicts]
    metrics = metrics_of(run.rubrics)
    if lacking := sum(_lacks_verdicts(metrics, repeated) for repeated in of_units):
        text = f"judge {run.judge.short} was not asked about {count_text(lacking, 'answer')} of those to draw from"
        raise bad_input(f"{text}; `{run.command}` with this run as --run asks it", file=run.run.run)
    return verdicts


def _lacks_verdicts(metrics: Sequence[JudgedMetric], repeated: Sequence[AnswerVerdicts]) -> bool:
    return any(metric.unjudged(verdicts) == NO_VERDICT for metric in metrics for verdicts in repeated)


def _checked(
    run: Judged,
    drawn: Sequence[AnswerKey],
    items_by_key: Mapping[str, Item],
    words: Mapping[str, VerdictsByPerson],
    verdicts: Mapping[str, tuple[AnswerVerdicts, ...]],
    path: str,
) -> dict[str, Checked]:
    """What people checked of the answers that were drawn, by query; an error where the judge was not asked."""
    support = {unit.key: support_of(items_by_key[unit.key], run.judge, run.known) for unit in drawn if unit.key}
    if unasked := sum(each == NO_VERDICT for each in support.values()):
        text = f"judge {run.judge.short} was not asked about the labelled claims of {count_text(unasked, 'answer')}"
        raise bad_input(f"{text}; `rankgate judge --sample {quote(redacted(path))}` asks it", file=path)
    checked: dict[str, Checked] = {}
    for unit in drawn:
        of_claims = support.get(unit.key)
        if isinstance(of_claims, tuple):
            item = items_by_key[unit.key]
            checked[unit.query_id] = Checked(item, words[unit.key], verdicts[unit.query_id], of_claims)
    return checked


def _calibration(
    run: Judged,
    design: Design,
    drawn: Sequence[AnswerKey],
    words: Mapping[str, VerdictsByPerson],
    verdicts: Mapping[str, tuple[AnswerVerdicts, ...]],
    checked: dict[str, Checked],
) -> Calibration:
    absent = [sample for query, sample in run.gold.samples.items() if query not in verdicts]
    clusters = dict(zip(run.gold.samples, clusters_of(run.gold), strict=False))
    metrics = metrics_of(run.rubrics)
    by_metric: dict[str, dict[str, float]] = {}  # the judge's values, by query
    calibrations: dict[str, MetricCalibration] = {}
    for metric in metrics:
        values = {query: mean for query, each in verdicts.items() if (mean := metric.mean(each)) is not None}
        if metric.worst is not None:
            values |= {sample.query_id: metric.worst for sample in absent if metric.counts(sample)}
        by_metric[metric.name] = values
        if of_metric := metric_calibration(metric, design.units, drawn, values, checked, clusters):
            calibrations[metric.name] = replace(of_metric, criterion=criterion_of(metric, run.judge.rubrics))
    segments = segments_by_query(run.gold, run.criteria)
    return Calibration(
        judge=run.judge.id,
        model=run.judge.model,
        date=today(),
        run=redacted(run.run.run),
        answers=answers_key({answer.query_id: item_of(answer).key for answer in run.run.answers}),
        people=tuple(sorted({by for each in words.values() for by in each})),
        agreement=agreement(words.values()),
        metrics=calibrations,
        segments=segment_calibrations(metrics, checked, by_metric, segments, clusters),
    )


def _metric_lines(calibration: Calibration, judges: Mapping[str, GateJudge]) -> Iterator[Block]:
    of_judge = ("metric", "labelled", "sees", "sensitivity", "specificity", "kappa")
    headings = (*of_judge, "the run by people", "by the judge")
    yield Table(rows=[headings, *(_row(name, each) for name, each in calibration.metrics.items())])
    segments = [
        _row(f"{name} in {one_line(segment, LONGEST)}", each)[: len(of_judge)]
        for segment, metrics in calibration.segments.items()
        for name, each in metrics.items()
    ]
    if segments:  # the run's values are of all its questions
        yield Table(rows=[of_judge, *segments])
    yield _LEGEND
    for name, judge in judges.items():
        yield f"{name}: {labels_text(name, judge)}"


def _row(name: str, of_metric: MetricCalibration) -> tuple[str, ...]:
    rates = [
        f"{each.value:.0%} (95%: {100 * each.low:.0f} to {each.high:.0%})" if each else NOTHING
        for each in (of_metric.slope, of_metric.sensitivity, of_metric.specificity)
    ]
    by_labels = NOTHING
    by_judge = NOTHING
    if value := of_metric.value:
        low, by_people, high = (min(max(each, 0.0), 1.0) for each in sorted([value.value, *value.bounds()]))
        by_labels = f"{value_text(by_people, Unit.SHARE)} (95%: {interval_text((low, high), Unit.SHARE)})"
        by_judge = value_text(math.fsum(of_metric.values.values()) / len(of_metric.values), Unit.SHARE)
    kappa = NOTHING if of_metric.kappa is None else f"{of_metric.kappa:.2f}"
    return (name, f"{of_metric.labels:,} ({of_metric.rarer:,})", *rates, kappa, by_labels, by_judge)


def _disagreement_lines(differing: Sequence[Disagreement]) -> Iterator[Block]:
    if differing:
        first = f" The first {_LISTED}:" if len(differing) > _LISTED else ""
        times = count_text(len(differing), "time")
        yield ""
        yield f"People and the judge disagree {times}.{first}"
    for each in differing[:_LISTED]:
        verdicts = ", ".join(f"{one_line(by, LONGEST)}: {word}" for by, word in each.people.items())
        texts = [("question", each.item.question)]
        if each.n:
            kind = each.item.labelled(each.n).name.casefold()
            texts += [(kind, each.item.statements[each.n]), ("passage", each.passage)]
        else:
            texts.append(("answer", each.item.answer))
        yield ""
        lines = [(name, one_line(text, 200)) for name, text in texts]
        yield Pairs([*lines, ("said", f"{verdicts}; judge: {each.judge}")])
