"""The study: made once, whole, and about one question."""

from pathlib import Path
from typing import Any

import optuna
import pytest
from optuna.trial import TrialState
from sqlalchemy import event

from small_runs import WORLD
from small_training import DATA
from targcn.errors import InputError
from targcn.search.study import Question, open_study

QUESTION = Question.of(DATA, "time-aware", ["seen", "distmult"])
STARTS = [{"model": "seen"}, {"model": "distmult"}]


@pytest.mark.filterwarnings("ignore:Heartbeat")
def test_who_comes_later_finds_the_trials_of_the_first(tmp_path: Path) -> None:
    optuna.logging.set_verbosity(optuna.logging.CRITICAL)
    with (
        open_study(tmp_path / "search", QUESTION, STARTS, 0) as one,
        open_study(tmp_path / "search", QUESTION, STARTS, 0) as other,
    ):
        assert one.ask().suggest_categorical("model", ["seen", "distmult"]) == "seen"
        assert other.ask().suggest_categorical("model", ["seen", "distmult"]) == "distmult"
        assert [trial.state for trial in one.trials] == [TrialState.RUNNING] * 2
    assert [path.name for path in tmp_path.iterdir()] == ["search"]
    # What Optuna logs is the caller's own choice.
    assert optuna.logging.get_verbosity() == optuna.logging.CRITICAL


@pytest.mark.parametrize(
    ("question", "problem"),
    [
        (Question.of(WORLD.dataset, "time-aware", QUESTION.models), "with the data world, not"),
        (Question.of(DATA, "raw", QUESTION.models), "with the filter time-aware, not raw; give"),
        (Question.of(DATA, "time-aware", ["seen"]), "with the models seen distmult, not seen;"),
    ],
)
def test_a_study_is_about_one_question(tmp_path: Path, question: Question, problem: str) -> None:
    with open_study(tmp_path / "search", QUESTION, STARTS, 0):
        pass
    with (
        pytest.raises(InputError, match=problem),
        open_study(tmp_path / "search", question, STARTS, 0),
    ):
        pass


def test_what_is_no_study_is_left_alone(tmp_path: Path) -> None:
    (tmp_path / "notes").mkdir()
    with (
        pytest.raises(InputError, match="notes already exists"),
        open_study(tmp_path / "notes", QUESTION, STARTS, 0),
    ):
        pass
    (tmp_path / "notes" / "study.db").write_text("these are notes, not a study" * 100)
    with (
        pytest.raises(InputError, match=r"study\.db is no study of targcn search \("),
        open_study(tmp_path / "notes", QUESTION, STARTS, 0),
    ):
        pass


@pytest.mark.filterwarnings("ignore:Heartbeat")
def test_a_file_that_cannot_grow_is_one_sentence(tmp_path: Path) -> None:
    sentence = r"cannot write .*study\.db: database or disk is full; the same command goes on"
    with pytest.raises(InputError, match=sentence):
        write_too_much(tmp_path / "search")
    with open_study(tmp_path / "search", QUESTION, STARTS, 0) as study:
        assert len(study.get_trials()) == len(STARTS)


def write_too_much(folder: Path) -> None:
    with open_study(folder, QUESTION, STARTS, 0) as study:
        fill_up(study)
        study.enqueue_trial({"model": "seen"}, user_attrs={"much": "x" * 99_999})


def fill_up(study: optuna.Study) -> None:
    """From now on the file of a study may not grow, as on a full disk."""
    engine = study._storage._backend.engine  # type: ignore[attr-defined]

    def limit(connection: Any, _: object) -> None:
        [size] = connection.execute("PRAGMA page_count").fetchone()
        connection.execute(f"PRAGMA max_page_count = {size}")

    engine.dispose()
    event.listen(engine, "connect", limit)
