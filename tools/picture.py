"""A picture of a report for the documents: `tools/picture.py REPORT.html OUT.png`.

`--at ID` starts at that element of the page instead of its top.
"""

from __future__ import annotations

import argparse
import os
import shutil
import sys
from pathlib import Path

from playwright.sync_api import Error, sync_playwright

WIDTH = 1100
HEIGHT = 900
BROWSERS = ["chromium", "chromium-browser", "google-chrome"]


def find_browser() -> str | None:
    return next((path for name in BROWSERS if (path := shutil.which(name))), None)


def take(
    report: Path,
    picture: Path,
    browser: str,
    at: str = "",
    width: int = WIDTH,
    height: int = HEIGHT,
) -> None:
    """What a reader sees at the element `at`, at two device pixels per pixel."""
    # Chromium's own sandbox refuses to run as root; the page is ours.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        chromium = playwright.chromium.launch(executable_path=browser, args=options)
        page = chromium.new_page(viewport={"width": width, "height": height}, device_scale_factor=2)
        page.goto(f"{report.resolve().as_uri()}#{at}")
        page.wait_for_load_state("networkidle")
        picture.parent.mkdir(parents=True, exist_ok=True)
        page.screenshot(path=str(picture))
        chromium.close()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("report", type=Path)
    parser.add_argument("picture", type=Path)
    parser.add_argument("--at", default="")
    parser.add_argument("--width", type=int, default=WIDTH)
    parser.add_argument("--height", type=int, default=HEIGHT)
    arguments = parser.parse_args()
    browser = find_browser()
    if browser is None:
        print("there is no Chromium: sudo apt-get install chromium", file=sys.stderr)
        return 1
    try:
        take(
            arguments.report,
            arguments.picture,
            browser,
            arguments.at,
            arguments.width,
            arguments.height,
        )
    except Error as error:
        print(f"no picture: {error.message.splitlines()[0]}", file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
