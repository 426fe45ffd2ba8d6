"""Columns found by their names, and cells that are empty or hold no names."""

from datetime import date, timedelta

import pandas as pd
import polars as pl
import pytest

from small_tables import CSV, FRAME, HEADER, ROWS, as_frame, complaint, read_table, write_file
from targcn.facts.open import open_dataset
from targcn.facts.reading.columns import usual_role
from targcn.facts.reading.options import ReadOptions


@pytest.mark.parametrize(
    "header",
    [
        "head,rel,tail,date",
        "Source,Predicate,Target,Timestamp",
        "SRC, Edge ,DST,When",
        "s,p,o,t",
        "from,relationship,to,year",
        "actor1,Event Text,actor2,event-date",
    ],
)
def test_columns_are_found_by_their_usual_names(tmp_path, header):
    path = write_file(tmp_path, "x.csv", CSV.replace("subject,relation,object,time", header))
    assert read_table(path).rows() == ROWS


@pytest.mark.parametrize(
    ("frame", "options"),
    [
        (
            FRAME.rename({"subject": "wer", "time": "wann"}).with_columns(date=pl.lit("x")),
            ReadOptions(subject="wer", time="wann"),
        ),
        # A column given to one role is not found for another.
        (FRAME.rename({"object": "to", "relation": "object"}), ReadOptions(relation="object")),
        # Other columns, their order and the type of text do not matter.
        (FRAME.select("time", pl.lit([1]).alias("x"), "object", "relation", "subject"), None),
        (FRAME.cast(pl.Categorical), None),
        (FRAME.rename({"time": "since"}), None),  # without an end, a start is a time
        (FRAME.rename({"time": "wann"}), ReadOptions(start="wann")),
    ],
)
def test_columns_may_be_given_and_others_do_not_matter(frame, options):
    assert read_table(frame, options).rows() == ROWS


def test_numbers_may_be_names():
    frame = pl.DataFrame({"s": [1, 2], "r": [True, False], "o": [2.5, 3.0], "t": [1, 2]})
    assert read_table(frame).row(0) == ("1", "true", "2.5", 1)


HOLES = FRAME.with_columns(object=None)
UNUSUAL = pl.DataFrame({"home": ["a"], "away": ["b"], "day": ["2014"], "year": ["2014"]})


@pytest.mark.parametrize(
    ("frame", "options", "sentence"),
    [
        (FRAME, {"time": "jour"}, "the frame: no column 'jour' among"),
        (
            UNUSUAL,
            {"relation": "result"},
            "the frame: no column for the subject, object among 'home', 'away', 'day', 'year'; "
            "rename them to 'subject', 'object', or choose them with --subject --object if this is "
            "a data set",
        ),
        (
            FRAME.with_columns(year=pl.lit(2014)),
            {},
            "the frame: 2 columns could hold the time: 'time', 'year'; rename all but one, or "
            "choose one with --time if this is a data set",
        ),
        (FRAME.rename({"time": "until"}), {}, "the frame: no column for the time among"),
        (
            FRAME.rename({"time": "until"}),
            {"end": "until"},
            "the frame: no column for the start among",
        ),
        (FRAME.head(0), {}, "the frame has columns but no facts"),
        (
            pl.concat([FRAME, HOLES, HOLES]),
            {},
            "the frame: the object is missing in row 4, row 5, row 6 and 3 more",
        ),
        *(
            (
                FRAME.with_columns(subject=pl.Series([value] * 3)),
                {},
                f"the frame: the subject column holds {kind}",
            )
            for value, kind in (
                (["Ann"], "List"),
                ({"x": "Ann"}, "Struct"),
                (b"Ann", "Binary"),
                (timedelta(1), "Duration"),
            )
        ),
        (
            pd.DataFrame(ROWS, columns=HEADER).assign(object=[object(), object(), object()]),
            {},
            "the frame: the object column holds Object, not names",
        ),
    ],
)
def test_what_is_no_table_of_facts(frame, options, sentence):
    assert complaint(frame, ReadOptions(**options)).startswith(sentence)


@pytest.mark.parametrize("hole", ["", "   ", '""'])
@pytest.mark.parametrize("role", HEADER)
def test_an_empty_cell(tmp_path, role, hole):
    cells = dict(zip(HEADER, ROWS[0], strict=True)) | {role: hole}
    path = write_file(tmp_path, "bad.csv", CSV + ",".join(cells.values()) + "\n")
    assert complaint(path) == (
        f"bad.csv: the {role} is missing in row 4; fill it in, or give --missing drop to drop the "
        "rows"
    )


WORDS = ["NA", "NaN", "nan", "null", "NULL", "None", "-", "N/A", " NA "]


@pytest.mark.parametrize("word", WORDS)
@pytest.mark.parametrize("role", HEADER)
def test_na_and_the_like_as_whole_cells_are_missing_and_no_entities(role, word):
    frame = pl.concat([FRAME, FRAME[:1].with_columns(pl.lit(word).alias(role))])
    sentence = complaint(frame)
    assert f"the {role} is missing in row 4 ({word.strip()!r}); fill it in" in sentence
    assert ("--missing keep" in sentence) == (role != "time")
    assert read_table(frame, ReadOptions(missing="drop")).rows() == ROWS
    if role != "time":
        kept = read_table(frame, ReadOptions(missing="keep"))
        assert kept[role].to_list()[-1] == word.strip()
        assert read_table(FRAME.with_columns(pl.lit(f"{word} (city)").alias(role))).height == 3


def test_a_fact_with_neither_start_nor_end_is_refused_or_dropped():
    rows = [*SPANS, ("Zoë", "owns", "Ann", "-", ""), ("Ann", "owns", "Zoë", "2014", "2015")]
    frame = as_frame(rows)
    assert complaint(frame) == (
        "the frame: start and end are both missing in row 3; fill it in, or give --missing drop to "
        "drop the rows"
    )
    dropped = open_dataset(frame, missing="drop")
    assert len(dropped.facts) == 3
    assert dropped.notes[0] == "1 rows were dropped since a cell is missing: start and end 1"


def test_rows_with_missing_cells_are_dropped_and_counted():
    rows = [("NA", "visits", "Bob", "-"), ("Ann", "visits", "null", "2014-01-01"), ("", "", "", "")]
    frame = pl.concat([FRAME, as_frame(rows)])
    dataset = open_dataset(frame, ReadOptions(missing="drop"))
    assert (
        "2 rows were dropped since a cell is missing: subject 1, object 1, time 1" in dataset.notes
    )
    assert sorted(dataset.entities.names) == ["Ann", "Bob", "Chad, the state", "Zoë"]


def test_all_missing_cells_of_a_file_are_reported_together(tmp_path):
    lines = "NA,visits,Bob,2014-01-01\nAnn,,Bob,soon\n\nAnn,visits,-,NaN\n"
    assert complaint(write_file(tmp_path, "bad.csv", CSV + lines)) == (
        "bad.csv: the subject is missing in row 4 ('NA'); the relation is missing in row 5; the "
        "object is missing in row 7 ('-'); the time is missing in row 7 ('NaN'); fill it in, or "
        "give --missing drop to drop the rows, or --missing keep if these are names"
    )


def test_names_in_two_unicode_forms_or_with_blanks_are_one_entity():
    names = ["Zoë", "Zoe\u0308", " Zoë\u00a0", "Bob", "Bob ", "Ann"]
    frame = pl.DataFrame(
        {"s": names, "r": ["meets", "meets "] * 3, "o": "Ann", "t": range(2001, 2007)}
    )
    dataset = open_dataset(frame)
    assert dataset.entities.names == ["Ann", "Bob", "Zoë"]
    assert dataset.relations.names == ["meets"]
    assert dataset.notes[0] == (
        "4 names that differed in outer blanks or Unicode form alone were merged with others"
    )
    alone = open_dataset(FRAME.with_columns(subject=pl.lit("  Ann ")))  # which merges nothing
    assert not any("merged" in note for note in alone.notes)


SPANS = [("Ann", "owns", "Bob", "2014-01-01", "2014-01-03"), ("Bob", "owns", "Zoë", "2014", None)]


@pytest.mark.parametrize(
    "header",
    [
        "subject relation object start end",
        "head,rel,tail,Valid From,valid-to",
        "s r o since until",
        "source target relation start_time end_time",
        "subject relation object from to",
        "From,relation,To,start date,end date",
        "actor1 predicate actor2 first last",
    ],
)
def test_starts_and_ends_are_found_by_their_usual_names(tmp_path, header):
    names = header.split("," if "," in header else " ")
    order = [names.index(name) for name in sorted(names, key=_place)]
    frame = as_frame(SPANS)
    frame.columns = [names[position] for position in order]
    found = read_table(write_file(tmp_path, "x.csv", frame.select(names).write_csv()))
    assert found.columns == ["subject", "relation", "object", "start", "end"]
    assert found.rows() == SPANS


def test_from_and_to_are_times_beside_a_given_subject_and_object():
    frame = pl.DataFrame(SPANS, schema=["who", "rel", "what", "from", "to"], orient="row")
    assert read_table(frame, ReadOptions(subject="who", object="what")).rows() == SPANS
    # Beside a time they are not, if there is nothing else to be the subject.
    assert read_table(FRAME.rename({"subject": "from", "object": "to"})).rows() == ROWS


def _place(name):
    roles = ["subject", "relation", "object", "start", "end"]
    found = "start" if name == "from" else "end" if name == "to" else usual_role(name)
    return roles.index(found)


def test_beside_a_time_starts_and_ends_are_asked_for():
    frame = FRAME.with_columns(valid_from=pl.lit("2013"), valid_to=pl.lit("2015"))
    dataset = open_dataset(frame)
    assert not dataset.has_intervals
    asked = open_dataset(frame, start="valid_from", end="valid_to")
    assert asked.named("train", 0)[3] == "2013 – 2015"
    problem = complaint(frame, ReadOptions(time="time", start="valid_from"))
    assert problem == "--time is for facts of one time; leave it out, or --start and --end"


@pytest.mark.parametrize("word", ["", "NA", "####-##-##", "present", "Now", "9999-12-31"])
def test_a_missing_end_is_open(word):
    rows = [*SPANS[:1], ("Bob", "owns", "Zoë", "2014", word), ("Zoë", "owns", "Ann", "", "2014")]
    frame = as_frame(rows)
    assert [row[3:] for row in read_table(frame).rows()][1:] == [("2014", None), (None, "2014")]


def test_the_last_day_of_databases_is_an_open_end():
    ends = [date(2014, 1, 3), date(9999, 12, 31), None]
    frame = FRAME.drop("time").with_columns(start=date(2013, 1, 1), end=pl.Series(ends))
    dataset = open_dataset(frame)
    labels = [dataset.named(split, 0)[3] for split in dataset.splits]
    assert sorted(labels) == ["2013-01-01 – 2014-01-03", *["since 2013-01-01"] * 2]
    assert "whose end is 9999-12-31 or a word like 'present' have none: row 2" in dataset.notes[0]
