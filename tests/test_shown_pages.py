"""What the how-to pages and the pages on formats show is what their commands print."""

from pathlib import Path

import pytest

from shown_pages import run_page, says_the_same

DOCS = Path(__file__).parents[1] / "docs"


def test_an_output_may_differ_in_blanks_and_last_digits() -> None:
    assert says_the_same("MRR  0.512 (1,842)\n", "MRR 0.514   (1,842) \n")
    assert not says_the_same("MRR 0.512\n", "MRR 0.9\n")
    assert not says_the_same("MRR 0.512\n", "hits 0.512\n")
    assert says_the_same("first\n...\nlast\n", "first\nsecond\nthird\nlast\n")
    assert not says_the_same("first\n...\nlast\n", "first\nlast\nmore\n")


def check(page: Path) -> None:
    for shown in run_page(page.read_text(encoding="utf-8")):
        assert says_the_same(shown.said, shown.printed), f"{page.name}: {shown}"


@pytest.mark.parametrize(
    "page", sorted((DOCS / "formats").glob("*.md")), ids=lambda page: page.stem
)
def test_each_format_is_read_as_its_page_shows(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.chdir(tmp_path)
    check(page)


@pytest.mark.slow
def test_each_task_is_done_as_its_page_shows(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In the order of the pages: what one has trained, the next ones ask."""
    monkeypatch.setenv("COLUMNS", "110")
    monkeypatch.chdir(tmp_path)
    pages = sorted((DOCS / "howto").glob("*.md"))
    assert len(pages) == 10
    for page in pages:
        check(page)
