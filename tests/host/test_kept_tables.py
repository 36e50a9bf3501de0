"""Tables that a probe was asked to keep: in its stream, and in the file of one that was killed."""

from __future__ import annotations

import subprocess
from contextlib import suppress
from pathlib import Path

from hardstone.model import StreamTable
from hardstone.stats.tire_kept import blocks_of, frames_of
from tests.running import Stream, command, run
from tests.waiting import wait_until

TEST = "SIM-S-RT"
STEPS = 3
MASSES = (16, 20, 24, 28)
WORDS = [
    *("-p", f"masses={','.join(map(str, MASSES))}", "-p", "threads=2", "-p", "policy=other"),
    *("-p", f"block_steps={STEPS}", "--samples", "8"),
]


def dumped(probe: Path, backing: Path) -> Stream:
    done = subprocess.run(
        [str(probe), "dump", str(backing), "--json"], capture_output=True, check=True
    )
    return Stream(TEST, 0, done.stdout)


def tables_in(probe: Path, backing: Path) -> list[StreamTable]:
    with suppress(subprocess.CalledProcessError):  # the file is not there yet
        return dumped(probe, backing).of(StreamTable)
    return []


def test_a_stream_has_the_tables_that_were_asked_for(probe: Path, quick: list[str]) -> None:
    stream = run(probe, TEST, *WORDS, "-p", "frames=2", *quick)
    result, problem = stream.read_by_the_toolkit()
    assert problem is None
    variants = blocks_of(result)
    assert [one.masses for one in variants] == list(MASSES)
    for one in variants:
        assert [row.thread for row in one.rows] == [0, 1]
        assert all([block.step for block in row.blocks] == [1, 2, 3] for row in one.rows)
    assert len(frames_of(result)) == 2


def test_a_killed_probe_leaves_its_tables(probe: Path, quick: list[str], tmp_path: Path) -> None:
    backing = tmp_path / "records"
    words = [*WORDS, *quick, "--backing", str(backing)]
    with subprocess.Popen(
        command(probe, TEST, words), stdout=subprocess.PIPE, stdin=subprocess.PIPE
    ) as process:
        try:
            tables = wait_until(lambda: tables_in(probe, backing))
        finally:
            process.kill()
    left = dumped(probe, backing)
    assert len(left.of(StreamTable)) >= len(tables) >= 1
    assert left.of(StreamTable)[: len(tables) - 1] == tables[:-1]  # the last one was being filled
    result, problem = left.read_by_the_toolkit()
    assert problem is None
    assert [one.masses for one in blocks_of(result)] == list(MASSES[: len(blocks_of(result))])
