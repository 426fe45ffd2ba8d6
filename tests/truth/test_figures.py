"""The figures of truth, by hand."""

from dataclasses import replace

import numpy as np
import pytest
import torch

import targcn
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.models.floors import Seen
from targcn.training.fit import fit
from targcn.truth.figures import measure_apart, measure_list, measure_truth, truth_table


def test_a_list_by_hand() -> None:
    said = torch.tensor([0.95, 0.92, 0.5, 0.3, 0.05])
    is_true = torch.tensor([True, False, True, False, True])
    found = measure_list(said, is_true, num_hidden=4)
    # Precisions at the places of the true ones, over all that are hidden.
    assert found.average_precision == pytest.approx((1 / 1 + 2 / 3 + 3 / 5) / 4)
    assert (found.precision_of_sure, found.recall_of_sure) == (0.5, 0.25)
    # Bins .9 to 1, .5 to .6 and .3 to .4; what is below .1 does not count.
    errors = [2 * abs(0.935 - 0.5), abs(0.5 - 1), abs(0.3 - 0)]
    assert found.calibration_error == pytest.approx(sum(errors) / 4)
    assert [of.num_queries for of in found.bins] == [1, 1, 2]
    assert found.brier == pytest.approx(float((said - is_true.double()).square().mean()))
    assert found.num_suggested == 3
    assert found.precision_at == {}


def test_an_empty_list() -> None:
    found = measure_list(torch.zeros(0), torch.zeros(0).bool(), num_hidden=3)
    assert (found.average_precision, found.num_suggested, found.calibration_error) == (0, 0, 0)


def test_right_facts_against_wrong_ones_by_hand() -> None:
    right, wrong = torch.tensor([0.9, 0.4]), torch.tensor([0.4, 0.1, 0.8])
    told = measure_apart(right, wrong)
    assert told.auc == pytest.approx((3 + 1.5) / 6)


@pytest.fixture(scope="module")
def daily() -> Dataset:
    """Visits that are always hosted back on the same day; a tenth of all facts is hidden."""
    random = np.random.default_rng(0)
    pairs = random.integers(0, 12, (400, 2))
    days = random.integers(0, 60, 400)
    rows = [(f"a{s}", "visits", f"b{o}", day) for (s, o), day in zip(pairs, days, strict=True)]
    rows += [(o, "hosts", s, day) for s, _, o, day in rows]
    import polars as pl

    frame = pl.DataFrame(rows, schema=["subject", "relation", "object", "time"], orient="row")
    return targcn.open_dataset(frame)


def test_hidden_facts_are_found_and_told_from_wrong_ones(daily: Dataset) -> None:
    model = fit(daily, "seen").model
    assert isinstance(model, Seen)
    report = measure_truth(
        daily, "test", "train+valid", gaps="facts", model=model, model_name="seen"
    )
    found = report.found["all"]
    assert found.num_hidden == len(daily.test)
    assert found.average_precision > 0.5
    # Whatever is known comes with what repeats it.
    assert report.found["no mirrors"].num_hidden < found.num_hidden / 2
    assert report.told_apart["random time"].auc > 0.9
    assert {"best wrong object", "best wrong subject", "near time"} < set(report.told_apart)
    rows = truth_table(report).rows
    assert [row["what"] for row in rows][:2] == ["missing: all", "missing: no mirrors"]
    assert "is it so: best wrong object of seen" in [row["what"] for row in rows]


def test_what_another_split_holds_is_neither_right_nor_wrong(daily: Dataset) -> None:
    """As many facts of valid are missing from the context: as wrong ones they would halve this."""
    report = measure_truth(daily, "test", "train", gaps="facts")
    assert report.found["all"].average_precision > 0.6


def test_a_split_without_facts_is_refused(daily: Dataset) -> None:
    empty = replace(daily, splits={**daily.splits, "test": daily.test.where(np.zeros(0, int))})
    with pytest.raises(InputError, match="no facts in its test split; nothing to look for"):
        measure_truth(empty, "test", "train")
