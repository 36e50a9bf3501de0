"""Files that hold no figure are refused with what they are."""

from __future__ import annotations

import pytest

from tests.unit.importers.one_file import refused, sample


@pytest.mark.parametrize(
    ("name", "cause"),
    [
        (
            "rtla/rtla-timerlat-hist-noirq.stdout",
            "it is the help text of rtla, which says 'no-index set with with-zeros is not set "
            "\u2026': nothing was measured",
        ),
        ("hwlatdetect.stderr", "hwlatdetect found no tracer hwlat: it measured nothing"),
        (
            "qemu-hwlat.stdout",
            "it lists the files of the kernel's tracing folder: nothing was measured",
        ),
        ("oslat-T.stdout", "it ends before its figures: oslat was stopped"),
        ("deadline_test.stdout", "it has the setup of deadline_test only: it measured nothing"),
        (
            "pi_stress-loud.stderr",
            "it has no total: pi_stress was stopped, or it is its standard error",
        ),
    ],
)
def test_samples_without_a_figure(name: str, cause: str) -> None:
    assert refused(sample(name)) == cause


def test_help_of_other_tools() -> None:
    text = b"WARN: odd\npmqtest V 2.40\nUsage:\npmqtest <options>\n\nFunction: test queues\n"
    assert refused(text) == "it is the help text of pmqtest: nothing was measured"
    assert "of oslat" in refused(b"oslat V 2.40\nUsage:\noslat <options>\n\nThis is an OS latency")
    rtla = b"rtla osnoise hist: a per-cpu histogram of the OS noise (version 6.9)\n\n  usage: rtla"
    assert refused(rtla) == "it is the help text of rtla: nothing was measured"
