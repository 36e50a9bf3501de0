"""A run in an emulated guest says so first, wherever it is shown."""

from __future__ import annotations

import io
from collections.abc import Callable
from typing import IO

import msgspec
import pytest

from hardstone import schema
from hardstone.model import RunDocument, Scalar
from hardstone.store.documents import read_document
from hardstone.terminal.one_screen import print_screen
from hardstone.terminal.whole_run import print_whole
from tests.unit.report.sketches import sketched

GOLDEN = schema.FOLDER / "golden"
RECORDED = {
    "run-3-emulated": "emulated, QEMU",
    "run-3-instructions": "emulated, time counts instructions, QEMU",
}
REASONS = {
    "run-3-emulated": "the processor is emulated: the figures do not apply to hardware",
    "run-3-instructions": "virtual time: each instruction takes the same time",
}
NAMES = list(RECORDED)


def recorded(name: str) -> RunDocument:
    return read_document(GOLDEN / f"{name}.json")


def shown(show: Callable[[RunDocument, IO[str]], None], document: RunDocument) -> list[str]:
    stream = io.StringIO()
    show(document, stream)
    return stream.getvalue().splitlines()


@pytest.mark.parametrize("name", NAMES)
def test_the_screen_says_it_in_its_second_line_and_as_the_first_doubt(name: str) -> None:
    document = recorded(name)
    lines = shown(print_screen, document)
    assert lines[1].startswith(f"{document.plan.target}: {RECORDED[name]}"[:79])
    (trust,) = [number for number, line in enumerate(lines) if line.startswith("trust")]
    said = " ".join(" ".join(lines[trust : trust + 2]).split())
    assert said.startswith(f"trust indicative: {REASONS[name]}")


@pytest.mark.parametrize("name", NAMES)
def test_no_long_name_of_a_target_pushes_it_off(name: str) -> None:
    document = recorded(name)
    plan = msgspec.structs.replace(document.plan, target="lab:" + "long" * 50)
    lines = shown(print_screen, msgspec.structs.replace(document, plan=plan))
    assert RECORDED[name].removesuffix(", QEMU") in lines[1] and len(lines[1]) <= 80


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_all_of_the_run_says_it_before_any_figure(name: str) -> None:
    lines = shown(print_whole, recorded(name))
    at = next(number for number, line in enumerate(lines) if RECORDED[name] in line)
    assert at < next(number for number, line in enumerate(lines) if "TMR-P-LAT" in line and number)


@pytest.mark.slow
@pytest.mark.parametrize("name", NAMES)
def test_the_page_says_it_above_its_title_and_in_its_headline(name: str) -> None:
    document = recorded(name)
    page = sketched(document)
    title = page.index("<h1>")
    banner = RECORDED[name].removesuffix(", QEMU").capitalize()
    assert f"<strong>{banner}</strong>" in page[:title]
    assert "apply to hardware" in page[:title]
    assert f'<p class="subject">{document.plan.target}: {RECORDED[name]}' in page
    assert page.index(REASONS[name]) < page.index('id="glance"')


@pytest.mark.parametrize("name", NAMES)
def test_programs_read_it_in_the_facts(name: str) -> None:
    system = msgspec.json.decode((GOLDEN / f"{name}.json").read_bytes())["system"]
    assert system["virtual.emulated"] is True
    is_counted = name == "run-3-instructions"
    assert system["virtual.time"] == ("instructions" if is_counted else None)


@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"virtual.emulated": None}, "Perhaps emulated"),
        ({"virtual.hypervisor": "TCGTCGTCGTCG"}, "Emulated"),
        ({"virtual.emulated": False, "virtual.hypervisor": "KVMKVMKVM"}, ""),
        ({}, ""),
    ],
)
def test_what_is_not_known_is_said_and_hardware_is_not_blamed(
    facts: dict[str, Scalar], said: str
) -> None:
    document = msgspec.structs.replace(recorded("run-3-troubled"), system=facts)
    page, lines = sketched(document), shown(print_screen, document)
    assert (f"<strong>{said}</strong>" in page) is bool(said)
    assert ("mulated" in page[: page.index('id="glance"')]) is bool(said)
    assert (said.lower() in lines[1]) and ("mulated" in "".join(lines)) is bool(said)
