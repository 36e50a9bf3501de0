"""Reports are rendered once for all tests that only look at them."""

from __future__ import annotations

import pytest

from hardstone.model import RunDocument
from hardstone.report.page import render_html
from tests.unit.report import sample


@pytest.fixture(scope="package")
def run() -> RunDocument:
    return sample.document()


@pytest.fixture(scope="package")
def page(run: RunDocument) -> str:
    return render_html(run, sample.SPECS.get)
