"""What the terminal shows: tables, reports, progress with a rate and the time left.

Progress goes to stderr and only where that is a terminal; everything else to stdout. Next room:
cli.
"""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from rich.table import Table

    from targcn.evaluation import Report
    from targcn.facts.dataset import Dataset
    from targcn.training import Sign


def shape_of(dataset: "Dataset") -> list[str]:
    facts = " / ".join(f"{len(facts):,}" for facts in dataset.splits.values())
    counts = (dataset.entities, dataset.relations, dataset.timeline.ticks)
    return [dataset.name, facts, *(f"{len(counted):,}" for counted in counts)]


def show_report(report: "Report") -> None:
    show(
        f"{report.model} on {report.dataset}, {report.split} split: "
        f"{report.num_queries:,} queries, context {report.context}, {report.ties} rank on ties"
    )
    table = table_of("filter", "side", "MRR", "±95%", "Hits@1", "Hits@3", "Hits@10", "mean rank")
    for which, sides in report.metrics.items():
        for side, figures in sides.items():
            low, high = report.mrr_interval[which][side]
            table.add_row(
                which if side == "both" else "",
                side,
                f"{figures['mrr']:.3f}",
                f"{(high - low) / 2:.3f}",
                *(f"{figures[f'hits@{most}']:.3f}" for most in (1, 3, 10)),
                f"{figures['mean_rank']:,.1f}",
            )
    show(table)


def table_of(*columns: str) -> "Table":
    from rich.table import Table

    table = Table(box=None, pad_edge=False, header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    return table


def show(content: Any, folded: bool = True) -> None:
    """Print text or a table; one that is not folded is as wide as its cells."""
    from rich.console import Console

    width = (None if sys.stdout.isatty() else 120) if folded else 10_000
    console = Console(width=width, highlight=False, markup=False, emoji=False)
    console.print(content, soft_wrap=isinstance(content, str))


def show_json(content: object) -> None:
    # Where a letter cannot be shown, JSON has another way to write it.
    plain = not (sys.stdout.encoding or "").lower().startswith("utf")
    print(json.dumps(content, ensure_ascii=plain, indent=2))


def leads() -> bool:
    """Of several processes that were started together, the first one does the talking."""
    return os.environ.get("RANK", "0") == "0"


def say(sentence: str) -> None:
    """A sentence of the program itself, beside what it was asked for."""
    if leads():
        print(f"targcn: {sentence}", file=sys.stderr)


def _is_watched() -> bool:
    return sys.stderr.isatty() and leads()


@contextmanager
def counting(label: str, what: str) -> Iterator[Callable[[int, int], None] | None]:
    """A bar with a rate and the time left on a terminal, nothing elsewhere."""
    if not _is_watched():
        yield None
        return
    from rich.console import Console
    from rich.progress import (
        BarColumn,
        MofNCompleteColumn,
        Progress,
        TextColumn,
        TimeRemainingColumn,
    )

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn())
    rate = TextColumn("{task.fields[rate]}")
    console = Console(stderr=True)
    with Progress(*columns, rate, TimeRemainingColumn(), console=console, transient=True) as bar:
        task = bar.add_task(label, rate="")

        def update(done: int, total: int) -> None:
            elapsed = bar.tasks[0].elapsed or 0.0
            rate = f"{done / elapsed:,.0f} {what}/s" if elapsed else ""
            bar.update(task, completed=done, total=total, rate=rate)

        yield update


@contextmanager
def receiving() -> Iterator[Callable[[str, int, int | None], None] | None]:
    """A bar per downloaded file on a terminal, nothing elsewhere."""
    if not _is_watched():
        yield None
        return
    from rich.console import Console
    from rich.progress import BarColumn, DownloadColumn, Progress, TextColumn, TransferSpeedColumn

    columns = (
        TextColumn("{task.description}"),
        BarColumn(),
        DownloadColumn(),
        TransferSpeedColumn(),
    )
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        tasks: dict[str, Any] = {}

        def update(label: str, received: int, size: int | None) -> None:
            if label not in tasks:
                tasks[label] = bar.add_task(label)
            bar.update(tasks[label], completed=received, total=size)

        yield update


@contextmanager
def training_bar() -> Iterator[Callable[["Sign"], None] | None]:
    """Epoch, loss, rate, time left and the latest look at the valid split, on a terminal."""
    if not _is_watched():
        yield None
        return
    from datetime import timedelta

    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    columns = (BarColumn(bar_width=20), TextColumn("{task.description}"))
    with Progress(*columns, console=Console(stderr=True), transient=True) as bar:
        task = bar.add_task("starting")

        def update(sign: "Sign") -> None:
            text = (
                f"epoch {min(sign.epoch + 1, sign.num_epochs)}/{sign.num_epochs}, "
                f"{sign.queries_per_second:,.0f} queries/s, "
                f"{timedelta(seconds=round(sign.seconds_left))} left"
            )
            if sign.loss == sign.loss:
                text += f", loss {sign.loss:.3f}"
            if sign.report is not None:
                text += (
                    f", valid time-aware MRR {sign.report.metrics['time-aware']['both']['mrr']:.3f}"
                )
            done = sign.epoch * sign.num_steps + sign.step
            total = sign.num_epochs * sign.num_steps
            bar.update(task, completed=done, total=total, description=text)

        yield update
