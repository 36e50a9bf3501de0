"""The checks of a gate as JUnit XML, which CI systems show."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Tree

from hardstone.gate.outcome_document import Check, GateDocument

# What XML 1.0 cannot hold, not even escaped.
_NO_XML = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
_LONGEST = 2000


def junit_xml(document: GateDocument, started_utc: str, host: str) -> bytes:
    """One suite, one case for each check: FAIL is a failure, INCONCLUSIVE an error: neither passes.

    `started_utc` as documents have it, "2026-11-21T03:22:00Z".
    """
    count = len(document.checks)
    failures = sum(one.outcome == "FAIL" for one in document.checks)
    errors = sum(one.outcome == "INCONCLUSIVE" for one in document.checks)
    if not count:  # what checked nothing does not pass
        count = errors = 1
    totals = {"tests": str(count), "failures": str(failures), "errors": str(errors)}
    suite = Tree.Element(
        "testsuite",
        {
            "name": f"hardstone gate {document.kind}",
            **totals,
            "skipped": "0",
            "time": "0",
            "timestamp": _plain(started_utc).removesuffix("Z"),
            "hostname": _plain(host) or "unknown",
        },
    )
    properties = Tree.SubElement(suite, "properties")
    for name, values in (("system", document.systems), ("against", document.against)):
        for value in values:
            Tree.SubElement(properties, "property", {"name": name, "value": _plain(value)})
    for check in document.checks:
        _add_case(suite, check)
    if not document.checks:
        case = Tree.SubElement(suite, "testcase", _names("hardstone", "nothing was checked"))
        Tree.SubElement(case, "error", {"type": "INCONCLUSIVE", "message": "nothing was checked"})
    Tree.SubElement(suite, "system-out").text = _plain("\n".join(document.notes))
    Tree.SubElement(suite, "system-err")
    root = Tree.Element("testsuites", {"name": "hardstone gate", **totals, "time": "0"})
    root.append(suite)
    Tree.indent(root)
    text: bytes = Tree.tostring(root, encoding="utf-8", xml_declaration=True)
    return text + b"\n"


def _add_case(suite: Tree.Element, check: Check) -> None:
    name = f"{check.address} {check.statistic} {check.wanted} [{check.condition}] {check.system}"
    case = Tree.SubElement(suite, "testcase", _names(check.address.partition("/")[0], name))
    said = f"{check.found}; {check.wanted}: {check.reason}"
    if check.outcome == "PASS":
        Tree.SubElement(case, "system-out").text = _plain(said)
        return
    kind = "failure" if check.outcome == "FAIL" else "error"
    what = {"type": check.outcome, "message": _plain(said)}
    Tree.SubElement(case, kind, what).text = _plain(f"{said}\n{check.source}")


def _names(test: str, name: str) -> dict[str, str]:
    return {"classname": f"hardstone.{_plain(test)}", "name": _plain(name), "time": "0"}


def _plain(text: str) -> str:
    return _NO_XML.sub("?", text)[:_LONGEST]
