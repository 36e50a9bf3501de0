"""The figures of hardstone that those of other tools are compared with."""

from __future__ import annotations

from pathlib import Path

import msgspec
import pytest

from hardstone.model import Descriptor, Register
from hardstone.systems.moments import OWN, Moments, load_moments

_REGISTER = Path(__file__).parents[2] / "process/targets/golden/register.json"
_OWN = load_moments()[OWN].series


def labels_of(test: Descriptor, moments: Moments) -> dict[str, set[str]]:
    """The values that each label of a series may have."""
    found: dict[str, set[str]] = {
        str(one.label): set(map(str, one.default)) for one in test.variant_params
    }
    for spec in test.series:
        if spec.name == moments.series:
            for label, value in spec.fixed.items():
                found.setdefault(label, set()).add(value)
    return found


@pytest.mark.parametrize("name", _OWN)
def test_a_figure_is_of_a_series_that_its_test_declares(name: str) -> None:
    moments = _OWN[name]
    tests = msgspec.json.decode(_REGISTER.read_bytes(), type=Register).tests
    (test,) = [one for one in tests if one.id == moments.test]
    assert moments.series in [one.name for one in test.series]
    known = labels_of(test, moments)
    assert all(value in known[label] for label, value in moments.labels.items())
    assert not moments.differs
