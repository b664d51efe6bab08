"""What may be secret in an address is in no message, whatever a password is made of."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from rankgate.baselines.git_transport import without_secrets
from rankgate.baselines.stores import store_for
from rankgate.criteria import InputFile
from rankgate.errors import RankgateError
from rankgate.inputs import baseline_of
from rankgate.readers.mapping import FieldMap
from rankgate.redaction import redacted, without_users

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


@pytest.mark.parametrize(
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
        pytest.param("git+branch:https://me:pass@host/x", "git+branch:…", id="an address where none belongs"),
    ],
)
def test_what_is_shown_of_an_address(address: str, shown: str) -> None:
    assert redacted(address) == shown


@given(passwords)
def test_no_password_and_no_query_is_shown(password: str) -> None:
    assert "hunter" not in redacted(f"s3://ana:{password}@bucket/folder")
    assert "hunter" not in redacted(f"s3://bucket/folder?key={password}")
    assert "hunter" not in redacted(f"s3://ana:{password}@bucket/folder?key={password}")


@given(passwords)
def test_git_says_no_password(password: str) -> None:
    said = f"fatal: unable to access 'https://ana:{password}@host.example/a.git/': no route, ask ana@host.example"
    shown = "fatal: unable to access 'https://***@host.example/a.git/': no route, ask ana@host.example"
    assert without_users(said) == without_secrets(said, {}) == shown


@pytest.mark.parametrize(
    "use",
    [
        pytest.param(lambda spec: store_for(spec).open(frozenset()), id="opened"),
        pytest.param(lambda spec: store_for(spec, map=FIELDS), id="with a map"),
        pytest.param(lambda spec: baseline_of(InputFile(spec), None), id="where nothing was accepted yet"),
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
        "artifact:https://ana:{}@host/x",
    ],
)
@given(password=passwords)
def test_no_message_of_a_store_shows_a_password(spec: str, use: Callable[[str], object], password: str) -> None:
    assert "hunter" not in said_by(lambda: use(spec.format(password)))
