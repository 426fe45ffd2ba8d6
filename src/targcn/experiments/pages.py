"""The report on a folder of results: report.md and index.html, with every table and plot."""

from collections.abc import Iterator, Sequence
from itertools import count, groupby
from pathlib import Path
from statistics import mean, stdev
from typing import Final

from targcn.errors import InputError
from targcn.evaluation.filters import FILTERS, Filter
from targcn.evaluation.metrics import PAPER_METRICS
from targcn.experiments.cells import choose_data, is_quick
from targcn.experiments.spec import EXPERIMENTS, SETTINGS, Experiment, find_experiment
from targcn.experiments.tables import (
    Line,
    Results,
    describe,
    lines_of,
    mrr_table,
    tables_of,
    title_of,
)
from targcn.files import atomic_folder, require_absent
from targcn.output.page import to_page
from targcn.output.plots import Curve, Mark, plot_lines, plot_marks, require_picture
from targcn.output.tables import Table, markdown_text, to_markdown

TITLE: Final = "The paper's experiments, measured again"
# The experiment that is summarised first, and plotted as points over the number of parameters.
MAIN: Final = "main"
# What plots and the list of files show.
SETTING: Final = SETTINGS[0]
COMMON_FILTER: Final[Filter] = "static"
SPLIT_AND_CONTEXT: Final = f"{SETTING.split} split, context {SETTING.context}"


def write_report(results: Results, out: Path) -> None:
    """Write a report on every experiment that has results; it lists what was not measured too."""
    require_absent(out)
    with atomic_folder(out) as draft:
        markdown = "\n\n".join(_blocks(results, draft)) + "\n"
        (draft / "report.md").write_text(markdown, encoding="utf-8")
        (draft / "index.html").write_text(to_page(markdown, draft), encoding="utf-8")


def _blocks(results: Results, folder: Path) -> Iterator[str]:
    """The report in Markdown, block by block; plots are written into the folder on the way."""
    yield f"# {TITLE}"
    if any(is_quick(result.cell.data) for result in results.values()):
        yield (
            "A quick run trains tiny models for one epoch on a small data set: it shows that "
            "everything runs, and its figures mean nothing."
        )
    yield (
        "Every table names the split, the context and the filter of its figures. Where several "
        "seeds were run, a figure is their mean ± their sample standard deviation. The paper's "
        "figures are shown only next to those measured with the same filter."
    )
    with_plots = True
    try:
        require_picture(Path("plot.svg"))
    except InputError as error:
        with_plots = False
        yield markdown_text(f"There are no plots here: {error}.")
    summary = mrr_table(find_experiment(MAIN), results)
    if summary.rows:
        yield "## At a glance"
        yield to_markdown(summary)
    missing = []
    for name in EXPERIMENTS:
        experiment = find_experiment(name)
        for data in [*experiment.data, *choose_data(experiment, quick=True)]:
            lines = lines_of(experiment, data, results)
            if any(line.results for line in lines):
                option = "--quick" if is_quick(data) else f"--data {data}"
                yield f"## {markdown_text(f'{experiment.title}: {data}')}"
                yield markdown_text(f"{experiment.about[0].upper()}{experiment.about[1:]}.")
                yield f"```\n$ targcn reproduce {name} {option}\n```"
                yield from map(to_markdown, tables_of(experiment, data, results))
                if with_plots:
                    yield from _plots(experiment, data, lines, folder)
            elif not is_quick(data):
                missing.append(markdown_text(f"- {experiment.title}, {data}: not measured"))
    if missing:
        yield "## Not measured"
        yield "\n".join(missing)
    yield "## Every result"
    yield to_markdown(_file_table(results))


def _file_table(results: Results) -> Table:
    rows = [
        (
            result.cell.path(Path()).as_posix(),
            str(result.cell.seed),
            result.commit or "unknown",
            result.device,
            f"{result.seconds:,.0f}",
            *(f"{result.figures[SETTING][which]['mrr']:.5f}" for which in FILTERS),
        )
        for result in results.values()
    ]
    labels = ("file", "seed", "commit", "device", "seconds", *(f"MRR, {one}" for one in FILTERS))
    return Table.of_text(labels, sorted(rows), f"Every result file: {describe(SETTING)}")


def _plots(experiment: Experiment, data: str, lines: Sequence[Line], folder: Path) -> Iterator[str]:
    path = folder / f"{experiment.name}-{data}.svg"
    about, setting = title_of(experiment, data), SPLIT_AND_CONTEXT
    if experiment.plot:
        has_places = all(line.row.place is not None for line in lines)
        plot_lines(
            list(_lines_over_places(lines) if has_places else _lines_over_parameters(lines)),
            path,
            f"{about}\n{setting}",
            experiment.plot,
            "MRR and Hits" if has_places else "MRR",
            logarithmic=not has_places,
        )
        yield f"![{markdown_text(f'{about}: {setting}, over {experiment.plot}')}]({path.name})"
    elif experiment.name == MAIN:
        setting += ", time-aware filter"
        plot_marks(list(_marks(lines)), path, f"{about}\n{setting}", "MRR, time-aware filter")
        yield f"![{markdown_text(f'{about}: {setting}, over parameters')}]({path.name})"


def _lines_over_places(lines: Sequence[Line]) -> Iterator[Curve]:
    """Every metric of all rows, over their places."""
    for number, metric in enumerate(PAPER_METRICS):
        yield from _measured_and_printed(metric.label, lines, COMMON_FILTER, number, number)


def _lines_over_parameters(lines: Sequence[Line]) -> Iterator[Curve]:
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
    points = [
        (_place(line, line.results[0].parameters), mean(line.measured(SETTING, which, key)))
        for line in lines
        if line.results
    ]
    if points:
        yield Curve(f"{name}, measured, {which} filter", sorted(points), color, False)
    points = [
        (_place(line, line.paper.get("parameters")), line.printed(SETTING, which)[metric])
        for line in lines
        if len(line.printed(SETTING, which)) > metric
    ]
    if points:
        yield Curve(f"{name}, paper, {which} filter", sorted(points), color, True)


def _place(line: Line, num_parameters: int | None) -> float:
    place = num_parameters if line.row.place is None else line.row.place
    assert place is not None, "a published figure needs a place or a number of parameters"
    return float(place)


def _marks(lines: Sequence[Line]) -> Iterator[Mark]:
    for line in lines:
        if line.results:
            values = line.measured(SETTING, "time-aware", "mrr")
            middle, reach = mean(values), stdev(values) if len(values) > 1 else 0.0
            num_parameters = line.results[0].parameters
            yield Mark(line.row.name, num_parameters, middle, middle - reach, middle + reach)
