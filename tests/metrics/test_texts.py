"""How texts compare: folded, as words, and freed of what a chat log puts in front."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.metrics.texts import folded, lies_in, primary, share_of_words, stands_in, words


@each_row(
    ("text", "expected"),
    [
        pytest.param("Refund  Window", "refund window", id="case and blanks"),
        pytest.param(" \n30\t days\r\n", "30 days", id="line breaks, tabs, and white space around"),
        pytest.param("30\u00a0days\u2003flat", "30 days flat", id="white space of any kind"),
        pytest.param("Straße ΣΊΣΥΦΟΣ", "strasse σίσυφοσ", id="case of any script"),
        pytest.param("ﬁne ２０２５ №7", "fine 2025 no7", id="NFKC"),  # noqa: RUF001
        pytest.param("cafe\u0301", "caf\u00e9", id="an accent of its own"),
        pytest.param("it’s “so” «so» ‚so‘ 5′ 6″", 'it\'s "so" "so" \'so\' 5\' 6"', id="quotes"),  # noqa: RUF001
        pytest.param("2019–2020 — x\u2011y −5", "2019-2020 - x-y -5", id="dashes"),
        pytest.param("Donau\u00addampf\u200bschiff\ufeff", "donaudampfschiff", id="marks without width"),
        pytest.param("İSTANBUL", "istanbul", id="a Turkish I"),
        pytest.param("", "", id="empty"),
        pytest.param(" \n ", "", id="blank"),
    ],
)
def test_folded(text: str, expected: str) -> None:
    assert folded(text) == expected
    assert folded(folded(text)) == folded(text)


@each_row(
    ("answer", "text", "expected"),
    [
        pytest.param("art", "a work of art.", True, id="English"),
        pytest.param("art", "a party", False, id="English, within a word"),
        pytest.param("art", "an artist", False, id="English, the beginning of a word"),
        pytest.param("art", "a party about art", True, id="English, within a word and then alone"),
        pytest.param("don't", "we don’t know", True, id="English, a quote of type"),  # noqa: RUF001
        pytest.param("art", "(art)", True, id="English, in parentheses"),
        pytest.param("state-of-the-art", "the state\u2011of\u2011the\u2011art", True, id="hyphens"),
        pytest.param("30", "30 days", True, id="a number"),
        pytest.param("30", "130 days", False, id="within a number"),
        pytest.param("30", "30.5 days", False, id="the whole part of a number"),
        pytest.param("5", "30.5 days", False, id="the fraction of a number"),
        pytest.param("000", "1,000 days", False, id="the last thousands of a number"),
        pytest.param("30", "it is 30.", True, id="a number at the end of a sentence"),
        pytest.param("v2", "v2_beta", False, id="within an identifier"),
        pytest.param("$5", "US$5 a day", True, id="a border that is a sign needs none"),
        pytest.param("C++", "in C++17 and C", True, id="signs at the end"),
        pytest.param("Straße", "IN DER STRASSE 5", True, id="German"),
        pytest.param("Arbeit", "Arbeiter", False, id="German, within a word"),
        pytest.param("l'été", "c’est l’e\u0301te\u0301", True, id="French"),  # noqa: RUF001
        pytest.param("coeur", "cœur", False, id="French: a ligature of spelling is not folded"),
        pytest.param("año", "el an\u0303o 2025", True, id="Spanish"),
        pytest.param("год", "в этом году", False, id="Russian, within a word"),
        pytest.param("год", "Год 2025", True, id="Russian"),
        pytest.param("Αθήνα", "στην ΑΘΉΝΑ.", True, id="Greek"),
        pytest.param("İstanbul", "ISTANBUL'da", True, id="Turkish"),
        pytest.param("दिल्ली", "राजधानी दिल्ली। है", True, id="Hindi, before a full stop"),
        pytest.param("नमस्त", "नमस्ते", False, id="Hindi, a vowel sign goes on"),
        pytest.param("東京", "首都は東京です", True, id="Japanese"),
        pytest.param("カタカナ", "ｶﾀｶﾅで書く", True, id="Japanese, half width"),
        pytest.param("北京", "中国的首都是北京市", True, id="Chinese"),
        pytest.param("3天", "需要3天时间", True, id="Chinese, with a digit"),
        pytest.param("3天", "需要13天", False, id="Chinese, within a number"),
        pytest.param("Paris", "在Paris的", True, id="Chinese around a Latin word"),
        pytest.param("กรุงเทพ", "เมืองหลวงคือกรุงเทพมหานคร", True, id="Thai"),
        pytest.param("서울", "수도는 서울에서", True, id="Korean, with a particle"),
        pytest.param("القاهرة", "في القاهرة،", True, id="Arabic"),
        pytest.param("قاهرة", "بالقاهرة", True, id="Arabic, with an article"),
        pytest.param("ירושלים", "בירושלים", True, id="Hebrew, with a preposition"),
        pytest.param("\u200b", "anything", False, id="an answer of nothing that shows"),
        pytest.param("a.c", "abc", False, id="no pattern"),
    ],
)
def test_stands_in(answer: str, text: str, expected: bool) -> None:  # noqa: FBT001 -- a table
    assert stands_in(folded(answer), folded(text)) is expected


@each_row(
    ("answer", "text", "alike"),
    [
        pytest.param("30 يوما", "خلال ٣٠ يومًا", True, id="Arabic: digits and a point"),
        pytest.param("محمد", "مُحَمَّد", True, id="Arabic: all points"),
        pytest.param("القاهرة", "القـــاهرة", True, id="Arabic: tatweel"),
        pytest.param("احمد", "أحمد", True, id="Arabic: hamza on alef"),
        pytest.param("على", "علي", True, id="Arabic: alef maksura"),
        pytest.param("مدرسه", "مدرسة", True, id="Arabic: teh marbuta"),
        pytest.param("١٢٫٥٪", "12.5%", True, id="Arabic: a fraction"),  # noqa: RUF001
        pytest.param("قلب", "كلب", False, id="Arabic: another letter"),
        pytest.param("کتاب", "كتاب", True, id="Persian: kaf"),
        pytest.param("ایران", "ايران", True, id="Persian: yeh"),
        pytest.param("۱۴۰۳", "سال 1403", True, id="Persian: digits"),
        pytest.param("می\u200cرود", "میرود", True, id="Persian: a joint without width"),
        pytest.param("پدر", "بدر", False, id="Persian: peh is no beh"),
        pytest.param("שלום", "שָׁלוֹם", True, id="Hebrew: points"),
        pytest.param("ירושלים", "ירושלימ", True, id="Hebrew: a final letter"),
        pytest.param("בית", "כית", False, id="Hebrew: another letter"),
        pytest.param("Αθήνα", "στην ΑΘΗΝΑ", True, id="Greek: capitals without accents"),
        pytest.param("οδός", "ΟΔΟΣ", True, id="Greek: a final sigma"),
        pytest.param("ταΐζω", "ΤΑΪΖΩ", True, id="Greek: both marks"),
        pytest.param("λόγος", "λίγος", False, id="Greek: another letter"),
        pytest.param("ёлка", "ЕЛКА", True, id="Cyrillic: yo"),
        pytest.param("мой", "мои", False, id="Cyrillic: a short i is a letter"),
        pytest.param("३० दिन", "30 दिन में", True, id="Devanagari: digits"),
        pytest.param("दिन", "दान", False, id="Devanagari: a vowel sign counts"),
        pytest.param("৩০ দিন", "30 দিন", True, id="Bengali: digits"),
        pytest.param("๓๐ วัน", "ภายใน 30 วัน", True, id="Thai: digits"),
        pytest.param("ข้าว", "ขาว", False, id="Thai: a tone counts"),
        pytest.param("၃၀", "30", True, id="Burmese: digits"),
        pytest.param("３０日", "30日以内", True, id="Japanese: full width"),
        pytest.param("ハハ", "パパ", False, id="Japanese: a mark counts"),
        pytest.param("30일", "30일 이내", True, id="Korean"),
        pytest.param("año", "ano", False, id="Latin: an accent counts"),
        pytest.param("sí", "si", False, id="Latin: an accent of one syllable"),
        pytest.param("péché", "peche", False, id="Latin: two accents"),
        pytest.param("Zürich", "Zurich", False, id="Latin: an umlaut"),
        pytest.param("Đà Nẵng", "Da Nang", False, id="Latin: Vietnamese tones"),
        pytest.param("Łódź", "Lodz", False, id="Latin: a stroke"),
        pytest.param("école", "ÉCOLE", True, id="Latin: a capital with its accent"),
        pytest.param("école", "e\u0301cole", True, id="Latin: an accent of its own"),
        pytest.param("ﬁn", "FIN", True, id="Latin: a printer's ligature"),
        pytest.param("Straße", "STRASSE", True, id="Latin: capitals"),
    ],
)
def test_scripts_are_folded(answer: str, text: str, alike: bool) -> None:  # noqa: FBT001 -- a table
    assert stands_in(primary(answer), primary(text)) is alike
    assert primary(primary(text)) == primary(text)


@given(st.text())
def test_what_is_folded_stays(text: str) -> None:
    assert primary(primary(text)) == primary(text)


@given(st.text(), st.text(), st.text())
def test_every_text_stands_in_itself_between_blanks(before: str, answer: str, after: str) -> None:
    wanted = folded(answer)
    assert folded(wanted) == wanted
    assert stands_in(wanted, folded(f"{before} {answer} {after}")) is bool(wanted) or folded(f" {answer} ") != wanted


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        pytest.param("It's 30 days!", ["it", "s", "30", "days"], id="signs part words"),
        pytest.param("max_size x2", ["max_size", "x2"], id="underscores and digits do not"),
        pytest.param("Größe, 文書 и день", ["grösse", "文書", "и", "день"], id="any script"),
        pytest.param("a a A", ["a", "a", "a"], id="as often as they stand there"),
        pytest.param("… — !", [], id="signs alone"),
        pytest.param("", [], id="nothing"),
    ],
)
def test_words(text: str, expected: list[str]) -> None:
    assert words(text) == expected


@pytest.mark.parametrize(
    ("text", "other", "expected"),
    [
        pytest.param("refund in 30 days", "30 days", 2 / 4, id="two of four"),
        pytest.param("30 days", "refund in 30 days", 1, id="all of two: of the first text"),
        pytest.param("30 30 30 days", "30", 1 / 2, id="each word once"),
        pytest.param("Days", "days!", 1, id="case and signs do not matter"),
        pytest.param("days", "", 0, id="nothing to share with"),
        pytest.param("…", "…", 0, id="no word at all"),
        pytest.param("", "", 0, id="no text at all"),
    ],
)
def test_share_of_words(text: str, other: str, expected: float) -> None:
    assert share_of_words(text, other) == expected


PASSAGE = "The refund window is 30 days\nfrom the day of purchase."


@each_row(
    ("text", "passage", "expected"),
    [
        pytest.param(PASSAGE, PASSAGE, True, id="the whole"),
        pytest.param("window is 30 days", PASSAGE, True, id="a part"),
        pytest.param("30 days from the day", PASSAGE, True, id="across a line break"),
        pytest.param("30\n\n days ", PASSAGE, True, id="white space is folded"),
        pytest.param("Window is 30 days", PASSAGE, False, id="case counts"),
        pytest.param("30 days of purchase", PASSAGE, False, id="words that do not stand together"),
        pytest.param(PASSAGE + " Ask support.", PASSAGE, False, id="more than the passage has"),
        pytest.param("", PASSAGE, False, id="an empty text"),
        pytest.param(" \n", PASSAGE, False, id="a blank text"),
        pytest.param("30 days", "", False, id="an empty passage"),
        pytest.param("", "", False, id="both empty"),
        # A leading date line.
        pytest.param("Date: 2025-06-01\nwindow is 30 days", PASSAGE, True, id="date line of the item"),
        pytest.param("window is 30 days", f"Date: 2025-06-01\n{PASSAGE}", True, id="date line of the passage"),
        pytest.param("\n  Date: today\n30 days", PASSAGE, True, id="date line after blank space"),
        pytest.param("Date: 2025-06-01", PASSAGE, False, id="nothing but a date line"),
        pytest.param("30 days\nDate: 2025-06-01", PASSAGE, False, id="a date line elsewhere belongs to the text"),
        pytest.param("30 days", "Date: 30 days", False, id="what stands in the passage's date line is gone"),
        pytest.param("Dated: yesterday\n30 days", PASSAGE, False, id="another word in front"),
        # Speakers.
        pytest.param("user: window is 30 days", PASSAGE, True, id="user: in front"),
        pytest.param("assistant: window is 30 days", PASSAGE, True, id="assistant: in front"),
        pytest.param("30 days\n  user: from the day", PASSAGE, True, id="user: on a later line, indented"),
        pytest.param("How long? 30 days.", "user: How long?\nassistant: 30 days.", True, id="speakers of the passage"),
        pytest.param("Date: today\nuser: 30 days", PASSAGE, True, id="date line and speaker"),
        pytest.param("system: 30 days", PASSAGE, False, id="no other speaker"),
        pytest.param("User: 30 days", PASSAGE, False, id="speakers are lower-case"),
        pytest.param("user:30 days", PASSAGE, False, id="speakers end in a blank"),
        pytest.param("the user: name", "the user: name stands here", True, id="within a line it belongs to the text"),
        # JSON-escaped items.
        pytest.param(r"30 days\nfrom the day", PASSAGE, True, id="an escaped line break"),
        pytest.param(r"she said \"no\"", 'she said "no" twice', True, id="escaped quotes"),
        pytest.param(r"Stra\u00dfe", "die Straße", True, id="an escaped letter"),
        pytest.param(r"Date: today\nuser: 30 days", PASSAGE, True, id="escaped, with date line and speaker"),
        pytest.param(r"user: 30 days\nassistant: from the day", PASSAGE, True, id="escaped, with two speakers"),
        pytest.param("30 days\nfrom the day", r"is 30 days\nfrom the day of", True, id="an escaped passage"),
        pytest.param("Straße\nund", r"die Stra\u00dfe\nund mehr", True, id="an escaped passage, letters too"),
        pytest.param("Straße\nund", r"die Straße\nund mehr", True, id="an escaped passage, letters not"),
        pytest.param(r"C:\new", r"in C:\new folder", True, id="a backslash that stands in the passage too"),
        pytest.param(r"\x41", "A", False, id="what JSON does not know is no escape"),
        pytest.param('30 days", "', PASSAGE, False, id="what would end a JSON string is no escape"),
    ],
)
def test_lies_in(text: str, passage: str, expected: bool) -> None:  # noqa: FBT001 -- a table
    assert lies_in(text, passage) is expected


@pytest.mark.parametrize(
    ("text", "passage", "similarity", "expected"),
    [
        pytest.param("a b c x", "a b c d", 0.75, True, id="three of four words, at the threshold"),
        pytest.param("a b c x", "a b c d", 0.76, False, id="three of four words, below a higher one"),
        pytest.param("c A b", "a-b-c", 0.9, True, id="order, case and signs do not matter"),
        pytest.param("a a a b", "a b", 0.75, False, id="each word as often as the passage has it: two of four"),
        pytest.param("a a b", "a x a b", 0.9, True, id="twice in both"),
        pytest.param("a b", "a b " + "x " * 50, 0.9, True, id="the share is of the item's words, not of the passage's"),
        pytest.param("Date: today\nuser: a b", "a b", 0.9, True, id="without date line and speaker"),
        pytest.param(r"b\na", "a b", 0.9, True, id="with JSON escapes read"),
        pytest.param("…", "… !", 0.5, True, id="without any word, as it is"),
        pytest.param("…", "a", 0.5, False, id="without any word, nothing is similar"),
        pytest.param(
            " ".join(f"w{n}" for n in range(25)),
            " ".join(f"w{n}" for n in range(7)),
            0.28,
            True,
            id="7 of 25 words are 0.28, whatever 0.28 times 25 is in binary fractions",
        ),
    ],
)
def test_lies_in_nearly(text: str, passage: str, similarity: float, expected: bool) -> None:  # noqa: FBT001 -- a table
    assert lies_in(text, passage, similarity) is expected


LINES = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=12), min_size=1, max_size=4)


@given(before=LINES, item=LINES, after=LINES)
def test_a_part_lies_in_its_whole_as_it_is_and_escaped(before: list[str], item: list[str], after: list[str]) -> None:
    part, whole = "\n".join(item), "\n".join(["-", *before, "", *item, "", *after])
    if part.strip() and not part.lstrip().startswith("Date:"):
        assert lies_in(part, whole)
        assert lies_in(json.dumps(part)[1:-1], whole)
        assert lies_in(json.dumps(part, ensure_ascii=False)[1:-1], whole)


@given(text=st.text(max_size=30), passage=st.text(max_size=30), similarity=st.floats(0.01, 1))
def test_a_lower_threshold_takes_no_match_away(text: str, passage: str, similarity: float) -> None:
    if lies_in(text, passage):
        assert lies_in(text, passage, similarity)


@given(text=st.text(max_size=30))
def test_any_text_can_be_compared(text: str) -> None:
    assert 0 <= share_of_words(text, text[::-1]) <= 1
    assert share_of_words(text, text) == (1 if words(text) else 0)
