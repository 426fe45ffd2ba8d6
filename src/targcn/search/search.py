"""Search for the best recipe for one's own data: models and settings, judged on the valid split.

Every model's own recipe is tried first, the cheapest first; then settings are varied around the
best. Everything is chosen on valid; test is looked at once, in the end.
"""

import itertools
import math
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, Final

import torch
from optuna import Study, Trial
from optuna.trial import FrozenTrial, TrialState

from targcn.config import require_at_least, require_choice
from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import FILTERS, Filter
from targcn.evaluation.intervals import FEW_TICKS
from targcn.evaluation.report import Report, Setting
from targcn.facts.dataset import Dataset
from targcn.models.base import Learner
from targcn.models.registry import DEFAULT, find_model
from targcn.output.tables import Table
from targcn.recipes.recipe import Recipe, find_recipe, make_recipe, write_recipe
from targcn.runs.evaluate import evaluate
from targcn.runs.store import load_run, save_run
from targcn.search.space import SPACE, own_values, vary
from targcn.search.study import (
    IS_START,
    NOTE,
    WHOLE,
    completed,
    mrr_of,
    open_study,
    question_of,
    study_table,
)
from targcn.search.trial import Follower, StoppedError, in_words, try_recipe

RECIPE: Final = "best.toml"
# The name of the recipes of a search.
SEARCHED: Final = "search"
# Parts of the time: what the default model's own recipe may take, what all models' recipes may, and
# what each of them has at least.
FOR_THE_DEFAULT: Final = 0.4
FOR_ALL_RECIPES: Final = 0.7
LEAST_SHARE: Final = 0.01

# Shows a line about the present, which may be news.
Show = Callable[[str, bool], None]


@dataclass(frozen=True)
class Outcome:
    """What a search found: its best recipe and run, and what they are worth."""

    recipe: Recipe
    # The folder of the run.
    run: Path
    # The MRR on valid under the search's filter.
    mrr: float
    test: Report | None
    table: Table


def search(
    dataset: Dataset,
    out: Path | str,
    *,
    minutes: float | None = None,
    trials: int | None = None,
    filter: Filter = "time-aware",
    models: Sequence[str] = (),
    seed: int = 0,
    device: str | torch.device = "auto",
    show: Show = lambda line, is_news: None,
) -> Outcome:
    """Try models and settings within a time, a number of trials, or both; keep all in a folder.

    A folder that holds a search of the same data is gone on with. It always holds the best so far:
    `best.toml`, which `train --recipe` takes, and its run.
    """
    if minutes is None and trials is None:
        raise InputError("a search needs an end: give minutes, trials, or both")
    if minutes is not None and not minutes > 0:
        raise InputError(f"minutes is {minutes}; it must be above 0")
    require_at_least(1, trials=trials)
    require_at_least(0, seed=seed)
    require_choice(FILTERS, filter=filter)
    for name in models:
        find_model(name)
    for split in ("train", "valid"):
        if not len(dataset.splits[split]):
            raise InputError(f"{dataset.name} has no facts in its {split} split; a search needs it")
    chosen = [name for name in SPACE if not models or name in models]
    recipes = {
        name: find_recipe(name, "default", dataset.name, {"select_by": filter}) for name in chosen
    }
    starts = [{"model": name, **own_values(recipe)} for name, recipe in recipes.items()]
    folder, seconds = Path(out), math.inf if minutes is None else 60 * minutes
    with open_study(folder, question_of(dataset, filter, chosen), starts, seed) as study:
        setting = Setting("valid", "train", most_ticks=FEW_TICKS)
        evaluator = Evaluator(dataset, setting, choose_device(device))
        began = time.monotonic()
        for _ in itertools.count() if trials is None else range(trials):
            spent = time.monotonic() - began
            if spent >= seconds:
                break
            trial = study.ask()
            name = trial.suggest_categorical("model", list(recipes))
            recipe = replace(vary(recipes[name], trial), name=SEARCHED)
            words = f"trial {trial.number}, {name}: "

            def say(line: str, words: str = words) -> None:
                show(words + line, False)

            is_start = bool(trial.user_attrs.get(IS_START))
            share = _share_of(study, trial, seconds, spent)
            follow = Follower(trial, filter, share, is_start, say)
            done = _try(study, recipe, evaluator, follow, seed, folder)
            _keep_best(study, done, folder)
            show(words + _describe(study, done), True)
        if not completed(study):
            raise InputError(
                f"no trial came to its end; go on in {folder} with more minutes or trials"
            )
        best = completed(study)[0]
        run, test = run_folder(folder, best), None
        if len(dataset.test):
            test = evaluate(load_run(run), device=evaluator.device, progress=lambda *done: None)
        table = study_table(study, filter)
        return Outcome(recipe_of(best), run, mrr_of(best), test, table)


def run_folder(folder: Path, trial: Trial | FrozenTrial) -> Path:
    return folder / f"run-{trial.number}"


def recipe_of(trial: FrozenTrial) -> Recipe:
    """What a trial that came to its end was trained by."""
    about = f"trial {trial.number} of a search: MRR {mrr_of(trial):.4f} on valid"
    return make_recipe(trial.params["model"], SEARCHED, **trial.user_attrs[WHOLE], about=about)


def _share_of(study: Study, trial: Trial, seconds: float, spent: float) -> float:
    """How long a trial may take: a recipe its share of the time, others all that is left."""
    if not trial.user_attrs.get(IS_START):
        return seconds - spent
    if not _shares_time(trial.params):
        return seconds * FOR_THE_DEFAULT
    num_waiting = sum(map(_shares_time, _waiting(study)))
    share = (seconds * FOR_ALL_RECIPES - spent) / (1 + num_waiting)
    return max(share, seconds * LEAST_SHARE)


def _waiting(study: Study) -> list[Mapping[str, Any]]:
    """What the trials that are still to come have to try."""
    waiting = study.get_trials(deepcopy=False, states=[TrialState.WAITING])
    return [trial.system_attrs["fixed_params"] for trial in waiting]


def _shares_time(params: Mapping[str, Any]) -> bool:
    """Whether a model's recipe shares the time with others: not the default, nor floors."""
    model = params.get("model")
    return model not in (None, DEFAULT) and issubclass(find_model(model), Learner)


def _try(
    study: Study, recipe: Recipe, evaluator: Evaluator, follow: Follower, seed: int, folder: Path
) -> FrozenTrial:
    """Train what a trial suggests and tell the study; one that is killed stays as running there."""
    trial, done = follow.trial, completed(study)
    for other in [] if follow.is_start else done:
        if other.params == trial.params and other.user_attrs.get(NOTE) == "":
            trial.set_user_attr(NOTE, f"the same as trial {other.number}")
            return study.tell(trial, mrr_of(other))
    try:
        run, report, note = try_recipe(recipe, evaluator, follow, seed)
    except StoppedError as stopped:
        trial.set_user_attr(NOTE, str(stopped))
        return study.tell(trial, state=TrialState.PRUNED)
    mrr = report.metrics[follow.which]["both"]["mrr"]
    trial.set_user_attr(NOTE, note)
    whole = {"settings": asdict(run.recipe.settings), "training": asdict(run.recipe.training)}
    trial.set_user_attr(WHOLE, whole)
    if not done or mrr > mrr_of(done[0]):
        # Before the study knows of it: who finds the best trial there finds its run.
        save_run(run, run_folder(folder, trial), [report])
    return study.tell(trial, mrr)


def _keep_best(study: Study, trial: FrozenTrial, folder: Path) -> None:
    """Keep the best run and recipe alone after a trial."""
    done = completed(study)
    kept = run_folder(folder, done[0]) if done else None
    for run in folder.glob("run-*"):
        if run != kept:
            shutil.rmtree(run, ignore_errors=True)
    if done:
        write_recipe(recipe_of(done[0]), folder / RECIPE)
        is_last_start = trial.user_attrs.get(IS_START) and not _waiting(study)
        if is_last_start and done[0].user_attrs.get(NOTE):
            # The best recipe was cut short: it comes first of what has all the time.
            study.enqueue_trial(done[0].params)


def _describe(study: Study, trial: FrozenTrial) -> str:
    done = completed(study)
    seconds = trial.duration.total_seconds() if trial.duration else 0
    is_done = trial.state == TrialState.COMPLETE
    reached = f"MRR {mrr_of(trial):.3f}" if is_done else "stopped early"
    note = f": {trial.user_attrs[NOTE]}" if trial.user_attrs.get(NOTE) else ""
    best = f"; best so far {mrr_of(done[0]):.3f}" if done else ""
    return f"{reached} in {in_words(seconds)}{note}{best}"
