"""The page of containers and control groups, where it takes seconds of the real kernel."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.situations import REAL_TIME, check


@pytest.mark.parametrize("heading", REAL_TIME)
def test_it_is_said_as_the_page_quotes_it(heading: str, tmp_path: Path) -> None:
    check(heading, tmp_path)
