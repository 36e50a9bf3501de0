"""Conclusions of Garre et al. 2014: real-time and real-fast, by policy and by kernel."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import combinations
from math import log

import msgspec

from hardstone.model import as_integer
from hardstone.simulation.analysis import (
    ALPHA,
    LEAST_PAIRS,
    Bound,
    Side,
    Statement,
    Which,
    bounds_of,
    statements_between,
)
from hardstone.simulation.results import REAL_FAST, REAL_TIME, Point, points_of
from hardstone.simulation.tables import StatementText, statement_texts, threads_text
from hardstone.stats.consistency import why_incomparable
from hardstone.study.evidence import (
    BORNE_OUT,
    NOT_BORNE_OUT,
    Beyond,
    Finding,
    Sound,
    System,
    all_of,
    beyond,
    decided,
    missing,
    not_published,
    on_linux,
    run_it,
    undecided,
)
from hardstone.units import format_count
from hardstone.wording import shorten

_REAL_TIME_POLICIES = ("fifo", "rr", "deadline")
_SHARED_POLICY = "other"
_FAST = "hardstone simulate realfast --policy fifo,other"
_SIMULATE = "hardstone simulate realtime --policy fifo,other"
_ROUNDS = 5  # each makes the inversion on purpose


def _points(system: System, document: object = None) -> list[Point]:
    """Points under the conditions of the system, without those whose counts contradict each other
    and those of a real-time policy that was refused."""
    return [
        point
        for one in system.documents
        if document is None or one is document
        for point in points_of(one)
        if point.cpu_config == system.cpu_config
        and point.preemption == system.switched
        and not point.problems
        and not (point.policy in _REAL_TIME_POLICIES and point.is_realtime is False)
    ]


def _statements(system: System) -> list[StatementText]:
    """A real-time policy against SCHED_OTHER, in each run."""
    return [
        one
        for document in system.documents
        for one in statement_texts(document, _points(system, document))
        if one.statement.first in _REAL_TIME_POLICIES and one.statement.second == _SHARED_POLICY
    ]


def _by_statements(
    system: System,
    test: str,
    wanted: Which,
    side_of: Callable[[Statement], Which | None],
    text_of: Callable[[StatementText], str],
) -> Finding:
    """What all statements say that decide; contrary ones decide nothing."""
    found = _statements(system)
    if not found:
        text = "No run measured both a real-time policy and SCHED_OTHER."
        why = text if any(one.test == test for one in _points(system)) else system.why_no(test)
        command = _FAST if test == REAL_FAST else _SIMULATE
        return undecided(f"{why[:1].upper()}{why[1:].rstrip('.')}.", command)
    text = " ".join(dict.fromkeys(map(text_of, found)))
    evidence = tuple(f"{test}, {one.title}: {text_of(one)}" for one in found)
    sides = {side for side in (side_of(one.statement) for one in found) if side}
    if len(sides) == 1:
        return decided(sides == {wanted}, text, evidence)
    needed = dict.fromkeys(text for one in found for text in one.needed)
    more = "; ".join(needed) if not sides else "more runs, as these contradict each other"
    command = _FAST if test == REAL_FAST else _SIMULATE
    return undecided(text, f"{more}: {command}", evidence)


def linux_real_fast(system: System) -> Finding:
    """Decides: the total time of SIM-P-RF under SCHED_OTHER and under a real-time policy, at the
    points of one run that both have, by the exact signed-rank test. The paper compares two kernels,
    this one policies of a kernel. Wrong if the machine drifted between both."""
    return _by_statements(
        system,
        REAL_FAST,
        "second",
        lambda one: one.speed.faster if one.speed else None,
        lambda one: one.speed,
    )


def hard_and_soft(system: System) -> Finding:
    """Decides: the share of missed steps of SIM-S-RT under a real-time policy and under
    SCHED_OTHER, at common points, by the exact signed-rank test. The paper compares two kernels,
    this one policies of a kernel. Wrong if real-time throttling takes the CPU from one of them
    only."""
    return _by_statements(
        system,
        REAL_TIME,
        "first",
        lambda one: one.misses.fewer if one.misses else None,
        lambda one: one.misses,
    )


_TWO_KERNELS = f"the same sweep on a second kernel of this machine: {_SIMULATE}"
_EQUAL = 1.1
_HARDWARE = ("machine.arch", "machine.cpu_model", "cpu.count", "virtual.hypervisor", "virtual.time")


def policy_alone(systems: Sequence[System]) -> list[Finding]:
    """Decides, for two kernels or preemption models of one machine: whether they differ under the
    same policy, in total time or in missed steps, by the exact signed-rank test. A difference bears
    it out: the policy does not explain it. Total times within 10 % and equal misses at all points
    contradict it. One kernel alone decides nothing. Wrong if another setting differs too."""
    pairs = [
        pair
        for pair in combinations(systems, 2)
        if all(pair[0].facts.get(one) == pair[1].facts.get(one) for one in _HARDWARE)
        and pair[0].cpu_config == pair[1].cpu_config
        and (pair[0].machine, pair[0].model) != (pair[1].machine, pair[1].model)
    ]
    if not pairs:
        return [undecided("Two kernels are needed; only one was measured.", _TWO_KERNELS)]
    return [_between(*pair) for pair in pairs]


def _between(one: System, other: System) -> Finding:
    titles = f"{one.title} and {other.title}"
    why = next(
        (
            why
            for first in one.documents
            for second in other.documents
            if (why := why_incomparable(first, second))
        ),
        "",
    )
    sides = [
        Side(
            label=shorten(each.title, 40),
            points=[msgspec.structs.replace(point, preemption="") for point in _points(each)],
        )
        for each in (one, other)
    ]
    found = [] if why else statements_between(*sides)
    if not found:
        text = f"They cannot be compared: {why}." if why else "No point was measured on both."
        return Finding("not decided", text, (), _TWO_KERNELS, titles)
    text = " ".join(map(_same_policy, found))
    evidence = tuple(f"{one.first} against {one.second}: {_same_policy(one)}" for one in found)
    if any(
        (each.speed and each.speed.faster) or (each.misses and each.misses.fewer) for each in found
    ):
        return Finding(BORNE_OUT, text, evidence, systems=titles)
    if all(_are_equal(each) for each in found):
        return Finding(NOT_BORNE_OUT, text, evidence, systems=titles)
    needed = dict.fromkeys(text for each in found for text in each.needed)
    return Finding("not decided", text, evidence, "; ".join(needed), titles)


def _same_policy(one: Statement) -> str:
    policy = one.first.rpartition(", ")[2]
    speed = misses = "not measured"
    if one.speed:
        speed = f"total time {one.speed.ratio:.3g} times (p {one.speed.p_adjusted:.2g})"
    if one.misses:
        misses = f"{one.misses.missed[0]} and {one.misses.missed[1]} steps missed"
        misses += f" (p {one.misses.p_adjusted:.2g})"
    return f"Under {shorten(policy, 12)}: {speed}, {misses}."


def _are_equal(one: Statement) -> bool:
    """Whether total times are surely within 10 %, and the same steps were missed, at least one."""
    speed, misses = one.speed, one.misses
    if speed is None or speed.low is None or speed.high is None or misses is None:
        return False
    is_near = speed.low >= 1 / _EQUAL and speed.high <= _EQUAL
    return is_near and misses.differing == 0 and any(misses.missed)


_LEAST_ABOVE = 2  # measured sizes from the first miss on, of which none may hold again


def _curves(system: System, policies: Iterable[str]) -> list[Bound]:
    return [one for one in bounds_of(_points(system)) if one.curve.policy in policies]


def _cpus(system: System, *, are_cores: bool) -> int | None:
    count = as_integer(system.facts.get("cpu.count"))
    if count is None or count < 1:
        return None
    return max(1, count // 2) if are_cores and system.facts.get("cpu.smt") is True else count


def _edge(bounds: Sequence[Bound]) -> bool | None:
    """True: each curve held up to a size and nothing above it; False: one held again above a miss;
    None: too little was measured."""
    if any(one.islands for one in bounds):
        return False
    is_known = [
        one.held is not None
        and one.first_missed is not None
        and sum(cell.masses >= one.first_missed.masses for cell in one.cells) >= _LEAST_ABOVE
        for one in bounds
    ]
    return True if is_known and all(is_known) else None


def _edge_text(bounds: Sequence[Bound]) -> str:
    return "; ".join(map(_curve_text, bounds[:6])) or "no curve"


def _curve_text(one: Bound) -> str:
    held = "no size" if one.held is None else f"{format_count(one.held.masses)} masses"
    missed = "none missed"
    if one.first_missed is not None:
        missed = f"{format_count(one.first_missed.masses)} missed"
    again = f", held again at {len(one.islands)} larger" if one.islands else ""
    policy = shorten(one.curve.policy, 12)
    return f"{policy}, {threads_text(one.curve.threads)} {held} held, {missed}{again}"


def _part(system: System, name: str, bounds: Sequence[Bound], *, has_edge: bool) -> Finding:
    text = f"{name}: {_edge_text(bounds)}."
    evidence = tuple(f"{REAL_TIME}, {_curve_text(one)}" for one in bounds)
    edge = _edge(bounds)
    if edge is None:
        why = text if bounds else f"{name}: {_no_curve(system)}."
        sizes = f"{_LEAST_ABOVE} sizes and more above the first miss"
        return undecided(why, f"{sizes}: {_SIMULATE}", evidence)
    return decided(edge == has_edge, text, evidence)


def _no_curve(system: System) -> str:
    return "not measured" if _points(system) else system.why_no(REAL_TIME)


def sharp_edge(system: System) -> Finding:
    """Decides, in two parts, up to one thread a core: under a real-time policy no size above the
    first miss holds again (one that does contradicts it), and under SCHED_OTHER one does. At least
    two sizes from the first miss on. Wrong for a size that holds by luck: so many steps only."""
    cores = _cpus(system, are_cores=True)
    if cores is None:
        return undecided("The number of its CPUs is not known.", _SIMULATE)
    real_time, shared = (
        [one for one in _curves(system, policies) if one.curve.threads <= cores]
        for policies in (_REAL_TIME_POLICIES, (_SHARED_POLICY,))
    )
    return all_of(
        [
            _part(system, "Real-time policy", real_time, has_edge=True),
            _part(system, "SCHED_OTHER", shared, has_edge=False),
        ]
    )


def many_threads(system: System) -> Finding:
    """Decides, for more threads than CPUs and both policies: a size that holds again above a miss
    bears it out, an edge at each number of threads contradicts it. Wrong as `sharp_edge`."""
    cpus = _cpus(system, are_cores=False)
    if cpus is None:
        return undecided("The number of its CPUs is not known.", _SIMULATE)
    parts = []
    for name, policies in (
        ("Real-time policy", _REAL_TIME_POLICIES),
        ("SCHED_OTHER", (_SHARED_POLICY,)),
    ):
        own = [one for one in _curves(system, policies) if one.curve.threads > cpus]
        parts.append(_part(system, f"{name}, more threads than CPUs", own, has_edge=False))
    return all_of(parts)


def lock_waits(system: System) -> Finding:
    """Decides: how much the time for a mass changes from one size to the next in SIM-P-RF, with
    several threads, under a real-time policy less that under SCHED_OTHER, by the exact signed-rank
    test over separate pairs of sizes. Larger bears it out, smaller contradicts it. That waits for
    locks are the reason is not tested. Wrong if the machine drifted during one of them."""
    from hardstone.stats.resampling import hodges_lehmann, signed_rank_p

    differences = [one for document in system.documents for one in _swings(system, document)]
    if not differences:
        text = "No sizes of SIM-P-RF with several threads have both policies."
        return undecided(text, _FAST)
    p = signed_rank_p(differences)
    shift = hodges_lehmann(differences).estimate
    text = (
        f"From one size to the next the time for a mass changes {100 * abs(shift):.2g} points "
        f"{'more' if shift > 0 else 'less'} under the real-time policy "
        f"({len(differences)} pairs of sizes, p {p:.2g})."
    )
    evidence = (f"{REAL_FAST} of {', '.join(one.id for one in system.documents)}",)
    if p > ALPHA or not shift:
        few = f"at least {LEAST_PAIRS} pairs of sizes" * (len(differences) < LEAST_PAIRS)
        return undecided(text, f"{few or 'more sizes'}: {_FAST}", evidence)
    return decided(shift > 0, text, evidence)


def _swings(system: System, document: object) -> Iterator[float]:
    """For each separate pair of sizes: the change under the real-time policy less the other."""
    found: dict[tuple[object, ...], dict[str, dict[int, float]]] = {}
    for point in _points(system, document):
        if point.test == REAL_FAST and point.is_whole and point.total and point.threads > 1:
            key = (point.solver, point.threads, point.step_ns, point.simulated_s, point.load)
            side = "fifo" if point.policy in _REAL_TIME_POLICIES else point.policy
            each = log(max(point.total.mean_ns, 1.0) / point.masses)
            found.setdefault(key, {}).setdefault(side, {})[point.masses] = each
    for sides in found.values():
        first, second = sides.get("fifo", {}), sides.get(_SHARED_POLICY, {})
        sizes = sorted(first.keys() & second.keys())
        for low, high in zip(sizes[::2], sizes[1::2], strict=False):
            yield abs(first[high] - first[low]) - abs(second[high] - second[low])


INVERSION = "MUT-B-INV"


def inversion(system: System) -> Finding:
    """Decides, in two parts: rounds in which the medium thread ran first, while a semaphore was
    held, and while a spin lock was. One inverted round with a semaphore contradicts it, none of
    five bears it out; with a spin lock the other way round, and a lock-up counts as one. Wrong if
    the system has semaphores of its own that inherit: these are those of POSIX. In the paper
    Xenomai's were mutexes."""
    semaphore, spin = (_inverted(system, one) for one in ("semaphore", "spin"))
    parts = [
        _rounds(system, "a semaphore", semaphore, is_vulnerable=False),
        _rounds(system, "a spin lock", spin, is_vulnerable=True),
    ]
    return all_of(parts)


def _inverted(system: System, primitive: str) -> tuple[list[Sound], Beyond | None]:
    """Rounds that were inverted; those that the watchdog ended are."""
    names = ("inverted", "ended_by_watchdog") if primitive == "spin" else ("inverted",)
    sides = [system.found(INVERSION, name, "", primitive=primitive) for name in names]
    counted = [one for one in (beyond(own, 0, _ROUNDS) for own in sides) if one is not None]
    most = max(counted, key=lambda one: one.least, default=None)
    return [one for own in sides for one in own], most


def _rounds(
    system: System, name: str, found: tuple[list[Sound], Beyond | None], *, is_vulnerable: bool
) -> Finding:
    sounds, rounds = found
    if rounds is None:
        return missing(system, INVERSION)
    text = f"With {name} {rounds.least} of {rounds.total} rounds were inverted or locked up."
    evidence = tuple(one.figure("max") for one in sounds)
    if rounds.is_exceeded:
        return decided(is_vulnerable, text, evidence)
    if rounds.is_within:
        return decided(not is_vulnerable, text, evidence)
    return undecided(text, f"at least {_ROUNDS} rounds: {run_it(INVERSION)}", evidence)


_PREEMPTION_NS = 1_000_000


def linux_preemption(system: System) -> Finding:
    """Decides, on Linux without PREEMPT_RT: preemptions of a thread by another that took over 1 ms.
    One bears it out, none of at least 20 contradicts it as measured. The paper's worst is of a
    desktop in use: a longer run or a load may show one. Wrong in a virtual machine, where the host
    may have taken the CPU."""
    other = on_linux(system)
    if other is not None:
        return other
    if system.facts.get("kernel.realtime") is True:
        return undecided("This kernel has PREEMPT_RT.", "a kernel without PREEMPT_RT")
    if system.apart:
        return not_published(system)
    found = system.found("THR-P-PRE", "preemption", "", by="thread")
    late = beyond(found, _PREEMPTION_NS)
    if late is None:
        return missing(system, "THR-P-PRE")
    text = f"Preemptions by a thread: {late.text}."
    evidence = tuple(one.figure("max") for one in found)
    if late.is_exceeded or late.is_within:
        return decided(late.is_exceeded, text, evidence)
    return undecided(text, f"more values: {run_it('THR-P-PRE')}", evidence)
