"""Plain versions of what the library does fast, timed beside it in the same run.

They are written as one would write them first: TARGCN samples each query's neighbours with numpy
and puts each neighbour through both layers; TNTComplEx uses sparse embeddings; every target is
ranked in a row of its own, and known answers are looked up in dictionaries.
"""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import asdict
from typing import Any, Final

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from benchmarks.untrained import PUBLISHED_ON
from targcn.facts.dataset import Dataset
from targcn.graph.neighbors import Sampling
from targcn.models.base import ModelSettings
from targcn.models.factorization import FactorSettings
from targcn.models.targcn import TARGCNSettings
from targcn.recipes.recipe import find_recipe

Array = NDArray[Any]

# Settings of TARGCN that the plain version takes; all others must be the published code's.
FREE_SETTINGS: Final = {"dim", "neighbors", "decay", "weight_floor", "window", "time_factor"}


def sample_near(times: Array, now: int, how: Sampling, random: np.random.Generator) -> Array:
    """Positions of K facts, or of all where there are fewer, sampled by weight."""
    weights = np.exp(-np.abs(times - now) / how.decay) + how.weight_floor
    # A weight of 0 would be refused, though it only stands for a very small one.
    weights = np.maximum(weights, 1e-30)
    count = min(how.neighbors, len(times))
    chosen: Array = random.choice(len(times), count, replace=False, p=weights / weights.sum())
    return chosen


class PlainTARGCN(nn.Module):
    """TARGCN as in its published loop: query by query, with a product per neighbour."""

    def __init__(self, dataset: Dataset, settings: TARGCNSettings) -> None:
        super().__init__()
        self.settings, dim, num_relations = settings, settings.dim, len(dataset.relations)
        self.entities = nn.Parameter(torch.randn(len(dataset.entities), dim))
        self.relations = nn.Parameter(torch.randn(2 * num_relations, dim))
        self.frequencies = nn.Parameter(10 ** -torch.linspace(0, 9, dim))
        self.phases = nn.Parameter(torch.zeros(dim))
        self.f, self.W = nn.Linear(2 * dim, dim), nn.Linear(2 * dim, dim)
        incoming: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for subject, relation, object_, time in dataset.train.columns.T.tolist():
            incoming[object_].append((subject, relation, time))
            incoming[subject].append((object_, relation + num_relations, time))
        self.incoming = {entity: np.array(near) for entity, near in incoming.items()}
        self.random = np.random.default_rng(0)

    @staticmethod
    def covers(settings: ModelSettings) -> bool:
        """Whether these settings differ from the published code's in numbers only."""
        published = find_recipe("targcn", "published-code", PUBLISHED_ON).settings
        ours, theirs = asdict(settings).items(), asdict(published).items()
        return {name for name, _ in ours - theirs} <= FREE_SETTINGS

    def optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-3)

    def codes(self, deltas: Tensor) -> Tensor:
        angles = deltas[:, None] * self.settings.time_factor * self.frequencies
        return torch.cos(angles + self.phases)

    def encode(self, subject: int, time: int) -> Tensor:
        facts = self.incoming[subject]
        chosen = sample_near(facts[:, 2], time, self.settings, self.random)
        entities, relations, times = torch.from_numpy(facts[chosen].T).to(self.entities.device)
        neighbors = self.f(torch.cat([self.entities[entities], self.codes(times - time)], 1))
        messages = self.W(torch.cat([neighbors, self.relations[relations]], 1))
        return torch.tanh(messages.mean(0))

    def loss(self, subjects: Tensor, relations: Tensor, times: Tensor, answers: Tensor) -> Tensor:
        pairs = zip(subjects.tolist(), times.tolist(), strict=True)
        vectors = torch.stack([self.encode(subject, time) for subject, time in pairs])
        now = self.codes(torch.zeros(1, device=answers.device)).expand(len(self.entities), -1)
        candidates = self.f(torch.cat([self.entities, now], 1))
        scores = (vectors * self.relations[relations]) @ candidates.T
        return nn.functional.cross_entropy(scores, answers)


Complex = tuple[Tensor, ...]  # real and imaginary numbers


def halves(vectors: Tensor) -> Complex:
    return vectors.chunk(2, 1)


def multiply(one: Complex, other: Complex) -> Complex:
    return one[0] * other[0] - one[1] * other[1], one[0] * other[1] + one[1] * other[0]


def cubes(numbers: Complex) -> Tensor:
    return ((numbers[0] ** 2 + numbers[1] ** 2) ** 1.5).sum()


class PlainTNTComplEx(nn.Module):
    """TNTComplEx with sparse gradients, on the real and imaginary halves of each vector."""

    ticks: Tensor

    def __init__(self, dataset: Dataset, settings: FactorSettings) -> None:
        super().__init__()
        self.settings, num_relations = settings, 2 * len(dataset.relations)
        ticks = torch.from_numpy(np.unique(dataset.train.times).astype("int64"))
        self.register_buffer("ticks", ticks, persistent=False)
        self.entities = self.table(len(dataset.entities))
        self.relations, self.lasting = self.table(num_relations), self.table(num_relations)
        self.times = self.table(len(ticks))

    @staticmethod
    def covers(settings: ModelSettings) -> bool:
        return isinstance(settings, FactorSettings) and settings.power == 3

    def optimizer(self) -> torch.optim.Optimizer:
        # As it is by default; unsaid, torch warns.
        torch.sparse.check_sparse_tensor_invariants.disable()  # type: ignore[no-untyped-call]
        return torch.optim.Adagrad(self.parameters(), lr=0.1)

    def table(self, num_rows: int) -> nn.Embedding:
        table = nn.Embedding(num_rows, 2 * self.settings.dim, sparse=True)
        nn.init.normal_(table.weight, std=self.settings.init_scale)
        return table

    def factors(self, subjects: Tensor, relations: Tensor, times: Tensor) -> list[Complex]:
        """Those of the subject, of the relation at that time, and of the relation at any."""
        rows = torch.searchsorted(self.ticks, times).clamp(max=len(self.ticks) - 1)
        timed = multiply(halves(self.relations(relations)), halves(self.times(rows)))
        return [halves(self.entities(subjects)), timed, halves(self.lasting(relations))]

    def scores(self, subject: Complex, timed: Complex, lasting: Complex) -> Tensor:
        """Re <s, r * tau + r', conj(o)> for every entity o."""
        real, imaginary = multiply(subject, (timed[0] + lasting[0], timed[1] + lasting[1]))
        of_entities = halves(self.entities.weight)
        return real @ of_entities[0].T + imaginary @ of_entities[1].T

    def loss(self, subjects: Tensor, relations: Tensor, times: Tensor, answers: Tensor) -> Tensor:
        subject, timed, lasting = self.factors(subjects, relations, times)
        loss = nn.functional.cross_entropy(self.scores(subject, timed, lasting), answers)
        ends = cubes(subject) + cubes(halves(self.entities(answers)))
        powers = 2 * ends + cubes(timed) + cubes(lasting)
        changes = self.times.weight[1:] - self.times.weight[:-1]
        loss = loss + self.settings.factor_weight * powers / len(answers)
        return loss + self.settings.time_weight * cubes(halves(changes)) / max(len(changes), 1)


PLAIN_MODELS: Final[dict[str, Any]] = {"targcn": PlainTARGCN, "tntcomplex": PlainTNTComplEx}


def find_plain(model: str, settings: ModelSettings) -> tuple[Any, tuple[str, ...]]:
    """The plain version of a model, or None and a note that says why there is none."""
    plain = PLAIN_MODELS.get(model)
    if plain is not None and plain.covers(settings):
        return plain, ()
    lacking = f"there is none of {model}" if plain is None else "it lacks one of the settings"
    return None, (f"no plain version to compare with: {lacking}",)


# By subject and relation, and by subject, relation and time.
Known = dict[tuple[int, ...], set[int]]


def plain_known_answers(facts: Array, num_relations: int) -> Known:
    """Every true answer by its query: at any time, and at the time asked."""
    known: Known = defaultdict(set)
    for subject, relation, object_, time in facts.T.tolist():
        back = relation + num_relations
        known[subject, relation].add(object_)
        known[object_, back].add(subject)
        known[subject, relation, time].add(object_)
        known[object_, back, time].add(subject)
    return known


def plain_ranks(scores: Array, query: Sequence[int], known: Known) -> dict[str, float]:
    """The target's rank in a row of scores under each filter, the mean one among equals."""
    subject, relation, time, target = query
    queries = {"raw": (), "static": (subject, relation), "time-aware": (subject, relation, time)}
    found = {}
    for which, query in queries.items():
        row = scores.copy()
        for answer in known.get(query, ()):
            if answer != target:
                row[answer] = -np.inf
        above, level = (row > scores[target]).sum(), (row == scores[target]).sum() - 1
        found[which] = 1 + float(above) + float(level) / 2
    return found
