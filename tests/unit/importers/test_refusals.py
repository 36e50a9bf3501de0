"""What is wrong in a file is said with its place: one change each of files that are read."""

from __future__ import annotations

import ast
import re

import pytest

from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import refused, sample
from tests.unit.importers.test_cyclictest import HISTOFALL
from tests.unit.importers.test_hwlat import REPORT
from tests.unit.importers.test_rt_stress import QUEUELAT
from tests.unit.importers.test_rt_tests import HISTOGRAM

MADE_UP = {
    "histogram of cyclictest": HISTOFALL,
    "report of hwlatdetect": REPORT.decode(),
    "table of queuelat": QUEUELAT.decode(),
    "histogram of cyclicdeadline": HISTOGRAM.decode(),
}
# The file, what stands there, where it is first, and what would make the file wrong.
CHANGE = re.compile(r"^== (.+?): (['\"].+) -> (['\"].*)$", re.MULTILINE)


@pytest.mark.slow
def test_each_change_is_refused_with_its_place(request: pytest.FixtureRequest) -> None:
    """The stored text is the table: add a change there, and let --write-golden answer it."""
    told, table = {}, request.path.parent / "golden" / "refusals.txt"
    for found in CHANGE.finditer(table.read_text()):
        name, old, new = found[1], *map(ast.literal_eval, found.groups()[1:])
        text = MADE_UP[name] if name in MADE_UP else sample(name).decode()
        assert old in text, found[0]
        told[found[0].removeprefix("== ")] = refused(text.replace(old, new, 1))
    assert len(told) == table.read_text().count("\n== ") + table.read_text().startswith("== ")
    assert_as_stored(request, "refusals.txt", told)
