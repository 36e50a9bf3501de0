"""Exit codes 3 and 5 say in one line what they mean, and how the probe gets its rights."""

from __future__ import annotations

import os
import shutil
from pathlib import Path

import pytest

from hardstone.cli.ending import tell_code
from hardstone.errors import EXIT_OK, EXIT_PRIVILEGE, EXIT_UNTRUSTWORTHY
from hardstone.model import Scalar
from hardstone.targets.local import local_target
from tests.unit.stats import make

ORDINARY: dict[str, Scalar] = {
    "user.effective_id": 1000,
    "limits.can_realtime": False,
    "virtual.container": None,
    "probe.port": "linux",
}
DENIED = make.document(
    results=[make.result("TMR-P-LAT"), make.result("SEM-P-ARC", status="denied", series=[])]
)


def told(
    capfd: pytest.CaptureFixture[str], probe: Path, code: int = EXIT_PRIVILEGE, **facts: Scalar
) -> list[str]:
    named = {name.replace("__", "."): value for name, value in facts.items()}
    tell_code(code, DENIED, {**ORDINARY, **named}, local_target(probe))
    return capfd.readouterr().err.splitlines()


@pytest.fixture
def own_probe(tmp_path: Path, probe: Path) -> Path:
    return Path(shutil.copy(probe, tmp_path / "hardstone-probe"))


def test_an_ordinary_user_is_given_one_way(
    capfd: pytest.CaptureFixture[str], own_probe: Path
) -> None:
    if os.statvfs(own_probe).f_flag & os.ST_NOSUID:
        pytest.skip("the temporary folder is mounted nosuid")
    line, *typed = told(capfd, own_probe)
    assert "exit code 5: 1 of 2 measurements was denied" in line
    assert "setcap cap_sys_nice,cap_ipc_lock=ep " in typed[-1]
    assert typed[-1].rstrip("'").endswith("/hardstone-probe")


@pytest.mark.parametrize(
    "facts",
    [
        {"user__effective_id": 0},
        {"virtual__container": "docker"},
        {"limits__group_rt_runtime_us": 0},
        {"limits__can_realtime": True},
        {"probe__port": "posix"},
    ],
)
def test_where_capabilities_would_not_help_the_doctor_is_asked(
    capfd: pytest.CaptureFixture[str], own_probe: Path, facts: dict[str, Scalar]
) -> None:
    line, typed = told(capfd, own_probe, **facts)
    assert "exit code 5" in line
    assert typed.endswith("hardstone doctor")


def test_a_run_that_is_not_whole_says_what_3_means(
    capfd: pytest.CaptureFixture[str], own_probe: Path
) -> None:
    (line,) = told(capfd, own_probe, EXIT_UNTRUSTWORTHY)
    assert line == "hardstone: exit code 3: 1 of 2 measurements was not completed (1 denied)"
    assert told(capfd, own_probe, EXIT_OK) == []
