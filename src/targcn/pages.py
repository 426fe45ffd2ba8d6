"""Results as pages: report.md and index.html with every table and plot, the same in both.

Takes a folder of results; gives a folder that needs nothing else to be read. Next room: cli.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from itertools import groupby
from pathlib import Path
from statistics import mean, stdev
from typing import Any, Final

from targcn.cells import METRICS, Cell, data_at_hand, seeds_of
from targcn.drawing import Line as DrawnLine
from targcn.drawing import Mark, draw_lines, draw_marks, require_picture
from targcn.errors import InputError
from targcn.experiments import JUDGEMENTS, Experiment, find_experiment, list_experiments
from targcn.files import atomic_folder, require_absent
from targcn.filtering import FILTERS
from targcn.reporting import (
    Line,
    Results,
    Table,
    is_quick,
    lines_of,
    markdown,
    results_in,
    table_of_mrr,
    tables_of,
    title_of,
)
from targcn.writeup import markdown_text

TITLE: Final = "The paper's experiments, measured again"
# The experiment shown at a glance, whose runs are drawn as points over their parameters.
MAIN: Final = "main"
# What plots show.
JUDGED: Final = JUDGEMENTS[0]
SPLIT_AND_CONTEXT: Final = JUDGED.replace(",", " split,")

STYLE: Final = """
:root { color-scheme: light dark; --ink: #222; --page: #fff; --rule: #ccc; --link: #0b62a0; }
@media (prefers-color-scheme: dark) {
  :root { --ink: #ddd; --page: #161616; --rule: #444; --link: #6cb6ee; }
}
body { max-width: 62rem; margin: 2rem auto; padding: 0 1rem; color: var(--ink);
  background: var(--page); font: 16px/1.5 system-ui, sans-serif; }
a { color: var(--link); }
h2 { margin-top: 3rem; border-top: 1px solid var(--rule); padding-top: 1rem; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; margin: 1.5rem 0 .5rem; font-variant-numeric: tabular-nums; }
caption { text-align: left; font-weight: 600; padding-bottom: .4rem; }
th, td { text-align: left; padding: .2rem .9rem .2rem 0; border-bottom: 1px solid var(--rule); }
td { white-space: nowrap; }
.notes { font-size: .875rem; margin-top: 0; }
figure { margin: 1.5rem 0; }
svg { max-width: 100%; height: auto; }
"""


@dataclass(frozen=True)
class Heading:
    text: str
    anchor: str


@dataclass(frozen=True)
class Command:
    text: str


@dataclass(frozen=True)
class Items:
    texts: tuple[str, ...]


@dataclass(frozen=True)
class Picture:
    file: str
    caption: str


# What a page is made of; plain text is a paragraph.
Block = str | Heading | Command | Items | Picture | Table


def write_report(results_folder: Path, out: Path) -> None:
    """Write pages of every experiment that has a result, and of what was not measured."""
    require_absent(out)
    results = results_in(results_folder)
    with atomic_folder(out) as draft:
        blocks = list(_blocks(results, draft))
        (draft / "report.md").write_text(_as_markdown(blocks), encoding="utf-8")
        (draft / "index.html").write_text(_as_html(blocks, draft), encoding="utf-8")


def _blocks(results: Results, folder: Path) -> Iterator[Block]:
    """All that the pages say, in order; plots are drawn into the folder on the way."""
    if any(is_quick(result["cell"]["data"]) for result in results.values()):
        yield (
            "What is called a quick look was run with tiny models for one epoch on a small set: it "
            "shows that everything runs, and its figures mean nothing."
        )
    yield (
        "Every figure is of the split, context and filter that its table names. Where several "
        "seeds were run it is their mean, ± their sample standard deviation. The paper's figures "
        "stand only beside those measured with the same filter."
    )
    undrawable = _why_no_plots()
    if undrawable:
        yield f"There are no plots here: {undrawable}."
    glance = table_of_mrr(find_experiment(MAIN), results)
    if glance.rows:
        yield Heading("At a glance", "at-a-glance")
        yield glance
    missing = []
    for name in list_experiments():
        experiment = find_experiment(name)
        for data in [*experiment.data, *data_at_hand(experiment, quick=True)]:
            quick = is_quick(data)
            lines = lines_of(experiment, data, results, seeds_of(experiment, quick), quick)
            if any(line.results for line in lines):
                yield Heading(f"{experiment.title}: {data}", f"{name}-{data}")
                yield f"{experiment.about[0].upper()}{experiment.about[1:]}."
                yield Command(f"targcn reproduce {name} {'--quick' if quick else f'--data {data}'}")
                yield from tables_of(experiment, data, results, quick=quick)
                if not undrawable:
                    yield from _plots(experiment, data, lines, folder)
            elif not quick:
                missing.append(f"{experiment.title}, {data}: not measured")
    if missing:
        yield Heading("Not measured", "not-measured")
        yield Items(tuple(missing))
    yield Heading("Every result", "every-result")
    yield _table_of_files(results)


def _table_of_files(results: Results) -> Table:
    rows = []
    for result in results.values():
        cell, figures = Cell(**result["cell"]), result["figures"][JUDGED]
        rows.append(
            (
                cell.path(Path()).as_posix(),
                str(cell.seed),
                result["commit"] or "unknown",
                result["device"],
                f"{result['seconds']:,.0f}",
                *(f"{figures[which]['mrr']:.5f}" for which in FILTERS),
            )
        )
    heads = ("file", "seed", "commit", "device", "seconds", *(f"MRR, {one}" for one in FILTERS))
    title = f"Every result file: {SPLIT_AND_CONTEXT}, mean rank on ties, both directions"
    return Table(title, heads, tuple(sorted(rows)))


# --- plots ----------------------------------------------------------------------------------


def _why_no_plots() -> str:
    try:
        require_picture(Path("plot.svg"))
    except InputError as error:
        return str(error)
    return ""


def _plots(
    experiment: Experiment, data: str, lines: Sequence[Line], folder: Path
) -> Iterator[Picture]:
    path = folder / f"{experiment.name}-{data}.svg"
    about, judged = title_of(experiment, data, is_quick(data)), SPLIT_AND_CONTEXT
    if experiment.plot:
        at_places = all(line.row.place is not None for line in lines)
        draw_lines(
            _lines_over_places(lines) if at_places else _lines_over_parameters(lines),
            path,
            f"{about}\n{judged}",
            experiment.plot,
            "MRR and Hits" if at_places else "MRR",
            logarithmic=not at_places,
        )
        yield Picture(path.name, f"{about}: {judged}, over {experiment.plot}")
    elif experiment.name == MAIN:
        judged += ", time-aware filter"
        draw_marks(_marks(lines), path, f"{about}\n{judged}", "MRR, time-aware filter")
        yield Picture(path.name, f"{about}: {judged}, over parameters")


def _lines_over_places(lines: Sequence[Line]) -> list[DrawnLine]:
    """Every metric of all lines, over the places these have."""
    drawn = []
    for metric, name in enumerate(METRICS.values()):
        drawn += _measured_and_printed(name, lines, color=metric, metric=metric)
    return drawn


def _lines_over_parameters(lines: Sequence[Line]) -> list[DrawnLine]:
    """The MRR of lines whose names begin alike, over their parameters."""
    drawn = []
    groups = groupby(lines, key=lambda line: line.row.name.partition(",")[0])
    for color, (name, group) in enumerate(groups):
        drawn += _measured_and_printed(name, list(group), color, metric=0)
    return drawn


def _measured_and_printed(
    name: str, lines: Sequence[Line], color: int, metric: int
) -> list[DrawnLine]:
    """What was measured as one line, and what the paper prints as one for each of its filters."""
    drawn = []
    points = [
        (
            _place(line, line.results[0]),
            mean(line.measured(JUDGED, "static", list(METRICS)[metric])),
        )
        for line in lines
        if line.results
    ]
    if points:
        drawn.append(DrawnLine(f"{name}, measured, static filter", sorted(points), color, False))
    for which in FILTERS:
        points = [
            (_place(line, line.paper), line.printed(JUDGED, which)[metric])
            for line in lines
            if len(line.printed(JUDGED, which)) > metric
        ]
        if points:
            drawn.append(DrawnLine(f"{name}, paper, {which} filter", sorted(points), color, True))
    return drawn


def _place(line: Line, source: Mapping[str, Any]) -> float:
    return float(source["parameters"] if line.row.place is None else line.row.place)


def _marks(lines: Sequence[Line]) -> list[Mark]:
    marks = []
    for line in lines:
        if line.results:
            values = line.measured(JUDGED, "time-aware", "mrr")
            middle, reach = mean(values), stdev(values) if len(values) > 1 else 0.0
            num_parameters = line.results[0]["parameters"]
            name = line.row.name
            marks.append(Mark(name, num_parameters, middle, middle - reach, middle + reach))
    return marks


# --- two ways to write it down --------------------------------------------------------------


def _as_markdown(blocks: Sequence[Block]) -> str:
    return "\n\n".join([f"# {TITLE}", *map(_block_in_markdown, blocks)]) + "\n"


def _block_in_markdown(block: Block) -> str:
    match block:
        case Heading():
            return f"## {markdown_text(block.text)}"
        case Command():
            return f"```\n$ {block.text}\n```"
        case Items():
            return "\n".join(f"- {markdown_text(text)}" for text in block.texts)
        case Picture():
            return f"![{markdown_text(block.caption)}]({block.file})"
        case Table():
            return markdown(block)
        case str():
            return markdown_text(block)


def _as_html(blocks: Sequence[Block], folder: Path) -> str:
    headings = [block for block in blocks if isinstance(block, Heading)]
    contents = [f'<li><a href="#{one.anchor}">{escape(one.text)}</a></li>' for one in headings]
    body = [_block_in_html(block, folder) for block in blocks]
    body.insert(blocks.index(headings[0]), f"<nav><ul>{''.join(contents)}</ul></nav>")
    lines = [
        "<!doctype html>",
        '<html lang="en">',
        '<head><meta charset="utf-8">',
        '<meta name="viewport" content="width=device-width, initial-scale=1">',
        f"<title>{TITLE}</title>",
        f"<style>{STYLE}</style></head>",
        f"<body><h1>{TITLE}</h1>",
        *body,
        "</body></html>",
    ]
    return "\n".join(lines) + "\n"


def _block_in_html(block: Block, folder: Path) -> str:
    match block:
        case Heading():
            return f'<h2 id="{escape(block.anchor)}">{escape(block.text)}</h2>'
        case Command():
            return f"<pre><code>{escape(block.text)}</code></pre>"
        case Items():
            return f"<ul>{_items(block.texts)}</ul>"
        case Picture():
            caption = f"<figcaption>{escape(block.caption)}</figcaption>"
            return f"<figure>{_inlined(folder / block.file)}{caption}</figure>"
        case Table():
            return _table_in_html(block)
        case str():
            return f"<p>{escape(block)}</p>"


def _table_in_html(table: Table) -> str:
    heads = "".join(f'<th scope="col">{escape(head)}</th>' for head in table.heads)
    rows = [
        "<tr>" + "".join(f"<td>{escape(cell)}</td>" for cell in row) + "</tr>" for row in table.rows
    ]
    notes = f'<ul class="notes">{_items(table.notes)}</ul>' if table.notes else ""
    return (
        f'<div class="wide"><table><caption>{escape(table.title)}</caption>'
        f"<thead><tr>{heads}</tr></thead><tbody>{''.join(rows)}</tbody></table></div>{notes}"
    )


def _items(texts: Sequence[str]) -> str:
    return "".join(f"<li>{escape(text)}</li>" for text in texts)


def _inlined(path: Path) -> str:
    """A picture for the middle of a page: without its head, its ids its own."""
    text = path.read_text(encoding="utf-8")
    drawing = text[text.index("<svg") :]
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\1{path.stem}-", drawing)
