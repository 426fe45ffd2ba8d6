"""A page: headings, text, tables and pictures, written as Markdown or as one HTML file."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Final

from targcn.output.markdown import markdown_text
from targcn.output.tables import Table, to_html, to_markdown

STYLE: Final = """
:root { color-scheme: light dark; --ink: #222; --page: #fff; --rule: #ccc; --link: #0b62a0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --page: #161616; --rule: #444; --link: #6cb6ee; }
}
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--page); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
h2 { margin-top: 3rem; border-top: 1px solid var(--rule); padding-top: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1.5rem 0 .5rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--rule); }
td { white-space: nowrap; }
.notes { font-size: .875rem; margin-top: 0; }
figure { margin: 1.5rem 0; }
svg { max-width: 100%; height: auto; }
"""


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
    """An SVG file in the folder of the page."""

    file: str
    caption: str


# What a page consists of; plain text is a paragraph.
Block = str | Heading | Command | Items | Picture | Table


def page_to_markdown(title: str, blocks: Sequence[Block]) -> str:
    return "\n\n".join([f"# {markdown_text(title)}", *map(_block_to_markdown, blocks)]) + "\n"


def _block_to_markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"## {markdown_text(block.text)}"
        case Command():
            return f"```\n$ {block.text}\n```"
        case Items():
            return "\n".join(f"- {markdown_text(text)}" for text in block.texts)
        case Picture():
            return f"![{markdown_text(block.caption)}]({block.file})"
        case Table():
            return to_markdown(block)
        case str():
            return markdown_text(block)


def page_to_html(title: str, blocks: Sequence[Block], folder: Path) -> str:
    """A page that needs no other file: style and pictures, which lie in the folder, are inside."""
    headings = [block for block in blocks if isinstance(block, Heading)]
    contents = [f'<li><a href="#{one.anchor}">{escape(one.text)}</a></li>' for one in headings]
    body = [_block_to_html(block, folder) for block in blocks]
    if headings:
        body.insert(blocks.index(headings[0]), f"<nav><ul>{''.join(contents)}</ul></nav>")
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{escape(title)}</title>",
        f"<style>{STYLE}</style></head>",
        f"<body><h1>{escape(title)}</h1>",
        *body,
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


def _block_to_html(block: Block, folder: Path) -> str:
    match block:
        case Heading():
            return f'<h2 id="{escape(block.anchor)}">{escape(block.text)}</h2>'
        case Command():
            return f"<pre><code>{escape(block.text)}</code></pre>"
        case Items():
            return f"<ul>{''.join(f'<li>{escape(text)}</li>' for text in block.texts)}</ul>"
        case Picture():
            caption = f"<figcaption>{escape(block.caption)}</figcaption>"
            return f"<figure>{_inline(folder / block.file)}{caption}</figure>"
        case Table():
            return to_html(block)
        case str():
            return f"<p>{escape(block)}</p>"


def _inline(path: Path) -> str:
    """The <svg> element of a picture, its ids prefixed so that no two pictures share one."""
    text = path.read_text(encoding="utf-8")
    element = text[text.index("<svg") :]
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\1{path.stem}-", element)
