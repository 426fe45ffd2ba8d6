"""What the library does fast, as plain loops: `targcn bench` times the two in one run.

Written from the descriptions, for comparison only: TARGCN's every query looks its neighbours up,
draws K of them by weight with numpy and puts each through both layers; TNTComplEx is as one wrote
it in 2020; every answer is ranked in a row of its own, the known ones looked up in dictionaries.
"""

from collections import defaultdict
from dataclasses import asdict
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

FREE_SETTINGS = {"size", "neighbors", "decay", "weight_floor", "window", "time_factor"}


def draw_near(
    times: np.ndarray,
    now: int,
    neighbors: int,
    decay: float,
    weight_floor: float,
    random: np.random.Generator,
) -> np.ndarray:
    """Positions of K facts, or of all where there are fewer, drawn by weight."""
    weights = np.exp(-np.abs(times - now) / decay) + weight_floor
    # A weight of 0 would be refused, though it only stands for a very small one.
    weights = np.maximum(weights, 1e-30)
    count = min(neighbors, len(times))
    return random.choice(len(times), count, replace=False, p=weights / weights.sum())


class PlainTARGCN(nn.Module):
    """TARGCN as its published loop goes: per query, in Python, with a product per neighbour."""

    def __init__(self, dataset: Any, settings: Any) -> None:
        super().__init__()
        self.settings, size, num_relations = settings, settings.size, len(dataset.relations)
        self.entities = nn.Parameter(torch.randn(len(dataset.entities), size))
        self.relations = nn.Parameter(torch.randn(2 * num_relations, size))
        self.frequencies = nn.Parameter(10 ** -torch.linspace(0, 9, size))
        self.phases = nn.Parameter(torch.zeros(size))
        self.inner, self.outer = nn.Linear(2 * size, size), nn.Linear(2 * size, size)
        incoming: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for subject, relation, object_, time in dataset.train.columns.T.tolist():
            incoming[object_].append((subject, relation, time))
            incoming[subject].append((object_, relation + num_relations, time))
        self.incoming = {entity: np.array(near) for entity, near in incoming.items()}
        self.random = np.random.default_rng(0)

    @staticmethod
    def covers(settings: Any) -> bool:
        """Whether these settings differ from the published code's in numbers only."""
        published = asdict(type(settings)(own_fact="kept"))
        fixed = published.keys() - FREE_SETTINGS
        return all(published[name] == asdict(settings)[name] for name in fixed)

    def optimizer(self) -> torch.optim.Optimizer:
        return torch.optim.Adam(self.parameters(), lr=1e-3)

    def codes(self, deltas: Tensor) -> Tensor:
        angles = deltas[:, None] * self.settings.time_factor * self.frequencies
        return torch.cos(angles + self.phases)

    def encode(self, subject: int, time: int) -> Tensor:
        facts, how = self.incoming[subject], self.settings
        drawn = draw_near(
            facts[:, 2], time, how.neighbors, how.decay, how.weight_floor, self.random
        )
        entities, relations, times = torch.from_numpy(facts[drawn].T).to(self.entities.device)
        neighbors = self.inner(torch.cat([self.entities[entities], self.codes(times - time)], 1))
        messages = self.outer(torch.cat([neighbors, self.relations[relations]], 1))
        return torch.tanh(messages.mean(0))

    def loss(self, subjects: Tensor, relations: Tensor, times: Tensor, answers: Tensor) -> Tensor:
        pairs = zip(subjects.tolist(), times.tolist(), strict=True)
        vectors = torch.stack([self.encode(subject, time) for subject, time in pairs])
        now = self.codes(torch.zeros(1, device=answers.device)).expand(len(self.entities), -1)
        candidates = self.inner(torch.cat([self.entities, now], 1))
        scores = (vectors * self.relations[relations]) @ candidates.T
        return nn.functional.cross_entropy(scores, answers)


Complex = tuple[Tensor, Tensor]  # real and imaginary numbers


def halves(vectors: Tensor) -> Complex:
    size = vectors.shape[1] // 2
    return vectors[:, :size], vectors[:, size:]


def multiply(one: Complex, other: Complex) -> Complex:
    return one[0] * other[0] - one[1] * other[1], one[0] * other[1] + one[1] * other[0]


def cubes(numbers: Complex) -> Tensor:
    return ((numbers[0] ** 2 + numbers[1] ** 2) ** 1.5).sum()


class PlainTNTComplEx(nn.Module):
    """TNTComplEx in the style of 2020: embeddings with sparse gradients, halves of each vector."""

    def __init__(self, dataset: Any, settings: Any) -> None:
        super().__init__()
        self.settings, num_relations = settings, 2 * len(dataset.relations)
        ticks = torch.from_numpy(np.unique(dataset.train.times).astype("int64"))
        self.register_buffer("ticks", ticks, persistent=False)
        self.entities = self.table(len(dataset.entities))
        self.relations, self.lasting = self.table(num_relations), self.table(num_relations)
        self.times = self.table(len(ticks))

    @staticmethod
    def covers(settings: Any) -> bool:
        return settings.power == 3

    def optimizer(self) -> torch.optim.Optimizer:
        # As it is by default; unsaid, torch warns.
        torch.sparse.check_sparse_tensor_invariants.disable()
        return torch.optim.Adagrad(self.parameters(), lr=0.1)

    def table(self, num_rows: int) -> nn.Embedding:
        table = nn.Embedding(num_rows, 2 * self.settings.rank, sparse=True)
        nn.init.normal_(table.weight, std=self.settings.init_scale)
        return table

    def factors(self, subjects: Tensor, relations: Tensor, times: Tensor) -> list[Complex]:
        """Those of the subject, of the relation at that time, and of the relation at any."""
        rows = torch.searchsorted(self.ticks, times).clamp(max=len(self.ticks) - 1)
        timed = multiply(halves(self.relations(relations)), halves(self.times(rows)))
        return [halves(self.entities(subjects)), timed, halves(self.lasting(relations))]

    def product(self, subject: Complex, timed: Complex, lasting: Complex) -> Tensor:
        """Re <s, r * tau + r', conj(o)> for every entity o."""
        real, imaginary = multiply(subject, (timed[0] + lasting[0], timed[1] + lasting[1]))
        of_entities = halves(self.entities.weight)
        return real @ of_entities[0].T + imaginary @ of_entities[1].T

    def scores(self, subjects: Tensor, relations: Tensor, times: Tensor) -> Tensor:
        return self.product(*self.factors(subjects, relations, times))

    def loss(self, subjects: Tensor, relations: Tensor, times: Tensor, answers: Tensor) -> Tensor:
        subject, timed, lasting = self.factors(subjects, relations, times)
        loss = nn.functional.cross_entropy(self.product(subject, timed, lasting), answers)
        ends = cubes(subject) + cubes(halves(self.entities(answers)))
        powers = 2 * ends + cubes(timed) + cubes(lasting)
        changes = self.times.weight[1:] - self.times.weight[:-1]
        loss = loss + self.settings.factor_weight * powers / len(answers)
        return loss + self.settings.time_weight * cubes(halves(changes)) / max(len(changes), 1)


MODELS = {"targcn": PlainTARGCN, "tntcomplex": PlainTNTComplEx}

Known = dict[str, dict[tuple[int, ...], set[int]]]


def known_answers(facts: np.ndarray, num_relations: int) -> Known:
    """Every true answer by its query: at any time, and at the time asked."""
    static: dict[tuple[int, ...], set[int]] = defaultdict(set)
    time_aware: dict[tuple[int, ...], set[int]] = defaultdict(set)
    for subject, relation, object_, time in facts.T.tolist():
        back = relation + num_relations
        static[subject, relation].add(object_)
        static[object_, back].add(subject)
        time_aware[subject, relation, time].add(object_)
        time_aware[object_, back, time].add(subject)
    return {"static": static, "time-aware": time_aware}


def ranks(
    scores: np.ndarray, subject: int, relation: int, time: int, target: int, known: Known
) -> dict[str, float]:
    """The target's rank in a row of scores under each filter, the mean one among equals."""
    query = (subject, relation)
    true = {
        "raw": set(),
        "static": known["static"].get(query, set()),
        "time-aware": known["time-aware"].get((*query, time), set()),
    }
    found = {}
    for which, answers in true.items():
        row = scores.copy()
        for answer in answers:
            if answer != target:
                row[answer] = -np.inf
        above, level = (row > scores[target]).sum(), (row == scores[target]).sum() - 1
        found[which] = 1 + float(above) + float(level) / 2
    return found
