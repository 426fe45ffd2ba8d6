"""T-GAP: attention flows from the subject along the facts of the context, step by step.

"Learning to Walk across Time for Interpretable Temporal Knowledge Graph Completion" (Jung et al.,
2021). Nodes are entities; edges are the facts, their reciprocals, and a loop at every node.

1. One attention layer over the whole context (layers/edge_attention.py) gives each node a vector h.
   It depends on the query's time alone and is shared by all queries of that time.
2. A mass of 1 starts at the subject. In every step each node that holds much of it sends its mass
   along its edges, by a softmax of what g and h of both ends, relation and distance in time say
   (`TransitionScores`).
3. The edges that carried most join the query's subgraph, where another attention layer makes the
   vectors g of the next step; outside it g is 0.

The score of an entity is the logarithm of the mass that it holds in the end. Several heads have a
mass of their own each; what counts is their mean.
"""

from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor, nn

from targcn.config import require_least
from targcn.errors import InputError
from targcn.facts.dataset import Dataset
from targcn.graph.columns import Columns
from targcn.graph.hidden import HiddenFacts, fact_codes, shown_facts
from targcn.graph.nearest import nearest_positions
from targcn.graph.queries import Queries
from targcn.graph.temporal_graph import TemporalGraph, reciprocal_of
from targcn.models.base import Learner, ModelSettings, PerContext, with_mean_rows
from targcn.models.layers.edge_attention import (
    Distances,
    EdgeAttention,
    Edges,
    Subgraph,
    Terms,
    TransitionScores,
    xavier,
)
from targcn.models.layers.losses import cross_entropy
from targcn.models.tgap_reasons import find_reasons

# Added to a mass before its logarithm is taken: an entity that nothing reached has none.
LEAST_MASS = 1e-12
# Transitions computed at once when nothing is learned; bounds memory, not results.
MOST_TRANSITIONS_AT_ONCE = {"cpu": 1 << 23, "cuda": 1 << 25}


@dataclass(frozen=True)
class TGAPSettings(ModelSettings):
    """The sizes of the vectors, and how much of the context the flow of a query sees."""

    dim: int = 100
    """Numbers per vector."""

    heads: int = 5
    """Masses that flow beside each other."""

    steps: int = 3
    """Steps of the flow."""

    subject_edges: int = 256
    """Edges of the subject that mass flows along in the first step, the nearest in time."""

    core_nodes: int = 50
    """Nodes that send their mass on in a later step, those that hold most; that of others stays."""

    node_edges: int = 50
    """Edges of each of these nodes that mass flows along, the nearest in time."""

    subgraph_edges: int = 250
    """Edges that join a query's subgraph in a step, those that carried most."""

    distances: int = 4096
    """Distances in time with a vector of their own, in ticks; what is farther has the last."""

    loop_time: Literal["present", "first"] = "present"
    """The time of loops; first: the first day, as released, which tells what day it is."""

    def __post_init__(self) -> None:
        require_least(self, dim=1, heads=1, steps=1, distances=2)
        require_least(self, subject_edges=1, core_nodes=1, node_edges=1, subgraph_edges=1)
        if self.dim % self.heads:
            raise InputError(f"dim is {self.dim}, which {self.heads} heads cannot share equally")


class WholeGraph:
    """The edges of a context: its facts in their positions, then a loop at every node."""

    def __init__(self, context: TemporalGraph) -> None:
        loops = torch.arange(context.num_entities, device=context.device)
        relations = context.relations.long()
        back = reciprocal_of(relations, context.num_relations)
        of_loops = torch.full_like(loops, 2 * context.num_relations)
        self.context, self.num_facts = context, len(context)
        self.sources = torch.cat([context.subjects.long(), loops])
        self.targets = torch.cat([context.objects.long(), loops])
        self.relations = torch.cat([relations, of_loops])
        # What the relations are when an edge is read from its target to its source.
        self.back = torch.cat([back, of_loops])
        self.times = context.times.long()
        self.codes = fact_codes(context, context.subjects, relations, context.objects)
        # How many edges any node has; of the past nobody may know how many will be.
        self.most_edges = int(context.offsets.diff().max()) if context.num_entities else 0
        if context.past_only:
            self.most_edges = torch.iinfo(torch.int64).max


@dataclass(frozen=True, eq=False)
class TGAPSample(Columns):
    """What the queries of a batch see: the context without their own facts."""

    context: TemporalGraph
    # The facts of the whole batch; none of them is in the graph that all its queries share.
    hidden: HiddenFacts

    def __getitem__(self, rows: slice | Tensor) -> "TGAPSample":
        return self


@dataclass(frozen=True, eq=False)
class Shared:
    """What all queries of one time share."""

    graph: WholeGraph
    time: int
    # Δ of every edge, and whether it is there: not if it is hidden.
    deltas: Tensor
    there: Tensor
    # The vectors h of the nodes after the first layer, and what they bring into a subgraph.
    nodes: Tensor
    entering: Tensor
    # What h says about leaving along every edge, which is read from its target for that: one
    # column per head.
    scores: Tensor
    layer_terms: Terms
    score_terms: Terms


@dataclass(frozen=True, eq=False)
class Step(Columns):
    """One step of a flow, for each query: the nodes that send mass, and their edges.

    The last edge of a node is its loop.
    """

    # One column per node.
    nodes: Tensor
    # One row per node and one column per edge.
    relations: Tensor
    targets: Tensor
    deltas: Tensor
    # The mass of each node, and the shares of it that its edges carry, for each head.
    masses: Tensor
    shares: Tensor

    @property
    def carried(self) -> Tensor:
        """The mass that each edge carries: for each head, one row per node, one column per edge."""
        return self.shares * self.masses[..., None]


class TGAP(Learner):
    """A mass that flows from the subject to the answers."""

    Settings = TGAPSettings
    reads_context = True
    reads_intervals = False
    can_filter_loss = True
    # Times differ in how many queries they have; what a batch hides is hidden in one step.
    has_static_shapes = samples_ahead = False
    times_per_batch = 1
    about_new_entities = (
        "have no vector of their own (the mean of all vectors stands in for it) and are reached "
        "through their facts"
    )
    settings: TGAPSettings

    def __init__(self, settings: TGAPSettings, dataset: Dataset) -> None:
        super().__init__(settings, dataset)
        dim, heads = settings.dim, settings.heads
        span = max(dataset.timeline.ticks.tolist(), default=0) + 1
        self.entities = _table(len(dataset.entities), dim)
        # The last one is that of the loops.
        self.relations = _table(2 * len(dataset.relations) + 1, dim)
        # At least that of one tick, which stands for all on a timeline of one time.
        self.distances = _table(max(min(span, settings.distances), 2), dim)
        self.whole_layer, self.subgraph_layer = EdgeAttention(dim), EdgeAttention(dim)
        # After a single step there is no other that could use it.
        self.subgraph_layer.requires_grad_(settings.steps > 1)
        self.whole_scores = TransitionScores(dim, heads)
        self.subgraph_scores = TransitionScores(dim, heads)
        self.ask, self.mix = nn.Linear(2 * dim, dim), nn.Linear(2 * dim, dim)
        self.enter = nn.Parameter(xavier(dim, dim))
        self.graphs = PerContext(WholeGraph)

    def embeddings(self) -> dict[str, Tensor]:
        return {"entities": self.entities, "relations": self.relations[:-1]}

    def add_entities(self, count: int) -> None:
        """Give them the mean vector."""
        self.entities = with_mean_rows(self.entities, count)

    def sample(
        self, queries: Queries, answers: Tensor, context: TemporalGraph, seeds: Tensor
    ) -> TGAPSample:
        """The context and what is to be hidden; nothing here is random."""
        hidden = HiddenFacts(queries.subjects, queries.relations, answers, queries.times)
        return TGAPSample(context, hidden)

    def loss(
        self, queries: Queries, answers: Tensor, sample: TGAPSample, others: Tensor | None = None
    ) -> Tensor:
        """−log of the mass that the answers hold."""
        return cross_entropy(self.score(queries, sample), answers, others)

    def score(self, queries: Queries, sample: TGAPSample) -> Tensor:
        """The score of every entity, given what the queries see."""
        return self.forward(queries, sample.context, sample.hidden)

    def forward(
        self, queries: Queries, context: TemporalGraph, hidden: HiddenFacts | None = None
    ) -> Tensor:
        scores, order = [self.entities.new_empty(0, len(self.entities))], [queries.times[:0]]
        for time in torch.unique(queries.times).tolist():
            rows = (queries.times == time).nonzero().flatten()
            shared = self.share(time, context, hidden)
            for part in torch.split(rows, self._queries_at_once(context)):
                mass, _ = self.flow(queries[part], shared)
                scores.append(self.log_masses(mass))
            order.append(rows)
        return torch.cat(scores)[torch.cat(order).argsort()]

    def log_masses(self, mass: Tensor) -> Tensor:
        """The scores: the logarithm of the mean over the heads."""
        return (mass.mean(1) + LEAST_MASS).log()

    reasons = find_reasons

    def _queries_at_once(self, context: TemporalGraph) -> int:
        """How many queries flow at once; in training as many as a batch has."""
        settings = self.settings
        if torch.is_grad_enabled():
            return torch.iinfo(torch.int64).max
        width = max(settings.subject_edges + 1, settings.core_nodes * (settings.node_edges + 1))
        most = MOST_TRANSITIONS_AT_ONCE.get(context.device.type, MOST_TRANSITIONS_AT_ONCE["cpu"])
        return max(most // (settings.heads * width), 1)

    def share(self, time: int, context: TemporalGraph, hidden: HiddenFacts | None = None) -> Shared:
        """The first layer over the whole context, as it is seen from a time."""
        graph = self.graphs.of(context)
        at_first = self.settings.loop_time == "first"
        loops = graph.times.new_full((context.num_entities,), -time if at_first else 0)
        deltas = torch.cat([graph.times - time, loops])
        # Not those that are hidden then, but every loop.
        there = torch.ones_like(graph.sources, dtype=torch.bool)
        there[: graph.num_facts] = shown_facts(context, graph.codes, time, hidden)
        most = 0 if context.past_only else max(context.span - 1 - time, 0)
        distances = Distances(self.distances, min(-time, 0), most)
        terms = self.whole_layer.terms(self.relations, distances)
        edges = Edges(graph.sources, graph.targets, graph.relations, deltas, there)
        nodes = self.whole_layer(self.entities, terms, edges)
        terms = self.whole_scores.terms(self.relations, distances)
        away = Edges(graph.targets, graph.sources, graph.back, deltas, there)
        scores = self.whole_scores.of_edges(nodes, terms, away)
        return Shared(
            graph,
            time,
            deltas,
            there,
            nodes,
            nodes @ self.enter,
            scores,
            self.subgraph_layer.terms(self.relations, distances),
            self.subgraph_scores.terms(self.relations, distances),
        )

    def flow(self, queries: Queries, shared: Shared) -> tuple[Tensor, list[Step]]:
        """The mass of every entity in the end, for each query one row per head; and all steps."""
        settings, num_entities = self.settings, len(self.entities)
        subjects = queries.subjects[:, None]
        of_subjects = shared.nodes.index_select(0, queries.subjects)
        of_relations = self.relations.index_select(0, queries.relations)
        asked = self.ask(torch.cat([of_subjects, of_relations], dim=1))
        mass = shared.nodes.new_zeros(len(queries), settings.heads, num_entities)
        mass.scatter_(2, subjects[:, None].expand(-1, settings.heads, 1), 1.0)
        subgraph = Subgraph.at(queries.subjects, num_entities)
        states = _entered(subgraph, mass, shared)
        steps = []
        for number in range(settings.steps):
            mixed = self.mix(torch.cat([states, asked[:, None].expand_as(states)], dim=2))
            states = mixed * subgraph.used[..., None]
            nodes, num_edges = subjects, settings.subject_edges
            if number:
                count = min(settings.core_nodes, num_entities)
                nodes = mass.detach().mean(1).topk(count, dim=1).indices
                num_edges = settings.node_edges
            step = self._send(nodes, num_edges, mass, states, subgraph, shared)
            mass = _arrived(mass, step)
            steps.append(step)
            if number + 1 < settings.steps:
                subgraph = subgraph.grown(self._strongest(step))
                states = self._join(states, subgraph, shared) + _entered(subgraph, mass, shared)
        return mass, steps

    def _send(
        self,
        nodes: Tensor,
        num_edges: int,
        mass: Tensor,
        states: Tensor,
        subgraph: Subgraph,
        shared: Shared,
    ) -> Step:
        """How some nodes of each query share out their mass among their edges."""
        graph, shape = shared.graph, (*nodes.shape, -1)
        entities = nodes.flatten()
        times = torch.full_like(entities, shared.time)
        count = min(num_edges, graph.most_edges)
        positions, there = nearest_positions(graph.context, entities, times, count)
        # What is hidden leaves its place among the nearest empty.
        there = there & shared.there[positions]
        loops = graph.num_facts + entities[:, None]
        positions = torch.cat([positions, loops], dim=1).view(shape)
        there = torch.cat([there, torch.ones_like(loops, dtype=torch.bool)], dim=1).view(shape)
        # Edges that leave a node are read from those that come in to it.
        targets, relations = graph.sources[positions], graph.back[positions]
        deltas = shared.deltas[positions]
        edges = Edges(
            subgraph.places.gather(1, nodes),
            subgraph.places.gather(1, targets.flatten(1)).view(shape),
            relations,
            deltas,
            there,
        )
        scores = self.subgraph_scores.of_steps(states, shared.score_terms, edges)
        whole = shared.scores.index_select(0, positions.flatten()).view(*positions.shape, -1)
        scores = (scores + whole.permute(0, 3, 1, 2)).masked_fill(~there[:, None], -torch.inf)
        masses = mass.gather(2, nodes[:, None].expand(-1, mass.shape[1], -1))
        return Step(nodes, relations, targets, deltas, masses, scores.softmax(3))

    def _strongest(self, step: Step) -> Edges:
        """The edges between entities that carried most mass in a step."""
        num_edges = step.targets.shape[2]
        carried = step.carried.detach().mean(1).flatten(1)
        count = min(self.settings.subgraph_edges, carried.shape[1])
        most, which = carried.topk(count, dim=1)
        columns = (column.flatten(1).gather(1, which) for column in step.tensors()[1:4])
        relations, targets, deltas = columns
        sources = step.nodes.gather(1, which // num_edges)
        return Edges(sources, targets, relations, deltas, most > 0)

    def _join(self, states: Tensor, subgraph: Subgraph, shared: Shared) -> Tensor:
        """The second layer, over the subgraph of each query; new nodes have had no state so far."""
        size = subgraph.used.shape[1]
        states = nn.functional.pad(states, (0, 0, 0, size - states.shape[1]))
        edges = subgraph.flat_edges()
        joined: Tensor = self.subgraph_layer(states.flatten(0, 1), shared.layer_terms, edges)
        return joined.view_as(states)


def _entered(subgraph: Subgraph, mass: Tensor, shared: Shared) -> Tensor:
    """What the mass of each node of a subgraph brings into its state."""
    masses = mass.mean(1).gather(1, subgraph.entities) * subgraph.used
    vectors = shared.entering.index_select(0, subgraph.entities.flatten())
    return masses[..., None] * vectors.view(*masses.shape, -1)


def _arrived(mass: Tensor, step: Step) -> Tensor:
    """The mass of every entity after a step; what was at no sending node stays."""
    heads = mass.shape[1]
    left = mass.scatter(2, step.nodes[:, None].expand(-1, heads, -1), 0)
    targets = step.targets.flatten(1)[:, None].expand(-1, heads, -1)
    return left.scatter_add(2, targets, step.carried.flatten(2))


def _table(num_rows: int, dim: int) -> nn.Parameter:
    return nn.Parameter(torch.randn(num_rows, dim) * dim**-0.25)
