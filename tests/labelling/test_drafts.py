"""Drafts from documents: what counts as a heading, where passages lie, which are chosen, what is left out."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.conftest import ROOT

from rankgate.labelling.drafts import (
    MAX_PASSAGE,
    MAX_QUESTION,
    Draft,
    Left,
    Passage,
    by_headings,
    copied_share,
    in_order,
    passages_of,
    related,
    samples_of,
)
from rankgate.readers.formats import read_gold

BODY = "Refunds are paid within thirty days of the return."
CHINESE = "退款将在收到退货后的三十天内支付给客户。"


@pytest.mark.parametrize(
    ("text", "question", "by", "passage"),
    [
        pytest.param(f"# Refunds\n{BODY}", "Refunds", "heading", BODY, id="Markdown"),
        pytest.param(
            f"## 1.2. [Re*fun*ds](x) of `a_b` {{#ref}} ##\n\n{BODY}\n", "Refunds of a_b", "heading", BODY, id="markup"
        ),
        pytest.param(f"Refunds\n=======\n\n{BODY}", "Refunds", "heading", BODY, id="underlined"),
        pytest.param(f"Text before.\n\nRefunds\n~~~~~~~\n{BODY}", "Refunds", "heading", BODY, id="reStructuredText"),
        pytest.param(f"---\ntitle: x\n---\n# A\n{BODY}", "A", "heading", BODY, id="front matter"),
        pytest.param(
            f"<details>\n<summary>Why &amp; <b>how</b></summary>\n\n{BODY}\n\n</details>\nMore.",
            "Why & how",
            "heading",
            BODY,
            id="details",
        ),
        pytest.param(
            f"<details><summary>Why</summary>\n{BODY}\n</details>", "Why", "heading", BODY, id="details in a line"
        ),
        pytest.param(f"Q: When is it paid\nA: {BODY}", "When is it paid", "faq", BODY, id="Q and A"),
        pytest.param(
            f"**Frage 3:** Wann kommt es?\n**Antwort 3:** {BODY}", "Wann kommt es?", "faq", BODY, id="in German"
        ),
        pytest.param(f"Intro.\n\n3. **How long?**\n   {BODY}", "How long?", "heading", BODY, id="a question alone"),
        pytest.param(f"退款需要多久\uff1f\n{CHINESE}", "退款需要多久\uff1f", "heading", CHINESE, id="Chinese"),
        pytest.param(f"いつ返金されますか\n{CHINESE}", "いつ返金されますか", "heading", CHINESE, id="Japanese"),
        pytest.param(f"متى يدفع المبلغ؟\n{BODY}", "متى يدفع المبلغ؟", "heading", BODY, id="Arabic"),
        pytest.param(f"Πότε πληρώνεται;\n{BODY}", "Πότε πληρώνεται;", "heading", BODY, id="Greek"),
        pytest.param(f"Ե՞րբ է վճարվում\n{BODY}", None, "", None, id="an Armenian sign within the line is none"),
        pytest.param(f"问\uff1a多久\n答\uff1a{CHINESE}", None, "", None, id="a label without a sign of a question"),
        pytest.param(f"```\n# not a heading\n```\n{BODY}", None, "", None, id="in a fence"),
        pytest.param(f"Is it? Nobody knows. {BODY}\nWhat?", None, "", None, id="questions within prose"),
        pytest.param(f"Is it on p. 3. of the book?\n{BODY}", None, "", None, id="two sentences"),
        pytest.param(
            f"Is v2) - or - 3) better?\n{BODY}", "Is v2) - or - 3) better?", "heading", BODY, id="signs within"
        ),
        pytest.param("[" * 500_000 + f"?\n{BODY}", None, "", None, id="a line without an end"),
        pytest.param("# Empty\n## Short\nYes.\n", None, "", None, id="nothing beneath"),
        pytest.param(f"# ***\n{BODY}", None, "", None, id="a heading without words"),
        pytest.param(f"<summary>**</summary>\n{BODY}", None, "", None, id="a summary without words"),
        pytest.param(f"# [a](b_(c)) [d][e] [[f](g)\n{BODY}", "a d [f", "heading", BODY, id="brackets within"),
        pytest.param("", None, "", None, id="nothing at all"),
    ],
)
def test_a_heading_and_what_stands_under_it(text: str, question: str | None, by: str, passage: str | None) -> None:
    drafts, _ = by_headings(list(passages_of("d", "", text)))
    found = [(each.question, each.by, each.passages[0].text) for each in drafts]
    assert found == ([(question, by, passage)] if question else [])


def test_a_title_asks_for_what_stands_above_the_first_heading() -> None:
    drafts, _ = by_headings(list(passages_of("d", "Refunds *2*", f"{BODY}\n# Rest\nThe rest of the text.")))
    assert {(each.question, each.by) for each in drafts} == {("Refunds 2", "title"), ("Rest", "heading")}


@pytest.mark.parametrize("sign", ["x ", "[", "[x](", "{#", "<"])
def test_a_title_without_an_end_is_none(sign: str) -> None:
    title = sign * (2001 if sign == "x " else 50_000)
    assert [each.headings for each in passages_of("d", title, f"{BODY}\n# A\n{BODY}")] == [(), ("A",)]
    assert not by_headings(list(passages_of("d", title, BODY)))[0]


def test_a_heading_that_several_documents_have_takes_the_title() -> None:
    texts = {"a": "Ana", "b": "Ben", "c": "Ben"}
    passages = [
        p for d, t in texts.items() for p in passages_of(d, t, f"# Price\n{BODY} For {d}.\n# Only {d}\n{BODY} {d}")
    ]
    drafts, left = by_headings(passages)
    assert {each.question for each in drafts} == {"Ana: Price", "Only a", "Only b", "Only c"}
    assert left == {Left.AMBIGUOUS: 2}
    same = [p for d in "ab" for p in passages_of(d, "", f"# Only {d}\n{BODY}")]
    assert by_headings(same) == ([], {Left.AMBIGUOUS: 2})
    assert by_headings([*passages_of("d", "", f"# {'x' * (MAX_QUESTION + 1)}\n{BODY}")])[1] == {Left.NO_WORDS: 1}


LINES = ["# A b\n", "Who is it?\n", "Q: x\n", "A: y\n", "```\n", "---\n", "\n", "<details>\n"]
TEXT = st.lists(
    st.sampled_from([*LINES, "a long word. ", "退款需要多久。", "\u2028", "\r", "x" * 700, " "]), max_size=30
).map("".join) | st.text(max_size=300)


@given(TEXT, TEXT)
def test_passages_are_parts_of_the_text_in_their_order(title: str, text: str) -> None:
    found = list(passages_of("d", title, text))
    for each in found:
        assert each.text == text[each.start : each.end] == each.text.strip()
        assert 0 < len(each.text) <= MAX_PASSAGE
    assert all(one.end <= two.start for one, two in pairwise(found))


def test_passages_end_with_a_sentence_or_at_least_a_word() -> None:
    found = list(passages_of("d", "", "# H\n" + "It was so, as they say. " * 60))
    assert [each.by for each in found] == ["heading", "", ""]
    assert all(each.text.endswith(".") for each in found)
    assert all(each.text.endswith("。") for each in passages_of("d", "", CHINESE * 60))
    assert all(each.text.split()[-1] == "word" for each in passages_of("d", "", "word " * 500))


@given(st.dictionaries(st.sampled_from("abcdef"), st.sets(st.integers(0, 99), max_size=8), max_size=6), st.randoms())
def test_the_choice_is_by_content_spread_over_documents_and_grows(parts: dict[str, set[int]], random: object) -> None:
    drafts = [Draft(passages=(Passage(doc, n, n + 1, f"{n}"),)) for doc, ns in parts.items() for n in ns]
    chosen = in_order(drafts)
    random.shuffle(drafts)  # type: ignore[attr-defined]
    assert in_order(drafts) == chosen
    docs = [each.passages[0].doc for each in chosen]
    turns = [docs[:place].count(doc) for place, doc in enumerate(docs)]
    assert turns == sorted(turns), "a second one of a document comes after a first one of each"


def test_questions_come_first_in_their_document() -> None:
    text = "".join(f"# Heading {n}\n{BODY} {n}\n" for n in range(9)) + f"# Why?\n{BODY}"
    assert by_headings(list(passages_of("d", "", text)))[0][0].question == "Why?"


def test_samples_read_back_with_the_same_ids_wherever_the_passage_stands() -> None:
    one, moved = (
        samples_of(by_headings([*passages_of("d", "", f"{above}# Why?\n{BODY}")])[0]) for above in ("", "\n\n")
    )
    assert list(one) == list(moved)
    (sample,) = one.values()
    assert sample["metadata"] == {"draft": True, "drafted_by": "heading"}
    assert sample["expected_output"] == [{"doc": "d", "start": 7, "end": 7 + len(BODY), "text": BODY}]


def test_questions_on_one_passage_are_a_cluster() -> None:
    first, second = Passage("d", 0, 9, "one"), Passage("d", 9, 12, "two")
    drafts = [
        Draft(question=q, passages=(p,), no_answer=p is second) for q, p in (("a", first), ("b", first), ("c", second))
    ]
    about = [sample["metadata"] for sample in samples_of(drafts).values()]
    assert about[0]["cluster"] == about[1]["cluster"]
    assert (about[2]["no_answer"], about[2]["about"][0]["text"]) == (True, "two")
    assert "cluster" not in about[2]


@pytest.mark.parametrize(
    ("question", "text", "share"),
    [
        pytest.param("When are refunds paid?", BODY, 0.75, id="words, whatever their case"),
        pytest.param("退款何时", CHINESE, 0.5, id="characters"),
        pytest.param("API退款", "API, 退款", 1.0, id="both"),
        pytest.param("¿?", BODY, 0.0, id="no word"),
        pytest.param("환불은 언제", "환불은 삼십일", 0.5, id="Korean has blanks"),
    ],
)
def test_what_of_a_question_is_copied(question: str, text: str, share: float) -> None:
    assert copied_share(question, [Passage("d", 0, 1, text)]) == share


def test_few_questions_of_people_have_more_than_the_default_share() -> None:
    """Of the example's questions, written by hand in three languages, 3 % would be refused."""
    example = ROOT / "src/rankgate/cli/example"
    lines = map(json.loads, (example / "articles.jsonl").read_text(encoding="utf-8").splitlines())
    texts = {each["id"]: f"{each['title']} {each['text']}" for each in lines}
    samples = read_gold(str(example / "gold.yaml")).samples.values()
    shares = [
        copied_share(str(each.question), [Passage("d", 0, 1, texts[doc])])
        for each in samples
        for doc in each.relevant()[:1]
    ]
    assert len(shares) > 170
    assert 0.02 < sum(share > 0.8 for share in shares) / len(shares) < 0.04


def test_pairs_share_what_few_others_have() -> None:
    texts = ["the red zebra", "the blue zebra", "the red whale", "the green whale", "the sky"]
    passages = [Passage("d", n, n + 1, text) for n, text in enumerate(texts)]
    pairs = {tuple(part.text for part in each.passages) for each in related(passages)}
    assert pairs == {("the red zebra", "the red whale"), ("the blue zebra", "the green whale")}
    assert list(related(passages[:1])) == []
