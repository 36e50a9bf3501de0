"""Makes a plan from a request. Pure: the same request always gives the same plan.

Also what is left of a plan that was recorded in part, and the command that makes a plan again.

Order: test by test, each under all its conditions in direct succession. Readers compare those,
and a machine that drifts between them would shift one against the others. Within a test, load by
load: measurements without load do not alternate with loaded ones, which leave dirty pages and heat.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import msgspec

from hardstone.catalogue import PROFILES, Catalogue, Entry, ProfileCount, expected_ns
from hardstone.model import Descriptor, Loads, ParamValue, Plan, PlannedTest, Register, Scalar
from hardstone.plan.params import (
    MAX_LATENCY_US,
    MAX_SAMPLES,
    MAX_SEED,
    NONE,
    SHARED,
    SINGLE,
    Problems,
    check_cpu_configs,
    check_loads,
    check_names,
    check_tire,
    duration_ns,
    fill_params,
    nearest,
    parse_cpu_list,
    quote,
    select_tests,
    split_assignments,
    started_processes,
    whole_number,
)
from hardstone.units import MAX_DURATION_NS, format_span, write_ns

_MAX_CPU = 65_535
_POSIX_PRIORITIES = (1, 255)


def count_cpus(facts: Mapping[str, Scalar]) -> int:
    """Number of CPUs that the machine allows; 1 if that is unknown."""
    allowed = facts.get("cpu.allowed")
    return max(1, len(_cpus(allowed))) if isinstance(allowed, str) else 1


def _check_cpu(text: str | None, facts: Mapping[str, Scalar], problems: Problems) -> int | None:
    """The requested CPU; one that the machine does not allow is noted."""
    if text is None:
        return None
    cpu = whole_number(text, "--cpu", 0, _MAX_CPU, problems)
    if cpu is not None:
        _check_allowed(cpu, "--cpu", facts, problems)
    return cpu


def _check_cpu_params(
    test: Descriptor,
    params: Mapping[str, ParamValue],
    facts: Mapping[str, Scalar],
    problems: Problems,
) -> None:
    """Notes every CPU among the parameters of `test` that the machine does not allow."""
    for spec in test.params:
        value = params.get(spec.name, [])
        if spec.unit == "cpu":
            for cpu in value if isinstance(value, list) else [value]:
                _check_allowed(cpu, f"{test.id} {spec.name}", facts, problems)


def _check_allowed(
    cpu: int | str, name: str, facts: Mapping[str, Scalar], problems: Problems
) -> None:
    """An isolated CPU is missing from the default affinity, and may be asked for by name."""
    allowed = facts.get("cpu.allowed")
    known = _cpus(allowed)
    if known and cpu not in known | _cpus(facts.get("kernel.isolated_cpus")):
        problems.add(
            f"{name}: CPU {cpu} is not available here", f"give one of {quote(str(allowed))}"
        )


def _cpus(text: Scalar) -> set[int]:
    """The CPUs of a list; none if `text` is no list of CPUs."""
    try:
        return parse_cpu_list(text) if isinstance(text, str) else set()
    except ValueError:
        return set()


def _check_priority(
    text: str | None, policy: str, facts: Mapping[str, Scalar], problems: Problems
) -> int | None:
    """The requested priority, if `policy` has it on this machine."""
    if text is None:
        return None
    if policy == "other":
        if text.strip() != "0":
            problems.add(
                f"--priority: policy other has no priority {quote(text)}",
                "leave it out, or use --policy fifo or rr",
            )
        return 0
    if text.strip() == "max":
        highest = facts.get("limits.priority_max")
        if isinstance(highest, int):
            return highest  # the number, so that a run can be repeated and compared
        cause = "--priority: the machine does not report its highest priority"
        problems.add(cause, "give the number")
        return None
    low = _limit(facts, "limits.priority_min", _POSIX_PRIORITIES[0])
    high = _limit(facts, "limits.priority_max", _POSIX_PRIORITIES[1])
    return whole_number(text, "--priority", low, high, problems)


def _limit(facts: Mapping[str, Scalar], key: str, default: int) -> int:
    value = facts.get(key)
    return value if isinstance(value, int) else default


def _measuring_words(request: Request, plan: Plan, checked: _Checked) -> list[str]:
    """Words after `hardstone` that make `plan` again on the same machine.

    Resolved values come from `plan`: loads in their one form, the number of priority "max".
    Defaults are written out, because a later version may have others.
    """
    is_recording = request.is_recording
    words = ["evaluate"] if request.tests == ("*",) else ["run", *request.tests]
    if is_recording:
        words = ["latstat"]
    words += _option("--name", request.name or None)
    words += [] if is_recording else ["--profile", plan.profile]
    words += ["--target", plan.target]
    words += _option("--samples", checked.samples)
    if checked.duration_ns is not None:
        words += ["--duration", write_ns(checked.duration_ns)]
    for key, text in checked.params.items():
        words += ["--param" if is_recording else "-p", f"{key}={text}"]
    for load in plan.loads:  # one option each: the options of stress-ng may hold commas
        words += ["--load", load]
    words += ["--cpu-config", plan.cpu_config]
    words += _option("--cpu", plan.cpu)
    words += ["--policy", plan.policy]
    words += _option("--priority", plan.priority)
    words += _option("--dma-latency", plan.dma_latency_us)
    words += _option("--dir", request.folder)
    words += ["--trace"] if plan.trace else []
    words += ["--compare-preemption"] if plan.preemption_models else []
    if plan.watched_ns is not None:
        words += ["--threshold", write_ns(plan.watched_ns), "--go-on"]
    return [*words, "--clock", plan.clock, "--seed", str(plan.seed)]


def proving_words(plan: Plan, rule: str, pairs: int) -> list[str]:
    """Words after `hardstone` that prove `rule` again; `plan` holds one test in `pairs` pairs."""
    one = plan.tests[0]
    words = ["doctor", "--prove", rule, "--pairs", str(pairs), "--test", one.test]
    words += ["--duration", write_ns(one.duration_ns), "--load", one.load]
    return [*words, "--target", plan.target, "--seed", str(plan.seed)]


def _option(name: str, value: str | int | None) -> list[str]:
    return [] if value is None else [name, str(value)]


POLICIES = ("fifo", "rr", "other")
CLOCKS = ("auto", "monotonic")
_SECOND_NS = 1_000_000_000
_MAX_NAME = 100
# Time to set up and undo a condition, and the most that it may take.
_LOAD_NS = _SECOND_NS
_PROCESS_NS = 20_000_000
_CONFIG_NS = _SECOND_NS
_OFFLINE_NS = 200_000_000  # for a CPU, offline and online again
_PATIENCE_NS = 60 * _SECOND_NS
# What is not in the expected time (threads, calibrations) takes up to 0.5 s of CPU, and 20 times
# that where other real-time threads leave 5 % of a CPU.
_LEAST_PATIENCE_NS = 10 * _SECOND_NS


@dataclass(frozen=True, kw_only=True)
class Request:
    """What was asked for, as typed: numbers are texts until the plan checks them.

    `tests` holds IDs and globs; `load` and `cpu_config` hold names and comma lists of names.
    `settings` apply in every condition. Without a unit `interval` is in us and `duration` in
    seconds; `dma_latency` and `watched` are in us. None stands for the default; without
    `dma_latency` idle states stay as they are. `watched` is a threshold at which measuring goes on.
    `folder` is for the files of tests; `default_folder`: the one of the target, if none was typed.
    `preemption_models`: those to measure under, in this order; empty: as the machine is.
    `is_recording`: typed as `hardstone latstat`, which shows the parts of a latency where it can.
    """

    tests: tuple[str, ...] = ("*",)
    name: str = ""
    profile: str = "quick"
    target: str = "local"
    load: tuple[str, ...] = ("none",)
    cpu_config: tuple[str, ...] = ("shared",)
    settings: tuple[str, ...] = ()
    cpu: str | None = None
    policy: str = "fifo"
    priority: str | None = None
    clock: str = "auto"
    samples: str | None = None
    duration: str | None = None
    interval: str | None = None
    params: tuple[str, ...] = ()
    seed: str = "0"
    dma_latency: str | None = None
    trace: bool = False
    watched: str | None = None
    preemption_models: tuple[str, ...] = ()
    is_recording: bool = False
    folder: str | None = None
    default_folder: str | None = None


@dataclass(frozen=True)
class _Checked:
    """What holds for every test: numbers as checked, parameters as typed."""

    profile: str
    samples: int | None
    duration_ns: int | None
    params: dict[str, str]
    facts: Mapping[str, Scalar]
    folder: str | None

    def count(self, profile: ProfileCount) -> ProfileCount:
        """The limits of a test: a given number replaces both limits of its profile."""
        if self.samples is None and self.duration_ns is None:
            return profile
        return ProfileCount(self.samples or 0, self.duration_ns or 0)


def make_plan(
    request: Request,
    register: Register,
    catalogue: Catalogue,
    facts: Mapping[str, Scalar] | None = None,
    known_loads: Loads | None = None,
    others: Sequence[str] = (),
) -> Plan:
    """The plan for `request`. Raises PlanError, which lists every problem.

    `known_loads` are the loads of the probe, None if it supports none. `others` are problems
    found elsewhere, which are reported with these.
    """
    problems = Problems(others)
    machine = facts or {}
    tests = _chosen(request, register, catalogue, problems)
    checked = _checked(request, tests, machine, problems)
    loads = check_loads(request.load, known_loads, problems)
    configs = check_cpu_configs(request.cpu_config, problems)
    planned = [_planned(test, checked, catalogue, problems) for test in tests]
    plan = Plan(
        name=_name(request, problems),
        profile=request.profile,
        target=request.target,
        tests=[],
        load=",".join(loads),
        cpu_config=",".join(configs),
        cpu=_check_cpu(request.cpu, machine, problems),
        policy=request.policy,
        priority=_check_priority(request.priority, request.policy, machine, problems),
        clock=request.clock,
        seed=whole_number(request.seed, "--seed", 0, MAX_SEED, problems) or 0,
        loads=loads,
        cpu_configs=configs,
        dma_latency_us=None
        if request.dma_latency is None
        else whole_number(request.dma_latency, "--dma-latency", 0, MAX_LATENCY_US, problems),
        trace=request.trace,
        watched_ns=None
        if request.watched is None
        else duration_ns(request.watched, "--threshold", "us", problems),
        preemption_models=list(request.preemption_models),
    )
    problems.raise_if_any()
    cpus = count_cpus(machine)
    starts = {load: started_processes(load, known_loads, cpus) for load in loads}
    tests_under = [
        _under(test, load, _Config(config, request.settings, machine, model), starts[load])
        for test in planned
        for load in loads
        for config in configs
        for model in request.preemption_models or (None,)
    ]
    # No option applies `settings`, so that no words make such a plan again.
    words = [] if request.settings else _measuring_words(request, plan, checked)
    return msgspec.structs.replace(plan, tests=tests_under, command=words)


@dataclass(frozen=True)
class _Config:
    """A CPU configuration, what its set-up time depends on, and the preemption model."""

    name: str
    settings: Sequence[str]
    facts: Mapping[str, Scalar]
    preemption: str | None = None

    @property
    def setup_ns(self) -> int:
        if self.name == SINGLE and not self.settings:
            count = self.facts.get("cpu.count")
            return _CONFIG_NS + _OFFLINE_NS * (count if isinstance(count, int) else 1)
        return _CONFIG_NS if self.name != SHARED or self.settings else 0


def _under(test: PlannedTest, load: str, config: _Config, started: int) -> PlannedTest:
    """`test` under one condition, with the time to set that up, where a load starts `started`
    processes."""
    setup_ns = config.setup_ns
    if load != NONE:
        setup_ns += _LOAD_NS + started * _PROCESS_NS
    patience_ns = _PATIENCE_NS + 10 * setup_ns if setup_ns else 0
    return msgspec.structs.replace(
        test,
        load=load,
        cpu_config=config.name,
        settings=list(config.settings),
        preemption=config.preemption,
        expected_ns=test.expected_ns + setup_ns,
        deadline_ns=min(test.deadline_ns + patience_ns, MAX_DURATION_NS),
    )


def _chosen(
    request: Request, register: Register, catalogue: Catalogue, problems: Problems
) -> list[Descriptor]:
    for what, word, known in (
        ("profile", request.profile, PROFILES),
        ("policy", request.policy, POLICIES),
        ("clock", request.clock, CLOCKS),
    ):
        if word not in known:
            problems.add(f"unknown {what} {quote(word)}", nearest(word, known))
    return select_tests(request.tests, register, catalogue, problems)


def _checked(
    request: Request, tests: list[Descriptor], facts: Mapping[str, Scalar], problems: Problems
) -> _Checked:
    samples = duration = None
    if request.samples is not None:
        samples = whole_number(request.samples, "--samples", 1, MAX_SAMPLES, problems)
    if request.duration is not None:
        duration = duration_ns(request.duration, "--duration", "s", problems)
    params = _given_params(request, tests, problems)
    if request.folder is not None and tests and not any(map(_makes_files, tests)):
        problems.add("--dir: no chosen test uses files", "leave it out")
    folder = request.default_folder if request.folder is None else request.folder
    return _Checked(request.profile, samples, duration, params, facts, folder)


def _makes_files(test: Descriptor) -> bool:
    return "files" in test.needs


def _given_params(request: Request, tests: list[Descriptor], problems: Problems) -> dict[str, str]:
    given = split_assignments(request.params, problems)
    if tests:
        check_names(list(given), tests, problems)
    has_parts = any(spec.name == "parts" for test in tests for spec in test.params)
    if request.is_recording and has_parts:  # a probe of before has none
        given = {"parts": "auto", **given}
    if request.interval is None:
        return given
    if tests and not any(spec.name == "interval_ns" for test in tests for spec in test.params):
        problems.add("-i: no chosen test has an interval", "leave it out")
    if "interval_ns" in given:
        problems.add("-i and -p interval_ns are both given", "give one of them")
    interval = duration_ns(request.interval, "-i", "us", problems)
    return given if interval is None else {**given, "interval_ns": write_ns(interval)}


def _planned(
    test: Descriptor, checked: _Checked, catalogue: Catalogue, problems: Problems
) -> PlannedTest:
    entry = catalogue.entry(test.id, test.default_samples, test.default_duration_ns)
    default = ProfileCount(test.default_samples, test.default_duration_ns)
    count = checked.count(entry.profiles.get(checked.profile, default))
    params = fill_params(test, checked.params, problems)
    _check_cpu_params(test, params, checked.facts, problems)
    check_tire(test.id, params, problems)
    is_timed = bool(count.duration_ns) and entry.takes_duration
    expected = expected_ns(test, entry, count.samples, count.duration_ns, params)
    if expected > MAX_DURATION_NS + _SECOND_NS * 60:
        cause = f"{test.id} would take about {format_span(expected)}"
        problems.add(cause, "ask for fewer samples")
    return PlannedTest(
        test=test.id,
        params=params,
        samples=count.samples,
        duration_ns=count.duration_ns,
        deadline_ns=_deadline_ns(
            expected_ns(test, entry, 0, count.duration_ns, params) if is_timed else expected,
            is_timed,
            _patience_ns(test, expected, checked.facts),
        ),
        expected_ns=expected,
        folder=checked.folder if _makes_files(test) else None,
    )


def _deadline_ns(expected: int, is_timed: bool, patience: int) -> int:
    """A limit that only a hanging test reaches; counted tests depend on the machine's speed."""
    allowance = expected // 4 if is_timed else expected * 19
    return min(expected + allowance + patience, MAX_DURATION_NS)


def _patience_ns(test: Descriptor, expected: int, facts: Mapping[str, Scalar]) -> int:
    """The allowance for what is not in the expected time: in proportion to it, but the most where
    files are written first or where the machine may be an emulator, which both can be far slower.
    """
    if _makes_files(test) or facts.get("virtual.emulated") is not False:
        return _PATIENCE_NS
    return min(_LEAST_PATIENCE_NS + expected, _PATIENCE_NS)


def _name(request: Request, problems: Problems) -> str:
    if len(request.name) > _MAX_NAME or not request.name.isprintable():
        problems.add(
            f"--name: {quote(request.name)} is too long or not printable",
            f"give at most {_MAX_NAME} printable characters",
        )
    what = "battery" if request.tests == ("*",) else " ".join(request.tests)
    return request.name or f"{request.profile} {what}"[:_MAX_NAME]


def own_time_ns(test: Descriptor, entry: Entry) -> int:
    """Time that a test without samples and duration takes with its default parameters."""
    return expected_ns(test, entry, 0, 0, fill_params(test, {}, Problems()))


def rest_of(plan: Plan, measured_ns: int, samples: int) -> Plan | None:
    """`plan`, of one test, without the time and the samples that are recorded; None: none is left.

    A rest of less than a second of a time is none: a recording that was cut off tells its length
    in whole seconds.
    """
    one = plan.tests[0]
    left_ns = one.duration_ns - measured_ns if one.duration_ns else 0
    left = one.samples - samples if one.samples else 0
    if (one.duration_ns and left_ns < _SECOND_NS) or (one.samples and left <= 0):
        return None
    spent_ns = min(measured_ns, one.expected_ns - _SECOND_NS) if measured_ns else 0
    spent_ns = max(spent_ns, 0)
    rest = msgspec.structs.replace(
        one,
        duration_ns=left_ns,
        samples=left,
        expected_ns=one.expected_ns - spent_ns,
        deadline_ns=one.deadline_ns - spent_ns,
    )
    return msgspec.structs.replace(plan, tests=[rest])


_SOURCES = "source"
_BOUNDS = ("passed_ns", "failed_ns", "source_failed_ns")


def rest_of_search(
    plan: Plan, ended: set[str], known: Mapping[str, Mapping[str, int]]
) -> Plan | None:
    """`plan`, of one test, without the sources in `ended`; None: none is left.

    `known`: by source the parameters with the periods that are known of it.
    """
    one = plan.tests[0]
    asked = one.params.get(_SOURCES)
    sources = [name for name in asked if name not in ended] if isinstance(asked, list) else []
    if not sources:
        return None
    bounds = [known.get(str(name), {}) for name in sources]
    lists = {name: [one.get(name, 0) for one in bounds] for name in _BOUNDS}
    params = {**one.params, _SOURCES: sources, **lists}
    return msgspec.structs.replace(plan, tests=[msgspec.structs.replace(one, params=params)])
