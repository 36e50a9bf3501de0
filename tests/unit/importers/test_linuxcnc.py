"""LinuxCNC's latency-histogram and latency-test: odd lines, and what is refused."""

from __future__ import annotations

import pytest

from tests.unit.golden import assert_as_stored
from tests.unit.importers.one_file import sample, told

LINES = sample("made/linuxcnc-latency-histogram.txt")
NEWER = sample("made/linuxcnc-latency-histogram-2.10.txt")
TEXTS = {
    "a last line without its end": NEWER.rstrip(b"\n"),
    "a reset": LINES + b"    1 secs  servo min:  -1.000 uS max:   1.000 uS sdev:   0.100 uS\n",
    "a broken last line": LINES[:-12] + b"\n",
    "a last line that is cut": LINES[:-12],
    "columns in another form": (
        b"| | Max Jitter (ns) | Max Interval (ns) |\n| Servo thread (1.0ms): | 7 | 1000005 |\n"
    ),
    "without a value": NEWER.splitlines(keepends=True)[0],
}


def test_each_is_read_or_refused(request: pytest.FixtureRequest) -> None:
    assert_as_stored(request, "linuxcnc.txt", {name: told(text) for name, text in TEXTS.items()})
