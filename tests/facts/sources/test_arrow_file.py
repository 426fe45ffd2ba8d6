"""Arrow files and streams, good and damaged."""

import pytest

from small_tables import FRAME, ROWS, as_bytes, complaint, read_table, write_file

FILE = as_bytes(FRAME.write_ipc)
STREAM = as_bytes(FRAME.write_ipc_stream)


@pytest.mark.parametrize("name", ["x.arrow", "x.feather", "x.ipc"])
@pytest.mark.parametrize("content", [FILE, STREAM], ids=["file", "stream"])
def test_a_file_gives_its_rows(tmp_path, name, content):
    assert read_table(write_file(tmp_path, name, content)).rows() == ROWS


@pytest.mark.parametrize("content", [b"", b"FEA1", FILE[:9], FILE[:-20], STREAM[:40], b"no" * 99])
def test_a_file_that_is_no_arrow_file(tmp_path, content):
    assert "bad.arrow" in complaint(write_file(tmp_path, "bad.arrow", content))
