"""`--compare-preemption`: the plan with the kernel's preemption off and on, then one table.

At run time both are conditions of one run. A kernel of the lab is booted with each model, and
each boot has a run of its own.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import closing
from typing import Any

from hardstone.cli.lab_options import LAB_PREFIX
from hardstone.cli.measure_targets import print_plan, print_run
from hardstone.cli.measuring import prepare, run_one
from hardstone.cli.messages import print_json, tell, visible
from hardstone.cli.several_targets import measure_several
from hardstone.errors import InputError
from hardstone.model import RunDocument
from hardstone.plan import Models, booted_models, switched_models
from hardstone.preemption.models import OFF, ON
from hardstone.targets import find_target
from hardstone.targets.base import WrongModelError

_OPTION = "--compare-preemption"


def compare_preemption(
    names: Sequence[str], tests: Sequence[str], options: Mapping[str, Any], *, wants_report: bool
) -> int:
    """Measures the one target of `names` with preemption off and on: the exit code."""
    if len(names) != 1:
        raise InputError(f"{_OPTION} compares on one target, not on {len(names)}", "name one")
    if names[0].startswith(LAB_PREFIX):
        return _compare_boots(names[0], tests, options, wants_report=wants_report)
    return _compare_at_run_time(names[0], tests, options, wants_report=wants_report)


def _compare_at_run_time(
    name: str, tests: Sequence[str], options: Mapping[str, Any], *, wants_report: bool
) -> int:
    with closing(find_target(name)) as target:
        prepared = prepare(target, name, tests, options, models_of=switched_models)
        _remark(switched_models(prepared.facts.facts), options)
        if options["dry_run"]:
            return print_plan(prepared.plan, as_json=options["as_json"])
        show = print_json if options["as_json"] else _print_run
        return run_one(prepared, options, show, wants_report=wants_report)[1]


def _print_run(document: RunDocument) -> None:
    from hardstone.preemption.screen import print_pairs
    from hardstone.preemption.tables import pairs_in

    print_run(document)
    print_pairs(pairs_in(document))


# ---- boots of the lab ----


def _compare_boots(
    name: str, tests: Sequence[str], options: Mapping[str, Any], *, wants_report: bool
) -> int:
    """With `none` and `full`; with what the kernel has where it does not know `none`."""
    models = Models(OFF, ON)
    for is_last in (False, True):
        try:
            return measure_several(
                _boots(name, models),
                tests,
                options,
                wants_report=wants_report,
                ends_at=() if is_last else (WrongModelError,),
                after=_print_pair,
            )
        except WrongModelError as error:
            models = _models_of(error)
            _remark(models, options)
    raise AssertionError("the second round raises no WrongModelError")


def _boots(name: str, models: Models) -> list[str]:
    from hardstone.lab.settings import parse_settings, with_settings

    settings = parse_settings(name.removeprefix(LAB_PREFIX))
    if settings.preempt is not None:
        raise InputError(
            f"{_OPTION} boots with preempt={models.off} and preempt={models.on} itself",
            "leave preempt out",
        )
    return [LAB_PREFIX + with_settings(settings, preempt=one).name for one in models[:2]]


def _models_of(error: WrongModelError) -> Models:
    from hardstone.lab.settings import PREEMPT_MODELS

    return booted_models(error.facts, PREEMPT_MODELS)


def _print_pair(documents: Sequence[RunDocument]) -> None:
    from hardstone.preemption.screen import print_pairs
    from hardstone.preemption.tables import pairs_of

    if len(documents) == 2:
        print_pairs(pairs_of(*documents))


def _remark(models: Models, options: Mapping[str, Any]) -> None:
    if models.remark and not options["quiet"]:
        tell(visible(models.remark))
