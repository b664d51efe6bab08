"""Objects wherever fsspec reaches: the one module that knows it. Addresses, keys and passwords stay out of messages."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from rankgate.errors import RankgateError, bad_input, did_you_mean, on_one_line, redacted

INSTALL = "pip install 'rankgate[cloud]' (in the action: extras: cloud)"
MOST_TRIES = 3  # to make an object; below that the store's own client repeats what is lost
_S3 = ("s3", "s3a")
_ATTEMPTS = {"retries": {"max_attempts": 2, "mode": "standard"}, "connect_timeout": 10, "read_timeout": 30}
_ADDRESS = re.compile(r"(?P<scheme>[a-z][a-z0-9+.-]*)://(?P<place>[^?#*\[\]\s]+)", re.IGNORECASE)


class CloudObjects:
    """Objects below an address; credentials are those that fsspec and the store's own client are configured with."""

    def __init__(self, url: str) -> None:
        """Open the file system; most do not ask their store for anything yet.

        Raises:
            RankgateError: no plain address, an unknown scheme, a package that is not installed, or no connection.
        """
        self.spec = redacted(url).rstrip("/")
        self._scheme = _scheme_of(url, self.spec)
        self._files, self._root = self._opened(url)

    def names(self, folder: str) -> list[str]:
        """The names of what lies in a folder; looked up anew every time."""
        path = self._path(folder)
        try:
            self._files.invalidate_cache()
            listed = self._files.ls(path, detail=False)
        except FileNotFoundError:
            self._check_bucket()
            return []
        except Exception as error:  # noqa: BLE001 -- every store has its own errors
            raise self._trouble(error, folder) from None
        names = (str(each).rstrip("/").rpartition("/")[2] for each in listed if str(each).rstrip("/") != path)
        return [name for name in names if name]

    def read(self, names: Sequence[str]) -> Mapping[str, bytes]:
        """The bytes of objects, many at once where the store allows it; those that are not there are left out."""
        if not names:
            return {}
        try:
            found: Mapping[str, Any] = self._files.cat([self._path(name) for name in names], on_error="return")
        except Exception as error:  # noqa: BLE001 -- as above
            raise self._trouble(error, names[0]) from None
        answers = {name: found.get(self._path(name), FileNotFoundError()) for name in names}
        for name, answer in answers.items():
            if isinstance(answer, Exception) and not isinstance(answer, FileNotFoundError):
                raise self._trouble(answer, name)
        return {name: answer for name, answer in answers.items() if isinstance(answer, bytes)}

    def holds(self, name: str) -> bool:
        """Whether there is such an object."""
        try:
            return bool(self._files.exists(self._path(name)))
        except Exception as error:  # noqa: BLE001 -- as above
            raise self._trouble(error, name) from None

    def create(self, name: str, data: bytes) -> bool:
        """Make an object where there is none; False where there is one with other bytes.

        On S3 the store itself refuses a second one (`If-None-Match: *`). An answer that was lost, or a refusal that
        the store says in its own words, is told apart by what is there.
        """
        trouble: RankgateError | None = None
        for _ in range(MOST_TRIES):
            try:
                self._files.pipe_file(self._path(name), data, mode="create")
            except Exception as error:  # noqa: BLE001 -- as above
                trouble = self._trouble(error, name)
            else:
                return True
            there = self.read([name])
            if name in there:
                return there[name] == data
        raise trouble or self._trouble(FileNotFoundError(), name)

    def replace(self, name: str, data: bytes) -> None:
        """Make an object, or put another in its place."""
        try:
            self._files.pipe_file(self._path(name), data)
        except Exception as error:  # noqa: BLE001 -- as above
            raise self._trouble(error, name) from None

    def delete(self, name: str) -> None:
        """Take an object away, if it is there."""
        try:
            self._files.rm_file(self._path(name))
        except FileNotFoundError:
            pass
        except Exception as error:  # noqa: BLE001 -- as above
            raise self._trouble(error, name) from None

    def modified(self, name: str) -> float | None:
        """When an object was written, by the store's clock; None where it is not there, or this store does not say."""
        try:
            return float(self._files.modified(self._path(name)).timestamp())
        except (FileNotFoundError, NotImplementedError):
            return None
        except Exception as error:  # noqa: BLE001 -- as above
            raise self._trouble(error, name) from None

    def _path(self, name: str) -> str:
        return f"{self._root}/{name}"

    def _opened(self, url: str) -> tuple[Any, str]:
        try:
            import fsspec  # noqa: PLC0415 -- an extra, and paid only by who keeps a baseline there
        except ImportError as error:
            raise bad_input(f"needs fsspec, which is not installed: {INSTALL}", file=self.spec) from error
        if self._scheme not in fsspec.available_protocols():
            near = did_you_mean(self._scheme, ["file", *fsspec.available_protocols()])
            raise bad_input(f"unknown scheme {self._scheme}://{near}", file=self.spec)
        options: dict[str, Any] = {"skip_instance_cache": True, "use_listings_cache": False}
        if self._scheme in _S3:
            own = fsspec.config.conf.get(self._scheme, {}).get("config_kwargs", {})
            options["config_kwargs"] = {**_ATTEMPTS, **own}
            options["max_concurrency"] = 1  # else an object's size is asked for before each object
        try:
            files, root = fsspec.core.url_to_fs(url, **options)
        except ImportError as error:
            how = INSTALL if self._scheme in _S3 else on_one_line(str(error))
            message = f"{self._scheme}:// needs a package that is not installed: {how}"
            raise bad_input(message, file=self.spec) from error
        except Exception as error:  # noqa: BLE001 -- every store has its own errors
            raise self._trouble(error, "") from None
        return files, str(root).rstrip("/")

    def _check_bucket(self) -> None:
        """A prefix without objects is an empty memory; a bucket that is not there is a mistake in writing.

        Raises:
            RankgateError: there is no such bucket.
        """
        if self._scheme in _S3 and not self._files.exists(self._root.split("/")[0]):
            raise self._trouble(FileNotFoundError(), "")

    def _trouble(self, error: Exception, name: str) -> RankgateError:
        """What an error means, in our words: its own may hold keys and signed addresses."""
        kind = type(error).__name__
        if isinstance(error, PermissionError):
            why = "permission denied; look at the credentials that this job has, and at what they may do there"
        elif "Credentials" in kind:
            why = "no credentials for it; set them as its own tools read them, as AWS_ACCESS_KEY_ID"
        elif isinstance(error, FileNotFoundError):
            why = "there is no such bucket or directory; create it, or mend the address"
        else:
            why = f"cannot be reached, or answers with an error ({kind}); nothing was overwritten"
        return bad_input(why, file=f"{self.spec}/{name}" if name else self.spec)


def _scheme_of(url: str, shown: str) -> str:
    parts = _ADDRESS.fullmatch(url)
    if parts is None or "::" in url or ".." in parts["place"].split("/"):
        raise bad_input("is no plain address, as s3://bucket/folder", file=shown)
    return parts["scheme"].lower()
