"""Put what was measured into the texts, and plot it: `python website/figures.py RESULTS ...`.

A table of a text lies between the lines `<!-- table: EXPERIMENT DATA FILTER [SETTING] -->` and
`<!-- end of table -->`. FILTER may be `costs`; SETTING is the number of one of the experiment's
settings, 0 by default. `EXPERIMENT all mrr` is the MRR on every data set under two filters.
"""

import re
from argparse import ArgumentParser
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import count, groupby, product
from operator import contains
from pathlib import Path
from statistics import mean, stdev
from typing import Final

from targcn.errors import InputError
from targcn.evaluation.filters import FILTERS, Filter
from targcn.evaluation.metrics import PAPER_METRICS
from targcn.evaluation.report import Setting
from targcn.experiments.cells import read_results
from targcn.experiments.spec import EXPERIMENTS, SETTINGS, Experiment, find_experiment
from targcn.experiments.tables import (
    Line,
    Results,
    blank_cells,
    by_note,
    lines_of,
    mean_and_spread,
    over_seeds,
    row_notes,
    seed_notes,
    tables_of,
    without_zero,
)
from targcn.output.plots import Curve, plot_lines
from targcn.output.tables import Table, to_markdown

END_OF_PLACE: Final = "<!-- end of table -->"
BEGINNING: Final = re.compile(r"^<!-- table: (.+) -->$", re.MULTILINE)
PLACE: Final = re.compile(
    rf"{BEGINNING.pattern}\n(?:(?!<!-- table: ).*\n)*?{END_OF_PLACE}$", re.MULTILINE
)
# The experiment whose rows are points over the number of their parameters.
MAIN: Final = "main"
# What plots show.
SETTING: Final = SETTINGS[0]
COMMON_FILTER: Final[Filter] = "static"


def main() -> None:
    parser = ArgumentParser(description=__doc__)
    parser.add_argument("results", type=Path, help="the folder of 'targcn reproduce'")
    parser.add_argument("--fill", type=Path, nargs="+", default=[], help="texts")
    parser.add_argument("--plots", type=Path, help="the folder to draw plots into")
    given = parser.parse_args()
    measured = read_results(given.results)
    for path in given.fill:
        path.write_text(fill(path.read_text(encoding="utf-8"), measured), encoding="utf-8")
    if given.plots:
        plot_experiments(measured, given.plots)


def fill(text: str, results: Results) -> str:
    """Put tables into the places that a text has for them, and leave everything else as it is."""
    whole = {place[1] for place in PLACE.finditer(text)}
    for wanted in BEGINNING.findall(text):
        if wanted not in whole:
            raise InputError(
                f"nothing ends the table {wanted!r}; add a line {END_OF_PLACE!r} below it"
            )

    def table(place: re.Match[str]) -> str:
        markdown = to_markdown(_table_for(place[1], results))
        return f"<!-- table: {place[1]} -->\n\n{markdown}\n\n{END_OF_PLACE}"

    return PLACE.sub(table, text)


def _table_for(wanted: str, results: Results) -> Table:
    name, *words = wanted.split()
    experiment = find_experiment(name)
    if words == ["all", "mrr"]:
        return mrr_table(experiment, results)
    settings = {str(number): setting for number, setting in enumerate(experiment.shown)}
    choices = experiment.data, (*FILTERS, "costs"), settings
    words = [*words, "0"] if len(words) == 2 else words
    if len(words) != 3 or not all(map(contains, choices, words)):
        raise InputError(
            f"table {wanted!r} is unclear; write {name} DATA FILTER [SETTING]: the data sets are "
            f"{', '.join(experiment.data)}, the filters {', '.join(FILTERS)} or costs, the "
            f"settings {', '.join(settings)}"
        )
    data, which, number = words
    filters = tuple(name for name in FILTERS if name == which)
    alone = replace(experiment, shown=(settings[number],), filters=filters, costs=not filters)
    return tables_of(alone, data, results)[0]


def mrr_table(experiment: Experiment, results: Results) -> Table:
    """The MRR of every row on every data set that has results, under two filters."""
    setting = experiment.shown[0]
    by_data = {data: lines_of(experiment, data, results) for data in experiment.data}
    measured = {data: lines for data, lines in by_data.items() if any(x.results for x in lines)}
    filters: tuple[Filter, ...] = ("static", "time-aware")
    columns = list(product(measured, filters))
    cells = {
        row: [_mrr_cell(measured[data][number], setting, which) for data, which in columns]
        for number, row in enumerate(row.name for row in experiment.rows)
    }
    shown = [row for row in experiment.rows if any(cells[row.name])]
    left_out = [row for row in cells if not any(cells[row])]
    notes = [f"{data}: {note}" for data, lines in measured.items() for note in seed_notes(lines)]
    notes += row_notes(shown)
    notes += by_note(dict.fromkeys(left_out, "left out, without a figure under these filters"))
    return Table.of_text(
        ("run", *(f"{data}, {which}" for data, which in columns)),
        [(row.name, *cells[row.name]) for row in shown],
        f"{experiment.title}: MRR, {setting}, both directions, {over_seeds(experiment.seeds)}; in "
        "brackets what the paper prints, under the filter of that figure",
        *notes,
    )


def _mrr_cell(line: Line, setting: Setting, which: Filter) -> str:
    """What was measured, if anything, and in brackets what the paper prints."""
    reached = line.measured(setting, which, "mrr")
    if reached:
        words = [mean_and_spread(reached)]
    else:
        words = blank_cells(line, 1) if which == "static" else []
    words += [f"({without_zero(figure)})" for figure in line.printed(setting, which)[:1]]
    return " ".join(filter(None, words))


def plot_experiments(results: Results, folder: Path) -> list[Path]:
    """Write a plot of every experiment that has one, on each data set that has results."""
    written = []
    for experiment in map(find_experiment, EXPERIMENTS):
        if not experiment.plot and experiment.name != MAIN:
            continue
        for data in experiment.data:
            lines = lines_of(experiment, data, results)
            if not any(line.results for line in lines):
                continue
            path = folder / f"{experiment.name}-{data}.svg"
            setting = f"{SETTING.split} split, context {SETTING.context}"
            title = f"{experiment.title}, {data}\n{setting}"
            if experiment.name == MAIN:
                curves, up = list(points_of_all(lines)), "MRR, time-aware filter"
                plot_lines(curves, path, title, "parameters", up, logarithmic=True)
            elif all(line.row.place is not None for line in lines):
                curves = list(lines_over_places(lines))
                plot_lines(curves, path, title, experiment.plot, "MRR and Hits", logarithmic=False)
            else:
                curves = list(lines_over_parameters(lines))
                plot_lines(curves, path, title, experiment.plot, "MRR", logarithmic=True)
            written.append(path)
    return written


def points_of_all(lines: Sequence[Line]) -> Iterator[Curve]:
    """Every row at its number of parameters, best first; a line across if it has none."""
    done = [line for line in lines if line.results]
    sizes = [line.results[0].parameters for line in done if line.results[0].parameters]
    mrrs = {line.row.name: line.measured(SETTING, "time-aware", "mrr") for line in done}
    for number, line in enumerate(sorted(done, key=lambda line: -mean(mrrs[line.row.name]))):
        reached, size = mrrs[line.row.name], line.results[0].parameters
        places = [size] if size else [min(sizes, default=1), max(sizes, default=10)]
        points = [(float(place), mean(reached)) for place in places]
        spread = stdev(reached) if size and len(reached) > 1 else 0.0
        yield Curve(line.row.name, points, number, not size, spread)


def lines_over_places(lines: Sequence[Line]) -> Iterator[Curve]:
    """Every metric of all rows, over their places."""
    for number, metric in enumerate(PAPER_METRICS):
        yield from _measured_and_printed(metric.label, lines, COMMON_FILTER, number, number)


def lines_over_parameters(lines: Sequence[Line]) -> Iterator[Curve]:
    """The MRR over the number of parameters, for all rows of a system and each of its filters.

    A system has the filter that is common to all, and that of the paper's figures for it.
    """
    groups = groupby(lines, key=lambda line: line.row.name.partition(",")[0])
    colors = count()
    for name, group in groups:
        rows = list(group)
        for which in FILTERS:
            if which == COMMON_FILTER or any(line.printed(SETTING, which) for line in rows):
                yield from _measured_and_printed(name, rows, which, next(colors), metric=0)


def _measured_and_printed(
    name: str, lines: Sequence[Line], which: Filter, color: int, metric: int
) -> Iterator[Curve]:
    """One line for what was measured under a filter, and one for the paper's figures under it."""
    key = PAPER_METRICS[metric].key
    measured = [
        (_place(line, line.results[0].parameters), mean(line.measured(SETTING, which, key)))
        for line in lines
        if line.results
    ]
    printed = [
        (_place(line, line.paper.get("parameters")), line.printed(SETTING, which)[metric])
        for line in lines
        if len(line.printed(SETTING, which)) > metric
    ]
    for whose, points in (("measured", measured), ("paper", printed)):
        if points:
            label = f"{name}, {whose}, {which} filter"
            yield Curve(label, sorted(points), color, whose == "paper")


def _place(line: Line, num_parameters: int | None) -> float:
    place = num_parameters if line.row.place is None else line.row.place
    assert place is not None, "a published figure needs a place or a number of parameters"
    return float(place)


if __name__ == "__main__":
    main()
