"""Generated data sets have the shape asked for."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from bench_results import TINY
from targcn.bench.generated_data import Shape, generate
from targcn.errors import InputError
from targcn.facts.dataset import OPEN, SPLITS, Dataset


def test_a_generated_set_has_the_shape_asked_for() -> None:
    dataset = generate(Shape(facts=1005, entities=50, relations=4, days=30, seed=3))
    assert [len(dataset.splits[split]) for split in SPLITS] == [805, 100, 100]
    assert (len(dataset.entities), len(dataset.relations)) == (50, 4)
    assert dataset.timeline.first == "2000-01-01"
    assert dataset.timeline.ticks.tolist() == list(range(30))
    for column, limit in zip(dataset.facts.columns, (50, 4, 50, 30), strict=True):
        assert column.min() >= 0
        assert column.max() < limit
    assert len(generate(TINY, split=False).train) == 400


@pytest.mark.parametrize("skew", [0.0, 0.5, 1.0, 2.0])
def test_frequencies_follow_the_skew_asked_for(skew: float) -> None:
    dataset = generate(Shape(facts=200_000, entities=100, relations=9, days=5, skew=skew))
    for ids, number in ((dataset.facts.subjects, 100), (dataset.facts.relations, 9)):
        counts = np.sort(np.bincount(ids, minlength=number))[::-1]
        expected = np.arange(1, number + 1) ** -skew
        expected *= 200_000 / expected.sum()
        # Ranks trade places by chance, so 5 standard deviations and a little.
        assert np.all(np.abs(counts - expected) < 5 * np.sqrt(expected) + 20)


def test_the_same_shape_gives_the_same_facts(tmp_path: Path) -> None:
    generate(TINY).save(tmp_path / "one")
    again = Dataset.load(tmp_path / "one")
    assert np.array_equal(again.facts.columns, generate(TINY).facts.columns)
    other = generate(Shape(facts=400, entities=30, relations=3, days=20, seed=1))
    assert not np.array_equal(again.facts.columns, other.facts.columns)


@pytest.mark.parametrize(
    "wrong",
    [
        {"facts": 9},
        {"facts": 2**31},
        {"entities": 1},
        {"relations": 0},
        {"days": 0},
        {"longest": -1},
        {"skew": -0.1},
        {"skew": float("inf")},
        {"skew": float("nan")},
        {"seed": -1},
    ],
)
def test_impossible_shapes_are_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(InputError, match=f"{next(iter(wrong))} is .* was expected"):
        Shape(**wrong)


def test_intervals_end_within_the_days_or_are_open() -> None:
    shape = Shape(facts=20_000, entities=50, relations=4, days=30, longest=7)
    facts = generate(shape).facts
    first, last = facts.columns[3:]
    assert first.min() == 0
    closed = last != OPEN
    assert abs(float((~closed).mean()) - 0.1) < 0.01
    lengths = (last - first + 1)[closed]
    assert (lengths.min(), lengths.max()) == (1, 7)
    assert last.max() == 29
