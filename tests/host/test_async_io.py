"""FIO-B-ASY: each claim fails on a libc that breaks it, for each kind and no other, and holds on
the real one; what is missing is said; nothing stays behind."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from itertools import product
from pathlib import Path

import msgspec
import pytest

from hardstone.model import Register, StreamEvent, StreamVerdict
from tests.host.test_kernel_leftovers import with_folder
from tests.running import Stream, measuring, run
from tests.waiting import soon

TEST = "FIO-B-ASY"
CHANNELS = ("pipe", "fifo", "socket", "pty")
KINDS = (*CHANNELS, "aio", "io_uring")


def of(claims: str, kinds: tuple[str, ...] = CHANNELS) -> set[str]:
    return {f"{claim}/{kind}" for claim, kind in product(claims.split(), kinds)}


AIO, RING = ("aio",), ("io_uring",)
# The verdicts that must fail, and no others.
BREACHES = [
    ("read_blocks", of("empty_read")),
    ("read_fills", of("empty_read partial_read")),
    ("write_blocks", of("full_write select poll")),
    ("write_loses", of("full_write")),
    ("fionread_off", of("fionread")),
    ("select_early", of("select")),
    ("select_never", of("select")),
    ("poll_early", of("poll")),
    ("poll_never", of("poll")),
    ("sigio_lost", of("sigio")),
    ("sigio_early", of("sigio")),
    ("aio_blocks", of("overlap progress suspend cancel", AIO)),
    ("suspend_early", of("suspend", AIO)),
    ("aio_lost", of("file_transfer", AIO)),
    ("lio_lost", of("list", AIO)),
    ("cancel_lies", of("cancel", AIO)),
    ("pread_wrong", of("file_transfer list", AIO) | of("file_transfer", RING)),
    ("ring_blocks", of("overlap cancel", RING)),
    ("ring_keeps", of("cancel", RING)),
]
MISSING = [
    ("no_terminal", "pty", "No such file"),
    ("no_aio", "aio", "not implemented"),
    ("no_ring", "io_uring", "kernel has none"),
    ("ring_denied", "io_uring", "system calls"),
]


def on_broken(
    libc: Path, probe: Path, quick: list[str], breach: str, kinds: tuple[str, ...] = KINDS
) -> Stream:
    variables = {"LD_PRELOAD": str(libc), "HARDSTONE_BROKEN": breach}
    words = ("-p", f"kinds={','.join(kinds)}")
    stream = run(probe, TEST, *words, *quick, variables=variables)
    assert stream.result.status == "measured", stream.result
    return stream


def failed(stream: Stream) -> set[str]:
    return {name for name, passed in stream.verdicts.items() if not passed}


def missing(stream: Stream) -> dict[str, str]:
    events = [one for one in stream.of(StreamEvent) if one.name == "kind_unsupported"]
    return {str(event.data["kind"]): str(event.data["error"]) for event in events}


def kinds_of(names: set[str]) -> tuple[str, ...]:
    """In their order."""
    return tuple(kind for kind in KINDS if any(name.endswith(f"/{kind}") for name in names))


@pytest.mark.parametrize(("breach", "fail"), BREACHES, ids=[one[0] for one in BREACHES])
def test_a_breach_is_seen(
    shared_probe: Path, broken_libc: Path, quick: list[str], breach: str, fail: set[str]
) -> None:
    kinds = kinds_of(fail)
    stream = on_broken(broken_libc, shared_probe, quick, breach, kinds)
    verdicts, left_out = stream.of(StreamVerdict), set(missing(stream))
    assert {one.name.split("/")[1] for one in verdicts} == set(kinds) - left_out
    expected = {name for name in fail if name.split("/")[1] not in left_out}
    assert failed(stream) == expected, verdicts


def test_a_request_that_is_said_to_be_complete_too_early(
    shared_probe: Path, broken_libc: Path, quick: list[str]
) -> None:
    """What else fails then depends on when it is carried out."""
    assert "progress/aio" in failed(on_broken(broken_libc, shared_probe, quick, "aio_early", AIO))


def test_every_claim_holds_on_a_libc_that_breaks_nothing(
    shared_probe: Path, broken_libc: Path, quick: list[str]
) -> None:
    stream = on_broken(broken_libc, shared_probe, quick, "none")
    assert [str(one) for one in stream.of(StreamVerdict) if not one.passed] == []


def test_every_verdict_has_a_breach(
    shared_probe: Path, broken_libc: Path, quick: list[str]
) -> None:
    stream = on_broken(broken_libc, shared_probe, quick, "none")
    broken = {name for _, fail in BREACHES for name in fail}
    left_out = {name for name in broken if name.split("/")[1] in missing(stream)}
    assert set(stream.verdicts) == broken - left_out
    done = subprocess.run([str(shared_probe), "list", "--json"], capture_output=True, check=True)
    tests = msgspec.json.decode(done.stdout, type=Register).tests
    (claims,) = [{one.name for one in test.verdicts} for test in tests if test.id == TEST]
    assert claims == {name.split("/")[0] for name in broken}


@pytest.mark.parametrize(("breach", "kind", "reason"), MISSING, ids=[one[0] for one in MISSING])
def test_what_is_missing_is_told(
    shared_probe: Path, broken_libc: Path, quick: list[str], breach: str, kind: str, reason: str
) -> None:
    stream = on_broken(broken_libc, shared_probe, quick, breach, ("pipe", kind))
    assert reason in missing(stream)[kind]
    assert kinds_of(set(stream.verdicts)) == ("pipe",)


def test_none_of_the_kinds_is_unsupported(
    shared_probe: Path, broken_libc: Path, quick: list[str]
) -> None:
    variables = {"LD_PRELOAD": str(broken_libc), "HARDSTONE_BROKEN": "no_terminal"}
    stream = run(shared_probe, TEST, "-p", "kinds=pty", *quick, variables=variables)
    assert (stream.result.status, stream.code) == ("unsupported", 5)


def test_a_kill_leaves_no_fifo(
    shared_probe: Path,
    broken_libc: Path,
    quick: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its name is there for a moment only; here it stays, and a read waits for a second."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("LD_PRELOAD", str(broken_libc))
    monkeypatch.setenv("HARDSTONE_BROKEN", "fifo_stays,read_blocks")
    with measuring(shared_probe, TEST, "-p", "kinds=fifo", *quick) as running:
        monkeypatch.delenv("LD_PRELOAD")
        assert soon(lambda: bool(list(tmp_path.glob("*/fifo"))))
        os.kill(running.pid, signal.SIGKILL)
        running.process.wait()
    assert soon(lambda: not with_folder(tmp_path))
    assert soon(lambda: not list(tmp_path.iterdir()))


def test_a_kill_at_any_moment_leaves_nothing(
    probe: Path, quick: list[str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    for moment_s in (0, 0.01, 0.03, 0.06):
        with measuring(probe, TEST, *quick) as running:
            time.sleep(moment_s)
            os.kill(running.pid, signal.SIGKILL)
            running.process.wait()
        assert soon(lambda: not with_folder(tmp_path))
        assert soon(lambda: not list(tmp_path.iterdir()))
