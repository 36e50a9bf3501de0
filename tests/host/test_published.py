"""Every address of published.json that names a test of the register is one series of a run."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hardstone.errors import HardstoneError
from hardstone.model import Register
from hardstone.present.study_params import why_another
from hardstone.published import Figure, all_figures, figures_of, is_measurable, resolve
from hardstone.stats.noise import with_noise
from hardstone.targets.find import find_probe
from tests import machine
from tests.host import few
from tests.running import Stream
from tests.unit.stats import make

needs_realtime = machine.no_realtime()
PERIODS = ("--samples", "3", "-p", "periods_ns=1ms,10ms,100ms")
# All that is published of these is wanted, with the published work: few.py leaves some out.
OPTIONS = {
    "TMR-P-JIT": PERIODS,
    "RSP-P-FIX": ("--samples", "3"),
    "MUT-P-INV": ("--samples", "5"),
}
FEWER = re.compile(r"\d+ waiters instead of 128")


def registered() -> Register:
    try:
        done = subprocess.run([find_probe(), "list", "--json"], capture_output=True, check=True)
    except HardstoneError:
        return Register(schema="", probe_version="", tests=[])
    return msgspec.json.decode(done.stdout, type=Register)


def figures() -> list[Figure]:
    """One of each address: the studies give several systems and statistics for it."""
    register = registered()
    found = {
        (str(one.address), load(one)): one for one in all_figures() if is_measurable(one, register)
    }
    return [found[key] for key in sorted(found)]


def load(figure: Figure) -> str:
    return figure.address.conditions.get("load", "none")


def words(test: str, load: str) -> list[str]:
    """With these the test is soon over, and has what the studies fix: those of test_register.py,
    if they are enough."""
    fixed = {name: value for one in figures_of(test) for name, value in one.params.items()}
    given = [word for name, value in fixed.items() for word in ("-p", f"{name}={value}")]
    loaded = [] if load == "none" else ["--load", load]
    return [test, *OPTIONS.get(test, few.options(test)), *given, *loaded]


def needs_a_device(figure: Figure) -> None:
    """Tests in guests have one; that the test has such a series is seen here."""
    test = next(one for one in registered().tests if one.id == figure.address.test)
    (source,) = [one for one in test.params if one.name == "source"]
    assert "external" in source.choices
    assert str(figure.address).split("/")[-1] in {one.name for one in test.series}
    pytest.skip("there is no device that interrupts: tests/guest have one")


def is_of_a_sweep(figure: Figure) -> bool:
    """A number of masses, which the curve of many points gives: `hardstone simulate`."""
    if figure.unit != "masses":
        return False
    test = next(one for one in registered().tests if one.id == figure.address.test)
    (series,) = [one for one in test.series if one.name == figure.address.parts[-1]]
    assert {"masses", "threads"} <= set(series.labels)
    return True


@pytest.mark.skipif(needs_realtime is not None, reason=str(needs_realtime))
@pytest.mark.parametrize("figure", figures(), ids=lambda one: f"{one.address}-{load(one)}")
def test_a_published_figure_has_its_series(
    probe: Path, quick: list[str], recorded: Callable[..., Stream], figure: Figure
) -> None:
    if "external" in str(figure.address).split("/"):
        needs_a_device(figure)
    if is_of_a_sweep(figure):
        return
    stream = recorded(probe, *words(figure.address.test, load(figure)), *quick)
    result, problem = stream.read_by_the_toolkit()
    assert problem is None
    result = with_noise(result)
    assert (result.status, result.reason) == ("measured", None)
    assert why_another(figure, result) == ""
    found = resolve(figure.address, make.document(results=[result]))
    assert found.series is not None or found.verdicts
    assert found.series is None or found.series.count > 0
    assert [note for note in found.notes if not FEWER.fullmatch(note)] == []
