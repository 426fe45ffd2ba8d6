"""Run cells: train and evaluate each once, and keep its result in a file of its own.

A cell that has a result is not run again, and one that was stopped goes on from its run folder
under `.unfinished/` in the folder of results. Several processes can share the work.
"""

import gc
import itertools
import os
import platform
import shutil
import signal
import statistics
import subprocess
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from dataclasses import asdict, replace
from functools import lru_cache, partial
from multiprocessing import active_children, get_context, parent_process
from pathlib import Path
from typing import Any, Final

import torch

from targcn import __version__
from targcn.devices import choose_device, describe_device, is_out_of_memory
from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.report import Setting
from targcn.experiments.cells import Cell, Figures, Result, open_data
from targcn.experiments.spec import SETTINGS
from targcn.files import explained, remove_drafts, sole_writer
from targcn.runs.fuse import fuse
from targcn.runs.run import Run
from targcn.runs.store import TRACE
from targcn.training.fit import fit
from targcn.training.progress import ProgressCallback, read_trace

UNFINISHED: Final = ".unfinished"
# One for every setting; all cells of a data set share them.
Evaluators = dict[Setting, Evaluator]
Log = Callable[[str], None]


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
    choose_device(device)
    with explained(results):
        results.mkdir(parents=True, exist_ok=True)
    failed: list[str] = []
    with sole_writer(results):
        waiting = []
        for cell in {cell.key: cell for cell in cells}.values():
            if cell.path(results).exists():
                # A kill may have come between its result and the end of what led to it.
                shutil.rmtree(results / UNFINISHED / cell.key, ignore_errors=True)
                remove_drafts(cell.path(results).parent)
            else:
                waiting.append(cell)
        numbers = itertools.count(1)

        def attempt(cell: Cell, result_of: Callable[[], Result]) -> None:
            try:
                line = _describe(result_of())
            except InputError as error:
                failed.append(cell.name)
                line = f"{cell.name} failed: {error}"
            log(f"{next(numbers)} of {len(waiting)}: {line}")

        how = results, device, jobs
        try:
            if jobs == 1 or not waiting:
                for cell in waiting:
                    attempt(cell, partial(_finish, cell, *how, progress))
            else:
                with _pool(jobs) as pool:
                    futures = {pool.submit(_finish, cell, *how): cell for cell in waiting}
                    for future in as_completed(futures):
                        attempt(futures[future], future.result)
        except BrokenProcessPool:
            raise CellError("a process ended early; the same command goes on from here") from None
        except KeyboardInterrupt:
            log("stopped; the same command goes on from here")
            raise
        finally:
            _evaluators.cache_clear()
    if failed:
        raise CellError(f"{', '.join(failed)} failed; the same command tries again")


@contextmanager
def _pool(jobs: int) -> Iterator[ProcessPoolExecutor]:
    """Processes that end at once where the block fails: trainings go on from what they saved."""
    pool = ProcessPoolExecutor(jobs, get_context("spawn"), _begin_work, (jobs,))
    try:
        yield pool
    except BaseException:
        for worker in active_children():
            worker.kill()
        raise
    finally:
        pool.shutdown(cancel_futures=True)


def _begin_work(jobs: int) -> None:
    """Make a process one of several that share the machine, and end when the first one does."""
    # Ctrl-C is for the first one alone.
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    torch.set_num_threads(max(torch.get_num_threads() // jobs, 1))
    # torch would start as many compiler processes as there are processors, in every worker.
    share = max((os.cpu_count() or 1) // jobs, 1)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(share))

    def end_with_parent() -> None:
        if parent := parent_process():
            parent.join()
            os._exit(1)

    threading.Thread(target=end_with_parent, daemon=True).start()


def _finish(
    cell: Cell,
    results: Path,
    device: str,
    jobs: int,
    progress: ProgressCallback | None = None,
) -> Result:
    """Run a cell, from where it was stopped if that can be, and write its result."""
    folder = results / UNFINISHED / cell.key
    try:
        evaluators = _evaluators(cell.data, device)
        was_begun = folder.exists()
        try:
            result = run_cell(cell, evaluators, folder, progress)
        except InputError:
            # What a kill, a full disk or other defaults left is of no use.
            shutil.rmtree(folder, ignore_errors=True)
            if not was_begun:
                raise
            result = run_cell(cell, evaluators, folder, progress)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        if choose_device(device).type == "cuda":
            torch.cuda.empty_cache()
        raise InputError(f"out of memory with {jobs} of --jobs") from None
    result = replace(result, jobs=jobs)
    result.write(results)
    shutil.rmtree(folder, ignore_errors=True)
    return result


@lru_cache(maxsize=1)
def _evaluators(data: str, device: str) -> Evaluators:
    dataset, where = open_data(data), choose_device(device)
    return {setting: Evaluator(dataset, setting, where) for setting in SETTINGS}


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
    how: dict[str, Any] = {"device": device, "progress": progress}
    if cell.members:
        runs = {
            part.name: fit(dataset, recipe=part.recipe, seed=part.seed, **how)
            for part in cell.members
        }
        run = fuse(runs, seed=cell.seed, device=device)
    else:
        how |= {"out": folder, "restarted": folder.exists()}
        run = fit(dataset, recipe=cell.recipe, seed=cell.seed, **how)
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
        weights=getattr(run.recipe.settings, "weights", {}),
    )


def _evaluate(run: Run, evaluators: Evaluators) -> dict[Setting, Figures]:
    """The figures of a run in every setting; what is known already is not evaluated again."""

    def relevant(setting: Setting) -> Setting:
        return setting if run.model.reads_context else replace(setting, context="train")

    reports = {run.validation.setting: run.validation} if run.validation else {}
    for setting, evaluator in evaluators.items():
        if (read := relevant(setting)) not in reports:
            ranks = evaluator.ranks(run.model_to_evaluate())
            reports[read] = evaluator.summarize(ranks, run.recipe.model)
    return {
        setting: {
            which: {key: round(value, 5) for key, value in sides["both"].items()}
            for which, sides in reports[relevant(setting)].metrics.items()
        }
        for setting in evaluators
    }


def _describe_training(folder: Path, run: Run) -> dict[str, Any] | None:
    """Epochs and times of a training; None where nothing is trained, or nobody knows."""
    if run.trained is None or not (folder / TRACE).exists():
        return None
    seconds = [line["seconds"] for line in read_trace(folder / TRACE) if "seconds" in line]
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
    root = Path(__file__).parents[3]
    if not (root / ".git").exists() or shutil.which("git") is None:
        return None
    command = ["git", "describe", "--always", "--dirty", "--abbrev=12", "--match="]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True)
    return done.stdout.strip() or None


def _describe(result: Result) -> str:
    cell, setting = result.cell, SETTINGS[0]
    mrrs = [f"{which} {figures['mrr']:.3f}" for which, figures in result.figures[setting].items()]
    return (
        f"{cell.recipe.model} ({cell.recipe.name}) on {cell.data}, seed {cell.seed}: MRR, "
        f"{setting}: {', '.join(mrrs)} ({result.seconds:,.0f} s)"
    )
