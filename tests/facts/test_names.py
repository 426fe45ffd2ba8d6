"""Names are found with their counts and times."""

import polars as pl
import pytest

from small_tables import FACTS, as_frame
from targcn.facts.names import find_names, names_table
from targcn.facts.open import open_dataset

DATASET = open_dataset(as_frame(FACTS))


def test_every_name_with_its_counts_and_times():
    found = {(one.kind, one.name): one for one in find_names(DATASET)}
    assert len(found) == len(DATASET.entities) + len(DATASET.relations)
    for (kind, name), one in found.items():
        places = (0, 2) if kind == "entity" else (1,)
        times = sorted(fact[3] for fact in FACTS if name in [fact[place] for place in places])
        assert (one.num_facts, one.first, one.last) == (len(times), times[0], times[-1])


def test_the_commonest_come_first():
    counts = [one.num_facts for one in find_names(DATASET)]
    assert counts == sorted(counts, reverse=True)


@pytest.mark.parametrize(
    ("text", "first"),
    [("zoe", "Zoë"), ("STATE chad", "Chad, the state"), ("visit", "visits"), ("meats", "meets")],
)
def test_a_text_finds_names(text, first):
    assert find_names(DATASET, text)[0].name == first


def test_what_leads_is_the_name_itself():
    frame = pl.concat([as_frame(FACTS), as_frame([("Zo", "visits", "Bob", "2014-01-01")])])
    assert [one.name for one in find_names(open_dataset(frame), "zo")][:2] == ["Zo", "Zoë"]


def test_a_table_says_what_is_not_shown():
    table = names_table(find_names(DATASET), "", 2)
    assert (len(table.rows), table.notes) == (2, ("4 more; --top shows them.",))
    assert names_table(find_names(DATASET, "meats"), "meats", 9).notes == (
        "No name holds 'meats'; these are the most similar.",
    )
    assert names_table(find_names(DATASET, "xyzzy"), "xyzzy", 9).notes == (
        "No name holds 'xyzzy', and none is similar.",
    )


def test_a_name_without_facts_has_no_times():
    from dataclasses import replace

    from targcn.facts.dataset import NO_FACTS, SPLITS

    empty = replace(DATASET, splits=dict.fromkeys(SPLITS, NO_FACTS))
    assert {(one.num_facts, one.first) for one in find_names(empty)} == {(0, None)}


def test_the_times_of_intervals_are_the_first_and_the_last_that_are_known():
    rows = [("a", "r", "b", 1950, None), ("c", "r", "b", None, 1940), ("c", "r", "d", 1960, 1990)]
    frame = pl.DataFrame(rows, schema=["s", "r", "o", "start", "end"], orient="row")
    found = {one.name: (one.first, one.last) for one in find_names(open_dataset(frame))}
    assert found == {
        "r": ("1940", "1990"),
        "a": ("1950", "1950"),
        "b": ("1940", "1950"),
        "c": ("1940", "1990"),
        "d": ("1960", "1990"),
    }
