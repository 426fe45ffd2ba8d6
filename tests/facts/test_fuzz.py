"""Tables of any cells and times: each one loads, or is explained in one sentence.

Mangled files of every kind are cases of `make torture`.
"""

import json
from pathlib import Path

import polars as pl
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from targcn.facts.reading.options import ReadOptions
from torture.tables import HEADER, loads_or_explains

pytestmark = pytest.mark.slow

PATHS = settings(
    max_examples=150,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
WRITTEN_TIMES = [
    *("2014", "2014-10", "2014-10-15", "2014/10/16", "2014-10-15T08:30", "2014-10-15 08:30:01.5"),
    *("2014-10-15T08:30Z", "2014-10-15T08:30+0200", "17", "-3", "20150401", "1.0", "soon", ""),
    *("2014-02-30", "0000-01-01", "9999-12-31T23:59-05:00", "9" * 18, "9" * 19, "٣"),
    *("4/7/2012", "25.4.2012", "4-25-2012", "7 Apr 2012", "Apr 7, 2012 8 pm", "2014-Q1", "2012.5"),
    *(
        "1952-##-##",
        "1952-00-00",
        "2014-1-5 08:30+02",
        "1413331200",
        "1413331200000",
        "41640",
        "NA",
    ),
    *("24", "48", "72", "2013", "2012", "999", "201413", "9999-12-31T23:59Z", "0001-01-01T00:00Z"),
]
OPTIONS = st.builds(
    ReadOptions,
    unit=st.sampled_from([None, "year", "month", "day", "hour", "minute", "second", "step"]),
    origin=st.sampled_from([None, None, "2014-01-01", "9999-12-31", "soon"]),
    tick=st.sampled_from([None, None, 1, 24, "hour", "day", "year", "millisecond"]),
    timezone=st.sampled_from([None, None, "Asia/Tokyo", "as-written", "Nowhere"]),
    date_order=st.sampled_from([None, "dmy", "mdy"]),
    date_format=st.sampled_from([None, None, None, "%d.%m.%Y", "%Y", "%Y-%m-%dT%H:%M%z", "%x"]),
    missing=st.sampled_from(["refuse", "drop", "keep"]),
    split=st.sampled_from(["random", "time"]),
)
CELLS = st.one_of(st.sampled_from(["a", "b", "c", "10", "2"]), st.text(max_size=5))
LINES = st.tuples(CELLS, CELLS, CELLS, st.sampled_from(WRITTEN_TIMES))
TIMES = st.sampled_from(WRITTEN_TIMES).flatmap(
    lambda one: st.lists(st.one_of(st.just(one), st.sampled_from(WRITTEN_TIMES)), max_size=8)
)


@PATHS
@given(lines=st.lists(LINES, max_size=8), separator=st.sampled_from(",\t;|"), options=OPTIONS)
@pytest.mark.parametrize("header", [[], [HEADER], [["s", "r", "o", "t", "x"]]])
def test_any_lines_without_quotes(tmp_path, header, lines, separator, options):
    text = "\n".join(separator.join(cells) for cells in [*header, *lines])
    path = Path(tmp_path, "x.csv")
    path.write_bytes(text.encode("utf-8", "surrogatepass"))
    loads_or_explains(path, options)


JSON = st.recursive(
    st.one_of(
        st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=4), st.just("a")
    ),
    lambda inner: st.one_of(
        st.lists(inner, max_size=2), st.dictionaries(st.text(max_size=2), inner, max_size=2)
    ),
    max_leaves=4,
)


@PATHS
@given(rows=st.lists(st.tuples(JSON, st.just("r"), JSON, JSON), max_size=5), options=OPTIONS)
def test_any_json_lines(tmp_path, rows, options):
    lines = [json.dumps(dict(zip(HEADER, row, strict=True))) for row in rows]
    path = Path(tmp_path, "x.jsonl")
    path.write_text("\n".join(lines))
    loads_or_explains(path, options)


TEXTS = [pl.String, pl.Binary, pl.Categorical]
DTYPES = [
    *(pl.Int8, pl.Int32, pl.Int64, pl.Int128, pl.UInt64, pl.Float32, pl.Float64, pl.Boolean),
    *(
        pl.Date,
        pl.Time,
        pl.Duration,
        pl.Datetime("ms"),
        pl.Datetime("us"),
        pl.Datetime("ns", "UTC"),
    ),
    *(pl.Decimal(10, 2), *TEXTS),
]


@PATHS
@given(
    numbers=st.lists(st.one_of(st.integers(-3, 3), st.integers(-(2**63), 2**63 - 1)), max_size=6),
    dtype=st.sampled_from(DTYPES),
    options=OPTIONS,
)
@pytest.mark.parametrize("role", ["subject", "time"])
def test_columns_of_any_type(role, numbers, dtype, options):
    column = pl.Series(numbers, dtype=pl.Int64).cast(pl.String if dtype in TEXTS else pl.Int64)
    count = range(len(numbers))
    frame = pl.DataFrame({"subject": count, "relation": count, "object": count, "time": count})
    frame = frame.with_columns(column.cast(dtype, strict=False).alias(role))
    loads_or_explains(frame, options)


@PATHS
@given(times=TIMES, options=OPTIONS)
def test_times_of_any_form(times, options):
    rows = [(str(row), "r", "o", time) for row, time in enumerate(times)]
    loads_or_explains(pl.DataFrame(rows, schema=HEADER, orient="row"), options)
