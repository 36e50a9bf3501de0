from __future__ import annotations

from hardstone import errors

CODES = {
    errors.HardstoneError: 70,
    errors.InputError: 2,
    errors.UntrustworthyError: 3,
    errors.TargetError: 4,
    errors.PrivilegeError: 5,
}


def test_each_error_has_the_exit_code_that_is_promised() -> None:
    assert {kind: kind("cause").exit_code for kind in CODES} == CODES
    for kind in CODES:
        assert (
            str(kind("the disk is full", "free some space")) == "the disk is full; free some space"
        )
        assert str(kind("the disk is full")) == "the disk is full"
