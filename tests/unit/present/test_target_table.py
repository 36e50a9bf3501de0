"""The table of several targets: what its cells say, and what it does not say."""

from __future__ import annotations

import io
import re
from collections.abc import Iterator, Sequence

import pytest
from rich.cells import cell_len

from hardstone.model import ClockCheck, Conditions, RunDocument, Trust, Verdict
from hardstone.present.target_table import TargetTable, target_table
from hardstone.terminal.columns import print_target_table
from tests.unit.golden import assert_as_stored
from tests.unit.stats import make

EMULATED = {"virtual.emulated": True}
COUNTED = EMULATED | {"virtual.time": "instructions"}
VALUES = range(10_000, 12_000)


def run(
    target: str, values: Sequence[int] = VALUES, test: str = "TMR-P-LAT", **changed: object
) -> RunDocument:
    plan = make.plan_of([], target=target)
    fields: dict[str, object] = {"results": [make.result(test, values)], "plan": plan}
    return make.document(**(fields | changed))


def shown(table: TargetTable, columns: int = 80) -> str:
    stream = io.StringIO()
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("COLUMNS", str(columns))
        print_target_table(table, stream)
    return stream.getvalue()


def fixed(target: str, operations: int) -> RunDocument:
    series = make.series(list(VALUES))
    series.labels = {"kind": "add"}
    work = {"add_operations": operations}
    return run(target, results=[make.result("RSP-P-FIX", series=[series], calibrated=work)])


def claims(target: str, *passed: bool) -> RunDocument:
    named = zip(("order", "held"), passed, strict=False)
    verdicts = [Verdict(name=name, passed=one, evidence="e") for name, one in named]
    return run(target, results=[make.result("SEM-B-REL", VALUES, verdicts=verdicts)])


def changed(target: str, **fields: object) -> RunDocument:
    """A run whose series has other `fields`."""
    found = run(target)
    for name, value in fields.items():
        setattr(found.results[0].series[0], name, value)
    return found


def unlike_cpu(target: str, cpu: int) -> RunDocument:
    return changed(target, labels={"part": "total", "cpu": cpu})


def several() -> Iterator[tuple[str, list[RunDocument]]]:
    yield "ratios to the first", [run("lab:a"), run("lab:b", [3 * value for value in VALUES])]
    series = make.series(list(VALUES), "context_switch")
    series.labels = {"kind": "futex", "scope": "between processes of one group"}
    long = [make.result("SEM-P-RTP", series=[series])]
    yield "a long name", [run("a", results=long), run("b", results=long)]
    yield "names that are the same", [run("lab:a"), run("lab:a"), run("lab:a")]
    few = range(100, 200)
    yield "few values", [run("a", few), run("b", few)]
    yield "few values beside many", [run("a", few), run("b")]
    yield "unlike counts", [run("a"), run("b", range(10_000, 14_000))]
    kinds: dict[str, dict[str, object]] = {
        "hardware": {},
        "emulated": EMULATED,
        "instructions": COUNTED,
        "not known": {"virtual.emulated": None},
    }
    for first, second in (
        *(("hardware", "emulated"), ("emulated", "hardware"), ("emulated", "instructions")),
        *(("instructions", "not known"), ("emulated", "emulated")),
        ("instructions", "instructions"),
    ):
        pair = [run("a", system=kinds[first]), run("b", system=kinds[second])]
        yield f"{first}, and {second}", pair
    yield "one is emulated", [run("a"), run("b", system=EMULATED), run("c")]
    systems = [{}, EMULATED, EMULATED, COUNTED]
    yield "each mark once", [run(f"t{n}", system=one) for n, one in enumerate(systems)]
    check = ClockCheck(host_ns=10**9, target_ns=10**10, uncertainty_ns=0)
    untrusted = Trust(grade="untrustworthy", reasons=["the clock\x1b is wrong"])
    yield "a wrong clock", [run("a"), run("b", clock_check=check, trust=untrusted)]
    yield "the amounts of work differ", [fixed("a", 700), fixed("b", 710)]
    yield "equal work", [fixed("a", 700), fixed("b", 700)]
    yield "contradictory figures", [run("a"), changed("b", count=len(VALUES) + 1)]
    yield "counts", [changed("a", unit="count"), changed("b", unit="count")]
    yield "of a throughput the least is the worst", [changed("a", unit="bytes_per_s"), run("b")]
    denied = [make.result(status="denied", series=[]), make.result("SEM-P-SIG")]
    yield "not measured", [run("a"), run("b", results=denied)]
    yield "claims", [claims("a", True, True), claims("b", False, True), claims("c", True)]
    yield "another CPU", [unlike_cpu("a", 1), unlike_cpu("b", 0)]
    yield "the same CPU", [unlike_cpu("a", 1), unlike_cpu("a", 1)]
    yield "settings that all have", [run(name) for name in NAMES["common"]]
    loads = ["none", "stress-ng:--cpu 2 --vm 1 --vm-bytes 100M --timeout 10"]
    under = [make.result(conditions=Conditions(load=load, cpu_config="shared")) for load in loads]
    yield "a load with a long name", [run("a", results=under), run("b", results=under)]


@pytest.mark.slow
def test_the_table_of_several_targets(request: pytest.FixtureRequest) -> None:
    texts = {name: shown(target_table(runs)) for name, runs in several()}
    assert_as_stored(request, "targets.txt", texts)


@pytest.mark.slow
def test_many_series_of_many_tests_stay_readable() -> None:
    series = [make.series([n + 1], f"s{n}") for n in range(50)]
    results = [make.result(f"T{number}-P-X", series=series) for number in range(30)]
    table = target_table([run("a", results=results), run("b", results=results)])
    rows = [row.label for row in table.rows]
    assert rows.count("49 more series") == 30
    assert len(rows) <= 30 * 6


NAMES = {
    "plain": ["local", "lab:debian-rt"],
    "settings": ["lab:debian,preempt=none,deterministic", "lab:debian,preempt=full,deterministic"],
    "common": [
        f"lab:debian,cpus=2,memory=1024M,preempt={one},accel=tcg,append=a"
        for one in ("none", "full")
    ],
    "sixty": ["lab:" + 56 * "a", "lab:" + 55 * "a" + "b"],
    "wide": ["lab:" + "\u4e00" * 56, "lab:" + "\u4e00" * 55 + "\u4e01"],
    "append": ["lab:a,append=" + 400 * "x ", "lab:a,append=" + 400 * "x,"],
    "hostile": ["fake:\x1b[2J\u202e[bold]\n", "fake:\r\n</td>"],
    "many": [f"lab:kernel-{n},cpus=4,memory=2048M,preempt=full,accel=tcg" for n in range(7)],
}


@pytest.mark.parametrize("names", NAMES.values(), ids=NAMES)
@pytest.mark.parametrize("columns", [80, 60, 200])
def test_eighty_columns_hold_the_table(names: list[str], columns: int) -> None:
    table = target_table([run(name) for name in names])
    lines = shown(table, columns).splitlines()
    legends = [line for line in lines if re.match(r"#\d: ", line)]
    assert all(cell_len(line) <= columns for line in lines if line not in legends)
    assert len(legends) in (0, len(names))
    text = "\n".join(lines)
    assert not {"\x1b", "\r", "\u202e"} & set(text)
    # Every figure is whole, and every target is told apart.
    assert text.count("12.0 us") >= 2 * len(names)
    assert len({tuple(column.lines) for column in table.columns}) == len(names)
