"""Cells are run: each trained and judged once, its result kept in a file of its own.

Takes cells; gives one JSON each under `<folder>/<data set>/`, named after what was run, with its
settings, seed, commit, hardware, times and figures. A cell that is there is never run again; one
that was stopped goes on; several processes share the work. Next room: reporting.
"""

import gc
import json
import os
import platform
import signal
import statistics
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import asdict
from pathlib import Path
from typing import Any

import torch

from targcn import __version__
from targcn.attempts import Attempt
from targcn.cells import Cell, open_data, read_results
from targcn.checkpoint import Run
from targcn.devices import choose_device, describe_device, is_out_of_memory
from targcn.errors import InputError
from targcn.evaluation import Judge, Report
from targcn.experiments import JUDGEMENTS, Judgement
from targcn.facts.dataset import Dataset
from targcn.files import atomic_file
from targcn.filtering import FILTERS
from targcn.fitting import fit
from targcn.models import find_model
from targcn.runs import RunFile
from targcn.training import Watch

Judges = dict[Judgement, Judge]


class CellError(InputError):
    """Some cells could not be run; the others were."""


def run_cells(
    cells: Sequence[Cell],
    results: Path,
    device: str = "auto",
    jobs: int = 1,
    watch: Watch | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> None:
    """Run the cells that have no result yet, by several processes if asked to."""
    distinct = list({cell.key: cell for cell in cells}.values())
    for cell in distinct:
        Attempt(cell, results).forget_failure()
    ended_early = False
    try:
        if jobs > 1:
            # An embedding fills a GPU alone; what leaves room on it goes first, beside its like.
            distinct.sort(key=lambda cell: not find_model(cell.model).reads_context)
            ended_early = _run_together(distinct, results, device, jobs, tell)
        else:
            _run_alone(distinct, results, device, 1, watch, tell)
    except KeyboardInterrupt:
        tell("stopped; the same command goes on where it stood")
        raise
    left = [cell for cell in distinct if Attempt(cell, results).has_failed]
    wrong = [f"{', '.join(cell.name for cell in left)} failed"] if left else []
    wrong += ["a process ended early"] if ended_early else []
    if wrong:
        raise CellError(f"{' and '.join(wrong)}; the same command tries again")


def _run_alone(
    cells: Sequence[Cell],
    results: Path,
    device: str,
    jobs: int,
    watch: Watch | None = None,
    tell: Callable[[str], None] = lambda line: None,
) -> None:
    """Run what this process can claim, beside as many others as there are jobs."""
    torch.set_num_threads(max(torch.get_num_threads() // jobs, 1))
    # Nothing is taken for finished that is damaged or no longer means what it says.
    read_results(results)
    where = choose_device(device)
    judges: Judges = {}
    for number, cell in enumerate(cells, 1):
        attempt = Attempt(cell, results)
        if attempt.is_finished:
            # What is left of a training whose process was killed as it cleared up.
            attempt.clear_up()
        if attempt.is_settled:
            continue
        with attempt.claimed() as mine:
            if not mine and jobs == 1:
                tell(f"{number} of {len(cells)}: {cell.name} is another process's")
            if not mine or attempt.is_settled:
                continue
            if not attempt.is_begun:
                attempt.clear_up()
            attempt.note_jobs(jobs)
            try:
                if not judges or judges[JUDGEMENTS[0]].dataset.name != cell.data:
                    judges = judges_of(open_data(cell.data), where)
                content = run_cell(cell, judges, attempt.folder, watch)
            except (InputError, RuntimeError, MemoryError) as error:
                why = _why_it_failed(error, jobs)
                if where.type == "cuda":
                    torch.cuda.empty_cache()
                attempt.note_failure()
                tell(f"{number} of {len(cells)}: {cell.name} failed: {why}")
                continue
            # Times of processes that share a machine say little.
            _write(content | {"jobs": attempt.note_jobs(jobs)}, cell.path(results))
            attempt.clear_up()
        tell(f"{number} of {len(cells)}: {_in_words(content)}")


def _why_it_failed(error: Exception, jobs: int) -> str:
    """What kept a cell from being run; what is no business of a cell goes on its way."""
    if isinstance(error, InputError):
        return str(error)
    if is_out_of_memory(error):
        return "the memory was not enough" + ("; fewer jobs leave it more" if jobs > 1 else "")
    raise error


def judges_of(dataset: Dataset, device: str | torch.device = "auto") -> Judges:
    """Those of every way to judge, made once for all cells of a data set."""
    judges: Judges = {}
    for judgement in JUDGEMENTS:
        split, context = judgement.split(", context ")
        judges[judgement] = Judge(dataset, split, context, choose_device(device))  # type: ignore[arg-type]
    return judges


def run_cell(
    cell: Cell, judges: Judges, folder: Path, watch: Watch | None = None
) -> dict[str, Any]:
    """Train a cell in a folder, or go on with it there, and judge it in every way."""
    any_judge = judges[JUDGEMENTS[0]]
    dataset, where = any_judge.dataset, any_judge.device
    if where.type == "cuda":
        # A recorded step and its trainer hold each other, and the memory of the cell before.
        gc.collect()
        torch.cuda.reset_peak_memory_stats(where)
    file = RunFile(name=cell.run, settings=cell.settings, training=cell.training)
    commit = _commit()
    began = time.monotonic()
    run = fit(
        dataset,
        cell.model,
        run=file,
        seed=cell.seed,
        out=folder,
        device=where,
        watch=watch,
        restarted=folder.exists(),
    )
    trained = _how_trained(folder, run)
    return {
        "cell": asdict(cell),
        "figures": _judge(run, judges),
        "settings": asdict(run.settings),
        "training": dict(run.training) if trained else {},
        "parameters": run.num_parameters,
        "trained": trained,
        "peak_megabytes": _peak_megabytes(where),
        "seconds": round(time.monotonic() - began, 1),
        "device": describe_device(where),
        "commit": commit,
        "targcn": __version__,
        "torch": torch.__version__,
        "python": platform.python_version(),
    }


def _judge(run: Run, judges: Judges) -> dict[Judgement, dict[str, dict[str, float]]]:
    """The figures of a run, judged in every way; nothing is asked that is known."""

    def asked(of: Judge | Report) -> tuple[str, str]:
        return of.split, of.context if run.model.reads_context else "any"

    # Training has looked at the valid split.
    reports = {asked(run.report): run.report} if run.report else {}
    for judge in judges.values():
        if asked(judge) not in reports:
            reports[asked(judge)] = judge.report(run)
    return {judgement: _figures(reports[asked(judge)]) for judgement, judge in judges.items()}


def _figures(report: Report) -> dict[str, dict[str, float]]:
    return {
        which: {name: round(value, 5) for name, value in report.metrics[which]["both"].items()}
        for which in FILTERS
    }


def _run_together(
    cells: Sequence[Cell], results: Path, device: str, jobs: int, tell: Callable[[str], None]
) -> bool:
    """Run cells by several processes; whether one of them ended before its time."""
    if not torch.cuda.is_available():
        # Elsewhere the first process would take a GPU's memory to find out.
        choose_device(device)
    stopped, ended_early = _start_and_listen(cells, results, device, jobs, tell)
    if stopped:
        raise KeyboardInterrupt
    return ended_early


def _start_and_listen(
    cells: Sequence[Cell], results: Path, device: str, jobs: int, tell: Callable[[str], None]
) -> tuple[bool, bool]:
    """Whether the processes were stopped, and whether one ended before its time.

    Raised from here, either would keep the queue until the program has left, as if it were leaked.
    """
    from multiprocessing import get_context
    from queue import Empty

    spawn = get_context("spawn")
    said, stop = spawn.Queue(), spawn.Event()
    arguments = (cells, results, device, jobs, said, stop)
    workers = [spawn.Process(target=_work, args=arguments) for _ in range(jobs)]
    started = stopped = False
    while True:
        try:
            if not started:
                started = True
                # A process that is being made has nothing to save, and would make noise.
                with _deaf():
                    for worker in workers:
                        worker.start()
            while any(worker.is_alive() for worker in workers) or not said.empty():
                with suppress(Empty):
                    tell(said.get(timeout=0.2))
            return stopped, any(worker.exitcode for worker in workers)
        except KeyboardInterrupt:
            # They save where they stand; asked a second time, they stop at once.
            stopped = True
            stop.set()
            for worker in workers:
                if worker.is_alive() and worker.pid is not None:
                    os.kill(worker.pid, signal.SIGINT)


@contextmanager
def _deaf() -> Iterator[None]:
    """Let a Ctrl-C pass by; so do the processes that are started meanwhile."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)


def _work(
    cells: Sequence[Cell], results: Path, device: str, jobs: int, said: Any, stop: Any
) -> None:
    """What each of several processes does: its share, and no noise when it is stopped."""
    # A Ctrl-C is the first process's, which passes it on once.
    os.setpgrp()
    # torch would start as many compilers as there are processors, for each of these.
    share = max((os.cpu_count() or 1) // jobs, 1)
    os.environ.setdefault("TORCHINDUCTOR_COMPILE_THREADS", str(share))
    threading.Thread(target=_leave_with_the_first, daemon=True).start()
    try:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        if stop.is_set():
            raise KeyboardInterrupt
        _run_alone(cells, results, device, jobs, tell=said.put)
    except InputError as error:
        said.put(f"a process ended early: {error}")
        sys.exit(2)
    except KeyboardInterrupt:
        sys.exit(130)


def _leave_with_the_first() -> None:
    """Stop as if asked to, if the process that started this one is gone."""
    from multiprocessing import parent_process

    parent = parent_process()
    if parent is not None:
        parent.join()
        os.kill(os.getpid(), signal.SIGINT)


def _write(content: Mapping[str, Any], path: Path) -> None:
    with atomic_file(path) as draft:
        draft.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")


def _how_trained(folder: Path, run: Run) -> dict[str, Any] | None:
    """Epochs and times of a training, from what its folder says; None where nothing was learned."""
    if not (folder / "trace.jsonl").exists():
        return None
    lines = (folder / "trace.jsonl").read_text(encoding="utf-8").splitlines()
    seconds = [line["seconds"] for line in map(json.loads, lines) if "seconds" in line]
    return {
        "epochs": run.trained["epochs"],
        "best_epoch": run.trained["best_epoch"],
        "seconds": run.trained["seconds"],
        # The first epoch also warms up and records.
        "seconds_per_epoch": round(statistics.median(seconds), 3),
        "queries_per_epoch": 2 * len(run.dataset.train),
    }


def _peak_megabytes(device: torch.device) -> int | None:
    if device.type != "cuda":
        return None
    return round(torch.cuda.max_memory_allocated(device) / 1e6)


def _commit() -> str | None:
    """The commit of the program, where it runs from a checkout of its own."""
    here = Path(__file__)
    try:
        # A checkout that merely has it installed somewhere inside does not know the file.
        _git(here.parent, "ls-files", "--error-unmatch", here.name)
        return _git(here.parent, "describe", "--always", "--dirty", "--abbrev=12", "--match=")
    except (OSError, subprocess.CalledProcessError):
        return None


def _git(folder: Path, *words: str) -> str:
    said = subprocess.run(["git", *words], cwd=folder, capture_output=True, text=True, check=True)
    return said.stdout.strip()


def _in_words(content: Mapping[str, Any]) -> str:
    cell, figures = content["cell"], content["figures"][JUDGEMENTS[0]]
    reached = ", ".join(f"{which} {figures[which]['mrr']:.3f}" for which in FILTERS)
    return (
        f"{cell['model']} ({cell['run']}) on {cell['data']}, seed {cell['seed']}: MRR on "
        f"{JUDGEMENTS[0]}: {reached} ({content['seconds']:,.0f} s)"
    )
