"""What is exported and read again is what it was."""

from contextlib import nullcontext
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from small_tables import FACTS, as_frame, named
from targcn.errors import InputError
from targcn.facts.dataset import OPEN, SPLITS, Dataset, Facts
from targcn.facts.export import export_dataset, write_frame
from targcn.facts.open import join_splits, open_dataset
from targcn.facts.sources import columnar
from targcn.facts.times.timeline import CALENDAR_CODES, Timeline
from targcn.facts.vocabulary import Vocabulary, sort_names

pytestmark = pytest.mark.filterwarnings("ignore:.* formulas")

NAMES = [
    "Zoë",
    "NA",
    "-",
    '"Weird Al" Yankovic',
    'a "b"',
    "a,b",
    "tab\tbed",
    "two\nlines",
    "7",
    "?",
]
WORDS = st.lists(st.sampled_from(NAMES), min_size=1, max_size=6, unique=True).map(sort_names)


@pytest.fixture(autouse=True, scope="module")
def _read_at_once():
    """Leave out the process that reads a file first, since some tests read hundreds."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(columnar, "scan_parquet", pl.scan_parquet)
        yield


def read_again(path: Path, options: list[str]) -> Dataset:
    given = dict(option.removeprefix("--").split(" ") for option in options)
    if "tick" in given:
        given["tick"] = int(given["tick"])
    return open_dataset(path, **given)


@st.composite
def datasets(draw: st.DrawFn) -> Dataset:
    """Few facts of few names, of all units, by points or by intervals of which some are open."""
    entities, relations = draw(WORDS), draw(WORDS)
    unit = draw(st.sampled_from([*CALENDAR_CODES, "step"]))
    dated = unit != "step" and draw(st.booleans())
    has_intervals = draw(st.booleans())
    # Of one time, early dates are read by year alone.
    first_year = -900 if has_intervals or unit == "year" else 1000
    year = draw(st.integers(first_year, 2500).filter(lambda year: not -20 <= year <= 0))
    start = (
        np.datetime64(year - 1970, "Y").astype(f"M8[{CALENDAR_CODES.get(unit, 'Y')}]").astype(int)
    )
    tick = st.integers(0, 15)

    @st.composite
    def fact(draw: st.DrawFn) -> list[int]:
        ids = [draw(st.integers(0, len(known) - 1)) for known in (entities, relations, entities)]
        if not has_intervals:
            return [*ids, draw(tick)]
        first, last = sorted((draw(tick), draw(tick)))
        return [*ids, *draw(st.sampled_from([(first, last), (OPEN, last), (first, OPEN)]))]

    facts = {
        split: Facts.of(*zip(*draw(st.lists(fact(), min_size=1, max_size=5)), strict=True))
        for split in SPLITS
    }
    times = np.concatenate([one.columns[3:].ravel() for one in facts.values()])
    step = 1 if dated else draw(st.sampled_from([1, 24]))
    timeline = Timeline(unit, int(start), dated, times[times != OPEN], step)
    return Dataset(
        "made", Vocabulary("entity", entities), Vocabulary("relation", relations), timeline, facts
    )


@settings(deadline=None)
@given(datasets())
def test_a_folder_is_read_again_as_it_was(dataset):
    with TemporaryDirectory() as folder:
        options = export_dataset(dataset, Path(folder) / "out")
        again = read_again(Path(folder) / "out", options)
        assert named(again) == named(dataset)
        assert (again.timeline.unit, again.timeline.dated) == (
            dataset.timeline.unit,
            dataset.timeline.dated,
        )
        assert again.has_intervals == dataset.has_intervals


@pytest.mark.parametrize("ending", [".csv", ".jsonl", ".parquet"])
@settings(deadline=None)
@given(dataset=datasets())
def test_a_table_of_all_facts_is_read_again_as_it_was(dataset, ending):
    facts = sorted(named(join_splits(dataset))["train"])
    if len(facts) < 3:  # too few for a data set
        return
    with TemporaryDirectory() as folder:
        path = Path(folder) / f"out{ending}"
        again = read_again(path, export_dataset(dataset, path))
        assert sorted(named(join_splits(again))["train"]) == facts


def test_an_open_end_is_an_empty_cell(tmp_path):
    rows = [("a", "r", "b", 1950, None), ("c", "r", "b", None, 1940), ("c", "r", "d", 1960, 1990)]
    export_dataset(open_dataset(as_frame(rows), split="none"), tmp_path / "out.csv")
    assert (tmp_path / "out.csv").read_text() == (
        "subject,relation,object,start,end\nc,r,b,,1940\na,r,b,1950,\nc,r,d,1960,1990\n"
    )


def test_a_folder_needs_facts_in_every_split(tmp_path):
    dataset = open_dataset(as_frame(FACTS), split="none")
    with pytest.raises(InputError, match=r"valid has no facts; write one table.*out\.csv"):
        export_dataset(dataset, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_names_like_formulas_are_read_back_as_they_were(tmp_path, ending):
    rows = [("=1+1", "@r", "-x", f"2020-01-{day:02}") for day in range(1, 29)]
    dataset = open_dataset(as_frame(rows))
    warned = pytest.warns(UserWarning, match="formulas, such as '")
    with warned if ending == "csv" else nullcontext():
        export_dataset(dataset, tmp_path / f"x.{ending}")
    again = open_dataset(tmp_path / f"x.{ending}")
    assert (again.entities, again.relations) == (dataset.entities, dataset.relations)


def test_an_ending_that_cannot_be_written(tmp_path):
    with pytest.raises(InputError, match=r"x.txt should end in .csv, .jsonl or .parquet"):
        write_frame(as_frame(FACTS), tmp_path / "x.txt")
