"""HTML reports: where they go, and what the report may ask about a test."""

from __future__ import annotations

from pathlib import Path

from hardstone.errors import InputError
from hardstone.model import Register, RunDocument


def default_report(store: Path, run_id: str) -> Path:
    """Place of a report that nobody named: beside the store."""
    return store / "reports" / f"{run_id}.html"


def write_report(document: RunDocument, output: Path, register: Register | None) -> None:
    """Writes the report; the descriptors of `register` explain the tests in it."""
    from hardstone.report import write_html

    tests = {} if register is None else {test.id: test for test in register.tests}
    try:
        output.parent.mkdir(parents=True, exist_ok=True)
        write_html(document, output, tests.get)
    except OSError as error:
        reason = error.strerror or str(error)
        raise InputError(f"{output} cannot be written: {reason}", "name a file with -o") from error
