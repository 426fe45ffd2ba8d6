"""A comparison on paper: words, a table, a file, a picture.

Takes a Comparison; every column names the filter its figures are under. Next room: cli.
"""

import csv
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Final

from targcn.comparison import LEVEL, Comparison, Judged
from targcn.drawing import new_figure, require_picture, save_picture
from targcn.errors import InputError
from targcn.evaluation import HITS
from targcn.files import atomic_file
from targcn.filtering import FILTERS

ENDINGS: Final = (".csv", ".json", ".md")
# Neither lost on a white page nor on a black one.
INK, POINTS, RULES = "#808080", "#2a8fbd", "#d9822b"


def in_words(comparison: Comparison) -> tuple[str, str]:
    """What all figures have in common, and what the differences are."""
    common = comparison.common
    return (
        f"{len(comparison.runs)} runs on {common.dataset}, {common.split} split: "
        f"{common.num_queries:,} queries, context {common.context}, {common.ties} rank on ties",
        f"difference: {comparison.filter} MRR less that of {comparison.reference.name}, with the "
        f"{100 * LEVEL:.0f} % interval of {comparison.resamples:,} draws of the facts (seed "
        f"{comparison.seed})",
    )


def table(comparison: Comparison) -> tuple[list[tuple[str, str]], list[list[str]]]:
    """Column heads, each with the filter it is under, and the cells of every run, best first."""
    which = comparison.filter
    heads = [("run", ""), ("model", "")]
    heads += [("MRR", each) for each in FILTERS]
    heads += [(f"Hits@{most}", which) for most in HITS]
    heads += [("difference", which), ("95 % interval", which), ("0 inside", which)]
    heads += [("parameters", ""), ("trained", ""), ("queries/s", "")]
    rows = []
    for run in comparison.ranked:
        difference = comparison.differences[run.name]
        apart = ["–", "–", "–"]
        if run is not comparison.reference:
            interval = f"{difference.low:+z.4f} … {difference.high:+z.4f}"
            inside = "yes" if difference.zero_inside else "no"
            apart = [f"{difference.mrr:+z.4f}", interval, inside]
        both = run.report.metrics[which]["both"]
        rows.append(
            [
                run.name,
                run.report.model,
                *(f"{run.mrr(each):.3f}" for each in FILTERS),
                *(f"{both[f'hits@{most}']:.3f}" for most in HITS),
                *apart,
                f"{run.num_parameters:,}",
                _how_trained(run),
                f"{run.queries_per_second:,.0f}",
            ]
        )
    return heads, rows


def _how_trained(run: Judged) -> str:
    if run.trained:
        return f"{run.trained['seconds']:,.0f} s, {run.trained['device']}"
    return "unknown" if run.num_parameters else "not trained"


def require_ending(path: Path) -> None:
    """Refuse, before any work is done, a file that could not be written in the end."""
    if path.suffix.lower() not in ENDINGS:
        raise InputError(f"{path} should end in .csv, .json or .md")


def write(comparison: Comparison, path: Path | str) -> None:
    """Write a comparison as its file's ending says, whole or not at all."""
    path = Path(path)
    require_ending(path)
    ending = path.suffix.lower()
    with (
        atomic_file(path) as draft,
        draft.open("w", encoding="utf-8", newline="" if ending == ".csv" else None) as stream,
    ):
        if ending == ".csv":
            records = _records(comparison)
            writer = csv.DictWriter(stream, list(records[0]), lineterminator="\n")
            writer.writeheader()
            writer.writerows(records)
        elif ending == ".json":
            json.dump(comparison.to_json(), stream, ensure_ascii=False, indent=2)
            stream.write("\n")
        else:
            stream.write(_markdown(comparison))


def _records(comparison: Comparison) -> list[dict[str, object]]:
    """A flat row per run; a figure's name begins with its filter, so that no column can mix two."""
    common, which = comparison.common, comparison.filter
    records = []
    for run in comparison.ranked:
        difference = comparison.differences[run.name]
        record: dict[str, object] = {"run": run.name, "model": run.report.model}
        for what in ("dataset", "split", "context", "ties", "num_queries"):
            record[what] = getattr(common, what)
        for each in FILTERS:
            for name, value in run.report.metrics[each]["both"].items():
                record[f"{each} {name}"] = value
        record |= {
            "filter": which,
            "compared to": comparison.reference.name,
            f"{which} mrr difference": difference.mrr,
            f"{which} mrr difference low": difference.low,
            f"{which} mrr difference high": difference.high,
            "zero inside": str(difference.zero_inside).lower(),
            "num_parameters": run.num_parameters,
            "trained seconds": run.trained.get("seconds"),
            "trained device": run.trained.get("device"),
            "judged device": run.device,
            "queries per second": run.queries_per_second,
        }
        records.append(record)
    return records


def _markdown(comparison: Comparison) -> str:
    heads, rows = table(comparison)
    columns = [f"{head}, {which}" if which else head for head, which in heads]
    about, differences = in_words(comparison)
    lines = [f"{about}.", "", _markdown_row(columns), "|" + "---|" * len(columns)]
    return "\n".join([*lines, *map(_markdown_row, rows), "", f"{differences}.", ""])


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(cell.replace("|", "\\|") for cell in cells) + " |"


def plot(comparison: Comparison, path: Path | str) -> None:
    """Draw the MRR over the number of parameters; runs without any are lines across.

    The background is left open and the ink is grey: it reads on a white page and on a black one.
    """
    path = Path(path)
    require_picture(path)
    which, common = comparison.filter, comparison.common
    figure = new_figure()
    axes: Any = figure.add_subplot()
    labels = []
    learned = [run for run in comparison.ranked if run.num_parameters]
    if learned:
        axes.set_xscale("log")
        axes.margins(x=0.2, y=0.15)
    else:
        axes.set_xticks([])
    for run in comparison.ranked:
        mrr, (low, high) = run.mrr(which), run.report.mrr_interval[which]["both"]
        at: tuple[float, float] = (run.num_parameters, mrr)
        reading = ("data", "data")
        if run.num_parameters:
            spread = [[mrr - low], [high - mrr]]
            axes.errorbar(*at, spread, fmt="o", color=POINTS, elinewidth=1)
        else:
            # Beside the right edge, where no point is.
            at, reading = (1, mrr), ("axes fraction", "data")
            axes.axhline(mrr, color=RULES, linestyle="--", linewidth=1)
        label = axes.annotate(
            run.name,
            at,
            xycoords=reading,
            xytext=(7, 0),
            textcoords="offset points",
            va="center",
            color=INK,
            fontsize=9,
            parse_math=False,
        )
        labels.append(label)
    axes.set_xlabel("parameters" if learned else "no run has parameters", color=INK)
    axes.set_ylabel(f"MRR, {which} filter", color=INK)
    axes.set_title(
        f"{common.dataset}, {common.split} split, {which} filter, context {common.context}",
        color=INK,
        parse_math=False,
    )
    axes.tick_params(which="both", colors=INK)
    for spine in axes.spines.values():
        spine.set_edgecolor(INK)
    _keep_apart(figure, labels)
    save_picture(figure, path, transparent=True)


def _keep_apart(figure: Any, labels: Sequence[Any]) -> None:
    """Move labels down, the best run's first, until none lies on one before it."""
    figure.draw_without_rendering()
    placed: list[Any] = []
    for label in labels:
        box = label.get_window_extent()
        while hit := next((other for other in placed if box.overlaps(other)), None):
            down = box.y1 - hit.y0 + 1
            x, y = label.get_position()
            label.set_position((x, y - down * 72 / figure.dpi))
            box = box.translated(0, -down)
        placed.append(box)
