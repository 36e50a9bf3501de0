"""What the formats have in common."""

from __future__ import annotations

import pytest

from hardstone.exporters.exportable import of_other_time
from hardstone.exporters.registry import Wanted, export, find_exporter
from hardstone.model import ClockCheck
from tests.unit.stats import make

COUNTED = (
    "Each instruction takes the same virtual time: the times are path lengths and do not apply to "
    "hardware."
)


@pytest.mark.parametrize(
    ("system", "sentences"),
    [
        ({"virtual.emulated": False}, []),
        (
            {"virtual.emulated": True},
            ["Times of an emulated processor do not apply to hardware."],
        ),
        ({"virtual.time": "instructions"}, [COUNTED]),
        (
            {"virtual.emulated": None},
            ["The processor may be emulated. If it is, the times do not apply to hardware."],
        ),
    ],
)
def test_times_that_are_not_those_of_hardware_are_a_sentence(
    system: dict[str, object], sentences: list[str]
) -> None:
    assert of_other_time(make.document(system=system)) == sentences


@pytest.mark.parametrize("name", ["cyclictest", "hdr", "csv", "parquet", "openmetrics"])
def test_each_format_tells_it(name: str) -> None:
    document = make.document(system={"virtual.emulated": True})
    made = export(find_exporter(name, None), [document], Wanted())
    assert made.lost[0].endswith("Times of an emulated processor do not apply to hardware.")
    assert name != "hdr" or f"#{made.lost[0]}" in made.content.decode().splitlines()


def test_a_clock_that_ran_wrong_is_a_sentence() -> None:
    check = ClockCheck(host_ns=10**10, target_ns=5 * 10**9, uncertainty_ns=0)
    (told,) = of_other_time(make.document(clock_check=check))
    assert told == (
        "the target's clock ran 0.5 times as fast as this machine's, so its times are wrong"
    )
