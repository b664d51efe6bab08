"""Replies as models and servers give them: the verdict that each is read as, or why there is none; and their quotes."""

from __future__ import annotations

import json
import unicodedata
from pathlib import Path
from typing import Any, Literal

import pytest

# ruff: noqa: RUF001 -- letters and signs of many scripts are what this is about
from hypothesis import example, given
from hypothesis import strategies as st
from tests.forges.faults import Answer
from tests.judge.cases import endpoint, some_judge
from tests.judge.hash_judge import judging
from tests.rows import each_row

from rankgate.judge.client import Spending
from rankgate.judge.judging import ask
from rankgate.judge.model import Inputs
from rankgate.judge.quotes import MAX_LENGTH, MIN_LENGTH, verified
from rankgate.judge.records import Slot
from rankgate.judge.tasks import Address
from rankgate.model.answers import UnjudgedKind

FINE = Address("fully", noncommittal=False)
TEXT = '{"addresses": "fully", "noncommittal": false}'
INSIDE = TEXT.removeprefix("{").removesuffix("}")
NO_JSON, SCHEMA, EMPTY = UnjudgedKind.NO_JSON, UnjudgedKind.SCHEMA, UnjudgedKind.EMPTY
FILTERED, ENVELOPE = UnjudgedKind.CONTENT_FILTER, UnjudgedKind.ENVELOPE

CONTENTS: dict[str, tuple[str, Address | UnjudgedKind]] = {
    "plain": (TEXT, FINE),
    "blanks": (f"\n {TEXT} \n", FINE),
    "a byte order mark": (f"\ufeff{TEXT}", FINE),
    # Fences
    "a fence": (f"```json\n{TEXT}\n```", FINE),
    "a fence without a language": (f"```\n{TEXT}\n```\n", FINE),
    "a fence of another language": (f"``` JSON5 \n{TEXT}\n  ```", FINE),
    "a fence with a label": (f'```c++ title="verdict.json"\n{TEXT}\n```', FINE),
    "a fence of tildes": (f"~~~json\n{TEXT}\n~~~", FINE),
    "a long fence": (f"````json\n{TEXT}\n````", FINE),
    "a fence that nobody closed": (f"```json\n{TEXT}", FINE),
    "prose before a fence": (f"Here is the verdict:\n\n```json\n{TEXT}\n```", FINE),
    "prose around a fence": (f"Sure:\n```json\n{TEXT}\n```\nLet me know.", FINE),
    "a byte order mark in a fence": (f"```json\n\ufeff{TEXT}\n```", FINE),
    "a byte order mark after thoughts": (f"<think>Hm.</think>\n\ufeff{TEXT}", FINE),
    "a fence on one line": (f"```json {TEXT} ```", FINE),
    "a fence on one line, without a language or a blank": (f"Sure:\n```{TEXT}```\n", FINE),
    "thoughts in capitals": (f"<THINK>{{}}</THINK>{TEXT}", FINE),
    "thoughts of Seed": (f"<seed:think>{{}}</seed:think>{TEXT}", FINE),
    "two fences on one line each": (f"```json {TEXT} ```\n```json {{}} ```", NO_JSON),
    "two fences": (f"```json\n{TEXT}\n```\n```json\n{{}}\n```", NO_JSON),
    # JSON that is none, or another
    "in a string": (json.dumps(TEXT), FINE),
    "in a string in a string": (json.dumps(json.dumps(TEXT)), SCHEMA),
    "what looks like a wrapping inside": ('{"addresses": "</think> ```json // /*", "noncommittal": false}', SCHEMA),
    "several objects": (f"{TEXT}\n{TEXT}", NO_JSON),
    "in a sentence": (f"So: {TEXT}.", NO_JSON),
    "in a list": (f"[{TEXT}]", SCHEMA),
    "a trailing comma": (f"{{{INSIDE},}}", FINE),
    "trailing commas and lines": (f"```json\n{{\n{INSIDE} ,\n}}\n```", FINE),
    "a comment": (f"{TEXT} // sure", FINE),
    "comments within": (f"{{ /* as it says */ {INSIDE}, // sure\n}}", FINE),
    "a comment with an object": (f"{TEXT} // or {{}}", NO_JSON),
    "single quotes": (TEXT.replace('"', "'"), NO_JSON),
    "cut off": (TEXT[:-9], NO_JSON),
    "prose": ("All are supported.", NO_JSON),
    "nothing": ("", EMPTY),
    "blanks alone": (" \n", EMPTY),
    "NaN": (TEXT.replace("false", "NaN"), NO_JSON),
    "a key twice": (f'{{"addresses": "no", {INSIDE}}}', NO_JSON),
    "half of a surrogate pair": (TEXT.replace("fully", "\\ud800"), NO_JSON),
    "endless nesting": ("[" * 100_000, NO_JSON),
    "comments without end": ("/* " * 100_000, NO_JSON),
    "another word": (TEXT.replace("fully", "FULLY"), SCHEMA),
    "a number for a truth": (TEXT.replace("false", "0"), SCHEMA),
    "a further key": (f'{{"why": "because", {INSIDE}}}', SCHEMA),
    # Thoughts
    "thoughts": (f"<think>It says {{}}, so fully.</think>\n\n{TEXT}", FINE),
    "thoughts whose opening tag the server wrote": (f"It says {{}}, so fully.\n</think>\n\n{TEXT}", FINE),
    "thoughts, and prose by a fence": (f"<think>Hm.</think>\nSure:\n```json\n{TEXT}\n```\nLet me know.", FINE),
    "thoughts of another tag": (f"<thinking>{{}}</thinking>{TEXT}", FINE),
    "thoughts of Mistral": (f"[THINK]{{}}[/THINK]{TEXT}", FINE),
    "channels of gpt-oss": (f"<|channel|>analysis<|message|>{{}}<|end|><|channel|>final<|message|>{TEXT}", FINE),
    "thoughts alone": ("<think>It says so", NO_JSON),
    "thoughts and nothing": ("<think>It says so</think>", NO_JSON),
}
MESSAGES: dict[str, tuple[dict[str, Any], Address | UnjudgedKind]] = {
    "content in parts": ({"content": [{"type": "text", "text": TEXT}]}, FINE),
    "thoughts in a part": (
        {"content": [{"type": "thinking", "thinking": [{"text": "{}"}]}, {"type": "text", "text": TEXT}]},
        FINE,
    ),
    "thoughts in a part with a text": ({"content": [{"type": "reasoning", "text": "{}"}, {"text": TEXT}]}, FINE),
    "thoughts beside the content": ({"content": TEXT, "reasoning_content": "{}", "reasoning": "{}"}, FINE),
    "thoughts in place of the content": ({"content": None, "reasoning_content": TEXT}, EMPTY),
    "no content": ({"role": "assistant"}, EMPTY),
    "no parts": ({"content": []}, EMPTY),
    "a call of a tool": (
        {"content": None, "tool_calls": [{"type": "function", "function": {"name": "f", "arguments": TEXT}}]},
        EMPTY,
    ),
    "a refusal": ({"content": None, "refusal": "I cannot help"}, FILTERED),
    "a refusal beside content": ({"content": TEXT, "refusal": "I cannot help"}, FILTERED),
    "an empty refusal": ({"content": TEXT, "refusal": ""}, FINE),
    "content that is a number": ({"content": 7}, ENVELOPE),
}


def choice(message: object, reason: str | None = "stop") -> dict[str, Any]:
    return {"choices": [{"index": 0, "message": message, "finish_reason": reason}]}


GOOD = json.dumps(choice({"content": TEXT})).encode()
BODIES: dict[str, tuple[bytes | dict[str, Any], Address | UnjudgedKind]] = {
    "no choice": ({"choices": []}, EMPTY),
    "a choice without a message": ({"choices": [{"finish_reason": "content_filter"}]}, FILTERED),
    "choices that are null": ({"choices": None}, ENVELOPE),
    "an error": ({"error": {"message": "overloaded", "code": 529}}, ENVELOPE),
    "a page": (b"<html>proxy login</html>", ENVELOPE),
    "no reason to end": (choice({"content": TEXT}, None), FINE),
    "cut off by length": (choice({"content": TEXT}, "length"), UnjudgedKind.LENGTH),
    "cut off by length, in other words": (choice({"content": TEXT}, "MAX_TOKENS"), UnjudgedKind.LENGTH),
    "filtered": (choice({"content": TEXT}, "content_filter"), FILTERED),
    "filtered, in other words": (choice({"content": ""}, "SAFETY"), FILTERED),
    "a byte order mark before the body": (b"\xef\xbb\xbf" + GOOD, FINE),
    "UTF-16": (GOOD.decode().encode("utf-16"), ENVELOPE),
    "UTF-16 without a mark": (GOOD.decode().encode("utf-16-le"), ENVELOPE),
    "Latin-1": (GOOD[:-1] + b', "model": "caf\xe9"}', ENVELOPE),
    "NaN in the body": (GOOD[:-1] + b', "x": NaN}', ENVELOPE),
    "an infinite number": (GOOD[:-1] + b', "x": 1e999}', ENVELOPE),
    "a key of the body twice": (GOOD[:-1] + b', "choices": []}', ENVELOPE),
    "a surrogate in the body": (GOOD[:-1] + b', "model": "\\ud83d"}', ENVELOPE),
    "a body of endless nesting": (b"[" * 1_000_000, ENVELOPE),
    "nesting that ends": (b'{"a":' * 100_000 + b"1" + b"}" * 100_000, ENVELOPE),
    "a number of many digits": (GOOD[:-1] + b', "x": ' + b"9" * 5_000 + b"}", ENVELOPE),
    "more tokens than there are": (GOOD[:-1] + b', "usage": {"prompt_tokens": 1e18}}', FINE),
    "fewer than none": (GOOD[:-1] + b', "usage": {"prompt_tokens": -1, "completion_tokens": 0.5}}', FINE),
    "tokens as text": (GOOD[:-1] + b', "usage": {"prompt_tokens": "many", "completion_tokens": 12.0}}', FINE),
    "tokens unknown": (GOOD[:-1] + b', "usage": {"prompt_tokens": null, "completion_tokens": null}}', FINE),
    "no usage": (GOOD[:-1] + b', "usage": null}', FINE),
}
CASES = [
    *(pytest.param(choice({"content": text}), read, id=name) for name, (text, read) in CONTENTS.items()),
    *(pytest.param(choice(message), read, id=name) for name, (message, read) in MESSAGES.items()),
    *(pytest.param(body, read, id=name) for name, (body, read) in BODIES.items()),
]


@pytest.mark.full
@each_row(("body", "expected"), CASES)
def test_what_a_reply_is_read_as(body: bytes | dict[str, Any], expected: Address | UnjudgedKind) -> None:
    inputs, judge = Inputs("address", "How long?", "Thirty days."), some_judge()
    with judging() as server:
        server.always = body if isinstance(body, bytes) else json.dumps(body).encode()
        found = ask(endpoint(server), judge, Slot(judge.id, inputs.task, inputs.key, 0), inputs, Spending())
    assert (found.unjudged.kind if found.unjudged else found.verdicts) == expected


# What llama.cpp (xllamacpp 2026.10.11549) said with SmolLM2-135M-Instruct to one answer over one passage.
LLAMA_CPP: dict[str, Any] = json.loads(Path(__file__).with_name("llama_cpp.json").read_text("utf-8"))
ASKED = {
    "split": Inputs("split", "How long?", "Thirty days."),
    "relevance": Inputs("relevance", "How long?", passages=("Thirty days.",)),
    "entail": Inputs("entail", passages=("Thirty days.",), statements=("Thirty days.",)),
}


@pytest.mark.parametrize("name", LLAMA_CPP)
def test_replies_of_a_real_server_and_a_small_model(name: str) -> None:
    reply, inputs = (
        LLAMA_CPP[name],
        ASKED.get(name.split(maxsplit=1)[0], Inputs("address", "How long?", "Thirty days.")),
    )
    with judging() as server:
        server.always = Answer(reply["status"], {}, json.dumps(reply["body"]).encode())
        judge = some_judge()
        found = ask(endpoint(server), judge, Slot(judge.id, inputs.task, inputs.key, 0), inputs, Spending())
    assert (found.unjudged.kind.value if found.unjudged else "verdict") == reply["read"]


PASSAGES = {
    "en": "You can return an article within 30 days — the customer's refund takes two weeks.",
    "de": "Die Rückgabe größerer Artikel ist binnen 30 Tagen möglich; die Straße steht im Formular.",
    "fr": "Les articles peuvent être retournés sous 30 jours, à l'exception des denrées périssables.",
    "pt-BR": "A devolução é gratuita em até 30 dias após a confirmação do pedido.",
    "tr": "İade süresi 30 gündür; kargo ücreti müşteriye aittir ve IŞIK ürünleri hariçtir.",
    "el": "Η επιστροφή γίνεται δεκτή εντός τριάντα ημερών από την παραλαβή του προϊόντος.",
    "ru": "Возврат товара возможен в течение тридцати дней со дня получения заказа.",
    "he": "ניתן להחזיר את המוצר בתוך שלושים ימים ממועד קבלתו ללא עלות נוספת.",
    "vi": unicodedata.normalize("NFD", "Quý khách có thể trả lại hàng trong vòng ba mươi ngày kể từ khi nhận được."),
    "ar": "يمكن إرجاع المنتج خلال ثلاثين يومًا من تاريخ الاستلام دون أي رسوم إضافية.",
    "hi": "उत्पाद को प्राप्ति के तीस दिनों के भीतर बिना किसी शुल्क के वापस किया जा सकता है।",
    "th": "ลูกค้าสามารถคืนสินค้าได้ภายในสามสิบวันนับจากวันที่ได้รับสินค้าโดยไม่เสียค่าใช้จ่าย",
    "ja": "商品は受け取り後三十日以内であれば返品できます。送料は当社が負担します。",
    "zh": "商品自收到之日起三十天内可以免费退货，退款需要两周时间。",
    "ko": "상품은 수령 후 삼십일 이내에 무료로 반품할 수 있으며 환불에는 이 주가 걸립니다.",
}
LANGUAGES = [pytest.param(text, id=language) for language, text in PASSAGES.items()]
WITHOUT_WIDTH = ["\u00ad", "\u200b", "\u200d", "\u2060", "\ufeff", "\u202e", " ", "\n", "\u3000", "\t"]
FORMS: tuple[Literal["NFC", "NFD", "NFKC", "NFKD"], ...] = ("NFC", "NFD", "NFKC", "NFKD")
QUOTES, DASHES = "\"'“”„‘’«»‹›′", "-‐‑–—―−﹣－"


@pytest.mark.full
@pytest.mark.parametrize("passage", LANGUAGES)
@given(data=st.data())
def test_what_stands_there_is_verified_however_it_is_written(passage: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(passage) - 26))
    quote = passage[start : start + 26]
    quote = unicodedata.normalize(data.draw(st.sampled_from(FORMS)), quote)
    for _ in range(data.draw(st.integers(0, 3))):
        at = data.draw(st.integers(0, len(quote)))
        quote = quote[:at] + data.draw(st.sampled_from(WITHOUT_WIDTH)) + quote[at:]
    quote = "".join(
        data.draw(st.sampled_from(QUOTES))
        if sign in QUOTES
        else data.draw(st.sampled_from(DASHES))
        if sign in DASHES
        else sign
        for sign in quote
    )
    assert verified(quote, ["something else", passage])
    assert verified(quote.upper(), [passage.upper()])


@each_row("passage", LANGUAGES)
def test_what_does_not_stand_there_is_not_verified(passage: str) -> None:
    quote = passage[:15] + "7" + passage[15:30]
    assert not verified(quote, [passage])
    assert not verified(f"{passage[:14]} … this was never written anywhere", [passage])
    assert not verified(passage[:26], [])


@given(st.text(max_size=60), st.lists(st.text(max_size=80), max_size=3))
def test_any_text_is_compared(quote: str, passages: list[str]) -> None:
    found = verified(quote, passages)
    assert found in {True, False}
    assert not (found and not quote.strip())


@example("", "À", "\u00b8")  # a blank and an accent, which is no part of the letter before
@given(st.text(max_size=200), st.text(min_size=1, max_size=50), st.text(max_size=200))
def test_a_whole_passage_is_always_verified_unless_it_is_too_long_or_blank(before: str, text: str, after: str) -> None:
    letters = "".join(sign for sign in text if sign.isalnum()) or "a"
    assert (
        verified(letters, [letters])
        or len(unicodedata.normalize("NFC", unicodedata.normalize("NFKD", letters))) > MAX_LENGTH
    )
    padded = f"{before}{letters * MIN_LENGTH} {after}"  # without the blank an accent that follows would be the letter's
    assert (
        verified(letters * MIN_LENGTH, [padded])
        or len(unicodedata.normalize("NFKC", letters * MIN_LENGTH)) > MAX_LENGTH
    )


PASSAGE = "Returns are free of charge within thirty days. 三十天内可以免费退货。 30 days"


@each_row(
    ("quote", "passages", "found"),
    [
        pytest.param("free of charge", [PASSAGE], True, id="12 characters"),
        pytest.param("of charge within", [PASSAGE], True, id="14 without blanks"),
        pytest.param("free of chae", [PASSAGE], False, id="words that are not there"),
        pytest.param("within days", [PASSAGE], False, id="words that do not follow each other"),
        pytest.param("thirty days", [PASSAGE], False, id="10 characters"),
        pytest.param("免费退货", [PASSAGE], False, id="4 in Han"),
        pytest.param("可以免费退货", [PASSAGE], True, id="6 in Han"),
        pytest.param("30 days", [PASSAGE], False, id="short, and part of a passage"),
        pytest.param("30 days", ["30 Days"], True, id="short, and the entire passage"),
        pytest.param("Returns are free … within thirty days", [PASSAGE], True, id="two pieces"),
        pytest.param("Returns are free ... within thirty days", [PASSAGE], True, id="three dots"),
        pytest.param("Returns are free [...] within thirty days", [PASSAGE], True, id="three dots in brackets"),
        pytest.param("… Returns are free of charge …", [PASSAGE], True, id="at the ends"),
        pytest.param("Returns are free … days", [PASSAGE], False, id="one piece is too short"),
        pytest.param("Returns are free … never said here", [PASSAGE], False, id="one piece is invented"),
        pytest.param(
            "Returns are free … another passage says", [PASSAGE, "another passage says so"], True, id="two passages"
        ),
        pytest.param("", [PASSAGE], False, id="empty"),
        pytest.param("…", [PASSAGE], False, id="only an omission"),
        pytest.param("", [""], False, id="nothing of nothing"),
        pytest.param("x" * 240, ["x" * 500], True, id="240 characters"),
        pytest.param("x" * 241, ["x" * 500], False, id="241 characters"),
        pytest.param(" ".join("x" * 240), ["x" * 500], True, id="white space is not counted"),
        pytest.param("STRASSE im Formular", ["Die Straße im Formular"], True, id="sharp s"),
        pytest.param("iade süresi 30 gündür", ["İade süresi 30 gündür"], True, id="a dotted capital I"),
        pytest.param("ışık ürünleri hariç", ["IŞIK ÜRÜNLERİ HARİÇ"], True, id="a dotless i"),
        pytest.param("ΤΗΣ ΕΠΙΣΤΡΟΦΗΣ ΤΟΥ", ["της επιστροφης του"], True, id="the two forms of sigma"),
        pytest.param("ｶｰﾄﾞで支払う", ["カードで支払う"], True, id="kana of half width"),
        pytest.param("３０日以内の返品", ["30日以内の返品は可"], True, id="digits of full width"),
        pytest.param("नि\u200dःशुल्क वापसी करें", ["निःशुल्क वापसी करें"], True, id="a joiner"),
        pytest.param("ﬁnal ofﬁce hours", ["final office hours"], True, id="ligatures"),
        pytest.param("e\u0301te\u0301 de 2026 en France", ["été de 2026 en France"], True, id="accents apart"),
    ],
)
def test_quotes_by_example(quote: str, passages: list[str], *, found: bool) -> None:
    assert verified(quote, passages) is found
