"""Commands in a guest of the lab."""

from __future__ import annotations

import io
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from hardstone.targets.lab import LabTransport, lab_transport
from tests.running import Stream

GUEST_S = 3600  # only a failure waits so long: a busy host gives a guest 1 s of CPU in a minute
TRACING = "/sys/kernel/tracing"


@contextmanager
def opened(target: str) -> Iterator[LabTransport]:
    guest = lab_transport(target)
    guest.open()
    try:
        yield guest
    finally:
        guest.close()


def call(guest: LabTransport, *arguments: str) -> tuple[int, str]:
    """Exit code and output of a command of the probe."""
    output = io.BytesIO()
    with Path("/dev/null").open("rb") as nothing:
        code = guest.call(arguments, nothing, output, io.BytesIO())
    return code, output.getvalue().decode()


def measured(guest: LabTransport, test: str, *words: str) -> Stream:
    code, said = call(guest, "run", test, "--deadline-ns", f"{GUEST_S}s", *words, "--json")
    return Stream(test, code, said.encode())


def shell(guest: LabTransport, script: str) -> str:
    """Without a journal, which a run with timerlat makes. The guest needs two CPUs."""
    code, said = call(guest, "shield", "--settings", "dma_latency", "--", "sh", "-c", script)
    assert code == 0, (code, said)
    return said
