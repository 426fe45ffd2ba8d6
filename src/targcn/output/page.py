"""A page of Markdown as one HTML file."""

import re
from pathlib import Path
from typing import Final

STYLE: Final = Path(__file__).with_name("page.css").read_text(encoding="utf-8")
# A picture in a paragraph of its own.
PICTURE: Final = re.compile(r'<p><img src="([^"]+)" alt="([^"]*)" /></p>')
SHARED_ID: Final = re.compile(r'(\bid="|url\(#|href="#)')


def to_page(markdown: str, folder: Path) -> str:
    """The page in HTML that needs no other file, with a list of its sections before the first.

    Its pictures are SVG files in the folder; they are put inside, as is the style.
    """
    from markdown_it import MarkdownIt

    body = MarkdownIt("commonmark", {"html": False}).enable("table").render(markdown)
    items = ""
    for heading in re.findall("<h2>(.+)</h2>", body):
        anchor = re.sub("[^a-z0-9]+", "-", heading.lower()).strip("-")
        body = body.replace(f"<h2>{heading}</h2>", f'<h2 id="{anchor}">{heading}</h2>')
        items += f'<li><a href="#{anchor}">{heading}</a></li>'
    if items:
        body = body.replace("<h2", f"<nav><ul>{items}</ul></nav>\n<h2", 1)
    body = PICTURE.sub(lambda found: _figure(folder / found[1], found[2]), body)
    title = re.findall("<h1>(.+)</h1>", body)[0]
    return (
        '<!doctype html>\n<html lang="en">\n<head><meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{title}</title>\n<style>\n{STYLE}</style></head>\n<body>\n{body}</body></html>\n"
    )


def _figure(path: Path, caption: str) -> str:
    """A picture with its ids prefixed, so that no two pictures share one."""
    text = path.read_text(encoding="utf-8")
    picture = SHARED_ID.sub(rf"\1{path.stem}-", text[text.index("<svg") :])
    return f"<figure>{picture}<figcaption>{caption}</figcaption></figure>"
