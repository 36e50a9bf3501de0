"""The paths that the probe times are as long as they were, to the instruction."""

from __future__ import annotations

import json
from typing import Any

import pytest

from hardstone.lab.kernels import Kernel
from tests.guest.path_lengths import TESTS, TIMED, clock_step, golden_file, lengths, made_of, write

HOW = "make lab ARGS=--write-golden writes it"


def why_not_comparable(made: dict[str, str], here: dict[str, str]) -> str:
    return "; ".join(f"{made[key]}, here {here[key]}" for key in here if made[key] != here[key])


def test_path_lengths_are_as_in_the_golden_file(
    document: dict[str, Any], kernel: Kernel, pytestconfig: pytest.Config
) -> None:
    if pytestconfig.getoption("--write-golden"):
        write(document, kernel)
    file = golden_file(kernel)
    if not file.exists():
        pytest.skip(f"there is no {file.name}: {HOW}")
    golden = json.loads(file.read_text())
    if why := why_not_comparable(golden["made_of"], made_of(document, kernel)):
        pytest.skip(f"{file.name} is of {why}: {HOW}")
    changed = differences(golden["instructions"], lengths(document), clock_step(document))
    told = "\n".join([f"instructions of timed paths are not those of {file.name}:", *changed])
    assert not changed, f"{told}\nif that is meant, {HOW}"


def differences(before: dict[str, int], now: dict[str, int], step: int) -> list[str]:
    """Paths that only one of the two has, and lengths further apart than `step`."""
    return [
        f"{path}: {before.get(path)}, now {now.get(path)}"
        for path in {**before, **now}
        if path not in before or path not in now or abs(before[path] - now[path]) > step
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


def test_every_path_is_in_the_run(document: dict[str, Any]) -> None:
    found = lengths(document)
    assert {tuple(path.split("/")[:2]) for path in found} == set(TIMED)
    assert [one["status"] for one in document["results"]] == ["measured"] * len(TESTS)
