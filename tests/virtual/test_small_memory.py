"""A build for a small system measures one series in 64 KB: all memory of its own code, counted."""

from __future__ import annotations

import shutil
import subprocess
from pathlib import Path

import pytest

from hardstone.model import StreamSeries
from tests.conftest import ROOT
from tests.running import run
from tests.virtual.test_small_build import SOURCES, is_needed

pytestmark = pytest.mark.e2e

LIMIT_BYTES = 64 * 1024
COUNTED = ROOT / "probe" / "tests" / "counted_memory.c"
WRAPPED = ["malloc", "calloc", "realloc", "posix_memalign", "free", "mmap", "munmap"]
WRAPPED += ["pthread_create", "pthread_join", "main"]
SIZES = {
    "LOAD": 0,
    "SHIELD": 0,
    "HAS_FORK": 0,
    "HAS_SHARED_MEMORY": 0,
    "CPUS": 4,
    "THREADS": 8,
    "RECORD_SUB_BITS": 5,
    "RECORD_WORST": 8,
    "ARENA_EVENTS": 5,
    "ARENA_VERDICTS": 4,
    "ARENA_TEXT_BYTES": 200,
    "ARENA_DATA_BYTES": 160,
    "ARENA_INTERVALS": 1,
    "ARENA_TRACES": 1,
    "ARENA_TRACE_LINES": 1,
    "WATCH_THREADS": 1,
    "WATCH_COUNTS": 1,
    "ARENA_JSON_BYTES": 896,
    "ARENA_KEPT_BYTES": 2048,
    "ARENA_KEPT_ALL_BYTES": 2048,
    "PARAM_VALUES": 13,
    "EMIT_BYTES": 512,
    "STACK_BYTES": 8192,
    "SMALL_STACK_BYTES": 8192,
}


@pytest.fixture(scope="module")
def counted_probe(tmp_path_factory: pytest.TempPathFactory) -> Path:
    if shutil.which("gcc") is None:
        pytest.skip("there is no gcc here")
    program = tmp_path_factory.mktemp("small") / "hardstone-probe"
    files = [str(file) for file in sorted(SOURCES.rglob("*.c")) if is_needed(file)]
    words = ["gcc", "-std=c11", "-O0", f"-I{SOURCES}", "-o", str(program)]
    words += [f"-DHS_{name}={value}" for name, value in SIZES.items()]
    words += [f"-Wl,--wrap={name}" for name in WRAPPED]
    done = subprocess.run(
        [*words, *files, str(COUNTED), "-lm", "-lpthread", "-lrt"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return program


def test_one_series_takes_64_kb(counted_probe: Path) -> None:
    options = ["-p", "kinds=unnamed", "-p", "scopes=thread", "--samples", "1000"]
    stream = run(counted_probe, "SEM-P-SIG", *options)
    assert stream.result.status == "measured", stream.result.reason
    (series,) = stream.of(StreamSeries)
    assert series.count == 1000
    parts = dict(line.split() for line in stream.stderr.splitlines())
    assert set(parts) == {"heap", "threads", "main"}
    assert sum(map(int, parts.values())) <= LIMIT_BYTES, parts
