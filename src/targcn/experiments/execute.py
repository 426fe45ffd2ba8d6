"""Run cells: train and evaluate each once, and keep its result in a file of its own.

A cell that has a result is not run again, one that was stopped goes on, and several processes can
share the work.
"""

import gc
import os
import platform
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, replace
from multiprocessing import get_context, parent_process
from pathlib import Path
from typing import Any, Final

import torch

from targcn import __version__
from targcn.devices import choose_device, describe_device, is_out_of_memory
from targcn.errors import DamagedError, InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Setting
from targcn.experiments.cells import Cell, open_data
from targcn.experiments.claims import Attempt
from targcn.experiments.results import Figures, Result, read_results
from targcn.experiments.spec import SETTINGS
from targcn.facts.dataset import Dataset
from targcn.files import parse_json, read_text, remove_drafts
from targcn.models.fused import FusedSettings
from targcn.models.registry import find_model
from targcn.runs.fuse import fuse
from targcn.runs.run import Run
from targcn.runs.store import TRACE
from targcn.training.fit import fit
from targcn.training.progress import ProgressCallback

# One for every setting; all cells of a data set share them.
Evaluators = dict[Setting, Evaluator]
Log = Callable[[str], None]
ENDED_EARLY: Final = "a process ended early"


class CellError(InputError):
    """Some cells could not be run; the others were."""


def run_cells(
    cells: Sequence[Cell],
    results: Path,
    device: str = "auto",
    jobs: int = 1,
    progress: ProgressCallback | None = None,
    log: Log = print,
) -> None:
    """Run the cells that have no result yet, in several processes if asked to."""
    distinct = list({cell.key: cell for cell in cells}.values())
    for cell in distinct:
        Attempt(cell, results).forget_failure()
    for folder in {cell.path(results).parent for cell in distinct}:
        remove_drafts(folder)
    problems = []
    try:
        if jobs > 1:
            # Models that read the context leave room on a GPU and run well side by side; an
            # embedding model fills a GPU alone.
            distinct.sort(key=lambda cell: not any(map(_reads_context, cell.members or [cell])))
            if _run_in_processes(distinct, results, device, jobs, log):
                problems = [ENDED_EARLY]
        else:
            _run_in_this_process(distinct, results, device, 1, progress, log)
    except KeyboardInterrupt:
        log("stopped; the same command goes on from here")
        raise
    failed = [cell.name for cell in distinct if Attempt(cell, results).has_failed]
    if failed:
        problems.insert(0, f"{', '.join(failed)} failed")
    if problems:
        raise CellError(f"{' and '.join(problems)}; the same command tries again")


def _run_in_this_process(
    cells: Sequence[Cell],
    results: Path,
    device: str,
    jobs: int,
    progress: ProgressCallback | None,
    log: Log,
) -> None:
    """Run every cell that this process can claim; `jobs` processes share the machine."""
    torch.set_num_threads(max(torch.get_num_threads() // jobs, 1))
    # A damaged or outdated result is an error, not a finished cell.
    read_results(results)
    where = choose_device(device)
    evaluators: Evaluators = {}
    for number, cell in enumerate(cells, 1):
        attempt = Attempt(cell, results)
        if attempt.is_finished:
            attempt.forget()
        if attempt.is_settled:
            continue
        with attempt.claimed() as mine:
            if not mine and jobs == 1:
                log(f"{number} of {len(cells)}: another process runs {cell.name}")
            if not mine or attempt.is_settled:
                continue
            if not attempt.is_begun:
                attempt.clear_up()
            attempt.note_jobs(jobs)
            try:
                if not evaluators or evaluators[SETTINGS[0]].dataset.name != cell.data:
                    dataset = open_data(cell.data)
                    evaluators = {one: Evaluator(dataset, one, where) for one in SETTINGS}
                result = _run_anew_if_damaged(cell, evaluators, attempt, progress, log)
            except (InputError, RuntimeError, MemoryError) as error:
                reason = _reason_of_failure(error, jobs)
                if where.type == "cuda":
                    torch.cuda.empty_cache()
                attempt.note_failure()
                log(f"{number} of {len(cells)}: {cell.name} failed: {reason}")
                continue
            replace(result, jobs=attempt.note_jobs(jobs)).write(results)
            attempt.clear_up()
        log(f"{number} of {len(cells)}: {_describe(result)}")


def _run_anew_if_damaged(
    cell: Cell,
    evaluators: Evaluators,
    attempt: Attempt,
    progress: ProgressCallback | None,
    log: Log,
) -> Result:
    """Run a cell; one that cannot go on from what a kill or a full disk left begins again."""
    try:
        return run_cell(cell, evaluators, attempt.folder, progress)
    except DamagedError as error:
        log(f"{cell.name} begins again: {error}")
        attempt.clear_up()
        return run_cell(cell, evaluators, attempt.folder, progress)


def _reason_of_failure(error: Exception, jobs: int) -> str:
    """Why a cell could not be run; an error that is a bug is raised again."""
    if isinstance(error, InputError):
        return str(error)
    if is_out_of_memory(error):
        return "out of memory" + ("; with fewer jobs each has more" if jobs > 1 else "")
    raise error


def run_cell(
    cell: Cell, evaluators: Evaluators, folder: Path, progress: ProgressCallback | None = None
) -> Result:
    """Train a cell in a run folder, or go on with it there, and evaluate it in every setting."""
    dataset, device = evaluators[SETTINGS[0]].dataset, evaluators[SETTINGS[0]].device
    on_gpu = device.type == "cuda"
    if on_gpu:
        # The recorded step of the cell before is in a reference cycle and holds GPU memory.
        gc.collect()
        torch.cuda.reset_peak_memory_stats(device)
    commit = _commit()
    began = time.monotonic()
    if cell.members:
        runs = {one.name: _train(one, dataset, None, device, progress) for one in cell.members}
        run = fuse(runs, seed=cell.seed, device=device)
    else:
        run = _train(cell, dataset, folder, device, progress)
    return Result(
        cell=cell,
        figures=_evaluate(run, evaluators),
        settings=asdict(cell.recipe.settings),
        training=asdict(run.recipe.training) if run.trained else {},
        parameters=run.num_parameters,
        trained=_describe_training(folder, run),
        peak_megabytes=round(torch.cuda.max_memory_allocated(device) / 1e6) if on_gpu else None,
        seconds=round(time.monotonic() - began, 1),
        device=describe_device(device),
        commit=commit,
        targcn=__version__,
        torch=torch.__version__,
        python=platform.python_version(),
        weights=run.recipe.settings.weights
        if isinstance(run.recipe.settings, FusedSettings)
        else {},
    )


def _train(
    cell: Cell,
    dataset: Dataset,
    folder: Path | None,
    device: torch.device,
    progress: ProgressCallback | None,
) -> Run:
    return fit(
        dataset,
        cell.recipe.model,
        recipe=cell.recipe,
        seed=cell.seed,
        out=folder,
        device=device,
        progress=progress,
        restarted=folder is not None and folder.exists(),
    )


def _reads_context(cell: Cell) -> bool:
    return find_model(cell.recipe.model).reads_context


def _evaluate(run: Run, evaluators: Evaluators) -> dict[Setting, Figures]:
    """The figures of a run in every setting; what is known already is not evaluated again."""

    def relevant(setting: Setting) -> Setting:
        return setting if run.model.reads_context else replace(setting, context="train")

    reports = {run.validation.setting: run.validation} if run.validation else {}
    for setting, evaluator in evaluators.items():
        if (read := relevant(setting)) not in reports:
            reports[read] = evaluator.evaluate(run.model_to_evaluate(), run.recipe.model)
    return {
        setting: {
            which: {key: round(value, 5) for key, value in sides["both"].items()}
            for which, sides in reports[relevant(setting)].metrics.items()
        }
        for setting in evaluators
    }


def _run_in_processes(
    cells: Sequence[Cell], results: Path, device: str, jobs: int, log: Log
) -> bool:
    """Run cells in several processes; whether one of them ended early."""
    if not torch.cuda.is_available():
        # With a GPU this process would take some of its memory by checking.
        choose_device(device)
    spawn, arguments = get_context("spawn"), (cells, results, device, jobs, log)
    workers = [spawn.Process(target=_work, args=arguments) for _ in range(jobs)]
    waiting, stopped = [*workers], False
    while waiting or any(worker.is_alive() for worker in workers):
        try:
            # A worker that is starting has nothing to save, and would print a traceback.
            with _interrupts_ignored():
                while waiting:
                    waiting.pop().start()
            for worker in workers:
                worker.join()
        except KeyboardInterrupt:
            # Workers save their state; a second interrupt stops them at once.
            stopped = True
            for worker in workers:
                worker.terminate()
    if stopped:
        raise KeyboardInterrupt
    return any(worker.exitcode for worker in workers)


@contextmanager
def _interrupts_ignored() -> Iterator[None]:
    """Ignore Ctrl-C here and in processes that are started meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _work(cells: Sequence[Cell], results: Path, device: str, jobs: int, log: Log) -> None:
    """The main function of a worker; it exits without a traceback when it is stopped."""
    # Ctrl-C reaches the parent alone, which passes it on once.
    os.setpgrp()
    # torch would start as many compiler processes as there are processors, in every worker.
    share = max((os.cpu_count() or 1) // jobs, 1)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(share))
    threading.Thread(target=_stop_with_parent, daemon=True).start()
    try:
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        _run_in_this_process(cells, results, device, jobs, None, log)
    except InputError as error:
        log(f"{ENDED_EARLY}: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _stop_with_parent() -> None:
    """Stop this process when its parent has ended."""
    if parent := parent_process():
        parent.join()
        os.kill(os.getpid(), signal.SIGTERM)


def _describe_training(folder: Path, run: Run) -> dict[str, Any] | None:
    """Epochs and times of a training; None where nothing is trained, or nobody knows."""
    if run.trained is None or not (folder / TRACE).exists():
        return None
    lines = read_text(folder / TRACE).splitlines()
    seconds = [line["seconds"] for line in map(parse_json, lines) if "seconds" in line]
    return {
        "epochs": run.trained.epochs,
        "best_epoch": run.trained.best_epoch,
        "seconds": run.trained.seconds,
        # The median, since the first epoch also warms up and records.
        "seconds_per_epoch": round(statistics.median(seconds), 3),
        "queries_per_epoch": 2 * len(run.dataset.train),
    }


def _commit() -> str | None:
    """The commit of the program, if it runs from its own checkout."""
    here = Path(__file__)
    try:
        # This fails if the program is only installed somewhere inside another checkout.
        _git(here.parent, "ls-files", "--error-unmatch", here.name)
        return _git(here.parent, "describe", "--always", "--dirty", "--abbrev=12", "--match=")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *words: str) -> str:
    done = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def _describe(result: Result) -> str:
    cell, setting = result.cell, SETTINGS[0]
    mrrs = [f"{which} {figures['mrr']:.3f}" for which, figures in result.figures[setting].items()]
    return (
        f"{cell.recipe.model} ({cell.recipe.name}) on {cell.data}, seed {cell.seed}: MRR, "
        f"{setting}: {', '.join(mrrs)} ({result.seconds:,.0f} s)"
    )
