"""Pictures of the tire by the real probe beside the same simulation in numpy, and the verdicts
about its physics."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from hardstone.model import StreamTable
from tests import machine
from tests.running import Stream, run

pytestmark = pytest.mark.skipif(
    machine.no_realtime() is not None, reason=str(machine.no_realtime())
)

MASSES, STEP_S, PICTURES = 40, 0.001, 11
VERDICTS = {"rest", "free_fall", "energy", "symmetry", "momentum", "same_bits"}
Array = np.ndarray[tuple[int, int], np.dtype[np.float64]]


def pull(place: Array, speed: Array, other: np.ndarray, rest_m: float) -> Array:
    """Acceleration of each mass by the spring to the mass `other`: its place in the circle."""
    way, difference = place[other] - place, speed[other] - speed
    stretch = 1.0 - rest_m / np.hypot(way[:, 0], way[:, 1])
    kappa = 0.1 / STEP_S**2
    return kappa * stretch[:, None] * way + kappa * 2 * STEP_S * difference


def pictures() -> list[Array]:
    """Places in a second of simulated time, by explicit Euler."""
    at = np.arange(MASSES)
    angle = 2 * np.pi * at / MASSES
    place = np.stack([0.3 * np.sin(angle), 0.8 + 0.3 * np.cos(angle)], axis=1)
    speed = np.zeros_like(place)
    kept, ring_m = [place], 0.6 * np.sin(np.pi / MASSES)
    for step in range(1, 1001):
        force = pull(place, speed, (at - 1) % MASSES, ring_m)
        force += pull(place, speed, (at + 1) % MASSES, ring_m)
        force += pull(place, speed, (at + MASSES // 2) % MASSES, 0.6)
        place, speed = place + STEP_S * speed, speed + STEP_S * (force - [0.0, 9.81])
        is_down = place[:, 1] <= 0.0
        place[is_down, 1] = 0.0
        speed[is_down, 1] = np.maximum(speed[is_down, 1], 0.0)
        if step % 100 == 0:
            kept.append(place)
    return kept


@pytest.fixture(scope="module")
def stream(probe: Path, quick: list[str]) -> Stream:
    words = (f"masses={MASSES}", "threads=1", "simulated_s=1", "step_ns=1ms", f"frames={PICTURES}")
    return run(probe, "SIM-P-RF", *quick[:2], *(part for word in words for part in ("-p", word)))


def test_pictures_are_those_of_another_implementation(stream: Stream) -> None:
    tables = stream.of(StreamTable)
    assert [table.data["simulated_ns"] for table in tables] == [k * 10**8 for k in range(PICTURES)]
    for table, place in zip(tables, pictures(), strict=True):
        seen = np.stack([table.columns["x_um"], table.columns["y_um"]], axis=1)
        assert np.abs(seen - 1e6 * place).max() < 1.0


def test_energy_falls_from_contact_on(stream: Stream) -> None:
    energy_uj = [table.data["energy_uj"] for table in stream.of(StreamTable)]
    assert energy_uj[0] == 78_480_000
    assert energy_uj[4:] == sorted(energy_uj[4:], reverse=True)


def test_all_verdicts_about_its_physics_pass(stream: Stream) -> None:
    assert stream.verdicts == dict.fromkeys(VERDICTS, True)
