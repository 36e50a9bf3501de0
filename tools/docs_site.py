"""Builds the documents as a site with MkDocs, checks it, and opens every page in Chromium.

The site is in build/docs/site, unless `--output FOLDER` names another folder; `--no-browser` leaves
Chromium out. MkDocs has an environment of its own, build/docs/venv, with what
requirements/docs.txt pins.
"""

from __future__ import annotations

import argparse
import functools
import hashlib
import os
import re
import shlex
import subprocess
import sys
import threading
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from posixpath import dirname, join, normpath
from typing import Any
from urllib.parse import unquote, urlsplit

from markdown_it import MarkdownIt

import picture

ROOT = Path(__file__).resolve().parent.parent
ENVIRONMENT = ROOT / "build" / "docs" / "venv"
LOG = ROOT / "build" / "docs" / "build.log"
NARROW_PX, WIDE_PX, HEIGHT_PX = 390, 1280, 900
MOST_TOLD = 20


class StepError(Exception):
    """One line: what is wrong, and what to do or read."""


def run_logged(
    command: Sequence[str | Path],
    log: Path,
    *,
    cwd: Path = ROOT,
    environment: Mapping[str, str] | None = None,
) -> None:
    """Runs a command, its output in `log`; StepError with the last line of it if it fails."""
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [str(word) for word in command]
    with log.open("a") as output:
        output.write(f"\n$ {shlex.join(words)}\n")
        output.flush()
        try:
            done = subprocess.run(
                words,
                cwd=cwd,
                env=environment,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT,
                check=False,
            )
        except OSError as error:
            raise StepError(f"{words[0]}: {error.strerror}") from None
    if done.returncode:
        said = [line for line in log.read_text("utf-8", errors="replace").splitlines() if line]
        shown = f"{Path(words[0]).name} failed: {said[-1].strip()}"
        raise StepError(f"{shown}: see the end of its output: tail {log}")


def digest(path: Path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


# ---- build ----


def pinned_python(lock: Path, folder: Path, log: Path) -> Path:
    """The Python of an environment with what `lock` pins, installed anew if that has changed."""
    python, stamp = folder / "bin" / "python", folder / "stamp"
    if stamp.exists() and stamp.read_text() == digest(lock):
        return python
    run_logged([sys.executable, "-m", "venv", "--clear", folder], log)
    pip = [python, "-m", "pip", "install", "--no-input", "--disable-pip-version-check"]
    run_logged([*pip, "--require-hashes", "-r", lock], log)
    stamp.write_text(digest(lock))
    return python


def build(root: Path, site: Path, log: Path, environment: Mapping[str, str] = os.environ) -> None:
    """Builds the documents of a clone; a warning of MkDocs is an error."""
    python = pinned_python(root / "requirements" / "docs.txt", ENVIRONMENT, log)
    command = [python, "-m", "mkdocs", "build", "--clean", "--site-dir", site.resolve()]
    quiet = {**environment, "NO_MKDOCS_2_WARNING": "1"}
    run_logged([*command, "--config-file", root / "mkdocs.yml"], log, environment=quiet)


# ---- check ----

RESOURCES = {("script", "src"), ("img", "src"), ("iframe", "src"), ("source", "src")}
RESOURCES |= {("link", "href"), ("video", "src"), ("audio", "src"), ("object", "data")}
IN_STYLE = re.compile(r"(?:url\(|@import\s+)[\"']?((?:https?:)?//[^\"')\s]+)")
# What a page of CommonMark has as many of as its page of the site.
STRUCTURE = {"h1", "h2", "h3", "li", "ul", "ol", "table", "tr", "td", "pre", "code", "img"}
STRUCTURE |= {"em", "strong", "blockquote"}


class PageParser(HTMLParser):
    """Links, anchors and structure of a page of the site, or of what a page of it holds."""

    def __init__(self, *, is_article: bool = False) -> None:
        super().__init__()
        self.links: list[tuple[str, str, str]] = []
        self.anchors: set[str] = set()
        self.structure: Counter[str] = Counter()
        self._is_article = is_article

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        if tag == "article":
            self._is_article = True
        if self._is_article and tag in STRUCTURE:
            self.structure[tag] += 1
        for name, value in attrs:
            if name in ("id", "name") and value:
                self.anchors.add(value)
            elif name in ("href", "src", "data") and value:
                self.links.append((tag, name, value))

    def handle_endtag(self, tag: str) -> None:
        if tag == "article":
            self._is_article = False


def parsed(html: str, *, is_article: bool = False) -> PageParser:
    parser = PageParser(is_article=is_article)
    parser.feed(html)
    return parser


def link_faults(site: Path) -> Iterator[str]:
    """Links that lead nowhere, and what a page would load from another host."""
    files = {str(path.relative_to(site)) for path in site.rglob("*") if path.is_file()}
    pages = {
        name: parsed((site / name).read_text("utf-8")) for name in files if name.endswith(".html")
    }
    for name, page in sorted(pages.items()):
        for tag, attribute, link in page.links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                if (tag, attribute) in RESOURCES and parts.scheme != "data":
                    yield f"{name}: loads {link} from another host"
                continue
            path = unquote(parts.path)
            there = normpath(join(dirname(name), path)) if path else name
            if path.startswith("/"):
                there = path.lstrip("/")  # only the page of errors, which has no place of its own
            if there not in files and f"{there}/index.html".removeprefix("./") not in files:
                yield f"{name}: {link} is not there"
            elif there in pages and parts.fragment and parts.fragment not in pages[there].anchors:
                yield f"{name}: {there} has no anchor {parts.fragment}"
    for name in sorted(files):
        if name.endswith(".css"):
            for found in IN_STYLE.finditer((site / name).read_text("utf-8")):
                yield f"{name}: loads {found[1]} from another host"


def shown_otherwise(root: Path, site: Path) -> Iterator[str]:
    """Pages whose lists, tables or code the site shows otherwise than the repository does."""
    common = MarkdownIt("commonmark").enable("table")
    for html in sorted(site.rglob("*.html")):
        path = html.relative_to(site)
        is_index = path.name == "index.html"
        source = path.with_name("README.md") if is_index else path.with_suffix(".md")
        if not (root / source).exists():  # the page of errors
            continue
        wanted = parsed(common.render((root / source).read_text("utf-8")), is_article=True)
        shown = parsed(html.read_text("utf-8")).structure
        for tag in sorted(STRUCTURE):
            if shown[tag] != wanted.structure[tag]:
                told = f"{shown[tag]} <{tag}> on the site, not {wanted.structure[tag]}"
                yield f"{source}: {told}: write it so that MkDocs reads it as CommonMark does"


def faults(root: Path, site: Path) -> list[str]:
    return [*link_faults(site), *shown_otherwise(root, site)]


# ---- open ----

WIDER = "document.documentElement.scrollWidth - document.documentElement.clientWidth"


class QuietHandler(SimpleHTTPRequestHandler):
    def log_message(self, format: str, *args: Any) -> None:
        """No-op: requests are seen by the browser."""


class PageServer(ThreadingHTTPServer):
    def handle_error(self, request: Any, client_address: Any) -> None:
        """No-op: a browser that leaves a page closes its connections."""


@contextmanager
def served(site: Path) -> Iterator[str]:
    """The address of the site on this machine."""
    handler = functools.partial(QuietHandler, directory=str(site))
    with PageServer(("127.0.0.1", 0), handler) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/"
        finally:
            server.shutdown()
            thread.join()


def opening_faults(site: Path, browser: str, names: Sequence[str] = ()) -> Iterator[str]:
    """Opens the pages, all without `names`: requests to other hosts, errors of scripts, and pages
    that are wider than a phone."""
    from playwright.sync_api import sync_playwright

    pages = names or sorted(str(one.relative_to(site)) for one in site.rglob("*.html"))
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with served(site) as address, sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=options)
        page = chromium.new_page(viewport={"width": NARROW_PX, "height": HEIGHT_PX})
        seen: list[str] = []
        page.on("pageerror", lambda error: seen.append(f"error of a script: {error}"))

        def note(response: Any) -> None:
            if response.status >= 400:
                seen.append(f"{response.url} is not there")

        def answer(route: Any) -> None:
            if route.request.url.startswith((address, "data:", "blob:")):
                route.continue_()
            else:
                seen.append(f"loads {route.request.url} from another host")
                route.abort()

        page.on("response", note)
        page.route("**/*", answer)
        for name in pages:
            page.goto(f"{address}{name}", wait_until="load")
            if (wider_px := page.evaluate(WIDER)) > 0:
                seen.append(f"{wider_px} px wider than a phone of {NARROW_PX} px")
            yield from (f"{name}: {one}" for one in dict.fromkeys(seen))
            seen.clear()
        chromium.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--output", type=Path, default=ROOT / "build" / "docs" / "site")
    parser.add_argument("--no-browser", action="store_true")
    arguments = parser.parse_args()
    site = arguments.output
    LOG.unlink(missing_ok=True)
    try:
        build(ROOT, site, LOG)
    except StepError as error:
        print(f"docs-site: {error}", file=sys.stderr)
        return 1
    found = faults(ROOT, site)
    browser = picture.find_browser()
    if browser is None:
        print("docs-site: not opened: there is no Chromium: sudo apt-get install chromium")
    elif not arguments.no_browser:
        found += opening_faults(site, browser)
    for fault in found[:MOST_TOLD]:
        print(f"docs-site: {fault}", file=sys.stderr)
    if len(found) > MOST_TOLD:
        print(f"docs-site: and {len(found) - MOST_TOLD} more", file=sys.stderr)
    if not found:
        count = sum(1 for _ in site.rglob("*.html"))
        print(f"docs-site: {count} pages: {site / 'index.html'}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
