"""How the tests of the page find their way in it."""

from collections.abc import Callable
from typing import Any
from urllib.parse import parse_qs, urlencode

from playwright.sync_api import Locator, Page, Route, expect

from small_server import Here

KENNEDY = {"run": "senate", "s": "Ted Kennedy", "r": "serves beside", "t": "2009"}
KERRY = KENNEDY | {"o": "John Kerry", "as": "object"}


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


def best(site: Here, run: str = "senate", **question: str | None) -> list[str]:
    body = {"run": run, "questions": [question]}
    [found] = site.ask("POST", "/api/predict", body).json["answers"]
    return [row["answer"] for row in found["rows"]]


def open_why(page: Page) -> None:
    visit(page, "why", **KERRY)
    expect(page.locator(".lanes")).to_be_visible()
    expect(page.locator("section[aria-label='What if'] tbody tr")).to_have_count(10)


def hold(
    page: Page, address: str, wanted: Callable[[Any], bool] = lambda body: True
) -> list[Route]:
    """From now on, the requests to an address that are wanted wait in this list."""
    held: list[Route] = []

    def answer(route: Route) -> None:
        if wanted(route.request.post_data_json):
            held.append(route)
        else:
            route.continue_()

    page.route(f"**/api/{address}", answer)
    return held
