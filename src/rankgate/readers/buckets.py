"""Buckets and what else fsspec knows by an address, for stored baselines and for Parquet."""

from __future__ import annotations

import re
from typing import Any

from rankgate import pip_install
from rankgate.errors import bad_input, did_you_mean, on_one_line, redacted

CLOUD = f"{pip_install('cloud')} (in the action: extras: cloud)"
S3 = ("s3", "s3a")
_ATTEMPTS = {"retries": {"max_attempts": 2, "mode": "standard"}, "connect_timeout": 10, "read_timeout": 30}


def cloud_at(url: str, address: re.Pattern[str]) -> tuple[Any, str]:
    """The file system of fsspec that has an address of this pattern, and the path there; else a RankgateError."""
    spec = redacted(url).rstrip("/")
    parts = address.fullmatch(url)
    if parts is None or "::" in url or ".." in parts["place"].split("/"):
        raise bad_input("is no plain address, as s3://bucket/folder", file=spec)
    scheme = parts["scheme"].lower()
    try:
        import fsspec  # noqa: PLC0415 -- an extra, and paid only by who keeps something there
    except ImportError as error:
        raise bad_input(f"needs fsspec, which is not installed: {CLOUD}", file=spec) from error
    if scheme not in fsspec.available_protocols():
        near = did_you_mean(scheme, ["file", *fsspec.available_protocols()])
        raise bad_input(f"unknown scheme {scheme}://{near}", file=spec)
    options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
    if scheme in S3:
        configured = fsspec.config.conf.get(scheme, {}).get("config_kwargs", {})
        options["config_kwargs"] = {**_ATTEMPTS, **configured}
        options["max_concurrency"] = 1  # else an object's size is asked for before each object
    try:
        files, root = fsspec.core.url_to_fs(url, **options)
    except ImportError as error:
        how = CLOUD if scheme in S3 else on_one_line(str(error))
        raise bad_input(f"{scheme}:// needs a package that is not installed: {how}", file=spec) from error
    except Exception as error:  # noqa: BLE001 -- every store has its own errors
        raise bad_input(cloud_reason(error), file=spec) from None
    return files, str(root).rstrip("/")


def cloud_reason(error: Exception) -> str:
    """What an error of a store means, in words that show no secret."""
    kind = type(error).__name__
    if isinstance(error, PermissionError):
        return "permission denied; look at the credentials that this job has, and at what they may do there"
    if "Credentials" in kind:
        return "no credentials for it; set them as its own tools read them, as AWS_ACCESS_KEY_ID"
    if isinstance(error, FileNotFoundError):
        return "there is no such bucket or directory; create it, or correct the address"
    return f"cannot be reached, or answers with an error ({kind}); nothing was overwritten"
