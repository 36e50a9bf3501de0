"""A build for a small system measures one series in 64 KB: all memory of its own code, counted."""

from __future__ import annotations

from hardstone.model import StreamSeries
from tests.running import run
from tests.virtual.test_small_build import ORDINARY, variant_of

LIMIT_BYTES = 64 * 1024


def test_one_series_takes_64_kb() -> None:
    options = ["-p", "kinds=unnamed", "-p", "scopes=thread", "--samples", "1000", *ORDINARY]
    stream = run(variant_of("tests/hardstone-probe-counted"), "SEM-P-SIG", *options)
    assert stream.result.status == "measured", stream.result.reason
    (series,) = stream.of(StreamSeries)
    assert series.count == 1000
    parts = dict(line.split() for line in stream.stderr.splitlines())
    assert set(parts) == {"heap", "threads", "main"}
    assert sum(map(int, parts.values())) <= LIMIT_BYTES, parts
