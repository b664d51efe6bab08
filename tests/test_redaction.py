"""What may be secret in an address is in no message, whatever a password is made of."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st
from tests.rows import each_row

from rankgate.baselines import clones
from rankgate.baselines.stores import store_for
from rankgate.criteria import InputFile
from rankgate.criteria.runs import AcceptedRun
from rankgate.errors import Problem, RankgateError, redacted, redacted_text
from rankgate.readers.field_map import FieldMap

# Around `hunter`, which nothing else here is called: whatever signs a password may have, and those that end one.
signs = st.text(st.sampled_from("a:@/?#%&=+~!$'()*,;[]{}.…é"), max_size=8)
passwords = st.builds("{}hunter{}".format, signs, signs)
FIELDS = FieldMap(query_id="q", chunk_id="id", rank="rank")


def said_by(use: Callable[[], object]) -> str:
    """The message where there is one; nothing where a store is only opened and empty."""
    try:
        assert use() is None
    except RankgateError as error:
        return str(error)
    return ""


@each_row(
    ("address", "shown"),
    [
        pytest.param("s3://bucket/x", "s3://bucket/x", id="nothing secret"),
        pytest.param("ftp://me:pass@host/x", "ftp://…@host/x", id="a password"),
        pytest.param("ftp://me:p@ss/w@host/x", "ftp://…@host/x", id="a password with an at and a slash in it"),
        pytest.param("ftp://me:p?ss@host/x", "ftp://…", id="a password with a question mark in it"),
        pytest.param("abfs://x/y?sig=s3cr3t", "abfs://x/y?…", id="a signature"),
        pytest.param("abfs://x/y?sig=s3cr3t@z", "abfs://…", id="a signature with an at in it"),
        pytest.param("abfs://x/y#s3cr3t", "abfs://x/y?…", id="a fragment"),
        pytest.param("file:///srv/a@b?c", "file:///srv/a@b?c", id="a path, in which these are letters"),
        pytest.param("git+branch:runs@up", "git+branch:runs@up", id="no address"),
        pytest.param("git+branch:https://me:pass@host/x", "…", id="an address where none belongs"),
        pytest.param("git+branch:runs/main", "git+branch:runs/main", id="a branch"),
        pytest.param("https:/me:pass@host/x?sig=1", "https://…@host/x?…", id="with one slash, as paths leave it"),
        pytest.param("runs/https:/me:pass@host/x", "runs/https://…@host/x", id="within a path"),
        pytest.param(r"https:\\me:pass@host\x", "https://…@host\\x", id="with the other slashes"),
        pytest.param("HTTPS://me:pass@host", "HTTPS://…@host", id="in capitals"),
        pytest.param("//me:pass@host/x", "//…@host/x", id="without a scheme, with slashes"),
        pytest.param("me:pass@host/x", "…", id="without a scheme"),
        pytest.param("s3://me:pass/x", "s3://…", id="a password without its at"),
        pytest.param("https://me:pass%40host/x", "https://…", id="an at in code"),
        pytest.param("http://localhost:9000/x", "http://localhost:9000/x", id="a port"),
        pytest.param("simplecache::s3://me:pass@x/y", "…", id="a chain of addresses"),
        pytest.param("https://host/x;sig=s3cr3t", "https://host/x?…", id="a signature behind a semicolon"),
        pytest.param("host/x?X-Amz-Signature=1&b=2", "host/x?…", id="a signature without a scheme"),
        pytest.param("file:///srv/x?sig=s3cr3t", "file:///srv/x?…", id="a signature in a path"),
        pytest.param(r"C:\runs\a.jsonl", r"C:\runs\a.jsonl", id="a drive"),
        pytest.param("runs/2026-01-01T10:00:00.jsonl", "runs/2026-01-01T10:00:00.jsonl", id="a time"),
        pytest.param("a?b.jsonl", "a?b.jsonl", id="a question mark in a name"),
    ],
)
def test_what_is_shown_of_an_address(address: str, shown: str) -> None:
    assert redacted(address) == shown


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("found 'ftp://me:pass@host/x'; see", "found 'ftp://…@host/x'; see", id="in quotes"),
        pytest.param("see https://host/docs.", "see https://host/docs.", id="nothing secret"),
        pytest.param("expected git+branch:NAME@REMOTE", "expected git+branch:NAME@REMOTE", id="no address"),
        pytest.param("gate a:b: recall@5 is 0.8", "gate a:b: recall@5 is 0.8", id="a metric"),
    ],
)
def test_what_is_shown_of_a_text(text: str, shown: str) -> None:
    problem = Problem(text, text, None, text)
    assert (redacted_text(text), problem.message, problem.key) == (shown, shown, shown)
    assert "pass" not in str(problem)


@given(passwords)
def test_no_password_and_no_query_is_shown(password: str) -> None:
    assert "hunter" not in redacted(f"s3://ana:{password}@bucket/folder")
    assert "hunter" not in redacted(f"s3://bucket/folder?key={password}")
    assert "hunter" not in redacted(f"s3://ana:{password}@bucket/folder?key={password}")


@given(passwords)
def test_git_says_no_password(password: str) -> None:
    said = f"fatal: unable to access 'https://ana:{password}@host.example/a.git/': no route, ask ana@host.example"
    shown = clones.without_secrets(said, {})
    assert "hunter" not in shown
    assert shown.startswith("fatal: unable to access 'https://…")
    assert shown.endswith(": no route, ask ana@host.example")


@pytest.mark.full
@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda spec: store_for(spec).open(frozenset()), id="opened"),
        pytest.param(lambda spec: store_for(spec, map=FIELDS), id="with a map"),
        pytest.param(
            lambda spec: AcceptedRun(file=InputFile(spec), required=True).open(frozenset()),
            id="where nothing was accepted yet",
        ),
    ],
)
@pytest.mark.parametrize(
    "spec",
    [
        "ftpx://ana:{}@host/x",
        "ftpx:ana:{}@host",
        "file://ana:{}@host/x",
        "memory://ana:{}@nothing/here",
        "memory://nothing/here?key={}",
        "git+branch:https://ana:{}@host/x",
        "git+branch:ana:{}@host",
    ],
)
@given(password=passwords)
def test_no_message_of_a_store_shows_a_password(spec: str, use: Callable[[str], object], password: str) -> None:
    assert "hunter" not in said_by(lambda: use(spec.format(password)))
