"""What the steps of an epoch are taken on: queries in a seeded order, with all that is drawn.

Everything is a function of the seed, the epoch and the step, whichever process takes it and
however many steps are drawn together. Next room: training.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from targcn.devices import is_out_of_memory
from targcn.distributed import ALONE, Team
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.facts.graph import TemporalGraph
from targcn.models.contract import Queries, queries_of

# Places drawn ahead on a GPU, where drawing for many steps costs hardly more than for one.
MOST_PLACES_AHEAD = 2_000_000
# More than the steps of the runs here, so that runs of neighbouring seeds do not meet.
SEEDS_PER_RUN = 1_000_003


@dataclass(frozen=True, eq=False)
class Batch:
    """Queries, their answers and what was drawn for them, all of one length."""

    queries: Queries
    answers: Tensor
    drawn: tuple[Tensor, ...]
    # How much this share of a step counts beside the other processes' shares; 1 where all alike.
    weight: float = 1.0

    def __len__(self) -> int:
        return len(self.answers)

    def __getitem__(self, rows: slice) -> "Batch":
        drawn = tuple(column[rows] for column in self.drawn)
        return Batch(self.queries[rows], self.answers[rows], drawn, self.weight)

    @property
    def tensors(self) -> tuple[Tensor, ...]:
        queries = self.queries
        return (queries.subjects, queries.relations, queries.times, self.answers, *self.drawn)

    @classmethod
    def of_tensors(cls, tensors: tuple[Tensor, ...]) -> "Batch":
        return cls(Queries(*tensors[:3]), tensors[3], tensors[4:])


class Batches:
    """The training queries of a data set, epoch by epoch."""

    def __init__(
        self,
        model: Any,
        dataset: Dataset,
        batch_size: int,
        seed: int,
        device: torch.device,
        team: Team = ALONE,
    ) -> None:
        if batch_size % team.size:
            raise InputError(
                f"batch_size is {batch_size}, which {team.size} processes cannot share equally; "
                f"a multiple of {team.size} would do"
            )
        self.model, self.batch_size, self.seed, self.device = model, batch_size, seed, device
        self.team = team
        self.context = TemporalGraph.of_context(dataset, "train").to(device)
        queries, answers = queries_of(dataset.train, len(dataset.relations))
        self.queries, self.answers = queries.to(device), answers.to(device)
        self.num_steps = -(-len(queries) // batch_size)
        places = batch_size // team.size * max(model.places_per_query, 1)
        self.steps_ahead = max(MOST_PLACES_AHEAD // places, 1) if device.type == "cuda" else 1

    def __len__(self) -> int:
        return len(self.answers)

    def of_epoch(self, epoch: int, step: int = 0) -> Iterator[Batch]:
        """This process's share of each batch of an epoch, from a step on."""
        order = self._order(epoch)
        first_seed = (self.seed * SEEDS_PER_RUN + epoch * self.num_steps) % 2**31
        share_size = self.batch_size // self.team.size
        while step < self.num_steps:
            end = min(step + self.steps_ahead, self.num_steps)
            rows = order[step * self.batch_size : end * self.batch_size]
            steps = torch.arange(len(rows), device=self.device) // self.batch_size + step
            seeds = (first_seed + steps) % 2**31
            rows, seeds = self.team.share(rows), self.team.share(seeds)
            try:
                ahead = self._draw(rows, seeds)
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error) or self.steps_ahead == 1:
                    raise
                self.steps_ahead = max(self.steps_ahead // 4, 1)
                continue
            for first in range(0, share_size * (end - step), share_size):
                share = ahead[first : first + share_size]
                yield replace(share, weight=self._weight(step))
                step += 1

    def _draw(self, rows: Tensor, seeds: Tensor) -> Batch:
        queries, answers = self.queries[rows], self.answers[rows]
        return Batch(queries, answers, self.model.draw(queries, answers, self.context, seeds))

    def _weight(self, step: int) -> float:
        """1, but for the last batch of an epoch, which may be too small to be shared equally."""
        in_step = min(self.batch_size, len(self) - step * self.batch_size)
        return len(range(self.team.rank, in_step, self.team.size)) * self.team.size / in_step

    def _order(self, epoch: int) -> Tensor:
        generator = torch.Generator(self.device)
        generator.manual_seed((self.seed * SEEDS_PER_RUN + epoch) % 2**63)
        order = torch.randperm(len(self), generator=generator, device=self.device)
        # Everyone has to take every step: one who has no query in the last repeats one for nothing.
        in_last = (len(self) - 1) % self.batch_size + 1
        return torch.cat([order, order[:1].expand(max(self.team.size - in_last, 0))])
