"""Holds a run against other runs of a system: is it worse than one more of them would be.

What varies between runs is part of the decision (stats.run_gate), so one baseline decides nothing:
LEAST_RUNS are needed, of the boot of the run or of several, and within an hour of the run or over a
time as long as the distance to it. All else is INCONCLUSIVE, with how to get what is lacking; and
so is a run on a machine that was slower by the probe's own measure.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import log, log1p
from statistics import geometric_mean

import msgspec

from hardstone.gate.judge import Finding, WeighedRun, doubted
from hardstone.gate.limits import CLAIMS
from hardstone.gate.outcome import Check
from hardstone.model import RunDocument, Series
from hardstone.stats.conditions import DifferingParameter, differing_parameters
from hardstone.stats.consistency import is_contradictory, why_incomparable, work_of
from hardstone.stats.identity import highest_of, ranked_counts_of
from hardstone.stats.join import other_machine
from hardstone.stats.quantiles import is_printable, quantile_between, why_no_quantile
from hardstone.stats.run_gate import (
    DIFFERENCE,
    DIFFERENCE_ALONE,
    FASTEST,
    LEAST_RUNS,
    MEDIAN,
    ONE_IN,
    Figure,
    GatedFigure,
    Outcome,
    Suspect,
    gate_run,
)
from hardstone.systems.subjects import (
    MeasuredRun,
    MeasuredSeries,
    Missing,
    figure_rows,
    subjects_of,
)
from hardstone.units import format_span

ALL, EACH = "all series", "each series separately"
_TAILS = {MEDIAN: 0.5, "p99": 0.99, "p99.9": 0.999}
_FASTEST_COUNT = 10  # the tenth fastest value stands for the fastest: one alone is a glitch
_MAXIMA = "maxima are not compared: they grow with the length of a run (use --limits)"
_BRIEF_NS = 1e8
_BRIEF = "one disturbance may be in all of their values, so none of them fails by itself"
_NOTHING_TIMED = "no durations could be compared"
_BOOT = "os.boot_id"
_NEAR_S = 3600.0
_SLOWER_MACHINE = 1.10
_PAIRS = "interleaved pairs find smaller changes: hardstone gate --pairs"
_SUSPICIOUS = (
    "the run is outside the range expected of this system, but its fastest values are not that "
    "much slower: the run was disturbed, or only some values became slower. Measure again, or "
    "use hardstone gate --pairs"
)
Wanted = Callable[[str], bool]


@dataclass
class BaselineChecks:
    """The checks, in words what was not compared and why, and the ids of the runs that counted."""

    checks: list[Check] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    used: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class _Row:
    """One series in all baselines and in the run."""

    address: str
    bases: list[MeasuredSeries]
    own: MeasuredSeries


@dataclass(frozen=True)
class _Column:
    """One quantile of a series in all baselines and in the run, as logarithms: more is worse."""

    figure: Figure
    address: str
    values: list[float]


def check_against_runs(
    systems: Sequence[MeasuredRun],
    baselines: Sequence[Sequence[MeasuredRun]],
    *,
    difference: float = DIFFERENCE,
    is_wanted: Wanted = lambda test: True,
    more: str = "",
) -> BaselineChecks:
    """Checks of every test of `baselines` that `is_wanted`.

    `systems` are those of one run, each of `baselines` too; the same conditions are compared. A run
    passes if a change of all series by `difference` would have been found. What the baselines have
    and the run has not is INCONCLUSIVE. `more`: the command that measures more baselines.
    """
    found = BaselineChecks()
    for condition in dict.fromkeys(one.condition for base in baselines for one in base):
        bases = [one for base in baselines for one in base if one.condition == condition]
        own = next((one for one in systems if one.condition == condition), None)
        _BaselineGroup(systems[0].id, own, bases, difference, is_wanted, more).add_to(found)
    found.notes = list(dict.fromkeys([*found.notes, _MAXIMA]))
    found.used = list(dict.fromkeys(found.used))
    return found


def why_other_system(first: RunDocument, other: RunDocument) -> str | None:
    """Why figures of `other` are not those of another run of the system, request and tool of
    `first`; None: they are."""
    if first.tool.probe_sha256 != other.tool.probe_sha256:
        return "another build of the probe"
    if _request(first) != _request(other):
        return "another plan"
    return next(
        (
            note
            for one, base in zip(subjects_of(other), subjects_of(first), strict=False)
            for note in _differences(one, base)
        ),
        other_machine(first.system, other.system) or None,
    )


def more_runs(base: RunDocument) -> str:
    """The command that measures more baselines of the kind of `base`."""
    words = base.plan.command
    if words[:1] != ["run"]:
        return "measure more of them"
    return f"hardstone {shlex.join(words)} --repeat {LEAST_RUNS}"


def _request(document: RunDocument) -> tuple[object, ...]:
    """What was asked for; parameters that a test calibrated are found, not asked."""
    plan = document.plan
    found = {name for result in document.results for name in result.calibrated}
    tests = [
        msgspec.structs.replace(
            one, params={name: one.params[name] for name in one.params if name not in found}
        )
        for one in plan.tests
    ]
    return tests, plan.cpu, plan.policy, plan.priority, plan.clock, plan.dma_latency_us, plan.trace


class _BaselineGroup:
    """A run under one condition, and the baselines under the same."""

    def __init__(
        self,
        system: str,
        own: MeasuredRun | None,
        bases: Sequence[MeasuredRun],
        difference: float,
        is_wanted: Wanted,
        more: str,
    ) -> None:
        self._system = system
        self._own = own
        self._named = bases
        self._difference = difference
        self._is_wanted = is_wanted
        self._more = more
        self._notes: list[str] = []
        self._left_out: Counter[str] = Counter()
        self._bases = [one for one in bases if self._counts(one)]
        # What is said of a whole run is found once: a run may have thousands of series.
        self._weighed = WeighedRun(own or bases[0])
        self._condition = self._weighed.condition

    def add_to(self, found: BaselineChecks) -> None:
        """Adds the checks of one condition: claims, then times; what was not compared as notes. A
        run without a time to compare is INCONCLUSIVE, not silent."""
        claims = self._claims()
        timed = self._timed()
        if claims and not timed and self._left_out:
            timed = [self._check("all series", "p50", Finding("INCONCLUSIVE", "-", _NOTHING_TIMED))]
        found.checks += [*claims, *timed]
        found.used += [one.id for one in self._bases]
        if self._own is not None:
            found.notes += dict.fromkeys(
                note for base in self._bases for note in _differences(self._own, base)
            )
        found.notes += self._notes
        found.notes += [f"not compared: {count} {what}" for what, count in self._left_out.items()]

    def _counts(self, base: MeasuredRun) -> bool:
        """Whether a baseline may say anything; why not is a note."""
        why = why_incomparable(base.document, self._own.document) if self._own is not None else None
        if why is None and base.document.status != "complete":
            why = f"the run is {base.document.status}"
        weighed = WeighedRun(base)
        for result in base.results if why is None else ():
            if self._is_wanted(result.test):
                doubts = weighed.doubts_of(result)
                why = why or doubts.barring or doubts.weakening
        if why:
            self._notes.append(f"baseline {base.id} is left out: {why}")
        return not why

    # ---- times ----

    def _timed(self) -> list[Check]:
        checks: list[Check] = []
        rows = self._rows(checks)
        columns = [column for place, row in enumerate(rows) for column in self._columns(row, place)]
        if not columns:
            return checks
        *baselines, own = zip(*(one.values for one in columns), strict=True)
        gate = gate_run(
            baselines,
            own,
            [one.figure for one in columns],
            [str(one.document.system.get(_BOOT)) for one in self._bases],
            difference=self._difference,
            alone=max(self._difference, DIFFERENCE_ALONE),
        )
        fastest = [one for one in columns if one.figure.kind == FASTEST]
        longer = [one.address for one in fastest if not one.figure.is_brief]
        lacking = self._lacking()
        checks.append(self._together(gate.together, len(fastest), lacking))
        if not lacking:
            checks += self._alone(longer, gate.alone)
            checks += self._suspects(gate.suspects, columns, len(fastest))
            brief = len(fastest) - len(longer)
            if brief:
                span = format_span(round(_BRIEF_NS))
                self._notes.append(f"{brief} series were measured within {span} each: {_BRIEF}")
        return checks

    def _rows(self, checks: list[Check]) -> list[_Row]:
        """What can be compared; what cannot is counted, or a check that is INCONCLUSIVE."""
        subjects = [*self._bases, *([self._own] if self._own is not None else [])]
        if not self._bases:
            reason = "no usable baseline" + (f": {self._more}" if self._more else "")
            checks.append(self._check("all series", "p50", Finding("INCONCLUSIVE", "-", reason)))
            return []
        rows = []
        for row in figure_rows(subjects):
            if not self._is_wanted(row.test):
                continue
            found = row.found[: len(self._bases)]
            bases = [one for one in found if isinstance(one, MeasuredSeries)]
            own = row.found[-1] if self._own is not None else None
            why = _why_not(bases, len(self._bases))
            if why:
                self._left_out.update([why] if bases else [])
                continue
            finding = self._why_not_compared(row.address, bases, own)
            if finding is not None:
                checks.append(self._check(row.address, MEDIAN, finding))
            elif isinstance(own, MeasuredSeries):
                rows.append(_Row(row.address, bases, own))
        return self._long_enough(rows)

    def _long_enough(self, rows: list[_Row]) -> list[_Row]:
        found = []
        for row in rows:
            count = min(one.series.count for one in (*row.bases, row.own))
            if not is_printable(0.5, count):
                self._left_out["series with too few values for a median"] += 1
            elif min(*self._values(row, FASTEST), *self._values(row, MEDIAN)) <= 0:
                self._left_out["series with a quantile that is 0 or outside of the histogram"] += 1
            else:
                found.append(row)
        return found

    def _why_not_compared(
        self, address: str, bases: list[MeasuredSeries], own: object
    ) -> Finding | None:
        if self._own is None or not isinstance(own, MeasuredSeries):
            return Finding("INCONCLUSIVE", "missing", _absent(self._own, self._bases[0], address))
        why = self._why_incomparable(self._own.id, bases, own)
        return Finding("INCONCLUSIVE", "-", why) if why else None

    def _why_incomparable(self, run: str, bases: list[MeasuredSeries], own: MeasuredSeries) -> str:
        if own.unit != bases[0].unit:
            return "its unit differs from that in the baselines"
        if is_contradictory(own.series):
            return f"cannot be true: see the top of {run}"
        if why := why_no_quantile(own.series):
            return why
        doubts = self._weighed.doubts_of(own.result)
        if doubts.barring or doubts.weakening:
            return f"{run}: {doubts.barring or doubts.weakening}"
        for one in bases:
            why = _other_work(one, own)
            if why:
                return f"not comparable: {why}"
        return ""

    def _columns(self, row: _Row, place: int) -> list[_Column]:
        is_rate = row.own.unit == "bytes_per_s"  # of which the upper end is the good one
        kinds = [FASTEST, MEDIAN] if is_rate else [FASTEST, *_TAILS]
        count = min(one.series.count for one in (*row.bases, row.own))
        is_brief = any(_taken_within_ns(one.series) < _BRIEF_NS for one in (*row.bases, row.own))
        found = []
        for kind in kinds:
            if kind in _TAILS and not is_printable(_TAILS[kind], count):
                continue
            values = self._values(row, kind)
            if min(values) <= 0:
                self._left_out["tails that are outside of the histogram"] += 1
                continue
            step = log1p(max(_quantum(one) for one in (*row.bases, row.own)) / min(values))
            logs = [-log(one) if is_rate else log(one) for one in values]
            found.append(_Column(Figure(place, kind, step, is_brief), row.address, logs))
        return found

    def _values(self, row: _Row, kind: str) -> list[int]:
        """The quantile in all baselines and in the run; 0 where it has no value."""
        series = [one.series for one in (*row.bases, row.own)]
        share = min(_FASTEST_COUNT / min(one.count for one in series), 0.5)
        q = _TAILS.get(kind, 1 - share if row.own.unit == "bytes_per_s" else share)
        found = []
        for one in series:
            bins = ranked_counts_of(one.histogram)
            value = quantile_between(bins, q, (0, bins.total + 1), 0.5).value
            highest = highest_of(one)
            found.append(0 if value is None else value if highest is None else min(value, highest))
        return found

    def _lacking(self) -> str:
        """Why these baselines cannot decide, whatever their figures; "": they may."""
        count, own = len(self._bases), self._own
        more = f": {self._more}" if self._more else ""
        if count < LEAST_RUNS:
            runs = "1 usable baseline" if count == 1 else f"{count} usable baselines"
            return (
                f"{runs}; {LEAST_RUNS} runs of this system are needed to know how runs vary{more}"
            )
        boots = {one.document.system.get(_BOOT) for one in self._bases}
        if own is None:
            return ""
        slower = _slower_machine(own, self._bases)
        if slower or len(boots) > 1:
            return slower
        if boots != {own.document.system.get(_BOOT)}:
            return (
                "all baselines are from one boot and the run is from another: they do not show "
                "how figures vary from boot to boot. Reboot, "
                f"then{more or ' measure more baselines'}"
            )
        apart_s, span_s = _distance_s(own.document, [one.document for one in self._bases])
        if apart_s > max(span_s, _NEAR_S):
            return (
                f"the baselines were measured within {_span(span_s)}, {_span(apart_s)} away from "
                "the run: they do not show how figures vary over such a time. Over a longer "
                f"time{more}"
            )
        return ""

    def _together(self, gated: GatedFigure, count: int, lacking: str) -> Check:
        reason, outcome = lacking, gated.outcome
        if lacking:
            outcome = "INCONCLUSIVE"
        elif outcome == "FAIL":
            reason = f"a run of this system is not expected to be there ({_scatter(gated)})"
        else:
            reason = self._seen(gated)
        found = f"{_times(gated.ratio)} or more in {count - count // ONE_IN} of {count} series"
        finding = Finding(outcome, found if count > 1 else _times(gated.ratio), reason, gated.ratio)
        return self._check(ALL, FASTEST, finding, None if lacking else gated)

    def _seen(self, gated: GatedFigure) -> str:
        found = f"a slowdown of all values by {_times(gated.found_from)} would have been detected"
        if gated.outcome == "PASS":
            return f"{found} ({_scatter(gated)})"
        wanted = _times(1 + self._difference)
        how = f"more baselines cannot detect {wanted}; {_PAIRS}"
        if gated.runs_needed is not None:
            count = max(gated.runs_needed, len(self._bases) + 1)
            how = f"about {count} baselines may be enough to detect {wanted}"
            how += f": {self._more}" if self._more else ""
        return f"{_scatter(gated)}: only {found}; {how}"

    def _alone(self, addresses: Sequence[str], gates: Sequence[GatedFigure]) -> list[Check]:
        """Series that fail alone, and in one check whether the others pass alone."""
        found = list(zip(addresses, gates, strict=False))
        checks = []
        for address, gated in found:
            if gated.outcome == "FAIL":
                reason = f"a run of this system is not expected to be there ({_scatter(gated)})"
                text = f"{_times(gated.ratio)} compared with the other series"
                finding = Finding("FAIL", text, reason, gated.ratio)
                checks.append(self._check(address, FASTEST, finding, gated))
        rest = [one for one in found if one[1].outcome != "FAIL"]
        return [*checks, *([self._each(rest)] if rest else [])]

    def _each(self, found: Sequence[tuple[str, GatedFigure]]) -> Check:
        most, highest = max(found, key=lambda one: one[1].ratio)
        widest, least = max(found, key=lambda one: one[1].found_from or 0.0)
        open_count = sum(one.outcome == "INCONCLUSIVE" for _, one in found)
        reason = f"a slowdown of one series by {_times(least.found_from)} would have been detected"
        outcome: Outcome = "INCONCLUSIVE" if open_count else "PASS"
        if open_count:
            asked = _times(1 + max(self._difference, DIFFERENCE_ALONE))
            reason = (
                f"{open_count} of {len(found)} vary too much: a slowdown of {widest} would have "
                "been "
            )
            reason += f"detected from {_times(least.found_from)}, but {asked} was requested"
        finding = Finding(outcome, f"at most {_times(highest.ratio)} ({most})", reason)
        return self._check(EACH, FASTEST, finding)

    def _suspects(
        self, suspects: Sequence[Suspect], columns: Sequence[_Column], count: int
    ) -> list[Check]:
        """What is out and may be a disturbance of this run."""
        checks = []
        for one in suspects:
            address, statistic = ALL, MEDIAN
            if one.column is not None:
                column = columns[one.column]
                address, statistic = column.address, column.figure.kind
            text = f"{_times(one.ratio)}; one more baseline is below {_times(one.out_from)}"
            finding = Finding("INCONCLUSIVE", text, _SUSPICIOUS, one.ratio)
            checks.append(self._check(address, statistic, finding))
        if not suspects:
            self._notes.append(
                f"p50, p99 and p99.9 of {count} series differ from the baselines no more than the "
                "baselines differ from each other; a single run cannot fail by them"
            )
        return checks

    # ---- claims ----

    def _claims(self) -> list[Check]:
        found = []
        for test in dict.fromkeys(test for one in self._bases for test in one.tests()):
            before = [
                verdicts
                for one in self._bases
                if not isinstance(verdicts := one.verdicts(test), Missing)
            ]
            if not before or not self._is_wanted(test):
                continue
            if not all(one.passed for verdicts in before for one in verdicts):
                self._left_out["behaviour tests that also fail in a baseline"] += 1
                continue
            finding = self._claims_now(test)
            found.append(self._check(test, CLAIMS, finding))
        return found

    def _claims_now(self, test: str) -> Finding:
        own, base = self._own, self._bases[0]
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
        for one in own.results:
            if one.test == test:
                finding = doubted(finding, self._weighed.doubts_of(one))
        return finding

    def _check(
        self, address: str, statistic: str, finding: Finding, gated: GatedFigure | None = None
    ) -> Check:
        count = len(self._bases)
        runs = "1 run" if count == 1 else f"{count} runs"
        wanted = f"all claims hold, as in {runs}" if statistic == CLAIMS else f"as in {runs}"
        if gated is not None and gated.fails_from is not None:
            wanted = f"as in {runs}, below {_times(gated.fails_from)}"
        return Check(
            outcome=finding.outcome,
            system=self._own.id if self._own is not None else self._system,
            condition=self._condition,
            address=address,
            statistic=statistic,
            wanted=wanted,
            found=finding.found,
            reason=finding.reason,
            value=finding.value,
            fails_from=_finite(gated.fails_from) if gated is not None else None,
            found_from=_finite(gated.found_from) if gated is not None else None,
            source=f"{runs}: {', '.join(one.id for one in self._bases[:3])}"
            + (" ..." if count > 3 else ""),
        )


def _finite(number: float | None) -> float | None:
    return number if number is not None and number < 1e300 else None


def _times(ratio: float | None) -> str:
    """ "x1.28"; beyond a thousand what it is does not matter."""
    if ratio is None:
        return "x?"
    return f"x{ratio:.3g}" if ratio < 1000 else "x1000"


def _scatter(gated: GatedFigure) -> str:
    percent = 100 * (gated.scatter or 0.0)
    return f"runs vary by {percent:.2g} %" if percent < 99 else f"runs vary by {percent:.0f} %"


def _span(seconds: float) -> str:
    return format_span(round(seconds * 1e9))


def _slower_machine(own: MeasuredRun, bases: Sequence[MeasuredRun]) -> str:
    """Why the machine, not the system, may be what is slower: two time stamps in a row are code of
    the probe alone, and take longer where other work shares the core or the clock is lower. What
    a baseline took too is part of what varies between runs."""
    costs = [cost for one in bases if (cost := _stamps_ns(one))]
    now = _stamps_ns(own)
    if not costs or now <= _SLOWER_MACHINE * max(costs):
        return ""
    return (
        f"a pair of time stamps took {now:.3g} ns, in the baselines at most {max(costs):.3g} ns: "
        "the machine itself was slower (other work on the core, or a lower frequency). Measure "
        "again"
    )


def _stamps_ns(run: MeasuredRun) -> float:
    """What two time stamps in a row cost, the geometric mean over the tests; 0: not known."""
    found = [one.instrument.pair.median for one in run.results if one.instrument is not None]
    return geometric_mean(found) if found and min(found) > 0 else 0.0


def _taken_within_ns(series: Series) -> float:
    """The least time within which the values were taken: their sum, the time between the worst of
    them, or the seconds that have a maximum, whichever is longest."""
    at_ns = [one.at_ns for one in series.worst]
    seconds = [at for at, most in enumerate(series.maxima_per_s) if most is not None]
    return max(
        series.count * (series.mean or 0.0) if series.unit == "ns" else 0.0,
        max(at_ns) - min(at_ns) if at_ns else 0.0,
        (seconds[-1] - seconds[0] - 1) * series.maxima_interval_ns if seconds else 0.0,
    )


def _distance_s(own: RunDocument, bases: Sequence[RunDocument]) -> tuple[float, float]:
    """The distance of the run from the baselines, and the time from the first of these to the
    last, in s."""
    times = sorted(datetime.fromisoformat(one.started_utc).timestamp() for one in bases)
    at = datetime.fromisoformat(own.started_utc).timestamp()
    return max(times[0] - at, at - times[-1], 0.0), times[-1] - times[0]


def _differences(own: MeasuredRun, base: MeasuredRun) -> list[str]:
    """The conditions in which both differ: such runs are not compared silently."""
    ours, theirs = own.conditions, base.conditions
    return [
        f"{name} differs: {ours.get(name, 'not known')} in the run, "
        f"{theirs.get(name, 'not known')} in the baselines"
        for name in {**theirs, **ours}
        if ours.get(name) != theirs.get(name)
    ]


def _why_not(bases: list[MeasuredSeries], count: int) -> str:
    """Why a series of the baselines says nothing that can be compared."""
    if len(bases) < count:
        return "series missing in a baseline"
    if bases[0].unit == "count":
        return "counts, where more may be better or worse"
    if bases[0].series.derived:
        return "derived series"
    if any(is_contradictory(one.series) for one in bases):
        return "series that contradict other figures of a baseline"
    if any(why_no_quantile(one.series) for one in bases):
        return "series of files without a distribution"
    return ""


def _other_work(base: MeasuredSeries, own: MeasuredSeries) -> str:
    """Parameters or calibrated work in which both differ, so that their times do; "": none."""
    before = work_of(base.series, base.result.calibrated)
    now = work_of(own.series, own.result.calibrated)
    differing = [
        *differing_parameters(base.result, own.result),
        *(
            DifferingParameter(name, before[name], now[name])
            for name in before
            if now.get(name, before[name]) != before[name]
        ),
    ]
    return "; ".join(f"{one.name} {one.other}, in the baseline {one.first}" for one in differing)


def _quantum(measured: MeasuredSeries) -> float:
    """The step of the clock; a series that was not timed has none."""
    instrument = measured.result.instrument
    return instrument.quantum_ns if instrument is not None and measured.unit == "ns" else 0.0


def _absent(run: MeasuredRun | None, base: MeasuredRun, address: str) -> str:
    if run is None:
        return f"the run has no results under {WeighedRun(base).condition}"
    test = address.partition("/")[0]
    results = [one for one in run.results if one.test == test]
    if not results:
        return f"the run has no {test}"
    if results[0].status != "measured":
        return f"{results[0].status}: {results[0].reason or 'no reason was given'}"
    return "the run does not have this series"
