"""Verdicts in the stored baseline: which are kept with an answer, and that a later check needs no other place."""

from __future__ import annotations

import gzip
import json
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.baselines.accepting import newest_of
from tests.json_lines import write_lines
from tests.judge.cases import ALL, answer, answers_of, run, some_judge
from tests.judge.hash_judge import HashJudge, judging
from tests.repositories import commit, git

from rankgate.baselines.directory import directory_store
from rankgate.baselines.packing import Packed, pack, recorded, run_name, unpack
from rankgate.baselines.records import Record as StoredRecord
from rankgate.baselines.stores import store_for
from rankgate.cli import main
from rankgate.criteria import Criteria, load_criteria
from rankgate.criteria.inputs import gold_of
from rankgate.errors import RankgateError
from rankgate.judge.identity import judge_of
from rankgate.judge.model import Answer
from rankgate.judge.plan import BATCH, collect_verdicts
from rankgate.judge.records import Record
from rankgate.judge.runs import NEEDS, with_records
from rankgate.judge.store import Store, by_slot, line_of, listed, read_verdicts, record_of, stored_verdicts, written
from rankgate.judge.tasks import TASKS, Split
from rankgate.model.answers import Entailment, GoldClaim, UnjudgedKind
from rankgate.model.values import Details, Generated, Gold, Ranking, RunField, Sample
from rankgate.model.verdicts import Support, Unjudged
from rankgate.readers.formats import read_run

TEXTS = {"a": "You have 30 days.", "b": "Shipping is free. It is fast.", "c": "Nothing here."}
GOLD: list[dict[str, Any]] = [
    {
        "id": "q1",
        "input": "How long?",
        "expected_output": ["a"],
        "metadata": {"answer": "30 days.", "claims": ["30 days"]},
    },
    {"id": "q2", "input": "Is it free?", "expected_output": ["b"], "metadata": {"answer": "Shipping is free."}},
    {"id": "q3", "input": "And then?", "expected_output": ["a"]},
]
CRITERIA = """\
gates:
  - {name: faithfulness, regression_max: 0.1, severity: warning}
inputs: {gold: gold.jsonl, run: run.jsonl, baseline: baseline}
judge: {endpoint: "http://localhost:1/v1", model: hash-judge-2026-01-01, structured: json_schema}
"""


def line(query_id: str, ids: str, **keys: Any) -> dict[str, Any]:
    items = [{"rank": rank, "chunk_id": each, "text": TEXTS[each]} for rank, each in enumerate(ids, start=1)]
    return {"query_id": query_id, "topk": items, **keys}


FALSE = "You have 30 days. It costs nothing."  # the second claim lies in no passage
RUN = [line("q1", "abc", answer=FALSE), line("q2", "ba", answer="Shipping is free. It is fast."), line("q3", "ab")]


@pytest.fixture(scope="module")
def server() -> Iterator[HashJudge]:
    with judging() as found:
        yield found


@pytest.fixture(autouse=True)
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    write_lines("gold.jsonl", GOLD)
    write_lines("run.jsonl", RUN)
    Path("ship-criteria.yaml").write_text(CRITERIA, encoding="utf-8")
    return tmp_path


def criteria() -> Criteria:
    return load_criteria("ship-criteria.yaml")


def answers(path: str = "run.jsonl") -> list[Answer]:
    found, block = criteria(), criteria().judge
    assert block is not None
    with_answer = {
        each["query_id"] for each in map(json.loads, Path(path).read_text().splitlines()) if "answer" in each
    }
    every = answers_of(gold_of(None, found), read_run(path, needs=NEEDS).rankings, block.depth)
    return [each for each in every if each.query_id in with_answer]


def judged(
    server: HashJudge, path: str = "run.jsonl", verdicts: str = "run.verdicts.jsonl", **values: Any
) -> list[Record]:
    """The verdicts of a judge that asks all that any metric reads; they lie in a file, and nowhere else."""
    block = criteria().judge
    assert block is not None
    judge, store = judge_of(block.model_copy(update=values), "json_schema"), Store()
    run(server, answers(path), store, judge, **({"repeats": values["repeats"]} if "repeats" in values else {}))
    records = list(store.records.values())
    Path(verdicts).write_bytes(written(records))
    return records


def accept(*words: str) -> int:
    return main(["baseline", "accept", "--date", "2026-01-31", "--reason", "first", *words])


def check(*words: str) -> dict[str, Any]:
    """The report of a check."""
    main(["check", "--date", "2026-01-31", "-o", "report.json", *words])
    found: dict[str, Any] = json.loads(Path("report.json").read_text(encoding="utf-8"))
    return found


def gate(report: dict[str, Any]) -> tuple[float | None, float | None]:
    """The values of now and of the baseline."""
    (found,) = report["gates"]
    return found["value"], found["baseline"]


def stored_run(place: str = "baseline") -> bytes:
    memory = store_for(place).memory
    assert memory is not None
    return gzip.decompress(memory.fetch(memory.read("accepted")[-1]))


def kept() -> dict[str, list[Record]]:
    """The records of each stored line, of those that have any."""
    lines = map(json.loads, stored_run().splitlines())
    return {
        each["query_id"]: [msgspec.convert(one, Record) for one in each["verdicts"]]
        for each in lines
        if "verdicts" in each
    }


# What is kept.


def test_each_answer_is_stored_with_its_verdicts_as_they_stand_in_the_file(server: HashJudge) -> None:
    records = judged(server)
    assert accept() == 0
    found = kept()
    assert found.keys() == {"q1", "q2"}, "a line without an answer has none"
    assert by_slot(each for every in found.values() for each in every) == by_slot(records), (
        "each metric's, not only the gate's"
    )
    assert {each.task for each in found["q1"]} == {*TASKS} - {"rubric"}
    lines = {line_of(each).rstrip() for each in records}
    assert all(each in stored_run() for each in lines), "byte for byte"
    assert [len(every) for every in found.values()] == [len(set(map(line_of, every))) for every in found.values()]


def test_verdicts_on_rubrics_are_stored_and_read_without_the_file(server: HashJudge) -> None:
    """The criteria's texts are a part of what was asked: another text is another question."""
    gates = "gates:\n  - {name: rubric(says_days), regression_max: 0.1, severity: warning}\n"
    for text, known in (("30 days", 3), ("15 days", 1)):  # a lacking answer needs no verdict
        judge = CRITERIA.partition("inputs")[2].replace(
            "json_schema}", f'json_schema, rubrics: {{says_days: "{text}"}}}}'
        )
        Path("ship-criteria.yaml").write_text(f"{gates}inputs{judge}", encoding="utf-8")
        if known == 3:
            judged(server)
            assert accept() == 0
            assert {each.task for each in kept()["q1"]} == {*TASKS}
            Path("run.verdicts.jsonl").unlink()
        found = check()["metrics"]["rubric(says_days)"]
        assert (found["n"], found["value"]) == (known, pytest.approx(1 / 3 if known == 3 else 0.0))


SPLIT = Record(judge="j", task="split", key="k", repeat=0, verdicts=Split(asserts=True, claims=("x",)))


def replaced(records: list[Record], **values: Any) -> list[Record]:
    return [msgspec.structs.replace(each, **values) for each in records]


def unable(own: list[Record]) -> list[Record]:
    """Another judge's, which could grade no passage."""
    why = Unjudged(UnjudgedKind.SCHEMA)
    graded = (each for each in own if each.task == "relevance")
    return [msgspec.structs.replace(each, judge="another", verdicts=None, unjudged=why) for each in graded]


@pytest.mark.parametrize(
    ("others", "left_out"),
    [
        pytest.param(lambda _: [SPLIT], 1, id="of no answer of this run"),
        pytest.param(lambda own: replaced(own, judge="another"), 0, id="of another judge"),
        pytest.param(
            lambda own: replaced(own, repeat=1), 1, id="of a repeat, which takes the first claims of a reference"
        ),
        pytest.param(lambda own: own, 15, id="in the file a second time"),
        pytest.param(unable, 0, id="reasons why there is no verdict"),
    ],
)
def test_which_records_belong_to_an_answer(
    others: Callable[[list[Record]], list[Record]], left_out: int, server: HashJudge
) -> None:
    own = judged(server)
    more = others(own)
    Path("run.verdicts.jsonl").write_bytes(written([*own, *more]))
    assert accept() == 0
    found = [each for every in kept().values() for each in every]
    assert len(own) == 15
    assert more
    assert len(found) == len(own) + len(more) - left_out


def long(sentences: int) -> str:
    return " ".join(f"Fact {number} holds." for number in range(sentences))


@pytest.mark.parametrize(
    "values",
    [
        pytest.param({}, id="an answer with gold claims"),
        pytest.param({"claims": ()}, id="by the claims of the reference"),
        pytest.param({"claims": (), "reference": None}, id="no reference"),
        pytest.param({"no_answer": True}, id="a query without an answer"),
        pytest.param({"text": "I do not know."}, id="a refusal"),
        pytest.param({"text": ""}, id="an empty answer"),
        pytest.param({"text": long(BATCH + 5)}, id="many claims"),
        pytest.param({"text": long(2 * BATCH + 5)}, id="more claims than go into a request"),
        pytest.param({"claims": tuple(GoldClaim(f"Fact {n}") for n in range(BATCH + 5))}, id="many gold claims"),
    ],
)
@pytest.mark.parametrize(
    "context_tokens", [pytest.param(None, id="any size"), pytest.param(2_500, id="a small context")]
)
def test_all_that_a_judge_was_asked_about_an_answer_is_kept(
    values: dict[str, Any], context_tokens: int | None, server: HashJudge
) -> None:
    """The oracle is the store of a judge that was asked about this answer alone, here with three repeats."""
    text = values.get("text", "You can return an article within 30 days.")
    asked = answer(text, **{key: value for key, value in values.items() if key != "text"})
    store, judge = Store(), some_judge(context_tokens=context_tokens)
    run(server, [asked], store, judge, repeats=3)
    known = store.records
    assert known
    assert not any(collect_verdicts(asked, judge, ALL, known, repeat).calls for repeat in range(3))
    sample = Sample(
        query_id="q-1",
        gains={},
        question=asked.question,
        no_answer=asked.no_answer,
        answers=(asked.reference,) if asked.reference else (),
        claims=asked.claims,
    )
    texts = {each.id: each.text for each in asked.context}
    ranking = Ranking("q-1", list(texts), 0, Details(generated=Generated(answer=text, texts=texts)))
    (found,) = with_records([ranking], Gold(samples={"q-1": sample}, name="gold", format="jsonl"), known, 5)
    assert found.details is not None
    assert found.details.records == listed(known.values())


@pytest.mark.parametrize("damaged", [False, True])
def test_answers_that_did_not_change_keep_the_verdicts_of_the_accepted_run(server: HashJudge, *, damaged: bool) -> None:
    """`rankgate judge` asks about changed answers alone, so that the file beside the run has only theirs."""
    judged(server)
    assert accept() == 0
    before = kept()
    write_lines("run.jsonl", [line("q1", "abc", answer="It is 30 days."), *RUN[1:]])
    if damaged:
        (stored,) = Path("baseline").rglob("*.gz")
        stored.write_bytes(b"")
    records = judged(server)
    of_new = {each.key for each in records} - {each.key for each in before["q2"]}
    Path("run.verdicts.jsonl").write_bytes(written([each for each in records if each.key in of_new]))
    assert accept() == 0
    now = kept()
    assert ("q2" in now) is not damaged
    assert damaged or now["q2"] == before["q2"]
    Path("run.verdicts.jsonl").unlink()
    assert damaged or gate(check())[0] is not None


def test_the_file_that_is_named_counts_and_not_the_one_beside_the_run(server: HashJudge) -> None:
    judged(server, verdicts="elsewhere.jsonl")
    Path("run.verdicts.jsonl").write_bytes(line_of(SPLIT))
    assert accept("--verdicts", "elsewhere.jsonl") == 0
    assert kept().keys() == {"q1", "q2"}


@pytest.mark.parametrize(
    ("words", "lines"),
    [
        pytest.param(["--criteria", "plain.yaml"], RUN[2:], id="no answer"),
        pytest.param(["--run", "run.jsonl", "--to", "baseline"], RUN, id="no gold set"),
    ],
)
def test_verdicts_on_nothing_are_refused(
    words: list[str], lines: list[Any], capsys: pytest.CaptureFixture[str]
) -> None:
    write_lines("run.jsonl", lines)
    Path("v.jsonl").write_bytes(line_of(SPLIT))
    Path("plain.yaml").write_text(CRITERIA.replace("faithfulness", "recall@1"), encoding="utf-8")
    if "--criteria" not in words:
        Path("ship-criteria.yaml").unlink()
    assert accept("--verdicts", "v.jsonl", *words) == 2
    assert "v.jsonl: --verdicts needs a run with answers, and their questions" in capsys.readouterr().err
    assert not Path("baseline").exists()


@pytest.mark.parametrize(
    "words", [pytest.param([], id="beside"), pytest.param(["--verdicts", "run.verdicts.jsonl"], id="named")]
)
def test_a_damaged_file_is_named_and_nothing_is_stored(
    words: list[str], server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    judged(server)
    path = Path("run.verdicts.jsonl")
    first, second, *_ = path.read_bytes().splitlines(keepends=True)
    path.write_bytes(first + second[:40] + b"\n")
    assert accept(*words) == 2
    assert "run.verdicts.jsonl:2: broken JSON" in capsys.readouterr().err
    assert not Path("baseline").exists()


def test_without_verdicts_a_run_is_stored_as_before(server: HashJudge) -> None:
    judged(server)
    Path("run.verdicts.jsonl").rename("away.jsonl")
    assert accept() == 0
    without = stored_run()
    manifest = newest_of()
    assert manifest["answers"] == 2
    assert "verdicts" not in manifest
    Path("away.jsonl").rename("run.verdicts.jsonl")
    assert accept() == 0
    more = [json.loads(each) for each in stored_run().splitlines()]
    assert [{k: v for k, v in each.items() if k != "verdicts"} for each in more] == [
        *map(json.loads, without.splitlines())
    ]
    assert b"verdicts" not in without


def test_a_record_of_a_run_without_answers_has_the_keys_of_before() -> None:
    packed = pack([Ranking("q", ["a"])], source="run")
    record = recorded(packed, source="run", provenance={}, gold=None, date="2026-01-31")
    assert not {"answers", "verdicts"} & msgspec.to_builtins(record).keys()
    assert gzip.decompress(packed.data) == b'{"query_id":"q","retrieved":["a"]}\n'


@pytest.mark.full
@given(st.lists(st.tuples(st.text("abc", min_size=1, max_size=3), st.text(max_size=9)), unique_by=lambda pair: pair[0]))
def test_what_is_stored_comes_back_and_is_stored_again_as_the_same_bytes(found: list[tuple[str, str]]) -> None:
    records = [
        Record(judge="j", task="split", key=key, repeat=0, verdicts=Split(asserts=True, claims=(text,)))
        for key, text in found
    ]
    details = Details(generated=Generated(answer="A."), records=listed(records) if records else None)
    packed = pack([Ranking("q", ["a"], 0, details)], source="run")
    assert packed.verdicts == len(records)
    assert stored_verdicts(opened(packed)) == by_slot(map(record_of, map(line_of, records)))
    needs = frozenset({RunField.ANSWER, RunField.VERDICTS})
    assert pack(opened(packed, needs).rankings, source="run") == packed
    assert [each.details for each in opened(packed, frozenset({RunField.LATENCY})).rankings] == [None], (
        "left alone without need"
    )


def opened(packed: Packed, needs: frozenset[RunField] = frozenset({RunField.VERDICTS})) -> Any:
    record = recorded(packed, source="run", provenance={}, gold=None, date="2026-01-31")
    return unpack(record, packed.data, needs, name="baseline")


# What a check reads.


def places(folder: Path) -> dict[str, str]:
    return {"a directory": "baseline", "a branch": "git+branch:rankgate", "objects": (folder / "objects").as_uri()}


@pytest.mark.full
@pytest.mark.parametrize("place", ["a directory", "a branch", "objects"])
def test_from_then_on_a_check_needs_no_other_place(place: str, project: Path, server: HashJudge) -> None:
    git("init", "--quiet", "--initial-branch", "main")
    commit()
    spec = places(project)[place]
    records = judged(server)
    assert accept("--to", spec) == 0
    before = check("--baseline", spec)
    Path("run.verdicts.jsonl").unlink()
    after = check("--baseline", spec)
    assert gate(after) == gate(before) == (0.75, 0.75)
    assert after["gates"] == before["gates"]
    found = store_for(spec).open(frozenset({RunField.VERDICTS}))
    assert found is not None
    assert stored_verdicts(found) == by_slot(records)


def test_a_prompt_of_more_results_than_usual_is_the_same_from_the_store(server: HashJudge) -> None:
    """Its texts and those results are kept as deep as the criteria say, and under the same keys."""
    Path("ship-criteria.yaml").write_text(CRITERIA.replace("judge: {", "judge: {depth: 7, "), encoding="utf-8")
    fillers = [{"rank": rank, "chunk_id": f"f{rank}", "text": f"Filler {rank}."} for rank in range(1, 7)]
    deep = [*fillers, {"rank": 7, "chunk_id": "a", "text": TEXTS["a"]}]
    write_lines("run.jsonl", [{"query_id": "q1", "topk": deep, "answer": FALSE}, *RUN[1:]])
    judged(server)
    assert accept("--depth", "1") == 0
    Path("run.verdicts.jsonl").unlink()
    assert gate(check()) == (0.75, 0.75)


def test_a_changed_answer_takes_its_own_verdicts_and_no_more(server: HashJudge) -> None:
    """The file has those on what changed; the baseline's answers, and those that did not change, go by the store."""
    every = judged(server)
    accept()
    write_lines("run.jsonl", [line("q1", "abc", answer="You have 30 days."), *RUN[1:]])
    new = [each for each in judged(server) if each not in every]
    assert new
    Path("run.verdicts.jsonl").write_bytes(written(new))
    assert gate(check()) == (1.0, 0.75)
    Path("run.verdicts.jsonl").unlink()
    assert gate(check()) == (1.0, 1.0), "of one that nobody was asked about neither run has a value"


def without_support(records: list[Record], **values: Any) -> list[Record]:
    """The same, but that no claim is supported."""
    absent = [tuple(Support(one.n, Entailment.ABSENT) for one in each.verdicts) for each in entailed(records)]
    others = [each for each in records if each.task != "entail"]
    changed = zip(entailed(records), absent, strict=True)
    return replaced([*others, *(msgspec.structs.replace(each, verdicts=found) for each, found in changed)], **values)


def entailed(records: list[Record]) -> list[Record]:
    return [each for each in records if each.task == "entail"]


def test_the_judge_of_the_file_is_meant_before_that_of_the_store(server: HashJudge) -> None:
    """With `structured: auto` an endpoint may take another form of answers than at the time of acceptance."""
    Path("ship-criteria.yaml").write_text(CRITERIA.replace(", structured: json_schema", ""), encoding="utf-8")
    block = criteria().judge
    assert block is not None
    own = judged(server)
    assert {each.judge for each in own} == {judge_of(block, "json_schema").id}
    accept()
    now = without_support(own, judge=judge_of(block, "prompt").id)
    Path("run.verdicts.jsonl").write_bytes(written(now))
    assert gate(check()) == (0.0, 0.0)
    Path("run.verdicts.jsonl").unlink()
    assert gate(check()) == (0.75, 0.75), "else that of the store is meant"


def test_the_file_counts_before_the_store(server: HashJudge) -> None:
    """A judge may have been asked again on purpose; where it could not tell, what was stored counts."""
    own = judged(server)
    accept()
    Path("run.verdicts.jsonl").write_bytes(written(without_support(own)))
    assert gate(check()) == (0.0, 0.0)
    unknown = replaced(entailed(own), verdicts=None, unjudged=Unjudged(UnjudgedKind.SCHEMA))
    Path("run.verdicts.jsonl").write_bytes(written(unknown))
    assert gate(check()) == (0.75, 0.75)


@pytest.mark.full
def test_a_baseline_from_standard_input_is_read_once(server: HashJudge) -> None:
    judged(server)
    command = [sys.executable, "-m", "rankgate", "check", "--date", "2026-01-31", "--baseline", "-"]
    ended = subprocess.run(
        [*command, "-o", "report.json"], input=Path("run.jsonl").read_bytes(), timeout=120, check=False
    )
    assert ended.returncode == 0
    assert gate(json.loads(Path("report.json").read_text(encoding="utf-8"))) == (0.75, 0.75)


# What nobody may smuggle in.


@pytest.mark.parametrize("words", [pytest.param([], id="trusted"), pytest.param(["--untrusted-run"], id="untrusted")])
@pytest.mark.parametrize("where", ["candidate", "baseline"])
def test_verdicts_in_the_lines_of_a_run_file_are_ignored(words: list[str], where: str, server: HashJudge) -> None:
    """As a candidate's, and as those of a run file that is the baseline. In a file of verdicts the same would count."""
    own = judged(server)
    accept()
    honest = check(*words)
    forged = [
        msgspec.structs.replace(
            each, verdicts=tuple(Support(one.n, Entailment.SUPPORTED, (1,)) for one in each.verdicts)
        )
        for each in own
        if each.task == "entail"
    ]
    lines = [{**each, "verdicts": msgspec.to_builtins(forged)} for each in RUN]
    write_lines("forged.jsonl", lines)
    Path("run.verdicts.jsonl").unlink()
    if where == "candidate":
        found = check("--run", "forged.jsonl", *words)
        assert gate(found) == gate(honest) == (0.75, 0.75)
        assert found["problems"] == []
        assert "verdicts" not in found["provenance"]["run"]
    else:
        assert gate(check("--baseline", "forged.jsonl", *words)) == (None, None)
    Path("v.jsonl").write_bytes(written([*forged, *(each for each in own if each.task != "entail")]))
    Path("v.jsonl").rename("run.verdicts.jsonl")
    assert gate(check()) == (1.0, 1.0)


@pytest.mark.parametrize(
    "value", [pytest.param({"n": 1}, id="a mapping"), pytest.param("x", id="text"), pytest.param([1], id="a list")]
)
def test_a_key_of_the_users_own_disturbs_nobody(value: object, server: HashJudge) -> None:
    judged(server)
    write_lines("run.jsonl", [{**each, "verdicts": value} for each in RUN])
    assert accept() == 0
    assert gate(check()) == (0.75, 0.75)


# What is damaged, and what is shown.


def damage(change: Callable[[bytes], bytes]) -> None:
    """Store the accepted run again with a change, under its new digest, as a writer with an error would."""
    rankings = list(unpacked())
    details = rankings[0].details
    assert details is not None
    assert details.records is not None
    broken = msgspec.structs.replace(details, records=change(details.records))
    packed = pack([msgspec.structs.replace(rankings[0], details=broken), *rankings[1:]], source="run")
    memory = directory_store("baseline").memory
    assert memory is not None
    now: StoredRecord = memory.read("accepted")[-1]
    memory.add("accepted", msgspec.structs.replace(now, run=run_name(packed.sha256), sha256=packed.sha256), packed.data)


def unpacked() -> Iterator[Ranking]:
    found = store_for("baseline").open(frozenset({RunField.ANSWER, RunField.VERDICTS}))
    assert found is not None
    yield from found.rankings


@pytest.mark.parametrize(
    ("change", "message"),
    [
        pytest.param(
            lambda data: data.replace(b'"supported"', b'"proven"'), "invalid enum value 'proven'", id="no verdict"
        ),
        pytest.param(
            lambda data: data.replace(b'"model"', b'"modell"'), "unknown field modell", id="of another version"
        ),
        pytest.param(lambda _: b'{"n":1}', "expected a list, found a mapping", id="no list"),
        pytest.param(lambda _: b"[7]", "expected a mapping, found a whole number", id="no record"),
    ],
)
def test_a_damaged_verdict_is_a_damaged_baseline(
    change: Callable[[bytes], bytes], message: str, server: HashJudge, capsys: pytest.CaptureFixture[str]
) -> None:
    judged(server)
    accept()
    Path("run.verdicts.jsonl").unlink()
    damage(change)
    expected = "damaged baseline: the verdicts on 'q1': "
    assert main(["check", "--date", "2026-01-31"]) == 2
    said = capsys.readouterr()
    assert expected in said.out + said.err
    assert message in said.out + said.err
    assert main(["baseline", "verify"]) == 2
    assert f"baseline: {expected}" in (err := capsys.readouterr().err)
    assert message in err
    assert "accept a run again" in err


def test_accept_show_and_verify_say_what_is_kept(server: HashJudge, capsys: pytest.CaptureFixture[str]) -> None:
    count = len(judged(server))
    accept()
    assert f"3 questions, ranks to 100; 2 answers with {count} verdicts\n" in capsys.readouterr().out
    assert main(["baseline", "show"]) == 0
    assert f"answers       2 answers with {count} verdicts\n" in capsys.readouterr().out
    assert main(["baseline", "show", "--format", "json"]) == 0
    found = json.loads(capsys.readouterr().out)["accepted"]
    assert (found["answers"], found["verdicts"], "verdicts" in found["kept"]) == (2, count, True)
    assert main(["baseline", "verify"]) == 0
    assert main(["baseline", "record", "--date", "2026-01-31", "--to", "elsewhere"]) == 0
    assert f"2 answers with {count} verdicts" in capsys.readouterr().out


def test_a_verdict_that_is_stored_twice_is_read_once() -> None:
    """As where two questions have the same answer; the first verdict counts, and one before none."""
    missing = Record(judge="j", task="split", key="k", repeat=0, unjudged=Unjudged(UnjudgedKind.SCHEMA))
    late = msgspec.structs.replace(SPLIT, model="late")
    details = [Details(generated=Generated(answer="A."), records=listed([each])) for each in (missing, SPLIT, late)]
    packed = pack([Ranking(f"q{n}", ["a"], 0, each) for n, each in enumerate(details)], source="run")
    assert stored_verdicts(opened(packed)) == {SPLIT.slot: SPLIT}


def test_the_error_names_the_store_of_the_verdicts() -> None:
    details = Details(generated=Generated(answer="A."), records=b"[{}]")
    packed = pack([Ranking("q", ["a"], 0, details)], source="run")
    with pytest.raises(RankgateError) as caught:
        stored_verdicts(opened(packed))
    (problem,) = caught.value.problems
    assert problem.file == "baseline"


def test_verdicts_that_are_kept_are_those_of_the_file(server: HashJudge) -> None:
    judged(server)
    accept()
    found = store_for("baseline").open(frozenset({RunField.VERDICTS}))
    assert found is not None
    assert stored_verdicts(found) == read_verdicts("run.verdicts.jsonl")
