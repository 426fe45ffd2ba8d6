"""Data sets known by name."""

import os
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from small_tables import (
    ENTITIES,
    PARTS,
    RELATIONS,
    as_ids,
    columns,
    complaint,
    named,
    write_listing,
    write_splits,
)
from targcn.facts.catalog import CATALOG
from targcn.facts.dataset import OPEN, SPLITS
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources import named as named_source

DATA = Path(os.environ.get("TARGCN_DATA") or Path(__file__).parents[4] / "shared" / "data")
needs_data = pytest.mark.skipif(
    not (DATA / "icews14" / "train.txt").exists(), reason="the benchmark files are not here"
)


def test_a_wrong_set_under_a_published_name(tmp_path, monkeypatch):
    monkeypatch.setenv("TARGCN_DATA", str(tmp_path))
    write_splits(tmp_path / "icews14", PARTS)
    sentence = complaint("icews14")
    assert (
        f"{tmp_path / 'icews14'} is not icews14: it has (30, 5, 5) facts of 4 entities" in sentence
    )
    assert "(72826, 8941, 8963) of 7128" in sentence


@pytest.fixture
def small_gdelt(monkeypatch, tmp_path):
    """GDELT's place in the catalogue, with the counts of a generated set."""
    small = replace(CATALOG["gdelt"], num_facts=(30, 5, 5), num_entities=4)
    monkeypatch.setattr(named_source, "CATALOG", {**CATALOG, "gdelt": small})
    monkeypatch.setenv("TARGCN_DATA", str(tmp_path))
    days = {f"2014-01-{day:02}": f"2015-04-{day:02}" for day in range(1, 31)}
    return [[(*row[:3], days[row[3]]) for row in rows] for rows in PARTS]


def test_gdelt_as_names_and_dates(tmp_path, small_gdelt):
    write_splits(tmp_path / "gdelt", small_gdelt)
    dataset = open_dataset("gdelt")
    assert list(named(dataset).values()) == small_gdelt
    assert (dataset.timeline.unit, dataset.timeline.first) == ("day", "2015-04-01")


@pytest.mark.parametrize("listing", [True, False])
def test_gdelt_as_ids(tmp_path, small_gdelt, listing):
    by_name = open_dataset(write_splits(tmp_path / "names", small_gdelt))
    write_splits(tmp_path / "gdelt", [as_ids(rows, ENTITIES, RELATIONS) for rows in PARTS])
    if listing:
        write_listing(tmp_path / "gdelt")
    dataset = open_dataset("gdelt")
    assert columns(dataset) == columns(by_name)
    assert dataset.timeline.first == "2015-04-01"


@needs_data
@pytest.mark.parametrize(
    ("name", "last"), [("icews14", "2014-12-31"), ("icews05-15", "2015-12-31")]
)
def test_a_published_set(monkeypatch, name, last):
    monkeypatch.setenv("TARGCN_DATA", str(DATA))
    dataset, published = open_dataset(name), CATALOG[name]
    assert tuple(len(dataset.splits[split]) for split in SPLITS) == published.num_facts
    assert len(dataset.entities) == published.num_entities
    assert len(dataset.relations) == published.num_relations
    assert len(dataset.timeline.ticks) == published.num_times
    assert (dataset.timeline.unit, dataset.timeline.first, dataset.timeline.last) == (
        "day",
        published.origin,
        last,
    )


@needs_data
@pytest.mark.parametrize("name", ["icews14-unseen", "icews14-irregular"])
def test_a_set_that_the_papers_authors_made(monkeypatch, name):
    """Fact by fact and in the same order as in their files, which hold the ids of icews14."""
    monkeypatch.setenv("TARGCN_DATA", str(DATA))
    dataset, published = open_dataset(name), CATALOG[name]
    assert dataset.name == name
    assert tuple(len(dataset.splits[split]) for split in SPLITS) == published.num_facts
    assert len(dataset.entities) == published.num_entities
    assert len(dataset.relations) == published.num_relations
    assert len(dataset.timeline.ticks) == published.num_times
    if not (DATA / name / "train.txt").exists():
        pytest.skip("the authors' files are not here")

    def rows(folder, file):
        return [line.split("\t") for line in (DATA / folder / file).read_text("utf-8").splitlines()]

    entities = {number: text.strip() for text, number in rows("icews14", "entity2id.txt")}
    relations = {number: text.strip() for text, number in rows("icews14", "relation2id.txt")}
    for split in SPLITS:
        expected = [
            (entities[s], relations[r], entities[o], str(np.datetime64("2014-01-01") + int(t)))
            for s, r, o, t in rows(name, f"{split}.txt")
        ]
        found = [dataset.named(split, position) for position in range(len(expected))]
        assert found == expected


@pytest.mark.parametrize("options", [ReadOptions(origin="2014-01-01"), ReadOptions(tick=24)])
def test_a_named_set_has_its_own_origin(options):
    assert complaint("icews14", options) == (
        "icews14 counts days from 2014-01-01; leave out --origin and --tick"
    )


def test_a_named_set_may_be_a_prepared_folder(tmp_path, small_gdelt):
    open_dataset(write_splits(tmp_path / "source", small_gdelt)).save(tmp_path / "gdelt")
    dataset = open_dataset("gdelt")
    assert (dataset.name, list(named(dataset).values())) == ("gdelt", small_gdelt)


@needs_data
def test_yago11k_is_read_as_published(monkeypatch):
    monkeypatch.setenv("TARGCN_DATA", str(DATA))
    dataset, entry = open_dataset("yago11k"), CATALOG["yago11k"]
    assert tuple(len(facts) for facts in dataset.splits.values()) == entry.num_facts
    assert len(dataset.relations) == entry.num_relations
    assert len(dataset.timeline.ticks) == entry.num_times
    assert dataset.named("train", 0) == (
        "<Government_of_Canada>",
        "<owns>",
        "<RCAF_Station_Grostenquin>",
        "1952 – 1964",
    )
    # Every cell, read once more and slowly: the year before the first dash, # as 0 or as 9.
    for split, facts in dataset.splits.items():
        lines = (DATA / "yago11k" / f"{split}.txt").read_text().splitlines()
        for line, first, last in zip(lines, *facts.columns[3:].tolist(), strict=True):
            start, end = (
                _year(cell, digit) for cell, digit in zip(line.split()[3:], "09", strict=True)
            )
            if start is not None and end is not None and end < start:
                end = None
            for tick, year in ((first, start), (last, end)):
                assert (None if tick == OPEN else tick + dataset.timeline.start + 1970) == year


def _year(cell: str, digit: str) -> int | None:
    if cell == "####-##-##":
        return None
    sign = -1 if cell.startswith("-") else 1
    return sign * int(cell.lstrip("-").split("-")[0].replace("#", digit))
