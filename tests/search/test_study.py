"""The study: made once, whole, for one process at a time, and about one question."""

from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from small_runs import WORLD
from small_training import DATA
from targcn.errors import InputError
from targcn.search.study import (
    ABOUT,
    IS_START,
    NOTE,
    completed,
    open_study,
    question_of,
    study_table,
)

QUESTION = question_of(DATA, "time-aware", ["seen", "distmult"])
STARTS = [{"model": "seen"}, {"model": "distmult"}]


def opened(folder: Path, question: Any = QUESTION) -> Any:
    return open_study(folder, question, STARTS, 0)


def test_a_second_process_is_refused(tmp_path: Path) -> None:
    with (
        opened(tmp_path / "search"),
        pytest.raises(InputError, match="another process is writing into"),
        opened(tmp_path / "search"),
    ):
        pass
    assert [path.name for path in tmp_path.iterdir()] == ["search"]


def test_a_trial_of_a_process_that_was_killed_is_tried_again(tmp_path: Path) -> None:
    with opened(tmp_path / "search") as study:
        assert study.ask().suggest_categorical("model", ["seen", "distmult"]) == "seen"
    with opened(tmp_path / "search") as study:
        waiting, failed = TrialState.WAITING, TrialState.FAIL
        assert [trial.state for trial in study.trials] == [failed, waiting, waiting]
        for model in ("distmult", "seen"):
            trial = study.ask()
            assert trial.suggest_categorical("model", ["seen", "distmult"]) == model
            assert trial.user_attrs["is start"]


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (question_of(WORLD.dataset, "time-aware", ["seen", "distmult"]), "with the facts "),
        (question_of(DATA, "raw", ["seen", "distmult"]), "with the filter time-aware, not raw"),
        (question_of(DATA, "time-aware", ["seen"]), "with the models seen distmult, not seen;"),
    ],
)
def test_a_study_is_about_one_question(tmp_path: Path, question: Any, problem: str) -> None:
    with opened(tmp_path / "search"):
        pass
    with pytest.raises(InputError, match=problem), opened(tmp_path / "search", question):
        pass


def test_what_is_no_study_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    with pytest.raises(InputError, match="notes already exists"), opened(tmp_path / "notes"):
        pass
    (tmp_path / "notes" / "study.db").write_text("these are notes, not a study" * 100)
    with (
        pytest.raises(InputError, match=r"cannot use .*study\.db: file is not a database"),
        opened(tmp_path / "notes"),
    ):
        pass


# --- what it has found ----------------------------------------------------------------------


@pytest.fixture
def study() -> optuna.Study:
    """Only the learning rate of complex matters: the larger, the better."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    study = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    study.set_user_attr(ABOUT, {"data": "world"})
    study.enqueue_trial({"model": "targcn"}, user_attrs={IS_START: True})

    def objective(trial: optuna.Trial) -> float:
        model = trial.suggest_categorical("model", ["complex", "targcn"])
        if model == "targcn":
            return 0.1
        trial.suggest_float("complex.dim", 1, 2)
        return trial.suggest_float("complex.learning_rate", 0.2, 0.8)

    study.optimize(objective, n_trials=40)
    bad = study.ask({"model": optuna.distributions.CategoricalDistribution(["complex", "targcn"])})
    bad.set_user_attr(NOTE, "too slow")
    bad.report(0.9, 1)
    study.tell(bad, state=optuna.trial.TrialState.PRUNED)
    return study


def test_the_best_first_then_those_that_were_stopped(study: optuna.Study) -> None:
    table = study_table(study, "static")
    mrrs = [row["mrr"] for row in table.rows]
    assert mrrs[:10] == [trial.value for trial in completed(study)[:10]]
    assert mrrs[10:] == [None]
    assert table.rows[10]["note"] == "too slow"
    assert table.title.startswith("search on world: 40 trials, 1 stopped early")
    assert table.labels[2] == "static MRR"
    assert str(table.rows[0]["settings"]).startswith("dim 1.")
