"""What the terminal shows: text and tables on stdout, messages and progress on stderr.

Progress is a bar on a terminal, and elsewhere, such as in a notebook or a file, a line every half
minute.
"""

import json
import os
import re
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from datetime import timedelta
from importlib.util import find_spec
from typing import Final

from targcn.output.tables import Table

# Control characters but tab and newline, both line separators, and marks of direction.
STEERING: Final = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u2028-\u202e\u2066-\u2069]")
SECONDS_BETWEEN_LINES: Final = 30.0

# What progress is shown with: how much is done, of how much, and a text beside it.
Display = Callable[[int, int | None, str], None]
# The label of the progress that is shown now; what goes on inside of it shows none of its own.
_in_progress: list[object] = []


def printable(text: str) -> str:
    """Text without what would steer a terminal: escape codes and marks that turn text around.

    A name may hold any of them; they are written as Python writes them.

    >>> printable("Ann\\x1b[31m"), printable("a\\tb"), printable("\\u202eevil")
    ('Ann\\\\x1b[31m', 'a\\tb', '\\\\u202eevil')
    """
    return STEERING.sub(lambda match: repr(match[0])[1:-1], text)


def show(content: str | Table, folded: bool = True) -> None:
    """Print text or a table; a table that is not folded is as wide as its cells."""
    from rich.console import Console
    from rich.table import Table as RichTable
    from rich.text import Text

    width = (None if sys.stdout.isatty() else 120) if folded else 10_000
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    if isinstance(content, str):
        console.print(printable(content), soft_wrap=True)
        return
    if content.title:
        console.print(printable(content.title), soft_wrap=True)
    table = RichTable(box=None, pad_edge=False, header_style="bold")
    for label in content.labels:
        table.add_column(printable(label), overflow="fold")
    for row in content.cells():
        table.add_row(*(Text(printable(cell)) for cell in row))
    console.print(table)
    for note in content.notes:
        console.print(printable(note), soft_wrap=True)


def show_json(content: object) -> None:
    # Where a letter cannot be shown, JSON has another way to write it.
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    text = json.dumps(content, ensure_ascii=plain, indent=2, allow_nan=False)
    print(STEERING.sub(lambda match: f"\\u{ord(match[0]):04x}", text))


def is_main_process() -> bool:
    """Whether this is the one of several processes, started by torchrun, that prints."""
    return os.environ.get("RANK", "0") == "0"


def say(sentence: str) -> None:
    """Print a message of the program itself on stderr."""
    if is_main_process():
        print(f"targcn: {printable(sentence)}", file=sys.stderr)


@contextmanager
def progress_bar(
    describe: Callable[..., tuple[int, int | None, str]],
) -> Iterator[Callable[..., None] | None]:
    """A function that shows how far something is; it is told what `describe` takes.

    There is none in a process that another one started, or while other progress is shown.
    """
    # Half a dozen modules, which `--help` does without.
    from multiprocessing import parent_process

    if _in_progress or not is_main_process() or parent_process() is not None:
        yield None
        return
    _in_progress.append(describe)
    try:
        with _open_display() as display:
            yield lambda *what: display(*describe(*what))
    finally:
        _in_progress.clear()


def _open_display() -> AbstractContextManager[Display]:
    if sys.stderr.isatty() and find_spec("rich"):
        return _terminal_display()
    return nullcontext(_line_display())


@contextmanager
def _terminal_display() -> Iterator[Display]:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=20))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting")
        yield lambda done, total, text: bar.update(
            task, completed=done, total=total, description=printable(text)
        )


def _line_display() -> Display:
    """A line now and then, none in the beginning."""
    due = time.monotonic() + SECONDS_BETWEEN_LINES

    def update(done: int, total: int | None, text: str) -> None:
        nonlocal due
        if time.monotonic() >= due:
            say(text)
            due = time.monotonic() + SECONDS_BETWEEN_LINES

    return update


def count_progress(
    label: str, what: str, progress: Callable[[int, int], None] | None = None
) -> AbstractContextManager[Callable[[int, int], None] | None]:
    """Progress with a rate and the time left, to be told how many are done out of how many.

    A function that is given is called instead, and nothing is shown here.
    """
    if progress is not None:
        return nullcontext(progress)
    began = time.monotonic()

    def describe(done: int, total: int) -> tuple[int, int, str]:
        rate = done / max(time.monotonic() - began, 1e-9)
        left = timedelta(seconds=round((total - done) / rate)) if rate else "some time"
        return done, total, f"{label}, {done:,} of {total:,}, {rate:,.0f} {what}/s, {left} left"

    return progress_bar(describe)


def download_progress() -> AbstractContextManager[Callable[[str, int, int | None], None] | None]:
    """A bar for the file that is downloaded, to be told its name, the bytes so far and in all."""
    return progress_bar(
        lambda label, received, size: (received, size, f"{label}, {received / 1e6:,.1f} MB")
    )
