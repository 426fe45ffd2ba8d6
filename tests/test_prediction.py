from datetime import date
from typing import Any

import pytest
import torch

import oracle
from oracle import World
from targcn import prediction
from targcn.checkpoint import Run
from targcn.errors import InputError
from targcn.facts.graph import TemporalGraph
from targcn.fitting import fit
from targcn.models.contract import Queries
from targcn.prediction import Question, predict, predict_many

TRAIN = [(0, 0, 1, 0), (0, 0, 2, 4), (3, 0, 1, 4)]
WORLD = World(5, 2, [*TRAIN, (0, 0, 3, 4), (0, 0, 4, 9)], cuts=(3, 4))


@pytest.fixture(scope="module")
def run() -> Run:
    return fit(WORLD.dataset, "decayed-copy", scale=2)


def scores(query: oracle.Query, facts: list[oracle.Fact]) -> dict[str, float]:
    found = oracle.decayed_copy(facts, 5, 2, query, scale=2)
    return {f"e{entity}": score for entity, score in enumerate(found)}


def answers(run: Run, *query: Any, **options: Any) -> dict[str, float]:
    frame = predict(run, *query, **options)
    assert frame.columns == ["rank", "answer", "score", "probability", "known"]
    assert frame["rank"].to_list() == list(range(1, len(frame) + 1))
    assert frame["score"].is_sorted(descending=True)
    return dict(zip(frame["answer"], frame["score"], strict=True))


def test_an_open_object(run: Run) -> None:
    found = answers(run, "e0", "r0", None, "1970-01-05")
    assert found == pytest.approx(scores((0, 0, 4), WORLD.facts[:4]))


def test_an_open_subject_asks_the_reciprocal_relation(run: Run) -> None:
    found = answers(run, None, "r0", "e1", "1970-01-05")
    assert found == pytest.approx(scores((1, 2, 4), WORLD.facts[:4]))
    assert next(iter(found)) == "e3"


def test_the_context_is_what_was_asked_for(run: Run) -> None:
    found = answers(run, "e0", "r0", None, "1970-01-05", context="train")
    assert found == pytest.approx(scores((0, 0, 4), TRAIN))


@pytest.mark.parametrize(
    ("time", "tick"), [("1970-01-03", 2), ("1969-12-01", -31), (date(1971, 1, 1), 365)]
)
def test_times_never_seen(run: Run, time: str | date, tick: int) -> None:
    found = answers(run, "e0", "r0", None, time)
    assert found == pytest.approx(scores((0, 0, tick), WORLD.facts[:4]))


def test_what_is_known_of_each_answer(run: Run) -> None:
    frame = predict(run, "e0", "r0", None, "1970-01-05")
    # Every split counts: 2 stands in train, 3 in valid, 4 (at another time) in test.
    assert dict(zip(frame["answer"], frame["known"], strict=True)) == {
        "e0": "no",
        "e1": "at another time",
        "e2": "then",
        "e3": "then",
        "e4": "at another time",
    }


def test_known_subjects_of_an_object(run: Run) -> None:
    frame = predict(run, None, "r0", "e1", "1970-01-01", top=5)
    assert frame.filter(frame["known"] == "then")["answer"].to_list() == ["e0"]
    assert frame.filter(frame["known"] == "at another time")["answer"].to_list() == ["e3"]


def test_a_model_left_on_another_device_is_fetched() -> None:
    run = fit(WORLD.dataset, "decayed-copy", scale=2)
    # Nothing can be fetched from torch's meta device, so this says that it was tried.
    run.model.register_buffer("weight", torch.ones(1, device="meta"), persistent=False)
    with pytest.raises(NotImplementedError, match="Cannot copy out of meta tensor"):
        predict(run, "e0", "r0", None, "1970-01-05")


def test_top_bounds_the_answers(run: Run) -> None:
    query = ("e0", "r0", None, "1970-01-05")
    assert list(answers(run, *query, top=2)) == list(answers(run, *query))[:2]
    assert len(answers(run, *query, top=99)) == 5


@pytest.mark.parametrize(
    ("query", "message"),
    [
        (("e0", "r0", "e1", "1970-01-05"), "leave exactly one of subject and object open"),
        ((None, "r0", None, "1970-01-05"), "leave exactly one of subject and object open"),
        (("E0", "r0", None, "1970-01-05"), "entity 'E0' is not in this graph; did you mean 'e0'?"),
        ((None, "r0", "E1", "1970-01-05"), "entity 'E1' is not in this graph; did you mean 'e1'?"),
        (("e0", "R1", None, "1970-01-05"), "relation 'R1' is not in this graph; did you mean 'r1'"),
        (("e0", "r0", None, "soon"), "'soon' is not a date"),
    ],
)
def test_a_query_that_makes_no_sense_is_refused(
    run: Run, query: tuple[Any, ...], message: str
) -> None:
    with pytest.raises(InputError, match=message):
        predict(run, *query)


@pytest.mark.parametrize("top", [0, -1])
def test_no_answers_cannot_be_asked_for(run: Run, top: int) -> None:
    with pytest.raises(InputError, match=f"top is {top}; ask for at least 1 answer"):
        predict(run, "e0", "r0", None, "1970-01-05", top=top)


def test_scores_that_are_not_numbers_are_refused() -> None:
    class NotNumbers(torch.nn.Module):
        def forward(self, queries: Queries, context: TemporalGraph) -> torch.Tensor:
            return torch.tensor([[0.0, 1.0, 2.0, 3.0, float("nan")]])

    run = Run("decayed-copy", {}, 0, WORLD.dataset, NotNumbers())
    with pytest.raises(InputError, match="scores that are not numbers"):
        predict(run, "e0", "r0", None, "1970-01-05")


def test_how_many_are_asked_at_once_does_not_matter(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [Question(f"e{entity}", "r0", None, "1970-01-05") for entity in range(3)]
    together = predict_many(run, questions)
    monkeypatch.setattr(prediction, "rows_at_once", lambda width, device: 1)
    done = []
    alone = predict_many(run, questions, progress=lambda *counts: done.append(counts))
    assert alone.equals(together)
    assert done == [(1, 3), (2, 3), (3, 3)]
