"""What each file of `tests/samples` says: stored whole, so that a changed figure, label, loss or
condition of any tool is seen. Compare a line that changed with the file itself."""

from __future__ import annotations

import pytest

from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import SAMPLES, told


@pytest.mark.slow
def test_all_samples(request: pytest.FixtureRequest) -> None:
    paths = sorted(one for one in SAMPLES.rglob("*") if one.is_file() and one.suffix != ".md")
    texts = {str(path.relative_to(SAMPLES)): told(path.read_bytes()) for path in paths}
    assert_as_stored(request, "samples.txt", texts)
