"""A command that ends without taking Python apart loses neither output nor its exit code."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

CALLS = {
    "plain": "",
    "thread": "threading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()",
    "files": "import tempfile; atexit.register(print, 'late')",
}
PROGRAM = """
import atexit, sys, threading, time
from hardstone.__main__ import _end_at_once
{call}
atexit.register(print, "taken apart")
print("said")
_end_at_once({code})
"""


def ended(call: str, code: object = 3, **streams: object) -> subprocess.CompletedProcess[str]:
    program = PROGRAM.format(call=CALLS[call], code=repr(code))
    # Unbuffered, nothing would be left to flush.
    env = {name: text for name, text in os.environ.items() if name != "PYTHONUNBUFFERED"}
    given = {"env": env} | {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE} | streams
    return subprocess.run([sys.executable, "-c", program], text=True, check=False, **given)  # type: ignore[call-overload, no-any-return]


def test_what_was_said_arrives_and_the_code_is_kept() -> None:
    found = ended("plain")
    assert (found.stdout, found.returncode) == ("said\n", 3)


@pytest.mark.parametrize("call", ["thread", "files"])
def test_what_has_an_end_is_ended(call: str) -> None:
    assert "late" in ended(call).stdout


def test_a_code_that_is_a_text_is_left_to_python() -> None:
    assert "taken apart" in ended("plain", "a reason").stdout


def test_a_full_disk_is_left_to_python() -> None:
    with Path("/dev/full").open("w") as full:
        found = ended("plain", 0, stdout=full)
    assert found.returncode != 0


def test_a_long_document_arrives_whole() -> None:
    command = [sys.executable, "-m", "hardstone", "list", "published", "--json"]
    found = subprocess.run(command, stdout=subprocess.PIPE, check=True)
    assert json.loads(found.stdout)
