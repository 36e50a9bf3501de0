"""The whole road on this machine, with the real probe."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Register
from hardstone.targets.local import LocalTarget
from tests.cli.conftest import Done
from tests.targets import sample

# Two measurements at a time spoil each other: one worker has them all.
pytestmark = [pytest.mark.slow, pytest.mark.xdist_group("measuring")]

Hardstone = Callable[..., Done]


@pytest.fixture(autouse=True)
def real_probe(probe: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARDSTONE_PROBE", str(probe))


@pytest.mark.e2e
def test_the_golden_register_is_that_of_the_probe(probe: Path) -> None:
    found: Register = LocalTarget(probe).probe_list()
    assert msgspec.to_builtins(found) == msgspec.to_builtins(sample.register())


@pytest.mark.e2e
@pytest.mark.parametrize("test", [one.id for one in sample.register().tests])
def test_every_test_gives_a_result_that_is_stored(hardstone: Hardstone, test: str) -> None:
    done = hardstone("run", test, "-D", "200ms", "--json", "--quiet")
    (result,) = done.document["results"]
    assert result["complete"], result["reason"]
    is_ended = result["status"] in ("measured", "denied", "unsupported")
    # Something above the test on a shared machine: the probe says so, which is what it must do.
    is_disturbed = result["status"] == "failed" and "CPU was not given" in result["reason"]
    assert is_ended or is_disturbed, result["reason"]
    assert hardstone("show", "last").code == 0
