"""`hardstone gate`: do figures keep their limits, and did a change make them worse."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

from hardstone.cli import completion
from hardstone.cli.help import DECISION, OUTPUT, WHAT, WHERE, declare
from hardstone.cli.options import OutcomeOptions, option, options_of, shared
from hardstone.errors import InputError

_FILE = click.Path(dir_okay=False, path_type=Path)
_PAIRS_ONLY = ("first", "second", "targets", "wait_s")
_OF_PAIRS = ("deadline", "tails", "alpha")
_TYPED = {"targets": "target", "wait_s": "wait"}


@dataclass(frozen=True, kw_only=True)
class GateOptions:
    """Options of `hardstone gate`."""

    limits: Path | None = option(
        "--limits", group=WHAT, type=_FILE, metavar="FILE", help="Check RUN against limits in TOML."
    )
    baselines: tuple[str, ...] = option(
        "--baseline",
        group=WHAT,
        multiple=True,
        metavar="RUN",
        help="Check RUN against this baseline: one of at least 10 repeats, or published:ID. Repeat "
        "it to name each run of the baseline.",
    )
    pattern: str = option(
        "--test",
        group=WHAT,
        default="*",
        metavar="PATTERN",
        help="With --limits or --baseline: check only these tests, as in 'TMR-*'.",
    )
    suggest: bool = option(
        "--suggest", group=WHAT, is_flag=True, help="Write limits that all RUNs pass."
    )
    margin: str | None = option(
        "--margin",
        group=DECISION,
        metavar="N%",
        help="Accepted change (default: 25% with --suggest; with --pairs 10% in the median and 25% "
        "in p99); with --baseline the change that it must be able to detect (30%).",
    )
    output: Path | None = option(
        "-o",
        "--output",
        group=OUTPUT,
        type=_FILE,
        metavar="FILE",
        help="With --suggest: write the limits to FILE.",
    )
    pairs: str | None = option(
        "--pairs",
        group=WHAT,
        is_common=True,
        is_flag=False,
        flag_value="12",
        metavar="[N]",
        help="Measure TEST in N interleaved pairs of A and B (default: 12, at least 10), and "
        "compare them.",
    )
    first: str | None = option(
        "--first",
        group=WHAT,
        metavar="OPTIONS",
        help="With --pairs: options of hardstone run for side A.",
    )
    second: str | None = option(
        "--second",
        group=WHAT,
        metavar="OPTIONS",
        help="With --pairs: options for side B, which must not be worse than A.",
    )
    targets: tuple[str, ...] = option(
        "--target",
        group=WHERE,
        multiple=True,
        metavar="NAME",
        help="With --pairs: target of both sides; give it twice for A and for B.",
    )
    again: Path | None = option(
        "--again",
        group=WHAT,
        type=_FILE,
        metavar="FILE",
        help="Decide again from the stored runs; FILE is the output of --pairs --json.",
    )
    deadline: str | None = option(
        "--deadline",
        group=DECISION,
        metavar="TIME",
        help="With --pairs: also compare the share of values above TIME: 100us.",
    )
    alpha: str | None = option(
        "--alpha",
        group=DECISION,
        metavar="N%",
        help="With --pairs: significance level (default: 1%).",
    )
    tails: bool | None = option(
        "--tails/--no-tails",
        group=DECISION,
        default=None,
        help="With --pairs: compare p99 and p99.9 too (default: unless the machine is virtual).",
    )
    wait_s: float | None = shared(OutcomeOptions, "wait_s")
    junit: Path | None = option(
        "--junit", group=OUTPUT, type=_FILE, metavar="FILE", help="Also write JUnit XML to FILE."
    )
    github: str | None = option(
        "--github",
        group=OUTPUT,
        is_flag=False,
        flag_value="",
        metavar="[FILE]",
        help="Also write a Markdown summary to FILE (default: $GITHUB_STEP_SUMMARY).",
    )
    lava: bool = option(
        "--lava",
        group=OUTPUT,
        is_flag=True,
        help="Also print a test case of LAVA for each check, as lava-test-case does.",
    )
    store: Path | None = shared(OutcomeOptions, "store")
    as_json: bool = shared(OutcomeOptions, "as_json")
    quiet: bool = shared(OutcomeOptions, "quiet")


@declare(
    "gate",
    "hardstone gate last --limits limits.toml",
    "hardstone gate last --baseline good",
    "hardstone gate --pairs 12 TMR-P-LAT --second '--load heavy'",
)
@click.argument("words", nargs=-1, metavar="RUN|TEST...", shell_complete=completion.runs_and_tests)
@options_of(GateOptions)
def command(words: tuple[str, ...], options: GateOptions) -> int:
    """Check runs against limits or baselines: PASS or FAIL.

    The exit code is 0 (PASS), 1 (FAIL) or 3 (INCONCLUSIVE). RUN is an ID or the start of one, a
    name, last, last~1 for the run before the last, published:ID, or the file of another tool, such
    as ./cyclictest.json. It is checked against a file of limits, or against a baseline of at least
    10 runs (hardstone run --repeat), which show what varies between runs. --pairs measures TEST
    alternately as A and as B, and so detects the smallest changes. --again decides again with
    another --margin, --alpha, --deadline or --tails.

    A figure that is missing, denied, incomplete, untrustworthy or undecided never passes.
    """
    mode = _mode(options)
    if mode == "again":
        from hardstone.cli.gate_runs import gate_again

        return gate_again(words, options)
    if not words:
        what = "TEST" if mode == "pairs" else "RUN"
        raise InputError(f"{what} is missing", "see hardstone gate --help")
    if mode == "pairs":
        from hardstone.cli.gate_runs import gate_by_pairs

        return gate_by_pairs(words, options)
    from hardstone.cli import gate_runs

    if mode == "suggest":
        return gate_runs.suggest(words, options)
    if mode == "limits":
        return gate_runs.gate_by_limits(words, options)
    return gate_runs.gate_by_baseline(words, options)


def _mode(options: GateOptions) -> str:
    """What is asked for; InputError unless it is one thing, with options that belong to it."""
    asked = {
        "limits": options.limits is not None,
        "baseline": bool(options.baselines),
        "pairs": options.pairs is not None,
        "suggest": options.suggest,
        "again": options.again is not None,
    }
    modes = [name for name, is_asked in asked.items() if is_asked]
    if len(modes) != 1:
        named = " and ".join(f"--{one}" for one in modes) or "nothing to hold it against"
        raise InputError(
            f"{named}: one of --limits, --baseline, --pairs, --again and --suggest is needed",
            "give one",
        )
    mode = modes[0]
    given = [name for name in _PAIRS_ONLY if getattr(options, name) not in (None, ())]
    if given and mode != "pairs":
        raise InputError(f"--{_TYPED.get(given[0], given[0])} needs --pairs", "add --pairs 12")
    given = [name for name in _OF_PAIRS if getattr(options, name) is not None]
    if given and mode not in ("pairs", "again"):
        raise InputError(f"--{given[0]} needs --pairs", "add --pairs 12")
    if options.output is not None and mode != "suggest":
        raise InputError("--output needs --suggest", "leave it out")
    if options.margin is not None and mode == "limits":
        raise InputError("--margin needs --suggest, --pairs or --baseline", "leave it out")
    if mode == "suggest" and (options.junit or options.github is not None or options.lava):
        raise InputError(
            "--suggest checks nothing, so there is nothing for --junit, --github or --lava",
            "leave them out",
        )
    if options.lava and options.as_json:
        raise InputError("--lava and --json both use standard output", "give one")
    return mode
