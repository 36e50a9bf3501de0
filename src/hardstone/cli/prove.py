"""Proves the advice of the doctor by measuring with and without it."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from contextlib import closing

import msgspec

from hardstone.campaign.campaign import Campaign, Outcome, pair_plan
from hardstone.catalogue import kind_of, load_catalogue
from hardstone.cli.doctor import DoctorOptions
from hardstone.cli.messages import abandon, notice_messages, print_json, tell
from hardstone.cli.open_store import open_store
from hardstone.cli.options import read_count
from hardstone.doctor.diagnose import (
    Rule,
    doctor_command,
    find_rule,
    load_rules,
    prove_command,
    why_no_switch,
)
from hardstone.errors import (
    EXIT_OK,
    EXIT_UNTRUSTWORTHY,
    InputError,
    PrivilegeError,
)
from hardstone.model import Facts, Plan, Scalar
from hardstone.plan.make import Request, make_plan, proving_words
from hardstone.plan.params import NONE
from hardstone.stats.two_runs import FEW_PAIRS, LEAST_PAIRS, Proof, why_useless
from hardstone.stats.two_runs import prove as proof_of
from hardstone.targets import find_target
from hardstone.targets.base import Target
from hardstone.wording import shorten

_MOST_PAIRS = 500
_DEFAULTS = {"test": "TMR-P-LAT", "duration": "5s", "load": "none", "seed": "0"}
_DEFAULT_PAIRS = 12
# Every user who may open its device may use it; the other settings need root.
_FOR_ANYONE = {"dma_latency"}


def prove(asked: str, options: DoctorOptions) -> int:
    """Measures the rule `asked`, prints the effect: the exit code."""
    name, rule = find_rule(asked)
    if not rule.settings:
        can = ", ".join(key for key, one in load_rules().items() if one.settings)
        raise InputError(
            f"{name} cannot be switched for a measurement: {rule.fixed}", f"these can: {can}"
        )
    pairs = _pairs(options.pairs)
    with closing(find_target(options.target)) as target:
        target.open(notice_messages(quiet=options.quiet, wait_s=options.wait_s))
        facts = target.facts()
        _check_rights(name, rule, facts.facts)
        plan = _plan(options, target, facts, name, rule, pairs)
        _check_effect(name, rule, facts.facts, target)
        outcome = _measure(options, target, facts, plan, rule)
    proof = proof_of(outcome.document, name, rule.settings)
    _print(proof, rule, as_json=options.as_json)
    tell(f"stored as {proof.run}", f"hardstone show {proof.run}")
    # An untrustworthy run (on a virtual machine, say) can still hold a valid comparison.
    is_partial = proof.pairs_counted != proof.pairs_asked
    return EXIT_UNTRUSTWORTHY if is_partial and outcome.exit_code == EXIT_OK else outcome.exit_code


def _pairs(text: str | None) -> int:
    if text is None:
        return _DEFAULT_PAIRS
    remedy = f"give {LEAST_PAIRS} to {_MOST_PAIRS}"
    pairs = read_count("--pairs", text, 0, _MOST_PAIRS, "pairs", remedy)
    if pairs < LEAST_PAIRS:
        raise InputError(f"--pairs {pairs}: {FEW_PAIRS}", f"give at least {LEAST_PAIRS}")
    return pairs


def _check_rights(name: str, rule: Rule, facts: Mapping[str, Scalar]) -> None:
    user = facts.get("user.effective_id")
    if user not in (0, None) and not set(rule.settings) <= _FOR_ANYONE:
        raise PrivilegeError(
            f"user {user} may not switch {', '.join(rule.settings)}",
            f"run it as root: {prove_command(name, 'local')}",
        )


def _check_effect(name: str, rule: Rule, facts: Mapping[str, Scalar], target: Target) -> None:
    """Refuses a setting without effect: pairs of equal runs would prove nothing."""
    reason = why_no_switch(rule, facts)
    if reason is not None:
        settings = ", ".join(rule.settings)
        raise PrivilegeError(
            f"{settings} would change nothing here: {reason}",
            f"see the facts behind it: {doctor_command(target.name, '--explain', name)}",
        )
    look = target.shield_look()
    for one in look.settings if look is not None else ():
        if one.name in rule.settings and not one.available:
            raise PrivilegeError(
                f"{one.name} cannot be switched here: {shorten(one.now, 200)}",
                "see which settings can be: hardstone shield --show",
            )


def _plan(
    options: DoctorOptions, target: Target, facts: Facts, name: str, rule: Rule, pairs: int
) -> Plan:
    given = {key: getattr(options, key) or default for key, default in _DEFAULTS.items()}
    request = Request(
        tests=(given["test"],),
        name=f"prove {name}",
        target=options.target,
        duration=given["duration"],
        load=(given["load"],),
        seed=given["seed"],
    )
    loads = target.load_list() if given["load"] != NONE else None
    plan = make_plan(request, target.probe_list(), load_catalogue(), facts.facts, loads)
    if len(plan.tests) != 1:
        raise InputError("--prove measures one test under one load", "name one of each")
    test = plan.tests[0].test
    if kind_of(test) == "behaviour":
        raise InputError(f"{test} tests behaviour and times nothing", "name a -P- test")
    plan = pair_plan(plan, rule.settings, pairs, plan.seed)
    return msgspec.structs.replace(plan, command=proving_words(plan, name, pairs))


def _measure(
    options: DoctorOptions, target: Target, facts: Facts, plan: Plan, rule: Rule
) -> Outcome:
    from hardstone.cli.progress import make_reporter

    store = open_store(options.store, target)
    with make_reporter(quiet=options.quiet) as reporter:
        campaign = Campaign(
            target,
            store,
            reporter.take,
            lambda document: why_useless(document, rule.settings),
            wait_s=options.wait_s,
        )
        return campaign.run(plan, facts, target.probe_list())


def _print(proof: Proof, rule: Rule, *, as_json: bool) -> None:
    from hardstone.doctor.screen import print_proof

    try:
        if as_json:
            print_json(proof)
        else:
            print_proof(proof, rule.title)
    except OSError as error:
        abandon(sys.stdout)
        tell(f"the proof cannot be printed ({error.strerror}); the run is stored")
