"""Text and tables in Markdown."""

import re
from collections.abc import Iterable, Sequence


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown.

    >>> markdown_table(["run", "MRR"], [["a|b", ".636"]])
    ['| run | MRR |', '|---|---|', '| a\\\\|b | .636 |']
    """
    return [_markdown_row(heads), "|" + "---|" * len(heads), *map(_markdown_row, rows)]


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown_text, cells)) + " |"


def markdown_text(text: str) -> str:
    """Text on one line, escaped so that Markdown shows it as it is.

    >>> markdown_text("a_b <c>")
    'a\\\\_b \\\\<c>'
    """
    return re.sub(r"([\\|*_`<&\[\]])", r"\\\1", " ".join(text.split()))
