"""Names while they are being written."""

import pytest

from targcn.facts.dataset import Dataset
from targcn.facts.names import find_names
from targcn.facts.open import open_dataset
from targcn.serve.name_index import NameIndex


@pytest.fixture(scope="module")
def congress() -> Dataset:
    return open_dataset("congress")


@pytest.mark.parametrize("text", ["", "kennedy", "ted KENNEDY", "ken al", "é", "obama", "serves"])
@pytest.mark.parametrize("top", [1, 12, 10_000])
def test_the_index_finds_what_a_search_finds(congress: Dataset, text: str, top: int) -> None:
    indices = {
        "entity": NameIndex.of_entities(congress),
        "relation": NameIndex.of_relations(congress),
    }
    everything = find_names(congress, text)
    for kind, index in indices.items():
        found = index.find(text, top)
        assert found == [one for one in everything if one.kind == kind][:top]


def test_similar_names(congress: Dataset) -> None:
    index = NameIndex.of_entities(congress)
    assert index.find("barak obama", 5) == []
    assert index.similar("barak obama")[0].name == "Barack Obama"
    assert index.knows("BARACK  obama")
    assert not index.knows("barak obama")
