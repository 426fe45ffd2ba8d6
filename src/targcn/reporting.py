"""Results as tables: what was measured, and what the paper prints where the two compare.

Takes experiments and results; gives tables, each saying of what its figures are, and puts them
into texts that have a place for them. Next room: pages.
"""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Final

from targcn.cells import METRICS, QUICK_DATA, cells_of, data_at_hand, read_results, seeds_of
from targcn.errors import InputError
from targcn.experiments import JUDGEMENTS, Experiment, Judgement, Row, find_experiment
from targcn.filtering import FILTERS
from targcn.writeup import markdown_table, markdown_text

# Key of a cell -> what its file says.
Results = Mapping[str, Mapping[str, Any]]

COSTS: Final = (
    "parameters",
    "seconds per epoch",
    "training (s)",
    "peak GPU memory (MB)",
    "device",
)
# What the paper may print of a cost -> the head of its column.
PRINTED_COSTS: Final = {
    "parameters": "paper's parameters",
    "seconds": "paper's seconds per epoch",
    "megabytes": "paper's GPU memory (MB)",
}

PLACE: Final = re.compile(r"<!-- table: (.+) -->")
END_OF_PLACE: Final = "<!-- end of table -->"


@dataclass(frozen=True)
class Table:
    """A table in words, ready to be printed anywhere."""

    title: str
    heads: tuple[str, ...]
    rows: tuple[tuple[str, ...], ...]
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Line:
    """A row of an experiment on one data set: its results, and what the paper prints."""

    row: Row
    num_wanted: int
    results: Sequence[Mapping[str, Any]]
    paper: Mapping[str, Any]

    def measured(self, judgement: Judgement, which: str, metric: str) -> list[float]:
        """A figure of every seed that is finished."""
        return [result["figures"][judgement][which][metric] for result in self.results]

    def printed(self, judgement: Judgement, which: str) -> Sequence[float]:
        """The paper's figures of this split, if they were measured with this filter."""
        if self.paper.get("filter") != which:
            return ()
        figures: Sequence[float] = self.paper.get(judgement.partition(",")[0], ())
        return figures


def results_in(folder: Path) -> Results:
    """Every result in a folder, and at least one."""
    results = read_results(folder)
    if not results:
        raise InputError(f"there is no result in {folder}; 'targcn reproduce NAME' makes some")
    return results


def is_quick(data: str) -> bool:
    return data.startswith(QUICK_DATA)


def title_of(experiment: Experiment, data: str, quick: bool) -> str:
    warning = " (a quick look, whose figures mean nothing)" if quick else ""
    return f"{experiment.title}, {data}{warning}"


def lines_of(
    experiment: Experiment, data: str, results: Results, num_seeds: int, quick: bool
) -> list[Line]:
    """The rows of an experiment on a data set, each with those of its cells that are finished."""
    cells = {row.name: found for row, found in cells_of(experiment, data, num_seeds, quick)}
    lines = []
    for row in experiment.rows:
        wanted = cells.get(row.name, [])
        finished = [results[cell.key] for cell in wanted if cell.key in results]
        lines.append(Line(row, len(wanted), finished, row.paper.get(data, {})))
    return lines


def tables_of(
    experiment: Experiment,
    data: str,
    results: Results,
    num_seeds: int | None = None,
    quick: bool = False,
) -> list[Table]:
    """The tables of an experiment on a data set: one for each judgement and filter, and costs."""
    num_seeds = num_seeds or seeds_of(experiment, quick)
    lines = lines_of(experiment, data, results, num_seeds, quick)
    about = title_of(experiment, data, quick)
    tables = [
        _table_of_figures(about, lines, judgement, which, num_seeds)
        for judgement in experiment.judged
        for which in experiment.filters
    ]
    return [*tables, _table_of_costs(about, lines, num_seeds)] if experiment.costs else tables


def _table_of_figures(
    about: str, lines: Sequence[Line], judgement: Judgement, which: str, num_seeds: int
) -> Table:
    split, context = judgement.split(", ")
    shown = [line for line in lines if line.row.model or line.printed(judgement, which)]
    # How many figures the paper prints at most.
    compared = max((len(line.printed(judgement, which)) for line in shown), default=0)
    rows = []
    for line in shown:
        printed = "/".join(map(_short, line.printed(judgement, which)))
        if line.results:
            cells = [_mean_of(line.measured(judgement, which, metric)) for metric in METRICS]
        else:
            cells = _blank(line, len(METRICS))
        rows.append((line.row.name, *cells, *([printed] if compared else [])))
    notes = _notes(shown)
    if compared:
        notes = (f"paper: {'/'.join([*METRICS.values()][:compared])} as it prints them", *notes)
    return Table(
        f"{about}: {split} split, {context}, {which} filter, mean rank on ties, both directions, "
        f"{_over(num_seeds)}",
        ("run", *METRICS.values(), *(["paper"] if compared else [])),
        tuple(rows),
        notes,
    )


def table_of_mrr(experiment: Experiment, results: Results) -> Table:
    """The MRR of every row on every data set that has results, under both filters, at a glance."""
    judgement, num_seeds = experiment.judged[0], experiment.seeds
    by_data = {
        data: lines_of(experiment, data, results, num_seeds, quick=False)
        for data in experiment.data
    }
    measured = {data: lines for data, lines in by_data.items() if any(x.results for x in lines)}
    columns = [(data, which) for data in measured for which in ("static", "time-aware")]
    rows, shown, left_out = [], [], []
    for number, row in enumerate(experiment.rows):
        lines = {data: of_data[number] for data, of_data in measured.items()}
        cells = [_mrr_of(lines[data], judgement, which) for data, which in columns]
        if not any(cells):
            left_out.append(row.name)
            continue
        rows.append((row.name, *cells))
        shown.append(row)
    notes = [f"{data}: {note}" for data, found in measured.items() for note in _of_seeds(found)]
    notes += _of_rows(shown)
    if left_out:
        notes.append(f"{'; '.join(left_out)}: left out, without a figure under these filters")
    split, context = judgement.split(", ")
    return Table(
        f"{experiment.title}: MRR, {split} split, {context}, mean rank on ties, both directions, "
        f"{_over(num_seeds)}; in brackets what the paper prints, under the filter of that figure",
        ("run", *(f"{data}, {which}" for data, which in columns)),
        tuple(rows),
        tuple(notes),
    )


def _mrr_of(line: Line, judgement: Judgement, which: str) -> str:
    """What was measured, if anything, and in brackets what the paper prints."""
    found = line.measured(judgement, which, "mrr")
    words = [_mean_of(found)] if found else _blank(line, 1) if which == "static" else []
    words += [f"({_short(figure)})" for figure in line.printed(judgement, which)[:1]]
    return " ".join(filter(None, words))


def _over(num_seeds: int) -> str:
    return "1 seed" if num_seeds == 1 else f"mean ± standard deviation of {num_seeds} seeds"


def _table_of_costs(about: str, lines: Sequence[Line], num_seeds: int) -> Table:
    over = "1 seed" if num_seeds == 1 else f"mean of {num_seeds} seeds"
    given = [name for name in PRINTED_COSTS if any(name in line.paper for line in lines)]
    shown = [line for line in lines if line.row.model or not line.paper.keys().isdisjoint(given)]
    rows = []
    for line in shown:
        printed = [f"{line.paper[name]:,}" if name in line.paper else "" for name in given]
        cells = _costs(line) if line.results else _blank(line, len(COSTS))
        rows.append((line.row.name, *cells, *printed))
    heads = ("run", *COSTS, *(PRINTED_COSTS[name] for name in given))
    learned = [line for line in shown if any(result["trained"] for result in line.results)]
    shared = [line.row.name for line in learned if not _timed(line)]
    notes = [f"{'; '.join(shared)}: shared the machine, so no times"] if shared else []
    partly = [line.row.name for line in learned if 0 < len(_timed(line)) < len(line.results)]
    if partly:
        notes.append(f"{'; '.join(partly)}: times of the seeds that did not share the machine")
    notes += _notes(shown)
    return Table(f"{about}: what it cost, {over}", heads, tuple(rows), tuple(notes))


def _costs(line: Line) -> list[str]:
    trained = [result["trained"] for result in _timed(line) if result["trained"]]
    peaks = [result["peak_megabytes"] for result in line.results if result["peak_megabytes"]]
    return [
        f"{line.results[0]['parameters']:,}",
        f"{mean(how['seconds_per_epoch'] for how in trained):,.2f}" if trained else "–",
        f"{mean(how['seconds'] for how in trained):,.0f}" if trained else "–",
        f"{max(peaks):,}" if peaks else "–",
        "; ".join(sorted({result["device"] for result in line.results})),
    ]


def _timed(line: Line) -> list[Mapping[str, Any]]:
    """The results whose times say something: those that had the machine to themselves."""
    return [result for result in line.results if result["jobs"] == 1]


def _blank(line: Line, num_cells: int) -> list[str]:
    """The cells of a line without a result."""
    return ["not run" if line.row.model else "", *[""] * (num_cells - 1)]


def _notes(lines: Sequence[Line]) -> tuple[str, ...]:
    return (*_of_seeds(lines), *_of_rows([line.row for line in lines]))


def _of_seeds(lines: Sequence[Line]) -> list[str]:
    """Which lines lack seeds; without names where all do that are to have several."""
    several = [line for line in lines if line.results and line.num_wanted > 1]
    said: dict[str, list[str]] = {}
    for line in several:
        if len(line.results) < line.num_wanted:
            missing = f"only {len(line.results)} of {line.num_wanted} seeds finished"
            said.setdefault(missing, []).append(line.row.name)
    return [
        missing if len(names) == len(several) else f"{'; '.join(names)}: {missing}"
        for missing, names in said.items()
    ]


def _of_rows(rows: Sequence[Row]) -> list[str]:
    """What has to be said of rows, those of which the same is true together."""
    said: dict[str, list[str]] = {}
    for row in rows:
        if row.note:
            said.setdefault(row.note, []).append(row.name)
    return [f"{'; '.join(names)}: {note}" for note, names in said.items()]


def _mean_of(values: Sequence[float]) -> str:
    """
    >>> _mean_of([0.63551]), _mean_of([0.634, 0.636, 0.638])
    ('.636', '.636 ± .002')
    """
    spread = f" ± {_short(stdev(values))}" if len(values) > 1 else ""
    return _short(mean(values)) + spread


def _short(value: float) -> str:
    return f"{value:.3f}".removeprefix("0")


def markdown(table: Table) -> str:
    """A table with its title above and its notes below, without an empty line at either end."""
    lines = [f"{markdown_text(table.title)}:", "", *markdown_table(table.heads, table.rows)]
    if table.notes:
        lines += ["", *(f"- {markdown_text(note)}" for note in table.notes)]
    return "\n".join(lines)


def fill(text: str, results: Results) -> str:
    """Put tables into the places that a text has for them, and leave all else as it is.

    A place begins with the line `<!-- table: EXPERIMENT DATA FILTER -->` and ends with
    `<!-- end of table -->`. For FILTER may stand `costs`; a fourth word says which of the
    experiment's judgements is meant, counted from 0, or `valid`; left out, the first. `all mrr` for
    DATA FILTER is the MRR of every data set under both filters.
    """
    filled = []
    lines = iter(text.split("\n"))
    for line in lines:
        filled.append(line)
        if place := PLACE.fullmatch(line):
            for skipped in lines:
                if skipped == END_OF_PLACE:
                    break
                if PLACE.fullmatch(skipped):
                    raise _endless(line)
            else:
                raise _endless(line)
            filled += ["", markdown(_table_for(place[1].split(), results)), "", END_OF_PLACE]
    return "\n".join(filled)


def _endless(line: str) -> InputError:
    return InputError(f"nothing ends the table of {line!r}; add a line {END_OF_PLACE!r} below it")


def _table_for(words: Sequence[str], results: Results) -> Table:
    wanted = " ".join(words)
    if not 3 <= len(words) <= 4:
        raise InputError(f"table {wanted!r} is unclear; write EXPERIMENT DATA FILTER [JUDGEMENT]")
    name, data, which, *rest = words
    experiment = find_experiment(name)
    if (data, which) == ("all", "mrr"):
        if rest:
            raise InputError(f"table {wanted!r}: nothing can stand after 'all mrr'")
        return table_of_mrr(experiment, results)
    known = [*experiment.data, *data_at_hand(experiment, quick=True)]
    if data not in known:
        raise InputError(f"table {wanted!r}: {name} has the data sets {', '.join(known)}")
    judged = {str(number): judgement for number, judgement in enumerate(experiment.judged)}
    judgement = (judged | {"valid": JUDGEMENTS[-1]}).get(rest[0] if rest else "0")
    if judgement is None:
        raise InputError(f"table {wanted!r}: the judgements are {', '.join(judged)} and valid")
    tables = {
        one: replace(experiment, judged=(judgement,), filters=(one,), costs=False)
        for one in FILTERS
    } | {"costs": replace(experiment, judged=(), costs=True)}
    if which not in tables:
        raise InputError(f"table {wanted!r}: the filters are {', '.join(FILTERS)}, or costs")
    return tables_of(tables[which], data, results, quick=is_quick(data))[0]
