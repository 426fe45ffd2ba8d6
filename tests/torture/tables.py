"""Tables of facts in every format, and how to mangle them."""

import bz2
import gzip
import io
import json
import lzma
import random
import sqlite3
import zipfile
from contextlib import closing

import polars as pl
import pyarrow.parquet as pq

from targcn.errors import InputError
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions

HEADER = ["subject", "relation", "object", "time"]
NAMES = ["Zoë", "Bob, Jr.", '"Q"', "Chi\tna", "Ann", "O'Neil; Bob|"]
ROWS = [
    (NAMES[row % 6], "meets" if row % 2 else "visits", NAMES[row * row % 5], f"2014-01-{row:02}")
    for row in range(10, 29)
]


def as_bytes(write, **options) -> bytes:
    stream = io.BytesIO()
    write(stream, **options)
    return stream.getvalue()


def zipped(text: str) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("facts.csv", text)
    return stream.getvalue()


def in_sqlite() -> bytes:
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("CREATE TABLE facts (subject, relation, object, time)")
        connection.executemany("INSERT INTO facts VALUES (?, ?, ?, ?)", ROWS)
        return connection.serialize()


def in_other_pages(frame: pl.DataFrame) -> bytes:
    """Parquet as others write it: pages of the second version, no dictionaries."""
    how = {"data_page_version": "2.0", "use_dictionary": False, "compression": "none"}
    stream = io.BytesIO()
    pq.write_table(frame.to_arrow(), stream, **how)
    return stream.getvalue()


def make_tables() -> dict[str, bytes]:
    """One good table for every ending; polars is used here, and nowhere else before a fork."""
    frame = pl.DataFrame(ROWS, schema=HEADER, orient="row")
    untabbed = frame.with_columns(pl.all().str.replace("\t", " "))
    ends = [None if row % 5 == 0 else f"2014-02-{row:02}" for row in range(10, 29)]
    spans = untabbed.rename({"time": "start"}).with_columns(end=pl.Series(ends))
    dated_spans = spans.with_columns(pl.col("start", "end").str.to_date())
    dated = frame.with_columns(pl.col("time").str.to_date(), number=pl.int_range(19))
    return {
        "csv": frame.write_csv().encode(),
        "tsv": untabbed.write_csv(separator="\t").encode(),
        "txt": untabbed.write_csv(separator="\t", include_header=False).encode(),
        "jsonl": frame.write_ndjson().encode(),
        "parquet": as_bytes(dated.write_parquet, compression="uncompressed"),
        "PARQUET": as_bytes(frame.write_parquet),
        "v2.parquet": in_other_pages(dated),
        "arrow": as_bytes(dated.write_ipc),
        "feather": as_bytes(frame.write_ipc, compression="lz4"),
        "ipc": as_bytes(dated.write_ipc_stream),
        "spans.csv": spans.write_csv().encode(),
        "spans.txt": spans.with_columns(pl.col("end").fill_null("####-##-##"))
        .write_csv(separator="\t", include_header=False)
        .encode(),
        "spans.parquet": as_bytes(dated_spans.write_parquet, compression="uncompressed"),
        "csv.gz": gzip.compress(frame.write_csv().encode(), mtime=0),
        "jsonl.gz": gzip.compress(frame.write_ndjson().encode(), mtime=0),
        "csv.zst": as_bytes(frame.write_csv, compression="zstd"),
        "jsonl.zst": as_bytes(frame.write_ndjson, compression="zstd"),
        "json": json.dumps([dict(zip(HEADER, row, strict=True)) for row in ROWS]).encode(),
        "csv.bz2": bz2.compress(frame.write_csv().encode()),
        "csv.xz": lzma.compress(frame.write_csv().encode()),
        "zip": zipped(frame.write_csv()),
        "sqlite": in_sqlite(),
        "xlsx": as_bytes(dated.write_excel),
        "nq": "".join(
            f"<urn:a{row % 6}> <urn:r> <urn:a{row * row % 5}> <urn:2014-01-{row}> .\n"
            for row in range(10, 29)
        ).encode(),
        "ttl": "".join(
            f'<urn:a{row % 6}> <urn:r> <urn:a{row * row % 5}> {{| <urn:at> "2014-01-{row}" |}} .\n'
            for row in range(10, 29)
        ).encode(),
    }


MARKS = [b'"', b"'", b"\t", b",", b";", b"|", b"\n", b"\r\n", b"\r", b" ", b":", b"{", b"}"]
JUNK = [
    *(b"\x00", b"\x1f", b"\x80", b"\xff\xfe", b"\xef\xbb\xbf", "\u2028".encode(), "😀".encode()),
    *(b"null", b"NaN", b"true", b"1.5", b"1e400", b"-", b"0", b"2014-13-45", b"9" * 20),
    *(b",,,,,", b'""', b"\\", b"\\u0000", b"[]", b"A" * 200_000, b"9" * 5000, b'{"x": ' * 500),
]


def mangle(content: bytes, rng: random.Random) -> bytes:
    """Flip, cut, remove, repeat, insert, overwrite or exchange bytes, once or several times."""
    mangled = bytearray(content)
    for _ in range(rng.choice([1, 1, 1, 2, 3, 8])):
        if not mangled:
            break
        start = rng.randrange(len(mangled))
        end = start + rng.choice([1, 2, 8, 40, 400])
        match rng.randrange(8):
            case 0:
                mangled[start] ^= 1 << rng.randrange(8)
            case 1:
                del mangled[start:]
            case 2:
                del mangled[start:end]
            case 3:
                mangled[start:start] = mangled[start:end] * rng.choice([1, 2, 50])
            case 4:
                mangled[start:start] = rng.choice(MARKS + JUNK)
            case 5:
                mangled[start:end] = rng.choice(MARKS + JUNK)
            case 6:
                mangled[start:end] = rng.randbytes(end - start)
            case 7:
                mangled = mangled.replace(rng.choice(MARKS), rng.choice(MARKS + JUNK[:16]))
    return bytes(mangled)


def loads_or_explains(source: object, options: ReadOptions | None = None) -> str:
    try:
        dataset = open_dataset(source, options)
    except InputError as error:
        sentence = str(error)
        assert len(sentence.splitlines()) == 1, sentence
        return "explained"
    assert min(len(facts) for facts in dataset.splits.values()) > 0
    assert dataset.timeline.tick(dataset.timeline.last) == dataset.timeline.ticks[-1]
    return "loaded"
