"""explain and show --published: what others have published, and a run beside it."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

from hardstone.errors import EXIT_OK, EXIT_USAGE
from hardstone.model import Conditions, Result
from hardstone.store import Store
from tests.cli.conftest import Done
from tests.stats import make

Hardstone = Callable[..., Done]


def is_narrow(text: str) -> bool:
    return max(len(line) for line in text.splitlines()) <= 80


def test_explain_shows_the_published_figures_of_the_test_itself(
    hardstone: Hardstone, target: str
) -> None:
    out = " ".join(hardstone("explain", "SEM-P-SIG", "--target", target).out.split())
    assert "published: Obenland 2000: The Use of POSIX in Real-time Systems" in out
    assert "worst below 35 us" in out and "context_switch" not in out
    out = hardstone("explain", "THR-P-SLS", "--target", target).out
    assert re.search(r"128 +Linux 2.6.33.7.2-rt30 +mean 1.7, max 34.6 us", out)
    assert "2/switch" in out
    assert "published" not in hardstone("explain", "TMR-B-EDGE", "--target", target).out


def test_explain_gives_published_figures_as_data(hardstone: Hardstone, target: str) -> None:
    (found,) = hardstone("explain", "RSP-P-FIX", "--target", target, "--json").document
    assert len(found["published"]) == 16
    assert found["published"][1] == {
        "table": "obenland-2000/response_worst_case",
        "system": "lynx",
        "address": "RSP-P-FIX/add/time",
        "conditions": {"load": "heavy"},
        "statistic": "max",
        "unit": "ms",
        "value": 9.9,
    }


def test_explain_says_what_the_highest_priority_changes(hardstone: Hardstone, target: str) -> None:
    out = " ".join(hardstone("explain", "TMR-P-LAT", "--target", target).out.split())
    assert "maximum priority less one" in out and "--priority max" in out
    assert "stop class (migration, lockup watchdog) preempt either" in out


def keep(place: Path, *results: Result, **changed: object) -> None:
    document = make.document(results=list(results), **changed)
    journal = Store(place).journal(document)
    journal.finish(document)
    journal.close()


def ring(load: str, config: str = "shared") -> Result:
    series = make.series([1_000, 2_000, 3_000], "switch")
    series.labels = {"threads": 128}
    conditions = Conditions(load=load, policy="fifo", cpu_config=config)
    return make.result("THR-P-SLS", series=[series], conditions=conditions)


def test_show_beside_the_published_figures(hardstone: Hardstone, tmp_path: Path) -> None:
    keep(tmp_path, ring("none"), ring("heavy"))
    done = hardstone("show", "last", "--published", "--store", tmp_path)
    assert done.code == EXIT_OK and is_narrow(done.out)
    assert re.search(r"128 +heavy +this run +mean 2 us, max 3 us", done.out)
    assert re.search(r"128 +- +Linux 2.6.33.7.2-rt30 +mean 1.7, max 34.6 us", done.out)
    assert "no series with 2" in done.out
    assert "Advantech" in done.out and "load: not published" in done.out


def test_show_beside_published_figures_only_what_was_measured_as_they_were(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    series = make.series([10_000_000], "time")
    series.labels = {"kind": "add"}
    results = [
        make.result(
            "RSP-P-FIX", series=[series], conditions=Conditions(load=load, cpu_config=config)
        )
        for load in ("none", "storm")
        for config in ("shared", "single")
    ]
    keep(tmp_path, *results)
    out = hardstone("show", "last", "--published", "--store", tmp_path).out
    assert re.search(r"add/time +none +this run, single +max 10 ms", out)
    assert re.search(r"add/time +heavy +Solaris 8, 2 CPUs +max 11236.5 ms", out)
    assert "storm" not in out and not re.search(r"heavy +this run", out)


def test_only_kinds_that_enter_the_kernel_stand_beside_the_context_switch(
    hardstone: Hardstone, tmp_path: Path
) -> None:
    found = []
    for kind, value in (("unnamed", 5_000), ("sysv", 7_000)):
        series = make.series([value], "context_switch")
        series.labels = {"kind": kind, "scope": "thread"}
        found.append(series)
    result = make.result("SEM-P-RTP", series=found, conditions=Conditions(load="none"))
    for name, shown, left_out in (("Linux", 7, 5), ("Other", 5, 7)):
        keep(tmp_path / name, result, system={"kernel.name": name})
        out = hardstone("show", "last", "--published", "--store", tmp_path / name).out
        assert f"max {shown} us" in out and f"max {left_out} us" not in out
        assert ("not comparable" in out) == (name == "Linux")


def test_show_beside_nothing(hardstone: Hardstone, tmp_path: Path) -> None:
    keep(tmp_path, make.result("TMR-B-EDGE"))
    done = hardstone("show", "last", "--published", "--store", tmp_path)
    assert done.code == EXIT_USAGE
    assert "no test of this run has published figures" in done.err
    done = hardstone("show", "last", "--published", "--json", "--store", tmp_path)
    assert done.code == EXIT_USAGE and "both given" in done.err
