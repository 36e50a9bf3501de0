"""The page of containers and control groups, where it takes seconds of the real kernel."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest

from hardstone.errors import EXIT_UNTRUSTWORTHY
from tests.situations import REAL_TIME, check


@pytest.mark.parametrize("heading", REAL_TIME)
def test_it_is_said_as_the_page_quotes_it(heading: str, tmp_path: Path) -> None:
    check(heading, tmp_path)


def test_a_limit_on_cpu_time_ends_the_test_and_not_the_probe(probe: Path) -> None:
    words = [str(probe), "run", "CLK-P-BIN", "-D", "20s", "--text"]
    done = subprocess.run(
        ["sh", "-c", 'ulimit -t 1 && exec "$@"', "sh", *words],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == EXIT_UNTRUSTWORTHY, done.stderr
    assert "timeout: stopped before the limit on CPU time" in done.stdout
    assert "ulimit -t unlimited" in done.stdout
