"""The two harder sets of the paper, and one to forecast with, made of any set."""

import os
from pathlib import Path

import numpy as np
import polars as pl
import pytest

from small_tables import columns, named
from targcn.errors import InputError
from targcn.facts.dataset import SPLITS, Dataset
from targcn.facts.derive import (
    derive_blocks,
    derive_forecast,
    derive_irregular,
    derive_unseen,
    origin_of,
)
from targcn.facts.open import open_dataset

DATA = Path(os.environ.get("TARGCN_DATA") or Path(__file__).parents[3] / "shared" / "data")


def made(times) -> Dataset:
    """Forty people who meet at these times, each often enough to be in every split."""
    rng = np.random.default_rng(0)
    subjects, objects = rng.integers(40, size=(2, 2000))
    chosen = rng.choice(np.array(times), size=2000).tolist()
    return open_dataset(pl.DataFrame({"s": subjects, "r": 0, "o": objects, "t": chosen}))


HOURS = [f"2014-{month:02}-{day:02}T{hour:02}:00" for month in (1, 2) for day in (5, 6, 25, 26)
         for hour in (0, 7, 23)]  # fmt: skip
SETS = {
    "congress": open_dataset,
    "hours": lambda: made(HOURS),
    "steps": lambda: made(range(0, 300, 3)),
    "seconds": lambda: made([f"{year}-03-05T00:00:01" for year in range(1900, 2020)]
                            + [f"{year}-03-06T00:00:01" for year in range(1900, 2020)]),
}  # fmt: skip


@pytest.fixture(scope="module", params=SETS)
def dataset(request) -> Dataset:
    return SETS[request.param]()


@pytest.fixture(scope="module")
def icews14() -> Dataset:
    if not (DATA / "icews14" / "train.txt").exists():
        pytest.skip("the benchmark files are not here")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("TARGCN_DATA", str(DATA))
        return open_dataset("icews14")


def in_words(dataset: Dataset) -> dict[str, set]:
    return {split: set(facts) for split, facts in named(dataset).items()}


@pytest.mark.parametrize("halves", ["random", "file-order"])
def test_unseen_of_icews14_is_as_in_the_paper(icews14, halves):
    derived = derive_unseen(icews14, halves=halves)
    assert [len(derived.splits[split]) for split in SPLITS] == [65_679, 3_420, 3_420]
    assert len(derived.entities) == 6_601
    days = {derived.timeline.label(tick)[-2:] for tick in derived.test.times}
    assert days == {"05", "15", "25"}


def test_irregular_of_icews14_keeps_every_fact_of_some_days(icews14):
    derived = derive_irregular(icews14)
    assert set(np.diff(derived.timeline.ticks).tolist()) == {1, 2, 3, 4}
    assert derived.timeline.unit == "day"
    for split in SPLITS:
        kept = np.isin(icews14.splits[split].times, derived.timeline.ticks)
        assert np.array_equal(derived.splits[split].times, icews14.splits[split].times[kept])


def test_unseen_asks_about_known_entities_at_held_out_times(dataset):
    derived = derive_unseen(dataset)
    known = np.unique([derived.train.subjects, derived.train.objects])
    for facts in (derived.valid, derived.test):
        assert not np.isin(facts.times, derived.train.times).any()
        assert np.isin([facts.subjects, facts.objects], known).all()
    assert 0 <= len(derived.test) - len(derived.valid) <= 1
    facts = in_words(derived)
    assert set.union(*facts.values()) <= in_words(dataset)["train"]
    assert not facts["valid"] & facts["test"]


def test_irregular_keeps_one_of_one_to_four_times(dataset):
    derived, before = derive_irregular(dataset), in_words(dataset)
    kept = np.searchsorted(dataset.timeline.ticks, derived.timeline.ticks)
    assert kept[0] == 0
    assert set(np.diff(kept).tolist()) == {1, 2, 3, 4}
    assert all(facts < before[split] for split, facts in in_words(derived).items())


def test_forecast_asks_about_every_fact_once_after_all_of_train(dataset):
    derived, before = in_words(derive_forecast(dataset)), in_words(dataset)
    assert set.union(*derived.values()) == set.union(*before.values())
    splits = derive_forecast(dataset).splits
    assert sum(map(len, splits.values())) == sum(map(len, derived.values()))
    assert splits["train"].times.max() < splits["valid"].times.min()
    assert splits["valid"].times.max() < splits["test"].times.min()
    # A time is never cut: train may end one time early.
    num_facts = sum(map(len, splits.values()))
    most = np.unique(derive_forecast(dataset).facts.times, return_counts=True)[1].max()
    for split, share in (("train", 0.7), ("valid", 0.15), ("test", 0.15)):
        assert abs(len(splits[split]) - share * num_facts) <= most + 1


def test_blocks_hide_a_tenth_of_the_records_each(dataset):
    derived, facts = derive_blocks(dataset), in_words(derive_blocks(dataset))
    assert set.union(*facts.values()) == set.union(*in_words(dataset).values())
    records = {split: {(s, t) for s, _, _, t in facts[split]} for split in SPLITS}
    assert sum(map(len, records.values())) == len(set.union(*records.values()))
    for split in ("valid", "test"):
        assert len(derived.splits[split]) / len(derived.facts) == pytest.approx(0.1, abs=0.03)
    assert derived.name == f"{dataset.name}-blocks-seed0"
    assert origin_of(derived.name) == (dataset.name, "blocks", 0)


@pytest.mark.parametrize("derive", [derive_unseen, derive_irregular, derive_blocks])
def test_the_seed_decides(dataset, derive):
    first, again, other = (columns(derive(dataset, seed)) for seed in (1, 1, 2))
    assert first == again
    assert first != other


@pytest.mark.parametrize("derive", [derive_unseen, derive_irregular, derive_forecast])
def test_no_name_and_no_time_is_left_without_a_fact(dataset, derive):
    derived = derive(dataset)
    facts = derived.facts
    assert np.unique([facts.subjects, facts.objects]).tolist() == list(range(len(derived.entities)))
    assert np.unique(facts.relations).tolist() == list(range(len(derived.relations)))
    assert np.unique(facts.times).tolist() == derived.timeline.ticks.tolist()


@pytest.mark.parametrize("derive", [derive_unseen, derive_irregular])
def test_a_derived_set_says_what_it_is(dataset, derive):
    derived = derive(dataset, 5)
    kind = derive.__name__.removeprefix("derive_")
    assert derived.name == f"{dataset.name}-{kind}-seed5"
    assert f"{kind} times of {dataset.name}" in derived.notes[0]
    assert "seed 5" in derived.notes[0]


def test_halves_in_file_order(dataset):
    in_order, at_random = derive_unseen(dataset, halves="file-order"), derive_unseen(dataset)
    assert in_order.name == f"{dataset.name}-unseen"
    assert "divided in the order of the file" in in_order.notes[0]
    place = {fact: position for position, fact in enumerate(named(dataset)["train"])}
    train, valid, test = named(in_order).values()
    places = [place[fact] for fact in valid + test]
    assert places == sorted(places)
    assert 0 <= len(test) - len(valid) <= 1
    assert in_words(at_random)["train"] == set(train)


FEW = [(f"{day}{twin}", "r", "o", f"2014-01-0{day}") for day in range(1, 7) for twin in "ab"]


@pytest.mark.parametrize(
    ("derive", "source", "expected"),
    [
        (derive_unseen, ["2014-01-01", "2014-01-02"], "holding out no times"),
        (derive_unseen, ["2014-01-05", "2014-01-15"], "holding out all times"),
        (derive_unseen, range(5), "holding out no times"),
        (derive_unseen, FEW, "0 facts of the held-out times have entities"),
        (derive_irregular, [(f"{n}", "r", "o", n) for n in range(3)], "too few times"),
        (derive_forecast, [1, 2], "has too few times to be split by time"),
    ],
)
def test_what_is_too_small_to_derive_from(derive, source, expected):
    is_rows = isinstance(source[0], tuple)
    schema = ["s", "r", "o", "t"]
    dataset = open_dataset(pl.DataFrame(source, schema, orient="row")) if is_rows else made(source)
    with pytest.raises(InputError, match=expected):
        derive(dataset)


@pytest.fixture(scope="module")
def spans() -> Dataset:
    """People who work together for one to nine years, or still."""
    rng = np.random.default_rng(0)
    subjects, objects = rng.integers(40, size=(2, 2000))
    starts = rng.integers(1950, 2010, size=2000)
    ends = pl.Series(starts + rng.integers(0, 9, size=2000)).set(pl.Series(starts % 7 == 0), None)
    frame = {"s": subjects, "r": 0, "o": objects, "start": starts, "end": ends}
    return open_dataset(pl.DataFrame(frame))


def all_named(dataset: Dataset) -> list[tuple[str, str, str, str]]:
    return [fact for facts in named(dataset).values() for fact in facts]


def test_derived_intervals_keep_their_ends(spans):
    known = set(all_named(spans))
    for derive in (derive_unseen, derive_irregular, derive_forecast):
        derived = derive(spans, 0)
        assert derived.has_intervals
        assert set(all_named(derived)) <= known
        assert derived.timeline.ticks.min() >= 0


def test_intervals_are_derived_by_their_first_tick(spans):
    unseen = derive_unseen(spans, 0)
    assert not np.isin(unseen.test.times, unseen.train.times).any()
    forecast = derive_forecast(spans, 0)
    assert sorted(all_named(forecast)) == sorted(all_named(spans))
    assert forecast.train.times.max() < forecast.valid.times.min()
