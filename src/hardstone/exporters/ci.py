"""Runs for CI systems: JUnit XML, test cases of LAVA, Markdown for a pull request.

A run is held against nothing here (`hardstone gate` does that): a case says that a test was
measured, or that a claim about behaviour holds. A latency alone never passes or fails.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Literal

from hardstone.ci_formats import (
    Case,
    Suite,
    junit_xml,
    lava_signal,
    markdown_table,
    markdown_text,
)
from hardstone.exporters.registry import Exported, Wanted
from hardstone.model import Descriptor, Result, RunDocument, Series
from hardstone.present.answer import ScreenRow, answer_of, other_rows, screen_rows
from hardstone.present.overview import conditions_text, decisive_series, state_text
from hardstone.stats.conditions import names_in
from hardstone.stats.consistency import contradictions, is_contradictory
from hardstone.stats.quantiles import printable_quantiles, quantile_of_series
from hardstone.wording import (
    Claim,
    claim_of,
    format_value,
    kernel_text,
    machine_text,
    target_text,
)

_STATUS: dict[str, Literal["passed", "failure", "error", "skipped"]] = {
    "measured": "passed",
    "unsupported": "skipped",
    "skipped": "skipped",
}


def export_junit(documents: Sequence[RunDocument], wanted: Wanted) -> Exported:
    """A suite for each run. A test that was denied, failed or was cut off is an error, one that the
    system does not support is skipped, a claim that does not hold is a failure, and so is a figure
    that cannot be true."""
    return Exported(junit_xml("hardstone", [_suite(one) for one in documents]))


def _suite(document: RunDocument) -> Suite:
    names = names_in(document)
    specs = {one.id: one for one in document.descriptors}
    cases = [
        case
        for result in document.results
        for case in _cases(result, names.name(result), specs.get(result.test))
    ]
    cases += [
        Case(
            "hardstone", f"figures of the run agree: {one.text[:80]}", "failure", "wrong", one.text
        )
        for one in contradictions(document)
    ]
    if not cases:
        cases = [Case("hardstone", "nothing was measured", "error", document.status, "no result")]
    trust = document.trust
    properties = [
        ("run", document.id),
        ("machine", machine_text(document.system)),
        ("kernel", kernel_text(document.system)),
        ("conditions", conditions_text(document)),
        ("status", document.status),
        ("trust", trust.grade),
        *(("trust reason", one) for one in trust.reasons),
    ]
    sentence = answer_of(document).sentence
    host = target_text(document)
    return Suite(document.name, document.started_utc, host, cases, properties, sentence)


def _cases(result: Result, name: str, spec: Descriptor | None) -> Iterator[Case]:
    classname = f"hardstone.{result.test}"
    yield Case(
        classname,
        f"{name}: measured",
        _outcome(result),
        result.status,
        _why_not(result),
        _figures_text(result),
        result.duration_ns / 1e9,
    )
    for one in result.verdicts:
        claim = claim_of(one, result.test, spec)
        yield Case(classname, f"{name}: {one.name}", *_judged(claim))


def _outcome(result: Result) -> Literal["passed", "failure", "error", "skipped"]:
    if result.status == "measured" and (result.interrupted or not result.complete):
        return "error"
    return _STATUS.get(result.status, "error")


def _why_not(result: Result) -> str:
    if result.status != "measured":
        return f"{result.status}: {result.reason or 'no reason was given'}"
    return "ended before its last value" if _outcome(result) == "error" else ""


def _figures_text(result: Result) -> str:
    series = decisive_series(result)
    if series is None or not series.count:
        return ""
    figures = [f"{name} {format_value(value, series.unit)}" for name, value in _figures(series)]
    return f"{series.name}, {series.count} values: {', '.join(figures)}"


def _figures(series: Series) -> Iterator[tuple[str, float]]:
    """What is known of a series, by name: its quantiles only as far as the values reach."""
    quantiles = [(f"p{100 * q:.8g}", q) for q in printable_quantiles(series.count)]
    found: list[tuple[str, float | None]] = [("min", series.min), ("mean", series.mean)]
    for name, q in quantiles:
        one = quantile_of_series(series, q)
        found.append((name, one.value if one else None))
    found.append(("max", series.max))
    yield from ((name, float(value)) for name, value in found if value is not None)


def _judged(claim: Claim) -> tuple[Literal["passed", "failure", "skipped"], str, str, str]:
    """Outcome, kind, message and text of the case of a claim."""
    said = f"{claim.claim}: {claim.evidence}" if claim.claim else claim.evidence
    if claim.passed:
        return "passed", "", "", said
    if claim.uncounted:
        return "skipped", "", f"does not hold, and is not rated: {claim.uncounted}", said
    return "failure", "claim", claim.evidence, said


def export_lava(documents: Sequence[RunDocument], wanted: Wanted) -> Exported:
    """A line for each statistic of each series, and for each claim, as `lava-test-case` prints
    them. What may not be used (contradictory, cut off, an untrustworthy run) is "unknown"."""
    lines = [line for document in documents for line in _lava_lines(document)]
    return Exported(("\n".join(lines) + "\n").encode("utf-8", "replace"))


def _lava_lines(document: RunDocument) -> Iterator[str]:
    names = names_in(document)
    is_usable = document.trust.grade != "untrustworthy"
    for result in document.results:
        name = names.name(result)
        outcome = _outcome(result)
        of_test: Literal["pass", "skip", "fail"] = "fail"
        if outcome in ("passed", "skipped"):
            of_test = "pass" if outcome == "passed" else "skip"
        yield lava_signal(f"{name}.measured", of_test)
        for one in result.verdicts:
            claim = claim_of(one, result.test)
            if claim.passed or not claim.uncounted:
                yield lava_signal(f"{name}.{one.name}", "pass" if claim.passed else "fail")
        for series in result.series:
            if not series.count:
                continue
            is_good = is_usable and outcome == "passed" and not is_contradictory(series)
            labels = [f"{key}-{value}" for key, value in series.labels.items()]
            for statistic, value in _figures(series):
                case = ".".join([name, *labels, series.name, statistic])
                yield lava_signal(case, "pass" if is_good else "unknown", value, series.unit)


_MOST_ROWS = 60
_MOST_CLAIMS = 20
_COLUMNS = ("figure", "worst observed", "median", "values", "test")


def export_markdown(documents: Sequence[RunDocument], wanted: Wanted) -> Exported:
    """For a comment or a step's summary: the answer, the rows of the first screen, the claims that
    do not hold, and how far the run can be trusted."""
    text = "\n".join(line for document in documents for line in _markdown(document))
    return Exported(text.encode("utf-8", "replace"))


def _markdown(document: RunDocument) -> Iterator[str]:
    answer, trust = answer_of(document), document.trust
    yield f"## hardstone: {markdown_text(answer.sentence)}"
    yield ""
    for text in (
        target_text(document),
        kernel_text(document.system),
        conditions_text(document),
        state_text(document),
    ):
        if text:
            yield f"- {markdown_text(text)}"
    yield f"- trust: {trust.grade}"
    yield from (f"    - {markdown_text(one)}" for one in trust.reasons)
    yield ""
    rows = screen_rows(document)
    shown = [one for one in [*rows, *other_rows(document, rows)] if one.figure is not None]
    if shown:
        yield from markdown_table(_COLUMNS, [_row(one) for one in shown[:_MOST_ROWS]])
        yield ""
    for claim in answer.failed[:_MOST_CLAIMS]:
        aside = " (not rated)" if claim.uncounted else ""
        text = f"{claim.title}: {claim.meaning}" if claim.meaning else claim.title
        yield f"- does not hold{aside}: {markdown_text(text)}"
    if answer.cause:
        yield f"- worst value: {markdown_text(answer.cause)}"
    wrong = [one.text for one in contradictions(document)]
    yield from (f"- **cannot be true**: {markdown_text(one)}" for one in wrong[:_MOST_CLAIMS])
    yield ""
    yield f"Run `{document.id}`. More: `hardstone show {document.id}`."
    yield ""


def _row(one: ScreenRow) -> list[str]:
    figure = one.figure
    if figure is None:
        return [markdown_text(one.name), "", "", "", one.test]
    median = format_value(figure.median_ns, "ns")
    worst = format_value(figure.worst_ns, "ns") + (" (cannot be true)" * figure.is_contradictory)
    return [*map(markdown_text, (one.name, worst, median, f"{figure.count:,}", one.test))]
