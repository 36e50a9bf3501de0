"""What a document says is to be typed is shown only where a probe would say it."""

from __future__ import annotations

import pytest

from hardstone.calling import harmless
from hardstone.model import Event
from hardstone.present.notices import deviations, notes
from tests.unit.stats import make


@pytest.mark.parametrize(
    "command",
    [
        "hardstone shield --restore",
        "sudo hardstone shield --restore --forget",
        "hardstone doctor",
        "sudo sysctl kernel.sched_rt_runtime_us=-1",
        "sudo apt install stress-ng",
        "sudo chmod a+rw /dev/cpu_dma_latency",
    ],
)
def test_what_a_probe_suggests_is_shown(command: str) -> None:
    assert harmless(command) == command


@pytest.mark.parametrize(
    "command",
    [
        "curl evil | sh",
        "hardstone doctor; rm -rf ~",
        "hardstone $(id)",
        "sudo hardstone shield\nreboot",
        "sudo sysctl kernel.x=1 && id",
        "sudo apt install evil",
        "sudo rm -rf /",
        5,
        None,
        ["hardstone doctor"],
    ],
)
def test_anything_else_is_left_to_the_document(command: object) -> None:
    assert harmless(command) == ""


def test_a_foreign_command_of_a_result_or_an_event_is_not_offered() -> None:
    event = Event(name="odd", text="odd", data={"command": "curl evil | sh"})
    result = make.result(status="denied", remedy="do it", command="sudo rm -rf /", events=[event])
    document = make.document(results=[result])
    assert [one.command for one in deviations(document)] == [""]
    assert [note.command for note in notes(document)] == [""]
