"""`hardstone load`: what it prints, and its exit codes, with a probe that says what it should."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.process.targets import sample

HEADER = {
    "type": "header",
    "schema": "hardstone.load/2",
    "probe_version": "0.1.0",
    "load": "cpu",
    "started_utc_ns": 1,
}
CPU = {
    "type": "load",
    "element": "cpu",
    "degree": "10ms/100ms",
    "asked": 0.1,
    "reached": 0.0998,
    "least": 0.0997,
    "unit": "share",
    "processes": 2,
    "counters": {"busy_ns": 250_000_000, "cpu_ns": 200_000_000},
}
SEARCH = {**CPU, "element": "search", "degree": "", "asked": None, "unit": "rounds_per_s"}
FOOTER = {"type": "footer", "lines": 3}
RUNS = {"type": "event", "name": "load_runs", "text": "every process works", "at_ns": None}
SHORT = {"type": "event", "name": "load_short", "text": "cpu reached \x1b[31m1 %", "at_ns": None}
UNSEEN = {**SHORT, "name": "load_unseen", "text": "interrupt: of 10 timers 2 were seen"}
LIMITED = {"type": "event", "name": "load_limited", "text": "disk: no room", "at_ns": None}


@pytest.fixture
def says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Callable[..., None]:
    """Makes a probe that takes every text for a load, and then says these lines."""

    listed = (sample.GOLDEN / "loads.json").read_text()

    def make(*lines: Any, check: str = "", code: int = 0) -> None:
        texts = [line if isinstance(line, str) else json.dumps(line) for line in lines]
        body = (
            "import json\n"
            f"if sys.argv[2] == '--list':\n    print({listed!r}); sys.exit(0)\n"
            f"if sys.argv[2] == '--check':\n    sys.stderr.write({check!r}); sys.exit({code})\n"
            f"open({str(tmp_path / 'asked')!r}, 'w').write(json.dumps(sys.argv[1:]))\n"
            f"lines(*{texts!r})\n"
        )
        monkeypatch.setenv("HARDSTONE_PROBE", str(sample.executable(tmp_path, body)))

    return make


def test_a_table(hardstone: Callable[..., Any], says: Callable[..., None]) -> None:
    says(HEADER, RUNS, CPU, SEARCH, FOOTER)
    done = hardstone("load", "cpu+search", "-D", "1")
    assert done.code == 0
    assert " 10 %" in done.out
    assert "0.2 s" in done.out
    assert done.err == ""


def test_a_document(hardstone: Callable[..., Any], says: Callable[..., None]) -> None:
    says(HEADER, RUNS, CPU, FOOTER)
    document = hardstone("load", "cpu", "-D", "1", "--json").document
    assert document["schema"] == "hardstone.load/2"
    element = {name: CPU[name] for name in CPU if name != "type"}
    assert document["elements"] == [element | {"how": None}]
    assert [event["name"] for event in document["events"]] == ["load_runs"]


def test_a_load_that_is_short_exits_3(
    hardstone: Callable[..., Any], says: Callable[..., None]
) -> None:
    says(HEADER, RUNS, SHORT, CPU, FOOTER)
    done = hardstone("load", "cpu", "-D", "1")
    assert done.code == 3
    assert "cpu reached" in done.err
    assert "\x1b" not in done.out + done.err


def test_a_load_that_the_kernel_did_not_see_exits_3(
    hardstone: Callable[..., Any], says: Callable[..., None]
) -> None:
    says(HEADER, RUNS, UNSEEN, CPU, FOOTER)
    done = hardstone("load", "cpu", "-D", "1")
    assert (done.code, done.err) == (3, "hardstone: interrupt: of 10 timers 2 were seen\n")


def test_a_limit_is_told_and_is_no_failure(
    hardstone: Callable[..., Any], says: Callable[..., None]
) -> None:
    says(HEADER, RUNS, LIMITED, CPU, FOOTER)
    done = hardstone("load", "cpu", "-D", "1")
    assert (done.code, done.err) == (0, "hardstone: disk: no room\n")


@pytest.mark.parametrize(("code", "expected"), [(2, 2), (5, 5), (70, 4)])
def test_what_the_probe_refuses(
    hardstone: Callable[..., Any], says: Callable[..., None], code: int, expected: int
) -> None:
    says(check="hardstone-probe: load: no such thing; write cpu\n", code=code)
    done = hardstone("load", "cpu")
    assert done.code == expected
    assert "no such thing" in done.err
    assert "hardstone-probe: " not in done.err


def test_options_reach_the_probe_as_words(
    hardstone: Callable[..., Any], says: Callable[..., None], tmp_path: Path
) -> None:
    says(HEADER, FOOTER)
    hardstone("load", "stress-ng:--cpu 1; rm -rf x", "-D", "2s", "--cpus", "0")
    asked = json.loads((tmp_path / "asked").read_text())
    assert asked[:2] == ["load", "stress-ng:--cpu 1; rm -rf x"]
    assert asked[-4:] == ["--cpus", "0", "--duration-ns", "2000000000"]


def test_the_probe_gets_the_one_form_of_a_load(
    hardstone: Callable[..., Any], says: Callable[..., None], tmp_path: Path
) -> None:
    says(HEADER, FOOTER)
    document = hardstone("load", " search+cpu=0.01s/0.1s", "--json").document
    asked = json.loads((tmp_path / "asked").read_text())
    assert asked[1] == document["load"] == "cpu=10ms/100ms+search"


@pytest.mark.parametrize(
    ("load", "words"),
    [
        ("cpuu", "unknown 'cpuu'; did you mean cpu?"),
        ("", "'' is not a load; write for example heavy"),
        ("none", "'none' is not a load; write for example heavy"),
        ("heavy,storm", "'heavy,storm' names 2 loads; give one; + joins elements"),
        ("cpu=10", "cpu=10 does not have the form BUSY/PERIOD; write for example cpu=10ms/100ms"),
        ("stress-ng:--cpu 1,heavy", "'heavy' too; put 'heavy' before stress-ng:"),
    ],
)
def test_what_is_no_load_is_told_in_one_line(
    hardstone: Callable[..., Any],
    says: Callable[..., None],
    tmp_path: Path,
    load: str,
    words: str,
) -> None:
    says(HEADER, FOOTER)
    done = hardstone("load", load)
    assert (done.code, len(done.told), (tmp_path / "asked").exists()) == (2, 1, False)
    assert words in done.err and "--load" not in done.err


@pytest.mark.parametrize("line", ["nonsense", '{"type":"other"}', '{"type":"load"}'])
def test_lines_that_are_none(
    hardstone: Callable[..., Any], says: Callable[..., None], line: str
) -> None:
    says(HEADER, line, FOOTER)
    done = hardstone("load", "cpu")
    assert done.code == 2
    assert len(done.told) == 1


def test_no_footer(hardstone: Callable[..., Any], says: Callable[..., None]) -> None:
    says(HEADER, CPU)
    assert hardstone("load", "cpu").code == 3


@pytest.mark.parametrize("duration", ["0", "x", "-1", "9999d"])
def test_wrong_durations(
    hardstone: Callable[..., Any], says: Callable[..., None], duration: str
) -> None:
    says(HEADER, CPU, FOOTER)
    done = hardstone("load", "cpu", f"--duration={duration}")
    assert (done.code, len(done.told)) == (2, 1)
