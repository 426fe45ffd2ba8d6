"""`targcn reproduce`: an experiment of the paper by one command."""

import time
from pathlib import Path
from typing import Annotated

from cyclopts import App, Parameter

from targcn.cli.common import Device
from targcn.terminal import show, table_of, training_bar

reproduce = App(
    name="reproduce",
    help="Run the paper's experiments; what is finished is never run again.",
    help_format="plaintext",
)


@reproduce.command(name="list")
def list_all() -> None:
    """List the experiments, their data sets and how many runs each takes."""
    from targcn.experiments import find_experiment, list_experiments

    table = table_of("experiment", "what it asks", "data sets", "runs", "seeds")
    for name in list_experiments():
        experiment = find_experiment(name)
        num_runs = sum(bool(row.model) for row in experiment.rows)
        data = ", ".join(experiment.data)
        table.add_row(name, experiment.about, data, str(num_runs), str(experiment.seeds))
    show(table)


@reproduce.default
def run_experiments(
    *names: str,
    data: Annotated[
        tuple[str, ...], Parameter(consume_multiple=True, negative="", show_default=False)
    ] = (),
    seeds: int | None = None,
    device: Device = "auto",
    jobs: int = 1,
    quick: Annotated[bool, Parameter(negative="")] = False,
    results: Path | None = None,
) -> None:
    """Run one or more experiments and show their tables, the paper's figures beside.

    Every run is kept as a file under the results folder as soon as it is judged, and one that was
    stopped goes on where it stood. Experiments share runs.

    Parameters
    ----------
    names
        Experiments (see `reproduce list`), or `all`.
    data
        Only these data sets, and those derived of them; left out: all that are at hand or small
        enough to be fetched.
    seeds
        How many seeds; left out: as many as the experiment says, and 1 for a quick look.
    jobs
        Processes that share the work, and the GPU.
    quick
        The whole shape in minutes: tiny models, one epoch, on `congress`; no figures to trust.
    results
        Where results are kept; left out: results/, and results-quick/ for a quick look.
    """
    from targcn.cells import cells_of, data_at_hand, read_results, seeds_of
    from targcn.errors import InputError
    from targcn.experiments import find_experiment, list_experiments
    from targcn.facts.derive import origin_of
    from targcn.reporting import tables_of
    from targcn.reproduction import CellError, run_cells

    if not names:
        raise InputError("which experiment? 'targcn reproduce list' shows all; 'all' runs them all")
    for name, number in (("seeds", seeds), ("jobs", jobs)):
        if number is not None and number < 1:
            raise InputError(f"{name} is {number}; at least 1 was expected")
    if quick and data:
        raise InputError("a quick look is on congress alone; leave out --data or --quick")
    chosen = [find_experiment(name) for name in (list_experiments() if "all" in names else names)]
    known = {name for experiment in chosen for name in experiment.data}
    known |= {origin_of(name)[0] for name in known}
    for asked in data:
        if asked not in known:
            raise InputError(
                f"{asked} is no data set of these; choose of {', '.join(sorted(known))}"
            )
    folder = results or Path("results-quick" if quick else "results")
    cells = []
    shown = []
    for experiment in chosen:
        for name in data_at_hand(experiment, data, quick, show):
            shown.append((experiment, name))
            num_seeds = seeds or seeds_of(experiment, quick)
            for _, of_row in cells_of(experiment, name, num_seeds, quick):
                cells += of_row
    num_before = len(read_results(folder))
    began = time.monotonic()
    failure: CellError | None = None
    try:
        with training_bar() as watch:
            run_cells(cells, folder, device, jobs, watch, show)
    except CellError as error:
        failure = error
    seconds = time.monotonic() - began
    found = read_results(folder)
    for experiment, name in shown:
        for table in tables_of(experiment, name, found, seeds, quick):
            show(f"\n{table.title}")
            printed = table_of(*table.heads)
            for row in table.rows:
                printed.add_row(*row)
            show(printed, folded=False)
            for note in table.notes:
                show(note)
    show(f"\nfinished {len(found) - num_before} more in {seconds:,.0f} s, kept in {folder}")
    show(f"pages of it all: targcn report {folder} --out report")
    if failure is not None:
        raise failure
