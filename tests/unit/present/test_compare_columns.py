"""The systems of a comparison: names, what is always shown, and what stands apart."""

from __future__ import annotations

import pytest

from hardstone.model import ClockCheck, Trust
from hardstone.present.compare_build import compare_view
from hardstone.present.compare_view import SystemColumn
from hardstone.subjects import Subject, published_ids, published_system
from tests.unit.present.made_systems import QNX, run_with, spread, switching
from tests.unit.stats.make import result, series

HARDWARE = {"virtual.hypervisor": None, "virtual.emulated": False}
EMULATED = {"virtual.hypervisor": "TCG", "virtual.emulated": True}
COUNTED = EMULATED | {"virtual.time": "instructions"}
UNKNOWN = {"virtual.hypervisor": "KVM", "virtual.emulated": None}


def columns(*subjects: Subject, reference: int = 0) -> list[SystemColumn]:
    return compare_view(list(subjects), reference).columns


def on(system: dict[str, object]) -> Subject:
    return switching(spread(500), system=system)


@pytest.mark.parametrize("key", published_ids())
def test_study_hardware_and_year_are_always_there(key: str) -> None:
    other = QNX if key != "qnx" else published_system("ce7")
    (found, _) = columns(published_system(key), other)
    assert found.study and found.hardware and found.year and not found.trust
    assert found.hardware in (published_system(key).conditions.get("machine"), "not known")


def test_numbers_count_from_one_and_one_is_the_reference() -> None:
    found = columns(QNX, on(HARDWARE), reference=1)
    assert [(one.number, one.is_reference) for one in found] == [(1, False), (2, True)]


def test_labels_are_different_by_the_kernel_then_by_the_id() -> None:
    kernels = [
        run_with(result(), name="night", system={"kernel.release": release})
        for release in ("6.1", "6.12", "6.12")
    ]
    labels = [one.label for one in columns(*kernels)]
    assert labels[0] == "night, 6.1"
    assert labels[1:] == [f"night, 6.12, {one.id}" for one in kernels[1:]]


def test_a_name_that_nobody_else_has_is_the_label() -> None:
    assert columns(run_with(result(), name="night"), QNX)[0].label == "night"


@pytest.mark.parametrize(
    ("one", "reference", "words"),
    [
        (HARDWARE, HARDWARE, ""),
        (EMULATED, HARDWARE, "it is emulated, and the reference is not emulated"),
        (HARDWARE, EMULATED, "it is not emulated, and the reference is emulated"),
        (EMULATED, EMULATED, ""),
        (COUNTED, COUNTED, ""),
        (COUNTED, EMULATED, "it counts instructions"),
        (UNKNOWN, HARDWARE, "it may be emulated"),
    ],
)
def test_times_of_different_kinds_stand_apart(
    one: dict[str, object], reference: dict[str, object], words: str
) -> None:
    found = columns(on(reference), on(one))
    assert found[1].apart.startswith(words) and bool(found[1].apart) == bool(words)
    assert found[0].apart == ""


@pytest.mark.slow
def test_a_published_system_stands_apart_from_an_emulated_reference_only() -> None:
    assert columns(on(EMULATED), QNX)[1].apart.startswith("it is not emulated")
    assert columns(on(HARDWARE), QNX)[1].apart == ""
    assert columns(QNX, on(EMULATED))[1].apart.startswith("it is emulated")


def test_an_emulated_run_is_marked() -> None:
    marks = [one.mark for one in columns(on(EMULATED), on(COUNTED), on(HARDWARE), QNX)]
    assert marks == ["(emulated)", "(instructions)", "", ""]


def test_an_untrustworthy_run_stands_apart_as_reference_too() -> None:
    bad = run_with(result(), trust=Trust(grade="untrustworthy", reasons=["throttled"]))
    fair = run_with(result(), trust=Trust(grade="indicative", reasons=["virtual"]))
    found = columns(bad, fair)
    assert [one.apart for one in found] == ["not trustworthy: throttled", ""]
    assert (found[1].trust, found[1].trust_reasons) == ("indicative", ["virtual"])


def test_a_run_whose_figures_contradict_each_other_stands_apart() -> None:
    wrong = series([1, 2, 3])
    wrong.count = 7
    found = columns(run_with(result()), run_with(result(series=[wrong])))
    assert found[1].apart.startswith("not trustworthy: ") and "count is 7" in found[1].apart


@pytest.mark.parametrize(("target_ns", "is_apart"), [(60_000_000_000, False), (6_000_000, True)])
def test_a_run_whose_clock_ran_wrong_stands_apart(target_ns: int, is_apart: bool) -> None:
    check = ClockCheck(host_ns=60_000_000_000, target_ns=target_ns, uncertainty_ns=1_000_000)
    found = columns(run_with(result()), run_with(result(), clock_check=check))
    assert bool(found[1].apart) is is_apart
