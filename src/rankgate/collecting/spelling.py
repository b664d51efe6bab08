"""Ids that differ in their form alone: by case, blanks, a path, an extension, or what a spreadsheet makes of them."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from itertools import islice

_END = "\0"  # between ids, so that many are folded at once, at a pattern's speed
_BLOCK = 1_000  # ids that are folded at once
_EXPONENT = r"(?<![^\0])\d(?:\.\d+)?e\+\d{1,2}(?![^\0])"
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")
_MONTH = f"(?P<name>{'|'.join(_MONTHS)})"
# What a spreadsheet makes of 1-2, MAR1, 1-99 and 2026-01-02, as it shows dates in English or German. The keys are signs
# of which such a text has one: to look for these costs less.
_DATES = {
    _MONTHS: (
        rf"(?P<day>\d{{1,2}})-{_MONTH}(?:-(?P<year>\d\d|\d{{4}}))?",
        rf"{_MONTH}(?P<day>\d{{1,2}})",
        rf"{_MONTH}-(?P<year>3[2-9]|[4-9]\d)",
    ),
    ("/",): (r"(?P<month>\d{1,2})/(?P<day>\d{1,2})/(?P<year>\d{4})",),
    (".",): (r"(?P<day>\d{1,2})\.(?P<month>\d{1,2})\.(?P<year>\d{4})",),
    (" 00:00:00",): (r"(?P<year>\d{4})-(?P<month>\d{1,2})-(?P<day>\d{1,2}) 00:00:00",),
}
_Fold = Callable[[str], str]


def _without(pattern: str, signs: str, text: str) -> str:
    """The text without what fits a pattern, which has one of these signs."""
    return re.sub(pattern, "", text) if any(sign in text for sign in signs) else text


def _without_leading_zeros(text: str) -> str:
    begins = text.startswith("0") or f"{_END}0" in text
    return re.sub(r"(?<![^\0])0+(?=\d+(?![^\0]))", "", text) if begins else text


def _composed(text: str) -> str:
    return text if text.isascii() else unicodedata.normalize("NFKC", text)


def _without_exponents(text: str) -> str:
    return re.sub(_EXPONENT, _number, text) if "e+" in text else text


def _number(match: re.Match[str]) -> str:
    return f"{float(match[0]):.0f}"


def _dates(text: str) -> str:
    for signs, patterns in _DATES.items():
        if any(sign in text for sign in signs):
            for pattern in patterns:
                text = re.sub(rf"(?<![^\0]){pattern}(?![^\0])", _date, text)
    return text


def _date(match: re.Match[str]) -> str:
    """`2026-01-02`, or `1-2` without a year, or `1-99` without a day."""
    stated = match.groupdict()
    month = _MONTHS.index(stated["name"]) + 1 if stated.get("name") else int(stated["month"])
    day = stated.get("day")
    year = stated.get("year")
    if day and year:
        century = "20" if len(year) < len("2026") else ""
        return f"{century}{year}-{month:02}-{int(day):02}"
    return f"{month}-{int(day or year or 0)}"


# In what ids differ, and what makes them equal in that; in this order, one after the other.
FOLDS: Mapping[str, _Fold] = {
    "Unicode form": _composed,
    "case": str.casefold,
    "blanks": partial(_without, r"(?<=\s)\s+|\s(?![^\0])|(?<![^\0])\s", " "),
    "a date": _dates,
    "a path": partial(_without, r"(?<![^\0])[^\0]*[/\\](?=[^\0])", "/\\"),
    "an exponent": _without_exponents,
    "a .0": partial(_without, r"(?<=\d)\.0+(?![^\0])", "."),
    "an extension": partial(_without, r"(?<=[^\0])\.[a-z][a-z0-9]{0,4}(?![^\0])", "."),
    "leading zeros": _without_leading_zeros,
}
_PARTS = ("a path", "an extension")  # of these the ids may not have two


def respelled(ids: Iterable[str], known: Iterable[str]) -> dict[str, str]:
    """For those of the ids that are not known but differ from a known one in their form alone, that one.

    Of several it is the shortest, and of these the last.
    """
    listed = list(ids)
    forms = _folded(listed)
    wanted = set(forms)
    by_form: dict[str, str] = {}
    others = iter(known)
    while block := list(islice(others, _BLOCK)):
        forms_of_others = _folded(block)
        if wanted.isdisjoint(forms_of_others):
            continue
        for form, other in zip(forms_of_others, block, strict=True):
            if form in wanted and len(other) <= len(by_form.get(form, other)):
                by_form[form] = other
    return {
        each: by_form[form]
        for each, form in zip(listed, forms, strict=True)
        if form in by_form and differs_in(each, by_form[form])
    }


def _folded(ids: list[str]) -> list[str]:
    text = _END.join(ids)
    if text.count(_END) != len(ids) - 1:
        return ids
    for fold in FOLDS.values():
        text = fold(text)
    return text.split(_END)


def differs_in(one: str, other: str) -> str:
    """In what alone two ids differ; nothing where they differ in more, as two files of one name do."""
    names: list[str] = []
    left = one, other
    for name, fold in FOLDS.items():
        folded = fold(left[0]), fold(left[1])
        lost = left[0].removesuffix(folded[0]), left[1].removesuffix(folded[1])
        if name == "an extension":
            lost = left[0].removeprefix(folded[0]), left[1].removeprefix(folded[1])
        if name in _PARTS and not any(long.endswith(short) for long, short in (lost, lost[::-1])):
            return ""
        if lost[0] != lost[1] and folded != left:
            names.append(name)
        left = folded
        if left[0] == left[1]:
            return " and ".join(each for each in names if _differ_without(each, one, other)) or " and ".join(names)
    return ""


def _differ_without(left_out: str, one: str, other: str) -> bool:
    """Whether two ids differ where this fold is left out: both may have capitals, and differ in a path alone."""
    for name, fold in FOLDS.items():
        if name != left_out:
            one, other = fold(one), fold(other)
    return one != other
