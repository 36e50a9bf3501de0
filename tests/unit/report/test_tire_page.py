"""The tire in a report: HTML and PDF, its charts, and what is not in it."""

from __future__ import annotations

import html
import re
from html.parser import HTMLParser
from io import BytesIO

import msgspec
import pytest
from pypdf import PdfReader

from hardstone.model import RunDocument, Verdict
from hardstone.report import render_html
from hardstone.report.drawing import Drawer
from hardstone.report.pdf import render_pdf
from hardstone.report.tire_figures import MOST_DRAWN, tire_figures
from hardstone.stats.tire_points import points_of
from tests.unit.report.hostile import ATTACKS
from tests.unit.report.sketches import Sketches, no_descriptor, sketched
from tests.unit.stats import make
from tests.unit.stats.tires import real_fast, real_time, sweep, whole_sweep


class _Elements(HTMLParser):
    """The tags and the names of attributes of a page."""

    def __init__(self) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.add(tag)
        self.attributes.update(name for name, _ in attrs)


@pytest.fixture(scope="module")
def page() -> str:
    return sketched(whole_sweep())


def ids(text: str) -> list[str]:
    return re.findall(r'<figure class="chart" id="(tire-[^"]+)"', text)


@pytest.mark.slow
def test_a_sweep_has_every_chart_and_table(page: str) -> None:
    assert ids(page) == [
        "tire-sides-speed",
        "tire-sides-held",
        "tire-total",
        "tire-steps",
        "tire-hard-10000000-10000000",
        "tire-soft-10000000-10000000",
        "tire-model",
        "tire-study",
    ]
    text = html.unescape(page)
    for part in (
        "What held in real time",
        "None of N steps missed does not mean that none ever will",
        "Real-time is not real-fast",
        "other is faster and misses more deadlines",
        "A step by the cost model",
        "no term for semaphore operations that do not block",
        "Intel i7-3930K 3.2 GHz, 6 cores with hyper-threading",
        "All 96 points",
    ):
        assert part in text


def test_the_section_comes_first_in_a_sweep(page: str) -> None:
    assert page.index('id="tire"') < page.index('id="findings"')
    assert page.count('href="#tire"') == 2
    battery = sketched(sweep(real_time(400), make.result()))
    assert battery.index('id="tire"') > battery.index('id="figures"')


def test_points_of_a_sweep_have_no_sections(page: str) -> None:
    assert page.count('<article id="result-') == 2  # those of THR-P-SLS and SEM-P-SHF
    assert "SIM-S-RT</a>" not in page
    battery = sketched(sweep(real_time(400)))
    assert 'class="test">SIM-S-RT' in battery


def test_a_point_whose_claim_failed_has_a_section() -> None:
    document = whole_sweep(["none"])
    document.results[5].verdicts.append(Verdict(name="rest", passed=False, evidence="it moved"))
    assert "it moved" in sketched(document)


def test_each_chart_has_its_figures_in_words() -> None:
    document = whole_sweep()
    with Drawer() as drawer:
        found = tire_figures(document, points_of(document), drawer, live=False)
    words = {one.id: one.alt for one in found}
    assert "other, heavy, 4 threads, 1 000 masses: 400 ms" in words["tire-total"]
    hard = words["tire-hard-10000000-10000000"]
    assert "fifo, none, 1 thread: none missed up to 12 000" in hard
    assert "Xenomai 2.6.2.1 (Linux 3.5.7), any threads: held 14" in words["tire-study"]
    assert all(len(one.alt) <= 600 and one.about for one in found)


@pytest.mark.slow
def test_the_charts_can_be_drawn_and_made_interactive() -> None:
    document = whole_sweep()
    with Drawer() as drawer:
        for one in tire_figures(document, points_of(document), drawer, live=True):
            drawing = one.drawing.__html__()
            assert drawing.startswith("<svg"), one.id
            assert one.data is not None


def test_a_sweep_of_a_short_step_is_the_pre_test() -> None:
    found = [real_time(n, n, missed=n > 24, policy="other") for n in range(4, 41, 4)]
    for one in found:
        one.params["step_ns"] = 500_000
    text = html.unescape(sketched(sweep(*found)))
    assert "Pre-test map, step 500 us" in text
    assert "Soft map, step 500 us" in text


def test_a_battery_has_no_charts_of_what_it_lacks() -> None:
    assert ids(sketched(sweep(real_time(400), real_fast(400)))) == ["tire-study"]
    assert ids(sketched(sweep(real_time(400), real_time(800)))) == [
        "tire-steps",
        "tire-hard-10000000-10000000",
        "tire-study",
    ]


def test_other_runs_have_no_such_section() -> None:
    text = sketched(make.document())
    assert 'id="tire"' not in text
    assert 'href="#tire"' not in text


@pytest.mark.slow
def test_the_pdf_has_its_pages() -> None:
    data = render_pdf(whole_sweep(), no_descriptor, drawer=Sketches())
    pages = [" ".join(one.extract_text().split()) for one in PdfReader(BytesIO(data)).pages]
    assert any("Tire simulation: what held in real time" in one for one in pages)
    assert any("Tire simulation, charts" in one for one in pages)
    assert any("Xenomai" in one and "i7-3930K" in one for one in pages)


@pytest.mark.slow
def test_no_name_of_a_point_becomes_code() -> None:
    odd = [
        real_time(n, 2, missed=n // 400, policy=attack, solver=attack, load=attack, reason=attack)
        for n, attack in zip(range(400, 2800, 400), ATTACKS, strict=True)
    ]
    document = sweep(*odd, real_time(400), real_time(400, policy="other"))
    document.system["machine.cpu_model"] = ATTACKS[1]
    text = render_html(document, no_descriptor, bundle=lambda: "live()")
    seen = _Elements()
    seen.feed(text)
    assert "alert(1)</script>" not in text
    assert "img" not in seen.tags
    assert not any(name.startswith("on") for name in seen.attributes)


@pytest.mark.parametrize(
    "data",
    [
        {"missed_count": -5, "released_count": -5},
        {"masses_count": "<b>", "threads_count": None},
        {"steps_count": 0, "involuntary_count": 2**60},
        {"solver": 7, "policy": ["x"]},
    ],
)
def test_broken_events_make_a_page(data: dict[str, object]) -> None:
    odd = [real_time(n, 2, data=data) for n in (400, 800, 1200, 1600)]  # type: ignore[arg-type]
    document = sweep(*odd, real_time(events=[]), real_fast(series=[]))
    assert 'id="tire"' in sketched(document)
    render_pdf(document, no_descriptor, drawer=Sketches())


@pytest.mark.slow
def test_thousands_of_points_make_a_small_page() -> None:
    many = [
        real_time(4 * n, threads, missed=n > 150, policy=policy, released=2)
        for n in range(1, 301)
        for threads in (1, 2, 4)
        for policy in ("fifo", "other")
    ]
    document = sweep(*many)
    assert len(sketched(document)) < 1_000_000
    with Drawer() as drawer:
        found = tire_figures(document, points_of(document), drawer, live=True)
    rows = [
        sum(len(line["points"]) for line in msgspec.json.decode(str(one.data))["lines"])
        for one in found
    ]
    assert max(rows) <= MOST_DRAWN + 10


@pytest.mark.slow
def test_another_run_stands_beside() -> None:
    first, second = whole_sweep(["none"]), whole_sweep(["none"])
    second.system["kernel.release"] = "6.12.0"
    text = html.unescape(sketched_beside(first, second))
    assert "Beside the other run" in text
    assert "6.12.0-rt, fifo and 6.12.0, fifo, none, shared" in text
    assert '<figure class="chart" id="tire-beside-held">' in text
    second.system["virtual.hypervisor"] = "TCG"
    assert "Not compared: it is emulated" in sketched_beside(first, second)
    pages = render_pdf(first, no_descriptor, drawer=Sketches(), beside=second)
    text = " ".join(one.extract_text() for one in PdfReader(BytesIO(pages)).pages)
    assert "not compared: it is emulated" in text


def sketched_beside(first: RunDocument, second: RunDocument) -> str:
    return render_html(first, no_descriptor, bundle=lambda: None, drawer=Sketches(), beside=second)


def test_a_statement_is_drawn(page: str) -> None:
    assert '<figure class="chart" id="tire-sides-speed">' in page
    assert '<figure class="chart" id="tire-sides-held">' in page
    text = html.unescape(page)
    assert "other none, missed at 400" in text
    one_side = sketched(sweep(*(real_time(n) for n in (400, 800, 1200, 1600))))
    assert "tire-sides" not in one_side
    assert "nothing to compare" in one_side
