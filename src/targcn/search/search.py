"""Search for the best recipe for one's own data: models and settings, judged on the valid split.

Every model's own recipe is tried first, the cheapest first; then settings are varied around the
best. Everything is chosen on valid; test is looked at once, in the end.
"""

import shutil
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Final

import torch

from targcn.config import require_at_least, require_seed
from targcn.devices import choose_device
from targcn.errors import InputError
from targcn.evaluation.evaluator import Evaluator
from targcn.evaluation.filters import FILTERS, Filter
from targcn.evaluation.intervals import FEW_TICKS
from targcn.evaluation.report import Report, Setting
from targcn.facts.dataset import Dataset
from targcn.models.registry import DEFAULT, find_model
from targcn.output.tables import Table
from targcn.recipes.recipe import Recipe, find_recipe, make_recipe, write_recipe
from targcn.runs.compare import compare
from targcn.runs.evaluate import evaluate
from targcn.runs.run import Run
from targcn.runs.store import load_run, save_run
from targcn.search.space import SPACE, own_values, vary
from targcn.search.study import IS_START, NOTE, WHOLE, Question, open_study, require_optuna
from targcn.search.table import best_of_kinds, completed, importances, mrr_of, study_table
from targcn.search.trial import Limits, NoTimeLeftError, StoppedError, in_words, try_recipe

if TYPE_CHECKING:
    from optuna import Study, Trial
    from optuna.trial import FrozenTrial

RECIPE: Final = "best.toml"
# The name of the recipes of a search.
SEARCHED: Final = "search"
# Parts of the time: what the default model's own recipe may take, what all models' recipes may, and
# what each of them has at least.
FOR_THE_DEFAULT: Final = 0.4
FOR_ALL_RECIPES: Final = 0.7
LEAST_SHARE: Final = 0.01
# In this last part of the time a search ends as soon as a trial would not end before it.
LAST_PART: Final = 0.1

TrialAndRun = tuple["FrozenTrial", Run]
# Told the table so far, a line about the present, and whether that is news.
Told = Callable[[Table, str, bool], None]


@dataclass(frozen=True)
class Found:
    """What a search found: the best trial, and what it is worth."""

    folder: Path
    trial: int
    recipe: Recipe
    # The MRR on valid under the search's filter.
    mrr: float
    test: Report | None
    # The best model that knows no time beside the best that does, on valid; if both were tried.
    about_time: str
    # How much each choice mattered.
    importances: dict[str, float]
    table: Table

    @property
    def run(self) -> Path:
        return run_folder(self.folder, self.trial)


def run_folder(folder: Path, number: int) -> Path:
    return folder / f"run-{number}"


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
    told: Told | None = None,
) -> Found:
    """Try models and settings within a time, a number of trials, or both; keep all in a folder.

    A folder that holds a search of the same data is gone on with; several processes can do so at a
    time. It always holds the best so far: `best.toml`, which `train --recipe` takes, and its run.
    """
    require_optuna()
    if minutes is None and trials is None:
        raise InputError("a search needs an end: give minutes, trials, or both")
    if minutes is not None and not minutes > 0:
        raise InputError(f"minutes is {minutes}; it must be above 0")
    require_at_least(1, trials=trials)
    require_seed(seed)
    if filter not in FILTERS:
        raise InputError(f"filter {filter!r} is unknown; choose one of {', '.join(FILTERS)}")
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
    question = Question.of(dataset, filter, chosen)
    with open_study(Path(out), question, starts, seed) as study:
        setting = Setting("valid", "train", most_ticks=FEW_TICKS)
        evaluator = Evaluator(dataset, setting, choose_device(device))
        _Search(study, Path(out), recipes, evaluator, minutes, filter, seed, told).run(trials)
        return _finish(study, Path(out), evaluator, filter)


class _Search:
    """The part of a search that this process does."""

    def __init__(
        self,
        study: "Study",
        folder: Path,
        recipes: dict[str, Recipe],
        evaluator: Evaluator,
        minutes: float | None,
        which: Filter,
        seed: int,
        told: Told | None,
    ) -> None:
        self.study, self.folder, self.recipes, self.evaluator = study, folder, recipes, evaluator
        self.which, self.seed = which, seed
        self.told = told or (lambda table, line, is_news: None)
        self.began = time.monotonic()
        self.budget = 60 * minutes if minutes is not None else float("inf")
        self.table = study_table(study, which)

    def run(self, trials: int | None) -> None:
        timeout = None if self.budget == float("inf") else self.budget
        self.study.optimize(self._try, trials, timeout, callbacks=[self._after])

    def _try(self, trial: "Trial") -> float:
        """Train what the trial suggests; the MRR on valid."""
        import optuna

        name = trial.suggest_categorical("model", list(self.recipes))
        recipe = replace(vary(self.recipes[name], trial), name=SEARCHED)
        is_start = bool(trial.user_attrs.get(IS_START))
        if not is_start and (known := self._known_mrr(trial)) is not None:
            return known
        limits = Limits(self._seconds_for(name, is_start), is_start)
        label = f"trial {trial.number}, {name}"
        try:
            run, report, note = try_recipe(
                trial,
                recipe,
                self.evaluator,
                limits,
                self.seed,
                self.which,
                lambda line: self.told(self.table, f"{label}: {line}", False),
            )
        except KeyboardInterrupt:
            # Whoever goes on tries it again.
            attributes = {IS_START: True} if is_start else {}
            self.study.enqueue_trial(trial.params, user_attrs=attributes)
            raise
        except StoppedError as stopped:
            trial.set_user_attr(NOTE, str(stopped))
            if isinstance(stopped, NoTimeLeftError) and limits.seconds < self.budget * LAST_PART:
                self.study.stop()
            raise optuna.TrialPruned(str(stopped)) from None
        mrr = report.metrics[self.which]["both"]["mrr"]
        trial.set_user_attr(NOTE, note)
        whole = {"settings": asdict(run.recipe.settings), "training": asdict(run.recipe.training)}
        trial.set_user_attr(WHOLE, whole)
        if all(mrr > mrr_of(best) for best in best_of_kinds(self.study, name)):
            # Before the study knows of it: who finds the best trial there finds its run.
            save_run(run, run_folder(self.folder, trial.number), [report])
        return mrr

    def _known_mrr(self, trial: "Trial") -> float | None:
        """The MRR of an equal trial whose training was not shortened."""
        for other in completed(self.study):
            if other.params == trial.params and other.user_attrs.get(NOTE) == "":
                trial.set_user_attr(NOTE, f"the same as trial {other.number}")
                return other.value
        return None

    def _seconds_for(self, name: str, is_start: bool) -> float:
        """How long a trial may take: a share of the time, or all that is left of it."""
        spent = time.monotonic() - self.began
        if not is_start:
            return self.budget - spent
        others = {other for other in self.recipes if _costs_time(other)}
        if name not in others:
            return self.budget * FOR_THE_DEFAULT
        waiting = sum(model in others for model in self._waiting_models())
        share = (self.budget * FOR_ALL_RECIPES - spent) / (1 + waiting)
        return max(share, self.budget * LEAST_SHARE)

    def _waiting_models(self) -> list[str]:
        """The models whose recipes are still to come."""
        from optuna.trial import TrialState

        waiting = self.study.get_trials(deepcopy=False, states=[TrialState.WAITING])
        return [str(one.system_attrs.get("fixed_params", {}).get("model")) for one in waiting]

    def _try_the_best_whole(self) -> None:
        """If the best of all recipes was cut short, it comes first of what has all the time."""
        best = completed(self.study)[:1]
        if best and best[0].user_attrs.get(NOTE):
            self.study.enqueue_trial(best[0].params)

    def _after(self, study: "Study", trial: "FrozenTrial") -> None:
        from optuna.trial import TrialState

        keep_the_best(study, self.folder)
        if trial.user_attrs.get(IS_START) and not self._waiting_models():
            self._try_the_best_whole()
        self.table = study_table(study, self.which)
        seconds = trial.duration.total_seconds() if trial.duration else 0
        is_done = trial.state == TrialState.COMPLETE
        found = f"MRR {mrr_of(trial):.3f}" if is_done else "stopped early"
        note = f": {trial.user_attrs[NOTE]}" if trial.user_attrs.get(NOTE) else ""
        best = f"; best so far {mrr_of(completed(study)[0]):.3f}" if completed(study) else ""
        line = f"trial {trial.number}, {trial.params['model']}: {found} in {in_words(seconds)}"
        self.told(self.table, f"{line}{note}{best}", True)


def _costs_time(name: str) -> bool:
    """Whether a model's recipe has to share the time with others: not the default, nor floors."""
    from targcn.models.base import Learner

    return name != DEFAULT and issubclass(find_model(name), Learner)


def keep_the_best(study: "Study", folder: Path) -> None:
    """Leave in the folder the best recipe and run, and the best run of the other kind."""
    done = completed(study)
    if not done:
        return
    kept = {best.number for best in best_of_kinds(study)}
    for trial in study.get_trials(deepcopy=False):
        # A process may have died after it saved a run and before the study knew of it.
        if trial.state.is_finished() and trial.number not in kept:
            shutil.rmtree(run_folder(folder, trial.number), ignore_errors=True)
    write_recipe(recipe_of(done[0]), folder / RECIPE)


def recipe_of(trial: "FrozenTrial") -> Recipe:
    """What a trial that came to its end was trained by."""
    about = f"trial {trial.number} of a search: MRR {mrr_of(trial):.4f} on valid"
    return make_recipe(trial.params["model"], SEARCHED, **trial.user_attrs[WHOLE], about=about)


def _finish(study: "Study", folder: Path, evaluator: Evaluator, which: Filter) -> Found:
    """What the search has found so far, with the test split, which nothing was chosen on."""
    if not completed(study):
        raise InputError(f"no trial came to its end; go on in {folder} with more minutes or trials")
    loaded = _load_best(study, folder)
    best, run = max(loaded, key=lambda pair: mrr_of(pair[0]))
    test = None
    if len(evaluator.dataset.test):
        test = evaluate(run, split="test", device=evaluator.device, progress=_unseen)
    about_time = ""
    if len(loaded) == 2:
        about_time = _compare_kinds(loaded[0], loaded[1], evaluator.device, which)
    return Found(
        folder=folder,
        trial=best.number,
        recipe=recipe_of(best),
        mrr=mrr_of(best),
        test=test,
        about_time=about_time,
        importances=importances(study),
        table=study_table(study, which),
    )


def _load_best(study: "Study", folder: Path) -> list[TrialAndRun]:
    """The best trials of both kinds, with their runs."""
    while True:
        found = best_of_kinds(study)
        try:
            return [(one, load_run(run_folder(folder, one.number))) for one in found]
        except InputError:
            # Another process may have found a better one meanwhile.
            if best_of_kinds(study) == found:
                raise


def _compare_kinds(
    static: TrialAndRun, timed: TrialAndRun, device: torch.device, which: Filter
) -> str:
    """Whether models that know the time are worth it on this data, and by how much."""
    names = [f"{one.params['model']} (trial {one.number})" for one, _ in (static, timed)]
    difference = compare(
        dict(zip(names, (static[1], timed[1]), strict=True)),
        to=names[1],
        split="valid",
        filter=which,
        device=device,
        progress=_unseen,
    ).differences[names[0]]
    kinds = ["without time", "with time"]
    if difference.mrr < 0:
        names, kinds = names[::-1], kinds[::-1]
    low, high = sorted((abs(difference.low), abs(difference.high)))
    sure = f"95 % interval {low:.4f} to {high:.4f}"
    if difference.zero_inside:
        sure = "which may be chance: 0 is in its 95 % interval"
    return (
        f"the best model {kinds[0]}, {names[0]}, is ahead of the best {kinds[1]}, {names[1]}, by "
        f"{abs(difference.mrr):.4f} MRR on valid ({sure})"
    )


def _unseen(done: int, total: int) -> None:
    """What is told of the progress of something short."""
