"""The head of a run: what was measured, where, how far it can be trusted; and the commands that
repeat it.

The terminal's one screen and the opening of the report show the same values.
"""

from __future__ import annotations

import shlex
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from itertools import zip_longest
from typing import Literal

from hardstone import event_names
from hardstone.catalogue import kind_of, load_catalogue
from hardstone.errors import InputError
from hardstone.figure_text import Cell, level_text, quantile_cell, share_text
from hardstone.model import (
    Conditions,
    Instrument,
    ParamValue,
    Plan,
    PlannedTest,
    Result,
    RunDocument,
    RunStatus,
    Series,
)
from hardstone.present.notices import deviations, idle_remark
from hardstone.present.origin import origin_text
from hardstone.stats.conditions import (
    NOT_KNOWN,
    condition_of,
    config_text,
    listed,
    names_in,
    sweep_points,
)
from hardstone.stats.consistency import (
    MARK,
    UNEQUAL,
    contradictions,
    counts_instructions,
    is_contradictory,
)
from hardstone.stats.identity import duration_problem, highest_of, step_of
from hardstone.stats.quantiles import (
    count_text,
    is_count_known,
    lacking_quantile,
    median_of,
    quantum_of,
    summarise,
)
from hardstone.stats.trust import has_run, lacking_text, stopped_least_ns
from hardstone.units import format_cost, format_count, format_ns, format_span
from hardstone.wording import (
    format_value,
    kernel_of,
    one_line,
    read_value,
    series_text,
    shorten,
    spoken,
    steps_text,
    target_text,
    work_text,
)


def run_command(plan: Plan) -> str:
    """The command that makes `plan` again. Without duration, samples and parameters for a plan
    that has no stored command."""
    if plan.command:
        return shlex.join(["hardstone", *plan.command])
    tests = list(dict.fromkeys(test.test for test in plan.tests))
    under = _under(plan.loads or [plan.load], plan.cpu_configs or [plan.cpu_config])
    return shlex.join(["hardstone", "run", *tests, "--profile", plan.profile, *_how(plan, under)])


def test_commands(document: RunDocument) -> list[str]:
    """One command for each test, with its parameters, including those that were calibrated or
    taken from earlier results. A test that did not run has the parameters of the plan."""
    plan, results = document.plan, document.results
    had = [{**result.params, **result.calibrated} for result in results] + [{}] * (
        len(plan.tests) - len(results)
    )
    return [_test_command(plan, test, one) for test, one in zip(plan.tests, had, strict=False)]


def _test_command(plan: Plan, test: PlannedTest, had: dict[str, ParamValue]) -> str:
    words = ["hardstone", "run", test.test]
    if test.samples:
        words += ["--samples", str(test.samples)]
    if test.duration_ns:
        words += ["--duration", f"{test.duration_ns}ns"]
    for name, value in {**test.params, **had}.items():
        text = ",".join(map(str, value)) if isinstance(value, list) else str(value)
        words += ["-p", f"{name}={text}"]
    if test.folder is not None:
        words += ["--dir", test.folder]
    # In plans without a list of loads a test has no condition of its own.
    load, config = (test.load, test.cpu_config) if plan.loads else (plan.load, plan.cpu_config)
    return shlex.join([*words, *_how(plan, _under([load], [config]))])


def _under(loads: list[str], configs: list[str]) -> list[str]:
    """One option for each load: options of stress-ng may contain commas."""
    words = [word for load in loads for word in ("--load", load)]
    return [*words, "--cpu-config", ",".join(configs)]


def _how(plan: Plan, under: list[str]) -> list[str]:
    words = ["--target", plan.target, *under]
    if plan.cpu is not None:
        words += ["--cpu", str(plan.cpu)]
    words += ["--policy", plan.policy]
    if plan.priority is not None:
        words += ["--priority", str(plan.priority)]
    if plan.dma_latency_us is not None:
        words += ["--dma-latency", str(plan.dma_latency_us)]
    if plan.trace:
        words.append("--trace")
    if plan.preemption_models:
        words.append("--compare-preemption")
    return [*words, "--clock", plan.clock, "--seed", str(plan.seed)]


_LOCKED = "memory locked"
_IDLE = "idle states allowed"


def headline(document: RunDocument) -> list[str]:
    """Run, state, machine, kernel, conditions, and the instrument if it is known; of a run of
    another tool the file that it is from."""
    imported = document.imported
    lines = [
        f"{document.id}  {document.name}",
        *([] if imported is None else [f"read from {origin_text(imported)}"]),
        state_text(document),
        target_text(document),
        kernel_of(document),
        conditions_text(document),
    ]
    if document.instrument is None:
        return lines
    steps = steps_text(document.instrument)
    return [*lines, *([steps] if steps else []), _instrument_text(document.instrument)]


def state_text(document: RunDocument, *, has_start: bool = True) -> str:
    """Status, start (omitted where the ID shows it), and the total measuring time; of a guest
    whose clock counts instructions also how long the run took."""
    if document.imported is not None:
        return _imported_state(document)
    spent_ns = sum(result.duration_ns for result in document.results)
    is_wrong = any(duration_problem(result.duration_ns) for result in document.results)
    mark = MARK if is_wrong else ""
    started = f"{moment_text(document.started_utc)}, " if has_start else ""
    spent = f"{format_span(spent_ns)}{mark} {_measuring_text(document)}"
    stopped_ns = sum(map(stopped_least_ns, document.results))
    if stopped_ns > 0:
        spent += f" ({format_span(stopped_ns)} or more of it stopped)"
    return f"{status_text(document)}, {started}{spent}"


def _imported_state(document: RunDocument) -> str:
    """Status, and what the file says of start and length."""
    losses = document.imported.losses if document.imported is not None else []
    has_start = not any(one.what == "time" for one in losses)
    spent_ns = max((result.duration_ns for result in document.results), default=0)
    parts = [
        status_text(document),
        moment_text(document.started_utc) if has_start else "",
        f"{format_span(spent_ns)} of measuring" if spent_ns > 0 else "",
    ]
    return ", ".join(filter(None, parts))


def _measuring_text(document: RunDocument) -> str:
    """ "measuring"; where the clock of a guest counted, "guest time" and how long that took."""
    if not counts_instructions(document.system):
        return "of measuring"
    try:
        began = datetime.fromisoformat(document.started_utc)
        ended = datetime.fromisoformat(document.finished_utc or "")
    except ValueError:  # not finished, or a time that is none
        return "guest time"
    return f"guest, {format_span(round((ended - began).total_seconds()) * 10**9)} real"


def status_text(document: RunDocument) -> str:
    results = document.results
    return status_words(document.status, lacking_text(results), len(results))


def status_words(status: RunStatus, lacking: str, tests: int) -> str:
    """The status of a run; if it is complete, how many of its tests are not: "2 failed of 3".

    `lacking` is from `lacking_text`.
    """
    return f"{lacking} of {tests}" if status == "complete" and lacking else status


def moment_text(utc: str | None) -> str:
    """Date and time: "2026-11-23 03:32:03 UTC"; empty if unknown."""
    if not utc:
        return ""
    return utc.replace("T", " ").removesuffix("Z").removesuffix("+00:00") + " UTC"


def conditions_text(document: RunDocument, *, is_brief: bool = False) -> str:
    """How the tests ran. A value that not all of them share is followed by its count.

    `is_brief` leaves out that memory was locked, as it should be.
    """
    if document.imported is not None:
        return _imported_conditions(document)
    text = _ran_text(document, is_brief=is_brief)
    repeat = repeat_text(document)
    return f"{text}, repeat {repeat}" if repeat else text


def _imported_conditions(document: RunDocument) -> str:
    """How another tool ran, as far as its file says, and what it does not say."""
    ran = [one.conditions for one in document.results]
    latency_us = {one.dma_latency_us for one in ran}
    known = {
        "scheduling": [policy_text(one) for one in ran if one.policy],
        "CPUs": [cpu_text(one) for one in document.results if _has_cpu(one)],
        "memory lock": [_memory_text(one) for one in ran if one.memory_locked is not None],
        "idle states": [f"cpu_dma_latency {one} us" for one in latency_us if one is not None],
        "load": [f"load {one.load}" for one in ran if one.load],
    }
    texts = [", ".join(dict.fromkeys(found)) for found in known.values() if found]
    lacking = [name for name, found in known.items() if not found]
    return ", ".join([*texts, *([f"not known: {', '.join(lacking)}"] if lacking else [])])


def _has_cpu(result: Result) -> bool:
    own = any(isinstance(one.labels.get("cpu"), int) for one in result.series)
    return own or result.conditions.cpu is not None


def repeat_text(document: RunDocument) -> str:
    """Which of several runs of one plan it is: "3 of 10"; empty if it was asked for once."""
    repeat = document.plan.repeat
    return f"{repeat.number} of {repeat.count}" if repeat is not None else ""


def _ran_text(document: RunDocument, *, is_brief: bool) -> str:
    # A truncated stream does not report its conditions.
    results = [
        one
        for one in document.results
        if has_run(one) and (one.complete or one.status == "measured")
    ]
    ran = [one.conditions for one in results]
    if not ran:
        is_empty = not any(one.series or one.verdicts for one in document.results)
        state = "nothing was measured" if is_empty else "how the tests ran is not known"
        return f"load {document.plan.load}, CPUs {document.plan.cpu_config}, {state}"
    parts = [
        _most_common([policy_text(one) for one in ran]),
        _pinned_text([cpu_text(one) for one in results]),
        _most_common([_memory_text(one) for one in ran]),
    ]
    parts += _idle_texts(results)
    left_out = {"", _LOCKED} if is_brief else {""}
    how = ", ".join(part for part in parts if part not in left_out)
    loads = list(dict.fromkeys(conditions.load or NOT_KNOWN for conditions in ran))
    under: dict[str, list[Conditions]] = {}
    for conditions in ran:
        under.setdefault(conditions.cpu_config or NOT_KNOWN, []).append(conditions)
    configs = [config_text(*group) for group in under.values()]
    models = list(dict.fromkeys(one.preemption for one in ran if one.preemption))
    switched = f", preemption {', '.join(models)}" if models else ""
    return f"{how}, load {', '.join(loads)}, CPUs {', '.join(configs)}{switched}"


def result_conditions_text(result: Result) -> str:
    """The conditions of one result: "load heavy, CPUs shared, CPU 1, policy fifo 98"."""
    conditions = result.conditions
    return ", ".join(
        (
            f"load {conditions.load or NOT_KNOWN}",
            f"CPUs {config_text(conditions)}",
            *([f"preemption {conditions.preemption}"] if conditions.preemption else []),
            cpu_text(result),
            policy_text(conditions),
        )
    )


def _most_common(texts: Sequence[str]) -> str:
    text, count = Counter(texts).most_common(1)[0]
    return text if count == len(texts) or not text else f"{text} ({count} of {len(texts)})"


def _pinned_text(texts: Sequence[str]) -> str:
    """ "CPU 1", "31 of 48 tests pinned to CPU 1"."""
    text, count = Counter(texts).most_common(1)[0]
    if count == len(texts) or not text.startswith("CPU "):
        return _most_common(texts)
    return f"{count} of {len(texts)} tests pinned to {text}"


def _idle_texts(results: Sequence[Result]) -> list[str]:
    """Which idle states were allowed; only a bound is given for tests that no exit affects."""
    found = Counter[str]()
    for one in results:
        bound_us = one.conditions.dma_latency_us
        if bound_us is not None:
            found[f"cpu_dma_latency {bound_us} us"] += 1
        elif idle_remark(one):
            found[_IDLE] += 1
    if list(found) == [_IDLE]:
        return [_IDLE]
    return [
        text if count == len(results) else f"{text} ({count} of {len(results)})"
        for text, count in found.items()
    ]


def cpu_text(result: Result) -> str:
    """The CPUs that were measured: "CPU 1", "CPU 0-2,5", "not bound to a CPU", "CPU not known"."""
    found = {cpu for one in result.series if isinstance(cpu := one.labels.get("cpu"), int)}
    conditions = result.conditions
    if not found and conditions.cpu is not None:
        found = {conditions.cpu}
    if not found:
        # A probe that reports its scheduling reports a CPU whenever it is bound to one.
        return f"CPU {NOT_KNOWN}" if conditions.policy is None else "not bound to a CPU"
    spans: list[list[int]] = []
    for cpu in sorted(found):
        if spans and spans[-1][-1] == cpu - 1:
            spans[-1][1:] = [cpu]
        else:
            spans.append([cpu])
    return "CPU " + ",".join("-".join(map(str, span)) for span in spans)


def policy_text(conditions: Conditions) -> str:
    """ "policy fifo 98", "policy other", "policy not known"."""
    policy, priority = conditions.policy or NOT_KNOWN, conditions.priority
    # Time-shared policies have no priority; old documents say 0.
    return f"policy {policy} {priority}" if priority else f"policy {policy}"


def _memory_text(conditions: Conditions) -> str:
    if conditions.memory_locked is None:
        return "memory lock not known"
    return _LOCKED if conditions.memory_locked else "memory not locked"


def _instrument_text(instrument: Instrument) -> str:
    """The clock, the cost of a pair of time stamps, and why the clock is not trusted."""
    pair, is_named = instrument.pair, bool(steps_text(instrument))  # in a line before
    text = (
        f"{'' if is_named else f'clock {instrument.clock}: '}a pair of time stamps costs "
        f"{format_cost(pair.median, instrument.quantum_ns)} (median), {format_ns(pair.max)} "
        "(worst observed)"
    )
    why = f"; not trusted: {instrument.reason}" if not instrument.trusted else ""
    return text + why


_MOST_STANDING_OUT = 5
_LABEL_CHARACTERS = 60
_MOST_REASONS = 2
_NO_FAULT = ("unsupported", "skipped")
_LONGEST_TITLE = 120


@dataclass(frozen=True)
class FailedClaim:
    """A failed claim with its cases: "fifo", "rr". `meaning`: the consequence for a program.

    `uncounted`: why it does not count for a rating; empty if it counts.
    """

    test: str
    name: str
    cases: list[str]
    meaning: str
    uncounted: str

    @property
    def title(self) -> str:
        """ "THR-B-RR slice length (fifo, rr)"."""
        cases = [case for case in self.cases if case]
        return f"{self.test} {self.name}" + (f" ({', '.join(cases)})" if cases else "")


@dataclass
class Family:
    """Claims of one category of the catalogue. `claim_count` has those that could not be judged
    too; `unmeasured`: (test, status) of each test that judged nothing.
    """

    name: str
    held_count: int = 0
    claim_count: int = 0
    unseen_count: int = 0
    failed: list[FailedClaim] = field(default_factory=list)
    unmeasured: list[tuple[str, str]] = field(default_factory=list)

    @property
    def look(self) -> Literal["passed", "failed", "partly"]:
        """Passed: every claim was judged and holds. Failed: one failed that counts for a rating."""
        if any(not one.uncounted for one in self.failed):
            return "failed"
        is_whole = 0 < self.claim_count == self.held_count and not self.unmeasured
        return "passed" if is_whole else "partly"

    @property
    def text(self) -> str:
        """ "12 of 16 claims hold, 2 failed, 2 not judged; THR-B-NEW denied"."""
        failed_count = self.claim_count - self.held_count - self.unseen_count
        counts = [
            f"{self.held_count} of {self.claim_count} claims hold" if self.claim_count else "",
            f"{failed_count} failed" if failed_count else "",
            f"{self.unseen_count} not judged" if self.unseen_count else "",
        ]
        by_status: dict[str, list[str]] = {}
        for test, status in self.unmeasured:
            by_status.setdefault(status, []).append(test)
        lacking = [f"{listed(tests)} {status}" for status, tests in by_status.items()]
        return "; ".join(part for part in (", ".join(filter(None, counts)), *lacking) if part)


@dataclass(frozen=True)
class Timing:
    """The series of a result, or of one of its CPUs, with the highest value. `median_ns` is None
    if unknown.

    `under` distinguishes it from others of its test, `label` is the series in words.
    """

    test: str
    family: str
    under: str
    label: str
    series: Series
    worst_ns: int
    median_ns: int | None
    count: int
    is_contradictory: bool


@dataclass(frozen=True)
class StandsOut:
    """One important line; `is_grave` ones have the colour of failure."""

    text: str
    is_grave: bool = False
    is_claim: bool = False


def families(document: RunDocument) -> list[Family]:
    """The claims of a run by family, in the order of the battery."""
    found: dict[str, Family] = {}
    failed: dict[tuple[str, str], FailedClaim] = {}
    names = names_in(document)
    for result in document.results:
        entry = load_catalogue().entry(result.test)
        unseen = sum(event.name == event_names.NOT_SEEN for event in result.events)
        is_lacking = kind_of(result.test) == "behaviour" and not has_run(result)
        if not (result.verdicts or unseen or is_lacking):
            continue
        family = found.setdefault(entry.category, Family(entry.category))
        family.unseen_count += unseen
        family.claim_count += len(result.verdicts) + unseen
        if is_lacking:
            family.unmeasured.append((result.test, result.status))
        for verdict in result.verdicts:
            if verdict.passed:
                family.held_count += 1
                continue
            name, _, case = verdict.name.partition("/")
            under = names.label(condition_of(result))
            key = (result.test, name)
            if key not in failed:
                meaning = _meaning_of(document, result.test, name)
                uncounted = entry.why_uncounted(verdict.name)
                is_limit = name in event_names.LIMIT_CLAIMS
                limits = shorten(verdict.evidence, _LONGEST_TITLE) if is_limit else ""
                failed[key] = FailedClaim(
                    result.test, limits or spoken(name), [], meaning, uncounted
                )
                family.failed.append(failed[key])
            shown = f"{case} [{under}]".strip() if under else case
            failed[key].cases.append(one_line(shown))
    for family in found.values():
        family.failed.sort(key=lambda one: bool(one.uncounted))
    return list(found.values())


def _meaning_of(document: RunDocument, test: str, verdict: str) -> str:
    """What a failed claim means for a program; for an unknown test, the claim itself."""
    known = load_catalogue().entry(test).means.get(verdict)
    if known:
        return known
    claims = {
        one.name: one.claim
        for spec in document.descriptors
        if spec.id == test
        for one in spec.verdicts
    }
    claim = claims.get(verdict)
    return f"it does not hold that {claim}" if claim else "the claim does not hold"


def timings(document: RunDocument) -> list[Timing]:
    """The decisive series of each result that timed something, in the order of the run; of a
    result with a series for each CPU, each of them.

    Points of a sweep have pictures of their own.
    """
    names = names_in(document)
    points = sweep_points(document)
    found = []
    for number, result in enumerate(document.results):
        if kind_of(result.test) == "behaviour" or number in points:
            continue
        under = names.label(condition_of(result))
        each = _on_each_cpu(result)
        found += [_timing(result, one, under, has_more=len(each) > 1) for one in each]
    return found


def _on_each_cpu(result: Result) -> list[Series]:
    """The decisive series and those that differ from it in the CPU alone, by CPU."""
    decisive = decisive_series(result)
    if decisive is None:
        return []
    by_cpu: dict[int, Series] = {}
    for one in result.series:
        cpu = one.labels.get("cpu")
        labels = {key: cpu if key == "cpu" else text for key, text in decisive.labels.items()}
        is_other = (one.name, one.unit, one.labels) == (decisive.name, decisive.unit, labels)
        if isinstance(cpu, int) and is_other and one.max is not None:
            by_cpu[cpu] = one
    return [by_cpu[cpu] for cpu in sorted(by_cpu)] or [decisive]


def decisive_series(result: Result) -> Series | None:
    """The timed series of `result` with the highest value; a derived one only if all are."""
    timed = [one for one in result.series if one.unit == "ns" and one.max is not None]
    timed = [one for one in timed if not one.derived] or timed
    return max(timed, key=lambda one: one.max or 0, default=None)


def _timing(result: Result, series: Series, under: str, *, has_more: bool) -> Timing:
    """`has_more`: series of other CPUs have timings of their own."""
    try:
        median = median_of(series)
    except InputError:  # An unreadable histogram is reported as a contradiction.
        median = None
    work = work_text(series, result.calibrated)
    cpu = f"CPU {series.labels['cpu']}" if has_more else ""
    own = [key for key in series.labels if key != "cpu" or not has_more]
    label = ", ".join(filter(None, (series_text(series, own), work)))
    return Timing(
        test=result.test,
        family=load_catalogue().entry(result.test).category,
        under=", ".join(filter(None, (under, cpu))),
        label=shorten(label, _LABEL_CHARACTERS),
        series=series,
        worst_ns=series.max or 0,
        median_ns=median,
        count=series.count,
        is_contradictory=is_contradictory(series),
    )


def decisive(found: list[Timing], most: int) -> list[Timing]:
    """At most `most` of `found`, in their order: the highest of each family in turn."""
    if len(found) <= most:
        return found
    by_family: dict[str, list[Timing]] = {}
    for one in sorted(found, key=lambda one: -one.worst_ns):
        by_family.setdefault(one.family, []).append(one)
    ranked = [one for row in zip_longest(*by_family.values()) for one in row if one is not None]
    kept = {id(one) for one in ranked[: max(most, 0)]}
    return [one for one in found if id(one) in kept]


def stands_out(document: RunDocument) -> list[StandsOut]:
    """The most important problems first, at most _MOST_STANDING_OUT lines."""
    found = list(_standing_out(document))
    if len(found) <= _MOST_STANDING_OUT:
        return found
    more = len(found) - _MOST_STANDING_OUT + 1
    return [*found[: _MOST_STANDING_OUT - 1], StandsOut(f"{more} more: see all results")]


def _standing_out(document: RunDocument) -> Iterator[StandsOut]:
    contradictory = sum(1 for _ in contradictions(document))
    if contradictory:
        are = "1 figure" if contradictory == 1 else f"{format_count(contradictory)} figures"
        yield StandsOut(f"{are} cannot be true: do not use this run", is_grave=True)
    differing = deviations(document)
    left = [one for one in differing if one.kind == "left"]
    if left:
        who = listed(one.who for one in left)
        yield StandsOut(f"settings not restored after {who}", is_grave=True)
    claims = [one for family in families(document) for one in family.failed if not one.uncounted]
    if claims:
        are = "claim" if len(claims) == 1 else "claims"
        names = listed(f"{one.test} {one.name}" for one in claims)
        yield StandsOut(f"{len(claims)} {are} failed: {names}", is_grave=True, is_claim=True)
    yield from _cpu_lost(document)
    lacking = list(_not_measured(document))
    yield from (one for one in lacking if one.is_grave)
    yield from _releases_missed(document)
    if any(one.test in event_names.TIRE_TESTS for one in document.results):
        from hardstone.simulation.tables import deadlines_missed

        if late := deadlines_missed(document):
            yield StandsOut(late)
    loads = [one for one in differing if one.kind == "load"]
    if loads:
        yield StandsOut(f"{loads[0].text}: {listed(one.who for one in loads)}")
    works = [one for one in differing if one.kind == "work"]
    if works:
        yield StandsOut(f"{UNEQUAL}: {listed(one.who for one in works)}")
    yield from (StandsOut(f"{one.who}: {one.text}") for one in differing if one.kind == "block")
    yield from (one for one in lacking if not one.is_grave)


def _not_measured(document: RunDocument) -> Iterator[StandsOut]:
    """Tests that did not measure in full: one line per reason, or per status with its first reason
    if there are too many."""
    differing = [one for one in deviations(document) if one.kind == "status"]
    lacking: dict[str, list[str]] = {}
    for one in differing:
        lacking.setdefault(one.text, []).append(one.who)
    if len(lacking) > _MOST_REASONS:
        lacking = {}
        first: dict[str, str] = {}
        for one in differing:
            status, _, reason = one.text.partition(": ")
            text = first.setdefault(status, f"{status}, the first: {reason}" if reason else status)
            lacking.setdefault(text, []).append(one.who)
    for text, who in lacking.items():
        yield StandsOut(f"{listed(who)} {text}", is_grave=not text.startswith(_NO_FAULT))
    names = names_in(document)
    absent = [names.name(one) for one in document.plan.tests[len(document.results) :]]
    if absent:
        are = "measurement was" if len(absent) == 1 else "measurements were"
        of = f"{len(absent)} of {len(document.plan.tests)} planned {are} not started"
        yield StandsOut(f"{of}: {listed(absent)}", is_grave=True)


def _cpu_lost(document: RunDocument) -> Iterator[StandsOut]:
    """CPU time that tests lost to throttling, preemption or a hypervisor."""
    names = names_in(document)
    throttled = [
        names.name(one)
        for one in document.results
        if any(event.name == event_names.THROTTLED for event in one.events)
    ]
    if throttled:
        yield StandsOut(f"{listed(throttled)} {event_names.CPU_LOST}", is_grave=True)
    stolen = {
        names.name(one): one.environment["steal_ns"]
        for one in document.results
        if one.environment.get("steal_ns", 0) > 0
    }
    if stolen:
        total = format_ns(sum(stolen.values()))
        where = next(iter(stolen)) if len(stolen) == 1 else f"{len(stolen)} tests"
        across = "during" if len(stolen) == 1 else "across"
        yield StandsOut(f"the hypervisor took {total} {across} {where}")


def _releases_missed(document: RunDocument) -> Iterator[StandsOut]:
    """Periods missed because an earlier one was late, from the series that count them."""
    names = names_in(document)
    missed: dict[str, int] = {}
    for result in document.results:
        if result.test in event_names.TIRE_TESTS:
            continue
        counting = [
            one
            for one in result.series
            if (one.unit == "count" and one.name in ("missed", "overrun"))
        ]
        total = sum(round((one.mean or 0) * one.count) for one in counting)
        if not counting:  # of a probe that had no such series
            data = [one.data for one in result.events if one.name == event_names.MISSED]
            counts = [one.get("missed_count") for one in data]
            total = sum(count for count in counts if isinstance(count, int))
        missed[names.name(result)] = missed.get(names.name(result), 0) + total
    missed = {who: count for who, count in missed.items() if count > 0}
    if missed:
        total = sum(missed.values())
        are = "period was" if total == 1 else "periods were"
        yield StandsOut(f"{format_count(total)} {are} missed: {listed(missed)}")


LIMIT_OF_MAXIMA = (
    "worst observed: the largest value in this run (for throughput, the smallest). Code paths that "
    "did not run were not measured."
)


_LEAST_BOUNDED = 20  # with fewer values the bound says next to nothing: 14 % of 20


def _bound_text(count: int, worst: str, share: float) -> str:
    """What follows from no value above the worst: "none of 5 000 values is above 40 us; ..."."""
    if count < _LEAST_BOUNDED:
        are = "1 value" if count == 1 else f"{format_count(count)} values"
        return f"no bound: {are}, fewer than {_LEAST_BOUNDED}"
    return (
        f"none of {format_count(count)} values is above {worst}; at 95 % confidence fewer than "
        f"{share_text(share)} are"
    )


@dataclass(frozen=True)
class Finding:
    test: str
    anchor: str
    condition: str
    series: str
    worst: str
    median: Cell
    deepest_level: str
    deepest: Cell
    count: str
    span: str
    bound: str


def finding_of(result: Result, anchor: str, condition: str, deepest: float) -> Finding | None:
    """The series of `result` with the highest value; None where no duration was timed."""
    series = decisive_series(result)
    if series is None:
        return None
    summary = summarise(series, deepest=deepest)
    quantiles = {quantile.q: quantile for quantile in summary.quantiles}
    last = max(quantiles, default=None)
    work, lacks = work_text(series, result.calibrated), lacking_quantile(0.5, series)
    quantum_ns = quantum_of(series, result.instrument)
    worst = read_value(series.max, series.unit, quantum_ns)
    if series.derived:
        bound = f"derived: {series.derived}"
    elif series.max is None or not is_count_known(series):
        bound = "-"
    else:
        highest = format_value(highest_of(series), series.unit)
        bound = _bound_text(series.count, highest, summary.p_exceed_bound)
    return Finding(
        test=result.test,
        anchor=anchor,
        condition=condition,
        series=f"{series_text(series)}, {work}" if work else series_text(series),
        worst=worst,
        median=quantile_cell(quantiles.get(0.5), series.unit, lacks, step_of(series), quantum_ns),
        deepest_level="" if last in (None, 0.5) else level_text(last or 0),
        deepest=quantile_cell(
            quantiles.get(last or 0), series.unit, step=step_of(series), quantum_ns=quantum_ns
        ),
        count=count_text(series),
        span=format_span(result.duration_ns) if result.duration_ns else "-",
        bound=bound,
    )
