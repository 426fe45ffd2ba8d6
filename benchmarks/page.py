"""Measure in a real Chromium how fast the page of `targcn serve` is, and keep it as JSON.

    python -m benchmarks.page RUN … --out benchmarks/results/page.json

For each run: from a move of the slider to the new list of answers, and the drawing of all facts of
its entity with the most facts.
"""

import argparse
import json
import shutil
import statistics
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any
from urllib.parse import urlencode
from urllib.request import urlopen

from playwright.sync_api import Browser, Page, sync_playwright

from benchmarks.measure import describe_machine

MOVES = 40
SLIDE = """async (moves) => {
  const slider = document.querySelector("input[type=range]"), times = [];
  for (let move = 0; move < moves; move += 1) {
    const changed = new Promise((resolve) => new MutationObserver((_, watcher) => {
      watcher.disconnect();
      resolve();
    }).observe(document.querySelector(".answers"), { childList: true, subtree: true }));
    const start = performance.now();
    slider.value = Number(slider.value) - 1;
    slider.dispatchEvent(new Event("input"));
    await changed;
    times.push(performance.now() - start);
  }
  return times;
}"""
# The reading of a pixel waits until everything is drawn.
DRAW = """(moves) => Array.from({ length: moves }, () => {
  const start = performance.now();
  dispatchEvent(new Event("painted"));
  document.querySelector("canvas").getContext("2d").getImageData(0, 0, 1, 1);
  return performance.now() - start;
})"""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("runs", nargs="+", type=Path)
    parser.add_argument("--out", type=Path, required=True)
    arguments = parser.parse_args()
    with browsing(arguments.runs) as (browser, address):
        described = json.load(urlopen(f"{address}api/runs"))["runs"]
        rows = [measure(browser.new_page(), address, run) for run in described]
        used = f"Chromium {browser.version}"
    content = {"browser": used, "device": describe_machine(None), "moves": MOVES, "rows": rows}
    arguments.out.write_text(json.dumps(content, indent=2) + "\n", encoding="utf-8")
    print(json.dumps(content, indent=2))


@contextmanager
def browsing(runs: list[Path]) -> Iterator[tuple[Browser, str]]:
    """A browser, and the address of a server of these runs; both stop in the end."""
    chromium = shutil.which("chromium")
    if chromium is None:
        sys.exit("there is no Chromium here: apt-get install chromium")
    command = [sys.executable, "-m", "targcn", "serve", *map(str, runs), "--port", "0"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as server:
        assert server.stdout is not None
        address = server.stdout.readline().split()[0]
        try:
            with sync_playwright() as playwright:
                yield (
                    playwright.chromium.launch(executable_path=chromium, args=["--no-sandbox"]),
                    address,
                )
        finally:
            server.terminate()


def measure(page: Page, address: str, run: dict[str, Any]) -> dict[str, Any]:
    asked = urlencode({"run": run["name"], "q": "", "top": 1})
    [busiest] = json.load(urlopen(f"{address}api/names?{asked}"))["names"]
    relation = run["relations"][0]
    question = {"run": run["name"], "s": busiest["name"], "r": relation, "t": run["last"]}
    page.goto(f"{address}?{urlencode({'view': 'ask', **question})}")
    page.wait_for_selector(".answers li")
    page.wait_for_timeout(2_000)
    slides = page.evaluate(SLIDE, MOVES)
    entity = {"view": "entity", "run": run["name"], "e": busiest["name"]}
    page.goto(f"{address}?{urlencode(entity)}")
    page.wait_for_selector("canvas")
    page.wait_for_timeout(2_000)
    drawings = page.evaluate(DRAW, MOVES)
    return {
        "model": run["model"],
        "data": run["data"],
        "slide": in_milliseconds(slides),
        "facts_drawn": busiest["num_facts"],
        "draw": in_milliseconds(drawings),
    }


def in_milliseconds(times: list[float]) -> dict[str, float]:
    cuts = statistics.quantiles(times, n=20)
    return {"p50": round(statistics.median(times), 1), "p95": round(cuts[-1], 1)}


if __name__ == "__main__":
    main()
