"""Mutexes and semaphores keep their promises where every task is preemptible."""

from __future__ import annotations

from typing import Any

import pytest

from tests.guest.path_lengths import BEHAVIOUR

# Verdicts that each test gives at least: none may be lost unseen.
LEAST_VERDICTS = {"MUT-B-ARC": 5, "MUT-B-INV": 3, "SEM-B-LCK": 30, "SEM-B-REL": 16}


def result_of(document: dict[str, Any], test: str) -> dict[str, Any]:
    (found,) = [one for one in document["results"] if one["test"] == test]
    assert found["status"] == "measured", found["reason"]
    result: dict[str, Any] = found
    return result


@pytest.mark.parametrize("test", BEHAVIOUR)
def test_no_verdict_fails(document: dict[str, Any], test: str) -> None:
    verdicts = result_of(document, test)["verdicts"]
    assert [one for one in verdicts if not one["pass"]] == []
    assert len(verdicts) >= LEAST_VERDICTS[test]


def test_only_protocols_bound_an_inversion(document: dict[str, Any]) -> None:
    """The medium thread computes for `medium_ns` while high waits, unless a protocol lifts low."""
    result = result_of(document, "MUT-B-INV")
    delays = {one["labels"]["primitive"]: one for one in result["series"]}
    medium_ns = result["params"]["medium_ns"]
    for primitive in ("none", "semaphore"):
        assert delays[primitive]["min"] >= medium_ns, primitive
    for primitive in ("inherit", "protect"):
        assert delays[primitive]["max"] < medium_ns / 10, primitive
