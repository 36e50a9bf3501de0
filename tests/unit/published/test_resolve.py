"""From an address to the one series of a run, and why there is none."""

from __future__ import annotations

from typing import Any

import pytest

from hardstone.model import Conditions, Result, RunDocument, Series, Verdict
from hardstone.published import Address, AddressError, Resolved, parse_address, resolve
from tests.unit.stats import make


def one(name: str, count: int = 3, **labels: int | str) -> Series:
    found = make.series(range(count), name)
    found.labels = dict(labels)
    return found


def under(test: str, series: list[Series], load: str = "none", **changed: Any) -> Result:
    conditions = Conditions(load=load, policy="fifo", cpu_config=changed.pop("config", "shared"))
    return Result(test=test, status="measured", conditions=conditions, series=series, **changed)


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


def contended(*waiters: int, asked: tuple[int, ...] = (1, 8, 128)) -> Result:
    series = [one("acquire", kind="unnamed", waiters=number) for number in waiters]
    return under("SEM-P-ARC", series, params={"waiters": list(asked), "kinds": ["unnamed"]})


def found(text: str, *results: Result, **conditions: str) -> Resolved:
    return resolve(parse_address(text), run(*results), **conditions)


def labels(resolved: Resolved) -> dict[str, int | str]:
    assert resolved.series is not None
    return resolved.series.labels


def refused(text: str, *results: Result, **conditions: str) -> str:
    with pytest.raises(AddressError) as caught:
        found(text, *results, **conditions)
    return str(caught.value)


@pytest.mark.parametrize(
    "text", ["SEM-P-NEW/used/unnamed/thread/create", "SEM-P-NEW/thread/unnamed/used/create"]
)
def test_values_name_one_series(text: str) -> None:
    resolved = found(text, CREATED, RING)
    assert resolved.series is CREATED.series[0] and resolved.notes == []


def test_labels_by_name() -> None:
    address = Address("SEM-P-NEW", ("used", "create"), {"kind": "unnamed", "scope": "process"})
    assert resolve(address, run(CREATED)).series is CREATED.series[1]


def test_the_series_goes_without_saying_where_there_is_one() -> None:
    assert labels(found("thr-p-sls/128", RING)) == {"threads": 128}


def test_a_number_is_whole() -> None:
    assert "there are threads 2; threads 128" in refused("THR-P-SLS/12", RING)


@pytest.mark.parametrize("scope", ["thread", "process"])
def test_what_is_measured_once_serves_both_scopes(scope: str) -> None:
    assert labels(found(f"SEM-P-NEW/used/named/{scope}/create", CREATED))["scope"] == "both"
    address = Address("SEM-P-NEW", ("used", "create"), {"kind": "named", "scope": scope})
    assert labels(resolve(address, run(CREATED)))["scope"] == "both"


def test_several_that_fit_are_refused_with_their_labels() -> None:
    told = refused("SEM-P-NEW/used/unnamed/create", CREATED)
    assert "2 series of create match" in told
    assert "scope thread; case used, kind unnamed, scope process" in told


def test_an_unnamed_series_among_several_is_refused() -> None:
    assert "has the series create, delete" in refused("SEM-P-NEW/used/named", CREATED)


def test_what_was_not_run_says_what_to_type() -> None:
    assert "the run has no TMR-P-LAT; hardstone run TMR-P-LAT" in refused("TMR-P-LAT", RING)


def test_the_load_that_a_study_names_is_needed() -> None:
    address = Address("THR-P-SLS", ("2",), conditions={"load": "heavy"})
    with pytest.raises(
        AddressError, match="under load heavy; hardstone run THR-P-SLS --load heavy"
    ):
        resolve(address, run(RING))
    loaded = under("THR-P-SLS", [one("switch", threads=2)], load="heavy")
    assert resolve(address, run(RING, loaded)).series is loaded.series[0]
    assert resolve(address, run(RING, loaded), load="none").series is loaded.series[0]


def test_several_results_are_chosen_from_by_conditions() -> None:
    single = under("THR-P-SLS", [one("switch", threads=2)], config="single")
    assert "2 results of THR-P-SLS; name the load" in refused("THR-P-SLS/2", RING, single)
    chosen = found("THR-P-SLS/2", RING, single, cpu_config="single")
    assert chosen.result is single


def test_what_could_not_be_measured_says_why() -> None:
    denied = Result(test="THR-P-SLS", status="denied", reason="no right", remedy="ask")
    assert refused("THR-P-SLS/2", denied) == "THR-P-SLS/2: denied, no right; ask"
    denied.command = "hardstone doctor"
    assert refused("THR-P-SLS/2", denied).endswith("no right; ask: hardstone doctor")


def test_a_series_without_values_is_no_figure() -> None:
    empty = under("THR-P-SLS", [one("switch", count=0, threads=2)])
    assert "the series has no values" in refused("THR-P-SLS/2", empty)


@pytest.mark.parametrize("labels_", [{}, {"waiters": "128"}])
def test_fewer_waiters_than_asked_for_are_said(labels_: dict[str, str]) -> None:
    parts = ("acquire",) if labels_ else ("128", "acquire")
    resolved = resolve(Address("SEM-P-ARC", parts, labels_), run(contended(1, 8, 97)))
    assert labels(resolved)["waiters"] == 97
    assert resolved.notes == ["97 waiters instead of 128"]


def test_as_many_waiters_as_published_need_no_note() -> None:
    resolved = found("SEM-P-ARC/128/acquire", contended(1, 8, 128))
    assert (labels(resolved)["waiters"], resolved.notes) == (128, [])


def test_another_number_does_not_stand_for_one_that_nobody_asked_for() -> None:
    assert "no series with 128" in refused("SEM-P-ARC/128", contended(1, 8, 97, asked=(1, 8, 97)))


def test_what_was_cut_off_is_not_taken_for_fewer() -> None:
    assert "no series with 128" in refused("SEM-P-ARC/128", contended(1, 8))


def test_more_do_not_stand_for_fewer() -> None:
    assert "no series with 8" in refused("SEM-P-ARC/8", contended(1, 97))


def test_a_behaviour_is_its_verdicts() -> None:
    verdict = Verdict(name="fair", passed=True, evidence="33, 33, 34 %")
    behaviour = under("THR-B-RR", [one("first_slice")], verdicts=[verdict])
    assert found("THR-B-RR", behaviour).verdicts == [verdict]
    assert found("THR-B-RR/first_slice", behaviour).series is behaviour.series[0]


def test_a_behaviour_without_a_verdict_says_why() -> None:
    behaviour = under("THR-B-RR", [one("first_slice")])
    behaviour.status, behaviour.reason = "failed", "no burst was left whole"
    assert "no verdict (failed: no burst was left whole)" in refused("THR-B-RR", behaviour)


@pytest.mark.parametrize(
    ("changed", "note"),
    [
        ({"status": "failed", "reason": "throttled"}, "failed: throttled"),
        ({"complete": False}, "cut off before its end"),
        ({"interrupted": True}, "cut off before its end"),
    ],
)
def test_a_result_that_is_not_whole_says_so(changed: dict[str, Any], note: str) -> None:
    ring = under("THR-P-SLS", [one("switch", threads=2)])
    for name, value in changed.items():
        setattr(ring, name, value)
    assert found("THR-P-SLS/2", ring).notes == [note]


@pytest.mark.parametrize("text", ["", "/", "THR-P-SLS/", "THR-P-SLS//switch", "/switch"])
def test_what_is_no_address(text: str) -> None:
    with pytest.raises(Exception, match="not the address of a figure"):
        parse_address(text)
