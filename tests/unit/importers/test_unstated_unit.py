"""The unit of files that do not state it."""

from __future__ import annotations

import pytest

from hardstone.errors import InputError
from hardstone.importers.unstated_unit import unit_by_shortest
from tests.unit.importers.one_file import imported, read


@pytest.mark.parametrize(
    ("least", "unit_ns", "is_open", "said"),
    [
        (None, 1000, False, "microseconds were taken; with x -N"),
        (300, 1000, False, "microseconds were taken; with x -N"),
        (999, 1000, False, "microseconds were taken; with x -N"),
        (1000, 1000, True, "microseconds"),
        (9999, 1000, True, "microseconds"),
        (10_000, 1, False, "nanoseconds were taken, since in microseconds no "),
    ],
)
def test_the_rule(least: int | None, unit_ns: int, is_open: bool, said: str) -> None:
    found = unit_by_shortest("x", least, 100)
    assert found.unit_ns == unit_ns and (found.doubt is not None) == is_open
    (loss,) = found.losses
    assert loss.what == "unit" and said in loss.text


@pytest.mark.parametrize("least", [-3, 0, 299])
def test_what_is_too_short_for_ns_is_certain(least: int) -> None:
    assert unit_by_shortest("x", least, 1, has_coarse_timers=True) == (1000, [], None)


def test_one_late_value_and_coarse_timers_are_no_proof() -> None:
    assert unit_by_shortest("x", 24_025, 1).doubt is not None
    assert unit_by_shortest("x", 24_025, 2, has_coarse_timers=True).doubt is not None
    assert unit_by_shortest("x", 24_025, 2).doubt is None


def _histogram(least: int, *notes: str) -> str:
    """Rows as cyclictest -h prints them."""
    rows = [f"{at:06d} {2 * (at in (least, least + 3)):06d}" for at in range(least - 2, least + 5)]
    ends = [
        "# Total: 000000004",
        f"# Min Latencies: {least:05d}",
        f"# Avg Latencies: {least + 1:05d}",
    ]
    ends += [f"# Max Latencies: {least + 3:05d}", "# Histogram Overflows: 00000"]
    return "\n".join([*notes, "# Histogram", *rows, *ends, ""])


def _values(*values: int) -> str:
    """Lines as cyclictest -v prints them."""
    lines = [f"{0:8d}:{at:8d}:{value:8d}" for at, value in enumerate(values)]
    return "\n".join(["Thread 0 Interval: 1000", *lines, ""])


@pytest.mark.parametrize("text", [_histogram(13_236), _values(13_236, 13_239, 13_239)])
def test_cyclictest_n_is_read_in_ns(text: str) -> None:
    (one,) = imported(text)
    assert (one.min, one.max) == (13_236, 13_239)
    (one,) = imported(text, "us")
    assert (one.min, one.max) == (13_236_000, 13_239_000)


def test_a_slow_machine_stays_slow() -> None:
    slow = [_histogram(400), _values(24_000, 150, 30_000)]
    assert [imported(text)[0].min for text in slow] == [400_000, 150_000]
    coarse = "WARN: High resolution timers not available"
    for text in (_histogram(2500), _values(24_000), _histogram(13_236, coarse)):
        with pytest.raises(InputError, match="fit both"):
            imported(text)
        assert imported(text, "us")[0].min in (2_500_000, 24_000_000, 13_236_000)
        assert imported(text, "ns")[0].min in (2500, 24_000, 13_236)


def test_a_command_tells_more_than_the_values() -> None:
    command = "$ cyclictest -q -h 20000"
    assert imported(_histogram(13_236, command))[0].min == 13_236_000
    assert imported(_histogram(150, command + " -N"))[0].min == 150


def test_the_figures_of_n_lines_do_not_show_the_unit() -> None:
    """-o 10: the largest of each ten values only."""
    lines = [(9, 20_000), (13, 21_000), (24, 20_500)]
    text = "".join(f"{0:8d}:{at:8d}:{value:8d}\n" for at, value in lines)
    reading = read(("Thread 0 Interval: 1000\n" + text).encode())
    assert reading.unit_doubt is None and reading.series[0].max == 21_000_000
