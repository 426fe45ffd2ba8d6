"""The embedded data set `congress`, read as it lies in the package."""

from pathlib import Path

import polars as pl
import pytest

PATH = Path(__file__).parents[2] / "src/targcn/facts/congress.parquet"


@pytest.fixture(scope="module")
def facts() -> pl.DataFrame:
    return pl.read_parquet(PATH)


def test_rows_are_few_sorted_complete_and_distinct(facts: pl.DataFrame) -> None:
    assert PATH.stat().st_size <= 300_000
    names = dict.fromkeys(("subject", "relation", "object"), pl.String)
    assert facts.schema == {**names, "time": pl.Int32}
    assert facts.null_count().sum_horizontal().item() == 0
    assert facts.equals(facts.unique().sort("time", "relation", "object", "subject"))
    assert (facts["time"].min(), facts["time"].max()) == (1945, 2015)
    assert facts.filter(pl.col("subject") == pl.col("object")).is_empty()


def test_known_facts_are_there(facts: pl.DataFrame) -> None:
    assert set(facts.iter_rows()) >= {
        ("Barack Obama", "holds Senate seat", "Illinois Senate seat, class 3", 2005),
        ("Barack Obama", "succeeded", "Peter G. Fitzgerald", 2005),
        ("Ted Kennedy", "senior senator of", "Massachusetts", 1967),
        ("John Kerry", "senior senator of", "Massachusetts", 2009),
        ("Strom Thurmond", "serves beside", "Ernest Hollings", 1966),
        ("Strom Thurmond", "represents as Republican", "South Carolina", 1964),
        ("Nancy Pelosi", "holds House seat", "California 12th district", 2013),
        ("Don Young", "holds House seat", "Alaska at large", 2015),
    }
    # Two people under one name would sit in two seats of one chamber in the same year.
    seats = facts.filter(pl.col("relation").is_in(["holds House seat", "holds Senate seat"]))
    assert not seats.select("subject", "relation", "time").is_duplicated().any()


def test_a_state_has_two_senior_senators_in_a_year_only_after_a_death_or_resignation(
    facts: pl.DataFrame,
) -> None:
    seniors = facts.filter(relation="senior senator of")
    count = seniors.group_by("object", "time").len().filter(pl.col("len") > 1)
    assert sorted(count.select("object", "time").iter_rows()) == [
        ("Colorado", 2009),
        ("Delaware", 2009),
        ("Washington", 1983),
        ("Wyoming", 2007),
    ]
