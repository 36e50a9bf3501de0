"""What a paper ran, as plans of the same tests, and what of it cannot be had on a system.

The data is `procedure.toml`. Each part of a study is one stored run, which the commands run,
latstat and simulate could measure too. What the facts of a system rule out is left out of the
parts, and reported before anything is measured.
"""

from __future__ import annotations

import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cache
from itertools import product
from pathlib import Path
from typing import Literal, get_args

import msgspec

from hardstone.catalogue import load_catalogue
from hardstone.errors import PrivilegeError
from hardstone.model import Loads, Plan, Register, Scalar, ShieldState, StudyPart
from hardstone.plan.make import Request, count_cpus, make_plan
from hardstone.plan.params import (
    NONE,
    SHARED,
    SHIELDED,
    SINGLE,
    Problems,
    check_names,
    quote,
    split_assignments,
)
from hardstone.preemption.tables import switched_models
from hardstone.simulation.request import MODES, SweepRequest, make_sweep_plan
from hardstone.simulation.sweep import Sweeper
from hardstone.study.papers import Exhibit, Paper
from hardstone.wording import shorten

Length = Literal["quick", "default", "as-published"]
LENGTHS: tuple[Length, ...] = get_args(Length)
Kind = Literal["run", "realtime", "realfast"]
_FILE = Path(__file__).with_name("procedure.toml")
_CPUS = "cpus"  # in a list of threads
_GUEST = "lab:"
_DEVICE, _MODEL = "device=edu", "preempt="
_FIRST_DEVICE = "uio=0"


class _Extent(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """Options of one length."""

    profile: str = "quick"
    samples: str | None = None
    duration: str | None = None
    params: tuple[str, ...] = ()
    masses: str | None = None
    threads: str | None = None
    within: str | None = None


class _Entry(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    """A part as the file has it; the fields are explained there."""

    kind: Kind = "run"
    title: str
    tests: tuple[str, ...] = ()
    params: tuple[str, ...] = ()
    loads: tuple[str, ...] = (NONE,)
    cpu_configs: tuple[str, ...] = (SHARED,)
    policies: str = "fifo"
    compares_preemption: bool = False
    records: bool = False
    quick: _Extent | None = None  # None: left out
    default: _Extent
    as_published: _Extent

    def extent(self, length: Length) -> _Extent | None:
        found: _Extent | None = getattr(self, length.replace("-", "_"))
        return found


class _Procedure(msgspec.Struct, kw_only=True, frozen=True, forbid_unknown_fields=True):
    priority: str
    waiters: int = 0
    hardware_threads: int = 0
    quick_min: int
    default_min: int
    parts: list[_Entry]


@cache
def _procedures() -> Mapping[str, _Procedure]:
    found = tomllib.loads(_FILE.read_text("utf-8"))
    return msgspec.convert(found, dict[str, _Procedure])


@dataclass(frozen=True, kw_only=True)
class Here:
    """A system on which a study is to be measured: what its probe said before the first part.

    `target`: as typed. `loads`, `shield`: None where the probe has none, or was not asked.
    `folder`: for the files of tests; None leaves it to the probe.
    """

    target: str
    facts: Mapping[str, Scalar]
    register: Register
    loads: Loads | None = None
    shield: ShieldState | None = None
    folder: str | None = None

    @property
    def is_guest(self) -> bool:
        return self.target.startswith(_GUEST)

    @property
    def settings(self) -> list[str]:
        """Those of a guest: "preempt=none"."""
        return self.target.split(",")[1:] if self.is_guest else []


@dataclass(frozen=True, kw_only=True)
class Part:
    """One stored run of a study: `request` of the kind "run", else `sweep`.

    `number` of `count`: in the order of measuring.
    """

    study: str
    kind: Kind
    title: str
    number: int
    count: int
    tests: tuple[str, ...]
    request: Request
    sweep: SweepRequest | None = None

    def exhibits(self, paper: Paper) -> list[Exhibit]:
        """The tables and figures with results that the part repeats."""
        return [one for one in paper.exhibits if one.has_results and set(one.tests) & {*self.tests}]

    def numbers(self, paper: Paper) -> str:
        """The same as people read it: "Tables 5, 8, Figure 6"."""
        found: dict[str, dict[str, None]] = {}
        for one in self.exhibits(paper):
            kind, _, number = one.number.partition(" ")
            if number[:1].isdigit():
                found.setdefault(kind, {})[number.rstrip("abc")] = None
        return ", ".join(
            f"{kind}{'s' if len(numbers) > 1 else ''} {', '.join(numbers)}"
            for kind, numbers in found.items()
        )


@dataclass(frozen=True)
class Missing:
    """Something of a study that cannot be had on a system: why, and what it would take."""

    what: str
    why: str
    remedy: str
    is_many: bool = False

    def __str__(self) -> str:
        found = "them" if self.is_many else "it"
        return f"Not available here: {self.what}, since {self.why}. To have {found}: {self.remedy}"


@dataclass(frozen=True)
class Procedure:
    """What a study measures on one system, and what it cannot."""

    parts: tuple[Part, ...]
    missing: tuple[Missing, ...] = field(default=())


def measured_tests(name: str) -> list[str]:
    """The tests that the study `name` measures, each once, in the order of measuring."""
    found = (test for entry in _procedures()[name].parts for test in _tests(entry))
    return list(dict.fromkeys(found))


def _tests(entry: _Entry) -> tuple[str, ...]:
    return entry.tests if entry.kind == "run" else (MODES[entry.kind],)


def about_minutes(name: str, length: Length = "default") -> int | None:
    """About how long the study `name` takes on a machine with two CPUs on which all of it can be
    measured; None for the paper's own lengths."""
    found = _procedures()[name]
    return {"quick": found.quick_min, "default": found.default_min}.get(length)


def needs_loads(name: str) -> bool:
    """Whether the study measures under any load."""
    return any(load != NONE for entry in _procedures()[name].parts for load in entry.loads)


def needs_shield(name: str) -> bool:
    """Whether the study reserves a CPU."""
    return any(SHIELDED in entry.cpu_configs for entry in _procedures()[name].parts)


def procedure_of(
    paper: Paper, length: Length, here: Here, *, params: Sequence[str] = (), name: str = ""
) -> Procedure:
    """The parts of a study on the system `here`, and what is left out of them.

    `params` are typed `key=value` pairs: each goes to the parts whose tests have that parameter.
    `name`: begins the names of the runs.
    """
    found = _procedures()[paper.name]
    given = [*params, *_device_of(here, params)]
    missing = _Missing(here, given)
    kept = missing.without_repeats(
        (entry, extent, tests)
        for entry in found.parts
        if (extent := entry.extent(length)) and (tests := missing.possible_tests(entry))
    )
    title = name or f"study {paper.name}{'' if length == 'default' else f' {length}'}"
    parts = []
    for place, (entry, extent, tests) in enumerate(kept, 1):
        base = Request(
            tests=tuple(tests),
            name=f"{title} {place}/{len(kept)}",
            profile=extent.profile,
            target=here.target,
            load=tuple(missing.possible_loads(entry)),
            cpu_config=tuple(missing.possible_configs(entry)),
            priority=None if missing.why_no_highest() else found.priority,
            preemption_models=missing.models(entry),
            is_recording=entry.records,
            default_folder=here.folder,
        )
        part = Part(
            study=paper.name,
            kind=entry.kind,
            title=entry.title,
            number=place,
            count=len(kept),
            tests=tuple(tests),
            request=base,
        )
        frames = "0" if length == "quick" else SweepRequest.frames
        parts.append(_with_options(part, entry, extent, frames, given, here))
    _check_params(params, parts, here.register)
    return Procedure(tuple(parts), tuple(missing.found_in(found)))


def _check_params(params: Sequence[str], parts: Sequence[Part], register: Register) -> None:
    """PlanError for a typed pair that no part takes: an unknown one, or one that the paper sets."""
    problems = Problems()
    typed = split_assignments(params, problems)
    taken = {_key(pair) for part in parts for pair in part.request.params}
    tests = [one for one in register.tests if any(one.id in part.tests for part in parts)]
    check_names(list(typed), tests, problems)
    if problems.is_empty:
        set_ = {_key(pair) for part in parts for pair in part.request.params if pair not in params}
        for key in typed:
            if key not in taken or key in set_:
                problems.add(f"-p {quote(key)}: the study sets it", "leave it out")
    problems.raise_if_any()


def _with_options(
    part: Part, entry: _Entry, extent: _Extent, frames: str, given: Sequence[str], here: Here
) -> Part:
    """`part` with the options of its length, and the pairs in `given` that its tests take."""
    if part.kind == "run":
        tests = [one for one in here.register.tests if one.id in part.tests]
        names = {spec.name for one in tests for spec in one.params}
        own = [one for one in (*entry.params, *extent.params) if _key(one) in names]
        added = [one for one in given if _key(one) in names - set(map(_key, own))]
        params = (*own, *added)
        changed = {"samples": extent.samples, "duration": extent.duration, "params": params}
        return replace(part, request=replace(part.request, **changed))  # type: ignore[arg-type]
    threads = extent.threads and extent.threads.replace(_CPUS, str(count_cpus(here.facts)))
    sweep = SweepRequest(
        mode=part.kind,
        base=part.request,
        masses=extent.masses,
        threads=threads,
        policy=entry.policies,
        duration=extent.duration,
        within=extent.within,
        frames=frames,
        has_fast=part.kind == "realfast",  # of its own; one in real time leaves it to its part
    )
    return replace(part, sweep=sweep)


def _key(pair: str) -> str:
    return pair.partition("=")[0].strip()


def _device_of(here: Here, params: Sequence[str]) -> list[str]:
    """The parameter that names the device of a guest that has one."""
    is_named = any(_key(one) == "uio" for one in params)
    return [_FIRST_DEVICE] if _DEVICE in here.settings and not is_named else []


def plan_of(part: Part, here: Here) -> Plan:
    """The plan of a part; of a sweep as far as it is known before the first result. PlanError as
    of make_plan."""
    catalogue = load_catalogue()
    known = (here.register, catalogue, here.facts, here.loads)
    made = (
        make_plan(part.request, *known)
        if part.sweep is None
        else make_sweep_plan(part.sweep, *known)
    )
    study = StudyPart(study=part.study, number=part.number, count=part.count)
    return msgspec.structs.replace(made, study=study)


def planned_ns(plan: Plan, register: Register) -> int:
    """About how long a plan takes; of a sweep with all the points that it may have."""
    sweep = plan.sweep
    if sweep is None:
        return sum(one.expected_ns for one in plan.tests)
    if sweep.within_ns:
        return sweep.within_ns
    sweeper = Sweeper(plan, register)
    before = sum(one.expected_ns for one in plan.tests if one.test != sweep.test)
    return before + sweeper.left_ns([], 0)


class _Missing:
    """Decides from the facts of a system what of a study cannot be had there. A fact that is not
    known rules nothing out: the probe finds out."""

    def __init__(self, here: Here, given: Sequence[str]) -> None:
        self._here = here
        self._facts = here.facts
        self._given = given
        self._known = {one.id for one in here.register.tests}
        self._cpus = count_cpus(here.facts) if "cpu.allowed" in here.facts else 0

    def possible_tests(self, entry: _Entry) -> list[str]:
        return [one for one in _tests(entry) if one in self._known]

    def possible_loads(self, entry: _Entry) -> list[str]:
        loads = [one for one in entry.loads if one == NONE or one in self._loads]
        return loads or [NONE]

    def possible_configs(self, entry: _Entry) -> list[str]:
        kept = [one for one in entry.cpu_configs if not self._why_no_config(one)]
        return kept or [SHARED]

    def without_repeats(
        self, entries: Iterable[tuple[_Entry, _Extent, list[str]]]
    ) -> list[tuple[_Entry, _Extent, list[str]]]:
        """Without the parts that repeat an earlier one on this system: where no CPU can be
        reserved, those that differ from it by the reserved CPU alone."""
        kept = []
        done: dict[tuple[Kind, tuple[str, ...], tuple[str, ...]], set[tuple[str, str]]] = {}
        for entry, extent, tests in entries:
            own = set(product(self.possible_loads(entry), self.possible_configs(entry)))
            known = done.setdefault((entry.kind, tuple(tests), entry.params), set())
            if not own <= known:
                kept.append((entry, extent, tests))
            known |= own
        return kept

    def why_no_highest(self) -> str:
        """Why threads cannot have the highest priority; "" if they can."""
        if not isinstance(self._facts.get("limits.priority_max"), int):
            return "the system does not report it"
        # A reason although the right is granted: it is granted for all priorities but that.
        is_granted = self._facts.get("limits.can_realtime") is True
        reason = self._facts.get("limits.realtime_reason")
        return _said(reason, "") if is_granted else ""

    def models(self, entry: _Entry) -> tuple[str, ...]:
        if not entry.compares_preemption or self._why_no_switch():
            return ()
        found = switched_models(self._facts)
        return (found.off, found.on)

    def found_in(self, procedure: _Procedure) -> Iterator[Missing]:
        """All that is missing, in the order of what it costs a study."""
        tests = [test for entry in procedure.parts for test in _tests(entry)]
        loads = dict.fromkeys(load for entry in procedure.parts for load in entry.loads)
        configs = dict.fromkeys(one for entry in procedure.parts for one in entry.cpu_configs)
        yield from self._rights()
        yield from self._figures()
        for test in tests:
            if test not in self._known:
                yield Missing(test, "the probe does not have the test", "hardstone probe build")
        for load in loads:
            if load != NONE and load not in self._loads:
                why = f"the probe of this system has no load {load}"
                yield Missing(f"load {load}", why, "a system whose probe makes load")
        for config in configs:
            why, remedy = self._why_no_config(config) or ("", "")
            if why:
                yield Missing(f"CPU configuration {config}", why, remedy)
        is_chosen = any(one.startswith(_MODEL) for one in self._here.settings)
        if any(entry.compares_preemption for entry in procedure.parts) and not is_chosen:
            why, remedy = self._why_no_switch() or ("", "")
            if why:
                yield Missing("kernel preemption off and on", why, remedy)
        yield from self._interrupts(tests)
        if any(_is_traced(entry) for entry in procedure.parts):
            yield from self._trace()
        if "heavy" in loads and "heavy" in self._loads:
            what = "the load's packets from another machine and its serial interrupts"
            why = "no host and no device is named (heavy has loopback and timers)"
            remedy = "a load with network=4000/s@HOST:PORT (docs/reference/load.md)"
            yield Missing(what, why, remedy, is_many=True)
        yield from self._numbers(procedure)

    def _rights(self) -> Iterator[Missing]:
        how = "docs/how-to/grant-rights.md, or root"
        if self._facts.get("limits.can_realtime") is False:
            why = _said(self._facts.get("limits.realtime_reason"), "the right is refused")
            yield Missing("real-time priority", why, how)
        elif self.why_no_highest():
            yield Missing("the highest real-time priority", self.why_no_highest(), how)
        if self._facts.get("limits.can_lock") is False:
            yield Missing("locked memory", "the right is refused", how)

    def _figures(self) -> Iterator[Missing]:
        """Why no time may be compared with the published ones."""
        if self._facts.get("virtual.time") == "instructions":
            why = "time counts instructions"
        elif self._facts.get("virtual.emulated") is True:
            why = "the processor is emulated"
        else:
            return
        what = "times that may be compared with the published ones"
        yield Missing(what, why, "hardware, or a guest with --accel kvm", is_many=True)

    @property
    def _loads(self) -> set[str]:
        known = self._here.loads
        return set() if known is None else {one.name for one in known.mixes}

    def _why_no_config(self, config: str) -> tuple[str, str] | None:
        """Why the CPU configuration cannot be had, and what it would take; None: it can."""
        if config == SHARED:
            return None
        can_have_more = self._here.is_guest and "deterministic" not in self._here.settings
        if self._cpus == 1:
            found = ("there is one CPU only", "--cpus 2" if can_have_more else "more CPUs")
        elif self._facts.get("user.effective_id") not in (0, None):
            found = ("only root may change the machine", 'sudo "$(command -v hardstone)" study')
        elif config == SINGLE:
            is_contained = self._facts.get("virtual.container") is not None
            why = "a container cannot take CPUs offline" if is_contained else ""
            found = (why, "measure on the host itself")
        else:
            settings = [] if self._here.shield is None else self._here.shield.settings
            lacking = [one.now for one in settings if one.name == "cpuset" and not one.available]
            why = _said(lacking[0], "no CPU can be reserved") if lacking else ""
            found = (why, "hardstone shield --show")
        return found if found[0] else None

    def _why_no_switch(self) -> tuple[str, str] | None:
        """Why preemption cannot be switched off and on, and what it would take; None: it can."""
        if self._here.is_guest:
            name = self._here.target.partition(",")[0]
            return "the preemption model of a guest is chosen at boot", _with_models(name)
        try:
            switched_models(self._facts)
        except PrivilegeError as error:
            is_mount = "mount" in error.remedy
            return error.cause, error.remedy if is_mount else _with_models("lab:debian")
        return None

    def _interrupts(self, tests: Sequence[str]) -> Iterator[Missing]:
        takes = {one.id for one in self._here.register.tests for p in one.params if p.name == "uio"}
        if not takes & set(tests):
            return
        if any(_key(one) == "uio" for one in self._given):
            return
        why = "no device is named (other CPUs and timers raise interrupts instead)"
        remedy = "-p uio=N (docs/how-to/external-interrupts.md)"
        if self._here.is_guest:
            remedy = "--device edu"
        yield Missing("the interrupts of an external device", why, remedy, is_many=True)

    def _trace(self) -> Iterator[Missing]:
        if isinstance(self._facts.get("tracing.tracer"), str):
            return
        user = self._facts.get("user.effective_id")
        if user not in (0, None):
            why, remedy = "only root may read the kernel's trace", "run it as root"
        elif user == 0:
            why, remedy = "the kernel has no tracefs", "a kernel with CONFIG_FTRACE"
        else:
            return
        what = "what the kernel does within a latency (handlers, sections, parts)"
        yield Missing(what, why, remedy)

    def _numbers(self, procedure: _Procedure) -> Iterator[Missing]:
        low, high = (self._facts.get(f"limits.priority_{one}") for one in ("min", "max"))
        if isinstance(low, int) and isinstance(high, int) and high - low + 1 < procedure.waiters:
            what = f"{procedure.waiters} threads of different priorities"
            why = f"the system has {high - low + 1} real-time priorities"
            yield Missing(what, why, "a system with more priorities", is_many=True)
        wanted = procedure.hardware_threads
        if 0 < self._cpus < wanted:
            here = f"{self._cpus} CPU{'' if self._cpus == 1 else 's'}"
            why = f"the machine of the paper had {wanted} hardware threads and this one has {here}"
            remedy = f"a machine with {wanted} hardware threads"
            yield Missing("as many threads on each CPU as in the paper", why, remedy, is_many=True)


def _with_models(kernel: str) -> str:
    """The options that boot a kernel of the lab with each model."""
    return f"--target {kernel},preempt=none --target {kernel},preempt=full"


def _is_traced(entry: _Entry) -> bool:
    return entry.records or any(one.endswith("=auto") for one in entry.params)


_REASON_CHARACTERS = 240


def _said(text: Scalar, otherwise: str) -> str:
    """What a system says of itself, as one short line."""
    return shorten(text, _REASON_CHARACTERS) if isinstance(text, str) and text else otherwise
