"""What tests start: it takes Ctrl-C also where the suite ignores it, and it ends with its test, children included."""

import os
import signal
import subprocess
import sys

from tests.children import end_all, start

SLEEPS = [sys.executable, "-c", "import time; print(flush=True); time.sleep(600)"]
WITH_ONE_OF_ITS_OWN = [sys.executable, "-c", f"import subprocess; subprocess.run({SLEEPS})"]


def test_a_child_of_a_suite_in_the_background_takes_ctrl_c() -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        child = start(SLEEPS, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    finally:
        signal.signal(signal.SIGINT, before)
    assert child.stdout
    child.stdout.readline()
    child.send_signal(signal.SIGINT)
    assert "KeyboardInterrupt" in child.communicate(timeout=300)[1]


def test_nothing_of_it_is_left() -> None:
    child = start(WITH_ONE_OF_ITS_OWN, stdout=subprocess.PIPE)
    assert child.stdout
    child.stdout.readline()
    with os.fdopen(os.dup(child.stdout.fileno()), "rb") as held_by_both:
        end_all()
        assert held_by_both.read() == b""  # which would wait for whoever still holds the other end
    assert (child.returncode, child.stdout.closed) == (-signal.SIGKILL, True)
