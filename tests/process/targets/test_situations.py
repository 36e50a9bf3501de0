"""The page of containers and control groups quotes what is really said there."""

from __future__ import annotations

from pathlib import Path

import pytest

from tests.situations import REAL_TIME, check, situations


@pytest.mark.parametrize("heading", [one for one in situations() if one not in REAL_TIME])
def test_it_is_said_as_the_page_quotes_it(heading: str, tmp_path: Path) -> None:
    check(heading, tmp_path)
