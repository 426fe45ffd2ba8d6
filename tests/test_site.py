"""The documentation site builds strictly, holds everything, and loads nothing from elsewhere."""

import html
import posixpath
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Mapping
from dataclasses import fields
from html.parser import HTMLParser
from importlib.util import find_spec
from pathlib import Path

import pytest
from markdown_it import MarkdownIt

import targcn
from gather import arrange
from pages import ROOT, all_commands, page_of, relink
from targcn.cli import app
from targcn.models.registry import MODELS, find_model
from targcn.recipes.training_settings import TrainingSettings

needs_site = pytest.mark.skipif(
    find_spec("mkdocs") is None or find_spec("mkdocstrings") is None,
    reason='the site is built with MkDocs: pip install "targcn[site]"',
)


def test_every_test_that_the_protocols_name_is_there() -> None:
    text = (ROOT / "docs" / "protocols.md").read_text(encoding="utf-8")
    named = re.findall(r"`(tests/\S+?\.py)::(test_\w+)`", text)
    assert len(named) > 20
    for path, test in named:
        assert f"def {test}(" in (ROOT / path).read_text(encoding="utf-8"), test


def test_links_are_those_of_the_site() -> None:
    text = "[a](../src/targcn/files.py), [files.py](../src/targcn/files.py), [b](own-table.ipynb)"
    expected = "a (`src/targcn/files.py`), `files.py`, [b](tutorials/own-table.md)"
    assert relink(text, "docs/python.md") == expected
    code = "```\n[a](../Makefile)\n```"
    assert relink(code, "docs/python.md") == code
    outside = "![p](docs/pictures/explorer-ask.png) [w](https://example.org/a.md) [h](#here)"
    assert relink(outside, "README.md") == outside.replace("docs/", "")


def test_a_page_that_nobody_has_placed_is_in_the_navigation_too() -> None:
    assert arrange({"howto/x.md", "data.md", "new.md"})[-1] == {"More": ["new.md"]}


class Loaded(HTMLParser):
    """The addresses that a page loads when it is shown; links that a reader follows are not."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.found: list[str] = []
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        for name, value in attributes:
            loads = name in ("src", "srcset", "data", "poster", "style")
            if value and (loads or (name == "href" and tag in ("link", "use", "image"))):
                self.found.append(value)


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("site")
    gather = [str(ROOT / "website" / "gather.py"), str(folder / "source")]
    build = ["-m", "mkdocs", "build", "--strict", "-f", str(folder / "source" / "mkdocs.yml")]
    for words in (gather, [*build, "-d", str(folder / "site")]):
        done = subprocess.run([sys.executable, *words], capture_output=True, text=True)
        assert done.returncode == 0, done.stderr[-3000:]
    return folder / "site"


@pytest.fixture(scope="module")
def texts(site: Path) -> Mapping[str, str]:
    found = site.rglob("*.html")
    return {path.relative_to(site).as_posix(): path.read_text(encoding="utf-8") for path in found}


@needs_site
@pytest.mark.slow
def test_no_page_loads_anything_from_elsewhere(site: Path, texts: Mapping[str, str]) -> None:
    assert len(texts) > 40
    for page, text in texts.items():
        for address in Loaded(text).found:
            assert not re.search(r"(https?:)?//", address), f"{page} loads {address}"
    for path in site.rglob("*.css"):
        addresses = re.findall(r"url\(([^)]*)\)|@import ([^;]*)", path.read_text(encoding="utf-8"))
        for address in map("".join, addresses):
            assert not re.match(r"[\"']?(https?:)?//", address), f"{path.name} loads {address}"


@needs_site
@pytest.mark.slow
def test_every_link_and_every_place_in_a_page_is_there(texts: Mapping[str, str]) -> None:
    places = {page: {*re.findall(r'\bid="?([^"\s>]+)', text)} for page, text in texts.items()}
    for page, text in texts.items():
        for address in re.findall(r'<a\b[^>]*?href="?([^"\s>]+)', text):
            target, _, place = html.unescape(address).partition("#")
            meant = posixpath.normpath(posixpath.join(posixpath.dirname(page), target))
            if re.match(r"[a-z]+:", target) or (target and not target.endswith(".html")):
                continue
            meant = meant.lstrip("/") if target else page
            assert meant in texts, f"{page} links to {address}"
            assert not place or place in places[meant], f"{page} links to {address}"


class Read(HTMLParser):
    """What is read on a page: its letters without blanks, and how many elements hold it."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.letters = ""
        self.elements = Counter[str]()
        self.in_permalink = False
        self.feed(text)

    def handle_starttag(self, tag: str, attributes: list[tuple[str, str | None]]) -> None:
        self.in_permalink = ("class", "headerlink") in attributes
        self.elements[tag] += 1

    def handle_endtag(self, tag: str) -> None:
        self.in_permalink = False

    def handle_data(self, data: str) -> None:
        if not self.in_permalink:
            self.letters += "".join(data.split())


@needs_site
@pytest.mark.slow
def test_a_page_reads_as_it_does_on_github(texts: Mapping[str, str]) -> None:
    """Two readers of Markdown differ about lists, bars in tables and much else."""
    reader = MarkdownIt("commonmark").enable("table")
    docs = ROOT / "docs"
    for path in [ROOT / "README.md", *docs.rglob("*.md")]:
        name = path.relative_to(ROOT).as_posix()
        page = str(page_of(name)).removesuffix(".md")
        article = re.search(r"<article.*</article>", texts[f"{page}.html"], re.DOTALL)
        assert article is not None
        here = Read(reader.render(relink(path.read_text(encoding="utf-8"), name)))
        there = Read(article[0])
        assert there.letters.startswith(here.letters), page
        if page != "commands":  # the reference stands below
            for tag in ("li", "tr", "td", "em", "strong", "pre", "h2"):
                assert here.elements[tag] == there.elements[tag], f"{page} {tag}"


@needs_site
@pytest.mark.slow
def test_every_name_command_and_setting_has_its_place(texts: Mapping[str, str]) -> None:
    for name in targcn.__all__:
        assert f'id="targcn.{name}"' in texts["reference/python.html"], name
    # An example that is not in a fence would be a quotation in a quotation.
    assert "<blockquote>" not in texts["reference/python.html"]
    for command in all_commands(app):
        assert f'id="{command.replace(" ", "-")}"' in texts["commands.html"], command
    parts = re.split(r"<h2 id=\"?", texts["reference/settings.html"])
    sections = {re.split(r"[\"> ]", part)[0]: part for part in parts}
    for name in MODELS:
        for setting in fields(find_model(name).Settings):
            flag = f"<code>--{setting.name.replace('_', '-')}</code>"
            assert flag in sections[name], f"{name} {flag}"
    for setting in fields(TrainingSettings):
        assert f"<code>--{setting.name.replace('_', '-')}</code>" in sections["the-training"]


@needs_site
@pytest.mark.slow
def test_every_notebook_is_shown_with_what_it_prints(texts: Mapping[str, str]) -> None:
    for path in (ROOT / "docs").glob("*.ipynb"):
        text = texts[f"tutorials/{path.stem}.html"]
        assert len(re.findall(r'class="[^"]*\boutput\b', text)) > 3, path.stem
