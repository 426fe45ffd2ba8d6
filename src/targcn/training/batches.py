"""Batches: the training queries in a seeded order, each with its sample.

Everything is a function of the seed, the epoch and the step (and of the weights, for a model that
says so), whichever process takes the step and however many steps are sampled together.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, pairwise

import torch
from torch import Tensor

from targcn.distributed import SINGLE_PROCESS, ProcessGroup
from targcn.errors import InputError
from targcn.evaluation.filters import KnownAnswers
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.queries import AllQueries, Queries, draw_ticks
from targcn.graph.random import Shuffled
from targcn.graph.temporal_graph import TemporalGraph
from targcn.models.base import Learner
from targcn.recipes.training_settings import TrainingSettings
from targcn.training.cuda_graph import CUDAGraphed

# Numbers sampled ahead on a GPU, where sampling for many steps costs hardly more than for one.
MOST_SAMPLED_AHEAD = 2_000_000
# More queries than this are not laid out in the order of an epoch, but found place by place.
MOST_LAID_OUT = 1 << 28
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
    """Which queries to sample, when they are asked, and the seed of each."""

    rows: Tensor
    # None: at the times of their facts.
    times: Tensor | None
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
        self.queries = AllQueries.of(dataset.train, len(dataset.relations), device)
        self.facts, self.ticks = dataset.train, torch.tensor(dataset.timeline.ticks)
        self.by_time: _ByTime | None = None
        self.num_steps = -(-len(self.queries) // batch_size)
        if model.times_per_batch is not None:
            self.by_time = _ByTime(self.queries.times, model.times_per_batch, batch_size)
            self.num_steps = self.by_time.num_steps
        per_step = batch_size // processes.size * max(sample_width, 1)
        self.steps_ahead = 1
        if device.type == "cuda" and model.samples_ahead:
            self.steps_ahead = max(MOST_SAMPLED_AHEAD // per_step, 1)
        self.replay: CUDAGraphed[_Rows, Batch] | None = None
        one_by_one = not model.samples_ahead and model.has_static_shapes
        if device.type == "cuda" and one_by_one and processes.size == 1:
            self.replay = CUDAGraphed(self._sample_now, device)

    @property
    def num_queries(self) -> int:
        return len(self.queries)

    def of_epoch(self, epoch: int, step: int = 0) -> Iterator[Batch]:
        """This process's part of each batch of an epoch, from a step on."""
        order, bounds = self._order(epoch)
        times = self._times(epoch)
        while step < self.num_steps:
            end = min(step + self.steps_ahead, self.num_steps)
            rows, own_sizes = self._share(order, bounds[step : end + 1])
            ends = [0, *accumulate(own_sizes)]
            seeds = self._seeds(epoch, step, own_sizes)
            ahead = self._sample(_Rows(rows, None if times is None else times[rows], seeds))
            for now, (first, last) in enumerate(pairwise(ends), step):
                in_step = bounds[now + 1] - bounds[now]
                yield replace(ahead[first:last], weight=self._weight(in_step))
            step = end

    def _seeds(self, epoch: int, step: int, own_sizes: list[int]) -> Tensor:
        """The seed of every query of some steps, which is that of its step."""
        first = (self.seed * SEEDS_PER_RUN + epoch * self.num_steps) % 2**31
        steps = torch.arange(step, step + len(own_sizes), device=self.device)
        repeats = torch.tensor(own_sizes, dtype=torch.int64, device=self.device)
        in_all = sum(own_sizes)
        return (first + steps.repeat_interleave(repeats, output_size=in_all)) % 2**31

    def _sample(self, which: _Rows) -> Batch:
        if self.replay is not None and len(which.rows) == self.batch_size:
            return self.replay(which)
        return self._sample_now(which)

    def _sample_now(self, which: _Rows) -> Batch:
        queries, answers = self.queries.take(which.rows)
        if which.times is not None:
            queries = replace(queries, times=which.times)
        sample = self.model.sample(queries, answers, self.context, which.seeds)
        others = None if self.known is None else self.known.others(queries, answers)
        return Batch(queries, answers, sample, others)

    def _times(self, epoch: int) -> Tensor | None:
        """When each query is asked, if of intervals: at a tick that both queries of one share."""
        if not self.facts.has_intervals:
            return None
        ticks = draw_ticks(self.facts, self.ticks, self.seed, epoch)
        return torch.cat([ticks, ticks]).to(self.device)

    def _order(self, epoch: int) -> tuple["Tensor | Shuffled", list[int]]:
        """The queries in the order of an epoch, and the places where each step begins and ends."""
        seed, count = (self.seed * SEEDS_PER_RUN + epoch) % 2**63, self.num_queries
        bounds = [*range(0, count, self.batch_size), count]
        if count > MOST_LAID_OUT:
            return Shuffled(count, seed), bounds
        generator = torch.Generator(self.device)
        generator.manual_seed(seed)
        if self.by_time is None:
            return torch.randperm(count, generator=generator, device=self.device), bounds
        # Both queries of a fact go together, so that a batch hides as few facts as it can.
        facts = torch.randperm(count // 2, generator=generator, device=self.device)
        both = torch.stack([facts, facts + count // 2], dim=1)
        order, sizes = self.by_time.order(both.flatten(), generator)
        return order, [0, *accumulate(sizes)]

    def _share(self, order: "Tensor | Shuffled", bounds: Sequence[int]) -> tuple[Tensor, list[int]]:
        """This process's queries of the steps between bounds, and how many each step takes.

        Every process has to take every step: one without a query in a small batch repeats its last
        one, with weight 0.
        """
        index, size = self.processes.index, self.processes.size
        of_steps = [
            torch.arange(min(first + index, last - 1), last, size)
            for first, last in pairwise(bounds)
        ]
        places = torch.cat(of_steps).to(self.device)
        return order[places], [len(some) for some in of_steps]

    def _weight(self, in_step: int) -> float:
        """1, except in a batch that the processes cannot share equally."""
        num_own = len(range(self.processes.index, in_step, self.processes.size))
        return num_own * self.processes.size / in_step


class _ByTime:
    """Batches of few times: the queries of each time in pieces, some of which make a batch.

    How the pieces are cut depends on the data alone, so that every epoch has as many steps.
    """

    def __init__(self, times: Tensor, per_batch: int, batch_size: int) -> None:
        self.per_batch = min(per_batch, batch_size)
        _, self.times, counts = torch.unique(times, return_inverse=True, return_counts=True)
        most = batch_size // self.per_batch
        pieces = (counts + most - 1) // most
        sorted_times = self.times.sort().values
        firsts, first_pieces = counts.cumsum(0) - counts, pieces.cumsum(0) - pieces
        places = torch.arange(len(times), device=times.device) - firsts[sorted_times]
        # The piece of each query, once they are sorted by time: all pieces of a time are alike.
        within = places * pieces[sorted_times] // counts[sorted_times]
        self.pieces = first_pieces[sorted_times] + within
        self.num_pieces = int(pieces.sum())
        self.num_steps = -(-self.num_pieces // self.per_batch)

    def order(self, shuffled: Tensor, generator: torch.Generator) -> tuple[Tensor, list[int]]:
        """The same queries batch by batch, and how many are in each."""
        by_time = shuffled[self.times[shuffled].argsort(stable=True)]
        device = shuffled.device
        ranks = torch.randperm(self.num_pieces, generator=generator, device=device)[self.pieces]
        sizes = torch.bincount(ranks // self.per_batch, minlength=self.num_steps)
        return by_time[ranks.argsort(stable=True)], sizes.tolist()
