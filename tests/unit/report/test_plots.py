"""What is drawn without Vega, and what is left to it."""

from __future__ import annotations

import copy
import sys
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree

import msgspec
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from hardstone.report import svg
from hardstone.report.charts import exceedance_chart, glance
from hardstone.report.groups import group
from hardstone.report.plot import static_plot
from hardstone.report.theme import Spec
from tests.unit.report import sample
from tests.unit.report.hostile import ATTACKS
from tests.unit.report.plot_specs import specs

# What has a meaning of its own in one of a few words.
WORDS = {
    *("type", "interpolate", "shape", "orient", "baseline", "align", "labelExpr", "format"),
    *("filter", "invalid", "labelOverlap", "symbolType", "test", "fontStyle", "nice", "clamp"),
}


def objects(spec: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in a specification that is an object, but for the rows of data."""
    if isinstance(spec, dict):
        yield path
        for key, value in spec.items():
            yield from objects(value, (*path, key))
    elif isinstance(spec, list) and path[-1:] != ("values",):
        for at, value in enumerate(spec):
            yield from objects(value, (*path, at))


def at(spec: Any, path: tuple[Any, ...]) -> Any:
    for key in path:
        spec = spec[key]
    return spec


def few_rows(spec: Spec) -> Spec:
    """A copy with at most some sixty rows, which is drawn faster."""
    rows = spec["data"]["values"]
    few = {**spec, "data": {"values": rows[:: -(-len(rows) // 60)]}}
    return copy.deepcopy(few if static_plot.draw(few) else spec)


@pytest.mark.slow
def test_a_key_that_is_not_known_is_left_to_vega_wherever_it_is() -> None:
    for name, spec in specs().items():
        found = few_rows(spec)
        for path in objects(spec):
            at(found, path)["zz"] = 1
            assert static_plot.draw(found) is None, (name, path)
            del at(found, path)["zz"]
        assert static_plot.draw(found) is not None


@pytest.mark.slow
def test_a_word_that_is_not_known_is_left_to_vega() -> None:
    for name, spec in specs().items():
        found = few_rows(spec)
        for path in objects(spec):
            inner = at(found, path)
            if "config" in path or "tooltip" in path:
                continue
            for key in WORDS & inner.keys():
                kept, inner[key] = inner[key], "zz"
                assert static_plot.draw(found) is None, (name, path, key)
                inner[key] = kept


@pytest.mark.parametrize("kind", ["circle", "trail", "boxplot", "image", "arc", "geoshape", None])
def test_a_mark_that_is_not_known_is_left_to_vega(kind: Any) -> None:
    spec = copy.deepcopy(specs()["loss"])
    spec["layer"][1]["mark"]["type"] = kind
    assert static_plot.draw(spec) is None


ODD = st.one_of(
    st.none(),
    st.booleans(),
    st.floats(),
    st.integers(),
    st.text(max_size=4),
    st.lists(st.integers(), max_size=2),
    st.dictionaries(st.text(max_size=2), st.integers(), max_size=1),
)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=80, deadline=None)
def test_odd_values_of_the_data_never_fail(data: st.DataObject) -> None:
    """What is drawn is whole, and has no number that is none."""
    spec = copy.deepcopy(specs()[data.draw(st.sampled_from(["alike", "loss", "limits", "glance"]))])
    rows = spec["data"]["values"]
    row = rows[data.draw(st.integers(0, len(rows) - 1))]
    row[data.draw(st.sampled_from(sorted(row)))] = data.draw(ODD)
    _assert_sound(spec)


@pytest.mark.slow
@given(st.data())
@settings(max_examples=80, deadline=None)
def test_an_odd_specification_never_fails(data: st.DataObject) -> None:
    spec = copy.deepcopy(specs()[data.draw(st.sampled_from(sorted(specs())))])
    inner = at(spec, data.draw(st.sampled_from(list(objects(spec)))))
    if inner:
        inner[data.draw(st.sampled_from(sorted(inner)))] = data.draw(ODD)
    _assert_sound(spec)


def _assert_sound(spec: Any) -> None:
    try:
        drawn = svg.plotted(spec)
    except ValueError:  # characters that XML forbids
        return
    for one in ElementTree.fromstring(drawn).iter() if drawn else ():  # noqa: S314
        assert not any("nan" in value or "inf" in value for value in one.attrib.values())


@pytest.mark.parametrize("odd", [None, 1, "text", [], {}, {"layer": []}, {"facet": {}}])
def test_what_is_no_specification_is_left_to_vega(odd: Any) -> None:
    assert static_plot.draw(odd) is None


def test_an_empty_chart_is_drawn_or_left_to_vega() -> None:
    for spec in specs().values():
        _assert_sound({**spec, "data": {"values": []}})


@pytest.mark.parametrize("attack", ATTACKS)
def test_a_name_that_is_code_stays_a_name(attack: str) -> None:
    name = "".join(one for one in attack if one.isprintable())[:18]
    series = [sample.series(f"{name} {at}", np.array([at, 5, 9, 70])) for at in range(1, 3)]
    drawn = svg.plotted(exceedance_chart.chart(group(series), "ns"))
    assert drawn is not None
    root = ElementTree.fromstring(drawn)  # noqa: S314
    assert {one.tag for one in root.iter()} <= {"svg", "g", "path", "line", "text"}
    known = {key for one in root.iter() for key in one.attrib}
    assert not any(key.startswith("on") for key in known)
    assert f"{name} 1" in [one.text for one in root.iter("text")]


@pytest.mark.parametrize("place", ["range", "color"])
@pytest.mark.parametrize("colour", ['"/><script>', "url(#a)", "red;x:y", 'red"', 1, None])
def test_a_colour_that_is_none_is_left_to_vega(place: str, colour: Any) -> None:
    spec = copy.deepcopy(specs()["limits"])
    if place == "range":
        for layer in spec["layer"][:2]:
            layer["encoding"]["color"]["scale"]["range"][0] = colour
    else:
        spec["layer"][-1]["mark"]["color"] = colour
    assert static_plot.draw(spec) is None


@pytest.mark.parametrize("text", ["\x00", "\x1b[31m", "\x07", "\b", "\ufffe"])
def test_characters_that_xml_forbids_are_refused_as_before(text: str) -> None:
    spec = copy.deepcopy(specs()["loss"])
    spec["data"]["values"][0]["c"] = f"a{text}"
    with pytest.raises(ValueError, match="cannot be drawn"):
        svg.render(spec)


@pytest.mark.slow
def test_only_what_a_page_may_hold_is_drawn() -> None:
    """As Vega's drawings are after `tidy`, of which nothing else is left."""
    for spec in specs().values():
        drawn = static_plot.draw(spec)
        assert drawn is not None
        again = ElementTree.fromstring(svg.tidy(drawn))  # noqa: S314
        for one, other in zip(ElementTree.fromstring(drawn).iter(), again.iter(), strict=True):  # noqa: S314
            assert (one.tag, one.attrib, one.text) == (other.tag, other.attrib, other.text)


@pytest.mark.slow
def test_common_charts_need_no_converter(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vl_convert", None)
    for name, spec in specs().items():
        assert svg.render(spec).startswith("<svg "), name


@pytest.mark.slow
def test_what_is_left_to_vega_is_drawn_by_it() -> None:
    spec: Spec = copy.deepcopy(specs()["loss"])
    spec["layer"][0]["mark"]["strokeOpacity"] = 0.5
    assert static_plot.draw(spec) is None
    assert 'stroke-opacity="0.5"' in svg.render(spec)


@pytest.mark.slow
def test_drawing_leaves_the_specification_as_it_is() -> None:
    for spec in specs().values():
        before = msgspec.json.encode(spec)
        static_plot.draw(spec)
        assert msgspec.json.encode(spec) == before


def test_a_glance_of_hundreds_of_results_is_drawn() -> None:
    rows = [{"c": f"row {at}", "m": 10.0, "w": 20.0 + at} for at in range(400)]
    spec = {**glance.chart([]), "data": {"values": rows}}
    assert svg.render(spec).count("<text") > 400
