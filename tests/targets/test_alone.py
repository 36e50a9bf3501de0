"""Two measurements at once are refused; a lock that cannot be made refuses nothing."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from hardstone.errors import EXIT_UNTRUSTWORTHY, UntrustworthyError
from hardstone.targets.alone import measuring_alone

_HOLDER = """
import sys
from pathlib import Path
from hardstone.targets.alone import measuring_alone
with measuring_alone(Path(sys.argv[1])):
    print("held", flush=True)
    sys.stdin.read()
"""


def test_a_second_one_is_refused_until_the_first_is_killed(tmp_path: Path) -> None:
    lock = tmp_path / "lock"
    with subprocess.Popen(
        [sys.executable, "-c", _HOLDER, str(lock)], stdin=subprocess.PIPE, stdout=subprocess.PIPE
    ) as holder:
        assert holder.stdout is not None
        assert holder.stdout.readline() == b"held\n"
        with pytest.raises(UntrustworthyError) as refused, measuring_alone(lock):
            pass
        assert refused.value.exit_code == EXIT_UNTRUSTWORTHY
        holder.kill()
    with measuring_alone(lock):
        assert lock.exists()


def test_a_lock_that_cannot_be_made_is_no_reason_to_refuse(tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to(tmp_path / "elsewhere")
    with measuring_alone(tmp_path / "link"):
        assert not (tmp_path / "elsewhere").exists()


def test_the_lock_is_released_after_an_error(tmp_path: Path) -> None:
    with pytest.raises(ZeroDivisionError), measuring_alone(tmp_path / "lock"):
        raise ZeroDivisionError
    with measuring_alone(tmp_path / "lock"):
        assert True
