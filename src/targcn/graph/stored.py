"""The index of a large graph in files that are mapped: opening it reads next to nothing.

`targcn data prepare` writes it into the prepared folder, below index/, for a graph of the train
split and one of all facts, each a folder with

    graph.json       format, counts, span
    subjects.npy relations.npy times.npy keys.npy offsets.npy    the columns of TemporalGraph

Nothing else ever writes there. Facts that hold over intervals are not stored.
"""

import mmap
import sys
from pathlib import Path
from typing import Final

import numpy as np
import torch
from torch import Tensor

from targcn.facts.dataset import CONTEXTS, Context, Dataset
from targcn.facts.sources.prepared_folder import INDEX, damaged, read_array, write_array
from targcn.files import atomic_folder, read_json, to_json
from targcn.graph import build
from targcn.graph.queries import mapped_tensor
from targcn.graph.temporal_graph import TemporalGraph
from targcn.memory import memory_left

FORMAT: Final = 1
MANIFEST: Final = "graph.json"
# Smaller graphs are built in the seconds that it takes to start.
STORED_FROM: Final = 10_000_000
NUMPY_TYPES: Final = {torch.int32: np.int32, torch.int64: np.int64}


def prepare(dataset: Dataset, folder: Path) -> None:
    """Write a prepared folder, whole or not at all; with an index if the data set is large."""
    with atomic_folder(folder) as draft:
        dataset.write_into(draft)
        num_facts = sum(len(facts) for facts in dataset.splits.values())
        if num_facts >= STORED_FROM and not dataset.has_intervals:
            write_index(dataset, draft)


def write_index(dataset: Dataset, folder: Path) -> None:
    """Write the indexes of a data set into its prepared folder."""
    contexts: tuple[Context, ...] = ("train", "all")
    for context in {_name(dataset, context): context for context in contexts}.values():
        _write_graph(dataset, context, folder / INDEX / _name(dataset, context))


def _name(dataset: Dataset, context: Context) -> str:
    """The splits that a context is made of; empty ones do not matter."""
    return "+".join(split for split in CONTEXTS[context] if len(dataset.splits[split])) or "train"


def _write_graph(dataset: Dataset, context: Context, folder: Path) -> None:
    folder.mkdir(parents=True)
    graph = TemporalGraph.of(
        dataset.context(context), len(dataset.entities), len(dataset.relations), _room_in(folder)
    )
    write_array(folder / "offsets.npy", graph.offsets.numpy())
    manifest = {
        "format": FORMAT,
        "num_facts": len(graph) // 2,
        "num_entities": graph.num_entities,
        "num_relations": graph.num_relations,
        "span": graph.span,
    }
    (folder / MANIFEST).write_text(to_json(manifest), encoding="utf-8")


def _room_in(folder: Path) -> build.Allocate:
    def allocate(name: str, dtype: torch.dtype, count: int) -> Tensor:
        path = folder / f"{name}.npy"
        if not count:  # an empty file cannot be mapped
            write_array(path, np.empty(0, NUMPY_TYPES[dtype]))
            return torch.empty(0, dtype=dtype)
        room = np.lib.format.open_memmap(path, "w+", NUMPY_TYPES[dtype], (count,))
        return torch.from_numpy(room)

    return allocate


def find_stored(dataset: Dataset, context: Context) -> Path | None:
    """Where the graph of a context is stored, if it is."""
    if dataset.folder is None or len(dataset.added):
        return None
    folder = dataset.folder / INDEX / _name(dataset, context)
    return folder if (folder / MANIFEST).is_file() else None


def map_graph(folder: Path, dataset: Dataset, context: Context) -> TemporalGraph:
    """The graph of a context, its columns mapped."""
    num_facts = sum(len(dataset.splits[split]) for split in CONTEXTS[context])
    try:
        manifest = dict(read_json(folder / MANIFEST))
        span = int(manifest["span"])
    except (OSError, ValueError, TypeError, KeyError):
        raise damaged(folder / MANIFEST, "not readable") from None
    expected = {
        "format": FORMAT,
        "num_facts": num_facts,
        "num_entities": len(dataset.entities),
        "num_relations": len(dataset.relations),
    }
    if manifest != manifest | expected or span < 1:
        raise damaged(folder / MANIFEST, "its counts are not those of the data set")
    names = "subjects", "relations", "times", "keys"
    arrays = [read_array(folder / f"{name}.npy", (2 * num_facts,)) for name in names]
    # A model takes some of the memory too.
    if sum(array.nbytes for array in arrays) > memory_left() / 2 and sys.platform == "linux":
        for array in arrays:
            # What the system reads ahead of a page would push out pages that are needed again.
            if isinstance(array.base, mmap.mmap):
                array.base.madvise(mmap.MADV_RANDOM)
    subjects, relations, times, keys = map(mapped_tensor, arrays)
    path = folder / "offsets.npy"
    offsets = mapped_tensor(read_array(path, (len(dataset.entities) + 1,)))
    if offsets[0] != 0 or offsets[-1] != 2 * num_facts or (offsets[1:] < offsets[:-1]).any():
        raise damaged(path, "its numbers are not the places of facts")
    counts = len(dataset.entities), len(dataset.relations), span
    return TemporalGraph(*counts, subjects, relations, times, times, keys, offsets, folder=folder)
