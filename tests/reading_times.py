"""What tests ask of a column of times."""

import polars as pl
import pytest

from targcn.errors import InputError
from targcn.facts.dates import read_times
from targcn.facts.read_options import ReadOptions
from targcn.facts.timeline import Timeline


def understand(times, **choices) -> tuple[str, list[str]]:
    """The unit found, and each time as the timeline writes it."""
    found = read_times(pl.Series(times), "x.csv", ReadOptions(**choices))
    timeline = Timeline.of(found.unit, 0, found.dated, found.values.to_list())
    return found.unit, [timeline.label(value) for value in found.values]


def complaint(times, **choices) -> str:
    with pytest.raises(InputError) as caught:
        read_times(pl.Series(times), "x.csv", ReadOptions(**choices))
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)
