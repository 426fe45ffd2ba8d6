"""Copies into temporary files, and their bounds."""

import shutil
from types import SimpleNamespace

import pytest

from small_tables import CSV
from targcn.errors import InputError
from targcn.facts.sources.copies import copy_blocks, safe_name


def test_blocks_are_written_in_order(tmp_path):
    copy = copy_blocks([b"a", b"bc"], tmp_path / "x", "x.zip")
    assert copy.read_bytes() == b"abc"


@pytest.mark.parametrize("size", [None, 10_000])
def test_a_copy_that_would_fill_the_disk(tmp_path, monkeypatch, size):
    monkeypatch.setattr(shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    endless = iter(lambda: CSV.encode(), None)
    with pytest.raises(InputError, match=r"x.zip needs more than the 0.0 GB .* set TMPDIR"):
        copy_blocks(endless, tmp_path / "x", "x.zip", size)
    assert (tmp_path / "x").stat().st_size <= (0 if size else 900)


@pytest.mark.parametrize(
    "name",
    ["../../x.csv", "/etc/x.csv", "..\\x.csv", "C:\\x.csv", "a/b/x.csv", " x.csv ", "x.csv."],
)
def test_a_foreign_path_is_a_plain_name_here(name):
    assert safe_name(name) == "x.csv"


@pytest.mark.parametrize("name", ["", ".", "..", "a/", "...", " "])
def test_a_foreign_path_without_a_name(name):
    assert safe_name(name) == "table"
