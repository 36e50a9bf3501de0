"""Windows of a watching loop: what is impossible is refused, and parts are joined."""

from __future__ import annotations

import msgspec
import pytest

from hardstone.model import Event, Window
from hardstone.stats.identity import window_problem, windows_problem
from hardstone.stats.joined_results import joined_results
from hardstone.stats.noise import with_noise
from hardstone.stats.noise_points import gap_points
from hardstone.store.documents import encode_document, parse_document
from tests.unit.stats import make
from tests.unit.stats.made_gaps import Machine, S, result_of

SOUND = Window(begin_ns=100, end_ns=1_000, distance_ns=[50, 100, 700], length_ns=[20, 30, 50])


def test_a_sound_window() -> None:
    assert window_problem(SOUND) is None


@pytest.mark.parametrize(
    ("changed", "words"),
    [
        ({"begin_ns": -1}, "is impossible"),
        ({"end_ns": 99}, "is impossible"),
        ({"end_ns": 2**62}, "is impossible"),
        ({"distance_ns": [50]}, "1 distances of 3 gaps"),
        ({"distance_ns": [50, 19, 700]}, "before the one before it ended"),
        ({"distance_ns": [-1, 100, 700]}, "before the one before it ended"),
        ({"length_ns": [20, -1, 50]}, "before the one before it ended"),
        ({"length_ns": [20, 30, 101]}, "after its window"),
        ({"dropped_count": -1}, "negative"),
        ({"timer_interrupts_count": -1}, "negative"),
    ],
)
def test_an_impossible_window(changed: dict[str, object], words: str) -> None:
    problem = window_problem(msgspec.structs.replace(SOUND, **changed))
    assert problem is not None
    assert words in problem


def test_windows_in_their_order() -> None:
    later = msgspec.structs.replace(SOUND, begin_ns=900, end_ns=1_800)
    problem = windows_problem([SOUND, later])
    assert problem is not None
    assert problem.startswith("window 1")
    assert windows_problem([later]) is None


def test_a_document_with_an_impossible_window_is_refused() -> None:
    bad = msgspec.structs.replace(SOUND, length_ns=[1, 1, 999])
    result = make.result("CLK-P-DUR", windows=[bad])
    with pytest.raises(Exception, match="after its window"):
        parse_document(msgspec.json.encode(make.document(results=[result])), "the run")


def test_a_document_with_windows_is_stored() -> None:
    machine = Machine(30, seconds=2)
    machine.comb(250, 9_000)
    result = with_noise(result_of(machine.windows(timer_hz=250)))
    document = make.document(results=[result])
    raw = msgspec.json.encode(document)
    assert encode_document(parse_document(raw, "the run")) == encode_document(document)


def test_joined_recordings_keep_what_was_found_in_each() -> None:
    machine = Machine(31, seconds=3)
    machine.comb(250, 9_000)
    first, second = (with_noise(result_of(machine.windows(timer_hz=250))) for _ in range(2))
    shift_ns = 100 * S
    joined = joined_results(first, second, shift_ns, Event(name="joined", text=""))
    assert joined.noise == [*first.noise, *second.noise]
    assert windows_problem(joined.windows) is None
    assert joined.windows[len(first.windows)].begin_ns == second.windows[0].begin_ns + shift_ns
    ticks = [one for one in joined.series if one.name == "tick"]
    assert [one.count for one in ticks] == [first.series[0].count + second.series[0].count]
    assert gap_points(joined) == []


@pytest.mark.slow
def test_points_of_a_picture() -> None:
    machine = Machine(32, seconds=6)
    machine.comb(250, 9_000)
    machine.noise(1_000, 2_000)
    result = with_noise(result_of(machine.windows(timer_hz=250)))
    points = gap_points(result, most=300)
    assert 200 <= len(points) <= 300
    assert max(one.length_ns for one in points) == max(one.max or 0 for one in result.series)
    assert all(-2_000_000 <= one.at_ns <= 2_000_000 for one in points)
    assert all(abs(one.at_ns) <= 25_000 for one in points if one.is_tick)
    assert any(one.is_tick for one in points)
