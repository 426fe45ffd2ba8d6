import json
from collections.abc import Callable
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import oracle
from oracle import World, checked, worlds
from targcn import evaluation
from targcn.checkpoint import Run
from targcn.errors import InputError
from targcn.evaluation import TIES, Report, Ties, evaluate, known_answers, rank
from targcn.facts.dataset import Context
from targcn.facts.graph import TemporalGraph
from targcn.filtering import FILTERS, Filter
from targcn.models.contract import Queries, queries_of


class FakeModel:
    """Gives the scores of a function; remembers every batch, row and context it was shown."""

    def __init__(self, score: Callable[[Queries, int], Tensor]) -> None:
        self.score = score
        self.rows: list[list[float]] = []
        self.batches: list[int] = []
        self.contexts: list[TemporalGraph] = []

    def __call__(self, queries: Queries, context: TemporalGraph) -> Tensor:
        self.batches.append(len(queries))
        self.contexts.append(context)
        scores = self.score(queries, context.num_entities)
        self.rows += scores.tolist()
        return scores

    def to(self, device: object) -> "FakeModel":
        return self

    def eval(self) -> "FakeModel":
        return self


def few_values(queries: Queries, num_entities: int) -> Tensor:
    """Depends on the query and the entity alone; only four values, so ties everywhere."""
    entities = torch.arange(num_entities)
    mixed = 7 * queries.subjects + 5 * queries.relations + 3 * queries.times
    return ((mixed[:, None] + 1) * (entities + 2) ** 2 % 11 % 4).double()


def row_alike(*row: float) -> Callable[[Queries, int], Tensor]:
    return lambda queries, num_entities: torch.tensor([row]).repeat(len(queries), 1)


def ranks_of(world: World, model: FakeModel, ties: Ties = "mean") -> dict[Filter, Tensor]:
    """The ranks of both queries of each test fact, as `evaluate` gets them."""
    queries, targets = queries_of(oracle.facts_of(world.test), world.num_relations)
    return rank(model, queries, targets, world.graph, known_answers(world.dataset, "cpu"), ties)


def report_of(world: World, score: Callable[[Queries, int], Tensor], **options: Any) -> Report:
    return evaluate(Run("fake", None, 0, world.dataset, FakeModel(score)), device="cpu", **options)


def random_scores(seed: int) -> Callable[[Queries, int], Tensor]:
    """Scores no query explains: another row each time, so a target has no second way to score."""
    generator = torch.Generator().manual_seed(seed)

    def score(queries: Queries, num_entities: int) -> Tensor:
        return torch.randint(-2, 3, (len(queries), num_entities), generator=generator).double()

    return score


seeds = st.integers(0, 2**32)
# Four entities; two facts in test; (0, 0, ·) has answers 1 at tick 0, 2 at tick 5, 3 at tick 0.
WORLD = World(4, 1, [(0, 0, 1, 0), (0, 0, 2, 5), (0, 0, 3, 0), (2, 0, 1, 5)], cuts=(1, 2))


# --- ranks ---------------------------------------------------------------------------------


@pytest.mark.parametrize("ties", TIES)
@checked
@given(worlds(min_facts=1), seeds)
def test_rank_is_where_the_target_stands_once_known_answers_are_gone(
    ties: Ties, world: World, seed: int
) -> None:
    model = FakeModel(random_scores(seed))
    ranks = ranks_of(world, model, ties)
    asked = [(s, r, t, o) for s, r, o, t in world.test]
    asked += [(o, r + world.num_relations, t, s) for s, r, o, t in world.test]
    for which in FILTERS:
        known = oracle.known_answers(world.facts, world.num_relations, which)
        expected = [
            oracle.rank(row, target, known.get((s, r, t * (which == "time-aware")), set()), ties)
            for row, (s, r, t, target) in zip(model.rows, asked, strict=True)
        ]
        assert ranks[which].tolist() == expected


def test_ranks_by_hand() -> None:
    # Targets 3 and 1 as objects, then 0 and 2 as subjects; entity 2 scores best, 1 and 3 tie.
    ranks = ranks_of(WORLD, FakeModel(row_alike(0.0, 5.0, 9.0, 5.0)))
    assert ranks["raw"].tolist() == [2.5, 2.5, 4.0, 1.0]
    # The first query, (0, 0, ?, 0), has another answer at tick 0, entity 1 …
    assert ranks["time-aware"].tolist() == [2.0, 2.5, 4.0, 1.0]
    # … and one at another time, entity 2.
    assert ranks["static"].tolist() == [1.0, 2.5, 4.0, 1.0]


@checked
@given(worlds(min_facts=1), seeds)
def test_optimistic_mean_pessimistic_in_order(world: World, seed: int) -> None:
    low, middle, high = (ranks_of(world, FakeModel(random_scores(seed)), ties) for ties in TIES)
    for which in FILTERS:
        assert (low[which] <= middle[which]).all()
        assert (middle[which] <= high[which]).all()
        assert torch.equal(2 * middle[which], low[which] + high[which])


@checked
@given(worlds(min_facts=1), seeds)
def test_the_more_is_known_the_better_the_rank(world: World, seed: int) -> None:
    ranks = ranks_of(world, FakeModel(random_scores(seed)))
    assert (ranks["static"] <= ranks["time-aware"]).all()
    assert (ranks["time-aware"] <= ranks["raw"]).all()
    assert (ranks["static"] >= 1).all()


@checked
@given(worlds(min_facts=1), seeds, st.integers(-1000, 1000))
def test_a_constant_added_to_every_score_changes_nothing(
    world: World, seed: int, constant: int
) -> None:
    plain, score = ranks_of(world, FakeModel(random_scores(seed))), random_scores(seed)
    raised = ranks_of(world, FakeModel(lambda *asked: score(*asked) + constant))
    assert all(torch.equal(plain[which], raised[which]) for which in FILTERS)


@pytest.mark.parametrize("size", [1, 2, 3, 100])
def test_batch_size_does_not_matter(monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    expected = ranks_of(WORLD, FakeModel(few_values))
    monkeypatch.setattr(evaluation, "rows_at_once", lambda width, device: size)
    model = FakeModel(few_values)
    ranks = ranks_of(WORLD, model)
    assert all(torch.equal(ranks[which], expected[which]) for which in FILTERS)
    assert (sum(model.batches), max(model.batches)) == (4, min(size, 4))


@pytest.mark.parametrize(("ties", "expected"), [("optimistic", 1), ("mean", 3), ("pessimistic", 5)])
def test_all_scores_equal(ties: Ties, expected: float) -> None:
    world = World(5, 1, [(0, 0, 1, 0)])
    assert ranks_of(world, FakeModel(row_alike(*[7.0] * 5)), ties)["raw"].tolist() == [expected] * 2


def test_scores_past_where_a_sigmoid_saturates_do_not_tie() -> None:
    world = World(4, 1, [(0, 0, 3, 0), (0, 0, 2, 1), (0, 0, 1, 2)])
    ranks = ranks_of(world, FakeModel(row_alike(20.0, 30.0, 40.0, 50.0)), "pessimistic")
    assert ranks["raw"].tolist()[:3] == [1, 2, 3]


def test_scores_without_end_have_a_rank() -> None:
    infinity = float("inf")
    world = World(4, 1, [(0, 0, 1, 0), (0, 0, 2, 1), (0, 0, 3, 2)])
    ranks = ranks_of(world, FakeModel(row_alike(-infinity, 0.0, infinity, -infinity)))
    assert ranks["raw"].tolist()[:3] == [2, 1, 3.5]


def test_scores_that_are_not_numbers_are_refused() -> None:
    with pytest.raises(ValueError, match="not numbers"):
        ranks_of(WORLD, FakeModel(row_alike(0.0, 1.0, 2.0, float("nan"))))


# --- memory --------------------------------------------------------------------------------


def narrow(most: int, error: Exception) -> Callable[[Queries, int], Tensor]:
    """A model whose memory holds so many queries at a time."""

    def score(queries: Queries, num_entities: int) -> Tensor:
        if len(queries) > most:
            raise error
        return few_values(queries, num_entities)

    return score


MANY = World(5, 2, [(n % 5, n % 2, n * n % 5, n % 7) for n in range(30)])


@pytest.mark.parametrize(
    "error",
    [
        torch.OutOfMemoryError("CUDA out of memory"),
        MemoryError(),
        RuntimeError("DefaultCPUAllocator: not enough memory: you tried to allocate 9 bytes"),
    ],
)
def test_a_batch_that_does_not_fit_is_halved(
    monkeypatch: pytest.MonkeyPatch, error: Exception
) -> None:
    monkeypatch.setattr(evaluation, "rows_at_once", lambda width, device: 32)
    model = FakeModel(narrow(10, error))
    ranks, expected = ranks_of(MANY, model), ranks_of(MANY, FakeModel(few_values))
    assert all(torch.equal(ranks[which], expected[which]) for which in FILTERS)
    assert model.batches == [32, 16, *[8] * 7, 4]


def test_a_single_query_that_does_not_fit_is_an_error() -> None:
    model = FakeModel(narrow(0, torch.OutOfMemoryError("CUDA out of memory")))
    with pytest.raises(torch.OutOfMemoryError):
        ranks_of(MANY, model)
    assert model.batches[-1] == 1


def test_any_other_error_passes_through_at_once() -> None:
    model = FakeModel(narrow(10, RuntimeError("size mismatch")))
    with pytest.raises(RuntimeError, match="size mismatch"):
        ranks_of(MANY, model)
    assert model.batches == [60]


@pytest.mark.parametrize(
    ("free", "width", "expected"),
    [(0, 5, 1), (12_800, 5, 20), (2**40, 5, 4096), (2**40, 10_488, 99), (2**40, 2_000_000, 1)],
)
def test_batches_grow_with_free_memory(
    monkeypatch: pytest.MonkeyPatch, free: int, width: int, expected: int
) -> None:
    monkeypatch.setattr(evaluation, "available_bytes", lambda device: free)
    assert evaluation.rows_at_once(width, torch.device("cpu")) == expected


# --- the report ----------------------------------------------------------------------------


def test_json_has_the_promised_shape() -> None:
    content = json.loads(json.dumps(report_of(WORLD, few_values).to_json()))
    assert content.pop("mrr_interval_95").keys() == set(FILTERS)
    metrics = content.pop("metrics")
    assert content == {
        "dataset": "world",
        "model": "fake",
        "split": "test",
        "context": "train+valid",
        "ties": "mean",
        "num_queries": 4,
    }
    assert list(metrics) == ["raw", "static", "time-aware"]
    for sides in metrics.values():
        assert list(sides) == ["both", "object", "subject"]
        for figures in sides.values():
            assert list(figures) == ["mrr", "hits@1", "hits@3", "hits@10", "mean_rank"]


def test_figures_by_hand() -> None:
    report = report_of(WORLD, row_alike(0.0, 5.0, 9.0, 5.0))
    # The ranks of test_ranks_by_hand under the static filter: 1 and 2.5; 4 and 1.
    assert report.metrics["static"] == {
        "object": {"mrr": 0.7, "hits@1": 0.5, "hits@3": 1, "hits@10": 1, "mean_rank": 1.75},
        "subject": {"mrr": 0.625, "hits@1": 0.5, "hits@3": 0.5, "hits@10": 1, "mean_rank": 2.5},
        "both": {"mrr": 0.6625, "hits@1": 0.5, "hits@3": 0.75, "hits@10": 1, "mean_rank": 2.125},
    }


@checked
@given(worlds(min_facts=1), seeds)
def test_both_sides_together_are_the_average_of_the_two(world: World, seed: int) -> None:
    for sides in report_of(world, random_scores(seed)).metrics.values():
        for name, value in sides["both"].items():
            average = (sides["object"][name] + sides["subject"][name]) / 2
            assert value == pytest.approx(average)


@checked
@given(worlds(min_facts=1), seeds)
def test_relations_add_up_to_the_total(world: World, seed: int) -> None:
    report = report_of(world, random_scores(seed))
    asked = [f"r{r}" for _, r, _, _ in world.test]
    for which in FILTERS:
        shares = {name: found[which] for name, found in report.by_relation.items()}
        counts = {name: found["num_queries"] for name, found in shares.items()}
        assert counts == {name: 2 * asked.count(name) for name in asked}
        for name, value in report.metrics[which]["both"].items():
            total = sum(found[name] * found["num_queries"] for found in shares.values())
            assert total / report.num_queries == pytest.approx(value)
    assert "by_relation" in report.to_json(by_relation=True)
    assert "by_relation" not in report.to_json()


def test_each_relation_has_the_ranks_of_its_own_facts() -> None:
    world = World(3, 3, [(1, 0, 1, 0), (2, 2, 2, 0), (1, 0, 1, 1)])
    report = report_of(world, row_alike(0.0, 9.0, 5.0))
    ranks = {name: found["raw"]["mean_rank"] for name, found in report.by_relation.items()}
    assert ranks == {"r0": 1, "r2": 2}


def test_interval_holds_the_mrr_and_shrinks_with_more_facts() -> None:
    few, many = World(5, 2, MANY.facts[:10]), World(5, 2, MANY.facts[:10] * 16)
    for which in FILTERS:
        widths = []
        for report in (report_of(few, few_values), report_of(many, few_values)):
            for side, (low, high) in report.mrr_interval[which].items():
                assert low < report.metrics[which][side]["mrr"] < high
            low, high = report.mrr_interval[which]["both"]
            widths.append(high - low)
        # Sixteen times the facts: a quarter of the width, but for the n - 1 of the variance.
        assert widths[1] / widths[0] == pytest.approx((9 / 159) ** 0.5)


def test_two_queries_of_one_fact_count_as_one_draw() -> None:
    # Both queries of a fact rank alike: 1 and 1, 2 and 2. Asking twice must not look like more.
    world = World(3, 1, [(1, 0, 1, 0), (2, 0, 2, 0)])
    report = report_of(world, row_alike(0.0, 9.0, 5.0))
    assert report.metrics["raw"]["both"]["mrr"] == 0.75
    interval = report.mrr_interval["raw"]
    assert interval["both"] == interval["object"] == interval["subject"]
    # Standard deviation of 1 and 1/2, over the root of 2, is 1/4.
    assert interval["both"] == pytest.approx((0.75 - 1.96 / 4, 0.75 + 1.96 / 4))


def test_one_fact_has_no_spread() -> None:
    report = report_of(World(3, 1, [(0, 0, 1, 0)]), row_alike(0.0, 9.0, 5.0))
    assert report.mrr_interval["raw"]["object"] == (1.0, 1.0)


# --- what is judged, and with what ---------------------------------------------------------


@pytest.mark.parametrize(
    ("context", "facts"), [("train", WORLD.train), ("train+valid", WORLD.train + WORLD.valid)]
)
def test_a_model_sees_the_facts_of_the_context_alone(context: Context, facts: list[Any]) -> None:
    model = FakeModel(few_values)
    report = evaluate(Run("fake", None, 0, WORLD.dataset, model), context=context, device="cpu")
    assert report.context == context
    (seen,) = model.contexts
    expected = World(4, 1, facts).graph
    for column in ("subjects", "relations", "objects", "times", "offsets"):
        assert torch.equal(getattr(seen, column), getattr(expected, column))


def test_the_split_asked_for_is_judged() -> None:
    report = report_of(WORLD, few_values, split="valid", context="train")
    assert (report.split, report.num_queries) == ("valid", 2)


def test_ties_asked_for_are_used() -> None:
    ranks = [report_of(WORLD, row_alike(*[1.0] * 4), ties=ties) for ties in TIES]
    assert [report.metrics["raw"]["both"]["mean_rank"] for report in ranks] == [1, 2.5, 4]
    assert [report.ties for report in ranks] == list(TIES)


def test_progress_ends_at_the_number_of_queries(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(evaluation, "rows_at_once", lambda width, device: 3)
    steps: list[tuple[int, int]] = []
    report_of(WORLD, few_values, progress=lambda done, total: steps.append((done, total)))
    assert steps == [(3, 4), (4, 4)]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"split": "train"}, "world has no facts in its train split; nothing to"),
        ({"split": "tset"}, "split 'tset' is unknown; choose one of train, valid, test"),
        ({"ties": "random"}, "ties 'random' is unknown; choose one of optimistic, mean, pessi"),
        ({"context": "test"}, "context 'test' is unknown; choose 'train' or 'train\\+valid'"),
        ({"device": "tpu9"}, "device 'tpu9' is not to be had here"),
    ],
)
def test_what_cannot_be_judged_is_refused(options: dict[str, str], message: str) -> None:
    run = Run("fake", None, 0, World(2, 1, [(0, 0, 1, 0)]).dataset, FakeModel(few_values))
    with pytest.raises(InputError, match=message):
        evaluate(run, **options)  # type: ignore[arg-type]
