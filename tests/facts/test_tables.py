"""Tables of every kind, good and bad, read as four columns without holes."""

import gzip
import io
import os
from datetime import timedelta
from pathlib import Path

import pandas as pd
import polars as pl
import pytest

from targcn.errors import InputError
from targcn.facts.reading import Reading
from targcn.facts.tables import is_table, read_table

HEADER = ["subject", "relation", "object", "time"]
ROWS = [
    ("Ann", "visits", "Bob", "2014-01-01"),
    ("Bob", "meets", "Zoë", "2014-01-02"),
    ("Zoë", "visits", "Chad, the state", "2014-01-05"),
]
FRAME = pl.DataFrame(ROWS, schema=HEADER, orient="row")
CSV = FRAME.write_csv()


def as_bytes(write, **options) -> bytes:
    stream = io.BytesIO()
    write(stream, **options)
    return stream.getvalue()


GOOD = {
    "x.csv": CSV.encode(),
    "x.CSV": CSV.encode(),
    "x.tsv": FRAME.write_csv(separator="\t").encode(),
    "x.tab": FRAME.write_csv(separator="\t").encode(),
    "x.txt": FRAME.write_csv(separator="|").encode(),
    "semicolons.csv": FRAME.write_csv(separator=";").encode(),
    "headless.txt": FRAME.write_csv(separator="\t", include_header=False).encode(),
    "headless.csv": FRAME.write_csv(include_header=False).encode(),
    "x.jsonl": FRAME.write_ndjson().encode(),
    "x.ndjson": FRAME.write_ndjson().encode(),
    "x.parquet": as_bytes(FRAME.write_parquet),
    "x.csv.gz": gzip.compress(CSV.encode()),
    "x.tsv.gz": gzip.compress(FRAME.write_csv(separator="\t").encode()),
    "x.jsonl.gz": gzip.compress(FRAME.write_ndjson().encode()),
    "x.csv.zst": as_bytes(FRAME.write_csv, compression="zstd"),
    "x.tsv.zst": as_bytes(FRAME.write_csv, compression="zstd", separator="\t"),
    "x.jsonl.zst": as_bytes(FRAME.write_ndjson, compression="zstd"),
}


def write(tmp_path: Path, name: str, content: str | bytes) -> Path:
    path = tmp_path / name
    path.write_bytes(content.encode() if isinstance(content, str) else content)
    return path


def complaint(source: object, reading: Reading | None = None) -> str:
    with pytest.raises(InputError) as caught:
        read_table(source, reading or Reading())
    assert len(str(caught.value).splitlines()) == 1
    return str(caught.value)


@pytest.mark.parametrize("name", GOOD)
def test_every_format_gives_the_same_rows(tmp_path, name):
    assert read_table(write(tmp_path, name, GOOD[name]), Reading()).rows() == ROWS


@pytest.mark.parametrize("name", GOOD)
def test_every_format_is_known_as_a_table(name):
    assert is_table(Path(name))


@pytest.mark.parametrize("name", ["x", "x.json", "x.gz", "x.xlsx", "entity2id", "x.csv.bz2"])
def test_other_endings_are_not_tables(name):
    assert not is_table(Path(name))


@pytest.mark.parametrize("source", [FRAME, FRAME.lazy(), pd.DataFrame(ROWS, columns=HEADER)])
def test_frames_give_the_same_rows(source):
    assert read_table(source, Reading()).rows() == ROWS


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
    path = write(tmp_path, "x.csv", CSV.replace("subject,relation,object,time", header))
    assert read_table(path, Reading()).rows() == ROWS


@pytest.mark.parametrize("ending", ["csv", "jsonl", "parquet"])
def test_columns_may_be_given(tmp_path, ending):
    frame = FRAME.rename({"subject": "wer", "time": "wann"}).with_columns(date=pl.lit("x"))
    content = {
        "csv": frame.write_csv().encode(),
        "jsonl": frame.write_ndjson().encode(),
        "parquet": as_bytes(frame.write_parquet),
    }[ending]
    path = write(tmp_path, f"x.{ending}", content)
    assert read_table(path, Reading(subject="wer", time="wann")).rows() == ROWS


def test_a_column_given_to_one_role_is_not_found_for_another():
    frame = FRAME.rename({"object": "to", "relation": "object"})
    assert read_table(frame, Reading(relation="object")).rows() == ROWS


def test_other_columns_and_their_order_do_not_matter():
    frame = FRAME.select("time", pl.lit([1]).alias("extra"), "object", "relation", "subject")
    assert read_table(frame, Reading()).rows() == ROWS


@pytest.mark.parametrize("fifth", ["0", "", "note"])
def test_a_fifth_column_without_header_is_ignored(tmp_path, fifth):
    lines = "".join("\t".join((*row, fifth)) + "\n" for row in ROWS)
    assert read_table(write(tmp_path, "x.txt", lines), Reading()).rows() == ROWS


@pytest.mark.parametrize(
    ("what", "content"),
    [
        ("byte order mark", "\ufeff" + CSV),
        ("byte order mark without header", "\ufeff" + CSV.partition("\n")[2]),
        ("Windows line ends", CSV.replace("\n", "\r\n")),
        ("no last line end", CSV.rstrip("\n")),
        ("blank lines", "\n  \n" + CSV.replace("\n", "\n\n")),
        ("blanks around cells", CSV.replace("Ann", "  Ann ").replace("2014-01-02", " 2014-01-02 ")),
        ("quotes everywhere", FRAME.write_csv(quote_style="always")),
    ],
)
def test_harmless_oddities_of_csv(tmp_path, what, content):
    assert read_table(write(tmp_path, "x.csv", content), Reading()).rows() == ROWS, what


@pytest.mark.parametrize("oddity", ["\ufeff{}", "{}\n\n  \n"])
def test_harmless_oddities_of_json_lines(tmp_path, oddity):
    path = write(tmp_path, "x.jsonl", oddity.format(FRAME.write_ndjson()))
    assert read_table(path, Reading()).rows() == ROWS


@pytest.mark.parametrize("name", ['a "b" c', '"', "a\tb", "a\nb", "a,b", "a\x00b", "😀", "NULL"])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_any_name_can_be_quoted(tmp_path, name, separator):
    frame = FRAME.with_columns(subject=pl.lit(name))
    path = write(tmp_path, "x.csv", frame.write_csv(separator=separator))
    assert read_table(path, Reading())["subject"].to_list() == [name] * 3


def test_a_quotation_mark_inside_a_name_needs_no_quotes(tmp_path):
    path = write(tmp_path, "x.tsv", 'Dwayne "Rock" J\tis\tan 6" actor, 7" tall\t1999\n')
    assert read_table(path, Reading()).row(0)[:3] == (
        'Dwayne "Rock" J',
        "is",
        'an 6" actor, 7" tall',
    )


def test_numbers_may_be_names():
    frame = pl.DataFrame({"s": [1, 2], "r": [True, False], "o": [2.5, 3.0], "t": [1, 2]})
    assert read_table(frame, Reading()).row(0) == ("1", "true", "2.5", 1)


def test_categories_are_names_and_times():
    frame = FRAME.cast(pl.Categorical)
    assert read_table(frame, Reading()).rows() == ROWS


@pytest.mark.parametrize(
    ("times", "dtype"),
    [
        (pd.to_datetime(["2014-01-01"] * 3), pl.Datetime("us")),
        (pd.to_datetime(["2014-01-01"] * 3).astype("datetime64[s]"), pl.Datetime("us")),
        (pd.to_datetime(["2014-01-01"] * 3).tz_localize("Asia/Tokyo"), pl.Datetime("us")),
        ([2014, 2015, 2016], pl.Int64),
        ([2014.0, 2015.0, 2016.0], pl.Float64),
        (pd.Series([1, 2, 3], dtype="Int64"), pl.Int64),
        (pd.Categorical(["2014", "2015", "2016"]), pl.String),
    ],
)
def test_times_of_a_pandas_frame(times, dtype):
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(time=times)
    assert read_table(frame, Reading())["time"].dtype == dtype


def test_a_zone_of_a_pandas_frame_is_converted():
    times = pd.to_datetime(["2014-01-01T09:00"] * 3).tz_localize("Asia/Tokyo")
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(time=times)
    assert str(read_table(frame, Reading())["time"][0]) == "2014-01-01 00:00:00"


def test_a_pandas_frame_may_hold_anything_in_other_columns():
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(extra=[object(), [1], {}])
    assert read_table(frame, Reading()).rows() == ROWS


# From here on: bad input, and the sentence that explains it.


@pytest.mark.parametrize("role", HEADER)
def test_a_missing_column(tmp_path, role):
    path = write(tmp_path, "bad.csv", CSV.replace(role, "other", 1))
    sentence = complaint(path)
    assert f"bad.csv: no column for the {role} among" in sentence
    assert sentence.endswith(f"name it with --{role}")


def test_a_given_column_that_is_missing():
    assert complaint(FRAME, Reading(time="jour")).startswith("the frame: no column 'jour' among")


def test_ambiguous_columns():
    frame = FRAME.with_columns(year=pl.lit(2014))
    assert complaint(frame) == (
        "the frame: which column holds the time, 'time', 'year'? call only one so, or for a data "
        "set name it with --time"
    )


@pytest.mark.parametrize("name", ["bad.csv", "bad.parquet", "bad.jsonl"])
def test_a_table_without_any_usual_name(tmp_path, name):
    content = {
        "bad.csv": b"a,b\n1,2\n",
        "bad.jsonl": b'{"a": 1}\n',
        "bad.parquet": as_bytes(pl.DataFrame({"a": [1]}).write_parquet),
    }[name]
    sentence = complaint(write(tmp_path, name, content))
    assert f"{name}: no column for the subject among 'a'" in sentence


def test_a_pandas_frame_with_a_column_twice():
    frame = pd.DataFrame(ROWS, columns=HEADER)
    assert "which column holds the subject" in complaint(pd.concat([frame, frame], axis=1))


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.csv", b""),
        ("bad.csv", b"\n\n  \n"),
        ("bad.tsv", b"\xef\xbb\xbf"),
        ("bad.jsonl", b""),
        ("bad.jsonl", b"\n\n"),
        ("bad.csv.gz", gzip.compress(b"")),
        ("bad.jsonl.gz", gzip.compress(b"")),
        ("bad.csv.gz", b""),
    ],
)
def test_an_empty_file(tmp_path, name, content):
    assert f"{name} is empty" in complaint(write(tmp_path, name, content))


@pytest.mark.parametrize("content", [CSV.split("\n")[0], CSV.split("\n")[0] + "\n\n"])
def test_a_header_only(tmp_path, content):
    path = write(tmp_path, "bad.csv", content)
    assert complaint(path) == "bad.csv has columns but no facts"


def test_an_empty_frame():
    assert complaint(FRAME.head(0)) == "the frame has columns but no facts"


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (CSV.encode("latin-1"), 3),
        (CSV.replace("time", "année\x85").encode("latin-1"), 1),
        (CSV.encode("utf-16"), 1),
    ],
)
def test_text_that_is_not_utf8(tmp_path, content, line):
    assert complaint(write(tmp_path, "bad.csv", content)) == (
        f"bad.csv is not UTF-8 text (line {line}); save it again as UTF-8"
    )


def test_compressed_text_that_is_not_utf8(tmp_path):
    path = write(tmp_path, "bad.csv.gz", gzip.compress(CSV.encode("latin-1")))
    assert "bad.csv.gz is not UTF-8 text" in complaint(path)


@pytest.mark.parametrize("hole", ["", "   ", '""'])
@pytest.mark.parametrize("role", HEADER)
def test_an_empty_cell(tmp_path, role, hole):
    cells = dict(zip(HEADER, ROWS[0], strict=True)) | {role: hole}
    path = write(tmp_path, "bad.csv", CSV + ",".join(cells.values()) + "\n")
    assert complaint(path) == (
        f"bad.csv: the {role} is empty in row 4; fill it in or remove the rows"
    )


def test_only_the_first_empty_cells_are_listed():
    frame = pl.concat([FRAME, FRAME.with_columns(object=None), FRAME.with_columns(object=None)])
    assert "the object is empty in row 4, row 5, row 6 and 3 more" in complaint(frame)


@pytest.mark.parametrize("hole", [None, float("nan"), pd.NA])
def test_a_hole_in_a_pandas_frame(hole):
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(subject=["Ann", hole, "Zoë"])
    assert "the subject is empty in row 2" in complaint(frame)


@pytest.mark.parametrize(
    "times", [pd.to_datetime(["2014", None, "2015"]), [1, float("nan"), 2], ["2014", None, "2015"]]
)
def test_a_hole_among_the_times_of_a_pandas_frame(times):
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(time=times)
    assert "the time is empty in row 2" in complaint(frame)


def test_a_key_missing_in_a_json_line(tmp_path):
    path = write(tmp_path, "bad.jsonl", FRAME.write_ndjson() + '{"subject": "Ann"}\n')
    assert "the relation is empty in row 4" in complaint(path)


def test_too_many_cells(tmp_path):
    path = write(tmp_path, "bad.csv", "\n" + CSV + "Ann,visits,Chad, the state,2014-01-01\n")
    assert complaint(path) == (
        "bad.csv: line 6 has 5 cells separated by ',', the first line 4; quote cells that hold one"
    )


def test_too_many_cells_and_one_very_long(tmp_path):
    path = write(tmp_path, "bad.csv", CSV + "A" * 200_000 + ",b,c,d,e\n")
    assert "more cells separated by ','" in complaint(path)


def test_too_many_cells_in_a_compressed_file(tmp_path):
    path = write(tmp_path, "bad.csv.gz", gzip.compress((CSV + "a,b,c,d,e\n").encode()))
    assert "more cells separated by ','" in complaint(path)


@pytest.mark.parametrize("cell", ['"Ann', 'Ann "the', '"Ann" the'])
def test_a_quotation_mark_never_closed(tmp_path, cell):
    path = write(tmp_path, "bad.csv", CSV + f"{cell},visits,Bob,2014-01-01\n" + CSV)
    assert "bad.csv: a quotation mark is opened and never closed" in complaint(path)


@pytest.mark.parametrize("line", ["nonsense", "[1, 2]", '{"subject": "Ann"', "17"])
def test_a_line_that_is_no_json_object(tmp_path, line):
    path = write(tmp_path, "bad.jsonl", FRAME.write_ndjson() + line + "\n")
    assert "bad.jsonl cannot be read as JSONL" in complaint(path)


@pytest.mark.parametrize(
    ("value", "kind"),
    [(["Ann"], "List"), ({"x": "Ann"}, "Struct"), (b"Ann", "Binary"), (timedelta(1), "Duration")],
)
def test_names_that_are_no_text(value, kind):
    frame = FRAME.with_columns(subject=pl.Series([value] * 3))
    assert f"the subject column holds {kind}" in complaint(frame)


def test_names_that_are_python_objects():
    frame = pd.DataFrame(ROWS, columns=HEADER).assign(object=[object(), object(), object()])
    assert "the object column holds Object, not names" in complaint(frame)


@pytest.mark.parametrize("name", ["x.csv.gz", "x.jsonl.gz", "x.csv.zst", "x.jsonl.zst"])
def test_a_truncated_archive(tmp_path, name):
    path = write(tmp_path, name, GOOD[name][:-15])
    sentence = complaint(path)
    assert name in sentence
    assert "cannot" in sentence


@pytest.mark.parametrize("cut", [0, 3, 40, -20, -1])
def test_a_truncated_parquet_file(tmp_path, cut):
    path = write(tmp_path, "bad.parquet", GOOD["x.parquet"][:cut])
    assert "bad.parquet cannot be read as PARQUET" in complaint(path)


def test_a_panic_of_polars_is_explained_and_not_printed(tmp_path, monkeypatch, capfd):
    def panic(*arguments, **options):
        os.write(2, b"thread panicked at crates/...")
        raise pl.exceptions.PanicException("called unwrap on None\nand more")

    monkeypatch.setattr(pl, "read_parquet", panic)
    sentence = complaint(write(tmp_path, "bad.parquet", GOOD["x.parquet"]))
    assert sentence.endswith("bad.parquet is damaged; write or fetch it again")
    assert capfd.readouterr().err == ""


def test_stderr_is_given_back_after_parquet(tmp_path, capfd):
    read_table(write(tmp_path, "x.parquet", GOOD["x.parquet"]), Reading())
    os.write(2, b"still here")
    assert capfd.readouterr().err == "still here"


@pytest.mark.parametrize("name", ["x.xlsx", "x", "x.parquet.gz", "x.csv.bz2", "x.json"])
def test_an_unknown_ending(tmp_path, name):
    sentence = complaint(write(tmp_path, name, CSV))
    assert name in sentence
    assert "CSV, TSV, JSON lines (.jsonl) and Parquet are read" in sentence


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
def test_a_folder_in_place_of_a_file(tmp_path, name):
    (tmp_path / name).mkdir()
    sentence = complaint(tmp_path / name)
    assert name in sentence
    assert "cannot" in sentence


@pytest.mark.parametrize("name", ["x.csv", "x.jsonl", "x.parquet"])
def test_a_file_that_is_not_there(tmp_path, name):
    assert "No such file" in complaint(tmp_path / name)


@pytest.mark.parametrize("source", [None, 17, [1, 2], {"subject": ["a"]}, pd.Series(["a"])])
def test_something_that_is_no_table(source):
    sentence = complaint(source)
    assert f"cannot be made of {type(source).__name__}" in sentence
