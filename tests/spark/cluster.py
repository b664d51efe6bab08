"""A standalone Spark cluster on loopback: a Connect server, with a master and two workers of one core in its process.

Executors are processes of their own, and all speak over the network as elsewhere. Spark's programs are of the package
pyspark in `.spark`, an environment of its own that `scripts/test --all` sets up; the driver is the client in the
environment of the tests.
"""

from __future__ import annotations

import os
import re
import signal
import socket
import subprocess
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent.parent
_PYTHON = ROOT / ".spark" / "bin" / "python"
PATIENCE = 120  # seconds until a process has to be there
_CONNECT = "org.apache.spark.sql.connect.service.SparkConnectServer"
_MEMORY = 512  # megabytes of an executor
# Tests are over before more pays off, and Spark's own classes need no check.
_QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC -XX:+UnlockDiagnosticVMOptions -XX:-BytecodeVerificationRemote"


def lacking() -> str | None:
    """What there is not of what a cluster needs."""
    java = subprocess.run(["sh", "-c", "command -v java"], capture_output=True, check=False).returncode == 0
    return None if java and _home() else "Java" if _home() else ".spark with pyspark, which scripts/test --all sets up"


def _home() -> Path | None:
    return next(iter((ROOT / ".spark" / "lib").glob("python*/site-packages/pyspark")), None)


class Cluster:
    """The running cluster: where its Connect server is, and the processes that run tasks."""

    def __init__(self, address: str, server: subprocess.Popen[bytes], folder: Path) -> None:
        self.address = address
        self.server = server
        self.folder = folder

    def executors(self) -> list[int]:
        """The process ids of the executors, which are the workers' own children."""
        return _children(self.server.pid)

    def peak(self) -> int:
        """The most resident memory, in bytes, that a Python process of an executor has had so far."""
        return max(map(peak_of, self.below(self.executors())), default=0)

    def below(self, parents: Sequence[int]) -> list[int]:
        """The processes that these have started, and so on."""
        children = [child for parent in parents for child in _children(parent)]
        return [*children, *self.below(children)] if children else []


def _children(process: int) -> list[int]:
    """What any thread of a process has started."""
    try:
        lists = [path.read_text() for path in Path(f"/proc/{process}/task").glob("*/children")]
    except OSError:
        return []  # it has ended
    return [int(each) for text in lists for each in text.split()]


def peak_of(process: int) -> int:
    """The most resident memory that a process has had, in bytes."""
    try:
        status = Path(f"/proc/{process}/status").read_text()
    except OSError:
        return 0  # it has ended
    found = re.search(r"VmHWM:\s+(\d+) kB", status)
    return int(found[1]) * 1024 if found else 0


@contextmanager
def cluster(folder: Path) -> Iterator[Cluster]:
    """A cluster that keeps its files in a folder, and ends with the context."""
    home = _home()
    assert home is not None
    environment = {
        **os.environ,
        "SPARK_HOME": str(home),
        "SPARK_LOCAL_IP": "127.0.0.1",
        "JAVA_TOOL_OPTIONS": f"{_QUICK} -Djava.io.tmpdir={folder}",
    }
    environment |= {"PYSPARK_PYTHON": str(_PYTHON), "RANKGATE_TEST_MARKER": str(folder)}
    environment["PYTHONPATH"] = str(Path(__file__).parent)  # where the daemon is
    environment |= {"SPARK_LOCAL_DIRS": str(folder / "local"), "SPARK_WORKER_DIR": str(folder / "work")}
    port = _free_port()
    settings = {
        "spark.connect.grpc.binding.address": "127.0.0.1",
        "spark.connect.grpc.binding.port": port,
        "spark.driver.host": "127.0.0.1",
        "spark.executor.memory": f"{_MEMORY}m",
        "spark.python.daemon.module": "preloading_daemon",
        "spark.ui.enabled": "false",
        "spark.sql.shuffle.partitions": 2,
        "spark.sql.codegen.wholeStage": "false",  # classes that the jobs of tests are too short for
        "spark.sql.warehouse.dir": folder / "warehouse",
    }
    given = [word for key, value in settings.items() for word in ("--conf", f"{key}={value}")]
    master = f"local-cluster[2,1,{_MEMORY}]"  # workers of a core each
    submit = [str(home / "bin" / "spark-submit"), "--master", master, "--class", _CONNECT]
    log = folder / "connect.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            [*submit, *given, "spark-internal"],
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=output,
            env=environment,
            process_group=0,
        )
    try:
        _said(log, "Spark Connect server started")
        yield Cluster(f"sc://127.0.0.1:{port}", process, folder)
    finally:
        _end(process)


def _free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


def _said(log: Path, pattern: str) -> str:
    """What a process writes into its log once it is ready."""
    until = time.monotonic() + PATIENCE
    while not (found := re.search(pattern, log.read_text(encoding="utf-8", errors="replace"))):
        assert time.monotonic() < until, f"{log.name} does not say {pattern!r}:\n{log.read_text()[-2000:]}"
        time.sleep(0.1)
    return found[found.lastindex or 0]


def _end(process: subprocess.Popen[bytes]) -> None:
    """End a process with what it started."""
    with suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    process.wait(timeout=PATIENCE)
