"""Holds a run against baseline runs: ratios of quantiles, series by series.

One run each shows what is there, and nothing of what changes from run to run. Against several
baselines a figure passes, or fails, if it does against each of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from typing import NamedTuple

from hardstone.gate.judge import Finding, doubted
from hardstone.gate.limit import CLAIMS
from hardstone.gate.outcome_document import WORST_FIRST, Check
from hardstone.gate.weighed_system import Doubts, WeighedRun
from hardstone.model import Unit
from hardstone.stats.calibrated import work_of
from hardstone.stats.contradictions import is_contradictory
from hardstone.stats.dependent_values import supports
from hardstone.stats.kind_of_time import why_incomparable
from hardstone.stats.pair_gate import Outcome
from hardstone.stats.two_runs import BETWEEN_TWO_RUNS, QuantileRatio, compare_quantile
from hardstone.stats.unlike_requests import UnlikeParameter, unlike_parameters
from hardstone.subjects import MeasuredRun, MeasuredSeries, Missing, figure_rows

MARGINS = {0.5: 0.10, 0.99: 0.25, 0.999: 0.50}
_TOO_SHORT = (
    "quantiles that the baseline is too short to bound within the margin: only what is clearly "
    "worse would have failed"
)
_TOO_FEW = "series with too few values for a median of dependent values"
_MAXIMA = "maxima of runs are not compared: they grow with the length of a run (see --limits)"
_OPEN = Finding("INCONCLUSIVE", "-", _TOO_SHORT)
_NAMES = {0.5: "p50", 0.99: "p99", 0.999: "p99.9"}


class BaselineChecks(NamedTuple):
    """The checks, and in words what of the baselines was not compared."""

    checks: list[Check]
    notes: list[str]


class _Compared(NamedTuple):
    """One quantile of one series against one baseline."""

    key: tuple[str, str]  # address, statistic
    finding: Finding
    unit: Unit | None
    wanted: str
    source: str


def check_against_runs(
    systems: Sequence[MeasuredRun], baselines: Sequence[Sequence[MeasuredRun]]
) -> BaselineChecks:
    """A check for each quantile and each test of behaviour of `baselines`.

    `systems` are those of one run, each of `baselines` too; the same conditions are compared. What
    a baseline has and the run has not is INCONCLUSIVE. InputError if nothing can be compared.
    """
    checks: list[Check] = []
    left_out: Counter[str] = Counter()
    unlike: dict[str, None] = {}
    for reference in dict.fromkeys(one.condition for base in baselines for one in base):
        bases = [one for base in baselines for one in base if one.condition == reference]
        own = next((one for one in systems if one.condition == reference), None)
        by_key: dict[tuple[str, str], list[_Compared]] = {}
        for base in bases:
            unlike |= dict.fromkeys(_unlike(own, base) if own is not None else [])
            for one in _against_one(own, base, left_out):
                by_key.setdefault(one.key, []).append(one)
        label = WeighedRun(own or bases[0])
        system = own.id if own is not None else systems[0].id
        checks += [_joined(system, label.condition, found) for found in by_key.values()]
    if checks and {one.statistic for one in checks} == {CLAIMS} and _has_short(left_out):
        checks.append(_nothing_timed(systems[0].id))
    notes = [
        *unlike,
        _MAXIMA,
        *(f"not compared: {count} {what}" for what, count in left_out.items()),
    ]
    if len(baselines) == 1:
        notes.insert(0, BETWEEN_TWO_RUNS)
    return BaselineChecks(checks, notes)


def _has_short(left_out: Counter[str]) -> bool:
    return bool(left_out[_TOO_SHORT] + left_out[_TOO_FEW])


def _nothing_timed(system: str) -> Check:
    """Claims that hold say nothing of times: without one that was compared nothing passes."""
    return Check(
        outcome="INCONCLUSIVE",
        system=system,
        condition="-",
        address="all series",
        statistic="p50",
        wanted="as fast as the baseline",
        found="-",
        reason="no time could be compared: the baseline is too short",
    )


def _unlike(own: MeasuredRun, base: MeasuredRun) -> list[str]:
    """What the figures of both depend on and is not the same: unlike runs are not compared
    silently."""
    ours, theirs = own.conditions, base.conditions
    return [
        f"the runs differ in {name}: {ours.get(name, 'not known')}, and {base.id} "
        f"{theirs.get(name, 'not known')}"
        for name in {**theirs, **ours}
        if ours.get(name) != theirs.get(name)
    ]


def _joined(system: str, condition: str, found: Sequence[_Compared]) -> Check:
    """PASS or FAIL only where it is so against every baseline; the worst of all is shown."""
    outcomes = {one.finding.outcome for one in found}
    shown = min(found, key=lambda one: WORST_FIRST.index(one.finding.outcome))
    finding = shown.finding
    if len(outcomes) > 1:
        count = Counter(one.finding.outcome for one in found)
        said = ", ".join(f"{count[one]} {one}" for one in WORST_FIRST if count[one])
        why = f"the baselines differ among each other: {said}"
        finding = Finding("INCONCLUSIVE", finding.found, why, finding.value)
    return Check(
        outcome=finding.outcome,
        system=system,
        condition=condition,
        address=shown.key[0],
        statistic=shown.key[1],
        wanted=shown.wanted,
        found=finding.found,
        reason=finding.reason,
        unit=shown.unit,
        value=finding.value,
        low=finding.low,
        high=finding.high,
        source=shown.source,
    )


def _against_one(
    own: MeasuredRun | None, base: MeasuredRun, left_out: Counter[str]
) -> list[_Compared]:
    found = [*_claims(own, base, left_out)]
    subjects = [base] if own is None else [base, own]
    unlike = None if own is None else why_incomparable(base.document, own.document)
    for row in figure_rows(subjects):
        first, other = row.found[0], row.found[1] if own is not None else None
        if not isinstance(first, MeasuredSeries):
            continue
        why = _why_not(first)
        if why:
            left_out[why] += 1
            continue
        held = other if isinstance(other, MeasuredSeries) else None
        for q in _quantiles_of(first) if held is not None else [0.5]:
            compared = _quantile(row.address, q, (base, first), (own, held), unlike or "")
            if compared.finding is _OPEN:
                left_out[_TOO_SHORT] += 1
            else:
                found.append(compared)
    return found


def _quantiles_of(first: MeasuredSeries) -> list[float]:
    """Those that the baseline bounds; of a rate the median: its upper end is the good one."""
    wanted = [0.5] if first.unit == "bytes_per_s" else list(MARGINS)
    return [q for q in wanted if supports(q, first.series.count)]


def _why_not(first: MeasuredSeries) -> str:
    """Why a series of the baseline says nothing that can be compared."""
    if first.unit == "count":
        return "series of counts, of which more may be better or worse"
    if first.series.derived:
        return "derived series"
    if not supports(0.5, first.series.count):
        return _TOO_FEW
    return ""


def _quantile(
    address: str,
    q: float,
    base: tuple[MeasuredRun, MeasuredSeries],
    own: tuple[MeasuredRun | None, MeasuredSeries | None],
    unlike: str,
) -> _Compared:
    run, held = own
    is_rate = base[1].unit == "bytes_per_s"
    wanted = f"at most {100 * MARGINS[q]:.0f} % {'below' if is_rate else 'above'} {base[0].id}"
    source = f"{base[0].id} {base[1].address} {_NAMES[q]}"
    if run is None or held is None:
        finding = Finding("INCONCLUSIVE", "missing", _absent(run, base[0], address))
    elif held.unit != base[1].unit:
        finding = Finding("INCONCLUSIVE", "-", "it has another unit than in the baseline")
    else:
        finding = _of_pair((base[0], base[1]), (run, held), q, unlike)
    return _Compared((address, _NAMES[q]), finding, base[1].unit, wanted, source)


def _of_pair(
    base: tuple[MeasuredRun, MeasuredSeries],
    own: tuple[MeasuredRun, MeasuredSeries],
    q: float,
    unlike: str,
) -> Finding:
    """The outcome of one quantile; _OPEN where the baseline could not decide it."""
    first, held = base[1], own[1]
    quantum = _quantum(first, held)
    ratio = compare_quantile(first.series, held.series, q, margin=MARGINS[q], quantum=quantum)
    finding = _of_ratio(ratio, first.unit)
    unlike = unlike or _other_work(first, held)
    doubts = [_doubts(*base), _doubts(*own), Doubts(f"not comparable: {unlike}" if unlike else "")]
    is_clear = not any(one.barring or one.weakening for one in doubts)
    if is_clear and ratio.outcome == "not decided" and not _bounds(first, q):
        return _OPEN
    for one in doubts:
        finding = doubted(finding, one)
    return finding


def _other_work(first: MeasuredSeries, held: MeasuredSeries) -> str:
    """Parameters or calibrated work that make the times of both unlike; "": none do."""
    before = work_of(first.series, first.result.calibrated)
    now = work_of(held.series, held.result.calibrated)
    unlike = [
        *unlike_parameters(first.result, held.result),
        *(
            UnlikeParameter(name, before[name], now[name])
            for name in before
            if now.get(name, before[name]) != before[name]
        ),
    ]
    told = [f"{one.name} {one.other}, in the baseline {one.first}" for one in unlike]
    return "; ".join(told)


def _quantum(*held: MeasuredSeries) -> float:
    """The step of the coarser clock; a series that was not timed has none."""
    found = [one.result.instrument.quantum_ns for one in held if one.result.instrument is not None]
    return max(found, default=0.0) if held[0].unit == "ns" else 0.0


def _absent(run: MeasuredRun | None, base: MeasuredRun, address: str) -> str:
    if run is None:
        return f"the run has nothing under {WeighedRun(base).condition}"
    test = address.partition("/")[0]
    results = [one for one in run.results if one.test == test]
    if not results:
        return f"the run has no {test}"
    if results[0].status != "measured":
        return f"{results[0].status}: {results[0].reason or 'no reason was given'}"
    return "the run does not have this series"


def _doubts(run: MeasuredRun, held: MeasuredSeries) -> Doubts:
    if is_contradictory(held.series):
        return Doubts(barring=f"cannot be true: see the top of {run.id}")
    found = WeighedRun(run).doubts_of(held.result)
    return Doubts(
        f"{run.id}: {found.barring}" if found.barring else "",
        f"{run.id}: {found.weakening}" if found.weakening else "",
    )


def _bounds(base: MeasuredSeries, q: float) -> bool:
    """Whether the baseline is long enough to find no difference to itself."""
    own = compare_quantile(base.series, base.series, q, margin=MARGINS[q], quantum=_quantum(base))
    return own.outcome == "no difference seen"


def _of_ratio(ratio: QuantileRatio, unit: Unit) -> Finding:
    """Worse is higher, of a rate lower."""
    worse = "lower" if unit == "bytes_per_s" else "higher"
    outcomes: dict[str, Outcome] = {"not decided": "INCONCLUSIVE", worse: "FAIL"}
    outcome = outcomes.get(ratio.outcome, "PASS")
    found = "-" if ratio.ratio is None else f"x{ratio.ratio:.3g} ({_ends(ratio)})"
    reason: str = ratio.outcome
    if outcome == "INCONCLUSIVE":
        is_bounded = ratio.low is not None and ratio.high is not None
        reason = "the interval reaches across a margin" if is_bounded else ratio.reason
    return Finding(outcome, found, reason, ratio.ratio, ratio.low, ratio.high)


def _ends(ratio: QuantileRatio) -> str:
    low, high = ("unbounded" if one is None else f"x{one:.3g}" for one in (ratio.low, ratio.high))
    return f"{low} to {high}"


def _claims(own: MeasuredRun | None, base: MeasuredRun, left_out: Counter[str]) -> list[_Compared]:
    found = []
    for test in base.tests():
        before = base.verdicts(test)
        if isinstance(before, Missing):
            continue
        if not all(one.passed for one in before):
            left_out["tests of behaviour that fail in the baseline too"] += 1
            continue
        finding = _claims_now(own, base, test)
        wanted = f"all claims hold, as in {base.id}"
        found.append(_Compared((test, CLAIMS), finding, None, wanted, f"{base.id} {test}"))
    return found


def _claims_now(own: MeasuredRun | None, base: MeasuredRun, test: str) -> Finding:
    verdicts = Missing(_absent(own, base, test)) if own is None else own.verdicts(test)
    if own is None or isinstance(verdicts, Missing):
        why = verdicts.reason if isinstance(verdicts, Missing) else ""
        return Finding("INCONCLUSIVE", "missing", why)
    failed = [one for one in verdicts if not one.passed]
    text = f"{len(verdicts) - len(failed)} of {len(verdicts)} claims hold"
    finding = Finding("PASS", text)
    if failed:
        why = f"{failed[0].name}: {failed[0].evidence}"
        finding = Finding("FAIL", text, why, is_proof=True)
    for subject in (base, own):
        for one in subject.results:
            if one.test == test:
                finding = doubted(finding, WeighedRun(subject).doubts_of(one))
    return finding
