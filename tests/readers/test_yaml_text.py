"""The YAML loader: which types it gives, on which line each value stands, and what it refuses."""

import json
import re
from contextlib import suppress
from typing import Any

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from rankgate.errors import RankgateError
from rankgate.readers import yaml_text
from rankgate.readers.yaml_text import dotted, load_yaml


@pytest.fixture(params=["CSafeLoader", "SafeLoader"])
def either_loader(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyYAML may have been built without its C parser."""
    monkeypatch.setattr(yaml_text, "_LOADER", getattr(yaml, request.param))


def value(text: str) -> Any:
    return load_yaml(text, "file.yaml").value


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("written", "expected"),
    [
        # Nothing, true and false: as JSON writes them, and two more words for nothing.
        pytest.param("null", None, id="null"),
        pytest.param("~", None, id="tilde"),
        pytest.param("", None, id="nothing"),
        pytest.param("true", True, id="true"),
        pytest.param("false", False, id="false"),
        *(pytest.param(word, word, id=f"{word} is text") for word in ("yes", "no", "on", "off", "y", "n", "No", "OFF")),
        *(pytest.param(word, word, id=f"{word} is text") for word in ("True", "TRUE", "False", "Null", "NULL", "None")),
        # Numbers.
        pytest.param("0", 0, id="zero"),
        pytest.param("-0", 0, id="minus zero"),
        pytest.param("17", 17, id="integer"),
        pytest.param("-17", -17, id="negative integer"),
        pytest.param("999999999999999999", 999999999999999999, id="18 digits"),
        pytest.param("1234567890123456789", 1234567890123456789, id="19 digits"),
        pytest.param("-12345678901234567890123", -12345678901234567890123, id="23 digits"),
        pytest.param("0.85", 0.85, id="decimal"),
        pytest.param("-0.5", -0.5, id="negative decimal"),
        pytest.param("1.0", 1.0, id="a decimal stays one"),
        pytest.param(".5", 0.5, id="without the zero"),
        pytest.param("1e3", 1000.0, id="exponent"),
        pytest.param("1.5E-2", 0.015, id="exponent with sign"),
        # What YAML 1.1 takes for something else, or JSON for nothing.
        pytest.param("+17", "+17", id="plus sign"),
        pytest.param("+0.5", "+0.5", id="plus sign before a decimal"),
        pytest.param("1:30", "1:30", id="not 90"),
        pytest.param("1:30:00", "1:30:00", id="not 5400"),
        pytest.param("017", "017", id="not 15"),
        pytest.param("0o17", "0o17", id="octal"),
        pytest.param("0x1F", "0x1F", id="hexadecimal"),
        pytest.param("0b101", "0b101", id="binary"),
        pytest.param("1_000", "1_000", id="underscore"),
        pytest.param("5.", "5.", id="a point without digits"),
        pytest.param("1e999", "1e999", id="too large to be finite"),
        pytest.param(".nan", ".nan", id="not a number"),
        pytest.param(".inf", ".inf", id="infinity"),
        pytest.param("-.Inf", "-.Inf", id="minus infinity"),
        pytest.param("nan", "nan", id="Python's nan"),
        pytest.param("infinity", "infinity", id="Python's infinity"),
        pytest.param("\u0663", "\u0663", id="a digit of another script"),
        pytest.param("2025-06-01", "2025-06-01", id="a date"),
        pytest.param("2025-06-01T10:00:00Z", "2025-06-01T10:00:00Z", id="a time"),
        pytest.param("5%", "5%", id="percent"),
        pytest.param("0,85", "0,85", id="a decimal comma"),
        pytest.param("=", "=", id="equals sign"),
        pytest.param("<<", "<<", id="the merge sign as a value"),
        # Text.
        pytest.param("recall@5", "recall@5", id="plain"),
        pytest.param("two words", "two words", id="with a space"),
        pytest.param("'0.85'", "0.85", id="single quotes make text"),
        pytest.param('"true"', "true", id="double quotes make text"),
        pytest.param("''", "", id="empty text"),
        pytest.param('"a\\tb\\u00e9\\U0001F4A9"', "a\tb\u00e9\U0001f4a9", id="escapes"),
        pytest.param("|\n  5\n", "5\n", id="a literal block is text"),
        pytest.param(">-\n  true\n", "true", id="a folded block is text"),
        pytest.param("Alû 文書 💡", "Alû 文書 💡", id="Unicode"),
        # Collections.
        pytest.param("[]", [], id="empty list"),
        pytest.param("{}", {}, id="empty mapping"),
        pytest.param("[1, 0.5, x, '1', no, [2], {a: 3}]", [1, 0.5, "x", "1", "no", [2], {"a": 3}], id="flow"),
        pytest.param("\n- 1\n-\n- - 2\n  - 3\n- a: 4\n  b:\n", [1, None, [2, 3], {"a": 4, "b": None}], id="block"),
        pytest.param('{"a": [1, 2.5, true, null, "x"]}', {"a": [1, 2.5, True, None, "x"]}, id="JSON"),
        # Keys are text, as they are written.
        pytest.param(
            "{1: a, 1.0: b, true: c, null: d, ~: e}",
            dict(zip(["1", "1.0", "true", "null", "~"], "abcde", strict=True)),
            id="keys",
        ),
        pytest.param("{no: a, 'x': b, \"y\": c}", {"no": "a", "x": "b", "y": "c"}, id="quoted keys"),
        pytest.param("{<<: {a: 1}}", {"<<": {"a": 1}}, id="the merge sign is a key like any other"),
        pytest.param("? a\n: 1\n? b\n", {"a": 1, "b": None}, id="keys with a question mark"),
    ],
)
def test_value(written: str, expected: object) -> None:
    found = value(written)
    assert found == expected
    assert type(found) is type(expected)


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    "text",
    [
        pytest.param("", id="empty"),
        pytest.param("# only a comment\n", id="comment"),
        pytest.param("---\n", id="document start"),
        pytest.param("---\n...\n", id="document start and end"),
    ],
)
def test_nothing(text: str) -> None:
    assert value(text) is None


NUMBERED = """\
# 1
gates:
  - name: one        # 3
    threshold: 0.5

  - {name: two,
     limits: [1,
              2]}    # 8
inputs:
  ? gold
  : path: x          # 11
text: |
  lines
  of text
last:
"""


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("path", "line"),
    [
        pytest.param((), 2, id="the document: its first key"),
        pytest.param(("gates",), 2, id="a key"),
        pytest.param(("gates", 0), 3, id="an entry of a list"),
        pytest.param(("gates", 0, "name"), 3, id="a key in it"),
        pytest.param(("gates", 0, "threshold"), 4, id="the next key"),
        pytest.param(("gates", 1), 6, id="an entry in braces"),
        pytest.param(("gates", 1, "name"), 6, id="a key in braces"),
        pytest.param(("gates", 1, "limits"), 7, id="a key in braces, on the next line"),
        pytest.param(("gates", 1, "limits", 0), 7, id="an entry in brackets"),
        pytest.param(("gates", 1, "limits", 1), 8, id="an entry in brackets, on the next line"),
        pytest.param(("inputs", "gold"), 10, id="a key with a question mark"),
        pytest.param(("inputs", "gold", "path"), 11, id="a key below it"),
        pytest.param(("text",), 12, id="block text: where it starts"),
        pytest.param(("last",), 15, id="a key without a value"),
        pytest.param(("gates", 0, "severity"), 3, id="a key that is not there: its mapping"),
        pytest.param(("gates", 7), 2, id="an entry that is not there: its list"),
        pytest.param(("gates", 0, "name", "x", 5), 3, id="far below a value"),
        pytest.param(("nowhere",), 2, id="nowhere: the document"),
    ],
)
def test_line(path: tuple[str | int, ...], line: int) -> None:
    assert load_yaml(NUMBERED, "file.yaml").line(path) == line


def test_an_empty_document_has_no_line() -> None:
    assert load_yaml("# nothing\n", "file.yaml").line(("gates", 0)) is None


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("text", "message"),
    {
        "a: 1\nb: 2\na: 3\n": "3: a: duplicate key, first on line 1",
        "a:\n  - {b: 1, c: {d: 1, d: 2}}\n": "2: a[0].c.d: duplicate key, first on line 2",
        "a: 1\n'a': 2\n": "2: a: duplicate key, first on line 1",
        "1: a\n'1': b\n": "2: 1: duplicate key, first on line 1",
        "a: 1\na: 2\nb:\n  c: 1\n  c: 2\n  c: 3\n": "2: a: duplicate key, first on line 1\n"
        "5: b.c: duplicate key, first on line 4\n"
        "6: b.c: duplicate key, first on line 4",
        "a: &x 1\n": "1: anchor &x is not allowed; write the value out",
        "a:\n  - &x\n    b: 1\n": "2: anchor &x is not allowed; write the value out",
        "&x a: 1\n": "1: anchor &x is not allowed; write the value out",
        "a: 1\nb: *x\n": "2: alias *x is not allowed; write the value out",
        "a: 1\n*x : 2\n": "2: alias *x is not allowed; write the value out",
        "a: !!int '5'\n": "1: tag 'tag:yaml.org,2002:int' is not allowed; write a plain value",
        "a: !own 5\n": "1: tag '!own' is not allowed; write a plain value",
        "a: ! 5\n": "1: tag '!' is not allowed; write a plain value",
        "a: !!set {b}\n": "1: tag 'tag:yaml.org,2002:set' is not allowed; write a plain value",
        "a: 1\n---\nb: 2\n": "2: a second YAML document starts here; keep one",
        "a:\n\t- b\n": "2: not valid YAML: a tab, where only spaces may indent; replace it by spaces",
        "a: 1\n? [b, c]\n: 2\n": "2: a key must be plain text",
        "a: 1\n{b: 1}: 2\n": "2: a key must be plain text",
        "\n" + "[" * 51 + "]" * 51: "2: nested deeper than 50 levels",
    }.items(),
)
def test_refused(text: str, message: str) -> None:
    with pytest.raises(RankgateError) as caught:
        load_yaml(text, "file.yaml")
    assert str(caught.value).replace("file.yaml:", "") == message


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("\n" + "[" * 100_000, 2, id="brackets"),
        pytest.param("{a: " * 100_000, 1, id="braces"),
        pytest.param("- " * 100_000, 1, id="dashes"),
    ],
)
def test_100_000_levels_are_refused_by_us_or_by_the_parser(text: str, line: int) -> None:
    with pytest.raises(RankgateError) as caught:
        load_yaml(text, "file.yaml")
    (problem,) = caught.value.problems
    assert problem.message.startswith(("nested deeper than 50 levels", "not valid YAML: "))
    assert (problem.file, problem.line) == ("file.yaml", line)


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize(
    ("text", "line"),
    [
        pytest.param("a: [1, 2\nb: 3\n", 2, id="an open bracket"),
        pytest.param("a: 'x\n", 2, id="an open quote"),
        pytest.param("a: 1\n b: 2\n", 2, id="indentation"),
        pytest.param("a:\n\t- b\n", 2, id="a tab"),
        pytest.param("a: b: c\n", 1, id="two colons"),
        pytest.param("a: @b\n", 1, id="a reserved sign"),
        pytest.param('a: "\\q"\n', 1, id="an unknown escape"),
    ],
)
def test_not_yaml(text: str, line: int) -> None:
    """The words are those of the parser."""
    with pytest.raises(RankgateError) as caught:
        load_yaml(text, "file.yaml")
    (problem,) = caught.value.problems
    assert problem.message.startswith("not valid YAML: ")
    assert (problem.file, problem.line) == ("file.yaml", line)


@pytest.mark.skipif(not yaml.__with_libyaml__, reason="PyYAML was built without libyaml")
def test_half_of_a_surrogate_pair_is_refused() -> None:
    with pytest.raises(RankgateError, match=r"^file\.yaml:1: not valid YAML: "):
        load_yaml('a: "\\ud800"\n', "file.yaml")


@pytest.mark.usefixtures("either_loader")
@pytest.mark.parametrize("text", ["a: \x07\n", "a: 'x\n\x00'\n", "a: \ufffe\n", "a: x\n\x1b[0m: y\n"])
def test_control_characters_are_refused_on_their_line(text: str) -> None:
    with pytest.raises(RankgateError) as caught:
        load_yaml(f"# é\n{text}", "file.yaml")
    (problem,) = caught.value.problems
    before = re.split("[\x00\x07\x1b\ufffe]", text)[0]
    line = 2 + before.count("\n")
    assert problem.message.startswith("not valid YAML: ")
    assert (problem.file, problem.line) == ("file.yaml", line)


@pytest.mark.usefixtures("either_loader")
def test_fifty_levels_are_fine() -> None:
    found = value("[" * 50 + "]" * 50)
    for _ in range(49):
        (found,) = found
    assert found == []


@pytest.mark.parametrize(
    ("path", "text"),
    [
        pytest.param((), "", id="the document"),
        pytest.param(("gates",), "gates", id="a key"),
        pytest.param(("gates", 2, "metric"), "gates[2].metric", id="a key in a list"),
        pytest.param((0, 1), "[0][1]", id="lists in a list"),
        pytest.param(("a", "b", "c"), "a.b.c", id="keys"),
    ],
)
def test_dotted(path: tuple[str | int, ...], text: str) -> None:
    assert dotted(path) == text


# Neither control characters nor the line separators of Unicode, which YAML reads in its own way.
TEXT = st.text(st.characters(exclude_categories=["C", "Zl", "Zp"]))
SCALARS = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | TEXT
VALUES = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(TEXT, inner, max_size=4), max_leaves=20
)


@pytest.mark.full
@given(VALUES)
def test_json_is_read_as_json(written: object) -> None:
    found = value(json.dumps(written, ensure_ascii=False))
    assert repr(found) == repr(written)


@given(st.text() | st.text("-?:,[]{}#&*!|>'\"%@ \n\tab01.~<=", max_size=40))
def test_any_text_is_a_document_or_a_clear_error(text: str) -> None:
    with suppress(RankgateError):
        document = load_yaml(text, "file.yaml")
        assert all(line >= 1 for line in document.lines.values())
