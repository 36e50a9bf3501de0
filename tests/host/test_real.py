"""The whole road on this machine, with the real probe."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import msgspec
import pytest

from hardstone.model import Register
from hardstone.targets.local import local_target
from tests.conftest import PROBE, ROOT
from tests.process.targets import sample

FAMILIES = {one.id.partition("-")[0]: one.id for one in sample.register().tests}
TESTS = sorted(FAMILIES.values())  # every test of the register: test_register.py


def hardstone(home: Path, *words: str) -> subprocess.CompletedProcess[bytes]:
    names = ("XDG_DATA_HOME", "XDG_CONFIG_HOME", "XDG_CACHE_HOME")
    own = {
        "HOME": str(home),
        "HARDSTONE_LOCK_FILE": str(home / "lock"),
        "PYTHONPATH": f"{ROOT}/src",
    }
    own |= {"HARDSTONE_PROBE": str(PROBE), **{name: str(home / name) for name in names}}
    start = "from hardstone.cli.main import main; main()"
    return subprocess.run(
        [sys.executable, "-c", start, *words],
        capture_output=True,
        check=False,
        env={**os.environ, **own},
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("home")


@pytest.fixture(scope="module")
def results(home: Path) -> dict[str, Any]:
    """Of one run of a test of each family, by their names."""
    if not PROBE.exists():
        pytest.skip("there is no build/probe/hardstone-probe: make setup")
    done = hardstone(home, "run", *TESTS, "-D", "50ms", "--json", "--quiet")
    assert done.stdout, done.stderr.decode()
    return {one["test"]: one for one in json.loads(done.stdout)["results"]}


def test_the_golden_register_is_that_of_the_probe(probe: Path) -> None:
    found: Register = local_target(probe).probe_list()
    assert msgspec.to_builtins(found) == msgspec.to_builtins(sample.register())


@pytest.mark.parametrize("test", TESTS)
def test_every_test_gives_a_result(results: dict[str, Any], test: str) -> None:
    result = results[test]
    assert result["complete"], result["reason"]
    assert result["status"] in ("measured", "denied", "unsupported"), result["reason"]


def test_the_results_are_stored(results: dict[str, Any], home: Path) -> None:
    shown = hardstone(home, "show", "last", "--all")
    assert shown.returncode == 0, shown.stderr.decode()
    assert [test for test in results if test.encode() not in shown.stdout] == []
