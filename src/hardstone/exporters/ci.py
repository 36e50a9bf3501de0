"""Runs for CI systems: JUnit XML, test cases of LAVA, Markdown for a pull request.

A run is held against nothing here (`hardstone gate` does that): a case says that a test was
measured, or that a claim about behaviour holds. A latency alone never passes or fails.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from typing import Literal

from hardstone.ci_formats import (
    Case,
    LavaCase,
    Suite,
    junit_xml,
    lava_signals,
    markdown_table,
    markdown_text,
)
from hardstone.exporters.exportable import of_other_time
from hardstone.exporters.registry import Exported, Wanted
from hardstone.model import Descriptor, Result, RunDocument, Series
from hardstone.present.answer import ScreenRow, answer_of, other_rows, screen_rows
from hardstone.present.overview import conditions_text, decisive_series, state_text
from hardstone.stats.conditions import conditions_in, names_in
from hardstone.stats.consistency import contradictions, is_contradictory
from hardstone.stats.quantiles import is_count_known, quantile_of_series, quantiles_of
from hardstone.wording import (
    Claim,
    claim_of,
    format_value,
    kernel_text,
    machine_text,
    parameter_text,
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
    lost = [text for one in documents for text in of_other_time(one)]
    return Exported(junit_xml("hardstone", [_suite(one) for one in documents]), lost)


def _suite(document: RunDocument) -> Suite:
    specs = {one.id: one for one in document.descriptors}
    named = _named(document)
    is_whole = document.status == "complete"
    cases = [
        case
        for result, name in named
        for case in _cases(result, name, specs.get(result.test), is_whole=is_whole)
    ]
    if not is_whole:
        why = f"the run is {document.status}"
        cases.append(Case("hardstone", "the run is complete", "error", document.status, why))
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


def _named(document: RunDocument) -> list[tuple[Result, str]]:
    """Each result with a name that no other has: points of a sweep differ in their parameters."""
    names = names_in(document)
    groups: dict[str, list[Result]] = {}
    for one in document.results:
        groups.setdefault(names.name(one), []).append(one)
    seen: Counter[str] = Counter()
    found = []
    for one in document.results:
        name = names.name(one)
        others = groups[name]
        if len(others) > 1:
            keys = [key for key in one.params if any(key not in each.params for each in others)]
            keys += [key for key in one.params if len({str(o.params.get(key)) for o in others}) > 1]
            texts = (parameter_text(key, one.params[key]) for key in dict.fromkeys(keys))
            name = ", ".join([name, *texts])
        seen[name] += 1
        found.append((one, name if seen[name] == 1 else f"{name} #{seen[name]}"))
    return found


def _cases(result: Result, name: str, spec: Descriptor | None, *, is_whole: bool) -> Iterator[Case]:
    classname = f"hardstone.{result.test}"
    outcome = _outcome(result)
    if outcome == "skipped" and not is_whole:
        outcome = "error"  # an interrupted run did not come to it
    yield Case(
        classname,
        f"{name}: measured",
        outcome,
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
    values = f"{series.count} values" if is_count_known(series) else "count not known"
    figures = [f"{name} {format_value(value, series.unit)}" for name, value in _figures(series)]
    return f"{series.name}, {values}: {', '.join(figures)}"


def _figures(series: Series) -> Iterator[tuple[str, float]]:
    """What is known of a series, by name: its quantiles only as far as the values reach."""
    quantiles = [(f"p{100 * q:.8g}", q) for q in quantiles_of(series)]
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
    """A test case for each statistic of each series, and for each claim. What may not be used (cut
    off, an untrustworthy run, no time of hardware) is "unknown"; a figure that cannot be true has
    no measurement."""
    is_several = len(documents) > 1
    cases = [
        replace(case, name=f"{document.name}.{case.name}") if is_several else case
        for document in documents
        for case in _lava_cases(document)
    ]
    lost = [text for one in documents for text in of_other_time(one)]
    text = "".join(f"{line}\n" for line in lava_signals(cases))
    return Exported(text.encode("utf-8", "replace"), lost)


def _lava_cases(document: RunDocument) -> Iterator[LavaCase]:
    is_usable = document.trust.grade != "untrustworthy" and not of_other_time(document)
    is_whole = document.status == "complete"
    if not is_whole:
        yield LavaCase("run-is-complete", "fail")
    for result, name in _named(document):
        outcome = _outcome(result)
        of_test: Literal["pass", "skip", "fail"] = "fail"
        if outcome == "passed" or (outcome == "skipped" and is_whole):
            of_test = "pass" if outcome == "passed" else "skip"
        yield LavaCase(f"{name}.measured", of_test)
        for one in result.verdicts:
            claim = claim_of(one, result.test)
            if claim.passed or not claim.uncounted:
                yield LavaCase(f"{name}.{one.name}", "pass" if claim.passed else "fail")
        is_good = is_usable and outcome == "passed"
        for series in result.series:
            if series.count:
                yield from _lava_figures(f"{name}.{_label(series)}", series, is_good=is_good)


def _label(series: Series) -> str:
    return ".".join([*(f"{key}-{value}" for key, value in series.labels.items()), series.name])


def _lava_figures(name: str, series: Series, *, is_good: bool) -> Iterator[LavaCase]:
    is_wrong = is_contradictory(series)
    for statistic, value in _figures(series):
        found = None if is_wrong else value
        result: Literal["pass", "unknown"] = "pass" if is_good and not is_wrong else "unknown"
        yield LavaCase(f"{name}.{statistic}", result, found, series.unit)


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
    shown = [row for one in [*rows, *other_rows(document, rows)] for row in _rows(document, one)]
    if shown:
        yield from markdown_table(_COLUMNS, shown[:_MOST_ROWS])
        yield ""
    lacking = [(name, why) for one, name in _named(document) if (why := _why_not(one))]
    for name, why in lacking[:_MOST_CLAIMS]:
        yield f"- **not measured**: {markdown_text(name)}: {markdown_text(why)}"
    if len(lacking) > _MOST_CLAIMS:
        yield f"- **not measured**: {len(lacking) - _MOST_CLAIMS} more"
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


def _rows(document: RunDocument, one: ScreenRow) -> Iterator[list[str]]:
    """A row for each condition that has a figure; with its name where there are several."""
    conditions = conditions_in(document)
    names = names_in(document)
    for place, figure in enumerate(one.figures):
        if figure is None:
            continue
        name = one.name
        if len(conditions) > 1:
            name = f"{name}, {names.label(conditions[place])}"
        values = [figure.count_text, one.test]
        if figure.is_contradictory:
            figures = ["cannot be true", ""]
        else:
            figures = [format_value(value, "ns") for value in (figure.worst_ns, figure.median_ns)]
        yield [*map(markdown_text, (name, *figures, *values))]
