"""A page says the same in Markdown and in HTML."""

from pathlib import Path

from targcn.output.page import to_page
from targcn.output.tables import Table, to_markdown


def test_a_page_in_html_needs_no_other_file(tmp_path: Path) -> None:
    (tmp_path / "a.svg").write_text('<?xml?><svg><g id="x"/><use href="#x"/></svg>')
    blocks = (
        "# Title",
        "1 \\< 2",
        "## First & last",
        "```\n$ run it\n```",
        "- one\n- two",
        "![a picture](a.svg)",
        to_markdown(Table.of_text(("run",), (("one",),), "A table")),
    )
    page = to_page("\n\n".join(blocks), tmp_path)
    for part in (
        "<title>Title</title>",
        "<h1>Title</h1>\n<p>1 &lt; 2</p>\n<nav>",
        '<li><a href="#first-amp-last">First &amp; last</a></li>',
        '<h2 id="first-amp-last">First &amp; last</h2>',
        "<pre><code>$ run it\n</code></pre>",
        "<ul>\n<li>one</li>\n<li>two</li>\n</ul>",
        '<figure><svg><g id="a-x"/><use href="#a-x"/></svg><figcaption>a picture</figcaption>',
        "<p>A table:</p>\n<table>",
        "<th>run</th>",
    ):
        assert part in page


def test_html_is_escaped(tmp_path: Path) -> None:
    table = Table.of_text(("run", "MRR"), (("a|b <i>", "0.636"),), "a_title", "see [1] & <b>")
    page = to_page(f"# Title\n\n{to_markdown(table)}\n\n<b>bold</b>", tmp_path)
    assert "<p>a_title:</p>" in page
    assert "<td>a|b &lt;i&gt;</td>\n<td>0.636</td>" in page
    assert "<li>see [1] &amp; &lt;b&gt;</li>" in page
    assert "&lt;b&gt;bold&lt;/b&gt;" in page


def test_a_page_needs_no_section(tmp_path: Path) -> None:
    assert "<nav>" not in to_page("# Title\n\nwords", tmp_path)
