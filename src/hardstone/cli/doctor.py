"""`hardstone doctor`: is this machine fit for real-time work, and what to change."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

from hardstone.cli.help import CONDITIONS, HOW_LONG, WHAT, declare
from hardstone.cli.options import (
    LabOptions,
    OutcomeOptions,
    TargetOption,
    lab_target,
    option,
    options_of,
    shared,
)
from hardstone.errors import EXIT_OK, EXIT_PRIVILEGE, HardstoneError, InputError, TargetError

if TYPE_CHECKING:
    from hardstone.doctor.diagnose import Diagnosis
    from hardstone.model import Facts, Scalar
    from hardstone.targets.base import Target

_PROVE_ONLY = ("pairs", "duration", "test", "load", "seed", "store", "wait_s")


@dataclass(frozen=True, kw_only=True)
class DoctorOptions(LabOptions):
    """Options of `hardstone doctor`."""

    wants_all: bool = option(
        "--all",
        group=WHAT,
        is_flag=True,
        help="Also show rules that are fine or unknown, through a pager at a terminal.",
    )
    explain: str | None = option(
        "--explain", group=WHAT, metavar="RULE", help="Explain RULE and its result here."
    )
    prove: str | None = option(
        "--prove",
        group=WHAT,
        metavar="RULE",
        help="Measure what the settings of RULE change, in pairs of runs with and without them.",
    )
    pairs: str | None = option(
        "--pairs",
        group=HOW_LONG,
        metavar="N",
        help="With --prove: number of pairs, at least 10 (default: 12).",
    )
    duration: str | None = option(
        "-D",
        "--duration",
        group=HOW_LONG,
        metavar="TIME",
        help="With --prove: measuring time of each run (default: 5s).",
    )
    test: str | None = option(
        "--test",
        group=CONDITIONS,
        metavar="TEST",
        help="With --prove: the test to run (default: TMR-P-LAT).",
    )
    load: str | None = option(
        "--load",
        group=CONDITIONS,
        metavar="LOAD",
        help="With --prove: the load of all runs (default: none).",
    )
    seed: str | None = option(
        "--seed",
        group=CONDITIONS,
        metavar="N",
        help="With --prove: the seed that decides which run of a pair is first (default: 0).",
    )
    wait_s: float | None = shared(OutcomeOptions, "wait_s")
    target: str = shared(TargetOption, "target")
    store: Path | None = shared(OutcomeOptions, "store")
    as_json: bool = shared(OutcomeOptions, "as_json")
    quiet: bool = shared(OutcomeOptions, "quiet")


@declare(
    "doctor",
    "hardstone doctor",
    "hardstone doctor --explain governor",
    "hardstone doctor --prove governor",
)
@options_of(DoctorOptions)
def command(options: DoctorOptions) -> int:
    """Check whether a machine is fit for real-time work.

    Each problem is shown with its level (blocker, problem or note) and what to change. The checks
    are those of the user who runs the probe; the probe checks its own code too. The doctor changes
    nothing. Only --prove applies settings, and only during its own runs. The exit code is 5 if
    there is a blocker.
    """
    if options.prove is not None and options.explain is not None:
        raise InputError("--prove and --explain are both given", "give one of them")
    given = [name for name in _PROVE_ONLY if getattr(options, name) is not None]
    if options.prove is None and given:
        raise InputError(f"--{given[0].removesuffix('_s')} needs --prove", "add --prove RULE")
    options = replace(options, target=lab_target(options.target, options))
    if options.prove is not None:
        from hardstone.cli.prove import prove

        return prove(options.prove, options)
    if options.explain is not None:
        return _explain(options.explain, options)
    from hardstone.cli.messages import print_json
    from hardstone.doctor.diagnose import blocks

    diagnosis = _diagnosis(options)
    if options.as_json:
        print_json(diagnosis)
    else:
        from hardstone.cli.messages import paged
        from hardstone.doctor.screen import print_diagnosis

        with paged():
            print_diagnosis(diagnosis, wants_all=options.wants_all)
    return EXIT_PRIVILEGE if blocks(diagnosis) else EXIT_OK


def _diagnosis(options: DoctorOptions) -> Diagnosis:
    from hardstone.cli.messages import notice_messages
    from hardstone.targets import find_target

    with closing(find_target(options.target)) as target:
        target.open(notice_messages(quiet=options.quiet))
        return examined(target)[1]


def examined(target: Target) -> tuple[Facts, Diagnosis]:
    """What the probe says of an open target, and what the rules say of that."""
    from hardstone.doctor.diagnose import diagnose

    facts = target.facts(with_counter=False)
    return facts, diagnose(
        {**facts.facts, **_selftest(target)},
        target=target.name,
        probe_version=facts.probe_version,
        probe_path=target.probe_path(),
    )


def _selftest(target: Target) -> Mapping[str, Scalar]:
    """What the probe's checks of itself found. One that crashes in them has failed; whatever else
    keeps them from an answer leaves the rest of the diagnosis as it is."""
    from hardstone.doctor.diagnose import selftest_facts
    from hardstone.targets.base import ProbeError, ProbeTimeoutError

    try:
        return selftest_facts(target.selftest())
    except InputError as error:
        return {"derived.selftest_reason": error.cause}
    except TargetError as error:
        if isinstance(error.__cause__, ProbeTimeoutError):
            return {"derived.selftest_reason": error.cause}
        if isinstance(error.__cause__, ProbeError):
            return {"derived.selftest_failed": error.cause}
        raise


def _explain(asked: str, options: DoctorOptions) -> int:
    from hardstone.cli.messages import print_json
    from hardstone.doctor.diagnose import find_rule

    name, rule = find_rule(asked)
    finding = None
    try:
        found = _diagnosis(options).findings
        finding = next(one for one in found if one.rule == name)
    except HardstoneError:
        if options.target != "local":
            raise  # the user named this target, so its failure matters
    if options.as_json:
        print_json({"name": name, "rule": rule, "finding": finding})
    else:
        from hardstone.doctor.screen import print_rule

        print_rule(name, rule, finding, options.target)
    return EXIT_OK
