"""Systems with any figures, bounds and gaps, for hypothesis."""

from __future__ import annotations

from dataclasses import replace

from hypothesis import strategies as st

from hardstone.model import Verdict
from hardstone.rating import load_criteria
from hardstone.subjects import Amount
from tests.unit.rating.made_subject import MadeSubject, all_rated

PERFECT = all_rated(lambda address, role: 1000.0)
KEYS = PERFECT.keys()
TESTS = sorted(PERFECT.claims)
CONFIGURATIONS = list(load_criteria().configurations)

# From far below the first anchor (times 16) to far above the last, and blocks of 10 ms and more.
durations = st.floats(10, 3e7)
amounts = st.one_of(
    durations.map(lambda value: {"value": value}),
    durations.map(lambda value: {"below": value}),
    durations.map(lambda value: {"above": value}),
    st.none(),
)


@st.composite
def systems(draw: st.DrawFn) -> MadeSubject:
    """A system with any figures, bounds and gaps, and behaviours that fail or are not known."""
    usual = draw(durations)
    drawn = draw(st.dictionaries(st.sampled_from(KEYS), amounts, max_size=8))
    failing = draw(st.sets(st.sampled_from(TESTS), max_size=2))
    unknown = draw(st.sets(st.sampled_from(TESTS), max_size=2))

    def change(address: str, statistic: str, amount: Amount) -> Amount | None:
        said = drawn.get((address, statistic), {"value": usual})
        return None if said is None else amount_of(amount, said)

    claims = {
        test: (Verdict(name="claim", passed=test not in failing, evidence="-"),)
        for test in TESTS
        if test not in unknown
    }
    configuration = draw(st.sampled_from(CONFIGURATIONS))
    return replace(PERFECT.changed(change), claims=claims, configuration=configuration)


def amount_of(amount: Amount, said: dict[str, float]) -> Amount:
    return Amount(amount.unit, amount.statistic, amount.source, **said)  # type: ignore[arg-type]
