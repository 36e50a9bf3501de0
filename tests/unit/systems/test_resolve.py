"""From an address to the one series of a run, and why there is none; and what that gives for a
published statistic: never a quantile that it cannot know."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from hardstone.kernel.results import kernel_time_of
from hardstone.model import Conditions, Result, RunDocument, Series, Verdict
from hardstone.systems.published import (
    Address,
    AddressError,
    Resolved,
    figures_of,
    is_of_kernel_time,
    length_of,
    parse_address,
    resolve,
    value_of,
)
from tests.unit.kernel.blocked import kernel_result, with_reference_at_work
from tests.unit.stats import make


def one(name: str, count: int = 3, **labels: int | str) -> Series:
    found = make.series(range(count), name)
    found.labels = dict(labels)
    return found


def under(test: str, series: list[Series], load: str = "none", **changed: Any) -> Result:
    conditions = Conditions(load=load, policy="fifo", cpu_config=changed.pop("config", "shared"))
    return Result(
        **{"test": test, "status": "measured", "series": series} | changed, conditions=conditions
    )


def run(*results: Result) -> RunDocument:
    return make.document(results=list(results))


CREATED = under(
    "SEM-P-NEW",
    [
        one(name, case=case, kind=kind, scope=scope)
        for name in ("create", "delete")
        for case in ("used", "unused")
        for kind, scope in (("unnamed", "thread"), ("unnamed", "process"), ("named", "both"))
    ],
)
RING = under("THR-P-SLS", [one("switch", threads=2), one("switch", threads=128)])


def ring(**changed: Any) -> Result:
    return under("THR-P-SLS", [one("switch", threads=2)], **changed)


def contended(*waiters: int, asked: tuple[int, ...] = (1, 8, 128)) -> Result:
    series = [one("acquire", kind="unnamed", waiters=number) for number in waiters]
    return under("SEM-P-ARC", series, params={"waiters": list(asked), "kinds": ["unnamed"]})


def found(address: str | Address, *results: Result, **conditions: str) -> Resolved:
    parsed = parse_address(address) if isinstance(address, str) else address
    return resolve(parsed, run(*results), **conditions)


CREATE = {scope: Address("SEM-P-NEW", ("used", "create"), {"kind": "named", "scope": scope})
          for scope in ("thread", "process")}  # fmt: skip
UNNAMED = Address("SEM-P-NEW", ("used", "create"), {"kind": "unnamed", "scope": "process"})


@pytest.mark.parametrize(
    ("address", "result", "place"),
    [
        ("SEM-P-NEW/used/unnamed/thread/create", CREATED, 0),
        ("SEM-P-NEW/thread/unnamed/used/create", CREATED, 0),
        (UNNAMED, CREATED, 1),  # labels by name
        # what is measured once serves both scopes
        *((f"SEM-P-NEW/used/named/{scope}/create", CREATED, 2) for scope in CREATE),
        *((address, CREATED, 2) for address in CREATE.values()),
        ("thr-p-sls/128", RING, 1),  # the series goes without saying where there is one
        ("SEM-P-ARC/128/acquire", contended(1, 8, 128), 2),
    ],
)
def test_an_address_names_one_series(address: str | Address, result: Result, place: int) -> None:
    resolved = found(address, result, make.result())
    assert resolved.series is result.series[place] and resolved.notes == []


def test_published_round_trips_are_those_on_one_cpu() -> None:
    """A run that also has them across two CPUs."""
    scopes = ("thread", "process")
    series = [
        one(name, kind="unnamed", scope=scope, **placement)
        for scope in scopes
        for name, placement in (
            ("round_trip", {}),
            ("context_switch", {}),
            ("signal_wait", {}),
            ("cross_cpu_round_trip", {"placement": "two-cpus"}),
        )
    ]
    both = under("SEM-P-RTP", series)
    addresses = [each.address for each in figures_of("SEM-P-RTP")]
    names = set()
    for address in addresses:
        plain = Address(address.test, address.parts, address.labels)
        resolved = found(plain, both)
        assert resolved.series is not None and "placement" not in resolved.series.labels
        names.add(resolved.series.name)
    assert names == {"round_trip", "context_switch"}
    across = found("SEM-P-RTP/unnamed/thread/two-cpus/cross_cpu_round_trip", both)
    assert across.series is series[3]


class Counted(dict[str, int | str]):
    """Labels that count how often they are looked at."""

    looks = 0

    def items(self) -> Any:
        Counted.looks += 1
        return super().items()


def test_a_series_is_found_without_a_look_at_all_others() -> None:
    """A gate asks for each of them: of 1000 that took 10 s."""
    many = under("THR-P-SLS", [one("switch", threads=number) for number in range(60)])
    for series in many.series:
        series.labels = Counted(series.labels)
    Counted.looks = 0
    for number, series in enumerate(many.series):
        assert found(f"THR-P-SLS/{number}/switch", many).series is series
    assert Counted.looks <= 2 * len(many.series)


def test_an_error_does_not_name_hundreds_of_series() -> None:
    many = under("THR-P-SLS", [one("switch", threads=number) for number in range(500)])
    with pytest.raises(AddressError) as raised:
        found("THR-P-SLS/700/switch", many)
    assert len(raised.value.cause) < 500 and raised.value.cause.endswith("threads 19; ...")


DENIED = Result(test="THR-P-SLS", status="denied", reason="no right", remedy="ask")
DOCTOR = Result(
    test="THR-P-SLS", status="denied", reason="no right", remedy="ask", command="hardstone doctor"
)
FAILED = under("THR-B-RR", [one("first_slice")], status="failed", reason="no burst was left whole")


@pytest.mark.parametrize(
    ("address", "results", "told"),
    [
        ("THR-P-SLS/12", [RING], "there are threads 2; threads 128"),  # a number is whole
        ("SEM-P-NEW/used/unnamed/create", [CREATED], "2 series of create match"),
        (
            "SEM-P-NEW/used/unnamed/create",
            [CREATED],
            "scope thread; case used, kind unnamed, scope process",
        ),
        ("SEM-P-NEW/used/named", [CREATED], "has the series create, delete"),
        ("TMR-P-LAT", [RING], "the run has no TMR-P-LAT; hardstone run TMR-P-LAT"),
        ("THR-P-SLS/2", [RING, ring(config="single")], "2 results of THR-P-SLS; name the load"),
        ("THR-P-SLS/2", [DENIED], "THR-P-SLS/2: denied, no right; ask"),
        ("THR-P-SLS/2", [DOCTOR], "no right; ask: hardstone doctor"),
        ("THR-P-SLS/2", [under("THR-P-SLS", [one("switch", 0, threads=2)])], "has no values"),
        # another number does not stand for one that nobody asked for
        ("SEM-P-ARC/128", [contended(1, 8, 97, asked=(1, 8, 97))], "no series with 128"),
        ("SEM-P-ARC/128", [contended(1, 8)], "no series with 128"),  # cut off
        ("SEM-P-ARC/8", [contended(1, 97)], "no series with 8"),  # more do not stand for fewer
        ("THR-B-RR", [FAILED], "no verdict (failed: no burst was left whole)"),
        (
            Address("THR-P-SLS", ("2",), conditions={"load": "heavy"}),
            [RING],
            "under load heavy; hardstone run THR-P-SLS --load heavy",
        ),
    ],
)
def test_without_one_series_it_says_why_and_what_to_type(
    address: str | Address, results: list[Result], told: str
) -> None:
    with pytest.raises(AddressError) as caught:
        found(address, *results)
    assert told in str(caught.value)


@pytest.mark.parametrize("labels", [{}, {"waiters": "128"}])
def test_fewer_waiters_than_asked_for_are_said(labels: dict[str, str]) -> None:
    parts = ("acquire",) if labels else ("128", "acquire")
    resolved = found(Address("SEM-P-ARC", parts, labels), contended(1, 8, 97))
    assert resolved.series.labels["waiters"] == 97
    assert resolved.notes == ["97 waiters instead of 128"]


def test_a_behaviour_is_its_verdicts() -> None:
    verdict = Verdict(name="fair", passed=True, evidence="33, 33, 34 %")
    behaviour = under("THR-B-RR", [one("first_slice")], verdicts=[verdict])
    assert found("THR-B-RR", behaviour).verdicts == [verdict]
    assert found("THR-B-RR/first_slice", behaviour).series is behaviour.series[0]


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({"status": "failed", "reason": "throttled"}, "failed: throttled"),
        ({"complete": False}, "cut off before it ended"),
        ({"interrupted": True}, "cut off before it ended"),
    ],
)
def test_a_result_that_is_not_whole_says_so(changed: dict[str, Any], note: str) -> None:
    assert found("THR-P-SLS/2", ring(**changed)).notes == [note]


@pytest.mark.parametrize("text", ["", "/", "THR-P-SLS/", "THR-P-SLS//switch", "/switch"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(Exception, match="not the address of a figure"):
        parse_address(text)


@pytest.mark.parametrize(
    ("values", "statistic", "expected"),
    [
        ([10, 20, 30], "min", 10),
        ([10, 20, 30], "mean", 20),
        ([10, 20, 30], "max", 30),
        (range(1, 2001), "p99", pytest.approx(1980, rel=0.01)),
    ],
)
def test_what_a_series_holds(values: list[int], statistic: str, expected: object) -> None:
    assert value_of(make.series(values), statistic) == expected


# ---- values ----


@pytest.mark.parametrize(
    ("values", "statistic", "why"),
    [
        (np.arange(2000), "p99.9999", "p99.9999 needs 10.000.000 values, has 2.000"),
        *(([], statistic, "has no values") for statistic in ("min", "mean", "max")),
        ([1], "time_99", "has no 'time_99'"),
    ],
)
def test_what_a_series_cannot_know(values: list[int], statistic: str, why: str) -> None:
    with pytest.raises(AddressError, match=why):
        value_of(make.series(values), statistic)


@pytest.mark.parametrize(("statistic", "share"), [("time_90", 0.9), ("time_99", 0.99)])
def test_time_in_sections_is_that_of_the_operation(statistic: str, share: float) -> None:
    result = kernel_result()
    expected = kernel_time_of(result).whole.blocking.lengths[share]
    assert is_of_kernel_time(statistic)
    assert length_of(found("KRN-P-PRE/all/dispatch", result), statistic) == expected


@pytest.mark.parametrize(
    ("result", "why"),
    [
        (kernel_result(share=None), "the time in the kernel was not counted"),
        (kernel_result(count=100), "time_99 needs 1.053 values, has 300"),
        (kernel_result(count=50), "the reference .* is missing or short"),
        (with_reference_at_work(kernel_result(), still=0.6), "other processes had the CPU during"),
        (make.result(), "TMR-P-LAT has no time in kernel sections"),
    ],
)
def test_time_in_sections_that_cannot_be_told(result: Result, why: str) -> None:
    is_kernel = result.test == "KRN-P-PRE"
    address = "KRN-P-PRE/all/dispatch" if is_kernel else "TMR-P-LAT/total/wakeup"
    with pytest.raises(AddressError, match=why):
        length_of(found(address, result), "time_99")
