"""LinuxCNC's latency-histogram and latency-test: odd lines, and what is refused."""

from __future__ import annotations

from pathlib import Path

from hardstone.importers.reading import Reading
from tests.unit.importers.one_file import losses, read, refused

MADE = Path(__file__).parents[2] / "samples" / "made"
LINES = (MADE / "linuxcnc-latency-histogram.txt").read_text()
TABLE = (MADE / "linuxcnc-latency-test.txt").read_text()


def figures(reading: Reading) -> dict[object, tuple[int | None, int | None, float | None]]:
    return {one.labels["thread"]: (one.min, one.max, one.stddev) for one in reading.series}


def test_a_last_line_without_its_end() -> None:
    text = (MADE / "linuxcnc-latency-histogram-2.10.txt").read_text()
    assert figures(read(text.rstrip("\n"))) == {"servo": (-18_200, 22_500, 2100)}


def test_a_reset_is_said() -> None:
    again = LINES + "    1 secs  servo min:  -1.000 uS max:   1.000 uS sdev:   0.100 uS\n"
    reading = read(again)
    assert figures(reading)["servo"] == (-1000, 1000, 100)
    assert "extremes" in losses(reading)


def test_a_broken_last_line_is_refused() -> None:
    assert refused(LINES[:-12] + "\n").startswith("line 5: '")


def test_a_last_line_that_is_cut() -> None:
    reading = read(LINES[:-12])
    assert figures(reading)["servo"] == (-3000, 4700, 700)
    assert reading.is_cut


def test_columns_of_a_table_in_another_form() -> None:
    text = "| | Max Jitter (ns) | Max Interval (ns) |\n| Servo thread (1.0ms): | 7 | 1000005 |\n"
    found = {one.name: one.max for one in read(text).series}
    assert found == {"jitter": 7, "interval": 1_000_005}


def test_output_without_a_value_is_refused() -> None:
    text = (MADE / "linuxcnc-latency-histogram-2.10.txt").read_text()
    assert refused(text.splitlines(keepends=True)[0]) == "it has no line with values of a thread"
