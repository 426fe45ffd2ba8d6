"""TeMP: entities are described by the snapshots around the query's time.

"TeMP: Temporal Message Passing for Temporal Knowledge Graph Completion" (Wu et al., 2020). A graph
network encodes each snapshot; recurrent networks (temp_gru.py) or attention (temp_sa.py) join those
of a window; ComplEx scores. Who is active, and every count, comes from the context alone; where the
released code does otherwise, a setting says so.

In training, the facts of a query's time are divided into folds, and a query sees those of the other
folds alone: never its own. The released code encodes a random half and asks about all.
"""

from abc import abstractmethod
from dataclasses import dataclass, replace
from typing import Self

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from targcn.config import require_least
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.hidden import Folds
from targcn.graph.queries import Queries
from targcn.graph.ragged import look_up
from targcn.graph.random import combine, uniform, whole_numbers
from targcn.graph.snapshots import ALL_SHOWN, NONE, Moments, Snapshots, Windows
from targcn.graph.temporal_graph import TemporalGraph, reciprocal_of
from targcn.models.base import Learner, ModelSettings, PerContext
from targcn.models.factorization import TimeTable, learned_ticks
from targcn.models.layers.arithmetic import complex_product
from targcn.models.layers.losses import cross_entropy, cross_entropy_among
from targcn.models.layers.sums import own_products

# Numbers in the tables of all entities at the moments that are scored at once, on a CPU (False) and
# on a GPU; bounds memory, not results.
MOST_NUMBERS_AT_ONCE = {False: 1 << 25, True: 1 << 27}
# The gain of the initial weights that suits a ReLU.
GAIN = 2**0.5
# How fast a state, a key or an imputed vector fades per snapshot, before anything is learned.
FADING = 0.1


@dataclass(frozen=True)
class TeMPSettings(ModelSettings):
    dim: int = 128
    """Numbers per vector, two to each complex number."""

    window: int = 8
    """Snapshots on each side of the query's time, the one at that time included."""

    times_per_batch: int = 8
    """Times that the queries of a batch have, at most; their windows are encoded together."""

    folds: int = 2
    """Parts of the facts of a time in training; a query sees all but its own part."""

    negatives: int = 500
    """Entities sampled for each training query; 0: all of them."""

    dropout: float = 0.1
    """Share of each node's own message dropped in training."""

    imputation: bool = True
    """Describe an entity that is not active by its nearest active snapshots too."""

    gating: bool = True
    """Mix the scores of window and snapshot by how often entity and relation are in the window."""

    learned_decay: bool = True
    """Learn how snapshots fade with distance; else 0.1 per snapshot (GRU) or nothing (SA)."""

    released_messages: bool = False
    """Divide messages by the number of facts twice, as the released code does."""

    released_activity: bool = False
    """Take who is active at a time from all splits, test too: a leak of the released code."""

    released_loss: bool = False
    """Hide one fold of facts and ask about all, also those shown: as the released code does."""

    released_gating: bool = False
    """Gate a query in evaluation by the counts of its answer: a leak of the released code."""

    def __post_init__(self) -> None:
        require_least(self, dim=2, window=1, times_per_batch=1, folds=2, negatives=0)
        if self.dim % 2:
            raise InputError(f"dim is {self.dim}, but complex numbers need an even one")
        if not 0 <= self.dropout < 1:
            raise InputError(f"dropout is {self.dropout}; 0 up to below 1 was expected")


@dataclass(frozen=True, eq=False)
class TeMPSample(Columns):
    """What queries see: windows that they share, and the rest row by row."""

    windows: Windows
    # The moment of each query.
    places: Tensor
    # If scores are gated: how often each query's entity and relation are in its window, and whether
    # it asks for the subject of a fact.
    counts: Tensor | None = None
    turned: Tensor | None = None
    negatives: Tensor | None = None
    # What dropout keeps of the nodes' own messages, then of those of inactive entities; shared.
    kept: Tensor | None = None

    def __getitem__(self, rows: slice | Tensor) -> Self:
        return replace(super().__getitem__(rows), kept=self.kept)


@dataclass(frozen=True, eq=False)
class Encoded:
    """The vectors x² of each node, of each entity where it is not active, and of each pair now.

    And the vectors τ of the moments.
    """

    nodes: Tensor
    inactive: Tensor
    now: Tensor
    times: Tensor


@dataclass(frozen=True, eq=False)
class Described:
    """All entities at all moments: the pairs of the windows, and what all others have."""

    pairs: Tensor
    # Of each entity, to which each moment adds its own.
    others: Tensor
    moments: Tensor

    def table(self, windows: Windows) -> Tensor:
        """One row per moment and entity."""
        table = (self.others + self.moments[:, None]).flatten(0, 1)
        rows = windows.pair_moments * len(self.others) + windows.pair_entities
        return table.index_copy(0, rows, self.pairs)


class Decay(nn.Module):
    """exp(−max(0, a Δ + b)) of a distance Δ; a and b are 0.1 and 0, and may be learned."""

    line: Tensor

    def __init__(self, learned: bool) -> None:
        super().__init__()
        line = torch.tensor([FADING, 0.0])
        if learned:
            self.line = nn.Parameter(line)
        else:
            self.register_buffer("line", line, persistent=False)

    def rate(self, distances: Tensor) -> Tensor:
        slope, start = self.line
        return torch.relu(slope * distances + start)

    def forward(self, distances: Tensor) -> Tensor:
        return torch.exp(-self.rate(distances))


class TeMP(Learner):
    """Encodes snapshots and scores; how a window is joined is up to temp_gru.py and temp_sa.py."""

    Settings = TeMPSettings
    reads_context = True
    reads_intervals = False
    can_filter_loss = True
    # The queries of a batch share their windows, and several batches would share many.
    has_static_shapes = samples_ahead = False
    settings: TeMPSettings

    def __init__(self, settings: TeMPSettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        dim, self.times_per_batch = settings.dim, settings.times_per_batch
        self.num_entities, self.num_relations = len(dataset.entities), len(dataset.relations)
        self.entities = xavier(self.num_entities, dim)
        self.relations = xavier(self.num_relations, dim)
        ticks = learned_ticks(dataset)
        self.times = TimeTable(ticks, xavier(len(ticks), dim))
        # Of each of the two layers, a vector per relation and a matrix for the own message.
        self.edge_weights = nn.ParameterList(xavier(self.num_relations, dim) for _ in range(2))
        self.own_weights = nn.ParameterList(xavier(dim, dim) for _ in range(2))
        imputes = settings.imputation and settings.window > 1
        self.imputed = Decay(learned=True) if imputes else None
        # Gates of queries for objects, and of those for subjects.
        self.gates = None
        if settings.gating:
            self.gates = nn.ModuleList(
                nn.Sequential(nn.Linear(3, 3), nn.ReLU(), nn.Linear(3, 1)) for _ in range(2)
            )
        also_active = None
        if settings.released_activity:
            facts = dataset.facts
            ends = np.concatenate([facts.subjects, facts.objects])
            also_active = torch.from_numpy(np.stack([np.tile(facts.times, 2), ends])).long()
        self._snapshots = PerContext(lambda context: Snapshots(context, also_active))
        self.all_facts: TemporalGraph | None = None
        if settings.released_gating:
            sizes = self.num_entities, self.num_relations
            # Of numbers also where a model is laid out without any, to see what it would be.
            with torch.device("cpu"):
                self.all_facts = TemporalGraph.of(dataset.facts, *sizes)

    @property
    def leaks(self) -> tuple[str, ...]:
        known = []
        if self.settings.released_activity:
            known.append("who takes part in the facts of every split (released_activity)")
        if self.settings.released_gating:
            known.append("how often the answer is in a query's window (released_gating)")
        return tuple(f"a leak: the model was told {what}" for what in known)

    def embeddings(self) -> dict[str, Tensor]:
        """The vectors of the graph encoder and of the scorer, before any snapshot is encoded."""
        return {"entities": self.entities, "relations": self.relations, "times": self.times.rows}

    @abstractmethod
    def join(self, encoded: Encoded, windows: Windows) -> Described:
        """The entities as their windows describe them."""

    def bias(self, layer: int) -> Tensor | float:
        """What a layer of the encoder adds to every vector."""
        return 0.0

    def forward(self, queries: Queries, context: TemporalGraph) -> Tensor:
        snapshots = self._snapshots.of(context)
        scores = self.entities.new_empty(len(queries), self.num_entities)
        times, of_query = torch.unique(queries.times, return_inverse=True)
        per_moment = self.num_entities * self.settings.dim * (1 if self.gates is None else 2)
        at_once = max(MOST_NUMBERS_AT_ONCE[times.is_cuda] // per_moment, 1)
        for first in range(0, len(times), at_once):
            rows = ((of_query >= first) & (of_query < first + at_once)).nonzero().flatten()
            some, now = queries[rows], times[first : first + at_once]
            moments = Moments(now, torch.full_like(now, ALL_SHOWN))
            windows = snapshots.around(moments, self.settings.window)
            places, counted = of_query[rows] - first, self._count(some, snapshots)
            scores[rows] = self.score(some, TeMPSample(windows, places, *counted))
        return scores

    def sample(
        self, queries: Queries, answers: Tensor, context: TemporalGraph, seeds: Tensor
    ) -> TeMPSample:
        """The windows of the queries' times, in each of which one fold of facts is hidden.

        All queries are of one step and have its seed, so that processes draw the same folds.
        """
        settings, seed = self.settings, seeds[0]
        snapshots = self._snapshots.of(context)
        folds = Folds(settings.folds, seed)
        hidden = folds.of_queries(queries, answers, self.num_relations)
        if settings.released_loss:
            hidden = torch.zeros_like(hidden)
        moments, places = Moments.of(queries.times, hidden)
        windows = snapshots.around(moments, settings.window, folds)
        negatives = None
        if settings.negatives:
            rows = combine(seeds, queries.subjects, queries.relations, queries.times, answers)
            columns = torch.arange(settings.negatives, device=rows.device)
            negatives = whole_numbers(rows[:, None], columns, self.num_entities)
        counted = self._count(queries, snapshots)
        return TeMPSample(windows, places, *counted, negatives, self._kept(windows, seed))

    def _count(self, queries: Queries, snapshots: Snapshots) -> tuple[Tensor | None, Tensor | None]:
        """What gates read of each query, if there are any."""
        if self.gates is None:
            return None, None
        counts = snapshots.counts_around(queries, self.settings.window).to(self.entities.dtype)
        turned = queries.relations >= self.num_relations
        if self.training or self.all_facts is None:
            return counts, turned
        # As if the query were asked from its answer; several answers count as much as one.
        self.all_facts = self.all_facts.to(counts.device)
        rows, answers = _answers(queries, self.all_facts)
        back = reciprocal_of(queries.relations[rows], self.num_relations)
        swapped = Queries(answers, back, queries.times[rows])
        of_answers = snapshots.counts_around(swapped, self.settings.window).to(counts.dtype)
        known = torch.bincount(rows, minlength=len(queries))[:, None]
        mean = torch.zeros_like(counts).index_add(0, rows, of_answers) / known.clamp(min=1)
        return torch.where(known > 0, mean, counts), turned ^ (known[:, 0] > 0)

    def _kept(self, windows: Windows, seed: Tensor) -> Tensor | None:
        """Which numbers dropout keeps: one row per node, then one per entity; both layers."""
        if self.settings.dropout == 0:
            return None
        nodes = combine(seed, windows.entities, windows.times, windows.folds)
        entities = torch.arange(self.num_entities, device=nodes.device)
        rows = torch.cat([nodes, combine(seed, entities)])[:, None]
        columns = torch.arange(2 * self.settings.dim, device=nodes.device)
        return uniform(rows, columns) >= self.settings.dropout

    def loss(
        self, queries: Queries, answers: Tensor, sample: TeMPSample, others: Tensor | None = None
    ) -> Tensor:
        """Cross-entropy of the answers against the sampled entities, or against all."""
        scores = self.score(queries, sample)
        if sample.negatives is None:
            return cross_entropy(scores, answers, others)
        return cross_entropy_among(scores, answers, sample.negatives, others)

    def score(self, queries: Queries, sample: TeMPSample) -> Tensor:
        """The score of every entity, given what the queries see."""
        windows = sample.windows
        encoded = self.encode(windows, sample.kept)
        joined = self.join(encoded, windows)
        asked = self._asked(queries, sample.places, table := joined.table(windows))
        if self.gates is not None:
            now = encoded.now + encoded.times.index_select(0, windows.pair_moments)
            local = Described(now, encoded.inactive, encoded.times).table(windows)
            share = self._share(sample)
            of_local = self._asked(queries, sample.places, local)
            asked = torch.cat([share * asked, (1 - share) * of_local], dim=1)
            table = torch.cat([table, local], dim=1)
        return own_products(asked, sample.places, table.view(-1, self.num_entities, asked.shape[1]))

    def _asked(self, queries: Queries, places: Tensor, table: Tensor) -> Tensor:
        """The vectors whose products with the candidates are ComplEx's scores of the queries."""
        subjects = table.index_select(0, places * self.num_entities + queries.subjects)
        relations = self.relations.index_select(0, queries.relations % self.num_relations)
        # Asked for the subject, a fact is read from its object by the relation's conjugate.
        turned = (queries.relations >= self.num_relations)[:, None]
        real, imaginary = relations.chunk(2, dim=1)
        relations = torch.cat([real, torch.where(turned, -imaginary, imaginary)], dim=1)
        return complex_product(subjects, relations)

    def _share(self, sample: TeMPSample) -> Tensor:
        """The share of the window's score in that of each query."""
        assert self.gates is not None
        assert sample.counts is not None
        assert sample.turned is not None
        for_object, for_subject = (gate(sample.counts.log1p()) for gate in self.gates)
        return torch.where(sample.turned[:, None], for_subject, for_object).sigmoid()

    def encode(self, windows: Windows, kept: Tensor | None) -> Encoded:
        """Two layers of messages within each snapshot, and the vectors of the moments."""
        nodes = self.entities.index_select(0, windows.entities)
        inactive: Tensor = self.entities
        # What each fact counts at its object: 1 by how many facts come in to it.
        degrees = torch.bincount(windows.objects, minlength=len(windows.entities))
        weights = 1 / degrees[windows.objects].to(nodes.dtype)[:, None]
        if self.settings.released_messages:
            weights = weights.square()
        keeps = (None, None) if kept is None else kept.chunk(2, dim=1)
        for layer, keep in enumerate(keeps):
            own = torch.cat([nodes, inactive]) @ self.own_weights[layer].T
            if keep is not None:
                own = own * keep / (1 - self.settings.dropout)
            of_nodes, of_inactive = (own + self.bias(layer)).split([len(nodes), len(inactive)])
            messages = self.edge_weights[layer].index_select(0, windows.relations)
            messages = messages * nodes.index_select(0, windows.subjects) * weights
            nodes = of_nodes.index_add(0, windows.objects, messages)
            inactive = inactive + of_inactive
        nodes, inactive = nodes.relu(), inactive.relu()
        now = self._impute(nodes, inactive, windows)
        return Encoded(nodes, inactive, now, self.times(windows.moments.times))

    def _impute(self, nodes: Tensor, inactive: Tensor, windows: Windows) -> Tensor:
        """The vector of each pair at its moment: its node's or, if there is none, made up.

        Half of it may come from the nearest snapshot on either side, the less the further away.
        """
        size = self.settings.window
        own = inactive.index_select(0, windows.pair_entities)
        if self.imputed is not None:
            before = windows.pair_nodes[:, : size - 1].flip(1)
            after = windows.pair_nodes[:, size:]
            made, left = torch.zeros_like(own), own.new_ones(len(own), 1)
            for side in (before, after):
                distances = ((side != NONE).cumsum(1) == 0).sum(1, keepdim=True) + 1
                near = side.gather(1, (distances - 1).clamp(max=size - 2))
                share = self.imputed(distances) / 2 * (near != NONE)
                made = made + share * _rows(nodes, near.flatten())
                left = left - share
            own = made + left * own
        now = windows.pair_nodes[:, size - 1]
        return torch.where((now != NONE)[:, None], _rows(nodes, now), own)


def _answers(queries: Queries, facts: TemporalGraph) -> tuple[Tensor, Tensor]:
    """All known answers of the queries, each with the row of its query."""
    held = (queries.times >= 0) & (queries.times < facts.span)
    keys = torch.where(held, queries.subjects * facts.span + queries.times, -1)
    rows, places = look_up(facts.keys, keys)
    back = reciprocal_of(queries.relations, facts.num_relations)
    same = facts.relations[places] == back[rows]
    return rows[same], facts.subjects[places[same]].long()


def _rows(table: Tensor, index: Tensor) -> Tensor:
    """The rows of a table, and zeros where the index is NONE."""
    padded = functional.pad(table, (0, 0, 1, 0))
    return padded.index_select(0, index + 1)


def xavier(rows: int, columns: int) -> nn.Parameter:
    """The initial weights of a matrix, or of a table of vectors."""
    reach = GAIN * (6 / (rows + columns)) ** 0.5
    return nn.Parameter(torch.empty(rows, columns).uniform_(-reach, reach))
