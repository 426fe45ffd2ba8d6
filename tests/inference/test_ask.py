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
    folder = tmp_path / "run"
    save_run(learned, folder)
    expected = predict(learned, *QUESTION, context="train")
    frame = pl.DataFrame([QUESTION], ["subject", "relation", "object", "time"], orient="row")
    for run in (folder, str(folder), Predictor(learned, "train"), Predictor(folder, "train")):
        assert predict(run, *QUESTION, context="train").equals(expected)
        # Tuples and frames are answered like questions.
        for questions in ([Question(*QUESTION)], [QUESTION], frame):
            answers = predict_many(run, questions, context="train")
            assert answers.drop("question").equals(expected)
    assert predict(Predictor(learned, "train"), *QUESTION).equals(expected)
    with pytest.raises(InputError, match="has the context train, not train\\+valid"):
        predict(Predictor(learned, "train"), *QUESTION, context="train+valid")
