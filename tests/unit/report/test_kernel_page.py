"""KRN-P-PRE in a report: the table, HP's figure 1 with HP's points, and the blocking rates."""

from __future__ import annotations

from io import BytesIO

import msgspec
import pytest
from pypdf import PdfReader

from hardstone.model import RunDocument, Scalar
from hardstone.present.kernel_history import kernel_history
from hardstone.present.preemption_pairs import pairs_in
from hardstone.report import svg
from hardstone.report.charts import blocking_chart, section_chart
from hardstone.report.kernel_page import KernelPage, kernel_page
from hardstone.report.pdf import render_pdf
from hardstone.report.theme import Spec
from hardstone.stats.kernel_operations import kernel_time_of
from tests.unit.report.hostile import ATTACKS
from tests.unit.report.sketches import Sketches, no_descriptor, sketched
from tests.unit.stats import make
from tests.unit.stats.blocked import dispatch, kernel_result, ran, with_reference_at_work


def page(**options: object) -> KernelPage:
    found = kernel_page(kernel_result(), "r", Sketches(), live=False, **options)  # type: ignore[arg-type]
    assert found is not None
    return found


def charts() -> tuple[Spec, Spec]:
    time = kernel_time_of(kernel_result())
    assert time is not None and time.reference is not None
    shown = [time.whole, *time.operations]
    return (
        section_chart.chart(shown, kernel_history()),
        blocking_chart.chart([*shown, time.reference]),
    )


@pytest.mark.slow
def test_the_page_has_two_charts_and_the_ranked_rows() -> None:
    found = page()
    assert [one.title for one in found.figures] == [
        "Kernel time by length of section",
        "Blocking rate",
    ]
    assert [row.operation for row in found.rows][-2:] == ["all", "reference"]
    assert found.rows[0].operation == "exit"
    assert "HP 1987, HP-UX/RT on HP 9000 Series 800" in found.figures[0].about
    assert "exit" in found.figures[0].alt
    assert len(page(is_brief=True).figures) == 1


def test_an_emulated_run_has_no_points_of_hardware() -> None:
    found = page(refused="emulated")
    assert "HP" not in found.figures[0].about
    assert found.history == "HP 1987 is not shown: emulated."


def test_other_tests_have_no_page() -> None:
    assert kernel_page(make.result(), "r", Sketches(), live=False) is None


def test_hps_three_points_of_each_system_are_drawn() -> None:
    sections, _ = charts()
    points = {(row["c"], row["v"], row["b"]) for row in sections["data"]["values"] if "b" in row}
    assert points == {
        ("HP 1987, preemption off", 40e6, 0.9),
        ("HP 1987, preemption off", 129e6, 0.99),
        ("HP 1987, preemption off", 1127e6, 1.0),
        ("HP 1987, preemption on", 1.4e6, 0.9),
        ("HP 1987, preemption on", 3.4e6, 0.99),
        ("HP 1987, preemption on", 14.6e6, 1.0),
    }


def test_shares_rise_to_all_of_it_and_rates_fall() -> None:
    sections, rates = charts()
    for name in ("all", "exit"):
        shares = [row["s"] for row in sections["data"]["values"] if row["c"] == name]
        assert shares == sorted(shares) and shares[-1] == 1
        falling = [row["s"] for row in rates["data"]["values"] if row["c"] == name and "s" in row]
        assert falling == sorted(falling, reverse=True) and falling[-1] > 0


def test_the_rate_that_may_be_unseen_falls_with_length() -> None:
    _, rates = charts()
    limits = [row["t"] for row in rates["data"]["values"] if row["c"] == blocking_chart.UNSEEN]
    assert limits and limits == sorted(limits, reverse=True)


@pytest.mark.parametrize("number", [0, 1])
def test_the_charts_can_be_drawn(number: int) -> None:
    assert svg.render(charts()[number]).startswith("<svg")


def text_of(system: dict[str, Scalar] | None = None) -> str:
    return sketched(make.document(results=[kernel_result()], system=system or {}))


@pytest.mark.slow
def test_the_html_report_has_it() -> None:
    text = text_of()
    assert "Kernel time by operation" in text and "Rate above 2 us" in text
    assert "preemption off 90 % 40 ms" in text
    assert "40 ms" not in text_of({"virtual.emulated": True})


@pytest.mark.slow
def test_the_report_says_what_traced_sections_leave_out() -> None:
    section = dispatch("exit", [1_000] * 90, "section")
    section.labels["kind"] = "preempt_off"
    found = kernel_result()
    found.series.append(section)
    text = sketched(make.document(results=[found]))
    assert "Under the models none and voluntary it also waits for a system call to end" in text


@pytest.mark.slow
def test_the_pdf_has_a_page_of_it() -> None:
    data = render_pdf(make.document(results=[kernel_result()]), no_descriptor, drawer=Sketches())
    texts = [" ".join(one.extract_text().split()) for one in PdfReader(BytesIO(data)).pages]
    (found,) = [text for text in texts if "KRN-P-PRE: kernel time by operation" in text]
    assert "exit" in found and "Sections, 90 %" in found and "HP 1987" in found


@pytest.mark.slow
@pytest.mark.parametrize("attack", ATTACKS)
def test_a_hostile_name_is_text(attack: str) -> None:
    found = kernel_result()
    found.series.append(dispatch(attack, [10**6] * 4_000))
    found.events.append(ran(attack, 0.5))
    text = sketched(make.document(results=[found]))
    assert attack not in text or "<" not in attack
    page = kernel_page(found, "r", Sketches(), live=True)
    assert page is not None
    assert all("</script" not in str(one.data) for one in page.figures)


def test_nothing_blocked_draws_nothing() -> None:
    quiet = make.result("KRN-P-PRE", series=[dispatch(n, [100] * 500) for n in ("none", "fork")])
    found = kernel_page(quiet, "r", Sketches(), live=False)
    assert found is not None and found.figures == []
    assert "Kernel time by operation" in sketched(make.document(results=[quiet]))


def test_a_reference_of_other_processes_draws_nothing_and_is_said() -> None:
    found = make.document(results=[with_reference_at_work(kernel_result(), still=0.6)])
    page = kernel_page(found.results[0], "r", Sketches(), live=False)
    assert page is not None and page.figures == []
    assert "The reference is that of other processes" in sketched(found)


def switched(*, is_short: bool = True) -> RunDocument:
    """A run that switched the preemption model."""
    results = [kernel_result(), kernel_result(2, is_short=is_short)]
    for found, model in zip(results, ("none", "full"), strict=True):
        found.conditions.preemption = model
    plan = msgspec.structs.replace(make.document().plan, preemption_models=["none", "full"])
    return make.document(results=results, plan=plan, system={"kernel.preemption": "none"})


@pytest.mark.slow
def test_preemption_off_stands_beside_on_and_hps() -> None:
    text = sketched(switched())
    assert "Kernel preemption off (none) and on (full)" in text
    assert "HP 1987 improvement" in text and "<td>1127 ms</td>" in text
    assert "Differs:" not in text
    assert "Kernel preemption off" not in sketched(make.document(results=[kernel_result()]))


@pytest.mark.slow
def test_the_range_of_the_improvement_is_in_html_and_on_paper() -> None:
    document = switched(is_short=False)
    (pair,) = pairs_in(document)
    shown = [row for row in pair.table.rows if row.doubt]
    data = render_pdf(document, no_descriptor, drawer=Sketches())
    paper = " ".join(" ".join(one.extract_text().split()) for one in PdfReader(BytesIO(data)).pages)
    assert shown
    for row in shown:
        limits = "".join(f"<small>{one}</small>" for one in row.limits)
        assert f"<td>{row.improvement}{limits}</td>" in sketched(document)
        assert f"{row.improvement} ({row.improvement_interval};" in paper
    assert "no interval" in paper


@pytest.mark.slow
def test_preemption_off_and_on_have_a_page_on_paper() -> None:
    data = render_pdf(switched(), no_descriptor, drawer=Sketches())
    texts = [" ".join(one.extract_text().split()) for one in PdfReader(BytesIO(data)).pages]
    (found,) = [text for text in texts if "Kernel preemption off (none) and on (full)" in text]
    assert "1127 ms" in found and "HP-UX/RT on HP 9000 Series 800" in found
