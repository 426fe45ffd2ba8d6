"""Take the pictures of the page for the docs, with a run of congress and a second one beside it.

targcn train congress --out run
targcn train congress --model decayed-copy --out copy
PYTHONPATH=. python scripts/picture_page.py run copy --out docs/pictures
"""

import argparse
import io
import json
from pathlib import Path
from urllib.parse import urlencode

from PIL import Image
from playwright.sync_api import Browser

from benchmarks.page import browsing

KENNEDY = {"s": "Ted Kennedy", "r": "serves beside", "t": "2009"}
STRUCK = json.dumps(["Ted Kennedy", "senior senator of", "Massachusetts", "2007"])
# For each picture: the state of the page, what is waited for, and how high it is cut.
PICTURES = {
    "ask": ({"view": "ask", **KENNEDY}, ".answers .why:not(:empty)", 880),
    "why": (
        {"view": "why", **KENNEDY, "o": "John Kerry", "as": "object", "without": STRUCK},
        "section[aria-label='What if'] td",
        1290,
    ),
    "entity": (
        {"view": "entity", "e": "Massachusetts"},
        "section[aria-label='Predicted next'] a",
        760,
    ),
    "missing": ({"view": "missing", "r": "holds House seat", "n": "12"}, "tbody td", 800),
    "models": (
        {"view": "models", "e": "Ted Kennedy"},
        "section[aria-label='Where they differ'] td",
        900,
    ),
}
COLOURS = 256


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    with browsing(arguments.runs) as (browser, address):
        for name in PICTURES:
            take(browser, address, name, arguments.out / f"explorer-{name}.png")
        path = arguments.out / "explorer-phone.png"
        take(browser, address, "ask", path, width=390, height=800, scheme="dark")


def take(
    browser: Browser,
    address: str,
    name: str,
    path: Path,
    *,
    width: int = 1200,
    height: int = 0,
    scheme: str = "light",
) -> None:
    state, sign, own_height = PICTURES[name]
    viewport = {"width": width, "height": height or own_height}
    page = browser.new_page(viewport=viewport, device_scale_factor=1.5, color_scheme=scheme)
    page.goto(f"{address}?{urlencode(state)}")
    page.wait_for_selector(sign)
    page.wait_for_timeout(1_000)
    # A palette is enough for text and bars, at half the bytes.
    Image.open(io.BytesIO(page.screenshot())).quantize(COLOURS, dither=0).save(path, optimize=True)
    page.close()


if __name__ == "__main__":
    main()
