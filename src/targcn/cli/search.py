"""`targcn search`: the best recipe for one's own data."""

import sys
from pathlib import Path
from typing import Literal

from targcn.cli import options
from targcn.cli.options import open_source
from targcn.config import require_libraries
from targcn.output.terminal import progress_bar, say, show

MINUTES = 10.0


def search_recipe(
    source: options.Source = "congress",
    *,
    out: Path,
    minutes: float | None = None,
    trials: int | None = None,
    filter: Literal["raw", "static", "time-aware"] = "time-aware",
    models: options.Words = (),
    seed: int = 0,
    device: options.Device = "auto",
    read: options.HowToRead | None = None,
) -> None:
    """Search for the best model and its settings, judged by the MRR on the valid split.

    Every model's own recipe is tried first, then settings are varied around the best. The same
    command goes on with a search that was stopped.

    Args:
        out: The folder of the search: the study, the best recipe and its run.
        minutes: How long to search. Default: 10, or without an end if --trials is given.
        trials: How many trials to make, at most; those of a search that is gone on with count anew.
        filter: The filter that trials are judged by.
        models: The models to choose from; default: all (see `models`).
        seed: Seed of every training and of what is varied.
    """
    require_libraries("a search", "search", "optuna")
    if minutes is None and trials is None:
        minutes = MINUTES
    from targcn.search.search import search

    dataset = open_source(source, read)
    try:
        with progress_bar(lambda line: (0, None, line)) as update:

            def show_line(line: str, is_news: bool) -> None:
                if is_news:
                    say(line)
                elif update is not None:
                    update(line)

            outcome = search(
                dataset,
                out,
                minutes=minutes,
                trials=trials,
                filter=filter,
                models=models,
                seed=seed,
                device=device,
                show=show_line,
            )
    except KeyboardInterrupt:
        say("stopped; the same command goes on from here")
        sys.exit(130)
    from targcn.evaluation.report import report_table

    show(outcome.table)
    if outcome.test is not None:
        show("\nthe best one on test, which nothing was chosen on:")
        show(report_table(outcome.test))
    show(
        f"kept in {outcome.run}; train it again with: targcn train {source} --recipe "
        f"{out / 'best.toml'}"
    )
