"""A page: headings, text, tables and pictures, written as Markdown or as one HTML file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from targcn.output.tables import Table, markdown_text, to_html, to_markdown

STYLE: Final = Path(__file__).with_name("page.css").read_text(encoding="utf-8")


@dataclass(frozen=True)
class Heading:
    text: str
    anchor: str


@dataclass(frozen=True)
class Command:
    text: str


@dataclass(frozen=True)
class Items:
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    # An SVG file in the folder of the page.
    file: str
    caption: str


# What a page consists of; plain text is a paragraph.
Block = str | Heading | Command | Items | Picture | Table


def render_page(title: str, blocks: Sequence[Block], folder: Path) -> tuple[str, str]:
    """The page in Markdown, and in HTML that needs no other file.

    Pictures lie in the folder; the HTML has them inside, as well as its style.
    """
    markdown, html = [f"# {markdown_text(title)}"], []
    headings = [block for block in blocks if isinstance(block, Heading)]
    for block in blocks:
        if headings and block is headings[0]:
            items = [f'<li><a href="#{one.anchor}">{escape(one.text)}</a></li>' for one in headings]
            html.append(f"<nav><ul>{''.join(items)}</ul></nav>")
        as_markdown, as_html = _render(block, folder)
        markdown.append(as_markdown)
        html.append(as_html)
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>\n{STYLE}</style></head>",
        f"<body><h1>{escape(title)}</h1>",
        *html,
        "</body></html>",
    ]
    return "\n\n".join(markdown) + "\n", "\n".join(lines) + "\n"


def _render(block: Block, folder: Path) -> tuple[str, str]:
    """A block in Markdown and in HTML."""
    match block:
        case Heading(text, anchor):
            return f"## {markdown_text(text)}", f'<h2 id="{escape(anchor)}">{escape(text)}</h2>'
        case Command(text):
            return f"```\n$ {text}\n```", f"<pre><code>{escape(text)}</code></pre>"
        case Items(texts):
            items = "".join(f"<li>{escape(text)}</li>" for text in texts)
            return "\n".join(f"- {markdown_text(text)}" for text in texts), f"<ul>{items}</ul>"
        case Picture(file, caption):
            figure = f"{_inline(folder / file)}<figcaption>{escape(caption)}</figcaption>"
            return f"![{markdown_text(caption)}]({file})", f"<figure>{figure}</figure>"
        case Table():
            return to_markdown(block), to_html(block)
        case str():
            return markdown_text(block), f"<p>{escape(block)}</p>"


def _inline(path: Path) -> str:
    """The <svg> element of a picture, its ids prefixed so that no two pictures share one."""
    text = path.read_text(encoding="utf-8")
    element = text[text.index("<svg") :]
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\1{path.stem}-", element)
