"""A comparison on paper: words, a table, a file, a picture.

Takes a Comparison; every column names the filter its figures are under. Next room: cli.
"""

import csv
import json
import re
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Final

from targcn.comparison import LEVEL, Comparison, Judged
from targcn.drawing import Mark, draw_marks, require_picture
from targcn.errors import InputError
from targcn.evaluation import HITS
from targcn.files import atomic_file
from targcn.filtering import FILTERS

ENDINGS: Final = (".csv", ".json", ".md")


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
    lines = [f"{about}.", "", *markdown_table(columns, rows), "", f"{differences}.", ""]
    return "\n".join(lines)


def markdown_table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """The lines of a table in Markdown.

    >>> markdown_table(["run", "MRR"], [["a|b", ".636"]])
    ['| run | MRR |', '|---|---|', '| a\\\\|b | .636 |']
    """
    return [_markdown_row(heads), "|" + "---|" * len(heads), *map(_markdown_row, rows)]


def _markdown_row(cells: Sequence[str]) -> str:
    return "| " + " | ".join(map(markdown_text, cells)) + " |"


def markdown_text(text: str) -> str:
    """Text that Markdown shows as it is, on one line.

    >>> markdown_text("a_b <c>")
    'a\\\\_b \\\\<c>'
    """
    return re.sub(r"([\\|*_`<&\[\]])", r"\\\1", " ".join(text.split()))


def plot(comparison: Comparison, path: Path | str) -> None:
    """Draw the MRR over the number of parameters; runs without any are lines across."""
    path = Path(path)
    require_picture(path)
    which, common = comparison.filter, comparison.common
    marks = [
        Mark(
            run.name,
            run.num_parameters,
            run.mrr(which),
            *run.report.mrr_interval[which]["both"],
        )
        for run in comparison.ranked
    ]
    title = f"{common.dataset}, {common.split} split, {which} filter, context {common.context}"
    draw_marks(marks, path, title, f"MRR, {which} filter")
