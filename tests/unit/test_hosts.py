"""Names of hosts in a load: looked up once, on this machine; the probe gets addresses."""

from __future__ import annotations

import socket
import threading
from typing import Any

import pytest

from hardstone.errors import InputError
from hardstone.hosts import addresses_of, names_in, with_addresses
from hardstone.model import Conditions
from hardstone.stats.conditions import result_under
from hardstone.targets.base import RunOptions
from hardstone.targets.probe_target import probe_arguments
from tests.process.targets import sample
from tests.unit.stats import make

LOADS = [
    ("none", []),
    ("heavy@cpu+search", []),
    ("network=4000/s", []),
    ("network=4000/s@cpu", []),
    ("network=4000/s@target:7", ["target"]),
    ("network=4000/s@target:7@cpu+search", ["target"]),
    ("cpu=10ms/100ms@cpu+network=4000/s@a.b-c.example:7", ["a.b-c.example"]),
    ("network=4000/s@192.0.2.1:7", []),
    ("network=4000/s@[fe80::1%eth0]:7@cpu", []),
    ("interrupt=1000/s@/dev/uio0+search", []),
    ("stress-ng:--hdd 1 --temp-path /tmp/x@target:7", []),
]


@pytest.mark.parametrize(("load", "names"), LOADS)
def test_names_in_a_load(load: str, names: list[str]) -> None:
    assert list(names_in(load)) == names
    addresses = dict.fromkeys(names, "192.0.2.9")
    sent = with_addresses(load, addresses)
    assert list(names_in(sent)) == []
    assert sent == (load.replace(names[0], "192.0.2.9") if names else load)
    assert with_addresses(load, {}) == load


class Answers:
    """Name services whose answers are made up."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, *answers: str | Exception) -> None:
        self.asked: list[str] = []
        self._answers = answers
        monkeypatch.setattr(socket, "getaddrinfo", self._answer)

    def _answer(self, name: str, *_rest: object, **_more: object) -> list[Any]:
        self.asked.append(name)
        for one in self._answers:
            if isinstance(one, Exception):
                raise one
        return [(0, 0, 0, "", (one, 0)) for one in self._answers]


@pytest.mark.parametrize(
    ("found", "address"),
    [
        (["2001:db8::1", "192.0.2.1", "192.0.2.2"], "192.0.2.1"),
        (["fe80::1%eth0", "2001:db8::1"], "[2001:db8::1]"),
        (["::1"], "[::1]"),
    ],
)
def test_of_several_addresses_one_is_taken(
    monkeypatch: pytest.MonkeyPatch, found: list[str], address: str
) -> None:
    answers = Answers(monkeypatch, *found)
    loads = ["network=4000/s@target:7", "search+network=5/s@target:8@cpu", "none"]
    addresses = addresses_of(loads)
    assert addresses == {"target": address} and answers.asked == ["target"]
    assert with_addresses(loads[0], addresses) == f"network=4000/s@{address}:7"


def test_what_a_run_knew_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    answers = Answers(monkeypatch, "192.0.2.1")
    known = {"target": "192.0.2.7", "other": "192.0.2.8"}
    assert addresses_of(["network=5/s@target:7"], known) == {"target": "192.0.2.7"}
    assert answers.asked == []
    stored = {"target": "192.0.2.7:7+stress-ng:--cpu 9"}
    assert addresses_of(["network=5/s@target:7"], stored) == {"target": "192.0.2.1"}
    for odd in (
        "[2001:db8::1%]:7+stress-ng:--cpu 9]",
        "::1",
        "[::1",
        "[192.0.2.7]",
        "[2001:DB8::1]",
    ):
        assert addresses_of(["network=5/s@target:7"], {"target": odd}) == {"target": "192.0.2.1"}
    assert addresses_of(["network=5/s@six:7"], {"six": "[::1]"}) == {"six": "[::1]"}


@pytest.mark.parametrize(
    ("answer", "why"),
    [
        (socket.gaierror(-2, "Name or service not known"), "Name or service not known"),
        (UnicodeError("label too long"), "label too long"),
        ("fe80::1%eth0", "it has no address"),
        ("no address", "it has no address"),
    ],
)
def test_a_name_without_an_address(
    monkeypatch: pytest.MonkeyPatch, answer: str | Exception, why: str
) -> None:
    Answers(monkeypatch, answer)
    with pytest.raises(InputError) as caught:
        addresses_of(["network=5/s@target:7"])
    assert caught.value.cause.endswith(f"'target' cannot be looked up on this machine: {why}")
    assert "give the address: network=4000/s@192.0.2.1:7" in (caught.value.remedy or "")


def test_silent_name_services_are_not_waited_for(monkeypatch: pytest.MonkeyPatch) -> None:
    is_over = threading.Event()
    monkeypatch.setattr(socket, "getaddrinfo", lambda *_words, **_more: [is_over.wait()][1:])
    with pytest.raises(InputError, match=r"no answer within 0.05 s"):
        addresses_of(["network=5/s@target:7"], patience_s=0.05)
    is_over.set()


def test_the_probe_gets_the_address_and_the_result_keeps_the_name() -> None:
    planned = sample.planned(load="network=5/s@target:7")
    addresses = {"target": "192.0.2.1"}
    words = probe_arguments(planned, RunOptions(addresses=addresses), None)
    sent = words[words.index("--load") + 1]
    assert sent == "network=5/s@192.0.2.1:7"
    result = result_under(planned, make.result(conditions=Conditions(load=sent)), addresses)
    assert result.conditions.load == planned.load and result.events == []
    other = Conditions(load="network=5/s@192.0.2.2:7")
    assert result_under(planned, make.result(conditions=other), addresses).events != []
