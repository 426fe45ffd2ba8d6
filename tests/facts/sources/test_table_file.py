"""What the file formats share."""

import pytest

from targcn.errors import InputError
from targcn.facts.reading.options import ReadOptions
from targcn.facts.sources.columnar import Parquet
from targcn.facts.sources.delimited_text import DelimitedText
from targcn.facts.sources.json_text import JsonLines

FORMATS = {"x.csv": DelimitedText(), "x.jsonl": JsonLines(), "x.parquet": Parquet()}


@pytest.mark.parametrize("format", FORMATS.values())
def test_a_title_names_every_ending(format):
    assert all(ending in format.title for ending in format.endings + format.compressions)


@pytest.mark.parametrize("name", FORMATS)
def test_a_folder_in_place_of_a_file(tmp_path, name):
    (tmp_path / name).mkdir()
    with pytest.raises(InputError, match=f"{name}.*cannot|cannot.*{name}"):
        FORMATS[name].read_table(tmp_path / name, ReadOptions())


@pytest.mark.parametrize("name", FORMATS)
def test_a_file_that_is_not_there(tmp_path, name):
    with pytest.raises(InputError, match="No such file"):
        FORMATS[name].read_table(tmp_path / name, ReadOptions())
