"""Quotes: what counts as standing in a passage, in any script, and what does not."""

from __future__ import annotations

import unicodedata
from typing import Literal

# ruff: noqa: RUF001 -- letters and signs of many scripts are what this is about
import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.judge.replies import MAX_LENGTH, MIN_LENGTH, verified

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


@given(st.text(max_size=200), st.text(min_size=1, max_size=50), st.text(max_size=200))
def test_a_whole_passage_is_always_verified_unless_it_is_too_long_or_blank(before: str, text: str, after: str) -> None:
    letters = "".join(sign for sign in text if sign.isalnum()) or "a"
    assert (
        verified(letters, [letters])
        or len(unicodedata.normalize("NFC", unicodedata.normalize("NFKD", letters))) > MAX_LENGTH
    )
    padded = before + letters * MIN_LENGTH + after
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
