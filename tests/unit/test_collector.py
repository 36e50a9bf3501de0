"""Objects that are kept, left to the system, or made without a search for cycles.

In interpreters of their own: what is frozen in one stays so until it ends.
"""

from __future__ import annotations

import gc
import subprocess
import sys
from collections.abc import Iterator

import pytest

from hardstone.collector import collector_paused

PROGRAM = """
import gc
from hardstone.collector import end_with_objects, keep


class Run:
    def __init__(self, name):
        self.name = name

    def __del__(self):
        print(self.name, "gone")


def is_searched(name):
    return any(type(one) is Run and one.name == name for one in gc.get_objects())


"""


def said(program: str) -> list[str]:
    """What the program says, one line each, until its interpreter has ended."""
    command = [sys.executable, "-c", PROGRAM + program]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert done.stderr == ""
    return done.stdout.splitlines()


def test_what_is_kept_lives_and_is_not_searched() -> None:
    program = """
run = Run("first")
assert is_searched("first")
keep(run)
del run
gc.collect()
assert not is_searched("first")
print("end")
"""
    assert said(program) == ["end", "first gone"]


def test_a_command_keeps_its_own_and_not_those_of_the_one_before() -> None:
    program = """
keep(Run("first"), Run("beside"))
print("second command")
keep(Run("second"))
print("end")
"""
    lines = said(program)
    assert lines[0] == "second command" and set(lines[1:3]) == {"first gone", "beside gone"}
    assert lines[3:] == ["end", "second gone"]


def test_what_was_kept_is_left_to_the_system() -> None:
    """Also after another search: the interpreter makes one while it ends."""
    program = """
keep(Run("first"))
end_with_objects()
gc.collect()
print("end")
"""
    assert said(program) == ["end"]


def test_the_last_searches_go_through_nothing() -> None:
    program = """
keep(Run("first"))
later = Run("later")
assert is_searched("later")
end_with_objects()
assert not is_searched("later")
"""
    assert "first gone" not in said(program)


def test_where_nothing_was_kept_nothing_is_left() -> None:
    program = """
run = Run("first")
end_with_objects()
assert gc.get_freeze_count() == 0
print("end")
"""
    assert said(program) == ["end", "first gone"]


def test_a_command_that_ends_so_prints_all_and_keeps_its_exit_code() -> None:
    program = """
import sys
keep(Run("first"))
end_with_objects()
print("said")
sys.exit(3)
"""
    command = [sys.executable, "-c", PROGRAM + program]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (done.returncode, done.stdout) == (3, "said\n")


@pytest.fixture
def is_on() -> Iterator[None]:
    was_on = gc.isenabled()
    gc.enable()
    yield
    (gc.enable if was_on else gc.disable)()


@pytest.mark.usefixtures("is_on")
def test_the_search_goes_on_after_a_pause() -> None:
    with collector_paused():
        assert not gc.isenabled()
        with collector_paused():
            assert not gc.isenabled()
        assert not gc.isenabled()  # the outer pause holds
    assert gc.isenabled()


@pytest.mark.usefixtures("is_on")
def test_the_search_goes_on_after_an_error() -> None:
    with pytest.raises(ValueError, match="odd"), collector_paused():
        raise ValueError("odd")
    assert gc.isenabled()


@pytest.mark.usefixtures("is_on")
def test_a_search_that_was_off_stays_off() -> None:
    gc.disable()
    with collector_paused():
        pass
    assert not gc.isenabled()
