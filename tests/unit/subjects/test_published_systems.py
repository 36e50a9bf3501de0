"""Published systems as subjects: every figure as it is in published.json, nothing invented."""

from __future__ import annotations

import pytest

from hardstone.errors import InputError
from hardstone.published import all_figures, load_studies
from hardstone.subjects import Amount, Missing, published_ids, published_system
from hardstone.subjects.published_system import amount_of


def test_each_system_has_a_name_of_its_own() -> None:
    ids = published_ids()
    assert len(set(ids)) == len(ids) == sum(len(one.systems) for one in load_studies().values())


@pytest.mark.parametrize("key", published_ids())
def test_a_system_names_study_and_year(key: str) -> None:
    system = published_system(f"published:{key}")
    assert system.id == f"published:{key}" and system.is_published
    assert system.conditions["study"] and system.year.isdecimal() and len(system.year) == 4


def test_values_have_the_unit_of_the_series() -> None:
    found = {one.address: one for one in published_system("qnx").held()}
    tick = found["CLK-P-DUR/tick"].amount("mean")
    assert isinstance(tick, Amount) and (tick.value, tick.unit) == (2200.0, "ns")
    assert found["THR-P-SLS/128/switch"].amount("max") == Amount(
        "ns",
        "max",
        "dedicated-systems-2012/timings published:qnx THR-P-SLS/128/switch max",
        value=11500.0,
    )
    latency = {one.address: one for one in published_system("lynx").held()}
    throughput = latency["MSG-P-THR/mq/8192/thread/throughput"].amount("min")
    assert isinstance(throughput, Amount)
    assert (throughput.value, throughput.unit) == (46_200_000.0, "bytes_per_s")


def test_a_bound_stays_a_bound() -> None:
    found = {one.address: one for one in published_system("ce7").held()}
    mean = found["MUT-P-ARN/inherit/acquire"].amount("mean")
    assert isinstance(mean, Amount)
    assert (mean.value, mean.below, mean.highest, mean.lowest) == (None, 100.0, 100.0, 0.0)
    above = {one.address: one for one in published_system("linux").held()}
    worst = above["THR-P-PRE/thread/preemption"].amount("max")
    assert isinstance(worst, Amount)
    assert (worst.above, worst.highest, worst.lowest) == (1e6, None, 1e6)


def test_what_is_not_published_is_missing() -> None:
    found = {one.address: one for one in published_system("qnx").held()}
    assert found["CLK-P-DUR/tick"].amount("p99") == Missing("not published")
    assert isinstance(published_system("qnx").verdicts("MUT-B-INV"), Missing)


def test_behaviours_are_what_the_study_says() -> None:
    (claim,) = published_system("linux-rt").verdicts("THR-B-RR")  # type: ignore[misc]
    assert claim.passed and claim.evidence.startswith("pass, first slice 1 s")


def test_the_load_chooses_between_figures() -> None:
    def worst(load: str) -> object:
        found = {one.address: one for one in published_system("solaris-2proc", load).held()}
        return found["RSP-P-FIX/add/time"].amount("max")

    none, heavy, other = worst("none"), worst("heavy"), worst("latstat")
    assert isinstance(none, Amount) and none.value == 10_100_000
    assert isinstance(heavy, Amount) and heavy.value == 11_236_500_000
    assert other == heavy  # the study's heaviest


def test_an_unknown_system_is_refused_with_those_there_are() -> None:
    with pytest.raises(InputError, match="no study has a system 'vxworks'; there are lynx"):
        published_system("published:vxworks")


def test_every_figure_with_a_unit_can_be_had_as_an_amount() -> None:
    for figure in all_figures():
        if figure.system and figure.statistic:
            assert amount_of(figure).source


def test_words_are_no_amount() -> None:
    words = next(one for one in all_figures() if one.statistic is None)
    with pytest.raises(InputError, match="is no figure"):
        amount_of(words)
