"""What the library does fast, as plain loops: `targcn bench` times the two in one run.

Written from the descriptions, for comparison only: every query looks its neighbours up, draws K
of them by weight with numpy and puts each through both layers; every answer is ranked in a row of
its own, the known ones looked up in dictionaries.
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

    def __init__(
        self, facts: np.ndarray, num_entities: int, num_relations: int, settings: Any
    ) -> None:
        super().__init__()
        self.settings, size = settings, settings.size
        self.entities = nn.Parameter(torch.randn(num_entities, size))
        self.relations = nn.Parameter(torch.randn(2 * num_relations, size))
        self.frequencies = nn.Parameter(10 ** -torch.linspace(0, 9, size))
        self.phases = nn.Parameter(torch.zeros(size))
        self.inner, self.outer = nn.Linear(2 * size, size), nn.Linear(2 * size, size)
        incoming: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for subject, relation, object_, time in facts.T.tolist():
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
