"""The README of a run folder: what the run is, how it was trained, what it reaches.

Its head is YAML in the form of a Hugging Face model card, so that it can be published as it is.
"""

import json
import platform
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import Any, Final

from targcn import __version__
from targcn.evaluation.metrics import METRICS
from targcn.evaluation.report import Report
from targcn.output.tables import Column, Table, to_markdown
from targcn.runs.run import Run

TAGS: Final = ("knowledge-graph-completion", "link-prediction", "temporal-knowledge-graph")


def write_card(run: Run, reports: Sequence[Report]) -> str:
    """The text of the card, in Markdown."""
    dataset, recipe = run.dataset, run.recipe
    lines = [
        *_head(run),
        f"# {recipe.model} on {dataset.name}",
        "",
        f"Made by targcn {__version__} (Python {platform.python_version()}), recipe "
        f"{recipe.name}, seed {run.seed}; {run.num_parameters:,} parameters.",
        *_how_trained(run),
        "",
        f"Data: {dataset.summary}.",
        *(f"Note: {note}." for note in (*dataset.notes, *run.model.leaks)),
        "",
        f"Settings: {_listed(asdict(recipe.settings))}",
        "",
    ]
    metrics = [Column(metric.key, metric.label, metric.format) for metric in METRICS]
    for report in reports:
        rows = [{"filter": which, **sides["both"]} for which, sides in report.metrics.items()]
        title = f"Figures: {report.setting}, {report.num_queries:,} queries, both directions"
        table = Table((Column("filter", "filter"), *metrics), tuple(rows), title)
        lines += [to_markdown(table), ""]
        if report.calibration is not None:
            lines += [f"Probabilities: {report.calibration}.", ""]
    lines += [
        "Load it with `targcn.load_run(FOLDER)`, evaluate it with `targcn evaluate FOLDER`.",
        "The folder `data/` holds the facts themselves: mind their terms before you publish it.",
        "",
    ]
    return "\n".join(lines)


def _head(run: Run) -> list[str]:
    """What programs read. Values are written as JSON, which YAML reads too."""
    return [
        "---",
        "# Choose one before you publish this; the terms of the data hold too.",
        "license: unknown",
        "library_name: targcn",
        f"tags: {json.dumps([*TAGS, run.recipe.model], ensure_ascii=False)}",
        f"datasets: {json.dumps([run.dataset.name], ensure_ascii=False)}",
        "---",
        "",
    ]


def _how_trained(run: Run) -> list[str]:
    if run.trained is None or not run.trained.epochs:
        return []
    return [
        f"Trained {run.trained.epochs} epochs in {run.trained.seconds:,.0f} s on "
        f"{run.trained.device}; the best weights, kept here, are those of epoch "
        f"{run.trained.best_epoch}.",
        f"Training: {_listed(asdict(run.recipe.training))}.",
    ]


def _listed(settings: Mapping[str, Any]) -> str:
    return ", ".join(f"{name} {value}" for name, value in settings.items()) or "none"
