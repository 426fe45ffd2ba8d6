"""What holds for every view of the page, and for an exported one."""

import json
import re
import shlex
import shutil
import subprocess
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

import targcn
from command_line import call
from page_driver import KENNEDY, KERRY, answers, ask, field, visit
from small_server import NAMES, Here
from targcn.inference.predictor import Predictor
from targcn.inference.questions import Question
from targcn.runs.judge import FILE
from targcn.runs.store import save_run
from targcn.runs.tensors import write_tensors
from targcn.serve.answering import HowToAnswer
from targcn.serve.export_page import export_page

FILES = Path(targcn.__file__).parent / "serve" / "page"
AXE = Path(__import__("axe_playwright_python").__file__).with_name("axe.min.js")
SERIOUS = ("serious", "critical")


def test_the_page_is_its_own() -> None:
    for module in FILES.glob("*.js"):
        text = module.read_text(encoding="utf-8")
        # A name is never read as markup, and nothing comes from elsewhere.
        assert not re.search(r"innerHTML|outerHTML|insertAdjacentHTML|document\.write", text)
        assert not re.search(r"https?://(?!www\.w3\.org/2000/svg)", text), module.name
        assert max(map(len, text.splitlines())) <= 120, module.name


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
    first = site.server.runs["names"].dataset.timeline.first
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


SENATOR = ["Ted Kennedy", "senior senator of", "Massachusetts", "2007"]
VIEWS = {
    "first": {"view": "ask"},
    "ask": {"view": "ask", **KENNEDY},
    "why": {"view": "why", **KERRY},
    "entity": {"view": "entity", "run": "senate", "e": "Massachusetts"},
    "missing": {"view": "missing", "run": "copy", "r": "holds House seat", "n": "5"},
    "models": {"view": "models", "run": "senate", "e": "Ted Kennedy"},
    "what-if": {"view": "why", **KERRY, "without": json.dumps(SENATOR)},
    "wrong": {"view": "ask", **KENNEDY, "s": "Ted Kenedy"},
}
SHOWN = {
    "first": ".plain li",
    "ask": ".answers li",
    "why": ".lanes li",
    "entity": "canvas",
    "missing": "tbody tr",
    "models": ".interval",
    "what-if": ".struck",
    "wrong": "[role=alert] button",
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
    if view == "why":
        page.get_by_text("What says so").click()
    assert faults_of(page) == []
    page.emulate_media(color_scheme="dark")
    page.set_viewport_size({"width": 1280, "height": 900})
    if view != "first":
        page.locator("#copy summary").click()
    assert faults_of(page) == []


# What is wider than its box, and cut off or to be scrolled.
CUT = """(names) => [...document.querySelectorAll(names)]
  .filter((one) => one.scrollWidth > one.clientWidth + 1).map((one) => one.textContent)"""


def test_nothing_is_cut_on_a_phone(page: Page) -> None:
    page.set_viewport_size({"width": 360, "height": 720})
    for view, names in (("entity", ".lane-chart span"), ("missing", ".scroll")):
        visit(page, **VIEWS[view])
        expect(page.locator(names).first).to_be_visible()
        assert page.evaluate(CUT, names) == []


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
    names = page.get_by_role("listbox").get_by_role("option")
    expect(names.first).to_contain_text("Ted Kennedy")
    press("ArrowDown")
    active = page.locator("[aria-selected=true]")
    expect(active).to_contain_text("Ted Kennedy")
    with page.expect_response("**/api/names*"):
        page.keyboard.type("e")
    # Names that come later leave the choice as it is; both are read at one moment.
    page.wait_for_function(
        """() => document.querySelector("[aria-selected=true]")?.id
            === document.activeElement.getAttribute("aria-activedescendant")"""
    )
    expect(active).to_contain_text("Ted Kennedy")
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


@pytest.fixture(scope="module")
def folder(site: Here, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the runs lie that are served."""
    path = tmp_path_factory.mktemp("runs")
    for name in ("senate", "copy"):
        run = site.server.runs[name].predictor.run
        assert run.judge is not None
        save_run(run, path / name)
        write_tensors(path / name / FILE.format(run.judge.gaps), run.judge.state_dict())
    return path


# For each view, a word of what its three texts answer.
COPIED = {
    "ask": "Kerry",
    "why": "senator",
    "what-if": "Kerry",
    "entity": "Massachusetts",
    "missing": "holds",
    "models": "mrr",
}


@pytest.mark.parametrize("view", COPIED)
def test_copied_texts_work(
    page: Page,
    folder: Path,
    view: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each is run where the runs lie."""
    visit(page, **VIEWS[view])
    expect(page.locator(SHOWN[view]).first).to_be_visible()
    page.locator("#copy summary").click()
    names = ("Shell", "Python", "curl")
    shell, python, curl = (
        page.get_by_role("region", name=name, exact=True).inner_text() for name in names
    )
    monkeypatch.chdir(folder)
    done = call(*shlex.split(shell)[1:])
    assert done.returncode == 0, done.stderr
    assert COPIED[view] in done.stdout.replace("MRR", "mrr")
    with ThreadPoolExecutor(1) as beside:
        # The thread of the browser has an event loop already.
        beside.submit(exec, compile(python, "copied", "exec"), {}).result()
    assert COPIED[view] in capsys.readouterr().out.replace("MRR", "mrr")
    if shutil.which("curl") is not None:
        told = subprocess.run(["bash", "-c", curl], capture_output=True, text=True)
        assert told.returncode == 0, told.stderr
        assert COPIED[view] in told.stdout


def test_exported_page_stands_alone(page: Page, site: Here, tmp_path: Path) -> None:
    predictor = Predictor(site.server.runs["names"].predictor.run, device="cpu")
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
