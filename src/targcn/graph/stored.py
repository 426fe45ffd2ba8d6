"""The index of a large graph in files that are mapped: opening it reads next to nothing.

`targcn data prepare` writes it into the prepared folder, below index/, for a graph of the train
split and one of all facts, each a folder with

    graph.json       format, counts, span
    subjects.npy relations.npy times.npy keys.npy offsets.npy    the columns of TemporalGraph
    by_relation/     those of RelationMajor
    partners/        those of Partners

Nothing else ever writes there. Facts that hold over intervals are not stored.
"""

import mmap
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, Final

import numpy as np
import torch
from torch import Tensor

from targcn.facts.dataset import CONTEXTS, Context, Dataset
from targcn.facts.sources.prepared_folder import INDEX, damaged, read_array, write_array
from targcn.files import atomic_folder, read_json, to_json
from targcn.graph import build
from targcn.graph.partners import COLUMNS, Partners, count_partners
from targcn.graph.queries import mapped_tensor
from targcn.graph.ragged import starts_of
from targcn.graph.temporal_graph import RelationMajor, TemporalGraph
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
    most = _write_partners(graph, folder / "partners")
    _write_by_relation(graph, folder / "by_relation")
    manifest = {
        "format": FORMAT,
        "num_facts": len(graph) // 2,
        "num_entities": graph.num_entities,
        "num_relations": graph.num_relations,
        "span": graph.span,
        "most_partners": most,
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


def _write_by_relation(graph: TemporalGraph, folder: Path) -> None:
    """RelationMajor.of, piece by piece."""
    folder.mkdir()
    allocate, num_rows = _room_in(folder), len(graph)
    offsets = build.count_owners([graph.relations.numpy()], 2 * graph.num_relations)
    write_array(folder / "offsets.npy", offsets.numpy())
    keys = allocate("keys", torch.int64, num_rows)
    names = ("times", "subjects", "objects")
    columns = [allocate(name, graph.subjects.dtype, num_rows) for name in names]

    def parts() -> Iterator[tuple[Any, list[Any]]]:
        for first in range(0, num_rows, build.ROWS_SORTED_AT_ONCE):
            place = slice(first, first + build.ROWS_SORTED_AT_ONCE)
            owners, times = graph.relations[place].numpy(), graph.times[place].numpy()
            objects = graph.keys[place].numpy() // graph.span
            yield owners, [owners, times, graph.subjects[place].numpy(), objects]

    build.bring_to_pieces(parts(), offsets, [keys, *columns])
    for first, last in build.pieces_of(offsets):
        place = slice(int(offsets[first]), int(offsets[last]))
        # Stable: within a time, facts keep the order of the graph.
        keys[place], order = torch.sort(keys[place] * graph.span + columns[0][place], stable=True)
        for column in columns:
            column[place] = column[place][order]


def _write_partners(graph: TemporalGraph, folder: Path) -> int:
    """Partners.of, piece by piece; how many partners an entity has at most."""
    folder.mkdir()
    per_entity = [torch.zeros(0, dtype=torch.int64)]
    files = {name: _Growing(folder / f"{name}.npy") for name in COLUMNS}
    for part in count_partners(graph):
        per_entity.append(part.per_entity)
        for name, file in files.items():
            file.append(getattr(part, name))
    for file in files.values():
        file.close()
    counts = torch.cat(per_entity)
    write_array(folder / "offsets.npy", starts_of(counts).numpy())
    return int(counts.max()) if len(counts) else 0


class _Growing:
    """A column of 32-bit integers whose length is known when it is closed."""

    def __init__(self, path: Path) -> None:
        self.stream, self.count = path.open("wb"), 0
        self._write_header()
        self.start = self.stream.tell()

    def append(self, values: Tensor) -> None:
        values.to(torch.int32).numpy().tofile(self.stream)
        self.count += len(values)

    def close(self) -> None:
        self.stream.seek(0)
        self._write_header()
        # numpy leaves room for a longer length.
        assert self.stream.tell() == self.start
        self.stream.close()

    def _write_header(self) -> None:
        header = {"descr": "<i4", "fortran_order": False, "shape": (self.count,)}
        np.lib.format.write_array_header_1_0(self.stream, header)


def find_stored(dataset: Dataset, context: Context) -> Path | None:
    """Where the graph of a context is stored, if it is."""
    if dataset.folder is None or len(dataset.added):
        return None
    folder = dataset.folder / INDEX / _name(dataset, context)
    return folder if (folder / MANIFEST).is_file() else None


def map_graph(folder: Path, dataset: Dataset, context: Context) -> TemporalGraph:
    """The graph of a context, its columns mapped."""
    num_facts = sum(len(dataset.splits[split]) for split in CONTEXTS[context])
    manifest = _read_manifest(folder)
    expected = {
        "format": FORMAT,
        "num_facts": num_facts,
        "num_entities": len(dataset.entities),
        "num_relations": len(dataset.relations),
    }
    if manifest != manifest | expected:
        raise damaged(folder / MANIFEST, "its counts are not those of the data set")
    names = "subjects", "relations", "times", "keys"
    subjects, relations, times, keys = _map(folder, "", names, 2 * num_facts)
    return TemporalGraph(
        len(dataset.entities),
        len(dataset.relations),
        int(manifest["span"]),
        subjects,
        relations,
        times,
        times,
        keys,
        _map_offsets(folder, len(dataset.entities), 2 * num_facts),
        folder=folder,
    )


def map_by_relation(graph: TemporalGraph) -> RelationMajor:
    assert graph.folder is not None
    names = "subjects", "objects", "times", "keys"
    subjects, objects, times, keys = _map(graph.folder, "by_relation", names, len(graph))
    offsets = _map_offsets(graph.folder / "by_relation", 2 * graph.num_relations, len(graph))
    return RelationMajor(subjects, objects, times, times, keys, offsets)


def map_partners(graph: TemporalGraph) -> Partners:
    assert graph.folder is not None
    offsets = _map_offsets(graph.folder / "partners", graph.num_entities)
    columns = _map(graph.folder, "partners", COLUMNS, int(offsets[-1]))
    most = _read_manifest(graph.folder)["most_partners"]
    return Partners(graph.past_only, graph.span, int(most), offsets, *columns)


def _map(graph_folder: Path, part: str, names: Sequence[str], count: int) -> list[Tensor]:
    """Columns of integers from a part of a graph's folder, mapped read-only."""
    arrays = [read_array(graph_folder / part / f"{name}.npy", (count,)) for name in names]
    size = sum(file.lstat().st_size for file in graph_folder.rglob("*.npy"))
    # A model takes some of the memory too.
    if size > memory_left() / 2 and sys.platform == "linux":
        for array in arrays:
            # What the system reads ahead of a page would push out pages that are needed again.
            if isinstance(array.base, mmap.mmap):
                array.base.madvise(mmap.MADV_RANDOM)
    return [mapped_tensor(array) for array in arrays]


def _map_offsets(folder: Path, num_owners: int, num_rows: int | None = None) -> Tensor:
    path = folder / "offsets.npy"
    offsets = mapped_tensor(read_array(path, (num_owners + 1,)))
    last = int(offsets[-1]) if num_rows is None else num_rows
    if offsets[0] != 0 or offsets[-1] != last or (offsets[1:] < offsets[:-1]).any():
        raise damaged(path, "its numbers are not the places of facts")
    return offsets


def _read_manifest(folder: Path) -> dict[str, Any]:
    try:
        manifest = read_json(folder / MANIFEST)
        numbers = {name: int(manifest[name]) for name in ("span", "most_partners")}
    except (OSError, ValueError, TypeError, KeyError):
        raise damaged(folder / MANIFEST, "not readable") from None
    if min(numbers.values()) < 0:
        raise damaged(folder / MANIFEST, "a count is below 0")
    return dict(manifest)
