"""The private part of a gold set: which queries it takes, what leaves it out, and what judges it."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Callable, Iterable
from itertools import pairwise
from pathlib import Path

import pytest
from tests.repositories import commit, git

from rankgate.cli import main
from rankgate.criteria import Gate
from rankgate.criteria.queries import part_of
from rankgate.errors import RankgateError
from rankgate.gates.acceptance import changes_of
from rankgate.metrics.names import parse_metric
from rankgate.model.report import Report
from rankgate.model.report_text import decode_report
from rankgate.model.values import Gold, Sample
from rankgate.renderers.base import RENDERERS

TOTAL, SHARE = 400, 0.3
NUMBERS = range(TOTAL)
DATE = ["--date", "2026-01-31"]
CRITERIA = """\
gates:
  - name: recall@1
    regression_max: 0.03
    evidence: proven_harm
    must_pass: [query-0000]
    segments: {by: lang, regression_max: 0.05}
  - {name: mrr, threshold: 0.2, severity: warning}
holdout: 0.3
inputs: {gold: gold.jsonl, run: run.jsonl, baseline: baseline}
"""


def name_of(number: int) -> str:
    return f"query-{number:04}"


def is_private(name: str, share: float = SHARE) -> bool:
    """The definition, slowly: the first 16 hexadecimal digits as a fraction."""
    return int(hashlib.sha256(name.encode()).hexdigest()[:16], 16) < share * 16**16


PRIVATE = [number for number in NUMBERS if is_private(name_of(number)) and number]  # the first must pass
PUBLIC = [number for number in NUMBERS if number not in PRIVATE]


def write_gold(*, without: Iterable[int] = (), relabelled: Iterable[int] = ()) -> None:
    gone, other = set(without), set(relabelled)
    lines = [
        {
            "id": name_of(number),
            "input": {"question": f"what of topic {number:04}?"},
            "expected_output": [f"other-{number:04}" if number in other else f"doc-{number:04}"],
            "metadata": {"tags": [f"lang:{'en' if number % 3 else 'sw'}"]},
        }
        for number in NUMBERS
        if number not in gone
    ]
    Path("gold.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


def write_run(name: str, lost: Iterable[int] = (), numbers: Iterable[int] = NUMBERS) -> None:
    """Every query finds its document, the lost ones below another."""
    below = set(lost)
    lines = [
        {
            "query_id": name_of(number),
            "retrieved": [f"noise-{number:04}", f"doc-{number:04}"] if number in below else [f"doc-{number:04}"],
        }
        for number in numbers
    ]
    Path(name).write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A gold set of which 30 % is private, and a baseline that finds everything."""
    monkeypatch.chdir(tmp_path)
    Path("ship-criteria.yaml").write_text(CRITERIA, encoding="utf-8")
    write_gold()
    write_run("accepted.jsonl")
    write_run("run.jsonl", lost=NUMBERS[::4])
    assert main(["baseline", "accept", "--run", "accepted.jsonl", *DATE]) == 0
    return tmp_path


def report_of(*words: str) -> Report:
    main(["check", "-o", "report.json", *DATE, *words])
    return decode_report(Path("report.json").read_bytes(), "report.json")


def private_words() -> list[str]:
    return [word for number in PRIVATE for word in (name_of(number), f"topic {number:04}")]


def leaks(text: str) -> list[str]:
    return [word for word in private_words() if word in text]


# Which queries are private.


def samples(*clusters: str | None) -> Gold:
    named = {
        name_of(number): Sample(query_id=name_of(number), gains={"a": 1.0}, cluster=cluster, tags=("hard",))
        for number, cluster in enumerate(clusters)
    }
    return Gold(samples=named, name="gold.yaml", format="yaml")


def gate(*must: str) -> Gate:
    metric = parse_metric("recall@5")
    return Gate(name="found", metric=metric, threshold=0.5, regression_max=None, must_pass=must, line=None)


@pytest.mark.parametrize("share", [0.05, 0.3, 0.7])
def test_a_query_is_private_by_the_hash_of_its_id_alone(share: float) -> None:
    gold = samples(*[None] * 300)
    wanted = [name for name in gold.samples if is_private(name, share)]
    assert list(part_of(gold, share, ()).left_out) == wanted
    assert list(part_of(gold, share, (), "private").samples) == wanted
    assert list(part_of(gold, share, (), "private").left_out) == [name for name in gold.samples if name not in wanted]
    assert part_of(gold, share, (), "whole") is gold


def test_a_cluster_stands_in_place_of_the_id() -> None:
    first = [hashlib.sha256(name.encode()).digest()[0] / 256 for name in ("conv-17", "q-1")]
    gold = Gold(
        samples={
            "a": Sample(query_id="a", gains={"x": 1.0}, cluster="conv-17"),
            "q-1": Sample(query_id="q-1", gains={"x": 1.0}),
        },
        name="gold.yaml",
        format="yaml",
    )
    low, high = sorted(first)
    between = list(part_of(gold, (low + high) / 2, ()).left_out)
    assert between == (["a"] if first[0] < first[1] else ["q-1"])


def test_a_larger_share_contains_the_smaller() -> None:
    gold = samples(*[None] * 300)
    parts = [set(part_of(gold, share, ()).left_out) for share in (0.1, 0.2, 0.5, 0.9)]
    assert all(small < large for small, large in pairwise(parts))


def test_clusters_stay_together() -> None:
    gold = samples(*[f"conversation-{number // 5}" for number in range(300)])
    private = part_of(gold, 0.4, ()).left_out
    assert {sample.cluster for sample in private.values()} == {
        cluster for cluster in (f"conversation-{number}" for number in range(60)) if is_private(cluster, 0.4)
    }
    assert len(private) == 5 * len({sample.cluster for sample in private.values()})


def test_what_must_pass_is_never_private() -> None:
    gold = samples(*[None] * 50)
    private = part_of(gold, 0.5, ()).left_out
    first, *_ = private
    assert private.keys() - part_of(gold, 0.5, (gate(first),)).left_out.keys() == {first}
    assert part_of(gold, 0.5, (gate("hard"),)) is gold


def test_a_part_without_a_query_is_an_error() -> None:
    with pytest.raises(RankgateError, match=r"`holdout: 0\.999` leaves no public query to judge"):
        part_of(samples(None, None), 0.999, ())
    with pytest.raises(RankgateError, match="leaves no private query to judge"):
        part_of(samples(None), 0.0, (), "private")


# What leaves them out.


def test_a_check_judges_the_public_part() -> None:
    report = report_of()
    assert report.queries is not None
    assert (report.queries.total, report.queries.left_out, report.queries.unjudged) == (len(PUBLIC), len(PRIVATE), 0)
    assert {gate.n for gate in report.gates if gate.segment is None} == {len(PUBLIC)}
    assert sum(gate.n for gate in report.gates if gate.segment is not None) == len(PUBLIC)
    assert f"Not judged here: {len(PRIVATE)} private of 400 questions; `rankgate baseline accept` judges all." in (
        report.notes
    )
    assert report.gold_changes is None


def test_what_happens_to_private_queries_changes_no_report(project: Path) -> None:
    before = report_of()
    write_run("run.jsonl", lost=[*NUMBERS[::4], *PRIVATE])
    assert report_of() == before


def relabel_private() -> None:
    write_gold(relabelled=PRIVATE[:20])


def remove_private() -> None:
    write_gold(without=PRIVATE[:20])


def run_lacks_private() -> None:
    write_run("run.jsonl", lost=NUMBERS[::4], numbers=PUBLIC)


def lose_all() -> None:
    write_run("run.jsonl", lost=NUMBERS)


@pytest.mark.parametrize("change", [relabel_private, remove_private, run_lacks_private, lose_all])
def test_no_output_of_a_check_names_a_private_query(
    change: Callable[[], None], capsys: pytest.CaptureFixture[str]
) -> None:
    change()
    capsys.readouterr()
    assert main(["check", "-o", "report.json", "-o", "report.html", *DATE]) in (0, 1)
    printed = capsys.readouterr()
    pages = [Path(name).read_text(encoding="utf-8") for name in ("report.json", "report.html")]
    report = decode_report(pages[0].encode(), "report.json")
    texts = [printed.out, printed.err, *pages]
    texts += [render(report) for form, render in RENDERERS.items() if form != "html"]
    assert [leaks(text) for text in texts] == [[] for _ in texts]
    moved = name_of(next(number for number in PUBLIC if number % 4 == 0))
    assert all(moved in page for page in pages)  # so that the search means something


@pytest.mark.parametrize(
    "words",
    [
        pytest.param(["compare", "baseline", "run.jsonl"], id="compare"),
        pytest.param(["compare", "baseline", "run.jsonl", "--gold", "gold.jsonl"], id="compare, the gold set named"),
        pytest.param(["explain", "--misses", "--limit", "1000", *DATE], id="explain --misses"),
        pytest.param(["explain", "recall@1", *DATE], id="explain a gate"),
        pytest.param(["explain", name_of(PUBLIC[3]), "--depth", "50", *DATE], id="explain a query"),
        pytest.param(["score", "--per-query", "scores.jsonl"], id="score"),
        pytest.param(
            ["score", "--gold", "gold.jsonl", "--run", "run.jsonl", "--per-query", "scores.jsonl"],
            id="score, gold set and run named",
        ),
        pytest.param(["validate"], id="validate"),
        pytest.param(["baseline", "diff", "accepted", "run.jsonl", "--all"], id="baseline diff"),
        pytest.param(["baseline", "accept", "--reason", "a test", *DATE], id="baseline accept"),
        pytest.param(["baseline", "record", "--format", "json", *DATE], id="baseline record"),
    ],
)
def test_nor_does_any_other_command(words: list[str], capsys: pytest.CaptureFixture[str]) -> None:
    capsys.readouterr()
    assert main(words) == 0
    printed = capsys.readouterr()
    assert leaks(printed.out) == leaks(printed.err) == []
    if "--per-query" in words:
        lines = Path("scores.jsonl").read_text(encoding="utf-8").splitlines()
        assert [json.loads(line)["query_id"] for line in lines] == [name_of(number) for number in PUBLIC]
        assert f"Not judged here: {len(PRIVATE)} private of 400 questions" in printed.out


def test_explaining_a_private_query_finds_none(capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["explain", name_of(PRIVATE[0]), *DATE]) == 2
    asked = name_of(PRIVATE[0])
    assert [leak for leak in leaks(capsys.readouterr().err) if leak != asked] == []
    assert main(["explain", asked, "--gold-part", "whole", *DATE]) == 0


@pytest.mark.parametrize(
    ("part", "numbers"),
    [
        pytest.param("public", PUBLIC, id="public"),
        pytest.param("private", PRIVATE, id="private"),
        pytest.param("whole", list(NUMBERS), id="whole"),
    ],
)
def test_who_asks_for_another_part_gets_it(part: str, numbers: list[int]) -> None:
    assert main(["score", "--gold-part", part, "--per-query", "scores.jsonl"]) == 0
    lines = Path("scores.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["query_id"] for line in lines] == [name_of(number) for number in numbers]
    report = report_of("--gold-part", part)
    assert report.queries is not None
    assert (report.queries.total, report.queries.unjudged) == (len(numbers), 0)
    assert report.provenance.command[-2:] == (["--baseline", "baseline"])
    assert ("--gold-part" in report.provenance.command) == (part != "public")
    assert (report.gold_changes, report.differences) == (None, [])


def test_a_query_is_recorded_whatever_its_part(project: Path) -> None:
    (project / "finder.py").write_text("def retrieve(question):\n    return ['doc-' + question[-5:-1]]\n")
    assert main(["record", "--retriever", "finder:retrieve", "-o", "fresh.jsonl"]) == 0
    assert len(Path("fresh.jsonl").read_text(encoding="utf-8").splitlines()) == TOTAL


# What judges them.


def test_accepting_shows_the_private_change_beside_the_public_one(capsys: pytest.CaptureFixture[str]) -> None:
    """Better for the public queries alone: that is what fitting a retriever to them looks like."""
    write_run("worse.jsonl", lost=PUBLIC[: len(PUBLIC) // 2])
    assert main(["baseline", "accept", "--run", "worse.jsonl", "--reason", "a start", *DATE]) == 0
    capsys.readouterr()
    assert main(["baseline", "accept", "--run", "accepted.jsonl", *DATE]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[4] == f"on {len(PRIVATE)} private questions: PASS"
    assert lines[5].split("  ")[-1] == "95% interval of the difference"
    change = lines[6].split()
    assert change[:5] == ["recall@1", "+50.0", "pp", "±0.0", "pp"]
    assert (change[5][0], change[7][0]) == ("+", "+")  # the interval of the difference excludes zero


def test_the_interval_of_the_difference_is_that_of_two_independent_parts() -> None:
    report, private = report_of(), report_of("--gold-part", "private")
    found = changes_of(report, private)[0]
    public, hidden = report.gates[0], private.gates[0]
    assert (found.change, found.private) == (public.delta, hidden.delta)
    assert public.delta is not None
    assert hidden.delta is not None
    assert public.delta_ci is not None
    assert hidden.delta_ci is not None
    (low, high), (other_low, other_high) = public.delta_ci, hidden.delta_ci
    assert None not in (low, high, other_low, other_high)
    apart = public.delta - hidden.delta
    assert found.apart == pytest.approx(
        (
            apart - ((public.delta - (low or 0)) ** 2 + ((other_high or 0) - hidden.delta) ** 2) ** 0.5,
            apart + (((high or 0) - public.delta) ** 2 + (hidden.delta - (other_low or 0)) ** 2) ** 0.5,
        )
    )


def test_harm_to_the_private_part_alone_is_not_accepted_without_a_reason(capsys: pytest.CaptureFixture[str]) -> None:
    write_run("run.jsonl", lost=PRIVATE[:60])
    assert main(["check", *DATE]) == 0
    assert main(["baseline", "accept", *DATE]) == 2
    said = capsys.readouterr().err
    assert "the private part of the gold set proves harm: recall@1 dropped from 100.0% to" in said
    assert leaks(said) == []
    assert main(["baseline", "accept", "--reason", "known", *DATE]) == 0


def test_nor_does_a_policy_accept_it(project: Path, capsys: pytest.CaptureFixture[str]) -> None:
    Path("ship-criteria.yaml").write_text(f"{CRITERIA}baseline: {{accept: green}}\n", encoding="utf-8")
    write_run("run.jsonl", lost=PRIVATE[:60])
    assert main(["baseline", "record", *DATE]) == 0
    assert "what is accepted stays: the private part of the gold set proves harm" in capsys.readouterr().out
    write_run("run.jsonl", lost=PRIVATE[:1])  # within noise
    assert main(["baseline", "record", *DATE]) == 0
    assert "accepted as the baseline" in capsys.readouterr().out


def test_a_run_without_the_private_queries_is_not_accepted(capsys: pytest.CaptureFixture[str]) -> None:
    write_run("run.jsonl", numbers=PUBLIC)
    assert main(["baseline", "accept", *DATE]) == 2
    said = capsys.readouterr().err
    assert "the private part of the gold set could not be judged: does the run answer it?" in said
    assert leaks(said) == []


@pytest.mark.parametrize(
    ("share", "problem"),
    [
        pytest.param(0.2, "holdout: makes 76 of 400 queries private, fewer than 100", id="too few"),
        pytest.param(0.3, None, id="enough"),
        pytest.param(0.999999, None, id="nearly all"),
    ],
)
def test_validate_refuses_a_private_part_that_is_too_small(
    share: float, problem: str | None, capsys: pytest.CaptureFixture[str]
) -> None:
    private = sum(is_private(name_of(number), share) for number in NUMBERS[1:])
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("0.3\ninputs", f"{share}\ninputs"), encoding="utf-8")
    capsys.readouterr()
    assert main(["validate"]) == (2 if problem else 0)
    assert (f"makes {private} of 400" in capsys.readouterr().out) == bool(problem)


# Against the base: its share decides.


@pytest.fixture
def repository(project: Path) -> Path:
    (project / ".gitignore").write_text("run.jsonl\nreport.*\ncomment.md\n", encoding="utf-8")
    git("init", "--quiet", "--initial-branch", "main", ".")
    commit()
    git("switch", "--quiet", "--create", "pull")
    return project


def against_base(capsys: pytest.CaptureFixture[str]) -> tuple[Report, str]:
    capsys.readouterr()
    main(["check", "--base", "main", "-o", "report.json", "-o", "comment.md", "-o", "report.html", *DATE])
    printed = capsys.readouterr()
    texts = [Path(name).read_text(encoding="utf-8") for name in ("report.json", "comment.md", "report.html")]
    assert [leaks(text) for text in (printed.out, printed.err, *texts)] == [[]] * 5
    return decode_report(texts[0].encode(), "report.json"), printed.out


@pytest.mark.parametrize("share", ["0.05", "0.9", None])
def test_the_share_of_the_base_decides_and_another_is_named(
    repository: Path, capsys: pytest.CaptureFixture[str], share: str | None
) -> None:
    changed = CRITERIA.replace("holdout: 0.3\n", f"holdout: {share}\n" if share else "")
    Path("ship-criteria.yaml").write_text(changed, encoding="utf-8")
    commit()
    report, printed = against_base(capsys)
    assert report.queries is not None
    assert (report.queries.total, report.queries.left_out) == (len(PUBLIC), len(PRIVATE))
    said = {"0.05": "lowers holdout from 0.3 to 0.05", "0.9": "raises holdout from 0.3 to 0.9"}
    assert f"The pull request {said.get(str(share), 'removes holdout 0.3')}." in printed
    assert report.base is not None
    assert [(key.key, key.weakens) for key in report.base.keys] == [("holdout", True)]


@pytest.mark.parametrize(("part", "total"), [("private", len(PRIVATE)), ("whole", TOTAL)])
def test_with_a_base_too_another_part_can_be_asked_for(repository: Path, part: str, total: int) -> None:
    (repository / "notes.txt").write_text("other\n", encoding="utf-8")
    commit()
    report = report_of("--base", "main", "--gold-part", part)
    assert report.queries is not None
    assert report.queries.total == total


def test_a_pull_request_that_brings_a_share_is_judged_without(
    repository: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    git("switch", "--quiet", "main")
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("holdout: 0.3\n", ""), encoding="utf-8")
    commit()
    git("switch", "--quiet", "--create", "another")
    Path("ship-criteria.yaml").write_text(CRITERIA, encoding="utf-8")
    commit()
    main(["check", "--base", "main", "-o", "report.json", *DATE])
    report = decode_report(Path("report.json").read_bytes(), "report.json")
    assert report.queries is not None
    assert (report.queries.total, report.queries.left_out) == (TOTAL, 0)


def test_without_a_change_it_is_judged_once(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (repository / "notes.txt").write_text("other\n", encoding="utf-8")
    commit()
    report, _ = against_base(capsys)
    assert report.base is not None
    assert (report.base.base_verdict, report.base.queries) == (None, None)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        pytest.param(remove_private, "The pull request removes 20 private queries from the gold set.", id="removed"),
        pytest.param(relabel_private, "The pull request relabels 20 private queries.", id="relabelled"),
        pytest.param(
            lambda: write_gold(without=[*PUBLIC[7:9], *PRIVATE[:3]]),
            f"The pull request removes 5 queries ('{name_of(PUBLIC[7])}', '{name_of(PUBLIC[8])}' and 3 more) from the "
            "gold set.",
            id="removed among others",
        ),
    ],
)
def test_changed_private_queries_are_counted_and_not_named(
    repository: Path, capsys: pytest.CaptureFixture[str], change: Callable[[], None], said: str
) -> None:
    change()
    commit()
    _, printed = against_base(capsys)
    assert said in printed


def test_what_either_side_says_must_pass_is_judged(repository: Path, capsys: pytest.CaptureFixture[str]) -> None:
    asked = name_of(PRIVATE[0])
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("[query-0000]", f"[query-0000, {asked}]"), encoding="utf-8")
    commit()
    main(["check", "--base", "main", "-o", "report.json", *DATE])
    report = decode_report(Path("report.json").read_bytes(), "report.json")
    assert report.queries is not None
    assert report.queries.left_out == len(PRIVATE) - 1
