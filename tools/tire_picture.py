"""The falling tire for the documents, from a real run: `tools/tire_picture.py PROBE OUT.svg`.

The colours are those of the report, and follow the reader's light or dark page.
"""

from __future__ import annotations

import re
import subprocess
import sys
from pathlib import Path

from hardstone.report.drawing import __file__, render
from hardstone.simulation.charts import frames_chart
from hardstone.simulation.results import frames_of
from hardstone.stream import StreamReader

TEST = "SIM-S-RT"
# At the default step of 10 ms a tire of many masses cannot carry its weight.
PARAMS = {"masses": 400, "threads": 1, "step_ns": 1_000_000, "frames": 8}
CSS = Path(__file__).parent / "templates" / "report.css"
WIDTH = 720
_DARK = "@media screen and (prefers-color-scheme: dark)"
_NAMES = ("page", "ink", "quiet", "rule", "series-1", "series-2")
_VIEW = re.compile(r'viewBox="0 0 ([0-9.]+) ([0-9.]+)"')


def stream(probe: Path) -> list[bytes]:
    words = [word for name, value in PARAMS.items() for word in ("-p", f"{name}={value}")]
    command = [str(probe), "run", TEST, "--json", "--samples", "1", *words]
    return subprocess.run(command, capture_output=True, check=True).stdout.splitlines()


def drawing(lines: list[bytes], test: str = TEST) -> str:
    """The pictures in a stream as an SVG document."""
    reader = StreamReader(test)
    for line in lines:
        reader.feed(line)
    frames = frames_of(reader.finish())
    if not frames:
        raise SystemExit(f"the stream has no pictures: {reader.problem}")
    shown = render(frames_chart(frames))
    wide, high = map(float, _VIEW.findall(shown)[0])
    start = (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {wide:g} {high:g}" '
        f'width="{WIDTH}" height="{WIDTH * high / wide:.0f}" font-family="system-ui, sans-serif">'
    )
    page = '<rect width="100%" height="100%" fill="var(--page)" />'
    return f"{start}{style()}{page}{shown.split('>', 1)[1]}\n"


def style() -> str:
    """The colours of a report, as its own style has them."""
    light, rest = CSS.read_text().split(_DARK, 1)
    dark = rest.split("\n}", 1)[0]
    return f"<style>:root{{{_colours(light)}}}{_DARK}{{:root{{{_colours(dark)}}}}}</style>"


def _colours(css: str) -> str:
    found = dict(re.findall(r"--([a-z0-9-]+): (#[0-9a-f]{6})", css))
    return "".join(f"--{name}:{found[name]};" for name in _NAMES)


def main() -> int:
    probe, out = map(Path, sys.argv[1:])
    out.write_text(drawing(stream(probe)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
