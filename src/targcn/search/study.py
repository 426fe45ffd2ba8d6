"""The study of a search, an Optuna study in SQLite in the search's folder, and what it has found.

Any of Optuna's tools can look at it.
"""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from hashlib import sha256
from pathlib import Path
from typing import Any, Final

import optuna
from optuna.exceptions import StorageInternalError
from optuna.storages import RDBStorage
from optuna.trial import FrozenTrial, TrialState
from sqlalchemy.exc import SQLAlchemyError

from targcn.errors import InputError
from targcn.evaluation.filters import Filter
from targcn.facts.dataset import Dataset
from targcn.files import atomic_folder, sole_writer
from targcn.output.tables import Column, Table

FILE: Final = "study.db"
NAME: Final = "targcn"
# What a study says about itself, and a trial about itself.
ABOUT: Final = "search"
IS_START: Final = "is start"
NOTE: Final = "note"
WHOLE: Final = "recipe"
# The share of its training, in percent, after which a trial is first compared with the others, and
# the part of them that goes on; at this multiple of the share it is compared again.
FIRST_PERCENT: Final = 10
ONE_IN: Final = 4
MOST_BEST: Final = 10
MOST_STOPPED: Final = 20


def question_of(dataset: Dataset, which: Filter, models: Sequence[str]) -> dict[str, str]:
    """What a search is about: its data, its judge, and the models that it chooses from."""
    digest = sha256()
    for facts in dataset.splits.values():
        digest.update(facts.columns.tobytes())
    for names in (dataset.entities.names, dataset.relations.names):
        digest.update("\n".join(names).encode())
    about = {"data": dataset.name, "facts": digest.hexdigest()[:12]}
    return about | {"filter": which, "models": " ".join(models)}


@contextmanager
def open_study(
    folder: Path, question: Mapping[str, str], starts: Sequence[Mapping[str, Any]], seed: int
) -> Iterator[optuna.Study]:
    """The study of a folder, which is made with these trials waiting if it is not there yet."""
    with _explained(folder):
        if not (folder / FILE).exists():
            # A kill leaves all trials that are to come first, or nothing.
            with atomic_folder(folder) as draft, _storage(draft) as storage:
                study = optuna.create_study(study_name=NAME, storage=storage, direction="maximize")
                study.set_user_attr(ABOUT, dict(question))
                for params in starts:
                    study.enqueue_trial(dict(params), user_attrs={IS_START: True})
        with sole_writer(folder), _storage(folder) as storage:
            try:
                study = optuna.load_study(study_name=NAME, storage=storage)
                about = dict(study.user_attrs[ABOUT])
            except KeyError as error:
                raise InputError(
                    f"{folder / FILE} is no study of targcn search ({error})"
                ) from None
            for what in ("facts", "filter", "models"):
                if about[what] != question[what]:
                    raise InputError(
                        f"{folder} is a search on {about['data']} with the {what} {about[what]}, "
                        f"not {question[what]}; give the same, or another --out"
                    )
            for trial in study.get_trials(states=[TrialState.RUNNING]):
                # It was interrupted: let it be the next but those that wait already.
                study.tell(trial.number, state=TrialState.FAIL)
                is_start = {IS_START: True} if trial.user_attrs.get(IS_START) else {}
                study.enqueue_trial(trial.params, user_attrs=is_start)
            # What goes on must not vary as it did before.
            study.sampler = optuna.samplers.TPESampler(
                seed=seed + len(study.trials), n_startup_trials=len(starts)
            )
            study.pruner = optuna.pruners.SuccessiveHalvingPruner(FIRST_PERCENT, ONE_IN)
            yield study


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Let Optuna log errors alone, and turn what it cannot read or write into one sentence."""
    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    except (SQLAlchemyError, StorageInternalError) as error:
        # Optuna's own words about a failed write say nothing; those of SQLite are behind them.
        cause = error.__cause__ if isinstance(error, StorageInternalError) else error
        reason = str(getattr(cause, "orig", cause)).splitlines()[0]
        raise InputError(
            f"cannot use {folder / FILE}: {reason}; go on with more room, or choose another --out"
        ) from error
    finally:
        optuna.logging.set_verbosity(before)


@contextmanager
def _storage(folder: Path) -> Iterator[RDBStorage]:
    storage = RDBStorage(f"sqlite:///{(folder / FILE).resolve()}")
    try:
        yield storage
    finally:
        storage.remove_session()
        storage.engine.dispose()


def completed(study: optuna.Study) -> list[FrozenTrial]:
    """The trials that came to their end, best first; of equal ones the one that was first."""
    trials = study.get_trials(deepcopy=False, states=[TrialState.COMPLETE])
    return sorted(trials, key=lambda trial: -mrr_of(trial))


def mrr_of(trial: FrozenTrial) -> float:
    """The MRR on valid of a trial that came to its end."""
    assert trial.value is not None
    return trial.value


def study_table(study: optuna.Study, which: Filter) -> Table:
    """The best trials, then those that were stopped early, the latest first."""
    done = completed(study)
    stopped = study.get_trials(deepcopy=False, states=[TrialState.PRUNED])[::-1]
    waiting = len(study.get_trials(deepcopy=False, states=[TrialState.WAITING]))
    rows = [
        {
            "trial": trial.number,
            "model": trial.params["model"],
            # Optuna gives a trial that was stopped the value of its last validation.
            "mrr": trial.value if trial.state == TrialState.COMPLETE else None,
            "seconds": trial.duration.total_seconds() if trial.duration else None,
            "settings": _settings_of(trial),
            "note": trial.user_attrs.get(NOTE),
        }
        for trial in [*done[:MOST_BEST], *stopped[:MOST_STOPPED]]
    ]
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


def _settings_of(trial: FrozenTrial) -> str:
    if trial.user_attrs.get(IS_START):
        return "its recipe"
    values = {name.partition(".")[2]: value for name, value in trial.params.items()}
    return ", ".join(
        f"{name} {value:.3g}" if isinstance(value, float) else f"{name} {value}"
        for name, value in values.items()
        if name
    )
