"""Delimited text, and JSON: harmless oddities and faults."""

import gzip
import json

import polars as pl
import pytest

from small_tables import CSV, FRAME, HEADER, ROWS, as_bytes, complaint, read_table, write_file
from targcn.facts.reading.options import ReadOptions

GOOD = {
    "x.csv": CSV.encode(),
    "x.CSV": CSV.encode(),
    "x.tsv": FRAME.write_csv(separator="\t").encode(),
    "x.tab": FRAME.write_csv(separator="\t").encode(),
    "x.txt": FRAME.write_csv(separator="|").encode(),
    "semicolons.csv": FRAME.write_csv(separator=";").encode(),
    "headless.txt": FRAME.write_csv(separator="\t", include_header=False).encode(),
    "headless.csv": FRAME.write_csv(include_header=False).encode(),
    "x.csv.gz": gzip.compress(CSV.encode()),
    "x.tsv.gz": gzip.compress(FRAME.write_csv(separator="\t").encode()),
    "x.csv.zst": as_bytes(FRAME.write_csv, compression="zstd"),
    "x.tsv.zst": as_bytes(FRAME.write_csv, compression="zstd", separator="\t"),
}


@pytest.mark.parametrize("name", GOOD)
def test_every_form_gives_the_same_rows(tmp_path, name):
    assert read_table(write_file(tmp_path, name, GOOD[name])).rows() == ROWS


@pytest.mark.parametrize("fifth", ["0", "", "note"])
def test_a_fifth_column_without_header_is_ignored(tmp_path, fifth):
    lines = "".join("\t".join((*row, fifth)) + "\n" for row in ROWS)
    assert read_table(write_file(tmp_path, "x.txt", lines)).rows() == ROWS


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
    assert read_table(write_file(tmp_path, "x.csv", content)).rows() == ROWS, what


@pytest.mark.parametrize("name", ['a "b" c', '"', "a\tb", "a\nb", "a,b", "a\x00b", "😀"])
@pytest.mark.parametrize("separator", [",", "\t"])
def test_any_name_can_be_quoted(tmp_path, name, separator):
    frame = FRAME.with_columns(subject=pl.lit(name))
    path = write_file(tmp_path, "x.csv", frame.write_csv(separator=separator))
    assert read_table(path)["subject"].to_list() == [name] * 3


def test_a_quotation_mark_inside_a_name_needs_no_quotes(tmp_path):
    path = write_file(tmp_path, "x.tsv", 'Dwayne "Rock" J\tis\tan 6" actor, 7" tall\t1999\n')
    assert read_table(path).row(0)[:3] == (
        'Dwayne "Rock" J',
        "is",
        'an 6" actor, 7" tall',
    )


@pytest.mark.parametrize(("name", "kept"), [("x.tsv", True), ("x.txt", True), ("x.csv", False)])
def test_a_tsv_or_txt_keeps_quotation_marks_and_a_csv_does_not(tmp_path, name, kept):
    cells = ['"Heroes"', "is by", '"Weird Al" Yankovic' if kept else "Bowie", "1977-10-14"]
    path = write_file(tmp_path, name, ("\t" if kept else ",").join(cells) + "\n")
    heroes = '"Heroes"' if kept else "Heroes"
    assert read_table(path).row(0) == (heroes, *cells[1:])


def test_a_quotation_mark_in_the_header_of_a_tsv(tmp_path):
    lines = '"the" subject\trelation\tobject\ttime\n"Q" b\tr\to\t2014\n'
    table = read_table(write_file(tmp_path, "x.tsv", lines), ReadOptions(subject='"the" subject'))
    assert table.row(0)[0] == '"Q" b'


@pytest.mark.parametrize("style", ["always", "necessary"])
def test_a_tsv_that_a_program_quoted_as_in_csv(tmp_path, style):
    frame = FRAME.with_columns(subject=pl.lit('"Weird Al" Yankovic'))
    content = frame.write_csv(separator="\t", quote_style=style)
    path = write_file(tmp_path, "x.tsv", content)
    assert read_table(path)["subject"].to_list() == ['"Weird Al" Yankovic'] * 3


@pytest.mark.parametrize(
    ("content", "line"),
    [
        (CSV.encode("latin-1"), 3),
        (CSV.replace("time", "année\x85").encode("latin-1"), 1),
        (CSV.encode("utf-16"), 1),
    ],
)
def test_text_that_is_not_utf8(tmp_path, content, line):
    assert complaint(write_file(tmp_path, "bad.csv", content)) == (
        f"bad.csv is not UTF-8 text (line {line}); save it as UTF-8, or name its encoding, such as "
        "--encoding latin-1"
    )


@pytest.mark.parametrize("encoding", ["latin-1", "cp1252", "utf-16", "utf-8-sig"])
@pytest.mark.parametrize("ending", ["csv", "csv.gz"])
def test_text_in_an_encoding_that_is_named(tmp_path, encoding, ending):
    content = CSV.encode(encoding)
    content = gzip.compress(content) if ending.endswith("gz") else content
    path = write_file(tmp_path, f"x.{ending}", content)
    assert read_table(path, ReadOptions(encoding=encoding)).rows() == ROWS


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("bad.csv", CSV.encode("latin-1"), "bad.csv is not ascii text ("),
        ("bad.csv.gz", gzip.compress(CSV.encode(), mtime=0)[:-15], "bad.csv.gz is damaged ("),
        ("bad.csv.zst", GOOD["x.csv.zst"], "--encoding needs plain text or .gz; unpack it first"),
    ],
)
def test_an_encoding_that_does_not_fit(tmp_path, name, content, expected):
    assert expected in complaint(write_file(tmp_path, name, content), ReadOptions(encoding="ascii"))


TSV = FRAME.write_csv(separator="\t")


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        (
            "bad.csv",
            "\n" + CSV + "Ann,visits,Chad, the state,2014-01-01\n",
            "bad.csv: line 6 has 5 cells separated by ',', the first line 4; quote cells that hold "
            "a separator",
        ),
        (
            "bad.tsv",
            TSV + '"Chi\tna"\tmeets\tBob\t2014-01-01\n',
            "bad.tsv: line 5 has 5 cells separated by '\\t', the first line 4; a name with a tab "
            "needs a .csv file, and quotes",
        ),
        ("bad.csv", CSV + "A" * 200_000 + ",b,c,d,e\n", "more cells separated by ','"),
        (
            "bad.csv.gz",
            gzip.compress((CSV + "a,b,c,d,e\n").encode(), mtime=0),
            "more cells separated by",
        ),
        ("x.csv.gz", GOOD["x.csv.gz"][:-15], "x.csv.gz"),
        ("x.csv.zst", GOOD["x.csv.zst"][:-15], "x.csv.zst"),
        (
            "bad.csv.gz",
            gzip.compress(CSV.encode("latin-1"), mtime=0),
            "bad.csv.gz is not UTF-8 text",
        ),
    ],
)
def test_too_many_cells_or_a_damaged_archive(tmp_path, name, content, expected):
    assert expected in complaint(write_file(tmp_path, name, content))


@pytest.mark.parametrize("cell", ['"Ann', 'Ann "the', '"Ann" the'])
def test_a_quotation_mark_never_closed(tmp_path, cell):
    path = write_file(tmp_path, "bad.csv", CSV + f"{cell},visits,Bob,2014-01-01\n" + CSV)
    assert "bad.csv: a quotation mark is opened and never closed" in complaint(path)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("bad.csv", b""),
        ("bad.csv", b"\n\n  \n"),
        ("bad.tsv", b"\xef\xbb\xbf"),
        ("bad.csv.gz", gzip.compress(b"", mtime=0)),
        ("bad.csv.gz", b""),
    ],
)
def test_an_empty_file(tmp_path, name, content):
    assert f"{name} is empty" in complaint(write_file(tmp_path, name, content))


@pytest.mark.parametrize(
    ("starts", "ends"),
    [
        (["1952-##-##", "####-##-##"], ["####-##-##", "1964-##-##"]),
        (["####-##-##", "1925-04-23"], ["19##-##-##", "-405-##-##"]),
        (["2014-01-01", "2014-01-02"], ["2014-01-03", ""]),
        (["12", "7"], ["12", "9"]),
        (["12", "7"], ["", "9"]),
    ],
)
def test_a_fifth_column_without_header_may_be_an_end(tmp_path, starts, ends):
    lines = "".join(f"{n}\t0\t{n + 1}\t{starts[n]}\t{ends[n]}\n" for n in (0, 1))
    frame = read_table(write_file(tmp_path, "x.txt", lines))
    assert frame.columns[3:] == ["start", "end"]
    assert frame["start"].to_list() == [None if "####" in one else one for one in starts]


@pytest.mark.parametrize("fifth", [["3", "4"], ["0.5", "0.7"], ["2014.5", "x"], ["0", ""]])
def test_other_fifth_columns_are_no_ends(tmp_path, fifth):
    lines = "".join(f"{n}\t0\t{n + 1}\t{n + 4}\t{fifth[n]}\n" for n in (0, 1))
    assert read_table(write_file(tmp_path, "x.txt", lines)).columns[3:] == ["time"]


LINES = FRAME.write_ndjson()
OBJECTS = [dict(zip(HEADER, row, strict=True)) for row in ROWS]
ARRAY = json.dumps(OBJECTS, ensure_ascii=False)
PACKED = {
    "x.jsonl.gz": gzip.compress(LINES.encode(), mtime=0),
    "x.jsonl.zst": as_bytes(FRAME.write_ndjson, compression="zstd"),
}


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("x.jsonl", LINES),
        ("x.ndjson", LINES),
        ("x.jsonl", "\ufeff" + LINES),
        ("x.jsonl", f"{LINES}\n\n  \n"),
        *PACKED.items(),
        ("x.json", ARRAY),
        ("X.JSON", json.dumps(OBJECTS, indent=2)),
        ("x.json", f"\ufeff\n {ARRAY}\n\n"),
        ("x.json.gz", gzip.compress(ARRAY.encode(), mtime=0)),
        # Many programs call JSON lines so.
        ("x.json", LINES),
    ],
)
def test_every_form_of_json_gives_the_same_rows(tmp_path, name, content):
    assert read_table(write_file(tmp_path, name, content)).rows() == ROWS


def test_a_key_missing_in_a_json_line(tmp_path):
    path = write_file(tmp_path, "bad.jsonl", LINES + '{"subject": "Ann"}\n')
    assert "the relation is missing in row 4" in complaint(path)


@pytest.mark.parametrize("line", ["nonsense", "[1, 2]", '{"subject": "Ann"', "17"])
@pytest.mark.parametrize("pack", [bytes, gzip.compress])
def test_an_error_in_json_lines_gives_its_line(tmp_path, line, pack):
    name = "bad.jsonl" if pack is bytes else "bad.jsonl.gz"
    content = "\n" + LINES + line + "\n" + LINES
    assert complaint(write_file(tmp_path, name, pack(content.encode()))) == (
        f"{name}, line 5: not a JSON object; correct or remove the line"
    )


def test_a_cell_that_is_a_list_in_one_line_only(tmp_path):
    path = write_file(tmp_path, "bad.jsonl", '{"time": 2014}\n{"time": [2014]}\n')
    assert complaint(path) == "bad.jsonl, line 2: 'time' is a list or an object in some lines only"


@pytest.mark.parametrize(
    ("name", "content"),
    [("bad.jsonl", b""), ("bad.jsonl", b"\n\n"), ("bad.jsonl.gz", gzip.compress(b"", mtime=0))],
)
def test_an_empty_file_of_json(tmp_path, name, content):
    assert f"{name} is empty" in complaint(write_file(tmp_path, name, content))


def test_a_key_that_comes_late_and_one_that_is_missing(tmp_path):
    rows = [dict(one) for _ in range(100) for one in OBJECTS]
    rows[-1]["score"] = 7
    path = write_file(tmp_path, "x.json", json.dumps(rows))
    assert read_table(path, ReadOptions(where="score = 7")).height == 1
    del rows[4]["object"]
    path = write_file(tmp_path, "bad.json", json.dumps(rows))
    assert "the object is missing in row 5" in complaint(path)


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        ("", "bad.json is empty"),
        (" \n", "bad.json is empty"),
        ("17", "bad.json holds no array; write [{…}, {…}], or an object per line"),
        ('{"facts": []}', "bad.json holds no array"),
        ("[1, 2]", "bad.json"),
        ("[]", "bad.json"),
        (ARRAY[:-20], "bad.json cannot be read: "),
        ('{\n"facts": []\n}', "bad.json cannot be read: "),
    ],
)
def test_what_is_no_array_of_objects(tmp_path, content, expected):
    assert expected in complaint(write_file(tmp_path, "bad.json", content))
