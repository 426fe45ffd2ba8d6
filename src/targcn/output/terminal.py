"""What the terminal shows: text and tables on stdout, messages and progress bars on stderr."""

import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from datetime import timedelta
from importlib.util import find_spec

from targcn.output.tables import Table


def show(content: str | Table, folded: bool = True) -> None:
    """Print text or a table; a table that is not folded is as wide as its cells."""
    from rich.console import Console

    width = (None if sys.stdout.isatty() else 120) if folded else 10_000
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    if isinstance(content, str):
        console.print(content, soft_wrap=True)
        return
    from rich.table import Table as RichTable

    shown = RichTable(box=None, pad_edge=False, header_style="bold")
    for label in content.labels:
        shown.add_column(label, overflow="fold")
    for row in content.cells():
        shown.add_row(*row)
    if content.title:
        console.print(content.title, soft_wrap=True)
    console.print(shown)
    for note in content.notes:
        console.print(note, soft_wrap=True)


def show_json(content: object) -> None:
    # Where a letter cannot be shown, JSON has another way to write it.
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(content, ensure_ascii=plain, indent=2))


def is_main_process() -> bool:
    """Whether this is the one of several processes, started by torchrun, that prints."""
    return os.environ.get("RANK", "0") == "0"


def say(sentence: str) -> None:
    """Print a message of the program itself on stderr."""
    if is_main_process():
        print(f"targcn: {sentence}", file=sys.stderr)


@contextmanager
def progress_bar(
    describe: Callable[..., tuple[int, int | None, str]],
) -> Iterator[Callable[..., None] | None]:
    """A function that shows a bar: how much is done, of how much, and a text beside it.

    It is told what `describe` takes. Where nobody looks, or rich is missing, there is none.
    """
    if not (sys.stderr.isatty() and is_main_process() and find_spec("rich")):
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (TextColumn("{task.description}", markup=False), BarColumn(bar_width=20))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting")

        def update(*what: object) -> None:
            done, total, text = describe(*what)
            bar.update(task, completed=done, total=total, description=text)

        yield update


def count_progress(
    label: str, what: str
) -> AbstractContextManager[Callable[[int, int], None] | None]:
    """A bar with a rate and the time left, to be told how many are done out of how many."""
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
