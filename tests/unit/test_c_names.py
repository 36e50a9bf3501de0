"""Names of the probe's functions are not those of a system that has one name space for all."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

SOURCES = Path(__file__).resolve().parents[2] / "probe" / "src"
FUNCTION = re.compile(r"^[a-z][\w \*]*[ \*](\w+)\(", re.MULTILINE)
# Prefixes of POSIX, and of kernels that are linked with their programs.
PREFIXES = ("aio_", "k_", "mq_", "nx_", "nxsem_", "os_", "pthread_", "rtems_", "sched_", "sem_")
PREFIXES += ("task_", "timer_", "tx_", "work_queue")
NAMES = {"thread_create", "thread_resume", "thread_suspend", "thread_terminate"}
NAMES |= {"semaphore_create", "semaphore_destroy"}


def functions(text: str) -> list[str]:
    """What a header declares; its inline functions are of each file that includes it."""
    lines = (line for line in text.splitlines() if not line.startswith("static"))
    return FUNCTION.findall("\n".join(lines))


def is_taken(name: str) -> bool:
    return name.startswith(PREFIXES) or name in NAMES


@pytest.mark.parametrize("header", sorted(SOURCES.rglob("*.h")), ids=lambda path: path.name)
def test_no_function_has_a_name_of_the_system(header: Path) -> None:
    assert not [name for name in functions(header.read_text("utf-8")) if is_taken(name)]


def test_functions_are_found() -> None:
    text = "int timer_release(int a);\nconst char *name(void);\nstatic inline int timer_at(void)\n"
    assert functions(text) == ["timer_release", "name"]
    assert is_taken("timer_release") and not is_taken("name")
