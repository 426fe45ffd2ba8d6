"""`targcn reproduce`: an experiment of the paper by one command."""

from dataclasses import replace
from pathlib import Path

from cyclopts import App

from targcn.cli import options
from targcn.config import require_at_least
from targcn.errors import InputError
from targcn.output.tables import Table
from targcn.output.terminal import show

reproduce = App(
    name="reproduce",
    help="Run the paper's experiments; what is finished is not run again.",
    help_format="plaintext",
)


@reproduce.command(name="list")
def list_all() -> None:
    """List the experiments, their data sets and how many runs each takes."""
    from targcn.experiments.spec import EXPERIMENTS, find_experiment

    rows = []
    for name in EXPERIMENTS:
        experiment = find_experiment(name)
        num_runs = sum(bool(row.model) for row in experiment.rows)
        data = ", ".join(experiment.data)
        rows.append((name, experiment.about, data, str(num_runs), str(experiment.seeds)))
    show(Table.of_text(("experiment", "what it asks", "data sets", "runs", "seeds"), rows))


@reproduce.default
def run_experiments(
    *names: str,
    data: options.Words = (),
    seeds: int | None = None,
    device: options.Device = "auto",
    jobs: int = 1,
    results: Path = Path("results"),
) -> None:
    """Run one or more experiments and show their tables next to the paper's figures.

    Every result is written to a file of its own as soon as it is there, and a run that was stopped
    goes on. Experiments share the runs they have in common.

    Args:
        names: Experiments (see `reproduce list`), or `all`.
        data: Only these data sets, and those derived from them; default: all that are here or small
            enough to download.
        seeds: The number of seeds; default: what the experiment says.
        jobs: Processes that share the work, and the GPU.
        results: The folder of results.
    """
    from targcn.experiments.cells import cells_of, choose_data, read_results
    from targcn.experiments.execute import CellError, run_cells
    from targcn.experiments.spec import EXPERIMENTS, find_experiment
    from targcn.experiments.tables import tables_of
    from targcn.facts.derive import origin_of
    from targcn.training.progress import training_progress

    if not names:
        raise InputError("which experiment? 'targcn reproduce list' shows all; 'all' runs them all")
    require_at_least(1, seeds=seeds, jobs=jobs)
    chosen = [find_experiment(name) for name in (EXPERIMENTS if "all" in names else names)]
    if seeds:
        chosen = [replace(experiment, seeds=seeds) for experiment in chosen]
    known = {name for experiment in chosen for name in experiment.data}
    known |= {origin_of(name).name for name in known}
    if unknown := [name for name in data if name not in known]:
        choices = ", ".join(sorted(known))
        raise InputError(f"{unknown[0]} is no data set of these; choose from {choices}")
    cells, shown = [], []
    for experiment in chosen:
        for name in choose_data(experiment, data):
            shown.append((experiment, name))
            for row in experiment.rows:
                cells += cells_of(row, name, experiment.seeds)
    # What is no result is refused before anything is run.
    read_results(results)
    failure: CellError | None = None
    try:
        with training_progress() as progress:
            run_cells(cells, results, device, jobs, progress, show)
    except CellError as error:
        failure = error
    finished = read_results(results)
    for experiment, name in shown:
        for table in tables_of(experiment, name, finished):
            show("")
            show(table, folded=False)
    show(f"\nthe results are in {results}")
    if failure is not None:
        raise failure
