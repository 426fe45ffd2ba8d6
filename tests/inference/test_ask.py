"""A run, its folder and its predictor, each asked in one call."""

from pathlib import Path

import polars as pl
import pytest

from oracle import World
from targcn.errors import InputError
from targcn.inference.ask import predict, predict_many
from targcn.inference.predictor import Predictor
from targcn.inference.questions import Question
from targcn.runs.run import Run
from targcn.runs.store import save_run
from targcn.training.fit import fit

WORLD = World(4, 1, [(0, 0, 1, 0), (0, 0, 2, 4), (3, 0, 1, 4), (0, 0, 3, 4)], cuts=(2, 3))
QUESTION = ("e0", "r0", None, "1970-01-05")


@pytest.fixture(scope="module")
def learned() -> Run:
    return fit(WORLD.dataset, "distmult", dim=4, epochs=2, device="cpu")


def test_a_run_its_folder_and_its_predictor_answer_alike(learned: Run, tmp_path: Path) -> None:
    save_run(learned, tmp_path / "run")
    folder = tmp_path / "run"
    expected = predict(learned, *QUESTION, context="train")
    for one in (folder, str(folder), Predictor(learned, "train"), Predictor(folder, "train")):
        assert predict(one, *QUESTION, context="train").equals(expected)
        found = predict_many(one, [Question(*QUESTION)], context="train")
        assert found.drop("question").equals(expected)
    assert predict(Predictor(learned, "train"), *QUESTION).equals(expected)
    with pytest.raises(InputError, match="has the context train, not train\\+valid"):
        predict(Predictor(learned, "train"), *QUESTION, context="train+valid")


def test_tuples_and_frames_are_answered_like_questions(learned: Run, tmp_path: Path) -> None:
    expected = predict_many(learned, [Question(*QUESTION)])
    save_run(learned, tmp_path / "run")
    frame = pl.DataFrame([QUESTION], ["subject", "relation", "object", "time"], orient="row")
    for asked in (learned, tmp_path / "run", str(tmp_path / "run"), Predictor(learned)):
        for questions in ([QUESTION], frame):
            assert predict_many(asked, questions).equals(expected)
