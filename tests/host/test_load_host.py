"""Packets to a host: one of this machine, with an echo service that the test runs."""

from __future__ import annotations

import json
import socket
import subprocess
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest

from tests.host.loads import elements, events, once

EXIT_MISSING = 5
HOSTS = [(socket.AF_INET, "127.0.0.1", "127.0.0.1"), (socket.AF_INET6, "::1", "[::1]")]


def _echo(end: socket.socket, most: int) -> None:
    """Sends back what it gets, and breaks off after `most` bytes."""
    with end, suppress(OSError):
        while most > 0 and (got := end.recv(4096)):
            end.sendall(got)
            most -= len(got)


@contextmanager
def echo(family: int, host: str, *, most: int = 2**40) -> Iterator[int]:
    """An echo service: its port."""
    with socket.socket(family) as door:
        try:
            door.bind((host, 0))
        except OSError as error:
            pytest.skip(f"no {host} here: {error}")
        door.listen(8)

        def serve() -> None:
            with suppress(OSError):
                while True:
                    end = door.accept()[0]
                    threading.Thread(target=_echo, args=(end, most), daemon=True).start()

        threading.Thread(target=serve, daemon=True).start()
        try:
            yield door.getsockname()[1]
        finally:
            door.shutdown(socket.SHUT_RDWR)


@pytest.mark.parametrize(("family", "host", "written"), HOSTS)
def test_messages_that_come_back_are_counted(
    probe: Path, tmp_path: Path, family: int, host: str, written: str
) -> None:
    with echo(family, host) as port:
        load = f"network=500/s@{written}:{port}"
        line = elements(once(probe, load, tmp_path, "-D", "400ms"))["network"]
    assert line["degree"] == f"500/s@{written}:{port}"
    assert line["how"] == f"to {written}:{port}"
    assert 0 < line["counters"]["packets_count"] <= 500 * 1.5
    assert line["counters"]["sent_bytes"] > 0


def test_a_name_is_looked_up(probe: Path, tmp_path: Path) -> None:
    with echo(socket.AF_INET, "127.0.0.1") as port:
        line = elements(once(probe, f"network=100/s@localhost:{port}", tmp_path, "-D", "400ms"))
    assert line["network"]["counters"]["packets_count"] > 0


def test_a_connection_that_breaks_is_made_again_and_told(probe: Path, tmp_path: Path) -> None:
    with echo(socket.AF_INET, "127.0.0.1", most=256 * 20) as port:
        lines = once(probe, f"network=1000/s@127.0.0.1:{port}", tmp_path, "-D", "1")
    counters = elements(lines)["network"]["counters"]
    assert counters["failed_count"] >= 2
    assert counters["packets_count"] > 20
    assert "the connection to 127.0.0.1 broke" in events(lines)["load_limited"]


def closed_port() -> int:
    with socket.socket() as door:
        door.bind(("127.0.0.1", 0))
        return int(door.getsockname()[1])


@pytest.mark.parametrize(
    ("host", "words"),
    [("127.0.0.1", "no connection: "), ("no-such-host.invalid", "host not found")],
)
def test_a_host_that_is_not_there_is_told_before_anything_is_measured(
    probe: Path, quick: list[str], host: str, words: str
) -> None:
    load = f"network=5/s@{host}:{closed_port()}"
    for command in (["load", "--check", load], ["load", load, "-D", "9"]):
        begun_s = time.monotonic()
        done = subprocess.run([str(probe), *command], capture_output=True, text=True, check=False)
        assert (done.returncode, done.stdout, done.stderr.count("\n")) == (EXIT_MISSING, "", 1)
        assert words in done.stderr
        assert time.monotonic() - begun_s < 60
    words_of_run = [str(probe), "run", "CLK-P-BIN", "--json", "--load", load, *quick]
    run = subprocess.run(words_of_run, capture_output=True, check=False)
    result = json.loads(run.stdout.splitlines()[-2])
    assert (run.returncode, result["status"]) == (EXIT_MISSING, "unsupported")
    assert words in result["reason"]
    assert result["duration_ns"] == 0


def test_over_loopback_that_is_said(probe: Path, tmp_path: Path) -> None:
    line = elements(once(probe, "network=100/s", tmp_path, "-D", "400ms"))["network"]
    assert line["how"] == "loopback"
