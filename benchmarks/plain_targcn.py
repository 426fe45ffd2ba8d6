"""TARGCN as its published loop goes: per query, in Python, with a product per neighbour.

Written from the description in the paper, for comparison only: every query looks its neighbours
up, draws K of them by weight with numpy, and puts each neighbour through both layers; every step
puts every entity through f. benchmarks/epoch.py times it against the library.
"""

from collections import defaultdict
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn


class PlainTARGCN(nn.Module):
    def __init__(self, facts: Any, num_entities: int, num_relations: int, size: int) -> None:
        super().__init__()
        self.num_relations = num_relations
        self.entities = nn.Parameter(torch.randn(num_entities, size))
        self.relations = nn.Parameter(torch.randn(2 * num_relations, size))
        self.frequencies = nn.Parameter(10 ** -torch.linspace(0, 9, size))
        self.phases = nn.Parameter(torch.zeros(size))
        self.inner, self.outer = nn.Linear(2 * size, size), nn.Linear(2 * size, size)
        self.incoming: dict[int, list[tuple[int, int, int]]] = defaultdict(list)
        for subject, relation, object_, time in facts.columns.T.tolist():
            self.incoming[object_].append((subject, relation, time))
            self.incoming[subject].append((object_, relation + num_relations, time))
        self.random = np.random.default_rng(0)

    def codes(self, deltas: Tensor) -> Tensor:
        return torch.cos(deltas[:, None] * 24.0 * self.frequencies + self.phases)

    def encode(self, subject: int, time: int) -> Tensor:
        facts = np.array(self.incoming[subject])
        distances = np.abs(facts[:, 2] - time)
        weights = np.exp(-distances / 2) + 1e-9
        count = min(100, len(facts))
        drawn = self.random.choice(len(facts), count, replace=False, p=weights / weights.sum())
        entities, relations, times = torch.from_numpy(facts[drawn].T)
        neighbors = self.inner(torch.cat([self.entities[entities], self.codes(times - time)], 1))
        messages = self.outer(torch.cat([neighbors, self.relations[relations]], 1))
        return torch.tanh(messages.mean(0))

    def loss(self, subjects: Tensor, relations: Tensor, times: Tensor, answers: Tensor) -> Tensor:
        pairs = zip(subjects.tolist(), times.tolist(), strict=True)
        vectors = torch.stack([self.encode(subject, time) for subject, time in pairs])
        now = self.codes(torch.zeros(1)).expand(len(self.entities), -1)
        candidates = self.inner(torch.cat([self.entities, now], 1))
        scores = (vectors * self.relations[relations]) @ candidates.T
        return nn.functional.cross_entropy(scores, answers)
