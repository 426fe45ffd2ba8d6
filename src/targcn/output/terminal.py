"""What the terminal shows: text and tables on stdout, messages and progress bars on stderr."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

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


def _shows_progress() -> bool:
    return sys.stderr.isatty() and is_main_process()


@contextmanager
def count_progress(label: str, what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar with a rate and the time left, to be told how many are done out of how many."""
    if not _shows_progress():
        yield None
        return
    from rich.progress import MofNCompleteColumn, TextColumn, TimeRemainingColumn

    rate = TextColumn("{task.fields[rate]}")
    with _progress(MofNCompleteColumn(), rate, TimeRemainingColumn()) as bar:
        task = bar.add_task(label, rate="")

        def update(done: int, total: int) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            rate = f"{done / elapsed:,.0f} {what}/s" if elapsed else ""
            bar.update(task, completed=done, total=total, rate=rate)

        yield update


@contextmanager
def download_progress() -> Iterator[Callable[[str, int, int | None], None] | None]:
    """A bar per downloaded file."""
    if not _shows_progress():
        yield None
        return
    from rich.progress import DownloadColumn, TransferSpeedColumn

    with _progress(DownloadColumn(), TransferSpeedColumn()) as bar:
        tasks: dict[str, Any] = {}

        def update(label: str, received: int, size: int | None) -> None:
            if label not in tasks:
                tasks[label] = bar.add_task(label)
            bar.update(tasks[label], completed=received, total=size)

        yield update


@contextmanager
def text_progress() -> Iterator[Callable[[int, int, str], None] | None]:
    """A bar with a text beside it, to be told how many are done out of how many, and the text."""
    if not _shows_progress():
        yield None
        return
    with _progress() as bar:
        task = bar.add_task("starting")

        def update(done: int, total: int, text: str) -> None:
            bar.update(task, completed=done, total=total, description=text)

        yield update


def _progress(*columns: Any) -> Any:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    first = (TextColumn("{task.description}"), BarColumn(bar_width=20))
    return Progress(*first, *columns, console=Console(stderr=True), transient=True)
