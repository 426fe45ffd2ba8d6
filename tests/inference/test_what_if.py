"""Facts in words, what may be left out of a context or put into it, and the answers that follow."""

from dataclasses import replace
from datetime import date

import polars as pl
import pytest

from oracle import World
from targcn.errors import InputError
from targcn.facts.dataset import OPEN
from targcn.inference.ask import predict_many
from targcn.inference.predictor import Predictor
from targcn.inference.questions import Question
from targcn.inference.what_if import change_context, parse_fact
from targcn.runs.run import Run
from targcn.training.fit import fit

WORLD = World(3, 2, [(0, 0, 1, 0), (0, 0, 1, 4), (0, 0, 1, 6), (0, 0, 1, 9), (2, 1, 0, 4)])
HELD = ("e0", "r0", "e1", "1970-01-05")


@pytest.mark.parametrize("text", ["a|b|c", "a|b|c|d|e|f", "a|b||2005", "a|b|c||", "", "a b c 2005"])
def test_what_is_no_fact_is_refused(text: str) -> None:
    with pytest.raises(InputError, match="is not a fact; write 'SUBJECT "):
        parse_fact(text)


LASTING = World(3, 2, [(0, 0, 1, 2, 6), (0, 0, 1, 5, OPEN), (0, 0, 1, 9, 9), (2, 1, 0, OPEN, 4)])


@pytest.mark.parametrize(
    ("world", "without", "given", "sentence"),
    [
        (WORLD, [], [], "name a fact to leave out or to add"),
        (
            WORLD,
            [("e0", "r0", "e1", "1970-01-06")],
            [],
            "does not hold e0 — r0 — e1, 1970-01-06, so it cannot be left out; it holds it at "
            "1970-01-05, 1970-01-07, 1970-01-10$",
        ),
        (WORLD, [("e1", "r0", "e0", "1970-01-01")], [], "so it cannot be left out$"),
        (WORLD, [], [HELD], "holds e0 — r0 — e1, 1970-01-05 already; nothing would change"),
        (WORLD, [], [("e0", "r0", "e1", "1969-12-31")], "is before 1970-01-01, where the data"),
        (WORLD, [], [("e0", "r0", "e11", "1970")], "entity 'e11' is not in this graph; did you"),
        (WORLD, [("e0", "r9", "e1", "1970")], [], "relation 'r9' is not in this graph"),
        (WORLD, [("e0", "r0", "e1", "then")], [], "'then' is not a date"),
        (WORLD, [], [("e0", "r0", "e1", "1970-01-04", None)], "have one time, not two"),
        (
            LASTING,
            [("e0", "r0", "e1", "1970-01-02")],
            [],
            "so it cannot be left out; it holds it at 1970-01-03 – 1970-01-07, since 1970-01-06, "
            "1970-01-10$",
        ),
        (LASTING, [], [("e0", "r0", "e1", "1970-01-04")], "already; nothing would change"),
        (LASTING, [], [("e0", "r0", "e1", "1970-01-04", "1970-01-02")], "ends before it starts"),
        (LASTING, [], [("e1", "r0", "e1", "1969-12-31", None)], "where the data begin"),
    ],
)
def test_changes_that_change_nothing_are_refused(world, without, given, sentence) -> None:
    with pytest.raises(InputError, match=sentence):
        change_context(world.graph, world.dataset, without, given)


ADDED = [("e1", "r1", "e2", "1970-01-03"), ("e1", "r1", "e2", None, "1970-01-02")]


@pytest.mark.parametrize(
    ("without", "given", "expected"),
    [
        # All that hold then, or the one interval that is named.
        ([("e0", "r0", "e1", "1970-01-06")], [], LASTING.facts[2:]),
        ([("e0", "r0", "e1", "1970-01-06", None)], [], [LASTING.facts[0], *LASTING.facts[2:]]),
        ([("e0", "r0", "e1", "1970-01-03", "1970-01-07")], [], LASTING.facts[1:]),
        (
            [("e2", "r1", "e0", None, "1970-01-05"), ("e0", "r0", "e1", "1970-01-03")],
            [],
            LASTING.facts[1:3],
        ),
        ([], ADDED, [*LASTING.facts, (1, 1, 2, 2, 2), (1, 1, 2, OPEN, 1)]),
    ],
)
def test_intervals_are_left_out_and_added(without, given, expected) -> None:
    changed = change_context(LASTING.graph, LASTING.dataset, without, given)
    graph = World(3, 2, expected).graph
    assert changed.keys.tolist() == graph.keys.tolist()
    assert changed.ends.tolist() == graph.ends.tolist()


# --- the answers before and after -------------------------------------------------------------

ASKED = World(5, 2, [(0, 0, 1, 0), (0, 0, 2, 4), (3, 0, 1, 4), (0, 0, 3, 4), (0, 0, 4, 9)], (3, 4))
QUESTION = ("e0", "r0", None, "1970-01-05")


@pytest.fixture(scope="module")
def run() -> Run:
    return fit(ASKED.dataset, "decayed-copy", scale=2)


@pytest.mark.parametrize("model", ["decayed-copy", "targcn"])
@pytest.mark.parametrize("top", [1, 2, 5])
def test_what_if_is_a_prediction_in_another_context(model: str, top: int) -> None:
    small = {"dim": 4, "neighbors": 9, "epochs": 1, "device": "cpu"} if model == "targcn" else {}
    run = fit(ASKED.dataset, model, **small)
    questions = [Question(*QUESTION), Question(None, "r0", "e1", "1970-01-05")]
    left = World(5, 2, [(0, 0, 1, 0), (3, 0, 1, 4), (0, 0, 3, 4), (4, 1, 1, 3)], cuts=(4, 4))
    other = replace(run, dataset=left.dataset)
    frame = Predictor(run, "train+valid").what_if(
        questions,
        without=[("e0", "r0", "e2", "1970-01-05")],
        given=[("e4", "r1", "e1", date(1970, 1, 4))],
        top=top,
    )
    sides = {
        side: predict_many(one, questions, context="train+valid")
        for side, one in (("before", run), ("after", other))
    }
    rows = {
        side: {(row["question"], row["answer"]): row for row in every.to_dicts()}
        for side, every in sides.items()
    }
    best = [
        {key for key, row in of_side.items() if row["rank"] <= top} for of_side in rows.values()
    ]
    for row in frame.to_dicts():
        key = row["question"], row["answer"]
        for side, of_side in rows.items():
            for what in ("rank", "tied", "score", "probability"):
                assert row[f"{what}_{side}"] == pytest.approx(of_side[key][what]), what
        assert row["known"] == rows["before"][key]["known"]
        was, remains = key in best[0], key in best[1]
        assert row["change"] == {(0, 1): "came in", (1, 0): "dropped out"}.get((was, remains), "")
    for number in (1, 2):
        shown = frame.filter(pl.col("question") == number)
        assert top <= shown.height <= min(2 * top, 5)
        assert shown["rank_after"].is_sorted()


def test_what_if_needs_a_model_that_reads_its_context() -> None:
    learned = fit(ASKED.dataset, "distmult", dim=4, epochs=1, device="cpu")
    with pytest.raises(InputError, match="distmult ignores its context and answers from"):
        Predictor(learned).what_if(
            [Question(*QUESTION)], without=[("e0", "r0", "e2", "1970-01-05")]
        )
