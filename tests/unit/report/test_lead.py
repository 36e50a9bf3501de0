"""The charts that lead a page, the picture of its opening, and the badge."""

from __future__ import annotations

import struct
from itertools import combinations
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest

from hardstone.cli.report import check_suffix, write_badge, write_report
from hardstone.errors import InputError
from hardstone.model import Conditions, Interval, Result, RunDocument, Series
from hardstone.present.answer import answer_of
from hardstone.report import picture
from hardstone.report.chart_frame import Spec
from hardstone.report.drawing import Drawer, render
from hardstone.report.figures import Figure
from hardstone.report.lead import Mark, lead_chart, lead_of, placed_words, worst_second_chart
from hardstone.report.sheet import palette
from tests.unit.report import hostile, sample
from tests.unit.report.media import Sketches
from tests.unit.stats import make

US, MS, S = 1_000, 1_000_000, 1_000_000_000


def wakeups(worst_ns: int, *, cpu: int = 1, count: int = 5000, seed: int = 1) -> Series:
    values = sample.latencies(np.random.default_rng(seed), count, 20_000, 0)
    values[count // 2] = worst_ns
    return sample.series("wakeup", values, part="total", cpu=cpu)


def measured(
    *series: Series, load: str = "none", intervals: list[Interval] | None = None
) -> Result:
    conditions = Conditions(
        load=load, cpu_config="shared", cpu=1, policy="fifo", priority=98, realtime=True
    )
    found = make.result("TMR-P-LAT", series=list(series), conditions=conditions)
    return msgspec.structs.replace(found, intervals=intervals or [])


def run_of(*results: Result, **facts: Any) -> RunDocument:
    found = make.document(results=list(results))
    system = {
        "machine.cpu_model": "AMD EPYC",
        "machine.arch": "x86_64",
        "kernel.name": "Linux",
        "kernel.release": "6.18.1",
        **facts,
    }
    loads = list(dict.fromkeys(one.conditions.load or "none" for one in results))
    plan = msgspec.structs.replace(found.plan, loads=loads, cpu_configs=["shared"])
    return msgspec.structs.replace(found, system=system, plan=plan)


def lead(document: RunDocument, **options: Any) -> Figure:
    found = lead_chart(document, answer_of(document), Sketches(), **options)
    assert found is not None
    return found


def rows(figure: Figure) -> list[dict[str, Any]]:
    values: list[dict[str, Any]] = figure.drawing.spec["data"]["values"]
    return values


def words(spec: Spec) -> list[str]:
    """What stands above the chart."""
    layers = [one for one in spec["layer"] if one["mark"]["type"] == "text"]
    return [one["data"]["values"][0]["z"] for one in layers]


def test_the_lead_marks_median_p99_worst_and_limits() -> None:
    document = run_of(measured(wakeups(22 * MS)))
    figure = lead(document, limits=[100 * US, MS])
    said = sorted(words(figure.drawing.spec))
    firsts = [one.partition(" ")[0] for one in said]
    assert firsts == ["Solaris", "limit", "limit", "median", "p99", "worst"]
    assert "worst 22 ms" in said and "limit 100 us" in said
    assert sum(one["n"] for one in rows(figure) if one["n"] >= 1) == 5000
    assert figure.alt.startswith("Distribution, Wake-up latency. 5\N{NO-BREAK SPACE}000 values: ")
    assert "<svg" in render(figure.drawing.spec)


def test_a_series_under_load_stands_before_that_of_the_idle_machine() -> None:
    idle, loaded = measured(wakeups(90 * US)), measured(wakeups(4 * MS, seed=2), load="heavy")
    figure = lead(run_of(idle, loaded))
    names = list(dict.fromkeys(one["c"] for one in rows(figure)))
    assert names == ["CPU 1, heavy", "without load"]
    assert "Grey line: the same CPU without load." in figure.about
    assert "Grey line" not in lead(run_of(loaded)).about
    other = measured(wakeups(90 * US, cpu=3))
    assert "Grey line" not in lead(run_of(other, loaded)).about


def test_of_several_cpus_the_worst_leads_and_says_so() -> None:
    figure = lead(run_of(measured(wakeups(90 * US, cpu=0), wakeups(3 * MS, cpu=1))))
    assert figure.title == "Wake-up latency, CPU 1 (the worst of 2)"
    assert list(dict.fromkeys(one["c"] for one in rows(figure))) == ["CPU 1", "CPU 0"]


def test_published_systems_are_shown_only_where_they_may_be_compared() -> None:
    result = measured(wakeups(22 * MS), load="heavy")
    assert "Dotted: published, Solaris 2007." in lead(run_of(result)).about
    idle = lead(run_of(measured(wakeups(22 * MS)))).about
    assert idle.endswith("under load and this run was not, which favours this run.")
    emulated = run_of(result, **{"virtual.hypervisor": "TCG", "virtual.emulated": True})
    assert "Solaris" not in lead(emulated).about
    other = msgspec.structs.replace(result.conditions, realtime=False, policy="other")
    plain = msgspec.structs.replace(result, conditions=other)
    assert "Solaris" not in lead(run_of(plain)).about


def test_few_values_are_dots_and_figures_that_cannot_be_true_no_chart() -> None:
    figure = lead(run_of(measured(wakeups(22 * MS, count=9))))
    assert len(rows(figure)) == 9
    assert {one["mark"]["type"] for one in figure.drawing.spec["layer"]} == {
        "point",
        "rule",
        "text",
    }
    assert figure.about.startswith("9 values, each one a dot: too few for a distribution.")
    wrong = wakeups(22 * MS)
    wrong.max = 5
    document = run_of(measured(wrong))
    assert lead_of(document, answer_of(document)) is None
    nothing = run_of(make.result("TMR-P-LAT", series=[]))
    assert lead_chart(nothing, answer_of(nothing), Sketches()) is None
    assert worst_second_chart(answer_of(nothing), Sketches()) is None


@pytest.mark.parametrize("width", [270, 1010])
def test_words_above_the_lead_do_not_overlap(width: int) -> None:
    values = [20e3, 21e3, 22e3, 30e3, 90e3, 1e6, 4e6, 5e6, 5.3e6]
    marks = [Mark(value, f"limit of {value:g} ns") for value in values]
    found = [place for _, place in placed_words(marks, (18e3, 5.5e6), width)]
    assert len(found) == len(values)
    assert all(one.is_apart(other) for one, other in combinations(found, 2))


def test_the_second_of_the_worst_value_is_shaded_by_its_cause() -> None:
    series = wakeups(22 * MS)
    whole = Interval(at_ns=0, span_ns=30 * S, cpu=1, whole=True, counters={"steal_ns": 20 * MS})
    second = Interval(at_ns=2 * S, span_ns=S, cpu=1, counters={"steal_ns": 20 * MS})
    document = run_of(measured(series, intervals=[whole, second]))
    figure = worst_second_chart(answer_of(document), Sketches())
    assert figure is not None
    (shade,) = [one for one in figure.drawing.spec["layer"] if one["mark"]["type"] == "rect"]
    assert shade["data"]["values"] == [{"b": 2.0, "e": 3.0, "s": "steal time"}]
    assert "hypervisor" in figure.about and "hypervisor" in figure.alt
    dots = [one["w"] for one in rows(figure) if one["c"] == "value"]
    assert 22 * MS in dots
    line = [one["t"] for one in rows(figure) if one["c"] == "max"]
    assert min(line) == 0 and max(line) <= 2 + 5 + 2
    assert "<svg" in render(figure.drawing.spec)


def test_a_second_that_nobody_watched_is_shaded_as_unknown() -> None:
    figure = worst_second_chart(answer_of(run_of(measured(wakeups(22 * MS)))), Sketches())
    assert figure is not None
    (shade,) = [one for one in figure.drawing.spec["layer"] if one["mark"]["type"] == "rect"]
    assert [one["s"] for one in shade["data"]["values"]] == ["cause unknown"]
    short = wakeups(22 * MS, count=900)
    assert worst_second_chart(answer_of(run_of(measured(short))), Sketches()) is None


def svg(text: str) -> ElementTree.Element:
    """Refuses what a browser could run or load."""
    root = ElementTree.fromstring(text)  # noqa: S314
    for one in root.iter():
        tag = one.tag.rpartition("}")[2]
        assert tag in {"svg", "title", "rect", "path", "g", "text", "line", "tspan"}, tag
        assert not any(name.startswith("on") or "href" in name for name in one.attrib)
    return root


def texts(root: ElementTree.Element) -> list[str]:
    return ["".join(one.itertext()) for one in root.iter() if one.tag.endswith("}text")]


@pytest.mark.slow
def test_the_picture_has_machine_answer_and_distribution(tmp_path: Path) -> None:
    document = run_of(measured(wakeups(22 * MS)))
    root = svg(picture.picture(document, [MS]))
    said = texts(root)
    assert said[0].endswith("Linux 6.18.1") and "AMD EPYC" in said[0]
    assert " ".join(said[1:3]) == answer_of(document).sentence.replace("\N{NO-BREAK SPACE}", " ")
    assert {"worst 22 ms", "limit 1 ms"} <= set(said)
    write_report(document, tmp_path / "a.png", limits=[MS])
    data = (tmp_path / "a.png").read_bytes()
    assert struct.unpack(">II", data[16:24]) == (picture.WIDTH, picture.HEIGHT) == (1200, 630)
    write_report(document, tmp_path / "a.svg", limits=[MS])
    assert (tmp_path / "a.svg").read_text() == picture.picture(document, [MS])
    svg(picture.picture(run_of(make.result("TMR-P-LAT", series=[]))))


def badge(document: RunDocument) -> tuple[str, str]:
    """The message and its colour."""
    text = picture.badge(document)
    root = svg(text)
    label, message = texts(root)
    assert label == "real-time"
    (path,) = [one for one in root.iter() if one.tag.endswith("}path")]
    return message, path.attrib["fill"]


def test_a_badge_has_the_colour_of_the_grade_and_flatters_nobody(tmp_path: Path) -> None:
    bad = run_of(measured(wakeups(22 * MS), load="heavy"))
    assert badge(bad) == ("worst wake-up 22 ms", palette()["bad"])
    good = run_of(measured(wakeups(60 * US), load="heavy"))
    assert badge(good) == ("worst wake-up 60 us", palette()["good"])
    idle = run_of(measured(wakeups(60 * US)))
    assert badge(idle) == ("worst wake-up 60 us, without load", palette()["good"])
    few = run_of(measured(wakeups(60 * US, count=40), load="heavy"))
    assert badge(few) == ("worst wake-up 60 us, not judged", palette()["quiet"])
    assert badge(run_of(make.result("TMR-P-LAT", series=[])))[1] == palette()["quiet"]
    write_badge(bad, tmp_path / "badge.svg")
    assert (tmp_path / "badge.svg").read_text() == picture.badge(bad)


def test_a_run_that_is_not_trustworthy_has_no_figure_on_its_badge() -> None:
    wrong = wakeups(22 * MS)
    wrong.max = 5
    assert badge(run_of(measured(wrong))) == ("run not trustworthy", palette()["quiet"])


@pytest.mark.slow
def test_no_text_of_a_run_becomes_code_in_what_is_shared() -> None:
    document = hostile.hostile_document()
    for drawn in (picture.picture(document), picture.badge(document)):
        svg(drawn)
        assert "<script" not in drawn and "\x1b" not in drawn and "\ufffe" not in drawn
    with Drawer() as drawer:
        figure = lead_chart(document, answer_of(document), drawer)
        assert figure is None or "<script" not in figure.drawing.__html__()


@pytest.mark.parametrize("name", ["a.html", "a.HTM", "a.pdf", "a.png", "a.svg", "a"])
def test_a_suffix_chooses_the_format(name: str) -> None:
    check_suffix(Path(name))


def test_a_suffix_of_no_format_says_which_there_are(tmp_path: Path) -> None:
    with pytest.raises(InputError) as found:
        write_report(run_of(measured(wakeups(MS))), tmp_path / "a.gif")
    assert found.value.remedy == "end FILE in .html, .htm, .pdf, .png, .svg"
    with pytest.raises(InputError, match="name without suffix"):
        check_suffix(tmp_path / "badge", (".svg",))
    assert not list(tmp_path.iterdir())
