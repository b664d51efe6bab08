"""What was compared: each input with what it says of itself, the base, and who accepted the baseline all the same."""

from __future__ import annotations

from collections.abc import Iterator

import msgspec

from rankgate.model.lineage import KNOWN_KEYS, RECORDING
from rankgate.model.report import Report, Source
from rankgate.model.wording import count_text
from rankgate.renderers.escape import LONGEST_COMMAND, Pieces, Sentence, Text, command_line
from rankgate.renderers.phrases import inputs_of

MAX_FACTS = 8
_COMMITS = (f"{RECORDING}.commit", "code_version", "commit")


class Origin(msgspec.Struct, frozen=True):
    """An input by its kind, such as `Run`, and what is known of it."""

    kind: str
    text: Sentence


class Origins(msgspec.Struct, frozen=True, kw_only=True):
    """What was compared: `facts` in one line, what `differs` from the baseline, each input, and how to repeat it."""

    facts: Sentence = ()
    differs: Sentence = ()
    listed: tuple[Origin, ...] = ()
    command: Text | None = None


def origins_of(report: Report) -> Origins:
    """As far as the report has them."""
    command = report.provenance.command
    return Origins(
        facts=_in_one_line(report),
        differs=_differs(report),
        listed=_listed(report),
        command=Text(command_line(command), LONGEST_COMMAND) if command else None,
    )


def _differs(report: Report) -> Sentence:
    if not report.explanation.differences and report.explanation.gold_changes is None:
        return ()
    from rankgate.renderers.explanation import differences_line  # noqa: PLC0415 -- paid only where something differs

    pieces = Pieces()
    return pieces.sentence(differences_line(report, pieces.spell))


def _listed(report: Report) -> tuple[Origin, ...]:
    """Gold set, run, baseline, base and criteria."""
    source = report.provenance
    origins = [Origin(name, _facts(each)) for name, each in inputs_of(source)]
    if report.base is not None:
        origins.append(Origin("Base", (Text(report.base.commit.shown, 120),)))
    by: Sentence = (Text(source.criteria), ", ") if source.criteria else ()
    origins.append(Origin("Criteria", (*by, "judged on ", Text(source.date), f" by rankgate {source.rankgate}")))
    return tuple(origins)


def _in_one_line(report: Report) -> Sentence:
    """The commit, the base, the day of the baseline, and how many questions there are, as far as they are known."""
    source = report.provenance
    baseline = source.baseline
    stated = dict(_flat(source.run.about)) if source.run else {}
    commit = next((stated[key] for key in _COMMITS if stated.get(key)), None)
    facts: list[Sentence] = [("commit ", Text(str(commit)[:12]))] if commit else []
    if report.base is not None:
        facts.append(("base ", Text(report.base.commit.shown, 120)))
    if baseline is not None:
        day = baseline.lineage.date if baseline.lineage else str(baseline.about.get("accepted", ""))
        facts.append(("baseline of ", Text(day, 40)) if day else ("baseline ", Text(baseline.path, 120)))
    queries = report.measured.queries
    if queries is not None:
        facts.append((count_text(queries.total, "question"),))
    return tuple(part for fact in facts for part in (" · ", *fact))[1:]


def _facts(source: Source) -> Sentence:
    """The path, and what the input says of itself: versions before all else."""
    flat = [(key, value) for key, value in _flat(source.about) if isinstance(value, str | int | float)]
    of_recording = f"{RECORDING}."  # of which only the commit is worth a word
    stated = [each for each in flat if not each[0].startswith(of_recording) or each[0] == f"{of_recording}commit"]
    stated.sort(key=lambda fact: fact[0].partition(".")[0] not in KNOWN_KEYS)
    pieces: list[str | Text] = [Text(source.path)]
    for key, value in stated[:MAX_FACTS]:
        pieces += [", ", Text(f"{key}={value}", 120)]
    if len(stated) > MAX_FACTS:
        pieces.append(f", and {len(stated) - MAX_FACTS} more in `report.json`")
    return tuple(pieces)


def _flat(about: object, path: str = "") -> Iterator[tuple[str, object]]:
    """Keys and values, a key of a mapping below another behind a dot."""
    if isinstance(about, dict) and about:
        for key, value in about.items():
            yield from _flat(value, f"{path}.{key}" if path else str(key))
    else:
        yield path, about


def accepted_anyway(report: Report) -> Sentence:
    """Who accepted what the run is compared with although its gates failed, and why; nothing where they did not."""
    lineage = report.provenance.lineage
    if lineage is None or lineage.reason is None or not lineage.failed:
        return ()
    by: Sentence = (" by ", Text(lineage.by, 80)) if lineage.by else ()
    reason: Sentence = (" although gates failed: ", Text(lineage.reason), ".")
    return (f"The baseline was accepted on {lineage.date}", *by, *reason)
