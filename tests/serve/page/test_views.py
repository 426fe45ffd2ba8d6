"""A real browser drives every view of the page."""

import json
import re
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Error, Page, Route, expect

from page_driver import (
    KENNEDY,
    answers,
    ask,
    best,
    field,
    hold,
    open_why,
    state_of,
    time_field,
    visit,
)
from small_server import Here


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
    assert lines[0] == '"rank","answer","probability","score","true","known","why"'
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
    expect(page).to_have_url(re.compile("t=2003"))
    # However many keys: a step back is the question before.
    page.go_back()
    expect(time_field(page)).to_have_value("2009")
    # Beyond the last fact it is a forecast, and says so.
    slider.press("End")
    expect(page.locator(".forecast")).to_contain_text("A forecast")


# Many moves of the slider; how often its field says something else.
SHAKE = """async () => {
  const slider = document.querySelector("input[type=range]"), wrong = [];
  for (let move = 0; move < 300; move += 1) {
    slider.value = 10 + (move % 50);
    slider.dispatchEvent(new Event("input"));
    const shown = document.querySelector("#when").value;
    if (shown !== String(1955 + (move % 50))) wrong.push(shown);
    await new Promise((done) => setTimeout(done, 2));
  }
  return wrong;
}"""


def test_a_slider_that_never_rests(page: Page) -> None:
    ask(page)
    assert page.evaluate(SHAKE) == []


# Whatever list of answers is shown from now on.
RECORD = """() => {
  globalThis.seen = [];
  const names = () => Array.from(document.querySelectorAll(".name"), (name) => name.innerText);
  const all = { childList: true, subtree: true };
  new MutationObserver(() => seen.push(names())).observe(document.querySelector("main"), all);
}"""


def test_an_old_answer_is_never_shown(page: Page, site: Here) -> None:
    # To a model that was not trained all times are alike.
    old, new, last = (
        best(site, "copy", subject="Ted Kennedy", relation="serves beside", time=when)
        for when in ("1990", "1965", "1980")
    )
    assert old not in (new, last)
    visit(page, "ask", **KENNEDY | {"run": "copy"})
    expect(answers(page)).to_have_count(10)
    held = hold(page, "predict", lambda body: body["questions"][0]["time"] == "1990")
    for when in ("1990", "1965"):
        time_field(page).fill(when)
        page.keyboard.press("Enter")
    expect(answers(page)).to_have_text(new)
    # The answer about 1990 comes late. The question was called off: nobody takes it.
    page.evaluate(RECORD)
    [late] = held
    with suppress(Error):
        late.fulfill(response=late.fetch())
    time_field(page).fill("1980")
    page.keyboard.press("Enter")
    expect(answers(page)).to_have_text(last)
    assert old not in page.evaluate("seen")


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
    # A dot is struck out, too.
    page.locator(".lanes .pick").first.click()
    expect(page.locator(".lanes circle.struck").first).to_be_visible()


def test_an_answer_that_nothing_speaks_for(page: Page) -> None:
    visit(page, "why", **KENNEDY | {"t": "2014", "o": "Lyndon B. Johnson"})
    expect(page.get_by_text("Nothing in the context speaks for this answer")).to_be_visible()
    expect(page.get_by_text(re.compile("^prior of the relation"))).to_be_visible()
    expect(page.get_by_role("heading", name="Facts")).to_have_count(0)


def test_reasons_leave_the_focus(page: Page) -> None:
    """They come later than the answers, into the same list."""
    held = hold(page, "predict", lambda body: body["why"])
    ask(page)
    answers(page).nth(2).focus()
    expect(page.locator("#busy")).to_be_visible()
    held[0].continue_()
    expect(page.locator(".answers .why").first).not_to_be_empty()
    expect(answers(page).nth(2)).to_be_focused()


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


def test_what_is_left_to_fill_in(page: Page) -> None:
    visit(page, "ask", run="senate", s="Ted Kennedy", t="2009")
    expect(page.get_by_text("Fill all but one of relation, object: that one")).to_be_visible()
    expect(page.get_by_text("For example:")).to_have_count(0)
    visit(page, "ask", **KENNEDY_STATE, run="senate")
    expect(page.get_by_text("Each end is asked for in turn")).to_be_visible()


def test_who_waits_sees_it(page: Page) -> None:
    ask(page)
    held = hold(page, "explain")
    answers(page).first.click()
    expect(page.get_by_role("progressbar", name="Waiting for the server")).to_be_visible()
    expect(page.locator(".skeleton")).to_be_visible()
    held[0].continue_()
    expect(page.locator(".lanes")).to_be_visible()
    expect(page.locator("#busy, .skeleton").locator("visible=true")).to_have_count(0)


def test_a_server_that_is_gone(page: Page) -> None:
    ask(page)
    expect(page.locator(".answers .why").first).not_to_be_empty()
    page.context.set_offline(True)
    answers(page).first.click()
    expect(page.get_by_role("alert").first).to_contain_text("is targcn serve still running?")
    page.context.set_offline(False)
    page.go_back()
    expect(answers(page)).to_have_count(10)


KENNEDY_STATE = {"s": "Ted Kennedy", "r": "serves beside", "o": "John Kerry", "t": "2009"}


def test_entity(page: Page) -> None:
    visit(page, "entity", run="senate", e="Massachusetts")
    expect(page.get_by_role("img", name="facts of Massachusetts")).to_be_visible()
    expect(page.get_by_role("region", name="Predicted next").get_by_role("link")).to_have_count(4)
    page.get_by_role("button", name="Closer").click()
    assert {"from", "to"} <= state_of(page).keys()
    page.get_by_role("button", name="All times").click()
    page.locator("summary", has_text="in view").click()
    expect(page.locator(".facts li").first).to_contain_text("1945")
    page.locator("section[aria-label='Facts'] .plain a").first.click()
    expect(field(page, "entity")).not_to_have_value("Massachusetts")


def test_only_what_is_probable_is_predicted(page: Page) -> None:
    def judge(content: Any) -> None:
        first, *others = content["answers"]
        for number, row in enumerate(first["rows"]):
            row["true"] = 0.97 if number == 1 else 0.499
        for other in others:
            for row in other["rows"]:
                row["true"] = 0.2
        probable.append(first["rows"][1]["answer"])

    probable: list[str] = []
    change_answers(page, "predict", judge)
    visit(page, "entity", run="senate", e="Massachusetts")
    following = page.get_by_role("region", name="Predicted next")
    expect(following.get_by_role("listitem")).to_have_count(1)
    expect(following.get_by_role("listitem")).to_have_text(f"{probable[0]} true with 97.0 %")
    nothing = following.get_by_text("Nothing probable; the likeliest is true with 20 %.")
    expect(nothing).to_have_count(3)
    expect(following).to_contain_text("What is true with 50 % or more.")


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


SEATS = {"relation": "holds House seat", "top": 20}


def test_missing(page: Page, site: Here) -> None:
    visit(page, "missing", run="names")
    page.get_by_role("button", name="Search").click()
    rows = page.locator("tbody tr")
    expect(rows.first.or_(page.get_by_text("Nothing that is true with 10 % or"))).to_be_visible()
    assert state_of(page)["n"] == ["50"]
    visit(page, "missing", run="copy", r="holds House seat", n="20")
    found = site.ask("POST", "/api/missing", {"run": "copy", **SEATS}).json["rows"]
    assert len(found) == 20
    expect(rows).to_have_count(20)
    probable = sum(row["probability"] >= 0.5 for row in found)
    assert probable
    first = found[0]
    expect(page.get_by_text(re.compile(f"^{probable} facts? probably true"))).to_be_visible()
    expect(rows.first).to_contain_text(f"{first['subject']} — holds House seat — {first['object']}")
    expect(rows.first.locator("p")).to_have_text(first["sign"])
    expect(page.get_by_text("the probability of being true, if these shares")).to_be_visible()
    with page.expect_download() as saved:
        page.get_by_role("button", name="Download CSV").click()
    text = Path(saved.value.path()).read_text(encoding="utf-8")
    names = ["subject", "relation", "object", "time", "until", "probability", "sign"]
    assert text.splitlines()[0] == ",".join(f'"{name}"' for name in names)
    assert len(text.splitlines()) == 21
    # Its reasons, and whether it is so, are one click away.
    rows.first.get_by_role("link").click()
    expect(page.get_by_role("region", name="Verdict")).to_contain_text("Probably true")


def change_answers(page: Page, address: str, change: Callable[[Any], None]) -> None:
    """Let answers of an address say something else."""

    def answer(route: Route) -> None:
        fetched = route.fetch()
        content = fetched.json()
        change(content)
        route.fulfill(response=fetched, json=content)

    page.route(f"**/api/{address}", answer)


def test_missing_at_several_times(page: Page) -> None:
    """Facts at times next to each other are one row."""

    def lengthen(found: Any) -> None:
        found["rows"][0] |= {"time": "1955", "until": "1957", "times": 2}
        found["rows"][1] |= {"time": "1961", "until": "1961", "times": 1}

    change_answers(page, "missing", lengthen)
    visit(page, "missing", run="copy", r="holds House seat", n="5")
    times = page.locator("tbody tr td:nth-child(2)")
    expect(times.first).to_have_text("1955 – 1957")
    expect(times.nth(1)).to_have_text("1961")


def test_nothing_is_missing(page: Page) -> None:
    visit(page, "missing", run="senate", t="2050", n="50")
    expect(page.get_by_text("Nothing that is true with 10 % or more is missing")).to_be_visible()
    expect(page.get_by_role("button", name="Download CSV")).to_have_count(0)
    page.get_by_label("time").fill("soon")
    page.get_by_role("button", name="Search").click()
    alert = page.get_by_role("alert")
    expect(alert).to_contain_text("'soon' is not a date")
    visit(page, "missing", run="senate", t="2009", e="Ted Kenedy", n="50")
    expect(alert).to_contain_text("'Ted Kenedy' is not in this graph")
    alert.get_by_role("button", name="Ted Kennedy", exact=True).click()
    expect(page.get_by_text("True with: the probability of being true")).to_be_visible()
    assert state_of(page)["e"] == ["Ted Kennedy"]
    # A relation that an address has wrong.
    visit(page, "missing", run="senate", t="2009", r="serves besides", n="50")
    alert.get_by_role("button", name="serves beside", exact=True).click()
    expect(page.get_by_label("relation")).to_have_value("serves beside")
    expect(page.get_by_text("True with: the probability of being true")).to_be_visible()


def test_missing_facts_that_take_long(page: Page) -> None:
    """They are there when they are asked for again."""
    detail = {"detail": "this takes longer; ask again in a moment", "suggestions": []}
    page.route("**/api/missing", lambda route: route.fulfill(status=504, json=detail), times=1)
    visit(page, "missing", run="copy", r="holds House seat", n="20")
    expect(page.get_by_role("alert")).to_contain_text("ask again in a moment")
    page.get_by_role("button", name="Search").click()
    expect(page.locator("tbody tr").first).to_be_visible()
    expect(page.get_by_role("alert")).to_have_count(0)


def test_whether_it_is_so(page: Page, site: Here) -> None:
    """The verdict stands above the figures, and unfolds."""
    visit(page, "why", **KENNEDY | {"o": "John Kerry", "t": "2003"})
    verdict = page.get_by_role("region", name="Verdict")
    expect(verdict).to_contain_text("Known to be true.")
    expect(verdict).to_contain_text("If it were not known, it would be true with")
    signs = site.ask("POST", "/api/judge", {"run": "senate", **KNOWN_FACT}).json["signs"]
    assert signs
    listed = verdict.get_by_role("listitem")
    expect(listed).to_have_count(0)
    verdict.locator("summary").click()
    expect(listed).to_have_count(len(signs))
    expect(listed.first).to_contain_text(signs[0]["text"])
    expect(listed.first).to_contain_text(re.compile(r"odds\s[×÷]\s[\d.,]+$"))
    above, figures = verdict.bounding_box(), page.locator("main dl").bounding_box()
    assert above is not None
    assert figures is not None
    assert above["y"] + above["height"] <= figures["y"]
    # What is not known is probable or not, and one sign says why.
    visit(page, "why", **KENNEDY | {"t": "2013", "o": "Lyndon B. Johnson"})
    expect(verdict).to_contain_text("Probably not: true with < 0.01 %.")


KNOWN_FACT = {
    "subject": "Ted Kennedy",
    "relation": "serves beside",
    "object": "John Kerry",
    "time": "2003",
}


def test_what_is_known_looks_certain(page: Page, site: Here) -> None:
    visit(page, "ask", **KENNEDY | {"t": "2003"})
    body = {"run": "senate", "questions": [KNOWN_FACT | {"object": None}]}
    [found] = site.ask("POST", "/api/predict", body).json["answers"]
    assert "expected" in found["note"]
    expect(page.locator(".note")).to_have_text(found["note"])
    expect(page.locator(".answer-heads")).to_contain_text("the answer, if there is one, with")
    known, new = (page.locator(f".answers .is-{kind}") for kind in ("then", "new"))
    assert [row["known"] for row in found["rows"]].count("then") == 1
    expect(known).to_have_count(1)
    expect(known.locator(".known")).to_have_text("known then")
    expect(known.locator(".value")).to_be_empty()
    expect(known.locator(".bar i")).to_have_attribute("style", "width: 100%;")
    expect(new.first.locator(".known")).to_have_text(re.compile("^new true with .*%$"))
    expect(new.first.locator(".value")).to_contain_text("%")
    # Of a fact that is asked for, the model's figures are those without it.
    visit(page, "ask", **KENNEDY | {"o": "John Kerry", "t": "2003"})
    expect(page.get_by_text("Known to be true.")).to_be_visible()
    expect(known).to_have_count(2)
    expect(known.first.locator(".value")).to_contain_text("%")
    visit(page, "ask", **KENNEDY | {"t": "2013"}, o="Lyndon B. Johnson")
    expect(page.get_by_text("Probably not: true with < 0.01 %.")).to_be_visible()


def test_models(page: Page) -> None:
    visit(page, "models", run="senate", e="Ted Kennedy")
    table = page.get_by_role("region", name="congress: test split")
    expect(table.get_by_role("rowheader")).to_have_text([re.compile("senate"), re.compile("copy")])
    expect(table.locator(".interval")).to_have_count(6)
    differ = page.get_by_role("region", name="Facts on which the runs differ")
    expect(differ.get_by_role("columnheader")).to_have_text(["fact", "senate", "copy"])
    expect(differ.locator("tbody tr").first).to_contain_text("rank")


def test_reports_that_take_long(page: Page, site: Here) -> None:
    """A report that is not ready in time is asked for again, and one at a time."""
    asked: list[str] = []
    detail = {"detail": "there was no answer within 30 seconds", "suggestions": []}

    def answer(route: Route) -> None:
        asked.append(route.request.url.rpartition("/")[2].rstrip("?"))
        if len(asked) == 1:
            route.fulfill(status=504, json=detail)
        else:
            route.continue_()

    page.route("**/api/report/*", answer)
    visit(page, "models", run="senate")
    table = page.get_by_role("region", name="congress: test split")
    expect(table.get_by_role("rowheader")).to_have_count(2)
    expect(page.get_by_text(re.compile(r"on lines from 0(\.\d)? to"))).to_be_visible()
    expect(page.get_by_role("region", name=re.compile("41 entities|: test split"))).to_have_count(3)
    assert asked == ["senate", *site.server.runs]
