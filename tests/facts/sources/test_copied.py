"""Packed tables, tables piped in, and tables from a real HTTP server on loopback."""

import bz2
import gzip
import http.server
import io
import lzma
import shutil
import sys
import threading
import zipfile
from types import SimpleNamespace

import pytest

from small_tables import CSV, FRAME, ROWS, as_bytes, complaint, read_table, write_file
from targcn.facts.open import open_dataset
from targcn.facts.reading.options import ReadOptions


def zipped(**members: str | bytes) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


LINES = FRAME.write_ndjson().encode()
GOOD = {
    "x.csv.bz2": bz2.compress(CSV.encode()),
    "x.CSV.XZ": lzma.compress(CSV.encode()),
    "x.jsonl.xz": lzma.compress(LINES),
    "x.gz": gzip.compress(CSV.encode()),
    "lines.gz": gzip.compress(LINES),
    "x.parquet.gz": gzip.compress(as_bytes(FRAME.write_parquet)),
    "x.zip": zipped(**{"facts.csv": CSV}),
    "folder.zip": zipped(**{"data/": "", "data/facts.tsv": FRAME.write_csv(separator="\t")}),
    "mac.zip": zipped(**{"facts.csv": CSV, "__MACOSX/._facts.csv": b"\0"}),
    "nameless.zip": zipped(facts=CSV),
    "again.zip": zipped(**{"facts.csv.gz": gzip.compress(CSV.encode())}),
}


@pytest.mark.parametrize("name", GOOD)
def test_every_form_gives_the_same_rows(tmp_path, name):
    assert read_table(write_file(tmp_path, name, GOOD[name])).rows() == ROWS


def test_the_name_is_that_of_the_archive(tmp_path):
    assert open_dataset(write_file(tmp_path, "mine.zip", GOOD["x.zip"])).name == "mine"


def test_packed_text_in_another_encoding(tmp_path):
    path = write_file(tmp_path, "x.csv.xz", lzma.compress(CSV.encode("latin-1")))
    assert "x.csv is not UTF-8 text" in complaint(path)
    assert read_table(path, ReadOptions(encoding="latin-1")).rows() == ROWS


def test_several_files_in_an_archive(tmp_path):
    path = write_file(tmp_path, "x.zip", zipped(**{"a/facts.csv": CSV, "readme.txt": "hello"}))
    assert complaint(path) == (
        "x.zip holds 2 files: 'a/facts.csv', 'readme.txt'; choose one with --table"
    )
    assert read_table(path, ReadOptions(table="a/facts.csv")).rows() == ROWS
    assert "x.zip has no 'facts.csv' among its files: " in complaint(
        path, ReadOptions(table="facts.csv")
    )


def test_the_only_file_may_be_named(tmp_path):
    path = write_file(tmp_path, "x.zip", GOOD["x.zip"])
    assert read_table(path, ReadOptions(table="facts.csv")).rows() == ROWS
    assert "takes no --table" in complaint(path, ReadOptions(table="other"))


@pytest.mark.parametrize("member", ["../x.csv", "/x.csv", "a/../../x.csv", "..\\x.csv"])
def test_no_path_of_an_archive_is_used(tmp_path, member):
    (tmp_path / "inner").mkdir()
    path = write_file(tmp_path / "inner", "x.zip", zipped(**{member: CSV}))
    assert read_table(path).rows() == ROWS
    assert [made.name for made in tmp_path.rglob("*")] == ["inner", "x.zip"]


def encrypted() -> bytes:
    content = bytearray(GOOD["x.zip"])
    for mark, offset in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.index(mark) + offset] |= 1  # the flag of an encrypted member
    return bytes(content)


@pytest.mark.parametrize(
    ("name", "content", "expected"),
    [
        ("bad.zip", b"", "bad.zip cannot be unpacked: File is not a zip file"),
        ("bad.zip", GOOD["x.zip"][:-30], "bad.zip cannot be unpacked: "),
        ("bad.zip", zipped(), "bad.zip holds no files"),
        ("bad.zip", encrypted(), "bad.zip cannot be unpacked: "),
        ("bad.zip", zipped(**{"x.zip": GOOD["x.zip"]}), "bad.zip holds x.zip, which cannot be"),
        ("bad.zip", zipped(**{"x.docx": b"\0"}), "bad.zip holds x.docx, which cannot be read"),
        ("bad.csv.bz2", GOOD["x.csv.bz2"][:-5], "bad.csv.bz2 is damaged ("),
        ("bad.csv.xz", GOOD["x.CSV.XZ"][:-5], "bad.csv.xz is damaged ("),
        ("bad.csv.xz", b"nonsense", "bad.csv.xz is damaged ("),
        ("bad.gz", b"nonsense", "bad.gz is damaged ("),
        ("bad.csv.bz2", b"", "bad.csv"),
        (
            "bad.tar.gz",
            gzip.compress(b"x" + b"\0" * 511, mtime=0),
            "bad.tar.gz holds bad.tar, which cannot",
        ),
    ],
)
def test_what_cannot_be_unpacked(tmp_path, name, content, expected):
    assert expected in complaint(write_file(tmp_path, name, content))


def test_a_member_whose_checksum_is_wrong(tmp_path):
    content = bytearray(zipped(**{"x.csv": CSV * 50}))
    content[60] ^= 0xFF
    assert "bad.zip" in complaint(write_file(tmp_path, "bad.zip", bytes(content)))


def test_a_zip_entry_without_a_name_is_no_file(tmp_path):
    content = bytearray(zipped(x=CSV))
    content[content.rindex(b"PK\x01\x02") + 46] = 0  # where the directory has the name
    path = write_file(tmp_path, "x.zip", bytes(content))
    assert complaint(path) == "x.zip holds no files"


def pipe(monkeypatch, content: bytes) -> None:
    stdin = SimpleNamespace(buffer=io.BytesIO(content), isatty=lambda: False)
    monkeypatch.setattr(sys, "stdin", stdin)


@pytest.mark.parametrize(
    "content",
    [
        CSV.encode(),
        FRAME.write_csv(separator="\t", include_header=False).encode(),
        b"\xef\xbb\xbf" + CSV.encode(),
        LINES,
        b"\n[" + LINES.strip().replace(b"\n", b",") + b"]",
        as_bytes(FRAME.write_parquet),
        as_bytes(FRAME.write_ipc),
        as_bytes(FRAME.write_csv, compression="zstd"),
        GOOD["x.gz"],
        GOOD["lines.gz"],
        GOOD["x.zip"],
    ],
)
def test_what_comes_in_is_recognized_by_its_beginning(monkeypatch, content):
    pipe(monkeypatch, content)
    assert read_table("-").rows() == ROWS


def test_another_encoding(monkeypatch):
    pipe(monkeypatch, CSV.encode("utf-16"))
    assert read_table("-", ReadOptions(encoding="utf-16")).rows() == ROWS


def test_the_data_set_has_a_name(monkeypatch):
    pipe(monkeypatch, CSV.encode())
    assert open_dataset("-").name == "stdin"


@pytest.mark.parametrize(
    ("content", "expected"),
    [
        (b"", "stdin.csv is empty"),
        (b"\x7fELF\0\0", "standard input holds stdin, which cannot be read"),
        (b"a,b\n1,2\n", "stdin.csv: no column for the subject, relation,"),
    ],
)
def test_what_is_no_table(monkeypatch, content, expected):
    pipe(monkeypatch, content)
    assert expected in complaint("-")


CONTENT = {
    "/facts.csv": CSV.encode(),
    "/facts.jsonl.gz": GOOD["lines.gz"],
    "/export": LINES,
    "/Zo%C3%AB%20facts.csv": CSV.encode(),
    "/latin.csv": CSV.encode("latin-1"),
    "/": CSV.encode(),
}


class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        body = CONTENT.get(self.path.partition("?")[0])
        if body is None:
            self.send_error(404)
        else:
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

    def log_message(self, *arguments):
        pass


@pytest.fixture(scope="module")
def server():
    serving = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}"
    serving.shutdown()
    serving.server_close()


@pytest.fixture(autouse=True)
def _no_proxy(monkeypatch):
    monkeypatch.setenv("no_proxy", "127.0.0.1")


@pytest.mark.parametrize(
    "path",
    [
        "facts.csv",
        "facts.csv?token=7#top",
        "facts.jsonl.gz",
        "export",
        "Zoë facts.csv",
        "",
    ],
)
def test_an_address_gives_its_rows(server, path):
    assert read_table(f"{server}/{path}").rows() == ROWS


def test_the_name_is_in_the_address(server):
    assert open_dataset(f"{server}/facts.jsonl.gz?a=b").name == "facts"


def test_options_are_those_of_the_file(server):
    options = ReadOptions(encoding="latin-1", where="relation = 'meets'")
    assert read_table(f"{server}/latin.csv", options).rows() == [ROWS[1]]


def test_what_cannot_be_downloaded(server, monkeypatch):
    assert complaint(f"{server}/other.csv?token=secret") == (
        f"cannot download {server}/other.csv: the server answered 404 Not Found"
    )
    assert "cannot download http://127.0.0.1:1/x.csv: " in complaint("http://127.0.0.1:1/x.csv")


def test_a_file_too_large_for_the_disk(server, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=10))
    assert f"{server}/facts.csv needs more than the 0.0 GB" in complaint(f"{server}/facts.csv")


@pytest.mark.parametrize(
    ("address", "expected"),
    [
        ("http://[x/facts.csv", "the address cannot be read: "),
        ("http:///facts.csv", "cannot download http:///facts.csv: "),
        ("http://me:secret@localhost/x.csv", "is given with a user; download the file yourself"),
    ],
)
def test_what_is_no_address(address, expected):
    sentence = complaint(address)
    assert expected in sentence
    assert "secret" not in sentence
