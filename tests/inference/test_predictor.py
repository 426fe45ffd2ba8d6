import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import polars as pl
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from polars.testing import assert_frame_equal

import oracle
from oracle import OPEN, World, checked
from small_judges import with_untaught
from targcn.errors import InputError
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph
from targcn.inference import predictor as predictor_module
from targcn.inference.ask import explain, predict, predict_many
from targcn.inference.predictor import Predictor
from targcn.inference.questions import Question
from targcn.models.base import Model, ModelSettings
from targcn.models.reasons import Reasons
from targcn.runs.run import Run
from targcn.training.fit import fit

TRAIN = [(0, 0, 1, 0), (0, 0, 2, 4), (3, 0, 1, 4)]
# Entity 4 has no fact but in test.
WORLD = World(5, 2, [*TRAIN, (0, 0, 3, 4), (0, 0, 4, 9)], cuts=(3, 4))
QUESTION = ("e0", "r0", None, "1970-01-05")


class Scripted(Model):
    """Gives these scores to every query, and this fact as the reason for every answer."""

    reads_context = True

    def __init__(self, *scores: float, fact: oracle.Fact = (0, 0, 1, 0)) -> None:
        super().__init__(ModelSettings(), WORLD.dataset)
        self.scores, self.fact = torch.tensor([scores]), fact

    def forward(self, queries: Queries, context: TemporalGraph) -> torch.Tensor:
        return self.scores.repeat(len(queries), 1)

    def reasons(self, query: Queries, answer: int, context: TemporalGraph) -> Reasons:
        fact = (torch.tensor([[number]]) for number in self.fact)
        return Reasons(*fact, torch.tensor([0.5]), self.scores)


@pytest.fixture(scope="module")
def run() -> Run:
    return fit(WORLD.dataset, "decayed-copy", scale=2)


@pytest.fixture(scope="module")
def learned() -> Run:
    return fit(WORLD.dataset, "distmult", dim=4, epochs=2, device="cpu")


@pytest.fixture(scope="module")
def judged(run: Run) -> Run:
    return with_untaught(run)


def scripted(run: Run, *scores: float, **options: Any) -> Run:
    return replace(run, model=Scripted(*scores, **options))


def scores(query: oracle.Query, facts: list[oracle.Fact]) -> dict[str, float]:
    found = oracle.decayed_copy(facts, 5, 2, query, scale=2)
    return {f"e{entity}": score for entity, score in enumerate(found)}


def answers(run: Run, *query: Any, **options: Any) -> dict[str, float]:
    frame = predict(run, *query, **options)
    columns = ["asked", "rank", "tied", "answer", "score", "probability", "true", "known"]
    assert frame.columns == columns
    assert frame["score"].is_sorted(descending=True)
    return dict(zip(frame["answer"], frame["score"], strict=True))


def test_an_open_subject_asks_the_reciprocal_relation(run: Run) -> None:
    found = answers(run, None, "r0", "e1", "1970-01-05")
    assert found == pytest.approx(scores((1, 2, 4), WORLD.facts))
    assert next(iter(found)) == "e3"


def test_what_is_known_of_each_answer(run: Run) -> None:
    frame = predict(run, *QUESTION)
    # Every split counts: 2 stands in train, 3 in valid, 4 (at another time) in test.
    assert dict(zip(frame["answer"], frame["known"], strict=True)) == {
        "e0": "no",
        "e1": "at another time",
        "e2": "then",
        "e3": "then",
        "e4": "at another time",
    }


@pytest.mark.parametrize("top", [1, 2, 5])
def test_the_probability_is_the_softmax(learned: Run, top: int) -> None:
    context = TemporalGraph.of_context(WORLD.dataset, "all")
    with torch.inference_mode():
        row = learned.model(oracle.queries_of([(0, 0, 4)]), context)[0].tolist()
    total = sum(math.exp(score) for score in row)
    best = sorted((math.exp(score) / total for score in row), reverse=True)[:top]
    found = predict(learned, *QUESTION, top=top)["probability"].to_list()
    assert found == pytest.approx(best, rel=1e-5)


@pytest.mark.parametrize(
    ("model", "settings", "has_probability"),
    [
        ("atise", {"loss": "softmax", "dim": 4, "epochs": 1}, True),
        ("atise", {"loss": "self-adversarial", "dim": 4, "epochs": 1}, False),
        ("decayed-copy", {}, False),
    ],
)
def test_only_scores_trained_with_cross_entropy_have_a_probability(
    model: str, settings: dict[str, Any], has_probability: bool
) -> None:
    run = fit(WORLD.dataset, model, device="cpu", **settings)
    found = predict(run, *QUESTION)["probability"]
    assert found.null_count() == (0 if has_probability else 5)
    assert found.dtype == pl.Float64


@checked
@given(
    st.lists(st.sampled_from([-math.inf, -0.0, 0.0, 1.0, 2.0]), min_size=5, max_size=5),
    st.integers(1, 6),
)
def test_ties_are_counted_among_all_entities(row: list[float], top: int) -> None:
    frame = predict(scripted(fit(WORLD.dataset, "seen"), *row), *QUESTION, top=top)
    for rank, tied, answer in frame.select("rank", "tied", "answer").iter_rows():
        own = row[int(answer[1:])]
        assert rank == 1 + sum(score > own for score in row)
        assert tied == sum(score == own for score in row)


@pytest.mark.parametrize(
    "ask", [lambda run: predict(run, *QUESTION), lambda run: explain(run, "e0", "r0", "e1", "1970")]
)
def test_scores_that_are_not_numbers_are_refused(run: Run, ask: Callable[[Run], object]) -> None:
    with pytest.raises(InputError, match="scores that are not numbers"):
        ask(scripted(run, 0, 1, 2, 3, math.nan))


def test_the_model_is_the_run_s_own() -> None:
    run = fit(WORLD.dataset, "distmult", dim=4, epochs=1, device="cpu")
    before = {name: value.clone() for name, value in run.model.state_dict().items()}
    predictor = Predictor(run, device="cpu")
    predictor.predict(*QUESTION)
    assert predictor.model is run.model
    assert all(torch.equal(before[name], value) for name, value in run.model.state_dict().items())


@pytest.mark.parametrize(
    ("row", "rank"),
    [
        # Of the entities above and level with 1, 2 and 3 are known answers at that time.
        ([5.0, 3.0, 9.0, 3.0, 3.0], 2.5),
        ([0.0, 3.0, 9.0, 9.0, 0.0], 1.0),
        ([0.0, 0.0, 0.0, 0.0, 0.0], 2.0),
    ],
)
def test_an_explained_answer_has_its_time_aware_rank(
    run: Run, row: list[float], rank: float
) -> None:
    assert oracle.rank(row, 1, {2, 3}, "mean") == rank
    found = explain(scripted(run, *row), "e0", "r0", "e1", "1970-01-05")
    assert (found.rank, found.filter, found.ties) == (rank, "time-aware", "mean")
    assert (found.score, found.probability) == (row[1], None)
    # Three days later none of them is known.
    later = explain(scripted(run, *row), "e0", "r0", "e1", "1970-01-08")
    assert later.rank == oracle.rank(row, 1, set(), "mean")


@pytest.mark.parametrize(
    ("fact", "context", "is_hidden"),
    [
        (("e0", "r0", "e2", "1970-01-05"), "train", True),
        (("e0", "r0", "e3", "1970-01-05"), "train", False),
        (("e0", "r0", "e3", "1970-01-05"), "train+valid", True),
        (("e0", "r1", "e2", "1970-01-05"), "train", False),
        (("e0", "r0", "e2", "1970-01-06"), "train", False),
        (("e0", "r0", "e2", "1969-12-31"), "train", False),
        (("e2", "r0", "e0", "1970-01-05"), "train", False),
        (("e0", "r0", "e3", "1970-01-05"), "past", False),
    ],
)
@pytest.mark.parametrize("asked", ["object", "subject"])
def test_whether_the_context_holds_the_explained_fact(
    run: Run, fact: Any, context: Any, is_hidden: bool, asked: Any
) -> None:
    found = explain(scripted(run, 0, 1, 2, 3, 4), *fact, context=context, asked=asked)
    assert found.fact_was_hidden == is_hidden


MORE = pl.DataFrame(
    [("e5", "r0", "e1", "1970-02-01"), ("e0", "r0", "e2", "1970-01-05")],
    schema=["subject", "relation", "object", "time"],
    orient="row",
)


def test_added_facts_are_seen_and_known(run: Run) -> None:
    predictor = Predictor(run)
    question = (None, "r0", "e1", "1970-02-01")
    before = predictor.predict(*question)
    predictor.add(MORE)
    frame = predictor.predict(*question)
    facts = [*WORLD.facts, (5, 0, 1, 31)]
    expected = oracle.decayed_copy(facts, 6, 2, (1, 2, 31), scale=2)
    found = dict(zip(frame["answer"], frame["score"], strict=True))
    assert found == pytest.approx({f"e{one}": score for one, score in enumerate(expected)})
    assert frame.row(0, named=True)["answer"] == "e5"
    assert frame.row(0, named=True)["known"] == "then"
    assert list(predictor.dataset.new_entities) == ["e5"]
    # A new entity can be asked about, and the run itself knows nothing of it.
    assert predictor.predict("e5", "r0", None, "1970-02-01")["answer"][0] == "e1"
    assert predict(run, *question).equals(before)


def test_a_complete_fact_is_judged_from_both_ends_without_itself(run: Run) -> None:
    """Each end has the rank and the score it would have if the context did not hold the fact."""
    frame = predict(run, "e0", "r0", "e2", "1970-01-05")
    others = [fact for fact in WORLD.facts if fact != (0, 0, 2, 4)]
    assert frame["asked"].to_list() == ["object", "subject"]
    assert frame["answer"].to_list() == ["e2", "e0"]
    assert frame["known"].to_list() == ["then", "then"]
    for row, query in zip(frame.to_dicts(), [(0, 0, 4), (2, 2, 4)], strict=True):
        found = scores(query, others)
        own = found[row["answer"]]
        assert row["score"] == pytest.approx(own)
        assert row["rank"] == 1 + sum(score > own for score in found.values())
        assert row["tied"] == sum(score == pytest.approx(own) for score in found.values())


def test_known_answers_are_hidden_and_do_not_count_in_ranks(run: Run) -> None:
    shown = scripted(run, 5.0, 4.0, 9.0, 8.0, 4.0)
    # 2 and 3 are known at that time.
    frame = predict(shown, *QUESTION, hide_known=True)
    assert frame["answer"].to_list() == ["e0", "e1", "e4"]
    assert (frame["rank"].to_list(), frame["tied"].to_list()) == ([1, 2, 2], [1, 2, 2])
    assert predict(shown, *QUESTION, top=1, hide_known=True)["answer"].to_list() == ["e0"]
    fact = predict(shown, "e0", "r0", "e3", "1970-01-05", hide_known=True)
    assert fact["rank"][0] == 1


def test_relations_are_judged_by_bayes(learned: Run) -> None:
    """p(r | s, o, t) ∝ p(o | s, r, t) p(r | s), with 10 facts of anybody in the prior."""
    frame = predict(learned, "e0", None, "e3", "1970-01-05")
    context = TemporalGraph.of_context(WORLD.dataset, "all")
    with torch.inference_mode():
        rows = learned.model(oracle.queries_of([(0, 0, 4), (0, 1, 4)]), context)
    likelihoods = rows.double().log_softmax(1)[:, 3].exp().tolist()
    # Five facts are of r0 and none of r1; four of the subject's are of r0.
    priors = [(4 + 10 * 6 / 7) / 14, 10 * 1 / 7 / 14]
    products = [one * other for one, other in zip(likelihoods, priors, strict=True)]
    found = dict(zip(frame["answer"], frame["probability"], strict=True))
    expected = {f"r{number}": value / sum(products) for number, value in enumerate(products)}
    assert found == pytest.approx(expected, rel=1e-5)
    assert dict(zip(frame["answer"], frame["known"], strict=True)) == {"r0": "then", "r1": "no"}


def test_times_are_ranked_by_the_score_of_the_object(run: Run) -> None:
    frame = predict(run, "e0", "r0", "e2", None)
    expected = {
        f"1970-01-{tick + 1:02}": scores((0, 0, tick), WORLD.facts)["e2"] for tick in (0, 4, 9)
    }
    assert dict(zip(frame["answer"], frame["score"], strict=True)) == pytest.approx(expected)
    assert frame["answer"][0] == "1970-01-05"
    assert frame["known"].to_list() == ["then", "no", "no"]
    assert frame["probability"].null_count() == 3


def test_questions_of_all_kinds_keep_their_numbers(
    judged: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    questions = [
        Question("e0", "r0", "e2", None),
        Question("e9", "r0", None, "1970-01-05"),
        Question(*QUESTION),
        Question("e0", "r0", "e2", "1970-01-05"),
        Question("e0", None, "e2", "1970-01-05"),
        Question("e1", "r0", "e2", None),
    ]
    together = predict_many(judged, questions, top=2, on_error="skip")
    for number, question in enumerate(questions, 1):
        own = together.filter(pl.col("question") == number)
        if number == 2:
            assert own["error"][0].startswith("entity 'e9' is not in this graph")
            assert own["answer"].to_list() == [None]
        else:
            words = (question.subject, question.relation, question.object, question.time)
            assert_frame_equal(own.drop("question", "error"), predict(judged, *words, top=2))
            assert own["true"].null_count() == 0
    assert together["question"].is_sorted()
    with pytest.raises(InputError, match="question 2: entity 'e9' is not in this graph"):
        predict_many(judged, questions)
    with pytest.raises(InputError, match="no question can be asked; question 1: entity 'e9'"):
        predict_many(judged, [questions[1]], on_error="skip")
    monkeypatch.setattr(predictor_module, "rows_at_once", lambda width, device: 1)
    done = []
    alone = predict_many(
        judged, questions, top=2, on_error="skip", progress=lambda *counts: done.append(counts)
    )
    assert_frame_equal(alone, together)
    assert done == [(number, 6) for number in range(2, 7)]


# --- facts that hold over intervals -----------------------------------------------------------

# e0 is with e1 from tick 2 to 6, then again from 8 on; with e2 from 4 to 5.
LASTING = World(
    5,
    2,
    [(0, 0, 1, 2, 6), (0, 0, 1, 8, OPEN), (0, 0, 2, 4, 5), (3, 1, 1, OPEN, 3), (4, 1, 2, 9, 9)],
    cuts=(3, 4),
)


@pytest.fixture(scope="module")
def lasting() -> Run:
    return fit(LASTING.dataset, "decayed-copy", scale=2)


@pytest.mark.parametrize(
    ("day", "then"),
    [(1, []), (2, ["e1"]), (4, ["e1", "e2"]), (7, []), (8, ["e1"]), (400, ["e1"])],
)
def test_known_then_is_what_holds_then(lasting: Run, day: int, then: list[str]) -> None:
    time = LASTING.dataset.timeline.label(day)
    frame = predict(lasting, "e0", "r0", None, time)
    known = dict(zip(frame["answer"], frame["known"], strict=True))
    assert sorted(name for name, when in known.items() if when == "then") == then
    assert {known[name] for name in ("e1", "e2")} <= {"then", "at another time"}
    hidden = predict(lasting, "e0", "r0", None, time, hide_known=True)
    assert set(hidden["answer"]) == set(known) - set(then)
    relations = predict(lasting, "e0", None, "e1", time)
    assert ("then" in relations["known"].to_list()) == ("e1" in then)


def test_every_time_of_an_interval_is_known(lasting: Run) -> None:
    frame = predict(lasting, "e0", "r0", "e1", None, top=99)
    known = dict(zip(frame["answer"], frame["known"], strict=True))
    days = {day: known[LASTING.dataset.timeline.label(day)] for day in (2, 3, 4, 5, 6, 8, 9)}
    assert days == dict.fromkeys(days, "then")
    assert len(known) == len(days)
    assert predict(lasting, "e0", "r0", "e1", None, hide_known=True).is_empty()


@pytest.mark.parametrize("day", [2, 5, 6, 30])
def test_a_fact_of_an_interval_is_judged_without_itself(lasting: Run, day: int) -> None:
    time = LASTING.dataset.timeline.label(day)
    frame = predict(lasting, "e0", "r0", "e1", time)
    left = [
        fact for fact in LASTING.facts if not (fact[:3] == (0, 0, 1) and oracle.holds(fact, day))
    ]
    expected = oracle.decayed_copy(left, 5, 2, (0, 0, day), scale=2)[1]
    assert frame.row(0, named=True)["score"] == pytest.approx(expected, abs=1e-6)
    assert frame["known"].to_list() == ["then", "then"]


def test_a_fact_with_an_open_place_is_not_explained(run: Run) -> None:
    subject, relation, object_, time = WORLD.dataset.named("test", 0)
    for words in (("?", relation, object_), (subject, relation, "?")):
        with pytest.raises(InputError, match="leave no place of it open"):
            Predictor(run).explain(*words, time)
