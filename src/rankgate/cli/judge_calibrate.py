"""`rankgate judge calibrate`: what people's labels say of the judge, printed and written for gates to read."""

from __future__ import annotations

import argparse
import json
import math
import os
from collections.abc import Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

import msgspec
from msgspec.structs import asdict, replace

from rankgate.cli.judge_labels import Judged, judged_of, named_files, next_line, segments_by_query
from rankgate.cli.options import today
from rankgate.cli.output import as_json, say
from rankgate.criteria import Criteria
from rankgate.criteria.model import criteria_in
from rankgate.errors import RankgateError, bad_input, redacted, shown
from rankgate.files.writing import write_atomic
from rankgate.judge import label_files
from rankgate.judge.calibrate import (
    Checked,
    Disagreement,
    People,
    agreement,
    disagreements,
    metric_calibration,
    metrics_of,
    segment_calibrations,
    support_of,
    words_of_people,
)
from rankgate.judge.label_files import Label, Labels, Place
from rankgate.judge.plan import judged
from rankgate.judge.runs import verdicts_beside
from rankgate.judge.sample import AnswerKey, Design, Item, answers_key, item_of
from rankgate.metrics.answers import criterion_of
from rankgate.metrics.scoring import clusters_of
from rankgate.model.answers import NO_VERDICT, AnswerVerdicts, GateJudge, JudgeMark
from rankgate.model.calibration import Calibration, MetricCalibration
from rankgate.model.reasons import labels_text
from rankgate.model.values import Unit
from rankgate.model.wording import count_text, interval_text, value_text
from rankgate.readers.yaml_text import with_entry
from rankgate.renderers.blocks import Block, Pairs, Table
from rankgate.renderers.escape import one_line
from rankgate.renderers.phrases import LONGEST, NOTHING
from rankgate.statistics.prediction_powered import Powered

DESCRIPTION = """\
Say what people's labels make of the judge, metric by metric, and write it for gates: name the file as
`calibration` in the criteria's judge block. Reads the sample with its design, the labels of one or more
people (default: sample.labels.jsonl; in a sheet, ben.csv, they are by ben), and the verdicts on the run that
was labelled. Asks no model.

examples:
  rankgate judge calibrate judge/sample.jsonl
  rankgate judge calibrate judge/sample.jsonl ana.jsonl ben.csv -o judge/calibration.json
  rankgate judge calibrate judge/sample.jsonl --write     # names the file in the criteria, too"""
_SHOWN = 5  # disagreements
_LEGEND = Pairs(
    [
        ("labelled", "answers that count, and of these those with the verdict that fewer have"),
        ("sees", "the part of a true difference between two runs that the judge sees"),
        ("sensitivity", "of the claims that people find supported, those that the judge finds so"),
        ("specificity", "of the claims that people do not find supported, those that the judge does not"),
        ("kappa", "agreement beyond chance: 1 is full, 0 is none"),
    ]
)


class _Side(NamedTuple):
    """A run: its answers' keys, the judge's values by metric, what was drawn of it, and what people checked."""

    keys: Mapping[str, str]
    values: Mapping[str, Mapping[str, float]]
    drawn: Sequence[AnswerKey]
    checked: dict[str, Checked]


def calibrate(arguments: argparse.Namespace) -> int:
    """Compute, write and print."""
    path = arguments.sample
    items = label_files.read_sample(path)
    design = label_files.read_design(label_files.design_beside(path), items)
    labels = _labels(arguments.labels or [f"{path.removesuffix('.jsonl')}.labels.jsonl"], items)
    found = judged_of(arguments, beside=verdicts_beside(path))
    no_answer = {name for name, each in found.gold.samples.items() if each.no_answer}
    words = words_of_people(items, labels, no_answer, found.rubrics)
    if not words:
        raise bad_input("nobody has labelled all of an answer yet; go on with `rankgate judge label`", file=path)
    counted = [unit.key for unit in design.drawn(words) if unit.key]
    skipped = design.skipped(words)
    late = count_text(len(words) - len(counted), "labelled answer")
    if skipped and not counted:
        text = f"labels count in the order of the sample: label {shown(skipped.query_id)}, for {late} after it to count"
        raise bad_input(text, file=path)
    side = _side(found, design, items, words, path)
    calibration = _calibration(found, design, side, words)
    output, named = _write(arguments, found.criteria, calibration)
    differing = disagreements(side.checked.values())
    judges = {name: calibration.trust(JudgeMark(found.judge.id, ""), name).judge() for name in calibration.metrics}
    if arguments.format == "json":
        known: dict[str, Any] = {"answers": len(items), "labelled": len(words), "counted": len(counted)}
        known["labels_needed"] = {name: each.labels and each.labels.needed(each.j) for name, each in judges.items()}
        known |= {"output": redacted(output), "calibration": msgspec.to_builtins(calibration)}
        known["disagreements"] = [{**asdict(each), "item": each.item.key} for each in differing]
        say(as_json(known))
        return 0
    who = f"{len(words):,} of {count_text(len(items), 'answer')} labelled by {', '.join(calibration.people)}"
    who += "" if calibration.agreement is None else f", who agree with kappa {calibration.agreement:.2f}"
    lines: list[Block] = [f"judge {found.judge.short} ({found.judge.model}) on {redacted(found.run.run)}: {who}"]
    if skipped:
        lines.append(
            f"Labels count in the order of the sample: {shown(skipped.query_id)} is not labelled, so that {late} after "
            "it do not count; `rankgate judge label` goes on there"
        )
    lines += [*_metric_lines(calibration, judges), f"written: {redacted(output)}"]
    if arguments.write and not named:
        lines.append(f"{found.criteria.name}: names it now")
    elif not named:
        entry = _entry(found.criteria, output)
        lines.append(f"Gates count on it once the criteria name it (`--write` does): judge: {{{entry}}}")
    if left := len(items) - len(words):
        lines.append(f"{count_text(left, 'answer')} of the sample left to label: `rankgate judge label` goes on")
    if named or arguments.write:
        lines += [_blocking_text(found.criteria, judges), next_line("check", *named_files(arguments))]
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
    """Add the file to the criteria's judge block, as text: every other byte stays.

    Raises:
        RankgateError: it cannot be added so that the file then says just that; nothing is written.
    """
    path, entry = Path(criteria.name), _entry(criteria, output)
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


def _blocking_text(criteria: Criteria, judges: Mapping[str, GateJudge]) -> str:
    """Which gates may block by these labels."""
    counting = [
        gate.name for gate in criteria.gates if gate.blocks and (of := judges.get(gate.metric.name)) and of.counts
    ]
    return f"gates that may block now: {', '.join(counting) or 'none'}"


def _refuse_others(output: str) -> None:
    """No file is written over that is something else, such as the labels of another sample."""
    written, there = None, Path(output).is_file() and Path(output).stat().st_size
    with suppress(OSError, ValueError):
        written = json.loads(Path(output).read_bytes()) if there else None
    if there and not (isinstance(written, dict) and {"judge", "metrics", "people"} <= written.keys()):
        raise bad_input("exists, and is no calibration; name another file, or remove this one", file=output)


def _labels(paths: Sequence[str], items: Sequence[Item]) -> Labels:
    """The labels of all files on these items; of one person on one claim the last of a file counts.

    Raises:
        RankgateError: a person labelled a claim in two files, and differently, or has a name in two spellings.
    """
    found: dict[Place, Label] = {}
    spelt: dict[str, str] = {}
    keys = {item.key for item in items}
    for path in paths:
        if not Path(path).exists():
            raise bad_input("is not there; `rankgate judge label` writes it", file=path)
        sheet = path.casefold().endswith(".csv")
        read = label_files.labels_of_sheet(path, items) if sheet else label_files.read_labels(path, items)
        own = {place: label for place, label in read.items() if label.key in keys}
        if read and not own:
            raise bad_input("has labels of other samples alone", file=path, key="key")
        for label in own.values():
            if (name := spelt.setdefault(label_files.name_key(label.by), label.by)) != label.by:
                text = f"has labels by {label.by!r}, and others are by {name!r}; write one person's name in one way"
                raise bad_input(text, file=path, key="by")
            if found.setdefault(label.place, label).verdict != label.verdict:
                text = f"{label.by!r} labelled claim {label.n} of {shown(label.query_id)} differently in another file"
                raise bad_input(f"{text}; keep one of these labels", file=path, key="verdict")
    return found


def _side(found: Judged, design: Design, items: Sequence[Item], words: Mapping[str, People], path: str) -> _Side:
    """What is known of the run.

    Raises:
        RankgateError: it is another run than was labelled, or the judge was not asked.
    """
    judge, block, samples = found.judge, found.criteria.judge, found.gold.samples
    answers = {each.query_id: each for each in found.run.answers}
    of_key = {each.key: each for each in items}
    units = [(unit.query_id, unit.key) for unit in design.units]
    for query, key in units:
        item = of_key.get(key)
        gone = key != "" and query not in answers
        if gone or (item and item_of(answers[query]) != replace(item, claims=(), rubrics=())):
            text = f"has another answer to {shown(query)} than was labelled; name the run that was: "
            raise bad_input(text + shown(design.run), file=found.run.run, key="answer")
    repeats = range(block.repeats if block else 1)
    verdicts = {
        query: tuple(judged(answer, judge, found.wants, found.known, repeat) for repeat in repeats)
        for query, answer in answers.items()
    }
    judged_units = [verdicts[query] for query, _ in units if query in verdicts]
    lacking = sum(any(map(_not_asked, own)) for own in judged_units)
    if lacking:
        text = f"judge {judge.short} was not asked about {count_text(lacking, 'answer')} of those to draw from"
        raise bad_input(f"{text}; `{found.command}` with this run as --run asks it", file=found.run.run)
    drawn = design.drawn(words)
    support = {unit.key: support_of(of_key[unit.key], judge, found.known) for unit in drawn if unit.key}
    if unasked := sum(each == NO_VERDICT for each in support.values()):
        text = f"judge {judge.short} was not asked about the labelled claims of {count_text(unasked, 'answer')}"
        raise bad_input(f"{text}; `rankgate judge --sample {redacted(path)}` asks it", file=path)
    checked = {
        query: Checked(of_key[key], words[key], verdicts[query], own)
        for query, key in ((unit.query_id, unit.key) for unit in drawn)
        if key and isinstance(own := support[key], tuple)
    }
    absent = [sample for query, sample in samples.items() if query not in answers]
    values = {
        metric.name: {query: value for query, each in verdicts.items() if (value := metric.mean(each)) is not None}
        | {each.query_id: metric.worst for each in absent if metric.counts(each) and metric.worst is not None}
        for metric in metrics_of(found.rubrics)
    }
    keys = {query: item_of(answer).key for query, answer in answers.items()}
    return _Side(keys, values, drawn, checked)


def _not_asked(found: AnswerVerdicts) -> bool:
    rubrics = found.rubrics.values() if isinstance(found.rubrics, Mapping) else ()
    return NO_VERDICT in (found.state, found.support, *rubrics)


def _calibration(found: Judged, design: Design, side: _Side, words: Mapping[str, People]) -> Calibration:
    clusters = dict(zip(found.gold.samples, clusters_of(found.gold), strict=False))
    metrics = metrics_of(found.rubrics)
    each = {
        metric: metric_calibration(metric, design.units, side.drawn, side.values[metric.name], side.checked, clusters)
        for metric in metrics
    }
    segments = segments_by_query(found.gold, found.criteria)
    return Calibration(
        judge=found.judge.id,
        model=found.judge.model,
        date=today(),
        run=redacted(found.run.run),
        answers=answers_key(side.keys),
        people=tuple(sorted({by for each in words.values() for by in each})),
        agreement=agreement(words.values()),
        metrics={
            metric.name: replace(of, criterion=criterion_of(metric, found.rubrics)) for metric, of in each.items() if of
        },
        segments=segment_calibrations(metrics, side.checked, side.values, segments, clusters),
    )


def _metric_lines(calibration: Calibration, judges: Mapping[str, GateJudge]) -> Iterator[Block]:
    names = ("metric", "labelled", "sees", "sensitivity", "specificity", "kappa", "the run by people", "by the judge")
    yield Table(rows=[names, *(_row(name, each) for name, each in calibration.metrics.items())])
    segments = [
        _row(f"{name} in {one_line(segment, LONGEST)}", each)[:6]
        for segment, metrics in calibration.segments.items()
        for name, each in metrics.items()
    ]
    if segments:
        yield Table(rows=[names[:6], *segments])
    yield _LEGEND
    for name, judge in judges.items():
        yield f"{name}: {labels_text(name, judge)}"


def _row(name: str, found: MetricCalibration) -> tuple[str, ...]:
    rates = [
        f"{each.value:.0%} (95%: {100 * each.low:.0f} to {each.high:.0%})" if each else NOTHING
        for each in (found.slope, found.sensitivity, found.specificity)
    ]
    by_people = by_judge = NOTHING
    if found.value:
        by_people = _with_interval(found.value)
        by_judge = value_text(math.fsum(found.values.values()) / len(found.values), Unit.SHARE)
    kappa = NOTHING if found.kappa is None else f"{found.kappa:.2f}"
    return (name, f"{found.labels:,} ({found.rarer:,})", *rates, kappa, by_people, by_judge)


def _with_interval(found: Powered) -> str:
    low, high = (min(max(bound, 0.0), 1.0) for bound in found.bounds())
    return f"{value_text(found.value, Unit.SHARE)} (95%: {interval_text((low, high), Unit.SHARE)})"


def _disagreement_lines(found: Sequence[Disagreement]) -> Iterator[Block]:
    if found:
        first = f" The first {_SHOWN}:" if len(found) > _SHOWN else ""
        times = count_text(len(found), "time")
        yield ""
        yield f"People and the judge disagree {times}.{first}"
    for each in found[:_SHOWN]:
        said = ", ".join(f"{one_line(by, LONGEST)}: {word}" for by, word in each.people.items())
        about = [(each.item.labelled(each.n).name.casefold(), each.item.statements[each.n]), ("passage", each.passage)]
        texts = [("question", each.item.question), *(about if each.n else [("answer", each.item.answer)])]
        yield ""
        yield Pairs([*((name, one_line(text)) for name, text in texts), ("said", f"{said}; judge: {each.judge}")])
