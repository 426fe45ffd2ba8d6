"""Batches: the training queries in a seeded order, each with its sample.

Everything is a function of the seed, the epoch and the step (and of the weights, for a model that
says so), whichever process takes the step and however many steps are sampled together.
"""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import torch
from torch import Tensor

from targcn.devices import is_out_of_memory
from targcn.distributed import SINGLE_PROCESS, ProcessGroup
from targcn.errors import InputError
from targcn.evaluation.filters import KnownAnswers
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.queries import Queries, queries_of
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Learner
from targcn.recipes.training_settings import TrainingSettings
from targcn.training.cuda_graph import CUDAGraphed

# Numbers sampled ahead on a GPU, where sampling for many steps costs hardly more than for one.
MOST_SAMPLED_AHEAD = 2_000_000
# More than the steps of any run here, so that runs of neighbouring seeds share no sample.
SEEDS_PER_RUN = 1_000_003


@dataclass(frozen=True, eq=False)
class Batch(Columns):
    """Queries, their answers and what the model sees of them."""

    queries: Queries
    answers: Tensor
    sample: Columns
    # What else train knows as an answer, one row per query, if it must not count against it.
    others: Tensor | None = None
    # How much this process's part of a step counts beside the others'; 1 if all are alike.
    weight: float = 1.0

    def __len__(self) -> int:
        return len(self.answers)


@dataclass(frozen=True, eq=False)
class _Rows(Columns):
    """Which queries to sample, and the seed of each."""

    rows: Tensor
    seeds: Tensor


class Batches:
    """The training queries of a data set, epoch by epoch."""

    def __init__(
        self,
        model: Learner,
        dataset: Dataset,
        settings: TrainingSettings,
        seed: int,
        device: torch.device,
        processes: ProcessGroup = SINGLE_PROCESS,
    ) -> None:
        batch_size = settings.batch_size
        if batch_size % processes.size:
            raise InputError(
                f"batch_size is {batch_size}, which {processes.size} processes cannot share "
                f"equally; a multiple of {processes.size} would do"
            )
        self.model, self.batch_size, self.seed, self.device = model, batch_size, seed, device
        self.processes = processes
        context = TemporalGraph.of_context(dataset, "train", settings.past_only)
        self.context = context.to(device)
        self.known: KnownAnswers | None = None
        sample_width = model.sample_width
        if settings.filtered_loss:
            self.known = KnownAnswers.of(context, "time-aware").to(device)
            sample_width += self.known.most_others
        queries, answers = queries_of(dataset.train, len(dataset.relations))
        self.queries, self.answers = queries.to(device), answers.to(device)
        self.num_steps = -(-len(queries) // batch_size)
        per_step = batch_size // processes.size * max(sample_width, 1)
        self.steps_ahead = 1
        if device.type == "cuda" and model.samples_ahead:
            self.steps_ahead = max(MOST_SAMPLED_AHEAD // per_step, 1)
        self.replay: CUDAGraphed[_Rows, Batch] | None = None
        one_by_one = not model.samples_ahead and model.has_static_shapes
        if device.type == "cuda" and one_by_one and processes.size == 1:
            self.replay = CUDAGraphed(self._sample_now, device)

    def __len__(self) -> int:
        return len(self.answers)

    def of_epoch(self, epoch: int, step: int = 0) -> Iterator[Batch]:
        """This process's part of each batch of an epoch, from a step on."""
        order = self._order(epoch)
        first_seed = (self.seed * SEEDS_PER_RUN + epoch * self.num_steps) % 2**31
        part_size = self.batch_size // self.processes.size
        while step < self.num_steps:
            end = min(step + self.steps_ahead, self.num_steps)
            rows = order[step * self.batch_size : end * self.batch_size]
            steps = torch.arange(len(rows), device=self.device) // self.batch_size + step
            seeds = (first_seed + steps) % 2**31
            rows, seeds = self.processes.shard(rows), self.processes.shard(seeds)
            try:
                ahead = self._sample(_Rows(rows, seeds))
            except (torch.OutOfMemoryError, MemoryError, RuntimeError) as error:
                if not is_out_of_memory(error) or self.steps_ahead == 1:
                    raise
                self.steps_ahead = max(self.steps_ahead // 4, 1)
                continue
            for first in range(0, part_size * (end - step), part_size):
                part = ahead[first : first + part_size]
                yield replace(part, weight=self._weight(step))
                step += 1

    def _sample(self, which: _Rows) -> Batch:
        if self.replay is not None and len(which.rows) == self.batch_size:
            return self.replay(which)
        return self._sample_now(which)

    def _sample_now(self, which: _Rows) -> Batch:
        queries, answers = self.queries[which.rows], self.answers[which.rows]
        sample = self.model.sample(queries, answers, self.context, which.seeds)
        others = None if self.known is None else self.known.others(queries, answers)
        return Batch(queries, answers, sample, others)

    def _weight(self, step: int) -> float:
        """1, except in the last batch of an epoch, which may be too small to share equally."""
        in_step = min(self.batch_size, len(self) - step * self.batch_size)
        num_own = len(range(self.processes.index, in_step, self.processes.size))
        return num_own * self.processes.size / in_step

    def _order(self, epoch: int) -> Tensor:
        generator = torch.Generator(self.device)
        generator.manual_seed((self.seed * SEEDS_PER_RUN + epoch) % 2**63)
        order = torch.randperm(len(self), generator=generator, device=self.device)
        # Every process has to take every step: one without a query in the last batch repeats a
        # query with weight 0.
        in_last = (len(self) - 1) % self.batch_size + 1
        return torch.cat([order, order[:1].expand(max(self.processes.size - in_last, 0))])
