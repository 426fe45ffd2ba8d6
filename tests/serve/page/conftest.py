"""A browser, and a server for it to visit.

Each worker of pytest-xdist has a server and a browser of its own. Without a Chromium the tests are
skipped, unless TARGCN_BROWSER=required says that there must be one.
"""

import os
import re
import shutil
from collections.abc import Iterator
from dataclasses import replace

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

import targcn
from oracle import World
from small_runs import untrained
from small_server import Here, serving, small_runs
from targcn.facts.dataset import Facts
from targcn.runs.run import Run
from targcn.training.fit import fit
from targcn.truth.judge import Judge
from targcn.truth.truth import fit_judge

# What tests do wrong on purpose is shown by the page, and logged by the browser too.
EXPECTED = re.compile("status of (404|422|504)|ERR_INTERNET_DISCONNECTED")
MOST_MILLISECONDS = 5 * 60_000


def find_chromium() -> str:
    found = shutil.which("chromium") or shutil.which("chromium-browser")
    found = found or shutil.which("google-chrome")
    if found is None:
        sentence = "there is no Chromium here to drive the page with: apt-get install chromium"
        if os.environ.get("TARGCN_BROWSER") == "required":
            pytest.fail(sentence)
        pytest.skip(sentence)
    return found


# Until it is closed, the browser's event loop runs in this thread: not beside other modules.
@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    program = find_chromium()
    # Chromium refuses to start its sandbox for root.
    options = ["--no-sandbox"] if os.geteuid() == 0 else []
    with sync_playwright() as playwright:
        # As people have it, it refuses an address that changes too often.
        started = playwright.chromium.launch(
            executable_path=program,
            args=options,
            ignore_default_args=["--disable-ipc-flooding-protection"],
        )
        yield started
        started.close()


def busy_run() -> Run:
    """An entity with more than 10,000 facts."""
    facts = [(0, n % 5, 1 + n % 40, n % 4001) for n in range(12_000)]
    run = fit(World(41, 5, facts, cuts=(11_990, 11_995)).dataset, "decayed-copy", scale=2)
    return replace(run, judge=Judge("mixed", 5, unit=1.0).eval())


@pytest.fixture(scope="session")
def runs() -> dict[str, Run]:
    whole = targcn.open_dataset("congress")
    # Reports are about the test split: a short one is evaluated at once.
    short = {"test": Facts(whole.test.columns[:, :40])}
    congress = replace(whole, splits={**whole.splits, **short})
    # A server learns what is true before it starts: here once, and from some of the facts.
    since = congress.timeline.tick("2001")
    recent = {
        name: Facts(facts.columns[:, facts.times >= since])
        for name, facts in congress.splits.items()
    }
    judge = fit_judge(replace(congress, splits=recent), "all")
    return {
        # Training changes the answers, not what can be asked or how long it takes.
        "senate": replace(untrained(congress, "evidence"), judge=judge),
        "copy": replace(fit(congress, "decayed-copy", scale=2), judge=judge),
        "names": small_runs()["evidence"],
        "busy": busy_run(),
    }


@pytest.fixture(scope="module")
def site(browser: Browser, runs: dict[str, Run]) -> Iterator[Here]:
    with serving(runs) as started:
        yield started


@pytest.fixture
def page(browser: Browser, site: Here, request: pytest.FixtureRequest) -> Iterator[Page]:
    """A page of its own; whatever goes wrong in it, or leaves the host, fails the test."""
    options = getattr(request, "param", {})
    context = browser.new_context(
        base_url=f"http://127.0.0.1:{site.port}",
        viewport={"width": 1280, "height": 900},
        **options,
    )
    # A machine may be busy; what never comes fails in the end.
    context.set_default_timeout(MOST_MILLISECONDS)
    expect.set_options(timeout=MOST_MILLISECONDS)
    opened, wrong = context.new_page(), []
    opened.on(
        "console",
        lambda message: (
            wrong.append(message.text)
            if message.type in ("error", "warning") and not EXPECTED.search(message.text)
            else None
        ),
    )
    opened.on("pageerror", lambda error: wrong.append(str(error)))
    opened.on("request", lambda asked: wrong.extend(_foreign(asked.url, site)))
    yield opened
    context.close()
    assert wrong == []


def _foreign(url: str, site: Here) -> list[str]:
    own = (f"http://127.0.0.1:{site.port}/", "blob:", "data:", "file:")
    return [] if url.startswith(own) else [url]
