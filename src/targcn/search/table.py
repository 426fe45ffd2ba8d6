"""What a study has found: the best trials, those that were stopped and why, and what mattered."""

import warnings
from collections import Counter
from collections.abc import Mapping
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from targcn.evaluation.filters import Filter
from targcn.output.plots import plot_bars
from targcn.output.tables import Column, Table, Value
from targcn.search.space import STATIC
from targcn.search.study import ABOUT, IS_START, NOTE

if TYPE_CHECKING:
    from optuna import Study
    from optuna.trial import FrozenTrial

MOST_BEST: Final = 10
MOST_STOPPED: Final = 20
# With fewer trials of a setting nothing can be said about how much it mattered.
ENOUGH_TRIALS: Final = 4
BEST_PART: Final = 0.25
# What mattered less is not told.
LEAST_SHARE: Final = 0.01


def completed(study: "Study") -> list["FrozenTrial"]:
    """The trials that came to their end, best first; of equal ones the one that was first."""
    from optuna.trial import TrialState

    trials = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    # By the moment of their end, not by number: the run of the first was kept.
    trials.sort(key=lambda trial: trial.datetime_complete or datetime.max)
    return sorted(trials, key=lambda trial: -mrr_of(trial))


def best_of_kinds(study: "Study", like: str | None = None) -> list["FrozenTrial"]:
    """The best trial of a model that knows no time, and of one that does; or of one's own kind."""
    done = completed(study)
    kinds = (True, False) if like is None else (like in STATIC,)
    found = []
    for is_static in kinds:
        found += [one for one in done if (one.params["model"] in STATIC) == is_static][:1]
    return found


def study_table(study: "Study", which: Filter) -> Table:
    """The best trials, then those that were stopped early, the latest first."""
    from optuna.trial import TrialState

    done = completed(study)
    trials = study.get_trials(deepcopy=False)
    stopped = [one for one in reversed(trials) if one.state == TrialState.PRUNED]
    waiting = sum(one.state == TrialState.WAITING for one in trials)
    rows = [_row(trial) for trial in [*done[:MOST_BEST], *stopped[:MOST_STOPPED]]]
    counts = f"{len(done)} trials, {len(stopped)} stopped early"
    counts += f", {waiting} recipes to come" if waiting else ""
    columns = (
        Column("trial", "trial"),
        Column("model", "model"),
        Column("mrr", f"{which} MRR", ".4f", blank="stopped"),
        Column("seconds", "seconds", ".0f"),
        Column("settings", "settings"),
        Column("note", "note"),
    )
    title = f"search on {study.user_attrs[ABOUT]['data']}: {counts}; valid split, context train"
    return Table(columns, tuple(rows), title)


def _row(trial: "FrozenTrial") -> dict[str, Value]:
    from optuna.trial import TrialState

    # Optuna gives a trial that was stopped the value of its last validation.
    is_done = trial.state == TrialState.COMPLETE
    settings = "its recipe" if trial.user_attrs.get(IS_START) else _settings(trial.params)
    return {
        "trial": trial.number,
        "model": trial.params["model"],
        "mrr": trial.value if is_done else None,
        "seconds": trial.duration.total_seconds() if trial.duration else None,
        "settings": settings,
        "note": trial.user_attrs.get(NOTE),
    }


def _settings(params: Mapping[str, Any]) -> str:
    values = {name.partition(".")[2]: value for name, value in params.items() if name != "model"}
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
    )


def importances(study: "Study") -> dict[str, float]:
    """How much each choice mattered for being among the best quarter, the most important first.

    That is Optuna's PED-ANOVA, of the settings that enough trials have; empty if none have.
    """
    from optuna.importance import PedAnovaImportanceEvaluator, get_param_importances

    counts = Counter(name for trial in completed(study) for name in trial.params)
    known = [name for name, count in counts.items() if count >= ENOUGH_TRIALS]
    if not known:
        return {}
    with warnings.catch_warnings():
        # It warns of settings that few of the best have.
        warnings.simplefilter("ignore", UserWarning)
        evaluator = PedAnovaImportanceEvaluator(target_quantile=BEST_PART)
        found = get_param_importances(study, params=known, evaluator=evaluator)
    return {name: share for name, share in found.items() if share >= LEAST_SHARE}


def plot_importances(found: Mapping[str, float], path: Path, title: str) -> None:
    plot_bars(found, path, title, "share of what mattered")


def mrr_of(trial: "FrozenTrial") -> float:
    """The MRR on valid of a trial that came to its end."""
    assert trial.value is not None
    return trial.value
