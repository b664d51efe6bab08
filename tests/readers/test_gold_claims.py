"""Claims: what a right answer must say. They are judgments, so that whoever changes them changes the labels."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from msgspec.structs import replace

from rankgate.base_ref.changes import query_changes
from rankgate.collecting.gold_documents import written
from rankgate.criteria.model import parse_criteria
from rankgate.diagnosis.gold_set import gold_changes, judgment_digests, mark_of
from rankgate.errors import Problem, RankgateError
from rankgate.model.answers import GoldClaim
from rankgate.model.values import Gold, Sample
from rankgate.readers.base import ProblemLog
from rankgate.readers.formats import fingerprint_of, read_gold
from rankgate.readers.samples import to_sample

FORMS = ("yaml", "json", "jsonl")


def read(where: Path, sample: dict[str, Any], form: str) -> Sample:
    line = json.dumps({"id": "q", "expected_output": ["a"], **sample}, ensure_ascii=False)
    text = {"yaml": f"samples:\n  - {line}\n", "json": f'{{"samples": [{line}]}}', "jsonl": f"{line}\n"}[form]
    (where / "gold").write_text(text, encoding="utf-8")
    return read_gold((where / "gold").as_posix()).samples["q"]


@pytest.mark.parametrize(
    ("claims", "expected"),
    [
        pytest.param(None, (), id="none"),
        pytest.param([], (), id="an empty list"),
        pytest.param(["30 days"], (GoldClaim("30 days"),), id="a text is vital"),
        pytest.param(
            ["30 days", {"text": "no shipping cost", "vital": False}, {"text": "by mail", "vital": True}],
            (GoldClaim("30 days"), GoldClaim("no shipping cost", vital=False), GoldClaim("by mail")),
            id="in the order of the file",
        ),
        pytest.param([{"text": "30 days"}], (GoldClaim("30 days"),), id="an object is vital where it does not say"),
        pytest.param(["  30\n\tdays\u3000max\u00a0 "], (GoldClaim("30 days max"),), id="white space is one space"),
        pytest.param(["Cafe\u0301"], (GoldClaim("Caf\u00e9"),), id="in NFC"),
        pytest.param(["30 days", "30 Days"], (GoldClaim("30 days"), GoldClaim("30 Days")), id="case tells apart"),
        pytest.param(
            ["\u202eevil\u202c [x](http://e) \x1b[2J ::error::"],
            (GoldClaim("\u202eevil\u202c [x](http://e) \x1b[2J ::error::"),),
            id="hostile text is text",
        ),
        pytest.param(["fact " * 200_000], (GoldClaim("fact " * 199_999 + "fact"),), id="a megabyte"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_claims(tmp_path: Path, form: str, claims: Any, expected: tuple[GoldClaim, ...]) -> None:
    if form == "yaml" and claims and "\x1b" in str(claims[0]):
        pytest.skip("YAML has no control characters")
    assert read(tmp_path, {"metadata": {"claims": claims}}, form).claims == expected


LANGUAGES = {
    "de": ("Die Frist beträgt 30 Tage.", "Rücksendungen sind kostenlos."),
    "fr": ("Le délai est de 30 jours.", "Le retour est gratuit."),
    "pt": ("O prazo é de 30 dias.", "A devolução é grátis."),
    "pl": ("Termin wynosi 30 dni.", "Zwrot jest bezpłatny."),
    "tr": ("Süre 30 gündür.", "İade ücretsizdir."),
    "ru": ("Срок — 30 дней.", "Возврат бесплатный."),
    "ar": ("المدة ٣٠ يومًا.", "الإرجاع مجاني."),
    "he": ("התקופה היא 30 יום.", "ההחזרה חינם."),
    "hi": ("अवधि ३० दिन है।", "वापसी मुफ़्त है।"),
    "th": ("ระยะเวลา 30 วัน", "คืนสินค้าฟรี"),
    "ja": ("期間は30日です。", "返品は無料です。"),
    "ko": ("기간은 30일입니다.", "반품은 무료입니다."),
}


@pytest.mark.parametrize("language", LANGUAGES)
@pytest.mark.parametrize("form", FORMS)
def test_claims_stay_in_their_language(tmp_path: Path, form: str, language: str) -> None:
    claims = LANGUAGES[language]
    found = read(tmp_path, {"metadata": {"claims": list(claims)}}, form).claims
    assert [claim.text.split() for claim in found] == [claim.split() for claim in claims]


@pytest.mark.parametrize(
    ("metadata", "key", "message"),
    [
        ({"claims": "30 days"}, "", "expected a list of claims, found '30 days'"),
        ({"claims": {"text": "x"}}, "", "expected a list of claims, found {'text': 'x'}"),
        ({"claims": [""]}, "[0]", "the claim is ''; write one fact in words"),
        ({"claims": ["a", " \n"]}, "[1]", "the claim is ' \\n'; write one fact in words"),
        ({"claims": ["\u200b…"]}, "[0]", "the claim is '\\u200b…'; write one fact in words"),
        ({"claims": [30]}, "[0]", "the claim is 30; write one fact in words"),
        ({"claims": [None]}, "[0]", "the claim is nothing; write one fact in words"),
        ({"claims": [["a"]]}, "[0]", "the claim is ['a']; write one fact in words"),
        ({"claims": [{"vital": True}]}, "[0]", "the claim is nothing; write one fact in words"),
        ({"claims": [{"text": "a", "Vital": False}]}, "[0]", "a claim has text and vital, and no 'Vital'"),
        ({"claims": ["b", {"text": "a", "vital": "no"}]}, "[1].vital", "expected true or false, found 'no'"),
        ({"claims": [{"text": "a", "vital": None}]}, "[0].vital", "expected true or false, found nothing"),
        ({"claims": [{"text": "a", "vital": 0}]}, "[0].vital", "expected true or false, found 0"),
        (
            {"claims": ["30  days", "x", {"text": " 30 days", "vital": False}]},
            "[2]",
            "the claim '30 days' stands twice; keep one",
        ),
        ({"claims": ["Cafe\u0301", "Caf\u00e9"]}, "[1]", "the claim 'Café' stands twice; keep one"),
    ],
)
@pytest.mark.parametrize("form", FORMS)
def test_bad_claims(tmp_path: Path, form: str, metadata: dict[str, Any], key: str, message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        read(tmp_path, {"metadata": metadata}, form)
    line = {"yaml": 2, "json": None, "jsonl": 1}[form]
    where = f"{'' if form == 'jsonl' else 'samples[0].'}metadata.claims{key}"
    assert caught.value.problems == (Problem(f"sample 'q': {message}", (tmp_path / "gold").as_posix(), line, where),)


@pytest.mark.parametrize("form", FORMS)
def test_claims_beside_the_metadata_are_named(tmp_path: Path, form: str) -> None:
    with pytest.raises(RankgateError, match=r"claims belongs under metadata; write metadata: \{claims: …\}"):
        read(tmp_path, {"claims": ["30 days"]}, form)


def test_half_of_a_surrogate_pair_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "gold"
    path.write_text(r'{"id": "q", "expected_output": ["a"], "metadata": {"claims": ["\ud800x"]}}', encoding="utf-8")
    with pytest.raises(RankgateError, match="gold:1: text with half of a surrogate pair"):
        read_gold(path.as_posix(), "jsonl")


CLAIMS = st.lists(
    st.tuples(st.text(st.characters(codec="utf-8")).filter(lambda text: any(map(str.isalnum, text))), st.booleans()),
    max_size=4,
)


@given(CLAIMS)
def test_any_claims_read_back_as_they_were_read(claims: list[tuple[str, bool]]) -> None:
    value = {"id": "q", "expected_output": ["a"], "metadata": {"claims": [{"text": t, "vital": v} for t, v in claims]}}
    log = ProblemLog()
    sample = to_sample(value, Problem(""), log)
    if sample is None:
        (problem,) = log.problems
        assert "stands twice" in problem.message
        return
    assert to_sample(written(sample), Problem(""), ProblemLog()) == sample


# Claims are judgments.

CRITERIA = parse_criteria({"gates": [{"name": "recall@5", "threshold": 0.5}]})
Q1 = Sample(query_id="q1", gains={"a": 1.0, "b": 0.5}, claims=(GoldClaim("30 days"), GoldClaim("free", vital=False)))
Q2 = Sample(query_id="q2", gains={"b": 2.0})
Q3 = Sample(query_id="q3", gains={})


def gold(*samples: Sample) -> Gold:
    return Gold(samples={sample.query_id: sample for sample in samples}, name="gold.yaml", format="yaml")


def fingerprint(*samples: Sample) -> str:
    return fingerprint_of(gold(*samples))


def test_a_gold_set_without_claims_has_the_fingerprints_of_earlier_versions() -> None:
    """As the version before claims wrote them into its stores."""
    samples = gold(replace(Q1, claims=()), Q2, Q3)
    assert fingerprint_of(samples) == "a6c7f925edc20f8c7dbf40b1d1eab9ff6b8e3b079ecdcfe48e59bd72fdb4ac1a"
    assert judgment_digests(samples) == {"q1": "00f388ab", "q2": "9b65d464", "q3": "4f53cda1"}


CHANGES = [
    pytest.param((), id="all gone"),
    pytest.param((GoldClaim("30 days"),), id="one gone"),
    pytest.param((*Q1.claims, GoldClaim("by mail")), id="one more"),
    pytest.param((GoldClaim("30 days"), GoldClaim("free")), id="vital now"),
    pytest.param((GoldClaim("31 days"), GoldClaim("free", vital=False)), id="another text"),
]


@pytest.mark.parametrize("claims", CHANGES)
def test_other_claims_are_other_labels(claims: tuple[GoldClaim, ...]) -> None:
    """For the fingerprint, for what a baseline remembers, and for what a pull request does to the gold set."""
    before, after = gold(Q1, Q2), gold(replace(Q1, claims=claims), Q2)
    assert fingerprint_of(before) != fingerprint_of(after)
    found = gold_changes(after, fingerprint_of(after), mark_of(before, fingerprint_of(before)))
    assert found is not None
    assert (found.added, found.removed, found.relabelled, found.relabelled_ids) == (0, 0, 1, ["q1"])
    by_claims = query_changes(before, after, CRITERIA, CRITERIA)
    by_ids = query_changes(before, gold(replace(Q1, gains={"a": 1.0}), Q2), CRITERIA, CRITERIA)
    assert by_claims is not None
    assert by_claims == by_ids, "as an edit of the expected ids"
    assert by_claims.relabelled_ids == ["q1"]


def test_their_order_is_no_label() -> None:
    """But what a judge is asked, so that a pull request that reorders them edits the question."""
    before, after = gold(Q1), gold(replace(Q1, claims=Q1.claims[::-1]))
    assert fingerprint_of(before) == fingerprint_of(after)
    assert judgment_digests(before) == judgment_digests(after)
    found = query_changes(before, after, CRITERIA, CRITERIA)
    assert found is not None
    assert (found.relabelled, found.edited_ids) == (0, ["q1"])
