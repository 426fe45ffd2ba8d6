"""From a data set to a trained run, or from a stopped one to its end.

Takes a data set, the name of a model, and settings from a run file or from arguments; gives a
Run, kept in a folder where one is given. Next room: prediction, cli.
"""

from collections.abc import Mapping
from contextlib import ExitStack
from dataclasses import asdict, fields, replace
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch

from targcn.checkpoint import Run, is_unfinished, load_run, read_state, save_run
from targcn.config import build
from targcn.devices import choose_device, describe_device, is_out_of_memory
from targcn.distributed import ALONE, Team
from targcn.errors import InputError
from targcn.evaluation import Judge, Report
from targcn.facts.dataset import Dataset
from targcn.files import remove_drafts, require_absent, sole_writer
from targcn.models import DEFAULT, create, find_model
from targcn.models.contract import learns
from targcn.runs import RunFile, find_run
from targcn.training import Position, Trainer, Training, Watch

MOST_SEEDS: Final = 2**31


def fit(
    dataset: Dataset,
    model: str = DEFAULT,
    *,
    seed: int = 0,
    run: str | RunFile = "default",
    out: Path | str | None = None,
    device: str | torch.device = "auto",
    watch: Watch | None = None,
    team: Team = ALONE,
    restarted: bool = False,
    **settings: Any,
) -> Run:
    """Train a model of this name; keep it in the folder `out` if one is given.

    Settings of the model and of the training come from the run file, then from the arguments. A
    team trains together (see distributed.py): each process calls this with the same arguments. If
    it was restarted, it goes on with what it had begun in `out`.

    >>> import targcn
    >>> run = targcn.fit(targcn.open_dataset("congress"), "decayed-copy", scale=10)
    >>> report = targcn.evaluate(run, split="valid", context="train")
    >>> report.num_queries
    8318
    >>> targcn.predict(run, "Barack Obama", "succeeded", None, 2005, top=1)["answer"].to_list()
    ['Peter G. Fitzgerald']
    """
    file = run if isinstance(run, RunFile) else find_run(model, run, dataset.name)
    for_model, training = choose_settings(model, file, settings)
    where = choose_device(device)
    module = _draw(model, dataset, for_model, seed)
    if learns(module) and len(dataset.train) == 0:
        raise InputError(f"{dataset.name} has no facts in its train split; nothing to learn from")
    # What its folder says of a training that was killed before it was first looked at.
    begun = {"epochs": 0, "best_epoch": 0, "seconds": 0.0, "device": describe_device(where)}
    trained = begun | {"finished": False} if learns(module) else {}
    made = Run(
        model,
        module.settings,
        seed,
        dataset,
        module,
        file.name,
        asdict(training),
        trained=trained,
    )
    folder = None if out is None else Path(out)
    if folder is not None and team.anyone(restarted and folder.exists())[0]:
        with team.together():
            if not _is_begun(made, folder):
                require_absent(folder)
        return resume(folder, device=where, watch=watch, team=team)
    trainer = Trainer(made, training, folder, where, watch, team) if learns(module) else None
    with ExitStack() as held:
        with team.together():
            if folder is not None and team.leads:
                save_run(made, folder)
                held.enter_context(sole_writer(folder))
        return trainer.train() if trainer else made


def resume(
    folder: Path | str,
    *,
    device: str | torch.device = "auto",
    watch: Watch | None = None,
    team: Team = ALONE,
) -> Run:
    """Go on with a run that was stopped, as if it had not been."""
    folder = Path(folder)
    where = choose_device(device)
    with ExitStack() as held:
        with team.together():
            if team.leads and is_unfinished(folder):
                held.enter_context(sole_writer(folder))
        return _go_on(folder, where, watch, team)


def _go_on(folder: Path, where: torch.device, watch: Watch | None, team: Team) -> Run:
    with team.together():
        run = load_run(folder)
        unfinished = is_unfinished(folder)
        tensors, position = read_state(folder) if unfinished else ({}, {})
    if not learns(run.model):
        return run
    if not unfinished:
        return replace(run, report=_valid_report(run, where, team))
    if team.leads:
        remove_drafts(folder)
    if not tensors:
        # Nothing was saved of it yet; its folder may hold weights that were learnt all the same.
        first = _draw(run.model_name, run.dataset, asdict(run.settings), run.seed)
        run = replace(run, model=first)
    trainer = Trainer(run, build(Training, run.training, "training"), folder, where, watch, team)
    if tensors:
        trainer.restore(tensors, build(Position, position, "state"))
    return trainer.train()


def _draw(model: str, dataset: Dataset, settings: Mapping[str, Any], seed: int) -> Any:
    """A model with its first weights."""
    if not 0 <= seed < MOST_SEEDS:
        raise InputError(f"seed is {seed}; 0 up to {MOST_SEEDS - 1} was expected")
    try:
        # On the CPU, so the same for every device, and nobody else's are disturbed.
        with torch.random.fork_rng(devices=[]):
            torch.manual_seed(seed)
            return create(model, dataset, settings)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        raise InputError(
            f"{model} with these settings needs more memory than there is; smaller vectors would do"
        ) from None


def _valid_report(run: Run, device: torch.device, team: Team) -> Report | None:
    """The figures of a finished run, which its folder does not keep whole."""
    if not len(run.dataset.valid):
        return None
    return Judge(run.dataset, "valid", "train", device, team).report(run)


def _is_begun(run: Run, folder: Path) -> bool:
    """Whether a folder holds this very training."""
    kept = load_run(folder)
    same = ("model_name", "settings", "seed", "run_name", "training")
    return all(getattr(kept, name) == getattr(run, name) for name in same) and np.array_equal(
        kept.dataset.facts.columns, run.dataset.facts.columns
    )


def choose_settings(
    model: str, file: RunFile, given: Mapping[str, Any]
) -> tuple[dict[str, Any], Training]:
    """Sort what is given into settings of the model and of the training, over the run file's."""
    of_training = {field.name for field in fields(Training)}
    given = {name.replace("-", "_"): value for name, value in given.items()}
    for_model = {name: given[name] for name in given if name not in of_training}
    for_training = {name: given[name] for name in given if name in of_training}
    settings = dict(file.settings) | for_model
    build(find_model(model).Settings, settings, model)
    return settings, build(Training, dict(file.training) | for_training, "training")
