"""A subject whose figures a test can change."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

from hardstone.model import Result, Series, Unit, Verdict
from hardstone.systems.criteria import load_criteria, rated_figures
from hardstone.systems.subjects import Amount, Missing, Subject, SubjectSeries
from tests.changed_copy import replace

Key = tuple[str, str]  # address, statistic


@dataclass(frozen=True)
class MadeHeld:
    test: str
    name: str
    labels: Mapping[str, str]
    amounts: Mapping[str, Amount]
    parts: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()
    unit: Unit = "ns"
    series: Series | None = None
    result: Result | None = None

    @property
    def address(self) -> str:
        return "/".join([self.test, *self.labels.values(), *self.parts, self.name])

    def statistics(self) -> list[str]:
        return list(self.amounts)

    def amount(self, statistic: str) -> Amount | Missing:
        return self.amounts.get(statistic, Missing("left out"))


@dataclass(frozen=True)
class MadeSubject:
    """`claims` has the claims of a test; one that is not there was not run."""

    series: tuple[MadeHeld, ...]
    claims: Mapping[str, tuple[Verdict, ...]] = field(default_factory=dict)
    configuration: str = "out of the box"
    id: str = "made"
    label: str = "made up"
    is_published: bool = False
    year: str = "2026"

    @property
    def conditions(self) -> Mapping[str, str]:
        return {"configuration": self.configuration, "load": "heavy"}

    def held(self) -> Sequence[SubjectSeries]:
        return self.series

    def verdicts(self, test: str) -> Sequence[Verdict] | Missing:
        return self.claims.get(test) or Missing("not run")

    def tests(self) -> list[str]:
        return list(dict.fromkeys(one.test for one in self.series))

    def changed(self, change: Callable[[str, str, Amount], Amount | None]) -> MadeSubject:
        """With each amount as `change(address, statistic, amount)` gives it; None: left out."""
        series = []
        for one in self.series:
            new = {name: change(one.address, name, has) for name, has in one.amounts.items()}
            series.append(replace(one, amounts={k: v for k, v in new.items() if v is not None}))
        return replace(self, series=tuple(series))

    def with_values(self, values: Mapping[Key, float]) -> MadeSubject:
        """With other values at these addresses and statistics."""

        def change(address: str, statistic: str, amount: Amount) -> Amount:
            value = values.get((address, statistic))
            return amount if value is None else replace(amount, value=value, below=None, above=None)

        return self.changed(change)

    def with_amount(self, key: Key, amount: Amount) -> MadeSubject:
        """With a figure that may have been missing."""
        series = (
            replace(one, amounts={**one.amounts, key[1]: amount}) if one.address == key[0] else one
            for one in self.series
        )
        return replace(self, series=tuple(series))

    def keys(self) -> list[Key]:
        return [(one.address, name) for one in self.series for name in one.amounts]


def copy_of(subject: Subject) -> MadeSubject:
    """The figures and claims of `subject`."""
    statistics = ("min", "mean", "max")
    tests = {test for one in load_criteria().categories.values() for test in one.behaviours}
    series = []
    for one in subject.held():
        amounts = {name: one.amount(name) for name in statistics}
        known = {name: has for name, has in amounts.items() if isinstance(has, Amount)}
        series.append(MadeHeld(one.test, one.name, one.labels, known, one.parts))
    claims = {test: subject.verdicts(test) for test in sorted(tests)}
    return MadeSubject(
        tuple(series),
        {test: tuple(has) for test, has in claims.items() if not isinstance(has, Missing)},
        subject.conditions.get("configuration", "out of the box"),
    )


def all_rated(value_ns: Callable[[str, str], float], *, is_failing: bool = False) -> MadeSubject:
    """A subject with every rated figure, of `value_ns(address, role)`, and every behaviour."""
    series: dict[str, MadeHeld] = {}
    for category in load_criteria().categories:
        for one in rated_figures(category):
            amounts = {}
            for role in one.roles:
                statistic = one.statistic if role == "worst" else "mean"
                value = value_ns(one.address, role)
                amounts[statistic] = Amount("ns", statistic, f"made {one.address}", value=value)
            series[one.address] = MadeHeld(one.test, one.series, one.labels, amounts)
    claims = {
        test: (Verdict(name="claim", passed=not is_failing, evidence="as made"),)
        for criteria in load_criteria().categories.values()
        for test in criteria.behaviours
    }
    return MadeSubject(tuple(series.values()), claims)
