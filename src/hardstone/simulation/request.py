"""What a sweep was asked for, as typed and in numbers, and its plan: what is measured before the
points.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from re import ASCII
from re import compile as pattern

import msgspec

from hardstone.catalogue import Catalogue, expected_ns
from hardstone.model import (
    Descriptor,
    Loads,
    ParamValue,
    Plan,
    PlannedTest,
    Register,
    Scalar,
    Sweep,
    as_integer,
)
from hardstone.plan.make import Request, count_cpus, make_plan
from hardstone.plan.params import (
    Problems,
    duration_ns,
    fill_params,
    longest_stable_ns,
    nearest,
    quote,
    whole_number,
)
from hardstone.simulation.sweep import (
    MOST_POINTS,
    REALFAST,
    REALTIME,
    STEP,
    Sweeper,
    curve_count,
    own_time_ns,
    points_of_curve,
)
from hardstone.units import MAX_DURATION_NS, format_ns, format_span, write_ns

MODES = {"realtime": REALTIME, "realfast": REALFAST}
_POLICIES = ("fifo", "rr", "other", "deadline")
_SOLVERS = ("semaphore", "barrier")
_FAST_GRID = (400, 1000, 2000, 4000, 5900)
_MOST_THREADS = 256
_LEAST, _MOST = 400, 1_000_000
_MOST_MASSES = 4_000_000
_MOST_SIZES = 256
_MOST_POINTS, _USUAL_POINTS = 200, 20
_STEP_NS = 10_000_000
_SECOND_NS = 1_000_000_000
_USUAL_WITHIN_NS = 480 * _SECOND_NS
_LEAST_PERIOD_NS = 10_000
_MOST_STIFFNESS = 10**15
_RANGE = pattern(r"([0-9]{1,9})\.\.([0-9]{1,9})(?:/([0-9]{1,9}))?", ASCII)
_MULTIPLE = f"{STEP} to {_MOST_MASSES}, a multiple of {STEP}"


@dataclass(frozen=True, kw_only=True)
class SweepRequest:
    """A sweep as typed. `base` has conditions, target, name and seed; None stands for a default."""

    mode: str
    base: Request = field(default_factory=Request)
    masses: str | None = None
    threads: str | None = None
    solver: str = "semaphore"
    policy: str = "fifo"
    step: str | None = None
    rate: str | None = None
    stiffness: str | None = None
    duration: str | None = None
    within: str | None = None
    points: str | None = None
    blocks: str = "4"
    frames: str = "8"
    has_fast: bool = True


@dataclass(frozen=True, kw_only=True)
class SweepNumbers:
    """The same in numbers. `masses`: the sizes given; empty: searched from `least` to `most`.

    `period_ns` 0: that of the step. `span_ns` is the time of a point: measured in real time,
    simulated in real-fast mode; 0: that of the test. `has_own_step`: the step was typed.
    """

    test: str
    masses: list[int]
    least: int
    most: int
    threads: list[int]
    solvers: list[str]
    policies: list[str]
    step_ns: int
    has_own_step: bool
    period_ns: int
    stiffness_per_s2: int
    span_ns: int
    within_ns: int
    points: int
    blocks: int
    frames: int

    @property
    def release_ns(self) -> int:
        """Time between two releases."""
        return self.period_ns or self.step_ns


def _read_request(
    request: SweepRequest, facts: Mapping[str, Scalar], problems: Problems
) -> SweepNumbers:
    """`request` in numbers; what is wrong with it goes to `problems`."""
    test = MODES[request.mode]
    is_realtime = test == REALTIME
    masses, least, most = _sizes(request, problems, is_searched=is_realtime)
    is_searched = is_realtime and not masses
    step_ns, period_ns = _step(request, facts, problems)
    stiffness = _count(request.stiffness, "--stiffness", 1, _MOST_STIFFNESS, 0, problems)
    _check_stable(step_ns, stiffness, problems)
    span_ns = _time(request.duration, "-D", _SECOND_NS if is_realtime else 0, problems)
    if not is_realtime and span_ns % _SECOND_NS:
        problems.add("-D: simulated time is in whole seconds", "give for example 60s")
    is_unlimited = request.within is not None and request.within.strip() == "0"
    within_ns = _USUAL_WITHIN_NS if is_searched else 0
    return SweepNumbers(
        test=test,
        masses=masses,
        least=least,
        most=most,
        threads=_threads(request.threads, facts, least, problems),
        solvers=_names("--solver", request.solver, _SOLVERS, problems),
        policies=_names("--policy", request.policy, _POLICIES, problems),
        step_ns=step_ns,
        has_own_step=request.step is not None,
        period_ns=period_ns,
        stiffness_per_s2=stiffness,
        span_ns=span_ns,
        within_ns=0 if is_unlimited else _time(request.within, "--within", within_ns, problems),
        points=_count(request.points, "--points", 2, _MOST_POINTS, _USUAL_POINTS, problems),
        blocks=_count(request.blocks, "--blocks", 0, 64, 0, problems),
        frames=_count(request.frames, "--frames", 0, 64, 0, problems),
    )


def usual_threads(facts: Mapping[str, Scalar]) -> list[int]:
    """1, the cores, the hardware threads, three times the cores, twice the hardware threads."""
    hardware = count_cpus(facts)
    cores = max(1, hardware // 2) if facts.get("cpu.smt") is True else hardware
    numbers = {1, cores, hardware, 3 * cores, 2 * hardware}
    return sorted(min(number, _MOST_THREADS) for number in numbers)


def _check_stable(step_ns: int, stiffness_per_s2: int, problems: Problems) -> None:
    """6 kappa h tau <= 2 with tau = 2 h; the usual stiffness, 0.1 / h^2, always is stable."""
    if not stiffness_per_s2 or step_ns <= longest_stable_ns(stiffness_per_s2):
        return
    limit_ns = longest_stable_ns(stiffness_per_s2)
    problems.add(
        f"--stiffness: at {stiffness_per_s2} per s^2 a step of {format_ns(step_ns)} is unstable",
        f"give --step {limit_ns}ns or less, or leave the stiffness out",
    )


def _step(
    request: SweepRequest, facts: Mapping[str, Scalar], problems: Problems
) -> tuple[int, int]:
    """Simulated time of a step, and time between two releases: 0, the step."""
    step_ns = _time(request.step, "--step", 0, problems)
    limit_ns = _LEAST_PERIOD_NS
    resolution = as_integer(facts.get("kernel.timer_resolution_ns"))
    if resolution is not None:
        limit_ns = max(limit_ns, resolution)
    most_hz = _SECOND_NS // limit_ns
    if request.rate is None:
        if request.mode == "realtime" and 0 < step_ns < limit_ns:
            cause = f"--step: {format_ns(step_ns)} is too short for the timer"
            problems.add(cause, f"give {format_ns(limit_ns)} or more, or a --rate")
        return step_ns or _STEP_NS, 0
    if request.mode != "realtime":
        problems.add("--rate: real-fast has no releases", "leave it out")
        return step_ns or _STEP_NS, 0
    text = request.rate.strip()
    if text.isascii() and text.isdigit() and len(text) < 19 and int(text) > most_hz:
        cause = f"--rate: {text} releases per second are too many for the timer"
        problems.add(cause, f"give {most_hz} or less: a period of {format_ns(limit_ns)}")
        return step_ns or _STEP_NS, 0
    rate_hz = whole_number(text, "--rate", 1, most_hz, problems)
    period_ns = round(_SECOND_NS / rate_hz) if rate_hz else _STEP_NS
    return step_ns or period_ns, period_ns


def _sizes(
    request: SweepRequest, problems: Problems, *, is_searched: bool
) -> tuple[list[int], int, int]:
    """The sizes of a grid, none where they are searched; smallest and largest."""
    text = request.masses
    if text is None:
        grid = [] if is_searched else list(_FAST_GRID)
        return grid, *((_LEAST, _MOST) if is_searched else (_FAST_GRID[0], _FAST_GRID[-1]))
    match = _RANGE.fullmatch(text.strip())
    if match is not None and match[3] is None:
        least, most = (_size(part, problems) for part in match.groups()[:2])
        if not is_searched:
            problems.add(f"--masses: {quote(text)} has no step", "write for example 400..4000/400")
        elif least >= most:
            problems.add(f"--masses: {quote(text)} is empty", "write LEAST..MOST")
        return [], least, most
    found = sorted({size for part in text.split(",") for size in _part(part, problems)})
    if len(found) > _MOST_SIZES:
        problems.add(f"--masses: {len(found)} sizes", f"give at most {_MOST_SIZES}")
    sizes = found[:_MOST_SIZES] or [_LEAST]
    return sizes, sizes[0], sizes[-1]


def _part(text: str, problems: Problems) -> list[int]:
    match = _RANGE.fullmatch(text.strip())
    if match is None or match[3] is None:
        return [_size(text, problems)]
    first, last = _size(match[1], problems), _size(match[2], problems)
    step = int(match[3])
    if step < STEP or step % STEP or last < first:
        cause = f"--masses: {quote(text)} is not a range of sizes"
        problems.add(cause, f"write LEAST..MOST/STEP, with a step that is a multiple of {STEP}")
        return []
    return list(range(first, last + 1, step))[: _MOST_SIZES + 1]


def _size(text: str, problems: Problems) -> int:
    value = whole_number(text, "--masses", STEP, _MOST_MASSES, problems)
    if value is not None and value % STEP:
        problems.add(f"--masses: {value} is not a multiple of {STEP}", f"give {_MULTIPLE}")
    return value or _LEAST


def _threads(
    text: str | None, facts: Mapping[str, Scalar], least: int, problems: Problems
) -> list[int]:
    if text is None:
        return [one for one in usual_threads(facts) if one <= least]
    found = [whole_number(one, "--threads", 1, _MOST_THREADS, problems) for one in text.split(",")]
    numbers = sorted({one for one in found if one})
    if numbers and numbers[-1] > least:
        cause = f"--threads: {numbers[-1]} threads for {least} masses"
        problems.add(cause, "each thread needs a mass: give fewer threads, or more --masses")
    return numbers or [1]


def _names(option: str, text: str, known: Sequence[str], problems: Problems) -> list[str]:
    names = [one.strip() for one in text.split(",")]
    for name in names:
        if name not in known:
            problems.add(f"{option}: unknown {quote(name)}", nearest(name, known))
    if len(set(names)) < len(names):
        problems.add(f"{option}: {quote(text)} names one twice", "give each once")
    return [name for name in dict.fromkeys(names) if name in known]


def _count(text: str | None, name: str, low: int, high: int, usual: int, problems: Problems) -> int:
    found = usual if text is None else whole_number(text, name, low, high, problems)
    return usual if found is None else found


def _time(text: str | None, name: str, usual_ns: int, problems: Problems) -> int:
    found = usual_ns if text is None else duration_ns(text, name, "s", problems)
    return usual_ns if found is None else found


def _sweep_words(request: SweepRequest, plan: Plan) -> list[str]:
    """Words after `hardstone` that make `plan` again on the same machine.

    What depends on the machine is written out: threads, priority, loads in their one form.
    """
    sweep = plan.sweep
    words = ["simulate", request.mode]
    given = {
        "--name": request.base.name or None,
        "--masses": request.masses,
        "--threads": None if sweep is None else ",".join(map(str, sweep.threads)),
        "--solver": request.solver,
        "--policy": request.policy,
        "--step": request.step,
        "--rate": request.rate,
        "--stiffness": request.stiffness,
        "--duration": request.duration,
        "--within": None
        if sweep is None
        else (write_ns(sweep.within_ns) if sweep.within_ns else "0"),
        "--points": request.points,
        "--blocks": request.blocks,
        "--frames": request.frames,
        "--target": plan.target,
        "--cpu-config": plan.cpu_config,
        "--cpu": plan.cpu,
        "--priority": plan.priority,
        "--dma-latency": plan.dma_latency_us,
    }
    for name, value in given.items():
        words += [] if value is None else [name, str(value)]
    for load in plan.loads:  # one option each: the options of stress-ng may hold commas
        words += ["--load", load]
    words += [] if request.has_fast else ["--no-fast"]
    words += ["--trace"] if plan.trace else []
    return [*words, "--clock", plan.clock, "--seed", str(plan.seed)]


# Sizes at which the parts of a step are timed before a sweep, and the time that one takes: in the
# caches of a CPU, in a common one, and in memory.
_COST_GRID = (400, 10_000, 250_000)
_COST_NS = 600_000_000  # of its three repeats
_FRAMES_MASSES, _FRAMES_STEP_NS, _FRAMES_S = 400, 1_000_000, 1
# The cost of a switch and of a hand-over, for the cost model of the same run.
_OPENING = ("THR-P-SLS", "SEM-P-SHF")
_REALTIME_POLICIES = ("fifo", "rr")


def make_sweep_plan(
    request: SweepRequest,
    register: Register,
    catalogue: Catalogue,
    facts: Mapping[str, Scalar],
    known_loads: Loads | None = None,
    others: Sequence[str] = (),
) -> Plan:
    """The plan for `request`, as far as it is known before the first result.

    Raises PlanError, which lists every problem, with `others`.
    """
    problems = Problems(others)
    wish = _read_request(request, facts, problems)
    tests = {one.id: one for one in register.tests}
    params = _params(wish, tests.get(wish.test), problems)
    base = replace(
        request.base,
        tests=((*_OPENING, REALTIME, REALFAST) if wish.test == REALTIME else (REALFAST,)),
        name=request.base.name or f"simulate {request.mode}",
        policy=_policy(wish.policies),
    )
    plan = make_plan(base, register, catalogue, facts, known_loads, problems.lines)
    timed = {one.id: _Timed(one, catalogue) for one in register.tests}
    template = _template(wish, tests[wish.test], params)
    points = [
        timed[one.test].with_point(one, template) for one in plan.tests if one.test == wish.test
    ]
    sweep = _sweep(wish, has_fast=request.has_fast and wish.test == REALTIME)
    before = [one for one in plan.tests if one.test in _OPENING]
    before += _costs(wish, points, tests[wish.test], count_cpus(facts))
    before += _frames(wish, plan, timed[REALFAST], problems) if wish.frames else []
    _check_points(plan, sweep)
    plan = msgspec.structs.replace(plan, sweep=sweep, tests=points)
    first = Sweeper(plan, register).first_points()
    plan = msgspec.structs.replace(
        plan, tests=[*before, *first], command=_sweep_words(request, plan)
    )
    _check_time(plan, sweep, len(first))
    return plan


class _Timed:
    """A test with the time that it takes as the catalogue asks for it."""

    def __init__(self, test: Descriptor, catalogue: Catalogue) -> None:
        self.test = test
        self._entry = catalogue.entry(test.id, test.default_samples, test.default_duration_ns)

    def with_point(self, one: PlannedTest, template: PlannedTest) -> PlannedTest:
        """`template` under the condition of `one`, with the time to set that up."""
        usual_ns = expected_ns(self.test, self._entry, one.samples, one.duration_ns, one.params)
        own_ns = own_time_ns(self.test, template.params, template.samples)
        return msgspec.structs.replace(
            template,
            load=one.load,
            cpu_config=one.cpu_config,
            settings=one.settings,
            expected_ns=max(0, one.expected_ns - usual_ns) + own_ns,
            deadline_ns=min(one.deadline_ns + own_ns, MAX_DURATION_NS),
        )


def _template(
    wish: SweepNumbers, test: Descriptor, params: dict[str, ParamValue], **changed: ParamValue
) -> PlannedTest:
    """A point; a list has one value until its curve says which."""
    first = {
        spec.name: params[spec.name][:1]  # type: ignore[index]
        for spec in test.params
        if spec.is_list
    }
    samples = max(1, wish.span_ns // wish.release_ns) if test.id == REALTIME else 1
    return PlannedTest(
        test=test.id,
        params=params | first | changed,
        samples=samples,
        duration_ns=0,
        deadline_ns=0,
        expected_ns=0,
    )


def _params(
    wish: SweepNumbers, test: Descriptor | None, problems: Problems
) -> dict[str, ParamValue]:
    if test is None:  # which make_plan says
        return {}
    given = {"step_ns": write_ns(wish.step_ns), "stiffness_per_s2": str(wish.stiffness_per_s2)}
    if wish.period_ns:
        given["period_ns"] = write_ns(wish.period_ns)
    if test.id == REALFAST and wish.span_ns:
        given["simulated_s"] = str(wish.span_ns // 10**9)
    return fill_params(test, given, problems)


def _policy(policies: Sequence[str]) -> str:
    """The policy of the other threads of a run: real-time where any point is."""
    realtime = [one for one in policies if one in _REALTIME_POLICIES]
    return realtime[0] if realtime else "other" if set(policies) == {"other"} else "fifo"


def _sweep(wish: SweepNumbers, *, has_fast: bool) -> Sweep:
    fast = [one for one in _FAST_GRID if one >= max(wish.threads)] if has_fast else []
    return Sweep(
        test=wish.test,
        solvers=wish.solvers,
        policies=wish.policies,
        threads=wish.threads,
        masses=wish.masses,
        masses_least=wish.least,
        masses_most=wish.most,
        points_most=wish.points,
        within_ns=wish.within_ns,
        block_steps=wish.blocks,
        frames=wish.frames,
        fast_masses=fast,
    )


def _costs(
    wish: SweepNumbers, points: Sequence[PlannedTest], test: Descriptor, cpus: int
) -> list[PlannedTest]:
    """One test under each condition that times the parts of a step, for what is predicted. With
    more threads than CPUs nothing is."""
    threads = [one for one in wish.threads if one <= cpus]
    is_known = any(spec.name == "costs_only" for spec in test.params)
    if wish.test != REALTIME or "semaphore" not in wish.solvers or not threads or not is_known:
        return []
    most = wish.most if wish.masses else _MOST_MASSES
    sizes = [one for one in _COST_GRID if max(threads) <= one <= most] or [wish.least]
    changed: dict[str, ParamValue] = {
        "masses": list(sizes),
        "threads": list(threads),
        "solver": ["semaphore"],
        "policy": list(wish.policies),
        "costs_only": 1,
    }
    took_ns = len(sizes) * len(threads) * len(wish.policies) * _COST_NS
    return [
        msgspec.structs.replace(
            one,
            params=one.params | changed,
            samples=1,
            expected_ns=max(
                0, one.expected_ns - own_time_ns(test, one.params, one.samples) + took_ns
            ),
        )
        for one in points
    ]


def _frames(wish: SweepNumbers, plan: Plan, timed: _Timed, problems: Problems) -> list[PlannedTest]:
    """One point that keeps pictures of the state, under the first condition. With long steps
    a tire of many masses cannot carry its weight and ends flat: the step is a short one, unless
    one was asked for."""
    step_ns = wish.step_ns if wish.has_own_step else _FRAMES_STEP_NS
    given = {
        "masses": str(wish.masses[0] if len(wish.masses) == 1 else _FRAMES_MASSES),
        "threads": "1",
        "solver": "barrier",
        "step_ns": write_ns(step_ns),
        "stiffness_per_s2": str(wish.stiffness_per_s2),
        "simulated_s": str(_FRAMES_S),
        "frames": str(wish.frames),
    }
    params = fill_params(timed.test, given, problems)
    first = next(one for one in plan.tests if one.test == REALFAST)
    return [timed.with_point(first, _template(wish, timed.test, params))]


def _check_points(plan: Plan, sweep: Sweep) -> None:
    curves, points = curve_count(plan, sweep), points_of_curve(sweep)
    if curves * points > MOST_POINTS:
        problems = Problems()
        cause = f"the sweep has {curves} curves of up to {points} points"
        problems.add(cause, f"ask for at most {MOST_POINTS} points: fewer threads, loads or sizes")
        problems.raise_if_any()


def _check_time(plan: Plan, sweep: Sweep, curves: int) -> None:
    problems = Problems()
    needed_ns = sum(one.expected_ns for one in plan.tests)
    if sweep.within_ns and needed_ns > sweep.within_ns:
        cause = f"--within: one point of each of {curves} curves takes {format_span(needed_ns)}"
        problems.add(cause, "give more time, or fewer threads, policies or loads")
    problems.raise_if_any()
