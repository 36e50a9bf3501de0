"""A made-up paper with runs beside it: each form of exhibit, and each kind of cell."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hardstone.model import Unit
from hardstone.study.exhibits import Answer, Cell, Column, LaidOut, Row, StudyView
from hardstone.study.papers import Axis, Conclusion, Exhibit, Paper
from hardstone.systems.published import load_studies
from hardstone.systems.subjects import Amount, MeasuredRun
from hardstone.wording import format_value

STUDY = load_studies()["dedicated-systems-2012"]
LOST = Cell("lost", reason="our copy lacks the drawing")
UNCOVERED = Cell("not covered", reason="the paper has no figure of it")


def amount(value: float, unit: Unit = "ns", statistic: str = "max") -> Amount:
    return Amount(unit, statistic, f"made up {statistic}", value=float(value))


def cell(
    kind: str, value: float, unit: Unit = "ns", statistic: str = "max", **more: object
) -> Cell:
    found: dict[str, object] = {
        "text": format_value(value, unit),
        "amount": amount(value, unit, statistic),
        "source": f"made up {statistic}",
    }
    return Cell(kind, **(found | more))  # type: ignore[arg-type]


def measured(value: float, unit: Unit = "ns", **more: object) -> Cell:
    return cell("measured", value, unit, **more)  # type: ignore[arg-type]


def published(value: float, unit: Unit = "ns", **more: object) -> Cell:
    return cell("published", value, unit, **more)  # type: ignore[arg-type]


def apart(value: float, unit: Unit = "ns", **more: object) -> Cell:
    return cell("not comparable", value, unit, **({"reason": "time counts instructions"} | more))  # type: ignore[arg-type]


def old(key: str, short: str = "") -> Column:
    system = STUDY.systems[key]
    return Column(f"published:{key}", system.name, short or key, True, system.hardware)


def machine(
    title: str = "AMD EPYC VM, Linux 6.18", short: str = "AMD EPYC", *runs: MeasuredRun
) -> Column:
    return Column("20261130T0254Z-cb0d51", title, short, False, "2 CPUs", subjects=runs)


def guest(*runs: MeasuredRun) -> Column:
    return Column(
        *("20261130T0330Z-702cd2", "lab guest, Linux 6.1 rt", "guest rt", False, "1 CPU"),
        mark="counts instructions",
        apart="time counts instructions",
        subjects=runs,
    )


COLUMNS = (old("qnx"), old("ce7"), old("linux-rt"), machine(), guest())


def row(
    label: str,
    cells: Sequence[Cell],
    *,
    statistic: str = "max",
    load: str = "",
    unit: Unit | None = "ns",
    words: tuple[str, ...] = (),
    note: str = "",
) -> Row:
    return Row(label, words, f"TEST/{label}/time", load, statistic, unit, tuple(cells), note)


def exhibit(number: str = "Figure 3", form: str = "bars", **more: object) -> Exhibit:
    fields: dict[str, object] = {"number": number, "title": "Clock call", "form": form}
    return Exhibit(**(fields | more))  # type: ignore[arg-type]


def laid(what: Exhibit, rows: Sequence[Row], *notes: str, count: int = len(COLUMNS)) -> LaidOut:
    return LaidOut(what, tuple(rows), tuple(range(count)), notes)


def paper(*exhibits: Exhibit, **more: object) -> Paper:
    fields: dict[str, object] = {
        "study": STUDY,
        "name": "dedicated-systems-2012",
        "exhibits": exhibits,
        "conclusions": [],
        "conditions": {"board": "Intel Atom"},
    }
    return Paper(**(fields | more))  # type: ignore[arg-type]


def view(
    *found: LaidOut,
    columns: Sequence[Column] = COLUMNS,
    answers: Sequence[Answer] = (),
    conditions: Mapping[str, str] | None = None,
) -> StudyView:
    conclusions = list(dict.fromkeys(one.conclusion.id for one in answers))
    return StudyView(
        paper(
            *(one.exhibit for one in found),
            conclusions=[
                next(one.conclusion for one in answers if one.conclusion.id == name)
                for name in conclusions
            ],
            conditions=conditions or {"board": "Intel Atom"},
        ),
        tuple(columns),
        tuple(found),
        tuple(answers),
        ("Runs of two days are merged.",),
    )


def averages_and_maxima() -> LaidOut:
    """A summary figure: averages a, maxima b."""
    rows = [
        row(
            "clock call",
            [
                published(650, statistic="mean"),
                published(1190, statistic="mean"),
                LOST,
                measured(38.2, statistic="mean"),
                apart(870, statistic="mean"),
            ],
            statistic="mean",
        ),
        row(
            "clock call",
            [published(9_900), published(14_000), published(12_500), measured(24_000), apart(900)],
        ),
    ]
    return laid(exhibit(y=Axis(title="duration (us)", low=0, high=20)), rows)


def by_kind() -> LaidOut:
    """Groups of bars: kinds of semaphores under two loads, of two systems that were lost."""
    rows = [
        row(kind, [LOST, LOST, UNCOVERED, measured(value), apart(value // 3)], load=load)
        for kind, value in (("unnamed", 9_000), ("named", 21_000), ("pthread mutex", 11_000))
        for load in ("none", "heavy")
    ]
    what = exhibit("Figure 8a", title="Synchronization", y=Axis(title="worst (us)", low=0, high=35))
    return laid(what, rows)


def jitter() -> LaidOut:
    """On a logarithmic axis, without load and with it."""
    rows = [
        row(f"{period} ms", [LOST, LOST, LOST, measured(value * factor), UNCOVERED], load=load)
        for load, factor in (("none", 1), ("heavy", 40))
        for period, value in ((1, 40_000), (10, 60_000), (100, 90_000))
    ]
    what = exhibit("Figure 6", title="Timer jitter", y=Axis(title="jitter (us, log)"))
    return laid(what, rows)


def table() -> LaidOut:
    rows = [
        row("two", [published(1_100), published(2_300), LOST, measured(1_900), apart(700)]),
        row(
            "ten",
            [
                published(1_200),
                UNCOVERED,
                published(3_300, notes=("the tick's",)),
                Cell("not measured", reason="the run has no THR-P-SLS"),
                apart(800),
            ],
            note="Averages rise with cache misses.",
        ),
    ]
    what = exhibit(
        "Table 8", "table", title="Thread switch", text=["QNX switches fastest."], lost="one column"
    )
    return laid(what, rows, "Longest of 10 s.")


def words_table() -> LaidOut:
    rows = [
        row(
            "reliable signals",
            [
                *(Cell("published", "yes"), Cell("published", "no"), LOST),
                *(Cell("measured", "pass"), Cell("measured", "fail")),
            ],
            unit=None,
            statistic="",
            words=("sigvector(2)", "4.2BSD"),
        )
    ]
    what = exhibit("Table 2", "table", title="Functions", headings=["call", "origin"])
    return laid(what, rows)


def without_results() -> LaidOut:
    what = exhibit("Figure 1", "picture", title="Procedure", has_results=False, text=["A diagram."])
    return laid(what, [])


def lost_figure() -> LaidOut:
    rows = [row("all", [LOST, LOST, LOST, UNCOVERED, UNCOVERED])]
    what = exhibit("Figure 9", title="Lost", lost="the drawing", text=["LynxOS is faster."])
    return laid(what, rows)


def answers() -> list[Answer]:
    first = Conclusion(id="out-of-the-box", says="QNX is a true RTOS.", place="4", tests=["A-P-B"])
    second = Conclusion(id="not-alike", says="Linux RT is not comparable.", place="4")
    third = Conclusion(id="fast", says="Switches are fast.", place="4")
    column = COLUMNS[3].title
    return [
        Answer(first, "borne out", "Worst 24 us <= 30 us.", column, ("24 us: run THR-P-SLS max",)),
        Answer(second, "not decided", "No run under load.", column, needed="hardstone run A-P-B"),
        Answer(third, "not borne out", "Worst 24 us > 10 us.", column, ("24 us: run THR-P-SLS",)),
    ]


def whole() -> StudyView:
    """Every form of exhibit but those that are drawn from runs."""
    return view(
        without_results(),
        words_table(),
        averages_and_maxima(),
        jitter(),
        table(),
        by_kind(),
        lost_figure(),
        answers=answers(),
    )
