"""The parts of docs/method/rating.md that follow from the code and from published.json."""

from __future__ import annotations

from hardstone.catalogue import load_catalogue
from hardstone.published import load_studies
from hardstone.rating import load_criteria, rate
from hardstone.rating.category_score import mean_scores, weighted_mean
from hardstone.rating.criteria import FigureCriterion, rated_figures
from hardstone.subjects import published_system
from hardstone.units import format_ns

STUDY = "dedicated-systems-2012"
CALIBRATED = ["clock", "threads", "semaphores", "mutexes", "interrupts"]


def stars_meanings() -> str:
    """The study's criteria of its stars."""
    criteria = load_studies()[STUDY].tables["rating_criteria"]
    rows = [f"| {stars} | {texts[0]} | {texts[1]} |" for stars, texts in criteria.items()]
    return "\n".join(["| stars | configuration | real-time |", "| --- | --- | --- |", *rows])


def published_scores() -> str:
    """The scores of the three systems, their mean, and the stars of both."""
    head = f"| system | {' | '.join(CALIBRATED)} | mean | bound by | stars | the study's |"
    lines = [head, "| --- |" + " --- |" * (len(CALIBRATED) + 4)]
    for key in load_studies()[STUDY].systems:
        system = published_system(key)
        rating = rate(system)
        scores = {one.category: one.score or 0.0 for one in rating.categories if one.is_calibrated}
        mean = weighted_mean(scores)
        cells = [f"{scores[name]:.2f}" for name in CALIBRATED] + [f"{mean:.2f}"]
        bound = rating.caps[0].partition(":")[0] if rating.caps else "-"
        cells += [bound, f"{rating.overall:g}", f"{rating.study_stars:g}"]
        lines.append(f"| {system.label} | {' | '.join(cells)} |")
    return "\n".join(lines)


def worked_example() -> str:
    """Interrupts of Windows CE7, figure by figure."""
    rating = rate(published_system("ce7"))
    found = next(one for one in rating.categories if one.category == "interrupts")
    lines = ["| figure | value | taken as | score |", "| --- | --- | --- | --- |"]
    for one in found.figures:
        value = one.amount.value or 0.0
        factor = load_criteria().factor(one.role)
        word = "worst" if one.role == "worst" else "mean"
        taken = format_ns(value * factor)
        lines.append(
            f"| {word} of {one.address} | {format_ns(value)} | {taken} | {one.score:.2f} |"
        )
    worst = min(one.score for one in found.figures if one.role == "worst")
    means = mean_scores("interrupts", found.figures)
    average = sum(means) / len(means)
    lines += [
        "",
        f"(3 x {worst:.2f} + {average:.2f}) / 4 = {found.score:.2f}, which is {found.stars:g} "
        f"stars. Half a star more takes",
        f"{found.next_half}.",
    ]
    return "\n".join(lines)


def rated_series() -> str:
    """What each category is rated by."""
    lines = ["| category | counts | figures | counted behaviours |", "| --- | --- | --- | --- |"]
    for name, criteria in load_criteria().categories.items():
        figures = "; ".join(_figure(one) for one in criteria.figures)
        counts = str(criteria.weight) if criteria.weight else "bounds only"
        behaviours = ", ".join(criteria.behaviours) or "-"
        lines.append(f"| {name} | {counts} | {figures} | {behaviours} |")
    return "\n".join(lines)


def _figure(one: FigureCriterion) -> str:
    labels = [f"{key} {value}" for key, value in one.labels.items()]
    labels += [f"{key} {', '.join(values)}" for key, values in one.each.items()]
    said = f" ({'; '.join(labels)})" if labels else ""
    return f"{one.test} {one.series}{said}: {', '.join(one.roles)}"


def stand_ins() -> str:
    """What is rated where the figure of a criterion is missing."""
    lines = ["| in place of | is rated |", "| --- | --- |"]
    for name in load_criteria().categories:
        for one in rated_figures(name):
            if one.instead:
                names = (" ".join([each.series, *each.labels.values()]) for each in one.instead)
                what = ", ".join(names)
                lines.append(f"| {one.test} {one.series} | the worst of {what} |")
    return "\n".join(lines)


def uncounted() -> str:
    """What does not count although its test does."""
    lines = ["| shown, not rated | why |", "| --- | --- |"]
    catalogue = load_catalogue()
    rated = {test for one in load_criteria().categories.values() for test in one.behaviours}
    for test in catalogue.ids():
        reasons = catalogue.entry(test).uncounted
        if reasons and (test in rated or "-P-" in test):
            lines += [f"| {test} {name} | {reason} |" for name, reason in reasons.items()]
    return "\n".join(lines)


def configurations() -> str:
    rows = [f"| {name} | {cap:g} |" for name, cap in load_criteria().configurations.items()]
    return "\n".join(["| it took | at most |", "| --- | --- |", *rows])


def curve() -> str:
    from hardstone.rating.curve import score_of_ns

    us = (5, 15, 20, 25, 40, 100, 200, 500, 1000)
    scores = [f"{score_of_ns(one * 1000, load_criteria().anchors):.2f}" for one in us]
    return "\n".join(
        [
            f"| us | {' | '.join(map(str, us))} |",
            "| --- |" + " --- |" * len(us),
            f"| score | {' | '.join(scores)} |",
        ]
    )


PARTS = {
    one.__name__: one
    for one in (
        stars_meanings,
        published_scores,
        worked_example,
        rated_series,
        stand_ins,
        uncounted,
        configurations,
        curve,
    )
}
