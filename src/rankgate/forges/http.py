"""One request and its answer, within limits, and the addresses that a token may go to: nothing else opens a connection.

Nothing here is taken from the environment but proxies and CA certificates: a .netrc would replace the token. There is
no switch that turns certificate checks off. The libraries' own messages are not passed on: they quote addresses, which
may be signed.
"""

from __future__ import annotations

import os
import re
import ssl
import time
from collections.abc import Iterator, Mapping
from http import HTTPStatus
from pathlib import Path
from urllib.parse import urlencode, urljoin

import msgspec
import requests
from requests.adapters import HTTPAdapter
from requests.utils import get_environ_proxies
from urllib3 import exceptions as below

from rankgate import __version__
from rankgate.errors import bad_input
from rankgate.files.environment import CERTIFICATES
from rankgate.forges.retry import Failure

CONNECT_SECONDS = 10.0
READ_SECONDS = 30.0  # without a byte
BODY_SECONDS = 120.0  # for a whole body, however steadily it trickles
BODY_BYTES = 20_000_000  # of an answer that is not a download
_CHUNK = 65_536

_HOST = r"[A-Za-z0-9.-]+|\[[0-9A-Fa-f:]+\]"
# A user's name, a password and a query have no place in it.
_ADDRESS = re.compile(
    rf"(?P<origin>(?P<scheme>https?)://(?P<host>{_HOST})(?::[1-9][0-9]{{0,4}})?)(?P<path>/[\w.~/-]*)", re.ASCII
)
_LOOPBACK = re.compile(r"localhost|127(?:\.[0-9]{1,3}){3}|\[::1\]")
_CLEAN = re.compile(r"[!-\[\]-~]+")  # visible ASCII but the backslash, which not everyone reads as the same character
# What a caller may ask for: no empty step and none that climbs, however it is written.
_PATH = re.compile(r"(?:/(?!(?:\.|%2e){1,2}(?:/|$))(?:[\w.~!$&'()*+,;=:@-]|%[0-9a-f]{2})+)+", re.ASCII | re.IGNORECASE)


class Clock:
    """The machine's clock, in seconds; a test puts another in its place, so that no wait has to be waited for."""

    now = staticmethod(time.time)
    monotonic = staticmethod(time.monotonic)

    def text(self) -> str:
        """Now, as GitHub writes times."""
        return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(self.now()))

    def sleep(self, seconds: float) -> None:
        """Return after so many seconds."""
        time.sleep(seconds)


class Answer(msgspec.Struct, frozen=True):
    """A whole answer: headers by lower-case names, bytes not compressed, and the next page as the server wrote it."""

    status: int
    headers: Mapping[str, str]
    body: bytes
    next: str | None

    @property
    def succeeded(self) -> bool:
        """Whether it is neither a refusal nor elsewhere."""
        return HTTPStatus.OK <= self.status < HTTPStatus.MULTIPLE_CHOICES


class NoAnswer(msgspec.Struct, frozen=True):
    """None came, or none that can be used, and why in plain words."""

    failure: Failure
    why: str


def session_of(token: str | None, headers: Mapping[str, str] = {}, connections: int = 1) -> requests.Session:
    """Connections to an API with a token, or to any other place without; so many are kept open for the next request."""
    session = requests.Session()
    session.mount("http://", HTTPAdapter(pool_maxsize=connections))
    session.mount("https://", HTTPAdapter(pool_maxsize=connections))
    session.trust_env = False
    session.verify = _certificates()
    session.headers.clear()
    session.headers["User-Agent"] = f"rankgate/{__version__}"
    session.headers["Accept-Encoding"] = "identity"  # so that a limit in bytes is one
    if token is not None:
        session.headers["Authorization"] = f"Bearer {token}"
    session.headers.update(headers)
    return session


def _certificates() -> str | bool:
    """The file or directory of CA certificates that the environment names, else True: those that requests brings."""
    for name in CERTIFICATES:
        path = os.environ.get(name, "")
        if path and not Path(path).exists():
            raise bad_input("the CA certificates that it names are not there", key=name)
        if path:
            return path
    return True


def exchange(
    session: requests.Session,
    method: str,
    url: str,
    body: bytes | None,
    limit: int,
    clock: Clock,
    read_seconds: float = READ_SECONDS,
) -> Answer | NoAnswer:
    """Send a request once and read its answer; redirects are answers like any other.

    The body of an answer with status 200 may have `limit` bytes, others BODY_BYTES.
    """
    try:
        with session.request(
            method,
            url,
            data=body,
            headers={"Content-Type": "application/json"} if body is not None else {},
            stream=True,
            allow_redirects=False,
            timeout=(CONNECT_SECONDS, read_seconds),
            proxies=get_environ_proxies(url),
        ) as response:
            content = _read(response, limit if response.status_code == requests.codes.ok else BODY_BYTES, clock)
            if isinstance(content, NoAnswer):
                return content
            headers = {name.lower(): value for name, value in response.headers.items()}
            return Answer(response.status_code, headers, content, response.links.get("next", {}).get("url"))
    except (requests.RequestException, below.HTTPError, OSError, ValueError, TypeError) as error:
        return _explained(error)  # the last two come from a proxy whose address is none


def _read(response: requests.Response, limit: int, clock: Clock) -> bytes | NoAnswer:
    too_large = NoAnswer(Failure.UNUSABLE, f"it is larger than {limit:,} bytes")
    if response.headers.get("Content-Encoding", "identity") != "identity":
        return NoAnswer(Failure.UNUSABLE, "it is compressed, which was not asked for")
    if response.headers.get("Content-Length", "").isdecimal() and int(response.headers["Content-Length"][:20]) > limit:
        return too_large
    end = clock.monotonic() + BODY_SECONDS
    content = bytearray()
    while chunk := response.raw.read1(_CHUNK):  # what there is: a read of a full chunk could outlast the time
        content += chunk
        if len(content) > limit:
            return too_large
        if clock.monotonic() > end:
            return NoAnswer(Failure.LOST, f"it did not end within {BODY_SECONDS:.0f} s")
    return bytes(content)


def _explained(error: BaseException) -> NoAnswer:
    causes = list(_causes(error))
    fitting = (row for row in _FAILURES if any(isinstance(cause, row[0]) for cause in causes))
    _, failure, why = next(fitting, (None, Failure.LOST, "it failed"))
    return NoAnswer(failure, why)


def _causes(error: BaseException) -> Iterator[BaseException]:
    """An error and those that the libraries wrapped in it."""
    yield error
    for inner in (getattr(error, "reason", None), *error.args):
        if isinstance(inner, BaseException):
            yield from _causes(inner)


# The first that fits. Only where no connection was made is it certain that nothing was sent.
_FAILURES: list[tuple[tuple[type[BaseException], ...], Failure, str]] = [
    ((ssl.SSLCertVerificationError,), Failure.UNUSABLE, "its certificate is not trusted"),
    ((below.ProxyError,), Failure.UNREACHED, "the proxy did not connect"),
    ((below.NameResolutionError,), Failure.UNREACHED, "its name was not found"),
    ((below.NewConnectionError,), Failure.UNREACHED, "no connection could be made"),
    ((below.ConnectTimeoutError,), Failure.UNREACHED, f"no connection within {CONNECT_SECONDS:.0f} s"),
    ((below.TimeoutError, TimeoutError), Failure.LOST, f"nothing came for {READ_SECONDS:.0f} s"),
    ((below.ProtocolError, below.SSLError), Failure.LOST, "the connection broke"),
    ((ValueError, TypeError), Failure.UNUSABLE, "its address or the proxy's cannot be used"),
    ((OSError,), Failure.LOST, "the connection broke"),  # after the others: all that requests raises is one, too
]


class Base(msgspec.Struct, frozen=True):
    """The address below which the API lies: `origin` as `https://api.github.com`, `path` empty or as `/api/v3`."""

    origin: str
    path: str

    def url(self, path: str, params: Mapping[str, str | int]) -> str | None:
        """The whole address of a path of the API, None where it is no plain path."""
        query = f"?{urlencode(params)}" if params else ""
        return f"{self.origin}{self.path}{path}{query}" if _PATH.fullmatch(path) else None

    def within(self, address: str, *, seen_at: str) -> str | None:
        """An address that the server named at `seen_at`, on the API's own origin; None for any other."""
        joined = _joined(address, seen_at).partition("#")[0]
        return joined if joined.startswith(f"{self.origin}/") else None

    def elsewhere(self, address: str, *, seen_at: str) -> str | None:
        """Where a file lies that the server named at `seen_at`; None unless it is reached as safely as the API is."""
        joined = _joined(address, seen_at)
        match = _ADDRESS.match(joined)
        safe = match is not None and (match["scheme"] == "https" or self.origin.startswith("http:"))
        return joined if safe else None


def base_of(api_url: str) -> Base:
    """The API's address, with or without a slash at its end, which must be as safe as a token needs."""
    match = _ADDRESS.fullmatch(f"{api_url.rstrip('/')}/")
    if match is None or not _CLEAN.fullmatch(api_url):
        raise bad_input("is no address of an API, as https://api.github.com or https://HOST/api/v3", key="api url")
    if match["scheme"] == "http" and not _LOOPBACK.fullmatch(match["host"]):
        message = f"is http, which would show the token to everyone on the way to {match['host']}"
        raise bad_input(message, key="api url")
    return Base(match["origin"].lower(), match["path"].rstrip("/"))


def _joined(address: str, seen_at: str) -> str:
    """The whole address that was named at another one; empty where it is none."""
    try:
        return urljoin(seen_at, address) if _CLEAN.fullmatch(address) else ""
    except ValueError:  # half of an IPv6 address
        return ""
