"""In a guest that counts instructions, and where every task is preemptible: the paths that the
probe times are as long as they were, and mutexes and semaphores keep their promises."""

from __future__ import annotations

import json

import pytest

from hardstone.lab.kernels import Kernel
from hardstone.model import StreamHeader, StreamSeries
from tests.guest.path_lengths import (
    BEHAVIOUR,
    CONTENDED,
    CONTENDED_PERCENT,
    TIMED,
    Counted,
    clock_step,
    golden_file,
    lengths,
    made_of,
    write,
)

HOW = "make lab ARGS=--write-golden writes it"


def why_not_comparable(made: dict[str, str], here: dict[str, str]) -> str:
    return "; ".join(f"{made[key]}, here {here[key]}" for key in here if made[key] != here[key])


def test_path_lengths_are_as_in_the_golden_file(
    counted: Counted, kernel: Kernel, pytestconfig: pytest.Config
) -> None:
    if pytestconfig.getoption("--write-golden"):
        write(counted, kernel)
    file = golden_file(kernel)
    if not file.exists():
        pytest.skip(f"there is no {file.name}: {HOW}")
    golden = json.loads(file.read_text())
    if why := why_not_comparable(golden["made_of"], made_of(counted, kernel)):
        pytest.skip(f"{file.name} is of {why}: {HOW}")
    changed = differences(golden["instructions"], lengths(counted), clock_step(counted))
    told = "\n".join([f"instructions of timed paths are not those of {file.name}:", *changed])
    assert not changed, f"{told}\nif that is meant, {HOW}"


def differences(before: dict[str, int], now: dict[str, int], step: int) -> list[str]:
    """Paths that only one of the two has, and lengths further apart than `step`, or than
    CONTENDED_PERCENT of a contended one."""

    def differ(path: str) -> bool:
        if path not in before or path not in now:
            return True
        free = before[path] * CONTENDED_PERCENT // 100 if path.startswith(CONTENDED) else 0
        return abs(before[path] - now[path]) > max(step, free)

    return [
        f"{path}: {before.get(path)}, now {now.get(path)}"
        for path in {**before, **now}
        if differ(path)
    ]


@pytest.mark.parametrize(
    ("now", "step", "count"),
    [
        ({"a": 96}, 0, 0),
        ({"a": 97}, 0, 1),
        ({"a": 104}, 8, 0),
        ({"a": 112}, 8, 1),
        ({"b": 96}, 8, 2),
    ],
)
def test_a_length_that_differs_is_found(now: dict[str, int], step: int, count: int) -> None:
    assert len(differences({"a": 96}, now, step)) == count


@pytest.mark.parametrize(("now", "count"), [(3060, 0), (3061, 1), (2940, 0), (2939, 1)])
def test_a_contended_path_may_differ_by_its_lock_s_address(now: int, count: int) -> None:
    path = "MUT-P-ARC/acquire/none"
    assert len(differences({path: 3000}, {path: now}, 0)) == count


def test_every_path_is_in_the_run(counted: Counted) -> None:
    found = lengths(counted)
    assert {tuple(path.split("/")[:2]) for path in found} == set(TIMED)
    assert {one.result.status for one in counted.streams.values()} == {"measured"}


# Verdicts that each test gives at least: none may be lost unseen.
LEAST_VERDICTS = {"MUT-B-ARC": 5, "MUT-B-INV": 3, "SEM-B-LCK": 30, "SEM-B-REL": 16}


@pytest.mark.parametrize("test", BEHAVIOUR)
def test_no_verdict_fails(counted: Counted, test: str) -> None:
    verdicts = counted.streams[test].verdicts
    assert [name for name, passed in verdicts.items() if not passed] == []
    assert len(verdicts) >= LEAST_VERDICTS[test]


def test_only_protocols_bound_an_inversion(counted: Counted) -> None:
    """The medium thread computes for `medium_ns` while high waits, unless a protocol lifts low."""
    stream = counted.streams["MUT-B-INV"]
    delays = {one.labels["primitive"]: one for one in stream.of(StreamSeries)}
    medium_ns = int(str(stream.of(StreamHeader)[0].params["medium_ns"]))
    for primitive in ("none", "semaphore"):
        assert (delays[primitive].min or 0) >= medium_ns, primitive
    for primitive in ("inherit", "protect"):
        assert (delays[primitive].max or 0) < medium_ns / 10, primitive
