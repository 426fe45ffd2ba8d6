"""A search: recipes first, then variations; stopped, and gone on with."""

from collections import Counter
from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState

from oracle import World
from small_training import DATA
from targcn.errors import InputError
from targcn.evaluation.report import Setting
from targcn.recipes.recipe import change, find_recipe
from targcn.runs.evaluate import evaluate
from targcn.runs.store import load_run
from targcn.search import search as module
from targcn.search.search import Outcome, search
from targcn.search.trial import try_recipe
from targcn.training.fit import fit

MODELS = ("seen", "decayed-copy", "distmult")


def looked_for(out: Path, **options: Any) -> Outcome:
    return search(DATA, out, **({"models": MODELS, "device": "cpu"} | options))


def trials_of(out: Path) -> list[optuna.trial.FrozenTrial]:
    """What Optuna itself finds there."""
    optuna.logging.set_verbosity(optuna.logging.ERROR)
    storage = optuna.storages.RDBStorage(f"sqlite:///{out / 'study.db'}")
    trials = optuna.load_study(study_name="targcn", storage=storage).trials
    storage.remove_session()
    storage.engine.dispose()
    return trials


def mrr_of(run: Any) -> float:
    report = evaluate(run, split="valid", device="cpu")
    return report.metrics["time-aware"]["both"]["mrr"]


def test_recipes_first_then_variations_of_them(tmp_path: Path) -> None:
    out = tmp_path / "search"
    lines: list[tuple[str, bool]] = []

    def show(line: str, is_news: bool) -> None:
        lines.append((line, is_news))

    found = looked_for(out, trials=5, show=show)
    trials = trials_of(out)
    assert [one.params["model"] for one in trials[:3]] == list(MODELS)
    assert len(trials) == 5
    defaults = {name: mrr_of(fit(DATA, name, device="cpu")) for name in MODELS}
    for one in trials[:3]:
        assert one.value == pytest.approx(defaults[one.params["model"]])
    assert found.mrr == max(one.value or 0 for one in trials) >= max(defaults.values())
    assert mrr_of(found.run) == pytest.approx(found.mrr)
    assert len([line for line, is_news in lines if is_news]) == 5
    assert list(out.glob("run-*")) == [found.run]
    assert found.test is not None
    assert found.test.setting == Setting("test", "train+valid")


def test_the_recipe_that_is_written_trains_the_same_run(tmp_path: Path) -> None:
    found = looked_for(tmp_path / "search", trials=2, models=["distmult"], filter="static")
    recipe = find_recipe(None, str(tmp_path / "search" / "best.toml"))
    assert recipe.settings == load_run(found.run).recipe.settings
    assert recipe.training.select_by == "static"
    again = fit(DATA, recipe=tmp_path / "search" / "best.toml", device="cpu")
    assert again.recipe.model == "distmult"
    assert again.validation is not None
    assert again.validation.metrics["static"]["both"]["mrr"] == pytest.approx(found.mrr)


def test_a_trial_that_was_interrupted_is_tried_again(tmp_path: Path) -> None:
    def interrupt(line: str, is_news: bool) -> None:
        if line.startswith("trial 2, distmult: epoch"):
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        looked_for(tmp_path / "search", trials=9, show=interrupt)
    states = [one.state for one in trials_of(tmp_path / "search")]
    assert states == [TrialState.COMPLETE, TrialState.COMPLETE, TrialState.RUNNING]
    # What was found before is there.
    assert (tmp_path / "search" / "best.toml").exists()
    found = looked_for(tmp_path / "search", trials=1)
    [_, _, failed, again] = trials_of(tmp_path / "search")
    assert failed.state == TrialState.FAIL
    assert again.user_attrs["is start"]
    assert ("distmult", "its recipe") in {
        (row["model"], row["settings"]) for row in found.table.rows
    }


def test_equal_settings_are_tried_once(tmp_path: Path) -> None:
    found = looked_for(tmp_path / "search", trials=2, models=["seen"])
    assert [row["note"] for row in found.table.rows] == ["", "the same as trial 0"]
    assert found.run.name == "run-0"


def test_bad_variations_stop_early(tmp_path: Path) -> None:
    found = looked_for(tmp_path / "search", trials=9, models=["distmult"])
    counts = Counter(one.state for one in trials_of(tmp_path / "search"))
    assert counts[TrialState.PRUNED] > 0
    notes = [str(row["note"]) for row in found.table.rows if row["mrr"] is None]
    assert len(notes) == counts[TrialState.PRUNED]
    assert all("where one in 4 goes on" in note for note in notes)


def test_the_best_recipe_is_tried_whole_if_it_was_cut_short(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def cut(recipe: Any, evaluator: Any, follow: Any, seed: int) -> Any:
        is_start = follow.is_start
        if is_start:
            recipe = change(recipe, {"epochs": 1})
        run, report, _ = try_recipe(recipe, evaluator, follow, seed)
        return run, report, "1 of 50 epochs" if is_start else ""

    monkeypatch.setattr(module, "try_recipe", cut)
    looked_for(tmp_path / "search", trials=2, models=["distmult"])
    start, whole = trials_of(tmp_path / "search")
    assert start.params == whole.params
    epochs = [one.user_attrs["recipe"]["training"]["epochs"] for one in (start, whole)]
    assert epochs == [1, 50]


def test_the_time_is_shared(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Floors and the default have two fifths each, the others share the rest of seven tenths."""
    allowed: dict[str, float] = {}

    def stop(recipe: Any, evaluator: Any, follow: Any, seed: int) -> None:
        allowed[recipe.model] = follow.seconds
        raise module.StoppedError("seen enough")

    monkeypatch.setattr(module, "try_recipe", stop)
    names = ["seen", "evidence", "distmult", "complex", "t-gap"]
    with pytest.raises(
        InputError, match=r"no trial came to its end; go on in .* with more minutes"
    ):
        looked_for(tmp_path / "search", minutes=1000, trials=5, models=names)
    seconds = [allowed[name] / 60_000 for name in names]
    # No time was spent by what was stopped at once.
    expected = [0.4, 0.4, 0.7 / 3, 0.7 / 2, 0.7]
    assert seconds == pytest.approx(expected, abs=0.01)


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({}, "a search needs an end: give minutes, trials, or both"),
        ({"minutes": 0}, "minutes is 0; it must be above 0"),
        ({"trials": 0}, "trials is 0; at least 1 was expected"),
        ({"trials": 1, "models": ["sen"]}, "there is no model 'sen'; did you mean 'seen'?"),
        ({"trials": 1, "filter": "best"}, "filter 'best' is unknown; choose one of raw, static"),
        ({"trials": 1, "seed": -1}, "seed is -1; it cannot be negative"),
    ],
)
def test_what_cannot_be_searched(tmp_path: Path, options: Any, problem: str) -> None:
    with pytest.raises(InputError) as error:
        looked_for(tmp_path / "search", **options)
    assert str(error.value).startswith(problem)
    assert not (tmp_path / "search").exists()


def test_there_must_be_something_to_judge_on(tmp_path: Path) -> None:
    dataset = World(2, 1, [(0, 0, 1, 0)], cuts=(1, 1)).dataset
    with pytest.raises(InputError, match="world has no facts in its valid split"):
        search(dataset, tmp_path / "search", trials=1)
