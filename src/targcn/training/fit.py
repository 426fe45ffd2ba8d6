"""From a data set to a trained run, or from a stopped training to its end."""

from contextlib import ExitStack
from dataclasses import replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from targcn.devices import SizeWatch, choose_device, describe_device, is_out_of_memory
from targcn.distributed import SINGLE_PROCESS, ProcessGroup
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.facts.open import open_dataset
from targcn.files import remove_drafts, require_absent, require_plain, sole_writer
from targcn.memory import require_memory
from targcn.models.base import Learner, Model
from targcn.models.registry import create
from targcn.recipes.recipe import Recipe, change, find_recipe
from targcn.runs.evaluate import evaluate
from targcn.runs.run import Run, TrainingRecord
from targcn.runs.store import STATE, is_unfinished, load_run, save_run
from targcn.training.loop import Trainer
from targcn.training.progress import ProgressCallback, training_progress

MOST_SEEDS: Final = 2**31


def fit(
    source: object,
    model: str | None = None,
    *,
    recipe: str | Path | Recipe = "default",
    seed: int = 0,
    out: Path | str | None = None,
    device: str | torch.device = "auto",
    progress: ProgressCallback | None = None,
    processes: ProcessGroup = SINGLE_PROCESS,
    restarted: bool = False,
    **settings: Any,
) -> Run:
    """Train a model on a data set; keep it in the folder `out` if one is given.

    Anything that `open_dataset` opens is a data set too: a name, a file, a frame. Settings of the
    model and of the training are those of the recipe, a name or a TOML file, changed by the
    arguments.
    Several processes train together if each calls this with the same arguments; processes that
    were restarted go on with what they had begun in `out`.

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "decayed-copy", scale=10)
    >>> targcn.evaluate(run, split="valid", context="train").num_queries
    8318
    >>> targcn.predict(run, "Barack Obama", "succeeded", None, 2005, top=1)["answer"].to_list()
    ['Peter G. Fitzgerald']
    """
    dataset = source if isinstance(source, Dataset) else open_dataset(source)
    if not isinstance(recipe, Recipe):
        recipe = find_recipe(model, str(recipe), dataset.name, settings)
    elif model in (None, recipe.model):
        recipe = change(recipe, settings)
    else:
        raise InputError(f"the recipe is one of {recipe.model}, not of {model}; leave one out")
    where = choose_device(device)
    run = _initial_run(recipe, seed, dataset, describe_device(where))
    folder = None if out is None else Path(out)
    if folder is not None and processes.any_process(restarted and folder.exists())[0]:
        with processes.barrier():
            if not _holds(folder, run):
                require_absent(folder)
        return resume(folder, device=where, progress=progress, processes=processes)
    with ExitStack() as held:
        trainer = None
        if isinstance(run.model, Learner):
            shown = held.enter_context(training_progress(progress))
            trainer = Trainer(run, folder, where, shown, processes)
        with processes.barrier():
            if folder is not None and processes.is_main:
                save_run(run, folder)
                held.enter_context(sole_writer(folder))
        return trainer.train() if trainer else run


def resume(
    folder: Path | str,
    *,
    device: str | torch.device = "auto",
    progress: ProgressCallback | None = None,
    processes: ProcessGroup = SINGLE_PROCESS,
) -> Run:
    """Go on with a training that was stopped, as if it had not been."""
    folder = Path(folder)
    where = choose_device(device)
    with ExitStack() as held:
        with processes.barrier():
            require_plain(folder)
            if processes.is_main and is_unfinished(folder):
                held.enter_context(sole_writer(folder))
        shown = held.enter_context(training_progress(progress))
        with processes.barrier():
            run = load_run(folder)
            if processes.is_main:
                remove_drafts(folder)
            unfinished = is_unfinished(folder)
        if isinstance(run.model, Learner) and unfinished:
            if not (folder / STATE).exists():
                # No state was saved yet; the folder may hold trained weights all the same.
                run = replace(run, model=initialize(run.recipe, run.dataset, run.seed))
            trainer = Trainer(run, folder, where, shown, processes)
            with processes.barrier():
                trainer.restore(folder)
            return trainer.train()
    if isinstance(run.model, Learner) and len(run.dataset.valid):
        # The folder does not keep all of the report.
        report = evaluate(run, split="valid", device=where, processes=processes)
        run = replace(run, validation=report)
    return run


def initialize(recipe: Recipe, dataset: Dataset, seed: int) -> Model:
    """A model with its initial weights, which depend on the seed alone."""
    if not 0 <= seed < MOST_SEEDS:
        raise InputError(f"seed is {seed}; 0 up to {MOST_SEEDS - 1} was expected")
    what, advice = f"{recipe.model} with these settings", "smaller vectors would do"
    try:
        # On the CPU, so that every device starts alike; torch's generator is left as it was.
        with (
            torch.random.fork_rng(devices=[]),
            SizeWatch(lambda size: require_memory(size, what, advice)),
        ):
            torch.manual_seed(seed)
            model = create(recipe.model, dataset, recipe.settings)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise InputError(f"{what} needs more memory than there is; {advice}") from None
    return model


def _initial_run(recipe: Recipe, seed: int, dataset: Dataset, device: str) -> Run:
    model = initialize(recipe, dataset, seed)
    trained = None
    if isinstance(model, Learner):
        if len(dataset.train) == 0:
            raise InputError(f"{dataset.name} has no facts in its train split; nothing to learn")
        # What the folder says if training is killed before its first validation.
        trained = TrainingRecord(0, 0, 0.0, device, finished=False)
    return Run(recipe, seed, dataset, model, trained)


def _holds(folder: Path, run: Run) -> bool:
    """Whether a folder holds this very training."""
    kept = load_run(folder)
    return (
        (kept.recipe.model, kept.recipe.settings) == (run.recipe.model, run.recipe.settings)
        and (kept.recipe.training, kept.seed) == (run.recipe.training, run.seed)
        and np.array_equal(kept.dataset.facts.columns, run.dataset.facts.columns)
    )
