"""Every address of published.json that names a test of the register is one series of a run."""

from __future__ import annotations

import subprocess
from collections.abc import Callable
from functools import cache
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import HardstoneError
from hardstone.model import Register, Result
from hardstone.published import Address, all_figures, is_measurable, resolve
from hardstone.targets.find import find_probe
from tests.e2e import few, machine
from tests.e2e.again import uncut
from tests.e2e.running import Stream, run
from tests.stats import make

pytestmark = [pytest.mark.e2e, pytest.mark.usefixtures("alone")]

needs_realtime = machine.no_realtime()
PERIODS = ("--samples", "3", "-p", "periods_ns=1ms,10ms,100ms")
# All that is published of these is wanted: few.py leaves variants out.
OPTIONS = {"TMR-P-JIT": PERIODS}


def registered() -> Register:
    try:
        done = subprocess.run([find_probe(), "list", "--json"], capture_output=True, check=True)
    except HardstoneError:
        return Register(schema="", probe_version="", tests=[])
    return msgspec.json.decode(done.stdout, type=Register)


def addresses() -> list[Address]:
    """Each once: the studies give several systems and statistics for one."""
    register = registered()
    found = {
        (str(one.address), load(one.address)): one.address
        for one in all_figures()
        if is_measurable(one, register)
    }
    return [found[key] for key in sorted(found)]


def load(address: Address) -> str:
    return address.conditions.get("load", "none")


@pytest.fixture(scope="module")
def measure(probe: Path, quick: list[str]) -> Callable[[str, str], Result]:
    """Each test once under each load that the studies name."""

    @cache
    def measured(test: str, load: str) -> Result:
        def attempt() -> Stream:
            words = OPTIONS.get(test, few.options(test))
            return run(probe, test, *words, "--load", load, *quick)

        result, problem = uncut(attempt).read_by_the_toolkit()
        assert problem is None
        return result

    return measured


@pytest.mark.skipif(needs_realtime is not None, reason=str(needs_realtime))
@pytest.mark.parametrize("address", addresses(), ids=lambda one: f"{one}-{load(one)}")
def test_a_published_figure_has_its_series(
    measure: Callable[[str, str], Result], address: Address
) -> None:
    document = make.document(results=[measure(address.test, load(address))])
    found = resolve(address, document)
    assert found.series is not None or found.verdicts
    assert found.series is None or found.series.count > 0
