"""A graph mapped from files against the same graph in memory."""

import sys
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from oracle import World, checked, worlds
from targcn.errors import InputError
from targcn.evaluation.filters import FILTERS, AnswersInGraph, KnownAnswers
from targcn.facts.dataset import Dataset
from targcn.graph import build
from targcn.graph.queries import queries_of
from targcn.graph.stored import write_index
from targcn.graph.temporal_graph import TemporalGraph

WORLD = World(3, 2, [(0, 0, 1, 2), (1, 1, 2, 0), (0, 0, 2, 1), (0, 0, 1, 2)], cuts=(1, 2))


def stored(world: World, folder: Path) -> Dataset:
    world.dataset.save(folder)
    write_index(world.dataset, folder)
    return Dataset.load(folder)


def same(one: object, other: object) -> bool:
    """Whether two records hold equal columns, of whatever type."""
    names = [name for name, value in vars(other).items() if isinstance(value, torch.Tensor)]
    return all(
        torch.equal(getattr(one, name).long(), getattr(other, name).long()) for name in names
    )


@checked
@given(worlds(), st.integers(1, 20))
def test_a_stored_graph_is_the_graph(tmp_path_factory, world: World, at_once: int) -> None:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(build, "ROWS_SORTED_AT_ONCE", at_once)
        dataset = stored(world, tmp_path_factory.mktemp("stored") / "data")
    for context in ("train", "all"):
        graph = TemporalGraph.of_context(dataset, context)
        expected = TemporalGraph.of_context(world.dataset, context)
        assert graph.folder is not None
        assert expected.folder is None
        assert same(graph, expected)


@pytest.mark.skipif(sys.platform != "linux", reason="the system tells what it was advised")
@pytest.mark.parametrize("memory", [0, 1 << 40])
def test_nothing_is_read_ahead_of_an_index_larger_than_memory(
    tmp_path, monkeypatch, memory
) -> None:
    monkeypatch.setattr("targcn.graph.stored.memory_left", lambda: memory)
    graph = TemporalGraph.of_context(stored(WORLD, tmp_path / "data"), "train")
    mapped = Path("/proc/self/smaps").read_text().split(str(graph.folder / "keys.npy"))
    flags = mapped[1].split("VmFlags:")[1].splitlines()[0].split()
    assert ("rr" in flags) == (memory == 0)


@checked
@given(worlds())
def test_known_answers_of_a_stored_graph(tmp_path_factory, world: World) -> None:
    dataset = stored(world, tmp_path_factory.mktemp("stored") / "data")
    graph = TemporalGraph.of_context(dataset, "all")
    queries, answers = queries_of(dataset.facts, world.num_relations)
    for which in FILTERS:
        found, expected = KnownAnswers.of(graph, which), KnownAnswers.of(world.graph, which)
        assert isinstance(found, AnswersInGraph)
        for later in (0, 1, 99):
            asked = replace(queries, times=queries.times + later)
            for one, other in zip(found.look_up(asked), expected.look_up(asked), strict=True):
                assert torch.equal(one, other)
        if which == "time-aware":
            for one, other in zip(
                found.others(queries, answers), expected.others(queries, answers), strict=True
            ):
                assert {*one.tolist()} | {*answers.tolist()} >= {*other.tolist()}


def test_what_is_changed_or_added_is_built_again(tmp_path: Path) -> None:
    dataset = stored(WORLD, tmp_path / "data")
    added = replace(dataset, added=dataset.train)
    assert TemporalGraph.of_context(added, "train").folder is None
    assert TemporalGraph.of_context(dataset, "train+valid").folder is None


def test_a_saved_copy_shares_the_files(tmp_path: Path) -> None:
    dataset = stored(WORLD, tmp_path / "data")
    dataset.save(tmp_path / "copy")
    keys = Path("index", "train", "keys.npy")
    assert (tmp_path / "copy" / keys).samefile(tmp_path / "data" / keys)
    assert TemporalGraph.of_context(Dataset.load(tmp_path / "copy"), "train").folder is not None


@pytest.mark.parametrize("name", ["keys.npy", "offsets.npy", "graph.json"])
def test_a_damaged_index(tmp_path: Path, name: str) -> None:
    dataset = stored(WORLD, tmp_path / "data")
    path = tmp_path / "data" / "index" / "train" / name
    path.write_bytes(path.read_bytes()[:-9])
    with pytest.raises(InputError, match=r"is damaged or half-written .* prepare the data set"):
        TemporalGraph.of_context(dataset, "train")


def test_an_index_of_other_facts(tmp_path: Path) -> None:
    dataset = stored(WORLD, tmp_path / "data")
    fewer = replace(
        dataset,
        splits=dict(dataset.splits)
        | {"train": dataset.train.where(np.zeros(len(dataset.train), dtype=bool))},
    )
    (tmp_path / "data" / "index" / "valid+test").mkdir()
    with pytest.raises(InputError, match="its counts are not those of the data set"):
        TemporalGraph.of_context(replace(dataset, entities=dataset.relations), "train")
    assert TemporalGraph.of_context(fewer, "all").folder is None
