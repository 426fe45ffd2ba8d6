"""A real browser drives every view of the page, and of an exported one.

Each worker of pytest-xdist has a server and a browser of its own. Without a Chromium the tests are
skipped, unless TARGCN_BROWSER=required says that there must be one.
"""

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from urllib.parse import parse_qs, urlencode

import pytest
from playwright.sync_api import Browser, Error, Locator, Page, Route, expect, sync_playwright

import targcn
from oracle import World
from small_server import NAMES, Here, serving, small_runs
from targcn.bench.untrained import make_untrained
from targcn.facts.dataset import Facts
from targcn.inference.predictor import Predictor
from targcn.inference.questions import Question
from targcn.runs.run import Run
from targcn.serve.answering import HowToAnswer
from targcn.serve.export_page import export_page
from targcn.training.fit import fit

FILES = Path(targcn.__file__).parent / "serve" / "page"
MOST_BYTES = 80 * 1024
MOST_LINES = 200
AXE = Path(__import__("axe_playwright_python").__file__).with_name("axe.min.js")
KENNEDY = {"run": "senate", "s": "Ted Kennedy", "r": "serves beside", "t": "2009"}
SERIOUS = ("serious", "critical")


def test_page_is_small() -> None:
    sizes = {path.name: path.stat().st_size for path in FILES.iterdir()}
    assert sum(sizes.values()) <= MOST_BYTES, sizes
    for module in FILES.glob("*.js"):
        text = module.read_text(encoding="utf-8")
        assert len(text.splitlines()) < MOST_LINES, module.name
        # A name is never read as markup, and nothing comes from elsewhere.
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text)
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), module.name


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
        started = playwright.chromium.launch(executable_path=program, args=options)
        yield started
        started.close()


def busy_run() -> Run:
    """An entity with more than 10,000 facts."""
    facts = [(0, n % 5, 1 + n % 40, n % 4001) for n in range(12_000)]
    return fit(World(41, 5, facts, cuts=(11_990, 11_995)).dataset, "decayed-copy", scale=2)


@pytest.fixture(scope="module")
def site(browser: Browser) -> Iterator[Here]:
    whole = targcn.open_dataset("congress")
    # Reports are about the test split: a short one is evaluated at once.
    short = {"test": Facts(whole.test.columns[:, :40])}
    congress = replace(whole, splits={**whole.splits, **short})
    runs = {
        # Training changes the answers, not what can be asked or how long it takes.
        "senate": make_untrained(congress, "evidence", None, None),
        "copy": fit(congress, "decayed-copy", scale=2),
        "names": small_runs()["evidence"],
        "busy": busy_run(),
    }
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
    context.set_default_timeout(20_000)
    expect.set_options(timeout=20_000)
    opened, wrong = context.new_page(), []
    # What is wrong with a question is shown, and logged by the browser too.
    opened.on(
        "console",
        lambda message: (
            wrong.append(message.text)
            if message.type in ("error", "warning") and "422" not in message.text
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


def visit(page: Page, view: str, **state: str) -> None:
    page.goto(f"/?{urlencode({'view': view, **state})}")


def state_of(page: Page) -> dict[str, list[str]]:
    return parse_qs(page.evaluate("location.search.slice(1)"))


def answers(page: Page) -> Locator:
    return page.locator(".answers .name")


def field(where: Page | Locator, name: str) -> Locator:
    return where.get_by_role("combobox", name=name)


def time_field(page: Page) -> Locator:
    return page.locator("#when")


def ask(page: Page) -> None:
    """The question that most tests begin with."""
    visit(page, "ask", **KENNEDY)
    expect(answers(page)).to_have_count(10)


def best(site: Here, **question: str | None) -> list[str]:
    body = {"run": "senate", "questions": [question]}
    [found] = site.ask("POST", "/api/predict", body).json["answers"]
    return [row["answer"] for row in found["rows"]]


def test_the_question_is_a_sentence(page: Page, site: Here) -> None:
    page.goto("/")
    expect(page.get_by_text("For example:")).to_be_visible()
    field(page, "subject").fill("ted kenn")
    page.get_by_role("option", name="Ted Kennedy").click()
    field(page, "relation").fill("beside")
    page.get_by_role("option", name="serves beside").click()
    time_field(page).fill("2009")
    page.keyboard.press("Enter")
    found = best(site, subject="Ted Kennedy", relation="serves beside", time="2009")
    expect(answers(page)).to_have_text(found)
    assert page.title() == "Ted Kennedy — serves beside — ?, 2009 · targcn"
    assert state_of(page) == {"view": ["ask"]} | {k: [v] for k, v in KENNEDY.items() if k != "run"}
    # One line of why comes when the question rests.
    expect(page.locator(".answers .why").first).not_to_be_empty()
    page.get_by_label("hide what is known then").check()
    expect(page.locator(".is-then")).to_have_count(0)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download CSV").click()
    lines = Path(saved.value.path()).read_text(encoding="utf-8").splitlines()
    assert lines[0] == '"rank","answer","probability","score","known","why"'
    assert len(lines) == answers(page).count() + 1


@pytest.mark.parametrize(
    ("given", "asked", "count"),
    [
        ({"r": "serves beside", "o": "Ted Kennedy", "t": "2009"}, "subject", 10),
        ({"s": "Ted Kennedy", "o": "Massachusetts", "t": "2009"}, "relation", 9),
        ({"s": "Ted Kennedy", "r": "serves beside", "o": "John Kerry"}, "time", 10),
        (KENNEDY | {"o": "John Kerry"}, "fact", 2),
    ],
)
def test_every_place_can_be_asked_for(
    page: Page, given: dict[str, str], asked: str, count: int
) -> None:
    visit(page, "ask", **({"run": "senate"} | given))
    expect(answers(page)).to_have_count(count)
    answers(page).first.click()
    expect(page.locator(".lanes")).to_be_visible()
    assert state_of(page)["as"] == ["object" if asked == "fact" else asked]


def test_answers_follow_the_slider(page: Page, site: Here) -> None:
    ask(page)
    slider = page.get_by_role("slider", name="Time")
    slider.focus()
    for _ in range(6):
        page.keyboard.press("ArrowLeft")
    expect(time_field(page)).to_have_value("2003")
    expect(answers(page)).to_have_text(
        best(site, subject="Ted Kennedy", relation="serves beside", time="2003")
    )
    assert state_of(page)["t"] == ["2003"]
    # Beyond the last fact it is a forecast, and says so.
    page.keyboard.press("End")
    expect(page.locator(".forecast")).to_contain_text("A forecast")


# Whatever list of answers is shown from now on.
RECORD = """() => {
  globalThis.seen = [];
  const names = () => Array.from(document.querySelectorAll(".name"), (name) => name.innerText);
  const all = { childList: true, subtree: true };
  new MutationObserver(() => seen.push(names())).observe(document.querySelector("main"), all);
}"""


def test_an_old_answer_is_never_shown(page: Page, site: Here) -> None:
    old, new = (
        best(site, subject="Ted Kennedy", relation="serves beside", time=when)
        for when in ("1990", "1965")
    )
    assert old != new
    ask(page)
    held = []

    def hold(route: Route) -> None:
        if route.request.post_data_json["questions"][0]["time"] == "1990":
            held.append(route)
        else:
            route.continue_()

    page.route("**/api/predict", hold)
    for when in ("1990", "1965"):
        time_field(page).fill(when)
        page.keyboard.press("Enter")
    expect(answers(page)).to_have_text(new)
    expect(page.locator(".answers .why").first).not_to_be_empty()
    # The answer about 1990 comes late. The question was called off: nobody takes it.
    page.evaluate(RECORD)
    [late] = held
    with suppress(Error):
        late.continue_()
    page.wait_for_timeout(500)
    assert old not in page.evaluate("seen")
    assert answers(page).all_inner_texts() == new


def open_why(page: Page) -> None:
    visit(page, "why", **KENNEDY, o="John Kerry", **{"as": "object"})
    expect(page.locator(".lanes")).to_be_visible()
    expect(page.locator("section[aria-label='What if'] tbody tr")).to_have_count(10)


def test_reasons_add_up(page: Page, site: Here) -> None:
    ask(page)
    answers(page).first.click()
    expect(page.get_by_role("heading", name="Why ")).to_be_visible()
    chosen = state_of(page)["o"][0]
    body = KENNEDY_FACT | {"run": "senate", "object": chosen}
    explained = site.ask("POST", "/api/explain", body).json
    effects = [part["effect"] for part in explained["reasons"] + explained["others"]]
    assert sum(effects) == pytest.approx(explained["score"], rel=1e-4)
    expect(page.get_by_text(f"Σ = score {explained['score']:,.2f}")).to_be_visible()
    # A dot for every dated fact of every lane, a line for every step of a path.
    assert page.locator(".lanes circle").count() > 0
    assert page.locator(".lanes .asked").count() > 0


KENNEDY_FACT = {"subject": "Ted Kennedy", "relation": "serves beside", "time": "2009"}


def test_strike_out_a_fact_and_add_one(page: Page) -> None:
    open_why(page)
    whatif = page.locator("section[aria-label='What if']")
    strike = page.locator(".facts button").first
    strike.click()
    expect(whatif.get_by_role("columnheader")).to_have_text(["answer", "before", "after"])
    expect(strike).to_have_attribute("aria-pressed", "true")
    assert len(state_of(page)["without"]) == 1
    page.get_by_role("button", name="Add a fact").click()
    dialog = page.get_by_role("dialog")
    dialog.get_by_role("button", name="Add this fact").click()
    expect(dialog.get_by_role("alert")).to_have_text("A fact has four parts; fill them all.")
    field(dialog, "relation").fill("succeeded")
    field(dialog, "object").fill("warren")
    dialog.get_by_role("option", name="Elizabeth Warren").click()
    dialog.get_by_role("button", name="Add this fact").click()
    added = ["Ted Kennedy", "succeeded", "Elizabeth Warren", "2009"]
    expect(whatif).to_contain_text("with Ted Kennedy — succeeded — Elizabeth Warren, 2009")
    assert [json.loads(fact) for fact in state_of(page)["with"]] == [added]
    # Taken back, the ranking is the one of now again.
    for button in whatif.get_by_role("button", name="Take back").all()[::-1]:
        button.click()
    expect(whatif.get_by_role("columnheader")).to_have_text(["answer", "now"])


def test_a_dot_is_struck_out_too(page: Page) -> None:
    open_why(page)
    page.locator(".lanes .pick").first.click()
    expect(page.locator(".lanes circle.struck").first).to_be_visible()


def test_back_goes_back(page: Page) -> None:
    ask(page)
    first = answers(page).all_inner_texts()
    answers(page).nth(1).click()
    expect(page.locator(".lanes")).to_be_visible()
    page.locator(".facts button").first.click()
    expect(page.locator(".facts .struck")).to_have_count(1)
    page.go_back()
    expect(page.locator(".facts .struck")).to_have_count(0)
    page.go_back()
    expect(answers(page)).to_have_text(first)
    expect(field(page, "subject")).to_have_value("Ted Kennedy")
    page.go_forward()
    expect(page.locator(".lanes")).to_be_visible()
    # Whoever gets the address sees the same.
    page.reload()
    expect(page.locator(".lanes")).to_be_visible()


def test_wrong_names_and_dates(page: Page) -> None:
    visit(page, "ask", **KENNEDY | {"s": "Ted Kenedy"})
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("'Ted Kenedy' is not in this graph")
    alert.get_by_role("button", name="Ted Kennedy", exact=True).click()
    expect(answers(page)).to_have_count(10)
    time_field(page).fill("soon")
    page.keyboard.press("Enter")
    expect(alert).to_contain_text("'soon' is not a date")
    visit(page, "why", run="copy", **KENNEDY_STATE)
    expect(alert).to_contain_text("does not say what single facts do")


KENNEDY_STATE = {"s": "Ted Kennedy", "r": "serves beside", "o": "John Kerry", "t": "2009"}


def test_entity(page: Page) -> None:
    visit(page, "entity", run="senate", e="Massachusetts")
    expect(page.get_by_role("img", name="facts of Massachusetts")).to_be_visible()
    expect(page.locator("section[aria-label='Predicted next'] ol")).to_have_count(4)
    page.get_by_role("button", name="Closer").click()
    assert {"from", "to"} <= state_of(page).keys()
    page.get_by_role("button", name="All times").click()
    page.locator("summary", has_text="in view").click()
    expect(page.locator(".facts li").first).to_contain_text("1945")
    page.locator("section[aria-label='Facts'] .plain a").first.click()
    expect(field(page, "entity")).not_to_have_value("Massachusetts")


def test_facts_that_last(page: Page) -> None:
    """A fact with an end is drawn until then; one that has not ended, to the last time."""

    def lengthen(route: Route) -> None:
        answer = route.fetch()
        content = answer.json()
        times = content["facts"]["time"]
        content["facts"]["end"] = [None, *(str(int(time) + 4) for time in times[1:])]
        route.fulfill(response=answer, json=content)

    page.route("**/api/entities/*", lengthen)
    visit(page, "entity", run="senate", e="Ted Kennedy", **{"from": "1964", "to": "1964"})
    page.locator("summary", has_text="in view").click()
    # What began in 1962 or 1963 lasts until 1964; what has not ended does so too.
    expect(page.locator(".facts li").first).to_contain_text(re.compile(r", 196\d$"))
    expect(page.locator(".facts li").nth(1)).to_contain_text(re.compile(r", 196\d–196\d$"))


def test_twelve_thousand_facts_are_drawn_and_zoomed(page: Page) -> None:
    visit(page, "entity", run="busy", e="e0")
    expect(page.get_by_text(re.compile("^12,000 facts, one lane"))).to_be_visible()
    page.evaluate(NEXT_FRAME)
    everything = page.evaluate(PAINTED)
    assert everything > 0.3
    box = page.locator("canvas").bounding_box()
    assert box is not None
    middle = box["y"] + 20
    page.mouse.move(box["x"] + 100, middle)
    page.mouse.down()
    page.mouse.move(box["x"] + 104 + box["width"] / 200, middle, steps=4)
    expect(page.locator(".brush")).to_be_visible()
    page.mouse.up()
    assert {"from", "to"} <= state_of(page).keys()
    # Nearer, there is room between the facts.
    page.evaluate(NEXT_FRAME)
    assert page.evaluate(PAINTED) < everything
    page.go_back()
    page.evaluate(NEXT_FRAME)
    assert page.evaluate(PAINTED) == everything


NEXT_FRAME = "new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)))"
# The share of the canvas that is not empty.
PAINTED = """() => {
  const canvas = document.querySelector("canvas"), { width, height } = canvas;
  const copy = Object.assign(document.createElement("canvas"), { width, height });
  const pen = copy.getContext("2d", { willReadFrequently: true });
  pen.drawImage(canvas, 0, 0);
  const pixels = pen.getImageData(0, 0, width, height).data;
  return pixels.filter((value, index) => index % 4 === 3 && value > 0).length / (width * height);
}"""


def test_missing(page: Page) -> None:
    visit(page, "missing", run="names")
    page.get_by_role("button", name="Search").click()
    rows = page.locator("tbody tr")
    expect(rows.first.or_(page.get_by_text("Nothing as probable"))).to_be_visible()
    assert state_of(page)["n"] == ["50"]
    visit(page, "missing", run="copy", r="serves beside", t="2009", n="20")
    expect(rows).to_have_count(20)
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download CSV").click()
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    assert text.startswith('"subject","relation","object","time","score","reason"')
    assert len(text.splitlines()) == 21


def test_a_search_can_be_cancelled(page: Page) -> None:
    visit(page, "missing", run="senate", n="50")
    cancel = page.get_by_role("button", name="Cancel")
    with page.expect_response(lambda answer: answer.request.method == "DELETE") as deleted:
        cancel.click()
    assert deleted.value.ok
    expect(cancel).to_be_hidden()
    expect(page.get_by_role("button", name="Search")).to_be_enabled()


def test_models(page: Page) -> None:
    visit(page, "models", run="senate", e="Ted Kennedy")
    table = page.get_by_role("region", name="congress: test split")
    expect(table.get_by_role("rowheader")).to_have_text([re.compile("senate"), re.compile("copy")])
    expect(table.locator(".interval")).to_have_count(6)
    differ = page.get_by_role("region", name="Facts on which the runs differ")
    expect(differ.get_by_role("columnheader")).to_have_text(["fact", "senate", "copy"])
    expect(differ.locator("tbody tr").first).to_contain_text("rank")


def test_names_are_text(page: Page, site: Here) -> None:
    """A name may be a script, run from right to left, or hold what addresses are made of."""
    # No address can end in "..": browsers read it as a step up, however it is written.
    for number, name in enumerate(set(NAMES) - {".."}):
        visit(page, "entity", run="names", e=name)
        expect(field(page, "entity")).to_have_value(name)
        expect(page.locator(".lane-chart li").first).to_be_visible()
        if number < 2:
            page.locator("summary", has_text="in view").click()
            expect(page.locator(".facts li").first).to_contain_text(name)
    first = site.service.runs["names"].dataset.timeline.first
    visit(page, "ask", run="names", s="plain", r="r0", t=first)
    expect(answers(page)).to_have_count(len(NAMES))
    assert "<script>alert(1)</script>" in answers(page).all_inner_texts()


def scheme_of(page: Page) -> str:
    colour = page.evaluate("getComputedStyle(document.body).backgroundColor")
    return "dark" if int(re.findall(r"\d+", colour)[0]) < 128 else "light"


def test_light_and_dark(page: Page) -> None:
    for system in ("light", "dark"):
        page.emulate_media(color_scheme=system)
        ask(page)
        assert scheme_of(page) == system
    switch = page.get_by_role("button", name="Colours")
    for chosen in ("light", "dark"):
        switch.click()
        expect(switch).to_have_accessible_name(f"Colours: {chosen}")
        assert scheme_of(page) == chosen
    page.emulate_media(color_scheme="light")
    page.reload()
    assert scheme_of(page) == "dark", "the choice is kept"


def test_nothing_moves_for_those_who_asked_for_it(page: Page) -> None:
    ask(page)
    page.emulate_media(reduced_motion="reduce")
    for _ in range(3):
        page.get_by_role("slider", name="Time").press("ArrowLeft")
        assert page.evaluate("document.getAnimations().length") == 0


VIEWS = {
    "first": {"view": "ask"},
    "ask": {"view": "ask", **KENNEDY},
    "why": {"view": "why", **KENNEDY, "o": "John Kerry", "as": "object"},
    "entity": {"view": "entity", "run": "senate", "e": "Massachusetts"},
    "missing": {"view": "missing", "run": "copy", "r": "serves beside", "t": "2009", "n": "5"},
    "models": {"view": "models", "run": "senate", "e": "Ted Kennedy"},
}
SHOWN = {
    "first": ".plain li",
    "ask": ".answers li",
    "why": ".lanes li",
    "entity": "canvas",
    "missing": "tbody tr",
    "models": ".interval",
}


@pytest.mark.parametrize("view", VIEWS)
def test_on_a_phone_and_without_faults(page: Page, view: str) -> None:
    page.set_viewport_size({"width": 360, "height": 720})
    visit(page, **VIEWS[view])
    expect(page.locator(SHOWN[view]).first).to_be_visible()
    width = page.evaluate("document.documentElement.scrollWidth")
    assert width <= 360, "nothing is wider than the screen"
    for button in page.locator("button:visible, select:visible, nav a:visible").all():
        box = button.bounding_box()
        assert (box or {"height": 0})["height"] >= 40, button.inner_text()
    assert faults_of(page) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 1280, "height": 900})
    if view != "first":
        page.locator("#copy summary").click()
    assert faults_of(page) == []


def faults_of(page: Page) -> list[str]:
    """The serious faults that axe-core finds in what is shown."""
    page.evaluate(AXE.read_text(encoding="utf-8"))
    found = page.evaluate("axe.run().then((result) => result.violations)")
    return [
        f"{fault['id']}: {fault['nodes'][0]['html']}"
        for fault in found
        if fault["impact"] in SERIOUS
    ]


def test_keyboard_alone(page: Page) -> None:
    page.goto("/?run=senate")
    expect(page.get_by_text("For example:")).to_be_visible()
    press = page.keyboard.press
    press("Tab")
    expect(page.locator(".skip")).to_be_focused()
    while page.evaluate("document.activeElement.getAttribute('role')") != "combobox":
        press("Tab")
    page.keyboard.type("ted kenn")
    expect(page.get_by_role("option", name="Ted Kennedy")).to_be_visible()
    press("ArrowDown")
    active = page.locator("[aria-selected=true]")
    expect(active).to_contain_text("Ted Kennedy")
    expect(field(page, "subject")).to_have_attribute(
        "aria-activedescendant", active.get_attribute("id") or ""
    )
    press("Enter")
    press("Tab")
    page.keyboard.type("serves beside")
    press("Enter")
    press("Tab")
    press("Tab")
    page.keyboard.type("2009")
    press("Enter")
    expect(answers(page)).to_have_count(10)
    # From the field to the slider, then to the first answer; where one is can be seen.
    press("Tab")
    expect(page.get_by_role("slider", name="Time")).to_be_focused()
    press("Tab")
    expect(answers(page).first).to_be_focused()
    assert page.evaluate("getComputedStyle(document.activeElement).outlineStyle") == "solid"
    press("Enter")
    expect(page.locator("main")).to_be_focused()
    button = page.locator(".facts button").first
    expect(button).to_be_visible()
    while not button.evaluate("element => element === document.activeElement"):
        press("Tab")
    press("Space")
    expect(page.locator(".facts .struck")).to_have_count(1)
    expect(button).to_be_focused()


def test_copied_texts_work(page: Page, site: Here) -> None:
    ask(page)
    page.locator("#copy summary").click()
    names = ("Shell", "Python", "curl")
    shell, python, curl = (page.get_by_role("region", name=name) for name in names)
    words = shlex.split(shell.inner_text())
    assert words == ["targcn", "predict", "senate", "Ted Kennedy", "serves beside", "?", "2009"]
    compile(python.inner_text(), "copied", "exec")
    assert 'predict("Ted Kennedy", "serves beside", None, "2009")' in python.inner_text()
    *_, body = shlex.split(curl.inner_text())
    rows = site.ask("POST", "/api/predict", json.loads(body)).json["answers"][0]["rows"]
    assert [row["answer"] for row in rows] == answers(page).all_inner_texts()


def test_exported_page_stands_alone(page: Page, site: Here, tmp_path: Path) -> None:
    predictor = Predictor(site.service.runs["names"].predictor.run, device="cpu")
    path = tmp_path / "page.html"
    question = Question("plain", "r0", None, predictor.dataset.timeline.first)
    export_page(predictor, question, path, HowToAnswer(why=True))
    page.goto(path.as_uri())
    expect(answers(page)).to_have_count(len(NAMES))
    assert "<script>alert(1)</script>" in answers(page).all_inner_texts()
    expect(page.locator(".lanes").first).to_be_visible()
    assert faults_of(page) == []
    page.set_viewport_size({"width": 360, "height": 720})
    page.locator("summary").nth(1).click()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
