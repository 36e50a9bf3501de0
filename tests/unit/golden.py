"""Texts as they are stored in the folder `golden` beside a test.

`pytest --write-golden` on the test writes them anew: look at the difference before you commit it.
"""

from __future__ import annotations

from collections.abc import Mapping

import pytest


def assert_as_stored(
    request: pytest.FixtureRequest, name: str, shown: str | Mapping[str, str]
) -> None:
    """`shown` is the text, or the texts of several cases by their names. Spaces at the end of a
    line do not count."""
    if not isinstance(shown, str):
        shown = "\n".join(f"== {case}\n{text.rstrip()}\n" for case, text in shown.items())
    path = request.path.parent / "golden" / name
    if request.config.getoption("--write-golden"):
        path.parent.mkdir(exist_ok=True)
        path.write_text(_trimmed(shown), encoding="utf-8")
    assert _trimmed(shown) == _trimmed(path.read_text(encoding="utf-8")), path


def _trimmed(text: str) -> str:
    return "\n".join(line.rstrip() for line in text.split("\n"))
