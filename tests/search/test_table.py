"""What a study has found."""

from pathlib import Path

import optuna
import pytest

from targcn.search.study import ABOUT, IS_START, NOTE
from targcn.search.table import (
    best_of_kinds,
    completed,
    importances,
    plot_importances,
    study_table,
)


@pytest.fixture
def study() -> optuna.Study:
    """Only the learning rate of complex matters: the larger, the better."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    found = optuna.create_study(direction="maximize", sampler=optuna.samplers.RandomSampler(seed=0))
    found.set_user_attr(ABOUT, {"data": "world"})
    found.enqueue_trial({"model": "targcn"}, user_attrs={IS_START: True})

    def objective(trial: optuna.Trial) -> float:
        model = trial.suggest_categorical("model", ["complex", "targcn"])
        if model == "targcn":
            return 0.1
        trial.suggest_float("complex.dim", 1, 2)
        return trial.suggest_float("complex.learning_rate", 0.2, 0.8)

    found.optimize(objective, n_trials=40)
    bad = found.ask({"model": optuna.distributions.CategoricalDistribution(["complex", "targcn"])})
    bad.set_user_attr(NOTE, "too slow")
    bad.report(0.9, 1)
    found.tell(bad, state=optuna.trial.TrialState.PRUNED)
    return found


def test_the_best_first_then_those_that_were_stopped(study: optuna.Study) -> None:
    table = study_table(study, "static")
    mrrs = [row["mrr"] for row in table.rows]
    assert mrrs[:10] == [trial.value for trial in completed(study)[:10]]
    assert mrrs[10:] == [None]
    assert table.rows[10]["note"] == "too slow"
    assert table.title.startswith("search on world: 40 trials, 1 stopped early")
    assert table.labels[2] == "static MRR"
    assert str(table.rows[0]["settings"]).startswith("dim 1.")


def test_the_best_of_each_kind(study: optuna.Study) -> None:
    static, timed = best_of_kinds(study)
    assert static.number == study.best_trial.number
    # Of equal ones the first.
    assert (timed.number, timed.value) == (0, 0.1)
    assert best_of_kinds(study, like="telm") == [timed]


def test_what_mattered(study: optuna.Study, tmp_path: Path) -> None:
    found = importances(study)
    assert next(iter(found)) == "complex.learning_rate"
    assert found["complex.learning_rate"] > 2 * found.get("complex.dim", 0)
    assert 0.9 < sum(found.values()) <= 1
    plot_importances(found, tmp_path / "plot.svg", "what mattered")
    assert "what mattered" in (tmp_path / "plot.svg").read_text()
    assert importances(optuna.create_study()) == {}
