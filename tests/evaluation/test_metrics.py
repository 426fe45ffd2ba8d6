"""The metrics and the interval of the MRR."""

import pytest
import torch

from fake_model import MANY, few_values, report_of, row_alike
from oracle import World
from targcn.evaluation.filters import FILTERS
from targcn.evaluation.metrics import METRICS, compute_metrics


def test_metrics_by_hand() -> None:
    found = compute_metrics(torch.tensor([1.0, 2.0, 3.5, 11.0], dtype=torch.float64))
    assert list(found) == [metric.key for metric in METRICS]
    assert found == {
        "mrr": pytest.approx((1 + 1 / 2 + 1 / 3.5 + 1 / 11) / 4),
        "hits@1": 0.25,
        "hits@3": 0.5,
        "hits@10": 0.75,
        "mean_rank": 4.375,
    }


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
