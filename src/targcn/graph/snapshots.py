"""Snapshots: a context time by time, and the snapshots around some moments as one graph.

A node is an entity at a time at which it is active: it has a fact then. No fact joins two times, so
the graphs of several times are one graph in blocks, one block per time.
"""

from dataclasses import dataclass
from functools import cached_property
from typing import Self

import torch
from torch import Tensor

from targcn.graph.columns import Columns
from targcn.graph.hidden import Folds
from targcn.graph.queries import Queries
from targcn.graph.ragged import distinct, expand_ranges, starts_of
from targcn.graph.temporal_graph import TemporalGraph, find_first

# Stands for a snapshot or a node that there is not.
NONE = -1
# The fold of a block that shows all its facts.
ALL_SHOWN = -1


@dataclass(frozen=True, eq=False)
class Moments(Columns):
    """Times from which to look around, each with the fold of facts that it must not see."""

    times: Tensor
    folds: Tensor

    @classmethod
    def of(cls, times: Tensor, folds: Tensor) -> tuple[Self, Tensor]:
        """The distinct moments among these, and the place of each."""
        known_times, of_time = distinct(times)
        most = int(folds.max()) - ALL_SHOWN + 1 if len(folds) else 1
        keys, places = distinct(of_time * most + folds - ALL_SHOWN)
        return cls(known_times[keys // most], keys % most + ALL_SHOWN), places

    def __len__(self) -> int:
        return len(self.times)


@dataclass(frozen=True, eq=False)
class Windows(Columns):
    """The snapshots around some moments as one graph, and where each entity stands in it.

    A neighbouring snapshot is one block, however many moments share it; where a moment must not see
    some facts of its own time, the snapshot without these is a block too.
    """

    moments: Moments
    # Of each node, the entity, and the time and the fold of its block.
    entities: Tensor
    times: Tensor
    folds: Tensor
    # Of each fact, two nodes and the relation between them.
    subjects: Tensor
    relations: Tensor
    objects: Tensor
    # Every pair of a moment and an entity that is active in its window, and its nodes: one column
    # per snapshot, of which that of the moment's own time is in the middle.
    pair_moments: Tensor
    pair_entities: Tensor
    pair_nodes: Tensor

    def __getitem__(self, rows: slice | Tensor) -> Self:
        """All of it, whichever queries are asked for: they share it."""
        return self


class Snapshots:
    """The nodes and the facts of a context, sorted by time."""

    def __init__(self, context: TemporalGraph, also_active: Tensor | None = None) -> None:
        """`also_active` are times and entities, in two rows, that are active without any fact."""
        self.context, self.num_entities = context, context.num_entities
        self.every_node_is_active = also_active is not None
        more = torch.empty(2, 0, dtype=torch.int64) if also_active is None else also_active
        more_times, more_entities = more.to(context.device)
        forward = context.relations < context.num_relations
        times = context.times[forward].long()
        order = times.argsort(stable=True)
        self.times = torch.unique(torch.cat([times, more_times]))
        days = torch.searchsorted(self.times, times[order])
        ends = torch.stack([context.subjects[forward], context.objects[forward]])[:, order]
        # The number of an entity's node at a day, were all entities active every day.
        of_facts = days * self.num_entities + ends
        of_more = torch.searchsorted(self.times, more_times) * self.num_entities + more_entities
        nodes = torch.unique(torch.cat([of_facts.flatten(), of_more]))
        self.entities = nodes % self.num_entities
        self.subjects, self.objects = torch.searchsorted(nodes, of_facts)
        self.relations = context.relations[forward][order].long()
        # Where the facts and the nodes of each day start.
        self.fact_starts, self.node_starts = (
            starts_of(torch.bincount(sorted_days, minlength=len(self.times)))
            for sorted_days in (days, nodes // self.num_entities)
        )

    def days_around(self, times: Tensor, size: int) -> Tensor:
        """The snapshots in the window of each time, NONE where there is none.

        The middle column is the snapshot at that very time; `size` - 1 columns are before it and as
        many after it. In a context of the past all but those before are empty.
        """
        steps = torch.arange(1 - size, size, device=times.device)
        here = torch.searchsorted(self.times, times)[:, None]
        after = torch.searchsorted(self.times, times, right=True)[:, None]
        days = torch.where(steps > 0, after - 1, here) + steps
        held = (steps != 0) | (after > here)
        if self.context.past_only:
            held = steps < 0
        return days.where(held & (days >= 0) & (days < len(self.times)), NONE)

    def around(self, moments: Moments, size: int, folds: Folds | None = None) -> Windows:
        """The windows of these moments; with folds, each is without the facts of its own."""
        days = self.days_around(moments.times, size)
        # A block is a snapshot without the facts of one fold, or with all of them.
        most = 1 if folds is None else folds.number + 1
        keys = days * most
        keys[:, size - 1] += moments.folds - ALL_SHOWN
        of_moment, of_column = (days != NONE).nonzero(as_tuple=True)
        block_keys = keys[of_moment, of_column]
        blocks = torch.unique(block_keys)
        block_days, block_folds = blocks // most, blocks % most + ALL_SHOWN
        starts, ends = self.node_starts[block_days], self.node_starts[block_days + 1]
        block_of_node, places = expand_ranges(starts, ends)
        entities = self.entities[places]
        block_of_fact, facts = self._facts_shown(block_days, block_folds, folds)
        last_nodes = (ends - starts).cumsum(0)
        first_nodes = last_nodes - (ends - starts)
        moved = (first_nodes - starts)[block_of_fact]
        subjects, objects = self.subjects[facts] + moved, self.objects[facts] + moved
        columns = torch.searchsorted(blocks, block_keys)
        rows, nodes = expand_ranges(first_nodes[columns], last_nodes[columns])
        if folds is not None and not self.every_node_is_active:
            active = torch.zeros_like(entities, dtype=torch.bool)
            active[torch.cat([subjects, objects])] = True
            kept = active[nodes]
            rows, nodes = rows[kept], nodes[kept]
        pair_keys, pairs = distinct(of_moment[rows] * self.num_entities + entities[nodes])
        pair_nodes = pair_keys.new_full((len(pair_keys), days.shape[1]), NONE)
        pair_nodes[pairs, of_column[rows]] = nodes
        return Windows(
            moments=moments,
            entities=entities,
            times=self.times[block_days[block_of_node]],
            folds=block_folds[block_of_node],
            subjects=subjects,
            relations=self.relations[facts],
            objects=objects,
            pair_moments=pair_keys // self.num_entities,
            pair_entities=pair_keys % self.num_entities,
            pair_nodes=pair_nodes,
        )

    def _facts_shown(
        self, block_days: Tensor, block_folds: Tensor, folds: Folds | None
    ) -> tuple[Tensor, Tensor]:
        """The facts of each block that are not of its fold, each with its block."""
        starts, ends = self.fact_starts[block_days], self.fact_starts[block_days + 1]
        block_of_fact, facts = expand_ranges(starts, ends)
        if folds is None:
            return block_of_fact, facts
        subjects, objects = (self.entities[side[facts]] for side in (self.subjects, self.objects))
        times = self.times[block_days[block_of_fact]]
        fact_folds = folds.of_facts(subjects, self.relations[facts], objects, times)
        shown = fact_folds != block_folds[block_of_fact]
        return block_of_fact[shown], facts[shown]

    def counts_around(self, queries: Queries, size: int) -> Tensor:
        """How many facts of its window, but those at its time, share something with each query.

        In three columns: facts with the query's entity on the same side, with its relation, and
        with both.
        """
        times = queries.times.contiguous()
        here = torch.searchsorted(self.times, times)
        after = torch.searchsorted(self.times, times, right=True)
        ranges = [(here - size + 1, here)]
        if not self.context.past_only:
            ranges.append((after, after + size - 1))
        asked = self._owners(queries.subjects, queries.relations)
        counts = []
        for keys, owners in zip(self._keys, asked, strict=True):
            ends = [
                [find_first(keys, len(self.times), owners, day) for day in days] for days in ranges
            ]
            counts.append(torch.stack([last - first for first, last in ends]).sum(0))
        return torch.stack(counts, dim=1)

    @cached_property
    def _keys(self) -> list[Tensor]:
        context = self.context
        days = torch.searchsorted(self.times, context.times.long())
        owners = self._owners(context.subjects.long(), context.relations.long())
        return [(owner * len(self.times) + days).sort().values for owner in owners]

    def _owners(self, subjects: Tensor, relations: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        num_relations = self.context.num_relations
        sides = (relations >= num_relations).long()
        return 2 * subjects + sides, relations, 2 * num_relations * subjects + relations
