"""`hardstone gate`: do figures keep their limits, and did a change make them worse."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import click

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
        "--limits", type=_FILE, metavar="FILE", help="Limits to hold RUN against, in TOML."
    )
    baselines: tuple[str, ...] = option(
        "--baseline",
        multiple=True,
        metavar="RUN",
        help="Runs to hold RUN against, 10 at least, or published:ID for a study's figures. "
        "Several.",
    )
    pattern: str = option(
        "--test",
        default="*",
        metavar="PATTERN",
        help="Only tests of this name of --limits or --baseline: 'TMR-*'.",
    )
    suggest: bool = option("--suggest", is_flag=True, help="Write limits that all RUNs pass.")
    margin: str | None = option(
        "--margin",
        metavar="N%",
        help="Margin of --suggest (default: 25%), of --pairs (10% in the median, 25% in p99), or "
        "what --baseline must be able to find (30%).",
    )
    output: Path | None = option(
        "-o", "--output", type=_FILE, metavar="FILE", help="File for the limits of --suggest."
    )
    pairs: str | None = option(
        "--pairs",
        is_flag=False,
        flag_value="12",
        metavar="[N]",
        help="Measure TEST in N interleaved pairs (default: 12, at least 10), and compare.",
    )
    first: str | None = option(
        "--first", metavar="OPTIONS", help="Options of `hardstone run` of side A of --pairs."
    )
    second: str | None = option(
        "--second", metavar="OPTIONS", help="Those of side B, which must not be worse."
    )
    targets: tuple[str, ...] = option(
        "--target",
        multiple=True,
        metavar="NAME",
        help="Target of both sides of --pairs; two: of A, then of B.",
    )
    again: Path | None = option(
        "--again",
        type=_FILE,
        metavar="FILE",
        help="Judge again what --pairs --json printed, from the stored runs.",
    )
    deadline: str | None = option(
        "--deadline", metavar="TIME", help="--pairs: also gate values above it: 100us."
    )
    alpha: str | None = option(
        "--alpha", metavar="N%", help="--pairs: level of the test (default: 1%)."
    )
    tails: bool | None = option(
        "--tails/--no-tails",
        default=None,
        help="--pairs: gate p99 and p99.9 too (default: unless the machine is virtual).",
    )
    wait_s: float | None = shared(OutcomeOptions, "wait_s")
    junit: Path | None = option("--junit", type=_FILE, metavar="FILE", help="Also write JUnit XML.")
    github: str | None = option(
        "--github",
        is_flag=False,
        flag_value="",
        metavar="[FILE]",
        help="Also write a Markdown summary (default: to $GITHUB_STEP_SUMMARY).",
    )
    store: Path | None = shared(OutcomeOptions, "store")
    as_json: bool = shared(OutcomeOptions, "as_json")
    quiet: bool = shared(OutcomeOptions, "quiet")


@click.command("gate")
@click.argument("words", nargs=-1, metavar="RUN|TEST...")
@options_of(GateOptions)
def command(words: tuple[str, ...], options: GateOptions) -> int:
    """Gate figures: PASS (exit code 0), FAIL (1) or INCONCLUSIVE (3).

    RUN is an ID, the start of one, a name, "last", or published:ID. It is held against a file of
    limits or against baselines: 10 runs at least, of run --repeat or of the store, that show what
    varies between runs. With --pairs TEST is measured by turns as A and as B: that finds the
    smallest changes. --again judges the same runs with another --margin, --alpha, --deadline or
    --tails.

    A figure that is missing, denied, incomplete, not trustworthy or not decided never passes.
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
    if mode == "suggest" and (options.junit or options.github is not None):
        raise InputError(
            "--suggest checks nothing, so that there is nothing for --junit or --github"
        )
    return mode
