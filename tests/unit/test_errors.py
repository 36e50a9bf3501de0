from __future__ import annotations

import pytest

from hardstone import errors


@pytest.mark.parametrize(
    ("kind", "exit_code"),
    [
        (errors.HardstoneError, 70),
        (errors.InputError, 2),
        (errors.UntrustworthyError, 3),
        (errors.TargetError, 4),
        (errors.PrivilegeError, 5),
    ],
)
def test_each_error_has_the_exit_code_that_is_promised(
    kind: type[errors.HardstoneError], exit_code: int
) -> None:
    error = kind("the disk is full", "free some space")
    assert error.exit_code == exit_code
    assert str(error) == "the disk is full; free some space"
    assert str(kind("the disk is full")) == "the disk is full"
