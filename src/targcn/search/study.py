"""The study of a search: an Optuna study in SQLite, in the search's folder.

Several processes may work on one study, and any of Optuna's tools can look at it.
"""

import warnings
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Any, Final

from targcn.errors import InputError
from targcn.evaluation.filters import Filter
from targcn.facts.dataset import Dataset
from targcn.files import atomic_folder

if TYPE_CHECKING:
    from optuna import Study
    from optuna.storages import RDBStorage

FILE: Final = "study.db"
NAME: Final = "targcn"
# What a study says about itself, and a trial about itself.
ABOUT: Final = "search"
IS_START: Final = "is start"
NOTE: Final = "note"
WHOLE: Final = "recipe"
# The trial of a process that is silent for so long is tried again.
SECONDS_BETWEEN_SIGNS: Final = 15
SECONDS_OF_SILENCE: Final = 90
SECONDS_TO_WAIT_FOR_OTHERS: Final = 60
# The share of its training, in percent, after which a trial is first compared with the others, and
# the part of them that goes on; at this multiple of the share it is compared again.
FIRST_PERCENT: Final = 10
ONE_IN: Final = 4


@dataclass(frozen=True)
class Question:
    """What a search is about: its data, its judge, and the models that it chooses from."""

    data: str
    digest: str
    filter: Filter
    models: tuple[str, ...]

    @classmethod
    def of(cls, dataset: Dataset, filter: Filter, models: Sequence[str]) -> "Question":
        digest = sha256()
        for facts in dataset.splits.values():
            digest.update(facts.columns.tobytes())
        for names in (dataset.entities.names, dataset.relations.names):
            digest.update("\n".join(names).encode())
        return cls(dataset.name, digest.hexdigest(), filter, tuple(models))

    def require_same(self, other: "Question", folder: Path) -> None:
        """Refuse to go on with a search about something else."""
        for what, ours, theirs in (
            ("the data", f"{self.data}, as it is now", other.data),
            ("the filter", self.filter, other.filter),
            ("the models", " ".join(self.models), " ".join(other.models)),
        ):
            differs = self.digest != other.digest if what == "the data" else ours != theirs
            if differs:
                raise InputError(
                    f"{folder} is a search with {what} {theirs}, not {ours}; give the same, or "
                    "another --out"
                )


def require_optuna() -> None:
    try:
        import optuna  # noqa: F401
    except ImportError:
        raise InputError("a search needs Optuna: pip install 'targcn[search]'") from None


@contextmanager
def open_study(
    folder: Path, question: Question, starts: Sequence[Mapping[str, Any]], seed: int
) -> Iterator["Study"]:
    """The study of a folder, which is made with these trials waiting if it is not there yet."""
    import optuna
    from optuna.pruners import SuccessiveHalvingPruner
    from optuna.samplers import TPESampler
    from optuna.trial import TrialState
    from sqlalchemy.exc import SQLAlchemyError

    with _quiet(), _explained(folder):
        if not (folder / FILE).exists():
            _create(folder, question, starts)
        try:
            storage = _open(folder)
            study = optuna.load_study(study_name=NAME, storage=storage)
            about = dict(study.user_attrs[ABOUT])
            found = Question(**about | {"models": tuple(about["models"])})
        except (SQLAlchemyError, optuna.exceptions.OptunaError, KeyError, RuntimeError) as error:
            reason = " ".join(str(error).split())[:100]
            raise InputError(
                f"{folder / FILE} is no study of targcn search ({reason}); choose another --out"
            ) from None
        question.require_same(found, folder)
        # Processes that join must not all vary alike.
        begun = sum(one.state != TrialState.WAITING for one in study.get_trials(deepcopy=False))
        study.sampler = TPESampler(
            seed=seed + begun, n_startup_trials=len(question.models), multivariate=False
        )
        study.pruner = SuccessiveHalvingPruner(FIRST_PERCENT, ONE_IN)
        try:
            yield study
        finally:
            _close(storage)


@contextmanager
def _quiet() -> Iterator[None]:
    """Let Optuna log errors alone; what it logs afterwards is the caller's own choice again."""
    import optuna

    before = optuna.logging.get_verbosity()
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    try:
        yield
    finally:
        optuna.logging.set_verbosity(before)


@contextmanager
def _explained(folder: Path) -> Iterator[None]:
    """Turn what the file of a study cannot do, on a full disk for example, into one sentence."""
    from optuna.exceptions import StorageInternalError
    from sqlalchemy.exc import SQLAlchemyError

    try:
        yield
    except (SQLAlchemyError, StorageInternalError) as error:
        # Optuna's own words about a failed write say nothing; those of SQLite are behind them.
        cause = error.__cause__ if isinstance(error, StorageInternalError) else error
        reason = str(getattr(cause, "orig", cause)).splitlines()[0]
        raise InputError(
            f"cannot write {folder / FILE}: {reason}; the same command goes on from what is there"
        ) from error


def _create(folder: Path, question: Question, starts: Sequence[Mapping[str, Any]]) -> None:
    """Make the folder whole: who joins finds all trials that are to come first."""
    import optuna

    try:
        with atomic_folder(folder) as draft:
            storage = _open(draft)
            study = optuna.create_study(study_name=NAME, storage=storage, direction="maximize")
            study.set_user_attr(ABOUT, asdict(question))
            for params in starts:
                study.enqueue_trial(dict(params), user_attrs={IS_START: True})
            _close(storage)
    except InputError:
        # Another process may have been first.
        if not (folder / FILE).exists():
            raise


def _open(folder: Path) -> "RDBStorage":
    from optuna.exceptions import ExperimentalWarning
    from optuna.storages import RDBStorage, RetryHeartbeatStaleTrialCallback

    with warnings.catch_warnings():
        # Optuna may still change its heartbeat; what it is for here would stay.
        warnings.simplefilter("ignore", ExperimentalWarning)
        return RDBStorage(
            f"sqlite:///{(folder / FILE).resolve()}",
            engine_kwargs={"connect_args": {"timeout": SECONDS_TO_WAIT_FOR_OTHERS}},
            heartbeat_interval=SECONDS_BETWEEN_SIGNS,
            grace_period=SECONDS_OF_SILENCE,
            heartbeat_stale_trial_callback=RetryHeartbeatStaleTrialCallback(),
        )


def _close(storage: "RDBStorage") -> None:
    storage.remove_session()
    storage.engine.dispose()
