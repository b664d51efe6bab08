"""What the environment of a job says of GitHub: where its API is, and by which token to speak to it."""

from __future__ import annotations

from collections.abc import Mapping

API = "https://api.github.com"  # where no Enterprise server is named
OURS = "RANKGATE_TOKEN"
JOBS = ("GITHUB_TOKEN", "GH_TOKEN")  # what workflows call their own token
TOKENS = (OURS, *JOBS)
# What names a file or a folder of CA certificates, in the order in which it counts.
CERTIFICATES = ("REQUESTS_CA_BUNDLE", "CURL_CA_BUNDLE", "SSL_CERT_FILE", "SSL_CERT_DIR")


def token_in(environment: Mapping[str, str]) -> str | None:
    """The first token that is set and not empty, ours before a job's; None where there is none."""
    return next((environment[name] for name in TOKENS if environment.get(name)), None)


def api_url(environment: Mapping[str, str]) -> str:
    """The API's address as it is set, unchecked; GitHub's own where none is."""
    return environment.get("GITHUB_API_URL") or API
