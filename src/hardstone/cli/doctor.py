"""`hardstone doctor`: is this machine fit for real-time work, and what to change."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import click

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
    from hardstone.model import Scalar
    from hardstone.targets.base import Target

_PROVE_ONLY = ("pairs", "duration", "test", "load", "seed", "store", "wait_s")


@dataclass(frozen=True, kw_only=True)
class DoctorOptions(LabOptions):
    """Options of `hardstone doctor`."""

    wants_all: bool = option(
        "--all", is_flag=True, help="Also show rules that are fine or unknown."
    )
    explain: str | None = option(
        "--explain", metavar="RULE", help="Explain one rule and its result here."
    )
    prove: str | None = option(
        "--prove", metavar="RULE", help="Measure the effect of a rule's settings in pairs."
    )
    pairs: str | None = option(
        "--pairs", metavar="N", help="Pairs of runs of --prove, at least 10 (default: 12)."
    )
    duration: str | None = option(
        "-D",
        "--duration",
        metavar="TIME",
        help="Measuring time of each run of --prove (default: 5s).",
    )
    test: str | None = option(
        "--test", metavar="TEST", help="Test of --prove (default: TMR-P-LAT)."
    )
    load: str | None = option(
        "--load", metavar="LOAD", help="Load of all runs of --prove (default: none)."
    )
    seed: str | None = option(
        "--seed", metavar="N", help="Seed for the order in pairs of --prove (default: 0)."
    )
    wait_s: float | None = shared(OutcomeOptions, "wait_s")
    target: str = shared(TargetOption, "target")
    store: Path | None = shared(OutcomeOptions, "store")
    as_json: bool = shared(OutcomeOptions, "as_json")
    quiet: bool = shared(OutcomeOptions, "quiet")


@click.command("doctor")
@options_of(DoctorOptions, lab_after="target")
def command(options: DoctorOptions) -> int:
    """Check whether a machine is fit for real-time work, and say what to change.

    Each rule is found, fine or unknown, for the user who would run the probe. A rule that
    is found has a level: blocks, hurts or note. The probe checks its own code too
    (hardstone-probe selftest). The doctor changes nothing. Only --prove applies settings,
    and only during its own runs. Exit code 5 when a rule blocks.
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
        from hardstone.doctor.screen import print_diagnosis

        print_diagnosis(diagnosis, wants_all=options.wants_all)
    return EXIT_PRIVILEGE if blocks(diagnosis) else EXIT_OK


def _diagnosis(options: DoctorOptions) -> Diagnosis:
    from hardstone.cli.messages import notice_messages
    from hardstone.doctor.diagnose import diagnose
    from hardstone.targets import find_target

    with closing(find_target(options.target)) as target:
        target.open(notice_messages(quiet=options.quiet))
        facts = target.facts()
        return diagnose(
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
