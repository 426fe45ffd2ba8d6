"""What an evaluation reports."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from fake_model import WORLD, few_values, random_scores, report_of, row_alike
from oracle import World, checked, worlds
from targcn.evaluation.filters import FILTERS

seeds = st.integers(0, 2**32)


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
