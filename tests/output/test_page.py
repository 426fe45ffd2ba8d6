"""A page says the same in Markdown and in HTML."""

from pathlib import Path

from targcn.output.page import Command, Heading, Items, Picture, render_page
from targcn.output.tables import Table


def test_a_page_in_markdown_and_in_html(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text('<?xml?><svg><g id="x"/><use href="#x"/></svg>')
    table = Table.of_text(("run",), (("one",),), "A table")
    blocks = [
        "1 < 2",
        Heading("First", "first"),
        Command("run it"),
        Items(("one", "two")),
        Picture("a.svg", "a picture"),
        table,
    ]
    markdown, page = render_page("Title", blocks, tmp_path)
    assert markdown == (
        "# Title\n\n1 \\< 2\n\n## First\n\n```\n$ run it\n```\n\n- one\n- two\n\n"
        "![a picture](a.svg)\n\nA table:\n\n| run |\n|---|\n| one |\n"
    )
    for part in (
        "<h1>Title</h1>\n<p>1 &lt; 2</p>\n<nav>",
        '<li><a href="#first">First</a></li>',
        '<h2 id="first">First</h2>',
        "<pre><code>run it</code></pre>",
        "<ul><li>one</li><li>two</li></ul>",
        '<figure><svg><g id="a-x"/><use href="#a-x"/></svg><figcaption>a picture</figcaption>',
        "<caption>A table</caption>",
    ):
        assert part in page


def test_a_page_needs_no_heading(tmp_path: Path) -> None:
    _, page = render_page("Title", ["words"], tmp_path)
    assert "<nav>" not in page
