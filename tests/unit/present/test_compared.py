"""The made-up comparisons have what their users need: all kinds of cells, one for each system."""

from __future__ import annotations

import pytest

from hardstone.present.compare_view import CompareView
from hardstone.subjects import Missing
from tests.unit.present import compared

VIEWS = {
    "two": (compared.two_systems, 2),
    "six": (compared.six_systems, 6),
    "emulated": (compared.emulated_systems, 3),
    "twenty": (compared.twenty_systems, 20),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", VIEWS)
def test_every_list_of_cells_has_one_for_each_system(name: str) -> None:
    make, count = VIEWS[name]
    view: CompareView = make()
    assert len(view.columns) == count == len(view.points)
    assert all(len(row.cells) == count for test in view.tests for row in test.rows)
    assert all(len(one.cells) == count for test in view.tests for one in test.claims)
    assert all(len(one.cells) == count for one in view.conditions)


def test_the_six_have_bounds_gaps_and_distributions() -> None:
    cells = [cell for test in compared.six_systems().tests for r in test.rows for cell in r.cells]
    assert any(cell.series for cell in cells)
    assert any(isinstance(cell.mean, Missing) for cell in cells)
    assert any(getattr(cell.mean, "below", None) for cell in cells)
