"""Where the API lies, and which addresses belong to it: the token goes nowhere else."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from urllib.parse import SplitResult, urlencode, urljoin, urlsplit, urlunsplit

import msgspec

from rankgate.errors import bad_input

_PORTS = {"https": 443, "http": 80}
_CLEAN = re.compile(r"[!-\[\]-~]+")  # visible ASCII but the backslash, which not everyone reads as the same character
# What a caller may ask for: no empty step and none that climbs, however it is written.
_PATH = re.compile(r"(?:/(?!(?:\.|%2e){1,2}(?:/|$))(?:[\w.~!$&'()*+,;=:@-]|%[0-9a-f]{2})+)+", re.ASCII | re.IGNORECASE)


class Base(msgspec.Struct, frozen=True):
    """The address below which the API lies: `origin` as `https://api.github.com`, `path` empty or as `/api/v3`."""

    origin: str
    path: str

    def url(self, path: str, params: Mapping[str, str | int]) -> str | None:
        """The whole address of a path of the API, None where it is no plain path."""
        query = f"?{urlencode(params)}" if params else ""
        return f"{self.origin}{self.path}{path}{query}" if _PATH.fullmatch(path) else None

    def own(self, address: str, *, seen_at: str) -> str | None:
        """An address that the server named at `seen_at`, on the API's own origin; None for any other.

        It is rewritten so that no second reader of addresses can find another host in it.
        """
        parts = _split(address, seen_at)
        if parts is None or _origin(parts) != self.origin:
            return None
        return f"{self.origin}{parts.path}" + (f"?{parts.query}" if parts.query else "")

    def elsewhere(self, address: str, *, seen_at: str) -> str | None:
        """Where a file lies that the server named at `seen_at`; None unless it is reached as safely as the API is."""
        parts = _split(address, seen_at)
        safe = ("https", "http") if self.origin.startswith("http:") else ("https",)
        return urlunsplit(parts) if parts is not None and parts.scheme in safe else None


def base_of(api_url: str) -> Base:
    """The API's address, with or without a slash at its end, which must be as safe as a token needs."""
    parts = _split(api_url)
    if parts is None or parts.query or parts.fragment:
        raise bad_input("is no address of an API, as https://api.github.com or https://HOST/api/v3", key="api url")
    if parts.scheme == "http" and not _loopback(parts.hostname or ""):
        raise bad_input(
            f"is http, which would show the token to everyone on the way to {parts.hostname}", key="api url"
        )
    return Base(_origin(parts), parts.path.rstrip("/"))


def _split(address: str, seen_at: str = "") -> SplitResult | None:
    """The parts of an http address with a host and without a user, None for anything else."""
    if not _CLEAN.fullmatch(address):
        return None
    try:
        parts = urlsplit(urljoin(seen_at, address))
        whole = parts.scheme in _PORTS and parts.hostname and "@" not in parts.netloc and parts.port != 0
    except ValueError:  # a port that is no number, half of an IPv6 address
        return None
    return parts if whole else None


def _origin(parts: SplitResult) -> str:
    host = f"[{parts.hostname}]" if ":" in (parts.hostname or "") else parts.hostname
    port = "" if parts.port in (None, _PORTS[parts.scheme]) else f":{parts.port}"
    return f"{parts.scheme}://{host}{port}"


def _loopback(host: str) -> bool:
    try:
        return host == "localhost" or ip_address(host).is_loopback
    except ValueError:
        return False
